/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/store/store_energy.h"

#include <math.h>

/*
 * Energy is computed in half picojoules: (mW + mW) x ns is twice the trapezoid in units of 1e-12 J,
 * and 2e6 of them are a microjoule. 128 bits, since a day's gap at a kilowatt overflows 64.
 */
typedef __int128 halfpico;
#define HALFPICO_PER_UJ 2000000

/* Rounds to the nanosecond: exact for runs of up to 104 days. */
static int64_t sample_ns(const struct store_sample *sample)
{
	return (int64_t)llround(sample->time_s * 1e9);
}

static halfpico step_energy(const struct store_sample *from, const struct store_sample *to)
{
	halfpico dt_ns = sample_ns(to) - sample_ns(from);

	if (to->gap)
		return 2 * (halfpico)MAX(from->mw, to->mw) * dt_ns;
	return ((halfpico)from->mw + to->mw) * dt_ns;
}

/*
 * Counts the samples of a host (`count` of them, in order) whose counters cannot be explained by
 * any inherited remainder. After a mismatch the reckoning starts again at that sample.
 */
static uint32_t count_mismatches(struct store_sample *const *samples, guint count)
{
	halfpico sum = 0; /* integral since `base` */
	halfpico low = 0; /* the inherited remainder lies in [low, high) */
	halfpico high = HALFPICO_PER_UJ;
	uint32_t mismatches = 0;
	guint base = 0;

	for (guint i = 1; i < count; i++) {
		halfpico rise = samples[i]->energy_uj - samples[base]->energy_uj;

		sum += step_energy(samples[i - 1], samples[i]);
		low = MAX(low, rise * HALFPICO_PER_UJ - sum);
		high = MIN(high, (rise + 1) * HALFPICO_PER_UJ - sum);
		if (low < high && sample_ns(samples[i]) > sample_ns(samples[i - 1]))
			continue;
		mismatches++;
		base = i;
		sum = 0;
		low = 0;
		high = HALFPICO_PER_UJ;
	}
	return mismatches;
}

/* mW x ns = 1e-6 uJ. */
static double held_uj(const struct store_sample *sample, int64_t t_ns)
{
	return (double)sample->energy_uj +
	       (double)sample->mw * (double)(t_ns - sample_ns(sample)) * 1e-6;
}

/* The counter of a host at a time of the run, in microjoules. */
static double counter_uj(struct store_sample *const *samples, guint count, int64_t t_ns)
{
	guint i = 0;
	const struct store_sample *before;
	const struct store_sample *after;

	while (i < count && sample_ns(samples[i]) < t_ns)
		i++;
	if (i == 0 || i == count)
		return held_uj(samples[i ? i - 1 : 0], t_ns);
	before = samples[i - 1];
	after = samples[i];
	return (double)before->energy_uj + (double)(after->energy_uj - before->energy_uj) *
						   ((double)(t_ns - sample_ns(before)) /
						    (double)(sample_ns(after) - sample_ns(before)));
}

static void add_host(struct store_sample *const *samples, guint count, double ended_s,
		     struct store_energy *energy)
{
	int64_t end_ns = (int64_t)llround(ended_s * 1e9);

	energy->hosts++;
	energy->mismatches += count_mismatches(samples, count);
	for (guint i = 0; i < count; i++)
		energy->gaps += samples[i]->gap;
	energy->total_j +=
		(counter_uj(samples, count, end_ns) - counter_uj(samples, count, 0)) * 1e-6;
}

bool store_energy_check(struct store *store, const struct store_run *run,
			struct store_energy *ret_energy, GError **error)
{
	g_autoptr(GPtrArray) samples = store_samples(store, run->run, error);
	struct store_energy energy = {0};
	struct store_sample **rows;
	guint first = 0;

	if (!samples)
		return false;
	rows = (struct store_sample **)samples->pdata;
	energy.samples = samples->len;
	for (guint i = 1; isfinite(run->ended_s) && i <= samples->len; i++) {
		if (i < samples->len && g_str_equal(rows[i]->host, rows[first]->host))
			continue;
		add_host(rows + first, i - first, run->ended_s, &energy);
		first = i;
	}
	if (energy.hosts) {
		energy.dynamic_j = energy.total_j - run->idle_w * run->ended_s;
		energy.difference_uj = (energy.dynamic_j - run->energy_j) * 1e6;
	}
	*ret_energy = energy;
	return true;
}
