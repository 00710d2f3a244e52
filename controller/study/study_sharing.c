/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/study/study_sharing.h"

#include <math.h>

#include "controller/config/config_environment.h"
#include "controller/config/config_study.h"
#include "controller/config/config_sweep.h"
#include "controller/report/stats.h"

bool study_shares(const struct config *config)
{
	return config_environment(config) && config_environment(config)->sharing;
}

/* A trial at a point. */
struct trial {
	double stretch;    /* the least of the policies' largest stretches */
	uint32_t policies; /* number of configured policies with a result */
};

struct study_best {
	GHashTable *trials;   /* "size value trial" -> struct trial */
	GHashTable *policies; /* set of the configured names */
};

static char *trial_key(const struct study_row *row)
{
	char size[G_ASCII_DTOSTR_BUF_SIZE];
	char value[G_ASCII_DTOSTR_BUF_SIZE];

	return g_strdup_printf("%s %s %u",
			       g_ascii_dtostr(size, sizeof(size), row->point.size),
			       g_ascii_dtostr(value, sizeof(value), row->point.value), row->trial);
}

static void note_row(const struct study_row *row, void *data)
{
	struct study_best *best = data;
	struct trial *trial;
	char *key;

	if (!(row->result.stretch_max > 0) || !g_hash_table_contains(best->policies, row->policy))
		return;
	key = trial_key(row);
	trial = g_hash_table_lookup(best->trials, key);
	if (trial) {
		g_free(key);
	} else {
		trial = g_new0(struct trial, 1);
		trial->stretch = INFINITY;
		g_hash_table_insert(best->trials, key, trial);
	}
	trial->stretch = fmin(trial->stretch, row->result.stretch_max);
	trial->policies++;
}

struct study_best *study_best_new(struct study_store *store, const struct config *config,
				  GError **error)
{
	g_autoptr(study_best_t) best = g_new0(struct study_best, 1);

	best->trials = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	best->policies = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	for (uint32_t i = 0; i < config->experiment->policies_count; i++)
		g_hash_table_add(best->policies, g_strdup(config->experiment->policies[i]));
	return study_store_each(store, note_row, best, error) ? g_steal_pointer(&best) : NULL;
}

void study_best_free(struct study_best *best)
{
	if (!best)
		return;
	g_hash_table_unref(best->trials);
	g_hash_table_unref(best->policies);
	g_free(best);
}

double study_degradation(const struct study_best *best, const struct study_row *row)
{
	g_autofree char *key = trial_key(row);
	const struct trial *trial = g_hash_table_lookup(best->trials, key);

	if (!trial || trial->policies < g_hash_table_size(best->policies) ||
	    !(row->result.stretch_max > 0))
		return NAN;
	return row->result.stretch_max / trial->stretch;
}

static double stretch_max(const struct engine_result *result)
{
	return result->stretch_max;
}

static double stretch_mean(const struct engine_result *result)
{
	return result->stretch_mean;
}

static double pauses(const struct engine_result *result)
{
	return (double)result->pauses;
}

static double migrations(const struct engine_result *result)
{
	return (double)result->migrations;
}

/* The memory of suspended VMs, written and read back. */
static double paused_memory(const struct engine_result *result)
{
	return 2 * result->paused_memory;
}

static double moved_memory(const struct engine_result *result)
{
	return result->moved_memory;
}

/* The divisor of a metric. */
enum per { PER_RUN, PER_JOB, PER_HOUR, PER_SECOND };

/* The first one, the degradation factor, needs more than the result. */
static const struct metric {
	const char *name;
	double (*value)(const struct engine_result *result);
	enum per per; /* per second: memory relative to the hosts', as GiB */
} metrics[] = {
	{ "degradation", NULL, PER_RUN },
	{ "stretch_max", stretch_max, PER_RUN },
	{ "stretch_mean", stretch_mean, PER_RUN },
	{ "pauses_per_job", pauses, PER_JOB },
	{ "migrations_per_job", migrations, PER_JOB },
	{ "pauses_per_hour", pauses, PER_HOUR },
	{ "migrations_per_hour", migrations, PER_HOUR },
	{ "pause_gib_s", paused_memory, PER_SECOND },
	{ "migration_gib_s", moved_memory, PER_SECOND },
};

#define METRICS G_N_ELEMENTS(metrics)

/* A policy at a point, or over all of them. */
struct cell {
	char *policy;
	struct study_point point;
	GArray *values[METRICS]; /* double, per trial */
};

/* The table under construction. */
struct tables {
	const struct study_best *best;
	double host_gib;
	GPtrArray *cells; /* struct cell, in the order of the store */
	GPtrArray *all;   /* the same over all points */
};

static void cell_free(gpointer data)
{
	struct cell *cell = data;

	for (size_t m = 0; m < METRICS; m++)
		g_array_unref(cell->values[m]);
	g_free(cell->policy);
	g_free(cell);
}

static struct cell *cell_add(GPtrArray *cells, const struct study_row *row)
{
	struct cell *cell = g_new0(struct cell, 1);

	cell->policy = g_strdup(row->policy);
	cell->point = row->point;
	for (size_t m = 0; m < METRICS; m++)
		cell->values[m] = g_array_new(FALSE, FALSE, sizeof(double));
	g_ptr_array_add(cells, cell);
	return cell;
}

/* The cell of a row at its point: the last one, since rows come in order. */
static struct cell *find_cell(GPtrArray *cells, const struct study_row *row)
{
	struct cell *last = cells->len > 0 ? cells->pdata[cells->len - 1] : NULL;

	if (last && last->point.size == row->point.size && last->point.value == row->point.value &&
	    g_str_equal(last->policy, row->policy))
		return last;
	return cell_add(cells, row);
}

static struct cell *find_policy(GPtrArray *cells, const struct study_row *row)
{
	for (guint i = 0; i < cells->len; i++) {
		struct cell *cell = cells->pdata[i];

		if (g_str_equal(cell->policy, row->policy))
			return cell;
	}
	return cell_add(cells, row);
}

static double metric_value(const struct tables *tables, const struct metric *metric,
			   const struct study_row *row)
{
	const struct engine_result *result = &row->result;

	if (!metric->value)
		return study_degradation(tables->best, row);
	switch (metric->per) {
	case PER_JOB:
		return metric->value(result) / result->tasks_completed;
	case PER_HOUR:
		return metric->value(result) / (result->span_s / 3600);
	case PER_SECOND:
		return metric->value(result) * tables->host_gib / result->span_s;
	case PER_RUN:
		break;
	}
	return metric->value(result);
}

static void add_row(const struct study_row *row, void *data)
{
	struct tables *tables = data;
	struct cell *cell = find_cell(tables->cells, row);
	struct cell *all = find_policy(tables->all, row);

	for (size_t m = 0; m < METRICS; m++) {
		const double value = metric_value(tables, &metrics[m], row);

		if (isnan(value) || !(row->result.stretch_max > 0))
			continue;
		g_array_append_val(cell->values[m], value);
		g_array_append_val(all->values[m], value);
	}
}

static void put_number(GString *text, double value)
{
	char number[G_ASCII_DTOSTR_BUF_SIZE];

	g_string_append_c(text, ',');
	if (isfinite(value))
		g_string_append(text, g_ascii_dtostr(number, sizeof(number), value));
}

static void put_values(GString *text, const struct cell *cell)
{
	for (size_t m = 0; m < METRICS; m++) {
		const double *values = (const double *)(const void *)cell->values[m]->data;
		const guint count = cell->values[m]->len;
		double max = -INFINITY;

		for (guint i = 0; i < count; i++)
			max = fmax(max, values[i]);
		put_number(text, stats_mean(values, count));
		put_number(text, stats_sd(values, count));
		put_number(text, max);
	}
	g_string_append_c(text, '\n');
}

static char *tables_text(const struct tables *tables, const struct config *config)
{
	const struct config_sweep *sweep = config_sweep_find(config_study(config)->x);
	GString *text = g_string_new("policy,size,value,trials");

	for (size_t m = 0; m < METRICS; m++)
		g_string_append_printf(text, ",%s_mean,%s_sd,%s_max", metrics[m].name,
				       metrics[m].name, metrics[m].name);
	g_string_append_c(text, '\n');
	for (guint i = 0; i < tables->cells->len; i++) {
		const struct cell *cell = tables->cells->pdata[i];

		g_string_append(text, cell->policy);
		put_number(text, cell->point.size);
		put_number(text, sweep ? cell->point.value : (double)NAN);
		g_string_append_printf(text, ",%u", cell->values[1]->len);
		put_values(text, cell);
	}
	for (guint i = 0; tables->cells->len > tables->all->len && i < tables->all->len; i++) {
		const struct cell *cell = tables->all->pdata[i];

		g_string_append_printf(text, "%s,all,all,%u", cell->policy, cell->values[1]->len);
		put_values(text, cell);
	}
	return g_string_free(text, FALSE);
}

bool study_write_sharing(struct study_store *store, const struct config *config,
			 const char *const *policies, const char *dir, GError **error)
{
	g_autofree char *path = g_build_filename(dir, "sharing.csv", NULL);
	g_autoptr(study_best_t) best = study_best_new(store, config, error);
	g_autofree char *text = NULL;
	struct tables tables = {
		.best = best,
		.host_gib = (double)config->clusters[0].memory_mib / 1024,
	};
	bool good;

	if (!best)
		return false;
	tables.cells = g_ptr_array_new_with_free_func(cell_free);
	tables.all = g_ptr_array_new_with_free_func(cell_free);
	good = study_store_each_of(store, policies, add_row, &tables, error);
	text = tables_text(&tables, config);
	g_ptr_array_unref(tables.cells);
	g_ptr_array_unref(tables.all);
	return good && g_file_set_contents(path, text, -1, error);
}
