/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller/plugin/plugin.h"
#include "controller/plugin/plugin_process.h"
#include "controller/plugin/plugin_protocol.h"
#include "controller/plugin/program_fsm.h"

/*
 * How long a program may take to say hello, seconds: an interpreter that loads. An event does not
 * wait for it as long, unless there is no fallback.
 */
#define PROGRAM_HELLO_S 30

/*
 * The program of a policy from outside: its process, and the conversation with it
 * (docs/reference/policy-protocol.md). One thread at a time has it; program_state() may be called
 * from any. All zeros is a program that is absent.
 */
struct program {
	gint state;                     /* enum program_state; written by program.c alone */
	struct plugin_process *process; /* NULL where it is absent or disabled */
	int64_t begun_ns;               /* when that was started */
	char *hello;                    /* to it; NULL: it is to be written yet, or was answered */
	size_t hello_written;           /* bytes of it */
	struct plugin_told told;
	unsigned due; /* answers to `decide` that it owes */
};

/* What a conversation goes by. Borrowed. */
struct program_terms {
	const char *policy; /* its name */
	const struct plugin_settings *settings;
	const struct sched_system *system;
	uint64_t seed;
	int cancel; /* a file descriptor: nothing is waited for while it can be read */
};

enum program_state program_state(const struct program *program);

/* Starts `words`, as plugin_process_start(), of a program that is absent. False with `error`. */
bool program_start(struct program *program, const char *policy, const char *const *words,
		   const struct plugin_settings *settings, GError **error);

/* An absent program becomes `started`, which is absent then. */
void program_take(struct program *program, struct program *started);

/*
 * Whether a program that was started has said hello, which it is given until the deadline for, and
 * less where it was started long ago. Where it says hello here *ret_name is what it calls itself,
 * which the caller frees; else it is untouched. False with *ret_why, which the caller frees: after
 * PLUGIN_STARTING it may still say hello, else it is absent.
 */
bool program_greet(struct program *program, const struct program_terms *terms, int64_t deadline_ns,
		   char **ret_name, enum plugin_failure *ret_failure, char **ret_why);

/*
 * Asks a program that has said hello, by the message `number`. The plan has memory of `arena` and
 * is not verified; *ret_compute_s is what the program says (0: nothing). False with *ret_why, which
 * the caller frees.
 */
bool program_ask(struct program *program, const struct program_terms *terms, uint64_t number,
		 const struct sched_snapshot *snapshot, int64_t deadline_ns, struct arena *arena,
		 struct sched_plan *ret_plan, double *ret_compute_s,
		 enum plugin_failure *ret_failure, char **ret_why);

/* Ends its process, if there is one; with `kindly` the process gets a `bye` and a second. */
void program_end(struct program *program, bool kindly);

/* Ends its process; none is started until program_enable(). */
void program_disable(struct program *program);
void program_enable(struct program *program);

/* Sets a failure with its reason, which it takes over. Returns false. */
bool program_fail(enum plugin_failure failure, char *why, enum plugin_failure *ret_failure,
		  char **ret_why);
