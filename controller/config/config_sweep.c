/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/config/config_sweep.h"

#include <float.h>

#include "common/read_number.h"
#include "common/record/record.h"
#include "controller/config/config_environment.h"

/* Where 0 itself is outside the range of a key, a sweep begins at 1. */
#define MIN_ABOVE 1

static const struct config_sweep sweeps[] = {
	{"burst", "serial", .axis = "tasks per burst", .scale = 1},
	{"critical_mean_s", "serial", .axis = "mean execution time of critical tasks, minutes",
	 .scale = 1 / 60.0},
	{"critical_utility", "serial", .axis = "starting utility of critical tasks", .scale = 1},
	{"flags", "serial", .axis = "tasks that may preempt, and that can be preempted, %",
	 .scale = 100, .keys = {"may_preempt_share", "preemptible_share"}},
	{"utility", "serial", .axis = "utility functions", .scale = 1},
	{"load", "sharing", .axis = "load", .scale = 1},
	{"penalty_s", "sharing", .axis = "rescheduling penalty, minutes", .scale = 1 / 60.0},
	{"level", "pruning", .axis = "oversubscription level, thousands of tasks", .scale = 1e-3},
	{"recency", "pruning", .axis = "weight of the last mapping event, lambda", .scale = 1},
	{"defer_threshold", "pruning", .axis = "deferring threshold, %", .scale = 100},
	{"fairness", "pruning", .axis = "fairness factor, %", .scale = 100},
};

/* The row of the section of an environment that a sweep needs. */
static const struct config_key *section_key(const struct config_sweep *sweep)
{
	return config_key_find(&config_environment_section, sweep->needs);
}

/* That section of `environment`, or NULL. */
static void *section_of(const struct config_sweep *sweep,
			const struct config_environment *environment)
{
	return *(void *const *)((const char *)environment + section_key(sweep)->offset);
}

/* The row that says which values a sweep takes. */
static const struct config_key *key_of(const struct config_sweep *sweep)
{
	return config_key_find(section_key(sweep)->section, sweep->keys[0] ?: sweep->name);
}

const struct config_sweep *config_sweep_find(const char *name)
{
	for (gsize i = 0; i < G_N_ELEMENTS(sweeps); i++)
		if (g_str_equal(sweeps[i].name, name))
			return &sweeps[i];
	return NULL;
}

bool config_sweep_fits(const struct config_sweep *sweep, const struct config *config)
{
	const struct config_environment *environment = config_environment(config);

	return environment && section_of(sweep, environment) &&
	       !(environment->pruning && environment->pruning->list_count > 0);
}

char *config_sweep_names(void)
{
	GString *names = g_string_new(NULL);

	for (gsize i = 0; i < G_N_ELEMENTS(sweeps); i++)
		g_string_append_printf(names, "%s%s", i ? ", " : "", sweeps[i].name);
	return g_string_free(names, FALSE);
}

const char *const *config_sweep_words(const struct config_sweep *sweep)
{
	return key_of(sweep)->words;
}

char *config_sweep_read(const struct config_sweep *sweep, const char *text, double *ret_value)
{
	const struct config_key *key = key_of(sweep);
	const double min = key->above_min ? MIN_ABOVE : key->min;
	g_autofree char *known = key->words ? g_strjoinv(", ", (char **)key->words) : NULL;
	double value = known ? record_word_find(key->words, text) : 0;

	if (known && value < 0)
		return g_strdup_printf("'%s' is none of %s", text, known);
	if (!known && !read_number(text, -DBL_MAX, DBL_MAX, &value))
		return g_strdup_printf("'%s' is not a number", text);
	if (!known && !(value >= min && value <= key->max))
		return g_strdup_printf("%s is outside %g to %g", text, min, key->max);
	*ret_value = value;
	return NULL;
}

void config_sweep_apply(const struct config_sweep *sweep, struct config *config, double value)
{
	const struct config_section *rows = section_key(sweep)->section;
	void *section = section_of(sweep, config_environment(config));

	config_section_set(rows, section, sweep->keys[0] ?: sweep->name, value);
	if (sweep->keys[1])
		config_section_set(rows, section, sweep->keys[1], value);
}
