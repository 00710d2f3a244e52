/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/service_run.h"

#include <math.h>
#include <string.h>

#include "common/json.h"
#include "controller/store/store_account.h"
#include "controller/store/store_service.h"

/* Until when a service is on record, seconds of its run. NAN: this is the store of none. */
static double until_s_of(struct store *store)
{
	g_autofree char *text = store_get_meta(store, STORE_SERVICE_ACCOUNT);
	g_autoptr(json_t) account =
		text ? json_parse(text, strlen(text), STORE_SERVICE_ACCOUNT, NULL) : NULL;

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
	/* The record's own time may be a minute older. */
	run->ended_s = fmax(run->ended_s, fmax(task->arrival_s, fmax(task->started_s, task->ended_s)));
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
