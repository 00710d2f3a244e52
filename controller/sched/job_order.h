/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <math.h>
#include <stdbool.h>

/*
 * The orders of a queue that papers compare schedulers with. An order gives every waiting job a
 * number, its key: the job with the lowest key goes first, and equal keys go by arrival. The
 * policies of the registry (order.h) and the replay of traces (controller/replay/) read the same
 * formulas.
 *
 * docs/reference/papers.md names the papers. In the formulas w is the time that a job has waited, r
 * the time that its user asked for, n its processors and s the time of its submission; times are
 * seconds.
 */

/* What an order knows of a waiting job. */
struct job_order_facts {
	double waited_s;    /* w, >= 0 */
	double requested_s; /* r, > 0 */
	double processors;  /* n, >= 1 */
	double submitted_s; /* s, >= 0 */
};

/* An order. */
struct job_order {
	bool waits; /* keys change while jobs wait */
	double (*key)(const struct job_order_facts *facts);
};

/* Each is in the file of its policy, policies/NAME.c. */
extern const struct job_order job_order_sjf;
extern const struct job_order job_order_spf;
extern const struct job_order job_order_sqf;
extern const struct job_order job_order_saf;
extern const struct job_order job_order_wfp3;
extern const struct job_order job_order_unicef;
extern const struct job_order job_order_f1;
extern const struct job_order job_order_f2;
extern const struct job_order job_order_f3;
extern const struct job_order job_order_f4;

/*
 * log10 of a time; of less than 0.1 s it is that of 0.1 s, -1, so that s = 0 has a key. The program
 * of Zhang 2020 (DIR-LAB's deep-batch-scheduler, HPCSimPickJobs.py) takes s = 0 for 0.1 in F1 as
 * well. There, 0.01 s has a lower key than 0; here times from 0 to 0.1 s have equal ones.
 */
static inline double job_order_log10(double time_s)
{
	return log10(fmax(time_s, 0.1));
}
