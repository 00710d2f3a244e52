/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/engine.h"
#include "controller/rerun/divergence.h"
#include "controller/store/store.h"

/*
 * Carries a stored run out again: its inputs (docs/reference/store.md) are handed to an engine one
 * after the other, with a backend that answers what was answered then. The engine takes snapshots
 * and the policy decides as in the run. Each decision is held against the stored one: its snapshot
 * and its actions byte for byte where their texts are stored, else their sums.
 *
 * The run of a service begins at the earliest full state that is stored of its engine, and it is
 * loaded again where the service has continued. At each full state in between the whole engine is
 * compared with it.
 *
 * After a restart of its controller a run of an experiment continues from the records of the tasks,
 * as far as they were written by then. These records are made again as well, in a store of their
 * own, and the engine is restored from there; the stored ones are never read.
 */

#define RERUN_ERROR (rerun_error_quark())
GQuark rerun_error_quark(void);
enum rerun_error {
	RERUN_ERROR_LACKS = 1, /* the store lacks what it takes; the message says what */
	RERUN_ERROR_DAMAGED,   /* an input is not what this program writes */
	RERUN_ERROR_FORK,      /* the history cannot be left there, or not with this policy */
};

struct rerun;
typedef struct rerun rerun_t;

/* What came of it. */
struct rerun_result {
	uint32_t inputs;    /* that were handled */
	uint32_t decisions; /* that were compared and are equal */
	uint32_t texts;     /* of these, with whole texts */
	uint32_t restarts;
	uint32_t states; /* full states that were compared and are equal, or loaded */
	uint32_t from;   /* of a service: the input at which it begins; else 1 */
	bool ended; /* the run ended, and `engine` says how; else it was cut off or is under way */
	struct engine_result engine;
	struct divergence divergence; /* input 0: none */
};
void rerun_result_clear(struct rerun_result *result);

/* Whether the store has the inputs of a run, as far as its version and their number tell. */
bool rerun_check(struct store *store, const struct store_run *run, GError **error);

/*
 * Prepares run `run` of `store`. `setup` is that of the run without its recorder, borrowed as the
 * store; of a service it says that it is one, and the full states say the rest. NULL with `error`.
 */
struct rerun *rerun_new(struct store *store, const struct store_run *run,
			const struct engine_setup *setup, GError **error);
/* NULL is allowed. */
void rerun_free(struct rerun *rerun);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(rerun_t, rerun_free)

/*
 * The configuration of the run, borrowed: its section `plugin` says how programs of policies from
 * outside run. Without it, and for services, whose full states have theirs, it is not needed.
 */
void rerun_configure(struct rerun *rerun, const struct config *config);

/* Called now and then, with the number of inputs handled so far, of how many. */
typedef void (*rerun_progress_f)(uint32_t done, uint32_t count, void *data);
void rerun_watch(struct rerun *rerun, rerun_progress_f progress, void *data);

/*
 * Handles all inputs up to number `until` (UINT32_MAX: all), or up to the first divergence. False
 * with `error`.
 */
bool rerun_until(struct rerun *rerun, uint32_t until, GError **error);

/*
 * For tests of full states: the run continues with another engine, which a full state of the
 * present engine is loaded into. False: it has no full state now, and stays.
 */
bool rerun_reload(struct rerun *rerun);

/* What came of it so far; borrowed. */
const struct rerun_result *rerun_result(const struct rerun *rerun);

/* The time by the run's clock after the last input that was handled; 0 before the first. */
double rerun_time_s(const struct rerun *rerun);

/* The number of the last stored input. */
uint32_t rerun_inputs_count(const struct rerun *rerun);

/*
 * Leaves the history after the last input that was handled, and simulates the rest on `sim`, a new
 * simulated backend that stays the caller's, with `policy` (NULL: that of the run). Fills
 * *ret_result. An executing task keeps its execution time so far and takes as long as its estimate
 * says; a task beyond its estimate ends at once. A suspension or a resumption that is under way
 * begins again, and nodes that are down stay down. False with `error`: the run had not begun or has
 * ended by then, it is that of a service, its process had ended and it had not continued, it has
 * diverged, a task migrates, clusters keep their queues themselves, the policy does not fit, or one
 * from outside did not decide.
 */
bool rerun_fork(struct rerun *rerun, struct backend *sim, const struct policy *policy,
		struct engine_result *ret_result, GError **error);

/* NULL before the first input. */
const struct engine *rerun_engine(const struct rerun *rerun);
