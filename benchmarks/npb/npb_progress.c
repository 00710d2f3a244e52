/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "benchmarks/npb/npb_progress.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "benchmarks/npb/npb_clock.h"

#define INTERVAL_MS_MAX 3600000

/* A whole number in [0, @max], or -1. */
static long number_of(const char *variable, long max)
{
	const char *text = getenv(variable);
	char *end = NULL;
	long value = text ? strtol(text, &end, 10) : -1;

	return text && end != text && *end == '\0' && value >= 0 && value <= max ? value : -1;
}

/* A port whose far end is not there would hold the rank up until it is. */
static void tell(struct npb_progress *progress)
{
	struct pollfd connection = {.fd = progress->fd, .events = POLLOUT};
	char line[80];
	int length =
		snprintf(line, sizeof(line), "cmd=progress done=%" PRId64 " total=%" PRId64 "\n",
			 progress->done, progress->total);

	progress->told_s = npb_time_s();
	if (poll(&connection, 1, 0) != 1 || connection.revents != POLLOUT)
		return;
	if (write(progress->fd, line, (size_t)length) < 0)
		progress->fd = -1;
}

void npb_progress_init(struct npb_progress *progress, int64_t total)
{
	long interval_ms = number_of("VIRTBED_PROGRESS_MS", INTERVAL_MS_MAX);

	if (!progress)
		return;
	*progress = (struct npb_progress){
		.fd = interval_ms < 0 ? -1 : (int)number_of("PMI_FD", INT32_MAX),
		.total = total,
		.interval_s = (double)interval_ms * 1e-3,
	};
	if (progress->fd >= 0)
		tell(progress);
}

void npb_progress_step(struct npb_progress *progress)
{
	if (!progress || progress->done >= progress->total)
		return;
	progress->done++;
	if (progress->fd >= 0 && (progress->done == progress->total ||
				  npb_time_s() - progress->told_s >= progress->interval_s))
		tell(progress);
}
