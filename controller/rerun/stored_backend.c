/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/rerun/stored_backend.h"

#include <float.h>
#include <glib.h>
#include <math.h>

struct stored {
	struct backend backend;
	struct backend_ops ops;
	struct answers answers;
	struct requests requests; /* of this input */
	bool handling;            /* an input is being handled */
	bool damaged;             /* stored_backend_is_damaged() */
	double limit_j;           /* the last that was set */
	struct backend *other;    /* stored_backend_leave(); NULL: the history has not ended */
};

static struct stored *of(struct backend *backend)
{
	return (struct stored *)backend;
}

/* Between inputs nothing was stored: the last value stands. */
static double next(struct backend *backend, enum answer_kind kind)
{
	struct stored *stored = of(backend);

	return stored->handling ? answers_next(&stored->answers, kind) : stored->answers.last[kind];
}

/* The next answer that is at most `most` in either direction. */
static double next_below(struct backend *backend, enum answer_kind kind, double most)
{
	double *last = &of(backend)->answers.last[kind];
	const double before = *last;
	const double value = next(backend, kind);

	if (fabs(value) <= most)
		return value;
	of(backend)->damaged = true;
	*last = before;
	return before;
}

static double now_s(struct backend *backend)
{
	return of(backend)->other ? backend_now_s(of(backend)->other)
				  : next_below(backend, ANSWER_CLOCK, STORED_TIME_MAX_S);
}

static double energy_j(struct backend *backend)
{
	return of(backend)->other ? backend_energy_j(of(backend)->other)
				  : next_below(backend, ANSWER_ENERGY, DBL_MAX);
}

static double energy_at_j(struct backend *backend, double time_s)
{
	return of(backend)->other ? energy_j(backend) : next(backend, ANSWER_ENERGY_AT);
}

static struct backend_watermark watermark(struct backend *backend)
{
	struct backend_watermark mark;

	if (of(backend)->other)
		return (struct backend_watermark){-INFINITY, now_s(backend), now_s(backend)};
	mark.from_s = next(backend, ANSWER_MARK_FROM);
	mark.until_s = next(backend, ANSWER_MARK_UNTIL);
	mark.all_s = next(backend, ANSWER_MARK_ALL);
	return mark;
}

/* Notes a request. Returns whether it is passed on. */
static bool note(struct backend *backend, const struct request *request)
{
	if (of(backend)->handling)
		requests_add(&of(backend)->requests, request);
	return of(backend)->other;
}

static void start(struct backend *backend, const struct sched_allocation *placed, uint32_t attempt)
{
	const struct request one = {REQUESTS_START, .attempt = attempt, .placed = placed};

	if (note(backend, &one))
		backend_start(of(backend)->other, placed, attempt);
}

static void kill_task(struct backend *backend, uint32_t task, uint32_t attempt)
{
	if (note(backend, &(struct request){REQUESTS_KILL, task, attempt}))
		backend_kill(of(backend)->other, task, attempt);
}

static void suspend(struct backend *backend, uint32_t task, uint32_t attempt, uint32_t n)
{
	if (note(backend, &(struct request){REQUESTS_SUSPEND, task, attempt, n}))
		backend_suspend(of(backend)->other, task, attempt, n);
}

static void resume(struct backend *backend, uint32_t task, uint32_t attempt, uint32_t n,
		   const uint32_t *nodes, uint32_t nodes_count)
{
	const struct request one = {REQUESTS_RESUME, task, attempt, n, nodes, nodes_count};

	if (note(backend, &one))
		backend_resume(of(backend)->other, task, attempt, n, nodes, nodes_count);
}

static void share(struct backend *backend, uint32_t task, uint32_t attempt, double yield)
{
	const struct request one = {REQUESTS_SHARE, task, attempt, .value = yield};

	if (note(backend, &one))
		backend_share(of(backend)->other, task, attempt, yield);
}

static void enqueue(struct backend *backend, const struct sched_allocation *placed,
		    uint32_t attempt, double start_before_s)
{
	const struct request one = {REQUESTS_ENQUEUE, .attempt = attempt, .placed = placed,
				    .start_before_s = start_before_s};

	note(backend, &one);
	g_assert(!of(backend)->other); /* the simulation keeps no queues */
}

static void migrate(struct backend *backend, uint32_t task, uint32_t attempt, uint32_t n,
		    const uint32_t *nodes, uint32_t nodes_count)
{
	const struct request one = {REQUESTS_MIGRATE, task, attempt, n, nodes, nodes_count};

	note(backend, &one);
	g_assert(!of(backend)->other); /* the simulation migrates nothing */
}

static void set_limit(struct backend *backend, double limit_j)
{
	of(backend)->limit_j = limit_j;
	if (note(backend, &(struct request){REQUESTS_LIMIT, .value = limit_j}))
		backend_set_limit(of(backend)->other, limit_j);
}

static void destroy(struct backend *backend)
{
	answers_finish(&of(backend)->answers);
	g_free(backend);
}

struct backend *stored_backend_new(const json_t *setup)
{
	struct stored *stored = g_new0(struct stored, 1);
	const bool at = json_is_true(json_object_get(setup, "energy_at"));

	stored->ops = (struct backend_ops){
		.name = "stored",
		.now_s = now_s,
		.start = start,
		.kill = kill_task,
		.suspend = suspend,
		.resume = resume,
		.share = json_is_true(json_object_get(setup, "shares")) ? share : NULL,
		.enqueue = json_is_true(json_object_get(setup, "queues")) ? enqueue : NULL,
		.migrate = json_is_true(json_object_get(setup, "migrates")) ? migrate : NULL,
		.energy_j = energy_j,
		.energy_at_j = at ? energy_at_j : NULL,
		.watermark = json_is_true(json_object_get(setup, "watermark")) ? watermark : NULL,
		.set_limit = set_limit,
		.destroy = destroy,
	};
	stored->backend.ops = &stored->ops;
	answers_init(&stored->answers);
	return &stored->backend;
}

bool stored_backend_begin(struct backend *backend, double time_s, const char *answers)
{
	of(backend)->handling = true;
	requests_begin(&of(backend)->requests);
	return answers_begin(&of(backend)->answers, time_s, answers);
}

void stored_backend_restart(struct backend *backend)
{
	answers_restart(&of(backend)->answers);
}

bool stored_backend_end(struct backend *backend)
{
	of(backend)->handling = false;
	return !answers_left(&of(backend)->answers);
}

bool stored_backend_is_damaged(const struct backend *backend)
{
	return ((const struct stored *)backend)->damaged;
}

const struct requests *stored_backend_requests(const struct backend *backend)
{
	return &((const struct stored *)backend)->requests;
}

double stored_backend_other(struct backend *backend)
{
	return next(backend, ANSWER_OTHER);
}

void stored_backend_leave(struct backend *backend, struct backend *other)
{
	struct stored *stored = of(backend);

	stored->handling = false;
	stored->other = other;
	stored->ops.enqueue = NULL;
	stored->ops.migrate = NULL;
	backend_set_limit(other, stored->limit_j);
}

double stored_backend_last_s(const struct backend *backend)
{
	return ((const struct stored *)backend)->answers.last[ANSWER_CLOCK];
}

double stored_backend_last_j(const struct backend *backend)
{
	return ((const struct stored *)backend)->answers.last[ANSWER_ENERGY];
}
