/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/oracle/trace_oracle.h"

#include <stdio.h>
#include <zlib.h>

/* Puts a job behind all that were not submitted later. */
static void insert(GArray *jobs, const struct swf_job *job)
{
	guint at = jobs->len;

	while (at > 0 && g_array_index(jobs, struct swf_job, at - 1).submit_s > job->submit_s)
		at--;
	g_array_insert_val(jobs, at, *job);
}

GArray *trace_oracle_read(const char *path, uint32_t procs, uint32_t first)
{
	GArray *jobs = g_array_new(FALSE, FALSE, sizeof(struct swf_job));
	gzFile file = gzopen(path, "rb");
	char line[4096];

	g_assert_nonnull(file);
	while ((first == 0 || jobs->len < first) && gzgets(file, line, sizeof(line))) {
		long id;
		double submit, run, used, asked, estimate, width;

		/* Fields 1, 2, 4, 5, 8 and 9; a header line has no number in front. */
		if (sscanf(line, "%ld %lf %*f %lf %lf %*f %*f %lf %lf", &id, &submit, &run, &used,
			   &asked, &estimate) != 6)
			continue;
		width = asked > 0 ? asked : used;
		if (run > 0 && width > 0 && width <= procs) {
			const struct swf_job job = {id, submit, run, estimate > 0 ? estimate : run,
						    (uint32_t)width};

			insert(jobs, &job);
		}
	}
	g_assert_cmpint(gzclose(file), ==, Z_OK);
	return jobs;
}
