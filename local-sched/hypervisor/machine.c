/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/hypervisor/machine_private.h"

#include "common/clock.h"
#include "local-sched/hypervisor/domain.h"
#include "local-sched/hypervisor/virt_error.h"

#define LOG_SUBSYSTEM "machine"
#include "common/log.h"

#define AGENT_GONE_S 20
#define REOPEN_MS 200

/* Moving. */

static bool is_boot(enum machine_state state)
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
	if (is_boot(machine->state) && machine->deadline_source == 0)
		machine->deadline_source =
			g_timeout_add((guint)(machine->settings.boot_timeout_s * 1000), boot_expired,
				      machine);
	if (!is_boot(machine->state))
		g_clear_handle_id(&machine->deadline_source, g_source_remove);
	if (!is_boot(machine->state) && machine->state != MACHINE_QUEUED &&
	    (is_boot(previous) || previous == MACHINE_QUEUED))
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
	g_clear_handle_id(&machine->step_source, g_source_remove);
	if (reason) {
		g_free(machine->reason);
		machine->reason = g_strdup(reason);
	}
	if (is_failure(previous, event)) {
		machine->failures++;
		if (is_boot(previous) && machine->boot_start_ns)
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

/* Channels. */

/* Whether a channel is of the host that the VM is on. */
static bool is_current(const struct machine *machine, const struct channel *channel)
{
	for (uint32_t i = 0; i < machine->cores; i++)
		if (machine->channels[i] == channel)
			return true;
	return false;
}

static uint32_t core_of(const struct machine *machine, const struct channel *channel)
{
	struct channel *const *channels =
		is_current(machine, channel) ? machine->channels : machine->landing;
	uint32_t core = 0;

	while (channels[core] != channel)
		core++;
	return core;
}

/* Tells the suspension when all ports are open, or one cannot be. */
static void rewired(struct machine *machine, const GError *error)
{
	if (!machine->rewiring || !machine->user)
		return;
	for (uint32_t i = 0; !error && i < machine->cores; i++)
		if (!channel_is_open(machine->channels[i]))
			return;
	machine->rewiring = false;
	machine->user->wired(machine, error, machine->user_data);
}

static void channel_opened(struct channel *channel, const GError *error, void *data)
{
	struct machine *machine = data;

	if (!is_current(machine, channel))
		return; /* where it fails it is opened again when the VM has come */
	if (machine->state == MACHINE_WIRING) {
		if (!machine_failed(machine, error) && ++machine->wired == machine->cores)
			machine_fire(machine, MACHINE_EVENT_DONE, NULL);
	} else if (machine->state == MACHINE_HELD) {
		rewired(machine, error);
	} else if (machine->state == MACHINE_BUSY && error &&
		   !g_error_matches(error, VIRT_ERROR, VIRT_ERROR_CONNECTION)) {
		machine_fire(machine, MACHINE_EVENT_FAIL, error->message);
	}
}

/* What was on its way when the VM was frozen is the task's as well. */
static void channel_input(struct channel *channel, const char *bytes, size_t length, void *data)
{
	struct machine *machine = data;

	if ((machine->state == MACHINE_BUSY || machine->state == MACHINE_HELD) && machine->user)
		machine->user->input(machine, core_of(machine, channel), bytes, length,
				     machine->user_data);
	else
		log_debug_of(LOG_NODE(machine->settings.name),
			     "%zu bytes on PMI port %u belong to no task", length,
			     core_of(machine, channel));
}

static void reopen_all(struct machine *machine)
{
	for (uint32_t i = 0; i < machine->cores; i++)
		if (!channel_is_open(machine->channels[i]))
			channel_open(machine->channels[i]);
}

static gboolean reopen(gpointer data)
{
	struct machine *machine = data;

	machine->reopen_source = 0;
	if (machine->state == MACHINE_BUSY && host_connected(machine->settings.host))
		reopen_all(machine);
	return G_SOURCE_REMOVE;
}

static void channel_broken(struct channel *channel, const char *reason, void *data)
{
	struct machine *machine = data;

	log_debug_of(LOG_NODE(machine->settings.name), "PMI port %u: %s", core_of(machine, channel),
		     reason);
	if (machine->stopped || machine->stowed || !is_current(machine, channel))
		return;
	machine->cut_off = true;
	if (machine->state == MACHINE_HELD)
		return; /* opened again before it goes on */
	if (machine->state == MACHINE_BUSY && machine->reopen_source == 0)
		machine->reopen_source = g_timeout_add(REOPEN_MS, reopen, machine);
	else
		machine_fire(machine, MACHINE_EVENT_UNWIRED, NULL);
}

static const struct channel_events channel_events = {
	.opened = channel_opened,
	.input = channel_input,
	.broken = channel_broken,
};

/* Life. */

static struct channel **make_channels(struct machine *machine)
{
	struct channel **channels = g_new0(struct channel *, machine->cores);

	for (uint32_t i = 0; i < machine->cores; i++) {
		g_autofree char *port = g_strdup_printf(DOMAIN_PMI_PORT, i);

		channels[i] = channel_new(machine->settings.host, machine->settings.domain, port,
					  &channel_events, machine);
	}
	return channels;
}

static void free_channels(struct machine *machine, struct channel **channels)
{
	for (uint32_t i = 0; channels && i < machine->cores; i++)
		channel_free(channels[i]);
	g_free(channels);
}

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
	machine->channels = make_channels(machine);
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
	free_channels(machine, machine->channels);
	free_channels(machine, machine->landing);
	g_hash_table_destroy(machine->asked);
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

/* The VM is there, and is the one that was wanted. */
static void found_ours(struct machine *machine, const struct domain_info *info)
{
	if (machine->state == MACHINE_BUSY || machine->state == MACHINE_HELD) {
		reopen_all(machine);
		machine_vm_paused(machine, info->paused, info->failure);
	} else if (!info->paused) {
		machine->owner = MACHINE_OWNER_ANY;
		machine->late_clock = true; /* it may have been paused, by a predecessor too, */
		machine->shared = true;     /* ... and its last task may have had a share */
		machine->adopted = true;
		machine_fire(machine, MACHINE_EVENT_ADOPT, NULL);
	} else if (machine->was_parked) {
		machine->clean = true;
		machine_fire(machine, MACHINE_EVENT_PARK, NULL);
	} else {
		machine_fire(machine, MACHINE_EVENT_FOREIGN, "its VM is paused");
	}
}

void machine_found(struct machine *machine, const struct domain_info *info)
{
	bool ours = info && g_strcmp0(info->description, machine->fingerprint) == 0;

	if (machine->stowed)
		return;
	if (!info)
		machine_fire(machine, MACHINE_EVENT_DIED,
			     machine->task ? "the VM died while its host was out of reach"
					   : "its VM was not booted yet");
	else if (ours && machine->wanted)
		found_ours(machine, info);
	else
		machine_fire(machine, MACHINE_EVENT_FOREIGN,
			     "a VM that is not the one wanted has its name");
}

void machine_detach(struct machine *machine, const char *reason)
{
	machine->was_parked = machine->state == MACHINE_PARKED ||
			      (machine->was_parked && machine->state == MACHINE_DETACHED);
	machine_fire(machine, MACHINE_EVENT_DETACH, reason);
	if (machine->stowed)
		return;
	machine->clean = false;
	machine->cut_off = true;
	/* libvirt does not tell streams that their connection is gone. */
	for (uint32_t i = 0; i < machine->cores; i++)
		channel_close(machine->channels[i]);
}

/*
 * While a VM is being created it may be its predecessor that stopped: to be asked
 * (created_answer()).
 */
void machine_vm_stopped(struct machine *machine, const char *reason)
{
	if (machine->stowed)
		return;
	if (machine->state == MACHINE_CREATING)
		machine->doubtful = true;
	else
		machine_fire(machine, MACHINE_EVENT_DIED, reason);
}

static gboolean agent_is_gone(gpointer data)
{
	struct machine *machine = data;

	if (machine->paused_ns)
		return G_SOURCE_CONTINUE;
	machine->agent_source = 0;
	machine_fire(machine, MACHINE_EVENT_FAIL, "the guest agent is gone");
	return G_SOURCE_REMOVE;
}

void machine_agent_changed(struct machine *machine, bool connected)
{
	if (machine->stopped)
		return;
	machine->agent_up = connected;
	g_clear_handle_id(&machine->agent_source, g_source_remove);
	if (connected && machine->state == MACHINE_AWAITING)
		machine_fire(machine, MACHINE_EVENT_AGENT, NULL);
	else if (!connected &&
		 (machine->state == MACHINE_READY || machine->state == MACHINE_BUSY))
		machine->agent_source =
			g_timeout_add_seconds(AGENT_GONE_S, agent_is_gone, machine);
}

void machine_vm_frozen(struct machine *machine, int64_t host_us)
{
	machine->frozen_us = host_us;
	/* What a predecessor asked for may come about only now. */
	if (machine->adopted && is_boot(machine->state))
		machine_fire(machine, MACHINE_EVENT_FAIL, "its VM was paused");
}

static void went_on(struct machine *machine)
{
	if (!machine->paused_ns)
		return;
	machine->went_on_ns = clock_now_ns();
	log_info_of(LOG_NODE(machine->settings.name),
		    "its VM goes on, after %.3f s for which it was paused from outside",
		    clock_elapsed_s(machine->paused_ns, machine->went_on_ns));
	machine->paused_ns = 0;
}

void machine_vm_paused(struct machine *machine, bool paused, const char *failure)
{
	bool runs = machine->state == MACHINE_READY || machine->state == MACHINE_BUSY;
	g_autofree char *reason = failure ? g_strconcat("it was stopped by ", failure, NULL) : NULL;

	if (machine->stopped || !runs)
		return;
	if (!paused) {
		went_on(machine);
	} else if (failure) {
		machine_fire(machine, MACHINE_EVENT_FAIL, reason);
	} else if (!machine->paused_ns) {
		machine->paused_ns = clock_now_ns();
		log_warning_of(LOG_TASK_NODE(machine->task, machine->settings.name),
			       "its VM was paused from outside%s",
			       machine->task ? "; the task waits for it" : "");
	}
}

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

/* Use by tasks. */

bool machine_suits(const struct machine *machine, int64_t owner)
{
	return owner < 0 || machine->owner == MACHINE_OWNER_NONE || machine->owner == owner;
}

void machine_renew(struct machine *machine)
{
	machine_fire(machine, MACHINE_EVENT_RENEW, "it is booted anew for another user");
}

bool machine_assign(struct machine *machine, const char *task, int64_t owner,
		    const struct machine_user *user, void *data)
{
	if (machine->state != MACHINE_READY || machine->stopped)
		return false;
	machine->user = user;
	machine->user_data = data;
	machine->task = g_strdup(task);
	machine->owner = owner;
	machine->clean = false;
	machine->cut_off = false;
	machine_fire(machine, MACHINE_EVENT_ASSIGN, NULL);
	return true;
}

void machine_release(struct machine *machine, bool clean)
{
	bool whole = !machine->shared;

	machine->clean = clean;
	machine->share = 1;
	/* With nothing to sweep that gives it its cap. */
	machine_fire(machine, clean && whole ? MACHINE_EVENT_RELEASE : MACHINE_EVENT_SWEEP,
		     machine->state == MACHINE_HELD ? "its task ended while it was suspended" :
						      NULL);
}

void machine_fail(struct machine *machine, const char *reason)
{
	machine_fire(machine, MACHINE_EVENT_FAIL, reason);
}

void machine_agent(struct machine *machine, const char *request, int timeout_s, host_done_f done,
		   gpointer data)
{
	domain_agent(machine->settings.host, machine->settings.domain, request, timeout_s, done,
		     data);
}

bool machine_is_excused(const struct machine *machine, int64_t asked_ns, const GError *error)
{
	bool paused = machine->paused_ns || machine->went_on_ns >= asked_ns;

	return g_error_matches(error, VIRT_ERROR, VIRT_ERROR_PAUSED) ||
	       (paused && g_error_matches(error, VIRT_ERROR, VIRT_ERROR_AGENT));
}

void machine_send(struct machine *machine, uint32_t core, const char *bytes, size_t length)
{
	channel_send(machine->channels[core], bytes, length);
}

/* Suspension. */

void machine_hold(struct machine *machine)
{
	g_clear_handle_id(&machine->agent_source, g_source_remove);
	g_clear_handle_id(&machine->reopen_source, g_source_remove);
	machine->frozen_us = 0;
	went_on(machine); /* from now on the suspension says whether it runs */
	machine_fire(machine, MACHINE_EVENT_HOLD, NULL);
}

/* Ports that were cut off meanwhile are opened now, or when the host is back (found_ours()). */
void machine_let_go(struct machine *machine)
{
	machine_fire(machine, MACHINE_EVENT_LET_GO, NULL);
	for (uint32_t i = 0; machine->state == MACHINE_BUSY && i < machine->cores; i++)
		if (!channel_is_open(machine->channels[i]) && machine->reopen_source == 0)
			machine->reopen_source = g_timeout_add(REOPEN_MS, reopen, machine);
}

void machine_stowed(struct machine *machine, bool stowed)
{
	machine->stowed = stowed;
}

bool machine_is_stowed(const struct machine *machine)
{
	return machine->stowed;
}

/* What the old host still has from the guest is read until machine_expect(). */
static void land(struct machine *machine)
{
	struct channel **left = machine->channels;

	machine->channels = machine->landing;
	machine->landing = left;
	for (uint32_t i = 0; i < machine->cores; i++) {
		if (channel_is_open(machine->channels[i]))
			continue;
		/* Where it is being opened that is waited for by machine_rewire(). */
		log_warning_of(LOG_NODE(machine->settings.name),
			       "PMI port %u was not open when the VM came", i);
		machine->cut_off = true;
		channel_open(machine->channels[i]);
	}
}

void machine_move(struct machine *machine, struct host *host)
{
	machine->settings.host = host;
	if (machine->expected == host)
		land(machine);
	for (uint32_t i = 0; machine->expected != host && i < machine->cores; i++)
		channel_move(machine->channels[i], host);
}

void machine_expect(struct machine *machine, struct host *host)
{
	if (!machine->landing)
		machine->landing = make_channels(machine);
	machine->expected = host;
	for (uint32_t i = 0; i < machine->cores; i++) {
		if (host)
			channel_move(machine->landing[i], host);
		else
			channel_close(machine->landing[i]);
	}
}

void machine_cut_off(struct machine *machine, const struct host *host)
{
	struct channel **channels = machine->expected == host && machine->settings.host != host ?
					    machine->landing :
					    machine->channels;

	if (machine->expected != host && machine->settings.host != host)
		return;
	machine->cut_off |= channels == machine->channels;
	for (uint32_t i = 0; i < machine->cores; i++)
		channel_close(channels[i]);
}

void machine_vm_started(struct machine *machine, struct host *host)
{
	if (machine->stopped || machine->expected != host || machine->settings.host == host)
		return;
	for (uint32_t i = 0; i < machine->cores; i++)
		if (!channel_is_open(machine->landing[i]))
			channel_open_now(machine->landing[i]);
}

void machine_rewire(struct machine *machine)
{
	machine->rewiring = true;
	for (uint32_t i = 0; i < machine->cores; i++)
		if (!channel_is_open(machine->channels[i]))
			channel_open(machine->channels[i]);
	rewired(machine, NULL);
}

int64_t machine_frozen_us(const struct machine *machine)
{
	return machine->frozen_us;
}

void machine_set_share(struct machine *machine, double share)
{
	machine->share = share;
	machine->shared = true;
}

struct cpu_cap machine_cap_at(const struct machine *machine, const struct machine_place *place)
{
	return machine->share < 1 || machine->shared ?
		       cpu_cap_share(place->cap, machine->share) :
		       *place->cap;
}

struct domain_cores machine_cores_at(struct machine *machine, const struct machine_place *place)
{
	struct domain_cores cores = {
		.first_core = place->first_core,
		.first_cpu = place->first_cpu,
		.moved = machine->spread_core >= 0 && machine->spread_core != place->first_core,
	};

	machine->spread_core = place->first_core;
	return cores;
}
