/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/backend/remote_fleet.h"

#include <math.h>

#include "common/clock.h"
#include "common/loop.h"
#include "common/error_fail.h"

#define WAKE_MS 50
#define BASELINE_INTERVALS 3.5
/*
 * A meter without two samples in so many intervals is broken; a busy machine delays them for less.
 */
#define BASELINE_SILENCE_INTERVALS 30.0
#define BOOT_TIMEOUT_MAX_S 86400.0

G_DEFINE_QUARK(virtbed_remote, remote_error)

struct remote_fleet {
	const struct platform *platform;
	const struct config *config;
	struct remote_link **links; /* one per cluster */
	GPtrArray *meters;          /* of all links; not owned */
	char *stopped;
};

void remote_baseline_clear(struct remote_baseline *baseline)
{
	g_clear_pointer(&baseline->idle_w, g_free);
	baseline->count = 0;
}

struct remote_fleet *remote_fleet_new(const struct platform *platform, const struct config *config,
				      const char *const *addresses, GError **error)
{
	struct remote_fleet *fleet = g_new0(struct remote_fleet, 1);
	g_autoptr(GError) reason = NULL;

	fleet->platform = platform;
	fleet->config = config;
	fleet->links = g_new0(struct remote_link *, config->clusters_count);
	fleet->meters = g_ptr_array_new();
	for (uint32_t i = 0; i < config->clusters_count; i++) {
		struct remote_link *link = remote_link_new(platform, &config->clusters[i], i,
							   addresses[i], config->tls, &reason);

		if (!link) {
			g_set_error(error, REMOTE_ERROR, REMOTE_ERROR_ADDRESS,
				    "local scheduler of cluster '%s': %s", config->clusters[i].name,
				    reason->message);
			remote_fleet_free(fleet);
			return NULL;
		}
		fleet->links[i] = link;
		g_ptr_array_extend(fleet->meters, remote_link_meters(link), NULL, NULL);
	}
	return fleet;
}

const struct platform *remote_fleet_platform(const struct remote_fleet *fleet)
{
	return fleet->platform;
}

void remote_fleet_free(struct remote_fleet *fleet)
{
	if (!fleet)
		return;
	for (uint32_t i = 0; i < fleet->config->clusters_count; i++)
		remote_link_free(fleet->links[i]);
	g_free(fleet->links);
	g_ptr_array_unref(fleet->meters);
	g_free(fleet->stopped);
	g_free(fleet);
}

const struct config *remote_fleet_config(const struct remote_fleet *fleet)
{
	return fleet->config;
}

struct remote_link *remote_fleet_link(const struct remote_fleet *fleet, uint32_t cluster)
{
	return fleet->links[cluster];
}

GPtrArray *remote_fleet_meters(const struct remote_fleet *fleet)
{
	return fleet->meters;
}

void remote_fleet_listen(struct remote_fleet *fleet, const struct remote_listener *listener)
{
	for (uint32_t i = 0; i < fleet->config->clusters_count; i++)
		remote_link_listen(fleet->links[i], listener);
}

void remote_fleet_stop(struct remote_fleet *fleet, const char *reason)
{
	if (fleet->stopped)
		return;
	fleet->stopped = g_strdup(reason);
	g_main_context_wakeup(NULL);
}

const char *remote_fleet_stopped(const struct remote_fleet *fleet)
{
	return fleet->stopped;
}

/* A condition that remote_fleet_until() waits for. */
struct awaited {
	const struct remote_fleet *fleet;
	bool (*done)(void *data);
	void *data;
	bool heed_stop;
	bool is_done;
};

static bool is_done_or_stopped(void *data)
{
	struct awaited *awaited = data;

	awaited->is_done = awaited->done(awaited->data);
	return awaited->is_done || (awaited->heed_stop && awaited->fleet->stopped);
}

bool remote_fleet_until(struct remote_fleet *fleet, bool (*done)(void *data), void *data,
			double timeout_s, bool heed_stop)
{
	struct awaited awaited = {fleet, done, data, heed_stop, false};

	loop_until(fleet->platform, is_done_or_stopped, &awaited,
		   platform_now_ns(fleet->platform) + (int64_t)(timeout_s * 1e9), WAKE_MS);
	return awaited.is_done;
}

static bool refuse_stopped(const struct remote_fleet *fleet, GError **error)
{
	if (!fleet->stopped)
		return false;
	g_set_error(error, REMOTE_ERROR, REMOTE_ERROR_STOPPED, "%s", fleet->stopped);
	return true;
}

char *remote_fleet_missing(const struct remote_fleet *fleet)
{
	char *why;

	for (uint32_t i = 0; i < fleet->config->clusters_count; i++)
		if (!remote_link_ready(fleet->links[i], &why))
			return why;
	return NULL;
}

/* Progress of remote_fleet_wait_ready(). */
struct readiness {
	const struct remote_fleet *fleet;
	bool ready;
	/* the fewest so far, so that nodes that go down and up do not prolong the wait */
	uint64_t unready;
};

static bool got_further(void *data)
{
	struct readiness *readiness = data;
	const struct remote_fleet *fleet = readiness->fleet;
	g_autofree char *missing = remote_fleet_missing(fleet);
	uint64_t unready = 0;

	for (uint32_t i = 0; i < fleet->config->clusters_count; i++)
		unready += remote_link_unready(fleet->links[i]);
	readiness->ready = !missing;
	if (!readiness->ready && unready >= readiness->unready)
		return false;
	readiness->unready = unready;
	return true;
}

double remote_fleet_boot_timeout_s(const struct remote_fleet *fleet)
{
	double longest_s = 0;

	for (uint32_t i = 0; i < fleet->config->clusters_count; i++) {
		const json_t *capabilities = remote_link_capabilities(fleet->links[i]);

		longest_s =
			fmax(longest_s,
			     json_number_value(json_object_get(capabilities, "boot_timeout_s")));
	}
	return fmin(longest_s, BOOT_TIMEOUT_MAX_S);
}

bool remote_fleet_wait_ready(struct remote_fleet *fleet, double timeout_s, GError **error)
{
	struct readiness readiness = {.fleet = fleet, .unready = UINT64_MAX};
	g_autofree char *missing = NULL;

	for (uint32_t i = 0; i < fleet->config->clusters_count; i++)
		remote_link_refresh(fleet->links[i]);
	while (!readiness.ready &&
	       remote_fleet_until(fleet, got_further, &readiness, timeout_s, true))
		;
	for (uint32_t i = 0; i < fleet->config->clusters_count; i++)
		remote_link_unwait(fleet->links[i]);
	if (readiness.ready)
		return true;
	if (refuse_stopped(fleet, error))
		return false;
	missing = remote_fleet_missing(fleet);
	return error_fail(
		error, REMOTE_ERROR, REMOTE_ERROR_NOT_READY,
		"no further node got ready for %.0f s: %s; look into the logs of the local schedulers",
		timeout_s, missing ?: "nodes");
}

static bool has_node(const struct remote_link *link)
{
	for (uint32_t i = 0; i < remote_link_cluster(link)->nodes; i++)
		if (remote_link_node_up(link, i))
			return true;
	return false;
}

bool remote_fleet_excuse_unready(struct remote_fleet *fleet)
{
	bool any = false;

	for (uint32_t i = 0; i < fleet->config->clusters_count; i++) {
		g_autofree char *why = NULL;

		any = any || has_node(fleet->links[i]);
		remote_link_excuse(fleet->links[i], !remote_link_ready(fleet->links[i], &why));
	}
	return any;
}

static bool is_known(void *data)
{
	struct remote_fleet *fleet = data;

	for (uint32_t i = 0; i < fleet->config->clusters_count; i++)
		if (!remote_link_known(fleet->links[i]))
			return false;
	return true;
}

/* Why the first link that is not known is not (the caller frees). */
static char *unknown_why(const struct remote_fleet *fleet)
{
	char *why;

	for (uint32_t i = 0; i < fleet->config->clusters_count; i++)
		if (!remote_link_known(fleet->links[i]) &&
		    !remote_link_ready(fleet->links[i], &why))
			return why;
	return NULL;
}

bool remote_fleet_wait_known(struct remote_fleet *fleet, double timeout_s, GError **error)
{
	g_autofree char *unknown = NULL;

	if (remote_fleet_until(fleet, is_known, fleet, timeout_s, true))
		return true;
	if (refuse_stopped(fleet, error))
		return false;
	unknown = unknown_why(fleet);
	return error_fail(error, REMOTE_ERROR, REMOTE_ERROR_NOT_READY,
			  "not every local scheduler has answered after %.0f s: %s; look "
			  "into their logs",
			  timeout_s, unknown ?: "nodes");
}

bool remote_fleet_wait_heard(struct remote_fleet *fleet, double timeout_s, GError **error)
{
	remote_fleet_until(fleet, is_known, fleet, timeout_s, true);
	return !refuse_stopped(fleet, error);
}

static bool never(void *data)
{
	return false;
}

bool remote_fleet_wait(struct remote_fleet *fleet, double duration_s, GError **error)
{
	remote_fleet_until(fleet, never, NULL, duration_s, true);
	return !refuse_stopped(fleet, error);
}

struct covered {
	const struct platform *platform;
	GPtrArray *meters;
	int64_t t_ns;
};

static bool is_covered(void *data)
{
	struct covered *covered = data;

	return remote_meters_covered_ns(covered->meters, platform_now_ns(covered->platform)) >=
	       covered->t_ns;
}

bool remote_fleet_wait_covered(struct remote_fleet *fleet, int64_t t_ns, double timeout_s)
{
	struct covered covered = {.platform = fleet->platform,
				  .meters = fleet->meters,
				  .t_ns = t_ns};

	return remote_fleet_until(fleet, is_covered, &covered, timeout_s, true);
}

static double longest_interval_s(const struct remote_fleet *fleet)
{
	double longest_s = 0;

	for (guint i = 0; i < fleet->meters->len; i++) {
		const struct remote_meter *meter = g_ptr_array_index(fleet->meters, i);

		longest_s = MAX(longest_s, meter->interval_s);
	}
	return longest_s;
}

struct baseline_wait {
	const struct platform *platform;
	GPtrArray *meters;
	int64_t from_ns;
};

static bool has_samples(void *data)
{
	const struct baseline_wait *wait = data;
	double mean_w;

	for (guint i = 0; i < wait->meters->len; i++)
		if (!remote_meter_mean_w(g_ptr_array_index(wait->meters, i), wait->from_ns,
					 platform_now_ns(wait->platform), &mean_w))
			return false;
	return true;
}

static bool read_baseline(struct remote_fleet *fleet, int64_t from_ns, int64_t to_ns,
			  struct remote_baseline *baseline, GError **error)
{
	for (guint i = 0; i < fleet->meters->len; i++) {
		const struct remote_meter *meter = g_ptr_array_index(fleet->meters, i);

		if (!remote_meter_mean_w(meter, from_ns, to_ns, &baseline->idle_w[i]))
			return error_fail(error, REMOTE_ERROR, REMOTE_ERROR_METER,
					  "idle baseline: the meter of host '%s' gave no two "
					  "samples within %.1f s; check the meter",
					  meter->host, clock_elapsed_s(from_ns, to_ns));
		baseline->sum_w += baseline->idle_w[i];
	}
	return true;
}

bool remote_fleet_baseline(struct remote_fleet *fleet, double duration_s,
			   struct remote_baseline *ret_baseline, GError **error)
{
	double least_s = BASELINE_INTERVALS * longest_interval_s(fleet);
	double silence_s = BASELINE_SILENCE_INTERVALS * longest_interval_s(fleet);
	struct remote_baseline baseline = {.count = fleet->meters->len};
	int64_t from_ns = platform_now_ns(fleet->platform);
	struct baseline_wait wait = {.platform = fleet->platform,
				     .meters = fleet->meters,
				     .from_ns = from_ns};
	int64_t to_ns;

	baseline.duration_s = MAX(duration_s, least_s);
	if (!remote_fleet_wait(fleet, baseline.duration_s, error))
		return false;
	to_ns = platform_now_ns(fleet->platform);
	remote_fleet_wait_covered(fleet, to_ns, least_s);
	remote_fleet_until(fleet, has_samples, &wait, config_patience(fleet->config, silence_s),
			   true);
	if (refuse_stopped(fleet, error))
		return false;
	baseline.idle_w = g_new0(double, MAX(baseline.count, 1));
	if (!read_baseline(fleet, from_ns, platform_now_ns(fleet->platform), &baseline, error)) {
		remote_baseline_clear(&baseline);
		return false;
	}
	*ret_baseline = baseline;
	return true;
}

/* Leftovers of a crash. */

uint32_t remote_fleet_kill_listed(struct remote_link *link, const json_t *body,
				  bool (*wanted)(const char *id, void *data), void *data)
{
	const json_t *tasks = json_object_get(body, "tasks");
	uint32_t count = 0;

	for (size_t i = 0; i < json_array_size(tasks); i++) {
		json_t *task = json_array_get(tasks, i);
		const char *id = json_string_value(json_object_get(task, "id"));
		const char *state = json_string_value(json_object_get(task, "state"));
		g_autofree char *path = NULL;

		if (!id || !g_strcmp0(state, "ended") || (wanted && !wanted(id, data)))
			continue;
		path = g_strdup_printf("/v1/tasks/%s", id);
		remote_link_send(link, "DELETE", path, NULL, NULL, NULL);
		count++;
	}
	return count;
}

static void kill_listed(int status, json_t *body, const GError *error, void *data)
{
	remote_fleet_kill_listed(data, body, NULL, NULL);
}

void remote_fleet_kill_all(struct remote_fleet *fleet)
{
	for (uint32_t i = 0; i < fleet->config->clusters_count; i++)
		remote_link_send(fleet->links[i], "GET", "/v1/tasks", NULL, kill_listed,
				 fleet->links[i]);
}
