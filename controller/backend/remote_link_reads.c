/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is polled regularly: power samples, usage and the states of nodes. */
#include <inttypes.h>

#include "common/clock.h"
#include "common/http_client.h"
#include "common/json.h"
#include "controller/backend/remote_link_private.h"

#define REQUEST_TIMEOUT_S 10.0

/* Samples. */

/*
 * Converts the time to our clock. A sample in the future is skipped, with one note per peer, since
 * such errors repeat.
 */
static bool convert_time(struct remote_link *link, struct wire_sample *sample)
{
	const int64_t now_ns = platform_now_ns(link->platform);
	const int64_t ours_ns =
		remote_clock_ours_ns(&link->clock, MIN(sample->t_ns, WIRE_CLOCK_MAX_NS));

	sample->t_ns = ours_ns;
	if (ours_ns <= now_ns + REMOTE_CLOCK_AHEAD_MAX_NS)
		return true;
	if (!link->sample_skipped)
		remote_link_note(
			link, "sample-skipped",
			"local scheduler of cluster '%s' reports samples in the future, which "
			"are left out: number %" PRId64 " is %.0f s from now",
			link->cluster->name, sample->seq,
			((double)ours_ns - (double)now_ns) * 1e-9);
	link->sample_skipped = true;
	return false;
}

static bool read_sample(struct remote_link *link, const json_t *object, GError **error)
{
	struct wire_sample sample = {0};
	struct remote_meter *meter;

	if (!record_read(&wire_sample_record, object, &sample, 0, link->metered, error))
		return false;
	if (!convert_time(link, &sample))
		return true;
	meter = g_ptr_array_index(link->meters, sample.host);
	remote_meter_note_silence(meter, platform_now_ns(link->platform));
	if (remote_meter_add(meter, &sample) && link->listener)
		link->listener->sample(link, meter, remote_meter_last(meter), link->listener->data);
	return true;
}

static bool read_samples(struct remote_link *link, json_t *body, GError **error)
{
	json_t *samples;
	int64_t last;

	if (!json_get_integer(body, "last", "samples", 0, WIRE_SEQ_MAX, &last, error) ||
	    !json_get_array(body, "samples", "samples", &samples, error))
		return false;
	if (last < link->samples_after) {
		remote_link_forget_peer(link);
		return true;
	}
	for (size_t i = 0; i < json_array_size(samples); i++) {
		json_t *object = json_array_get(samples, i);

		if (!read_sample(link, object, error))
			return false;
		link->samples_after = json_integer_value(json_object_get(object, "seq"));
	}
	link->samples_after = json_array_size(samples) ? link->samples_after : last;
	return true;
}

static void samples_done(int status, json_t *body, const GError *error, void *data)
{
	struct remote_link *link = data;
	g_autoptr(GError) wrong = NULL;

	link->samples_pending = false;
	if (!remote_link_usable(link, body, error))
		return;
	link->samples_read_ns = link->samples_asked_ns;
	remote_link_settle(link, read_samples(link, body, &wrong), wrong);
}

static bool read_energy(struct remote_link *link, json_t *body, GError **error)
{
	json_t *hosts;
	int64_t least = WIRE_SEQ_MAX;

	if (!json_get_array(body, "hosts", "energy", &hosts, error))
		return false;
	for (size_t i = 0; i < json_array_size(hosts); i++) {
		int64_t seq;

		if (!json_get_integer(json_array_get(hosts, i), "sample_seq", "energy", 0,
				      WIRE_SEQ_MAX, &seq, error))
			return false;
		least = MIN(least, seq);
	}
	if (link->samples_after < 0)
		link->samples_after = json_array_size(hosts) ? MAX(least - 1, 0) : 0;
	return true;
}

static void energy_done(int status, json_t *body, const GError *error, void *data)
{
	struct remote_link *link = data;
	g_autoptr(GError) wrong = NULL;

	link->energy_pending = false;
	if (!remote_link_usable(link, body, error))
		return;
	remote_link_settle(link, read_energy(link, body, &wrong), wrong);
	if (link->samples_after >= 0)
		remote_link_poll_samples(link);
}

static void poll_energy(struct remote_link *link)
{
	if (link->energy_pending)
		return;
	link->energy_pending = true;
	http_client_request(link->client, "GET", "/v1/energy", NULL, REQUEST_TIMEOUT_S, energy_done,
			    link);
}

void remote_link_poll_samples(struct remote_link *link)
{
	g_autofree char *path = NULL;

	if (!link->meters->len)
		return;
	if (link->samples_after < 0) {
		poll_energy(link);
		return;
	}
	if (link->samples_pending)
		return;
	link->samples_pending = true;
	link->samples_asked_ns = platform_now_ns(link->platform);
	path = g_strdup_printf("/v1/samples?after=%" PRId64, link->samples_after);
	http_client_request(link->client, "GET", path, NULL, REQUEST_TIMEOUT_S, samples_done, link);
}

/* Usage. */

/* An answer with this many intervals may be incomplete (docs/reference/api.md). */
#define USAGE_ANSWER_MAX 1000

/*
 * The numbering differs from that of the request: the answer may be incomplete, so all intervals
 * are requested again.
 */
static bool is_other_stream(struct remote_link *link, const char *stream)
{
	const bool other = link->usage_after > 0 && g_strcmp0(stream, link->usage_stream) != 0;

	if (g_strcmp0(stream, link->usage_stream) != 0) {
		g_free(link->usage_stream);
		link->usage_stream = g_strdup(stream);
		link->usage_skipped = false;
	}
	if (other)
		link->usage_after = 0;
	return other;
}

/* Removes intervals of hosts that are not the cluster's; *wrong is set for the first one. */
static void drop_unknown_hosts(struct remote_link *link, GPtrArray *intervals, GError **wrong)
{
	for (guint i = 0; i < intervals->len;) {
		const struct wire_usage *usage = g_ptr_array_index(intervals, i);

		if (g_strv_contains(link->metered, usage->host)) {
			i++;
			continue;
		}
		if (!*wrong)
			g_set_error(wrong, JSON_ERROR, JSON_ERROR_KEY,
				    "usage: unknown host '%.64s'", usage->host);
		g_ptr_array_remove_index(intervals, i);
	}
}

/* One note per stream, since such errors repeat. */
static void note_skipped(struct remote_link *link, const GError *wrong)
{
	if (!link->usage_skipped)
		remote_link_note(
			link, "usage-skipped",
			"local scheduler of cluster '%s' reports impossible intervals of its hosts' "
			"energy, which stays unattributed: %s",
			link->cluster->name, wrong->message);
	link->usage_skipped = true;
}

static bool read_usage(struct remote_link *link, const json_t *body, GError **error)
{
	const char *stream;
	int64_t last;
	bool more;
	g_autoptr(GError) wrong = NULL;
	g_autoptr(GPtrArray) intervals =
		remote_usage_parse(body, &link->clock, platform_now_ns(link->platform), &stream,
				   &last, &wrong, error);

	if (!intervals)
		return false;
	if (is_other_stream(link, stream)) {
		link->usage_read_ns = 0;
		return true;
	}
	more = json_array_size(json_object_get(body, "intervals")) >= USAGE_ANSWER_MAX;
	link->usage_read_ns = more ? 0 : link->usage_asked_ns;
	link->usage_answered_ns = platform_now_ns(link->platform);
	if (last == 0)
		return true;
	link->usage_after = last;
	drop_unknown_hosts(link, intervals, &wrong);
	if (wrong)
		note_skipped(link, wrong);
	if (intervals->len && link->listener && link->listener->usage)
		link->listener->usage(link, stream, intervals, link->listener->data);
	return true;
}

static void usage_done(int status, json_t *body, const GError *error, void *data)
{
	struct remote_link *link = data;
	g_autoptr(GError) wrong = NULL;

	link->usage_pending = false;
	if (remote_link_usable(link, body, error))
		remote_link_settle(link, read_usage(link, body, &wrong), wrong);
}

void remote_link_poll_usage(struct remote_link *link)
{
	g_autofree char *path = NULL;

	if (!link->usage_wanted || link->usage_pending || !link->meters->len)
		return;
	link->usage_pending = true;
	link->usage_asked_ns = platform_now_ns(link->platform);
	path = g_strdup_printf("/v1/usage?after=%" PRId64, link->usage_after);
	http_client_request(link->client, "GET", path, NULL, REQUEST_TIMEOUT_S, usage_done, link);
}

bool remote_link_usage_complete(struct remote_link *link, int64_t since_ns)
{
	if (!link->usage_wanted || !link->meters->len || !link->identified || link->silent)
		return true;
	if (link->usage_read_ns < since_ns) {
		remote_link_poll_usage(link);
		return false;
	}
	if (link->samples_read_ns >= link->usage_answered_ns)
		return true;
	remote_link_poll_samples(link);
	return false;
}

/* Nodes. */

static bool read_node(struct remote_link *link, const json_t *object, int64_t now_ns,
		      GError **error)
{
	struct wire_node report;
	struct wire_node *node;

	if (!wire_node_read(object, link->cluster->nodes, &report, error))
		return false;
	node = &link->nodes[report.index];
	report.up = node->up;
	report.changed_ns = node->changed_ns;
	record_clear(&wire_node_record, node);
	*node = report;
	if (node->changed_ns <= now_ns)
		remote_link_set_node(link, report.index,
				     g_str_equal(report.state, "ready") ||
					     g_str_equal(report.state, "busy"),
				     now_ns, report.reason);
	return true;
}

static void nodes_done(int status, json_t *body, const GError *error, void *data)
{
	struct remote_link *link = data;
	g_autoptr(GError) wrong = NULL;
	const bool outdated = link->nodes_outdated;
	json_t *nodes;
	bool good;

	link->nodes_pending = link->nodes_outdated = false;
	if (!remote_link_usable(link, body, error))
		return;
	if (outdated) {
		remote_link_poll_nodes(link);
		return;
	}
	good = json_get_array(body, "nodes", "nodes", &nodes, &wrong);
	for (size_t i = 0; good && i < json_array_size(nodes); i++)
		good = read_node(link, json_array_get(nodes, i),
				 json_integer_value(json_object_get(body, "now_ns")), &wrong);
	link->spares_booting = json_integer_value(json_object_get(body, "spares_booting"));
	remote_link_settle(link, good, wrong);
}

void remote_link_poll_nodes(struct remote_link *link)
{
	if (link->nodes_pending)
		return;
	link->nodes_pending = true;
	link->nodes_asked_ns = platform_now_ns(link->platform);
	http_client_request(link->client, "GET", "/v1/nodes", NULL, REQUEST_TIMEOUT_S, nodes_done,
			    link);
}
