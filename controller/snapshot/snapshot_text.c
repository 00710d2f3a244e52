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
#include "controller/snapshot/snapshot_rows.h"

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

static void append_value(struct writer *writer, const struct record_field *field,
			 const struct sched_action *action)
{
	const void *place = record_place(field, action);

	switch (field->type) {
	case RECORD_REAL:
		append_number(writer, *(const double *)place);
		break;
	case RECORD_WORD:
		append_text(writer, "\"");
		append_text(writer, field->words[*(const int *)place]);
		append_text(writer, "\"");
		break;
	case RECORD_NUMBERS:
		append_text(writer, "[");
		for (uint32_t i = 0; i < action->nodes_count; i++) {
			append_text(writer, i ? "," : "");
			decimal_append(writer->text, action->nodes[i]);
		}
		append_text(writer, "]");
		break;
	default:
		if (place == &action->cluster)
			append_cluster(writer, action->cluster);
		else
			decimal_append(writer->text, *(const uint32_t *)place);
	}
}

static void append_action(struct writer *writer, const struct sched_action *action)
{
	const unsigned variant = snapshot_action_variant(writer->system, action->kind);
	const char *between = "{\"";

	for (const struct record_field *field = snapshot_action_record.fields; field->name;
	     field++) {
		if (field->variants && !(field->variants & variant))
			continue;
		append_text(writer, between);
		append_text(writer, field->name);
		append_text(writer, "\":");
		append_value(writer, field, action);
		between = ",\"";
	}
	append_text(writer, "}");
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
