/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/measure/run_profile_results.h"

#include <math.h>

#include "common/json.h"
#include "controller/config/config_measured.h"
#include "controller/measure/run_estimate.h"
#include "controller/measure/run_pet.h"
#include "controller/session/run_session_private.h"

static json_t *measurements_json(const struct run_session *session, const GArray *measurements)
{
	const struct config *config = session->config;
	json_t *list = json_array();

	for (guint i = 0; i < measurements->len; i++) {
		const struct run_measurement *one =
			&g_array_index(measurements, struct run_measurement, i);

		json_array_append_new(list, json_pack("{s:s, s:s, s:f, s:o}", "type",
						      config->types[one->type].name, "cluster",
						      config->clusters[one->cluster].name, "exec_s",
						      one->exec_s, "energy_j",
						      json_number_or_null(one->energy_j)));
	}
	return list;
}

/* The pairs that were given up, by type, then cluster; texts are borrowed. */
static GArray *list_unmeasured(const struct run_profiled *profiled)
{
	const struct config *config = profiled->session->config;
	GArray *list = g_array_new(FALSE, FALSE, sizeof(struct config_unmeasured));

	for (uint32_t i = 0; i < config->types_count * config->clusters_count; i++) {
		const struct config_unmeasured one = {
			.type = config->types[i / config->clusters_count].name,
			.cluster = config->clusters[i % config->clusters_count].name,
			.reason = profiled->holes[i],
		};

		if (one.reason)
			g_array_append_val(list, one);
	}
	return list;
}

static bool write_json(const struct run_session *session, const struct run_profile_results *results,
		       const struct config_measured *measured, GError **error)
{
	const struct run_profiled *profiled = &results->profiled;
	g_autofree char *path = g_build_filename(session->dir, "profile.json", NULL);
	g_autofree char *text = NULL;
	json_t *unmeasured = json_array();
	g_autoptr(json_t) document =
		json_pack("{s:o, s:o, s:o, s:o, s:O*}", "measurements",
			  measurements_json(session, profiled->measurements), "unmeasured",
			  unmeasured, "host_load",
			  json_number_or_null(run_profiled_host_load(profiled)), "idle_w",
			  json_number_or_null(run_profiled_idle_w(profiled)), "overheads",
			  results->overheads.list);

	for (uint32_t i = 0; i < measured->unmeasured_count; i++)
		json_array_append_new(unmeasured, record_to_json(&config_unmeasured_record,
								 &measured->unmeasured[i]));
	text = json_pretty(document);
	return g_file_set_contents(path, text, -1, error);
}

static bool record_load(struct run_session *session, double load, GError **error)
{
	char text[G_ASCII_DTOSTR_BUF_SIZE];

	g_ascii_dtostr(text, sizeof(text), load);
	return store_set_meta(session->store, "profile_host_load", isnan(load) ? NULL : text,
			      error);
}

bool run_profile_save(struct run_session *session, const struct run_profile_results *results,
		      GError **error)
{
	g_autofree char *path = g_build_filename(session->dir, "estimates.yaml", NULL);
	g_autoptr(GArray) unmeasured = list_unmeasured(&results->profiled);
	const GArray *samples = results->overheads.samples;
	const struct config_measured measured = {
		.estimates = results->estimates,
		.estimates_count = results->estimates_count,
		.overheads = samples ? (struct config_overhead *)(void *)samples->data : NULL,
		.overheads_count = samples ? samples->len : 0,
		.unmeasured = (struct config_unmeasured *)(void *)unmeasured->data,
		.unmeasured_count = unmeasured->len,
	};

	return write_json(session, results, &measured, error) &&
	       record_load(session, run_profiled_host_load(&results->profiled), error) &&
	       run_pet_save(session->config, results->counting, session->dir, error) &&
	       config_save_measured(&measured, path, error);
}
