/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stddef.h>

/*
 * The lines of a file, plain or gzipped (detected by its first bytes). A gzip stream without its
 * end mark is an error, not a shorter file.
 */
struct swf_input;

/* Opens `path`. Returns NULL with `error` (SWF_ERROR) set. */
struct swf_input *swf_input_open(const char *path, GError **error);

/* NULL is allowed. */
void swf_input_close(struct swf_input *input);

/*
 * Sets *ret_line to the next line and *ret_length to its length without the newline; the byte
 * behind it is 0. Valid until the next call. Returns 1, 0 at the end, or -1 with `error` set.
 */
int swf_input_line(struct swf_input *input, char **ret_line, size_t *ret_length, GError **error);
