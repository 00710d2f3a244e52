/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/hypervisor/vm_host_private.h"

#include "local-sched/hypervisor/domain.h"
#include "local-sched/hypervisor/storage.h"
#include "local-sched/hypervisor/virt_error.h"

#define LOG_SUBSYSTEM "site"
#include "common/log.h"

#define ROOM_BYTES (UINT64_C(1) << 20) /* room that a write to a disk may need at once */
#define ROOM_LIMIT_S 10 /* a VM's stop is reported in time even where the pool does not answer */

/* Events of the host. */

static void on_connection(struct host *host, bool up, const char *reason, void *data)
{
	struct vm_host *vm_host = data;

	if (up) {
		vm_host->reached = true;
		vm_host->claimed = false; /* until it is taken again */
		log_info_of(LOG_HOST(host_name(host)), "%s", reason);
		vm_host_step(vm_host);
	} else {
		log_warning_of(LOG_HOST(host_name(host)), "%s; trying again", reason);
		claim_watch_interrupt(&vm_host->watch);
		g_hash_table_remove_all(vm_host->stops); /* VMs are listed again */
		if (!vm_host->frozen)
			vm_host_detach_all(vm_host, reason);
	}
}

/* Whether VMs were listed, or are being listed, since the claim was taken last. */
static bool is_prepared(const struct vm_host *vm_host)
{
	return vm_host->step == STEP_READY && vm_host->claimed;
}

static void on_domain(struct host *host, const char *name, bool running, const char *reason,
		      void *data)
{
	struct vm_host *vm_host = data;
	struct vm *vm = vm_host_vm(vm_host, name);

	g_hash_table_remove(vm_host->stops, name);
	if (vm && running)
		vm_was_started(vm, host);
	else if (vm && is_prepared(vm_host))
		vm_stopped(vm, reason);
	else if (!vm && running && vm_host_is_numbered(vm_host->settings.prefix, name) &&
		 !vm_host->frozen)
		/* It came from another host, and is not expected any more. */
		domain_destroy(vm_host->host, name, vm_host->settings.keeper, NULL, NULL);
}

static void on_agent(struct host *host, const char *name, bool connected, void *data)
{
	struct vm_host *vm_host = data;
	struct vm *vm = vm_host_vm(vm_host, name);

	if (vm)
		vm_agent_changed(vm, connected);
	else if (vm_host->decision && connected)
		virt_type_agent(vm_host->decision, name);
}

static void on_frozen(struct host *host, const char *name, int64_t host_us, void *data)
{
	struct vm *vm = vm_host_vm(data, name);

	if (vm)
		vm_was_frozen(vm, host_us);
}

/*
 * A VM that was stopped, and perhaps because there is no room for its swap disk, which grows as it
 * is written to. Strings are owned.
 */
struct stop {
	struct vm_host *vm_host; /* used by the main loop only */
	char *name;
	char *what; /* what needs room */
	char *failure;
};

static void stop_free(gpointer data)
{
	struct stop *stop = data;

	g_free(stop->name);
	g_free(stop->what);
	g_free(stop->failure);
	g_free(stop);
}

static gpointer room_work(virConnectPtr connection, gpointer input, GError **error)
{
	g_autoptr(virStoragePool) pool = storage_open(connection, false, error);

	return pool && storage_has_room(pool, ((const struct stop *)input)->what, ROOM_BYTES, error)
		       ? HOST_DONE
		       : NULL;
}

/* Reports the stop, unless the VM has ended, runs again, or was started again meanwhile. */
static void room_known(gpointer result, const GError *error, gpointer data)
{
	const struct stop *stop = data; /* freed by the call, after this */
	struct vm_host *vm_host = stop->vm_host;
	struct vm *vm = vm_host_vm(vm_host, stop->name);
	g_autofree char *failure = NULL;

	if (g_hash_table_lookup(vm_host->stops, stop->name) != stop)
		return;
	g_hash_table_remove(vm_host->stops, stop->name);
	if (!vm)
		return;
	if (g_error_matches(error, VIRT_ERROR, VIRT_ERROR_FULL))
		failure = g_strdup_printf("%s: %s", stop->failure, error->message);
	vm_was_paused(vm, true, failure ? failure : stop->failure);
}

static void on_paused(struct host *host, const char *name, bool paused, const char *failure,
		      void *data)
{
	struct vm_host *vm_host = data;
	struct vm *vm = vm_host_vm(vm_host, name);
	struct stop *stop;
	struct host_call call = {.vm = name,
				 .work = room_work,
				 .input_free = stop_free,
				 .done = room_known,
				 .limit_s = ROOM_LIMIT_S};

	g_hash_table_remove(vm_host->stops, name);
	if (vm && !failure)
		vm_was_paused(vm, paused, failure);
	if (!vm || !failure)
		return;
	stop = g_new0(struct stop, 1);
	*stop = (struct stop){vm_host, g_strdup(name),
			      g_strdup_printf("VM '%s', for its swap disk,", name),
			      g_strdup(failure)};
	g_hash_table_insert(vm_host->stops, g_strdup(name), stop);
	call.input = call.data = stop;
	host_call(host, HOST_LANE_ACT, &call);
}

static const struct host_events host_events = {
	.connection = on_connection,
	.domain = on_domain,
	.agent = on_agent,
	.frozen = on_frozen,
	.paused = on_paused,
};

/* Life. */

struct vm_host *vm_host_new(const struct vm_host_settings *settings)
{
	struct vm_host *vm_host = g_new0(struct vm_host, 1);

	vm_host->settings = *settings;
	vm_host->places = g_ptr_array_new();
	vm_host->vms = g_ptr_array_new();
	vm_host->awaiting = g_ptr_array_new();
	vm_host->swap = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	vm_host->coming = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_object_unref);
	vm_host->stops = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	vm_host->probe_name = g_strconcat(settings->prefix, PROBE_SUFFIX, NULL);
	vm_host->claim = claim_new(settings->platform, settings->keeper);
	vm_host->claim_name = g_strconcat(settings->prefix, CLAIM_SUFFIX, NULL);
	vm_host->host = host_new(settings->platform, settings->host->name, settings->host->uri,
				 &host_events, vm_host);
	return vm_host;
}

void vm_host_free(struct vm_host *vm_host)
{
	if (!vm_host)
		return;
	g_clear_handle_id(&vm_host->retry_source, g_source_remove);
	g_clear_handle_id(&vm_host->await_source, g_source_remove);
	g_clear_handle_id(&vm_host->again_source, g_source_remove);
	g_clear_handle_id(&vm_host->renew_source, g_source_remove);
	host_free(vm_host->host);
	virt_type_decision_free(vm_host->decision);
	virt_type_clear(&vm_host->type);
	host_info_free(vm_host->about);
	image_paths_free(vm_host->paths);
	g_hash_table_destroy(vm_host->swap);
	g_hash_table_destroy(vm_host->coming);
	g_hash_table_destroy(vm_host->stops);
	g_free(vm_host->probe_name);
	claim_free(vm_host->claim);
	g_free(vm_host->claim_name);
	claim_watch_clear(&vm_host->watch);
	g_ptr_array_unref(vm_host->places);
	g_ptr_array_unref(vm_host->vms);
	g_ptr_array_unref(vm_host->awaiting);
	g_free(vm_host);
}

/* Parts. */

void vm_host_add_place(struct vm_host *vm_host, struct vm_place *place)
{
	g_ptr_array_add(vm_host->places, place);
}

void vm_host_add_vm(struct vm_host *vm_host, struct vm *vm)
{
	g_ptr_array_add(vm_host->vms, vm);
	if (vm_host->step == STEP_READY && vm_host->claimed && host_connected(vm_host->host) &&
	    !vm_host->frozen)
		vm_host_add_late(vm_host, vm);
}

struct host *vm_host_host(const struct vm_host *vm_host)
{
	return vm_host->host;
}

const struct host_info *vm_host_about(const struct vm_host *vm_host)
{
	return vm_host->about;
}

const struct virt_type *vm_host_virt_type(const struct vm_host *vm_host)
{
	return vm_host->type.name ? &vm_host->type : NULL;
}
