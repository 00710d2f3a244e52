/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/config_sweep.h"

#include <float.h>

#include "common/read_number.h"

#define BURST_MAX 10000
#define MEAN_MAX_S 1e6
#define UTILITY_MAX 1e6
#define LOAD_MAX 10
#define PENALTY_MAX_S 1e6

static void set_burst(struct config_environment *environment, double value)
{
	environment->serial->burst = value;
}

static void set_critical_mean(struct config_environment *environment, double value)
{
	environment->serial->critical_mean_s = value;
}

static void set_critical_utility(struct config_environment *environment, double value)
{
	environment->serial->critical_utility = value;
}

static void set_flags(struct config_environment *environment, double value)
{
	environment->serial->may_preempt_share = environment->serial->preemptible_share = value;
}

static void set_utility(struct config_environment *environment, double value)
{
	environment->serial->utility = (enum config_utility)value;
}

static void set_load(struct config_environment *environment, double value)
{
	environment->sharing->load = value;
}

static void set_penalty(struct config_environment *environment, double value)
{
	environment->sharing->penalty_s = value;
}

static void set_level(struct config_environment *environment, double value)
{
	environment->pruning->level = value;
}

static void set_recency(struct config_environment *environment, double value)
{
	environment->pruning->recency = value;
}

static void set_defer(struct config_environment *environment, double value)
{
	environment->pruning->defer_threshold = value;
}

static void set_fairness(struct config_environment *environment, double value)
{
	environment->pruning->fairness = value;
}

static const char *const utilities[] = {
	[CONFIG_UTILITY_CLASSES] = "classes",
	[CONFIG_UTILITY_STEP] = "step",
	[CONFIG_UTILITY_DECAY] = "decay",
	NULL,
};

static const struct config_sweep sweeps[] = {
	{
		.name = "burst",
		.needs = "serial",
		.axis = "tasks per burst",
		.scale = 1,
		.min = 1,
		.max = BURST_MAX,
		.apply = set_burst,
	},
	{
		.name = "critical_mean_s",
		.needs = "serial",
		.axis = "mean execution time of critical tasks, minutes",
		.scale = 1 / 60.0,
		.min = 1,
		.max = MEAN_MAX_S,
		.apply = set_critical_mean,
	},
	{
		.name = "critical_utility",
		.needs = "serial",
		.axis = "starting utility of critical tasks",
		.scale = 1,
		.min = 0.001,
		.max = UTILITY_MAX,
		.apply = set_critical_utility,
	},
	{
		.name = "flags",
		.needs = "serial",
		.axis = "tasks that may preempt, and that can be preempted, %",
		.scale = 100,
		.min = 0,
		.max = 1,
		.apply = set_flags,
	},
	{
		.name = "utility",
		.needs = "serial",
		.axis = "utility functions",
		.scale = 1,
		.min = CONFIG_UTILITY_CLASSES,
		.max = CONFIG_UTILITY_DECAY,
		.words = utilities,
		.apply = set_utility,
	},
	{
		.name = "load",
		.needs = "sharing",
		.axis = "load",
		.scale = 1,
		.min = 0,
		.max = LOAD_MAX,
		.apply = set_load,
	},
	{
		.name = "penalty_s",
		.needs = "sharing",
		.axis = "rescheduling penalty, minutes",
		.scale = 1 / 60.0,
		.min = 0,
		.max = PENALTY_MAX_S,
		.apply = set_penalty,
	},
	{
		.name = "level",
		.needs = "pruning",
		.axis = "oversubscription level, thousands of tasks",
		.scale = 1e-3,
		.min = 1,
		.max = 1e9,
		.apply = set_level,
	},
	{
		.name = "recency",
		.needs = "pruning",
		.axis = "weight of the last mapping event, lambda",
		.scale = 1,
		.min = 0,
		.max = 1,
		.apply = set_recency,
	},
	{
		.name = "defer_threshold",
		.needs = "pruning",
		.axis = "deferring threshold, %",
		.scale = 100,
		.min = 0,
		.max = 1,
		.apply = set_defer,
	},
	{
		.name = "fairness",
		.needs = "pruning",
		.axis = "fairness factor, %",
		.scale = 100,
		.min = 0,
		.max = 1,
		.apply = set_fairness,
	},
};

const struct config_sweep *config_sweep_find(const char *name)
{
	for (gsize i = 0; i < G_N_ELEMENTS(sweeps); i++)
		if (g_str_equal(sweeps[i].name, name))
			return &sweeps[i];
	return NULL;
}

bool config_sweep_fits(const struct config_sweep *sweep, const struct config *config)
{
	const struct config_environment *environment = config->environment;

	if (!environment)
		return false;
	if (g_str_equal(sweep->needs, "pruning"))
		return environment->pruning && environment->pruning->list_count == 0;
	return g_str_equal(sweep->needs, "serial") ? environment->serial != NULL
						   : environment->sharing != NULL;
}

char *config_sweep_names(void)
{
	GString *names = g_string_new(NULL);

	for (gsize i = 0; i < G_N_ELEMENTS(sweeps); i++)
		g_string_append_printf(names, "%s%s", i ? ", " : "", sweeps[i].name);
	return g_string_free(names, FALSE);
}

static bool read_word(const struct config_sweep *sweep, const char *text, double *ret_value,
		      char **ret_wrong)
{
	g_autofree char *known = g_strjoinv(", ", (char **)sweep->words);

	for (guint i = 0; sweep->words[i]; i++) {
		if (!g_str_equal(sweep->words[i], text))
			continue;
		*ret_value = i;
		return true;
	}
	*ret_wrong = g_strdup_printf("'%s' is none of %s", text, known);
	return false;
}

bool config_sweep_read(const struct config_sweep *sweep, const char *text, double *ret_value,
		       char **ret_wrong)
{
	double value;

	if (sweep->words)
		return read_word(sweep, text, ret_value, ret_wrong);
	if (!read_number(text, -DBL_MAX, DBL_MAX, &value)) {
		*ret_wrong = g_strdup_printf("'%s' is not a number", text);
		return false;
	}
	if (!(value >= sweep->min && value <= sweep->max)) {
		*ret_wrong = g_strdup_printf("%s is outside %g to %g", text, sweep->min,
					     sweep->max);
		return false;
	}
	*ret_value = value;
	return true;
}

void config_sweep_apply(const struct config_sweep *sweep, struct config *config, double value)
{
	sweep->apply(config->environment, value);
}
