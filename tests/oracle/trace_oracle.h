/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/replay/swf.h"

/*
 * A trace read once more, as plainly as its definition: zlib's own line reader and sscanf(). For
 * good traces only. Shares no code with the product.
 */

/*
 * The first `first` jobs (0: all) that a machine of `procs` processors can replay, by submit time.
 * The caller frees the array of struct swf_job.
 */
GArray *trace_oracle_read(const char *path, uint32_t procs, uint32_t first);
