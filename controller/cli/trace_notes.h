/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/replay/swf.h"

/*
 * Prints on standard error how many jobs of a trace were left out or sorted, a line each, after
 * `name`, the command's. `path` names the trace; nothing is printed for a NULL trace.
 */
void trace_notes_print(const char *name, const char *path, const struct swf_trace *trace);
