/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/api/energy_api.h"

#include <math.h>
#include <string.h>

#include "common/json.h"
#include "controller/api/fleet_api.h"
#include "controller/api/status_api_private.h"
#include "controller/api/window_api.h"
#include "controller/store/store_account.h"
#include "controller/store/store_reader.h"

/*
 * A request for the sums by a key. The store computes them in time proportional to its tasks, and
 * there may be as many sums as tasks: a thread of its own computes them and writes their text. The
 * client may disconnect in the meantime.
 */
struct reading {
	struct http_request *request; /* NULL: the client disconnected */
	struct store_reading *asked;
	const struct run_session *session;
	int64_t run;
	const char *by;
};

/* The data of the store, from a single moment. */
typedef struct account account_t; /* for g_autoptr() */
struct account {
	char *sums;        /* JSON */
	GPtrArray *hosts;  /* struct store_account_sum */
	GPtrArray *meters; /* struct store_account_meter */
};

static void account_free(struct account *account)
{
	g_free(account->sums);
	if (account->hosts)
		g_ptr_array_unref(account->hosts);
	if (account->meters)
		g_ptr_array_unref(account->meters);
	g_free(account);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(account_t, account_free)

static json_t *sum_json(const struct store_account_sum *sum, const char *by)
{
	return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", by, sum->key, "tasks",
			 (json_int_t)sum->tasks, "tasks_uj", (json_int_t)sum->tasks_uj, "idle_uj",
			 (json_int_t)sum->idle_uj, "management_uj", (json_int_t)sum->management_uj,
			 "unattributed_uj", (json_int_t)sum->unattributed_uj, "unserved_uj",
			 (json_int_t)sum->unserved_uj, "meter_uj", (json_int_t)sum->meter_uj);
}

/* Sums by user, type and task contain only tasks. */
static json_t *task_sum_json(const struct store_account_sum *sum, const char *by)
{
	return json_pack("{s:s, s:I, s:I}", by, sum->key, "tasks", (json_int_t)sum->tasks,
			 "tasks_uj", (json_int_t)sum->tasks_uj);
}

static char *sums_text(const GPtrArray *sums, const char *by)
{
	const bool of_tasks =
		g_str_equal(by, "user") || g_str_equal(by, "task") || g_str_equal(by, "type");
	g_autoptr(json_t) list = json_array();

	for (guint i = 0; i < sums->len; i++) {
		const struct store_account_sum *sum = g_ptr_array_index(sums, i);

		json_array_append_new(list, of_tasks ? task_sum_json(sum, by) : sum_json(sum, by));
	}
	return json_text(list);
}

/* Runs on the reader's thread and therefore reads nothing of `session`. */
static void *read_account(struct store *store, const void *question, GError **error)
{
	const struct reading *reading = question;
	g_autoptr(account_t) account = g_new0(struct account, 1);
	g_autoptr(GPtrArray) sums = store_account_sums(store, reading->run, reading->by, error);

	if (!sums)
		return NULL;
	account->sums = sums_text(sums, reading->by);
	account->hosts = store_account_sums(store, reading->run, "host", error);
	if (account->hosts)
		account->meters = store_account_meters(store, reading->run, error);
	return account->meters ? g_steal_pointer(&account) : NULL;
}

/* Emulated blades share a machine, whose remaining CPU time cannot be assigned to any of them. */
static bool is_emulated(const struct config *config, const char *name)
{
	for (uint32_t i = 0; i < config->clusters_count; i++)
		for (uint32_t j = 0; j < config->clusters[i].hosts_count; j++)
			if (g_str_equal(config->clusters[i].hosts[j].name, name))
				return config->clusters[i].hosts[j].blade;
	return false;
}

static double idle_w_of(const struct run_session *session, const char *host)
{
	GPtrArray *meters = view_meters(session);

	for (guint i = 0; i < meters->len; i++) {
		const struct remote_meter *meter = g_ptr_array_index(meters, i);

		if (g_str_equal(meter->host, host))
			return meter->idle_w;
	}
	return (double)NAN;
}

/* The source of a cluster's watts; NULL: unknown. */
static const char *watts_from(const struct run_session *session, const char *name)
{
	const struct config *config = view_config(session);
	const struct config_cluster *cluster = config_cluster_find(config, name);

	return cluster ? fleet_watts_from(session, (uint32_t)(cluster - config->clusters)) : NULL;
}

/* The host's parts, and its counter, to which they must add up. */
static json_t *host_json(const struct reading *reading, const struct account *account,
			 const struct store_account_meter *meter)
{
	static const struct store_account_sum nothing;
	const struct store_account_sum *sum = &nothing;
	json_t *host;

	for (guint i = 0; i < account->hosts->len; i++) {
		const struct store_account_sum *one = g_ptr_array_index(account->hosts, i);

		if (g_str_equal(one->key, meter->host))
			sum = one;
	}
	host = sum_json(sum, "host");
	json_object_set_new(host, "host", json_string(meter->host));
	json_object_set_new(host, "cluster", json_string(meter->cluster));
	json_object_set_new(host, "counted_uj",
			    json_integer((json_int_t)(meter->before_uj + meter->at_uj -
						      meter->begin_uj)));
	api_set_time(host, reading->session, "until", meter->at_s);
	json_object_set_new(host, "watts_from",
			    json_string_or_null(watts_from(reading->session, meter->cluster)));
	json_object_set_new(host, "idle_w",
			    json_number_or_null(idle_w_of(reading->session, meter->host)));
	json_object_set_new(host, "management_of_vms_alone",
			    json_boolean(is_emulated(view_config(reading->session), meter->host)));
	return host;
}

static json_t *hosts_json(const struct reading *reading, const struct account *account)
{
	json_t *list = json_array();

	for (guint i = 0; i < account->meters->len; i++)
		json_array_append_new(list, host_json(reading, account,
						      g_ptr_array_index(account->meters, i)));
	return list;
}

static void send_answer(const struct reading *reading, const struct account *account)
{
	g_autoptr(json_t) rest = json_pack("{s:I, s:s, s:o, s:o}", "run", (json_int_t)reading->run,
					   "by", reading->by, "hosts", hosts_json(reading, account),
					   "window", window_api_json(reading->session));
	GString *text = g_string_new("{\"sums\":");

	g_string_append(text, account->sums);
	api_set_time(rest, reading->session, "now", run_session_now_s(reading->session));
	api_reply_parts(reading->request, text, rest);
}

static void was_read(void *answered, const GError *error, void *data)
{
	struct reading *reading = data;
	g_autoptr(account_t) account = answered;

	if (reading->request)
		http_request_on_cancel(reading->request, NULL, NULL);
	if (reading->request && account)
		send_answer(reading, account);
	else if (reading->request)
		http_request_fail(reading->request, 503, "%s", error->message);
	g_free(reading);
}

/* A client that disconnects does not delay the others. */
static void client_gone(struct http_request *request, void *data)
{
	struct reading *reading = data;

	reading->request = NULL;
	store_reader_forget(reading->asked);
}

/* The table's copy of a key's name, or NULL. */
static const char *key_of(const char *by)
{
	for (const char *const *key = store_account_keys; *key; key++)
		if (g_str_equal(*key, by))
			return *key;
	return NULL;
}

void energy_api_get(struct http_request *request, const char *const *arguments, json_t *body,
		    void *data)
{
	struct status_api *api = data;
	const char *wanted = http_request_query(request, "by") ?: "user";
	const char *by = key_of(wanted);
	g_autofree char *known = g_strjoinv(", ", (char **)store_account_keys);
	g_autoptr(GError) error = NULL;
	struct reading *reading;

	if (!by) {
		http_request_fail(request, 400, "query: by: there are no sums by '%s'; known: %s",
				  wanted, known);
		return;
	}
	if (!api_is_served(request, api->session))
		return;
	/* The other thread sees only committed data. */
	if (!run_session_commit(api->session, &error)) {
		http_request_fail(request, 503, "%s", error->message);
		return;
	}
	reading = g_new(struct reading, 1);
	*reading = (struct reading){.request = request,
				    .session = api->session,
				    .run = view_run(api->session),
				    .by = by};
	reading->asked = store_reader_ask(api->reader, view_store(api->session), read_account,
					  reading, was_read, reading);
	http_request_on_cancel(request, client_gone, reading);
}
