/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Work in many pieces that do not depend on each other, on several threads. What a piece does must
 * depend on its number alone, so that the results do not depend on the number of threads.
 */
struct batch {
	const char *name; /* of the threads */
	uint32_t count;   /* pieces */
	uint32_t jobs;    /* threads, > 0 */
	/* Does piece `piece`, from 0, on any thread. False with `error` ends the batch. */
	bool (*work)(uint32_t piece, void *data, GError **error);
	void *data;
	/*
	 * Called about once a second on the calling thread meanwhile; may be NULL. Returns false to
	 * cancel.
	 */
	bool (*progress)(uint32_t done, uint32_t count, void *data);
	void *progress_data;
};

/*
 * Does all pieces. Returns true, or false with `error`: the first of work(), or
 * G_IO_ERROR_CANCELLED.
 */
bool batch_run(const struct batch *batch, GError **error);
