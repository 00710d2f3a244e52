/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What it costs that a policy is a program of its own: mapping events of one system with many
 * waiting tasks, of which a few leave and a few come from event to event, decided by a policy of
 * the tree in this process, the baseline, and by programs.
 *
 * The overhead is the wall time of an event less what the program says it computed. The programs:
 * `reader`, which reads all that it gets and answers an empty plan, in C and in Python, and `twin`,
 * which makes a verified snapshot of it and decides as the baseline does; both plans have to be the
 * same.
 */
#include <glib.h>
#include <glib/gstdio.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "benchmarks/host.h"
#include "common/clock.h"
#include "common/json.h"
#include "controller/plugin/plugin.h"
#include "controller/snapshot/snapshot_json.h"

#define CLUSTERS 4
#define TYPES 8
/* Tasks that leave, and that come, from one event to the next. */
#define CHANGES 5
#define INTERVAL_S 60.0

static const char python_reader[] =
	"import json, sys\n"
	"tasks = {}\n"
	"for line in sys.stdin:\n"
	"    message = json.loads(line)\n"
	"    if message['type'] == 'hello':\n"
	"        answer = {'type': 'hello', 'protocol': 1, 'name': 'reader', 'differences': True}\n"
	"    elif message['type'] == 'decide':\n"
	"        snapshot = message['snapshot']\n"
	"        for task in snapshot['tasks']:\n"
	"            tasks[task['id']] = task\n"
	"        for gone in snapshot['gone']:\n"
	"            del tasks[gone]\n"
	"        answer = {'type': 'plan', 'number': message['number'], 'actions': []}\n"
	"    else:\n"
	"        break\n"
	"    sys.stdout.write(json.dumps(answer) + '\\n')\n"
	"    sys.stdout.flush()\n";

/* A system, and tasks of which each event has some. */
struct scene {
	struct sched_system *system;
	char *names[TYPES];
	struct sched_task *tasks;
	const struct sched_task **pointers;
	uint32_t waiting;
	struct sched_allocation running[CLUSTERS];
	uint32_t nodes[64];
};

static void scene_init(struct scene *scene, uint32_t waiting, uint32_t events)
{
	static const struct sched_cluster clusters[CLUSTERS] = {
		{.name = "c1", .nodes = 32, .cores = 1, .pstates = 1},
		{.name = "c2", .nodes = 32, .cores = 2, .pstates = 1},
		{.name = "c3", .nodes = 16, .cores = 4, .pstates = 1},
		{.name = "c4", .nodes = 8, .cores = 8, .pstates = 1},
	};
	const uint32_t count = waiting + CHANGES * events + CLUSTERS;
	uint32_t row, i;

	*scene = (struct scene){.waiting = waiting};
	scene->system = sched_system_new(clusters, CLUSTERS, TYPES);
	for (row = 0; row < TYPES; row++) {
		scene->names[row] = g_strdup_printf("type-%u", row);
		scene->system->row_names[row] = scene->names[row];
		for (uint32_t c = 0; c < CLUSTERS; c++) {
			scene->system->etc_s[row * CLUSTERS + c] = 300.0 + 37 * row + 11 * c;
			scene->system->eec_j[row * CLUSTERS + c] = 1000.0 + 313 * row + 71 * c;
			scene->system->nodes[row * CLUSTERS + c] = 1 + row % 4;
		}
	}
	if (sched_system_finish(scene->system, NULL) != SCHED_SYSTEM_OK)
		g_error("the system is not one");
	scene->tasks = g_new0(struct sched_task, count);
	scene->pointers = g_new(const struct sched_task *, count);
	for (i = 0; i < count; i++) {
		/* The first ones run; they came before the others. */
		scene->tasks[i] = (struct sched_task){
			.id = i,
			.row = i % TYPES,
			.arrival_s = i / 1000.0,
			.utility = utility_testbed(1 + i % 4, 4000 + i % 1000, 9000),
		};
		scene->pointers[i] = &scene->tasks[i];
	}
	for (i = 0; i < G_N_ELEMENTS(scene->nodes); i++)
		scene->nodes[i] = i;
	/* All but four nodes of each cluster are busy. */
	for (uint32_t c = 0; c < CLUSTERS; c++)
		scene->running[c] = (struct sched_allocation){
			.task = &scene->tasks[c],
			.cluster = c,
			.nodes_count = scene->system->nodes[c * CLUSTERS + c],
			.nodes = scene->nodes,
			.start_s = 10,
			.end_s = 1200,
		};
}

static void scene_clear(struct scene *scene)
{
	sched_system_free(scene->system);
	for (uint32_t row = 0; row < TYPES; row++)
		g_free(scene->names[row]);
	g_free(scene->tasks);
	g_free(scene->pointers);
}

static struct sched_snapshot scene_snapshot(const struct scene *scene, uint32_t event)
{
	return (struct sched_snapshot){
		.system = scene->system,
		.seed = 1,
		.event = event,
		.now_s = 1000,
		.next_event_s = 1000 + INTERVAL_S,
		.end_s = 100000,
		.budget_j = INFINITY,
		.waiting_count = scene->waiting,
		.waiting = scene->pointers + CLUSTERS + CHANGES * event,
		.running_count = CLUSTERS,
		.running = scene->running,
	};
}

static int compare_reals(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, uint32_t count)
{
	qsort(values, count, sizeof(*values), compare_reals);
	return values[count / 2];
}

/* Median and largest wall time of the events of a policy, and of the overhead in them. */
static json_t *measure(const struct scene *scene, const char *peer, const char *name,
		       uint32_t events, uint64_t *sums, bool compare)
{
	const struct plugin_settings settings = {.deadline_s = 60, .user = "root"};
	g_autoptr(plugin_t) plugin = plugin_new(&settings, scene->system, 1);
	struct policy_context context = {.arena = arena_new(), .outside = plugin_outside(plugin)};
	g_autofree double *event_ms = g_new(double, events);
	g_autofree double *overhead_ms = g_new(double, events);
	g_autoptr(GError) error = NULL;
	struct plugin_account before = {0};
	struct policy policy;
	char message[512];
	double most = 0;
	double middle;

	if (policy_parse(name, &policy, message, sizeof(message)) < 0)
		g_error("%s", message);
	if (!plugin_start(plugin, &policy, &error)) {
		json_t *none = json_pack("{s:s, s:i, s:s}", "peer", peer, "waiting",
					 (int)scene->waiting, "skipped", error->message);

		arena_free(context.arena);
		return none;
	}
	/* The first event, in which all tasks are new, is not counted. */
	for (uint32_t i = 0; i <= events; i++) {
		const struct sched_snapshot snapshot = scene_snapshot(scene, i);
		const int64_t begun_ns = clock_now_ns();
		struct sched_plan plan;
		struct plugin_account after;

		if (policy_decide(&policy, &snapshot, &context, &plan) < 0)
			g_error("%s", context.outside->problem);
		after = plugin_account(plugin);
		if (i > 0) {
			event_ms[i - 1] = clock_elapsed_s(begun_ns, clock_now_ns()) * 1e3;
			overhead_ms[i - 1] =
				event_ms[i - 1] - (after.compute_s - before.compute_s) * 1e3;
			most = fmax(most, overhead_ms[i - 1]);
		}
		before = after;
		if (compare) {
			g_autofree char *actions =
				snapshot_text_actions(scene->system, &plan, NULL);
			const uint64_t sum = g_str_hash(actions);

			if (!policy_is_outside(&policy))
				sums[i] = sum;
			else if (sums[i] != sum)
				g_error("%s decides event %u otherwise than the baseline", name, i);
		}
	}
	arena_free(context.arena);
	middle = median(overhead_ms, events);
	return json_pack("{s:s, s:i, s:f, s:f, s:f}", "peer", peer, "waiting", (int)scene->waiting,
			 "event_ms", median(event_ms, events), "overhead_ms", middle,
			 "overhead_max_ms", most);
}

static void measure_all(uint32_t waiting, uint32_t events, const char *twin, const char *python,
			json_t *list)
{
	const struct {
		const char *peer;
		char *policy;
		bool compare;
	} peers[] = {
		{"baseline: easy in this process", g_strdup("easy"), true},
		{"reader in C, differences",
		 g_strdup_printf("exec:%s --differences --idle easy", twin), false},
		{"reader in C, whole", g_strdup_printf("exec:%s --idle easy", twin), false},
		{"reader in Python, differences", g_strdup_printf("exec:python3 %s", python),
		 false},
		{"twin of easy in C, differences",
		 g_strdup_printf("exec:%s --differences easy", twin), true},
		{"twin of easy in C, whole", g_strdup_printf("exec:%s easy", twin), true},
	};
	g_autofree uint64_t *sums = g_new(uint64_t, events + 1);
	struct scene scene;

	scene_init(&scene, waiting, events + 1);
	for (size_t i = 0; i < G_N_ELEMENTS(peers); i++) {
		json_array_append_new(list, measure(&scene, peers[i].peer, peers[i].policy, events,
						    sums, peers[i].compare));
		g_free(peers[i].policy);
	}
	scene_clear(&scene);
}

int main(int argc, char **argv)
{
	int events = 50;
	const GOptionEntry entries[] = {
		{"events", 0, 0, G_OPTION_ARG_INT, &events, "how many of each (50)", "N"},
		G_OPTION_ENTRY_NULL,
	};
	g_autoptr(GOptionContext) context = g_option_context_new("TWIN");
	g_autoptr(GError) error = NULL;
	g_autoptr(json_t) list = json_array();
	g_autoptr(json_t) object = NULL;
	g_autofree char *text = NULL;
	g_autofree char *python = NULL;
	const double load_before = host_load();
	int fd;

	g_option_context_add_main_entries(context, entries, NULL);
	if (!g_option_context_parse(context, &argc, &argv, &error) || argc != 2 || events < 1)
		g_error("%s", error ? error->message : "give the program policy-twin");
	fd = g_file_open_tmp("virtbed-reader-XXXXXX.py", &python, &error);
	if (fd < 0 || !g_close(fd, &error) ||
	    !g_file_set_contents(python, python_reader, -1, &error))
		g_error("%s", error->message);
	measure_all(100, (uint32_t)events, argv[1], python, list);
	measure_all(5000, (uint32_t)events, argv[1], python, list);
	g_unlink(python);
	object = json_pack("{s:o, s:i, s:O}", "host", host_json(load_before), "events", events,
			   "peers", list);
	text = json_pretty(object);
	puts(text);
	return 0;
}
