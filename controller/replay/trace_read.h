/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/replay/swf.h"

/*
 * Reads a trace in any format that is known: a workload of Batsim where the file begins with "{"
 * (batsim_workload.h), else the Standard Workload Format (swf_read()). Returns a new trace, or NULL
 * with `error` (SWF_ERROR) set, which says how traces are made of tables where the file is one.
 */
struct swf_trace *trace_read(const char *path, const struct swf_filter *filter, GError **error);
