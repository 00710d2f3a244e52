/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller/sched/arena.h"
#include "controller/sched/model.h"

/*
 * The messages of docs/reference/policy-protocol.md, as texts and as structures; no I/O. What a
 * program has been told about tasks is kept here, for differences.
 */

#define PLUGIN_PROTOCOL 1

/* What one process of a program has been told. */
struct plugin_told {
	bool differences;  /* it said that it takes them */
	uint64_t number;   /* of the last message */
	uint64_t system;   /* sched_system_sum() of the system that it knows */
	GHashTable *tasks; /* by id: struct known_task */
};

void plugin_told_init(struct plugin_told *told);
void plugin_told_clear(struct plugin_told *told);

/* The name of a system's model in the protocol: "nodes", ... */
const char *plugin_model(const struct sched_system *system);

/* The messages to a program, each with its line feed; the caller frees. */
char *plugin_write_hello(struct plugin_told *told, const char *policy, uint64_t seed,
			 double deadline_s, const struct sched_system *system);
/* `number` is above that of the message before. */
char *plugin_write_decide(struct plugin_told *told, uint64_t number,
			  const struct sched_snapshot *snapshot);
#define PLUGIN_BYE "{\"type\": \"bye\"}\n"

/* What a program answered. */
enum plugin_answer {
	PLUGIN_ANSWER_WRONG = 0, /* no message of the protocol, or not what is due */
	PLUGIN_ANSWER_GOOD,
	PLUGIN_ANSWER_NONE,    /* the answer to an earlier message, which came late */
	PLUGIN_ANSWER_REFUSED, /* `refuse` or `error` */
	PLUGIN_ANSWER_ILLEGAL, /* actions that cannot be read */
};

/*
 * Reads the answer to `hello`. *ret_name is the program's name of itself, which the caller frees;
 * else *ret_why says what is wrong.
 */
enum plugin_answer plugin_read_hello(struct plugin_told *told, const char *line, size_t length,
				     const struct sched_system *system, char **ret_name,
				     char **ret_why);

/*
 * Reads the answer to the last `decide`. If it is good, *ret_plan has memory of `arena` and is not
 * known to be legal, and *ret_compute_s is what the program says (0: nothing). Else *ret_why says
 * what is wrong; the caller frees it.
 */
enum plugin_answer plugin_read_plan(const struct plugin_told *told, const char *line, size_t length,
				    const struct sched_snapshot *snapshot, struct arena *arena,
				    struct sched_plan *ret_plan, double *ret_compute_s,
				    char **ret_why);
