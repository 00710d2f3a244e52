/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/hypervisor/pool.h"

#include <string.h>

#include "local-sched/hypervisor/domain_xml.h"
#include "local-sched/hypervisor/virt_error.h"

#define LOG_SUBSYSTEM "pool"
#include "common/log.h"

/* A VM with the names that it borrows. */
struct entry {
	struct machine *machine;
	char *name;
	char *domain;
};

struct pool {
	struct pool_settings settings;
	struct node **nodes; /* cluster->nodes of them */
	GPtrArray *entries;   /* by number of the VM */
	GPtrArray *displaced; /* of struct machine: pushed out of their nodes */
	bool stopped;
};

/* Where things are. */

char *pool_address(const struct pool *pool, const struct machine *machine)
{
	char *address = domain_address(pool->settings.cluster_index, machine_number(machine));

	*strchr(address, '/') = '\0';
	return address;
}

uint32_t pool_host_of_node(const struct pool *pool, uint32_t index)
{
	const struct config_cluster *cluster = pool->settings.cluster;

	return (uint32_t)((uint64_t)index * cluster->hosts_count / cluster->nodes);
}

struct node *pool_node(const struct pool *pool, uint32_t index)
{
	return pool->nodes[index];
}

static struct machine *machine_at(const struct pool *pool, guint number)
{
	return ((const struct entry *)pool->entries->pdata[number])->machine;
}

static struct site *site_of(const struct pool *pool, const struct machine *machine)
{
	uint32_t i = 0;

	while (site_host(pool->settings.sites[i]) != machine_host(machine))
		i++;
	return pool->settings.sites[i];
}

/* What the VMs tell. */

static void balance(struct pool *pool, struct site *site);

/* Spares that waited for a node there may be booted now. */
static void let_spares_go(struct pool *pool, const struct machine *machine)
{
	if (!pool->stopped)
		balance(pool, site_of(pool, machine));
}

static void on_ready(struct machine *machine, void *data)
{
	struct pool *pool = data;

	for (uint32_t i = 0; i < pool->settings.cluster->nodes; i++)
		if (node_machine(pool->nodes[i]) == machine)
			node_machine_ready(pool->nodes[i]);
	let_spares_go(pool, machine);
}

/* One that goes from node to node while it runs has both. */
static void on_down(struct machine *machine, const char *reason, void *data)
{
	struct pool *pool = data;
	const bool had_place = machine_where(machine) != NULL;

	if (!pool->stopped)
		site_suspect_image(site_of(pool, machine));
	for (uint32_t i = 0; i < pool->settings.cluster->nodes; i++)
		if (node_machine(pool->nodes[i]) == machine)
			node_machine_down(pool->nodes[i], reason);
	if (had_place)
		let_spares_go(pool, machine);
}

static void on_stuck(struct machine *machine, void *data);

static const struct machine_events machine_events = {
	.ready = on_ready, .down = on_down, .stuck = on_stuck};

/* VMs. */

static void entry_free(gpointer data)
{
	struct entry *entry = data;

	machine_free(entry->machine);
	g_free(entry->name);
	g_free(entry->domain);
	g_free(entry);
}

/* The site of the host of that name, or `otherwise`. */
static struct site *site_called(const struct pool *pool, const char *host, struct site *otherwise)
{
	const struct pool_settings *settings = &pool->settings;

	for (uint32_t i = 0; host && i < settings->cluster->hosts_count; i++)
		if (g_str_equal(host_name(site_host(settings->sites[i])), host))
			return settings->sites[i];
	return otherwise;
}

static void tell_home(struct pool *pool, const struct machine *machine, const struct site *site)
{
	pool->settings.moved(machine_number(machine), host_name(site_host(site)),
			     pool->settings.data);
}

/* It is on one host only, unless another one may have it too, or it is on its way to one. */
static void on_gone(struct machine *machine, void *data)
{
	struct pool *pool = data;

	for (uint32_t i = 0; i < pool->settings.cluster->hosts_count; i++)
		if (site_awaits(pool->settings.sites[i], machine))
			return;
	if (!machine_is_stowed(machine))
		tell_home(pool, machine, site_of(pool, machine));
	machine_bar(machine, false);
}

/* A VM may be on another site's host as well, which has to remove it before it is booted. */
static void doubt(struct pool *pool, struct machine *machine, struct site *other)
{
	machine_bar(machine, true);
	site_await(other, machine, on_gone, pool);
}

/* A new VM with the next number at its home, or NULL: there are no more addresses. */
static struct machine *add_number(struct pool *pool, struct site *site)
{
	const struct pool_settings *settings = &pool->settings;
	g_autofree char *home = NULL;
	g_autofree char *other_home = NULL;
	struct site *other;
	struct entry *entry;
	struct machine_settings machine = {
		.number = pool->entries->len,
		.keeper = settings->keeper,
		.queue = settings->queue,
		.boot_timeout_s = settings->boot_timeout_s,
	};

	if (machine.number >= DOMAIN_NODES_MAX - 1) /* the last one is the probe's */
		return NULL;
	home = settings->home(machine.number, settings->data);
	other_home = settings->other_home(machine.number, settings->data);
	site = site_called(pool, home, site);
	other = site_called(pool, other_home, NULL);
	machine.host = site_host(site);
	entry = g_new0(struct entry, 1);
	entry->name = g_strdup_printf("%s-n%u", settings->cluster->name, machine.number);
	entry->domain = g_strdup_printf("%sn%u", settings->prefix, machine.number);
	machine.name = entry->name;
	machine.domain = entry->domain;
	entry->machine =
		machine_new(&machine, settings->cluster->cores, &machine_events, pool);
	g_ptr_array_add(pool->entries, entry);
	if (other && other != site)
		doubt(pool, entry->machine, other);
	site_add_machine(site, entry->machine);
	return entry->machine;
}

/* The next one that is at `site`, or NULL. */
static struct machine *add_machine(struct pool *pool, struct site *site)
{
	struct machine *machine;

	do
		machine = add_number(pool, site);
	while (machine && machine_host(machine) != site_host(site));
	return machine;
}

/*
 * A VM with a number that is not in use: one that another host does not want, or a new one; NULL:
 * none.
 */
static struct machine *make_machine(struct pool *pool, struct site *site)
{
	struct machine *machine;

	for (guint i = 0; i < pool->entries->len; i++) {
		machine = machine_at(pool, i);
		if (machine_state(machine) != MACHINE_DOWN || machine_wanted(machine) ||
		    machine_where(machine) || machine_task(machine) ||
		    machine_is_barred(machine) || machine_host(machine) == site_host(site))
			continue;
		site_hand_over(site_of(pool, machine), site, machine);
		tell_home(pool, machine, site);
		return machine;
	}
	return add_machine(pool, site);
}

/* Whether a VM is at no node and has no task, so that a node may have it. */
static bool is_free(const struct machine *machine, const struct site *site)
{
	return machine_host(machine) == site_host(site) && !machine_where(machine) &&
	       !machine_task(machine) && !machine_is_barred(machine);
}

/* How near a free VM is to being of use; 0: not at all. */
static int rank(const struct machine *machine)
{
	switch (machine_state(machine)) {
	case MACHINE_PARKED:
		return 4;
	case MACHINE_PARKING:
		return 3;
	case MACHINE_DOWN:
		return 1;
	default:
		return machine_wanted(machine) ? 2 : 0;
	}
}

/* The free VM of a host that will be ready first, or a new one; NULL: none can be had. */
static struct machine *find_free(struct pool *pool, struct site *site)
{
	struct machine *best = NULL;

	for (guint i = 0; i < pool->entries->len; i++) {
		struct machine *machine = machine_at(pool, i);

		if (is_free(machine, site) && rank(machine) > (best ? rank(best) : 0))
			best = machine;
	}
	return best ? best : make_machine(pool, site);
}

/* Suspended VMs in memory fill the places of spares: they give them back when they are resumed. */
static uint32_t spares_wanted(const struct pool *pool, const struct site *site)
{
	const struct config_preemption *preemption = pool->settings.cluster->preemption;
	uint32_t wanted = preemption ? preemption->spares : 0;

	for (guint i = 0; wanted > 0 && i < pool->entries->len; i++) {
		const struct machine *machine = machine_at(pool, i);

		if (machine_host(machine) == site_host(site) &&
		    machine_state(machine) == MACHINE_HELD && !machine_where(machine) &&
		    !machine_is_stowed(machine))
			wanted--;
	}
	return wanted;
}

static uint32_t count_spares(const struct pool *pool, const struct site *site)
{
	uint32_t count = 0;

	for (guint i = 0; i < pool->entries->len; i++) {
		const struct machine *machine = machine_at(pool, i);

		if (is_free(machine, site) && machine_wanted(machine))
			count++;
	}
	return count;
}

/*
 * Whether a node there is about to be ready: a VM that is being created would keep it from that for
 * as long as this takes, since a host's work on VMs is done in order.
 */
static bool is_about_to_be_ready(const struct pool *pool, const struct site *site)
{
	for (uint32_t i = 0; pool->nodes && i < pool->settings.cluster->nodes; i++) {
		enum machine_state state = pool->nodes[i] && node_site(pool->nodes[i]) == site ?
						   node_state(pool->nodes[i]) :
						   MACHINE_DOWN;

		if (state >= MACHINE_UNPARKING && state <= MACHINE_PARKING)
			return true;
	}
	return false;
}

/*
 * Sees to it that a host has its spares, no more and no less; one that is not running goes first.
 * More of them wait for nodes that are about to be ready (on_ready(), on_down()).
 */
static void balance(struct pool *pool, struct site *site)
{
	uint32_t wanted = spares_wanted(pool, site);
	uint32_t count = count_spares(pool, site);

	for (; count < wanted && !is_about_to_be_ready(pool, site); count++) {
		struct machine *machine = NULL;

		for (guint i = 0; i < pool->entries->len && !machine; i++)
			if (is_free(machine_at(pool, i), site) &&
			    !machine_wanted(machine_at(pool, i)))
				machine = machine_at(pool, i);
		if (!machine)
			machine = make_machine(pool, site);
		if (!machine)
			return;
		machine_want(machine, true);
	}
	for (; count > wanted; count--) {
		struct machine *worst = NULL;

		for (guint i = 0; i < pool->entries->len; i++) {
			struct machine *machine = machine_at(pool, i);

			if (is_free(machine, site) && machine_wanted(machine) &&
			    (!worst || rank(machine) <= rank(worst)))
				worst = machine;
		}
		machine_want(worst, false);
	}
}

/* Changes. */

static void park_displaced(struct pool *pool)
{
	while (pool->displaced->len > 0) {
		struct machine *machine =
			g_ptr_array_steal_index(pool->displaced, pool->displaced->len - 1);

		machine_place(machine, NULL);
	}
}

/* Gives a node that has none a VM. */
static void fill(struct pool *pool, struct node *node)
{
	struct machine *next = find_free(pool, node_site(node));

	if (!next) {
		node_machine_down(node, "there are no more addresses for VMs");
		return;
	}
	machine_want(next, true);
	node_put(node, next);
	if (!host_connected(machine_host(next)))
		node_machine_down(node, "its host is out of reach");
	balance(pool, node_site(node));
}

void pool_vacate(struct pool *pool, struct node *node)
{
	park_displaced(pool);
	machine_place(node_put(node, NULL), NULL);
	fill(pool, node);
}

/* A node does not wait for the other host of its VM: it gets another VM. */
static void on_stuck(struct machine *machine, void *data)
{
	struct pool *pool = data;

	for (uint32_t i = 0; i < pool->settings.cluster->nodes; i++) {
		struct node *node = pool->nodes[i];

		if (node_machine(node) != machine || machine_task(machine) ||
		    !find_free(pool, node_site(node)))
			continue;
		machine_want(machine, false);
		pool_vacate(pool, node);
	}
}

void pool_leave(struct pool *pool, struct node *left, struct node *stays, struct machine *machine)
{
	node_put(left, NULL);
	node_put(stays, machine);
	park_displaced(pool);
	fill(pool, left);
}

void pool_abandon(struct pool *pool, struct node *node, const char *reason)
{
	node_machine_down(node, reason);
	pool_vacate(pool, node);
}

void pool_occupy(struct pool *pool, struct node *node, struct machine *machine)
{
	g_ptr_array_add(pool->displaced, node_put(node, machine));
}

void pool_tidy(struct pool *pool)
{
	park_displaced(pool);
	for (uint32_t i = 0; !pool->stopped && i < pool->settings.cluster->hosts_count; i++)
		balance(pool, pool->settings.sites[i]);
}

/* Moving. */

bool pool_may_move(const struct pool *pool, const struct machine *machine, const struct node *node,
		   GError **error)
{
	return site_may_move(site_of(pool, machine), node_site(node), error);
}

/* A move that was not begun, as if its host had said so. */
struct refusal {
	host_done_f done;
	gpointer data;
};

static gboolean refuse(gpointer data)
{
	g_autofree struct refusal *refusal = data;
	g_autoptr(GError) error = g_error_new_literal(VIRT_ERROR, VIRT_ERROR_OTHER,
						      "where it goes cannot be stored");

	refusal->done(NULL, error, refusal->data);
	return G_SOURCE_REMOVE;
}

/* Whether it is recorded that a VM may be on two hosts; else the move fails. */
static bool tell_move(struct pool *pool, const struct machine *machine, const struct site *to,
		      host_done_f done, gpointer data)
{
	struct refusal *refusal;

	if (pool->settings.moves(machine_number(machine), host_name(site_host(to)),
				 pool->settings.data))
		return true;
	refusal = g_new0(struct refusal, 1);
	*refusal = (struct refusal){.done = done, .data = data};
	g_idle_add(refuse, refusal);
	return false;
}

void pool_move(struct pool *pool, struct machine *machine, struct node *node, bool saved,
	       host_done_f done, gpointer data)
{
	if (!tell_move(pool, machine, node_site(node), done, data))
		return;
	site_send(site_of(pool, machine), node_site(node), machine, saved, done, data);
}

void pool_interrupt(struct pool *pool, struct machine *machine, struct node *node, bool saved)
{
	site_interrupt(site_of(pool, machine), node_site(node), machine, saved);
}

void pool_find(struct pool *pool, struct machine *machine, struct node *node, host_done_f done,
	       gpointer data)
{
	site_find(site_of(pool, machine), node_site(node), machine, done, data);
}

void pool_move_live(struct pool *pool, struct machine *machine, struct node *node,
		    host_done_f done, gpointer data)
{
	if (!tell_move(pool, machine, node_site(node), done, data))
		return;
	site_send_live(site_of(pool, machine), node_site(node), machine, done, data);
}

void pool_find_live(struct pool *pool, struct machine *machine, struct node *node,
		    host_done_f done, gpointer data)
{
	site_find_live(site_of(pool, machine), node_site(node), machine, done, data);
}

void pool_abort_live(struct pool *pool, struct machine *machine, struct node *node)
{
	site_abort_live(site_of(pool, machine), node_site(node), machine);
}

void pool_arrived(struct pool *pool, struct machine *machine, struct node *node)
{
	site_arrived(site_of(pool, machine), node_site(node), machine);
	tell_home(pool, machine, node_site(node));
}

void pool_stayed(struct pool *pool, struct machine *machine, struct node *node)
{
	site_stayed(node_site(node), machine);
	tell_home(pool, machine, site_of(pool, machine));
}

void pool_give_up(struct pool *pool, struct machine *machine, struct node *node)
{
	site_give_up(node_site(node), machine);
	if (host_connected(site_host(node_site(node))))
		tell_home(pool, machine, site_of(pool, machine));
	else
		doubt(pool, machine, node_site(node));
}

/* Keeping. */

enum config_keep pool_keep(const struct pool *pool)
{
	const struct config_preemption *preemption = pool->settings.cluster->preemption;

	return preemption ? preemption->keep : CONFIG_KEEP_AUTO;
}

uint64_t pool_memory_mib(const struct pool *pool)
{
	return pool->settings.cluster->memory_mib;
}

/* What suspended VMs may hold on a host: by default as much as the nodes there. */
static uint64_t limit_mib(const struct pool *pool, uint32_t host)
{
	const struct config_cluster *cluster = pool->settings.cluster;
	uint64_t nodes = 0;

	if (cluster->preemption && cluster->preemption->memory_mib > 0)
		return cluster->preemption->memory_mib;
	for (uint32_t i = 0; i < cluster->nodes; i++)
		nodes += pool_host_of_node(pool, i) == host;
	return nodes * cluster->memory_mib;
}

uint32_t pool_spares_booting(const struct pool *pool)
{
	uint32_t count = 0;

	for (guint i = 0; i < pool->entries->len; i++) {
		const struct machine *machine = machine_at(pool, i);

		count += !machine_where(machine) && !machine_task(machine) &&
			 machine_wanted(machine) && machine_state(machine) != MACHINE_PARKED &&
			 machine_state(machine) != MACHINE_DOWN;
	}
	return count;
}

bool pool_may_keep(const struct pool *pool)
{
	for (uint32_t host = 0; host < pool->settings.cluster->hosts_count; host++) {
		uint64_t held_mib = 0;

		for (guint i = 0; i < pool->entries->len; i++) {
			const struct machine *machine = machine_at(pool, i);

			if (machine_state(machine) == MACHINE_HELD &&
			    !machine_is_stowed(machine) &&
			    machine_host(machine) == site_host(pool->settings.sites[host]))
				held_mib += pool->settings.cluster->memory_mib;
		}
		if (held_mib > limit_mib(pool, host))
			return false;
	}
	return true;
}

/* Life. */

/* The VM that a node begins with: the one of its number, or another one at its site. */
static struct machine *first_machine(struct pool *pool, uint32_t index, struct site *site)
{
	struct machine *machine = machine_at(pool, index);

	if (machine_host(machine) == site_host(site) && !machine_is_barred(machine))
		return machine;
	for (guint i = 0; i < pool->entries->len; i++) {
		machine = machine_at(pool, i);
		/* The node of its own number may want it. */
		if (is_free(machine, site) &&
		    (i >= pool->settings.cluster->nodes ||
		     pool->settings.sites[pool_host_of_node(pool, i)] != site))
			return machine;
	}
	return add_machine(pool, site);
}

static void create_nodes(struct pool *pool, const struct node_events *events, void *data)
{
	const struct config_cluster *cluster = pool->settings.cluster;

	pool->nodes = g_new0(struct node *, cluster->nodes);
	for (uint32_t i = 0; i < cluster->nodes; i++)
		add_number(pool, pool->settings.sites[pool_host_of_node(pool, i)]);
	for (uint32_t i = 0; i < cluster->nodes; i++) {
		g_autofree char *name = g_strdup_printf("%s-n%u", cluster->name, i);
		struct site *site = pool->settings.sites[pool_host_of_node(pool, i)];
		struct machine *machine = first_machine(pool, i, site);

		pool->nodes[i] = node_new(i, name, site, &pool->settings.caps[i], cluster->cores,
					  events, data);
		node_put(pool->nodes[i], machine);
		if (machine)
			machine_want(machine, true);
	}
}

struct pool *pool_new(const struct pool_settings *settings, const struct node_events *events,
		      void *data)
{
	struct pool *pool = g_new0(struct pool, 1);

	pool->settings = *settings;
	pool->entries = g_ptr_array_new_with_free_func(entry_free);
	pool->displaced = g_ptr_array_new();
	create_nodes(pool, events, data);
	for (uint32_t i = 0; i < settings->cluster->hosts_count; i++)
		balance(pool, settings->sites[i]);
	return pool;
}

void pool_stop(struct pool *pool)
{
	pool->stopped = true;
	for (guint i = 0; i < pool->entries->len; i++)
		machine_stop(machine_at(pool, i));
}

void pool_free(struct pool *pool)
{
	if (!pool)
		return;
	for (uint32_t i = 0; i < pool->settings.cluster->nodes; i++)
		node_free(pool->nodes[i]);
	g_free(pool->nodes);
	g_ptr_array_unref(pool->entries);
	g_ptr_array_unref(pool->displaced);
	g_free(pool);
}
