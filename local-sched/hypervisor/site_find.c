/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which of our VMs are on a host: those that are wanted are adopted, others are removed, and so are
 * those that became another site's.
 */
#include <string.h>

#include "local-sched/hypervisor/domain.h"
#include "local-sched/hypervisor/saved.h"
#include "local-sched/hypervisor/site_private.h"

#define LOG_SUBSYSTEM "site"
#include "common/log.h"

/* Whose a VM is. */

bool site_is_numbered(const char *prefix, const char *name)
{
	const char *suffix = name + strlen(prefix);

	return g_str_has_prefix(name, prefix) && *suffix == 'n' && suffix[1] &&
	       strspn(suffix + 1, "0123456789") == strlen(suffix + 1);
}

bool site_is_ours(const char *prefix, const char *name)
{
	return site_is_numbered(prefix, name) ||
	       (g_str_has_prefix(name, prefix) && g_str_equal(name + strlen(prefix), PROBE_SUFFIX));
}

struct machine *site_machine(const struct site *site, const char *domain)
{
	for (guint i = 0; i < site->machines->len; i++)
		if (g_str_equal(machine_domain(site->machines->pdata[i]), domain))
			return site->machines->pdata[i];
	return NULL;
}

/* VMs of other sites. */

/* A VM that is being removed because it is another site's. */
struct removal {
	struct site *site;
	struct machine *machine;
};

static void remove_awaited(struct site *site);

static gboolean remove_again(gpointer data)
{
	struct site *site = data;

	site->await_source = 0;
	remove_awaited(site);
	return G_SOURCE_REMOVE;
}

static void awaited_removed(gpointer result, const GError *error, gpointer data)
{
	g_autofree struct removal *removal = data;
	struct site *site = removal->site;

	if (site->frozen || !site_awaits(site, removal->machine))
		return;
	if (error) {
		log_warning_of(LOG_HOST(host_name(site->host)), "%s; trying again in %d s",
			       error->message, RETRY_S);
		if (site->await_source == 0)
			site->await_source = g_timeout_add_seconds(RETRY_S, remove_again, site);
		return;
	}
	g_ptr_array_remove(site->awaiting, removal->machine);
	site->gone(removal->machine, site->gone_data);
}

/* Those that came back by a migration are to stay. */
static void keep_own(struct site *site)
{
	for (guint i = site->awaiting->len; i > 0; i--) {
		struct machine *machine = site->awaiting->pdata[i - 1];

		if (!site_machine(site, machine_domain(machine)))
			continue;
		g_ptr_array_remove_index(site->awaiting, i - 1);
		site->gone(machine, site->gone_data);
	}
}

/* When its host comes back, it is done after VMs were listed. */
static void remove_awaited(struct site *site)
{
	if (site->step != STEP_READY || site->frozen || !host_connected(site->host))
		return;
	keep_own(site);
	for (guint i = 0; i < site->awaiting->len; i++) {
		struct machine *machine = site->awaiting->pdata[i];
		struct removal *removal = g_new0(struct removal, 1);

		*removal = (struct removal){.site = site, .machine = machine};
		domain_destroy(site->host, machine_domain(machine), site->settings.keeper, awaited_removed, removal);
	}
}

void site_await(struct site *site, struct machine *machine,
		void (*gone)(struct machine *machine, void *data), void *data)
{
	site->gone = gone;
	site->gone_data = data;
	if (!site_awaits(site, machine))
		g_ptr_array_add(site->awaiting, machine);
	remove_awaited(site);
}

bool site_awaits(const struct site *site, const struct machine *machine)
{
	return g_ptr_array_find(site->awaiting, machine, NULL);
}

/* All that are there. */

static const struct domain_info *info_of(const GPtrArray *found, const char *domain)
{
	for (guint i = 0; i < found->len; i++) {
		const struct domain_info *info = found->pdata[i];

		if (g_str_equal(info->name, domain))
			return info;
	}
	return NULL;
}

/* After VMs that were being saved were removed. */
static void tidy(struct site *site)
{
	g_auto(GStrv) kept = site_swap_names(site);

	if (site->removing > 0 || site->frozen)
		return;
	if (!site->tidied)
		saved_tidy(site->host, site->settings.prefix, NULL, (const char *const *)kept, NULL, NULL);
	site->tidied = true;
}

static void leftover_removed(gpointer result, const GError *error, gpointer data)
{
	struct site *site = data;

	site->removing--;
	tidy(site);
}

/*
 * Of VMs of local schedulers only those are wanted that are this one's: another one holds no claim on the host, and is gone.
 * A VM without our metadata is left alone, whatever its name.
 */
static void remove_leftover(struct site *site, const struct domain_info *info)
{
	if (!info->keeper) {
		log_warning_of(LOG_HOST(host_name(site->host)), "VM '%s' is somebody else's, though named like ours: it is left alone",
			       info->name);
	} else if (!site_machine(site, info->name) || !g_str_equal(info->keeper, site->settings.keeper)) {
		site->removing++;
		domain_destroy(site->host, info->name, info->keeper, leftover_removed, site);
	}
}

static void listed(gpointer result, const GError *error, gpointer data)
{
	struct site *site = data;
	g_autoptr(GPtrArray) found = result;

	if (!site_stepped(site, error))
		return;
	for (guint i = 0; i < found->len; i++) {
		const struct domain_info *info = found->pdata[i];

		if (site_is_ours(site->settings.prefix, info->name))
			remove_leftover(site, info);
	}
	for (guint i = 0; i < site->machines->len; i++) {
		struct machine *machine = site->machines->pdata[i];
		const struct domain_info *info = info_of(found, machine_domain(machine));

		if (machine_is_stowed(machine))
			continue; /* it may be on its way from one host to another */
		if (site_can_boot(site, machine))
			machine_found(machine, info);
		else
			site_add_late(site, machine);
	}
	remove_awaited(site);
	tidy(site);
}

void site_list(struct site *site)
{
	domain_list(site->host, site->settings.prefix, listed, site);
}
