/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/config/config_key.h"

#include <string.h>

#include "common/duplicates.h"

const struct config_key *config_key_find(const struct config_section *section, const char *name)
{
	for (const struct config_key *key = section->keys; key->name; key++)
		if (strcmp(key->name, name) == 0 || g_strcmp0(key->former, name) == 0)
			return key;
	return NULL;
}

const void *config_entry_find(const void *entries, uint32_t count, size_t size, const char *first,
			      const char *second)
{
	for (uint32_t i = 0; i < count; i++) {
		const void *entry = (const char *)entries + i * size;
		char *const *texts = entry;

		if (g_str_equal(texts[0], first) && (!second || g_str_equal(texts[1], second)))
			return entry;
	}
	return NULL;
}

const char *config_kind_name(enum config_kind kind)
{
	static const char *const names[] = {
		[CONFIG_KIND_UINT] = "whole number",  [CONFIG_KIND_NUMBER] = "number",
		[CONFIG_KIND_FLAG] = "true or false", [CONFIG_KIND_WORD] = "word",
		[CONFIG_KIND_TEXT] = "text",          [CONFIG_KIND_SECTION] = "section",
		[CONFIG_KIND_LIST] = "list",
	};

	return names[kind];
}

double config_key_number(const struct config_key *key, enum config_kind kind, const void *place)
{
	uint64_t whole = 0;

	if (kind == CONFIG_KIND_NUMBER)
		return *(const double *)place;
	/* x86-64 and arm64 alike are little-endian. */
	G_STATIC_ASSERT(G_BYTE_ORDER == G_LITTLE_ENDIAN);
	memcpy(&whole, place, key->size);
	return (double)whole;
}

bool config_key_is_absent(const struct config_key *key, const void *data)
{
	const void *place = (const char *)data + key->offset;

	if (key->needed)
		return false;
	if (key->kind >= CONFIG_KIND_TEXT)
		return !*(void *const *)place;
	return key->zero != CONFIG_ZERO_IS_VALUE &&
	       fpclassify(config_key_number(key, key->kind, place)) == FP_ZERO;
}

static bool is_whole(const struct config_key *key)
{
	return (key->kind == CONFIG_KIND_LIST ? key->entry : key->kind) == CONFIG_KIND_UINT;
}

/* An end of the range: all digits of a whole number, else the shorter one of 1e+06 and 1000000. */
static char *bound_of(const struct config_key *key, double value)
{
	g_autofree char *digits = g_strdup_printf("%.15g", value);
	g_autofree char *power = g_strdup_printf("%g", value);

	return g_strdup(!is_whole(key) && strlen(power) < strlen(digits) ? power : digits);
}

char *config_key_fallback(const struct config_key *key)
{
	if (key->kind == CONFIG_KIND_WORD)
		return key->needed ? NULL : g_strdup(key->words[(int)key->fallback]);
	if (key->fallback_text || fpclassify(key->fallback) == FP_ZERO)
		return g_strdup(key->fallback_text);
	return key->kind == CONFIG_KIND_FLAG ? g_strdup("true")
					     : g_strdup_printf("%.15g", key->fallback);
}

static bool has_range(const struct config_key *key)
{
	return key->max > key->min;
}

char *config_key_range(const struct config_key *key)
{
	g_autofree char *min = bound_of(key, key->min);
	g_autofree char *max = bound_of(key, key->max);

	if (!has_range(key))
		return NULL;
	if (isinf(key->max))
		return g_strdup_printf("%s %s", key->above_min ? "above" : "from", min);
	if (key->above_min || key->below_max || key->range == CONFIG_RANGE_BRACKETS)
		return g_strdup_printf("%c%s, %s%c", key->above_min ? '(' : '[', min, max,
				       key->below_max ? ')' : ']');
	return g_strdup_printf("%s to %s", min, max);
}

static void put_number(const struct config_key *key, double value, void *place)
{
	const uint64_t whole = (uint64_t)value;

	if (key->kind == CONFIG_KIND_NUMBER)
		memcpy(place, &value, sizeof(value));
	else
		memcpy(place, &whole, key->size);
}

void config_section_fill(const struct config_section *section, void *data)
{
	memset(data, 0, section->size);
	for (const struct config_key *key = section->keys; key->name; key++) {
		void *place = (char *)data + key->offset;

		if (key->kind == CONFIG_KIND_TEXT)
			*(char **)place = g_strdup(key->fallback_text);
		else if (key->kind < CONFIG_KIND_TEXT)
			put_number(key, key->fallback, place);
	}
}

void *config_section_new(const struct config_section *section)
{
	void *data = g_malloc(section->size);

	config_section_fill(section, data);
	return data;
}

void config_section_set(const struct config_section *section, void *data, const char *name,
			double value)
{
	const struct config_key *key = config_key_find(section, name);

	put_number(key, value, (char *)data + key->offset);
}

void config_section_clear(const struct config_section *section, void *data)
{
	for (const struct config_key *key = section->keys; key->name; key++) {
		const bool list = key->kind == CONFIG_KIND_LIST;
		char *place = (char *)data + key->offset;

		for (uint32_t i = 0; list && i < *(uint32_t *)((char *)data + key->count_offset);
		     i++) {
			char *entry = *(char **)place + i * key->size;

			if (key->entry == CONFIG_KIND_SECTION)
				config_section_clear(key->section, entry);
			else if (key->entry == CONFIG_KIND_TEXT)
				g_free(*(char **)entry);
		}
		if (key->kind == CONFIG_KIND_SECTION)
			config_section_free(key->section, *(void **)place);
		else if (list || key->kind == CONFIG_KIND_TEXT)
			g_free(*(char **)place);
	}
}

void config_section_free(const struct config_section *section, void *data)
{
	if (data)
		config_section_clear(section, data);
	g_free(data);
}

/*
 * What is wrong with a number that is outside the range of `key`; `first` is the text of the
 * section's first key.
 */
static char *refusal(const struct config_key *key, double value, const char *first)
{
	g_autofree char *range = config_key_range(key);
	g_autofree char *max = bound_of(key, key->max);
	g_autofree char *text = g_strdup_printf(is_whole(key) ? "%.0f" : "%g", value);
	const bool below =
		!isfinite(value) || !(value >= key->min) || (key->above_min && value <= key->min);

	if (key->says) {
		GString *said = g_string_new(key->says);

		g_string_replace(said, "#", text, 0);
		g_string_replace(said, "@", range, 0);
		g_string_replace(said, "~", first ?: "", 0);
		return g_string_free(said, FALSE);
	}
	if (key->range == CONFIG_RANGE_MOST && below && isfinite(value) && value > 0)
		return g_strdup_printf("%s is too little; give %s", text, range);
	if (key->range == CONFIG_RANGE_MOST && below)
		return g_strdup_printf("%s is %s", text,
				       key->above_min ? "not a positive number"
						      : "negative or not a number");
	if (key->range == CONFIG_RANGE_MOST)
		return g_strdup_printf("%s is more than %s; give %s", text, max, range);
	return g_strdup_printf("%s is %s %s", text,
			       key->range == CONFIG_RANGE_FROM ? "not from" : "outside", range);
}

/* What is wrong with the number at `place`, or NULL. */
static char *check_number(const struct config_key *key, enum config_kind kind, const char *path,
			  const void *place, const char *first)
{
	const double value = config_key_number(key, kind, place);
	const bool absent = !key->needed && key->kind != CONFIG_KIND_LIST &&
			    key->zero != CONFIG_ZERO_IS_VALUE &&
			    fpclassify(key->fallback) == FP_ZERO && fpclassify(value) == FP_ZERO;
	g_autofree char *wrong = NULL;

	if (!has_range(key) || absent ||
	    (isfinite(value) && value >= key->min && value <= key->max &&
	     !(key->above_min && value <= key->min) && !(key->below_max && value >= key->max)))
		return NULL;
	wrong = refusal(key, value, first);
	return g_strdup_printf("%s: %s", path, wrong);
}

static char *check_list(const struct config_key *key, const char *path, const void *entries,
			uint32_t count)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
	const struct config_key *first = key->section ? key->section->keys : NULL;
	char *wrong = NULL;

	if (key->most > 0 && count > key->most)
		return g_strdup_printf("%s: %u are more than %u", path, count, key->most);
	if (key->once) {
		const uint32_t twice = key->entry == CONFIG_KIND_TEXT
					       ? duplicate_name(entries, count)
					       : duplicate_fraction(entries, count);
		const char *entry = (const char *)entries + twice * key->size;
		g_autofree char *text = NULL;

		if (twice < count && key->entry == CONFIG_KIND_TEXT)
			text = g_strdup_printf("'%s'", *(char *const *)entry);
		else if (twice < count)
			text = g_strdup_printf("%g", config_key_number(key, key->entry, entry));
		if (text)
			return g_strdup_printf("%s[%u]: %s appears twice%s%s", path, twice, text,
					       key->cure ? "; " : "", key->cure ?: "");
	}
	for (uint32_t i = 0; !wrong && i < count; i++) {
		const void *entry = (const char *)entries + i * key->size;
		char *name = first && first->once && first->kind == CONFIG_KIND_TEXT
				     ? *(char *const *)((const char *)entry + first->offset)
				     : NULL;
		g_autofree char *below = g_strdup_printf("%s[%u]", path, i);

		if (key->entry == CONFIG_KIND_SECTION)
			wrong = config_section_check(key->section, below, entry);
		else if (key->entry < CONFIG_KIND_FLAG)
			wrong = check_number(key, key->entry, below, entry, NULL);
		if (!wrong && name && !g_hash_table_add(seen, name))
			wrong = g_strdup_printf("%s.%s: '%s' appears twice", below, first->name,
						name);
	}
	return wrong;
}

char *config_section_check(const struct config_section *section, const char *path, const void *data)
{
	const struct config_key *first = section->keys;
	const void *named = (const char *)data + first->offset;
	const char *text = first->kind == CONFIG_KIND_TEXT ? *(char *const *)named : NULL;
	char *wrong = NULL;

	for (const struct config_key *key = first; !wrong && key->name; key++) {
		const void *place = (const char *)data + key->offset;
		g_autofree char *below =
			g_strdup_printf("%s%s%s", path, *path ? "." : "", key->name);

		if (key->kind == CONFIG_KIND_LIST)
			wrong = check_list(key, below, *(void *const *)place,
					   *(const uint32_t *)((const char *)data +
							       key->count_offset));
		else if (key->kind == CONFIG_KIND_SECTION && *(void *const *)place)
			wrong = config_section_check(key->section, below, *(void *const *)place);
		else if (key->kind < CONFIG_KIND_FLAG)
			wrong = check_number(key, key->kind, below, place, text);
	}
	return wrong;
}
