/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/study/study.h"

#include <gio/gio.h>
#include <math.h>

#include "controller/config/config_study.h"
#include "controller/config/config_sweep.h"

/* Results of different versions cannot be combined: to be raised when decisions or rows change. */
#define RESULTS_VERSION 8

/* How long the main thread waits for messages before it checks for an interruption. */
#define PATIENCE_US (200 * G_TIME_SPAN_MILLISECOND)

/* A trial at a point with missing results. */
struct unit {
	uint32_t point; /* index of the point */
	uint32_t trial;
	bool *missing; /* per policy */
	gint next;     /* the next policy, for any thread */
};

/* The data that the threads share. */
struct work {
	const struct study *study;
	GArray *units; /* of struct unit */
	gint next;     /* the next unit */
	gint stop;
	GAsyncQueue *news; /* of struct news */
};

/* A message from a thread: the results of a policy on a trial, or the end of the thread. */
struct news {
	bool ended;
	GError *error;
	uint32_t point;
	uint32_t trial;
	uint32_t policy;
	struct engine_result *results; /* per limit */
};

char *study_identity(const struct config *config, uint64_t seed)
{
	g_autofree char *text = config_to_text(config);
	g_autofree char *digest = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);

	return g_strdup_printf("%s %.16s seed %" G_GUINT64_FORMAT " results %d", config->name,
			       digest, seed, RESULTS_VERSION);
}

struct study_point *study_points_new(const struct config *config, uint32_t *ret_count)
{
	const struct config_study *study = config_study(config);
	const struct config_sweep *sweep = config_sweep_find(study->x);
	const uint32_t values = sweep ? study->values_count : 1;
	struct study_point *points = g_new0(struct study_point, study->sizes_count * values);

	for (uint32_t i = 0; i < study->sizes_count * values; i++) {
		const char *text = sweep ? study->values[i % values] : NULL;
		g_autofree char *wrong =
			sweep ? config_sweep_read(sweep, text, &points[i].value) : NULL;

		points[i].size = study->sizes[i / values];
		if (wrong) /* config_controller_load() has checked the value. */
			g_error("study.values: %s", wrong);
	}
	*ret_count = study->sizes_count * values;
	return points;
}

void study_vary(struct config *config, const struct study_point *point)
{
	const struct config_sweep *sweep = config_sweep_find(config_study(config)->x);

	for (uint32_t c = 0; c < config->clusters_count; c++) {
		uint32_t *nodes = &config->clusters[c].nodes;

		*nodes = (uint32_t)MAX(1, floor(*nodes * point->size + 0.5));
	}
	if (sweep)
		config_sweep_apply(sweep, config, point->value);
}

char *study_row_key(const struct study_point *point, const char *policy, double limit_j,
		    uint32_t trial)
{
	const double parts[] = {point->size, point->value, limit_j};
	char numbers[G_N_ELEMENTS(parts)][G_ASCII_DTOSTR_BUF_SIZE];

	for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
		g_ascii_dtostr(numbers[i], sizeof(numbers[i]), parts[i]);
	return g_strdup_printf("%s\n%s\n%s\n%s\n%u", numbers[0], numbers[1], policy, numbers[2],
			       trial);
}

static void note_row(const struct study_row *row, void *data)
{
	g_hash_table_add(data, study_row_key(&row->point, row->policy, row->limit_j, row->trial));
}

static bool is_stored(const struct study *study, GHashTable *stored, const struct unit *unit,
		      uint32_t policy)
{
	for (uint32_t i = 0; i < study->limits_count; i++) {
		g_autofree char *key = study_row_key(&study->points[unit->point],
						     study->experiments[0]->policies[policy].name,
						     study->limits_j[i], unit->trial);

		if (!g_hash_table_contains(stored, key))
			return false;
	}
	return true;
}

static void clear_unit(gpointer data)
{
	g_free(((struct unit *)data)->missing);
}

/* Adds a trial to `units` if results are missing. Returns the number of missing runs. */
static uint32_t add_unit(const struct study *study, GHashTable *stored, uint32_t point,
			 uint32_t trial, GArray *units)
{
	const uint32_t policies = study->experiments[0]->policies_count;
	struct unit unit = {point, trial, g_new0(bool, policies), 0};
	uint32_t missing = 0;

	for (uint32_t p = 0; p < policies; p++)
		missing += unit.missing[p] = !is_stored(study, stored, &unit, p);
	if (missing > 0)
		g_array_append_val(units, unit);
	else
		clear_unit(&unit);
	return missing;
}

/* The trials of this shard with missing results, and the number of missing runs. */
static GArray *find_units(const struct study *study, uint32_t *ret_missing, uint32_t *ret_total,
			  GError **error)
{
	g_autoptr(GHashTable) stored = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	GArray *units;

	*ret_missing = *ret_total = 0;
	if (!study_store_each(study->store, note_row, stored, error))
		return NULL;
	units = g_array_new(FALSE, FALSE, sizeof(struct unit));
	g_array_set_clear_func(units, clear_unit);
	for (uint32_t trial = study->shard; trial <= study->trials; trial += study->shards)
		for (uint32_t point = 0; point < study->points_count; point++) {
			*ret_missing += add_unit(study, stored, point, trial, units);
			*ret_total += study->experiments[0]->policies_count;
		}
	return units;
}

static void free_news(struct news *news)
{
	g_clear_error(&news->error);
	g_free(news->results);
	g_free(news);
}

/* Runs a policy on a trial under all limits. */
static bool run_policy(struct work *work, const struct experiment_trial *drawn,
		       const struct unit *unit, uint32_t policy, GError **error)
{
	const struct study *study = work->study;
	const struct experiment *experiment = study->experiments[unit->point];
	struct news *news = g_new0(struct news, 1);
	bool good = true;

	news->point = unit->point;
	news->trial = unit->trial;
	news->policy = policy;
	news->results = g_new0(struct engine_result, study->limits_count);
	for (uint32_t i = 0; good && i < study->limits_count; i++) {
		struct engine_setup setup =
			experiment_trial_setup(experiment, drawn, &experiment->policies[policy],
					       study->limits_j[i]);

		setup.trim = true;
		good = experiment_simulate_run(experiment, drawn, &setup, &news->results[i], error);
	}
	if (good)
		g_async_queue_push(work->news, news);
	else
		free_news(news);
	return good;
}

/* Takes a missing policy of the trial that no thread has taken; false if there is none. */
static bool take_policy(struct work *work, struct unit *unit, uint32_t *ret_policy)
{
	const gint policies = (gint)work->study->experiments[0]->policies_count;

	while (!g_atomic_int_get(&work->stop)) {
		const gint next = g_atomic_int_add(&unit->next, 1);

		if (next >= policies)
			break;
		if (!unit->missing[next])
			continue;
		*ret_policy = (uint32_t)next;
		return true;
	}
	return false;
}

/* Runs the remaining policies of a trial, if any. */
static bool run_unit(struct work *work, struct unit *unit, GError **error)
{
	const struct study *study = work->study;
	struct experiment_trial drawn;
	uint32_t policy;
	bool good;

	if (!take_policy(work, unit, &policy))
		return true;
	if (!experiment_trial_init(study->experiments[unit->point], study->seed, unit->trial,
				   &drawn, error))
		return false;
	do
		good = run_policy(work, &drawn, unit, policy, error);
	while (good && take_policy(work, unit, &policy));
	experiment_trial_clear(&drawn);
	return good;
}

/*
 * Trials without a thread come first, since each thread has to draw its trial. At the end the
 * threads share the remaining trials, so that none waits for another's whole trial.
 */
static gpointer run_thread(gpointer data)
{
	struct work *work = data;
	struct news *news = g_new0(struct news, 1);
	const guint count = work->units->len;
	guint next = (guint)g_atomic_int_add(&work->next, 1);

	for (; next < count && !news->error; next = (guint)g_atomic_int_add(&work->next, 1))
		run_unit(work, &g_array_index(work->units, struct unit, next), &news->error);
	for (guint i = 0; i < count && !news->error; i++)
		run_unit(work, &g_array_index(work->units, struct unit, i), &news->error);
	news->ended = true;
	g_async_queue_push(work->news, news);
	return NULL;
}

static bool store_news(const struct study *study, const struct news *news, GError **error)
{
	g_autofree struct study_row *rows = g_new(struct study_row, study->limits_count);

	for (uint32_t i = 0; i < study->limits_count; i++)
		rows[i] = (struct study_row){
			.point = study->points[news->point],
			.trial = news->trial,
			.policy = study->experiments[0]->policies[news->policy].name,
			.limit_j = study->limits_j[i],
			.result = news->results[i],
		};
	return study_store_add(study->store, rows, study->limits_count, error);
}

/* Handles messages until the last thread has ended. The first error stops all threads. */
static void listen(struct work *work, uint32_t threads, uint32_t done, uint32_t total,
		   GError **first_error)
{
	const struct study *study = work->study;

	while (threads > 0) {
		struct news *news = g_async_queue_timeout_pop(work->news, PATIENCE_US);

		if (*study->stop)
			g_atomic_int_set(&work->stop, 1);
		if (news && news->ended)
			threads--;
		if (news && news->error && !*first_error)
			g_propagate_error(first_error, g_steal_pointer(&news->error));
		if (news && news->results && !*first_error)
			done += store_news(study, news, first_error);
		if (*first_error)
			g_atomic_int_set(&work->stop, 1);
		if (news)
			free_news(news);
		if (study->progress)
			study->progress(done, total, study->data);
	}
}

bool study_run(const struct study *study, GError **error)
{
	g_autoptr(GError) first_error = NULL;
	uint32_t missing;
	uint32_t total;
	g_autoptr(GArray) units = find_units(study, &missing, &total, error);
	struct work work = {.study = study, .units = units};
	g_autofree GThread **threads = NULL;
	uint32_t count;

	if (!units)
		return false;
	count = MIN(study->jobs, units->len);
	threads = g_new(GThread *, count);
	work.news = g_async_queue_new();
	for (uint32_t i = 0; i < count; i++)
		threads[i] = g_thread_new("study", run_thread, &work);
	listen(&work, count, total - missing, total, &first_error);
	for (uint32_t i = 0; i < count; i++)
		g_thread_join(threads[i]);
	g_async_queue_unref(work.news);
	if (!first_error && *study->stop)
		first_error = g_error_new_literal(G_IO_ERROR, G_IO_ERROR_CANCELLED, "interrupted");
	if (!first_error)
		return true;
	g_propagate_error(error, g_steal_pointer(&first_error));
	return false;
}
