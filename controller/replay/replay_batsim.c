/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/replay/replay_batsim.h"

#include <math.h>
#include <stdlib.h>

/* Processors [first, last] that are free. */
struct interval {
	uint32_t first;
	uint32_t last;
};

/* A start or an end. */
struct change {
	double time_s;
	bool start;
	uint32_t job;
};

/* Ends come before starts at one instant, and jobs in the order of the trace. */
static gint compare_changes(gconstpointer left, gconstpointer right)
{
	const struct change *a = left;
	const struct change *b = right;

	if (a->time_s != b->time_s)
		return a->time_s < b->time_s ? -1 : 1;
	if (a->start != b->start)
		return a->start ? 1 : -1;
	return (a->job > b->job) - (a->job < b->job);
}

/* Takes the lowest `count` processors out of the ascending list of free ones. */
static GArray *take(GArray *free, uint32_t count)
{
	GArray *taken = g_array_new(FALSE, FALSE, sizeof(struct interval));
	guint emptied = 0;

	while (count > 0) {
		struct interval *from = &g_array_index(free, struct interval, emptied);
		struct interval part = *from;

		if (part.last - part.first >= count) {
			part.last = part.first + count - 1;
			from->first += count;
		} else {
			emptied++;
		}
		count -= part.last - part.first + 1;
		g_array_append_val(taken, part);
	}
	if (emptied > 0)
		g_array_remove_range(free, 0, emptied);
	return taken;
}

/* Puts an interval back into the list and joins it with its neighbours. */
static void give_back(GArray *free, const struct interval *part)
{
	struct interval *list = (struct interval *)(void *)free->data;
	guint at = 0;

	while (at < free->len && list[at].first < part->first)
		at++;
	g_array_insert_val(free, at, *part);
	list = (struct interval *)(void *)free->data;
	if (at + 1 < free->len && list[at].last + 1 == list[at + 1].first) {
		list[at].last = list[at + 1].last;
		g_array_remove_index(free, at + 1);
	}
	if (at > 0 && list[at - 1].last + 1 == list[at].first) {
		list[at - 1].last = list[at].last;
		g_array_remove_index(free, at);
	}
}

static char *intervals_text(const GArray *intervals)
{
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < intervals->len; i++) {
		const struct interval *one = &g_array_index(intervals, struct interval, i);

		g_string_append_printf(text, "%s%u", i > 0 ? " " : "", one->first);
		if (one->last > one->first)
			g_string_append_printf(text, "-%u", one->last);
	}
	return g_string_free(text, FALSE);
}

/* The processors of every job, as texts. */
static char **place_jobs(const struct replay_setup *setup, const struct replay_result *result)
{
	const struct interval all = {0, setup->procs - 1};
	const uint32_t count = result->jobs_count;
	g_autofree struct change *changes = g_new(struct change, 2 * (size_t)count + 1);
	g_autofree GArray **taken = g_new0(GArray *, (size_t)count + 1);
	g_autoptr(GArray) free = g_array_new(FALSE, FALSE, sizeof(struct interval));
	char **texts = g_new0(char *, (size_t)count + 1);
	size_t changes_count = 0;

	g_array_append_val(free, all);
	for (uint32_t i = 0; i < count; i++) {
		/* The clock cannot tell the two apart, late in a long trace. */
		if (result->end_s[i] <= result->start_s[i]) {
			texts[i] = g_strdup("");
			continue;
		}
		changes[changes_count++] = (struct change){result->start_s[i], true, i};
		changes[changes_count++] = (struct change){result->end_s[i], false, i};
	}
	qsort(changes, changes_count, sizeof(*changes), compare_changes);
	for (size_t c = 0; c < changes_count; c++) {
		const uint32_t job = changes[c].job;

		if (changes[c].start) {
			taken[job] = take(free, setup->trace->jobs[job].procs);
			texts[job] = intervals_text(taken[job]);
			continue;
		}
		for (guint i = 0; i < taken[job]->len; i++)
			give_back(free, &g_array_index(taken[job], struct interval, i));
		g_clear_pointer(&taken[job], g_array_unref);
	}
	return texts;
}

struct batsim_schedule *replay_batsim(const struct replay_setup *setup,
				      const struct replay_result *result, const char *version)
{
	const struct swf_trace *trace = setup->trace;
	struct batsim_schedule *schedule = batsim_schedule_new("w0", setup->procs, version);
	g_auto(GStrv) resources = place_jobs(setup, result);

	for (uint32_t i = 0; i < result->jobs_count; i++) {
		const struct swf_job *job = &trace->jobs[i];
		const double estimate_s =
			setup->estimates == REPLAY_ESTIMATES_PERFECT ? job->run_s : job->estimate_s;
		const bool killed = !setup->overrun && job->run_s > estimate_s;
		g_autofree char *profile = g_strdup_printf("delay-%.17g", job->run_s);
		const struct batsim_job row = {
			.id = job->id,
			.profile = profile,
			.submit_s = result->submit_s[i],
			.procs = job->procs,
			.walltime_s = estimate_s,
			.state = killed ? BATSIM_WALLTIME : BATSIM_SUCCESS,
			.start_s = result->start_s[i],
			.end_s = result->end_s[i],
			.resources = resources[i],
			.energy_j = job->power_w > 0
					    ? job->power_w * (killed ? estimate_s : job->run_s)
					    : (double)NAN,
		};

		batsim_schedule_add(schedule, &row);
	}
	batsim_schedule_reject(schedule, trace->refused);
	return schedule;
}
