/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/engine/async_decider.h"

#include <glib.h>
#include <string.h>
#include <time.h>

/* A buffer that grows to the largest size that was needed. */
struct room {
	void *data;
	size_t size;
};

/* A snapshot with copies of everything that it points to. */
struct copy {
	struct sched_snapshot snapshot;
	struct room tasks; /* struct sched_task, the tasks of all lists */
	struct room nodes; /* uint32_t, the nodes of all lists */
	struct room waiting, suspended, running, reservations, placeholders, down, deferred;
	size_t tasks_used, nodes_used;
};

struct async_decider {
	gatomicrefcount count; /* one for the owner, and one for each pending call of `ready` */
	void (*ready)(void *data); /* NULL: the owner has freed the decider */
	async_decided_f decided;
	void *data;
	struct arena *arena;
	struct copy copy;
	struct policy policy;
	unsigned int flags;
	struct sched_plan plan;
	double decide_s;
	double asked_s;
	bool asked;      /* a decision is pending, or its answer was not taken yet */
	GThread *thread; /* the thread that decides; NULL: decided without a thread */
	gint done;       /* atomic: the decision is finished */
};

/* A buffer of at least `size` bytes; never NULL, even for size 0. */
static void *room_for(struct room *room, size_t size)
{
	if (!room->data || room->size < size) {
		g_free(room->data);
		room->size = size + size / 4 + 1;
		room->data = g_malloc(room->size);
	}
	return room->data;
}

static void room_clear(struct room *room)
{
	g_free(room->data);
}

/* Copies. */

static const struct sched_task *copy_task(struct copy *copy, const struct sched_task *task)
{
	struct sched_task *own = (struct sched_task *)copy->tasks.data + copy->tasks_used++;

	*own = *task;
	return own;
}

static const uint32_t *copy_nodes(struct copy *copy, const uint32_t *nodes, uint32_t count)
{
	uint32_t *own = (uint32_t *)copy->nodes.data + copy->nodes_used;

	memcpy(own, nodes, count * sizeof(*nodes));
	copy->nodes_used += count;
	return own;
}

static void copy_waiting(struct copy *copy, const struct sched_snapshot *from)
{
	const struct sched_task **own =
		room_for(&copy->waiting, from->waiting_count * sizeof(const struct sched_task *));

	for (uint32_t i = 0; i < from->waiting_count; i++)
		own[i] = copy_task(copy, from->waiting[i]);
	copy->snapshot.waiting = own;
}

static void copy_suspended(struct copy *copy, const struct sched_snapshot *from)
{
	struct sched_suspended *own =
		room_for(&copy->suspended, from->suspended_count * sizeof(*own));

	for (uint32_t i = 0; i < from->suspended_count; i++) {
		own[i] = from->suspended[i];
		own[i].task = copy_task(copy, own[i].task);
	}
	copy->snapshot.suspended = own;
}

static void copy_running(struct copy *copy, const struct sched_snapshot *from)
{
	struct sched_running *own = room_for(&copy->running, from->running_count * sizeof(*own));

	for (uint32_t i = 0; i < from->running_count; i++) {
		own[i] = from->running[i];
		own[i].task = copy_task(copy, own[i].task);
		own[i].nodes = copy_nodes(copy, own[i].nodes, own[i].nodes_count);
	}
	copy->snapshot.running = own;
}

static const struct sched_planned *copy_planned(struct copy *copy, struct room *room,
						const struct sched_planned *from, uint32_t count)
{
	struct sched_planned *own = room_for(room, count * sizeof(*own));

	for (uint32_t i = 0; i < count; i++) {
		own[i] = from[i];
		own[i].task = copy_task(copy, own[i].task);
		own[i].nodes = copy_nodes(copy, own[i].nodes, own[i].nodes_count);
	}
	return own;
}

static void copy_deferred(struct copy *copy, const struct sched_snapshot *from)
{
	struct sched_deferred *own = room_for(&copy->deferred, from->deferred_count * sizeof(*own));

	for (uint32_t i = 0; i < from->deferred_count; i++) {
		own[i] = from->deferred[i];
		own[i].task = copy_task(copy, own[i].task);
	}
	copy->snapshot.deferred = own;
}

static size_t count_nodes(const struct sched_snapshot *from)
{
	size_t count = 0;

	for (uint32_t i = 0; i < from->running_count; i++)
		count += from->running[i].nodes_count;
	for (uint32_t i = 0; i < from->reservations_count; i++)
		count += from->reservations[i].nodes_count;
	for (uint32_t i = 0; i < from->placeholders_count; i++)
		count += from->placeholders[i].nodes_count;
	return count;
}

static void copy_snapshot(struct copy *copy, const struct sched_snapshot *from)
{
	const size_t tasks = (size_t)from->waiting_count + from->suspended_count +
			     from->running_count + from->reservations_count +
			     from->placeholders_count + from->deferred_count;

	copy->snapshot = *from;
	copy->tasks_used = copy->nodes_used = 0;
	room_for(&copy->tasks, tasks * sizeof(struct sched_task));
	room_for(&copy->nodes, count_nodes(from) * sizeof(uint32_t));
	copy_waiting(copy, from);
	copy_suspended(copy, from);
	copy_running(copy, from);
	copy->snapshot.reservations = copy_planned(copy, &copy->reservations, from->reservations,
						   from->reservations_count);
	copy->snapshot.placeholders = copy_planned(copy, &copy->placeholders, from->placeholders,
						   from->placeholders_count);
	copy->snapshot.down = memcpy(room_for(&copy->down, from->down_count * sizeof(*from->down)),
				     from->down, from->down_count * sizeof(*from->down));
	copy_deferred(copy, from);
}

static void copy_clear(struct copy *copy)
{
	struct room *const rooms[] = { &copy->tasks, &copy->nodes, &copy->waiting, &copy->suspended,
				       &copy->running, &copy->reservations, &copy->placeholders,
				       &copy->down, &copy->deferred };

	for (gsize i = 0; i < G_N_ELEMENTS(rooms); i++)
		room_clear(rooms[i]);
}

/* Creating and freeing. */

static void unref(gpointer data)
{
	struct async_decider *decider = data;

	if (!g_atomic_ref_count_dec(&decider->count))
		return;
	arena_free(decider->arena);
	copy_clear(&decider->copy);
	g_free(decider);
}

struct async_decider *async_decider_new(void (*ready)(void *data), async_decided_f decided,
					void *data)
{
	struct async_decider *decider = g_new0(struct async_decider, 1);

	g_atomic_ref_count_init(&decider->count);
	decider->ready = ready;
	decider->decided = decided;
	decider->data = data;
	decider->arena = arena_new();
	if (!decider->arena)
		g_error("out of memory");
	return decider;
}

void async_decider_free(struct async_decider *decider)
{
	if (!decider)
		return;
	if (decider->thread)
		g_thread_join(decider->thread);
	decider->ready = NULL;
	unref(decider);
}

/* Deciding. */

static gboolean call_ready(gpointer data)
{
	const struct async_decider *decider = data;

	if (decider->ready)
		decider->ready(decider->data);
	return G_SOURCE_REMOVE;
}

/* Processor time of this thread: other programs share the processor. */
static double thread_s(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static gpointer run_policy(gpointer data)
{
	struct async_decider *decider = data;
	struct policy_context context = { .arena = decider->arena, .flags = decider->flags };
	const double begun_s = thread_s();

	if (policy_decide(&decider->policy, &decider->copy.snapshot, &context, &decider->plan) < 0)
		g_error("out of memory");
	decider->decide_s = thread_s() - begun_s;
	decider->decided(&decider->policy, &decider->copy.snapshot, &decider->plan, decider->data);
	g_atomic_int_set(&decider->done, 1);
	g_atomic_ref_count_inc(&decider->count);
	g_idle_add_full(G_PRIORITY_DEFAULT, call_ready, decider, unref);
	return NULL;
}

void async_decider_ask(struct async_decider *decider, const struct policy *policy,
		       unsigned int flags,
	       const struct sched_snapshot *snapshot)
{
	g_autoptr(GError) error = NULL;

	g_assert(!decider->asked && !snapshot->queues);
	decider->policy = *policy;
	decider->flags = flags;
	decider->done = 0;
	decider->asked_s = (double)g_get_monotonic_time() * 1e-6;
	copy_snapshot(&decider->copy, snapshot);
	decider->asked = true;
	decider->thread = g_thread_try_new("policy", run_policy, decider, &error);
	if (decider->thread)
		return;
	g_warning(
		"cannot start a thread for policy \"%s\": %s; deciding without one, while clients "
		"wait",
		policy->name, error->message);
	run_policy(decider);
}

bool async_decider_is_busy(const struct async_decider *decider)
{
	return decider->asked;
}

bool async_decider_take(struct async_decider *decider, struct async_answer *ret_answer)
{
	if (!decider->asked || !g_atomic_int_get(&decider->done))
		return false;
	if (decider->thread)
		g_thread_join(g_steal_pointer(&decider->thread));
	decider->asked = false;
	*ret_answer = (struct async_answer){
		.policy = &decider->policy,
		.snapshot = &decider->copy.snapshot,
		.plan = &decider->plan,
		.decide_s = decider->decide_s,
		.asked_s = decider->asked_s,
	};
	return true;
}
