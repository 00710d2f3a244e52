/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Pairs of type and cluster without an estimate: which there are, and whether an experiment can do
 * without.
 */
#include "controller/config/config_holes.h"

#include "controller/config/config_environment.h"

static const char *reason_of(const struct config *config, const struct config_type *type,
			     const struct config_cluster *cluster)
{
	const struct config_unmeasured *entry =
		config_unmeasured(config, type->name, cluster->name);

	return entry ? entry->reason : "not measured";
}

char *config_holes(const struct config *config, bool reasons)
{
	GString *text = g_string_new(NULL);

	for (uint32_t t = 0; t < config->types_count; t++) {
		for (uint32_t c = 0; c < config->clusters_count; c++) {
			const struct config_type *type = &config->types[t];
			const struct config_cluster *cluster = &config->clusters[c];

			if (!config_is_hole(config, type, cluster) ||
			    (config->estimates_count == 0 && config->unmeasured_count == 0))
				continue;
			g_string_append_printf(text,
					       "%s'%s' on "
					       "'%s'",
					       text->len ? "\n" : "", type->name, cluster->name);
			if (reasons)
				g_string_append_printf(text, ": %s",
						       reason_of(config, type, cluster));
		}
	}
	return g_string_free(text, text->len == 0);
}

/* The clusters where a type has no estimate, with the reasons; NULL: it has one somewhere. */
static char *nowhere(const struct config *config, const struct config_type *type)
{
	g_autoptr(GString) text = g_string_new(NULL);
	double etc_s, eec_j;

	for (uint32_t c = 0; c < config->clusters_count; c++) {
		const struct config_cluster *cluster = &config->clusters[c];

		if (!config_type_fits(type, cluster))
			continue;
		if (config_expectation(config, type, cluster, &etc_s, &eec_j))
			return NULL;
		g_string_append_printf(text, "%son '%s': %s", text->len ? "; " : "", cluster->name,
				       reason_of(config, type, cluster));
	}
	return g_string_free(g_steal_pointer(&text), FALSE);
}

char *config_lacks(const struct config *config)
{
	const bool all = config_environment(config) && config_environment(config)->pruning;

	for (uint32_t t = 0; t < config->types_count; t++) {
		const struct config_type *type = &config->types[t];
		g_autofree char *why = type->share > 0 ? nowhere(config, type) : NULL;

		if (why)
			return g_strdup_printf(
				"type '%s' (share %g) has no estimate on any cluster (%s)",
				type->name, type->share, why);
	}
	if (all && config->unmeasured_count > 0)
		return g_strdup_printf(
			"tasks with deadlines need the execution times of every type on "
			"every cluster, and type '%s' has none on cluster '%s' (%s)",
			config->unmeasured[0].type, config->unmeasured[0].cluster,
			config->unmeasured[0].reason);
	return NULL;
}
