/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/replay/swf.h"

/*
 * Says on standard error what of a trace was left out or sorted, one line each, after `name`, the command's.
 * `path` names the trace; a trace of NULL, which nobody has, needs no word.
 */
void trace_notes_print(const char *name, const char *path, const struct swf_trace *trace);
