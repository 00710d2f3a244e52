/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/batsim_export.h"

#include <math.h>
#include <string.h>

#include "common/config/config.h"
#include "common/read_number.h"
#include "controller/report/course.h"

/* A cluster and the numbers of its nodes among all resources. */
struct cluster {
	char *name; /* borrowed */
	uint32_t nodes;
	uint32_t first; /* the resource that its node 0 is */
};

static struct cluster *find_cluster(GArray *clusters, char *name)
{
	for (guint i = 0; i < clusters->len; i++)
		if (strcmp(g_array_index(clusters, struct cluster, i).name, name) == 0)
			return &g_array_index(clusters, struct cluster, i);

	const struct cluster new = {.name = name};

	g_array_append_val(clusters, new);
	return &g_array_index(clusters, struct cluster, clusters->len - 1);
}

/* The number of a node in a list of the store. */
static uint32_t node_number(const char *word)
{
	uint64_t number = 0;

	read_number_front_unsigned(word, &number);
	return (uint32_t)MIN(number, UINT32_MAX - 1);
}

/* Makes the cluster as large as the nodes of a task need: "0,3" is of four. */
static void see_nodes(GArray *clusters, const struct store_task *task)
{
	struct cluster *cluster;
	g_auto(GStrv) words = g_strsplit(task->nodes ? task->nodes : "", ",", -1);

	if (!task->cluster)
		return;
	cluster = find_cluster(clusters, task->cluster);
	for (char **word = words; *word; word++)
		cluster->nodes = MAX(cluster->nodes, node_number(*word) + 1);
}

/* Numbers the resources. Returns how many there are. */
static uint32_t number_resources(GArray *clusters)
{
	uint32_t count = 0;

	for (guint i = 0; i < clusters->len; i++) {
		struct cluster *cluster = &g_array_index(clusters, struct cluster, i);

		cluster->first = count;
		count += cluster->nodes;
	}
	return count;
}

/* The resources of a task as intervals, "0-2 5"; NULL: it has none. A node counts once. */
static char *resources_of(GArray *clusters, const struct store_task *task, const char *nodes,
			  int64_t *ret_count)
{
	g_auto(GStrv) words = g_strsplit(nodes ? nodes : "", ",", -1);
	GString *text;
	uint32_t first = 0;
	uint32_t last = UINT32_MAX; /* of the interval so far; UINT32_MAX: none */

	*ret_count = nodes && *nodes ? (int64_t)g_strv_length(words) : -1;
	if (*ret_count < 0 || !task->cluster)
		return NULL;
	text = g_string_new(NULL);
	for (char **word = words;; word++) {
		const uint32_t number =
			*word ? find_cluster(clusters, task->cluster)->first + node_number(*word)
			      : 0;

		if (*word && last != UINT32_MAX && (number == last || number == last + 1)) {
			last = number;
			continue;
		}
		if (last != UINT32_MAX)
			g_string_append_printf(text, "%s%u", text->len > 0 ? " " : "", first);
		if (last != UINT32_MAX && last > first)
			g_string_append_printf(text, "-%u", last);
		if (!*word)
			return g_string_free(text, FALSE);
		first = last = number;
	}
}

static enum batsim_state state_of(const struct store_task *task, const struct course *course)
{
	const char *state = task->state ? task->state : "";

	if (strcmp(state, "completed") == 0)
		return BATSIM_SUCCESS;
	if (strcmp(state, "failed") == 0)
		return BATSIM_FAILED;
	if (strcmp(state, "dropped") == 0 && !isfinite(course->started_s))
		return BATSIM_REJECTED;
	if (isfinite(course->ended_s))
		return BATSIM_KILLED;
	return isfinite(course->started_s) ? BATSIM_RUNNING : BATSIM_SUBMITTED;
}

/* A name without what would end a field of a row. */
static char *field_text(const char *name)
{
	char *text = g_strdup(name ? name : "");

	for (char *at = text; *at; at++)
		if (*at == ',' || *at == '"' || g_ascii_iscntrl(*at))
			*at = '_';
	return text;
}

static void add_job(struct batsim_schedule *schedule, GArray *clusters, struct courses *courses,
		    const struct store_task *task)
{
	const struct course course = courses_next(courses, task);
	g_autofree char *profile = field_text(task->type);
	g_autofree char *resources = NULL;
	int64_t nodes;

	resources = resources_of(clusters, task, task->nodes ? task->nodes : course.nodes, &nodes);

	const struct batsim_job job = {
		.id = (int64_t)task->task + 1,
		.profile = profile,
		.submit_s = task->arrival_s,
		.procs = nodes,
		.walltime_s = (double)NAN,
		.state = state_of(task, &course),
		.start_s = course.started_s,
		.end_s = course.ended_s,
		.resources = isfinite(course.started_s) ? resources : NULL,
		.energy_j = isfinite(course.started_s) ? task->energy_j : 0,
	};

	batsim_schedule_add(schedule, &job);
}

struct batsim_schedule *batsim_export(const struct summary *summary, const struct store_run *run,
				      const char *version, GError **error)
{
	g_autoptr(config_t) config = summary_config(summary, NULL);
	g_autoptr(GPtrArray) tasks = store_tasks(summary->store, run->run, error);
	g_autoptr(GPtrArray) suspensions =
		tasks ? store_suspensions(summary->store, run->run, error) : NULL;
	g_autoptr(GPtrArray) lost =
		suspensions ? store_lost(summary->store, run->run, error) : NULL;
	g_autoptr(GArray) clusters = g_array_new(FALSE, FALSE, sizeof(struct cluster));
	struct courses courses = {.suspensions = suspensions, .lost = lost};
	g_autofree char *workload = NULL;
	struct batsim_schedule *schedule;

	if (!lost)
		return NULL;
	for (uint32_t c = 0; config && c < config->clusters_count; c++)
		find_cluster(clusters, config->clusters[c].name)->nodes = config->clusters[c].nodes;
	for (guint i = 0; i < tasks->len; i++)
		see_nodes(clusters, tasks->pdata[i]);
	for (guint i = 0; i < lost->len; i++)
		see_nodes(clusters, lost->pdata[i]);
	workload = g_strdup_printf("run-%" G_GINT64_FORMAT, run->run);
	schedule = batsim_schedule_new(workload, number_resources(clusters), version);
	for (guint i = 0; i < tasks->len; i++)
		add_job(schedule, clusters, &courses, tasks->pdata[i]);
	return schedule;
}
