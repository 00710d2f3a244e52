/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Meters against a real peer: ipmitool on our side, OpenIPMI's ipmi_sim as the BMC, each in all the
 * ways in which it can fail.
 */
#include <gio/gio.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/json.h"
#include "common/platform.h"
#include "common/subprocess.h"
#include "local-sched/lab/bmc/bmc.h"
#include "local-sched/power/power.h"
#include "local-sched/power/power_meter.h"
#include "tests/integration/power/meter_fixture.h"

#define PASSWORD "s3cret-word"
#define STOP_GRACE_S 1.0

/* A BMC, the configuration of its meter, and what was heard from it. */
struct fixture {
	struct meter_fixture meter;
	char *watts_file, *journal;
	char *sensor[1];
	struct bmc_spec spec;
	GPid bmc;
	struct power *power;
	int lost, back;
	char *reason;
};

static void set_watts(const struct fixture *fixture, const char *text)
{
	meter_fixture_write(fixture->watts_file, text);
}

static void start_bmc(struct fixture *fixture)
{
	g_autoptr(GError) error = NULL;

	fixture->bmc = bmc_start(&fixture->spec, &error);
	g_assert_no_error(error);
}

/* `data`: "sensor" for a BMC without DCMI; only then one is configured. */
static void setup(struct fixture *fixture, gconstpointer data)
{
	meter_fixture_init(&fixture->meter, "b1");
	fixture->watts_file = meter_fixture_path(&fixture->meter, "watts");
	fixture->journal = meter_fixture_path(&fixture->meter, "journal");
	fixture->spec = (struct bmc_spec){.name = "b1",
					  .dir = fixture->meter.dir,
					  .port = meter_fixture_free_port(),
					  .user = "ADMIN",
					  .password = PASSWORD,
					  .watts_file = fixture->watts_file,
					  .max_age_s = 3600,
					  .no_dcmi = data != NULL};
	fixture->sensor[0] = (char *)BMC_SENSOR;
	fixture->meter.config = (struct config_meter){
		.kind = CONFIG_METER_IPMI,
		.address = (char *)"127.0.0.1",
		.port = fixture->spec.port,
		.user = (char *)"ADMIN",
		.password_file = fixture->meter.password_file,
		.cipher_suite = BMC_CIPHER_SUITE,
		.privilege = (char *)BMC_PRIVILEGE,
		.sensor = fixture->sensor,
		.sensor_count = data ? 1 : 0,
		.timeout_s = 1,
		.interval_s = 0.1,
	};
	meter_fixture_write(fixture->meter.password_file, PASSWORD "\n");
	set_watts(fixture, "61.4\n");
	start_bmc(fixture);
}

static void teardown(struct fixture *fixture, gconstpointer data)
{
	meter_fixture_close(&fixture->meter);
	power_free(fixture->power);
	subprocess_stop(fixture->bmc, STOP_GRACE_S);
	meter_fixture_finish(&fixture->meter);
	g_free(fixture->watts_file);
	g_free(fixture->journal);
	g_free(fixture->reason);
}

/* Whether the only host has had a reading. */
static bool has_answered(const struct power *power)
{
	g_autoptr(json_t) energy = power_energy_json(power);
	const json_t *host = json_array_get(json_object_get(energy, "hosts"), 0);

	return json_is_number(json_object_get(host, "watts"));
}

/* Reads, again until the BMC answers, as it does some milliseconds after its start. */
static int read_meter(struct fixture *fixture)
{
	return meter_fixture_read_answer(&fixture->meter);
}

static bool say_yes(const char *host, void *data)
{
	return true;
}

static void test_readings_follow_the_watts(struct fixture *fixture, gconstpointer data)
{
	static const struct {
		const char *watts;
		int64_t mw;
	} cases[] = {{"61.4", 61000}, {"61.5", 62000}, {"1000", 1000000}, {"32767", 32767000}};

	g_assert_cmpint(read_meter(fixture), ==, 0);
	g_assert_cmpstr(power_meter_source(fixture->meter.meter), ==, "dcmi");
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		set_watts(fixture, cases[i].watts);
		g_assert_cmpint(read_meter(fixture), ==, 0);
		g_assert_cmpint(fixture->meter.mw, ==, cases[i].mw);
	}
	/* The chassis of ipmi_sim is off. */
	set_watts(fixture, "0");
	g_assert_cmpint(read_meter(fixture), ==, 0);
	g_assert_cmpint(fixture->meter.mw, ==, 0);
	/* It cannot be where our VMs run. */
	fixture->meter.set->runs_vm = say_yes;
	g_assert_cmpint(read_meter(fixture), ==, POWER_METER_ERROR_NOT_ACTIVE);
	g_assert_nonnull(strstr(fixture->meter.message, "our VMs run"));
}

/* The pid of our child that runs ipmitool; 0: none. */
static pid_t find_ipmitool(void)
{
	g_autofree char *path = g_strdup_printf("/proc/self/task/%d/children", getpid());
	g_autofree char *text = NULL;
	g_auto(GStrv) pids = NULL;

	if (!g_file_get_contents(path, &text, NULL, NULL))
		return 0;
	pids = g_strsplit(g_strstrip(text), " ", -1);
	for (gsize i = 0; pids[i]; i++) {
		g_autofree char *comm_path = g_strdup_printf("/proc/%s/comm", pids[i]);
		g_autofree char *comm = NULL;

		if (g_file_get_contents(comm_path, &comm, NULL, NULL) &&
		    g_str_has_prefix(comm, "ipmitool"))
			return (pid_t)atoi(pids[i]);
	}
	return 0;
}

/* A login each time would take 20 ms. */
static void test_one_login_serves_all_readings(struct fixture *fixture, gconstpointer data)
{
	pid_t first;

	g_assert_cmpint(read_meter(fixture), ==, 0);
	first = find_ipmitool();
	meter_fixture_time(&fixture->meter, 300);
	g_assert_cmpint(find_ipmitool(), ==, first);
}

static void test_refusals_have_their_codes(struct fixture *fixture, gconstpointer data)
{
	g_assert_cmpint(read_meter(fixture), ==, 0);
	set_watts(fixture, "no watts");
	g_assert_cmpint(read_meter(fixture), ==, POWER_METER_ERROR_REJECTED);
	g_assert_nonnull(strstr(fixture->meter.message, "(cb)"));
	g_unlink(fixture->watts_file);
	g_assert_cmpint(read_meter(fixture), ==, POWER_METER_ERROR_REJECTED);
	set_watts(fixture, "65535");
	g_assert_cmpint(read_meter(fixture), ==, POWER_METER_ERROR_SATURATED);
	set_watts(fixture, "62");
	g_assert_cmpint(read_meter(fixture), ==, 0);
	meter_fixture_close(&fixture->meter);
	fixture->meter.config.privilege = (char *)"OPERATOR";
	g_assert_cmpint(read_meter(fixture), ==, POWER_METER_ERROR_REJECTED);
	g_assert_nonnull(strstr(fixture->meter.message, "(d4)"));
}

static void test_wrong_logins_are_told_from_silence(struct fixture *fixture, gconstpointer data)
{
	g_assert_cmpint(read_meter(fixture), ==, 0);
	meter_fixture_close(&fixture->meter);
	meter_fixture_write(fixture->meter.password_file, "wrong\n");
	g_assert_cmpint(read_meter(fixture), ==, POWER_METER_ERROR_LOGIN);
	g_assert_null(strstr(fixture->meter.message, "wrong"));
	/* A new password in the file helps without opening the meter again. */
	meter_fixture_write(fixture->meter.password_file, PASSWORD);
	g_assert_cmpint(read_meter(fixture), ==, 0);
	meter_fixture_close(&fixture->meter);
	g_unlink(fixture->meter.password_file);
	g_assert_cmpint(read_meter(fixture), ==, POWER_METER_ERROR_SETUP);
	meter_fixture_write(fixture->meter.password_file, PASSWORD);
	g_assert_cmpint(read_meter(fixture), ==, 0);
	meter_fixture_close(&fixture->meter);
	fixture->meter.config.port = meter_fixture_free_port();
	/* A login takes longer than a reading, which says so. */
	while (meter_fixture_read(&fixture->meter) == POWER_METER_ERROR_NOT_YET)
		g_assert_nonnull(strstr(fixture->meter.message, "logging in"));
	g_assert_cmpint(fixture->meter.code, ==, POWER_METER_ERROR_NO_ANSWER);
}

/* Its 16 bytes are all that ipmi_sim takes of 20. */
#define KG "4b5f67206f66206120746573742c2031"

static void test_bmc_with_a_key_of_its_own(struct fixture *fixture, gconstpointer data)
{
	g_autofree char *path = meter_fixture_path(&fixture->meter, "kg");
	g_autofree char *arguments = NULL;
	g_autofree char *cmdline = NULL;
	gsize length;

	subprocess_stop(fixture->bmc, STOP_GRACE_S);
	fixture->spec.kg = KG;
	start_bmc(fixture);
	g_assert_cmpint(read_meter(fixture), ==, POWER_METER_ERROR_LOGIN);
	g_assert_nonnull(strstr(fixture->meter.message, "`kg_file`"));
	meter_fixture_close(&fixture->meter);
	fixture->meter.config.kg_file = path;
	meter_fixture_write(path, KG "\n");
	g_assert_cmpint(read_meter(fixture), ==, 0);
	/* The key is in no argument vector. */
	cmdline = g_strdup_printf("/proc/%d/cmdline", find_ipmitool());
	g_assert_true(g_file_get_contents(cmdline, &arguments, &length, NULL));
	g_assert_null(g_strstr_len(arguments, (gssize)length, "K_g of a test"));
	g_assert_null(g_strstr_len(arguments, (gssize)length, KG));
}

static void test_keys_that_cannot_be_given_are_refused(struct fixture *fixture, gconstpointer data)
{
	/* A zero in the midst, or first, and what is no key. */
	static const char *const keys[] = {"4b005f", "00",   "004b",          "",   "4",
					   "4b5",    "4b5g", KG "2020202020", " 4b"};
	g_autofree char *path = meter_fixture_path(&fixture->meter, "kg");

	fixture->meter.config.kg_file = path;
	g_assert_cmpint(read_meter(fixture), ==, POWER_METER_ERROR_SETUP);
	for (gsize i = 0; i < G_N_ELEMENTS(keys); i++) {
		meter_fixture_write(path, keys[i]);
		g_assert_cmpint(read_meter(fixture), ==, POWER_METER_ERROR_SETUP);
	}
}

static void test_version_1_5(struct fixture *fixture, gconstpointer data)
{
	fixture->meter.config.ipmi = CONFIG_METER_IPMI_1_5;
	g_assert_cmpint(read_meter(fixture), ==, 0);
	g_assert_cmpint(fixture->meter.mw, ==, 61000);
	meter_fixture_close(&fixture->meter);
	fixture->meter.config.user = (char *)"other";
	g_assert_cmpint(read_meter(fixture), ==, POWER_METER_ERROR_LOGIN);
	meter_fixture_close(&fixture->meter);
	fixture->meter.config.user = (char *)"ADMIN";
	meter_fixture_write(fixture->meter.password_file, "wrong\n");
	g_assert_cmpint(read_meter(fixture), !=, 0);
}

static void test_missing_ipmitool_is_an_error(struct fixture *fixture, gconstpointer data)
{
	g_autofree char *path = g_strdup(g_getenv("PATH"));

	g_setenv("PATH", "/nonexistent", TRUE);
	g_assert_cmpint(read_meter(fixture), ==, POWER_METER_ERROR_SETUP);
	g_setenv("PATH", path, TRUE);
	g_assert_cmpint(read_meter(fixture), ==, 0);
}

static void test_closing_a_meter_drops_its_read(struct fixture *fixture, gconstpointer data)
{
	g_assert_cmpint(read_meter(fixture), ==, 0);
	power_meter_read(fixture->meter.meter, meter_fixture_on_read, &fixture->meter);
	fixture->meter.reads = 0;
	meter_fixture_close(&fixture->meter);
	/* While it logs in, too. */
	meter_fixture_open(&fixture->meter);
	power_meter_read(fixture->meter.meter, meter_fixture_on_read, &fixture->meter);
	meter_fixture_close(&fixture->meter);
	g_assert_cmpint(fixture->meter.reads, ==, 0);
}

static void test_sensor_stands_in_for_dcmi(struct fixture *fixture, gconstpointer data)
{
	static const struct {
		const char *watts;
		int code;
		int64_t mw;
	} cases[] = {
		{"100", 0, 100000},
		{"101.2", 0, 102000}, /* 2 W steps */
		{"508", 0, 508000},
		{"510", POWER_METER_ERROR_SATURATED, -1},
		{"2000", POWER_METER_ERROR_SATURATED, -1},
		{"rubbish", POWER_METER_ERROR_NOT_ACTIVE, -1},
		{"100", 0, 100000},
	};

	g_assert_cmpint(read_meter(fixture), ==, 0);
	g_assert_cmpstr(power_meter_source(fixture->meter.meter), ==, "sensor");
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		const int64_t until_ns = clock_now_ns() + INT64_C(5000000000);

		set_watts(fixture, cases[i].watts);
		/* The sensor follows within a tenth of a second. */
		do
			read_meter(fixture);
		while ((fixture->meter.code != cases[i].code || fixture->meter.mw != cases[i].mw) &&
		       clock_now_ns() < until_ns);
		g_assert_cmpint(fixture->meter.code, ==, cases[i].code);
		g_assert_cmpint(fixture->meter.mw, ==, cases[i].mw);
	}
}

static void test_wrong_sensor_is_refused(struct fixture *fixture, gconstpointer data)
{
	fixture->sensor[0] = (char *)"Nope";
	g_assert_cmpint(read_meter(fixture), ==, POWER_METER_ERROR_SETUP);
	g_assert_nonnull(strstr(fixture->meter.message, "there is no sensor"));
	g_assert_nonnull(strstr(fixture->meter.message, BMC_SENSOR));
	meter_fixture_close(&fixture->meter);
	fixture->meter.config.sensor_count = 0;
	g_assert_cmpint(read_meter(fixture), ==, POWER_METER_ERROR_SETUP);
	g_assert_nonnull(strstr(fixture->meter.message, "configure a `sensor`"));
}

static void on_event(const char *host, enum power_event event, const char *reason, int64_t t_ns,
		     void *data)
{
	struct fixture *fixture = data;

	g_assert_cmpstr(host, ==, "b1");
	if (event == POWER_EVENT_LOST) {
		fixture->lost++;
		g_free(fixture->reason);
		fixture->reason = g_strdup(reason);
		g_test_message("lost: %s", reason);
	} else if (event == POWER_EVENT_BACK) {
		g_assert_null(reason);
		fixture->back++;
	}
}

static void start_power(struct fixture *fixture)
{
	const struct power_host host = {"b1", &fixture->meter.config};
	g_autoptr(GError) error = NULL;

	fixture->power =
		power_new(&platform_machine, &host, 1, fixture->journal, on_event, fixture, &error);
	g_assert_no_error(error);
}

static const struct energy_counter *counter(const struct fixture *fixture)
{
	return power_counter(fixture->power, "b1");
}

/* Samples until `seconds` more are covered; the meter is not lost then. */
static void sample_for(struct fixture *fixture, double seconds)
{
	const int64_t until_ns = counter(fixture)->covered_ns + (int64_t)(seconds * 1e9);

	METER_FIXTURE_WAIT_FOR(counter(fixture)->covered_ns >= until_ns);
}

/* Runs until the meter is lost once more. It was not: a sample was the last that happened. */
static void await_loss(struct fixture *fixture)
{
	const int before = fixture->lost;

	METER_FIXTURE_WAIT_FOR(fixture->lost > before);
}

/* Runs until the meter is back from its last loss. */
static void await_return(struct fixture *fixture)
{
	METER_FIXTURE_WAIT_FOR(fixture->back == fixture->lost);
}

/*
 * The counters of the API's samples are the integral of its samples, to the microjoule, and end at
 * what the API says of the energy. Returns how many there are.
 */
static size_t assert_exact(const struct fixture *fixture)
{
	g_autoptr(json_t) samples = power_samples_json(fixture->power, 0);
	g_autoptr(json_t) energy = power_energy_json(fixture->power);
	json_t *array = json_object_get(samples, "samples");
	const json_t *host = json_array_get(json_object_get(energy, "hosts"), 0);
	const struct sample {
		int64_t seq, t_ns, mw, energy_uj;
	} none = {0};
	struct sample last = none;
	__int128 exact = 0; /* in 0.5e-6 uJ */
	json_t *value;
	size_t i;

	json_array_foreach (array, i, value) {
		const struct sample now = {
			json_integer_value(json_object_get(value, "seq")),
			json_integer_value(json_object_get(value, "t_ns")),
			json_integer_value(json_object_get(value, "mw")),
			json_integer_value(json_object_get(value, "energy_uj")),
		};

		if (i > 0) {
			g_assert_cmpint(now.seq, ==, last.seq + 1);
			if (json_is_true(json_object_get(value, "gap")))
				exact += (__int128)(2 * MAX(now.mw, last.mw)) *
					 (now.t_ns - last.t_ns);
			else
				exact += (__int128)(now.mw + last.mw) * (now.t_ns - last.t_ns);
		}
		g_assert_true((int64_t)(exact / 2000000) == now.energy_uj);
		last = now;
	}
	g_assert_cmpint(json_integer_value(json_object_get(host, "energy_uj")), ==, last.energy_uj);
	g_assert_cmpint(json_integer_value(json_object_get(host, "sample_seq")), ==, last.seq);
	g_assert_cmpint(json_integer_value(json_object_get(samples, "last")), ==, last.seq);
	return json_array_size(array);
}

static void test_energy_is_the_integral_of_the_samples(struct fixture *fixture, gconstpointer data)
{
	start_power(fixture);
	sample_for(fixture, 0.5);
	set_watts(fixture, "120.7");
	sample_for(fixture, 0.5);
	set_watts(fixture, "99");
	sample_for(fixture, 0.5);
	/* None is further from the next than a gap is long. */
	g_assert_cmpuint(assert_exact(fixture), >=, 6);
	g_assert_true(has_answered(fixture->power));
	g_assert_cmpstr(power_source(fixture->power), ==, "dcmi");
}

static void test_restart_goes_on_with_counter_and_numbers(struct fixture *fixture,
							  gconstpointer data)
{
	size_t before;

	start_power(fixture);
	sample_for(fixture, 0.5);
	before = assert_exact(fixture);
	g_clear_pointer(&fixture->power, power_free);
	start_power(fixture);
	g_assert_cmpuint(assert_exact(fixture), ==, before);
	sample_for(fixture, 0.3);
	g_assert_cmpuint(assert_exact(fixture), >, before);
}

static void test_stopped_bmc_is_lost_and_back(struct fixture *fixture, gconstpointer data)
{
	int64_t off_uj;

	start_power(fixture);
	sample_for(fixture, 0.3);
	kill(fixture->bmc, SIGSTOP);
	await_loss(fixture);
	kill(fixture->bmc, SIGCONT);
	await_return(fixture);
	sample_for(fixture, 0.3);
	g_assert_cmpint(counter(fixture)->gap_ns, >, 300000000);
	/* 61 W at both ends of the gap, to the roundings of it and perhaps a few others. */
	off_uj = (int64_t)counter(fixture)->gap_uj - 61 * counter(fixture)->gap_ns / 1000;
	g_assert_cmpint(ABS(off_uj), <, 10);
	assert_exact(fixture);
}

static void test_restarted_bmc_is_lost_and_back(struct fixture *fixture, gconstpointer data)
{
	start_power(fixture);
	sample_for(fixture, 0.3);
	for (int i = 0; i < 2; i++) {
		kill(fixture->bmc, SIGKILL);
		waitpid(fixture->bmc, NULL, 0);
		await_loss(fixture);
		start_bmc(fixture);
		await_return(fixture);
		sample_for(fixture, 0.3);
	}
	assert_exact(fixture);
}

static void test_lost_sensor_is_lost_and_back(struct fixture *fixture, gconstpointer data)
{
	fixture->meter.config.interval_s = 0.3; /* so that the answer is there before the loss */
	start_power(fixture);
	sample_for(fixture, 0.3);
	set_watts(fixture, "garbage");
	await_loss(fixture);
	g_assert_nonnull(strstr(fixture->reason, "(cb)"));
	set_watts(fixture, "70");
	await_return(fixture);
	sample_for(fixture, 0.3);
	assert_exact(fixture);
}

static void test_bmc_that_never_answers_is_lost_from_the_start(struct fixture *fixture,
							       gconstpointer data)
{
	subprocess_stop(fixture->bmc, STOP_GRACE_S);
	start_power(fixture);
	await_loss(fixture);
	g_assert_false(has_answered(fixture->power));

	g_autoptr(json_t) energy = power_energy_json(fixture->power);
	g_autofree char *text = json_text(energy);

	g_assert_nonnull(strstr(text, "\"sample_ns\":null"));
	g_assert_nonnull(strstr(text, "\"watts\":null"));
	start_bmc(fixture);
	await_return(fixture);
	g_assert_true(has_answered(fixture->power));
}

static void test_killed_and_stopped_ipmitool_is_replaced(struct fixture *fixture,
							 gconstpointer data)
{
	pid_t first, second;

	start_power(fixture);
	sample_for(fixture, 0.3);
	first = find_ipmitool();
	g_assert_cmpint(first, >, 0);
	kill(first, SIGKILL);
	sample_for(fixture, 0.3);
	second = find_ipmitool();
	g_assert_cmpint(second, >, 0);
	g_assert_cmpint(second, !=, first);
	/* A program that hangs is given up at the deadline, and killed because it does not exit. */
	kill(second, SIGSTOP);
	await_loss(fixture);
	await_return(fixture);
	sample_for(fixture, 0.3);
	assert_exact(fixture);
}

/* The password is in no argument vector. */
static void test_password_is_not_in_the_arguments(struct fixture *fixture, gconstpointer data)
{
	g_autofree char *path = NULL;
	g_autofree char *arguments = NULL;
	gsize length;

	start_power(fixture);
	sample_for(fixture, 0.2);
	path = g_strdup_printf("/proc/%d/cmdline", find_ipmitool());
	g_assert_true(g_file_get_contents(path, &arguments, &length, NULL));
	g_assert_cmpuint(length, >, 20);
	g_assert_null(g_strstr_len(arguments, (gssize)length, PASSWORD));
}

/* A peer on the BMC's port that answers every packet with the same rubbish. */
static gboolean on_packet(GSocket *socket, GIOCondition condition, gpointer data)
{
	g_autoptr(GSocketAddress) from = NULL;
	char buffer[2048];
	gssize got;

	got = g_socket_receive_from(socket, &from, buffer, sizeof buffer, NULL, NULL);
	for (gssize i = 4; i < got; i++)
		buffer[i] = (char)(buffer[i] ^ 0x5a);
	if (got > 0)
		g_socket_send_to(socket, from, buffer, (gsize)got, NULL, NULL);
	return G_SOURCE_CONTINUE;
}

static void test_rubbish_from_the_network_is_survived(struct fixture *fixture, gconstpointer data)
{
	g_autoptr(GInetAddress) host = g_inet_address_new_loopback(G_SOCKET_FAMILY_IPV4);
	g_autoptr(GSocketAddress) where = g_inet_socket_address_new(host, fixture->spec.port);
	g_autoptr(GSocket) socket = g_socket_new(G_SOCKET_FAMILY_IPV4, G_SOCKET_TYPE_DATAGRAM,
						 G_SOCKET_PROTOCOL_UDP, NULL);
	GSource *source;

	start_power(fixture);
	sample_for(fixture, 0.3);
	subprocess_stop(fixture->bmc, STOP_GRACE_S);
	g_assert_true(g_socket_bind(socket, where, FALSE, NULL));
	source = g_socket_create_source(socket, G_IO_IN, NULL);
	g_source_set_callback(source, G_SOURCE_FUNC(on_packet), NULL, NULL);
	g_source_attach(source, NULL);
	await_loss(fixture);
	g_source_destroy(source);
	g_source_unref(source);
	g_socket_close(socket, NULL);
	start_bmc(fixture);
	await_return(fixture);
	assert_exact(fixture);
}

static void add(const char *name, const char *kind, void (*test)(struct fixture *, gconstpointer))
{
	g_autofree char *path = g_strconcat("/power-ipmi/", name, NULL);

	g_test_add(path, struct fixture, kind, setup, test, teardown);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	add("readings", NULL, test_readings_follow_the_watts);
	add("one-login", NULL, test_one_login_serves_all_readings);
	add("refusals", NULL, test_refusals_have_their_codes);
	add("logins", NULL, test_wrong_logins_are_told_from_silence);
	add("kg", NULL, test_bmc_with_a_key_of_its_own);
	add("kg-refused", NULL, test_keys_that_cannot_be_given_are_refused);
	add("version-1.5", NULL, test_version_1_5);
	add("no-ipmitool", NULL, test_missing_ipmitool_is_an_error);
	add("close", NULL, test_closing_a_meter_drops_its_read);
	add("sensor", "sensor", test_sensor_stands_in_for_dcmi);
	add("wrong-sensor", "sensor", test_wrong_sensor_is_refused);
	add("energy", NULL, test_energy_is_the_integral_of_the_samples);
	add("restart", NULL, test_restart_goes_on_with_counter_and_numbers);
	add("password", NULL, test_password_is_not_in_the_arguments);
	add("bmc-stopped", NULL, test_stopped_bmc_is_lost_and_back);
	add("bmc-restarted", NULL, test_restarted_bmc_is_lost_and_back);
	add("bmc-lost-sensor", NULL, test_lost_sensor_is_lost_and_back);
	add("bmc-late", NULL, test_bmc_that_never_answers_is_lost_from_the_start);
	add("bmc-rubbish", NULL, test_rubbish_from_the_network_is_survived);
	add("ipmitool-killed", NULL, test_killed_and_stopped_ipmitool_is_replaced);
	return g_test_run();
}
