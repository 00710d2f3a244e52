/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller/plugin/program_fsm.h"
#include "controller/sched/policy.h"

/*
 * A plug-in: what decides for policies from outside the tree (exec:COMMAND, so:FILE) in one run of
 * an engine. It starts the program that the policy names, asks it at each mapping event by the
 * protocol of docs/reference/policy-protocol.md, and verifies the plan. Where the program does not
 * decide, a fallback of the tree does, or there is no plan.
 *
 * One thread at a time asks it, by policy_decide(); plugin_reload(), plugin_cancel(),
 * plugin_account() and plugin_program_json() may be called meanwhile from another.
 */
struct plugin;

/* How programs run, and what becomes of an event in which one does not decide. Borrowed texts. */
struct plugin_settings {
	/* The policy of the tree that decides then; NULL: there is no plan, and the run ends. */
	const char *fallback;
	double deadline_s; /* of an answer, > 0 */
	bool in_process;   /* shared objects are loaded into this process, which a late one ends */
	bool quiet;        /* what a program writes to standard error is not logged */
	bool sandbox;      /* with the limits below */
	const char *user;  /* that it runs as where this is root; needed there */
	uint32_t cpu_s, memory_mib, file_mib, files, processes; /* > 0 */
};

/* Why a program did not decide at an event. */
enum plugin_failure {
	PLUGIN_LATE = 0, /* no answer by the deadline */
	PLUGIN_DIED,     /* it ended, or could not be started */
	PLUGIN_RUBBISH,  /* its answer is no message of the protocol */
	PLUGIN_ILLEGAL,  /* its plan is not legal */
	PLUGIN_REFUSED,  /* it said that it cannot decide */
	PLUGIN_STARTING, /* it has been started and may still say hello; no failure of its own */
	PLUGIN_DISABLED, /* it was not asked: it failed at PLUGIN_FAILURES_MAX events in a row */
	PLUGIN_FAILURES,
};
/* "late", "died", ...; NULL-terminated. */
extern const char *const plugin_failure_names[];

/* Failures in a row after which a program is not asked any more. */
#define PLUGIN_FAILURES_MAX 3

/* What a plug-in did so far, over all of its programs. */
struct plugin_account {
	uint64_t events;                  /* mapping events that a policy from outside had */
	uint64_t used;                    /* those in which its plan was used */
	uint64_t failed[PLUGIN_FAILURES]; /* the others, by reason */
	enum program_state state;         /* of the program, at present */
	double event_s;                   /* wall time of the events in which it was used */
	double compute_s;                 /* what programs say of their own computing in these */
};

#define PLUGIN_ERROR (plugin_error_quark())
GQuark plugin_error_quark(void);
/* Codes of PLUGIN_ERROR. */
enum plugin_error {
	PLUGIN_ERROR_NAME = 1, /* the policy's name names no command; bad input */
	PLUGIN_ERROR_REFUSED,  /* the program refuses the system; bad input */
	PLUGIN_ERROR_START,    /* it could not be started, or does not answer */
	PLUGIN_ERROR_DECIDE,   /* it did not decide in a simulation */
};

/*
 * A plug-in for a system, which is borrowed; `seed` is the run's. `settings` are copied. Starts
 * nothing yet, and never fails.
 */
struct plugin *plugin_new(const struct plugin_settings *settings, const struct sched_system *system,
			  uint64_t seed);

/* Ends its program: at once if it does not answer, else within a second. NULL is allowed. */
void plugin_free(struct plugin *plugin);
typedef struct plugin plugin_t;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(plugin_t, plugin_free)

/* For the engine's setup; belongs to the plug-in. */
struct policy_outside *plugin_outside(struct plugin *plugin);

/*
 * Starts the program of a policy from outside and waits until it has said hello, so that a wrong
 * command is known before a run. For other policies there is nothing to do. False with `error`.
 */
bool plugin_start(struct plugin *plugin, const struct policy *policy, GError **error);

/*
 * Whether there is what a policy from outside names: a program that can be executed, or a shared
 * object. Starts nothing. False with `error` (PLUGIN_ERROR_NAME).
 */
bool plugin_find(const struct policy *policy, GError **error);

/*
 * Whether the program of the policy can be started in the system and takes it: starts it and ends
 * it again. False with `error`, which names the policy.
 */
bool plugin_check(const struct policy *policy, const struct plugin_settings *settings,
		  const struct sched_system *system, uint64_t seed, GError **error);

/*
 * New settings from the next event on, which `policy` has; a disabled program is asked again, and
 * where it owes an answer it is ended at that event and started again. The program of another policy
 * than before is started here, so that it is there at the event, and the program of the former one
 * is not waited for any longer.
 */
void plugin_reload(struct plugin *plugin, const struct plugin_settings *settings,
		   const struct policy *policy);

/*
 * Nothing waits for the program any longer, from now on: the event under way, if there is one, is
 * decided at once without it, as if it was late, and so are all later ones. To be called before
 * the decider is freed, from any thread. NULL is allowed.
 */
void plugin_cancel(struct plugin *plugin);

/* What was done so far. */
struct plugin_account plugin_account(struct plugin *plugin);

/* The same as a JSON object (docs/reference/store.md, `outside`). Returns a new reference. */
json_t *plugin_account_json(struct plugin *plugin);

/*
 * The program of the policy that is asked next, with what was done so far, as in GET /v1/status
 * (docs/reference/controller-api.json, Program); null where that policy is one of the tree. Returns
 * a new reference.
 */
json_t *plugin_program_json(struct plugin *plugin);

/*
 * Why the last event was not decided by the program, as "late: it did not ..."; valid until the
 * next one. NULL: it was, and *ret_failure is untouched. For the thread that decides.
 */
const char *plugin_last_failure(const struct plugin *plugin, enum plugin_failure *ret_failure);

/*
 * For a rerun: the fallback that decided the event `number` (of the snapshot) at now_s, as the
 * record says, borrowed; NULL: the program decided, and must again.
 */
typedef const char *(*plugin_stored_f)(uint64_t number, double now_s, void *data);
void plugin_set_stored(struct plugin *plugin, plugin_stored_f stored, void *data);

/* The fallback where none is configured: easy, or in the other models what takes its place. */
const char *plugin_default_fallback(const struct sched_system *system);
