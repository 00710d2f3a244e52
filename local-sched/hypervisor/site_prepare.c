/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is done before VMs can be booted at a site, step by step; a step that fails is tried again.
 */
#include <string.h>

#include "local-sched/hypervisor/image.h"
#include "local-sched/hypervisor/site_private.h"
#include "local-sched/hypervisor/storage.h"
#include "local-sched/hypervisor/virt_error.h"

#define LOG_SUBSYSTEM "site"
#include "common/log.h"

void site_detach_all(struct site *site, const char *reason)
{
	for (guint i = 0; i < site->machines->len; i++) {
		struct machine *machine = site->machines->pdata[i];

		machine_detach(machine, reason);
		if (machine_is_stowed(machine))
			machine_cut_off(machine, site->host);
	}
}

/* From step to step. */

static gboolean retry(gpointer data)
{
	struct site *site = data;

	site->retry_source = 0;
	site_step(site);
	return G_SOURCE_REMOVE;
}

void site_retry_later(struct site *site)
{
	if (site->retry_source == 0)
		site->retry_source = g_timeout_add_seconds(RETRY_S, retry, site);
}

bool site_stepped(struct site *site, const GError *error)
{
	site->stepping = false;
	if (site->frozen)
		return false;
	if (!error)
		return true;
	log_warning_of(LOG_HOST(host_name(site->host)), "%s; trying again in %d s", error->message,
		       RETRY_S);
	site_detach_all(site, error->message);
	site_retry_later(site);
	return false;
}

static void next_step(struct site *site)
{
	site->step++;
	site_step(site);
}

/* What the host is. */

static void about_known(gpointer result, const GError *error, gpointer data)
{
	struct site *site = data;

	if (!site_stepped(site, error)) {
		host_about_free(result);
		return;
	}
	host_about_free(site->about);
	site->about = result;
	next_step(site);
}

static void ask_about(struct site *site)
{
	const struct host_call call = {.work = host_about_work,
				       .result_free = (GDestroyNotify)host_about_free,
				       .done = about_known,
				       .data = site};

	host_call(site->host, HOST_LANE_CONTROL, &call);
}

/* The image. */

static void image_there(gpointer result, const GError *error, gpointer data)
{
	struct site *site = data;

	if (!site_stepped(site, error)) {
		image_paths_free(result);
		return;
	}
	image_paths_free(site->paths);
	site->paths = result;
	next_step(site);
}

static void send_image(struct site *site)
{
	image_upload(site->host, site->settings.image, image_there, site);
}

/* Those that run have what they need. */
static void detach_waiting(struct site *site, const char *reason)
{
	for (guint i = 0; i < site->machines->len; i++) {
		struct machine *machine = site->machines->pdata[i];
		const enum machine_state state = machine_state(machine);

		if (state != MACHINE_READY && state != MACHINE_BUSY && state != MACHINE_HELD && state != MACHINE_PARKED)
			machine_detach(machine, reason);
	}
}

/* The steps begin again with it; one that is known is passed. */
static void image_checked(gpointer result, const GError *error, gpointer data)
{
	struct site *site = data;

	site->checking = false;
	image_paths_free(result);
	if (!error || site->frozen || site->step != STEP_READY || !site->claimed ||
	    g_error_matches(error, VIRT_ERROR, VIRT_ERROR_CONNECTION))
		return;
	log_warning_of(LOG_HOST(host_name(site->host)), "%s; trying again in %d s", error->message, RETRY_S);
	site->step = STEP_IMAGE;
	detach_waiting(site, error->message);
	site_retry_later(site);
}

void site_suspect_image(struct site *site)
{
	if (site->checking || site->stepping || site->frozen || site->step != STEP_READY || !site->claimed ||
	    !host_connected(site->host))
		return;
	site->checking = true;
	image_upload(site->host, site->settings.image, image_checked, site);
}

/* The swap disks. */

/* Keeps the paths of swap disks by the names of their VMs. */
static void keep_swap(struct site *site, const char *const *names, const char *const *paths)
{
	g_autofree char *rest = storage_volume_name("", site->settings.keeper, STORAGE_SWAP);

	for (; *names && *paths; names++, paths++)
		g_hash_table_insert(site->swap, g_strndup(*names, strlen(*names) - strlen(rest)), g_strdup(*paths));
}

/* Swap disks that are being made. */
struct swapping {
	struct site *site;
	GStrv names;
	struct machine *machine; /* NULL: of all that were there */
};

static void swapping_free(struct swapping *swapping)
{
	g_strfreev(swapping->names);
	g_free(swapping);
}

static void swap_there(gpointer result, const GError *error, gpointer data)
{
	struct swapping *swapping = data;
	struct site *site = swapping->site;
	g_auto(GStrv) paths = result;
	bool good = site_stepped(site, error);

	if (good)
		keep_swap(site, (const char *const *)swapping->names, (const char *const *)paths);
	swapping_free(swapping);
	if (good)
		next_step(site);
}

static void make_swap(struct site *site)
{
	struct swapping *swapping;

	if (!site_has_swap(site)) {
		site->stepping = false;
		next_step(site);
		return;
	}
	swapping = g_new0(struct swapping, 1);
	swapping->site = site;
	swapping->names = site_swap_names(site);
	image_make_swap(site->host, (const char *const *)swapping->names,
			site->settings.cluster->swap_mib, swap_there, swapping);
}

/* A VM that came later has its swap disk: it can be booted. */
static void late_swap_there(gpointer result, const GError *error, gpointer data)
{
	struct swapping *swapping = data;
	struct site *site = swapping->site;
	g_auto(GStrv) paths = result;

	if (error)
		log_warning_of(LOG_NODE(machine_name(swapping->machine)),
			       "%s; trying again in %d s", error->message, RETRY_S);
	else
		keep_swap(site, (const char *const *)swapping->names, (const char *const *)paths);
	if (!error && !site->frozen) {
		site_prepare(site, swapping->machine);
		machine_found(swapping->machine, NULL);
	} else if (!site->frozen) {
		machine_detach(swapping->machine, error->message);
		site_retry_later(site);
	}
	swapping_free(swapping);
}

void site_add_late(struct site *site, struct machine *machine)
{
	struct swapping *swapping;

	if (site_can_boot(site, machine)) {
		site_prepare(site, machine);
		machine_found(machine, NULL);
		return;
	}
	swapping = g_new0(struct swapping, 1);
	swapping->site = site;
	swapping->machine = machine;
	swapping->names = g_new0(char *, 2);
	swapping->names[0] = storage_volume_name(machine_domain(machine), site->settings.keeper, STORAGE_SWAP);
	image_make_swap(site->host, (const char *const *)swapping->names,
			site->settings.cluster->swap_mib, late_swap_there, swapping);
}

/* How VMs are run. */

/* The decision copies nothing: the specification lives as long as it. */
struct probe {
	struct site *site;
	struct site_names names;
	struct domain_spec spec;
};

static void type_known(const struct virt_type *type, void *data)
{
	struct probe *probe = data;
	struct site *site = probe->site;

	virt_type_clear(&site->type);
	site->type = (struct virt_type){.name = g_strdup(type->name),
					.reason = g_strdup(type->reason)};
	g_clear_pointer(&site->decision, virt_type_decision_free);
	site_names_clear(&probe->names);
	g_free(probe);
	if (!site_stepped(site, NULL))
		return;
	log_info_of(LOG_HOST(host_name(site->host)), "VMs run as type '%s': %s", site->type.name,
		    site->type.reason);
	site_prepare_all(site);
	next_step(site);
}

static void decide_type(struct site *site)
{
	struct probe *probe;

	if (site->type.name) {
		site->stepping = false;
		next_step(site);
		return;
	}
	probe = g_new0(struct probe, 1);
	probe->site = site;
	probe->spec = site_specify(site, site->probe_name, PROBE_SUFFIX, DOMAIN_NODES_MAX - 1, NULL,
				   &probe->names);
	site->decision = virt_type_decide(site->host, site->settings.virt_type, &probe->spec,
					  type_known, probe);
}

/* The steps. */

static void (*const steps[])(struct site *site) = {
	[STEP_ABOUT] = ask_about,   [STEP_IMAGE] = send_image, [STEP_SWAP] = make_swap,
	[STEP_TYPE] = decide_type,  [STEP_READY] = site_list,
};

void site_step(struct site *site)
{
	if (site->stepping || site->frozen || !host_connected(site->host))
		return;
	site->stepping = true;
	if (site->claimed)
		steps[site->step](site);
	else
		site_claim(site);
}
