/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How far a program is, counted in steps over all that it does: creating the problems, and all
 * repetitions of all kernels.  Rank 0 reports to its launcher, so that a hanging program and a
 * slow one can be told apart.
 *
 * A report is the line "cmd=progress done=D total=T" on the launcher's PMI connection, PMI_FD,
 * which is not answered. PMI-1 knows no such message: it is sent only where the launcher says that
 * it takes it, by VIRTBED_PROGRESS_MS in the environment, which is also the least time between two
 * reports. The first (of 0 steps) and the last one (of all) come whatever that time is. No report
 * waits: a report that the connection does not take at once is left out.
 */
#ifndef NPB_PROGRESS_H
#define NPB_PROGRESS_H

#include <stdint.h>

/* Belongs to rank 0's program; the functions below take NULL, as other ranks have it. */
struct npb_progress {
	int fd; /* -1: the launcher takes no reports */
	int64_t done, total;
	double interval_s;
	double told_s; /* npb_time_s() of the last report */
};

/* Begin to count @total steps, at least one; tells the launcher, if it wants to know. */
void npb_progress_init(struct npb_progress *progress, int64_t total);

/* One step more is done; those beyond the total are not counted. */
void npb_progress_step(struct npb_progress *progress);

#endif
