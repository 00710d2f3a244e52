/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/backend/remote_link.h"

#include <math.h>

#include "common/clock.h"
#include "common/peer_tls.h"
#include "controller/backend/remote_link_private.h"

#define NODES_INTERVAL_S 5.0
#define NODES_WAITING_S 0.5
#define IDENTIFY_INTERVAL_S 10.0
#define TICK_MIN_S 0.25

/*
 * Local schedulers keep usage until it is requested. An answer with five seconds' intervals (fewer
 * seconds for meters that are read faster) costs little more than an answer with one second's, and
 * a local scheduler that dies loses no more than that.
 */
#define USAGE_TICKS 5
#define UNREADY_UNKNOWN (1 << 20)
#define GOLDEN_SECTION 0.6180339887498949

/*
 * Polls often while nodes are not up or a caller waits for them; otherwise events report changes.
 */
static double nodes_interval_s(const struct remote_link *link)
{
	for (uint32_t i = 0; i < link->cluster->nodes; i++)
		if (!link->nodes[i].up || !link->nodes[i].state)
			return NODES_WAITING_S;
	return link->waited_for ? NODES_WAITING_S : NODES_INTERVAL_S;
}

/* Some capabilities are known only after its nodes were up, for example how VMs are virtualized. */
static bool has_said_all(const struct remote_link *link)
{
	return json_is_true(json_object_get(link->capabilities, "ready"));
}

static double identify_interval_s(const struct remote_link *link)
{
	return link->waited_for && !has_said_all(link) ? NODES_WAITING_S : IDENTIFY_INTERVAL_S;
}

/*
 * Time since the link's own moment in the present interval of that length. All links are made at
 * once, and after the main loop was busy all are due at once. If all then polled at the same
 * moments, requests to the controller would wait for all their answers every second. Multiples of
 * the golden section lie apart, however many there are.
 */
static int64_t since_moment_ns(const struct remote_link *link, int64_t interval_ns)
{
	const double part = link->index * GOLDEN_SECTION;
	const int64_t moment_ns = (int64_t)((part - floor(part)) * (double)interval_ns);

	return (platform_now_ns(link->platform) - moment_ns) % interval_ns;
}

/* Whether the link's moment has passed since `then_ns`. */
static bool is_due(const struct remote_link *link, int64_t then_ns, double interval_s)
{
	return platform_now_ns(link->platform) - then_ns >
	       since_moment_ns(link, (int64_t)(interval_s * 1e9));
}

static guint tick_ms(const struct remote_link *link)
{
	double interval_s = 1;

	for (guint i = 0; i < link->meters->len; i++) {
		const struct remote_meter *meter = g_ptr_array_index(link->meters, i);

		interval_s = MIN(interval_s, meter->interval_s);
	}
	return (guint)(MAX(interval_s, TICK_MIN_S) * 1000);
}

static void poll_due(struct remote_link *link)
{
	if (!link->identified) {
		remote_link_identify(link);
		return;
	}
	remote_link_poll_events(link);
	remote_link_poll_samples(link);
	if (is_due(link, link->usage_read_ns, USAGE_TICKS * tick_ms(link) * 1e-3))
		remote_link_poll_usage(link);
	/*
	 * Not directly after the last request: a caller that begins to wait needs states reported
	 * after that.
	 */
	if (remote_link_seconds_since(link, link->nodes_asked_ns) >= NODES_WAITING_S &&
	    is_due(link, link->nodes_asked_ns, nodes_interval_s(link)))
		remote_link_poll_nodes(link);
	if (is_due(link, link->identified_ns, identify_interval_s(link)))
		remote_link_identify(link);
}

static void add_meters(struct remote_link *link)
{
	link->meters = g_ptr_array_new_with_free_func((GDestroyNotify)remote_meter_free);
	link->metered = g_new0(const char *, link->cluster->hosts_count + 1);
	for (uint32_t i = 0; i < link->cluster->hosts_count; i++) {
		const struct config_host *host = &link->cluster->hosts[i];

		if (!host->meter || host->meter->kind == CONFIG_METER_NONE)
			continue;
		link->metered[link->meters->len] = host->name;
		g_ptr_array_add(link->meters,
				remote_meter_new(host->name, host->meter->interval_s));
	}
}

static gboolean tick(gpointer data);

/* The next tick is at the link's own moment, whenever the present one was. */
static void set_next_tick(struct remote_link *link)
{
	const int64_t tick_ns = (int64_t)tick_ms(link) * 1000000;
	const int64_t left_ns = tick_ns - since_moment_ns(link, tick_ns);

	link->tick = platform_after_ms(link->platform, (guint)(left_ns / 1000000) + 1, tick, link);
}

static gboolean tick(gpointer data)
{
	set_next_tick(data);
	poll_due(data);
	return G_SOURCE_REMOVE;
}

struct remote_link *remote_link_new(const struct platform *platform,
				    const struct config_cluster *cluster, uint32_t index,
				    const char *address, const struct config_tls *tls,
				    GError **error)
{
	struct http_client *client = remote_link_client(platform, tls, address, error);
	struct remote_link *link;

	if (!client)
		return NULL;
	link = g_new0(struct remote_link, 1);
	link->platform = platform;
	link->address = g_strdup(address);
	link->client = client;
	link->tls = tls;
	link->events_client = remote_link_client(platform, tls, address, NULL);
	link->cluster = cluster;
	link->index = index;
	link->away_s = REMOTE_LINK_AWAY_S;
	link->events_after = -1;
	link->samples_after = -1;
	link->last_good_ns = platform_now_ns(link->platform);
	link->nodes = g_new0(struct wire_node, cluster->nodes);
	link->requests = g_ptr_array_new_with_free_func(remote_link_request_free);
	add_meters(link);
	set_next_tick(link);
	remote_link_identify(link);
	return link;
}

void remote_link_free(struct remote_link *link)
{
	if (!link)
		return;
	http_client_free(link->events_client);
	http_client_free(link->client);
	g_queue_clear(&link->turns);
	g_ptr_array_unref(link->requests);
	if (link->events_source)
		g_source_remove(link->events_source);
	g_clear_handle_id(&link->tick, g_source_remove);
	for (uint32_t i = 0; i < link->cluster->nodes; i++)
		record_clear(&wire_node_record, &link->nodes[i]);
	g_free(link->nodes);
	g_free(link->trouble);
	g_free(link->usage_stream);
	g_free(link->address);
	g_ptr_array_unref(link->meters);
	g_free(link->metered);
	if (link->capabilities)
		json_decref(link->capabilities);
	g_free(link);
}

void remote_link_listen(struct remote_link *link, const struct remote_listener *listener)
{
	link->listener = listener;
}

uint32_t remote_link_index(const struct remote_link *link)
{
	return link->index;
}

const struct config_cluster *remote_link_cluster(const struct remote_link *link)
{
	return link->cluster;
}

const json_t *remote_link_capabilities(const struct remote_link *link)
{
	return link->capabilities;
}

static char *node_trouble(const struct remote_link *link, uint32_t index)
{
	const struct wire_node *node = &link->nodes[index];

	if (!node->state && link->trouble)
		return g_strdup_printf("node %u of cluster '%s' is not known yet: its local "
				       "scheduler %s",
				       index, link->cluster->name, link->trouble);
	return g_strdup_printf("node %u of cluster '%s' is %s%s%s", index, link->cluster->name,
			       node->state ?: "not known yet", node->reason ? ": " : "",
			       node->reason ?: "");
}

void remote_link_excuse(struct remote_link *link, bool excused)
{
	link->excused = excused;
}

bool remote_link_ready(const struct remote_link *link, char **ret_why)
{
	if (link->excused)
		return true;
	if (!link->identified || link->silent || link->away) {
		*ret_why = g_strdup_printf("local scheduler of cluster '%s' %s",
					   link->cluster->name, link->trouble ?: "does not answer");
		return false;
	}
	for (uint32_t i = 0; i < link->cluster->nodes; i++) {
		const struct wire_node *node = &link->nodes[i];

		if (node->up && g_strcmp0(node->state, "ready") == 0)
			continue;
		*ret_why = node_trouble(link, i);
		return false;
	}
	if (!has_said_all(link)) {
		*ret_why =
			g_strdup_printf("local scheduler of cluster '%s' has not reported all of "
					"its capabilities",
					link->cluster->name);
		return false;
	}
	if (link->spares_booting > 0) {
		*ret_why =
			g_strdup_printf("%" JSON_INTEGER_FORMAT " spare VM%s of cluster '%s' %s",
					link->spares_booting, link->spares_booting == 1 ? "" : "s",
					link->cluster->name,
					link->spares_booting == 1 ? "boots" : "boot");
		return false;
	}
	for (guint i = 0; i < link->meters->len; i++) {
		const struct remote_meter *meter = g_ptr_array_index(link->meters, i);

		if (remote_meter_fresh(meter, platform_now_ns(link->platform)))
			continue;
		*ret_why = g_strdup_printf("the meter of host '%s' gives no samples", meter->host);
		return false;
	}
	return true;
}

uint32_t remote_link_unready(const struct remote_link *link)
{
	uint32_t count = (uint32_t)link->spares_booting;

	if (link->excused)
		return 0;
	for (uint32_t i = 0; i < link->cluster->nodes; i++) {
		if (!link->nodes[i].state)
			return UNREADY_UNKNOWN;
		count += g_strcmp0(link->nodes[i].state, "ready") != 0;
	}
	return count;
}

void remote_link_unwait(struct remote_link *link)
{
	link->waited_for = false;
}

void remote_link_refresh(struct remote_link *link)
{
	for (uint32_t i = 0; i < link->cluster->nodes; i++)
		g_clear_pointer(&link->nodes[i].state, g_free);
	link->nodes_asked_ns = 0;
	link->nodes_outdated = link->nodes_pending;
	link->waited_for = true;
	if (link->identified)
		remote_link_poll_nodes(link);
}

const struct wire_node *remote_link_node(const struct remote_link *link, uint32_t node)
{
	return &link->nodes[node];
}

bool remote_link_node_up(const struct remote_link *link, uint32_t node)
{
	return link->nodes[node].up;
}

void remote_link_set_patience(struct remote_link *link, double away_s)
{
	link->away_s = away_s;
}

double remote_link_patience_s(const struct remote_link *link)
{
	return link->away_s;
}

bool remote_link_away(const struct remote_link *link)
{
	return link->away;
}

GPtrArray *remote_link_meters(const struct remote_link *link)
{
	return link->meters;
}

static bool meter_holds(const struct remote_link *link, const struct remote_meter *meter,
			const uint32_t *nodes, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (nodes[i] < link->cluster->nodes &&
		    g_strcmp0(link->nodes[nodes[i]].host, meter->host) == 0)
			return true;
	return false;
}

double remote_link_idle_w(const struct remote_link *link, const uint32_t *nodes, uint32_t count)
{
	double sum_w = 0;

	for (guint i = 0; i < link->meters->len; i++) {
		const struct remote_meter *meter = g_ptr_array_index(link->meters, i);

		if (meter_holds(link, meter, nodes, count))
			sum_w += meter->idle_w;
	}
	return sum_w;
}

void remote_link_samples_from(struct remote_link *link, int64_t seq)
{
	link->samples_after = seq;
}

int64_t remote_link_samples_seq(const struct remote_link *link)
{
	return MAX(link->samples_after, 0);
}

void remote_link_usage_from(struct remote_link *link, const char *stream, int64_t seq)
{
	g_free(link->usage_stream);
	link->usage_stream = g_strdup(stream);
	link->usage_after = stream ? seq : 0;
	link->usage_wanted = true;
}
