/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/lab/bmc/redfish.h"

#include <jansson.h>
#include <string.h>

#include "common/clock.h"
#include "common/http_server.h"
#include "common/json.h"
#include "common/subprocess.h"
#include "local-sched/lab/bmc/watts.h"

#define ROOT "/redfish/v1"
#define SESSIONS ROOT "/SessionService/Sessions"
#define CHASSIS ROOT "/Chassis/1"
#define DEFAULT_MAX_AGE_S 5.0
#define OPENSSL_TIMEOUT_S 30.0

enum { SESSIONS_MAX = 16, SESSION_IDLE_S = 1800 };

struct session {
	char *id;
	int64_t used_ns;
};

struct redfish {
	struct redfish_spec spec; /* its texts are copies */
	char *uuid;
	char *basic;          /* the valid Authorization header */
	GHashTable *sessions; /* token -> struct session */
	guint last_id;
	struct http_server *server;
};

static void session_free(void *data)
{
	struct session *session = data;

	g_free(session->id);
	g_free(session);
}

static gboolean is_idle(gpointer token, gpointer value, gpointer now_ns)
{
	const struct session *session = value;

	return clock_elapsed_s(session->used_ns, *(int64_t *)now_ns) > SESSION_IDLE_S;
}

static void drop_idle(struct redfish *redfish)
{
	int64_t now_ns = clock_now_ns();

	g_hash_table_foreach_remove(redfish->sessions, is_idle, &now_ns);
}

/* The error object of DSP0266, section 8.6. */
static void reply_error(struct http_request *request, int status, const char *code,
			const char *text)
{
	http_request_reply(request, status,
			   json_pack("{s:{s:s, s:s}}", "error", "code", code, "message", text));
}

/* Whether the request is authenticated; replies 401 if not. */
static bool authorise(struct redfish *redfish, struct http_request *request)
{
	const char *token = http_request_header(request, "X-Auth-Token");
	const char *basic = http_request_header(request, "Authorization");
	struct session *session;

	drop_idle(redfish);
	session = token ? g_hash_table_lookup(redfish->sessions, token) : NULL;
	if (session)
		session->used_ns = clock_now_ns();
	if (session || g_strcmp0(basic, redfish->basic) == 0)
		return true;
	http_request_set_header(request, "WWW-Authenticate", "Basic realm=\"BMC\"");
	reply_error(request, 401, "Base.1.8.NoValidSession", "no valid session or credentials");
	return false;
}

static void reply_missing(struct http_request *request, const char *text)
{
	reply_error(request, 404, "Base.1.8.ResourceMissingAtURI", text);
}

static json_t *link_to(const char *path)
{
	return json_pack("{s:s}", "@odata.id", path);
}

/* Texts that are NULL are left out. */
static json_t *resource(const char *path, const char *type, const char *id, const char *name)
{
	return json_pack("{s:s, s:s, s:s*, s:s*}", "@odata.id", path, "@odata.type", type, "Id", id,
			 "Name", name);
}

/* Sessions. */

/* Replies with `body`, whose reference is taken. */
static void serve(struct http_request *request, json_t *body)
{
	http_request_set_header(request, "OData-Version", "4.0");
	http_request_reply(request, 200, body);
}

static json_t *session_json(const struct redfish *redfish, const char *id)
{
	g_autofree char *path = g_strconcat(SESSIONS "/", id, NULL);
	json_t *session = resource(path, "#Session.v1_2_1.Session", id, "Session");

	json_object_set_new(session, "UserName", json_string(redfish->spec.user));
	return session;
}

static char *random_token(void)
{
	g_autoptr(GString) text = g_string_new(NULL);

	/* Two UUIDs: 244 random bits. */
	for (int i = 0; i < 2; i++) {
		g_autofree char *uuid = g_uuid_string_random();

		g_string_append(text, uuid);
	}
	return g_string_free(g_steal_pointer(&text), FALSE);
}

static void post_session(struct http_request *request, const char *const *arguments, json_t *body,
			 void *data)
{
	struct redfish *redfish = data;
	const char *user = json_string_value(json_object_get(body, "UserName"));
	const char *password = json_string_value(json_object_get(body, "Password"));
	struct session *session;
	g_autofree char *path = NULL;
	char *token;

	drop_idle(redfish);
	if (g_strcmp0(user, redfish->spec.user) != 0 ||
	    g_strcmp0(password, redfish->spec.password) != 0) {
		reply_error(request, 401, "Base.1.8.ResourceAtUriUnauthorized",
			    "wrong credentials");
		return;
	}
	if (g_hash_table_size(redfish->sessions) >= SESSIONS_MAX) {
		reply_error(request, 503, "Base.1.8.SessionLimitExceeded", "too many sessions");
		return;
	}
	session = g_new0(struct session, 1);
	session->id = g_strdup_printf("%u", ++redfish->last_id);
	session->used_ns = clock_now_ns();
	token = random_token();
	g_hash_table_insert(redfish->sessions, token, session);
	path = g_strconcat(SESSIONS "/", session->id, NULL);
	http_request_set_header(request, "X-Auth-Token", token);
	http_request_set_header(request, "Location", path);
	http_request_set_header(request, "OData-Version", "4.0");
	http_request_reply(request, 201, session_json(redfish, session->id));
}

/* The token of session `id`, borrowed, or NULL. */
static const char *find_session(const struct redfish *redfish, const char *id)
{
	GHashTableIter iter;
	gpointer token;
	gpointer session;

	g_hash_table_iter_init(&iter, redfish->sessions);
	while (g_hash_table_iter_next(&iter, &token, &session))
		if (strcmp(((struct session *)session)->id, id) == 0)
			return token;
	return NULL;
}

static void get_session(struct http_request *request, const char *const *arguments, json_t *body,
			void *data)
{
	if (!authorise(data, request))
		return;
	if (find_session(data, arguments[0]))
		serve(request, session_json(data, arguments[0]));
	else
		reply_missing(request, "no such session");
}

static void delete_session(struct http_request *request, const char *const *arguments, json_t *body,
			   void *data)
{
	struct redfish *redfish = data;
	const char *token;

	if (!authorise(redfish, request))
		return;
	token = find_session(redfish, arguments[0]);
	if (!token) {
		reply_missing(request, "no such session");
		return;
	}
	g_hash_table_remove(redfish->sessions, token);
	http_request_reply(request, 204, NULL);
}

/* Resources that are read only: what each adds to its object, or to the members of a collection. */

static void fill_root(const struct redfish *redfish, json_t *root)
{
	json_object_set_new(root, "RedfishVersion", json_string("1.8.0"));
	json_object_set_new(root, "UUID", json_string(redfish->uuid));
	json_object_set_new(root, "Chassis", link_to(ROOT "/Chassis"));
	json_object_set_new(root, "Systems", link_to(ROOT "/Systems"));
	json_object_set_new(root, "Managers", link_to(ROOT "/Managers"));
	json_object_set_new(root, "SessionService", link_to(ROOT "/SessionService"));
	json_object_set_new(root, "Links", json_pack("{s:o}", "Sessions", link_to(SESSIONS)));
}

static void fill_session_service(const struct redfish *redfish, json_t *service)
{
	json_object_set_new(service, "ServiceEnabled", json_true());
	json_object_set_new(service, "SessionTimeout", json_integer(SESSION_IDLE_S));
	json_object_set_new(service, "Sessions", link_to(SESSIONS));
}

static void add_sessions(const struct redfish *redfish, json_t *members)
{
	GHashTableIter iter;
	gpointer session;

	g_hash_table_iter_init(&iter, redfish->sessions);
	while (g_hash_table_iter_next(&iter, NULL, &session)) {
		g_autofree char *path =
			g_strconcat(SESSIONS "/", ((struct session *)session)->id, NULL);

		json_array_append_new(members, link_to(path));
	}
}

static void add_chassis(const struct redfish *redfish, json_t *members)
{
	json_array_append_new(members, link_to(CHASSIS));
}

static void fill_chassis(const struct redfish *redfish, json_t *chassis)
{
	json_object_set_new(chassis, "Name", json_string(redfish->spec.name));
	json_object_set_new(chassis, "ChassisType", json_string("Blade"));
	json_object_set_new(chassis, "Manufacturer", json_string("virtbed"));
	json_object_set_new(chassis, "Model", json_string("emulated blade"));
	json_object_set_new(chassis, "PowerState", json_string("On"));
	json_object_set_new(chassis, "Status",
			    json_pack("{s:s, s:s}", "State", "Enabled", "Health", "OK"));
	if (redfish->spec.places != REDFISH_ENVIRONMENT)
		json_object_set_new(chassis, "Power", link_to(CHASSIS "/Power"));
	if (redfish->spec.places != REDFISH_POWER)
		json_object_set_new(chassis, "EnvironmentMetrics",
				    link_to(CHASSIS "/EnvironmentMetrics"));
}

/* The watts now; null if they are not known. */
static json_t *watts_json(const struct redfish *redfish)
{
	uint32_t mw;

	if (!watts_read(redfish->spec.watts_file, redfish->spec.max_age_s, &mw))
		return json_null();
	return json_real(mw / 1e3);
}

static void fill_power(const struct redfish *redfish, json_t *power)
{
	json_object_set_new(power, "PowerControl",
			    json_pack("[{s:s, s:s, s:s, s:o}]", "@odata.id",
				      CHASSIS "/Power#/PowerControl/0", "MemberId", "0", "Name",
				      "System Input Power", "PowerConsumedWatts",
				      watts_json(redfish)));
}

static void fill_environment(const struct redfish *redfish, json_t *metrics)
{
	json_object_set_new(metrics, "PowerWatts",
			    json_pack("{s:o}", "Reading", watts_json(redfish)));
}

enum {
	SERVICE_ROOT = 0, /* without a login */
	SESSION_SERVICE,
	SESSION_LIST,
	CHASSIS_LIST,
	ONE_CHASSIS,
	POWER,
	ENVIRONMENT,
	SYSTEMS,
	MANAGERS,
};

static const struct {
	const char *path;
	const char *type;
	const char *id; /* NULL: a collection */
	const char *name;
	void (*fill)(const struct redfish *redfish, json_t *object); /* NULL: no members */
} resources[] = {
	[SERVICE_ROOT] = {ROOT "/", "#ServiceRoot.v1_5_0.ServiceRoot", "RootService",
			  "Root Service", fill_root},
	[SESSION_SERVICE] = {ROOT "/SessionService", "#SessionService.v1_1_6.SessionService",
			     "SessionService", "Session Service", fill_session_service},
	[SESSION_LIST] = {SESSIONS, "#SessionCollection.SessionCollection", NULL, "Sessions",
			  add_sessions},
	[CHASSIS_LIST] = {ROOT "/Chassis", "#ChassisCollection.ChassisCollection", NULL, "Chassis",
			  add_chassis},
	[ONE_CHASSIS] = {CHASSIS, "#Chassis.v1_15_0.Chassis", "1", NULL, fill_chassis},
	[POWER] = {CHASSIS "/Power", "#Power.v1_7_0.Power", "Power", "Power", fill_power},
	[ENVIRONMENT] = {CHASSIS "/EnvironmentMetrics",
			 "#EnvironmentMetrics.v1_0_0.EnvironmentMetrics", "EnvironmentMetrics",
			 "Environment Metrics", fill_environment},
	[SYSTEMS] = {ROOT "/Systems", "#ComputerSystemCollection.ComputerSystemCollection", NULL,
		     "Systems", NULL},
	[MANAGERS] = {ROOT "/Managers", "#ManagerCollection.ManagerCollection", NULL, "Managers",
		      NULL},
};

static void get_resource(struct http_request *request, const char *const *arguments, json_t *body,
			 void *data)
{
	struct redfish *redfish = data;
	const int what = http_request_what(request);
	json_t *object;
	json_t *filled;

	if (what != SERVICE_ROOT && !authorise(redfish, request))
		return;
	if ((what == POWER && redfish->spec.places == REDFISH_ENVIRONMENT) ||
	    (what == ENVIRONMENT && redfish->spec.places == REDFISH_POWER)) {
		reply_missing(request, "no such resource");
		return;
	}
	object = resource(resources[what].path, resources[what].type, resources[what].id,
			  resources[what].name);
	filled = resources[what].id ? object : json_array();
	if (resources[what].fill)
		resources[what].fill(redfish, filled);
	if (filled != object) {
		json_object_set_new(object, "Members@odata.count",
				    json_integer((json_int_t)json_array_size(filled)));
		json_object_set_new(object, "Members", filled);
	}
	serve(request, object);
}

static void get_versions(struct http_request *request, const char *const *arguments, json_t *body,
			 void *data)
{
	serve(request, json_pack("{s:s}", "v1", ROOT "/"));
}

static const struct http_route routes[] = {
	{"GET", "/redfish", get_versions},
	{"GET", "/redfish/", get_versions},
	{"GET", ROOT, get_resource, .what = SERVICE_ROOT},
	{"GET", ROOT "/", get_resource, .what = SERVICE_ROOT},
	{"GET", ROOT "/SessionService", get_resource, .what = SESSION_SERVICE},
	{"GET", SESSIONS, get_resource, .what = SESSION_LIST},
	{"POST", SESSIONS, post_session, .takes_body = true},
	{"GET", SESSIONS "/*", get_session},
	{"DELETE", SESSIONS "/*", delete_session},
	{"GET", ROOT "/Chassis", get_resource, .what = CHASSIS_LIST},
	{"GET", CHASSIS, get_resource, .what = ONE_CHASSIS},
	{"GET", CHASSIS "/Power", get_resource, .what = POWER},
	{"GET", CHASSIS "/EnvironmentMetrics", get_resource, .what = ENVIRONMENT},
	{"GET", ROOT "/Systems", get_resource, .what = SYSTEMS},
	{"GET", ROOT "/Managers", get_resource, .what = MANAGERS},
	{NULL},
};

/* The header "Authorization:" for a name and a password (RFC 7617). */
static char *basic_header(const char *user, const char *password)
{
	g_autofree char *pair = g_strconcat(user, ":", password, NULL);
	g_autofree char *encoded = g_base64_encode((const guchar *)pair, strlen(pair));

	return g_strconcat("Basic ", encoded, NULL);
}

struct redfish *redfish_new(const struct redfish_spec *spec, GError **error)
{
	g_autoptr(redfish_t) redfish = g_new0(struct redfish, 1);
	const struct http_tls tls = {.certificate = spec->certificate, .key = spec->key};

	redfish->spec = (struct redfish_spec){
		.name = g_strdup(spec->name),
		.user = g_strdup(spec->user),
		.password = g_strdup(spec->password),
		.watts_file = g_strdup(spec->watts_file),
		.max_age_s = spec->max_age_s > 0 ? spec->max_age_s : DEFAULT_MAX_AGE_S,
		.places = spec->places,
	};
	redfish->uuid = g_uuid_string_random();
	redfish->basic = basic_header(spec->user, spec->password);
	redfish->sessions = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, session_free);
	redfish->server =
		http_server_new_tls(&platform_machine, spec->address, &tls, routes, redfish, error);
	return redfish->server ? g_steal_pointer(&redfish) : NULL;
}

void redfish_free(struct redfish *redfish)
{
	if (!redfish)
		return;
	http_server_free(redfish->server);
	g_hash_table_unref(redfish->sessions);
	g_free(redfish->basic);
	g_free(redfish->uuid);
	g_free((char *)redfish->spec.name);
	g_free((char *)redfish->spec.user);
	g_free((char *)redfish->spec.password);
	g_free((char *)redfish->spec.watts_file);
	g_free(redfish);
}

const char *redfish_address(const struct redfish *redfish)
{
	return http_server_address(redfish->server);
}

guint redfish_sessions(const struct redfish *redfish)
{
	return g_hash_table_size(redfish->sessions);
}

bool redfish_make_certificate(const char *certificate, const char *key, GError **error)
{
	const char *const argv[] = {
		"openssl",
		"req",
		"-x509",
		"-newkey",
		"ec",
		"-pkeyopt",
		"ec_paramgen_curve:prime256v1",
		"-nodes",
		"-batch",
		"-days",
		"3650",
		"-subj",
		"/CN=127.0.0.1",
		"-addext",
		"subjectAltName=IP:127.0.0.1",
		"-keyout",
		key,
		"-out",
		certificate,
		NULL,
	};

	/* openssl makes the key's file with mode 0600 by itself. */
	return subprocess_run(argv, NULL, OPENSSL_TIMEOUT_S, NULL, error);
}
