/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/hypervisor/site_private.h"

#include "local-sched/hypervisor/domain.h"
#include "local-sched/hypervisor/storage.h"
#include "local-sched/hypervisor/virt_error.h"

#define LOG_SUBSYSTEM "site"
#include "common/log.h"

#define ROOM_BYTES (UINT64_C(1) << 20) /* what a disk that is written to may need at once */
#define ROOM_LIMIT_S 10 /* a VM that was stopped is told so even where the pool does not answer */

/* What the host tells. */

static void on_connection(struct host *host, bool up, const char *reason, void *data)
{
	struct site *site = data;

	if (up) {
		site->reached = true;
		site->claimed = false; /* as far as is known */
		log_info_of(LOG_HOST(host_name(host)), "%s", reason);
		site_step(site);
	} else {
		log_warning_of(LOG_HOST(host_name(host)), "%s; trying again", reason);
		claim_watch_interrupt(&site->watch);
		g_hash_table_remove_all(site->stops); /* VMs are looked at anew */
		if (!site->frozen)
			site_detach_all(site, reason);
	}
}

static void on_domain(struct host *host, const char *name, bool running, const char *reason,
		      void *data)
{
	struct site *site = data;
	struct machine *machine = site_machine(site, name);

	g_hash_table_remove(site->stops, name);
	if (machine && running)
		machine_vm_started(machine, host);
	else if (machine)
		machine_vm_stopped(machine, reason);
	else if (!machine && running && site_is_numbered(site->settings.prefix, name) && !site->frozen)
		/* It came from another host although nobody waits for it any more. */
		domain_destroy(site->host, name, site->settings.keeper, NULL, NULL);
}

static void on_agent(struct host *host, const char *name, bool connected, void *data)
{
	struct site *site = data;
	struct machine *machine = site_machine(site, name);

	if (machine)
		machine_agent_changed(machine, connected);
	else if (site->decision && connected)
		virt_type_agent(site->decision, name);
}

static void on_frozen(struct host *host, const char *name, int64_t host_us, void *data)
{
	struct machine *machine = site_machine(data, name);

	if (machine)
		machine_vm_frozen(machine, host_us);
}

/*
 * A VM that something stopped: perhaps its swap disk, which takes room as it is written to, has none any more. Strings
 * are owned.
 */
struct stop {
	struct site *site; /* main loop only */
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

	return pool && storage_has_room(pool, ((const struct stop *)input)->what, ROOM_BYTES, error) ? HOST_DONE : NULL;
}

/* The VM may have gone on, ended or been started anew meanwhile: then it is told nothing. */
static void room_known(gpointer result, const GError *error, gpointer data)
{
	const struct stop *stop = data; /* freed by the call, after this */
	struct site *site = stop->site;
	struct machine *machine = site_machine(site, stop->name);
	g_autofree char *failure = NULL;

	if (g_hash_table_lookup(site->stops, stop->name) != stop)
		return;
	g_hash_table_remove(site->stops, stop->name);
	if (!machine)
		return;
	if (g_error_matches(error, VIRT_ERROR, VIRT_ERROR_FULL))
		failure = g_strdup_printf("%s: %s", stop->failure, error->message);
	machine_vm_paused(machine, true, failure ? failure : stop->failure);
}

static void on_paused(struct host *host, const char *name, bool paused, const char *failure, void *data)
{
	struct site *site = data;
	struct machine *machine = site_machine(site, name);
	struct stop *stop;
	struct host_call call = {
		.vm = name, .work = room_work, .input_free = stop_free, .done = room_known, .limit_s = ROOM_LIMIT_S};

	g_hash_table_remove(site->stops, name);
	if (machine && !failure)
		machine_vm_paused(machine, paused, failure);
	if (!machine || !failure)
		return;
	stop = g_new0(struct stop, 1);
	*stop = (struct stop){site, g_strdup(name), g_strdup_printf("VM '%s', for its swap disk,", name),
			      g_strdup(failure)};
	g_hash_table_insert(site->stops, g_strdup(name), stop);
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

struct site *site_new(const struct site_settings *settings)
{
	struct site *site = g_new0(struct site, 1);

	site->settings = *settings;
	site->places = g_ptr_array_new();
	site->machines = g_ptr_array_new();
	site->awaiting = g_ptr_array_new();
	site->swap = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	site->coming = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_object_unref);
	site->stops = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	site->probe_name = g_strconcat(settings->prefix, PROBE_SUFFIX, NULL);
	site->claim = claim_new(settings->keeper);
	site->claim_name = g_strconcat(settings->prefix, CLAIM_SUFFIX, NULL);
	site->host = host_new(settings->host->name, settings->host->uri, &host_events, site);
	return site;
}

void site_free(struct site *site)
{
	if (!site)
		return;
	g_clear_handle_id(&site->retry_source, g_source_remove);
	g_clear_handle_id(&site->await_source, g_source_remove);
	g_clear_handle_id(&site->renew_source, g_source_remove);
	host_free(site->host);
	virt_type_decision_free(site->decision);
	virt_type_clear(&site->type);
	host_about_free(site->about);
	image_paths_free(site->paths);
	g_hash_table_destroy(site->swap);
	g_hash_table_destroy(site->coming);
	g_hash_table_destroy(site->stops);
	g_free(site->probe_name);
	claim_free(site->claim);
	g_free(site->claim_name);
	claim_watch_clear(&site->watch);
	g_ptr_array_unref(site->places);
	g_ptr_array_unref(site->machines);
	g_ptr_array_unref(site->awaiting);
	g_free(site);
}

/* What there is. */

void site_add_place(struct site *site, struct machine_place *place)
{
	g_ptr_array_add(site->places, place);
}

void site_add_machine(struct site *site, struct machine *machine)
{
	g_ptr_array_add(site->machines, machine);
	if (site->step == STEP_READY && site->claimed && host_connected(site->host) && !site->frozen)
		site_add_late(site, machine);
}

struct host *site_host(const struct site *site)
{
	return site->host;
}

const struct host_about *site_about(const struct site *site)
{
	return site->about;
}

const struct virt_type *site_virt_type(const struct site *site)
{
	return site->type.name ? &site->type : NULL;
}
