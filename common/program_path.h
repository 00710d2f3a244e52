/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/*
 * The path of one of our programs: in $VIRTBED_LIBEXEC if that is set, else beside this executable,
 * in ../libexec/virtbed, or at its place in a build directory. Returns NULL with `error`; the
 * caller frees.
 */
char *program_path(const char *name, GError **error);
