/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/platform.h"
#include "common/version/build_version.h"
#include "local-sched/core/scheduler_private.h"

static bool all_were_ready(const struct scheduler *scheduler)
{
	for (uint32_t i = 0; i < scheduler->cluster->nodes; i++)
		if (!scheduler->was_ready[i])
			return false;
	return true;
}

/*
 * Whether the host's watts come from a model, as those of a lab, of a simulated cluster, and of
 * some meters do.
 */
static bool has_modelled_watts(const struct scheduler *scheduler)
{
	for (uint32_t i = 0; i < scheduler->cluster->hosts_count; i++) {
		const struct config_host *host = &scheduler->cluster->hosts[i];

		if (host->blade || (host->meter && (host->meter->kind == CONFIG_METER_MODEL ||
						    host->meter->kind == CONFIG_METER_SIMULATED)))
			return true;
	}
	return false;
}

static json_t *capabilities(const struct scheduler *scheduler)
{
	g_autofree char *boot_id = platform_boot_id(scheduler->settings.platform);
	json_t *object = scheduler->executor->ops->describe(scheduler->executor);

	json_object_set_new(object, "cluster", json_string(scheduler->cluster->name));
	json_object_set_new(object, "version", json_string(build_version()));
	json_object_set_new(object, "boot_id", json_string(boot_id));
	json_object_set_new(object, "incarnation",
			    json_string(task_store_incarnation(scheduler->settings.store)));
	json_object_set_new(object, "meter", json_string(power_source(scheduler->power)));
	json_object_set_new(object, "meter_mean_s", json_real(power_mean_s(scheduler->power)));
	json_object_set_new(object, "meter_mean_unknown",
			    json_boolean(power_mean_unknown(scheduler->power)));
	json_object_set_new(object, "modelled_watts", json_boolean(has_modelled_watts(scheduler)));
	json_object_set_new(object, "ready", json_boolean(all_were_ready(scheduler)));
	return object;
}

static json_t *nodes(const struct scheduler *scheduler)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < scheduler->cluster->nodes; i++) {
		struct wire_node node;

		scheduler->executor->ops->describe_node(scheduler->executor, i, &node);
		json_array_append_new(array, record_to_json(&wire_node_record, &node));
		record_clear(&wire_node_record, &node);
	}
	return json_pack("{s:o, s:i}", "nodes", array, "spares_booting",
			 (int)scheduler->executor->ops->spares_booting(scheduler->executor));
}

/* Whether an executor has the task. */
static bool is_carried(const struct task *task)
{
	return task->state != TASK_ENDED && task->state != TASK_QUEUED;
}

struct scheduler_output scheduler_output(const struct scheduler *scheduler, const struct task *task)
{
	const struct executor *executor = scheduler->executor;
	struct scheduler_output output = {.ended = task->state == TASK_ENDED};
	const char *printed;
	size_t length;

	if (output.ended) {
		output.bytes = task_store_output_bytes(scheduler->settings.store, task->id);
	} else if (is_carried(task) && executor->ops->printed) {
		printed = executor->ops->printed(executor, task, &length, &output.looks);
		output.bytes = g_bytes_new(printed, length);
	}
	if (!output.bytes)
		output.bytes = g_bytes_new_static("", 0);
	return output;
}

void scheduler_look(struct scheduler *scheduler, const struct task *task)
{
	struct executor *executor = scheduler->executor;

	if (is_carried(task) && executor->ops->look)
		executor->ops->look(executor, task);
}

json_t *scheduler_document(struct scheduler *scheduler, enum scheduler_document document,
			   uint64_t after)
{
	switch (document) {
	case SCHEDULER_CAPABILITIES:
		return capabilities(scheduler);
	case SCHEDULER_NODES:
		return nodes(scheduler);
	case SCHEDULER_ENERGY:
		return power_energy_json(scheduler->power);
	case SCHEDULER_SAMPLES:
		return power_samples_json(scheduler->power, after);
	case SCHEDULER_USAGE:
		break;
	}
	return host_usage_json(scheduler->usage, after);
}

/* Updates the fields of a task that change without an event. */
static void update(const struct scheduler *scheduler, struct task *task)
{
	if (is_carried(task) && scheduler->executor->ops->update)
		scheduler->executor->ops->update(scheduler->executor, task);
}

const struct task *scheduler_task(const struct scheduler *scheduler, const char *id)
{
	struct task *task = g_hash_table_lookup(scheduler->by_id, id);

	if (task)
		update(scheduler, task);
	return task;
}

GPtrArray *scheduler_tasks(const struct scheduler *scheduler)
{
	for (guint i = 0; i < scheduler->tasks->len; i++)
		update(scheduler, scheduler->tasks->pdata[i]);
	return scheduler->tasks;
}

struct task_store *scheduler_store(const struct scheduler *scheduler)
{
	return scheduler->settings.store;
}
