/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Whether a policy keeps the rules that hold for all (`virtbed policy check`): on random snapshots
 * of each model its plans are legal, and depend on the snapshot alone. The policy decides in
 * processes of its own, of which three are asked about the same snapshots:
 *
 * - the first one twice about each;
 * - the second one twice, with other contents of new memory, other addresses and hash seeds;
 * - the third one once, in another order.
 *
 * All answers are to be equal. They differ by a clock or random numbers, by a variable that is not
 * initialised or an address, or by what is kept between two events.
 */

/* The rules, in the order in which they are listed. */
enum check_rule {
	CHECK_ANSWERS = 0, /* it answers: in time, by the protocol, and lives */
	CHECK_LEGAL,       /* its plans are legal (sched/plan_rules.h) */
	CHECK_REPEAT,      /* the same answer to the same snapshot */
	CHECK_MEMORY,      /* the same in another process */
	CHECK_ORDER,       /* the same in another order of snapshots */
	CHECK_RULES,
};
/* "answers", "legal", ...; NULL-terminated. */
extern const char *const check_rule_names[];

/* What is checked; texts are borrowed. */
struct check_settings {
	const char *policy; /* a policy of the tree, exec:COMMAND or so:FILE */
	uint64_t seed;
	uint32_t count;    /* snapshots of each model, > 0 */
	double deadline_s; /* of an answer, > 0 */
	/* Where snapshots go that show a broken rule; made if need be. NULL: nowhere. */
	const char *dir;
	/* Called after each snapshot; NULL: not. */
	void (*progress)(uint32_t done, uint32_t total, void *data);
	void *data;
};

/* A rule that the policy broke, at the first snapshot that shows it. */
struct check_finding {
	enum check_rule rule;
	uint32_t number; /* of the snapshot, from 0 */
	char *what;      /* a sentence without a full stop */
	char *file;      /* the snapshot; NULL: none was written */
};

/* Times of the answers in the first process, seconds; NAN: not known. */
struct check_times {
	double median_s, high_s, most_s; /* `high`: 99 of 100 are not longer */
};

/* How long an event with many waiting tasks takes. */
struct check_speed {
	uint32_t waiting;
	struct check_times event;
	struct check_times compute;
};
/* With 100 and with 5,000 waiting tasks. */
#define CHECK_SPEEDS 2

/* What was found in one model. */
struct check_model {
	const char *name;           /* as the protocol calls it: "nodes", ... */
	char *misfit;               /* why the policy does not decide in it; NULL: it does */
	uint32_t checked;           /* snapshots that the first process decided */
	struct check_times event;   /* from the snapshot to its plan, with the conversation */
	struct check_times compute; /* of the policy alone, as its process says */
	uint32_t speeds_count; /* CHECK_SPEEDS where tasks have nodes of their own and rules hold */
	struct check_speed speeds[CHECK_SPEEDS];
	GPtrArray *findings; /* struct check_finding *, at most one for each rule */
};

struct check_result {
	GPtrArray *models; /* struct check_model * */
};

/* NULL is allowed. */
void check_result_free(struct check_result *result);
typedef struct check_result check_result_t;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(check_result_t, check_result_free)

/* Whether no rule was broken, and the policy decides in a model at least. */
bool check_result_is_good(const struct check_result *result);

#define CHECK_ERROR (check_error_quark())
GQuark check_error_quark(void);

/*
 * Checks a policy. The caller frees the result. NULL with `error` (CHECK_ERROR): the name is no
 * policy's, the policy cannot be started, it decides in no model, or a snapshot cannot be written.
 * Sets environment variables of this process, which its children inherit. For one thread.
 */
struct check_result *policy_check(const struct check_settings *settings, GError **error);
