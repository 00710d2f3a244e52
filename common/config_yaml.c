/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/config_yaml.h"

#include <float.h>
#include <glib.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "common/config_schema.h"
#include "common/read_number.h"

static void write_mapping(GString *out, const cyaml_schema_field_t *fields, const uint8_t *data,
			  unsigned indent, bool in_list);

static uint64_t read_unsigned(const uint8_t *data, uint32_t size)
{
	uint64_t value = 0;

	/* x86-64 and arm64 alike are little-endian; libcyaml stores integers natively. */
	G_STATIC_ASSERT(G_BYTE_ORDER == G_LITTLE_ENDIAN);
	memcpy(&value, data, size);
	return value;
}

/* The shortest text that reads back as the same double. */
static void write_double(GString *out, double value)
{
	char text[G_ASCII_DTOSTR_BUF_SIZE];
	double back;

	for (int digits = 6; digits <= 17; digits++) {
		char format[8];

		g_snprintf(format, sizeof(format), "%%.%dg", digits);
		g_ascii_formatd(text, sizeof(text), format, value);
		if (read_number(text, -DBL_MAX, DBL_MAX, &back) && back == value)
			break;
	}
	g_string_append(out, text);
}

static void write_string(GString *out, const char *text)
{
	g_string_append_c(out, '"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			g_string_append_printf(out, "\\%c", *text);
		else if ((unsigned char)*text < 0x20)
			g_string_append_printf(out, "\\x%02x", (unsigned char)*text);
		else
			g_string_append_c(out, *text);
	}
	g_string_append_c(out, '"');
}

static void write_enum(GString *out, const cyaml_schema_value_t *schema, uint64_t value)
{
	for (uint32_t i = 0; i < schema->enumeration.count; i++)
		if ((uint64_t)schema->enumeration.strings[i].val == value)
			g_string_append(out, schema->enumeration.strings[i].str);
}

static void write_scalar(GString *out, const cyaml_schema_value_t *schema, const uint8_t *data)
{
	double number;

	switch (schema->type) {
	case CYAML_UINT:
		g_string_append_printf(out, "%" G_GUINT64_FORMAT,
				       read_unsigned(data, schema->data_size));
		break;
	case CYAML_FLOAT:
		memcpy(&number, data, sizeof(number));
		write_double(out, number);
		break;
	case CYAML_BOOL:
		g_string_append(out, read_unsigned(data, schema->data_size) ? "true" : "false");
		break;
	case CYAML_STRING:
		write_string(out, *(char *const *)data);
		break;
	case CYAML_ENUM:
		write_enum(out, schema, read_unsigned(data, schema->data_size));
		break;
	default:
		g_assert_not_reached();
	}
}

static bool is_absent(const cyaml_schema_field_t *field, const uint8_t *data)
{
	const cyaml_schema_value_t *schema = &field->value;
	double number;

	if (schema->flags & CYAML_FLAG_POINTER)
		return !*(void *const *)data && (schema->flags & CYAML_FLAG_OPTIONAL);
	if (!(schema->flags & CYAML_FLAG_OPTIONAL) ||
	    config_schema_zero(field->key) == CONFIG_ZERO_IS_VALUE)
		return false;
	if (schema->type == CYAML_FLOAT) {
		memcpy(&number, data, sizeof(number));
		return fpclassify(number) == FP_ZERO;
	}
	return read_unsigned(data, schema->data_size) == 0;
}

static void write_list(GString *out, const cyaml_schema_value_t *schema, const uint8_t *entries,
		       uint64_t count, unsigned indent)
{
	const cyaml_schema_value_t *entry = schema->sequence.entry;

	if (entry->type != CYAML_MAPPING || count == 0) {
		g_string_append(out, " [");
		for (uint64_t i = 0; i < count; i++) {
			if (i > 0)
				g_string_append(out, ", ");
			write_scalar(out, entry, entries + i * schema->data_size);
		}
		g_string_append(out, "]\n");
		return;
	}
	g_string_append_c(out, '\n');
	for (uint64_t i = 0; i < count; i++)
		write_mapping(out, entry->mapping.fields, entries + i * schema->data_size,
			      indent + 2, true);
}

static void write_field(GString *out, const cyaml_schema_field_t *field, const uint8_t *base,
			unsigned indent)
{
	const cyaml_schema_value_t *schema = &field->value;
	const uint8_t *data = base + field->data_offset;

	g_string_append_printf(out, "%s:", field->key);
	if (schema->type == CYAML_MAPPING) {
		g_string_append_c(out, '\n');
		write_mapping(out, schema->mapping.fields, *(const uint8_t *const *)data,
			      indent + 2, false);
	} else if (schema->type == CYAML_SEQUENCE) {
		write_list(out, schema, *(const uint8_t *const *)data,
			   read_unsigned(base + field->count_offset, field->count_size), indent);
	} else {
		g_string_append_c(out, ' ');
		write_scalar(out, schema, data);
		g_string_append_c(out, '\n');
	}
}

static void write_mapping(GString *out, const cyaml_schema_field_t *fields, const uint8_t *data,
			  unsigned indent, bool in_list)
{
	bool first = true;

	for (const cyaml_schema_field_t *field = fields; field->key; field++) {
		if (is_absent(field, data + field->data_offset))
			continue;
		g_string_append_printf(out, "%*s", (int)(first && in_list ? indent - 2 : indent), "");
		if (first && in_list)
			g_string_append(out, "- ");
		first = false;
		write_field(out, field, data, indent);
	}
}

char *config_yaml_text(const cyaml_schema_value_t *schema, const void *data)
{
	GString *out = g_string_new(NULL);

	write_mapping(out, schema->mapping.fields, data, 0, false);
	return g_string_free(out, FALSE);
}
