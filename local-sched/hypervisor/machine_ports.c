/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The PMI ports of a VM, one for each core: opened, opened again where they were cut off, and those
 * at the host that it is on its way to.
 */
#include "local-sched/hypervisor/domain.h"
#include "local-sched/hypervisor/machine_private.h"
#include "local-sched/hypervisor/virt_error.h"

#define LOG_SUBSYSTEM "machine"
#include "common/log.h"

#define REOPEN_MS 200

/* What ports tell. */

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
	if (!error && machine->cut_off && machine->user)
		machine->user->torn(machine, core_of(machine, channel), machine->user_data);
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

void machine_reopen_ports(struct machine *machine)
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
		machine_reopen_ports(machine);
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

/* The ports. */

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

void machine_make_ports(struct machine *machine)
{
	machine->channels = make_channels(machine);
}

static void free_channels(struct machine *machine, struct channel **channels)
{
	for (uint32_t i = 0; channels && i < machine->cores; i++)
		channel_free(channels[i]);
	g_free(channels);
}

void machine_free_ports(struct machine *machine)
{
	free_channels(machine, machine->channels);
	free_channels(machine, machine->landing);
}

void machine_close_ports(struct machine *machine)
{
	for (uint32_t i = 0; i < machine->cores; i++)
		channel_close(machine->channels[i]);
}

void machine_reopen_soon(struct machine *machine)
{
	for (uint32_t i = 0; i < machine->cores; i++)
		if (!channel_is_open(machine->channels[i]) && machine->reopen_source == 0)
			machine->reopen_source = g_timeout_add(REOPEN_MS, reopen, machine);
}

/* At another host. */

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
			channel_open(machine->landing[i]);
}

/* For its task. */

bool machine_is_heard(const struct machine *machine)
{
	if (machine->state != MACHINE_BUSY || machine->paused_ns)
		return false;
	for (uint32_t i = 0; i < machine->cores; i++)
		if (!channel_is_open(machine->channels[i]))
			return false;
	return true;
}

void machine_rewire(struct machine *machine)
{
	machine->rewiring = true;
	machine_reopen_ports(machine);
	rewired(machine, NULL);
}

void machine_send(struct machine *machine, uint32_t core, const char *bytes, size_t length)
{
	channel_send(machine->channels[core], bytes, length);
}
