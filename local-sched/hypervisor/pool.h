/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/config/config.h"
#include "local-sched/hypervisor/node.h"

/*
 * The nodes of a cluster and its VMs. At first VM number i is at node i, unless it was on another
 * host: a number is never given to a second VM while the first one may be left on a host that
 * cannot be reached. When a task is suspended its VMs leave their nodes, which get spare VMs,
 * booted beforehand and paused, or else fresh ones; when it is resumed they push others out, which
 * become spares, or go where there are enough. A spare takes no CPU time. A VM changes its host
 * when its task is resumed on another one, or moves; while it may be on two, it is booted on none
 * (vm_inhibit_boot()). Main loop only.
 */
struct pool;

/* What a pool is made of; borrowed until it is freed. */
struct pool_settings {
	const struct config_cluster *cluster;
	uint32_t cluster_index;
	const char *prefix;          /* of the names of the cluster's VMs */
	const char *keeper;          /* whom they belong to (domain_xml.h) */
	struct vm_host *const *vm_hosts;   /* by host */
	const struct cpu_cap *caps;  /* by node */
	struct boot_queue *queue;
	double boot_timeout_s;
	/*
	 * Where VM `number` was when a predecessor was last told of it, by the host's name (the
	 * caller frees it); NULL: not known.
	 */
	char *(*home)(uint32_t number, void *data);
	/* Where it may have been as well: it was on its way there. */
	char *(*other_home)(uint32_t number, void *data);
	/* It may be on this host too from now on; false: that cannot be recorded, and it stays. */
	bool (*moves)(uint32_t number, const char *host, void *data);
	/* It is on this host from now on, and nowhere else. */
	void (*moved)(uint32_t number, const char *host, void *data);
	void *data; /* of all */
};

/* The nodes with their first VMs, and spare ones; they boot when their host was reached. */
struct pool *pool_new(const struct pool_settings *settings, const struct node_events *events,
		      void *data);

/* Ends all activity of the VMs for good. */
void pool_stop(struct pool *pool);

/* After the vm_hosts were freed. NULL is allowed. */
void pool_free(struct pool *pool);

/* Node `index`, below the number of nodes. */
struct node *pool_node(const struct pool *pool, uint32_t index);

/* The address of a VM, which it keeps wherever it goes: "10.77.1.12"; the caller frees it. */
char *pool_address(const struct pool *pool, const struct vm *vm);

/* The number of the host that node `index` is on. */
uint32_t pool_host_of_node(const struct pool *pool, uint32_t index);

/*
 * Takes the VM of a node away, which is held by a task, and brings another one there.
 * node_is_settled() and the event `settled` tell when that one is ready.
 */
void pool_vacate(struct pool *pool, struct node *node);

/* The VM that occupies a node does not come: the node is down until another one is there. */
void pool_abandon(struct pool *pool, struct node *node, const char *reason);

/*
 * Puts a held VM that is nowhere at a node, which is ready; where that is on another host the VM is
 * then to be brought there. The VM that was there stays as it is until pool_tidy(), so that what is
 * done about it holds nothing up.
 */
void pool_occupy(struct pool *pool, struct node *node, struct vm *vm);

/*
 * Whether a held VM can be brought to the host of `node`; false with `error` (VIRT_ERROR) that says
 * what to do.
 */
bool pool_may_move(const struct pool *pool, const struct vm *vm, const struct node *node,
		   GError **error);

/*
 * The order of `to`, `count` nodes for as many VMs, in which as many as possible stay where they are
 * (`from`; NULL: they are at no nodes), and as many of the others as possible on their host, written
 * there. False with `error` (VIRT_ERROR), and nothing changed: a VM would have to go to a host that
 * it cannot be moved to.
 */
bool pool_match(const struct pool *pool, struct vm *const *vms, const uint32_t *from,
		uint32_t count, uint32_t *to, GError **error);

/*
 * Brings a stowed VM to the host of the node that it occupies (vm_host_send()), and finds out where it
 * is after a failure (vm_host_find()).
 */
void pool_move(struct pool *pool, struct vm *vm, struct node *node, bool saved,
	       host_done_f done, gpointer data);
void pool_find(struct pool *pool, struct vm *vm, struct node *node, host_done_f done,
	       gpointer data);

/* The same with a VM that runs and goes on running (vm_host_send_live()). */
void pool_move_live(struct pool *pool, struct vm *vm, struct node *node,
		    host_done_f done, gpointer data);
void pool_find_live(struct pool *pool, struct vm *vm, struct node *node,
		    host_done_f done, gpointer data);
void pool_abort_live(struct pool *pool, struct vm *vm, struct node *node);

/*
 * A VM that is being moved is not wanted any more: either comes to its end soon
 * (vm_host_interrupt()).
 */
void pool_interrupt(struct pool *pool, struct vm *vm, struct node *node, bool saved);

/*
 * What came of it; with pool_give_up() the VM is not wanted on the node's host, in whatever state
 * it is.
 */
void pool_arrived(struct pool *pool, struct vm *vm, struct node *node);
void pool_stayed(struct pool *pool, struct vm *vm, struct node *node);
void pool_give_up(struct pool *pool, struct vm *vm, struct node *node);

/*
 * A VM that was to go on at `left`, or has left it, is at `stays`: the other node gets another VM,
 * as by pool_vacate().
 */
void pool_leave(struct pool *pool, struct node *left, struct node *stays, struct vm *vm);

/*
 * Makes spares of VMs that are at no node and have no task, as many as there should be; lets others
 * go.
 */
void pool_tidy(struct pool *pool);

/* How many VMs are on their way to be spares; one that failed and waits to try again is not. */
uint32_t pool_spares_booting(const struct pool *pool);

/* Where suspended VMs go, as configured. */
enum config_keep pool_keep(const struct pool *pool);

/* Memory of one VM, MiB. */
uint64_t pool_memory_mib(const struct pool *pool);

/*
 * Whether all suspended VMs that are kept in memory, those of the next task too, are within what
 * they may hold.
 */
bool pool_may_keep(const struct pool *pool);
