/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/launch/task.h"

#include <math.h>
#include <string.h>

#include "common/benchmark.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/read_number.h"

#define WHAT "task"
#define REPETITIONS_MAX 1000000
#define SHARES_MAX (G_MAXINT64 / 2) /* clients may count in milliseconds */
#define USER_MAX INT64_C(4294967294)
#define DEADLINE_MAX_S 4e6 /* in milliseconds it fits a timer */

G_DEFINE_QUARK(virtbed-task, task_error)

/* The cause of an end for which only the outcome is known. */
static const enum task_cause implied_causes[] = {
	[TASK_OUTCOME_NONE] = TASK_CAUSE_NONE,       [TASK_OUTCOME_COMPLETED] = TASK_CAUSE_NONE,
	[TASK_OUTCOME_FAILED] = TASK_CAUSE_OTHER,    [TASK_OUTCOME_KILLED] = TASK_CAUSE_KILLED,
	[TASK_OUTCOME_DEADLINE] = TASK_CAUSE_DEADLINE, [TASK_OUTCOME_LOST] = TASK_CAUSE_OTHER,
};

enum task_cause task_end_cause(const struct task *task)
{
	return task->cause ?: implied_causes[task->outcome];
}

const char *task_outcome_name(enum task_outcome outcome)
{
	return outcome == TASK_OUTCOME_NONE ? NULL : task_outcome_names[outcome];
}

bool task_id_ok(const char *id)
{
	size_t length = strlen(id);

	if (length == 0 || length > TASK_ID_MAX || *id == '.' || *id == '-')
		return false;
	for (; *id; id++)
		if (!g_ascii_isalnum(*id) && !strchr("._-", *id))
			return false;
	return true;
}

void task_free(struct task *task)
{
	if (!task)
		return;
	g_free(task->id);
	g_free(task->type);
	g_free(task->benchmark);
	g_free(task->nodes);
	g_free(task->reason);
	g_free(task->script_summary);
	task_script_free(task->script);
	g_ptr_array_unref(task->suspensions);
	g_ptr_array_unref(task->migrations);
	task_migration_free(task->unmoved);
	g_free(task);
}

static void free_suspension(gpointer data)
{
	task_suspension_free(data);
}

static void free_migration(gpointer data)
{
	task_migration_free(data);
}

static struct task *task_new(const char *id)
{
	struct task *task = g_new0(struct task, 1);

	task->suspensions = g_ptr_array_new_with_free_func(free_suspension);
	task->migrations = g_ptr_array_new_with_free_func(free_migration);
	task->id = g_strdup(id);
	task->benchmark_time_s = task->cpu_s = task->host_cpu_s = (double)NAN;
	task->host_energy_uj = task->host_gap_ns = (double)NAN;
	record_init(&task_share_record, &task->share);
	task->share.fraction = 1;
	task->user = -1;
	task->count = 1;
	return task;
}

static bool bad_request(GError **error, const char *key, const char *what)
{
	g_set_error(error, TASK_ERROR, TASK_ERROR_REQUEST, WHAT ": %s: %s", key, what);
	return false;
}

static bool parse_kernel(struct task *task, const json_t *body, GError **error)
{
	const char *type;
	const char *benchmark;
	const char *class_;

	if (!json_get_string(body, "type", WHAT, &type, error) ||
	    !json_get_string(body, "benchmark", WHAT, &benchmark, error) ||
	    !json_get_string(body, "class", WHAT, &class_, error))
		return false;
	if (!benchmark_find(benchmark)) {
		g_autofree char *names = benchmark_names();
		g_autofree char *what = g_strdup_printf("not known; there are %s", names);

		return bad_request(error, "benchmark", what);
	}
	if (strlen(class_) != 1 || !strchr("SWABC", *class_))
		return bad_request(error, "class", "not known; give S, W, A, B or C");
	task->type = g_strdup(type);
	task->benchmark = g_strdup(benchmark);
	task->class_ = *class_;
	return true;
}

static bool parse_numbers(struct task *task, const json_t *body, GError **error)
{
	int64_t ranks;
	int64_t repetitions;

	if (!json_get_integer(body, "ranks", WHAT, 1, BENCHMARK_RANKS_MAX, &ranks, error) ||
	    !json_get_integer(body, "repetitions", WHAT, 1, REPETITIONS_MAX, &repetitions, error) ||
	    !json_get_number(body, "deadline_s", WHAT, &task->deadline_s, error))
		return false;
	if (!(task->deadline_s > 0) || task->deadline_s > DEADLINE_MAX_S)
		return bad_request(error, "deadline_s", "must be above 0 and at most 4e6 seconds");
	task->ranks = (uint32_t)ranks;
	task->repetitions = (uint32_t)repetitions;
	return true;
}

/*
 * Reads whether the task waits for its turn (missing: no), and for how long at most (missing:
 * without limit).
 */
static bool parse_queue(struct task *task, const json_t *body, GError **error)
{
	json_t *queue = json_object_get(body, "queue");

	if (queue && !json_is_boolean(queue))
		return bad_request(error, "queue", "must be true or false");
	task->queue = json_is_true(queue);
	if (!json_object_get(body, "start_within_s"))
		return true;
	if (!json_get_number(body, "start_within_s", WHAT, &task->start_within_s, error))
		return false;
	if (!task->queue)
		return bad_request(error, "start_within_s", "of no use without \"queue\"");
	if (!(task->start_within_s > 0) || task->start_within_s > DEADLINE_MAX_S)
		return bad_request(error, "start_within_s",
				   "must be above 0 and at most 4e6 seconds");
	return true;
}

/* Reads the user (missing: none), and the program (missing: a benchmark). */
static bool parse_user(struct task *task, const json_t *body, GError **error)
{
	int64_t index = 0;
	int64_t count = 1;

	if (json_object_get(body, "user") &&
	    !json_get_integer(body, "user", WHAT, 0, USER_MAX, &task->user, error))
		return false;
	if (json_object_get(body, "count") &&
	    (!json_get_integer(body, "count", WHAT, 1, INT32_MAX, &count, error) ||
	     !json_get_integer(body, "index", WHAT, 0, count - 1, &index, error)))
		return false;
	task->index = (uint32_t)index;
	task->count = (uint32_t)count;
	return true;
}

static bool parse_script(struct task *task, const json_t *body, GError **error)
{
	const json_t *object = json_object_get(body, "script");
	g_autoptr(GError) cause = NULL;

	if (benchmark_is_script(task->benchmark) != (object != NULL))
		return bad_request(error, "script",
				   object ? "of no use for another benchmark" : "missing");
	if (!object)
		return true;
	if (task->user < 0)
		return bad_request(error, "user", "missing; a script needs a user");
	task->script = task_script_parse(object, &cause);
	if (!task->script)
		return bad_request(error, "body", cause->message);
	task->script_summary = task_script_summary(task->script);
	return true;
}

/* Restores the summary of a script, which is all that is stored of it. */
static void restore_script(struct task *task, const json_t *request)
{
	const json_t *object = json_object_get(request, "script");

	if (object)
		task->script_summary = json_text(object);
}

static bool node_is_new(const struct task *task, uint32_t node)
{
	for (uint32_t i = 0; i < task->nodes_count; i++)
		if (task->nodes[i] == node)
			return false;
	return true;
}

static bool parse_nodes(struct task *task, const json_t *body, uint32_t nodes, GError **error)
{
	json_t *array;
	size_t count;

	if (!json_get_array(body, "nodes", WHAT, &array, error))
		return false;
	count = json_array_size(array);
	if (count == 0 || count > nodes)
		return bad_request(error, "nodes", "must name one to all nodes of the cluster");
	task->nodes = g_new0(uint32_t, count);
	for (size_t i = 0; i < count; i++) {
		const json_t *item = json_array_get(array, i);
		json_int_t value = json_is_integer(item) ? json_integer_value(item) : -1;

		if (value < 0 || value >= (json_int_t)nodes)
			return bad_request(error, "nodes", "no such node in the cluster");
		if (!node_is_new(task, (uint32_t)value))
			return bad_request(error, "nodes", "a node is named twice");
		task->nodes[task->nodes_count++] = (uint32_t)value;
	}
	return true;
}

struct task *task_parse_request(const char *id, const json_t *body, uint32_t nodes, uint32_t cores,
				GError **error)
{
	g_autoptr(task_t) task = task_new(id);

	if (!task_id_ok(id)) {
		bad_request(error, "id", "must be 1 to 64 of A-Z a-z 0-9 . _ -");
		return NULL;
	}
	if (!json_is_object(body)) {
		bad_request(error, "body", "must be an object");
		return NULL;
	}
	if (!parse_kernel(task, body, error) || !parse_numbers(task, body, error) ||
	    !parse_queue(task, body, error) || !parse_nodes(task, body, nodes, error) ||
	    !parse_user(task, body, error) || !parse_script(task, body, error))
		return NULL;
	if ((task->ranks + cores - 1) / cores != task->nodes_count) {
		g_set_error(error, TASK_ERROR, TASK_ERROR_REQUEST,
			    WHAT ": nodes: %u ranks at %u cores per node need %u nodes, not %u",
			    task->ranks, cores, (task->ranks + cores - 1) / cores,
			    task->nodes_count);
		return NULL;
	}
	return g_steal_pointer(&task);
}

bool task_share_request_parse(const char *n, const json_t *body, int64_t *ret_n,
			      double *ret_share, GError **error)
{
	guint64 number = 0;
	double share = 0;

	if (!read_number_unsigned(n, 1, SHARES_MAX, &number))
		return bad_request(error, "number", "must be a whole number from 1");
	if (!json_is_object(body))
		return bad_request(error, "body", "must be an object");
	if (!json_get_number(body, "share", WHAT, &share, error))
		return false;
	if (!(share > 0 && share <= 1))
		return bad_request(error, "share", "must be above 0 and at most 1");
	*ret_n = (int64_t)number;
	*ret_share = share;
	return true;
}

uint32_t task_processes(const struct task *task)
{
	return task->script_summary ? task->nodes_count : task->ranks;
}

struct task_suspension *task_last_suspension(const struct task *task)
{
	guint count = task->suspensions->len;

	return count > 0 ? task->suspensions->pdata[count - 1] : NULL;
}

struct task_migration *task_last_migration(const struct task *task)
{
	guint count = task->migrations->len;

	return count > 0 ? task->migrations->pdata[count - 1] : NULL;
}

bool task_is_migrating(const struct task *task)
{
	const struct task_migration *last = task_last_migration(task);

	return last && last->settled_ns == 0 && task->state != TASK_ENDED;
}

/* The last migration that moved VMs after `t_ns`, or NULL. */
static const struct task_migration *moved_after(const struct task *task, int64_t t_ns)
{
	for (guint i = task->migrations->len; i > 0; i--) {
		const struct task_migration *migration = task->migrations->pdata[i - 1];

		if (migration->moved_ns > t_ns)
			return migration;
	}
	return NULL;
}

/* The last resumption that succeeded, or NULL. */
static const struct task_suspension *last_resumed(const struct task *task)
{
	for (guint i = task->suspensions->len; i > 0; i--) {
		const struct task_suspension *suspension = task->suspensions->pdata[i - 1];

		if (suspension->resumed_nodes && suspension->running_ns)
			return suspension;
	}
	return NULL;
}

const uint32_t *task_placed(const struct task *task)
{
	const struct task_suspension *resumed = last_resumed(task);
	const struct task_migration *moved = moved_after(task, resumed ? resumed->running_ns : 0);

	return moved ? moved->placed : resumed ? resumed->resumed_nodes : task->nodes;
}

static json_t *nodes_json(const uint32_t *nodes, uint32_t count)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < count; i++)
		json_array_append_new(array, json_integer(nodes[i]));
	return array;
}

static void add_owner(json_t *object, const struct task *task)
{
	if (task->user >= 0)
		json_object_set_new(object, "user", json_integer(task->user));
	if (task->count > 1) {
		json_object_set_new(object, "index", json_integer(task->index));
		json_object_set_new(object, "count", json_integer(task->count));
	}
	if (task->script_summary)
		json_object_set_new(object, "script", json_loads(task->script_summary, 0, NULL));
}

char *task_request_text(const struct task *task)
{
	char class_[2] = {task->class_, '\0'};
	g_autoptr(json_t) object =
		json_pack("{s:s, s:s, s:s, s:I, s:I, s:o, s:f}", "type", task->type, "benchmark",
			  task->benchmark, "class", class_, "ranks", (json_int_t)task->ranks,
			  "repetitions", (json_int_t)task->repetitions, "nodes",
			  nodes_json(task->nodes,
				     task->nodes_count), "deadline_s", task->deadline_s);

	/* The longest wait is not part of it, because a repeated request comes later. */
	if (task->queue)
		json_object_set_new(object, "queue", json_true());
	add_owner(object, task);
	return json_text(object);
}

static json_t *time_json(int64_t t_ns)
{
	return t_ns ? json_integer(t_ns) : json_null();
}

static json_t *real_json(double value)
{
	return isnan(value) ? json_null() : json_real(value);
}

static json_t *whole_json(double value)
{
	return isnan(value) ? json_null() : json_integer((json_int_t)llround(value));
}

/* The age of an ended task's progress is that at its end. */
static json_t *progress_json(const struct task *task)
{
	const struct task_progress *progress = &task->progress;
	const int64_t at_ns = task->ended_ns ?: clock_now_ns();

	if (progress->total == 0)
		return json_null();
	return json_pack("{s:I, s:I, s:f}", "done", (json_int_t)progress->done, "total",
			 (json_int_t)progress->total, "age_s",
			 fmax(0, clock_elapsed_s(progress->t_ns, at_ns)));
}

json_t *task_to_json(const struct task *task)
{
	json_t *object = json_object();

	json_object_set_new(object, "id", json_string(task->id));
	json_object_set_new(object, "state", json_string(task_state_names[task->state]));
	json_object_set_new(object, "type", json_string(task->type));
	json_object_set_new(object, "nodes", nodes_json(task_placed(task), task->nodes_count));
	if (task->queue) {
		json_object_set_new(object, "queued_ns", time_json(task->queued_ns));
		json_object_set_new(object, "start_within_s",
				    task->start_within_s > 0 ? json_real(task->start_within_s)
							     : json_null());
	}
	json_object_set_new(object, "requested_ns", time_json(task->requested_ns));
	json_object_set_new(object, "started_ns", time_json(task->started_ns));
	json_object_set_new(object, "ended_ns", time_json(task->ended_ns));
	json_object_set_new(object, "outcome",
			    json_string_or_null(task_outcome_name(task->outcome)));
	json_object_set_new(object, "cause",
			    json_string_or_null(task_cause_name(task_end_cause(task))));
	json_object_set_new(object, "reason", json_string_or_null(task->reason));
	json_object_set_new(object, "progress", progress_json(task));
	json_object_set_new(object, "benchmark_time_s", real_json(task->benchmark_time_s));
	json_object_set_new(object, "cpu_s", real_json(task->cpu_s));
	json_object_set_new(object, "host_cpu_s", real_json(task->host_cpu_s));
	json_object_set_new(object, "host_energy_uj", whole_json(task->host_energy_uj));
	json_object_set_new(object, "host_gap_ns", whole_json(task->host_gap_ns));
	if (task->suspensions->len > 0)
		json_object_set_new(
			object, "suspensions",
			record_list_to_json(&task_suspension_record, task->suspensions));
	if (task->migrations->len > 0)
		json_object_set_new(object, "migrations",
				    record_list_to_json(&task_migration_record, task->migrations));
	if (task->share.n > 0)
		json_object_set_new(object, "share",
				    record_to_json(&task_share_record, &task->share));
	return object;
}

static int word_of(const char *const *words, const json_t *value)
{
	return MAX(record_word_find(words, json_string_value(value)), 0);
}

static double number_or_nan(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static void restore_suspensions(struct task *task, const json_t *array)
{
	for (size_t i = 0; i < json_array_size(array); i++) {
		g_autoptr(task_suspension_t) suspension = record_new(&task_suspension_record);

		if (record_from_json(&task_suspension_record, json_array_get(array, i), suspension,
				     NULL) &&
		    suspension->nodes && suspension->vms && suspension->count == task->nodes_count)
			g_ptr_array_add(task->suspensions, g_steal_pointer(&suspension));
	}
}

static void restore_migrations(struct task *task, const json_t *array)
{
	for (size_t i = 0; i < json_array_size(array); i++) {
		g_autoptr(task_migration_t) migration = record_new(&task_migration_record);

		if (!record_from_json(&task_migration_record, json_array_get(array, i), migration,
				      NULL) ||
		    migration->count != task->nodes_count)
			continue;
		task_migration_place(migration);
		g_ptr_array_add(task->migrations, g_steal_pointer(&migration));
	}
}

static void restore_progress(struct task *task, const json_t *object)
{
	const int64_t at_ns = task->ended_ns ?: clock_now_ns();
	const double age_s = json_number_value(json_object_get(object, "age_s"));

	task->progress.done = json_integer_value(json_object_get(object, "done"));
	task->progress.total = json_integer_value(json_object_get(object, "total"));
	task->progress.t_ns = at_ns - llround(age_s * 1e9);
}

static void restore_record(struct task *task, const json_t *record)
{
	task->state = (enum task_state)word_of(task_state_names, json_object_get(record, "state"));
	task->outcome =
		(enum task_outcome)word_of(task_outcome_names, json_object_get(record, "outcome"));
	task->cause = task_cause_find(json_string_value(json_object_get(record, "cause")));
	task->reason = g_strdup(json_string_value(json_object_get(record, "reason")));
	task->queued_ns = json_integer_value(json_object_get(record, "queued_ns"));
	task->start_within_s = json_number_value(json_object_get(record, "start_within_s"));
	task->requested_ns = json_integer_value(json_object_get(record, "requested_ns"));
	task->started_ns = json_integer_value(json_object_get(record, "started_ns"));
	task->ended_ns = json_integer_value(json_object_get(record, "ended_ns"));
	task->benchmark_time_s = number_or_nan(record, "benchmark_time_s");
	task->cpu_s = number_or_nan(record, "cpu_s");
	task->host_cpu_s = number_or_nan(record, "host_cpu_s");
	task->host_energy_uj = number_or_nan(record, "host_energy_uj");
	task->host_gap_ns = number_or_nan(record, "host_gap_ns");
	restore_progress(task, json_object_get(record, "progress"));
	restore_suspensions(task, json_object_get(record, "suspensions"));
	restore_migrations(task, json_object_get(record, "migrations"));
	if (!record_from_json(&task_share_record, json_object_get(record, "share"), &task->share,
			      NULL))
		task->share.fraction = 1;
}

struct task *task_restore(const char *id, const char *request, const char *record, GError **error)
{
	g_autoptr(json_t) request_json = json_parse(request, strlen(request), "stored task", error);
	g_autoptr(json_t) record_json = NULL;
	g_autoptr(task_t) task = NULL;

	if (!request_json)
		return NULL;
	record_json = json_parse(record, strlen(record), "stored task", error);
	if (!record_json)
		return NULL;
	task = task_new(id);
	if (!parse_kernel(task, request_json, error) ||
	    !parse_numbers(task, request_json, error) ||
	    !parse_queue(task, request_json, error) ||
	    !parse_nodes(task, request_json, UINT32_MAX, error) ||
	    !parse_user(task, request_json, error))
		return NULL;
	restore_script(task, request_json);
	restore_record(task, record_json);
	return g_steal_pointer(&task);
}
