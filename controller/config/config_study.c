/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/config/config_study.h"

#include "controller/config/config_environment.h"
#include "controller/config/config_sweep.h"

#define NODES_MAX 1000000

static const struct config_key study_keys[] = {
	{CONFIG_UINT(study, trials), .fallback = 48, CONFIG_NOT_ZERO, CONFIG_MOST(1, 1000000),
	 .help = "workloads that are drawn."},
	{CONFIG_TEXT(study, x),
	 .help = "what the figures have on their x axis: policy, limit, leniency, drop, size; "
		 "with serial burst, critical_mean_s, critical_utility, flags or utility; with sharing load or penalty_s; "
		 "with pruning level, recency, defer_threshold or fairness. Default: what there are several of."},
	{CONFIG_LIST(study, sizes, NUMBER), .once = true, .least = 1, CONFIG_ABOVE(0, 100),
	 .help = "shares of the nodes of every cluster; 1 without it."},
	{CONFIG_LIST(study, values, TEXT), .least = 1,
	 .help = "of what is swept; needed where x is one of the last three groups. "},
	{NULL},
};

const struct config_section config_study_section = {study_keys, sizeof(struct config_study)};

void config_study_fill_in(struct config *config)
{
	struct config_study *study = config_study(config);

	if (!study)
		study = config->served_sections[CONFIG_STUDY] =
			config_section_new(&config_study_section);
	if (!study->x)
		study->x = g_strdup(config->experiment->limits_count > 1 ? "limit"
				    : study->sizes_count > 1             ? "size"
									 : "policy");
	if (study->sizes_count == 0) {
		g_free(study->sizes);
		study->sizes = g_new(double, 1);
		study->sizes[0] = 1;
		study->sizes_count = 1;
	}
}

static char *check_sizes(const struct config *config)
{
	const struct config_environment *environment = config_environment(config);
	const struct config_study *study = config_study(config);
	double nodes = 0;
	double largest = 1;

	if (environment && environment->pruning &&
	    (study->sizes_count != 1 || study->sizes[0] != 1))
		return g_strdup(
			"study.sizes: a machine of environment.pruning executes one task, however many nodes "
			"it has; leave them out");
	/* Nodes in all: what takes memory and time. */
	for (uint32_t c = 0; c < config->clusters_count; c++)
		nodes += config->clusters[c].nodes;
	for (uint32_t i = 0; i < study->sizes_count; i++)
		largest = MAX(largest, study->sizes[i]);
	if (nodes * largest <= NODES_MAX)
		return NULL;
	return g_strdup_printf(
		"clusters: %.0f nodes in all, at the largest of study.sizes, are more than %d",
		nodes * largest, NODES_MAX);
}

/* The values of a sweep can be read, and are different; its environment takes them. */
static char *check_sweep(const struct config *config, const struct config_sweep *sweep)
{
	const struct config_study *study = config_study(config);
	g_autofree double *values = g_new(double, study->values_count);

	if (study->values_count == 0)
		return g_strdup_printf(
			"study.x: '%s' without study.values; give the values to sweep", study->x);
	if (!config_sweep_fits(sweep, config))
		return g_strdup_printf("study.x: '%s' needs environment.%s", study->x,
				       sweep->needs);
	if (g_str_equal(study->x, "load") && (config_environment(config)->trace ||
					      config_environment(config)->sharing->list_count > 0))
		return g_strdup(
			"study.x: 'load', but only jobs of the model are scaled to a load; leave out "
			"environment.trace and environment.sharing.list");
	for (uint32_t i = 0; i < study->values_count; i++) {
		g_autofree char *wrong = config_sweep_read(sweep, study->values[i], &values[i]);

		if (wrong)
			return g_strdup_printf("study.values[%u]: %s", i, wrong);
		for (uint32_t j = 0; j < i; j++)
			if (fabs(values[i] - values[j]) < CONFIG_LIMITS_DIFFER)
				return g_strdup_printf("study.values[%u]: %s appears twice", i,
						       study->values[i]);
	}
	return NULL;
}

char *config_study_check(const struct config *config)
{
	static const char *const known[] = {"policy", "limit", "leniency", "drop", "size", NULL};
	const struct config_study *study = config_study(config);
	const struct config_sweep *sweep = config_sweep_find(study->x);
	g_autofree char *names = config_sweep_names();
	char *wrong = sweep ? check_sweep(config, sweep) : NULL;

	if (wrong)
		return wrong;
	if (!sweep && !g_strv_contains(known, study->x))
		return g_strdup_printf(
			"study.x: '%s' is none of policy, limit, leniency, drop, size, %s",
			study->x, names);
	if (!sweep && study->values_count > 0)
		return g_strdup_printf(
			"study.values: nothing to sweep; give study.x as one of %s, or no "
			"values",
			names);
	if (config->experiment->limits_count > 1 && !g_str_equal(study->x, "limit"))
		return g_strdup_printf(
			"study.x: '%s' with several experiment.limits; give one of them, or x: limit",
			study->x);
	if (study->sizes_count > 1 && !g_str_equal(study->x, "size"))
		return g_strdup_printf(
			"study.x: '%s' with several study.sizes; give one of them, or x: "
			"size",
			study->x);
	return check_sizes(config);
}
