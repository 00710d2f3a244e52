/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/launch/vm_steps.h"

#include "common/platform.h"
#include "local-sched/hypervisor/agent.h"
#include "local-sched/hypervisor/domain.h"
#include "local-sched/hypervisor/vm_requests.h"

#define LOG_SUBSYSTEM "steps"
#include "common/log.h"

#define AGAIN_MS 250
#define CLOCK_LATE_NS INT64_C(500000000)
#define CLOCK_TRIES 4

/* A VM in the current step. */
struct turn {
	struct vm_steps *steps;
	uint32_t vm;
	bool open; /* the step waits for this VM */
	bool dropped;
	int64_t start_ns;
	int64_t clock_ns; /* when the request to set the clock was sent */
	uint32_t clock_tries;
	guint again_source;
};

struct vm_steps {
	const struct platform *platform;
	const struct vm_steps_kind *kind;
	void *owner; /* NULL: the owner has freed the steps */
	char *task;
	double patience_s;
	uint32_t count;
	struct turn *turns; /* count of them */
	guint step;
	guint generation;   /* of the step: answers to calls of an earlier one do not count */
	uint32_t pending;   /* VMs for which the step is not done */
	bool failed;        /* the step has failed for a VM */
	uint32_t under_way; /* calls to hosts */
	guint limit_source;
	unsigned limit_s;
	char *reason;
};

/* A call to a host for a VM. */
struct call {
	struct vm_steps *steps;
	uint32_t vm;
	guint generation;
};

/* Life. */

struct vm_steps *vm_steps_new(const struct platform *platform, const struct vm_steps_kind *kind,
			      const char *task, uint32_t count, double patience_s, void *owner)
{
	struct vm_steps *steps = g_new0(struct vm_steps, 1);

	steps->platform = platform;
	steps->kind = kind;
	steps->owner = owner;
	steps->task = g_strdup(task);
	steps->patience_s = patience_s;
	steps->count = count;
	steps->turns = g_new0(struct turn, count);
	for (uint32_t i = 0; i < count; i++)
		steps->turns[i] = (struct turn){.steps = steps, .vm = i};
	return steps;
}

static void really_free(struct vm_steps *steps)
{
	g_free(steps->turns);
	g_free(steps->task);
	g_free(steps->reason);
	g_free(steps);
}

static void clear_sources(struct vm_steps *steps)
{
	g_clear_handle_id(&steps->limit_source, g_source_remove);
	for (uint32_t i = 0; i < steps->count; i++)
		g_clear_handle_id(&steps->turns[i].again_source, g_source_remove);
}

void vm_steps_free(struct vm_steps *steps)
{
	if (!steps)
		return;
	clear_sources(steps);
	steps->owner = NULL;
	if (steps->under_way == 0)
		really_free(steps);
}

guint vm_steps_current(const struct vm_steps *steps)
{
	return steps->step;
}

unsigned vm_steps_limit_s(const struct vm_steps *steps)
{
	return steps->limit_s;
}

static const char *name_of(const struct vm_steps *steps, guint step)
{
	return steps->kind->table->fsm->state_names[step];
}

char *vm_steps_take_reason(struct vm_steps *steps)
{
	return steps->reason ? g_steal_pointer(&steps->reason) : g_strdup("for no known reason");
}

/* Sequence of steps. */

static gboolean limit_reached(gpointer data)
{
	struct vm_steps *steps = data;
	g_autofree char *reason = NULL;

	if (steps->kind->is_patient && steps->kind->is_patient(steps->owner))
		return G_SOURCE_CONTINUE;
	reason = g_strdup_printf("%s took longer than %u s", name_of(steps, steps->step),
				 steps->limit_s);
	steps->limit_source = 0;
	vm_steps_fire(steps, steps->kind->table->limit, reason);
	return G_SOURCE_REMOVE;
}

void vm_steps_set_limit(struct vm_steps *steps, unsigned limit_s)
{
	g_clear_handle_id(&steps->limit_source, g_source_remove);
	steps->limit_s = limit_s;
	if (limit_s > 0)
		steps->limit_source =
			platform_after_s(steps->platform, limit_s, limit_reached, steps);
}

void vm_steps_jump(struct vm_steps *steps, guint step)
{
	clear_sources(steps);
	if (steps->kind->left)
		steps->kind->left(steps->owner);
	steps->step = step;
	steps->generation++;
	for (uint32_t i = 0; i < steps->count; i++)
		steps->turns[i].open = false;
}

static void keep_reason(struct vm_steps *steps, const char *reason)
{
	if (!steps->reason)
		steps->reason = g_strdup(reason);
}

void vm_steps_fire(struct vm_steps *steps, guint event, const char *reason)
{
	const struct vm_step_table *table = steps->kind->table;
	const guint previous = steps->step;
	guint next = previous;

	if (!fsm_move(table->fsm, &next, event, steps->task)) {
		log_debug_of(LOG_LOCAL(steps->task), "'%s' of a %s means nothing while %s",
			     table->fsm->event_names[event], table->fsm->what,
			     name_of(steps, previous));
		return;
	}
	log_debug_of(LOG_LOCAL(steps->task), "%s: %s -> %s", table->fsm->what,
		     name_of(steps, previous), name_of(steps, next));
	if (reason)
		keep_reason(steps, reason);
	vm_steps_jump(steps, next);
	vm_steps_set_limit(steps, vm_step_limit_s(table, next, steps->patience_s));
	steps->kind->enter(steps->owner, previous, event);
}

/* Within a step. */

/* Counts down what the step waits for, and ends the step at 0. */
static void count_down(struct vm_steps *steps)
{
	const struct vm_step_table *table = steps->kind->table;

	if (--steps->pending == 0)
		vm_steps_fire(steps, steps->failed ? table->fail : table->done, NULL);
}

void vm_steps_run(struct vm_steps *steps)
{
	const guint generation = steps->generation;

	/* Counts one more, so that the step does not end before it was started for all VMs. */
	steps->pending = 1;
	steps->failed = false;
	for (uint32_t i = 0; i < steps->count && steps->generation == generation; i++) {
		struct turn *turn = &steps->turns[i];

		turn->start_ns = platform_now_ns(steps->platform);
		turn->clock_tries = 0;
		if (turn->dropped)
			continue;
		turn->open = true;
		steps->pending++;
		if (!steps->kind->start(steps->owner, i))
			vm_steps_done(steps, i, NULL);
	}
	if (steps->generation == generation)
		count_down(steps);
}

void vm_steps_done(struct vm_steps *steps, uint32_t vm, const GError *error)
{
	if (!steps->turns[vm].open)
		return;
	steps->turns[vm].open = false;
	if (error) {
		g_autofree char *reason =
			g_strdup_printf("%s: %s", name_of(steps, steps->step), error->message);

		keep_reason(steps, reason);
		log_warning_of(LOG_LOCAL(steps->task), "%s", reason);
		steps->failed = true;
	}
	count_down(steps);
}

static gboolean again(gpointer data)
{
	struct turn *turn = data;

	turn->again_source = 0;
	if (!turn->steps->kind->start(turn->steps->owner, turn->vm))
		vm_steps_done(turn->steps, turn->vm, NULL);
	return G_SOURCE_REMOVE;
}

void vm_steps_repeat(struct vm_steps *steps, uint32_t vm)
{
	struct turn *turn = &steps->turns[vm];

	if (turn->open && turn->again_source == 0)
		turn->again_source = platform_after_ms(steps->platform, AGAIN_MS, again, turn);
}

void vm_steps_drop(struct vm_steps *steps, uint32_t vm)
{
	steps->turns[vm].dropped = true;
	g_clear_handle_id(&steps->turns[vm].again_source, g_source_remove);
	vm_steps_done(steps, vm, NULL);
}

bool vm_steps_has(const struct vm_steps *steps, uint32_t vm)
{
	return !steps->turns[vm].dropped;
}

bool vm_steps_awaits(const struct vm_steps *steps, uint32_t vm)
{
	return steps->turns[vm].open;
}

void vm_steps_wired(struct vm_steps *steps, uint32_t vm, const GError *error)
{
	if (steps->kind->is_to_be_repeated(steps->owner, vm, error))
		vm_steps_repeat(steps, vm);
	else
		vm_steps_done(steps, vm, error);
}

/* Calls. */

gpointer vm_steps_call(struct vm_steps *steps, uint32_t vm)
{
	struct call *call = g_new0(struct call, 1);

	*call = (struct call){.steps = steps, .vm = vm, .generation = steps->generation};
	steps->under_way++;
	return call;
}

void *vm_steps_answered(gpointer data, uint32_t *ret_vm)
{
	g_autofree struct call *call = data;
	struct vm_steps *steps = call->steps;

	steps->under_way--;
	*ret_vm = call->vm;
	if (!steps->owner) {
		if (steps->under_way == 0)
			really_free(steps);
		return NULL;
	}
	return call->generation == steps->generation && vm_steps_has(steps, call->vm) ? steps->owner
										      : NULL;
}

void vm_steps_answer(gpointer result, const GError *error, gpointer data)
{
	g_autofree char *text = result == HOST_DONE ? NULL : result;
	struct vm_steps *steps = ((struct call *)data)->steps;
	uint32_t vm;
	void *owner = vm_steps_answered(data, &vm);

	if (!owner)
		return;
	if (steps->kind->is_to_be_repeated(owner, vm, error)) {
		vm_steps_repeat(steps, vm);
		return;
	}
	if (!error && steps->kind->good)
		steps->kind->good(owner, vm,
				  platform_now_ns(steps->platform) - steps->turns[vm].start_ns);
	vm_steps_done(steps, vm, error);
}

void vm_steps_place(struct vm_steps *steps, uint32_t index, struct vm *vm)
{
	const struct vm_place *place = vm_where(vm);
	const struct cpu_cap cap = vm_cap_at(vm, place);

	domain_apply_cap(vm_current_host(vm), vm_domain(vm), &cap, vm_cores_at(vm, place),
			 vm_steps_answer, vm_steps_call(steps, index));
}

void vm_steps_set_clock(struct vm_steps *steps, uint32_t index, struct vm *vm)
{
	g_autofree char *request = agent_set_time_request(platform_utc_us(steps->platform) * 1000);
	struct turn *turn = &steps->turns[index];

	turn->clock_ns = platform_now_ns(steps->platform);
	turn->clock_tries++;
	vm_request(vm, request, vm_steps_answer, vm_steps_call(steps, index));
}

bool vm_steps_is_clock_late(const struct vm_steps *steps, uint32_t vm)
{
	const struct turn *turn = &steps->turns[vm];

	return platform_now_ns(steps->platform) - turn->clock_ns > CLOCK_LATE_NS &&
	       turn->clock_tries < CLOCK_TRIES;
}
