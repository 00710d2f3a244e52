/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/platform.h"
#include "local-sched/hypervisor/pool.h"

#include <string.h>

#include "local-sched/hypervisor/domain_xml.h"
#include "local-sched/hypervisor/virt_error.h"

#define LOG_SUBSYSTEM "pool"

/* A VM with the names that it borrows. */
struct entry {
	struct vm *vm;
	char *name;
	char *domain;
};

struct pool {
	struct pool_settings settings;
	struct node **nodes;  /* cluster->nodes of them */
	GPtrArray *entries;   /* by number of the VM */
	GPtrArray *displaced; /* of struct vm: displaced from their nodes */
	GPtrArray *refusals;  /* of struct refusal: not reported yet */
	bool stopped;
};

/* Places. */

char *pool_address(const struct pool *pool, const struct vm *vm)
{
	char *address = domain_address(pool->settings.cluster_index, vm_number(vm));

	*strchr(address, '/') = '\0';
	return address;
}

uint32_t pool_host_of_node(const struct pool *pool, uint32_t index)
{
	return config_cluster_host(pool->settings.cluster, index);
}

struct node *pool_node(const struct pool *pool, uint32_t index)
{
	return pool->nodes[index];
}

static struct vm *vm_at(const struct pool *pool, guint number)
{
	return ((const struct entry *)pool->entries->pdata[number])->vm;
}

static struct vm_host *vm_host_of(const struct pool *pool, const struct vm *vm)
{
	uint32_t i = 0;

	while (vm_host_host(pool->settings.vm_hosts[i]) != vm_current_host(vm))
		i++;
	return pool->settings.vm_hosts[i];
}

/* Events of VMs. */

static void balance(struct pool *pool, struct vm_host *vm_host);

/* Lets spares boot that waited for a node there. */
static void let_spares_go(struct pool *pool, const struct vm *vm)
{
	if (!pool->stopped)
		balance(pool, vm_host_of(pool, vm));
}

static void on_ready(struct vm *vm, void *data)
{
	struct pool *pool = data;

	for (uint32_t i = 0; i < pool->settings.cluster->nodes; i++)
		if (node_vm(pool->nodes[i]) == vm)
			node_vm_ready(pool->nodes[i]);
	let_spares_go(pool, vm);
}

/* A VM that is migrated while it runs has both nodes. */
static void on_down(struct vm *vm, const char *reason, void *data)
{
	struct pool *pool = data;
	const bool had_place = vm_where(vm) != NULL;

	if (!pool->stopped)
		vm_host_suspect_image(vm_host_of(pool, vm));
	for (uint32_t i = 0; i < pool->settings.cluster->nodes; i++)
		if (node_vm(pool->nodes[i]) == vm)
			node_vm_down(pool->nodes[i], reason);
	if (had_place)
		let_spares_go(pool, vm);
}

static void on_stuck(struct vm *vm, void *data);

static const struct vm_events vm_events = {.ready = on_ready, .down = on_down, .stuck = on_stuck};

/* VMs. */

static void entry_free(gpointer data)
{
	struct entry *entry = data;

	vm_free(entry->vm);
	g_free(entry->name);
	g_free(entry->domain);
	g_free(entry);
}

/* The vm_host of the host of that name, or `otherwise`. */
static struct vm_host *vm_host_called(const struct pool *pool, const char *host,
				      struct vm_host *otherwise)
{
	const struct pool_settings *settings = &pool->settings;

	for (uint32_t i = 0; host && i < settings->cluster->hosts_count; i++)
		if (g_str_equal(host_name(vm_host_host(settings->vm_hosts[i])), host))
			return settings->vm_hosts[i];
	return otherwise;
}

static void tell_home(struct pool *pool, const struct vm *vm, const struct vm_host *vm_host)
{
	pool->settings.moved(vm_number(vm), host_name(vm_host_host(vm_host)), pool->settings.data);
}

/* The VM is on one host only, unless another may have it too, or it is on its way to another. */
static void on_gone(struct vm *vm, void *data)
{
	struct pool *pool = data;

	for (uint32_t i = 0; i < pool->settings.cluster->hosts_count; i++)
		if (vm_host_awaits(pool->settings.vm_hosts[i], vm))
			return;
	if (!vm_may_be_absent(vm))
		tell_home(pool, vm, vm_host_of(pool, vm));
	vm_inhibit_boot(vm, false);
}

/*
 * Records that a VM may be on another vm_host's host as well. That host has to remove it before it
 * is booted.
 */
static void add_possible_host(struct pool *pool, struct vm *vm, struct vm_host *other)
{
	vm_inhibit_boot(vm, true);
	vm_host_await(other, vm, on_gone, pool);
}

/* Adds a VM with the next number at its home; NULL: there are no more addresses. */
static struct vm *add_number(struct pool *pool, struct vm_host *vm_host)
{
	const struct pool_settings *settings = &pool->settings;
	g_autofree char *home = NULL;
	g_autofree char *other_home = NULL;
	struct vm_host *other;
	struct entry *entry;
	struct vm_settings vm = {
		.number = pool->entries->len,
		.keeper = settings->keeper,
		.queue = settings->queue,
		.boot_timeout_s = settings->boot_timeout_s,
	};

	if (vm.number >= DOMAIN_NODES_MAX - 1) /* the last number is the probe's */
		return NULL;
	home = settings->home(vm.number, settings->data);
	other_home = settings->other_home(vm.number, settings->data);
	vm_host = vm_host_called(pool, home, vm_host);
	other = vm_host_called(pool, other_home, NULL);
	vm.host = vm_host_host(vm_host);
	entry = g_new0(struct entry, 1);
	entry->name = g_strdup_printf("%s-n%u", settings->cluster->name, vm.number);
	entry->domain = g_strdup_printf("%sn%u", settings->prefix, vm.number);
	vm.name = entry->name;
	vm.domain = entry->domain;
	entry->vm = vm_new(&vm, settings->cluster->cores, &vm_events, pool);
	g_ptr_array_add(pool->entries, entry);
	if (other && other != vm_host)
		add_possible_host(pool, entry->vm, other);
	vm_host_add_vm(vm_host, entry->vm);
	return entry->vm;
}

/* Adds the next VM whose home is `vm_host`; NULL: there is none. */
static struct vm *add_vm(struct pool *pool, struct vm_host *vm_host)
{
	struct vm *vm;

	do
		vm = add_number(pool, vm_host);
	while (vm && vm_current_host(vm) != vm_host_host(vm_host));
	return vm;
}

/*
 * A VM with a number that is not in use: a VM that another host does not want, or a new one; NULL:
 * there is none.
 */
static struct vm *make_vm(struct pool *pool, struct vm_host *vm_host)
{
	struct vm *vm;

	for (guint i = 0; i < pool->entries->len; i++) {
		vm = vm_at(pool, i);
		if (vm_state(vm) != VM_DOWN || vm_wanted(vm) || vm_where(vm) || vm_task(vm) ||
		    vm_boot_is_inhibited(vm) || vm_current_host(vm) == vm_host_host(vm_host))
			continue;
		vm_host_hand_over(vm_host_of(pool, vm), vm_host, vm);
		tell_home(pool, vm, vm_host);
		return vm;
	}
	return add_vm(pool, vm_host);
}

/* Whether a VM has no node and no task, so that a node may have it. */
static bool is_free(const struct vm *vm, const struct vm_host *vm_host)
{
	return vm_current_host(vm) == vm_host_host(vm_host) && !vm_where(vm) && !vm_task(vm) &&
	       !vm_boot_is_inhibited(vm);
}

/* How near a free VM is to being ready; 0: not usable. */
static int rank(const struct vm *vm)
{
	switch (vm_state(vm)) {
	case VM_STANDBY:
		return 4;
	case VM_PARKING:
		return 3;
	case VM_DOWN:
		return 1;
	default:
		return vm_wanted(vm) ? 2 : 0;
	}
}

/* The free VM of a host that will be ready first, or a new one; NULL: there is none. */
static struct vm *find_free(struct pool *pool, struct vm_host *vm_host)
{
	struct vm *best = NULL;

	for (guint i = 0; i < pool->entries->len; i++) {
		struct vm *vm = vm_at(pool, i);

		if (is_free(vm, vm_host) && rank(vm) > (best ? rank(best) : 0))
			best = vm;
	}
	return best ? best : make_vm(pool, vm_host);
}

/*
 * The number of spares that a host should have. Suspended VMs in memory take the memory of spares,
 * and give it back when they are resumed.
 */
static uint32_t spares_wanted(const struct pool *pool, const struct vm_host *vm_host)
{
	const struct config_preemption *preemption = pool->settings.cluster->preemption;
	uint32_t wanted = preemption ? preemption->spares : 0;

	for (guint i = 0; wanted > 0 && i < pool->entries->len; i++) {
		const struct vm *vm = vm_at(pool, i);

		if (vm_current_host(vm) == vm_host_host(vm_host) && vm_state(vm) == VM_HELD &&
		    !vm_where(vm) && !vm_may_be_absent(vm))
			wanted--;
	}
	return wanted;
}

static uint32_t count_spares(const struct pool *pool, const struct vm_host *vm_host)
{
	uint32_t count = 0;

	for (guint i = 0; i < pool->entries->len; i++) {
		const struct vm *vm = vm_at(pool, i);

		if (is_free(vm, vm_host) && vm_wanted(vm))
			count++;
	}
	return count;
}

/*
 * Whether a node there is about to be ready. Creating a VM would delay it, because a host's work on
 * VMs is done in order.
 */
static bool is_about_to_be_ready(const struct pool *pool, const struct vm_host *vm_host)
{
	for (uint32_t i = 0; pool->nodes && i < pool->settings.cluster->nodes; i++) {
		enum vm_state state = pool->nodes[i] && node_vm_host(pool->nodes[i]) == vm_host
					      ? node_state(pool->nodes[i])
					      : VM_DOWN;

		if (state >= VM_WAKING && state <= VM_PARKING)
			return true;
	}
	return false;
}

/*
 * Brings the number of a host's spares to the configured one. VMs that do not run are removed
 * first. New ones wait for nodes that are about to be ready (on_ready(), on_down()).
 */
static void balance(struct pool *pool, struct vm_host *vm_host)
{
	uint32_t wanted = spares_wanted(pool, vm_host);
	uint32_t count = count_spares(pool, vm_host);

	for (; count < wanted && !is_about_to_be_ready(pool, vm_host); count++) {
		struct vm *vm = NULL;

		for (guint i = 0; i < pool->entries->len && !vm; i++)
			if (is_free(vm_at(pool, i), vm_host) && !vm_wanted(vm_at(pool, i)))
				vm = vm_at(pool, i);
		if (!vm)
			vm = make_vm(pool, vm_host);
		if (!vm)
			return;
		vm_want(vm, true);
	}
	for (; count > wanted; count--) {
		struct vm *worst = NULL;

		for (guint i = 0; i < pool->entries->len; i++) {
			struct vm *vm = vm_at(pool, i);

			if (is_free(vm, vm_host) && vm_wanted(vm) &&
			    (!worst || rank(vm) <= rank(worst)))
				worst = vm;
		}
		vm_want(worst, false);
	}
}

/* Changes. */

static void park_displaced(struct pool *pool)
{
	while (pool->displaced->len > 0) {
		struct vm *vm = g_ptr_array_steal_index(pool->displaced, pool->displaced->len - 1);

		vm_set_place(vm, NULL);
	}
}

/* Gives a VM to a node that has none. */
static void fill(struct pool *pool, struct node *node)
{
	struct vm *next = find_free(pool, node_vm_host(node));

	if (!next) {
		node_vm_down(node, "there are no more addresses for VMs");
		return;
	}
	vm_want(next, true);
	node_put(node, next);
	if (!host_connected(vm_current_host(next)))
		node_vm_down(node, "its host is out of reach");
	balance(pool, node_vm_host(node));
}

void pool_vacate(struct pool *pool, struct node *node)
{
	park_displaced(pool);
	vm_set_place(node_put(node, NULL), NULL);
	fill(pool, node);
}

/* Gives the node another VM, rather than wait for the other host of its VM. */
static void on_stuck(struct vm *vm, void *data)
{
	struct pool *pool = data;

	for (uint32_t i = 0; i < pool->settings.cluster->nodes; i++) {
		struct node *node = pool->nodes[i];

		if (node_vm(node) != vm || vm_task(vm) || !find_free(pool, node_vm_host(node)))
			continue;
		vm_want(vm, false);
		pool_vacate(pool, node);
	}
}

void pool_leave(struct pool *pool, struct node *left, struct node *stays, struct vm *vm)
{
	node_put(left, NULL);
	node_put(stays, vm);
	park_displaced(pool);
	fill(pool, left);
}

void pool_abandon(struct pool *pool, struct node *node, const char *reason)
{
	node_vm_down(node, reason);
	pool_vacate(pool, node);
}

void pool_occupy(struct pool *pool, struct node *node, struct vm *vm)
{
	g_ptr_array_add(pool->displaced, node_put(node, vm));
}

void pool_tidy(struct pool *pool)
{
	park_displaced(pool);
	for (uint32_t i = 0; !pool->stopped && i < pool->settings.cluster->hosts_count; i++)
		balance(pool, pool->settings.vm_hosts[i]);
}

/* Moving. */

bool pool_may_move(const struct pool *pool, const struct vm *vm, const struct node *node,
		   GError **error)
{
	return vm_host_may_move(vm_host_of(pool, vm), node_vm_host(node), error);
}

/* A move that was refused before it began; `done` is called as if its host had failed. */
struct refusal {
	struct pool *pool;
	host_done_f done;
	gpointer data;
	guint source; /* 0: it is being reported */
};

static void refusal_free(gpointer data)
{
	struct refusal *refusal = data;

	g_clear_handle_id(&refusal->source, g_source_remove);
	g_free(refusal);
}

static gboolean report_refusal(gpointer data)
{
	struct refusal *refusal = data;
	const host_done_f done = refusal->done;
	gpointer done_data = refusal->data;
	g_autoptr(GError) error =
		g_error_new_literal(VIRT_ERROR, VIRT_ERROR_OTHER, "where it goes cannot be stored");

	refusal->source = 0;
	g_ptr_array_remove(refusal->pool->refusals, refusal);
	done(NULL, error, done_data);
	return G_SOURCE_REMOVE;
}

/* Records that a VM may be on two hosts. False: not recorded, so that the move fails. */
static bool record_move(struct pool *pool, const struct vm *vm, const struct vm_host *to,
			host_done_f done, gpointer data)
{
	struct refusal *refusal;

	if (pool->settings.moves(vm_number(vm), host_name(vm_host_host(to)), pool->settings.data))
		return true;
	refusal = g_new0(struct refusal, 1);
	*refusal = (struct refusal){.pool = pool, .done = done, .data = data};
	refusal->source = platform_soon(pool->settings.platform, G_PRIORITY_DEFAULT_IDLE,
					report_refusal, refusal);
	g_ptr_array_add(pool->refusals, refusal);
	return false;
}

void pool_move(struct pool *pool, struct vm *vm, struct node *node, enum transfer_manner manner,
	       host_done_f done, gpointer data)
{
	if (!record_move(pool, vm, node_vm_host(node), done, data))
		return;
	vm_host_send(vm_host_of(pool, vm), node_vm_host(node), vm, manner, done, data);
}

void pool_interrupt(struct pool *pool, struct vm *vm, struct node *node,
		    enum transfer_manner manner)
{
	vm_host_interrupt(vm_host_of(pool, vm), node_vm_host(node), vm, manner);
}

void pool_find(struct pool *pool, struct vm *vm, struct node *node, enum transfer_manner manner,
	       host_done_f done, gpointer data)
{
	vm_host_find(vm_host_of(pool, vm), node_vm_host(node), vm, manner, done, data);
}

void pool_arrived(struct pool *pool, struct vm *vm, struct node *node)
{
	vm_host_arrived(vm_host_of(pool, vm), node_vm_host(node), vm);
	tell_home(pool, vm, node_vm_host(node));
}

void pool_stayed(struct pool *pool, struct vm *vm, struct node *node)
{
	vm_host_stayed(node_vm_host(node), vm);
	tell_home(pool, vm, vm_host_of(pool, vm));
}

void pool_give_up(struct pool *pool, struct vm *vm, struct node *node)
{
	vm_host_give_up(node_vm_host(node), vm);
	if (host_connected(vm_host_host(node_vm_host(node))))
		tell_home(pool, vm, vm_host_of(pool, vm));
	else
		add_possible_host(pool, vm, node_vm_host(node));
}

/* Where suspended VMs are kept. */

enum config_keep pool_keep(const struct pool *pool)
{
	const struct config_preemption *preemption = pool->settings.cluster->preemption;

	return preemption ? preemption->keep : CONFIG_KEEP_AUTO;
}

uint64_t pool_memory_mib(const struct pool *pool)
{
	return pool->settings.cluster->memory_mib;
}

/* The limit of suspended VMs' memory on a host: by default that of the nodes there. */
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

/* Whether QEMU has the VM. A held one may be in a file. */
static bool is_live(const struct vm *vm)
{
	switch (vm_state(vm)) {
	case VM_DOWN:
	case VM_QUEUED:
	case VM_CREATING:
	case VM_REMOVING:
	case VM_DETACHED:
		return false;
	case VM_HELD:
		return !vm_may_be_absent(vm);
	default:
		return true;
	}
}

bool pool_runs_vm(const struct pool *pool, uint32_t host)
{
	const struct host *there = vm_host_host(pool->settings.vm_hosts[host]);

	for (guint i = 0; i < pool->entries->len; i++)
		if (vm_current_host(vm_at(pool, i)) == there && is_live(vm_at(pool, i)))
			return true;
	return false;
}

uint32_t pool_spares_booting(const struct pool *pool)
{
	uint32_t count = 0;

	for (guint i = 0; i < pool->entries->len; i++) {
		const struct vm *vm = vm_at(pool, i);

		count += !vm_where(vm) && !vm_task(vm) && vm_wanted(vm) &&
			 vm_state(vm) != VM_STANDBY && vm_state(vm) != VM_DOWN;
	}
	return count;
}

bool pool_may_keep(const struct pool *pool)
{
	for (uint32_t host = 0; host < pool->settings.cluster->hosts_count; host++) {
		uint64_t held_mib = 0;

		for (guint i = 0; i < pool->entries->len; i++) {
			const struct vm *vm = vm_at(pool, i);

			if (vm_state(vm) == VM_HELD && !vm_may_be_absent(vm) &&
			    vm_current_host(vm) == vm_host_host(pool->settings.vm_hosts[host]))
				held_mib += pool->settings.cluster->memory_mib;
		}
		if (held_mib > limit_mib(pool, host))
			return false;
	}
	return true;
}

/* Life. */

/* The first VM of a node: the VM of its number, or another VM at its vm_host. */
static struct vm *first_vm(struct pool *pool, uint32_t index, struct vm_host *vm_host)
{
	struct vm *vm = vm_at(pool, index);

	if (vm_current_host(vm) == vm_host_host(vm_host) && !vm_boot_is_inhibited(vm))
		return vm;
	for (guint i = 0; i < pool->entries->len; i++) {
		vm = vm_at(pool, i);
		/* The node of the VM's own number may want it. */
		if (is_free(vm, vm_host) &&
		    (i >= pool->settings.cluster->nodes ||
		     pool->settings.vm_hosts[pool_host_of_node(pool, i)] != vm_host))
			return vm;
	}
	return add_vm(pool, vm_host);
}

static void create_nodes(struct pool *pool, const struct node_events *events, void *data)
{
	const struct config_cluster *cluster = pool->settings.cluster;

	pool->nodes = g_new0(struct node *, cluster->nodes);
	for (uint32_t i = 0; i < cluster->nodes; i++)
		add_number(pool, pool->settings.vm_hosts[pool_host_of_node(pool, i)]);
	for (uint32_t i = 0; i < cluster->nodes; i++) {
		g_autofree char *name = g_strdup_printf("%s-n%u", cluster->name, i);
		struct vm_host *vm_host = pool->settings.vm_hosts[pool_host_of_node(pool, i)];
		struct vm *vm = first_vm(pool, i, vm_host);

		pool->nodes[i] = node_new(i, name, vm_host, &pool->settings.caps[i], cluster->cores,
					  events, data);
		node_put(pool->nodes[i], vm);
		if (vm)
			vm_want(vm, true);
	}
}

const struct platform *pool_platform(const struct pool *pool)
{
	return pool->settings.platform;
}

struct pool *pool_new(const struct pool_settings *settings, const struct node_events *events,
		      void *data)
{
	struct pool *pool = g_new0(struct pool, 1);

	pool->settings = *settings;
	pool->entries = g_ptr_array_new_with_free_func(entry_free);
	pool->displaced = g_ptr_array_new();
	pool->refusals = g_ptr_array_new_with_free_func(refusal_free);
	create_nodes(pool, events, data);
	for (uint32_t i = 0; i < settings->cluster->hosts_count; i++)
		balance(pool, settings->vm_hosts[i]);
	return pool;
}

void pool_stop(struct pool *pool)
{
	pool->stopped = true;
	boot_queue_clear(pool->settings.queue); /* a VM that leaves it starts no other one */
	for (guint i = 0; i < pool->entries->len; i++)
		vm_stop(vm_at(pool, i));
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
	g_ptr_array_unref(pool->refusals);
	g_free(pool);
}
