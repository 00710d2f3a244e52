/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Actions as text, at once. A plan that fills empty clusters has thousands: JSON values made of each, of which then the
 * text is made, take ten times as long. Most numbers of a plan are there many times (the time that it is, the lengths
 * and energies of types), and writing them with 17 digits is what takes long then: those that were written are kept.
 */
#include <string.h>

#include "common/decimal.h"
#include "common/json.h"
#include "controller/engine/snapshot_json.h"
#include "controller/engine/snapshot_writer.h"

#define NUMBERS_BITS 8

struct number {
	double value;
	char *text; /* NULL: nothing yet */
};

struct writer {
	const struct sched_system *system;
	GString *text;
	char **names;           /* per cluster: with its quotes; NULL: not needed yet */
	struct number *numbers; /* by a hash of their value */
};

static void say(struct writer *writer, const char *text)
{
	g_string_append(writer->text, text);
}

/* The text of a value; takes over the value. */
static char *text_of(json_t *value)
{
	g_autoptr(json_t) own = value;

	return json_text(own);
}

static void say_number(struct writer *writer, double value)
{
	struct number *number;
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	number = &writer->numbers[(bits * 0x9e3779b97f4a7c15) >> (64 - NUMBERS_BITS)];
	if (!number->text || memcmp(&number->value, &value, sizeof(value)) != 0) {
		g_free(number->text);
		number->text = text_of(json_number_or_null(value));
		number->value = value;
	}
	say(writer, number->text);
}

static void say_cluster(struct writer *writer, uint32_t cluster)
{
	char **name = &writer->names[cluster];

	if (!*name)
		*name = text_of(json_string(writer->system->clusters[cluster].name));
	say(writer, *name);
}

static void say_nodes(struct writer *writer, const struct sched_action *action)
{
	for (uint32_t i = 0; i < action->nodes_count; i++) {
		say(writer, i ? "," : "");
		decimal_append(writer->text, action->nodes[i]);
	}
}

/* Nodes of its own for a task, keys in order: all that there are thousands of. */
static void say_placed(struct writer *writer, const struct sched_action *action)
{
	say(writer, "{\"cluster\":");
	say_cluster(writer, action->cluster);
	say(writer, ",\"end_s\":");
	say_number(writer, action->end_s);
	say(writer, ",\"energy_j\":");
	say_number(writer, action->energy_j);
	say(writer, ",\"kind\":\"");
	say(writer, sched_action_kind_name(action->kind));
	say(writer, "\",\"nodes\":[");
	say_nodes(writer, action);
	say(writer, "],\"objective\":");
	say_number(writer, action->objective);
	say(writer, ",\"pstate\":");
	decimal_append(writer->text, action->pstate);
	say(writer, ",\"reason\":\"");
	say(writer, sched_reason_name(action->reason));
	say(writer, "\",\"start_s\":");
	say_number(writer, action->start_s);
	say(writer, ",\"task\":");
	decimal_append(writer->text, action->task);
	say(writer, ",\"utility\":");
	say_number(writer, action->utility);
	say(writer, "}");
}

static void say_action(struct writer *writer, const struct sched_action *action)
{
	g_autofree char *text = NULL;

	if (!writer->system->shared && !writer->system->queueing &&
	    action->kind != SCHED_ACTION_ENQUEUE && snapshot_write_has_place(action->kind)) {
		say_placed(writer, action);
		return;
	}
	text = text_of(snapshot_json_action(writer->system, action));
	say(writer, text);
}

char *snapshot_text_actions(const struct sched_system *system, const struct sched_plan *plan,
			    bool (*wanted)(const struct sched_action *action))
{
	struct writer writer = {
		.system = system,
		.text = g_string_new("["),
		.names = g_new0(char *, system->clusters_count),
		.numbers = g_new0(struct number, 1 << NUMBERS_BITS),
	};

	for (uint32_t i = 0; i < plan->actions_count; i++) {
		if (wanted && !wanted(&plan->actions[i]))
			continue;
		if (writer.text->len > 1)
			say(&writer, ",");
		say_action(&writer, &plan->actions[i]);
	}
	say(&writer, "]");
	for (uint32_t c = 0; c < system->clusters_count; c++)
		g_free(writer.names[c]);
	for (uint32_t i = 0; i < 1 << NUMBERS_BITS; i++)
		g_free(writer.numbers[i].text);
	g_free(writer.names);
	g_free(writer.numbers);
	return g_string_free(writer.text, FALSE);
}
