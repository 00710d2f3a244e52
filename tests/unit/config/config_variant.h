/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * Writes a small good configuration, with the first `from` in it replaced by `to`, into a new file.
 * `from` must be in it. The caller frees the path and removes the file.
 */
char *config_variant_write(const char *from, const char *to);

/* The text of that configuration, as a `from` that is all of it. */
extern const char config_variant_base[];
