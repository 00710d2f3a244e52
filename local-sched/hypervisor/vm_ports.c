/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The PMI ports of a VM, one for each core. They are opened, opened again where they were cut off,
 * and opened at the host that the VM is migrated to.
 */
#include "common/platform.h"
#include "local-sched/hypervisor/vm_private.h"
#include "local-sched/hypervisor/virt_error.h"

#define LOG_SUBSYSTEM "vm"
#include "common/log.h"

#define REOPEN_MS 200

/* Events of ports. */

/* Whether a channel belongs to the host that the VM is on. */
static bool is_current(const struct vm *vm, const struct channel *channel)
{
	for (uint32_t i = 0; i < vm->cores; i++)
		if (vm->channels[i] == channel)
			return true;
	return false;
}

static uint32_t core_of(const struct vm *vm, const struct channel *channel)
{
	struct channel *const *channels = is_current(vm, channel) ? vm->channels : vm->landing;
	uint32_t core = 0;

	while (channels[core] != channel)
		core++;
	return core;
}

/* Reports to the suspension that all ports are open, or that a port cannot be opened. */
static void rewired(struct vm *vm, const GError *error)
{
	if (!vm->rewiring || !vm->user)
		return;
	for (uint32_t i = 0; !error && i < vm->cores; i++)
		if (!channel_is_open(vm->channels[i]))
			return;
	vm->rewiring = false;
	vm->user->wired(vm, error, vm->user_data);
}

static void channel_opened(struct channel *channel, const GError *error, void *data)
{
	struct vm *vm = data;

	if (!is_current(vm, channel))
		return; /* a failed port is opened again when the VM has arrived */
	if (!error && vm->cut_off && vm->user)
		vm->user->torn(vm, core_of(vm, channel), vm->user_data);
	if (vm->state == VM_WIRING) {
		if (!vm_failed(vm, error) && ++vm->wired == vm->cores)
			vm_fire(vm, VM_EVENT_DONE, NULL);
	} else if (vm->state == VM_HELD) {
		rewired(vm, error);
	} else if (vm->state == VM_BUSY && error &&
		   !g_error_matches(error, VIRT_ERROR, VIRT_ERROR_CONNECTION)) {
		vm_fire(vm, VM_EVENT_FAIL, error->message);
	}
}

/* Bytes that arrive after the VM was frozen are the task's as well. */
static void channel_input(struct channel *channel, const char *bytes, size_t length, void *data)
{
	struct vm *vm = data;

	if ((vm->state == VM_BUSY || vm->state == VM_HELD) && vm->user)
		vm->user->input(vm, core_of(vm, channel), bytes, length, vm->user_data);
	else
		log_debug_of(LOG_NODE(vm->settings.name),
			     "%zu bytes on PMI port %u belong to no task", length,
			     core_of(vm, channel));
}

void vm_reopen_ports(struct vm *vm)
{
	for (uint32_t i = 0; i < vm->cores; i++)
		if (!channel_is_open(vm->channels[i]))
			channel_open(vm->channels[i]);
}

static gboolean reopen(gpointer data)
{
	struct vm *vm = data;

	vm->reopen_source = 0;
	if (vm->state == VM_BUSY && host_connected(vm->settings.host))
		vm_reopen_ports(vm);
	return G_SOURCE_REMOVE;
}

static void channel_broken(struct channel *channel, const char *reason, void *data)
{
	struct vm *vm = data;

	log_debug_of(LOG_NODE(vm->settings.name), "PMI port %u: %s", core_of(vm, channel), reason);
	if (vm->stopped || vm->may_be_absent || !is_current(vm, channel))
		return;
	vm->cut_off = true;
	if (vm->state == VM_HELD)
		return; /* opened again before the VM runs on */
	if (vm->state == VM_BUSY && vm->reopen_source == 0)
		vm->reopen_source = platform_after_ms(vm_platform(vm), REOPEN_MS, reopen, vm);
	else
		vm_fire(vm, VM_EVENT_UNWIRED, NULL);
}

static const struct channel_events channel_events = {
	.opened = channel_opened,
	.input = channel_input,
	.broken = channel_broken,
};

/* The ports. */

static struct channel **make_channels(struct vm *vm)
{
	struct channel **channels = g_new0(struct channel *, vm->cores);

	for (uint32_t i = 0; i < vm->cores; i++) {
		g_autofree char *port = g_strdup_printf(DOMAIN_PMI_PORT, i);

		channels[i] = channel_new(vm->settings.host, vm->settings.domain, port,
					  &channel_events, vm);
	}
	return channels;
}

void vm_make_ports(struct vm *vm)
{
	vm->channels = make_channels(vm);
}

static void free_channels(struct vm *vm, struct channel **channels)
{
	for (uint32_t i = 0; channels && i < vm->cores; i++)
		channel_free(channels[i]);
	g_free(channels);
}

void vm_free_ports(struct vm *vm)
{
	free_channels(vm, vm->channels);
	free_channels(vm, vm->landing);
}

void vm_reopen_soon(struct vm *vm)
{
	for (uint32_t i = 0; i < vm->cores; i++)
		if (!channel_is_open(vm->channels[i]) && vm->reopen_source == 0)
			vm->reopen_source =
				platform_after_ms(vm_platform(vm), REOPEN_MS, reopen, vm);
}

/* Ports at another host. */

/*
 * Switches to the channels at the new host. The old host's remaining bytes are read until
 * vm_set_destination().
 */
static void land(struct vm *vm)
{
	struct channel **left = vm->channels;

	vm->channels = vm->landing;
	vm->landing = left;
	for (uint32_t i = 0; i < vm->cores; i++) {
		if (channel_is_open(vm->channels[i]))
			continue;
		/* Also where vm_rewire() waits for the opening. */
		log_warning_of(LOG_NODE(vm->settings.name),
			       "PMI port %u was not open when the VM arrived", i);
		vm->cut_off = true;
		channel_open(vm->channels[i]);
	}
}

void vm_move(struct vm *vm, struct host *host)
{
	vm->settings.host = host;
	if (vm->destination == host)
		land(vm);
	for (uint32_t i = 0; vm->destination != host && i < vm->cores; i++)
		channel_move(vm->channels[i], host);
}

void vm_set_destination(struct vm *vm, struct host *host)
{
	if (!vm->landing)
		vm->landing = make_channels(vm);
	vm->destination = host;
	for (uint32_t i = 0; i < vm->cores; i++) {
		if (host)
			channel_move(vm->landing[i], host);
		else
			channel_close(vm->landing[i]);
	}
}

void vm_cut_off(struct vm *vm, const struct host *host)
{
	struct channel **channels =
		vm->destination == host && vm->settings.host != host ? vm->landing : vm->channels;

	if (vm->destination != host && vm->settings.host != host)
		return;
	vm->cut_off |= channels == vm->channels;
	for (uint32_t i = 0; i < vm->cores; i++)
		channel_close(channels[i]);
}

void vm_was_started(struct vm *vm, struct host *host)
{
	if (vm->stopped || vm->destination != host || vm->settings.host == host)
		return;
	for (uint32_t i = 0; i < vm->cores; i++)
		if (!channel_is_open(vm->landing[i]))
			channel_open(vm->landing[i]);
}

/* For its task. */

bool vm_is_heard(const struct vm *vm)
{
	if (vm->state != VM_BUSY || vm->paused_ns)
		return false;
	for (uint32_t i = 0; i < vm->cores; i++)
		if (!channel_is_open(vm->channels[i]))
			return false;
	return true;
}

void vm_rewire(struct vm *vm)
{
	vm->rewiring = true;
	vm_reopen_ports(vm);
	rewired(vm, NULL);
}

void vm_send(struct vm *vm, uint32_t core, const char *bytes, size_t length)
{
	channel_send(vm->channels[core], bytes, length);
}
