/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "controller/experiment/experiment.h"
#include "controller/replay/swf.h"

/*
 * Prints on standard error how many jobs of a trace were left out or sorted, a line each, after
 * `name`, the command's. `path` names the trace; nothing is printed for a NULL trace.
 */
void trace_notes_print(const char *name, const char *path, const struct swf_trace *trace);

/*
 * Prints that of an experiment's trace, environment.trace, and which of its days the trials run.
 * Returns whether they run days of it.
 */
bool trace_notes_print_days(const char *name, const struct experiment *experiment, uint32_t trials);
