/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The state machine of a VM: an event leads to another state (vm_state.h), whose action begins, and
 * the action's end is the next event.
 */
#include "local-sched/hypervisor/vm_private.h"

#include "common/clock.h"
#include "common/platform.h"
#include "local-sched/hypervisor/agent.h"
#include "local-sched/hypervisor/domain.h"
#include "local-sched/hypervisor/vm_requests.h"
#include "local-sched/hypervisor/virt_error.h"

#define LOG_SUBSYSTEM "vm"
#include "common/log.h"

#define AGAIN_MS 1000
#define POLL_MS 50
#define HEALTH_S 30
#define HEALTH_FAILURES 2
#define SYNC_ID 0x76627364

/* Ends of calls and of waits. */

static gboolean again(gpointer data)
{
	struct vm *vm = data;

	vm->step_source = 0;
	vm_enter(vm);
	return G_SOURCE_REMOVE;
}

static void step_later(struct vm *vm, guint delay_ms)
{
	if (vm->step_source == 0)
		vm->step_source = platform_after_ms(vm_platform(vm), delay_ms, again, vm);
}

bool vm_failed(struct vm *vm, const GError *error)
{
	if (!error)
		return false;
	if (g_error_matches(error, VIRT_ERROR, VIRT_ERROR_CONNECTION))
		step_later(vm, AGAIN_MS);
	else
		vm_fire(vm, VM_EVENT_FAIL, error->message);
	return true;
}

static void simple_answer(struct vm *vm, gpointer result, const GError *error)
{
	if (!vm_failed(vm, error))
		vm_fire(vm, VM_EVENT_DONE, NULL);
}

/* The states' actions. */

static gboolean retry(gpointer data)
{
	struct vm *vm = data;

	vm->step_source = 0;
	vm_fire(vm, VM_EVENT_RETRY, NULL);
	return G_SOURCE_REMOVE;
}

static gboolean report_stuck(gpointer data)
{
	struct vm *vm = data;

	vm->step_source = 0;
	vm->events->stuck(vm, vm->data);
	return G_SOURCE_REMOVE;
}

static void enter_down(struct vm *vm)
{
	guint delay_s = 0;

	if (!vm->wanted)
		return;
	if (vm->boot_inhibited) {
		vm->step_source =
			platform_soon(vm_platform(vm), G_PRIORITY_DEFAULT_IDLE, report_stuck, vm);
		return;
	}
	if (vm->failures > 0)
		delay_s = MIN(1U << MIN(vm->failures - 1, 10U), (guint)VM_BACKOFF_MAX_S);
	vm->step_source = platform_after_ms(vm_platform(vm), delay_s * 1000, retry, vm);
}

static void on_turn(void *data)
{
	vm_fire(data, VM_EVENT_TURN, NULL);
}

static void enter_queued(struct vm *vm)
{
	boot_queue_enter(vm->settings.queue, on_turn, vm);
}

static void found_answer(struct vm *vm, gpointer result, const GError *error)
{
	const GPtrArray *found = result;

	if (vm_failed(vm, error))
		return;
	for (guint i = 0; i < found->len; i++) {
		const struct domain_info *info = found->pdata[i];

		if (g_str_equal(info->name, vm->settings.domain) &&
		    g_strcmp0(info->keeper, vm->settings.keeper) == 0) {
			vm_fire(vm, VM_EVENT_DONE, NULL);
			return;
		}
	}
	vm_fire(vm, VM_EVENT_DIED, "its VM died as soon as it was started");
}

static void created_answer(struct vm *vm, gpointer result, const GError *error)
{
	if (vm_failed(vm, error))
		return;
	if (vm->doubtful)
		domain_list(vm->settings.host, vm->settings.domain, vm_call_listed,
			    vm_call_new(vm, found_answer));
	else
		vm_fire(vm, VM_EVENT_DONE, NULL);
}

static void enter_creating(struct vm *vm)
{
	vm->clean = true;
	vm->late_clock = false;
	vm->adopted = false;
	vm->spread_core = -1;
	vm->owner = VM_OWNER_NONE;
	vm->share = 1;
	vm->shared = false;
	vm->agent_up = false;
	vm->doubtful = false;
	vm->boot_start_ns = platform_now_ns(vm_platform(vm));
	domain_create(vm->settings.host, vm->settings.domain, vm->settings.keeper, vm->xml,
		      vm_call_answered, vm_call_new(vm, created_answer));
}

static uint64_t cpu_time_of(const struct vm *vm, const GPtrArray *times)
{
	for (guint i = 0; i < times->len; i++) {
		const struct domain_cpu *cpu = times->pdata[i];

		if (g_str_equal(cpu->name, vm->settings.domain))
			return cpu->cpu_ns;
	}
	return 0;
}

static void check_boot_later(struct vm *vm);

static void look_answer(struct vm *vm, gpointer result, const GError *error)
{
	uint64_t cpu_ns = error ? 0 : cpu_time_of(vm, result);
	const char *hangs =
		boot_watch_look(&vm->boot_watch, platform_now_ns(vm_platform(vm)), cpu_ns);
	g_autofree char *reason = NULL;

	if (!hangs) {
		check_boot_later(vm);
		return;
	}
	reason = g_strconcat("the guest stopped booting: ", hangs, NULL);
	vm_fire(vm, VM_EVENT_FAIL, reason);
}

static gboolean check_boot(gpointer data)
{
	struct vm *vm = data;

	vm->step_source = 0;
	domain_cpu_times(vm->settings.host, vm_call_listed, vm_call_new(vm, look_answer));
	return G_SOURCE_REMOVE;
}

static void check_boot_later(struct vm *vm)
{
	vm->step_source = platform_after_s(vm_platform(vm), BOOT_WATCH_INTERVAL_S, check_boot, vm);
}

static void enter_awaiting(struct vm *vm)
{
	boot_watch_init(&vm->boot_watch, vm->settings.boot_timeout_s);
	if (vm->agent_up)
		vm_fire(vm, VM_EVENT_AGENT, NULL);
	else
		check_boot_later(vm);
}

/*
 * A guest that was adopted while it booted has no agent yet: asks again until the boot's deadline.
 */
static void greeting_failed(struct vm *vm, const char *message)
{
	log_debug_of(LOG_NODE(vm->settings.name), "agent does not answer yet: %s", message);
	step_later(vm, AGAIN_MS);
}

/* A guest whose clock stays late is still usable. */
static void clock_set(struct vm *vm, gpointer result, const GError *error)
{
	g_autoptr(GError) wrong = NULL;

	if (error || !agent_parse_empty(result, &wrong))
		log_warning_of(LOG_NODE(vm->settings.name), "its clock could not be set: %s",
			       error ? error->message : wrong->message);
	vm->late_clock = false;
	vm_fire(vm, VM_EVENT_DONE, NULL);
}

static void set_clock(struct vm *vm)
{
	g_autofree char *request = agent_set_time_request(platform_utc_us(vm_platform(vm)) * 1000);

	vm_request(vm, request, vm_call_answered, vm_call_new(vm, clock_set));
}

static void ping_answer(struct vm *vm, gpointer result, const GError *error)
{
	g_autoptr(GError) wrong = NULL;

	if (error || !agent_parse_empty(result, &wrong))
		greeting_failed(vm, error ? error->message : wrong->message);
	else if (vm->late_clock)
		set_clock(vm);
	else
		vm_fire(vm, VM_EVENT_DONE, NULL);
}

static void sync_answer(struct vm *vm, gpointer result, const GError *error)
{
	g_autofree char *request = agent_ping_request();
	g_autoptr(GError) wrong = NULL;

	if (error || !agent_parse_sync(result, SYNC_ID, &wrong))
		greeting_failed(vm, error ? error->message : wrong->message);
	else
		vm_request(vm, request, vm_call_answered, vm_call_new(vm, ping_answer));
}

static void enter_greeting(struct vm *vm)
{
	g_autofree char *request = agent_sync_request(SYNC_ID);

	vm_request(vm, request, vm_call_answered, vm_call_new(vm, sync_answer));
}

static void sweep_answer(struct vm *vm, gpointer result, const GError *error)
{
	g_autoptr(GError) wrong = NULL;
	struct agent_status status;

	if (vm_failed(vm, error))
		return;
	if (!agent_parse_status(result, &status, &wrong)) {
		vm_fire(vm, VM_EVENT_FAIL, wrong->message);
		return;
	}
	if (!status.exited) {
		step_later(vm, POLL_MS);
		return;
	}
	if (status.status != 0) {
		vm_fire(vm, VM_EVENT_FAIL, "a rank cannot be killed");
	} else {
		vm->sweep_core++;
		vm->sweep_pid = 0;
		vm_enter(vm);
	}
	agent_status_clear(&status);
}

static void sweep_started(struct vm *vm, gpointer result, const GError *error)
{
	g_autoptr(GError) wrong = NULL;

	if (vm_failed(vm, error))
		return;
	if (!agent_parse_exec(result, &vm->sweep_pid, &wrong))
		vm_fire(vm, VM_EVENT_FAIL, wrong->message);
	else
		vm_enter(vm);
}

static void swept(struct vm *vm)
{
	vm->clean = true;
	vm_fire(vm, vm->place ? VM_EVENT_DONE : VM_EVENT_PARK, NULL);
}

/* For each core in turn: starts `virtbed-rank kill`, and asks until it has ended. */
static void enter_sweeping(struct vm *vm)
{
	g_autofree char *request = NULL;
	g_autofree char *core = g_strdup_printf("%u", vm->sweep_core);
	const char *const arguments[] = {"/usr/bin/virtbed-rank", "kill", core, NULL};

	if (vm->clean || vm->sweep_core >= vm->cores) {
		swept(vm);
		return;
	}
	request = vm->sweep_pid ? agent_status_request(vm->sweep_pid)
				: agent_exec_request(arguments, NULL, NULL);
	vm_request(vm, request, vm_call_answered,
		   vm_call_new(vm, vm->sweep_pid ? sweep_answer : sweep_started));
}

/* The quota of an earlier share is gone. */
static void capped(struct vm *vm, gpointer result, const GError *error)
{
	if (!error && vm->share >= 1)
		vm->shared = false;
	simple_answer(vm, result, error);
}

static void enter_capping(struct vm *vm)
{
	const struct vm_place *place = vm->place;
	struct cpu_cap cap;

	if (!place) {
		vm_fire(vm, VM_EVENT_PARK, NULL);
		return;
	}
	cap = vm_cap_at(vm, place);
	domain_apply_cap(vm->settings.host, vm->settings.domain, &cap, vm_cores_at(vm, place),
			 vm_call_answered, vm_call_new(vm, capped));
}

static void enter_wiring(struct vm *vm)
{
	vm->wired = 0;
	for (uint32_t i = 0; i < vm->cores; i++)
		channel_open(vm->channels[i]);
}

void vm_close_ports(struct vm *vm)
{
	for (uint32_t i = 0; i < vm->cores; i++)
		channel_close(vm->channels[i]);
}

static gboolean health_check(gpointer data);

static void health_answer(struct vm *vm, gpointer result, const GError *error)
{
	if (error && !g_error_matches(error, VIRT_ERROR, VIRT_ERROR_CONNECTION) &&
	    !vm_is_excused(vm, vm->health_ns, error)) {
		if (++vm->unhealthy >= HEALTH_FAILURES) {
			vm_fire(vm, VM_EVENT_FAIL, "the guest agent hangs");
			return;
		}
	} else {
		vm->unhealthy = 0;
		vm->failures = 0;
	}
	vm->step_source = platform_after_s(vm_platform(vm), HEALTH_S, health_check, vm);
}

static gboolean health_check(gpointer data)
{
	struct vm *vm = data;
	g_autofree char *request = agent_ping_request();

	vm->step_source = 0;
	vm->health_ns = platform_now_ns(vm_platform(vm));
	vm_request(vm, request, vm_call_answered, vm_call_new(vm, health_answer));
	return G_SOURCE_REMOVE;
}

static void settle_user(struct vm *vm)
{
	const struct vm_user *user = g_steal_pointer(&vm->user);

	g_clear_pointer(&vm->task, g_free);
	if (user)
		user->settled(vm, vm->user_data);
}

static void enter_ready(struct vm *vm)
{
	if (vm->boot_start_ns) {
		vm->boot_s = clock_elapsed_s(vm->boot_start_ns, platform_now_ns(vm_platform(vm)));
		vm->boot_start_ns = 0;
		log_info_of(LOG_NODE(vm->settings.name), "ready, %.1f s after its VM was started",
			    vm->boot_s);
	}
	g_clear_pointer(&vm->reason, g_free);
	vm->adopted = false;
	vm->unhealthy = 0;
	vm->step_source = platform_after_s(vm_platform(vm), HEALTH_S, health_check, vm);
	vm->events->ready(vm, vm->data);
	settle_user(vm);
}

static void enter_removing(struct vm *vm)
{
	vm_close_ports(vm);
	domain_destroy(vm->settings.host, vm->settings.domain, vm->settings.keeper,
		       vm_call_answered, vm_call_new(vm, simple_answer));
}

static void enter_parking(struct vm *vm)
{
	vm->adopted = false;
	vm_close_ports(vm);
	domain_freeze(vm->settings.host, vm->settings.domain, vm_call_answered,
		      vm_call_new(vm, simple_answer));
}

static void enter_parked(struct vm *vm)
{
	if (vm->boot_start_ns) {
		log_info_of(LOG_NODE(vm->settings.name), "a spare VM, %.1f s after it was started",
			    clock_elapsed_s(vm->boot_start_ns, platform_now_ns(vm_platform(vm))));
		vm->boot_start_ns = 0;
	}
	vm->failures = 0;
	if (vm->place)
		vm_fire(vm, VM_EVENT_UNPARK, NULL);
}

static void enter_unparking(struct vm *vm)
{
	vm->late_clock = true;
	domain_thaw(vm->settings.host, vm->settings.domain, vm_call_answered,
		    vm_call_new(vm, simple_answer));
}

static void enter_nothing(struct vm *vm)
{
}

static void (*const actions[VM_STATES])(struct vm *vm) = {
	[VM_DOWN] = enter_down,         [VM_QUEUED] = enter_queued,
	[VM_CREATING] = enter_creating, [VM_AWAITING] = enter_awaiting,
	[VM_WAKING] = enter_unparking,  [VM_AGENT_SYNC] = enter_greeting,
	[VM_SWEEPING] = enter_sweeping, [VM_CAPPING] = enter_capping,
	[VM_WIRING] = enter_wiring,     [VM_PARKING] = enter_parking,
	[VM_READY] = enter_ready,       [VM_BUSY] = enter_nothing,
	[VM_HELD] = enter_nothing,      [VM_STANDBY] = enter_parked,
	[VM_REMOVING] = enter_removing, [VM_DETACHED] = enter_nothing,
};

void vm_enter(struct vm *vm)
{
	actions[vm->state](vm);
}

/* The transitions. */

bool vm_is_booting(enum vm_state state)
{
	return state >= VM_CREATING && state <= VM_PARKING;
}

static bool is_gone(enum vm_state state)
{
	return state == VM_DOWN || state == VM_REMOVING || state == VM_DETACHED;
}

static gboolean boot_expired(gpointer data)
{
	struct vm *vm = data;
	g_autofree char *reason =
		g_strdup_printf("did not get ready within %.0f s (%s)", vm->settings.boot_timeout_s,
				vm_state_name(vm->state));

	vm->deadline_source = 0;
	vm_fire(vm, VM_EVENT_FAIL, reason);
	return G_SOURCE_REMOVE;
}

static void update_deadline(struct vm *vm, enum vm_state previous)
{
	if (vm_is_booting(vm->state) && vm->deadline_source == 0)
		vm->deadline_source = platform_after_ms(vm_platform(vm),
							(guint)(vm->settings.boot_timeout_s * 1000),
							boot_expired, vm);
	if (!vm_is_booting(vm->state))
		g_clear_handle_id(&vm->deadline_source, g_source_remove);
	if (!vm_is_booting(vm->state) && vm->state != VM_QUEUED &&
	    (vm_is_booting(previous) || previous == VM_QUEUED))
		boot_queue_leave(vm->settings.queue, vm);
}

/* Whether the task had the VM in `state` and did not give it back by `event`. */
static bool had_task(enum vm_state state, enum vm_event event)
{
	return state == VM_BUSY ||
	       (state == VM_HELD && event != VM_EVENT_RELEASE && event != VM_EVENT_SWEEP);
}

/* Reports to the owner and the task that the VM is gone. */
static void announce_gone(struct vm *vm, bool had)
{
	const struct vm_user *user = vm->user;

	g_clear_handle_id(&vm->agent_source, g_source_remove);
	g_clear_handle_id(&vm->reopen_source, g_source_remove);
	vm->rewiring = false;
	vm->events->down(vm, vm->reason, vm->data);
	if (!user)
		return;
	if (had) {
		vm->user = NULL;
		g_clear_pointer(&vm->task, g_free);
		user->lost(vm, vm->reason, vm->user_data);
	} else {
		settle_user(vm);
	}
}

/* Whether the transition is a failure, after which the next boot waits longer. */
static bool is_failure(enum vm_state state, enum vm_event event)
{
	if (state == VM_REMOVING || state == VM_DETACHED)
		return false;
	return event == VM_EVENT_FAIL || event == VM_EVENT_DIED;
}

void vm_fire(struct vm *vm, enum vm_event event, const char *reason)
{
	const enum vm_state previous = vm->state;
	enum vm_state next;

	if (vm->stopped)
		return;
	if (!fsm_move(&vm_fsm, &vm->state, event, vm->settings.name)) {
		log_debug_of(LOG_NODE(vm->settings.name), "'%s' means nothing while %s",
			     vm_fsm.event_names[event], vm_state_name(previous));
		return;
	}
	next = vm->state;
	log_debug_of(LOG_NODE(vm->settings.name), "%s -> %s by '%s'%s%s", vm_state_name(previous),
		     vm_state_name(next), vm_fsm.event_names[event], reason ? ": " : "",
		     reason ? reason : "");
	if (next != VM_READY && next != VM_BUSY)
		vm->paused_ns = 0; /* a pause does not matter any more */
	vm->generation++;
	if (next == VM_CREATING)
		g_atomic_int_inc(&vm->boots);
	g_clear_handle_id(&vm->step_source, g_source_remove);
	if (reason) {
		g_free(vm->reason);
		vm->reason = g_strdup(reason);
	}
	if (is_failure(previous, event)) {
		vm->failures++;
		if (vm_is_booting(previous) && vm->boot_start_ns)
			log_warning_of(LOG_NODE(vm->settings.name), "boot failed: %s", vm->reason);
	}
	if (next == VM_SWEEPING) {
		vm->sweep_core = 0;
		vm->sweep_pid = 0;
	}
	update_deadline(vm, previous);
	if (is_gone(next) && !is_gone(previous))
		announce_gone(vm, had_task(previous, event));
	vm_enter(vm);
}
