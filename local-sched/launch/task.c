/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/launch/task.h"

#include <math.h>
#include <string.h>

#include "common/benchmark.h"
#include "common/clock.h"
#include "common/error_fail.h"
#include "common/json.h"
#include "local-sched/launch/task_fsm.h"

#define WHAT "task"
#define REPETITIONS_MAX 1000000
#define USER_MAX INT64_C(4294967294)
#define DEADLINE_MAX_S 4e6 /* in milliseconds it fits a timer */

G_DEFINE_QUARK(virtbed_task, task_error)

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

static struct task *task_new(const char *id)
{
	struct task *task = g_new0(struct task, 1);

	task->suspensions = record_list_new(&task_suspension_record);
	task->migrations = record_list_new(&task_migration_record);
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
	return error_fail(error, TASK_ERROR, TASK_ERROR_REQUEST, WHAT ": %s: %s", key, what);
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

bool task_has_node(const uint32_t *nodes, uint32_t count, uint32_t node)
{
	for (uint32_t i = 0; i < count; i++)
		if (nodes[i] == node)
			return true;
	return false;
}

bool task_parse_nodes(const json_t *body, const char *what, uint32_t most, uint32_t **ret_nodes,
		      uint32_t *ret_count, GError **error)
{
	g_autofree uint32_t *nodes = NULL;
	const char *wrong = NULL;
	uint32_t count = 0;
	json_t *array;

	if (!json_get_array(body, "nodes", what, &array, error))
		return false;
	if (json_array_size(array) == 0 || json_array_size(array) > most)
		wrong = "must name one to all nodes of the cluster";
	nodes = g_new0(uint32_t, json_array_size(array) + 1);
	for (; !wrong && count < json_array_size(array); count++) {
		const json_t *item = json_array_get(array, count);
		json_int_t value = json_is_integer(item) ? json_integer_value(item) : -1;

		if (value < 0 || value >= (json_int_t)most)
			wrong = "no such node in the cluster";
		else if (task_has_node(nodes, count, (uint32_t)value))
			wrong = "a node is named twice";
		nodes[count] = (uint32_t)value;
	}
	if (wrong)
		return error_fail(error, TASK_ERROR, TASK_ERROR_REQUEST, "%s: nodes: %s", what,
				  wrong);
	*ret_nodes = g_steal_pointer(&nodes);
	*ret_count = count;
	return true;
}

/* All of a request but its script, of which only the summary is stored. */
static bool parse_request(struct task *task, const json_t *body, uint32_t nodes, GError **error)
{
	return parse_kernel(task, body, error) && parse_numbers(task, body, error) &&
	       parse_queue(task, body, error) &&
	       task_parse_nodes(body, WHAT, nodes, &task->nodes, &task->nodes_count, error) &&
	       parse_user(task, body, error);
}

struct task *task_parse_request(const char *id, const json_t *body, uint32_t nodes, uint32_t cores,
				GError **error)
{
	g_autoptr(task_t) task = task_new(id);

	if (!(task_id_ok(id) || bad_request(error, "id", "must be 1 to 64 of A-Z a-z 0-9 . _ -")) ||
	    !(json_is_object(body) || bad_request(error, "body", "must be an object")) ||
	    !parse_request(task, body, nodes, error) || !parse_script(task, body, error))
		return NULL;
	if ((task->ranks + cores - 1) / cores != task->nodes_count)
		return error_null(error, TASK_ERROR, TASK_ERROR_REQUEST,
				  WHAT
				  ": nodes: %u ranks at %u cores per node need %u nodes, not %u",
				  task->ranks, cores, (task->ranks + cores - 1) / cores,
				  task->nodes_count);
	return g_steal_pointer(&task);
}

void task_end(struct task *task, enum task_outcome outcome, const char *reason, int64_t now_ns)
{
	if (!task_fsm_move(task, TASK_FSM_END))
		return;
	task->outcome = outcome;
	g_free(task->reason);
	task->reason = g_strdup(reason);
	task->ended_ns = now_ns;
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
			  json_numbers(task->nodes, task->nodes_count), "deadline_s",
			  task->deadline_s);

	/* The longest wait is not part of it, because a repeated request comes later. */
	if (task->queue)
		json_object_set_new(object, "queue", json_true());
	add_owner(object, task);
	return json_text(object);
}

/* Rows of the task object. */

/* The request has it already. */
static bool read_nothing(const struct record_reading *reading, const struct record_field *field,
			 const json_t *value, void *data)
{
	return true;
}

static json_t *write_nodes(const struct record_field *field, const void *data, const void *context)
{
	const struct task *task = data;

	return json_numbers(task_placed(task), task->nodes_count);
}

static json_t *write_cause(const struct record_field *field, const void *data, const void *context)
{
	return json_string_or_null(task_cause_name(task_end_cause(data)));
}

static bool read_cause(const struct record_reading *reading, const struct record_field *field,
		       const json_t *value, void *data)
{
	((struct task *)data)->cause = task_cause_find(json_string_value(value));
	return true;
}

/*
 * The age of an ended task's progress is that at its end. task_restore() adds the time where the
 * task has not ended.
 */
static json_t *write_progress(const struct record_field *field, const void *data,
			      const void *context)
{
	const struct task *task = data;
	const struct task_progress *progress = &task->progress;
	const int64_t at_ns = task->ended_ns ?: *(const int64_t *)context;

	if (progress->total == 0)
		return json_null();
	return json_pack("{s:I, s:I, s:f}", "done", (json_int_t)progress->done, "total",
			 (json_int_t)progress->total, "age_s",
			 fmax(0, clock_elapsed_s(progress->t_ns, at_ns)));
}

static bool read_progress(const struct record_reading *reading, const struct record_field *field,
			  const json_t *value, void *data)
{
	struct task *task = data;
	const double age_s = json_number_value(json_object_get(value, "age_s"));

	task->progress.done = json_integer_value(json_object_get(value, "done"));
	task->progress.total = json_integer_value(json_object_get(value, "total"));
	task->progress.t_ns = task->ended_ns - llround(age_s * 1e9);
	return true;
}

static json_t *write_whole(const struct record_field *field, const void *data, const void *context)
{
	const double value = *(const double *)record_place(field, data);

	return isnan(value) ? json_null() : json_integer((json_int_t)llround(value));
}

static json_t *write_steps(const struct record_field *field, const void *data, const void *context)
{
	const GPtrArray *steps = *(GPtrArray *const *)record_place(field, data);

	return steps->len > 0 ? record_list_to_json(field->of, steps) : NULL;
}

static bool read_suspensions(const struct record_reading *reading, const struct record_field *field,
			     const json_t *array, void *data)
{
	struct task *task = data;

	for (size_t i = 0; i < json_array_size(array); i++) {
		g_autoptr(task_suspension_t) suspension = record_new(&task_suspension_record);

		if (record_from_json(&task_suspension_record, json_array_get(array, i), suspension,
				     NULL) &&
		    suspension->nodes && suspension->vms && suspension->count == task->nodes_count)
			g_ptr_array_add(task->suspensions, g_steal_pointer(&suspension));
	}
	return true;
}

static bool read_migrations(const struct record_reading *reading, const struct record_field *field,
			    const json_t *array, void *data)
{
	struct task *task = data;

	for (size_t i = 0; i < json_array_size(array); i++) {
		g_autoptr(task_migration_t) migration = record_new(&task_migration_record);

		if (!record_from_json(&task_migration_record, json_array_get(array, i), migration,
				      NULL) ||
		    migration->count != task->nodes_count)
			continue;
		task_migration_place(migration);
		g_ptr_array_add(task->migrations, g_steal_pointer(&migration));
	}
	return true;
}

static json_t *write_share(const struct record_field *field, const void *data, const void *context)
{
	const struct task *task = data;

	return task->share.n > 0 ? record_to_json(&task_share_record, &task->share) : NULL;
}

/* The variants of a task object: with and without the rows of a task that waits for its turn. */
enum { QUEUED = 1 << 0, NOT_QUEUED = 1 << 1 };

static const struct record_field task_fields[] = {
	{RECORD_FIELD_TEXT(task, id), .read = read_nothing},
	{RECORD_FIELD_WORD(task, state, task_state_names)},
	{RECORD_FIELD_TEXT(task, type), .read = read_nothing},
	{RECORD_FIELD_NUMBERS(task, nodes, nodes_count), .write = write_nodes,
	 .read = read_nothing},
	{RECORD_FIELD_TIME(task, queued_ns), .variants = QUEUED},
	{RECORD_AT(task, start_within_s), .type = RECORD_REAL, .null = RECORD_NULL_ZERO,
	 .variants = QUEUED},
	WIRE_TASK_TIMES,
	{RECORD_FIELD_WORD(task, outcome, task_outcome_names), .null = RECORD_NULL_ZERO},
	{.name = "cause", .write = write_cause, .read = read_cause},
	{RECORD_FIELD_TEXT(task, reason), .null = RECORD_NULL_POINTER},
	{.name = "progress", .write = write_progress, .read = read_progress},
	WIRE_TASK_USE,
	{RECORD_FIELD_REAL(task, host_energy_uj), .write = write_whole},
	{RECORD_FIELD_REAL(task, host_gap_ns), .write = write_whole},
	{RECORD_FIELD_LIST(task, suspensions, task_suspension_record), .write = write_steps,
	 .read = read_suspensions},
	{RECORD_FIELD_LIST(task, migrations, task_migration_record), .write = write_steps,
	 .read = read_migrations},
	{RECORD_FIELD_STRUCT(task, share, task_share_record), .write = write_share},
	{NULL},
};
static const struct record task_record = {.name = "task", .fields = task_fields, .open = true};

json_t *task_to_json(const struct task *task, int64_t now_ns)
{
	return record_write(&task_record, task, task->queue ? QUEUED : NOT_QUEUED, &now_ns);
}

struct task *task_restore(const char *id, const char *request, const char *record, int64_t now_ns,
			  GError **error)
{
	g_autoptr(json_t) request_json = json_parse(request, strlen(request), "stored task", error);
	g_autoptr(json_t) record_json =
		request_json ? json_parse(record, strlen(record), "stored task", error) : NULL;
	g_autoptr(task_t) task = task_new(id);
	const json_t *script;

	if (!record_json)
		return NULL;
	if (!parse_request(task, request_json, UINT32_MAX, error))
		return NULL;
	/* the summary, all that is stored of it */
	script = json_object_get(request_json, "script");
	task->script_summary = script ? json_text(script) : NULL;
	/* Each row by itself: a bad value leaves the others as they are. */
	for (const struct record_field *field = task_fields; field->name; field++)
		record_field_from_json(&task_record, field, record_json, task, NULL);
	if (task->ended_ns == 0)
		task->progress.t_ns += now_ns;
	if (task->share.n == 0)
		task->share.fraction = 1;
	return g_steal_pointer(&task);
}
