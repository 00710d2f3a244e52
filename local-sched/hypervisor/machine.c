/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/hypervisor/machine_private.h"

#include "local-sched/hypervisor/domain.h"

#define LOG_SUBSYSTEM "machine"
#include "common/log.h"

/* Moving. */

bool machine_is_booting(enum machine_state state)
{
	return state >= MACHINE_CREATING && state <= MACHINE_PARKING;
}

static bool is_gone(enum machine_state state)
{
	return state == MACHINE_DOWN || state == MACHINE_REMOVING || state == MACHINE_DETACHED;
}

static gboolean boot_expired(gpointer data)
{
	struct machine *machine = data;
	g_autofree char *reason =
		g_strdup_printf("did not get ready within %.0f s (%s)",
				machine->settings.boot_timeout_s, machine_state_name(machine->state));

	machine->deadline_source = 0;
	machine_fire(machine, MACHINE_EVENT_FAIL, reason);
	return G_SOURCE_REMOVE;
}

static void update_deadline(struct machine *machine, enum machine_state previous)
{
	if (machine_is_booting(machine->state) && machine->deadline_source == 0)
		machine->deadline_source =
			g_timeout_add((guint)(machine->settings.boot_timeout_s * 1000), boot_expired,
				      machine);
	if (!machine_is_booting(machine->state))
		g_clear_handle_id(&machine->deadline_source, g_source_remove);
	if (!machine_is_booting(machine->state) && machine->state != MACHINE_QUEUED &&
	    (machine_is_booting(previous) || previous == MACHINE_QUEUED))
		boot_queue_leave(machine->settings.queue, machine);
}

/* Whether the task had the VM in `state` and did not give it back by `event`. */
static bool had_task(enum machine_state state, enum machine_event event)
{
	return state == MACHINE_BUSY || (state == MACHINE_HELD && event != MACHINE_EVENT_RELEASE &&
					 event != MACHINE_EVENT_SWEEP);
}

/* Tells the owner and the task that the VM is gone. */
static void announce_gone(struct machine *machine, bool had)
{
	const struct machine_user *user = machine->user;

	g_clear_handle_id(&machine->agent_source, g_source_remove);
	g_clear_handle_id(&machine->reopen_source, g_source_remove);
	machine->rewiring = false;
	machine->events->down(machine, machine->reason, machine->data);
	if (!user)
		return;
	if (had) {
		machine->user = NULL;
		g_clear_pointer(&machine->task, g_free);
		user->lost(machine, machine->reason, machine->user_data);
	} else {
		machine_settle_user(machine);
	}
}

/* What makes the next boot wait longer. */
static bool is_failure(enum machine_state state, enum machine_event event)
{
	if (state == MACHINE_REMOVING || state == MACHINE_DETACHED)
		return false;
	return event == MACHINE_EVENT_FAIL || event == MACHINE_EVENT_DIED;
}

void machine_fire(struct machine *machine, enum machine_event event, const char *reason)
{
	enum machine_state previous = machine->state;
	enum machine_state next;

	if (machine->stopped)
		return;
	if (!machine_state_next(previous, event, &next)) {
		log_debug_of(LOG_NODE(machine->settings.name), "'%s' means nothing while %s",
			     machine_event_name(event), machine_state_name(previous));
		return;
	}
	log_debug_of(LOG_NODE(machine->settings.name), "%s -> %s by '%s'%s%s",
		     machine_state_name(previous), machine_state_name(next),
		     machine_event_name(event), reason ? ": " : "", reason ? reason : "");
	machine->state = next;
	if (next != MACHINE_READY && next != MACHINE_BUSY)
		machine->paused_ns = 0; /* nobody counts on its running now */
	machine->generation++;
	if (next == MACHINE_CREATING)
		g_atomic_int_inc(&machine->boots);
	g_clear_handle_id(&machine->step_source, g_source_remove);
	if (reason) {
		g_free(machine->reason);
		machine->reason = g_strdup(reason);
	}
	if (is_failure(previous, event)) {
		machine->failures++;
		if (machine_is_booting(previous) && machine->boot_start_ns)
			log_warning_of(LOG_NODE(machine->settings.name), "boot failed: %s",
				       machine->reason);
	}
	if (next == MACHINE_SWEEPING) {
		machine->sweep_core = 0;
		machine->sweep_pid = 0;
	}
	update_deadline(machine, previous);
	if (is_gone(next) && !is_gone(previous))
		announce_gone(machine, had_task(previous, event));
	machine_enter(machine);
}

/* Life. */

struct machine *machine_new(const struct machine_settings *settings, uint32_t cores,
			    const struct machine_events *events, void *data)
{
	struct machine *machine = g_new0(struct machine, 1);

	machine->settings = *settings;
	machine->cores = cores;
	machine->events = events;
	machine->data = data;
	machine->state = MACHINE_DETACHED;
	machine->share = 1;
	machine->owner = MACHINE_OWNER_ANY;
	machine->spread_core = -1;
	machine->reason = g_strdup("host not reached yet");
	machine->asked = g_hash_table_new_full(NULL, NULL, g_free, NULL);
	machine_make_ports(machine);
	return machine;
}

void machine_stop(struct machine *machine)
{
	machine->stopped = true;
	machine->user = NULL; /* what still arrives for its task belongs to nobody */
	machine->user_data = NULL;
	boot_queue_leave(machine->settings.queue, machine);
	g_clear_handle_id(&machine->step_source, g_source_remove);
	g_clear_handle_id(&machine->deadline_source, g_source_remove);
	g_clear_handle_id(&machine->agent_source, g_source_remove);
	g_clear_handle_id(&machine->reopen_source, g_source_remove);
}

void machine_free(struct machine *machine)
{
	if (!machine)
		return;
	machine_stop(machine);
	machine_free_ports(machine);
	g_hash_table_destroy(machine->asked);
	machine_free_requests(machine);
	g_free(machine->xml);
	g_free(machine->fingerprint);
	g_free(machine->reason);
	g_free(machine->task);
	g_free(machine);
}

void machine_prepare(struct machine *machine, const struct domain_spec *spec)
{
	g_free(machine->xml);
	g_free(machine->fingerprint);
	machine->xml = domain_xml(spec);
	machine->fingerprint = domain_fingerprint(spec);
}

/* What it is to be. */

void machine_place(struct machine *machine, const struct machine_place *place)
{
	machine->place = place;
	if (place && machine->state == MACHINE_PARKED)
		machine_fire(machine, MACHINE_EVENT_UNPARK, NULL);
	else if (!place && machine->state == MACHINE_READY)
		machine_fire(machine, MACHINE_EVENT_PARK, NULL);
}

void machine_want(struct machine *machine, bool wanted)
{
	if (machine->wanted == wanted)
		return;
	machine->wanted = wanted;
	if (!wanted)
		machine_fire(machine, MACHINE_EVENT_DISMISS, NULL);
	if (machine->state != MACHINE_DOWN)
		return;
	g_clear_handle_id(&machine->step_source, g_source_remove);
	machine->failures = 0;
	machine_enter(machine);
}

void machine_bar(struct machine *machine, bool barred)
{
	if (machine->barred == barred)
		return;
	machine->barred = barred;
	if (machine->state != MACHINE_DOWN || machine->stopped)
		return;
	g_clear_handle_id(&machine->step_source, g_source_remove);
	machine_enter(machine);
}

bool machine_is_barred(const struct machine *machine)
{
	return machine->barred;
}

/* Queries. */

uint32_t machine_number(const struct machine *machine)
{
	return machine->settings.number;
}

const char *machine_name(const struct machine *machine)
{
	return machine->settings.name;
}

const char *machine_domain(const struct machine *machine)
{
	return machine->settings.domain;
}

const char *machine_keeper(const struct machine *machine)
{
	return machine->settings.keeper;
}

struct host *machine_host(const struct machine *machine)
{
	return machine->settings.host;
}

enum machine_state machine_state(const struct machine *machine)
{
	return machine->state;
}

const struct machine_place *machine_where(const struct machine *machine)
{
	return machine->place;
}

bool machine_wanted(const struct machine *machine)
{
	return machine->wanted;
}

const char *machine_reason(const struct machine *machine)
{
	bool serves = machine->state == MACHINE_READY || machine->state == MACHINE_BUSY ||
		      machine->state == MACHINE_HELD;

	if (serves)
		return machine->paused_ns ? "its VM was paused from outside" : NULL;
	if (machine->barred)
		return "its VM may be on another host, which is out of reach";
	return machine->reason;
}

const char *machine_task(const struct machine *machine)
{
	return machine->task;
}

bool machine_was_cut_off(const struct machine *machine)
{
	return machine->cut_off;
}

double machine_boot_s(const struct machine *machine)
{
	return machine->boot_s;
}
