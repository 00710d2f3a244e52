/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/swf_export.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/config.h"
#include "controller/store/store_service.h"

/* What a trace is made of. */
struct export {
	const struct summary *summary;
	const struct store_run *run;
	struct config *config; /* NULL: the directory has none that can be read */
	GPtrArray *tasks;      /* of struct store_task */
	GPtrArray *types;      /* names, borrowed from the tasks: number = index + 1 */
	GPtrArray *clusters;
	GPtrArray *submissions; /* of struct store_submission by task; empty: not of a service */
	GPtrArray *users;
	guint at;              /* the next submission; tasks come by number, too */
};

/* The number of a name, from 1; -1 for none. */
static int number_of(GPtrArray *names, char *name)
{
	guint i = 0;

	if (!name)
		return -1;
	while (i < names->len && !g_str_equal(names->pdata[i], name))
		i++;
	if (i == names->len)
		g_ptr_array_add(names, name);
	return (int)i + 1;
}

static int64_t count_nodes(const struct store_task *task)
{
	int64_t count = 1;

	if (!task->nodes || !*task->nodes)
		return -1;
	for (const char *at = task->nodes; (at = strchr(at, ',')); at++)
		count++;
	return count;
}

/* Whole seconds; -1: not known. */
static int64_t seconds(double s)
{
	return isfinite(s) && s >= 0 ? (int64_t)llround(s) : -1;
}

/* Between two times in whole seconds, at least `least`. */
static int64_t between(double from_s, double to_s, int64_t least)
{
	if (seconds(from_s) < 0 || seconds(to_s) < 0)
		return -1;
	return MAX(seconds(to_s) - seconds(from_s), least);
}

/* Field 11. */
static int status_of(const struct export *export, const struct store_task *task)
{
	if (g_strcmp0(task->state, "completed") == 0)
		return 1;
	if (g_strcmp0(task->state, "failed") == 0)
		return 0;
	return isfinite(task->ended_s) || !export->summary->service
		       ? 5   /* cancelled: dropped, killed, or by the end of the run */
		       : -1; /* has not come to its end */
}

/* Field 12: whose it is. */
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

static void add_job(GString *swf, struct export *export, const struct store_task *task)
{
	const int64_t nodes = count_nodes(task);
	const int64_t wait_s = between(task->arrival_s, task->started_s, 0);
	const int64_t run_s = between(task->started_s, task->ended_s, 1);

	g_string_append_printf(
		swf,
		"%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " -1 -1 %" PRId64
		" %" PRId64 " -1 %d %d -1 %d -1 %d -1 -1\n",
		(int64_t)task->task + 1, seconds(task->arrival_s), wait_s, run_s, nodes, nodes,
		seconds(task->etc_s), status_of(export, task), user_of(export, task),
		number_of(export->types, task->type), number_of(export->clusters, task->cluster));
}

/* The nodes of all clusters, as far as is known: at least those that tasks were on. */
static int64_t count_processors(const struct export *export)
{
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	int64_t configured = 0;
	int64_t widest = 0;

	for (uint32_t c = 0; export->config && c < export->config->clusters_count; c++)
		configured += export->config->clusters[c].nodes;
	for (guint i = 0; i < export->tasks->len; i++) {
		const struct store_task *task = export->tasks->pdata[i];
		g_auto(GStrv) nodes = g_strsplit(task->nodes ?: "", ",", -1);

		widest = MAX(widest, count_nodes(task));
		for (char **node = nodes; *node; node++)
			g_hash_table_add(seen, g_strdup_printf("%s/%s", task->cluster, *node));
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

static void add_header(GString *swf, const struct export *export)
{
	const struct store_run *run = export->run;
	g_autofree char *limit = g_strdup_printf("at %.10g %% of the energy", 100 * run->limit);

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
			       "; Note: requested times are the estimates of where the task ran\n",
			       run->run, run->measured ? "measured" : "simulated", run->policy,
			       export->summary->service ? "a service that goes on" : limit);
	for (guint i = 0; i < export->types->len; i++)
		g_string_append_printf(swf, "; Note: executable %u is type %s\n", i + 1,
				       (const char *)export->types->pdata[i]);
	for (guint i = 0; i < export->clusters->len; i++)
		g_string_append_printf(swf, "; Partition: %u is cluster %s\n", i + 1,
				       (const char *)export->clusters->pdata[i]);
}

char *swf_export(const struct summary *summary, const struct store_run *run, GError **error)
{
	g_autofree char *path = g_build_filename(summary->path, "config.yaml", NULL);
	g_autoptr(config_t) config = config_load(path, NULL);
	g_autoptr(GPtrArray) tasks = store_tasks(summary->store, run->run, error);
	g_autoptr(GPtrArray) submissions =
		tasks ? store_submissions(summary->store, run->run, error) : NULL;
	g_autoptr(GPtrArray) users = g_ptr_array_new();
	g_autoptr(GPtrArray) types = g_ptr_array_new();
	g_autoptr(GPtrArray) clusters = g_ptr_array_new();
	g_autoptr(GString) jobs = g_string_new(NULL);
	g_autoptr(GString) swf = g_string_new(NULL);
	struct export export = { summary, run, config, tasks, types, clusters, submissions, users, 0 };

	if (!submissions)
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
