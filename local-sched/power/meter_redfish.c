/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/meter_redfish.h"

#include <string.h>

#include "common/clock.h"
#include "common/http_client.h"
#include "common/json.h"
#include "local-sched/power/meter_redfish_parse.h"

#define LOG_SUBSYSTEM "meter"
#include "common/log.h"

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
	const struct config_meter *config;
	const char *host;
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
	enum meter_redfish_verdict verdict; /* of the candidates that have failed */
	/* The read under way. */
	enum step step;
	bool again; /* the login was repeated */
	int64_t deadline_ns;
	GError *late; /* a failure that is reported from the main loop */
	guint late_id;
	power_meter_done_f done;
	void *data;
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

static struct power_meter *redfish_open(const struct config_meter *config, const char *host,
					GError **error)
{
	struct meter_redfish *meter = g_new0(struct meter_redfish, 1);
	g_autoptr(GError) reason = NULL;

	meter->base.ops = &meter_redfish_ops;
	meter->config = config;
	meter->host = host;
	meter->address = address_of(config);
	meter->client = http_client_new(meter->address, &reason);
	g_queue_init(&meter->candidates);
	g_queue_init(&meter->chassis);
	if (meter->client)
		return &meter->base;
	g_set_error(error, POWER_METER_ERROR, POWER_METER_ERROR_SETUP, "host \"%s\": %s", host,
		    reason->message);
	power_meter_close(&meter->base);
	return NULL;
}

/* Ends the read with watts. The meter may be freed afterwards. */
static void end_read(struct meter_redfish *meter, int64_t mw)
{
	const struct power_reading reading = { .mw = mw, .t_ns = clock_now_ns() };

	meter->done(&reading, NULL, meter->data);
}

static void end_read_failed(struct meter_redfish *meter, int code, const char *what)
{
	g_autoptr(GError) error = g_error_new(POWER_METER_ERROR, code, "host \"%s\": BMC %s: %s",
					      meter->host, meter->address, what);

	meter->done(NULL, error, meter->data);
}

/* Forgets the place of the watts and all candidates. */
static void forget_places(struct meter_redfish *meter)
{
	candidate_free(g_steal_pointer(&meter->found));
	g_queue_clear_full(&meter->candidates, (GDestroyNotify)candidate_free);
	g_queue_clear_full(&meter->chassis, g_free);
	meter->listed = false;
	meter->verdict = METER_REDFISH_OK;
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
		.ca_file = meter->config->ca_file,
		.insecure = meter->config->tls == CONFIG_METER_INSECURE,
		.user = password ? meter->config->user : NULL,
		.password = password,
		.header = meter->session_header,
	};

	http_client_identify(meter->client, &identity);
}

/* Logging in. */

static gboolean on_late_failure(gpointer data)
{
	struct meter_redfish *meter = data;
	g_autoptr(GError) error = g_steal_pointer(&meter->late);

	meter->late_id = 0;
	end_read_failed(meter, error->code, error->message);
	return G_SOURCE_REMOVE;
}

/* Reads the password from the file. Basic authentication needs no more; a session is opened. */
static void log_in(struct meter_redfish *meter)
{
	g_autofree char *password = power_meter_password(meter->config, &meter->late);
	g_autoptr(json_t) body = NULL;

	if (!password) {
		/*
		 * From the main loop, because no callback may come before power_meter_read()
		 * returns.
		 */
		meter->late_id = g_idle_add(on_late_failure, meter);
		return;
	}
	if (meter->config->auth == CONFIG_METER_BASIC) {
		identify(meter, password);
		meter->known = true;
		take_step(meter);
		return;
	}
	identify(meter, NULL);
	body = json_pack("{s:s, s:s}", "UserName", meter->config->user, "Password", password);
	request(meter, STEP_LOGIN, SESSIONS_PATH, body);
}

static void handle_login(struct meter_redfish *meter, const json_t *body)
{
	const char *token = http_client_answer_header(meter->client, "X-Auth-Token");
	const char *location = http_client_answer_header(meter->client, "Location");

	if (!token) {
		end_read_failed(meter, POWER_METER_ERROR_GARBAGE,
						      "its answer to a login holds no token");
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
		end_read_failed(meter, POWER_METER_ERROR_GARBAGE, "its list of chassis is none");
		return;
	}
	meter->listed = true;
	for (guint i = 0; i < links->len; i++)
		g_queue_push_tail(&meter->chassis, g_strdup(links->pdata[i]));
	take_step(meter);
}

static void handle_chassis(struct meter_redfish *meter, const json_t *body)
{
	static const enum meter_redfish_place places[] = { METER_REDFISH_POWER,
							   METER_REDFISH_ENVIRONMENT };

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

static const char *meaning(enum meter_redfish_verdict verdict)
{
	return verdict == METER_REDFISH_NULL ? "it has no watts at the moment (null)" :
					       "its watts are not a number of watts";
}

static int code_of(enum meter_redfish_verdict verdict)
{
	return verdict == METER_REDFISH_NULL ? POWER_METER_ERROR_NOT_ACTIVE :
					       POWER_METER_ERROR_GARBAGE;
}

static void handle_watts(struct meter_redfish *meter, const json_t *body)
{
	const struct candidate *candidate =
		meter->found ? meter->found : g_queue_peek_head(&meter->candidates);
	int64_t mw;
	const enum meter_redfish_verdict verdict =
		meter_redfish_parse_watts(body, candidate->place, &mw);

	if (verdict != METER_REDFISH_OK && meter->found) {
		end_read_failed(meter, code_of(verdict), meaning(verdict));
		return;
	}
	if (verdict != METER_REDFISH_OK) {
		meter->verdict = verdict;
		candidate_free(g_queue_pop_head(&meter->candidates));
		take_step(meter);
		return;
	}
	if (!meter->found) {
		meter->found = g_queue_pop_head(&meter->candidates);
		log_info_of(LOG_HOST(meter->host), "its watts are in %s of BMC %s",
			    meter->found->path, meter->address);
	}
	end_read(meter, mw);
}

/* Fails the read, as all places were tried. The next reading begins the search again. */
static void give_up(struct meter_redfish *meter)
{
	const enum meter_redfish_verdict verdict = meter->verdict;

	forget_places(meter);
	if (verdict != METER_REDFISH_OK)
		end_read_failed(meter, code_of(verdict), meaning(verdict));
	else
		end_read_failed(meter, POWER_METER_ERROR_SETUP,
						      "no chassis has watts, neither in Power nor "
						      "in EnvironmentMetrics; name another "
						      "`chassis`, or another kind of meter");
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
		end_read_failed(meter, POWER_METER_ERROR_REJECTED, what);
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
	end_read_failed(meter, POWER_METER_ERROR_LOGIN, text);
}

static void handle_failure(struct meter_redfish *meter, int status, const GError *error)
{
	if (status == STATUS_UNAUTHORIZED || (status > 0 && meter->step == STEP_LOGIN &&
					      status < 500)) {
		refused_login(meter, error->message);
	} else if (status == STATUS_NOT_FOUND || status == STATUS_FORBIDDEN ||
		   status == STATUS_BAD_REQUEST) {
		pass_over(meter, error->message);
	} else if (error->code == HTTP_ERROR_TRUST) {
		g_autofree char *text = g_strdup_printf(
			"its certificate is not trusted; give a `ca_file`: %s", error->message);

		end_read_failed(meter, POWER_METER_ERROR_SETUP, text);
	} else {
		end_read_failed(meter,
				status > 0 ? POWER_METER_ERROR_REJECTED
					   : POWER_METER_ERROR_NO_ANSWER,
				error->message);
	}
}

static void on_answer(int status, json_t *body, const GError *error, void *data)
{
	static void (*const handlers[])(struct meter_redfish *meter, const json_t *body) = {
		[STEP_LOGIN] = handle_login,
		[STEP_LIST] = handle_list,
		[STEP_CHASSIS] = handle_chassis,
		[STEP_WATTS] = handle_watts,
	};
	struct meter_redfish *meter = data;

	if (error && error->code == HTTP_ERROR_BODY)
		end_read_failed(meter, POWER_METER_ERROR_GARBAGE, error->message);
	else if (error)
		handle_failure(meter, status, error);
	else
		handlers[meter->step](meter, body);
}

static void request(struct meter_redfish *meter, enum step step, const char *path, json_t *body)
{
	const double left_s = clock_elapsed_s(clock_now_ns(), meter->deadline_ns);

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
	} else if (meter->config->chassis) {
		meter->listed = true;
		g_queue_push_tail(&meter->chassis, chassis_path(meter->config->chassis));
		request(meter, STEP_CHASSIS, g_queue_peek_head(&meter->chassis), NULL);
	} else {
		request(meter, STEP_LIST, CHASSIS_PATH, NULL);
	}
}

static void redfish_read(struct power_meter *base, power_meter_done_f done, void *data)
{
	struct meter_redfish *meter = (struct meter_redfish *)base;

	meter->deadline_ns = clock_now_ns() + (int64_t)(POWER_METER_DEADLINE_S * 1e9);
	meter->again = false;
	meter->done = done;
	meter->data = data;
	take_step(meter);
}

static const char *redfish_source(const struct power_meter *base)
{
	return "redfish";
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
	g_clear_handle_id(&meter->late_id, g_source_remove);
	g_clear_error(&meter->late);
	forget_login(meter);
	forget_places(meter);
	g_free(meter->address);
	g_free(meter);
}

const struct power_meter_ops meter_redfish_ops = {
	.name = "redfish",
	.kind = CONFIG_METER_REDFISH,
	.open = redfish_open,
	.read = redfish_read,
	.source = redfish_source,
	.close = redfish_close,
};
