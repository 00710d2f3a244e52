/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/redfish_service.h"

#include <string.h>

#include "common/clock.h"
#include "common/config/config_files.h"
#include "common/error_fail.h"
#include "common/http_client.h"
#include "common/json.h"
#include "common/platform.h"
#include "local-sched/power/meter_redfish_parse.h"

#define LOG_SUBSYSTEM "meter"
#include "common/log.h"

#define ROOT_PATH "/redfish/v1/"
#define SESSIONS_PATH "/redfish/v1/SessionService/Sessions"

/* How long an answer may take where the configuration does not say. */
#define TIMEOUT_S 15.0
/* A login that takes longer is of a slow BMC. */
#define SLOW_MS 500
/*
 * A login is waited for longer than requests wait for it: a late answer may be about a session that
 * only this answer names.
 */
#define LOGIN_TIMEOUTS 2

/* A BMC that has not answered before is not waited for at the end. */
#define LOGOUT_TIMEOUT_S 2.0
#define LOGOUT_SILENT_S 0.2

/* The wait after a refused login with the same password; it doubles up to the maximum. */
#define LOGIN_RETRY_S 4.5
#define LOGIN_RETRY_MAX_S 60.0

enum {
	REDIRECTIONS_MAX = 4,
	CALLS_AT_ONCE = 4,
	ANSWER_MAX = 8 << 20, /* bytes, decompressed */
	WORKED_MAX = 1024,
};

enum {
	STATUS_BAD_REQUEST = 400,
	STATUS_UNAUTHORIZED = 401,
	STATUS_FORBIDDEN = 403,
	STATUS_NOT_FOUND = 404,
	STATUS_NOT_ALLOWED = 405,
	STATUS_SERVER_ERROR = 500,
	STATUS_NOT_IMPLEMENTED = 501,
};

enum login {
	LOGIN_OUT = 0, /* the next request logs in */
	LOGIN_LEAVING, /* the former session is being closed; then requests that wait log in */
	LOGIN_UNDER_WAY,
	LOGIN_IN,
};

/* The service root, which names the place of sessions. */
enum root {
	ROOT_UNKNOWN = 0,
	ROOT_UNDER_WAY,
	ROOT_KNOWN, /* and not followed yet */
	ROOT_FOLLOWED,
};

/* The services of one owner, so that meters of one BMC find one another's. */
struct redfish_services {
	const struct platform *platform;
	GPtrArray *list; /* struct redfish_service */
};

struct redfish_service {
	const struct platform *platform;
	struct config_meter config; /* copies of what is needed of it */
	char *address;
	struct http_client *client;
	struct http_client
		*login_client; /* for sessions, so that the end can wait for them alone */
	bool ending;           /* no meter is left: a login only gets its session */
	GQueue waiting;        /* struct call elements that wait for the login */
	GQueue sent;           /* struct call elements */
	/* The login. */
	enum login login;
	guint login_id;      /* when to begin with it */
	bool basic;          /* without sessions */
	unsigned generation; /* of the login */
	char *sessions_path; /* where sessions are opened */
	enum root root;      /* which names that place too */
	char *root_path;     /* what it names, or NULL */
	guint root_id;       /* when it is asked for beside a slow login */
	guint late_id;       /* when the requests that wait for the login have failed */
	bool refused;        /* the login was, and waits for the root */
	bool leads_away;     /* it was refused by a redirection that is not followed */
	bool redirected;     /* that place is where another redirected to */
	char *session_path;  /* to be closed, or NULL */
	char *leaving_path;  /* of the former session while it is being closed, or NULL */
	char *session_header;
	bool slash; /* paths end with one there */
	unsigned answers;
	double slowest_s;   /* of them */
	bool silent;        /* the last request got no answer */
	GHashTable *worked; /* paths that were answered since the login */
	/* The last refusal. */
	char *refused_password;
	char *refusal;
	int64_t not_before_ns;
	double retry_s;
};

/* A request of a meter. */
struct call {
	struct redfish_service *service;
	char *path;
	char *lasting_path; /* after permanent redirections */
	int tag;
	unsigned redirections;
	bool slashed; /* the last character of `path` is a slash that we have added */
	int64_t sent_ns;
	bool passing;          /* one of them was for this time only */
	bool again;            /* the login was repeated for it */
	unsigned generation;   /* of the login that it was sent with */
	redfish_answer_f done; /* NULL: it was dropped */
	void *data;
};

static void log_in(struct redfish_service *service);
static void call_service(struct call *call);
static void send_call(struct call *call);

static void call_free(struct call *call)
{
	g_free(call->path);
	g_free(call->lasting_path);
	g_free(call);
}

/* "https://HOST:PORT", with brackets around an IPv6 address. */
static char *address_of(const struct config_meter *config)
{
	const bool bare = strchr(config->address, ':') && config->address[0] != '[';

	return g_strdup_printf("https://%s%s%s:%u", bare ? "[" : "", config->address,
			       bare ? "]" : "", config->port);
}

static void end_login(struct redfish_service *service)
{
	service->login = LOGIN_OUT;
	g_clear_pointer(&service->session_path, g_free);
	g_clear_pointer(&service->session_header, g_free);
	g_hash_table_remove_all(service->worked);
}

/* Tells the clients which certificate to trust and, with a password, how to log in. */
static void identify(struct redfish_service *service, const char *password)
{
	const struct http_client_identity identity = {
		.ca_file = service->config.ca_file,
		.insecure = service->config.tls == CONFIG_METER_INSECURE,
		.user = password ? service->config.user : NULL,
		.password = password,
		.header = service->session_header,
	};

	http_client_identify(service->client, &identity);
	http_client_identify(service->login_client, &identity);
}

static void on_logged_out(int status, json_t *body, const GError *error, void *data)
{
}

/*
 * Waits for the requests to all BMCs, which are under way side by side. Each BMC has as long as an
 * answer may take.
 */
static void settle_all(const struct redfish_services *services)
{
	const int64_t began_ns = platform_now_ns(services->platform);

	for (guint i = 0; i < services->list->len; i++) {
		struct redfish_service *service = services->list->pdata[i];
		const double gone_s =
			clock_elapsed_s(began_ns, platform_now_ns(services->platform));

		http_client_settle(service->login_client, service->config.timeout_s - gone_s);
		http_client_cancel(service->login_client, false);
	}
}

/*
 * Closes all sessions, side by side: one BMC that is silent keeps the others' from nothing. A login
 * that was sent may have opened a session, of which only its answer tells: that is waited for, and
 * so is a session that is being closed. Where that was not sent yet it is sent after all.
 */
static void log_out_all(const struct redfish_services *services)
{
	for (guint i = 0; i < services->list->len; i++) {
		struct redfish_service *service = services->list->pdata[i];

		service->ending = true;
		http_client_cancel(service->client, false);
		http_client_cancel(service->login_client, true);
	}
	settle_all(services);
	for (guint i = 0; i < services->list->len; i++) {
		struct redfish_service *service = services->list->pdata[i];
		const char *path = service->session_path ?: service->leaving_path;

		if (path)
			http_client_request(service->login_client, "DELETE", path, NULL,
					    service->silent ? LOGOUT_SILENT_S : LOGOUT_TIMEOUT_S,
					    on_logged_out, service);
	}
	settle_all(services);
}

static void service_free(gpointer data)
{
	struct redfish_service *service = data;

	g_clear_handle_id(&service->login_id, g_source_remove);
	g_clear_handle_id(&service->root_id, g_source_remove);
	g_clear_handle_id(&service->late_id, g_source_remove);
	http_client_free(service->client);
	http_client_free(service->login_client);
	g_queue_clear_full(&service->waiting, (GDestroyNotify)call_free);
	g_queue_clear_full(&service->sent, (GDestroyNotify)call_free);
	end_login(service);
	g_free(service->leaving_path);
	g_hash_table_unref(service->worked);
	g_free(service->config.address);
	g_free(service->config.user);
	g_free(service->config.password_file);
	g_free(service->config.ca_file);
	g_free(service->sessions_path);
	g_free(service->root_path);
	g_free(service->refused_password);
	g_free(service->refusal);
	g_free(service->address);
	g_free(service);
}

struct redfish_services *redfish_services_new(const struct platform *platform)
{
	struct redfish_services *services = g_new0(struct redfish_services, 1);

	services->platform = platform;
	services->list = g_ptr_array_new_with_free_func(service_free);
	return services;
}

void redfish_services_free(struct redfish_services *services)
{
	if (!services)
		return;
	log_out_all(services);
	g_ptr_array_unref(services->list);
	g_free(services);
}

/* Ends a call, which is in no queue any more. */
static void deliver(struct call *call, const struct redfish_answer *outcome)
{
	struct redfish_answer answer = *outcome;

	answer.tag = call->tag;
	answer.path = call->lasting_path ?: call->path;
	if (call->done)
		call->done(&answer, call->data);
	call_free(call);
}

static void deliver_error(struct call *call, enum power_meter_error code, int status,
			  const char *reason)
{
	deliver(call, &(struct redfish_answer){.code = code, .status = status, .reason = reason});
}

/* Ends all calls that wait for the login. */
static void fail_waiting(struct redfish_service *service, enum power_meter_error code, int status,
			 const char *reason)
{
	g_autofree char *kept = g_strdup(reason);
	GQueue waiting = service->waiting;
	struct call *call;

	g_queue_init(&service->waiting);
	end_login(service);
	while ((call = g_queue_pop_head(&waiting)))
		deliver_error(call, code, status, kept);
}

/* A login that was refused is not tried again soon with the same password. */
static void note_refusal(struct redfish_service *service, const char *reason)
{
	g_autofree char *password = power_meter_password(&service->config, NULL);

	g_free(service->refusal);
	service->refusal = g_strdup(reason);
	g_free(service->refused_password);
	service->refused_password = g_steal_pointer(&password);
	service->not_before_ns =
		platform_now_ns(service->platform) + (int64_t)(service->retry_s * 1e9);
	service->retry_s = MIN(2 * service->retry_s, LOGIN_RETRY_MAX_S);
}

/* Adds a slash to the path of a request that was not sent yet, where the service has them. */
static void add_slash(struct call *call)
{
	char *path = call->path;

	if (!call->service->slash || call->redirections > 0 || call->again ||
	    g_str_has_suffix(path, "/") || strchr(path, '?'))
		return;
	call->path = g_strconcat(path, "/", NULL);
	call->slashed = true;
	g_free(path);
}

/* Sends what waits, as much as may be under way at once. */
static void send_waiting(struct redfish_service *service)
{
	while (service->login == LOGIN_IN && !g_queue_is_empty(&service->waiting) &&
	       g_queue_get_length(&service->sent) < CALLS_AT_ONCE) {
		struct call *call = g_queue_pop_head(&service->waiting);

		add_slash(call);
		send_call(call);
	}
}

/* The login works: sends what waits for it. */
static void enter(struct redfish_service *service)
{
	service->login = LOGIN_IN;
	service->generation++;
	service->retry_s = LOGIN_RETRY_S;
	g_clear_pointer(&service->refusal, g_free);
	send_waiting(service);
}

/* What libcurl's failures and statuses mean where nothing else is known of them. */
static enum power_meter_error code_of(int status, const GError *error)
{
	if (error->code == HTTP_ERROR_TRUST || error->code == HTTP_ERROR_NAME)
		return POWER_METER_ERROR_SETUP;
	if (status >= 300)
		return POWER_METER_ERROR_REJECTED;
	return status > 0 || error->code == HTTP_ERROR_BODY ? POWER_METER_ERROR_GARBAGE
							    : POWER_METER_ERROR_NO_ANSWER;
}

/* The reason in `error`, with what to do where it is known; the caller frees. */
static char *advise(const struct redfish_service *service, const GError *error)
{
	/* The words of OpenSSL. */
	if (error->code == HTTP_ERROR_TRUST &&
	    (strstr(error->message, "expired") || strstr(error->message, "not yet valid")))
		return g_strdup_printf("the time is not within its certificate's: renew that, set "
				       "the clocks of the BMC and of this machine, or take any "
				       "certificate with `tls: insecure`: %s",
				       error->message);
	/* The words of libcurl. */
	if (error->code == HTTP_ERROR_TRUST &&
	    strstr(error->message, "error setting certificate file"))
		return g_strdup_printf("`ca_file` cannot be read, or holds no certificate: %s",
				       error->message);
	if (error->code == HTTP_ERROR_TRUST)
		return g_strdup_printf("its certificate is not trusted; %s: %s",
				       service->config.ca_file
					       ? "`ca_file` holds neither it nor its CA's"
					       : "give a `ca_file`",
				       error->message);
	if (error->code == HTTP_ERROR_NAME)
		return g_strdup_printf(
			"its certificate is for another name than \"%s\"; give the certificate's "
			"name as `address` (a line in /etc/hosts makes it known), give the BMC a "
			"certificate of its name, or take any with `tls: insecure`: %s",
			service->config.address, error->message);
	return g_strdup(error->message);
}

static void open_session(struct redfish_service *service, const char *password);

static void refuse_sessions(struct redfish_service *service, const char *reason)
{
	g_autofree char *text = NULL;

	if (service->leads_away) {
		fail_waiting(service, POWER_METER_ERROR_SETUP, 0, reason);
		return;
	}
	if (service->config.auth != CONFIG_METER_SESSION) {
		log_info("BMC %s offers no sessions: name and password go with every request (%s)",
			 service->address, reason);
		service->basic = true;
		log_in(service);
		return;
	}
	text = g_strdup_printf("it offers no sessions; use `auth: auto` or `auth: basic`: %s",
			       reason);
	fail_waiting(service, POWER_METER_ERROR_SETUP, 0, text);
}

/* Opens the session at the place that the service root names, where it is not the usual one. */
static void follow_root(struct redfish_service *service)
{
	g_autofree char *path = g_steal_pointer(&service->root_path);
	g_autofree char *password = NULL;

	service->root = ROOT_FOLLOWED;
	service->refused = false;
	if (!path || strcmp(path, service->sessions_path) == 0) {
		refuse_sessions(service, service->refusal ?: "not found");
		return;
	}
	g_free(service->sessions_path);
	service->sessions_path = g_steal_pointer(&path);
	password = power_meter_password(&service->config, NULL);
	open_session(service, password ?: "");
}

static void on_root(int status, json_t *body, const GError *error, void *data)
{
	struct redfish_service *service = data;
	g_autofree char *text = NULL;

	/* A BMC that is starting: what it refused may be offered later. */
	if (error && (status == 0 || status >= STATUS_SERVER_ERROR)) {
		service->root = ROOT_UNKNOWN;
		if (!service->refused)
			return;
		service->refused = false;
		text = advise(service, error);
		fail_waiting(service, POWER_METER_ERROR_NO_ANSWER, status, text);
		return;
	}
	service->root = ROOT_KNOWN;
	service->root_path = g_strdup(meter_redfish_parse_sessions(body));
	if (service->refused)
		follow_root(service);
}

static void ask_root(struct redfish_service *service)
{
	service->root = ROOT_UNDER_WAY;
	http_client_request(service->client, "GET", ROOT_PATH, NULL, service->config.timeout_s,
			    on_root, service);
}

/* The login is slow: the root is asked meanwhile, in case that sessions are elsewhere. */
static gboolean on_slow(gpointer data)
{
	struct redfish_service *service = data;

	service->root_id = 0;
	if (service->root == ROOT_UNKNOWN)
		ask_root(service);
	return G_SOURCE_REMOVE;
}

/*
 * Whether a refusal says that all sessions are in use, which iDRAC and iLO say with statuses of
 * wrong passwords.
 */
static bool speaks_of_limit(const char *message)
{
	g_autofree char *lower = g_ascii_strdown(message, -1);

	/* The path has "SessionService/Sessions" in it. */
	return strstr(lower, "sessionlimit") || strstr(lower, "maximum number of") ||
	       strstr(lower, "simultaneous sessions") || strstr(lower, "too many sessions") ||
	       strstr(lower, "rac0218") || strstr(lower, "maxsession");
}

/* Notes that paths end with a slash there, where a path leads to the same with one. */
static void learn_slash(struct redfish_service *service, const char *path, const char *to)
{
	const gsize length = strlen(path);

	service->slash |= strncmp(path, to, length) == 0 && strcmp(to + length, "/") == 0;
}

/*
 * Opens the session at the place that a redirection names, once. Returns false if there is none.
 */
static bool open_elsewhere(struct redfish_service *service)
{
	const char *location = http_client_answer_header(service->login_client, "Location");
	g_autofree char *path =
		meter_redfish_parse_redirection(service->address, service->sessions_path, location);
	g_autofree char *password = NULL;

	if (!path || service->redirected || strcmp(path, service->sessions_path) == 0)
		return false;
	service->redirected = true;
	learn_slash(service, service->sessions_path, path);
	g_free(service->sessions_path);
	service->sessions_path = g_steal_pointer(&path);
	password = power_meter_password(&service->config, NULL);
	open_session(service, password ?: "");
	return true;
}

/* There are no sessions at that place; the service root may name another. */
static void look_elsewhere(struct redfish_service *service, const char *reason)
{
	if (service->root == ROOT_FOLLOWED) {
		refuse_sessions(service, reason);
		return;
	}
	g_free(service->refusal);
	service->refusal = g_strdup(reason);
	service->refused = true;
	if (service->root == ROOT_UNKNOWN)
		ask_root(service);
	else if (service->root == ROOT_KNOWN)
		follow_root(service);
}

static void refuse_login(struct redfish_service *service, int status, const GError *error)
{
	const bool not_offered = status == STATUS_NOT_FOUND || status == STATUS_NOT_ALLOWED ||
				 status == STATUS_NOT_IMPLEMENTED;
	g_autofree char *text = NULL;

	service->leads_away = status >= 300 && status < STATUS_BAD_REQUEST;
	if (service->leads_away && open_elsewhere(service))
		return;
	if (service->leads_away) {
		text = g_strdup_printf("it opens no session: %s (if only its port is another, give "
				       "that as `port`)",
				       error->message);
		look_elsewhere(service, text);
		return;
	}
	if (not_offered) {
		look_elsewhere(service, error->message);
		return;
	}
	if (status < STATUS_BAD_REQUEST) {
		text = advise(service, error);
		fail_waiting(service, code_of(status, error), 0, text);
		return;
	}
	if (speaks_of_limit(error->message))
		text = g_strdup_printf("it opens no session: %s", error->message);
	else if (status == STATUS_UNAUTHORIZED || status == STATUS_BAD_REQUEST)
		text = g_strdup_printf("login refused; check user and password_file: %s",
				       error->message);
	else if (status == STATUS_FORBIDDEN)
		text = g_strdup_printf("login refused; the user may lack the privilege to log in: "
				       "%s",
				       error->message);
	else
		text = g_strdup_printf("it opens no session: %s", error->message);
	note_refusal(service, text);
	fail_waiting(service, POWER_METER_ERROR_LOGIN, status, text);
}

static void on_session(int status, json_t *body, const GError *error, void *data)
{
	struct redfish_service *service = data;
	const char *token = http_client_answer_header(service->login_client, "X-Auth-Token");
	const char *location = http_client_answer_header(service->login_client, "Location");
	const bool refused = status < 200 || status >= 300;

	g_clear_handle_id(&service->root_id, g_source_remove);
	g_clear_handle_id(&service->late_id, g_source_remove);
	if (service->ending && (refused || !token))
		return;
	/* The body of a login is of no use, and may be anything. */
	if (refused) {
		refuse_login(service, status, error);
		return;
	}
	if (!token) {
		fail_waiting(service, POWER_METER_ERROR_GARBAGE, status,
			     "its answer to a login holds no token");
		return;
	}
	service->session_header = g_strconcat("X-Auth-Token: ", token, NULL);
	service->session_path = meter_redfish_parse_location(location);
	if (!service->session_path)
		service->session_path = meter_redfish_parse_location(
			json_string_value(json_object_get(body, "@odata.id")));
	identify(service, NULL);
	if (!service->ending)
		enter(service);
}

/* The login takes too long for the requests that wait for it, but is under way further. */
static gboolean on_late(gpointer data)
{
	struct redfish_service *service = data;
	g_autofree char *reason =
		g_strdup_printf("its login has no answer after %g s", service->config.timeout_s);
	GQueue waiting = service->waiting;
	struct call *call;

	service->late_id = 0;
	service->silent = true;
	g_queue_init(&service->waiting);
	while ((call = g_queue_pop_head(&waiting)))
		deliver_error(call, POWER_METER_ERROR_NO_ANSWER, 0, reason);
	return G_SOURCE_REMOVE;
}

static void open_session(struct redfish_service *service, const char *password)
{
	g_autoptr(json_t) body =
		json_pack("{s:s, s:s}", "UserName", service->config.user, "Password", password);

	service->login = LOGIN_UNDER_WAY;
	identify(service, NULL);
	if (service->root == ROOT_UNKNOWN && service->root_id == 0)
		service->root_id = platform_after_ms(service->platform, SLOW_MS, on_slow, service);
	g_clear_handle_id(&service->late_id, g_source_remove);
	service->late_id =
		platform_after_ms(service->platform, (guint)(service->config.timeout_s * 1e3),
				  on_late, service);
	http_client_request(service->login_client, "POST", service->sessions_path, body,
			    LOGIN_TIMEOUTS * service->config.timeout_s, on_session, service);
}

/* Reads the password from the file. Basic authentication needs no more; a session is opened. */
static void log_in(struct redfish_service *service)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *password = power_meter_password(&service->config, &error);

	if (!password) {
		fail_waiting(service, POWER_METER_ERROR_SETUP, 0, error->message);
	} else if (service->refusal && g_strcmp0(password, service->refused_password) == 0 &&
		   platform_now_ns(service->platform) < service->not_before_ns) {
		fail_waiting(service, POWER_METER_ERROR_LOGIN, 0, service->refusal);
	} else if (service->basic) {
		identify(service, password);
		enter(service);
	} else {
		open_session(service, password);
	}
}

/* From the main loop, so that no request ends before redfish_service_get() returns. */
static gboolean on_log_in(gpointer data)
{
	struct redfish_service *service = data;

	service->login_id = 0;
	if (service->login == LOGIN_UNDER_WAY && g_queue_is_empty(&service->waiting))
		service->login = LOGIN_OUT;
	else if (service->login == LOGIN_UNDER_WAY)
		log_in(service);
	return G_SOURCE_REMOVE;
}

static void call_service(struct call *call)
{
	struct redfish_service *service = call->service;

	g_queue_push_tail(&service->waiting, call);
	if (service->login == LOGIN_IN)
		send_waiting(service);
	if (service->login != LOGIN_OUT)
		return;
	service->login = LOGIN_UNDER_WAY;
	if (service->login_id == 0)
		service->login_id =
			platform_soon(service->platform, G_PRIORITY_DEFAULT, on_log_in, service);
}

static void on_dropped(int status, json_t *body, const GError *error, void *data)
{
	struct redfish_service *service = data;

	g_clear_pointer(&service->leaving_path, g_free);
	if (service->login != LOGIN_LEAVING || service->ending)
		return;
	service->login = g_queue_is_empty(&service->waiting) ? LOGIN_OUT : LOGIN_UNDER_WAY;
	if (service->login == LOGIN_UNDER_WAY)
		log_in(service);
}

/*
 * Gives a session back whose end the BMC announced, in case that it has not ended. The next login
 * waits for that: a BMC that gave the same number to the next session would close that one.
 */
static void drop_session(struct redfish_service *service)
{
	g_free(service->leaving_path);
	service->leaving_path = g_steal_pointer(&service->session_path);
	if (service->leaving_path)
		http_client_request(service->login_client, "DELETE", service->leaving_path, NULL,
				    LOGOUT_TIMEOUT_S, on_dropped, service);
	end_login(service);
	if (service->leaving_path)
		service->login = LOGIN_LEAVING;
}

/* A login that has worked is refused: it has ended, or is not enough for this resource. */
static void handle_unauthorized(struct call *call, const GError *error)
{
	struct redfish_service *service = call->service;
	const bool worked = g_hash_table_size(service->worked) > 0 &&
			    !g_hash_table_contains(service->worked, call->path);
	g_autofree char *text = NULL;

	if (!service->basic && !call->again) {
		call->again = true;
		if (call->generation == service->generation && service->login == LOGIN_IN)
			drop_session(service);
		call_service(call);
		return;
	}
	if (!service->basic || worked) {
		text = g_strdup_printf("user \"%s\" may not read %s, although the login works; a "
				       "privilege or a licence is missing: %s",
				       service->config.user, call->path, error->message);
		deliver_error(call, POWER_METER_ERROR_SETUP, STATUS_UNAUTHORIZED, text);
		return;
	}
	text = g_strdup_printf("login refused; check user and password_file: %s", error->message);
	if (service->login == LOGIN_IN && call->generation == service->generation) {
		note_refusal(service, text);
		end_login(service);
	}
	deliver_error(call, POWER_METER_ERROR_LOGIN, STATUS_UNAUTHORIZED, text);
}

/* Counts an answer to a request that was sent then. */
static void note_answer(struct redfish_service *service, int status, int64_t sent_ns)
{
	if (status == 0)
		return;
	service->answers++;
	service->slowest_s = MAX(service->slowest_s,
				 clock_elapsed_s(sent_ns, platform_now_ns(service->platform)));
}

unsigned redfish_service_answers(const struct redfish_service *service, double *ret_slowest_s)
{
	*ret_slowest_s = service->slowest_s;
	return service->answers;
}

/* Asks again without the slash that we have added, for there is no such path. */
static void ask_without_slash(struct call *call)
{
	call->service->slash = false;
	call->path[strlen(call->path) - 1] = '\0';
	call->slashed = false;
	send_call(call);
}

/* Asks at the place that the answer names, or fails. */
static void follow(struct call *call, int status)
{
	struct redfish_service *service = call->service;
	const char *location = http_client_answer_header(service->client, "Location");
	g_autofree char *path =
		meter_redfish_parse_redirection(service->address, call->path, location);
	g_autofree char *text = NULL;

	if (path && call->redirections < REDIRECTIONS_MAX) {
		learn_slash(service, call->path, path);
		call->slashed = false;
		call->passing |= status != 301 && status != 308;
		if (!call->lasting_path || !call->passing) {
			g_free(call->lasting_path);
			call->lasting_path = g_strdup(call->passing ? call->path : path);
		}
		call->redirections++;
		g_free(call->path);
		call->path = g_steal_pointer(&path);
		send_call(call);
		return;
	}
	text = g_strdup_printf("GET %s: status %d, %s \"%s\"", call->path, status,
			       path ? "redirected too often, at last to"
				    : "a redirection that is not followed, for it leaves the "
				      "service (if only its port is another, give that as `port`): "
				      "to",
			       location ?: "");
	/* It stays so until the configuration changes, and is not asked again soon. */
	deliver_error(call, POWER_METER_ERROR_SETUP, status, text);
}

static void on_answer(int status, json_t *body, const GError *error, void *data)
{
	struct call *call = data;
	struct redfish_service *service = call->service;
	g_autofree char *text = NULL;

	g_queue_remove(&service->sent, call);
	service->silent = status == 0;
	note_answer(service, status, call->sent_ns);
	if (!error && body) {
		/* A BMC may redirect to more paths than are worth to be known. */
		if (g_hash_table_size(service->worked) < WORKED_MAX)
			g_hash_table_add(service->worked, g_strdup(call->path));
		deliver(call, &(struct redfish_answer){.status = status, .body = body});
	} else if (!error) {
		deliver_error(call, POWER_METER_ERROR_GARBAGE, status, "its answer is empty");
	} else if (status == STATUS_UNAUTHORIZED) {
		handle_unauthorized(call, error);
	} else if (status >= 300 && status < STATUS_BAD_REQUEST) {
		follow(call, status);
	} else if (call->slashed && (status == STATUS_NOT_FOUND || status == STATUS_BAD_REQUEST)) {
		ask_without_slash(call);
	} else {
		text = advise(service, error);
		deliver_error(call, code_of(status, error), status, text);
	}
	send_waiting(service);
}

static void send_call(struct call *call)
{
	struct redfish_service *service = call->service;

	call->generation = service->generation;
	call->sent_ns = platform_now_ns(service->platform);
	g_queue_push_tail(&service->sent, call);
	http_client_request(service->client, "GET", call->path, NULL, service->config.timeout_s,
			    on_answer, call);
}

void redfish_service_get(struct redfish_service *service, const char *path, int tag,
			 redfish_answer_f done, void *data)
{
	struct call *call = g_new0(struct call, 1);

	*call = (struct call){.service = service, .tag = tag, .done = done, .data = data};
	call->path = g_strdup(path);
	call_service(call);
}

const char *redfish_service_address(const struct redfish_service *service)
{
	return service->address;
}

struct redfish_service *redfish_services_find(struct redfish_services *services,
					      const struct config_meter *config, GError **error)
{
	g_autofree char *address = address_of(config);
	const double timeout_s = config->timeout_s > 0 ? config->timeout_s : TIMEOUT_S;
	struct redfish_service *service;
	struct http_client *client;
	const char *differs;

	for (guint i = 0; i < services->list->len; i++) {
		service = services->list->pdata[i];
		if (!config_files_share_bmc(&service->config, config))
			continue;
		differs = config_files_differ(&service->config, config);
		if (differs)
			return error_null(error, HTTP_ERROR, HTTP_ERROR_ADDRESS,
					  "`%s` is not that of another meter of the same BMC, %s, "
					  "and user, %s: both share one session; make it the same, "
					  "or give one another `user`",
					  differs, address, config->user);
		service->config.timeout_s = MAX(service->config.timeout_s, timeout_s);
		return service;
	}
	client = http_client_new(services->platform, address, error);
	if (!client)
		return NULL;
	http_client_device(client, ANSWER_MAX);
	service = g_new0(struct redfish_service, 1);
	service->platform = services->platform;
	service->client = client;
	service->login_client = http_client_new(services->platform, address, NULL);
	http_client_device(service->login_client, ANSWER_MAX);
	service->address = g_steal_pointer(&address);
	service->config = (struct config_meter){
		.kind = config->kind,
		.address = g_strdup(config->address),
		.port = config->port,
		.user = g_strdup(config->user),
		.password_file = g_strdup(config->password_file),
		.ca_file = g_strdup(config->ca_file),
		.tls = config->tls,
		.auth = config->auth,
		.timeout_s = timeout_s,
	};
	service->basic = config->auth == CONFIG_METER_BASIC;
	service->sessions_path = g_strdup(SESSIONS_PATH);
	service->retry_s = LOGIN_RETRY_S;
	service->worked = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_ptr_array_add(services->list, service);
	return service;
}

void redfish_service_drop(struct redfish_service *service, const void *data)
{
	GQueue waiting = service->waiting;
	struct call *call;

	g_queue_init(&service->waiting);
	while ((call = g_queue_pop_head(&waiting))) {
		if (call->data == data)
			call_free(call);
		else
			g_queue_push_tail(&service->waiting, call);
	}
	for (GList *link = service->sent.head; link; link = link->next) {
		call = link->data;
		if (call->data == data)
			call->done = NULL;
	}
}
