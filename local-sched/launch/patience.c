/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/launch/patience.h"

struct patience {
	GHashTable *longest; /* "cg.W" -> double *, seconds */
};

struct patience *patience_new(void)
{
	struct patience *patience = g_new0(struct patience, 1);

	patience->longest = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	return patience;
}

void patience_free(struct patience *patience)
{
	if (!patience)
		return;
	g_hash_table_unref(patience->longest);
	g_free(patience);
}

static char *key_of(const char *benchmark, char class_)
{
	return g_strdup_printf("%s.%c", benchmark, class_);
}

double patience_s(const struct patience *patience, const char *benchmark, char class_,
		  double longest_s)
{
	g_autofree char *key = key_of(benchmark, class_);
	const double *known = patience ? g_hash_table_lookup(patience->longest, key) : NULL;
	const double seen_s = MAX(longest_s, known ? *known : 0);

	if (!(seen_s > 0))
		return PATIENCE_MAX_S;
	return CLAMP(PATIENCE_TIMES * seen_s, PATIENCE_MIN_S, PATIENCE_MAX_S);
}

void patience_learn(struct patience *patience, const char *benchmark, char class_, double longest_s)
{
	g_autofree char *key = key_of(benchmark, class_);
	double *known = g_hash_table_lookup(patience->longest, key);

	if (!known) {
		known = g_new0(double, 1);
		g_hash_table_insert(patience->longest, g_steal_pointer(&key), known);
	}
	*known = MAX(*known, longest_s);
}
