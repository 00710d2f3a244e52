/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/swf_export.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/config/config.h"
#include "common/visible.h"
#include "controller/config/config_controller.h"
#include "controller/report/course.h"
#include "controller/store/store_service.h"

/* The data of a trace. */
struct export
{
	const struct summary *summary;
	const struct store_run *run;
	struct config *config; /* NULL: the directory has no readable configuration */
	GPtrArray *tasks;      /* of struct store_task */
	GPtrArray *types;      /* names, borrowed from the tasks: number = index + 1 */
	GPtrArray *clusters;
	GPtrArray *submissions; /* of struct store_submission by task; empty: no service */
	GPtrArray *users;
	/* index of the next submission, since tasks are visited by number too */
	guint at;
	struct courses courses;
	/* number of tasks that were suspended, and that started more than once */
	guint suspended, again;
	guint unknown; /* number of tasks whose earlier attempts are not recorded */
};

/* The number of a name, from 1; -1 for none. */
static int number_of(GPtrArray *names, char *name)
{
	guint i;

	if (!name)
		return -1;
	summary_note_name(names, name);
	g_ptr_array_find_with_equal_func(names, name, g_str_equal, &i);
	return (int)i + 1;
}

static int64_t count_nodes(const char *nodes)
{
	int64_t count = 1;

	if (!nodes || !*nodes)
		return -1;
	for (const char *at = nodes; (at = strchr(at, ',')); at++)
		count++;
	return count;
}

/* Whole seconds; -1: unknown. */
static int64_t seconds(double s)
{
	return isfinite(s) && s >= 0 ? (int64_t)llround(s) : -1;
}

/* The time between two times in whole seconds, at least `least`. */
static int64_t between(double from_s, double to_s, int64_t least)
{
	if (seconds(from_s) < 0 || seconds(to_s) < 0)
		return -1;
	return MAX(seconds(to_s) - seconds(from_s), least);
}

/* Field 11: the status. */
static int status_of(const struct export *export, const struct store_task *task)
{
	if (g_strcmp0(task->state, "completed") == 0)
		return 1;
	if (g_strcmp0(task->state, "failed") == 0)
		return 0;
	return isfinite(task->ended_s) || !export->summary->service
		       ? 5   /* cancelled: dropped, killed, or by the end of the run */
		       : -1; /* not ended */
}

/* Field 12: the user. */
static int user_of(struct export *export, const struct store_task *task)
{
	for (; export->at < export->submissions->len; export->at++) {
		struct store_submission *submission = export->submissions->pdata[export->at];

		if (submission->task == task->task)
			return number_of(export->users, submission->user);
		if (submission->task > task->task)
			break;
	}
	return -1;
}

/*
 * Field 4: the run time. A job without interruptions fills the time between its rounded start and
 * end, so that the next job on its nodes still follows it.
 */
static int64_t run_of(const struct course *course)
{
	if (course->attempts == 1 && !course->suspended)
		return between(course->started_s, course->ended_s, 1);
	return isfinite(course->executed_s) ? MAX(seconds(course->executed_s), 1) : -1;
}

/*
 * Field 9: the requested time. Rounding, by half a second at most, makes no job run longer than
 * requested.
 */
static int64_t asked_of(const struct course *course, const struct store_task *task, int64_t run_s)
{
	const int64_t asked_s = seconds(task->etc_s);

	return course->executed_s - task->etc_s < 0.5 ? MAX(asked_s, run_s) : asked_s;
}

static void add_job(GString *swf, struct export *export, const struct store_task *task)
{
	const struct course course = courses_next(&export->courses, task);
	const int64_t nodes = count_nodes(task->nodes ?: course.nodes);
	const int64_t wait_s = between(task->arrival_s, course.started_s, 0);
	const int64_t run_s = run_of(&course);

	g_string_append_printf(swf,
			       "%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64
			       " -1 -1 %" PRId64 " %" PRId64 " -1 %d %d -1 %d -1 %d -1 -1\n",
			       (int64_t)task->task + 1, seconds(task->arrival_s), wait_s, run_s,
			       nodes, nodes, asked_of(&course, task, run_s),
			       status_of(export, task), user_of(export, task),
			       number_of(export->types, task->type),
			       number_of(export->clusters, task->cluster));
	export->suspended += course.suspended;
	export->again += course.attempts > 1;
	export->unknown += course.attempts > 0 && task->attempts > course.attempts;
}

static void see_nodes(GHashTable *seen, const char *cluster, const char *nodes)
{
	g_auto(GStrv) words = g_strsplit(nodes ?: "", ",", -1);

	for (char **word = words; *word; word++)
		g_hash_table_add(seen, g_strdup_printf("%s/%s", cluster, *word));
}

/* The number of nodes of all clusters, as far as known: at least those that tasks used. */
static int64_t count_processors(const struct export *export)
{
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	int64_t configured = 0;
	int64_t widest = 0;

	for (uint32_t c = 0; export->config && c < export->config->clusters_count; c++)
		configured += export->config->clusters[c].nodes;
	for (guint i = 0; i < export->tasks->len; i++) {
		const struct store_task *task = export->tasks->pdata[i];

		widest = MAX(widest, count_nodes(task->nodes));
		see_nodes(seen, task->cluster, task->nodes);
	}
	for (guint i = 0; i < export->courses.lost->len; i++) {
		const struct store_task *lost = export->courses.lost->pdata[i];

		widest = MAX(widest, count_nodes(lost->nodes));
		see_nodes(seen, lost->cluster, lost->nodes);
	}
	return MAX(configured, MAX(widest, (int64_t)g_hash_table_size(seen)));
}

static void add_start(GString *swf, const struct store_run *run)
{
	g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
	g_autoptr(GDateTime) start =
		run->started_utc ? g_date_time_new_from_iso8601(run->started_utc, utc) : NULL;

	if (!start || !run->measured) /* a simulated run has no time of day */
		return;
	g_string_append_printf(swf, "; UnixStartTime: %" PRId64 "\n; TimeZoneString: Etc/UTC\n",
			       g_date_time_to_unix(start));
}

/* Header comments that explain the numbers. */
static void add_names(GString *swf, const char *numbers, const char *kind, const GPtrArray *names)
{
	for (guint i = 0; i < names->len; i++) {
		g_autofree char *name = visible_text(names->pdata[i]);

		g_string_append_printf(swf, "; %s %u is %s %s\n", numbers, i + 1, kind, name);
	}
}

static void add_header(GString *swf, const struct export *export)
{
	const struct store_run *run = export->run;
	g_autofree char *limit = g_strdup_printf("at %.10g %% of the energy", 100 * run->limit);
	g_autofree char *policy = visible_text(run->policy);

	g_string_append_printf(swf,
			       "; Version: 2.2\n"
			       "; Computer: virtbed, a testbed of virtual clusters\n"
			       "; Conversion: virtbed report --format swf\n"
			       "; MaxJobs: %u\n"
			       "; MaxRecords: %u\n",
			       export->tasks->len, export->tasks->len);
	add_start(swf, run);
	g_string_append_printf(swf, "; MaxProcs: %" PRId64 "\n", count_processors(export));
	g_string_append_printf(swf,
			       "; Note: run %" PRId64 ", %s, policy %s, %s\n"
			       "; Note: a processor is a node, which one virtual machine fills\n"
			       "; Note: requested times are the estimates of where the task ran, "
			       "and no limits: replay with --overrun\n",
			       run->run, run->measured ? "measured" : "simulated", policy,
			       export->summary->service ? "a service without an end" : limit);
	if (export->suspended > 0)
		g_string_append_printf(swf,
				       "; Note: run times are what was executed: of %u job%s that "
				       "were suspended, without the time that they stood still\n",
				       export->suspended, export->suspended == 1 ? "" : "s");
	if (export->again > 0)
		g_string_append_printf(swf,
				       "; Note: %u job%s started again after an attempt was lost: "
				       "the wait ends with the first attempt, the run time is what "
				       "all attempts executed\n",
				       export->again, export->again == 1 ? "" : "s");
	if (export->unknown > 0)
		g_string_append_printf(swf,
				       "; Note: of %u job%s lost attempts are not on record: what "
				       "these executed is wait\n",
				       export->unknown, export->unknown == 1 ? "" : "s");
	if (export->config)
		g_string_append_printf(
			swf,
			"; Note: starts were decided every %g s; a replay decides "
			"at once, and may start jobs that much earlier\n",
			export->summary->service
				? config_service_of(export->config).mapping_interval_s
				: export->config->experiment->mapping_interval_s);
	add_names(swf, "Note: executable", "type", export->types);
	add_names(swf, "Partition:", "cluster", export->clusters);
}

char *swf_export(const struct summary *summary, const struct store_run *run, GError **error)
{
	g_autoptr(config_t) config = summary_config(summary, NULL);
	g_autoptr(GPtrArray) tasks = store_tasks(summary->store, run->run, error);
	g_autoptr(GPtrArray) submissions =
		tasks ? store_submissions(summary->store, run->run, error) : NULL;
	g_autoptr(GPtrArray) suspensions =
		submissions ? store_suspensions(summary->store, run->run, error) : NULL;
	g_autoptr(GPtrArray) lost =
		suspensions ? store_lost(summary->store, run->run, error) : NULL;
	g_autoptr(GPtrArray) users = g_ptr_array_new();
	g_autoptr(GPtrArray) types = g_ptr_array_new();
	g_autoptr(GPtrArray) clusters = g_ptr_array_new();
	g_autoptr(GString) jobs = g_string_new(NULL);
	g_autoptr(GString) swf = g_string_new(NULL);
	struct export export = {
		.summary = summary,
		.run = run,
		.config = config,
		.tasks = tasks,
		.types = types,
		.clusters = clusters,
		.submissions = submissions,
		.users = users,
		.courses = {.suspensions = suspensions, .lost = lost},
	};

	if (!lost)
		return NULL;
	for (guint i = 0; i < tasks->len; i++)
		add_job(jobs, &export, tasks->pdata[i]);
	add_header(swf, &export);
	g_string_append_len(swf, jobs->str, (gssize)jobs->len);
	return g_strdup(swf->str);
}

const struct store_run *swf_export_run(const struct summary *summary, gint64 run)
{
	if (run == 0)
		return summary->runs->len == 1 ? summary->runs->pdata[0] : NULL;
	for (guint i = 0; i < summary->runs->len; i++) {
		const struct store_run *one = summary->runs->pdata[i];

		if (one->run == run)
			return one;
	}
	return NULL;
}
