/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/room/room_measured.h"

#include <math.h>

#include "common/json.h"

/* What the runs of a directory show. */
struct collection {
	const struct summary *measured;
	const json_t *speeds; /* of summary_speed() */
	GHashTable *pairs;    /* "TYPE\nCLUSTER" -> its number + 1 */
	GArray *ratios;       /* struct room_ratio */
	double measured_s, estimated_s;
	uint32_t starts;   /* and resumptions and migrations */
	uint32_t paused;   /* suspensions whose overheads are known */
	double overhead_s; /* of them, and of migrations */
};

static uint32_t number_of_pair(struct collection *all, const struct store_task *task)
{
	g_autofree char *key = g_strdup_printf("%s\n%s", task->type ?: "", task->cluster);
	guint number = GPOINTER_TO_UINT(g_hash_table_lookup(all->pairs, key));

	if (number == 0) {
		number = g_hash_table_size(all->pairs) + 1;
		g_hash_table_insert(all->pairs, g_steal_pointer(&key), GUINT_TO_POINTER(number));
	}
	return number - 1;
}

static void add_task(struct collection *all, const struct store_task *task)
{
	double exec_s;
	struct room_ratio ratio;

	if (isfinite(task->started_s))
		all->starts += MAX(1, task->attempts);
	if (!g_str_equal(task->state, "completed") || !task->cluster || !(task->etc_s > 0) ||
	    !(task->exec_s > 0) || !isfinite(task->exec_s))
		return;
	exec_s = task->exec_s * summary_speed(all->speeds, task->cluster);
	ratio = (struct room_ratio){number_of_pair(all, task), log(exec_s / task->etc_s)};
	g_array_append_val(all->ratios, ratio);
	all->measured_s += exec_s;
	all->estimated_s += task->etc_s;
}

static void add_suspension(struct collection *all, const struct store_suspension *one)
{
	const double took_s = one->freeze_s + one->save_s + one->restore_s + one->resume_s;

	all->starts += isfinite(one->resumed_s);
	if (!isfinite(took_s))
		return;
	all->paused++;
	all->overhead_s += took_s;
}

/* Adds the time for which migrations stopped their tasks: of each, that of its slowest VM. */
static void add_migrations(struct collection *all, GPtrArray *migrations, GPtrArray *vms)
{
	guint at = 0;

	all->starts += migrations->len;
	while (at < vms->len) {
		const struct store_migration_vm *first = vms->pdata[at];
		double longest_s = 0;

		for (; at < vms->len; at++) {
			const struct store_migration_vm *vm = vms->pdata[at];

			if (vm->task != first->task || vm->attempt != first->attempt ||
			    vm->n != first->n)
				break;
			if (isfinite(vm->downtime_s))
				longest_s = fmax(longest_s, vm->downtime_s);
		}
		all->overhead_s += longest_s;
	}
}

static bool add_run(struct collection *all, int64_t run, GError **error)
{
	struct store *store = all->measured->store;
	g_autoptr(GPtrArray) tasks = store_tasks(store, run, error);
	g_autoptr(GPtrArray) suspensions = tasks ? store_suspensions(store, run, error) : NULL;
	g_autoptr(GPtrArray) migrations = suspensions ? store_migrations(store, run, error) : NULL;
	g_autoptr(GPtrArray) vms = migrations ? store_migration_vms(store, run, error) : NULL;

	if (!vms)
		return false;
	for (guint i = 0; i < tasks->len; i++)
		add_task(all, tasks->pdata[i]);
	for (guint i = 0; i < suspensions->len; i++)
		add_suspension(all, suspensions->pdata[i]);
	add_migrations(all, migrations, vms);
	return true;
}

void room_variances(const GArray *ratios, double *ret_within_sd, double *ret_between_sd)
{
	const struct room_ratio *all = (const struct room_ratio *)(const void *)ratios->data;
	uint32_t pairs = 0, used = 0;
	double total = 0, within = 0, between = 0, squares = 0, mean;
	g_autofree double *sums = NULL;
	g_autofree uint32_t *counts = NULL;

	*ret_within_sd = *ret_between_sd = NAN;
	for (guint i = 0; i < ratios->len; i++)
		pairs = MAX(pairs, all[i].pair + 1);
	sums = g_new0(double, pairs + 1);
	counts = g_new0(uint32_t, pairs + 1);
	for (guint i = 0; i < ratios->len; i++) {
		sums[all[i].pair] += all[i].logarithm;
		counts[all[i].pair]++;
		total += all[i].logarithm;
	}
	mean = total / ratios->len;
	for (guint i = 0; i < ratios->len; i++)
		within += pow(all[i].logarithm - sums[all[i].pair] / counts[all[i].pair], 2);
	for (uint32_t p = 0; p < pairs; p++) {
		if (counts[p] == 0)
			continue;
		used++;
		between += counts[p] * pow(sums[p] / counts[p] - mean, 2);
		squares += (double)counts[p] * counts[p];
	}
	if (ratios->len <= used)
		return;
	within /= ratios->len - used;
	*ret_within_sd = sqrt(within);
	if (used < 2)
		return;
	between /= used - 1;
	/* An estimate below 0 means 0. */
	*ret_between_sd = sqrt(
		fmax(0, (between - within) * (used - 1) / (ratios->len - squares / ratios->len)));
}

/* The mean overhead of a suspension in simulations of an experiment; without overheads it is 0. */
static double simulated_overhead_s(const struct experiment *experiment)
{
	const struct config *config = experiment->config;
	double sum_s = 0;

	if (!experiment->overheads)
		return 0;
	for (uint32_t i = 0; i < config->overheads_count; i++) {
		const struct config_overhead *one = &config->overheads[i];

		sum_s += one->freeze_s + one->save_s + one->restore_s + one->resume_s;
	}
	return config->overheads_count > 0 ? sum_s / config->overheads_count : 0;
}

static void fill(const struct collection *all, const struct experiment *experiment, double unit_s,
		 double sizes[ROOM_KINDS])
{
	const double pace = all->measured_s / all->estimated_s;
	const double missing_s = all->overhead_s - all->paused * simulated_overhead_s(experiment);

	if (all->ratios->len > 0) {
		sizes[ROOM_MORE_LOAD] = fmax(0, pace - 1);
		sizes[ROOM_LESS_LOAD] = fmax(0, 1 / pace - 1);
	}
	/* Simulated times of tasks with deadlines are drawn, and have a noise of their own. */
	if (!all->measured->deadlines)
		room_variances(all->ratios, &sizes[ROOM_NOISE], &sizes[ROOM_ESTIMATES]);
	if (all->starts > 0 && unit_s > 0)
		sizes[ROOM_OVERHEAD] = fmax(0, missing_s / all->starts / unit_s);
}

bool room_measured(const struct summary *measured, const struct experiment *experiment,
		   double unit_s, double ret_sizes[ROOM_KINDS], GError **error)
{
	g_autoptr(json_t) speeds = store_get_document(measured->store, "capabilities");
	g_autoptr(GHashTable) pairs = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_autoptr(GArray) ratios = g_array_new(FALSE, FALSE, sizeof(struct room_ratio));
	struct collection all = {.measured = measured,
				 .speeds = speeds,
				 .pairs = pairs,
				 .ratios = ratios};

	for (uint32_t kind = 0; kind < ROOM_KINDS; kind++)
		ret_sizes[kind] = NAN;
	for (guint i = 0; i < measured->runs->len; i++) {
		const struct store_run *run = measured->runs->pdata[i];

		if (!add_run(&all, run->run, error))
			return false;
	}
	fill(&all, experiment, unit_s, ret_sizes);
	return true;
}
