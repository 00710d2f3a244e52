/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes actions as text directly. A plan that fills empty clusters has thousands of them, and
 * building JSON values and printing these takes ten times as long. Most numbers of a plan occur
 * many times (the present time, the durations and energies of types), and printing them with 17
 * digits would take most of the time: printed numbers are kept.
 */
#include <string.h>

#include "common/decimal.h"
#include "common/json.h"
#include "controller/engine/snapshot_rows.h"

#define NUMBERS_BITS 8

struct number {
	double value;
	char *text; /* NULL: unused */
};

struct writer {
	const struct sched_system *system;
	GString *text;
	char **names;           /* per cluster, with quotes; NULL: not needed so far */
	struct number *numbers; /* by a hash of their value */
};

static void append_text(struct writer *writer, const char *text)
{
	g_string_append(writer->text, text);
}

/* The text of a value; takes over the value. */
static char *text_of(json_t *value)
{
	g_autoptr(json_t) own = value;

	return json_text(own);
}

static void append_number(struct writer *writer, double value)
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
	append_text(writer, number->text);
}

static void append_cluster(struct writer *writer, uint32_t cluster)
{
	char **name = &writer->names[cluster];

	if (!*name)
		*name = text_of(json_string(writer->system->clusters[cluster].name));
	append_text(writer, *name);
}

static void append_nodes(struct writer *writer, const struct sched_action *action)
{
	for (uint32_t i = 0; i < action->nodes_count; i++) {
		append_text(writer, i ? "," : "");
		decimal_append(writer->text, action->nodes[i]);
	}
}

/* An action that places a task on nodes of its own, with its keys in order: the frequent case. */
static void append_placed_action(struct writer *writer, const struct sched_action *action)
{
	append_text(writer, "{\"cluster\":");
	append_cluster(writer, action->cluster);
	append_text(writer, ",\"end_s\":");
	append_number(writer, action->end_s);
	append_text(writer, ",\"energy_j\":");
	append_number(writer, action->energy_j);
	append_text(writer, ",\"kind\":\"");
	append_text(writer, sched_action_kind_name(action->kind));
	append_text(writer, "\",\"nodes\":[");
	append_nodes(writer, action);
	append_text(writer, "],\"objective\":");
	append_number(writer, action->objective);
	append_text(writer, ",\"pstate\":");
	decimal_append(writer->text, action->pstate);
	append_text(writer, ",\"reason\":\"");
	append_text(writer, sched_reason_name(action->reason));
	append_text(writer, "\",\"start_s\":");
	append_number(writer, action->start_s);
	append_text(writer, ",\"task\":");
	decimal_append(writer->text, action->task);
	append_text(writer, ",\"utility\":");
	append_number(writer, action->utility);
	append_text(writer, "}");
}

static void append_action(struct writer *writer, const struct sched_action *action)
{
	g_autofree char *text = NULL;

	if (snapshot_action_variant(writer->system, action->kind) == ACTION_PLACE) {
		append_placed_action(writer, action);
		return;
	}
	text = text_of(snapshot_json_action(writer->system, action));
	append_text(writer, text);
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
			append_text(&writer, ",");
		append_action(&writer, &plan->actions[i]);
	}
	append_text(&writer, "]");
	for (uint32_t c = 0; c < system->clusters_count; c++)
		g_free(writer.names[c]);
	for (uint32_t i = 0; i < 1 << NUMBERS_BITS; i++)
		g_free(writer.numbers[i].text);
	g_free(writer.names);
	g_free(writer.numbers);
	return g_string_free(writer.text, FALSE);
}
