/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/journal/listener.h"

#include <glib.h>

static struct listener *of(struct backend *backend)
{
	return (struct listener *)backend;
}

static double note(struct listener *listener, enum answer_kind kind, double value)
{
	if (listener->noting)
		answers_add(&listener->answers, kind, value);
	return value;
}

static double now_s(struct backend *backend)
{
	return note(of(backend), ANSWER_CLOCK, backend_now_s(of(backend)->other));
}

static double energy_j(struct backend *backend)
{
	return note(of(backend), ANSWER_ENERGY, backend_energy_j(of(backend)->other));
}

static double energy_at_j(struct backend *backend, double time_s)
{
	struct backend *other = of(backend)->other;

	return note(of(backend), ANSWER_ENERGY_AT, other->ops->energy_at_j(other, time_s));
}

static struct backend_watermark watermark(struct backend *backend)
{
	struct backend *other = of(backend)->other;
	const struct backend_watermark mark = other->ops->watermark(other);

	note(of(backend), ANSWER_MARK_FROM, mark.from_s);
	note(of(backend), ANSWER_MARK_UNTIL, mark.until_s);
	note(of(backend), ANSWER_MARK_ALL, mark.all_s);
	return mark;
}

/* Notes a request. */
static struct backend *request(struct backend *backend, const struct request *request)
{
	if (of(backend)->noting)
		requests_add(&of(backend)->requests, request);
	return of(backend)->other;
}

static void start(struct backend *backend, const struct sched_allocation *placed, uint32_t attempt)
{
	const struct request one = {REQUESTS_START, .attempt = attempt, .placed = placed};

	backend_start(request(backend, &one), placed, attempt);
}

static void kill_task(struct backend *backend, uint32_t task, uint32_t attempt)
{
	backend_kill(request(backend, &(struct request){REQUESTS_KILL, task, attempt}), task,
		     attempt);
}

static void suspend(struct backend *backend, uint32_t task, uint32_t attempt, uint32_t n)
{
	backend_suspend(request(backend, &(struct request){REQUESTS_SUSPEND, task, attempt, n}),
			task, attempt, n);
}

static void resume(struct backend *backend, uint32_t task, uint32_t attempt, uint32_t n,
		   const uint32_t *nodes, uint32_t nodes_count)
{
	const struct request one = {REQUESTS_RESUME, task, attempt, n, nodes, nodes_count};

	backend_resume(request(backend, &one), task, attempt, n, nodes, nodes_count);
}

static void share(struct backend *backend, uint32_t task, uint32_t attempt, double yield)
{
	const struct request one = {REQUESTS_SHARE, task, attempt, .value = yield};

	backend_share(request(backend, &one), task, attempt, yield);
}

static void enqueue(struct backend *backend, const struct sched_allocation *placed,
		    uint32_t attempt, double start_before_s)
{
	const struct request one = {REQUESTS_ENQUEUE, .attempt = attempt, .placed = placed,
				    .start_before_s = start_before_s};

	backend_enqueue(request(backend, &one), placed, attempt, start_before_s);
}

static void migrate(struct backend *backend, uint32_t task, uint32_t attempt, uint32_t n,
		    const uint32_t *nodes, uint32_t nodes_count)
{
	const struct request one = {REQUESTS_MIGRATE, task, attempt, n, nodes, nodes_count};

	backend_migrate(request(backend, &one), task, attempt, n, nodes, nodes_count);
}

static void set_limit(struct backend *backend, double limit_j)
{
	backend_set_limit(request(backend, &(struct request){REQUESTS_LIMIT, .value = limit_j}),
			  limit_j);
}

/* It belongs to the recorder, and the other one to its caller. */
static void destroy(struct backend *backend)
{
	g_assert_not_reached();
}

void listener_set(struct listener *listener, struct backend *other)
{
	const struct backend_ops *ops = other->ops;

	listener->other = other;
	listener->ops = (struct backend_ops){
		.name = ops->name,
		.now_s = now_s,
		.start = start,
		.kill = kill_task,
		.suspend = suspend,
		.resume = resume,
		.share = ops->share ? share : NULL,
		.enqueue = ops->enqueue ? enqueue : NULL,
		.migrate = ops->migrate ? migrate : NULL,
		.energy_j = energy_j,
		.energy_at_j = ops->energy_at_j ? energy_at_j : NULL,
		.watermark = ops->watermark ? watermark : NULL,
		.set_limit = set_limit,
		.destroy = destroy,
	};
	listener->backend.ops = &listener->ops;
	answers_restart(&listener->answers);
}
