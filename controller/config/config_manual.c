/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/config/config_manual.h"

#include <gio/gio.h>
#include <string.h>

#include "common/config/config_root.h"
#include "controller/config/config_controller.h"
#include "controller/config/manual_resource.h"

#define COLUMNS_MAX 100 /* columns of the page's source */

/*
 * The lines of the page between which the keys stand; everything before and after them is written
 * in the page itself.
 */
#define PAGE "/virtbed/virtbed.yaml.5"
#define KEYS_BEGIN "\n.SH KEYS\n"
#define KEYS_END ".SH FILES\n"

/* What the ends of names say (docs: units are in the names of keys). */
static const struct {
	const char *suffix;
	const char *unit;
} units[] = {
	{"_per_s", "1/s"}, {"_s", "s"},     {"_j", "J"},       {"_w", "W"},
	{"_mib", "MiB"},   {"_mhz", "MHz"}, {"_days", "days"},
};

static const char *unit_of(const struct config_key *key)
{
	for (gsize i = 0; i < G_N_ELEMENTS(units); i++)
		if (key->kind <= CONFIG_KIND_NUMBER && g_str_has_suffix(key->name, units[i].suffix))
			return units[i].unit;
	return NULL;
}

static const char *kind_of(const struct config_key *key)
{
	return key->or_one ? "text or list" : config_kind_name(key->kind);
}

/* "needed, 1 to 64", "default 2, (0, 5]"; the caller frees. */
static char *traits_of(const struct config_key *key)
{
	g_autofree char *fallback = config_key_fallback(key);
	struct config_key shown = *key;
	g_autofree char *range = NULL;
	GString *text = g_string_new(key->needed ? "needed" : NULL);

	/* A 0 that is refused is outside the range, although its errors name a range from 0. */
	shown.above_min |= key->kind <= CONFIG_KIND_NUMBER && key->zero == CONFIG_ZERO_IS_REFUSED &&
			   !(key->min > 0);
	range = config_key_range(&shown);
	if (fallback)
		g_string_append_printf(text, "%sdefault %s", text->len ? ", " : "", fallback);
	if (range)
		g_string_append_printf(text, "%s%s", text->len ? ", " : "", range);
	return g_string_free(text, FALSE);
}

/* Lines of words, `x` in bold; a line does not begin with what troff takes for a request. */
static void put_text(GString *page, const char *help)
{
	g_auto(GStrv) words = g_strsplit(help, " ", -1);
	bool bold = false;
	size_t column = 0;

	for (guint i = 0; words[i]; i++) {
		const size_t length = strlen(words[i]);

		if (column > 0 && column + 1 + length > COLUMNS_MAX && !strchr(".'", words[i][0])) {
			g_string_append_c(page, '\n');
			column = 0;
		} else if (column > 0) {
			g_string_append_c(page, ' ');
			column++;
		}
		for (const char *c = words[i]; *c; c++) {
			if (*c == '`')
				g_string_append(page, (bold = !bold) ? "\\fB" : "\\fR");
			else if (*c == '-' && (c[1] == '-' || (c > words[i] && c[-1] == '-')))
				g_string_append(page, "\\-");
			else
				g_string_append_c(page, *c);
		}
		column += length;
	}
	g_string_append_c(page, '\n');
}

/* The path of a key, or of the `rows` below it; the caller frees. */
static char *path_of(const char *path, const struct config_key *key, bool rows)
{
	return g_strdup_printf("%s%s%s%s", path, *path ? "." : "", key->name,
			       rows && key->kind == CONFIG_KIND_LIST ? "[]" : "");
}

/* A section, and then those below it. */
static void put_section(GString *page, const char *path, const struct config_section *section)
{
	g_string_append_printf(page, ".SS %s\n", *path ? path : "The file");
	if (section->help)
		put_text(page, section->help);
	for (const struct config_key *key = section->keys; key->name; key++) {
		g_autofree char *traits = traits_of(key);

		g_string_append_printf(page, ".TP\n.BR %s \" (%s%s%s)\"\n", key->name, kind_of(key),
				       *traits ? ", " : "", traits);
		put_text(page, key->help);
	}
	for (const struct config_key *key = section->keys; key->name; key++) {
		g_autofree char *below = path_of(path, key, true);

		if (key->section)
			put_section(page, below, key->section);
	}
}

char *config_manual_page(void)
{
	g_autoptr(GBytes) built_in = g_resource_lookup_data(virtbed_manual_get_resource(), PAGE,
							    G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);
	/* GResource: a zero follows the data */
	const char *prose = g_bytes_get_data(built_in, NULL);
	GString *page =
		g_string_new_len(prose, strstr(prose, KEYS_BEGIN) + strlen(KEYS_BEGIN) - prose);
	struct config_root root;

	put_section(page, "", config_root_init(&config_controller, &root));
	g_string_append(page, strstr(prose, KEYS_END));
	return g_string_free(page, FALSE);
}

static void each_of(const char *path, const struct config_section *section,
		    void (*each)(const struct config_manual_key *key, void *data), void *data)
{
	for (const struct config_key *key = section->keys; key->name; key++) {
		g_autofree char *words = key->kind == CONFIG_KIND_WORD
						 ? g_strjoinv(", ", (char **)key->words)
						 : NULL;
		g_autofree char *traits = traits_of(key);
		g_autofree char *whole = g_strdup_printf("%s%s%s", traits,
							 words && *traits ? ": " : "", words ?: "");
		g_autofree char *name = path_of(path, key, false);
		g_autofree char *below = path_of(path, key, true);
		const struct config_manual_key entry = {
			name, kind_of(key), whole, unit_of(key), key->help,
		};

		each(&entry, data);
		if (key->section)
			each_of(below, key->section, each, data);
	}
}

void config_manual_each(void (*each)(const struct config_manual_key *key, void *data), void *data)
{
	struct config_root root;

	each_of("", config_root_init(&config_controller, &root), each, data);
}
