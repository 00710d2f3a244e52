/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/config/config.h"
#include "common/platform.h"
#include "common/wire/wire_report.h"
#include "local-sched/cpu/cpu_account.h"
#include "local-sched/hypervisor/image.h"
#include "local-sched/hypervisor/virt_type.h"
#include "local-sched/launch/task_events.h"
#include "local-sched/power/power.h"
#include "local-sched/store/task_store.h"

/*
 * The executor carries tasks out on the nodes of a cluster. executor_libvirt.c does so with VMs
 * under libvirt. executor_simulated.c has no VMs: the cluster is simulated behind the local
 * scheduler's API. The scheduler handles requests, responses, storage and their order, equally for
 * both. Main loop only.
 */
struct executor;

#define EXECUTOR_ERROR (executor_error_quark())
GQuark executor_error_quark(void);
enum executor_error {
	EXECUTOR_ERROR_CONFIG = 1, /* the executor cannot serve this configuration */
};

/* The events of an executor. All are required. */
struct executor_events {
	/* The node takes a task from now on; `boot_s` is how long it took to boot. */
	void (*node_ready)(uint32_t node, double boot_s, void *data);
	/* The node takes no task any more. Comes only after `node_ready`. */
	void (*node_down)(uint32_t node, const char *reason, void *data);
	/* The wait for some node has ended: the turn of queued tasks may have come. */
	void (*settled)(void *data);
	struct task_events tasks;
	/*
	 * Another local scheduler serves the cluster, as `reason` says: this one has to end. May be
	 * repeated.
	 */
	void (*refused)(const char *reason, void *data);
};

/* The parts of an executor; all borrowed until it is freed. */
struct executor_settings {
	const struct platform *platform;
	const struct config *config;
	uint32_t cluster; /* index */
	const char *state_directory;
	struct task_store *store;
	const struct image *image; /* NULL: the cluster is simulated */
	enum virt_type_choice virt_type;
	double boot_timeout_s; /* limit of one boot of a node */
	const struct executor_events *events;
	void *data;
};

/*
 * The CPU time used on a host since the last successful reading: GArray of struct cpu_account_use,
 * which the callee owns, by the task that had each VM at that time; NULL: it could not be read.
 * `others_ns` is the CPU time of processes outside VMs; -1: not known.
 */
typedef void (*executor_cpu_f)(GArray *uses, int64_t others_ns, void *data);

/*
 * The operations of a kind of executor. All are required but `meter`, `runs_vm`, `suits`, `update`,
 * `look` and `printed`. `task` is a task that was given to `start` and whose end was not reported
 * yet. Nodes are numbers below the cluster's number of nodes.
 */
struct executor_ops {
	const char *name;
	/*
	 * Creates the executor without starting anything. NULL with `error`
	 * (EXECUTOR_ERROR_CONFIG): it cannot serve this configuration.
	 */
	struct executor *(*open)(const struct executor_settings *settings, GError **error);
	/*
	 * The meter of host number `host`, which the caller closes; NULL: use the configured meter.
	 */
	struct power_meter *(*meter)(struct executor *executor, uint32_t host);
	/* Brings the nodes up. `power` has the hosts' counters and outlives the executor. */
	void (*begin)(struct executor *executor, const struct power *power);
	/* Ends all activity of the nodes for good. No event about a task follows. */
	void (*stop)(struct executor *executor);
	/* After `stop`: removes all VMs and their disks. `clean`: everything could be removed. */
	void (*clean)(struct executor *executor, void (*done)(bool clean, void *data), void *data);
	/* NULL is allowed. Without `stop` and `clean` before it, the VMs run on. */
	void (*free)(struct executor *executor);

	/* Whether the node takes a task now. */
	bool (*node_is_ready)(const struct executor *executor, uint32_t node);
	/* Describes the node in `ret_node`, which the caller clears with record_clear(). */
	void (*describe_node)(const struct executor *executor, uint32_t node,
			      struct wire_node *ret_node);
	/* The executor's part of the capabilities. New reference. */
	json_t *(*describe)(const struct executor *executor);
	/*
	 * Reads the CPU time used on host number `host`; one reading of a host at a time. `done`
	 * may be called at once, and is not called after the executor was freed.
	 */
	void (*read_cpu)(struct executor *executor, uint32_t host, executor_cpu_f done, void *data);
	/* Whether a VM of the cluster is known to run, or to be paused, on host number `host`. */
	bool (*runs_vm)(const struct executor *executor, uint32_t host);
	/* How many VMs are on their way to be spares. */
	uint32_t (*spares_booting)(const struct executor *executor);

	/*
	 * Whether the VMs on the nodes of a task that is not started yet, which are ready, may be
	 * used by its user as they are. With `renew`, VMs that may not are replaced by freshly
	 * booted ones. NULL: they may.
	 */
	bool (*suits)(struct executor *executor, const struct task *task, bool renew);
	/* Starts a task on its nodes, which are ready. Ends with `started`, `ended` or both. */
	void (*start)(struct executor *executor, struct task *task);
	/* Ends a task with `outcome` and `reason`, unless it is ending already. */
	void (*kill)(struct executor *executor, struct task *task, enum task_outcome outcome,
		     const char *reason);
	/*
	 * Whether the task may be suspended, migrated or given a share: all its ranks run as far as
	 * known.
	 */
	bool (*may_step)(const struct executor *executor, const struct task *task);
	/*
	 * Suspend and resume the task as its last suspension says. End with `changed` or `ended`.
	 */
	void (*suspend)(struct executor *executor, struct task *task);
	void (*resume)(struct executor *executor, struct task *task);
	/*
	 * Order `nodes` (as many as the task has) such that as many VMs as possible stay where they
	 * are: for a resumption, and for a migration. False with `error`: these nodes are not
	 * possible.
	 */
	bool (*match_nodes)(const struct executor *executor, const struct task *task,
			    uint32_t *nodes, GError **error);
	bool (*match_targets)(const struct executor *executor, const struct task *task,
			      uint32_t *nodes, GError **error);
	/* Migrates the task's VMs as its last migration says. Ends with `moved` or `ended`. */
	void (*migrate)(struct executor *executor, struct task *task);
	/* Updates the task's progress; NULL: it is always up to date. */
	void (*update)(const struct executor *executor, struct task *task);
	/* Applies the task's recorded CPU share. Ends with `shared` or `ended`. */
	void (*share)(struct executor *executor, struct task *task);
	/*
	 * `look` reads what the task has printed since the last read, if that is possible now; it
	 * ends with the event `printed`. The operation `printed` returns the output known so far:
	 * *ret_length bytes after *ret_looks reads, borrowed; NULL: none before the task's end. A
	 * task that was not started yet has no output.
	 */
	void (*look)(struct executor *executor, const struct task *task);
	const char *(*printed)(const struct executor *executor, const struct task *task,
			       size_t *ret_length, uint32_t *ret_looks);
};

/* The common part of every executor: the first member of its own struct. */
struct executor {
	const struct executor_ops *ops;
};

/* The kind of executor for `cluster`. */
const struct executor_ops *executor_find(const struct config_cluster *cluster);

extern const struct executor_ops executor_libvirt_ops;
extern const struct executor_ops executor_simulated_ops;
