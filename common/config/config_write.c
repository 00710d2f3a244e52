/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/config/config_write.h"

#include <float.h>
#include <string.h>

#include "common/read_number.h"

static void write_section(GString *out, const struct config_section *section, const char *data,
			  unsigned indent, bool in_list);

/* The shortest text that reads back as the same double. */
static void write_double(GString *out, double value)
{
	char text[G_ASCII_DTOSTR_BUF_SIZE], format[8];
	double back;

	for (int digits = 6; digits <= 17; digits++) {
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

static void write_scalar(GString *out, const struct config_key *key, enum config_kind kind,
			 const char *place)
{
	uint64_t whole = 0;

	switch (kind) {
	case CONFIG_KIND_NUMBER:
		write_double(out, config_key_number(key, kind, place));
		break;
	case CONFIG_KIND_TEXT:
		write_string(out, *(char *const *)place);
		break;
	case CONFIG_KIND_FLAG:
		g_string_append(out, *(const bool *)place ? "true" : "false");
		break;
	case CONFIG_KIND_WORD:
		g_string_append(out, key->words[(int)config_key_number(key, kind, place)]);
		break;
	default:
		memcpy(&whole, place, key->size);
		g_string_append_printf(out, "%" G_GUINT64_FORMAT, whole);
	}
}

static void write_list(GString *out, const struct config_key *key, const char *entries,
		       uint32_t count, unsigned indent)
{
	if (key->or_one && count == 1) {
		g_string_append_c(out, ' ');
		write_scalar(out, key, key->entry, entries);
		g_string_append_c(out, '\n');
		return;
	}
	if (key->entry != CONFIG_KIND_SECTION || count == 0) {
		g_string_append(out, " [");
		for (uint32_t i = 0; i < count; i++) {
			if (i > 0)
				g_string_append(out, ", ");
			write_scalar(out, key, key->entry, entries + i * key->size);
		}
		g_string_append(out, "]\n");
		return;
	}
	g_string_append_c(out, '\n');
	for (uint32_t i = 0; i < count; i++)
		write_section(out, key->section, entries + i * key->size, indent + 2, true);
}

static void write_key(GString *out, const struct config_key *key, const char *data, unsigned indent)
{
	const char *place = data + key->offset;

	g_string_append_printf(out, "%s:", key->name);
	if (key->kind == CONFIG_KIND_SECTION) {
		const gsize start = out->len;

		g_string_append_c(out, '\n');
		write_section(out, key->section, *(const char *const *)place, indent + 2, false);
		if (out->len == start + 1) { /* all of its keys are absent */
			g_string_truncate(out, start);
			g_string_append(out, " {}\n");
		}
	} else if (key->kind == CONFIG_KIND_LIST) {
		write_list(out, key, *(const char *const *)place,
			   *(const uint32_t *)(data + key->count_offset), indent);
	} else {
		g_string_append_c(out, ' ');
		write_scalar(out, key, key->kind, place);
		g_string_append_c(out, '\n');
	}
}

static void write_section(GString *out, const struct config_section *section, const char *data,
			  unsigned indent, bool in_list)
{
	bool first = true;

	for (const struct config_key *key = section->keys; key->name; key++) {
		if (config_key_is_absent(key, data))
			continue;
		g_string_append_printf(out, "%*s", (int)(first && in_list ? indent - 2 : indent),
				       "");
		if (first && in_list)
			g_string_append(out, "- ");
		first = false;
		write_key(out, key, data, indent);
	}
}

char *config_write_text(const struct config_section *section, const void *data)
{
	GString *out = g_string_new(NULL);

	write_section(out, section, data, 0, false);
	return g_string_free(out, FALSE);
}

bool config_write_file(const char *path, const char *text, GError **error)
{
	g_autoptr(GError) reason = NULL;

	if (g_file_set_contents_full(path, text, -1,
				     G_FILE_SET_CONTENTS_CONSISTENT | G_FILE_SET_CONTENTS_DURABLE,
				     0666, &reason))
		return true;
	if (g_error_matches(reason, G_FILE_ERROR, G_FILE_ERROR_NOSPC))
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOSPC,
			    "%s: cannot be written: the disk is full; make room there", path);
	else
		g_propagate_error(error, g_steal_pointer(&reason));
	return false;
}
