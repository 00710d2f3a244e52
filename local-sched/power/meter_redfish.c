/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "common/clock.h"
#include "common/http_client.h"
#include "common/json.h"
#include "local-sched/power/meter_redfish_parse.h"

#define LOG_SUBSYSTEM "meter"
#include "common/log.h"

/*
 * Redfish over HTTPS (DMTF DSP0266), on connections that are kept. Finds the watts at the first
 * reading and remembers the place. For each chassis (or the configured one) it tries the power
 * control of its Power resource, PowerControl[0].PowerConsumedWatts, and then PowerWatts.Reading of
 * its EnvironmentMetrics, which newer BMCs have instead. A search that takes longer than a reading
 * continues in the next one.
 *
 * null or a missing property is no reading, never 0 W. A repeated value is a reading: BMCs refresh
 * it at their own pace (iDRAC about once a minute), and some hosts do draw constant power.
 *
 * Logs in with Basic authentication or, where configured, once for a session whose token is used
 * from then on. A session that the BMC has ended is opened again within the same reading. The last
 * session is closed with the meter.
 */

#define SESSIONS_PATH "/redfish/v1/SessionService/Sessions"
#define CHASSIS_PATH "/redfish/v1/Chassis"
#define LOGOUT_TIMEOUT_S 0.5

enum {
	STATUS_BAD_REQUEST = 400,
	STATUS_UNAUTHORIZED = 401,
	STATUS_FORBIDDEN = 403,
	STATUS_NOT_FOUND = 404,
};

/*
 * The requests of a reading. Once the place of the watts is known a reading is one request,
 * STEP_WATTS.
 */
enum step {
	STEP_LOGIN = 0,
	STEP_LIST,    /* lists the chassis */
	STEP_CHASSIS, /* reads where a chassis has its watts */
	STEP_WATTS,
};

/* A resource that has watts, or may have them. */
struct candidate {
	char *path;
	enum meter_redfish_place place;
};

struct meter_redfish {
	struct power_meter base;
	char *address;
	struct http_client *client;
	bool known;         /* the password was read, or a session is open */
	char *session_path; /* to be closed, or NULL */
	char *session_header;
	/* The place of the watts, or candidates for it. */
	struct candidate *found; /* or NULL */
	GQueue candidates;       /* struct candidate */
	GQueue chassis;          /* char *: paths to check */
	bool listed;
	enum power_meter_error verdict; /* of the candidates that have failed */
	/* The read under way. */
	enum step step;
	bool again; /* the login was repeated */
};

static void take_step(struct meter_redfish *meter);
static void request(struct meter_redfish *meter, enum step step, const char *path, json_t *body);

static void candidate_free(struct candidate *candidate)
{
	if (!candidate)
		return;
	g_free(candidate->path);
	g_free(candidate);
}

/* "https://HOST:PORT", with brackets around an IPv6 address. */
static char *address_of(const struct config_meter *config)
{
	const bool bare = strchr(config->address, ':') && config->address[0] != '[';

	return g_strdup_printf("https://%s%s%s:%u", bare ? "[" : "", config->address,
			       bare ? "]" : "", config->port);
}

static bool redfish_open(struct power_meter *base, GError **error)
{
	struct meter_redfish *meter = (struct meter_redfish *)base;
	g_autoptr(GError) reason = NULL;

	meter->address = address_of(base->config);
	meter->client = http_client_new(meter->address, &reason);
	return meter->client ||
	       power_meter_set_error(base, error, POWER_METER_ERROR_SETUP, "%s", reason->message);
}

static void fail(struct meter_redfish *meter, enum power_meter_error code, const char *what)
{
	power_meter_fail(&meter->base, code, "BMC %s: %s", meter->address, what);
}

/* Forgets the place of the watts and all candidates. */
static void forget_places(struct meter_redfish *meter)
{
	candidate_free(g_steal_pointer(&meter->found));
	g_queue_clear_full(&meter->candidates, (GDestroyNotify)candidate_free);
	g_queue_clear_full(&meter->chassis, g_free);
	meter->listed = false;
	meter->verdict = POWER_METER_OK;
}

static void forget_login(struct meter_redfish *meter)
{
	meter->known = false;
	g_clear_pointer(&meter->session_path, g_free);
	g_clear_pointer(&meter->session_header, g_free);
}

/* Tells the client which certificate to trust and, with a password, how to log in. */
static void identify(struct meter_redfish *meter, const char *password)
{
	const struct http_client_identity identity = {
		.ca_file = meter->base.config->ca_file,
		.insecure = meter->base.config->tls == CONFIG_METER_INSECURE,
		.user = password ? meter->base.config->user : NULL,
		.password = password,
		.header = meter->session_header,
	};

	http_client_identify(meter->client, &identity);
}

/* Logging in. */

/* Reads the password from the file. Basic authentication needs no more; a session is opened. */
static void log_in(struct meter_redfish *meter)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *password = power_meter_password(meter->base.config, &error);
	g_autoptr(json_t) body = NULL;

	if (!password) {
		fail(meter, (enum power_meter_error)error->code, error->message);
		return;
	}
	if (meter->base.config->auth == CONFIG_METER_BASIC) {
		identify(meter, password);
		meter->known = true;
		take_step(meter);
		return;
	}
	identify(meter, NULL);
	body = json_pack("{s:s, s:s}", "UserName", meter->base.config->user, "Password", password);
	request(meter, STEP_LOGIN, SESSIONS_PATH, body);
}

static void handle_login(struct meter_redfish *meter, const json_t *body)
{
	const char *token = http_client_answer_header(meter->client, "X-Auth-Token");
	const char *location = http_client_answer_header(meter->client, "Location");

	if (!token) {
		fail(meter, POWER_METER_ERROR_GARBAGE, "its answer to a login holds no token");
		return;
	}
	meter->known = true;
	meter->session_header = g_strconcat("X-Auth-Token: ", token, NULL);
	meter->session_path = meter_redfish_parse_location(location);
	if (!meter->session_path)
		meter->session_path = meter_redfish_parse_location(
			json_string_value(json_object_get(body, "@odata.id")));
	identify(meter, NULL);
	take_step(meter);
}

/* Finding the watts. */

static void handle_list(struct meter_redfish *meter, const json_t *body)
{
	g_autoptr(GPtrArray) links = meter_redfish_parse_members(body);

	if (!links) {
		fail(meter, POWER_METER_ERROR_GARBAGE, "its list of chassis is none");
		return;
	}
	meter->listed = true;
	for (guint i = 0; i < links->len; i++)
		g_queue_push_tail(&meter->chassis, g_strdup(links->pdata[i]));
	take_step(meter);
}

static void handle_chassis(struct meter_redfish *meter, const json_t *body)
{
	static const enum meter_redfish_place places[] = {METER_REDFISH_POWER,
							  METER_REDFISH_ENVIRONMENT};

	g_free(g_queue_pop_head(&meter->chassis));
	for (gsize i = 0; i < G_N_ELEMENTS(places); i++) {
		const char *path = meter_redfish_parse_link(body, places[i]);
		struct candidate *candidate;

		if (!path)
			continue;
		candidate = g_new0(struct candidate, 1);
		candidate->path = g_strdup(path);
		candidate->place = places[i];
		g_queue_push_tail(&meter->candidates, candidate);
	}
	take_step(meter);
}

static void fail_watts(struct meter_redfish *meter, enum power_meter_error verdict)
{
	fail(meter, verdict,
	     verdict == POWER_METER_ERROR_NOT_ACTIVE ? "it has no watts at the moment (null)"
						     : "its watts are not a number of watts");
}

static void handle_watts(struct meter_redfish *meter, const json_t *body)
{
	const struct candidate *candidate =
		meter->found ? meter->found : g_queue_peek_head(&meter->candidates);
	int64_t mw;
	const enum power_meter_error verdict =
		meter_redfish_parse_watts(body, candidate->place, &mw);

	if (verdict != POWER_METER_OK && meter->found) {
		fail_watts(meter, verdict);
		return;
	}
	if (verdict != POWER_METER_OK) {
		meter->verdict = verdict;
		candidate_free(g_queue_pop_head(&meter->candidates));
		take_step(meter);
		return;
	}
	if (!meter->found) {
		meter->found = g_queue_pop_head(&meter->candidates);
		log_info_of(LOG_HOST(meter->base.host), "its watts are in %s of BMC %s",
			    meter->found->path, meter->address);
	}
	power_meter_end(&meter->base, mw);
}

/* Fails the read, as all places were tried. The next reading begins the search again. */
static void give_up(struct meter_redfish *meter)
{
	const enum power_meter_error verdict = meter->verdict;

	forget_places(meter);
	if (verdict != POWER_METER_OK)
		fail_watts(meter, verdict);
	else
		fail(meter, POWER_METER_ERROR_SETUP,
		     "no chassis has watts, neither in Power nor in EnvironmentMetrics; name "
		     "another `chassis`, or another kind of meter");
}

/* Responses. */

/*
 * Skips a resource that does not exist, is not accessible, or whose name (a configured chassis) the
 * BMC rejects: the watts are not there.
 */
static void pass_over(struct meter_redfish *meter, const char *what)
{
	if (meter->step == STEP_CHASSIS) {
		g_free(g_queue_pop_head(&meter->chassis));
		take_step(meter);
	} else if (meter->step == STEP_WATTS && !meter->found) {
		candidate_free(g_queue_pop_head(&meter->candidates));
		take_step(meter);
	} else {
		forget_places(meter);
		fail(meter, POWER_METER_ERROR_REJECTED, what);
	}
}

static void refused_login(struct meter_redfish *meter, const char *what)
{
	const bool had_session = meter->session_header != NULL;
	g_autofree char *text = NULL;

	forget_login(meter);
	if (had_session && !meter->again) {
		meter->again = true; /* the session may have ended by being idle */
		take_step(meter);
		return;
	}
	text = g_strdup_printf("login refused; check user and password_file: %s", what);
	fail(meter, POWER_METER_ERROR_LOGIN, text);
}

static void handle_failure(struct meter_redfish *meter, int status, const GError *error)
{
	if (status == STATUS_UNAUTHORIZED ||
	    (status > 0 && meter->step == STEP_LOGIN && status < 500)) {
		refused_login(meter, error->message);
	} else if (status == STATUS_NOT_FOUND || status == STATUS_FORBIDDEN ||
		   status == STATUS_BAD_REQUEST) {
		pass_over(meter, error->message);
	} else if (error->code == HTTP_ERROR_TRUST) {
		g_autofree char *text =
			g_strdup_printf("its certificate is not trusted; give a `ca_file`: %s",
					error->message);

		fail(meter, POWER_METER_ERROR_SETUP, text);
	} else {
		fail(meter, status > 0 ? POWER_METER_ERROR_REJECTED : POWER_METER_ERROR_NO_ANSWER,
		     error->message);
	}
}

static void on_answer(int status, json_t *body, const GError *error, void *data)
{
	static void (*const handlers[])(struct meter_redfish * meter, const json_t *body) = {
		[STEP_LOGIN] = handle_login,
		[STEP_LIST] = handle_list,
		[STEP_CHASSIS] = handle_chassis,
		[STEP_WATTS] = handle_watts,
	};
	struct meter_redfish *meter = data;

	if (error && error->code == HTTP_ERROR_BODY)
		fail(meter, POWER_METER_ERROR_GARBAGE, error->message);
	else if (error)
		handle_failure(meter, status, error);
	else
		handlers[meter->step](meter, body);
}

static void request(struct meter_redfish *meter, enum step step, const char *path, json_t *body)
{
	const double left_s = clock_elapsed_s(clock_now_ns(), meter->base.deadline_ns);

	meter->step = step;
	/*
	 * Without time left the request fails at once, from the main loop, and the next read
	 * continues here.
	 */
	http_client_request(meter->client, body ? "POST" : "GET", path, body, MAX(left_s, 0),
			    on_answer, meter);
}

/* The path of the configured chassis. */
static char *chassis_path(const char *id)
{
	g_autofree char *escaped = g_uri_escape_string(id, NULL, FALSE);

	return g_strconcat(CHASSIS_PATH "/", escaped, NULL);
}

/* Sends the next request. */
static void take_step(struct meter_redfish *meter)
{
	const struct candidate *candidate =
		meter->found ? meter->found : g_queue_peek_head(&meter->candidates);

	if (!meter->known) {
		log_in(meter);
	} else if (candidate) {
		request(meter, STEP_WATTS, candidate->path, NULL);
	} else if (!g_queue_is_empty(&meter->chassis)) {
		request(meter, STEP_CHASSIS, g_queue_peek_head(&meter->chassis), NULL);
	} else if (meter->listed) {
		give_up(meter);
	} else if (meter->base.config->chassis) {
		meter->listed = true;
		g_queue_push_tail(&meter->chassis, chassis_path(meter->base.config->chassis));
		request(meter, STEP_CHASSIS, g_queue_peek_head(&meter->chassis), NULL);
	} else {
		request(meter, STEP_LIST, CHASSIS_PATH, NULL);
	}
}

static void redfish_read(struct power_meter *base)
{
	struct meter_redfish *meter = (struct meter_redfish *)base;

	meter->again = false;
	take_step(meter);
}

/*
 * Closes the session, of which a BMC has few. On a main loop of its own, since the program's may
 * have ended.
 */
static void log_out(struct meter_redfish *meter)
{
	GMainContext *context = g_main_context_new();

	g_main_context_push_thread_default(context);
	g_clear_pointer(&meter->client, http_client_free);
	meter->client = http_client_new(meter->address, NULL);
	identify(meter, NULL);
	json_decref(http_client_call(meter->client, "DELETE", meter->session_path, NULL,
				     LOGOUT_TIMEOUT_S, NULL));
	g_clear_pointer(&meter->client, http_client_free);
	g_main_context_pop_thread_default(context);
	g_main_context_unref(context);
}

static void redfish_close(struct power_meter *base)
{
	struct meter_redfish *meter = (struct meter_redfish *)base;

	if (meter->session_path)
		log_out(meter);
	http_client_free(meter->client);
	forget_login(meter);
	forget_places(meter);
	g_free(meter->address);
}

const struct power_meter_ops meter_redfish_ops = {
	.kind = CONFIG_METER_REDFISH,
	.size = sizeof(struct meter_redfish),
	.open = redfish_open,
	.read = redfish_read,
	.close = redfish_close,
};
