/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/engine/refusal.h"

G_DEFINE_QUARK(virtbed_engine_refusal, engine_refusal_error)

static const struct {
	const char *word, *text;
} refusals[ENGINE_REFUSALS] = {
	[ENGINE_REFUSAL_RUN_ENDED] = {"run-ended", "the run has ended"},
	[ENGINE_REFUSAL_NO_TASK] = {"no-task", "there is no such task"},
	[ENGINE_REFUSAL_NO_NODE] = {"no-node", "there is no such node"},
	[ENGINE_REFUSAL_OVER] = {"over", "it has ended"},
	[ENGINE_REFUSAL_COMING] = {"coming", "it has not arrived yet"},
	[ENGINE_REFUSAL_WAITING] = {"waiting", "it waits, and has no VMs yet"},
	[ENGINE_REFUSAL_NOT_RUNNING] = {"not-running", "it does not run"},
	[ENGINE_REFUSAL_STARTING] = {"starting",
				     "it is starting or resuming; try again in a moment"},
	[ENGINE_REFUSAL_UNDER_WAY] = {"under-way", "it does not wait any more; suspend it instead"},
	[ENGINE_REFUSAL_SUSPENDED] = {"suspended", "it is suspended"},
	[ENGINE_REFUSAL_SUSPENDED_HOLD] = {"suspended-hold",
					   "it is suspended; suspend it again to hold it"},
	[ENGINE_REFUSAL_SUSPENDED_RELEASE] = {"suspended-release",
					      "it is suspended; resume it instead"},
	[ENGINE_REFUSAL_NOT_SUSPENDED] = {"not-suspended", "it is not suspended"},
	[ENGINE_REFUSAL_NOT_HELD] = {"not-held", "it is not held; it waits to be started"},
	[ENGINE_REFUSAL_NOT_HELD_NOR_WAITING] = {"not-held-nor-waiting",
						 "it is not held; it does not wait any more"},
	[ENGINE_REFUSAL_QUEUED] = {"queued", "it is in the queue of a cluster, which starts it"},
	[ENGINE_REFUSAL_MIGRATING] =
		{"migrating", "its VMs are on their way to other nodes; try again in a moment"},
	[ENGINE_REFUSAL_MIGRATING_ALREADY] =
		{"migrating-already",
		 "its VMs are on their way to other nodes already; try again in a moment"},
	[ENGINE_REFUSAL_QUARANTINED] =
		{"quarantined", "it is quarantined, and does not start before it is released"},
	[ENGINE_REFUSAL_NO_TYPE] =
		{"no-type",
		 "the configuration does not have its type; add the type again, or cancel the task"},
	[ENGINE_REFUSAL_SHARED_HOSTS] =
		{"shared-hosts", "it shares its hosts, and only the policy places tasks on them"},
	[ENGINE_REFUSAL_QUEUE_SUSPEND] =
		{"queue-suspend",
		 "its cluster has a queue, and executes the next task only after it has ended"},
	[ENGINE_REFUSAL_QUEUE_MIGRATE] = {"queue-migrate",
					  "in clusters with queues a task stays on its cluster"},
	[ENGINE_REFUSAL_NO_MIGRATION] = {"no-migration", "this run cannot migrate tasks"},
	[ENGINE_REFUSAL_TOO_MANY_HOSTS] =
		{"too-many-hosts", "it has fewer VMs than hosts are named; name fewer hosts"},
	[ENGINE_REFUSAL_NO_ROOM] = {"no-room", "no node or too little memory is free"},
	[ENGINE_REFUSAL_THERE_ALREADY] = {"there-already", "its VMs are there already"},
};

const char *engine_refusal_text(enum engine_refusal refusal)
{
	return refusals[refusal].text;
}

const char *engine_refusal_word(enum engine_refusal refusal)
{
	return refusals[refusal].word;
}
