/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/config/config.h"
#include "local-sched/cpu/cpu_account.h"
#include "local-sched/hypervisor/image.h"
#include "local-sched/hypervisor/virt_type.h"
#include "local-sched/launch/task.h"
#include "local-sched/power/power.h"
#include "local-sched/store/task_store.h"

/*
 * What carries tasks out on the nodes of a cluster: VMs that libvirt runs (executor_libvirt.c), or none
 * at all, where the cluster is simulated behind the local scheduler's API (executor_simulated.c). All
 * that is asked and answered over the API, what is stored, and in which order, is the scheduler's and
 * the same for both. Main loop only.
 */
struct executor;

/* What came of what a task was asked for. */
enum executor_end {
	EXECUTOR_END_SUSPENDED = 0,
	EXECUTOR_END_RESUMED,
	EXECUTOR_END_STAYED, /* rolled back: the task runs, or is suspended, as before */
};

/* What a executor tells. All are required; of a task nothing is told before `start` returns. */
struct executor_events {
	/* Takes a task from now on; `boot_s` is what it took to get there. */
	void (*node_ready)(uint32_t node, double boot_s, void *data);
	/* Takes none any more. Told only after `node_ready`. */
	void (*node_down)(uint32_t node, const char *reason, void *data);
	/* What was waited for at some node has come to an end: tasks may have their turn. */
	void (*settled)(void *data);
	/* The task is TASK_RUNNING with its started_ns. */
	void (*started)(struct task *task, void *data);
	/* Before `ended`: the stream of files that came out of a script, if any did. */
	void (*results)(struct task *task, GBytes *stream, void *data);
	/*
	 * The task is TASK_ENDED with its outcome, its nodes are ready again or known to be down, and the
	 * executor knows it no more. `output` is for people.
	 */
	void (*ended)(struct task *task, const char *output, size_t length, void *data);
	/* What came of suspending and resuming it; its state is the owner's to bring up to date. */
	void (*changed)(struct task *task, enum executor_end how, const char *reason, void *data);
	/* Its VMs were moved as its last migration says, or not all of them because of `reason`. */
	void (*moved)(struct task *task, const char *reason, void *data);
	/* A `look` at what some task has printed is over. */
	void (*printed)(void *data);
	/* Its share is in force, or not because of `reason`. */
	void (*shared)(struct task *task, const char *reason, void *data);
	/* The cluster is another local scheduler's, as `reason` says: this one is to end. May be told again. */
	void (*refused)(const char *reason, void *data);
};

/* What a executor is made of; all borrowed until it is freed. */
struct executor_settings {
	const struct config *config;
	uint32_t cluster; /* index */
	const char *state_directory;
	struct task_store *store;
	const struct image *image;          /* NULL: the cluster is simulated */
	enum virt_type_choice virt_type;
	double boot_timeout_s; /* of a node, for one try */
	const struct executor_events *events;
	void *data;
};

/*
 * The CPU time that was used on a host since it was read last with success: GArray of struct
 * cpu_account_use, the callee's, by the task that a VM worked for then; NULL: it could not be read.
 * `others_ns` is that of what is no VM; -1: not known.
 */
typedef void (*executor_cpu_f)(GArray *uses, int64_t others_ns, void *data);

/*
 * What a kind of executor does. All are required but for `meter`, `suits`, `update`, `look` and `printed`. `task` is
 * one that it was given with `start` and has not told the end of; nodes are numbers below those of the
 * cluster.
 */
struct executor_ops {
	const char *name;
	/* Nothing is begun yet. NULL with `error` (SCHEDULER_ERROR_CONFIG): not with this configuration. */
	struct executor *(*open)(const struct executor_settings *settings, GError **error);
	/* The meter of host number `host`, the caller's to close; NULL: the configured one. */
	struct power_meter *(*meter)(struct executor *executor, uint32_t host);
	/* Brings the nodes up; `power` has the hosts' counters and outlives the executor's life. */
	void (*begin)(struct executor *executor, const struct power *power);
	/* Ends all activity of the nodes for good. Tasks are told of no more. */
	void (*stop)(struct executor *executor);
	/* Then: removes what is there, and tells whether all of it could be. */
	void (*clean)(struct executor *executor, void (*done)(bool clean, void *data), void *data);
	/* NULL is allowed; also without the two before it: what is there lives on. */
	void (*free)(struct executor *executor);

	/* Whether a node takes a task now. */
	bool (*node_is_ready)(const struct executor *executor, uint32_t node);
	/* As the API calls its state, and the task that it has or NULL. */
	const char *(*node_state)(const struct executor *executor, uint32_t node);
	const char *(*node_task)(const struct executor *executor, uint32_t node);
	/* The node object of docs/reference/api.md, and the capabilities that are the executor's; new references. */
	json_t *(*node_json)(const struct executor *executor, uint32_t node);
	json_t *(*describe)(const struct executor *executor);
	/*
	 * Reads what was used on host number `host`; one at a time of each host. `done` may come at once, and
	 * does not once the executor is freed.
	 */
	void (*read_cpu)(struct executor *executor, uint32_t host, executor_cpu_f done, void *data);
	/* VMs on their way to be spares. */
	uint32_t (*spares_booting)(const struct executor *executor);

	/*
	 * Whether the VMs on the nodes of a task that is still to be started, which are ready, may be its
	 * user's as they are; with `renew` those that may not are made anew. NULL: all may.
	 */
	bool (*suits)(struct executor *executor, const struct task *task, bool renew);
	/* Starts a task on its nodes, which are ready; ends with `started`, `ended` or both. */
	void (*start)(struct executor *executor, struct task *task);
	/* Ends it with `outcome` and `reason` if nothing else ended it already. */
	void (*kill)(struct executor *executor, struct task *task, enum task_outcome outcome,
		     const char *reason);
	/* Whether it may be suspended, moved or given a share: all its ranks run as far as is known. */
	bool (*may_step)(const struct executor *executor, const struct task *task);
	/* As its last suspension says; ends with `changed` or `ended`. */
	void (*suspend)(struct executor *executor, struct task *task);
	void (*resume)(struct executor *executor, struct task *task);
	/*
	 * Brings `nodes` (as many as the task has) into an order in which as many VMs as possible stay,
	 * for a resumption, and for a migration; false with `error`: not to these.
	 */
	bool (*match_nodes)(const struct executor *executor, const struct task *task, uint32_t *nodes,
			    GError **error);
	bool (*match_targets)(const struct executor *executor, const struct task *task, uint32_t *nodes,
			      GError **error);
	/* As its last migration says; ends with `moved` or `ended`. */
	void (*migrate)(struct executor *executor, struct task *task);
	/* Brings its progress up to date; NULL: it always is. */
	void (*update)(const struct executor *executor, struct task *task);
	/* Gives it the share that it has on record; ends with `shared` or `ended`. */
	void (*share)(struct executor *executor, struct task *task);
	/*
	 * Reads what the task has printed since the last look, if that can be done now; then ends with
	 * `printed` of the events. And what is known of it, *ret_length bytes after *ret_looks looks,
	 * borrowed; NULL: there is nothing before its end. A task that was not started yet printed nothing.
	 */
	void (*look)(struct executor *executor, const struct task *task);
	const char *(*printed)(const struct executor *executor, const struct task *task,
			       size_t *ret_length, uint32_t *ret_looks);
};

/* The common part of every executor: the first member of its own struct. */
struct executor {
	const struct executor_ops *ops;
};

/* The one that `cluster` asks for. */
const struct executor_ops *executor_find(const struct config_cluster *cluster);

extern const struct executor_ops executor_libvirt_ops;
extern const struct executor_ops executor_simulated_ops;
