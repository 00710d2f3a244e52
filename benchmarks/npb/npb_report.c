/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "benchmarks/npb/npb_report.h"

#include <inttypes.h>

#ifndef NPB_VERSION
#define NPB_VERSION "virtbed"
#endif
#ifndef NPB_COMPILE_DATE
#define NPB_COMPILE_DATE "unknown"
#endif

static double mops(const struct npb_report *report)
{
	return report->time_s > 0.0 ? report->operations / report->time_s / 1e6 : 0.0;
}

static void print_size(const struct npb_report *report, FILE *out)
{
	if (report->is_cube)
		fprintf(out, " Size            =%15" PRId64 "x%4" PRId64 "x%4" PRId64 "\n",
			report->size, report->size, report->size);
	else
		fprintf(out, " Size            =%25" PRId64 "\n", report->size);
}

void npb_report_print(const struct npb_report *report, FILE *out)
{
	double total = mops(report);

	fprintf(out, "\n\n %s Benchmark Completed\n", report->name);
	fprintf(out, " Class           =%25c\n", report->class);
	print_size(report, out);
	fprintf(out, " Iterations      =%25" PRId64 "\n", report->iterations);
	fprintf(out, " Time in seconds =%25.2f\n", report->time_s);
	fprintf(out, " Time in seconds (full) =%18.9f\n", report->time_s);
	fprintf(out, " Total processes =%25d\n", report->processes);
	fprintf(out, " Active procs    =%25d\n", report->ranks);
	fprintf(out, " Mop/s total     =%25.2f\n", total);
	fprintf(out, " Mop/s/process   =%25.2f\n", total / report->ranks);
	fprintf(out, " Operation type  =%25s\n", report->operation_type);
	fprintf(out, " Verification    =%25s\n", report->verified ? "SUCCESSFUL" : "UNSUCCESSFUL");
	fprintf(out, " Version         =%25s\n", NPB_VERSION);
	fprintf(out, " Compile date    =%25s\n", NPB_COMPILE_DATE);
	fprintf(out, "\n");
	fflush(out);
}
