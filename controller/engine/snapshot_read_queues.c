/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads what a snapshot of a system with queues has (Gentry 2019). */
#include <math.h>
#include <string.h>

#include "common/json.h"
#include "controller/engine/snapshot_reader.h"
#include "controller/sched/queueing.h"

/* The latest time, in bins: sums of a few such times are still valid bins. */
#define BINS_MAX 0x1p48

static bool get_share(const struct snapshot_reader *reader, const json_t *object, const char *key,
		      double *ret_share)
{
	return snapshot_get_number(reader, object, key, ret_share) &&
	       ((*ret_share >= 0 && *ret_share <= 1) ||
		snapshot_refuse(reader, "\"%s\" is %g; give a number from 0 to 1", key,
				*ret_share));
}

static bool read_pruning(const struct snapshot_reader *reader, const json_t *object,
			 struct sched_pruning *pruning)
{
	if (!json_is_object(object))
		return snapshot_refuse(reader, "\"pruning\" is not an object");
	if (!get_share(reader, object, "drop_threshold", &pruning->drop_threshold) ||
	    !get_share(reader, object, "defer_threshold", &pruning->defer_threshold) ||
	    !get_share(reader, object, "adjustment", &pruning->adjustment) ||
	    !get_share(reader, object, "recency", &pruning->recency) ||
	    !get_share(reader, object, "separation", &pruning->separation) ||
	    !get_share(reader, object, "fairness", &pruning->fairness) ||
	    !get_share(reader, object, "cull_threshold", &pruning->cull_threshold) ||
	    !snapshot_get_number(reader, object, "toggle", &pruning->toggle) ||
	    !snapshot_get_flag(reader, object, "evicting_baselines",
			       &pruning->evicting_baselines) ||
	    !snapshot_get_count(reader, object, "merge", &pruning->merge))
		return false;
	return pruning->toggle > 0 ||
	       snapshot_refuse(reader, "\"toggle\" is %g; it must be above 0", pruning->toggle);
}

/* The masses as they are: scaling them again would change bits. */
static bool read_masses(const struct snapshot_reader *reader, json_t *list, struct pmf *pmf)
{
	json_t *entry;
	size_t i;

	if (json_array_size(list) > PMF_BINS_MAX || pmf_reserve(pmf, json_array_size(list)))
		return snapshot_refuse(reader, "\"masses\" has more than %u entries", PMF_BINS_MAX);
	json_array_foreach(list, i, entry) {
		if (!json_is_number(entry))
			return snapshot_refuse(reader, "\"masses\" must be a list of numbers");
		pmf->mass[i] = json_number_value(entry);
	}
	pmf->count = (uint32_t)json_array_size(list);
	return true;
}

static bool find_row(const struct snapshot_reader *reader, const json_t *object, uint32_t *ret_row)
{
	const struct sched_system *system = reader->read->system;
	const char *name;

	if (!json_get_string(object, "type", reader->what, &name, reader->error))
		return false;
	for (*ret_row = 0; *ret_row < system->rows_count; ++*ret_row)
		if (strcmp(system->row_names[*ret_row], name) == 0)
			return true;
	return snapshot_refuse(reader, "\"pet\": unknown type \"%s\"", name);
}

static bool read_pair(const struct snapshot_reader *reader, const json_t *object, struct pmf *pmf)
{
	const struct sched_system *system = reader->read->system;
	enum pmf_fault fault;
	json_t *masses;
	int64_t first;
	uint32_t row, cluster;

	if (!find_row(reader, object, &row) || !snapshot_get_cluster(reader, object, &cluster) ||
	    !json_get_integer(object, "first", reader->what, 1, PMF_BINS_MAX, &first,
			      reader->error) ||
	    !json_get_array(object, "masses", reader->what, &masses, reader->error) ||
	    !read_masses(reader, masses, pmf))
		return false;
	pmf->first = first;
	fault = pmf_check(pmf);
	if (fault == PMF_OK && (pmf->mass[0] <= 0 || pmf->mass[pmf->count - 1] <= 0))
		return snapshot_refuse(reader,
				       "\"pet\": type \"%s\" on cluster \"%s\": the first and the "
				       "last mass must be above 0",
				       system->row_names[row], system->clusters[cluster].name);
	if (fault == PMF_OK && pet_at(reader->read->pet, row, cluster)->pmf.count > 0)
		return snapshot_refuse(reader,
				       "\"pet\": type \"%s\" is there twice on cluster \"%s\"",
				       system->row_names[row], system->clusters[cluster].name);
	if (fault == PMF_OK)
		fault = pet_set(reader->read->pet, row, cluster, pmf);
	return fault == PMF_OK ||
	       snapshot_refuse(reader, "\"pet\": type \"%s\" on cluster \"%s\": %s",
			       system->row_names[row], system->clusters[cluster].name,
			       pmf_fault_text(fault));
}

static bool check_pet(const struct snapshot_reader *reader)
{
	const struct snapshot_json *read = reader->read;
	uint32_t row, cluster;

	if (pet_check(read->pet, &row, &cluster) == PMF_OK)
		return true;
	return snapshot_refuse(reader, "\"pet\": nothing for type \"%s\" on cluster \"%s\"",
			       read->system->row_names[row], read->system->clusters[cluster].name);
}

static bool read_pet(const struct snapshot_reader *reader, const json_t *queueing)
{
	struct snapshot_json *read = reader->read;
	struct pmf pmf = { 0 };
	json_t *list;
	json_t *object;
	size_t i;
	bool good = true;

	if (json_is_string(json_object_get(queueing, "pet")))
		return snapshot_refuse(reader,
				       "\"pet\" is a name for what the run's store has; take the "
				       "snapshot from its view whole_decision");
	if (!snapshot_get_list(reader, queueing, "pet", &list))
		return false;
	read->pet = pet_new(read->system->rows_count, read->system->clusters_count);
	if (!read->pet)
		return snapshot_refuse(reader, "out of memory");
	json_array_foreach(list, i, object)
		good = good && read_pair(reader, object, &pmf);
	pmf_finish(&pmf);
	return good && check_pet(reader);
}

/* Checks that completion times of full queues fit in a PMF. */
static bool check_lengths(const struct snapshot_reader *reader, uint64_t tasks)
{
	return queueing_fits(reader->read->pet, tasks) ||
	       snapshot_refuse(reader,
			       "the completion times of queues of %" G_GUINT64_FORMAT
			       " tasks may have more than %u bins; take larger bins",
			       tasks, PMF_BINS_MAX);
}

bool snapshot_read_queueing(const struct snapshot_reader *reader)
{
	struct snapshot_json *read = reader->read;
	const json_t *object =
		json_object_get(json_object_get(reader->object, "system"), "queueing");
	struct sched_queueing *queueing;

	if (!object)
		return true;
	if (!json_is_object(object))
		return snapshot_refuse(reader, "\"queueing\" is not an object");
	if (read->system->immediate || read->system->shared)
		return snapshot_refuse(reader,
				       "a system with \"queueing\" is neither \"immediate\" "
					       "nor \"shared\"");
	queueing = read->queueing = g_new0(struct sched_queueing, 1);
	if (!snapshot_get_number(reader, object, "bin_s", &queueing->bin_s) ||
	    !snapshot_get_count(reader, object, "length", &queueing->length) ||
	    !read_pruning(reader, json_object_get(object, "pruning"), &queueing->pruning))
		return false;
	if (!(queueing->bin_s > 0))
		return snapshot_refuse(reader, "\"bin_s\" is %g; it must be above 0",
				       queueing->bin_s);
	if (queueing->length == 0)
		return snapshot_refuse(reader, "\"length\" is 0; a queue holds the executing task "
					       "at least");
	if (!read_pet(reader, object) || !check_lengths(reader, queueing->length))
		return false;
	queueing->pet = read->pet;
	read->system->queueing = queueing;
	return true;
}

static bool check_time(const struct snapshot_reader *reader, const char *what, double time_s)
{
	return (fabs(time_s) / reader->read->queueing->bin_s < BINS_MAX) ||
	       snapshot_refuse(reader, "%s of %g s is out of range", what, time_s);
}

bool snapshot_read_deadline(const struct snapshot_reader *reader, const json_t *object,
			    struct sched_task *task)
{
	if (!snapshot_get_number(reader, object, "deadline_s", &task->deadline_s) ||
	    !check_time(reader, "a deadline", task->deadline_s))
		return false;
	return task->deadline_s > task->arrival_s ||
	       snapshot_refuse(reader, "task %u: its deadline is not after its arrival", task->id);
}

static bool read_tasks(const struct snapshot_reader *reader, const json_t *object,
		       struct sched_queue *queue)
{
	json_t *list;
	json_t *entry;
	size_t i;

	if (!snapshot_get_list(reader, object, "tasks", &list))
		return false;

	const struct sched_task **tasks =
		g_new0(const struct sched_task *, json_array_size(list) + 1);

	g_ptr_array_add(reader->read->places, tasks);
	json_array_foreach(list, i, entry) {
		const json_int_t id = json_integer_value(entry);

		if (!json_is_integer(entry) || id < 0 || id > COUNT_MAX)
			return snapshot_refuse(reader, "\"tasks\" of a queue must be a list of "
						       "task ids");
		if (!snapshot_find_task(reader, id, &tasks[i]))
			return false;
	}
	queue->tasks = tasks;
	queue->count = (uint32_t)json_array_size(list);
	return check_lengths(reader, queue->count);
}

static bool read_queue(const struct snapshot_reader *reader, const json_t *object, uint32_t c)
{
	struct sched_queue *queue = &reader->read->queues[c];
	const json_t *start = json_object_get(object, "start_s");
	uint32_t cluster;

	if (!snapshot_get_cluster(reader, object, &cluster))
		return false;
	if (cluster != c)
		return snapshot_refuse(reader, "\"queues\" are not in the order of the clusters");
	if (!read_tasks(reader, object, queue))
		return false;
	queue->executes = start != NULL;
	if (!start)
		return true;
	if (queue->count == 0)
		return snapshot_refuse(reader,
				       "cluster \"%s\" executes nothing: its queue is empty",
				       reader->read->system->clusters[c].name);
	if (!snapshot_get_number(reader, object, "start_s", &queue->start_s) ||
	    !check_time(reader, "a start", queue->start_s))
		return false;
	return queue->start_s <= reader->read->snapshot.now_s ||
	       snapshot_refuse(reader, "cluster \"%s\" executes a task from %g s on, after now_s",
			       reader->read->system->clusters[c].name, queue->start_s);
}

static bool read_queues(const struct snapshot_reader *reader)
{
	struct snapshot_json *read = reader->read;
	const uint32_t count = read->system->clusters_count;
	json_t *list;

	if (!snapshot_get_list(reader, reader->object, "queues", &list))
		return false;
	if (json_array_size(list) != count)
		return snapshot_refuse(reader, "\"queues\" must have one entry per cluster");
	read->queues = g_new0(struct sched_queue, count);
	for (uint32_t c = 0; c < count; c++)
		if (!read_queue(reader, json_array_get(list, c), c))
			return false;
	read->snapshot.queues = read->queues;
	return true;
}

static bool read_sufferage(const struct snapshot_reader *reader)
{
	struct snapshot_json *read = reader->read;
	json_t *list;
	json_t *entry;
	size_t i;

	if (!json_object_get(reader->object, "sufferage"))
		return true;
	if (!snapshot_get_list(reader, reader->object, "sufferage", &list))
		return false;
	if (json_array_size(list) != read->system->rows_count)
		return snapshot_refuse(reader, "\"sufferage\" must have one entry per type");
	read->sufferage = g_new0(double, json_array_size(list) + 1);
	json_array_foreach(list, i, entry) {
		read->sufferage[i] = json_number_value(entry);
		if (!json_is_number(entry) || read->sufferage[i] < 0 || read->sufferage[i] > 1)
			return snapshot_refuse(reader, "\"sufferage\" must be numbers from 0 to 1");
	}
	read->snapshot.sufferage = read->sufferage;
	return true;
}

bool snapshot_read_queued(const struct snapshot_reader *reader)
{
	struct sched_snapshot *snapshot = &reader->read->snapshot;
	const json_t *pruner = json_object_get(reader->object, "pruner");

	if (!json_is_object(pruner))
		return snapshot_refuse(reader, "\"pruner\" is not an object");
	if (!snapshot_get_number(reader, pruner, "level", &snapshot->pruner.level) ||
	    !snapshot_get_flag(reader, pruner, "dropping", &snapshot->pruner.dropping) ||
	    !snapshot_get_count(reader, reader->object, "missed", &snapshot->missed) ||
	    !check_time(reader, "a present", snapshot->now_s))
		return false;
	if (snapshot->pruner.level < 0)
		return snapshot_refuse(reader, "\"pruner\": level is below 0");
	return read_queues(reader) && read_sufferage(reader);
}
