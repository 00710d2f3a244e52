/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/launch/suspension.h"

#include <string.h>

#include "common/clock.h"
#include "local-sched/hypervisor/agent.h"
#include "local-sched/hypervisor/domain.h"
#include "local-sched/hypervisor/saved.h"
#include "local-sched/hypervisor/transfer.h"
#include "local-sched/hypervisor/virt_error.h"

#define LOG_SUBSYSTEM "suspension"
#include "common/log.h"

#define AGENT_TIMEOUT_S 10
#define AGAIN_MS 250
/*
 * QEMU moves what was sent to a port into the guest's memory within one turn of its main loop,
 * which a quota holds up for at most its period; what is not there when the VM is saved is lost.
 */
#define STILL_MS 500

/*
 * A clock is set to the time of the request: it is late by what the agent took to do so. Where that
 * is longer than this, on a host that is busy, it is set again, but so many times at most.
 */
#define CLOCK_LATE_NS INT64_C(500000000)
#define CLOCK_TRIES 4

struct vm {
	struct suspension *suspension;
	uint32_t index;
	struct machine *machine;
	struct node *node;    /* where it is, or was last */
	const struct machine_place *settled; /* the place that its cap and cores were set for */
	bool saved;           /* it is on disk, and not on its host */
	bool image;           /* there may be a volume of it */
	bool moving;          /* it is on its way to the host of `node`, or perhaps there */
	int64_t start_ns;     /* of the step; -1: it failed */
	int64_t clock_ns;     /* when its agent was asked to set the clock */
	uint32_t clock_tries; /* in this step */
	guint again_source;
};

struct suspension {
	struct suspension_settings settings; /* its arrays are not used any more */
	char *task;
	const struct suspension_events *events; /* NULL: freed by its owner */
	void *data;
	struct vm *vms; /* settings.count of them */
	struct task_suspension *record;
	enum suspension_step step;
	guint generation;   /* of the step: late answers to an earlier one do not count */
	uint32_t pending;   /* VMs for which the step is not done */
	uint32_t under_way; /* calls to hosts */
	bool dooming;
	bool counted;
	bool scarce;        /* a host has too little memory for the VMs that follow */
	guint limit_source;
	guint still_source;
	char *reason; /* the first thing that went wrong since the request */
};

/* A call to a host for one VM. */
struct call {
	struct suspension *suspension;
	struct vm *vm;
	guint generation;
};

static void fire(struct suspension *suspension, enum suspension_event event, const char *reason);
static void really_free(struct suspension *suspension);

/* Calls. */

static struct call *call_new(struct vm *vm)
{
	struct call *call = g_new0(struct call, 1);

	call->suspension = vm->suspension;
	call->vm = vm;
	call->generation = vm->suspension->generation;
	vm->suspension->under_way++;
	return call;
}

/* Takes an answer in; false: nobody wants it any more. */
static bool answered(struct call *call, struct vm **ret_vm)
{
	g_autofree struct call *owned = call;
	struct suspension *suspension = call->suspension;
	bool wanted = suspension->events && call->generation == suspension->generation;

	suspension->under_way--;
	*ret_vm = call->vm;
	if (!suspension->events && suspension->under_way == 0)
		really_free(suspension);
	return wanted;
}

static void keep_reason(struct suspension *suspension, const char *reason)
{
	if (!suspension->reason)
		suspension->reason = g_strdup(reason);
}

/* The step is done, or has failed, for one VM; with the last one it ends. */
static void vm_done(struct vm *vm, const GError *error)
{
	struct suspension *suspension = vm->suspension;

	if (error) {
		g_autofree char *reason =
			g_strdup_printf("%s: %s", suspension_step_name(suspension->step),
					error->message);

		keep_reason(suspension, reason);
		log_warning("task '%s': %s", suspension->task, reason);
	}
	if (error)
		vm->start_ns = -1;
	if (--suspension->pending > 0)
		return;
	for (uint32_t i = 0; i < suspension->settings.count; i++) {
		if (suspension->vms[i].start_ns < 0) {
			fire(suspension, SUSPENSION_EVENT_FAIL, NULL);
			return;
		}
	}
	fire(suspension, SUSPENSION_EVENT_DONE, NULL);
}

/* What each step does for a VM; NULL in the table: nothing. */
struct action {
	/* Starts it; false: nothing is to be done for this VM. */
	bool (*start)(struct vm *vm);
	/* It succeeded, after so many nanoseconds. */
	void (*good)(struct vm *vm, int64_t took_ns);
};

static const struct action actions[SUSPENSION_STEPS];

static gboolean again(gpointer data)
{
	struct vm *vm = data;

	vm->again_source = 0;
	actions[vm->suspension->step].start(vm);
	return G_SOURCE_REMOVE;
}

static bool is_clock_late(const struct vm *vm)
{
	return clock_now_ns() - vm->clock_ns > CLOCK_LATE_NS && vm->clock_tries < CLOCK_TRIES;
}

/* An agent may be reached only a moment after its VM was restored. */
static bool is_to_be_tried_again(const struct vm *vm, const GError *error)
{
	enum suspension_step step = vm->suspension->step;

	/* Nobody waits for a host that is out of reach to say where a VM is that is not wanted. */
	if (vm->suspension->dooming && step == SUSPENSION_LOCATING)
		return false;
	if (step == SUSPENSION_CLOCKING)
		return error ? !g_error_matches(error, VIRT_ERROR, VIRT_ERROR_REFUSED)
			     : is_clock_late(vm);
	return error && suspension_step_is_rollback(step) &&
	       g_error_matches(error, VIRT_ERROR, VIRT_ERROR_CONNECTION);
}

static void step_answered(gpointer result, const GError *error, gpointer data)
{
	struct vm *vm;
	g_autofree char *text = result == HOST_DONE ? NULL : result;

	if (!answered(data, &vm))
		return;
	if (is_to_be_tried_again(vm, error)) {
		vm->again_source = g_timeout_add(AGAIN_MS, again, vm);
		return;
	}
	if (!error && actions[vm->suspension->step].good)
		actions[vm->suspension->step].good(vm, clock_now_ns() - vm->start_ns);
	vm_done(vm, error);
}

static struct task_suspension_vm *times(struct vm *vm)
{
	return &vm->suspension->record->vms[vm->index];
}

/* Does the step for all VMs, side by side. */
static void run_step(struct suspension *suspension)
{
	const struct action *action = &actions[suspension->step];
	guint generation = suspension->generation;

	/* One more, so that it does not end before all were started. */
	suspension->pending = suspension->settings.count + 1;
	for (uint32_t i = 0; i < suspension->settings.count; i++) {
		struct vm *vm = &suspension->vms[i];

		vm->start_ns = clock_now_ns();
		vm->clock_tries = 0;
		if (!action->start(vm))
			suspension->pending--;
	}
	if (suspension->generation == generation)
		vm_done(&suspension->vms[0], NULL);
}

/* The actions. */

static bool freeze_vm(struct vm *vm)
{
	domain_freeze(machine_host(vm->machine), HOST_LANE_ACT, machine_domain(vm->machine),
		      step_answered, call_new(vm));
	return true;
}

static void vm_frozen(struct vm *vm, int64_t took_ns)
{
	times(vm)->freeze_ns = took_ns;
}

static bool thaw_vm(struct vm *vm)
{
	domain_thaw(machine_host(vm->machine), HOST_LANE_ACT, machine_domain(vm->machine),
		    step_answered, call_new(vm));
	return true;
}

static void vm_goes(struct vm *vm, int64_t took_ns)
{
	times(vm)->resume_ns = took_ns;
}

static bool save_vm(struct vm *vm)
{
	machine_stowed(vm->machine, true);
	vm->image = true;
	saved_save(machine_host(vm->machine), machine_domain(vm->machine), step_answered,
		   call_new(vm));
	return true;
}

static void vm_saved(struct vm *vm, int64_t took_ns)
{
	vm->saved = true;
	times(vm)->save_ns = took_ns;
}

static bool restore_vm(struct vm *vm)
{
	if (!vm->saved)
		return false;
	saved_restore(machine_host(vm->machine), machine_domain(vm->machine), step_answered,
		      call_new(vm));
	return true;
}

static void vm_restored(struct vm *vm, int64_t took_ns)
{
	vm->saved = false;
	vm->settled = NULL;
	machine_stowed(vm->machine, false);
	times(vm)->restore_ns = took_ns;
}

static bool is_elsewhere(const struct vm *vm)
{
	return machine_host(vm->machine) != site_host(node_site(vm->node));
}

static bool move_vm(struct vm *vm)
{
	if (!is_elsewhere(vm))
		return false;
	vm->moving = true;
	machine_stowed(vm->machine, true);
	pool_move(vm->suspension->settings.pool, vm->machine, vm->node, vm->saved, step_answered,
		  call_new(vm));
	return true;
}

static void vm_arrived(struct vm *vm)
{
	pool_arrived(vm->suspension->settings.pool, vm->machine, vm->node);
	machine_stowed(vm->machine, vm->saved);
	vm->moving = false;
	vm->settled = NULL;
}

static void vm_moved(struct vm *vm, int64_t took_ns)
{
	vm_arrived(vm);
	times(vm)->move_ns = took_ns;
}

static void vm_stayed(struct vm *vm)
{
	pool_stayed(vm->suspension->settings.pool, vm->machine, vm->node);
	machine_stowed(vm->machine, vm->saved);
	vm->moving = false;
}

/* `result` is one of enum transfer_place. */
static void located(gpointer result, const GError *error, gpointer data)
{
	struct vm *vm;

	if (!answered(data, &vm))
		return;
	if (error && is_to_be_tried_again(vm, error)) {
		vm->again_source = g_timeout_add(AGAIN_MS, again, vm);
		return;
	}
	if (!error && GPOINTER_TO_INT(result) == TRANSFER_TO)
		vm_arrived(vm);
	else if (!error)
		vm_stayed(vm);
	vm_done(vm, error);
}

/* What is saved is where it was until its copy is complete. */
static bool locate_vm(struct vm *vm)
{
	if (vm->moving && vm->saved)
		vm_stayed(vm);
	if (!vm->moving)
		return false;
	pool_find(vm->suspension->settings.pool, vm->machine, vm->node, located, call_new(vm));
	return true;
}

/* Of those whose saving failed it is not known whether they are still there. */
static bool unsave_vm(struct vm *vm)
{
	vm->saved = true;
	return restore_vm(vm);
}

static bool place_vm(struct vm *vm)
{
	const struct machine_place *place = machine_where(vm->machine);
	struct cpu_cap cap;

	if (place == vm->settled)
		return false;
	cap = machine_cap_at(vm->machine, place);
	domain_apply_cap(machine_host(vm->machine), HOST_LANE_ACT, machine_domain(vm->machine),
			 &cap, machine_cores_at(vm->machine, place), step_answered,
			 call_new(vm));
	return true;
}

static void vm_placed(struct vm *vm, int64_t took_ns)
{
	vm->settled = machine_where(vm->machine);
}

static bool wire_vm(struct vm *vm)
{
	machine_rewire(vm->machine);
	return true;
}

static bool set_clock(struct vm *vm)
{
	g_autofree char *request = agent_set_time_request(g_get_real_time() * 1000);

	vm->clock_ns = clock_now_ns();
	vm->clock_tries++;
	machine_agent(vm->machine, request, AGENT_TIMEOUT_S, step_answered, call_new(vm));
	return true;
}

static const struct action actions[SUSPENSION_STEPS] = {
	[SUSPENSION_FREEZING] = {freeze_vm, vm_frozen},
	[SUSPENSION_SAVING] = {save_vm, vm_saved},
	[SUSPENSION_MOVING] = {move_vm, vm_moved},
	[SUSPENSION_RESTORING] = {restore_vm, vm_restored},
	[SUSPENSION_PLACING] = {place_vm, vm_placed},
	[SUSPENSION_WIRING] = {wire_vm, NULL},
	[SUSPENSION_CONTINUING] = {thaw_vm, vm_goes},
	[SUSPENSION_CLOCKING] = {set_clock, NULL},
	[SUSPENSION_UNSAVING] = {unsave_vm, vm_restored},
	[SUSPENSION_REWIRING] = {wire_vm, NULL},
	[SUSPENSION_THAWING] = {thaw_vm, NULL},
	[SUSPENSION_LOCATING] = {locate_vm, NULL},
	[SUSPENSION_REFREEZING] = {freeze_vm, NULL},
};

/* Where the VMs go. */

/* Whether no VM before it is on its host. */
static bool is_first_there(const struct vm *vm)
{
	for (const struct vm *other = vm->suspension->vms; other < vm; other++)
		if (machine_host(other->machine) == machine_host(vm->machine))
			return false;
	return true;
}

/* Memory of all VMs that are on the host of this one. */
static uint64_t memory_mib(const struct vm *vm)
{
	const struct suspension *suspension = vm->suspension;
	uint64_t sum_mib = 0;

	for (uint32_t i = 0; i < suspension->settings.count; i++)
		if (machine_host(suspension->vms[i].machine) == machine_host(vm->machine))
			sum_mib += pool_memory_mib(suspension->settings.pool);
	return sum_mib;
}

static void when_still(struct suspension *suspension);

static gboolean still(gpointer data)
{
	struct suspension *suspension = data;

	suspension->still_source = 0;
	when_still(suspension);
	return G_SOURCE_REMOVE;
}

/* Goes on when nothing is on its way to the VMs any more: they are saved, or leave their host. */
static void when_still(struct suspension *suspension)
{
	int64_t since_ms =
		(clock_now_ns() - suspension->events->last_sent_ns(suspension->data)) / 1000000;

	if (since_ms < STILL_MS)
		suspension->still_source =
			g_timeout_add((guint)(STILL_MS - since_ms), still, suspension);
	else if (suspension->step == SUSPENSION_MOVING)
		run_step(suspension);
	else
		fire(suspension, SUSPENSION_EVENT_SAVE, NULL);
}

static void enter_moving(struct suspension *suspension)
{
	for (uint32_t i = 0; i < suspension->settings.count; i++) {
		if (is_elsewhere(&suspension->vms[i])) {
			when_still(suspension);
			return;
		}
	}
	fire(suspension, SUSPENSION_EVENT_DONE, NULL);
}

static void keep_at(struct suspension *suspension, enum config_keep keep)
{
	suspension->record->keep = keep;
	if (keep == CONFIG_KEEP_DISK)
		when_still(suspension);
	else
		fire(suspension, SUSPENSION_EVENT_DONE, NULL);
}

/*
 * `result` is a number of MiB that the host could give to its nodes' next VMs; the last answer
 * decides.
 */
static void memory_known(gpointer result, const GError *error, gpointer data)
{
	struct vm *vm;
	struct suspension *suspension;
	guint left_mib = GPOINTER_TO_UINT(result);

	if (!answered(data, &vm))
		return;
	suspension = vm->suspension;
	if (error)
		log_warning("task '%s': %s", suspension->task, error->message);
	if (error || left_mib < memory_mib(vm))
		suspension->scarce = true;
	if (--suspension->pending == 0)
		keep_at(suspension, suspension->scarce ? CONFIG_KEEP_DISK : CONFIG_KEEP_MEMORY);
}

static void ask_for_memory(struct suspension *suspension)
{
	suspension->scarce = false;
	suspension->pending = 0;
	for (uint32_t i = 0; i < suspension->settings.count; i++) {
		struct vm *vm = &suspension->vms[i];

		if (!is_first_there(vm))
			continue;
		suspension->pending++;
		domain_host_memory(machine_host(vm->machine), memory_known, call_new(vm));
	}
}

/* Asked for, or else configured, or else: memory as long as it suffices. */
static void decide(struct suspension *suspension)
{
	enum config_keep keep = suspension->record->keep;

	if (keep == CONFIG_KEEP_AUTO)
		keep = pool_keep(suspension->settings.pool);
	if (keep != CONFIG_KEEP_AUTO)
		keep_at(suspension, keep);
	else if (!pool_may_keep(suspension->settings.pool))
		keep_at(suspension, CONFIG_KEEP_DISK);
	else
		ask_for_memory(suspension);
}

/* Steps. */

static void measure_skew(struct suspension *suspension)
{
	int64_t first_us = INT64_MAX;
	int64_t last_us = 0;

	for (uint32_t i = 0; i < suspension->settings.count; i++) {
		int64_t frozen_us = machine_frozen_us(suspension->vms[i].machine);

		first_us = MIN(first_us, frozen_us);
		last_us = MAX(last_us, frozen_us);
	}
	/* 0: the hypervisor did not say. */
	suspension->record->skew_ns = first_us > 0 ? (last_us - first_us) * 1000 : -1;
}

static void vacate_all(struct suspension *suspension)
{
	for (uint32_t i = 0; i < suspension->settings.count; i++)
		pool_vacate(suspension->settings.pool, suspension->vms[i].node);
}

static void wait_for_nodes(struct suspension *suspension)
{
	for (uint32_t i = 0; i < suspension->settings.count; i++)
		if (!node_is_settled(suspension->vms[i].node))
			return;
	fire(suspension, SUSPENSION_EVENT_DONE, NULL);
}

static void forget_images(struct suspension *suspension)
{
	for (uint32_t i = 0; i < suspension->settings.count; i++) {
		struct vm *vm = &suspension->vms[i];

		if (vm->image)
			saved_remove(machine_host(vm->machine), machine_domain(vm->machine), NULL,
				     NULL);
		vm->image = false;
	}
}

static void let_go_all(struct suspension *suspension)
{
	int64_t now_ns = clock_now_ns();

	for (uint32_t i = 0; i < suspension->settings.count; i++)
		machine_let_go(suspension->vms[i].machine);
	forget_images(suspension);
	suspension->events->runs(now_ns, suspension->data);
}

static void end(struct suspension *suspension, enum suspension_end how)
{
	g_autofree char *reason = g_steal_pointer(&suspension->reason);

	suspension->events->ended(how, reason, suspension->data);
}

static void enter_quieting(struct suspension *suspension)
{
	if (suspension->events->is_quiet(suspension->data))
		fire(suspension, SUSPENSION_EVENT_DONE, NULL);
}

static void enter_freezing(struct suspension *suspension)
{
	for (uint32_t i = 0; i < suspension->settings.count; i++)
		machine_hold(suspension->vms[i].machine);
	run_step(suspension);
}

static void enter_counting(struct suspension *suspension)
{
	suspension->record->frozen_ns = clock_now_ns();
	suspension->counted = false;
	log_info("task '%s': frozen after %.3f s", suspension->task,
		 clock_elapsed_s(suspension->record->requested_ns,
				 suspension->record->frozen_ns));
	suspension->events->stopped(suspension->record->frozen_ns, suspension->data);
}

static void enter_leaving(struct suspension *suspension)
{
	measure_skew(suspension);
	vacate_all(suspension);
	wait_for_nodes(suspension);
}

static void enter_clocking(struct suspension *suspension)
{
	suspension->record->running_ns = clock_now_ns();
	log_info("task '%s': goes on after %.3f s", suspension->task,
		 clock_elapsed_s(suspension->record->resume_requested_ns,
				 suspension->record->running_ns));
	let_go_all(suspension);
	pool_tidy(suspension->settings.pool);
	if (suspension->step == SUSPENSION_CLOCKING)
		run_step(suspension);
}

static void enter_retreating(struct suspension *suspension)
{
	vacate_all(suspension);
	wait_for_nodes(suspension);
}

static void enter_lost(struct suspension *suspension)
{
	end(suspension, SUSPENSION_END_LOST);
}

/* `event` is what led to running, by whichever way. */
static void enter_running(struct suspension *suspension, enum suspension_step previous,
			  enum suspension_event event)
{
	if (event == SUSPENSION_EVENT_ABORT)
		return;
	if (previous == SUSPENSION_THAWING)
		let_go_all(suspension);
	if (previous == SUSPENSION_CLOCKING) {
		suspension->record->resumed_ns = clock_now_ns();
		g_clear_pointer(&suspension->reason, g_free);
		end(suspension, SUSPENSION_END_RESUMED);
	} else {
		end(suspension, SUSPENSION_END_STAYED);
	}
}

static void enter_suspended(struct suspension *suspension, enum suspension_step previous)
{
	bool stayed = previous == SUSPENSION_RETREATING;

	if (!stayed)
		suspension->record->suspended_ns = clock_now_ns();
	end(suspension, stayed ? SUSPENSION_END_STAYED : SUSPENSION_END_SUSPENDED);
}

static void finish_doom(struct suspension *suspension)
{
	suspension->generation++;
	suspension->step = SUSPENSION_LOST;
	for (uint32_t i = 0; i < suspension->settings.count; i++) {
		struct vm *vm = &suspension->vms[i];

		if (vm->moving)
			pool_give_up(suspension->settings.pool, vm->machine, vm->node);
		if (is_elsewhere(vm) && node_machine(vm->node) == vm->machine)
			pool_abandon(suspension->settings.pool, vm->node,
				     "its task ended on the way there");
		vm->moving = false;
		machine_stowed(vm->machine, false);
	}
	forget_images(suspension);
	suspension->events->doomed(suspension->data);
}

static void enter(struct suspension *suspension, enum suspension_step previous,
		  enum suspension_event event)
{
	switch (suspension->step) {
	case SUSPENSION_QUIETING:
		enter_quieting(suspension);
		return;
	case SUSPENSION_FREEZING:
		enter_freezing(suspension);
		return;
	case SUSPENSION_COUNTING:
		enter_counting(suspension);
		return;
	case SUSPENSION_LEAVING:
		enter_leaving(suspension);
		return;
	case SUSPENSION_MOVING:
		enter_moving(suspension);
		return;
	case SUSPENSION_SUSPENDED:
		enter_suspended(suspension, previous);
		return;
	case SUSPENSION_CLOCKING:
		enter_clocking(suspension);
		return;
	case SUSPENSION_RETREATING:
		enter_retreating(suspension);
		return;
	case SUSPENSION_RUNNING:
		enter_running(suspension, previous, event);
		return;
	case SUSPENSION_LOST:
		enter_lost(suspension);
		return;
	default:
		run_step(suspension);
	}
}

static gboolean limit_reached(gpointer data)
{
	struct suspension *suspension = data;
	g_autofree char *reason =
		g_strdup_printf("%s took longer than %u s", suspension_step_name(suspension->step),
				suspension_step_limit_s(suspension->step));

	suspension->limit_source = 0;
	fire(suspension, SUSPENSION_EVENT_LIMIT, reason);
	return G_SOURCE_REMOVE;
}

static void clear_sources(struct suspension *suspension)
{
	g_clear_handle_id(&suspension->limit_source, g_source_remove);
	g_clear_handle_id(&suspension->still_source, g_source_remove);
	for (uint32_t i = 0; i < suspension->settings.count; i++)
		g_clear_handle_id(&suspension->vms[i].again_source, g_source_remove);
}

static void fire(struct suspension *suspension, enum suspension_event event, const char *reason)
{
	enum suspension_step previous = suspension->step;
	enum suspension_step next;
	unsigned limit_s;

	if (!suspension_step_next(previous, event, &next)) {
		log_debug("task '%s': '%s' means nothing while %s", suspension->task,
			  suspension_event_name(event), suspension_step_name(previous));
		return;
	}
	log_debug("task '%s': %s -> %s by '%s'", suspension->task, suspension_step_name(previous),
		  suspension_step_name(next), suspension_event_name(event));
	if (reason)
		keep_reason(suspension, reason);
	clear_sources(suspension);
	if (suspension->dooming) {
		finish_doom(suspension);
		return;
	}
	suspension->step = next;
	suspension->generation++;
	limit_s = suspension_step_limit_s(next);
	if (limit_s > 0)
		suspension->limit_source =
			g_timeout_add_seconds(limit_s, limit_reached, suspension);
	enter(suspension, previous, event);
}

/* Life. */

struct suspension *suspension_new(const struct suspension_settings *settings,
				  const struct suspension_events *events, void *data)
{
	struct suspension *suspension = g_new0(struct suspension, 1);

	suspension->settings = *settings;
	suspension->task = g_strdup(settings->task);
	suspension->events = events;
	suspension->data = data;
	suspension->vms = g_new0(struct vm, settings->count);
	for (uint32_t i = 0; i < settings->count; i++)
		suspension->vms[i] = (struct vm){
			.suspension = suspension,
			.index = i,
			.machine = settings->machines[i],
			.node = pool_node(settings->pool, settings->nodes[i]),
			.settled = machine_where(settings->machines[i]),
		};
	return suspension;
}

static void really_free(struct suspension *suspension)
{
	g_free(suspension->vms);
	g_free(suspension->task);
	g_free(suspension->reason);
	g_free(suspension);
}

void suspension_free(struct suspension *suspension)
{
	if (!suspension)
		return;
	clear_sources(suspension);
	suspension->events = NULL;
	suspension->record = NULL;
	suspension->generation++;
	if (suspension->under_way == 0)
		really_free(suspension);
}

/* Requests. */

void suspension_suspend(struct suspension *suspension, struct task_suspension *record)
{
	suspension->record = record;
	fire(suspension, SUSPENSION_EVENT_SUSPEND, NULL);
}

void suspension_resume(struct suspension *suspension)
{
	const uint32_t *nodes = suspension->record->resumed_nodes;

	for (uint32_t i = 0; i < suspension->settings.count; i++) {
		struct vm *vm = &suspension->vms[i];

		vm->node = pool_node(suspension->settings.pool, nodes[i]);
		pool_occupy(suspension->settings.pool, vm->node, vm->machine);
	}
	fire(suspension, SUSPENSION_EVENT_RESUME, NULL);
}

/*
 * The first of `nodes` that is not taken and on the VM's host, or not there if it may be anywhere;
 * count: none.
 */
static uint32_t find_node(const struct vm *vm, const uint32_t *nodes, const bool *taken, bool anywhere)
{
	const struct suspension *suspension = vm->suspension;
	const struct host *host = machine_host(vm->machine);
	uint32_t j;

	for (j = 0; j < suspension->settings.count; j++)
		if (!taken[j] &&
		    (anywhere ||
		     site_host(node_site(pool_node(suspension->settings.pool, nodes[j]))) == host))
			break;
	return j;
}

bool suspension_match_nodes(const struct suspension *suspension, uint32_t *nodes, GError **error)
{
	const struct pool *pool = suspension->settings.pool;
	const uint32_t count = suspension->settings.count;
	g_autofree uint32_t *matched = g_new0(uint32_t, count);
	g_autofree bool *taken = g_new0(bool, count);
	g_autofree bool *done = g_new0(bool, count);

	for (uint32_t i = 0; i < 2 * count; i++) {
		const struct vm *vm = &suspension->vms[i % count];
		uint32_t j = done[i % count] ? count : find_node(vm, nodes, taken, i >= count);

		if (j == count)
			continue;
		if (i >= count &&
		    !pool_may_move(pool, vm->machine, pool_node(pool, nodes[j]), error))
			return false;
		done[i % count] = taken[j] = true;
		matched[i % count] = nodes[j];
	}
	memcpy(nodes, matched, count * sizeof(*nodes));
	return true;
}

void suspension_go_on(struct suspension *suspension)
{
	switch (suspension->step) {
	case SUSPENSION_QUIETING:
		enter_quieting(suspension);
		return;
	case SUSPENSION_COUNTING:
		if (!suspension->counted) {
			suspension->counted = true;
			decide(suspension);
		}
		return;
	case SUSPENSION_LEAVING:
	case SUSPENSION_RETREATING:
		wait_for_nodes(suspension);
		return;
	default:
		return;
	}
}

void suspension_wired(struct suspension *suspension, struct machine *machine, const GError *error)
{
	if (suspension->step != SUSPENSION_WIRING && suspension->step != SUSPENSION_REWIRING)
		return;
	for (uint32_t i = 0; i < suspension->settings.count; i++)
		if (suspension->vms[i].machine == machine)
			vm_done(&suspension->vms[i], error);
}

void suspension_abort(struct suspension *suspension)
{
	fire(suspension, SUSPENSION_EVENT_ABORT, NULL);
}

/* What is on its way to or from a disk, and what comes to the nodes, is waited for. */
static bool is_to_be_awaited(enum suspension_step step)
{
	return step == SUSPENSION_SAVING || step == SUSPENSION_UNSAVING ||
	       step == SUSPENSION_RESTORING || step == SUSPENSION_LEAVING ||
	       step == SUSPENSION_RETREATING || step == SUSPENSION_MOVING ||
	       step == SUSPENSION_LOCATING;
}

/* Those that are on their way to another host come to an end soon. */
static void interrupt_moves(struct suspension *suspension)
{
	for (uint32_t i = 0; i < suspension->settings.count; i++) {
		struct vm *vm = &suspension->vms[i];

		if (vm->moving)
			pool_interrupt(suspension->settings.pool, vm->machine, vm->node, vm->saved);
	}
}

void suspension_doom(struct suspension *suspension)
{
	if (suspension->dooming)
		return;
	suspension->dooming = true;
	/* Until all is still nothing has begun. */
	if (is_to_be_awaited(suspension->step) && suspension->still_source == 0) {
		interrupt_moves(suspension);
		return;
	}
	clear_sources(suspension);
	finish_doom(suspension);
}

enum suspension_step suspension_step(const struct suspension *suspension)
{
	return suspension->step;
}
