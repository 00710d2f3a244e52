/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a mapping event costs when there is more of everything: one snapshot of a simulated
 * environment (Machovec 2018, section 4.2) is made 1 to 64 times larger in one direction, and
 * decided again and again.
 *
 * - tasks: every mappable task is there as many times;
 * - nodes: clusters have as many times the nodes, and all tasks, those that run too, take as many
 *   times the nodes;
 * - pstates: clusters have as many times the P-states, between those that there are.
 *
 *   energy-scale CONFIG [--policy NAME,...] [--event N] [--most N]
 *
 * prints one JSON document.
 */
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "benchmarks/host.h"
#include "common/json.h"
#include "controller/config/config_controller.h"
#include "controller/experiment/experiment.h"

/* Decisions are repeated for about so long. */
#define MEASURE_S 0.2

enum direction { TASKS, NODES, PSTATES, DIRECTIONS };

static const char *const direction_names[] = {"tasks", "nodes", "pstates"};

struct options {
	char *policies;
	gint event;
	gint most;
};

/* Measures when the run comes to the event. */
struct probe {
	struct engine_recorder recorder;
	uint64_t event;
	uint32_t most;
	json_t *curves; /* per direction: per factor */
};

/* The snapshot made larger, with everything that is its own. */
struct scaled {
	struct sched_snapshot snapshot;
	struct sched_system *system;
	struct sched_task *tasks;
	const struct sched_task **waiting;
	struct sched_allocation *running;
	uint32_t **nodes;
};

static struct sched_system *scale_system(const struct sched_system *system, uint32_t nodes,
					 uint32_t pstates)
{
	g_autofree struct sched_cluster *clusters =
		g_memdup2(system->clusters, system->clusters_count * sizeof(*clusters));
	struct sched_system *made;

	for (uint32_t c = 0; c < system->clusters_count; c++) {
		clusters[c].nodes *= nodes;
		clusters[c].pstates *= pstates;
	}
	made = sched_system_new(clusters, system->clusters_count, system->rows_count);
	for (uint32_t row = 0; row < system->rows_count; row++) {
		made->row_names[row] = system->row_names[row];
		for (uint32_t c = 0; c < system->clusters_count; c++)
			made->nodes[row * made->clusters_count + c] =
				system->nodes[row * made->clusters_count + c] * nodes;
		for (uint32_t c = 0; c < system->clusters_count; c++)
			for (uint32_t p = 0; p < made->clusters[c].pstates; p++) {
				const size_t to = (size_t)row * made->columns_count +
						  made->clusters[c].column + p;
				const size_t from = (size_t)row * system->columns_count +
						    system->clusters[c].column + p / pstates;
				/* A little slower and cheaper each, within a thousandth. */
				const double part = 1e-3 * (p % pstates) / pstates;

				made->etc_s[to] = system->etc_s[from] * (1 + part);
				made->eec_j[to] = system->eec_j[from] * (1 - part);
			}
	}
	if (sched_system_finish(made, NULL) != SCHED_SYSTEM_OK)
		g_error("the scaled system is wrong");
	return made;
}

static void scale_waiting(struct scaled *scaled, const struct sched_snapshot *snapshot,
			  uint32_t factor)
{
	const uint32_t count = snapshot->waiting_count * factor;

	scaled->tasks = g_new(struct sched_task, count);
	scaled->waiting = g_new(const struct sched_task *, count);
	for (uint32_t i = 0; i < count; i++) {
		scaled->tasks[i] = *snapshot->waiting[i / factor];
		scaled->tasks[i].id = i;
		scaled->waiting[i] = &scaled->tasks[i];
	}
	scaled->snapshot.waiting = scaled->waiting;
	scaled->snapshot.waiting_count = count;
}

static void scale_running(struct scaled *scaled, const struct sched_snapshot *snapshot,
			  uint32_t nodes, uint32_t pstates)
{
	scaled->running =
		g_memdup2(snapshot->running, snapshot->running_count * sizeof(*scaled->running));
	scaled->nodes = g_new(uint32_t *, snapshot->running_count);
	for (uint32_t i = 0; i < snapshot->running_count; i++) {
		struct sched_allocation *running = &scaled->running[i];

		scaled->nodes[i] = g_new(uint32_t, (size_t)running->nodes_count * nodes);
		for (uint32_t n = 0; n < running->nodes_count * nodes; n++)
			scaled->nodes[i][n] = running->nodes[n / nodes] * nodes + n % nodes;
		running->nodes = scaled->nodes[i];
		running->nodes_count *= nodes;
		running->pstate *= pstates;
	}
	scaled->snapshot.running = scaled->running;
}

static void scaled_init(struct scaled *scaled, const struct sched_snapshot *snapshot,
			enum direction direction, uint32_t factor)
{
	const uint32_t nodes = direction == NODES ? factor : 1;
	const uint32_t pstates = direction == PSTATES ? factor : 1;

	*scaled = (struct scaled){.snapshot = *snapshot};
	scaled->system = scale_system(snapshot->system, nodes, pstates);
	scaled->snapshot.system = scaled->system;
	scaled->snapshot.placeholders_count = 0;
	scale_waiting(scaled, snapshot, direction == TASKS ? factor : 1);
	scale_running(scaled, snapshot, nodes, pstates);
}

static void scaled_clear(struct scaled *scaled)
{
	for (uint32_t i = 0; i < scaled->snapshot.running_count; i++)
		g_free(scaled->nodes[i]);
	g_free(scaled->nodes);
	g_free(scaled->running);
	g_free(scaled->waiting);
	g_free(scaled->tasks);
	sched_system_free(scaled->system);
}

/* Milliseconds of a decision, the mean of many. */
static double decide_ms(const struct policy *policy, const struct sched_snapshot *snapshot)
{
	struct policy_context context = {.arena = arena_new(), .flags = POLICY_TRIM};
	struct sched_plan plan;
	uint32_t count = 0;
	double begun_s;

	policy_decide(policy, snapshot, &context, &plan);
	begun_s = host_cpu_s();
	do {
		policy_decide(policy, snapshot, &context, &plan);
		count++;
	} while (host_cpu_s() - begun_s < MEASURE_S);
	begun_s = host_cpu_s() - begun_s;
	arena_free(context.arena);
	return 1e3 * begun_s / count;
}

static bool decision(struct engine_recorder *recorder, const struct policy *policy,
		     const struct sched_snapshot *snapshot, const struct sched_plan *plan)
{
	struct probe *probe = (struct probe *)recorder;

	if (probe->curves || snapshot->event < probe->event)
		return true;
	probe->curves = json_pack("{s:i, s:i}", "mappable", (int)snapshot->waiting_count, "running",
				  (int)snapshot->running_count);
	for (int direction = 0; direction < DIRECTIONS; direction++) {
		json_t *curve = json_array();

		for (uint32_t factor = 1; factor <= probe->most; factor *= 2) {
			struct scaled scaled;

			scaled_init(&scaled, snapshot, (enum direction)direction, factor);
			json_array_append_new(curve,
					      json_pack("{s:i, s:f}", "factor", (int)factor,
							"event_ms",
							decide_ms(policy, &scaled.snapshot)));
			scaled_clear(&scaled);
		}
		json_object_set_new(probe->curves, direction_names[direction], curve);
	}
	return true;
}

static json_t *measure(const char *path, const struct options *options, GError **error)
{
	const double load = host_load();
	g_auto(GStrv) names = options->policies ? g_strsplit(options->policies, ",", -1) : NULL;
	g_autoptr(config_t) config = config_controller_load(path, error);
	g_autoptr(experiment_t) experiment =
		config ? experiment_new(config, (const char *const *)names, error) : NULL;
	struct experiment_trial trial;
	json_t *list;

	if (!experiment || !experiment_trial_init(experiment, 0, 1, &trial, error))
		return NULL;
	list = json_array();
	for (uint32_t i = 0; i < experiment->policies_count; i++) {
		struct probe probe = {.recorder.decision = decision,
				      .event = (uint64_t)options->event,
				      .most = (uint32_t)options->most};
		struct engine_setup setup =
			experiment_trial_setup(experiment, &trial, &experiment->policies[i],
					       config->experiment->budget_j *
						       config->experiment->limits[0]);
		struct engine_result result;

		setup.trim = true;
		setup.recorder = &probe.recorder;
		experiment_simulate(&setup, &result);
		if (!probe.curves)
			continue;
		json_object_set_new(probe.curves, "policy",
				    json_string(experiment->policies[i].name));
		json_array_append_new(list, probe.curves);
	}
	experiment_trial_clear(&trial);
	return json_pack("{s:s, s:o, s:o}", "config", config->name, "policies", list, "host",
			 host_json(load));
}

int main(int argc, char **argv)
{
	struct options options = {.event = 840, .most = 64};
	const GOptionEntry entries[] = {
		{"policy", 0, 0, G_OPTION_ARG_STRING, &options.policies, "(the configured ones)",
		 "NAME,..."},
		{"event", 0, 0, G_OPTION_ARG_INT, &options.event,
		 "The first mapping event from this one on (840)", "N"},
		{"most", 0, 0, G_OPTION_ARG_INT, &options.most, "Times as large (64)", "N"},
		G_OPTION_ENTRY_NULL,
	};
	g_autoptr(GOptionContext) context = g_option_context_new("CONFIG - scale a mapping event");
	g_autoptr(GError) error = NULL;
	g_autoptr(json_t) document = NULL;
	g_autofree char *text = NULL;

	g_option_context_add_main_entries(context, entries, NULL);
	if (!g_option_context_parse(context, &argc, &argv, &error) || argc != 2 ||
	    options.event < 0 || options.most < 1) {
		fprintf(stderr, "energy-scale: %s\n",
			error ? error->message : "give one configuration file");
		return 2;
	}
	document = measure(argv[1], &options, &error);
	if (!document) {
		fprintf(stderr, "energy-scale: %s\n", error->message);
		return 2;
	}
	text = json_pretty(document);
	puts(text);
	return 0;
}
