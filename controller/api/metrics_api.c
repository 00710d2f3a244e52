/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/api/metrics_api.h"

#include <inttypes.h>
#include <math.h>

#include "common/clock.h"
#include "common/platform.h"
#include "common/version/build_version.h"
#include "controller/api/fleet_api.h"
#include "controller/api/metrics_text.h"
#include "controller/api/status_api_private.h"
#include "controller/engine/engine.h"
#include "controller/run/run_usage.h"
#include "controller/service/run_service.h"

#define MIB 1048576.0

static void add_one(GString *text, const char *name, const char *type, const char *help,
		    double value)
{
	metrics_text_family(text, name, type, help);
	metrics_text_sample(text, name, value, NULL);
}

static void add_build(GString *text)
{
	const char *name = "virtbed_build_info";

	metrics_text_family(text, name, "gauge", "Version of the controller; always 1.");
	metrics_text_sample(text, name, 1, "version", build_version(), NULL);
}

/* The state of the controller, and the numbers of the present run. */
static void add_run(GString *text, const struct run_session *session)
{
	const struct run_progress *progress = view_progress(session);
	const char *phase = "virtbed_phase";
	g_autofree char *run = g_strdup_printf("%" PRId64, view_run(session));

	metrics_text_family(text, phase, "gauge",
			    "What the controller is doing: 1 for that phase.");
	for (int i = RUN_PHASE_STARTING; i <= RUN_PHASE_FAILED; i++)
		metrics_text_sample(text, phase, progress->phase == (enum run_phase)i, "phase",
				    run_phase_name((enum run_phase)i), NULL);
	if (!view_under_way(session))
		return;
	metrics_text_family(text, "virtbed_run_info", "gauge", "The run under way; always 1.");
	metrics_text_sample(text, "virtbed_run_info", 1, "run", run, "policy",
			    progress->policy ?: "", NULL);
	add_one(text, "virtbed_run_elapsed_seconds", "gauge", "Time since the start of the run.",
		progress->time_s);
	add_one(text, "virtbed_run_utility", "gauge", "Utility that the run has earned.",
		progress->utility);
	add_one(text, "virtbed_run_energy_joules", "gauge",
		"Energy of the run above the idle baseline of its hosts.", progress->energy_j);
	add_one(text, "virtbed_run_energy_limit_joules", "gauge", "Where the run ends.",
		progress->limit_j > 0 ? progress->limit_j : (double)NAN);
}

static void add_tasks(GString *text, const struct run_session *session)
{
	uint32_t counts[ENGINE_TASK_STATES] = {0};

	if (!view_under_way(session))
		return;
	for (uint32_t i = 0; i < view_tasks_count(session); i++) {
		const struct engine_task *task = view_task(session, i);

		if (task)
			counts[task->state]++;
	}
	metrics_text_family(text, "virtbed_tasks", "gauge", "Tasks of the run under way by state.");
	for (int i = ENGINE_TASK_WAITING; i < ENGINE_TASK_STATES; i++)
		metrics_text_sample(text, "virtbed_tasks", counts[i], "state",
				    engine_task_state_name((enum engine_task_state)i), NULL);
}

/* The duration of mapping events; counts of a histogram are cumulative. */
static void add_mapping(GString *text, const struct engine_result *counts)
{
	const char *name = "virtbed_mapping_seconds";
	uint64_t sum = 0;

	metrics_text_family(
		text, name, "histogram",
		"Time from the snapshots of these events until their plans were carried out.");
	for (int i = 0; i <= ENGINE_MAPPING_BOUNDS; i++) {
		char bound[G_ASCII_DTOSTR_BUF_SIZE] = "+Inf";

		sum += counts->mapping_counts[i];
		if (i < ENGINE_MAPPING_BOUNDS)
			g_ascii_formatd(bound, sizeof(bound), "%g", engine_mapping_bounds_s[i]);
		metrics_text_sample(text, "virtbed_mapping_seconds_bucket", (double)sum, "le",
				    bound, NULL);
	}
	metrics_text_sample(text, "virtbed_mapping_seconds_sum", counts->mapping_s, NULL);
	metrics_text_sample(text, "virtbed_mapping_seconds_count", (double)sum, NULL);
}

static void add_decisions(GString *text, const struct run_session *session)
{
	const struct engine_result *counts = view_counts(session);

	if (!counts)
		return;
	add_one(text, "virtbed_decisions_total", "counter",
		"Mapping events of the run under way with a task to map.",
		(double)counts->decisions);
	add_one(text, "virtbed_decide_seconds_total", "counter",
		"Processor time that the policy took for them.", counts->decide_s);
	add_one(text, "virtbed_fallback_decisions_total", "counter",
		"Of these events, those in which the fallback of a policy from outside decided.",
		(double)counts->fallbacks);
	add_one(text, "virtbed_impossible_events_total", "counter",
		"Events that are impossible in the present state of their task or window: defects.",
		(double)counts->impossible_events);
	add_mapping(text, counts);
	add_one(text, "virtbed_mapping_longest_seconds", "gauge", "The longest of them.",
		counts->mapping_longest_s);
}

/* A service's present energy window. */
static void add_window(GString *text, const struct run_session *session)
{
	struct run_service_limit limit;

	if (!run_service_limit(session, &limit))
		return;
	g_free(limit.end_utc);
	add_one(text, "virtbed_window_limit_joules", "gauge",
		"Energy above idle that may be used in every window.", limit.window.limit_j);
	add_one(text, "virtbed_window_used_joules", "gauge", "Energy used in the window under way.",
		limit.window.spent_j);
	add_one(text, "virtbed_window_committed_joules", "gauge",
		"Energy that running tasks are still to use, by their estimates.",
		limit.window.committed_j);
	add_one(text, "virtbed_window_forecast_joules", "gauge",
		"Energy used when the window ends, if the running tasks proceed as estimated.",
		limit.window.forecast_j);
	add_one(text, "virtbed_window_left_seconds", "gauge", "Time until the next window.",
		limit.window.end_s - run_session_now_s(session));
	add_one(text, "virtbed_window_exhausted", "gauge",
		"Whether the limit is used up and what ran is suspended.", limit.window.exhausted);
	add_one(text, "virtbed_window_refused_tasks", "gauge",
		"Tasks that were refused in the window for want of energy.", limit.window.refusals);
}

static void add_fleet(GString *text, const struct run_session *session)
{
	const struct config *config = view_config(session);

	metrics_text_family(text, "virtbed_cluster_up", "gauge",
			    "Whether the cluster's local scheduler answers.");
	for (uint32_t i = 0; i < config->clusters_count; i++)
		metrics_text_sample(text, "virtbed_cluster_up", !view_away(session, i), "cluster",
				    config->clusters[i].name, NULL);
	metrics_text_family(text, "virtbed_nodes", "gauge", "Nodes by cluster and state.");
	for (uint32_t i = 0; i < config->clusters_count; i++) {
		uint32_t counts[VIEW_NODE_STATES];

		fleet_count_nodes(session, i, counts);
		for (int k = 0; k < VIEW_NODE_STATES; k++)
			metrics_text_sample(text, "virtbed_nodes", counts[k], "cluster",
					    config->clusters[i].name, "state",
					    view_node_state_name((enum view_node_state)k), NULL);
	}
}

/* The families of a host's meter. */
static double meter_energy_j(const struct remote_meter *meter, int64_t now_ns)
{
	const struct wire_sample *last = remote_meter_last(meter);

	return last ? (double)last->energy_uj * 1e-6 : (double)NAN;
}

static double meter_watts(const struct remote_meter *meter, int64_t now_ns)
{
	const struct wire_sample *last = remote_meter_last(meter);

	return last ? (double)last->mw * 1e-3 : (double)NAN;
}

static double meter_idle_w(const struct remote_meter *meter, int64_t now_ns)
{
	return meter->start_ns ? meter->idle_w : (double)NAN;
}

static double meter_gap_s(const struct remote_meter *meter, int64_t now_ns)
{
	return meter->gap_s;
}

static double meter_age_s(const struct remote_meter *meter, int64_t now_ns)
{
	const struct wire_sample *last = remote_meter_last(meter);

	return last ? clock_elapsed_s(last->t_ns, now_ns) : (double)NAN;
}

static const struct {
	const char *name;
	const char *type;
	const char *help;
	double (*value)(const struct remote_meter *meter, int64_t now_ns);
} meter_families[] = {
	{"virtbed_host_energy_joules_total", "counter",
	 "Energy of the host by its meter, estimated gaps included.", meter_energy_j},
	{"virtbed_host_power_watts", "gauge", "Power of the host at its meter's last sample.",
	 meter_watts},
	{"virtbed_host_idle_watts", "gauge", "Measured power of the host when it is idle.",
	 meter_idle_w},
	{"virtbed_host_meter_gap_seconds_total", "counter",
	 "Time over which the host's energy was estimated for want of samples.", meter_gap_s},
	{"virtbed_host_sample_age_seconds", "gauge", "Age of the meter's last sample.",
	 meter_age_s},
};

/* The label `modelled`: the source of a cluster's watts. */
static const char *modelled(const struct run_session *session, uint32_t cluster)
{
	const char *from = fleet_watts_from(session, cluster);

	if (g_strcmp0(from, "simulation") == 0)
		return "simulated";
	return g_strcmp0(from, "model") == 0 ? "true" : "false";
}

static void add_meters(GString *text, const struct run_session *session)
{
	const struct config *config = view_config(session);
	const int64_t now_ns = platform_now_ns(view_platform(session));

	for (gsize i = 0; i < G_N_ELEMENTS(meter_families); i++) {
		metrics_text_family(text, meter_families[i].name, meter_families[i].type,
				    meter_families[i].help);
		for (uint32_t k = 0; k < config->clusters_count; k++) {
			GPtrArray *meters = remote_link_meters(view_link(session, k));

			for (guint m = 0; m < meters->len; m++) {
				const struct remote_meter *meter = g_ptr_array_index(meters, m);

				metrics_text_sample(text, meter_families[i].name,
						    meter_families[i].value(meter, now_ns),
						    "cluster", config->clusters[k].name, "host",
						    meter->host, "modelled", modelled(session, k),
						    NULL);
			}
		}
	}
}

static void add_process(GString *text, const struct run_session *session)
{
	const struct run_usage usage = run_usage_own();

	add_one(text, "virtbed_events_total", "counter", "Events in the store.",
		(double)store_last_event(view_store(session)));
	add_one(text, "process_cpu_seconds_total", "counter", "Processor time of the controller.",
		usage.cpu_s);
	add_one(text, "process_resident_memory_bytes", "gauge",
		"Largest resident memory of the controller so far.", usage.rss_mib * MIB);
}

void metrics_api_get(struct http_request *request, const char *const *arguments, json_t *body,
		     void *data)
{
	const struct run_session *session = api_session(data);
	GString *text = g_string_new(NULL);
	g_autoptr(GBytes) bytes = NULL;

	add_build(text);
	add_run(text, session);
	add_tasks(text, session);
	add_decisions(text, session);
	add_window(text, session);
	add_fleet(text, session);
	add_meters(text, session);
	add_process(text, session);
	bytes = g_string_free_to_bytes(text);
	http_request_reply_bytes(request, 200, "text/plain; version=0.0.4; charset=utf-8", bytes);
}
