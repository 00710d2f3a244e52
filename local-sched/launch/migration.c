/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/launch/migration.h"

#include <string.h>

#include "common/clock.h"
#include "local-sched/hypervisor/agent.h"
#include "local-sched/hypervisor/domain.h"
#include "local-sched/hypervisor/transfer.h"
#include "local-sched/hypervisor/virt_error.h"

#define LOG_SUBSYSTEM "migration"
#include "common/log.h"

#define AGENT_TIMEOUT_S 10
#define AGAIN_MS 250
#define QUIET_MS 50

struct vm {
	struct migration *migration;
	uint32_t index;
	struct machine *machine;
	struct node *from;
	struct node *to;
	bool moving; /* it is on its way to the host of `to`, or perhaps there */
	guint again_source;
};

struct migration {
	char *task;
	struct pool *pool;
	uint32_t count;
	const struct migration_events *events; /* NULL: freed by its owner */
	void *data;
	struct vm *vms; /* count of them */
	struct task_migration *record;
	enum migration_step step;
	guint generation;   /* of the step: late answers to an earlier one do not count */
	uint32_t pending;   /* VMs for which the step is not done */
	bool failed;        /* ... and one for which it was not */
	uint32_t under_way; /* calls to hosts */
	guint limit_source;
	guint quiet_source;
	char *reason; /* the first thing that went wrong since the request */
};

/* A call to a host for one VM. */
struct call {
	struct vm *vm;
	guint generation;
};

static void fire(struct migration *migration, enum migration_event event, const char *reason);
static void really_free(struct migration *migration);

/* Calls. */

static struct call *call_new(struct vm *vm)
{
	struct call *call = g_new0(struct call, 1);

	call->vm = vm;
	call->generation = vm->migration->generation;
	vm->migration->under_way++;
	return call;
}

/* Takes an answer in; NULL: nobody wants it any more. */
static struct vm *answered(struct call *call)
{
	g_autofree struct call *owned = call;
	struct vm *vm = call->vm;
	struct migration *migration = vm->migration;

	migration->under_way--;
	if (migration->events)
		return call->generation == migration->generation ? vm : NULL;
	if (migration->under_way == 0)
		really_free(migration);
	return NULL;
}

static void keep_reason(struct migration *migration, const char *reason)
{
	if (!migration->reason)
		migration->reason = g_strdup(reason);
}

/* The step is done, or has failed, for one VM; with the last one it ends. */
static void vm_done(struct vm *vm, const GError *error)
{
	struct migration *migration = vm->migration;

	if (error) {
		g_autofree char *reason = g_strdup_printf(
			"%s: %s", migration_step_name(migration->step), error->message);

		keep_reason(migration, reason);
		log_warning("task '%s': %s", migration->task, reason);
		migration->failed = true;
	}
	if (--migration->pending == 0)
		fire(migration, migration->failed ? MIGRATION_EVENT_FAIL : MIGRATION_EVENT_DONE,
		     NULL);
}

/* What each step does for a VM; false: nothing is to be done for this one. */
typedef bool (*start_f)(struct vm *vm);
static const start_f starts[MIGRATION_STEPS];

static gboolean again(gpointer data)
{
	struct vm *vm = data;

	vm->again_source = 0;
	starts[vm->migration->step](vm);
	return G_SOURCE_REMOVE;
}

/* A host may be out of reach for a while, an agent until its VM has been set going. */
static void step_answered(gpointer result, const GError *error, gpointer data)
{
	g_autofree char *text = result == HOST_DONE ? NULL : result;
	struct vm *vm = answered(data);
	int code = vm && vm->migration->step == MIGRATION_CLOCKING ? VIRT_ERROR_REFUSED : 0;

	if (!vm)
		return;
	if (error && (code ? !g_error_matches(error, VIRT_ERROR, code) :
			     g_error_matches(error, VIRT_ERROR, VIRT_ERROR_CONNECTION)))
		vm->again_source = g_timeout_add(AGAIN_MS, again, vm);
	else
		vm_done(vm, error);
}

/* Does the step for all VMs, side by side. */
static void run_step(struct migration *migration)
{
	guint generation = migration->generation;

	/* One more, so that it does not end before all were started. */
	migration->pending = migration->count + 1;
	migration->failed = false;
	for (uint32_t i = 0; i < migration->count; i++)
		if (!starts[migration->step](&migration->vms[i]))
			migration->pending--;
	if (migration->generation == generation)
		vm_done(&migration->vms[0], NULL);
}

/* Moving. */

static bool is_elsewhere(const struct vm *vm)
{
	return node_site(vm->from) != node_site(vm->to);
}

static bool has_moved(const struct vm *vm)
{
	return vm->migration->record->vms[vm->index].moved;
}

static void vm_arrived(struct vm *vm)
{
	vm->moving = false;
	task_migration_set_moved(vm->migration->record, vm->index, true);
	pool_arrived(vm->migration->pool, vm->machine, vm->to);
	machine_stowed(vm->machine, false);
}

/* It runs on; whatever came of it at the other host is removed. */
static void vm_stayed(struct vm *vm)
{
	vm->moving = false;
	pool_give_up(vm->migration->pool, vm->machine, vm->to);
	machine_expect(vm->machine, NULL);
	machine_stowed(vm->machine, false);
}

static void move_answered(gpointer result, const GError *error, gpointer data)
{
	g_autofree struct transfer_took *took = result;
	struct vm *vm = answered(data);
	struct task_migration_vm *times;

	if (!vm)
		return;
	if (!error) {
		times = &vm->migration->record->vms[vm->index];
		times->total_ns = took->total_ns;
		times->downtime_ns = took->downtime_ns;
		log_info("%s: moved to host '%s' in %.3f s, down for %.3f s",
			 machine_name(vm->machine), times->to_host, (double)took->total_ns * 1e-9,
			 (double)took->downtime_ns * 1e-9);
		vm_arrived(vm);
	}
	vm_done(vm, error);
}

static bool move_vm(struct vm *vm)
{
	if (vm->from == vm->to)
		return false;
	if (!is_elsewhere(vm)) {
		task_migration_set_moved(vm->migration->record, vm->index, true);
		return false;
	}
	vm->moving = true;
	machine_stowed(vm->machine, true);
	pool_move_live(vm->migration->pool, vm->machine, vm->to, move_answered, call_new(vm));
	return true;
}

/* `result` is one of enum transfer_place. */
static void located(gpointer result, const GError *error, gpointer data)
{
	struct vm *vm = answered(data);

	if (!vm)
		return;
	if (error && g_error_matches(error, VIRT_ERROR, VIRT_ERROR_CONNECTION)) {
		vm->again_source = g_timeout_add(AGAIN_MS, again, vm);
		return;
	}
	if (!error && GPOINTER_TO_INT(result) == TRANSFER_TO)
		vm_arrived(vm);
	else if (!error)
		vm_stayed(vm);
	vm_done(vm, error);
}

static bool locate_vm(struct vm *vm)
{
	if (!vm->moving)
		return false;
	pool_find_live(vm->migration->pool, vm->machine, vm->to, located, call_new(vm));
	return true;
}

/* At the new nodes. */

static bool wire_vm(struct vm *vm)
{
	if (!machine_task(vm->machine))
		return false; /* it died */
	machine_rewire(vm->machine);
	return true;
}

static bool place_vm(struct vm *vm)
{
	const struct machine_place *place = machine_where(vm->machine);
	struct cpu_cap cap;

	if (!has_moved(vm))
		return false;
	cap = machine_cap_at(vm->machine, place);
	domain_apply_cap(machine_host(vm->machine), HOST_LANE_ACT, machine_domain(vm->machine),
			 &cap, machine_cores_at(vm->machine, place), step_answered,
			 call_new(vm));
	return true;
}

static bool set_clock(struct vm *vm)
{
	g_autofree char *request = agent_set_time_request(g_get_real_time() * 1000);

	if (!has_moved(vm) || !is_elsewhere(vm))
		return false;
	machine_agent(vm->machine, request, AGENT_TIMEOUT_S, step_answered, call_new(vm));
	return true;
}

static const start_f starts[MIGRATION_STEPS] = {
	[MIGRATION_MOVING] = move_vm,   [MIGRATION_LOCATING] = locate_vm,
	[MIGRATION_WIRING] = wire_vm,   [MIGRATION_PLACING] = place_vm,
	[MIGRATION_CLOCKING] = set_clock,
};

/* Steps. */

static gboolean look_whether_quiet(gpointer data)
{
	struct migration *migration = data;

	if (!migration->events->is_quiet(migration->data))
		return G_SOURCE_CONTINUE;
	migration->quiet_source = 0;
	fire(migration, MIGRATION_EVENT_DONE, NULL);
	return G_SOURCE_REMOVE;
}

static void enter_quieting(struct migration *migration)
{
	if (migration->events->is_quiet(migration->data))
		fire(migration, MIGRATION_EVENT_DONE, NULL);
	else
		migration->quiet_source = g_timeout_add(QUIET_MS, look_whether_quiet, migration);
}

static void enter_moving(struct migration *migration)
{
	migration->record->begun_ns = clock_now_ns();
	for (uint32_t i = 0; i < migration->count; i++)
		machine_hold(migration->vms[i].machine);
	migration->events->begins(migration->data);
	run_step(migration);
}

/* Gives up the one of its two nodes that each VM is not at. */
static void leave_nodes(struct migration *migration)
{
	for (uint32_t i = 0; i < migration->count; i++) {
		struct vm *vm = &migration->vms[i];

		if (vm->from == vm->to)
			continue;
		if (has_moved(vm))
			pool_leave(migration->pool, vm->from, vm->to, vm->machine);
		else
			pool_leave(migration->pool, vm->to, vm->from, vm->machine);
	}
	pool_tidy(migration->pool);
}

static void wait_for_nodes(struct migration *migration)
{
	for (uint32_t i = 0; i < migration->count; i++) {
		const struct vm *vm = &migration->vms[i];

		if (!node_is_settled(has_moved(vm) ? vm->from : vm->to) && vm->from != vm->to)
			return;
	}
	fire(migration, MIGRATION_EVENT_DONE, NULL);
}

static void enter_leaving(struct migration *migration)
{
	migration->record->moved_ns = clock_now_ns();
	for (uint32_t i = 0; i < migration->count; i++) {
		machine_expect(migration->vms[i].machine, NULL);
		machine_let_go(migration->vms[i].machine);
	}
	leave_nodes(migration);
	migration->events->moved(migration->data);
	if (migration->step == MIGRATION_LEAVING)
		wait_for_nodes(migration);
}

static bool all_moved(const struct migration *migration)
{
	for (uint32_t i = 0; i < migration->count; i++)
		if (!has_moved(&migration->vms[i]) && migration->vms[i].from != migration->vms[i].to)
			return false;
	return true;
}

static void enter_idle(struct migration *migration, enum migration_event event)
{
	g_autofree char *reason = g_steal_pointer(&migration->reason);
	bool moved = all_moved(migration);

	if (event == MIGRATION_EVENT_ABORT)
		return;
	if (event == MIGRATION_EVENT_LIMIT)
		leave_nodes(migration); /* they never went */
	migration->record->settled_ns = clock_now_ns();
	if (!moved)
		migration->record->reason = g_strdup(reason ? reason : "for no known reason");
	migration->events->ended(moved ? MIGRATION_END_MOVED : MIGRATION_END_STAYED,
				 migration->record->reason, migration->data);
}

/* Its VMs are held until the task gives them back, which removes them. */
static void enter_lost(struct migration *migration)
{
	g_autofree char *reason = g_steal_pointer(&migration->reason);

	for (uint32_t i = 0; i < migration->count; i++) {
		struct vm *vm = &migration->vms[i];

		if (vm->moving)
			vm_stayed(vm);
		machine_expect(vm->machine, NULL);
	}
	leave_nodes(migration);
	migration->events->ended(MIGRATION_END_LOST, reason, migration->data);
}

static void enter(struct migration *migration, enum migration_event event)
{
	switch (migration->step) {
	case MIGRATION_QUIETING:
		enter_quieting(migration);
		return;
	case MIGRATION_MOVING:
		enter_moving(migration);
		return;
	case MIGRATION_LEAVING:
		enter_leaving(migration);
		return;
	case MIGRATION_IDLE:
		enter_idle(migration, event);
		return;
	case MIGRATION_LOST:
		enter_lost(migration);
		return;
	default:
		run_step(migration);
	}
}

static gboolean limit_reached(gpointer data)
{
	struct migration *migration = data;
	g_autofree char *reason =
		g_strdup_printf("%s took longer than %u s", migration_step_name(migration->step),
				migration_step_limit_s(migration->step));

	migration->limit_source = 0;
	fire(migration, MIGRATION_EVENT_LIMIT, reason);
	return G_SOURCE_REMOVE;
}

static void clear_sources(struct migration *migration)
{
	g_clear_handle_id(&migration->limit_source, g_source_remove);
	g_clear_handle_id(&migration->quiet_source, g_source_remove);
	for (uint32_t i = 0; i < migration->count; i++)
		g_clear_handle_id(&migration->vms[i].again_source, g_source_remove);
}

static void fire(struct migration *migration, enum migration_event event, const char *reason)
{
	enum migration_step previous = migration->step;
	enum migration_step next;
	unsigned limit_s;

	if (!migration_step_next(previous, event, &next))
		return;
	log_debug("task '%s': migration: %s -> %s", migration->task, migration_step_name(previous),
		  migration_step_name(next));
	if (reason)
		keep_reason(migration, reason);
	clear_sources(migration);
	migration->step = next;
	migration->generation++;
	limit_s = migration_step_limit_s(next);
	if (limit_s > 0)
		migration->limit_source = g_timeout_add_seconds(limit_s, limit_reached, migration);
	enter(migration, event);
}

/* Life. */

struct migration *migration_new(const struct migration_settings *settings,
				const struct migration_events *events, void *data)
{
	struct migration *migration = g_new0(struct migration, 1);

	migration->task = g_strdup(settings->task);
	migration->pool = settings->pool;
	migration->count = settings->count;
	migration->events = events;
	migration->data = data;
	migration->vms = g_new0(struct vm, settings->count);
	for (uint32_t i = 0; i < settings->count; i++)
		migration->vms[i] = (struct vm){
			.migration = migration, .index = i, .machine = settings->machines[i]};
	return migration;
}

static void really_free(struct migration *migration)
{
	g_free(migration->vms);
	g_free(migration->task);
	g_free(migration->reason);
	g_free(migration);
}

void migration_free(struct migration *migration)
{
	if (!migration)
		return;
	clear_sources(migration);
	migration->events = NULL;
	migration->record = NULL;
	if (migration->under_way == 0)
		really_free(migration);
}

/* Requests. */

void migration_start(struct migration *migration, struct task_migration *record)
{
	migration->record = record;
	g_clear_pointer(&migration->reason, g_free);
	for (uint32_t i = 0; i < migration->count; i++) {
		struct vm *vm = &migration->vms[i];
		struct task_migration_vm *told = &record->vms[i];

		vm->from = pool_node(migration->pool, told->from);
		vm->to = pool_node(migration->pool, told->to);
		told->from_host = g_strdup(host_name(site_host(node_site(vm->from))));
		told->to_host = g_strdup(host_name(site_host(node_site(vm->to))));
		if (vm->from != vm->to)
			pool_occupy(migration->pool, vm->to, vm->machine);
	}
	fire(migration, MIGRATION_EVENT_START, NULL);
}

/* How near a node is to one that a VM has; 0: the same. */
static int distance(const struct pool *pool, uint32_t from, uint32_t to)
{
	if (from == to)
		return 0;
	return node_site(pool_node(pool, from)) == node_site(pool_node(pool, to)) ? 1 : 2;
}

bool migration_match_nodes(const struct migration_settings *settings, const uint32_t *from,
			   uint32_t *to, GError **error)
{
	const uint32_t count = settings->count;
	g_autofree uint32_t *matched = g_new0(uint32_t, count);
	g_autofree bool *taken = g_new0(bool, count);
	g_autofree bool *done = g_new0(bool, count);

	for (int near = 0; near <= 2; near++) {
		for (uint32_t k = 0; k < count * count; k++) {
			const uint32_t i = k / count;
			const uint32_t j = k % count;

			if (done[i] || taken[j] || distance(settings->pool, from[i], to[j]) != near)
				continue;
			if (near == 2 &&
			    !pool_may_move(settings->pool, settings->machines[i],
					   pool_node(settings->pool, to[j]), error))
				return false;
			done[i] = taken[j] = true;
			matched[i] = to[j];
		}
	}
	memcpy(to, matched, count * sizeof(*to));
	return true;
}

void migration_go_on(struct migration *migration)
{
	if (migration->step == MIGRATION_LEAVING)
		wait_for_nodes(migration);
}

void migration_wired(struct migration *migration, struct machine *machine, const GError *error)
{
	if (migration->step != MIGRATION_WIRING)
		return;
	for (uint32_t i = 0; i < migration->count; i++) {
		struct vm *vm = &migration->vms[i];

		if (vm->machine != machine)
			continue;
		if (error && g_error_matches(error, VIRT_ERROR, VIRT_ERROR_CONNECTION))
			vm->again_source = g_timeout_add(AGAIN_MS, again, vm);
		else
			vm_done(vm, error);
	}
}

void migration_abort(struct migration *migration)
{
	for (uint32_t i = 0; i < migration->count && migration->step == MIGRATION_MOVING; i++)
		if (migration->vms[i].moving)
			pool_abort_live(migration->pool, migration->vms[i].machine,
					migration->vms[i].to);
	if (migration->step == MIGRATION_QUIETING)
		leave_nodes(migration);
	fire(migration, MIGRATION_EVENT_ABORT, NULL);
}

enum migration_step migration_step(const struct migration *migration)
{
	return migration->step;
}
