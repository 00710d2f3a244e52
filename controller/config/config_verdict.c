/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/config/config_verdict.h"

#include <math.h>

static const struct config_key pair_keys[] = {
	{CONFIG_LIST(verdict_pair, policies, TEXT), .once = true, .least = 2, .most = 2,
	 .needed = true, .help = "two of `experiment.policies`, as they are written there."},
	{CONFIG_LIST(verdict_pair, limits, NUMBER), .once = true, .least = 1, CONFIG_ABOVE(0, 1),
	 .help = "some of `experiment.limits`; default: all of them."},
	{NULL},
};
static const struct config_section pair_section = {pair_keys, sizeof(struct config_verdict_pair)};

static const struct config_key verdict_keys[] = {
	{CONFIG_SECTIONS(verdict, pairs, pair_section), .most = 1000,
	 .help = "the pairs to decide. Default: every two policies at every limit. The fewer "
		 "there are, the fewer runs each takes."},
	{CONFIG_SECTIONS(verdict, controls, pair_section), .most = 1000,
	 .help = "pairs that are equal by design, which are judged too and ask for no run of "
		 "their own: that one of them is decided says that the measurement is not sound."},
	{CONFIG_NUMBER(verdict, alpha), .fallback = 0.05, CONFIG_NOT_ZERO, CONFIG_ABOVE(0, 0.5),
	 .help = "probability that any of all verdicts is wrong."},
	{CONFIG_NUMBER(verdict, equal_within), .fallback = 0.05, CONFIG_OR_ZERO, CONFIG_MOST(0, 1),
	 .help = "policies whose utilities differ by less than this part of them are equal; 0: none are."},
	{CONFIG_UINT(verdict, repeats), .fallback = CONFIG_VERDICT_REPEATS, CONFIG_NOT_ZERO,
	 CONFIG_MOST(2, 10000),
	 .help = "of a policy at a limit, at most; the full design has so many of each."},
	{NULL},
};
const struct config_section config_verdict_section = {verdict_keys, sizeof(struct config_verdict)};

/* The index of a policy in the experiment; policies_count: it is not in the experiment. */
static uint32_t find_policy(const struct config_experiment *experiment, const char *name)
{
	uint32_t i = 0;

	while (i < experiment->policies_count && !g_str_equal(experiment->policies[i], name))
		i++;
	return i;
}

/* The same for a limit. */
static uint32_t find_limit(const struct config_experiment *experiment, double limit)
{
	uint32_t i = 0;

	while (i < experiment->limits_count &&
	       fabs(experiment->limits[i] - limit) > CONFIG_LIMITS_DIFFER)
		i++;
	return i;
}

/* Notes the pair at one limit in `seen`; false: it is there already. */
static bool note_pair(GHashTable *seen, const struct config_experiment *experiment,
		      const struct config_verdict_pair *pair, uint32_t limit)
{
	const uint32_t a = find_policy(experiment, pair->policies[0]);
	const uint32_t b = find_policy(experiment, pair->policies[1]);

	return g_hash_table_add(seen, g_strdup_printf("%u %u %u", MIN(a, b), MAX(a, b), limit));
}

/* `path` is that of the pair: "verdict.pairs[0]". */
static char *check_pair(const struct config_experiment *experiment,
			const struct config_verdict_pair *pair, const char *path, GHashTable *seen)
{
	for (uint32_t i = 0; i < pair->policies_count; i++)
		if (find_policy(experiment, pair->policies[i]) == experiment->policies_count)
			return g_strdup_printf(
				"%s.policies[%u]: '%s' is none of experiment.policies", path, i,
				pair->policies[i]);
	for (uint32_t i = 0; i < pair->limits_count; i++)
		if (find_limit(experiment, pair->limits[i]) == experiment->limits_count)
			return g_strdup_printf("%s.limits[%u]: %g is none of experiment.limits",
					       path, i, pair->limits[i]);
	for (uint32_t limit = 0; limit < experiment->limits_count; limit++) {
		bool asked = pair->limits_count == 0;

		for (uint32_t i = 0; i < pair->limits_count; i++)
			asked = asked || find_limit(experiment, pair->limits[i]) == limit;
		if (asked && !note_pair(seen, experiment, pair, limit))
			return g_strdup_printf(
				"%s: '%s' and '%s' at %g are a pair already; name each pair once",
				path, pair->policies[0], pair->policies[1],
				experiment->limits[limit]);
	}
	return NULL;
}

char *config_verdict_check(const struct config *config)
{
	const struct config_verdict *verdict = config_verdict(config);
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	char *wrong = NULL;

	if (verdict->controls_count > 0 && verdict->pairs_count == 0)
		return g_strdup(
			"verdict.pairs: none beside the controls; name those that are to be "
			"decided");
	for (uint32_t i = 0; !wrong && i < verdict->pairs_count + verdict->controls_count; i++) {
		const bool control = i >= verdict->pairs_count;
		const uint32_t k = control ? i - verdict->pairs_count : i;
		g_autofree char *path =
			g_strdup_printf("verdict.%s[%u]", control ? "controls" : "pairs", k);

		wrong = check_pair(config->experiment,
				   control ? &verdict->controls[k] : &verdict->pairs[k], path,
				   seen);
	}
	return wrong;
}
