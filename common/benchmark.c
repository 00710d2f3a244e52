/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/benchmark.h"

/* power_of_two: the rank_rule of a kernel in benchmarks/npb. */
static const struct benchmark benchmarks[] = {
	{.name = "cg", .blocks = 1, .power_of_two = true},
	{.name = "ep", .blocks = 1},
	{.name = "is", .blocks = 1, .power_of_two = true},
	{.name = "is_cg", .blocks = 2, .power_of_two = true},
	{.name = "mg", .blocks = 1},
	{.name = "script", .script = true},
};

const struct benchmark *benchmark_find(const char *name)
{
	for (gsize i = 0; i < G_N_ELEMENTS(benchmarks); i++)
		if (g_str_equal(name, benchmarks[i].name))
			return &benchmarks[i];
	return NULL;
}

bool benchmark_is_script(const char *name)
{
	const struct benchmark *benchmark = benchmark_find(name);

	return benchmark && benchmark->script;
}

char *benchmark_names(void)
{
	GString *names = g_string_new(NULL);

	for (gsize i = 0; i < G_N_ELEMENTS(benchmarks); i++)
		g_string_append_printf(names, "%s%s", i ? ", " : "", benchmarks[i].name);
	return g_string_free(names, FALSE);
}
