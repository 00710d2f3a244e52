/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/cli/trace_notes.h"

#include <stdio.h>

#include "controller/workload/environment.h"

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

static void print_parts(const char *name, const char *path, const struct swf_trace *trace)
{
	if (trace->parts > 0)
		fprintf(stderr,
			"%s: %s: left out %" G_GUINT64_FORMAT
			" line%s of parts of jobs (completion codes 2 to 4), whose whole is another line\n",
			name, path, trace->parts, plural(trace->parts));
	if (trace->partial > 0)
		fprintf(stderr,
			"%s: warning: %s: %" G_GUINT64_FORMAT
			" job%s left out with them, job %" G_GINT64_FORMAT
			" the first: no line of the whole (completion code 0, 1, 5 or -1)\n",
			name, path, trace->partial, plural(trace->partial), trace->partial_id);
}

void trace_notes_print(const char *name, const char *path, const struct swf_trace *trace)
{
	if (!trace)
		return;
	print_parts(name, path, trace);
	if (trace->longer > 0)
		fprintf(stderr,
			"%s: %s: %" G_GUINT64_FORMAT
			" line%s with more than 18 fields, of which 18%s are read\n",
			name, path, trace->longer, plural(trace->longer),
			trace->power_field > 0 ? " and the power" : "");
	if (trace->skipped > 0)
		fprintf(stderr,
			"%s: %s: skipped %" G_GUINT64_FORMAT
			" job%s without a positive size or run time\n",
			name, path, trace->skipped, plural(trace->skipped));
	if (trace->refused > 0)
		fprintf(stderr,
			"%s: %s: refused %" G_GUINT64_FORMAT
			" job%s wider than the machine, %u processors\n",
			name, path, trace->refused, plural(trace->refused), trace->procs);
	if (trace->unsorted > 0)
		fprintf(stderr,
			"%s: warning: %s: %" G_GUINT64_FORMAT
			" job%s submitted before the one above; sorted\n",
			name, path, trace->unsorted, plural(trace->unsorted));
}

bool trace_notes_print_days(const char *name, const struct experiment *experiment, uint32_t trials)
{
	g_autofree char *days =
		environment_days_text(experiment->config, experiment->trace, trials);

	trace_notes_print(name, "environment.trace", experiment->trace);
	if (days)
		fprintf(stderr, "%s: environment.trace: %s\n", name, days);
	return days;
}
