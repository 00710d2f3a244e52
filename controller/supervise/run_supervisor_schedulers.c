/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <sys/wait.h>

#include "common/clock.h"
#include "common/program_path.h"
#include "controller/run/run_paths.h"
#include "controller/supervise/run_supervisor_private.h"

/*
 * Seconds between attempts to start a local scheduler of a service that keeps dying; shorter than
 * the time after which its cluster's tasks are given up.
 */
#define LATER_S 10

/*
 * A message about a local scheduler that keeps dying is repeated after this time, since each is
 * recorded.
 */
#define LATER_TOLD_S 3600

/* Exit status of virtbed-local-sched that another try cannot change. */
enum { SCHEDULER_INPUT = 2 };

/* Whether a message about a local scheduler that keeps dying is due; if so, its time is noted. */
static bool is_message_due(struct supervisor *supervisor, struct run_child *child)
{
	const int64_t *told_ns = g_hash_table_lookup(supervisor->told, child);
	const int64_t now_ns = clock_now_ns();

	if (told_ns && clock_elapsed_s(*told_ns, now_ns) < LATER_TOLD_S)
		return false;
	g_hash_table_insert(supervisor->told, child, g_memdup2(&now_ns, sizeof(now_ns)));
	return true;
}

/*
 * The other clusters of a service continue; this one is away, and joins again when its cause is
 * mended.
 */
static void restart_later(struct supervisor *supervisor, struct run_child *child, const char *text,
			  const char *words)
{
	g_autofree char *note =
		g_strdup_printf("%s again and again; its cluster is away, and it is started again "
				"every %d s; its last words: %s",
				text, LATER_S, words ?: "none, or in the journal");

	if (is_message_due(supervisor, child)) {
		run_watch_say(supervisor->watch, "%s", note);
		run_watch_report(supervisor->watch, note);
	}
	run_child_restart_in(child, LATER_S);
}

static void on_scheduler_died(struct run_child *child, int status, void *data)
{
	struct supervisor *supervisor = data;
	g_autofree char *how = run_child_status_text(status);
	g_autofree char *text = g_strdup_printf("%s died (%s)", run_child_name(child), how);
	g_autofree char *words = run_child_last_words(child);

	if (supervisor->stopping)
		return;
	/* For a service that ran before, the configuration is not the cause. */
	if (WIFEXITED(status) && WEXITSTATUS(status) == SCHEDULER_INPUT &&
	    !(supervisor->request->serve && run_child_deaths(child) > 1)) {
		run_supervisor_give_up(supervisor, RUN_SUPERVISOR_ERROR_INPUT, "%s: %s",
				       run_child_name(child),
				       words ?: "bad input; see the journal");
		run_supervisor_stop(supervisor);
		return;
	}
	if (run_child_restart_soon(child)) {
		run_watch_say(supervisor->watch, "%s: starting it again", text);
		run_watch_report(supervisor->watch, text);
		return;
	}
	if (supervisor->request->serve) {
		restart_later(supervisor, child, text, words);
		return;
	}
	run_supervisor_give_up(supervisor, RUN_SUPERVISOR_ERROR_FAILED,
			       "%s again and again; its last words: %s", text,
			       words ?: "none, or in the journal");
	run_supervisor_stop(supervisor);
}

static struct run_child *new_scheduler(struct supervisor *supervisor, uint32_t cluster,
				       GError **error)
{
	const struct run_prepared *prepared = &supervisor->prepared;
	const char *name = prepared->config->clusters[cluster].name;
	g_autofree char *program = program_path("virtbed-local-sched", error);
	g_autofree char *config = run_paths_config(prepared->dir, supervisor->request->serve);
	g_autofree char *state = g_build_filename(prepared->dir, "state", name, NULL);
	g_autofree char *title = g_strdup_printf("local scheduler of cluster '%s'", name);
	g_autofree char *daemon = g_strconcat("local-sched-", name, NULL);
	g_autofree char *log = run_paths_log(prepared->dir, daemon);
	const char *const argv[] = {
		program,     "--config", config,
		"--cluster", name,       "--state",
		state,       "--listen", prepared->plan->schedulers[cluster],
		NULL,
	};

	if (!program)
		return NULL;
	return run_child_new(title, argv, log, on_scheduler_died, supervisor);
}

bool run_supervisor_start_schedulers(struct supervisor *supervisor, GError **error)
{
	const struct config *config = supervisor->prepared.config;

	for (uint32_t i = 0; i < config->clusters_count; i++) {
		struct run_child *child;

		if (config->clusters[i].local_scheduler)
			continue;
		child = new_scheduler(supervisor, i, error);
		if (!child)
			return false;
		g_ptr_array_add(supervisor->schedulers, child);
		run_child_keep(child, supervisor->prepared.lock.fd);
		if (!run_child_start(child, error))
			return false;
	}
	return true;
}

void run_supervisor_stop_schedulers(struct supervisor *supervisor)
{
	for (guint i = 0; i < supervisor->schedulers->len; i++)
		run_child_ask_to_stop(g_ptr_array_index(supervisor->schedulers, i));
	for (guint i = 0; i < supervisor->schedulers->len; i++)
		run_child_stop(g_ptr_array_index(supervisor->schedulers, i),
			       RUN_SUPERVISOR_SCHEDULER_GRACE_S);
	g_ptr_array_set_size(supervisor->schedulers, 0);
}
