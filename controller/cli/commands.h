/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/cli/command.h"

/*
 * The subcommands of `virtbed`, one file each. A command gets its own argument vector: argv[0] is
 * "virtbed NAME" (for GOptionContext's usage line), the rest are its arguments. It returns the exit
 * status of the program: 0 done, 1 failed, 2 bad usage or bad input. Results go to standard output,
 * progress and errors to standard error.
 */

/* `virtbed run CONFIG`: the measured experiment. */
int cmd_run(int argc, char **argv);
/* `virtbed serve CONFIG`: runs the tasks that people submit, until stopped. */
int cmd_serve(int argc, char **argv);
/* `virtbed simulate CONFIG`: the same configuration in virtual time. */
int cmd_simulate(int argc, char **argv);
/* `virtbed replay TRACE`: batch policies on an SWF trace. */
int cmd_replay(int argc, char **argv);
/* `virtbed study CONFIG`: trials x policies x sweeps over all cores, to figures. */
int cmd_study(int argc, char **argv);
/* `virtbed profile CONFIG`: measures ETC and EEC of every type on every cluster. */
int cmd_profile(int argc, char **argv);
/* `virtbed compare MEASURED_DIR SIMULATED_DIR`: orders of policies, measured against simulated. */
int cmd_compare(int argc, char **argv);
/* `virtbed report RUN...`: tables, charts and a page. */
int cmd_report(int argc, char **argv);
/* What `report --format` knows. */
#define COMMAND_REPORT_FORMATS "table csv json swf png svg pdf html"
/* `virtbed decide SNAPSHOT`: one mapping event on a snapshot. */
int cmd_decide(int argc, char **argv);
/* `virtbed policies`: what there is, with the paper's section for each. */
int cmd_policies(int argc, char **argv);
/* `virtbed lab up|down|status|check CONFIG`: emulated blades on this machine. */
int cmd_lab(int argc, char **argv);
/* `virtbed submit TYPE`: hands tasks to a controller that serves. */
int cmd_submit(int argc, char **argv);
/* `virtbed queue [TASK...]`: tasks that wait or run, and why they wait. */
int cmd_queue(int argc, char **argv);
/* `virtbed output TASK`: what it has printed. */
int cmd_output(int argc, char **argv);
/* `virtbed explain TASK`: what was decided about it. */
int cmd_explain(int argc, char **argv);
/* `virtbed cancel|hold|release TASK...` */
int cmd_cancel(int argc, char **argv);
int cmd_hold(int argc, char **argv);
int cmd_release(int argc, char **argv);
/* `virtbed clusters`: what their nodes do. */
int cmd_clusters(int argc, char **argv);
/* `virtbed nodes`: the nodes of a controller, or of local schedulers with what caps them. */
int cmd_nodes(int argc, char **argv);
/* `virtbed drain|undrain CLUSTER/NODE...`: take nodes out of use, and back. */
int cmd_drain(int argc, char **argv);
int cmd_undrain(int argc, char **argv);
/* `virtbed token create|list|revoke`: who may use a controller over TCP. */
int cmd_token(int argc, char **argv);
/* `virtbed top`: all of a controller on one screen, again every second. */
int cmd_top(int argc, char **argv);
/* `virtbed energy`: what tasks used; with --live what the hosts' meters say now. */
int cmd_energy(int argc, char **argv);
/* `virtbed suspend [TASK]`: a person takes a task that runs off its cores. */
int cmd_suspend(int argc, char **argv);
/* `virtbed resume [TASK]`: lets it go on. */
int cmd_resume(int argc, char **argv);
/* `virtbed migrate TASK --to HOST...`: brings the VMs of a task that runs to other hosts. */
int cmd_migrate(int argc, char **argv);
/* `virtbed show TASK`: its share of its hosts, and where its VMs have been. */
int cmd_show(int argc, char **argv);
/* `virtbed config check|dump CONFIG`. */
int cmd_config(int argc, char **argv);
/* `virtbed completion bash`: the shell's completion script. */
int cmd_completion(int argc, char **argv);

/* A row of the table of subcommands. */
struct command {
	const char *name;
	int (*main)(int argc, char **argv);
	const char *arguments; /* e.g. "CONFIG" */
	const char *help;      /* one line */
	const char *words;     /* words that may follow the name, separated by blanks; "" : files */
};

/* The table, ended by a row without a name. */
extern const struct command commands[];
