/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/cli/commands.h"

#include <errno.h>
#include <glib.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "common/visible.h"
#include "controller/engine/experiment.h"
#include "controller/run/run_paths.h"
#include "controller/workload/workload.h"

const struct command commands[] = {
	{"run", cmd_run, "CONFIG", "run the experiment on real VMs and record it", ""},
	{"serve", cmd_serve, "CONFIG", "run the tasks that people submit, until stopped", ""},
	{"simulate", cmd_simulate, "CONFIG", "the same experiment in virtual time", ""},
	{"replay", cmd_replay, "TRACE", "batch policies on an SWF trace, in virtual time", ""},
	{"study", cmd_study, "CONFIG | merge DIR PART...",
	 "trials x policies x sweeps over all cores, to figures", "merge"},
	{"profile", cmd_profile, "CONFIG", "measure ETC and EEC of every type on every cluster",
	 ""},
	{"compare", cmd_compare, "MEASURED_DIR SIMULATED_DIR",
	 "do the two rank the policies alike?", ""},
	{"report", cmd_report, "RUN_DIR...", "tables, charts and a page of runs", ""},
	{"decide", cmd_decide, "SNAPSHOT", "one mapping event on a snapshot", ""},
	{"policies", cmd_policies, "", "the policies there are", ""},
	{"lab", cmd_lab, "up|down|status|check CONFIG", "emulated blades on this machine",
	 "up down status check"},
	{"submit", cmd_submit, "TYPE", "hand tasks to a controller that serves", ""},
	{"queue", cmd_queue, "[TASK...]", "tasks that wait or run, and why they wait", ""},
	{"show", cmd_show, "TASK", "a task, and where its VMs have been", ""},
	{"output", cmd_output, "TASK", "what a task has printed", ""},
	{"explain", cmd_explain, "TASK", "what was decided about a task, and by which numbers", ""},
	{"cancel", cmd_cancel, "TASK...", "end tasks for good", ""},
	{"hold", cmd_hold, "TASK...", "keep waiting tasks from being started", ""},
	{"release", cmd_release, "TASK...", "let tasks that are held be started", ""},
	{"suspend", cmd_suspend, "[TASK]", "take a running task off its cores", ""},
	{"resume", cmd_resume, "[TASK]", "let a suspended task go on", ""},
	{"migrate", cmd_migrate, "TASK --to HOST...", "bring the VMs of a task that runs to other hosts",
	 ""},
	{"clusters", cmd_clusters, "", "clusters, and what their nodes do", ""},
	{"nodes", cmd_nodes, "[CONFIG]", "nodes, what they do, and what caps them", ""},
	{"drain", cmd_drain, "CLUSTER/NODE... --reason TEXT", "take nodes out of use", ""},
	{"undrain", cmd_undrain, "CLUSTER/NODE...", "let drained nodes take tasks again", ""},
	{"energy", cmd_energy, "[--live CONFIG]", "whose energy it was; what meters say now", ""},
	{"token", cmd_token, "create|list|revoke [TOKEN...]", "who may use a controller over TCP",
	 "create list revoke"},
	{"top", cmd_top, "", "all of a controller on one screen, live", ""},
	{"config", cmd_config, "check|dump CONFIG | keys [KEY]",
	 "check a configuration, or print it as resolved, or list the keys it takes", "check dump keys"},
	{"completion", cmd_completion, "bash", "completion script for the shell", "bash"},
	{NULL, NULL, NULL, NULL, NULL},
};

void command_place(GError **error, const char *path, bool policies_given)
{
	if (!g_error_matches(*error, EXPERIMENT_ERROR, EXPERIMENT_ERROR_POLICY)) {
		if ((*error)->domain == EXPERIMENT_ERROR || (*error)->domain == WORKLOAD_ERROR)
			g_prefix_error(error, "%s: ", path);
	} else if (policies_given) {
		g_prefix_error(error, "--policy: ");
	} else {
		g_prefix_error(error, "%s: experiment.policies: ", path);
	}
}

int command_fail(int status, const char *name, const char *format, ...)
{
	g_autofree char *text = NULL;
	va_list arguments;

	va_start(arguments, format);
	text = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	fflush(stdout);
	visible_complain(name, text);
	return status;
}

int command_become(const char *program, char **argv)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *path = run_paths_program(program, &error);
	const char *name = argv[0];

	if (!path)
		return command_fail(COMMAND_FAILED, name, "%s", error->message);
	argv[0] = path;
	execv(path, argv);
	return command_fail(COMMAND_FAILED, name, "cannot start \"%s\": %s", path,
			    g_strerror(errno));
}
