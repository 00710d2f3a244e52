/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/oracle/replay_oracle.h"

#include <math.h>
#include <string.h>

enum state { STATE_COMING, STATE_WAITING, STATE_RUNNING, STATE_DONE };

/* A job and its fate. */
struct job {
	enum state state;
	guint index; /* in the trace */
	double submit_s;
	double estimate_s;
	double run_s;
	int64_t procs;
	double start_s;
	double promise_s; /* INFINITY: none */
	double first_s;   /* the promise at its submission; INFINITY: none */
	double least_s;   /* the earliest promise that it ever had */
};

struct world {
	const struct replay_oracle *setup;
	double now_s;
	GArray *jobs; /* of struct job, in order of submission */
	bool early;   /* a job has just ended before it was expected to */
};

static struct job *job_at(const struct world *world, guint i)
{
	return &g_array_index(world->jobs, struct job, i);
}

static int64_t free_now(const struct world *world)
{
	int64_t free = world->setup->procs;

	for (guint i = 0; i < world->jobs->len; i++)
		if (job_at(world, i)->state == STATE_RUNNING)
			free -= job_at(world, i)->procs;
	return free;
}

/* When a running job is expected to end. */
static double expected_s(const struct world *world, const struct job *job)
{
	return fmax(job->start_s + job->estimate_s, world->now_s);
}

/* Processors that are free at `time_s` by what runs and by the promises in the list. */
static int64_t free_at(const struct world *world, double time_s, const GArray *promised)
{
	int64_t free = world->setup->procs;

	for (guint i = 0; i < world->jobs->len; i++) {
		const struct job *job = job_at(world, i);

		if (job->state == STATE_RUNNING && expected_s(world, job) > time_s)
			free -= job->procs;
	}
	for (guint i = 0; promised && i < promised->len; i++) {
		const struct job *job = job_at(world, g_array_index(promised, guint, i));

		if (job->promise_s <= time_s && time_s < job->promise_s + job->estimate_s)
			free -= job->procs;
	}
	return free;
}

/* Instants at which the number of free processors can change. */
static GArray *instants(const struct world *world, const GArray *promised)
{
	GArray *list = g_array_new(FALSE, FALSE, sizeof(double));

	g_array_append_val(list, world->now_s);
	for (guint i = 0; i < world->jobs->len; i++) {
		const struct job *job = job_at(world, i);
		const double end_s = expected_s(world, job);

		if (job->state == STATE_RUNNING)
			g_array_append_val(list, end_s);
	}
	for (guint i = 0; promised && i < promised->len; i++) {
		const struct job *job = job_at(world, g_array_index(promised, guint, i));
		const double end_s = job->promise_s + job->estimate_s;

		g_array_append_val(list, job->promise_s);
		g_array_append_val(list, end_s);
	}
	return list;
}

/*
 * The earliest instant, `from_s` or later, from which on the job fits for the whole of its
 * estimate.
 */
static double earliest_s(const struct world *world, const struct job *job, const GArray *promised,
			 double from_s)
{
	g_autoptr(GArray) list = instants(world, promised);
	double best_s = (double)INFINITY;

	g_array_append_val(list, from_s);
	for (guint i = 0; i < list->len; i++) {
		const double start_s = g_array_index(list, double, i);
		bool fits = start_s >= from_s && start_s < best_s &&
			    free_at(world, start_s, promised) >= job->procs;

		for (guint j = 0; fits && j < list->len; j++) {
			const double time_s = g_array_index(list, double, j);

			if (time_s > start_s && time_s < start_s + job->estimate_s)
				fits = free_at(world, time_s, promised) >= job->procs;
		}
		if (fits)
			best_s = start_s;
	}
	return best_s;
}

static void start(struct world *world, struct job *job)
{
	job->state = STATE_RUNNING;
	job->start_s = world->now_s;
}

/* Whether the policy takes jobs in an order; `name` without "+easy". */
static bool has_order(const struct world *world, const char *name)
{
	return g_str_has_prefix(world->setup->policy, name) &&
	       (world->setup->policy[strlen(name)] == '\0' ||
		world->setup->policy[strlen(name)] == '+');
}

static double log_of(double time_s)
{
	return time_s < 0.1 ? -1 : log10(time_s);
}

/* The number by which an order of a paper ranks a waiting job; FCFS, EASY: 0. */
static double exact_key(const struct world *world, const struct job *job)
{
	const double waited_s = world->now_s - job->submit_s;
	const double r = job->estimate_s;
	const double n = (double)job->procs;
	const double log_s = log_of(job->submit_s);

	if (has_order(world, "sjf") || has_order(world, "spf"))
		return r;
	if (has_order(world, "sqf"))
		return n;
	if (has_order(world, "saf"))
		return r * n;
	if (has_order(world, "wfp3"))
		return -pow(waited_s / r, 3) * n;
	if (has_order(world, "unicef"))
		return -(waited_s + 1e-15) / (log2(n + 1e-15) * r);
	if (has_order(world, "f1"))
		return log_of(r) * n + 870 * log_s;
	if (has_order(world, "f2"))
		return sqrt(r) * n + 25600 * log_s;
	if (has_order(world, "f3"))
		return r * n + 6860000 * log_s;
	if (has_order(world, "f4"))
		return r * sqrt(n) + 530000 * log_s;
	return 0;
}

/* That number with 12 digits: what is equal on paper is equal. */
static double order_key(const struct world *world, const struct job *job)
{
	const double key = exact_key(world, job);
	char text[G_ASCII_DTOSTR_BUF_SIZE];

	return key == rint(key) && fabs(key) < 1e9
		       ? key
		       : g_ascii_strtod(g_ascii_formatd(text, sizeof(text), "%.11e", key), NULL);
}

/* The waiting job that is next in the order of the policy after `last`, or first (NULL). */
static struct job *next_waiting(const struct world *world, const struct job *last)
{
	struct job *next = NULL;

	for (guint i = 0; i < world->jobs->len; i++) {
		struct job *job = job_at(world, i);
		const double key = order_key(world, job);
		const double last_key = last ? order_key(world, last) : 0;

		if (job->state != STATE_WAITING)
			continue;
		if (last && (key < last_key || (key == last_key && job->index <= last->index)))
			continue;
		if (!next || key < order_key(world, next))
			next = job;
	}
	return next;
}

static struct job *first_waiting(const struct world *world)
{
	return next_waiting(world, NULL);
}

static void pass_fcfs(struct world *world)
{
	struct job *head;

	while ((head = first_waiting(world)) && head->procs <= free_now(world))
		start(world, head);
}

/* Starts heads that may start; returns the first that may not, with its promise, or NULL. */
static struct job *easy_head(struct world *world)
{
	struct job *head;

	while ((head = first_waiting(world))) {
		const bool kept = world->setup->keep && isfinite(head->promise_s);
		const bool due = !kept || head->promise_s <= world->now_s;

		if (!due)
			return head;
		if (head->procs > free_now(world)) {
			g_autoptr(GArray) list = instants(world, NULL);

			/* When enough is free, for however long. */
			head->promise_s = kept ? world->now_s : (double)INFINITY;
			for (guint i = 0; !kept && i < list->len; i++) {
				const double time_s = g_array_index(list, double, i);

				if (free_at(world, time_s, NULL) >= head->procs)
					head->promise_s = fmin(head->promise_s, time_s);
			}
			return head;
		}
		start(world, head);
	}
	return NULL;
}

static void pass_easy(struct world *world)
{
	const struct job *head = easy_head(world);

	for (struct job *job = head ? next_waiting(world, head) : NULL; job;
	     job = next_waiting(world, job)) {
		const int64_t extra = free_at(world, head->promise_s, NULL) - head->procs;

		if (job->procs > free_now(world))
			continue;
		if (world->now_s + job->estimate_s <= head->promise_s || job->procs <= extra)
			start(world, job);
	}
}

static void note_promise(struct job *job)
{
	if (isinf(job->first_s))
		job->first_s = job->promise_s;
	job->least_s = fmin(job->least_s, job->promise_s);
}

/* Indices of the jobs that wait and were promised something, in order of arrival. */
static GArray *promised_jobs(const struct world *world)
{
	GArray *list = g_array_new(FALSE, FALSE, sizeof(guint));

	for (guint i = 0; i < world->jobs->len; i++)
		if (job_at(world, i)->state == STATE_WAITING &&
		    isfinite(job_at(world, i)->promise_s))
			g_array_append_val(list, i);
	return list;
}

/* Takes the job with the earliest promise out of the list, the first of such. */
static guint take_soonest(const struct world *world, GArray *list)
{
	guint soonest = 0;
	guint index;

	for (guint i = 1; i < list->len; i++)
		if (job_at(world, g_array_index(list, guint, i))->promise_s <
		    job_at(world, g_array_index(list, guint, soonest))->promise_s)
			soonest = i;
	index = g_array_index(list, guint, soonest);
	g_array_remove_index(list, soonest);
	return index;
}

/* Moves back what does not fit any more because others outlive their estimates. */
static bool push_back(struct world *world)
{
	g_autoptr(GArray) left = promised_jobs(world);
	g_autoptr(GArray) done = g_array_new(FALSE, FALSE, sizeof(guint));
	bool late = false;

	for (guint i = 0; i < left->len; i++)
		late |= job_at(world, g_array_index(left, guint, i))->promise_s < world->now_s;
	while (late && left->len > 0) {
		const guint index = take_soonest(world, left);
		struct job *job = job_at(world, index);

		job->promise_s = earliest_s(world, job, done, fmax(job->promise_s, world->now_s));
		note_promise(job);
		g_array_append_val(done, index);
	}
	return late;
}

/* Takes each job out of the schedule and puts it back where it fits beside all others. */
static void move_up(struct world *world)
{
	g_autoptr(GArray) all = promised_jobs(world);

	for (guint i = 0; i < all->len; i++) {
		g_autoptr(GArray) others = promised_jobs(world);
		const guint index = g_array_index(all, guint, i);
		struct job *job = job_at(world, index);

		g_array_remove_index(others, i);
		job->promise_s = earliest_s(world, job, others, world->now_s);
		note_promise(job);
	}
}

static void pass_conservative(struct world *world)
{
	g_autoptr(GArray) promised = NULL;

	if (!world->setup->keep && !world->setup->rebuild && (push_back(world) || world->early))
		move_up(world);
	for (guint i = 0; i < world->jobs->len; i++) {
		struct job *job = job_at(world, i);

		if (world->setup->rebuild)
			job->promise_s = (double)INFINITY;
		else if (isfinite(job->promise_s))
			job->promise_s = fmax(job->promise_s, world->now_s);
	}
	/* What is promised first, then the rest in order of arrival. */
	promised = promised_jobs(world);
	for (guint i = 0; i < world->jobs->len; i++) {
		struct job *job = job_at(world, i);

		if (job->state != STATE_WAITING || isfinite(job->promise_s))
			continue;
		job->promise_s = earliest_s(world, job, promised, world->now_s);
		note_promise(job);
		g_array_append_val(promised, i);
	}
	for (guint i = 0; i < world->jobs->len; i++) {
		struct job *job = job_at(world, i);

		if (job->state == STATE_WAITING && job->promise_s <= world->now_s &&
		    job->procs <= free_now(world))
			start(world, job);
	}
}

/* How long the job really runs. */
static double true_run_s(const struct world *world, const struct job *job)
{
	return world->setup->overrun ? job->run_s : fmin(job->run_s, job->estimate_s);
}

/* The next instant at which something happens; INFINITY: never. */
static double next_s(const struct world *world)
{
	/* A promise is an instant of its own only where it stays until its time. */
	const bool kept = !world->setup->rebuild &&
			  (world->setup->keep || strcmp(world->setup->policy, "conservative") == 0);
	double next = (double)INFINITY;

	for (guint i = 0; i < world->jobs->len; i++) {
		const struct job *job = job_at(world, i);

		if (job->state == STATE_COMING)
			next = fmin(next, job->submit_s);
		if (job->state == STATE_RUNNING)
			next = fmin(next, job->start_s + true_run_s(world, job));
		if (kept && job->state == STATE_WAITING && isfinite(job->promise_s) &&
		    job->promise_s > world->now_s)
			next = fmin(next, job->promise_s);
	}
	return next;
}

static void happen(struct world *world)
{
	world->early = false;
	for (guint i = 0; i < world->jobs->len; i++) {
		struct job *job = job_at(world, i);

		if (job->state == STATE_RUNNING &&
		    job->start_s + true_run_s(world, job) <= world->now_s) {
			job->state = STATE_DONE;
			world->early |= world->now_s < job->start_s + job->estimate_s;
		}
		if (job->state == STATE_COMING && job->submit_s <= world->now_s)
			job->state = STATE_WAITING;
	}
}

/* Notes the fate of finished jobs and forgets them: lists stay short. */
static void forget(struct world *world, guint *forgotten, struct replay_oracle_fate *fates)
{
	for (guint i = 0; i < world->jobs->len;) {
		const struct job *job = job_at(world, i);

		if (job->state != STATE_DONE) {
			i++;
			continue;
		}
		fates[job->index] = (struct replay_oracle_fate){
			.start_s = job->start_s,
			.first_s = job->first_s,
			.least_s = job->least_s,
		};
		g_array_remove_index(world->jobs, i);
		++*forgotten;
	}
}

/* Lets the next job of the trace be seen. */
static void announce(struct world *world, guint *announced)
{
	const struct replay_oracle *setup = world->setup;

	while (*announced < setup->trace->jobs_count &&
	       (world->jobs->len == 0 ||
		job_at(world, world->jobs->len - 1)->state != STATE_COMING ||
		job_at(world, world->jobs->len - 1)->submit_s ==
			setup->trace->jobs[*announced].submit_s)) {
		const struct swf_job *from = &setup->trace->jobs[*announced];
		const struct job job = {
			.index = (*announced)++,
			.submit_s = from->submit_s,
			.run_s = from->run_s,
			.estimate_s = setup->perfect ? from->run_s : from->estimate_s,
			.procs = from->procs,
			.promise_s = (double)INFINITY,
			.first_s = (double)INFINITY,
			.least_s = (double)INFINITY,
		};

		g_array_append_val(world->jobs, job);
	}
}

struct replay_oracle_fate *replay_oracle_run(const struct replay_oracle *setup)
{
	g_autoptr(GArray) jobs = g_array_new(FALSE, FALSE, sizeof(struct job));
	struct world world = {.setup = setup, .now_s = -(double)INFINITY, .jobs = jobs};
	struct replay_oracle_fate *fates =
		g_new(struct replay_oracle_fate, setup->trace->jobs_count);
	guint announced = 0;
	guint forgotten = 0;

	for (;;) {
		announce(&world, &announced);
		world.now_s = next_s(&world);
		if (isinf(world.now_s))
			break;
		happen(&world);
		if (strcmp(setup->policy, "conservative") == 0)
			pass_conservative(&world);
		else if (strcmp(setup->policy, "easy") == 0 ||
			 g_str_has_suffix(setup->policy, "+easy"))
			pass_easy(&world);
		else
			pass_fcfs(&world);
		forget(&world, &forgotten, fates);
	}
	g_assert_cmpuint(forgotten, ==, setup->trace->jobs_count);
	return fates;
}
