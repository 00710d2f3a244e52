/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/hypervisor/vm_private.h"

#define LOG_SUBSYSTEM "vm"
#include "common/log.h"

/* Transitions. */

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
		vm->deadline_source = g_timeout_add((guint)(vm->settings.boot_timeout_s * 1000),
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
		vm_settle_user(vm);
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
	enum vm_state previous = vm->state;
	enum vm_state next;

	if (vm->stopped)
		return;
	if (!vm_state_next(previous, event, &next)) {
		log_debug_of(LOG_NODE(vm->settings.name), "'%s' means nothing while %s",
			     vm_event_name(event), vm_state_name(previous));
		return;
	}
	log_debug_of(LOG_NODE(vm->settings.name), "%s -> %s by '%s'%s%s", vm_state_name(previous),
		     vm_state_name(next), vm_event_name(event), reason ? ": " : "",
		     reason ? reason : "");
	vm->state = next;
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

/* Life. */

struct vm *vm_new(const struct vm_settings *settings, uint32_t cores,
		  const struct vm_events *events, void *data)
{
	struct vm *vm = g_new0(struct vm, 1);

	vm->settings = *settings;
	vm->cores = cores;
	vm->events = events;
	vm->data = data;
	vm->state = VM_DETACHED;
	vm->share = 1;
	vm->owner = VM_OWNER_ANY;
	vm->spread_core = -1;
	vm->reason = g_strdup("host not reached yet");
	vm->asked = g_hash_table_new_full(NULL, NULL, g_free, NULL);
	vm_make_ports(vm);
	return vm;
}

void vm_stop(struct vm *vm)
{
	vm->stopped = true;
	vm->user = NULL; /* late events for its task are dropped */
	vm->user_data = NULL;
	boot_queue_leave(vm->settings.queue, vm);
	g_clear_handle_id(&vm->step_source, g_source_remove);
	g_clear_handle_id(&vm->deadline_source, g_source_remove);
	g_clear_handle_id(&vm->agent_source, g_source_remove);
	g_clear_handle_id(&vm->reopen_source, g_source_remove);
}

void vm_free(struct vm *vm)
{
	if (!vm)
		return;
	vm_stop(vm);
	vm_free_ports(vm);
	g_hash_table_destroy(vm->asked);
	vm_free_requests(vm);
	g_free(vm->xml);
	g_free(vm->fingerprint);
	g_free(vm->reason);
	g_free(vm->task);
	g_free(vm);
}

void vm_prepare(struct vm *vm, const struct domain_spec *spec)
{
	g_free(vm->xml);
	g_free(vm->fingerprint);
	vm->xml = domain_xml(spec);
	vm->fingerprint = domain_fingerprint(spec);
}

/* Settings. */

void vm_place(struct vm *vm, const struct vm_place *place)
{
	vm->place = place;
	if (place && vm->state == VM_STANDBY)
		vm_fire(vm, VM_EVENT_UNPARK, NULL);
	else if (!place && vm->state == VM_READY)
		vm_fire(vm, VM_EVENT_PARK, NULL);
}

void vm_want(struct vm *vm, bool wanted)
{
	if (vm->wanted == wanted)
		return;
	vm->wanted = wanted;
	if (!wanted)
		vm_fire(vm, VM_EVENT_DISMISS, NULL);
	if (vm->state != VM_DOWN)
		return;
	g_clear_handle_id(&vm->step_source, g_source_remove);
	vm->failures = 0;
	vm_enter(vm);
}

void vm_inhibit_boot(struct vm *vm, bool inhibited)
{
	if (vm->boot_inhibited == inhibited)
		return;
	vm->boot_inhibited = inhibited;
	if (vm->state != VM_DOWN || vm->stopped)
		return;
	g_clear_handle_id(&vm->step_source, g_source_remove);
	vm_enter(vm);
}

bool vm_boot_is_inhibited(const struct vm *vm)
{
	return vm->boot_inhibited;
}

/* Queries. */

uint32_t vm_number(const struct vm *vm)
{
	return vm->settings.number;
}

const char *vm_name(const struct vm *vm)
{
	return vm->settings.name;
}

const char *vm_domain(const struct vm *vm)
{
	return vm->settings.domain;
}

const char *vm_keeper(const struct vm *vm)
{
	return vm->settings.keeper;
}

struct host *vm_current_host(const struct vm *vm)
{
	return vm->settings.host;
}

enum vm_state vm_state(const struct vm *vm)
{
	return vm->state;
}

const struct vm_place *vm_where(const struct vm *vm)
{
	return vm->place;
}

bool vm_wanted(const struct vm *vm)
{
	return vm->wanted;
}

const char *vm_reason(const struct vm *vm)
{
	bool serves = vm->state == VM_READY || vm->state == VM_BUSY || vm->state == VM_HELD;

	if (serves)
		return vm->paused_ns ? "its VM was paused from outside" : NULL;
	if (vm->boot_inhibited)
		return "its VM may be on another host, which is out of reach";
	return vm->reason;
}

const char *vm_task(const struct vm *vm)
{
	return vm->task;
}

bool vm_was_cut_off(const struct vm *vm)
{
	return vm->cut_off;
}

double vm_boot_s(const struct vm *vm)
{
	return vm->boot_s;
}
