/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plant.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "common/random.h"
#include "controller/config/config_controller.h"
#include "controller/experiment/experiment.h"
#include "controller/experiment/simulation.h"
#include "controller/journal/recorder_store.h"
#include "controller/store/store.h"

/* The least part of the utility that planted causes change. */
#define MATTERS 0.04

/*
 * No execution time is close to a multiple of the mapping interval: any noise would then cost whole
 * intervals, and be a cause of its own.
 */
static const char config_text[] =
	"name: plants\n"
	"clusters:\n"
	"  - {name: c1, nodes: 4, cores: 1, memory_mib: 128, preemption: {keep: memory, spares: 2}}\n"
	"  - {name: c2, nodes: 2, cores: 2, memory_mib: 128, preemption: {keep: memory, spares: 2}}\n"
	"types:\n"
	"  - {name: ordinary, benchmark: is, class: S, cores: 2, repetitions: 5, memory_mib: 96,\n"
	"     share: 0.6, preemptible: true, utility_max: 1, constant_until: 2, zero_at: 12}\n"
	"  - {name: critical, benchmark: cg, class: S, cores: 2, repetitions: 10, memory_mib: 96,\n"
	"     share: 0.4, may_preempt: true, utility_max: 8, constant_until: 1.5, zero_at: 8}\n"
	"estimates:\n"
	"  - {type: ordinary, cluster: c1, etc_s: 57.4, eec_j: 1150}\n"
	"  - {type: ordinary, cluster: c2, etc_s: 45.2, eec_j: 1360}\n"
	"  - {type: critical, cluster: c1, etc_s: 22.6, eec_j: 450}\n"
	"  - {type: critical, cluster: c2, etc_s: 19.5, eec_j: 590}\n"
	"workload: {arrival_mean_s: 11, duration_s: 560, seed: 1, utility_max: [1, 2, 4]}\n"
	"experiment: {policies: [easy, max-upr], limits: [1], budget_j: 100000,\n"
	"  mapping_interval_s: 6, duration_s: 600}\n";

/* Three hosts that tasks share in time, with half as much work again as they can do. */
static const char shared_text[] =
	"name: plants\n"
	"clusters:\n"
	"  - {name: hosts, nodes: 9, cores: 1, memory_mib: 128, shared: true,\n"
	"     preemption: {keep: memory, spares: 3},\n"
	"     hosts: [{name: h1, uri: 'test:///a'}, {name: h2, uri: 'test:///b'},\n"
	"             {name: h3, uri: 'test:///c'}]}\n"
	"types:\n"
	"  - {name: narrow, benchmark: is, class: S, cores: 1, repetitions: 5, memory_mib: 96,\n"
	"     share: 0.5, cpu_need: 0.5}\n"
	"  - {name: wide, benchmark: cg, class: S, cores: 2, repetitions: 10, memory_mib: 192,\n"
	"     share: 0.5}\n"
	"estimates:\n"
	"  - {type: narrow, cluster: hosts, etc_s: 57.4, eec_j: 1150}\n"
	"  - {type: wide, cluster: hosts, etc_s: 45.2, eec_j: 1360}\n"
	"workload: {arrival_mean_s: 18, duration_s: 560, seed: 1, utility_max: [1], constant_until: 1,\n"
	"  zero_at: 50}\n"
	"experiment: {policies: [easy], limits: [1], budget_j: 100000, mapping_interval_s: 60,\n"
	"  duration_s: 1200}\n";

/* A plant while it is made. */
struct making {
	const struct plant *plant;
	struct config *config;
	struct random_stream random;
	const char *policies[3];
	double limit_j;
	/* The sizes of what is planted. */
	double time, launch_s, base_w, late_s;
	struct backend_overhead overhead;
	double lost; /* part of the tasks */
};

static void good(bool done, GError **error)
{
	g_assert_no_error(*error);
	g_assert_true(done);
}

static bool has(const struct making *making, enum cause cause)
{
	return making->plant->causes >> cause & 1;
}

static double between(struct making *making, double low, double high)
{
	return low + (high - low) * random_stream_uniform(&making->random);
}

/* Standard normal, by the sum of twelve uniforms. */
static double normal(struct random_stream *random)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += random_stream_uniform(random);
	return sum;
}

static struct config *load_config(const char *dir, uint64_t seed, bool shared)
{
	g_autofree char *path = g_build_filename(dir, "config.yaml", NULL);
	g_autoptr(GError) error = NULL;
	struct config *config;

	g_mkdir_with_parents(dir, 0700);
	good(g_file_set_contents(path, shared ? shared_text : config_text, -1, &error), &error);
	config = config_controller_load(path, &error);
	g_assert_no_error(error);
	config->workload->seed = seed;
	good(config_save(config, path, &error), &error);
	return config;
}

/* Draws the sizes, so that each cause changes what is earned. */
static void draw_sizes(struct making *making)
{
	static const char *const policies[] = {"max-upr", "max-upe", "event-based", "max-upt"};
	const uint64_t chosen = random_stream_below(&making->random, G_N_ELEMENTS(policies));

	making->policies[0] =
		has(making, CAUSE_SUSPENSION) ? "max-upt-preempt-diff" : policies[chosen];
	if (making->plant->shared)
		making->policies[0] = "greedy-pmtn-migr";
	making->policies[1] = "easy";
	making->time = has(making, CAUSE_TIMES) ? between(making, 1.2, 1.5) : 1;
	making->launch_s = has(making, CAUSE_LAUNCH) ? between(making, 6, 12) : 0;
	making->base_w = has(making, CAUSE_METERING) ? between(making, 30, 60) : 0;
	making->late_s = has(making, CAUSE_MOMENTS) ? between(making, 8, 15) : 0;
	making->lost = has(making, CAUSE_LOST) ? between(making, 0.3, 0.5) : 0;
	if (has(making, CAUSE_SUSPENSION))
		making->overhead = (struct backend_overhead){
			.freeze_s = between(making, 0.1, 0.5),
			.save_s = between(making, 12, 25),
			.restore_s = between(making, 0.1, 0.5),
			.resume_s = between(making, 2, 8),
		};
	/* Where energy is to matter it has to run out. */
	making->limit_j = has(making, CAUSE_METERING) ? 30000 : 1e6;
}

/* What is planted in one run. */
struct seeds {
	struct backend_sim_course *courses;
	GArray *losses; /* struct backend_sim_loss */
	struct backend_sim_courses sim;
	double due_s, late_s;
	struct simulation_moments moments;
};

static void seeds_init(struct seeds *seeds, struct making *making,
		       const struct experiment *experiment, uint32_t tasks)
{
	const uint32_t clusters = experiment->system->clusters_count;

	*seeds = (struct seeds){
		.courses = g_new0(struct backend_sim_course, (size_t)tasks * clusters),
		.losses = g_array_new(FALSE, FALSE, sizeof(struct backend_sim_loss)),
		.late_s = making->late_s,
	};
	for (uint32_t i = 0; i < tasks; i++) {
		const double noise = making->plant->noise;
		const double time = making->time * fmax(0.1, 1 + noise * normal(&making->random));
		const double power = fmax(0.1, 1 + noise * normal(&making->random));
		const struct backend_sim_loss loss = {
			.task = i,
			.attempt = 1,
			.exec_s = between(making, 8, 19),
			.outcome = BACKEND_OUTCOME_LOST,
		};

		for (uint32_t c = 0; c < clusters; c++)
			seeds->courses[(size_t)i * clusters + c] =
				(struct backend_sim_course){.time = time,
							    .more_s = making->launch_s,
							    .power = power};
		if (random_stream_uniform(&making->random) < making->lost)
			g_array_append_val(seeds->losses, loss);
	}
	seeds->sim = (struct backend_sim_courses){
		.of = seeds->courses,
		.losses = (const struct backend_sim_loss *)(const void *)seeds->losses->data,
		.losses_count = seeds->losses->len,
		.base_w = making->base_w,
	};
	seeds->moments = (struct simulation_moments){
		.due_s = &seeds->due_s,
		.late_s = &seeds->late_s,
		.count = making->late_s > 0,
		.end_s = making->config->experiment->duration_s,
	};
}

static void seeds_clear(struct seeds *seeds)
{
	g_free(seeds->courses);
	g_array_unref(seeds->losses);
}

/* The events of launches, which a simulation does not record. */
static void put_launches(const struct making *making, struct store *store, int64_t run,
			 uint32_t tasks)
{
	g_autoptr(GError) error = NULL;

	good(store_begin(store, &error), &error);
	for (uint32_t i = 0; i < tasks; i++) {
		for (int attempt = 1; attempt <= 2; attempt++) {
			g_autofree char *detail =
				g_strdup_printf("{\"task\":%u,\"attempt\":%d,\"launch_s\":%.9f}", i,
						attempt, making->launch_s);

			good(store_add_event(store, run, 0, "launched", detail, &error), &error);
		}
	}
	good(store_commit(store, &error), &error);
}

static void simulate(struct making *making, struct store *store, struct experiment *experiment,
		     const struct experiment_trial *trial, const struct policy *policy,
		     bool measured, struct store_run *run)
{
	g_autoptr(GError) error = NULL;
	const uint32_t tasks = trial->workload->tasks_count;
	const struct backend_overhead *samples[] = {&making->overhead, &making->overhead};
	const uint32_t counts[] = {1, 1};
	const struct backend_sim_overheads overheads = {samples, counts, 1, 1};
	struct engine_setup setup =
		experiment_trial_setup(experiment, trial, policy, making->limit_j);
	struct recorder_store *recorder =
		recorder_store_new(store, run->run, experiment->system, false);
	struct backend *backend = backend_sim_new(trial->whole ?: setup.system, tasks);
	struct engine_result result;
	struct engine *engine;
	struct seeds seeds;

	setup.recorder = recorder_store_engine(recorder);
	seeds_init(&seeds, making, experiment, tasks);
	if (measured)
		backend_sim_set_courses(backend, &seeds.sim);
	if (measured && has(making, CAUSE_SUSPENSION))
		backend_sim_set_overheads(backend, &overheads);
	engine = engine_new(&setup, backend);
	simulation_run_late(engine, backend, measured ? &seeds.moments : NULL, &result);
	experiment_complete_result(trial, engine, &result);
	engine_free(engine);
	backend_destroy(backend);
	good(recorder_store_finish(recorder, &error), &error);
	recorder_store_free(recorder);
	if (measured && has(making, CAUSE_LAUNCH))
		put_launches(making, store, run->run, tasks);
	seeds_clear(&seeds);
	run->ended_by = (char *)engine_end_name(result.ended_by);
	run->ended_s = result.ended_s;
	run->utility = result.utility;
	run->energy_j = result.energy_j;
	run->tasks_arrived = result.tasks_arrived;
	run->tasks_completed = result.tasks_completed;
	run->tasks_failed = result.tasks_failed;
}

static char *make_side(struct making *making, const char *root, bool measured)
{
	char *dir = g_build_filename(root, measured ? "measured" : "simulated", NULL);
	/* The tasks of another seed are another workload. */
	const uint64_t seed =
		making->plant->seed + (!measured && has(making, CAUSE_ARRIVALS) ? 100000 : 0);
	g_autoptr(config_t) config = load_config(dir, seed, making->plant->shared);
	g_autoptr(GError) error = NULL;
	g_autoptr(experiment_t) experiment = experiment_new(config, making->policies, &error);
	g_autoptr(store_t) store = store_open(dir, true, &error);
	struct experiment_trial trial;

	g_assert_no_error(error);
	making->config = config;
	good(experiment_trial_init(experiment, 0, 1, &trial, &error), &error);
	good(store_begin(store, &error), &error);
	good(store_set_meta(store, "kind", measured ? "measured" : "simulated", &error), &error);
	good(store_put_estimates(store, config->estimates, config->estimates_count, &error),
	     &error);
	good(store_commit(store, &error), &error);
	for (uint32_t repeat = 1; repeat <= (measured ? making->plant->repeats : 1); repeat++) {
		for (uint32_t i = 0; i < experiment->policies_count; i++) {
			struct store_run run = {
				.policy = experiment->policies[i].name,
				.limit = 1,
				.limit_j = making->limit_j,
				.repeat = repeat,
				.seed = trial.workload->seed,
				.measured = measured,
				.host_load = NAN,
			};

			good(store_add_run(store, &run, &error), &error);
			simulate(making, store, experiment, &trial, &experiment->policies[i],
				 measured, &run);
			good(store_update_run(store, &run, &error), &error);
		}
	}
	experiment_trial_clear(&trial);
	return dir;
}

/* The noise of a measured run is not simulated here: a comparison takes any. */
static bool some_noise(struct compare_resampling *noise, enum compare_measure measure,
		       const char *policy, double limit, double *ret_sd, uint32_t *ret_repeats)
{
	*ret_sd = 0.1;
	*ret_repeats = 200;
	return true;
}

static struct compare_resampling noise = {.sd = some_noise};

/* Makes both directories, and compares them. */
static void plant_make(const struct plant *plant, struct planted *ret_planted)
{
	struct making making = {.plant = plant};
	g_autoptr(GError) error = NULL;
	g_autofree char *measured = NULL;
	g_autofree char *simulated = NULL;

	*ret_planted = (struct planted){.dir = g_dir_make_tmp("virtbed-plant-XXXXXX", &error)};
	g_assert_no_error(error);
	random_stream_init(&making.random, plant->seed, plant->causes);
	draw_sizes(&making);
	measured = make_side(&making, ret_planted->dir, true);
	simulated = make_side(&making, ret_planted->dir, false);
	ret_planted->summaries[0] = summary_load(measured, &error);
	g_assert_no_error(error);
	ret_planted->summaries[1] = summary_load(simulated, &error);
	g_assert_no_error(error);
	compare_sides_init(&ret_planted->sides, ret_planted->summaries[0], &noise,
			   ret_planted->summaries[1], NULL);
	ret_planted->compare = compare_new(&ret_planted->sides, false, &error);
	g_assert_no_error(error);
}

static void remove_side(const char *root, const char *side)
{
	static const char *const files[] = {"config.yaml", "run.sqlite", "run.sqlite-wal",
					    "run.sqlite-shm"};
	g_autofree char *dir = g_build_filename(root, side, NULL);

	for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree char *path = g_build_filename(dir, files[i], NULL);

		g_unlink(path);
	}
	g_rmdir(dir);
}

void planted_clear(struct planted *planted)
{
	attribution_free(planted->attribution);
	compare_free(planted->compare);
	compare_sides_clear(&planted->sides);
	summary_free(planted->summaries[0]);
	summary_free(planted->summaries[1]);
	remove_side(planted->dir, "measured");
	remove_side(planted->dir, "simulated");
	g_rmdir(planted->dir);
	g_free(planted->dir);
}

const struct attribution_cell *planted_cell(const struct planted *planted)
{
	return &g_array_index(planted->attribution->cells, struct attribution_cell, 0);
}

double planted_rest(const struct planted *planted)
{
	const struct attribution *attribution = planted->attribution;
	double most = 0;

	for (guint i = 0; i < attribution->cells->len; i++) {
		const struct attribution_cell *cell =
			&g_array_index(attribution->cells, struct attribution_cell, i);

		for (int m = 0; m < ATTRIBUTION_MEASURES; m++) {
			const struct attribution_split *split = &cell->splits[m];
			double sum = split->again + split->remains.value;

			for (int c = 0; c < CAUSES; c++)
				sum += split->parts[c].value;
			if (split->known)
				most = fmax(most, fabs(split->measured - split->simulated - sum));
		}
	}
	return most;
}

struct plant plant_numbered(uint32_t number, uint32_t count)
{
	struct plant plant = {.seed = 1000 + number, .noise = 0.01, .repeats = 1};

	if (count > 0)
		plant.causes = 1u << number % CAUSES;
	if (count > 1)
		plant.causes |= 1u << (number + 1 + number / CAUSES % (CAUSES - 1)) % CAUSES;
	return plant;
}

static void tell(uint32_t number, const struct plant *plant, const struct attribution_split *split,
		 int first)
{
	g_autoptr(GString) text = g_string_new(NULL);

	for (int c = 0; c < CAUSES; c++)
		if (split->parts[c].value != 0)
			g_string_append_printf(text, " %s %.2f [%.2f, %.2f], noise [%.2f, %.2f]",
					       cause_keys[c], split->parts[c].value,
					       split->parts[c].low, split->parts[c].high,
					       split->noise[c].low, split->noise[c].high);
	g_printerr("# plant %u, causes %#x: first %d, simulated %g, gap %g, parts%s\n", number,
		   plant->causes, first, split->simulated, split->gap.value, text->str);
}

/* Whether what was planted changed the utility enough to be worth a cause. */
static bool matters(const struct planted *planted)
{
	const struct compare_pair *pair =
		&g_array_index(planted->compare->pairs, struct compare_pair, 0);
	const enum compare_measure measure = planted->compare->measure;
	const double measured = compare_value(planted->compare, 0, measure, pair->first, 1);
	const double simulated = compare_value(planted->compare, 1, measure, pair->first, 1);

	return fabs(measured - simulated) >= MATTERS * simulated;
}

/* Makes a plant; of several seeds the first with which the causes matter. */
static void make_that_matters(struct plant *plant, struct planted *ret_planted)
{
	plant_make(plant, ret_planted);
	while (plant->causes && !matters(ret_planted)) {
		planted_clear(ret_planted);
		plant->seed += 1000000;
		plant_make(plant, ret_planted);
	}
}

static void attribute(struct planted *planted, const struct attribution_options *options)
{
	g_autoptr(GError) error = NULL;

	planted->attribution = attribution_new(planted->compare, options, &error);
	g_assert_no_error(error);
}

void plant_attribute(const struct plant *plant, const struct attribution_options *options,
		     struct planted *ret_planted)
{
	struct plant one = *plant;

	make_that_matters(&one, ret_planted);
	attribute(ret_planted, options);
}

uint32_t plant_count_right(uint32_t plants, uint32_t count, uint32_t jobs)
{
	const struct attribution_options options = {.jobs = jobs};
	uint32_t right = 0;

	for (uint32_t i = 0; i < plants; i++) {
		const struct plant plant = plant_numbered(i, count);
		const struct attribution_split *split;
		struct planted planted;
		int first;

		plant_attribute(&plant, &options, &planted);
		g_assert_cmpfloat(planted_rest(&planted), <=, 1e-9);
		split = &planted_cell(&planted)->splits[MEASURE_UTILITY];
		first = attribution_first(split->gap.value, split->parts, split->noise);
		if (count == 0 ? first < 0 : first >= 0 && plant.causes >> first & 1)
			right++;
		else
			tell(i, &plant, split, first);
		planted_clear(&planted);
	}
	return right;
}
