/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/cli/command.h"

/*
 * The subcommands of `virtbed`, one file each. A command gets its own argument vector: argv[0] is
 * "virtbed NAME" (for GOptionContext's usage line), the rest are its arguments. It returns the exit
 * status of the program: 0 done, 1 failed, 2 bad usage or bad input. Results go to standard output,
 * progress and errors to standard error.
 */

/* `virtbed run CONFIG`: runs the experiment on real VMs. */
int cmd_run(int argc, char **argv);
/* `virtbed serve CONFIG`: runs the tasks that users submit, until it is stopped. */
int cmd_serve(int argc, char **argv);
/* `virtbed simulate CONFIG`: runs the same experiment in virtual time. */
int cmd_simulate(int argc, char **argv);
/* `virtbed replay TRACE`: runs batch policies on an SWF trace. */
int cmd_replay(int argc, char **argv);
/* `virtbed study CONFIG`: trials x policies x sweeps on all cores, with figures. */
int cmd_study(int argc, char **argv);
/* `virtbed profile CONFIG`: measures ETC and EEC of every type on every cluster. */
int cmd_profile(int argc, char **argv);
/* `virtbed compare MEASURED_DIR SIMULATED_DIR`: compares the order of the policies. */
int cmd_compare(int argc, char **argv);
/* `virtbed report RUN...`: tables, charts and a page. */
int cmd_report(int argc, char **argv);
int cmd_rerun(int argc, char **argv);
/* The formats of `report --format`. */
#define COMMAND_REPORT_FORMATS "table csv json swf batsim png svg pdf html"
/* `virtbed decide SNAPSHOT`: decides one mapping event. */
int cmd_decide(int argc, char **argv);
/* `virtbed policies`: lists the policies with the section of the paper of each. */
int cmd_policies(int argc, char **argv);
/* `virtbed policy check|batsim POLICY`: whether it keeps the rules of all; decides for Batsim. */
int cmd_policy(int argc, char **argv);
/* `virtbed lab up|down|status|check|probe CONFIG`: emulated blades on this machine. */
int cmd_lab(int argc, char **argv);
/* `virtbed submit TYPE`: submits tasks to a service. */
int cmd_submit(int argc, char **argv);
/* `virtbed queue [TASK...]`: lists tasks and why they wait. */
int cmd_queue(int argc, char **argv);
/* `virtbed output TASK`: prints the task's output. */
int cmd_output(int argc, char **argv);
/* `virtbed explain TASK`: prints the decisions about the task. */
int cmd_explain(int argc, char **argv);
/* `virtbed cancel|hold|release TASK...`, `suspend|resume [TASK...]`: argv[0] names the order. */
int cmd_order(int argc, char **argv);
/* `virtbed clusters`: lists the clusters and the state of their nodes. */
int cmd_clusters(int argc, char **argv);
/* `virtbed nodes`: lists the nodes of a controller, or of local schedulers with their caps. */
int cmd_nodes(int argc, char **argv);
/* `virtbed drain|undrain CLUSTER/NODE...`: takes nodes out of use, and back, by argv[0]. */
int cmd_drain(int argc, char **argv);
/* `virtbed token create|list|revoke`: tokens for users of a controller over TCP. */
int cmd_token(int argc, char **argv);
/* `virtbed top`: a controller's state on one screen, every second. */
int cmd_top(int argc, char **argv);
/* `virtbed energy`: what tasks used; with --live what the hosts' meters report now. */
int cmd_energy(int argc, char **argv);
/* `virtbed migrate TASK --to HOST...`: brings the VMs of a running task to other hosts. */
int cmd_migrate(int argc, char **argv);
/* `virtbed show TASK`: its CPU share, and where its VMs have been. */
int cmd_show(int argc, char **argv);
/* `virtbed config check|dump CONFIG`. */
int cmd_config(int argc, char **argv);
/* `virtbed completion bash`: prints the completion script of the shell. */
int cmd_completion(int argc, char **argv);

/* A row of the table of subcommands. */
struct command {
	const char *name;
	int (*main)(int argc, char **argv);
	const char *arguments; /* e.g. "CONFIG" */
	const char *help;      /* one line */
	/* words that may follow the name, separated by blanks; "": file names */
	const char *words;
};

/* The table, ended by a row without a name. */
extern const struct command commands[];
