/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/service_run.h"

#include <math.h>

#include "common/json.h"
#include "controller/store/store_account.h"
#include "controller/store/store_service.h"

/* The last recorded time of a service, seconds of its run. NAN: the store is not a service's. */
static double until_s_of(struct store *store)
{
	g_autoptr(json_t) account = store_get_document(store, STORE_SERVICE_ACCOUNT);

	return account ? json_number_value(json_object_get(account, "time_s")) : (double)NAN;
}

static void add_task(struct store_run *run, const struct store_task *task)
{
	run->tasks_arrived++;
	run->tasks_completed += g_strcmp0(task->state, "completed") == 0;
	run->tasks_failed += g_strcmp0(task->state, "failed") == 0;
	run->tasks_dropped += g_strcmp0(task->state, "dropped") == 0;
	if (isfinite(task->utility))
		run->utility += task->utility;
	/* The recorded time may be a minute older than a task's last change. */
	run->ended_s =
		fmax(run->ended_s, fmax(task->arrival_s, fmax(task->started_s, task->ended_s)));
}

bool service_run_fill(struct store *store, struct store_run *run, bool *ret_service, GError **error)
{
	const double until_s = until_s_of(store);
	g_autoptr(GPtrArray) tasks = NULL;
	int64_t dynamic_uj;

	*ret_service = !run->ended_by && isfinite(until_s);
	if (!*ret_service)
		return true;
	tasks = store_tasks(store, run->run, error);
	if (!tasks || !store_account_dynamic_since(store, run->run, 0, &dynamic_uj, error))
		return false;
	if (isfinite(run->energy_j)) /* else a host has no meter */
		run->energy_j = (double)dynamic_uj * 1e-6;
	run->ended_by = g_strdup(SERVICE_RUN_OPEN);
	run->ended_s = until_s;
	run->limit_j = (double)NAN;
	run->utility = 0;
	run->tasks_arrived = run->tasks_completed = run->tasks_failed = run->tasks_dropped = 0;
	for (guint i = 0; i < tasks->len; i++)
		add_task(run, tasks->pdata[i]);
	return true;
}

/* With more policies the heading would be too long; the JSON document has all. */
#define POLICIES_SHOWN 6

static const struct store_service_policy *policy_at(const GPtrArray *policies, guint i)
{
	return policies->pdata[i];
}

char *service_run_policies_text(struct store *store)
{
	g_autoptr(GPtrArray) policies = store_service_policies(store);
	GString *text;
	guint first;

	if (policies->len == 0 || (policies->len == 1 && policy_at(policies, 0)->from_s <= 0))
		return NULL;
	first = policies->len > POLICIES_SHOWN ? policies->len - POLICIES_SHOWN : 0;
	text = g_string_new("policies: ");
	if (first > 0)
		g_string_append_printf(text, "%u before", first);
	else if (policy_at(policies, 0)->from_s > 0)
		g_string_append(text, "what is not on record");
	for (guint i = first; i < policies->len; i++) {
		const struct store_service_policy *policy = policy_at(policies, i);

		if (i > first || text->str[text->len - 1] != ' ')
			g_string_append_printf(text, " until %s, then ", policy->from_utc);
		g_string_append(text, policy->policy);
	}
	return g_string_free(text, FALSE);
}

json_t *service_run_policies_json(struct store *store)
{
	g_autoptr(GPtrArray) policies = store_service_policies(store);
	json_t *list = json_array();

	for (guint i = 0; i < policies->len; i++) {
		const struct store_service_policy *policy = policy_at(policies, i);
		const bool last = i + 1 == policies->len;

		json_array_append_new(
			list, json_pack("{s:s, s:f, s:s, s:o}", "policy", policy->policy, "from_s",
					policy->from_s, "from_utc", policy->from_utc, "until_s",
					last ? json_null()
					     : json_real(policy_at(policies, i + 1)->from_s)));
	}
	return list;
}
