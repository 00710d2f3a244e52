/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Traces in the Standard Workload Format, version 2.2: one job per line of 18 numbers, -1 for
 * unknown, and header lines after ";". Files may be plain or gzipped, also as several gzip members
 * one after another. Nothing in a trace is trusted.
 *
 * The format has no power. A header line "; PowerField: 19" says that every line has the mean watts
 * of its job, of all its processors together, as a field behind the 18.
 */

/*
 * The largest integer that is exact in a double, as are all below it. No time of a job that can be
 * replayed is above it, whatever file it comes from.
 */
#define SWF_EXACT_MAX 9007199254740992.0

/* One job that can be replayed. Times are seconds. */
struct swf_job {
	int64_t id;        /* field 1 */
	double submit_s;   /* field 2, >= 0 */
	double run_s;      /* field 4, > 0 */
	double estimate_s; /* field 9 if positive, else run_s */
	uint32_t procs;    /* field 8 if positive, else field 5; > 0 */
	double memory_kb;  /* per processor: the larger of fields 7 and 10; 0: neither is known */
	double wait_s;     /* field 3: how long it waited in the trace; below 0: not known */
	int64_t user;      /* field 12; -1: not known */
	double power_w;    /* mean of the whole job while it runs; 0: not known */
};

/* Why a line of a job is not replayed. */
enum swf_reason {
	SWF_REASON_SIZE = 0, /* no positive size */
	SWF_REASON_TIME,     /* no positive run time */
	SWF_REASON_WIDE,     /* wider than the system */
	SWF_REASON_PART,     /* a part of a job */
	SWF_REASON_BEFORE,   /* the filter's `skip` */
	SWF_REASONS_COUNT,
};

/* The texts of the reasons. */
extern const char *const swf_reason_texts[SWF_REASONS_COUNT];

/* A line of a job that is not replayed. */
struct swf_left_out {
	uint64_t line; /* number, from 1 */
	int64_t id;    /* field 1 */
	enum swf_reason reason;
};

/* A trace. */
struct swf_trace {
	uint64_t max_procs; /* "MaxProcs" of the header; 0: not given */
	uint64_t max_nodes; /* "MaxNodes" */
	/* "PowerField": the number of the field with a job's power, above 18; 0: there is none. */
	uint32_t power_field;
	uint32_t jobs_count;
	struct swf_job *jobs; /* by submit time, equal ones in the order of the file */
	uint64_t lines;       /* job lines read */
	uint32_t before;      /* jobs left out by the filter's `skip` */
	uint64_t skipped;     /* whole jobs without a positive size or run time */
	uint64_t refused;     /* jobs wider than the system */
	uint64_t parts;       /* lines of parts of jobs: completion codes 2 to 4 */
	uint64_t partial;     /* jobs with lines of parts only, without a line of the whole job */
	int64_t partial_id;   /* number of the first partial job */
	uint64_t longer;      /* lines with fields beyond the 18 that are not read */
	uint32_t left_out_count;
	struct swf_left_out *left_out; /* in the order of the file; NULL: not asked for */
	uint64_t unsorted;             /* jobs submitted before the one in the line above */
	uint32_t procs; /* processors of the system: the filter's, else the header's */
};

#define SWF_ERROR (swf_error_quark())
GQuark swf_error_quark(void);

/* Codes of SWF_ERROR; all are bad input. */
enum swf_error {
	SWF_ERROR_READ = 1, /* cannot be read, or its gzip stream is damaged or cut short */
	SWF_ERROR_LINE,     /* a malformed line; the message has its number */
	SWF_ERROR_PROCS,    /* the size of the system is neither given nor in the header */
	SWF_ERROR_SIZE,     /* more jobs than fit (2^31) */
};

/* Options of swf_read(). */
struct swf_filter {
	uint32_t procs; /* processors of the system; 0: the header's MaxProcs, else its MaxNodes */
	uint32_t skip;  /* leave out this many jobs that can be replayed, the first in file order */
	uint32_t first; /* keep only this many jobs, the first of the rest; 0: all */
	bool list;      /* fill swf_trace.left_out */
};

/*
 * Reads `path`. Jobs without a positive size or run time are skipped and counted, jobs wider than
 * the system refused and counted. Submissions out of order are sorted stably and counted. Lines of
 * parts of a job (completion codes 2 to 4) are left out and counted, as another line has the whole
 * job; a job without such a line is left out with them, and counted, too: its parts may not be
 * complete. Of a line with more than 18 fields the first 18 and the power count, and lines with
 * others are counted. An error is: a short line, a field that is not a number
 * (common/read_number.h), a job number beyond 64 bits, a negative submit time, or a header without
 * a number of processors if it is needed. A line that begins with ";" or "#" is a comment, and so
 * is the rest of a job's line behind ";"; comments after the first job are ignored. A byte order
 * mark is skipped. Returns a new trace, or NULL with `error` set.
 */
struct swf_trace *swf_read(const char *path, const struct swf_filter *filter, GError **error);

/* Counts the jobs that were submitted before the one in front of them, and sorts jobs stably. */
void swf_sort(struct swf_trace *trace);

/* NULL is allowed. */
void swf_free(struct swf_trace *trace);
typedef struct swf_trace swf_trace_t;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(swf_trace_t, swf_free)
