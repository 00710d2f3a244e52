/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a snapshot of a system with queues has (Gentry 2019), and the judgements of queued tasks. */
#include "common/json.h"
#include "controller/engine/snapshot_json.h"
#include "controller/engine/snapshot_writer.h"

static json_t *pruning_json(const struct sched_pruning *pruning)
{
	return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:b, s:I}", "drop_threshold",
			 pruning->drop_threshold, "defer_threshold", pruning->defer_threshold,
			 "adjustment", pruning->adjustment, "recency", pruning->recency, "toggle",
			 pruning->toggle, "separation", pruning->separation, "fairness",
			 pruning->fairness, "cull_threshold", pruning->cull_threshold,
			 "evicting_baselines", (int)pruning->evicting_baselines, "merge",
			 (json_int_t)pruning->merge);
}

json_t *snapshot_json_pet(const struct sched_system *system)
{
	const struct pet *pet = system->queueing->pet;
	json_t *list = json_array();

	for (uint32_t row = 0; row < system->rows_count; row++)
		for (uint32_t c = 0; c < system->clusters_count; c++) {
			const struct pmf *pmf = &pet_at(pet, row, c)->pmf;
			json_t *masses = json_array();

			for (uint32_t i = 0; i < pmf->count; i++)
				json_array_append_new(masses, json_real(pmf->mass[i]));
			json_array_append_new(
				list, json_pack("{s:s, s:s, s:I, s:o}", "type",
						system->row_names[row], "cluster",
						system->clusters[c].name, "first",
						(json_int_t)pmf->first, "masses", masses));
		}
	return list;
}

json_t *snapshot_write_queueing(const struct sched_system *system, const char *pet)
{
	const struct sched_queueing *queueing = system->queueing;

	return json_pack("{s:f, s:I, s:o, s:o}", "bin_s", queueing->bin_s, "length",
			 (json_int_t)queueing->length, "pruning", pruning_json(&queueing->pruning),
			 "pet", pet ? json_string(pet) : snapshot_json_pet(system));
}

json_t *snapshot_write_queues(const struct sched_snapshot *snapshot)
{
	json_t *list = json_array();

	for (uint32_t c = 0; c < snapshot->system->clusters_count; c++) {
		const struct sched_queue *queue = &snapshot->queues[c];
		json_t *tasks = json_array();
		json_t *object = json_pack("{s:s, s:o}", "cluster",
					   snapshot->system->clusters[c].name, "tasks", tasks);

		for (uint32_t i = 0; i < queue->count; i++)
			json_array_append_new(tasks, json_integer(queue->tasks[i]->id));
		if (queue->executes)
			json_object_set_new(object, "start_s", json_number_or_null(queue->start_s));
		json_array_append_new(list, object);
	}
	return list;
}

json_t *snapshot_write_sufferage(const struct sched_snapshot *snapshot)
{
	json_t *list = json_array();

	for (uint32_t row = 0; row < snapshot->system->rows_count; row++)
		json_array_append_new(list, json_number_or_null(snapshot->sufferage[row]));
	return list;
}

void snapshot_write_judged(json_t *list, const struct sched_system *system,
			   const struct sched_plan *plan)
{
	for (uint32_t i = 0; i < plan->judged_count; i++) {
		const struct sched_judged *judged = &plan->judged[i];

		json_array_append_new(
			list, json_pack("{s:s, s:s, s:I, s:I, s:f, s:f, s:f, s:f, s:b}", "kind",
					"judge", "cluster", system->clusters[judged->cluster].name,
					"task", (json_int_t)judged->task, "position",
					(json_int_t)judged->position, "mean_s", judged->mean_s,
					"skewness", judged->skewness, "chance", judged->chance,
					"threshold", judged->threshold, "dropped",
					(int)judged->dropped));
	}
}
