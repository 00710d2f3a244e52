/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/rerun/rerun_input.h"

#include <math.h>

#include "controller/engine/counters.h"
#include "controller/engine/state_json.h"

static double real_at(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

static uint32_t number_at(const json_t *object, const char *key)
{
	return (uint32_t)json_integer_value(json_object_get(object, key));
}

/* A list of numbers; the caller frees. */
static uint32_t *numbers_at(const json_t *object, const char *key, uint32_t *ret_count)
{
	const json_t *list = json_object_get(object, key);
	uint32_t *numbers = g_new0(uint32_t, json_array_size(list) + 1);

	*ret_count = (uint32_t)json_array_size(list);
	for (uint32_t i = 0; i < *ret_count; i++)
		numbers[i] = (uint32_t)json_integer_value(json_array_get(list, i));
	return numbers;
}

static bool submit(struct engine *engine, const struct sched_system *system, const json_t *detail)
{
	const json_t *segments = json_object_get(detail, "segments");
	const json_t *deadline = json_object_get(detail, "deadline_s");
	struct sched_task task = {
		.row = number_at(detail, "row"),
		.utility.max = real_at(detail, "max"),
		.utility.segments_count = (uint32_t)json_array_size(segments),
		.may_preempt = json_is_true(json_object_get(detail, "may_preempt")),
		.preemptible = json_is_true(json_object_get(detail, "preemptible")),
		.deadline_s = json_is_number(deadline) ? json_number_value(deadline) : INFINITY,
		.priority = (int32_t)json_integer_value(json_object_get(detail, "priority")),
	};

	if (!json_is_object(detail) || task.row >= system->rows_count ||
	    task.utility.segments_count > UTILITY_SEGMENTS_MAX)
		return false;
	for (uint32_t i = 0; i < task.utility.segments_count; i++) {
		const json_t *one = json_array_get(segments, i);

		task.utility.segments[i] = (struct utility_segment){
			(enum utility_curve)json_integer_value(json_array_get(one, 0)),
			json_number_value(json_array_get(one, 1)),
			json_number_value(json_array_get(one, 2)),
			json_number_value(json_array_get(one, 3)),
			json_number_value(json_array_get(one, 4)),
		};
		if (task.utility.segments[i].curve > UTILITY_EXPONENTIAL)
			return false;
	}
	engine_submit(engine, &task, json_is_true(json_object_get(detail, "held")));
	return true;
}

/* Whether no number is twice in a list. */
static bool are_distinct(const uint32_t *numbers, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t j = 0; j < i; j++)
			if (numbers[i] == numbers[j])
				return false;
	return true;
}

static bool migrate(struct engine *engine, const struct sched_system *system, const json_t *detail)
{
	const uint32_t index = number_at(detail, "task");
	const uint32_t cluster = index < engine_tasks_count(engine)
					 ? engine_task_at(engine, index)->cluster
					 : UINT32_MAX;
	uint32_t hosts_count;
	uint32_t nodes_count;
	g_autofree uint32_t *hosts = numbers_at(detail, "hosts", &hosts_count);
	g_autofree uint32_t *node_hosts = numbers_at(detail, "node_hosts", &nodes_count);
	uint32_t full;

	if (engine_check_migrate(engine, index) != ENGINE_REFUSAL_NONE)
		return true; /* as when it was requested */
	if (cluster >= system->clusters_count || nodes_count != system->clusters[cluster].nodes ||
	    !are_distinct(hosts, hosts_count))
		return false;
	engine_request_migrate(engine, index, hosts, hosts_count, node_hosts, &full);
	return true;
}

static bool change_policy(struct engine *engine, const struct sched_system *system,
			  const json_t *detail)
{
	const char *name = json_string_value(json_object_get(detail, "policy"));
	const double interval_s = real_at(detail, "interval_s");
	struct policy policy;
	char message[256];

	if (!name || !state_is_period(interval_s) ||
	    policy_parse(name, &policy, message, sizeof(message)) < 0 ||
	    policy_misfit(&policy, system))
		return false;
	engine_request_policy(engine, &policy, interval_s);
	return true;
}

static bool set_energy(struct engine *engine, const json_t *detail)
{
	const json_t *energy = json_object_get(detail, "energy_j");
	const double change_j = real_at(detail, "change_j");
	const uint32_t task = number_at(detail, "task");

	if (task >= engine_tasks_count(engine) || number_at(detail, "kind") > ENGINE_ENERGY_FINAL)
		return false;
	/* A full state has no task whose energy was final, but the sum over them. */
	if (engine_task_at(engine, task)->state != ENGINE_TASK_COMPLETED) {
		engine_correct_completed_j(engine, isfinite(change_j) ? change_j : 0);
		return true;
	}
	engine_set_energy(engine, task,
			  json_is_number(energy) ? json_number_value(energy) : (double)NAN,
			  (enum engine_energy_kind)number_at(detail, "kind"));
	return true;
}

static bool set_window(struct engine *engine, const json_t *detail)
{
	const struct engine_window window = {
		.limit_j = real_at(detail, "limit_j"),
		.length_s = real_at(detail, "length_s"),
		.begin_s = real_at(detail, "begin_s"),
		.spent_j = real_at(detail, "spent_j"),
	};

	if (!(window.limit_j >= 0) || (window.limit_j > 0 && !state_is_period(window.length_s)))
		return false;
	engine_set_window(engine, &window);
	return true;
}

bool rerun_request(struct engine *engine, const struct sched_system *system,
		   enum engine_input_kind kind, double time_s, const json_t *detail)
{
	const uint32_t task = number_at(detail, "task");

	switch (kind) {
	case ENGINE_INPUT_SUBMIT:
		return submit(engine, system, detail);
	case ENGINE_INPUT_HOLD:
		engine_request_hold(engine, task);
		return true;
	case ENGINE_INPUT_FREE:
		engine_request_release(engine, task);
		return true;
	case ENGINE_INPUT_CANCEL:
		engine_request_cancel(engine, task);
		return true;
	case ENGINE_INPUT_SUSPEND:
		engine_request_suspend(engine, task);
		return true;
	case ENGINE_INPUT_RESUME:
		engine_request_resume(engine, task);
		return true;
	case ENGINE_INPUT_MIGRATE:
		return migrate(engine, system, detail);
	case ENGINE_INPUT_DRAIN:
		engine_request_drain(engine, number_at(detail, "cluster"),
				     number_at(detail, "node"),
				     json_string_value(json_object_get(detail, "reason")));
		return true;
	case ENGINE_INPUT_UNDRAIN:
		engine_request_undrain(engine, number_at(detail, "cluster"),
				       number_at(detail, "node"));
		return true;
	case ENGINE_INPUT_POLICY:
		return change_policy(engine, system, detail);
	case ENGINE_INPUT_WINDOW:
		return set_window(engine, detail);
	case ENGINE_INPUT_SETTLE:
		engine_window_settle(engine);
		return true;
	case ENGINE_INPUT_CORRECT:
		engine_window_correct(engine, time_s, real_at(detail, "spent_j"));
		return true;
	case ENGINE_INPUT_SHIFT:
		engine_shift_window(engine, real_at(detail, "begin_s"));
		return true;
	case ENGINE_INPUT_ENERGY:
		return set_energy(engine, detail);
	default:
		return false;
	}
}
