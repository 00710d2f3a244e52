/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/run/run_utc.h"

#include <glib.h>
#include <stdbool.h>

#include "common/platform.h"

/* A smaller step of the wall clock does not change shown times. */
#define STEP_US 100000

/*
 * Two clocks count as read at the same time if no more lies between; a busy machine may need
 * several tries.
 */
#define TOGETHER_NS 10000000
#define TRIES 10

/* About the year 9999. */
#define LATEST_US 253000000000000000.0

struct run_utc {
	const struct platform *platform;
	int64_t t0_ns;   /* of the last run */
	int64_t zero_us; /* 0: not computed yet */
};

struct run_utc *run_utc_new(const struct platform *platform)
{
	struct run_utc *utc = g_new0(struct run_utc, 1);

	utc->platform = platform;
	return utc;
}

void run_utc_free(struct run_utc *utc)
{
	g_free(utc);
}

/*
 * Computes the start of a run from the present readings of both clocks. False: they could not be
 * read together.
 */
static bool read_zero(const struct platform *platform, int64_t t0_ns, int64_t *ret_zero_us)
{
	int64_t before_ns, after_ns;

	for (int i = 0; i < TRIES; i++) {
		before_ns = platform_now_ns(platform);
		*ret_zero_us = platform_utc_us(platform) - (before_ns - t0_ns) / 1000;
		after_ns = platform_now_ns(platform);
		if (after_ns - before_ns < TOGETHER_NS)
			return true;
	}
	return false;
}

int64_t run_utc_zero_us(struct run_utc *utc, int64_t t0_ns)
{
	int64_t zero_us;
	const bool good = read_zero(utc->platform, t0_ns, &zero_us);

	if (utc->zero_us == 0 || utc->t0_ns != t0_ns ||
	    (good && ABS(zero_us - utc->zero_us) >= STEP_US))
		*utc = (struct run_utc){utc->platform, t0_ns, zero_us};
	return utc->zero_us;
}

char *run_utc_text(int64_t zero_us, double time_s)
{
	const double us = (double)zero_us + time_s * 1e6;
	g_autoptr(GDateTime) second = NULL;
	g_autofree char *whole = NULL;
	int64_t whole_us;

	if (!(us >= 0 && us < LATEST_US))
		return NULL;
	whole_us = zero_us + (int64_t)(time_s * 1e6);
	second = g_date_time_new_from_unix_utc(whole_us / G_USEC_PER_SEC);
	whole = g_date_time_format(second, "%Y-%m-%dT%H:%M:%S");
	return g_strdup_printf("%s.%03dZ", whole, (int)(whole_us % G_USEC_PER_SEC / 1000));
}
