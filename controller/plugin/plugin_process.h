/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller/plugin/plugin.h"

/*
 * A program that is a policy, at work: it is started under virtbed-policy-host, and lines are
 * written to it and read from it until a deadline, on whatever thread asks. One thread at a time.
 * What it writes to standard error goes to the log.
 */
struct plugin_process;

/* The longest line, with its line feed: 64 MiB. */
#define PLUGIN_LINE_MAX (64u << 20)

/* What became of a write or a read. */
enum plugin_io {
	PLUGIN_IO_DONE = 0,
	PLUGIN_IO_LATE,  /* the deadline has passed, or `cancel` can be read */
	PLUGIN_IO_ENDED, /* the program has ended, or closed its output or input */
	PLUGIN_IO_LONG,  /* the line is longer than PLUGIN_LINE_MAX */
};

/*
 * Starts `words`, the host's arguments behind the settings (NULL-terminated). `name` is the
 * policy's, for the log. That the program could be executed is not known yet. NULL with `error`.
 */
struct plugin_process *plugin_process_start(const char *name, const char *const *words,
					    const struct plugin_settings *settings, GError **error);

/*
 * Writes and reads wait no longer than until the file descriptor `cancel`, which is borrowed, can
 * be read; -1, as at first: none.
 */
void plugin_process_set_cancel(struct plugin_process *process, int cancel);

/*
 * Asks it to end by closing its input, where `kindly` for at most 1 s, and kills it with its group.
 * NULL is allowed.
 */
void plugin_process_free(struct plugin_process *process, bool kindly);

/*
 * Writes a text from byte *written on until `deadline_ns` of clock_now_ns(). *written is then what
 * has been written of it; after PLUGIN_IO_LATE the rest may be written later, and nothing else.
 */
enum plugin_io plugin_process_write(struct plugin_process *process, const char *text, size_t length,
				    size_t *written, int64_t deadline_ns);

/*
 * The next line, without its line feed, which the process owns until the next call. After
 * PLUGIN_IO_LATE it may be read later.
 */
enum plugin_io plugin_process_read(struct plugin_process *process, int64_t deadline_ns,
				   const char **ret_line, size_t *ret_length);

/*
 * How a program ended after PLUGIN_IO_ENDED, as "it ended with exit status 1", with the last line
 * of its standard error. The caller frees.
 */
char *plugin_process_end(struct plugin_process *process);
