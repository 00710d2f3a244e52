/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/virtual/virtual_workers.h"

#include <ucontext.h>

#include "tests/virtual/virtual_platform_private.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

#define STACK_BYTES (256 << 10)

struct platform_worker {
	const struct platform *platform;
	GList link;    /* element of the platform's workers */
	GQueue orders; /* struct order, oldest first */
	ucontext_t own;
	ucontext_t caller;
	char *stack;
	guint turn; /* a timer; 0: none */
	bool idle;  /* it has done all that it was given */
	bool ends;  /* it is being dismissed: nothing waits */
	/* Of the sanitizers. */
	void *fiber;
	void *caller_fiber;
	const void *caller_stack;
	size_t caller_bytes;
};

struct order {
	const struct platform *platform;
	platform_work_f work;
	platform_work_f done; /* NULL: none */
	void *data;
};

/* The worker whose stack is in use; NULL: none. */
static struct platform_worker *current;

/* From stack to stack. The sanitizers have to know which one is in use. */

static void arrive(struct platform_worker *worker, bool here)
{
#ifdef __SANITIZE_ADDRESS__
	__sanitizer_finish_switch_fiber(NULL, here ? &worker->caller_stack : NULL,
					here ? &worker->caller_bytes : NULL);
#endif
}

/* Has the worker work until it waits. */
static void enter(struct platform_worker *worker)
{
#ifdef __SANITIZE_ADDRESS__
	void *fake;

	__sanitizer_start_switch_fiber(&fake, worker->stack, STACK_BYTES);
#endif
#ifdef __SANITIZE_THREAD__
	worker->caller_fiber = __tsan_get_current_fiber();
	__tsan_switch_to_fiber(worker->fiber, 0);
#endif
	current = worker;
	swapcontext(&worker->caller, &worker->own);
	current = NULL;
#ifdef __SANITIZE_ADDRESS__
	__sanitizer_finish_switch_fiber(fake, NULL, NULL);
#endif
}

/* Gives way to what has entered the worker. */
static void leave(struct platform_worker *worker)
{
#ifdef __SANITIZE_ADDRESS__
	void *fake;

	__sanitizer_start_switch_fiber(&fake, worker->caller_stack, worker->caller_bytes);
#endif
#ifdef __SANITIZE_THREAD__
	__tsan_switch_to_fiber(worker->caller_fiber, 0);
#endif
	swapcontext(&worker->own, &worker->caller);
#ifdef __SANITIZE_ADDRESS__
	__sanitizer_finish_switch_fiber(fake, &worker->caller_stack, &worker->caller_bytes);
#endif
}

/* Life of a worker. */

static gboolean order_done(gpointer data)
{
	g_autofree struct order *order = data;

	order->done(order->data);
	return G_SOURCE_REMOVE;
}

static void carry_out(struct order *order)
{
	order->work(order->data);
	if (order->done)
		platform_soon(order->platform, G_PRIORITY_DEFAULT, order_done, order);
	else
		g_free(order);
}

static void live(void)
{
	struct platform_worker *worker = current;
	struct order *order;

	arrive(worker, true);
	for (;;) {
		worker->idle = false;
		while ((order = g_queue_pop_head(&worker->orders)))
			carry_out(order);
		worker->idle = true;
		leave(worker);
	}
}

static gboolean take_turn(gpointer data)
{
	struct platform_worker *worker = data;

	worker->turn = 0;
	enter(worker);
	return G_SOURCE_REMOVE;
}

struct platform_worker *virtual_worker_hire(const struct platform *platform, const char *name)
{
	struct platform_worker *worker = g_new0(struct platform_worker, 1);

	worker->platform = platform;
	worker->stack = g_malloc(STACK_BYTES);
	worker->idle = true;
	worker->link.data = worker;
	g_queue_push_tail_link(&virtual_of(platform)->workers, &worker->link);
	getcontext(&worker->own);
	worker->own.uc_stack.ss_sp = worker->stack;
	worker->own.uc_stack.ss_size = STACK_BYTES;
	makecontext(&worker->own, live, 0);
#ifdef __SANITIZE_THREAD__
	worker->fiber = __tsan_create_fiber(0);
#endif
	return worker;
}

void virtual_worker_give(struct platform_worker *worker, platform_work_f work, platform_work_f done,
			 void *data)
{
	struct order *order = g_new(struct order, 1);

	*order = (struct order){worker->platform, work, done, data};
	g_queue_push_tail(&worker->orders, order);
	if (worker->idle && worker->turn == 0)
		worker->turn =
			platform_soon(worker->platform, G_PRIORITY_DEFAULT, take_turn, worker);
}

static void drop(struct platform_worker *worker)
{
	g_clear_handle_id(&worker->turn, g_source_remove);
	g_queue_clear_full(&worker->orders, g_free);
	g_queue_unlink(&virtual_of(worker->platform)->workers, &worker->link);
#ifdef __SANITIZE_THREAD__
	__tsan_destroy_fiber(worker->fiber);
#endif
	g_free(worker->stack);
	g_free(worker);
}

/* Their work is done to its end without waiting. */
void virtual_worker_dismiss(const struct platform *platform, struct platform_worker *const *workers,
			    size_t count, guint limit_s)
{
	for (size_t i = 0; i < count; i++) {
		struct platform_worker *worker = workers[i];

		worker->ends = true;
		g_clear_handle_id(&worker->turn, g_source_remove);
		if (!worker->idle || !g_queue_is_empty(&worker->orders))
			enter(worker);
		drop(worker);
	}
}

void virtual_workers_drop(struct virtual_platform *virtual)
{
	while (!g_queue_is_empty(&virtual->workers))
		drop(virtual->workers.head->data);
}

/* Waiting. */

bool virtual_work_wait(guint ms)
{
	struct platform_worker *worker = current;

	if (!worker || worker->ends)
		return false;
	worker->turn = worker->platform->clock->timer(worker->platform, G_PRIORITY_DEFAULT, ms,
						      take_turn, worker);
	leave(worker);
	return !worker->ends;
}

void virtual_worker_pause(const struct platform *platform, guint ms)
{
	virtual_work_wait(ms);
}

const struct platform *virtual_work_platform(void)
{
	return current ? current->platform : NULL;
}
