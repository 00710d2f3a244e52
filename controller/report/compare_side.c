/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/compare_side.h"

#include <string.h>

/* The longest label, in bytes; longer names of directories would widen the tables too much. */
#define LABEL_MAX 24

static void put_kind(struct compare_side *side)
{
	const bool measured = side->summary->measured;

	side->key = measured ? "measured" : "simulated";
	side->label = g_strdup(side->key);
	side->column = measured ? "meas" : "sim";
	side->words = measured ? "the measurement" : "the simulation";
}

/* The parts of the directory's absolute name, as valid UTF-8. */
static char **parts_of(const struct summary *summary)
{
	g_autofree char *path = g_canonicalize_filename(summary->path, NULL);
	g_autofree char *name = g_filename_display_name(path);

	return g_strsplit(name, "/", -1);
}

/* Whether a name may be a label. */
static bool is_short(const char *name)
{
	return *name && strlen(name) <= LABEL_MAX;
}

static void put_directories(struct compare_sides *sides)
{
	static const struct {
		const char *key, *label;
	} words[] = {{"a", "A"}, {"b", "B"}};
	g_auto(GStrv) a = parts_of(sides->side[0].summary);
	g_auto(GStrv) b = parts_of(sides->side[1].summary);
	guint i = g_strv_length(a);
	guint j = g_strv_length(b);
	const char *names[2] = {"", ""};

	while (i > 0 && j > 0 && g_str_equal(a[i - 1], b[j - 1])) {
		i--;
		j--;
	}
	if (i > 0 && j > 0 && is_short(a[i - 1]) && is_short(b[j - 1])) {
		names[0] = a[i - 1];
		names[1] = b[j - 1];
	}
	for (int k = 0; k < 2; k++) {
		struct compare_side *side = &sides->side[k];

		side->key = words[k].key;
		side->label = g_strdup(*names[k] ? names[k] : words[k].label);
		side->column = side->label;
		side->words = side->label;
	}
}

void compare_sides_init(struct compare_sides *ret_sides, const struct summary *a,
			struct compare_resampling *noise_a, const struct summary *b,
			struct compare_resampling *noise_b)
{
	const struct compare_side first = {.summary = a, .noise = noise_a};
	const struct compare_side second = {.summary = b, .noise = noise_b};
	const bool turned = b->measured && !a->measured;

	*ret_sides = (struct compare_sides){
		.side = {turned ? second : first, turned ? first : second},
		.mixed = a->measured != b->measured,
	};
	if (!ret_sides->mixed) {
		put_directories(ret_sides);
		return;
	}
	put_kind(&ret_sides->side[0]);
	put_kind(&ret_sides->side[1]);
}

void compare_sides_clear(struct compare_sides *sides)
{
	for (int i = 0; i < 2; i++)
		g_clear_pointer(&sides->side[i].label, g_free);
}
