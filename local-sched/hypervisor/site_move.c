/* SPDX-License-Identifier: GPL-3.0-or-later */
/* VMs that go from one site to another: to where, and what each of the two knows of them meanwhile. */
#include "local-sched/hypervisor/domain.h"
#include "local-sched/hypervisor/domain_xml.h"
#include "local-sched/hypervisor/saved.h"
#include "local-sched/hypervisor/site_private.h"
#include "local-sched/hypervisor/storage.h"
#include "local-sched/hypervisor/transfer.h"
#include "local-sched/hypervisor/virt_error.h"

static const char *peer_uri(const struct site *site)
{
	const struct config_host *host = site->settings.host;

	return host->peer_uri ? host->peer_uri : host->uri;
}

/* A URI that means the machine that opens it, or a file there, is of no use to another one. */
static bool names_its_host(const char *uri)
{
	g_autoptr(GUri) parts = g_uri_parse(uri, G_URI_FLAGS_NONE, NULL);

	return parts && g_uri_get_host(parts) && *g_uri_get_host(parts);
}

bool site_may_move(const struct site *from, const struct site *to, GError **error)
{
	if (!host_connected(from->host))
		g_set_error(error, VIRT_ERROR, VIRT_ERROR_CONNECTION, "host '%s' is out of reach",
			    host_name(from->host));
	else if (!names_its_host(peer_uri(to)))
		g_set_error(error, VIRT_ERROR, VIRT_ERROR_OTHER,
			    "other hosts cannot reach host '%s': give it a peer_uri",
			    host_name(to->host));
	else if (g_strcmp0(from->type.name, to->type.name) != 0)
		g_set_error(error, VIRT_ERROR, VIRT_ERROR_OTHER,
			    "VMs of host '%s' are of type %s, those of host '%s' of type %s",
			    host_name(from->host), from->type.name ?: "unknown",
			    host_name(to->host), to->type.name ?: "unknown");
	else
		return true;
	return false;
}

/* On their way. */

/* Paths of volumes are the same on all hosts, which have the same pool. */
static void expect_swap(struct site *to, const struct site *from, const char *domain)
{
	const char *path = g_hash_table_lookup(from->swap, domain);

	if (path)
		g_hash_table_insert(to->swap, g_strdup(domain), g_strdup(path));
}

static char **changes_between(const struct site *from, const struct site *to,
			      const struct machine *machine)
{
	const char *domain = machine_domain(machine);
	struct site_names names[2];
	struct domain_spec before = site_specify(from, domain, machine_name(machine),
						 machine_number(machine), NULL, &names[0]);
	struct domain_spec after = site_specify(to, domain, machine_name(machine),
						machine_number(machine), NULL, &names[1]);
	char **changes = domain_xml_changes(&before, &after);

	site_names_clear(&names[0]);
	site_names_clear(&names[1]);
	return changes;
}

/* How a VM travels. */
enum manner {
	STILL = 0, /* in memory, frozen */
	SAVED,
	LIVE,
};

static void transfer(struct site *from, struct site *to, struct machine *machine,
		     enum manner manner,
		     void (*begin)(const struct transfer *transfer, host_done_f done, gpointer data),
		     host_done_f done, gpointer data)
{
	g_auto(GStrv) changes = changes_between(from, to, machine);
	const struct transfer transfer = {
		.from = from->host,
		.to = to->host,
		.to_uri = peer_uri(to),
		.domain = machine_domain(machine),
		.keeper = from->settings.keeper,
		.changes = (const char *const *)changes,
		.saved = manner == SAVED,
		.live = manner == LIVE,
		.swap = site_has_swap(from),
		.tls = from->settings.cluster->migration_tls,
		.cancel = g_hash_table_lookup(to->coming, machine_domain(machine)),
	};

	begin(&transfer, done, data);
}

static void announce(struct site *from, struct site *to, struct machine *machine)
{
	if (!site_machine(to, machine_domain(machine)))
		g_ptr_array_add(to->machines, machine);
	expect_swap(to, from, machine_domain(machine));
	g_hash_table_insert(to->coming, g_strdup(machine_domain(machine)), g_cancellable_new());
}

void site_send(struct site *from, struct site *to, struct machine *machine, bool saved,
	       host_done_f done, gpointer data)
{
	announce(from, to, machine);
	transfer(from, to, machine, saved ? SAVED : STILL, transfer_start, done, data);
}

void site_send_live(struct site *from, struct site *to, struct machine *machine, host_done_f done,
		    gpointer data)
{
	announce(from, to, machine);
	machine_expect(machine, to->host);
	transfer(from, to, machine, LIVE, transfer_start, done, data);
}

void site_find_live(struct site *from, struct site *to, struct machine *machine, host_done_f done,
		    gpointer data)
{
	transfer(from, to, machine, LIVE, transfer_find, done, data);
}

void site_abort_live(struct site *from, struct site *to, struct machine *machine)
{
	transfer(from, to, machine, LIVE, transfer_abort, NULL, NULL);
}

void site_interrupt(struct site *from, struct site *to, struct machine *machine, bool saved)
{
	const struct transfer transfer = {
		.from = from->host,
		.domain = machine_domain(machine),
		.keeper = from->settings.keeper,
		.saved = saved,
		.cancel = g_hash_table_lookup(to->coming, machine_domain(machine)),
	};

	transfer_cancel(&transfer);
}

void site_find(struct site *from, struct site *to, struct machine *machine, host_done_f done,
	       gpointer data)
{
	transfer(from, to, machine, STILL, transfer_find, done, data);
}

/* At the end of it. */

/* What a VM has on a host's disk that is not its host any more, or does not become it. */
static void remove_volumes(struct site *site, const char *domain)
{
	g_autofree char *swap = storage_volume_name(domain, site->settings.keeper, STORAGE_SWAP);
	const char *const names[] = {swap, NULL};

	g_hash_table_remove(site->swap, domain);
	saved_remove(site->host, domain, site->settings.keeper, NULL, NULL);
	if (site_has_swap(site))
		image_remove_swap(site->host, names, NULL, NULL);
}

void site_arrived(struct site *from, struct site *to, struct machine *machine)
{
	g_ptr_array_remove(from->machines, machine);
	g_hash_table_remove(to->coming, machine_domain(machine));
	remove_volumes(from, machine_domain(machine));
	machine_move(machine, to->host);
	site_prepare(to, machine);
}

void site_stayed(struct site *to, struct machine *machine)
{
	g_ptr_array_remove(to->machines, machine);
	g_hash_table_remove(to->coming, machine_domain(machine));
	remove_volumes(to, machine_domain(machine));
}

void site_give_up(struct site *to, struct machine *machine)
{
	site_stayed(to, machine);
	domain_destroy(to->host, machine_domain(machine), to->settings.keeper, NULL, NULL);
}

void site_hand_over(struct site *from, struct site *to, struct machine *machine)
{
	g_ptr_array_remove(from->machines, machine);
	/* Its host may have failed to remove it before. */
	domain_destroy(from->host, machine_domain(machine), from->settings.keeper, NULL, NULL);
	remove_volumes(from, machine_domain(machine));
	machine_move(machine, to->host);
	machine_detach(machine, "its new host does not know it yet");
	site_add_machine(to, machine);
}
