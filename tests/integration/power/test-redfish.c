/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The Redfish meter against the lab's own Redfish BMC, over TLS, each in all the ways in which it
 * can fail; and against a server that misbehaves as no decent BMC does.
 */
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/http_server.h"
#include "common/platform.h"
#include "local-sched/lab/bmc/redfish.h"
#include "local-sched/power/power_meter.h"
#include "tests/integration/power/meter_fixture.h"

#define PASSWORD "s3cret-word"

struct fixture {
	struct meter_fixture meter;
	char *watts_file, *certificate, *key;
	struct redfish_spec spec;
	struct redfish *bmc;
	struct http_server *other; /* in the BMC's place */
	json_t *watts;             /* what that one answers */
	int asked;
};

static void set_watts(const struct fixture *fixture, const char *text)
{
	meter_fixture_write(fixture->watts_file, text);
}

static uint16_t port_of(const char *address)
{
	return (uint16_t)atoi(strrchr(address, ':') + 1);
}

/* Starts the BMC, again on the same port if it ran before. */
static void start_bmc(struct fixture *fixture)
{
	g_autofree char *address =
		g_strdup_printf("https://127.0.0.1:%u", fixture->meter.config.port);
	g_autoptr(GError) error = NULL;

	fixture->spec.address = address;
	fixture->bmc = redfish_new(&fixture->spec, &error);
	g_assert_no_error(error);
	fixture->meter.config.port = port_of(redfish_address(fixture->bmc));
}

/* `data`: the places where it has its watts. */
static void setup(struct fixture *fixture, gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	meter_fixture_init(&fixture->meter, "b1");
	fixture->watts_file = meter_fixture_path(&fixture->meter, "watts");
	fixture->certificate = meter_fixture_path(&fixture->meter, "certificate.pem");
	fixture->key = meter_fixture_path(&fixture->meter, "key.pem");
	redfish_make_certificate(fixture->certificate, fixture->key, &error);
	g_assert_no_error(error);
	fixture->spec = (struct redfish_spec){.name = "b1",
					      .certificate = fixture->certificate,
					      .key = fixture->key,
					      .user = "ADMIN",
					      .password = PASSWORD,
					      .watts_file = fixture->watts_file,
					      .max_age_s = 3600,
					      .places = GPOINTER_TO_INT(data)};
	fixture->meter.config = (struct config_meter){
		.kind = CONFIG_METER_REDFISH,
		.address = (char *)"127.0.0.1",
		.user = (char *)"ADMIN",
		.password_file = fixture->meter.password_file,
		.ca_file = fixture->certificate,
		.interval_s = 0.1,
	};
	meter_fixture_write(fixture->meter.password_file, PASSWORD "\n");
	set_watts(fixture, "61.4\n");
	start_bmc(fixture);
}

static void teardown(struct fixture *fixture, gconstpointer data)
{
	meter_fixture_close(&fixture->meter);
	redfish_free(fixture->bmc);
	http_server_free(fixture->other);
	json_decref(fixture->watts);
	meter_fixture_finish(&fixture->meter);
	g_free(fixture->watts_file);
	g_free(fixture->certificate);
	g_free(fixture->key);
}

static void test_readings_follow_the_watts(struct fixture *fixture, gconstpointer data)
{
	static const struct {
		const char *watts;
		int64_t mw;
	} cases[] = {{"61.4", 61400}, {"0.5", 500}, {"65534.25", 65534250}};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		set_watts(fixture, cases[i].watts);
		g_assert_cmpint(meter_fixture_read(&fixture->meter), ==, 0);
		g_assert_cmpint(fixture->meter.mw, ==, cases[i].mw);
	}
	g_assert_cmpstr(power_meter_source(fixture->meter.meter), ==, "redfish");
	g_assert_cmpuint(redfish_sessions(fixture->bmc), ==, 1);
}

static void test_basic_opens_no_session(struct fixture *fixture, gconstpointer data)
{
	fixture->meter.config.auth = CONFIG_METER_BASIC;
	g_assert_cmpint(meter_fixture_read(&fixture->meter), ==, 0);
	g_assert_cmpuint(redfish_sessions(fixture->bmc), ==, 0);
}

/* Meters of one BMC and one set have one session, which the end of the set gives back. */
static void test_meters_of_a_bmc_share_a_session(struct fixture *fixture, gconstpointer data)
{
	struct meter_set *set = meter_set_new(&platform_machine);
	struct meter_fixture other = {.host = "b2", .config = fixture->meter.config, .set = set};

	other.config.timeout_s = METER_FIXTURE_WAIT_S;
	fixture->meter.set = set;
	g_assert_cmpint(meter_fixture_read(&fixture->meter), ==, 0);
	g_assert_cmpint(meter_fixture_read(&other), ==, 0);
	g_assert_cmpuint(redfish_sessions(fixture->bmc), ==, 1);
	meter_fixture_close(&fixture->meter);
	g_assert_cmpint(meter_fixture_read(&other), ==, 0);
	g_assert_cmpuint(redfish_sessions(fixture->bmc), ==, 1);
	meter_fixture_close(&other);
	meter_set_free(set);
	fixture->meter.set = NULL;
	g_free(other.message);
}

/* So do those whose files are others with the same in them; with another password there is none. */
static void test_files_with_the_same_in_them_are_one_login(struct fixture *fixture,
							   gconstpointer data)
{
	struct meter_set *set = meter_set_new(&platform_machine);
	struct meter_fixture other = {.host = "b2", .config = fixture->meter.config, .set = set};
	g_autofree char *password = meter_fixture_path(&fixture->meter, "password-2");
	g_autofree char *ca = meter_fixture_path(&fixture->meter, "ca-2.pem");
	g_autofree char *text = NULL;
	g_autoptr(GError) error = NULL;

	g_assert_true(g_file_get_contents(fixture->certificate, &text, NULL, NULL));
	meter_fixture_write(ca, text);
	meter_fixture_write(password, PASSWORD);
	other.config.password_file = password;
	other.config.ca_file = ca;
	fixture->meter.set = set;
	g_assert_cmpint(meter_fixture_read(&fixture->meter), ==, 0);
	g_assert_cmpint(meter_fixture_read(&other), ==, 0);
	g_assert_cmpuint(redfish_sessions(fixture->bmc), ==, 1);
	meter_fixture_close(&other);
	meter_fixture_write(password, "another");
	g_assert_null(power_meter_open(&platform_machine, &other.config, "b2", set, &error));
	g_assert_error(error, POWER_METER_ERROR, POWER_METER_ERROR_SETUP);
	g_assert_nonnull(strstr(error->message, "`password_file` is not that of another meter"));
	meter_fixture_close(&fixture->meter);
	meter_set_free(set);
	fixture->meter.set = NULL;
}

/*
 * BMCs that do not answer to the end of their sessions, as this thread's main loop does not run
 * then, are waited for side by side.
 */
static void test_sessions_end_side_by_side(struct fixture *fixture, gconstpointer data)
{
	enum { METERS = 5 };
	struct meter_fixture meters[METERS];
	struct redfish *bmcs[METERS];
	struct meter_set *set = meter_set_new(&platform_machine);
	int64_t began_ns;

	for (int i = 0; i < METERS; i++) {
		meters[i] = (struct meter_fixture){.host = "b",
						   .config = fixture->meter.config,
						   .set = set};
		fixture->spec.address = "https://127.0.0.1:0";
		bmcs[i] = redfish_new(&fixture->spec, NULL);
		meters[i].config.port = port_of(redfish_address(bmcs[i]));
		g_assert_cmpint(meter_fixture_read(&meters[i]), ==, 0);
		g_assert_cmpuint(redfish_sessions(bmcs[i]), ==, 1);
	}
	for (int i = 0; i < METERS; i++)
		meter_fixture_close(&meters[i]);
	began_ns = clock_now_ns();
	meter_set_free(set);
	g_assert_cmpfloat(clock_elapsed_s(began_ns, clock_now_ns()), <, 5);
	for (int i = 0; i < METERS; i++)
		redfish_free(bmcs[i]);
}

/* A set that ended leaves nothing to the next of the same process, which opens its own. */
static void test_each_set_has_its_sessions(struct fixture *fixture, gconstpointer data)
{
	for (unsigned i = 1; i <= 2; i++) {
		g_assert_cmpint(meter_fixture_read(&fixture->meter), ==, 0);
		g_assert_cmpuint(redfish_sessions(fixture->bmc), ==, i);
		meter_fixture_close(&fixture->meter);
	}
}

/* The lab's BMC says that its blade is on. */
static void test_zero_from_a_machine_that_is_on_is_no_reading(struct fixture *fixture,
							      gconstpointer data)
{
	g_assert_cmpint(meter_fixture_read(&fixture->meter), ==, 0);
	set_watts(fixture, "0");
	g_assert_cmpint(meter_fixture_read(&fixture->meter), ==, POWER_METER_ERROR_NOT_ACTIVE);
	set_watts(fixture, "65535");
	g_assert_cmpint(meter_fixture_read(&fixture->meter), ==, POWER_METER_ERROR_NOT_ACTIVE);
}

static void test_readings_are_quick(struct fixture *fixture, gconstpointer data)
{
	g_assert_cmpint(meter_fixture_read(&fixture->meter), ==, 0);
	meter_fixture_time(&fixture->meter, 200);
}

static void test_a_session_is_opened_once_and_renewed(struct fixture *fixture, gconstpointer data)
{
	fixture->meter.config.auth = CONFIG_METER_SESSION;
	for (int i = 0; i < 3; i++)
		g_assert_cmpint(meter_fixture_read(&fixture->meter), ==, 0);
	g_assert_cmpint(fixture->meter.mw, ==, 61400);
	g_assert_cmpuint(redfish_sessions(fixture->bmc), ==, 1);
	/*
	 * A BMC that was restarted knows no session of before: within one reading it has another.
	 */
	redfish_free(fixture->bmc);
	start_bmc(fixture);
	g_assert_cmpint(meter_fixture_read_answer(&fixture->meter), ==, 0); /* not that of before */
	g_assert_cmpuint(redfish_sessions(fixture->bmc), ==, 1);
}

static void test_wrong_logins_are_told_from_silence(struct fixture *fixture, gconstpointer data)
{
	for (int auth = CONFIG_METER_BASIC; auth <= CONFIG_METER_SESSION; auth++) {
		fixture->meter.config.auth = (enum config_meter_auth)auth;
		meter_fixture_write(fixture->meter.password_file, "n0t-it\n");
		g_assert_cmpint(meter_fixture_read(&fixture->meter), ==, POWER_METER_ERROR_LOGIN);
		g_assert_null(strstr(fixture->meter.message, "n0t-it"));
		/* A new password in the file helps without opening the meter again. */
		meter_fixture_write(fixture->meter.password_file, PASSWORD);
		g_assert_cmpint(meter_fixture_read(&fixture->meter), ==, 0);
		meter_fixture_close(&fixture->meter);
		g_unlink(fixture->meter.password_file);
		g_assert_cmpint(meter_fixture_read(&fixture->meter), ==, POWER_METER_ERROR_SETUP);
		meter_fixture_write(fixture->meter.password_file, PASSWORD);
		g_assert_cmpint(meter_fixture_read(&fixture->meter), ==, 0);
		meter_fixture_close(&fixture->meter);
	}
	g_clear_pointer(&fixture->bmc, redfish_free);
	g_assert_cmpint(meter_fixture_read(&fixture->meter), ==, POWER_METER_ERROR_NO_ANSWER);
	start_bmc(fixture);
	g_assert_cmpint(meter_fixture_read(&fixture->meter), ==, 0);
}

static void test_certificates_are_checked(struct fixture *fixture, gconstpointer data)
{
	fixture->meter.config.ca_file = NULL;
	g_assert_cmpint(meter_fixture_read(&fixture->meter), ==, POWER_METER_ERROR_SETUP);
	g_assert_nonnull(strstr(fixture->meter.message, "ca_file"));
	meter_fixture_close(&fixture->meter);
	fixture->meter.config.ca_file = fixture->watts_file;
	g_assert_cmpint(meter_fixture_read(&fixture->meter), ==, POWER_METER_ERROR_SETUP);
	meter_fixture_close(&fixture->meter);
	fixture->meter.config.ca_file = NULL;
	fixture->meter.config.tls = CONFIG_METER_INSECURE;
	g_assert_cmpint(meter_fixture_read(&fixture->meter), ==, 0);
}

static void test_null_is_no_reading(struct fixture *fixture, gconstpointer data)
{
	/* Before the place is known, and after. */
	set_watts(fixture, "rubbish");
	g_assert_cmpint(meter_fixture_read(&fixture->meter), ==, POWER_METER_ERROR_NOT_ACTIVE);
	set_watts(fixture, "100");
	g_assert_cmpint(meter_fixture_read(&fixture->meter), ==, 0);
	set_watts(fixture, "rubbish");
	g_assert_cmpint(meter_fixture_read(&fixture->meter), ==, POWER_METER_ERROR_NOT_ACTIVE);
	g_unlink(fixture->watts_file);
	g_assert_cmpint(meter_fixture_read(&fixture->meter), ==, POWER_METER_ERROR_NOT_ACTIVE);
	set_watts(fixture, "100");
	g_assert_cmpint(meter_fixture_read(&fixture->meter), ==, 0);
	g_assert_cmpint(fixture->meter.mw, ==, 100000);
}

static void test_a_chassis_can_be_named(struct fixture *fixture, gconstpointer data)
{
	fixture->meter.config.chassis = (char *)"1";
	g_assert_cmpint(meter_fixture_read(&fixture->meter), ==, 0);
	meter_fixture_close(&fixture->meter);
	fixture->meter.config.chassis = (char *)"../2 x";
	g_assert_cmpint(meter_fixture_read(&fixture->meter), ==, POWER_METER_ERROR_SETUP);
	g_assert_nonnull(strstr(fixture->meter.message, "chassis"));
}

static void test_closing_a_meter_drops_its_read(struct fixture *fixture, gconstpointer data)
{
	fixture->meter.config.auth = CONFIG_METER_SESSION;
	meter_fixture_open(&fixture->meter);
	power_meter_read(fixture->meter.meter, meter_fixture_on_read, &fixture->meter);
	meter_fixture_close(&fixture->meter);
	g_assert_cmpint(fixture->meter.reads, ==, 0);
	g_unlink(fixture->meter.password_file);
	meter_fixture_open(&fixture->meter);
	power_meter_read(fixture->meter.meter, meter_fixture_on_read, &fixture->meter);
	meter_fixture_close(&fixture->meter);
	while (g_main_context_iteration(NULL, FALSE))
		continue;
	g_assert_cmpint(fixture->meter.reads, ==, 0);
}

/* A server whose chassis has what the test says. */

static void give_list(struct http_request *request, const char *const *arguments, json_t *body,
		      void *data)
{
	http_request_reply(request, 200,
			   json_pack("{s:[{s:s}, {s:s}]}", "Members", "@odata.id",
				     "/redfish/v1/Chassis/gone", "@odata.id",
				     "/redfish/v1/Chassis/a"));
}

static void give_chassis(struct http_request *request, const char *const *arguments, json_t *body,
			 void *data)
{
	http_request_reply(request, 200,
			   json_pack("{s:s, s:s, s:{s:s}, s:{s:s}}", "ChassisType", "RackMount",
				     "PowerState", "Off", "Power", "@odata.id",
				     "@127.0.0.2/redfish/v1/Power", "EnvironmentMetrics",
				     "@odata.id", "/redfish/v1/Chassis/a/E"));
}

static void give_watts(struct http_request *request, const char *const *arguments, json_t *body,
		       void *data)
{
	struct fixture *fixture = data;

	fixture->asked++;
	if (fixture->watts)
		http_request_reply(request, 200, json_incref(fixture->watts));
	else
		http_request_fail(request, 404, "moved");
}

static void give_error(struct http_request *request, const char *const *arguments, json_t *body,
		       void *data)
{
	http_request_reply(request, 404,
			   json_pack("{s:{s:s}}", "error", "message", "no such chassis"));
}

static const struct http_route odd_routes[] = {
	{"GET", "/redfish/v1/Chassis", give_list},
	{"GET", "/redfish/v1/Chassis/gone", give_error},
	{"GET", "/redfish/v1/Chassis/a", give_chassis},
	{"GET", "/redfish/v1/Chassis/a/E", give_watts},
	{NULL},
};

static void set_json(struct fixture *fixture, json_t *value)
{
	json_decref(fixture->watts);
	fixture->watts = value;
}

/* Has the meter read from a service with `odd_routes`. */
static void serve_odd_routes(struct fixture *fixture)
{
	const struct http_tls tls = {.certificate = fixture->certificate, .key = fixture->key};
	g_autoptr(GError) error = NULL;

	fixture->other = http_server_new_tls(&platform_machine, "https://127.0.0.1:0", &tls,
					     odd_routes, fixture, &error);
	g_assert_no_error(error);
	fixture->meter.config.port = port_of(http_server_address(fixture->other));
}

static bool say_yes(const char *host, void *data)
{
	return g_strcmp0(host, "b1") == 0;
}

/* A BMC may say that a machine is off on which our VMs run. */
static void test_zero_where_our_vms_run_is_no_reading(struct fixture *fixture, gconstpointer data)
{
	serve_odd_routes(fixture);
	set_json(fixture, json_pack("{s:{s:i}}", "PowerWatts", "Reading", 0));
	g_assert_cmpint(meter_fixture_read(&fixture->meter), ==, 0);
	g_assert_cmpint(fixture->meter.mw, ==, 0);
	fixture->meter.set->runs_vm = say_yes;
	g_assert_cmpint(meter_fixture_read(&fixture->meter), ==, POWER_METER_ERROR_NOT_ACTIVE);
	g_assert_nonnull(strstr(fixture->meter.message, "our VMs run"));
}

static void test_an_odd_service_is_survived(struct fixture *fixture, gconstpointer data)
{
	serve_odd_routes(fixture);
	/* A chassis that is gone and a link to elsewhere are passed over. */
	set_json(fixture, json_pack("{s:{s:i}}", "PowerWatts", "Reading", 77));
	g_assert_cmpint(meter_fixture_read(&fixture->meter), ==, 0);
	g_assert_cmpint(fixture->meter.mw, ==, 77000);
	set_json(fixture, json_pack("{s:{s:s}}", "PowerWatts", "Reading", "77 hot"));
	g_assert_cmpint(meter_fixture_read(&fixture->meter), ==, POWER_METER_ERROR_GARBAGE);
	set_json(fixture, json_pack("[i]", 77));
	g_assert_cmpint(meter_fixture_read(&fixture->meter), ==, POWER_METER_ERROR_GARBAGE);
	/* A place that goes is looked for again. */
	set_json(fixture, NULL);
	g_assert_cmpint(meter_fixture_read(&fixture->meter), ==, POWER_METER_ERROR_REJECTED);
	g_assert_cmpint(meter_fixture_read(&fixture->meter), ==, POWER_METER_ERROR_SETUP);
	set_json(fixture, json_pack("{s:{s:f}}", "PowerWatts", "Reading", 78.5));
	g_assert_cmpint(meter_fixture_read(&fixture->meter), ==, 0);
	g_assert_cmpint(fixture->meter.mw, ==, 78500);
	/* The same value for ever is a reading each time. */
	fixture->asked = 0;
	for (int i = 0; i < 5; i++)
		g_assert_cmpint(meter_fixture_read(&fixture->meter), ==, 0);
	g_assert_cmpint(fixture->asked, ==, 5);
}

int main(int argc, char **argv)
{
	/* What would send Python's and curl's requests elsewhere must not send ours. */
	g_setenv("https_proxy", "http://127.0.0.1:9", TRUE);
	g_test_init(&argc, &argv, NULL);
#define ADD(places, name, function)                                                                \
	g_test_add("/redfish/" name, struct fixture, GINT_TO_POINTER(places), setup, function,     \
		   teardown)
	ADD(REDFISH_BOTH, "readings follow the watts", test_readings_follow_the_watts);
	ADD(REDFISH_POWER, "readings follow the watts of Power", test_readings_follow_the_watts);
	ADD(REDFISH_ENVIRONMENT, "readings follow the watts of EnvironmentMetrics",
	    test_readings_follow_the_watts);
	ADD(REDFISH_BOTH, "readings are quick", test_readings_are_quick);
	ADD(REDFISH_BOTH, "basic opens no session", test_basic_opens_no_session);
	ADD(REDFISH_BOTH, "meters of a BMC share a session", test_meters_of_a_bmc_share_a_session);
	ADD(REDFISH_BOTH, "files with the same in them are one login",
	    test_files_with_the_same_in_them_are_one_login);
	ADD(REDFISH_BOTH, "sessions end side by side", test_sessions_end_side_by_side);
	ADD(REDFISH_BOTH, "each set has its sessions", test_each_set_has_its_sessions);
	ADD(REDFISH_BOTH, "zero from a machine that is on is no reading",
	    test_zero_from_a_machine_that_is_on_is_no_reading);
	ADD(REDFISH_BOTH, "a session is opened once and renewed",
	    test_a_session_is_opened_once_and_renewed);
	ADD(REDFISH_BOTH, "wrong logins are told from silence",
	    test_wrong_logins_are_told_from_silence);
	ADD(REDFISH_BOTH, "certificates are checked", test_certificates_are_checked);
	ADD(REDFISH_BOTH, "null is no reading", test_null_is_no_reading);
	ADD(REDFISH_ENVIRONMENT, "null is no reading of EnvironmentMetrics either",
	    test_null_is_no_reading);
	ADD(REDFISH_BOTH, "a chassis can be named", test_a_chassis_can_be_named);
	ADD(REDFISH_BOTH, "closing a meter drops its read", test_closing_a_meter_drops_its_read);
	ADD(REDFISH_BOTH, "zero where our VMs run is no reading",
	    test_zero_where_our_vms_run_is_no_reading);
	ADD(REDFISH_BOTH, "an odd service is survived", test_an_odd_service_is_survived);
	return g_test_run();
}
