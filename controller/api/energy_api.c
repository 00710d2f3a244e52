/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/api/energy_api.h"

#include <math.h>

#include "controller/api/service_api.h"
#include "controller/api/status_api_private.h"
#include "controller/api/window_api.h"
#include "controller/store/store_account.h"

/* The sums by one key, and what they are asked of. */
struct reading {
	const struct run_session *session;
	const char *by;
	GPtrArray *sums;   /* struct store_account_sum */
	GPtrArray *hosts;  /* the same by host */
	GPtrArray *meters; /* struct store_account_meter */
};

static json_t *sum_json(const struct store_account_sum *sum, const char *by)
{
	return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", by, sum->key, "tasks",
			 (json_int_t)sum->tasks, "tasks_uj", (json_int_t)sum->tasks_uj, "idle_uj",
			 (json_int_t)sum->idle_uj, "management_uj", (json_int_t)sum->management_uj,
			 "unattributed_uj", (json_int_t)sum->unattributed_uj, "unserved_uj",
			 (json_int_t)sum->unserved_uj, "meter_uj", (json_int_t)sum->meter_uj);
}

/* By users, types and tasks there are no other sums than those of tasks. */
static json_t *task_sum_json(const struct store_account_sum *sum, const char *by)
{
	return json_pack("{s:s, s:I, s:I}", by, sum->key, "tasks", (json_int_t)sum->tasks,
			 "tasks_uj", (json_int_t)sum->tasks_uj);
}

static json_t *sums_json(const struct reading *reading)
{
	const bool of_tasks = g_str_equal(reading->by, "user") || g_str_equal(reading->by, "task") ||
			      g_str_equal(reading->by, "type");
	json_t *list = json_array();

	for (guint i = 0; i < reading->sums->len; i++) {
		const struct store_account_sum *sum = g_ptr_array_index(reading->sums, i);

		json_array_append_new(list, of_tasks ? task_sum_json(sum, reading->by)
						     : sum_json(sum, reading->by));
	}
	return list;
}

/* Emulated blades share one machine, whose other CPU time says nothing of any of them. */
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
	GPtrArray *meters = remote_fleet_meters(session->fleet);

	for (guint i = 0; i < meters->len; i++) {
		const struct remote_meter *meter = g_ptr_array_index(meters, i);

		if (g_str_equal(meter->host, host))
			return meter->idle_w;
	}
	return (double)NAN;
}

/* The host's parts, and what its counter says, which they have to come to. */
static json_t *host_json(const struct reading *reading, const struct store_account_meter *meter)
{
	static const struct store_account_sum nothing;
	const struct store_account_sum *sum = &nothing;
	json_t *host;

	for (guint i = 0; i < reading->hosts->len; i++) {
		const struct store_account_sum *one = g_ptr_array_index(reading->hosts, i);

		if (g_str_equal(one->key, meter->host))
			sum = one;
	}
	host = sum_json(sum, "host");
	json_object_set_new(host, "host", json_string(meter->host));
	json_object_set_new(host, "cluster", json_string(meter->cluster));
	json_object_set_new(host, "counted_uj",
			    json_integer((json_int_t)(meter->before_uj + meter->at_uj - meter->begin_uj)));
	json_object_set_new(host, "until_s", json_real(meter->at_s));
	json_object_set_new(host, "idle_w", api_number(idle_w_of(reading->session, meter->host)));
	json_object_set_new(host, "management_of_vms_alone",
			    json_boolean(is_emulated(reading->session->config, meter->host)));
	return host;
}

static json_t *hosts_json(const struct reading *reading)
{
	json_t *list = json_array();

	for (guint i = 0; i < reading->meters->len; i++)
		json_array_append_new(list,
				      host_json(reading, g_ptr_array_index(reading->meters, i)));
	return list;
}

static void answer(struct http_request *request, const struct reading *reading)
{
	http_request_reply(request, 200,
			   json_pack("{s:I, s:f, s:s, s:o, s:o, s:o}", "run",
				     (json_int_t)reading->session->run, "now_s",
				     api_now_s(reading->session), "by", reading->by, "sums",
				     sums_json(reading), "hosts", hosts_json(reading), "window",
				     window_api_json(reading->session)));
}

void energy_api_get(struct http_request *request, const char *const *arguments, json_t *body,
		    void *data)
{
	const struct run_session *session = ((struct status_api *)data)->session;
	g_autofree char *known = g_strjoinv(", ", (char **)store_account_keys);
	struct reading reading = {session, http_request_query(request, "by") ?: "user",
				  NULL, NULL, NULL};
	g_autoptr(GPtrArray) sums = NULL;
	g_autoptr(GPtrArray) hosts = NULL;
	g_autoptr(GPtrArray) meters = NULL;
	g_autoptr(GError) error = NULL;

	if (!g_strv_contains(store_account_keys, reading.by)) {
		http_request_fail(request, 400, "query: by: there are no sums by '%s'; known: %s",
				  reading.by, known);
		return;
	}
	if (!service_api_is_served(request, session))
		return;
	reading.sums = sums = store_account_sums(session->store, session->run, reading.by, &error);
	if (sums)
		reading.hosts = hosts =
			store_account_sums(session->store, session->run, "host", &error);
	if (hosts)
		reading.meters = meters = store_account_meters(session->store, session->run, &error);
	if (meters)
		answer(request, &reading);
	else
		http_request_fail(request, 503, "%s", error->message);
}
