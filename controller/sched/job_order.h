/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * The orders of a queue that papers compare schedulers with. An order gives every waiting job a
 * number, its key: the job with the lowest key goes first, and equal keys go by arrival. The
 * policies of the registry (policies/orders.c) and the replay of traces (controller/replay/) read
 * the same formulas.
 *
 * In the formulas w is the time that a job has waited, r the time that its user asked for, n its
 * processors and s the time of its submission; times are seconds. Where a logarithm would have no
 * value, the rules go by the program of Zhang 2020, whose tables are public:
 *
 * - log10(r) and log10(s) of less than 0.1 s are those of 0.1 s, -1. So s = 0 has the key of 0.1,
 *   as in F1 of that program. There, 0.01 s would have a lower key than 0; here times from 0 to 0.1
 *   s have equal ones.
 * - UNICEF divides by log2(n), which is 0 for n = 1. 1e-15 is added to w and to n: serial jobs go
 *   before all others from the first moment that they have waited, and among themselves by w / r.
 *   At the instant of its submission, w = 0, a serial job has the key -0.62 / r, and may go behind
 *   wider jobs that have waited.
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
	const char *name;
	const char *section; /* of the paper that defines it */
	const char *summary; /* one line: the words, then the formula of the key */
	bool waits;          /* keys change while jobs wait */
	double (*key)(const struct job_order_facts *facts);
};

/* The orders, as indices of job_orders. */
enum job_order_index {
	JOB_ORDER_FCFS = 0,
	JOB_ORDER_SJF,
	JOB_ORDER_SPF,
	JOB_ORDER_SQF,
	JOB_ORDER_SAF,
	JOB_ORDER_WFP3,
	JOB_ORDER_UNICEF,
	JOB_ORDER_F1,
	JOB_ORDER_F2,
	JOB_ORDER_F3,
	JOB_ORDER_F4,
	JOB_ORDERS_COUNT,
};

extern const struct job_order job_orders[JOB_ORDERS_COUNT];
