/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/config/config.h"
#include "common/platform.h"
#include "local-sched/hypervisor/node.h"

/*
 * The nodes of a cluster and its VMs. At first VM number i is at node i, unless it was on another
 * host: no second VM gets a number while the first VM of that number may be left on a host that is
 * out of reach. When a task is suspended, its VMs leave their nodes, and the nodes get spares,
 * which are booted beforehand and paused, or fresh VMs. When it is resumed, its VMs displace
 * others, which become spares, or are removed where there are enough spares. A spare uses no CPU
 * time. A VM changes its host when its task is resumed on another host, or is migrated. While a VM
 * may be on two hosts, it is booted on neither (vm_inhibit_boot()). Main loop only.
 */
struct pool;

/* The parts of a pool; borrowed until it is freed. */
struct pool_settings {
	const struct platform *platform;
	const struct config_cluster *cluster;
	uint32_t cluster_index;
	const char *prefix;              /* of the names of the cluster's VMs */
	const char *keeper;              /* owner of its VMs (domain_xml.h) */
	struct vm_host *const *vm_hosts; /* by host */
	const struct cpu_cap *caps;      /* by node */
	struct boot_queue *queue;
	double boot_timeout_s;
	/*
	 * The name of the host on which VM `number` was by a predecessor's record; the caller frees
	 * it. NULL: not known.
	 */
	char *(*home)(uint32_t number, void *data);
	/* A second host on which the VM may be: it was on its way there. */
	char *(*other_home)(uint32_t number, void *data);
	/*
	 * Records that the VM may be on this host too from now on. False: it cannot be recorded,
	 * and the VM does not move.
	 */
	bool (*moves)(uint32_t number, const char *host, void *data);
	/* Records that the VM is on this host from now on, and on no other. */
	void (*moved)(uint32_t number, const char *host, void *data);
	void *data; /* for all four functions */
};

/* Creates the nodes with their first VMs, and spares. VMs boot when their host was reached. */
struct pool *pool_new(const struct pool_settings *settings, const struct node_events *events,
		      void *data);

/* Ends all activity of the VMs for good. */
void pool_stop(struct pool *pool);

/* After the vm_hosts were freed. No move ends any more. NULL is allowed. */
void pool_free(struct pool *pool);

/* The platform of its settings. */
const struct platform *pool_platform(const struct pool *pool);

/* Node `index`, below the number of nodes. */
struct node *pool_node(const struct pool *pool, uint32_t index);

/* The address of a VM, which it keeps wherever it runs: "10.77.1.12". The caller frees it. */
char *pool_address(const struct pool *pool, const struct vm *vm);

/* The number of the host that node `index` is on. */
uint32_t pool_host_of_node(const struct pool *pool, uint32_t index);

/*
 * Takes a VM that is held by a task from its node, and brings another VM there. The event `settled`
 * and node_is_settled() say when the other VM is ready.
 */
void pool_vacate(struct pool *pool, struct node *node);

/* The VM at a node does not come: the node is down until another VM is there. */
void pool_abandon(struct pool *pool, struct node *node, const char *reason);

/*
 * Puts a held VM that has no place at a node, which is ready. If the node is on another host, the
 * caller then brings the VM there. The VM that was at the node stays as it is until pool_tidy(), so
 * that it delays nothing.
 */
void pool_occupy(struct pool *pool, struct node *node, struct vm *vm);

/*
 * Whether a held VM can be brought to the host of `node`; false with `error` (VIRT_ERROR) that says
 * what to do.
 */
bool pool_may_move(const struct pool *pool, const struct vm *vm, const struct node *node,
		   GError **error);

/*
 * Orders `to`, `count` nodes for as many VMs, such that as many VMs as possible stay at their nodes
 * (`from`; NULL: they are at no nodes), and as many of the others as possible on their hosts. False
 * with `error` (VIRT_ERROR), and nothing changed: a VM would have to go to a host that it cannot be
 * moved to.
 */
bool pool_match(const struct pool *pool, struct vm *const *vms, const uint32_t *from,
		uint32_t count, uint32_t *to, GError **error);

/*
 * Brings a VM, which may be absent unless it is live, to the host of its node (vm_host_send()), and
 * finds out where it is after a failure (vm_host_find()).
 */
void pool_move(struct pool *pool, struct vm *vm, struct node *node, enum transfer_manner manner,
	       host_done_f done, gpointer data);
void pool_find(struct pool *pool, struct vm *vm, struct node *node, enum transfer_manner manner,
	       host_done_f done, gpointer data);

/* Ends a move that is under way: pool_move() or pool_find() ends soon (vm_host_interrupt()). */
void pool_interrupt(struct pool *pool, struct vm *vm, struct node *node,
		    enum transfer_manner manner);

/*
 * Report the end of a move: the VM is on the node's host, or is not. pool_give_up(): the VM is not
 * wanted on the node's host, in whatever state it is.
 */
void pool_arrived(struct pool *pool, struct vm *vm, struct node *node);
void pool_stayed(struct pool *pool, struct vm *vm, struct node *node);
void pool_give_up(struct pool *pool, struct vm *vm, struct node *node);

/*
 * A VM that was to go to `left`, or has left it, is at `stays`. The node `left` gets another VM, as
 * by pool_vacate().
 */
void pool_leave(struct pool *pool, struct node *left, struct node *stays, struct vm *vm);

/*
 * Turns VMs without a node and a task into spares, up to the configured number, and removes the
 * others.
 */
void pool_tidy(struct pool *pool);

/* Whether a VM is known to run, or to be paused, on host number `host`. */
bool pool_runs_vm(const struct pool *pool, uint32_t host);

/*
 * How many VMs are on their way to be spares. A VM that failed and waits to try again does not
 * count.
 */
uint32_t pool_spares_booting(const struct pool *pool);

/* Where suspended VMs are kept, as configured. */
enum config_keep pool_keep(const struct pool *pool);

/* Memory of a VM, MiB. */
uint64_t pool_memory_mib(const struct pool *pool);

/*
 * Whether all suspended VMs that are kept in memory, with those of the next task, stay within the
 * configured limit.
 */
bool pool_may_keep(const struct pool *pool);
