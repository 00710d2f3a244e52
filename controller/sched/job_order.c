/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sources of the formulas:
 *
 * - Carastan-Santos 2017: D. Carastan-Santos and R. Y. de Camargo, "Obtaining dynamic scheduling
 *   policies with simulation and machine learning", SC 2017 (F1 to F4).
 * - Carastan-Santos 2019: D. Carastan-Santos, R. Y. de Camargo, D. Trystram and S. Zrigui, "One can
 *   only gain by replacing EASY Backfilling", CCGrid 2019 (SPF, SQF, SAF).
 * - Tang 2009: W. Tang, Z. Lan, N. Desai and D. Buettner, "Fault-aware, utility-based job
 *   scheduling on Blue Gene/P systems", Cluster 2009 (WFP3, UNICEF).
 * - Zhang 2020: D. Zhang, D. Dai, Y. He, F. S. Bao and B. Xie, "RLScheduler: an automated HPC batch
 *   job scheduler using reinforcement learning", SC 2020, and its program, DIR-LAB's
 *   deep-batch-scheduler, HPCSimPickJobs.py (SJF, WFP3, UNICEF, F1 to F4).
 */
#include "controller/sched/job_order.h"

#include <math.h>

/* The shortest time that enters a logarithm. */
#define LOG_LEAST 0.1

/* What UNICEF adds, so that it does not divide by 0. */
#define UNICEF_LEAST 1e-15

static double log_time(double time_s)
{
	return log10(fmax(time_s, LOG_LEAST));
}

static double fcfs(const struct job_order_facts *facts)
{
	return facts->submitted_s;
}

static double sjf(const struct job_order_facts *facts)
{
	return facts->requested_s;
}

static double sqf(const struct job_order_facts *facts)
{
	return facts->processors;
}

static double saf(const struct job_order_facts *facts)
{
	return facts->requested_s * facts->processors;
}

static double wfp3(const struct job_order_facts *facts)
{
	return -pow(facts->waited_s / facts->requested_s, 3) * facts->processors;
}

static double unicef(const struct job_order_facts *facts)
{
	return -(facts->waited_s + UNICEF_LEAST) /
	       (log2(facts->processors + UNICEF_LEAST) * facts->requested_s);
}

static double f1(const struct job_order_facts *facts)
{
	return log_time(facts->requested_s) * facts->processors +
	       870 * log_time(facts->submitted_s);
}

static double f2(const struct job_order_facts *facts)
{
	return sqrt(facts->requested_s) * facts->processors + 25600 * log_time(facts->submitted_s);
}

static double f3(const struct job_order_facts *facts)
{
	return facts->requested_s * facts->processors + 6860000 * log_time(facts->submitted_s);
}

static double f4(const struct job_order_facts *facts)
{
	return facts->requested_s * sqrt(facts->processors) + 530000 * log_time(facts->submitted_s);
}

/* clang-format off */
const struct job_order job_orders[JOB_ORDERS_COUNT] = {
	[JOB_ORDER_FCFS] = {"fcfs", "Zhang 2020",
		"First Come, First Served: s", false, fcfs},
	[JOB_ORDER_SJF] = {"sjf", "Zhang 2020",
		"Shortest Job First: r", false, sjf},
	[JOB_ORDER_SPF] = {"spf", "Carastan-Santos 2019",
		"Shortest Processing time First, as sjf: r", false, sjf},
	[JOB_ORDER_SQF] = {"sqf", "Carastan-Santos 2019",
		"Smallest request First: n", false, sqf},
	[JOB_ORDER_SAF] = {"saf", "Carastan-Santos 2019",
		"Smallest Area First: r n", false, saf},
	[JOB_ORDER_WFP3] = {"wfp3", "Tang 2009",
		"WFP3, first what is wide and waited long for its time: -(w/r)^3 n", true, wfp3},
	[JOB_ORDER_UNICEF] = {"unicef", "Tang 2009",
		"UNICEF, first what is narrow and waited long for its time: -w / (r log2 n)",
		true, unicef},
	[JOB_ORDER_F1] = {"f1", "Carastan-Santos 2017",
		"F1, learned: n log10 r + 870 log10 s", false, f1},
	[JOB_ORDER_F2] = {"f2", "Carastan-Santos 2017",
		"F2, learned: n sqrt r + 25600 log10 s", false, f2},
	[JOB_ORDER_F3] = {"f3", "Carastan-Santos 2017",
		"F3, learned: r n + 6860000 log10 s", false, f3},
	[JOB_ORDER_F4] = {"f4", "Carastan-Santos 2017",
		"F4, learned: r sqrt n + 530000 log10 s", false, f4},
};
/* clang-format on */
