/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/plugin/so/conversation.h"

#include <alloca.h>
#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <string.h>

#include "common/clock.h"
#include "common/json.h"
#include "controller/snapshot/snapshot_json.h"

#define PROTOCOL 1
/* How much of the stack is filled: policies keep lists in the arena. */
#define STACK_FILL 65536

struct conversation {
	const struct policy *policy;
	struct policy own;                   /* `policy`, where `outside` decides */
	struct conversation_outside outside; /* without `decides`: the policy has tables */
	struct arena *arena;
	bool fills;
	uint8_t fill;      /* with `fills`: what the stack is filled with */
	json_t *system;    /* as the last message said; NULL: none so far */
	GHashTable *tasks; /* json_t * of each task that the other side has named, by id */
};

struct conversation *conversation_new(const struct policy *policy)
{
	struct conversation *conversation = g_new0(struct conversation, 1);

	conversation->policy = policy;
	conversation->arena = arena_new();
	conversation->tasks = g_hash_table_new_full(NULL, NULL, NULL, (GDestroyNotify)json_decref);
	return conversation;
}

struct conversation *conversation_new_outside(const struct conversation_outside *outside)
{
	struct conversation *conversation = conversation_new(NULL);

	conversation->own = (struct policy){.ops = &policy_outside_ops};
	g_strlcpy(conversation->own.name, outside->name, sizeof(conversation->own.name));
	conversation->policy = &conversation->own;
	conversation->outside = *outside;
	return conversation;
}

void conversation_free(struct conversation *conversation)
{
	if (!conversation)
		return;
	arena_free(conversation->arena);
	json_decref(conversation->system);
	g_hash_table_unref(conversation->tasks);
	g_free(conversation);
}

void conversation_fill_stack(struct conversation *conversation, uint8_t byte)
{
	conversation->fills = true;
	conversation->fill = byte;
}

/* Fills the stack below the caller. */
static __attribute__((noinline)) void fill_stack(uint8_t byte)
{
	volatile uint8_t *stack = alloca(STACK_FILL);

	for (size_t i = 0; i < STACK_FILL; i++)
		stack[i] = byte;
}

/* A message as a line; takes over the object. */
static char *line_of(json_t *object)
{
	g_autoptr(json_t) own = object;
	g_autofree char *text = json_text(own);

	return g_strconcat(text, "\n", NULL);
}

/* The models in which the policy decides. */
static json_t *list_models(const struct policy_ops *ops)
{
	json_t *list = json_array();

	if (ops->planning || ops->immediate) {
		json_array_append_new(list, json_string("nodes"));
		json_array_append_new(list, json_string("immediate"));
	}
	if (ops->sharing)
		json_array_append_new(list, json_string("shared"));
	if (ops->queueing)
		json_array_append_new(list, json_string("queues"));
	return list;
}

static char *answer_hello(struct conversation *conversation, const json_t *message)
{
	const struct conversation_outside *outside = &conversation->outside;
	g_autofree char *refusal =
		outside->hello ? outside->hello(outside->decides, message) : NULL;

	if (refusal)
		return line_of(json_pack("{s:s, s:s}", "type", "refuse", "reason", refusal));
	json_decref(conversation->system);
	conversation->system = json_incref(json_object_get(message, "system"));
	return line_of(
		json_pack("{s:s, s:i, s:s, s:b, s:o}", "type", "hello", "protocol", PROTOCOL,
			  "name", outside->name ? outside->name : conversation->policy->ops->name,
			  "differences", true, "models", list_models(conversation->policy->ops)));
}

/* Makes the snapshot of a message whole again. */
static void complete(struct conversation *conversation, json_t *snapshot)
{
	json_t *system = json_object_get(snapshot, "system");
	json_t *tasks = json_array();
	GHashTableIter all;
	size_t i;
	json_t *entry;
	gpointer task;

	if (system) {
		json_decref(conversation->system);
		conversation->system = json_incref(system);
	} else {
		json_object_set(snapshot, "system", conversation->system);
	}
	json_array_foreach (json_object_get(snapshot, "tasks"), i, entry)
		g_hash_table_insert(conversation->tasks,
				    GSIZE_TO_POINTER(
					    json_integer_value(json_object_get(entry, "id"))),
				    json_incref(entry));
	json_array_foreach (json_object_get(snapshot, "gone"), i, entry)
		g_hash_table_remove(conversation->tasks,
				    GSIZE_TO_POINTER(json_integer_value(entry)));
	json_object_del(snapshot, "gone");
	g_hash_table_iter_init(&all, conversation->tasks);
	while (g_hash_table_iter_next(&all, NULL, &task))
		json_array_append(tasks, task);
	json_object_set_new(snapshot, "tasks", tasks);
}

static char *refuse(json_int_t number, const char *reason)
{
	return line_of(
		json_pack("{s:s, s:I, s:s}", "type", "error", "number", number, "reason", reason));
}

/* The text of a plan, as a line. */
static char *plan_line(json_int_t number, const struct sched_snapshot *snapshot,
		       const struct sched_plan *plan, double compute_s)
{
	g_autofree char *actions = snapshot_text_actions(snapshot->system, plan, NULL);
	g_autoptr(json_t) rest = json_pack("{s:I, s:f, s:s?}", "number", number, "compute_s",
					   compute_s, "note", plan->note);
	g_autofree char *rest_text = NULL;

	if (snapshot->system->queueing)
		json_object_set_new(rest, "pruner",
				    json_pack("{s:f, s:b}", "level", plan->pruner.level, "dropping",
					      plan->pruner.dropping));
	if (!plan->note)
		json_object_del(rest, "note");
	rest_text = json_text(rest);
	return g_strdup_printf("{\"type\":\"plan\",\"actions\":%s,%s\n", actions, rest_text + 1);
}

static char *answer_decide(struct conversation *conversation, json_t *message)
{
	const json_int_t number = json_integer_value(json_object_get(message, "number"));
	json_t *object = json_object_get(message, "snapshot");
	struct policy_context context = {.arena = conversation->arena,
					 .outside = conversation->outside.decides};
	g_autoptr(snapshot_json_t) read = NULL;
	g_autoptr(GError) error = NULL;
	const char *misfit;
	struct sched_plan plan = {0};
	int64_t begun_ns;
	int status;

	if (!json_is_object(object))
		return refuse(number, "the message has no snapshot");
	complete(conversation, object);
	read = snapshot_json_read(object, "snapshot", &error);
	if (!read)
		return refuse(number, error->message);
	misfit = policy_misfit(conversation->policy, read->system);
	if (misfit)
		return refuse(number, misfit);
	if (conversation->fills)
		fill_stack(conversation->fill);
	begun_ns = clock_now_ns();
	status = policy_decide(conversation->policy, &read->snapshot, &context, &plan);
	if (status == -EIO)
		return refuse(number, context.outside->problem);
	if (status < 0)
		return refuse(number, "out of memory");
	return plan_line(number, &read->snapshot, &plan, clock_elapsed_s(begun_ns, clock_now_ns()));
}

char *conversation_answer(struct conversation *conversation, const char *line, size_t length)
{
	g_autoptr(json_t) message = json_parse(line, length, "message", NULL);
	const char *type = json_string_value(json_object_get(message, "type"));

	if (g_strcmp0(type, "hello") == 0)
		return answer_hello(conversation, message);
	if (g_strcmp0(type, "decide") == 0)
		return answer_decide(conversation, message);
	return NULL;
}
