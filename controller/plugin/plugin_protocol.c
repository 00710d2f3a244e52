/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/plugin/plugin_protocol.h"

#include <math.h>
#include <string.h>

#include "common/json.h"
#include "common/version/build_version.h"
#include "controller/sched/decision_sum.h"
#include "controller/snapshot/snapshot_json.h"

/* The longest name, note and reason of a program. */
#define TEXT_MAX 255
/* Bytes of a wrong answer that an error shows. */
#define SHOWN_MAX 60
/*
 * What an answer may have (values_max()): values, such as numbers, texts, objects and arrays. Each
 * takes up to 200 bytes once it is read, against three of a line.
 */
#define VALUES_SPARE 10000 /* beside actions: members that are ignored */
#define VALUES_ACTION 32   /* of an action without its nodes and what was considered */
#define VALUES_OPTION 32   /* that were considered of an option */
#define DEPTH_MAX 16

/* A task as a program knows it. */
struct known_task {
	uint64_t sum;    /* sched_tasks_sum() */
	uint64_t number; /* of the last message that named it */
	char *text;      /* without differences: as messages have it, since few tasks change */
};

static void free_known(void *data)
{
	struct known_task *known = data;

	g_free(known->text);
	g_free(known);
}

void plugin_told_init(struct plugin_told *told)
{
	*told = (struct plugin_told){
		.tasks = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, free_known),
	};
}

void plugin_told_clear(struct plugin_told *told)
{
	g_clear_pointer(&told->tasks, g_hash_table_unref);
}

const char *plugin_model(const struct sched_system *system)
{
	return system->queueing    ? "queues"
	       : system->shared    ? "shared"
	       : system->immediate ? "immediate"
				   : "nodes";
}

/* Writing. */

static char *line_of(json_t *object)
{
	g_autoptr(json_t) own = object;
	char *text = json_text(own);
	const size_t length = strlen(text);

	text = g_realloc(text, length + 2);
	memcpy(text + length, "\n", 2);
	return text;
}

char *plugin_write_hello(struct plugin_told *told, const char *policy, uint64_t seed,
			 double deadline_s, const struct sched_system *system)
{
	told->system = sched_system_sum(system);
	return line_of(json_pack("{s:s, s:i, s:s, s:s, s:I, s:f, s:s, s:o}", "type", "hello",
				 "protocol", PLUGIN_PROTOCOL, "virtbed", build_version(), "policy",
				 policy, "seed", (json_int_t)seed, "deadline_s", deadline_s,
				 "model", plugin_model(system), "system",
				 snapshot_json_system(system)));
}

static struct known_task *find_known(const struct plugin_told *told, const struct sched_task *task)
{
	return g_hash_table_lookup(told->tasks, GUINT_TO_POINTER(task->id));
}

/* Whether a program does not know a task as it is; afterwards it does. */
static bool is_news(struct plugin_told *told, const struct sched_task *task)
{
	const uint64_t sum = sched_tasks_sum(task, 1);
	struct known_task *known = find_known(told, task);
	bool news = !known || known->sum != sum;

	if (!known) {
		known = g_new0(struct known_task, 1);
		g_hash_table_insert(told->tasks, GUINT_TO_POINTER(task->id), known);
	}
	known->sum = sum;
	known->number = told->number;
	return news;
}

static gint compare_ids(gconstpointer left, gconstpointer right)
{
	const uint32_t a = *(const uint32_t *)left;
	const uint32_t b = *(const uint32_t *)right;

	return (a > b) - (a < b);
}

/* Forgets the tasks that the message does not name. */
static json_t *forget_gone(struct plugin_told *told)
{
	g_autoptr(GArray) gone = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	GHashTableIter iter;
	gpointer id, value;

	g_hash_table_iter_init(&iter, told->tasks);
	while (g_hash_table_iter_next(&iter, &id, &value)) {
		const struct known_task *known = value;
		const uint32_t task = GPOINTER_TO_UINT(id);

		if (known->number == told->number)
			continue;
		g_array_append_val(gone, task);
		g_hash_table_iter_remove(&iter);
	}
	g_array_sort(gone, compare_ids);
	return json_numbers((const uint32_t *)(const void *)gone->data, gone->len);
}

/* The tasks that are news. */
static GPtrArray *find_news(struct plugin_told *told, const GPtrArray *tasks)
{
	GPtrArray *news = g_ptr_array_new();

	for (guint i = 0; i < tasks->len; i++)
		if (is_news(told, tasks->pdata[i]))
			g_ptr_array_add(news, tasks->pdata[i]);
	return news;
}

/*
 * Appends all tasks as a JSON array. Those that are news are written, the other texts are kept:
 * writing thousands of tasks takes longer than most policies do.
 */
static void append_tasks(const struct plugin_told *told, GString *text, const GPtrArray *tasks,
			 const GPtrArray *news, const json_t *written)
{
	for (guint i = 0; i < news->len; i++) {
		struct known_task *known = find_known(told, news->pdata[i]);

		g_free(known->text);
		known->text = json_text(json_array_get(written, i));
	}
	g_string_append_c(text, '[');
	for (guint i = 0; i < tasks->len; i++) {
		if (i > 0)
			g_string_append_c(text, ',');
		g_string_append(text, find_known(told, tasks->pdata[i])->text);
	}
	g_string_append_c(text, ']');
}

char *plugin_write_decide(struct plugin_told *told, uint64_t number,
			  const struct sched_snapshot *snapshot)
{
	const uint64_t system = sched_system_sum(snapshot->system);
	g_autoptr(GPtrArray) tasks = snapshot_json_tasks(snapshot);
	GString *line = g_string_new("{\"type\":\"decide\",\"number\":");
	g_autoptr(GPtrArray) news = NULL;
	g_autoptr(json_t) object = NULL;
	g_autoptr(json_t) gone = NULL;
	g_autofree char *rest = NULL;

	told->number = number;
	news = find_news(told, tasks);
	object = snapshot_json_write_part(snapshot, news);
	gone = forget_gone(told);
	if (told->system != system)
		json_object_set_new(object, "system", snapshot_json_system(snapshot->system));
	told->system = system;
	g_string_append_printf(line, "%" G_GUINT64_FORMAT ",\"snapshot\":{", (guint64)number);
	if (told->differences) {
		json_object_set(object, "gone", gone);
	} else {
		g_string_append(line, "\"tasks\":");
		append_tasks(told, line, tasks, news, json_object_get(object, "tasks"));
		g_string_append_c(line, ',');
		json_object_del(object, "tasks");
	}
	rest = json_text(object);
	g_string_append(line, rest + 1); /* without its brace */
	g_string_append(line, "}\n");
	return g_string_free(line, FALSE);
}

/* Reading. */

static enum plugin_answer wrong(char **ret_why, const char *format, ...) G_GNUC_PRINTF(2, 3);

static enum plugin_answer wrong(char **ret_why, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	*ret_why = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	return PLUGIN_ANSWER_WRONG;
}

/* A text of a program, as far as it is used; the caller frees. NULL: there is none. */
static char *text_at(const json_t *message, const char *key)
{
	const json_t *value = json_object_get(message, key);
	const char *text = json_string_value(value);
	g_autofree char *start = text ? g_strndup(text, TEXT_MAX) : NULL;

	return start ? g_utf8_make_valid(start, -1) : NULL;
}

/* The values of the longest plan for a snapshot: each task is suspended, resumed and explained. */
static size_t values_max(const struct sched_snapshot *snapshot)
{
	const struct sched_system *system = snapshot->system;
	size_t nodes = 0, vms = 0;
	size_t tasks = (size_t)snapshot->waiting_count + snapshot->suspended_count +
		       snapshot->running_count + snapshot->reservations_count +
		       snapshot->placeholders_count + snapshot->deferred_count;

	for (uint32_t i = 0; i < system->clusters_count; i++) {
		nodes += system->clusters[i].nodes;
		tasks += snapshot->queues ? snapshot->queues[i].count : 0;
	}
	for (uint32_t i = 0; system->shared && i < snapshot->waiting_count; i++)
		vms = MAX(vms, snapshot->waiting[i]->demand.vms);
	for (uint32_t i = 0; system->shared && i < snapshot->suspended_count; i++)
		vms = MAX(vms, snapshot->suspended[i].task->demand.vms);
	for (uint32_t i = 0; system->shared && i < snapshot->running_count; i++)
		vms = MAX(vms, snapshot->running[i].task->demand.vms);
	return VALUES_SPARE + tasks * (2 * (VALUES_ACTION + MAX(nodes, vms)) +
				       VALUES_OPTION * (size_t)system->columns_count);
}

/*
 * Whether a line can be read with little memory: each value but the first follows a bracket or a
 * comma outside of texts. Else *ret_why.
 */
static bool is_small(const char *line, size_t length, size_t most, char **ret_why)
{
	size_t values = 1, depth = 0;
	bool in_text = false;

	for (size_t i = 0; i < length && values <= most && depth <= DEPTH_MAX; i++) {
		const char at = line[i];

		if (in_text && at == '\\')
			i++;
		else if (at == '"')
			in_text = !in_text;
		values += !in_text && (at == '{' || at == '[' || at == ',');
		depth += !in_text && (at == '{' || at == '[');
		depth -= !in_text && (at == '}' || at == ']') && depth > 0;
	}
	if (values > most)
		*ret_why = g_strdup_printf("its answer has more than %zu values; at most as many "
					   "are read",
					   most);
	else if (depth > DEPTH_MAX)
		*ret_why = g_strdup_printf("its answer has more than %d brackets within each other",
					   DEPTH_MAX);
	return values <= most && depth <= DEPTH_MAX;
}

/* An object with a type, and with at most so many values; else *ret_why. */
static json_t *parse(const char *line, size_t length, size_t most, const char **ret_type,
		     char **ret_why)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(json_t) message = NULL;

	if (!is_small(line, length, most, ret_why))
		return NULL;
	message = json_parse(line, length, "its answer", &error);
	if (!message) {
		*ret_why =
			length > 0
				? g_strdup_printf(
					  "%s; it wrote: %.*s%s (what is no answer goes to standard "
					  "error)",
					  error->message, (int)MIN(length, SHOWN_MAX), line,
					  length > SHOWN_MAX ? "..." : "")
				: g_strdup("its answer is an empty line");
		return NULL;
	}
	*ret_type = json_string_value(json_object_get(message, "type"));
	if (*ret_type)
		return g_steal_pointer(&message);
	*ret_why = g_strdup("its answer is no object with a \"type\"");
	return NULL;
}

static bool takes_model(const json_t *models, const char *model)
{
	for (size_t i = 0; i < json_array_size(models); i++)
		if (g_strcmp0(json_string_value(json_array_get(models, i)), model) == 0)
			return true;
	return !models;
}

enum plugin_answer plugin_read_hello(struct plugin_told *told, const char *line, size_t length,
				     const struct sched_system *system, char **ret_name,
				     char **ret_why)
{
	const char *type;
	g_autoptr(json_t) message = parse(line, length, VALUES_SPARE, &type, ret_why);
	const json_t *models = json_object_get(message, "models");
	const json_t *protocol = json_object_get(message, "protocol");

	if (!message)
		return PLUGIN_ANSWER_WRONG;
	if (g_str_equal(type, "refuse")) {
		*ret_why = text_at(message, "reason");
		if (!*ret_why)
			*ret_why = g_strdup("it gives no reason");
		return PLUGIN_ANSWER_REFUSED;
	}
	if (!g_str_equal(type, "hello"))
		return wrong(ret_why, "it answered \"%.60s\" to \"hello\"; answer \"hello\"", type);
	if (!json_is_integer(protocol) || json_integer_value(protocol) != PLUGIN_PROTOCOL)
		return wrong(ret_why, "it does not speak protocol %d; answer \"protocol\": %d",
			     PLUGIN_PROTOCOL, PLUGIN_PROTOCOL);
	if (models && !json_is_array(models))
		return wrong(ret_why, "\"models\" of its hello is no array");
	if (!takes_model(models, plugin_model(system))) {
		*ret_why = g_strdup_printf("it does not decide in the model \"%s\" of this system",
					   plugin_model(system));
		return PLUGIN_ANSWER_REFUSED;
	}
	*ret_name = text_at(message, "name");
	if (!*ret_name)
		return wrong(ret_why,
			     json_object_get(message, "virtbed")
				     ? "it repeats its input; answer each line by one of its own"
				     : "its hello has no \"name\"");
	told->differences = json_is_true(json_object_get(message, "differences"));
	return PLUGIN_ANSWER_GOOD;
}

static const char *copy_text(struct arena *arena, char *text)
{
	g_autofree char *own = text;
	char *copy = own ? arena_array(arena, strlen(own) + 1, 1) : NULL;

	return copy ? strcpy(copy, own) : NULL;
}

/* Reads the state of pruning, which a plan may leave as it is; else *ret_why. */
static bool read_pruner(const json_t *pruner, struct sched_pruner *ret_pruner, char **ret_why)
{
	const json_t *level = json_object_get(pruner, "level");
	const json_t *dropping = json_object_get(pruner, "dropping");

	if (!pruner)
		return true;
	if (json_is_number(level) && (!dropping || json_is_boolean(dropping))) {
		*ret_pruner = (struct sched_pruner){
			.level = json_number_value(level),
			.dropping = json_is_true(dropping),
		};
		return true;
	}
	*ret_why = g_strdup("\"pruner\": expected a number \"level\", and true or false where "
			    "\"dropping\" is");
	return false;
}

enum plugin_answer plugin_read_plan(const struct plugin_told *told, const char *line, size_t length,
				    const struct sched_snapshot *snapshot, struct arena *arena,
				    struct sched_plan *ret_plan, double *ret_compute_s,
				    char **ret_why)
{
	g_autoptr(GError) error = NULL;
	const char *type;
	g_autoptr(json_t) message = parse(line, length, values_max(snapshot), &type, ret_why);
	const json_t *number = json_object_get(message, "number");
	const json_t *actions = json_object_get(message, "actions");
	const double compute_s = json_number_value(json_object_get(message, "compute_s"));

	if (!message)
		return PLUGIN_ANSWER_WRONG;
	if (!g_str_equal(type, "plan") && !g_str_equal(type, "error"))
		return wrong(ret_why, "it answered \"%.60s\" to \"decide\"; answer \"plan\"", type);
	if (!json_is_integer(number) || json_integer_value(number) < 0)
		return wrong(ret_why, "its answer has no \"number\"");
	if ((uint64_t)json_integer_value(number) < told->number)
		return PLUGIN_ANSWER_NONE;
	if ((uint64_t)json_integer_value(number) > told->number)
		return wrong(ret_why,
			     "it answered to message %" JSON_INTEGER_FORMAT
			     ", and the last one is %" G_GUINT64_FORMAT,
			     json_integer_value(number), (guint64)told->number);
	if (g_str_equal(type, "error")) {
		*ret_why = text_at(message, "reason");
		if (!*ret_why)
			*ret_why = g_strdup("it gives no reason");
		return PLUGIN_ANSWER_REFUSED;
	}
	if (!json_is_array(actions))
		return wrong(ret_why, "its plan has no array \"actions\"");
	if (!snapshot_json_read_actions(actions, snapshot, arena, ret_plan, &error)) {
		*ret_why = g_strdup(error->message);
		return PLUGIN_ANSWER_ILLEGAL;
	}
	if (snapshot->system->queueing &&
	    !read_pruner(json_object_get(message, "pruner"), &ret_plan->pruner, ret_why))
		return PLUGIN_ANSWER_ILLEGAL;
	ret_plan->note = copy_text(arena, text_at(message, "note"));
	*ret_compute_s = isfinite(compute_s) && compute_s > 0 ? compute_s : 0;
	return PLUGIN_ANSWER_GOOD;
}
