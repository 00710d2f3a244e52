/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/run/run_profile_results.h"

#include <math.h>

#include "common/json.h"
#include "controller/run/run_estimate.h"
#include "controller/run/run_pet.h"

static json_t *measurements_json(const struct run_session *session, const GArray *measurements)
{
	const struct config *config = session->config;
	json_t *list = json_array();

	for (guint i = 0; i < measurements->len; i++) {
		const struct run_measurement *one =
			&g_array_index(measurements, struct run_measurement, i);

		json_array_append_new(
			list, json_pack("{s:s, s:s, s:f, s:o}", "type",
					config->types[one->type].name, "cluster",
					config->clusters[one->cluster].name, "exec_s", one->exec_s,
					"energy_j", json_number_or_null(one->energy_j)));
	}
	return list;
}

static json_t *unmeasured_json(const struct run_session *session, const GPtrArray *holes)
{
	const struct config *config = session->config;
	json_t *list = json_array();

	for (guint i = 0; i < holes->len; i++) {
		const struct run_hole *hole = holes->pdata[i];

		json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "type",
						      config->types[hole->type].name, "cluster",
						      config->clusters[hole->cluster].name,
						      "reason", hole->reason));
	}
	return list;
}

static bool write_json(const struct run_session *session, const struct run_profile_results *results,
		       GError **error)
{
	const struct run_profiled *profiled = results->profiled;
	g_autofree char *path = g_build_filename(session->dir, "profile.json", NULL);
	g_autofree char *text = NULL;
	g_autoptr(json_t) document = json_pack(
		"{s:o, s:o, s:o, s:o, s:O*}", "measurements",
		measurements_json(session, profiled->measurements), "unmeasured",
		unmeasured_json(session, profiled->holes), "host_load",
		json_number_or_null(run_profiled_host_load(profiled)), "idle_w",
		json_number_or_null(run_profiled_idle_w(profiled)), "overheads",
		results->overheads->list);

	text = json_pretty(document);
	return g_file_set_contents(path, text, -1, error);
}

static bool write_estimates(const struct run_session *session,
			    const struct run_profile_results *results, GError **error)
{
	g_autofree char *path = g_build_filename(session->dir, "estimates.yaml", NULL);
	const GArray *samples = results->overheads->samples;
	const GPtrArray *holes = results->profiled->holes;
	g_autofree struct config_unmeasured *unmeasured =
		g_new0(struct config_unmeasured, MAX(holes->len, 1));
	const struct config_measured measured = {
		.estimates = (struct config_estimate *)results->estimates,
		.estimates_count = results->estimates_count,
		.overheads = samples ? (struct config_overhead *)(void *)samples->data : NULL,
		.overheads_count = samples ? samples->len : 0,
		.unmeasured = unmeasured,
		.unmeasured_count = holes->len,
	};

	for (guint i = 0; i < holes->len; i++) {
		const struct run_hole *hole = holes->pdata[i];

		unmeasured[i] = (struct config_unmeasured){
			.type = session->config->types[hole->type].name,
			.cluster = session->config->clusters[hole->cluster].name,
			.reason = hole->reason,
		};
	}
	return config_save_measured(&measured, path, error);
}

static bool write_pet(const struct run_session *session, const GArray *measurements,
		      GError **error)
{
	g_autofree char *path = g_build_filename(session->dir, "pet.yaml", NULL);

	return run_pet_save(session->config, measurements, path, error);
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
	return write_json(session, results, error) &&
	       record_load(session, run_profiled_host_load(results->profiled), error) &&
	       write_pet(session, results->counting, error) &&
	       write_estimates(session, results, error);
}
