/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The event log of one seed: a line for each event, with its virtual time. Its SHA-256 shows that
 * two runs of a seed were the same. The first violation of an invariant is kept with it.
 */
struct sim_log;
typedef struct sim_log sim_log_t; /* for g_autoptr() */

/* `print`: each line is printed as well. */
struct sim_log *sim_log_new(bool print);
void sim_log_free(struct sim_log *log);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(sim_log_t, sim_log_free)

/* Adds an event of `who` at `time_s` of the world. */
void sim_log_add(struct sim_log *log, double time_s, const char *who, const char *format, ...)
	G_GNUC_PRINTF(4, 5);

/* How many events there are, and the SHA-256 of their lines (borrowed). */
guint sim_log_count(const struct sim_log *log);
const char *sim_log_hash(const struct sim_log *log);

/* Prints the last `most` events. */
void sim_log_story(const struct sim_log *log, guint most);

/* An invariant is broken, whose name is a few words. Only the first violation counts. */
void sim_log_violate(struct sim_log *log, double time_s, const char *invariant, const char *format,
		     ...) G_GNUC_PRINTF(4, 5);

/* "INVARIANT: what was found", NULL: there is no violation; borrowed. */
const char *sim_log_violation(const struct sim_log *log);
