/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Four conversations with one local scheduler, each at most one request deep:
 *   who        GET /v1/capabilities: at first, after every silence, where numbers run backwards, and
 *              now and then (libcurl quietly repeats a request over a new connection)
 *   events     the long poll; numbers go on over a restart, so nothing is missed
 *   samples    once per metering interval
 *   nodes      every NODES_INTERVAL_S; the truth about nodes where an event was missed
 * and the requests of the run (remote_link_send()), which are repeated until answered.
 */
#include "controller/backend/remote_link.h"

#include <inttypes.h>

#include "common/clock.h"
#include "common/http_client.h"
#include "common/json.h"
#include "controller/backend/remote_clock.h"

#define NODES_INTERVAL_S 5.0
#define IDENTIFY_INTERVAL_S 10.0
#define TICK_MIN_S 0.25
#define REQUEST_TIMEOUT_S 10.0
#define EVENTS_WAIT_S 30
#define EVENTS_TIMEOUT_S (EVENTS_WAIT_S + 15.0)
#define RETRY_FIRST_MS 100
#define RETRY_MAX_MS 1000
#define RUBBISH_TRIES 5
#define NOTE_INTERVAL_NS (10 * INT64_C(1000000000))
#define SEQ_MAX (INT64_C(1) << 53)

struct node {
	bool up;
	char *host;
	char *state;
	char *reason;
	int64_t changed_ns; /* theirs */
};

struct request {
	struct remote_link *link;
	char *method;
	char *path;
	json_t *body;
	remote_link_done_f done; /* NULL: forgotten */
	void *data;
	guint tries;
	guint rubbish;
	guint retry_source;
};

struct remote_link {
	const struct config_cluster *cluster;
	uint32_t index;
	const struct remote_listener *listener;
	char *address;
	struct http_client *client;
	struct http_client *events_client; /* of its own: a long poll in vain can be dropped */
	struct remote_clock clock;
	GPtrArray *meters;
	struct node *nodes;
	json_t *capabilities;
	bool identified, identifying;
	bool silent; /* the last answer was none */
	bool forgotten; /* forget_peer() was called since it last said who it is */
	bool away;
	double away_s;
	int64_t last_good_ns;
	int64_t last_rubbish_note_ns;
	int64_t events_after; /* -1: to be asked */
	bool events_pending, samples_pending, nodes_pending, energy_pending;
	int64_t samples_after; /* -1: to be asked */
	int64_t nodes_asked_ns, identified_ns;
	guint tick_source, events_source;
	GPtrArray *requests;
};

static void request_pass(struct request *request);
static void ask_events(struct remote_link *link);

static double seconds_since(int64_t then_ns)
{
	return clock_elapsed_s(then_ns, clock_now_ns());
}

static void G_GNUC_PRINTF(3, 4)
	note(struct remote_link *link, const char *kind, const char *format, ...)
{
	g_autofree char *text = NULL;
	va_list arguments;

	if (!link->listener)
		return;
	va_start(arguments, format);
	text = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	link->listener->note(link, kind, text, link->listener->data);
}

static void note_rubbish(struct remote_link *link, const GError *error)
{
	int64_t now_ns = clock_now_ns();

	if (link->last_rubbish_note_ns && now_ns - link->last_rubbish_note_ns < NOTE_INTERVAL_NS)
		return;
	link->last_rubbish_note_ns = now_ns;
	note(link, "scheduler-rubbish", "local scheduler of cluster '%s' answers rubbish: %s",
	     link->cluster->name, error->message);
}

/* The node's end of a change; tells the listener only what is new. */
static void set_node(struct remote_link *link, uint32_t index, bool up, int64_t theirs_ns,
		     const char *reason)
{
	struct node *node = &link->nodes[index];

	node->changed_ns = theirs_ns;
	if (node->up == up)
		return;
	node->up = up;
	if (link->listener)
		link->listener->node(link, index, up, remote_clock_ours_ns(&link->clock, theirs_ns),
				     reason, link->listener->data);
}

static void identify(struct remote_link *link);

/* An answer that made sense: it is there. */
static void answered(struct remote_link *link)
{
	link->last_good_ns = clock_now_ns();
	if (link->away) {
		link->away = false;
		note(link, "scheduler-back", "local scheduler of cluster '%s' answers again",
		     link->cluster->name);
		link->silent = true;
		if (link->listener)
			link->listener->doubt(link, link->listener->data);
	}
	if (link->silent) {
		link->silent = false;
		identify(link);
	}
}

static void silence(struct remote_link *link, const char *why)
{
	g_autofree char *reason = NULL;

	link->silent = true;
	if (link->away || seconds_since(link->last_good_ns) < link->away_s)
		return;
	link->away = true;
	note(link, "scheduler-away",
	     "local scheduler of cluster '%s' has not answered for %.0f s: %s", link->cluster->name,
	     link->away_s, why);
	reason = g_strdup_printf("local scheduler away: %s", why);
	for (uint32_t i = 0; i < link->cluster->nodes; i++)
		set_node(link, i, false, link->nodes[i].changed_ns, reason);
	if (link->listener)
		link->listener->doubt(link, link->listener->data);
}

/*
 * Sorts out the answer to one of the link's own questions; true when there is a body to read. A
 * refusal (status 400 and above) of a question that every local scheduler must answer is rubbish.
 */
static bool usable(struct remote_link *link, json_t *body, const GError *error)
{
	g_autoptr(GError) wrong = NULL;
	int64_t now_ns;

	if (error) {
		if (!g_error_matches(error, HTTP_ERROR, HTTP_ERROR_TRANSPORT))
			note_rubbish(link, error);
		silence(link, error->message);
		return false;
	}
	if (!json_get_integer(body, "now_ns", "answer of the local scheduler", 0, INT64_MAX, &now_ns,
			      &wrong)) {
		note_rubbish(link, wrong);
		silence(link, wrong->message);
		return false;
	}
	remote_clock_observe(&link->clock, now_ns, clock_now_ns());
	return true;
}

/* After usable(): the rest of the body made sense, or not. */
static void settle(struct remote_link *link, bool good, const GError *wrong)
{
	if (good) {
		answered(link);
		return;
	}
	note_rubbish(link, wrong);
	silence(link, wrong->message);
}

/* Who. */

static bool same_text(const json_t *a, const json_t *b, const char *key)
{
	return g_strcmp0(json_string_value(json_object_get(a, key)),
			 json_string_value(json_object_get(b, key))) == 0;
}

/* The address was good before. */
static void drop_events(struct remote_link *link)
{
	http_client_free(link->events_client);
	link->events_client = http_client_new(link->address, NULL);
	link->events_pending = false;
}

/* It has no memory of before: numbers and counters start anew, tasks are gone. */
static void forget_peer(struct remote_link *link)
{
	note(link, "scheduler-reset", "local scheduler of cluster '%s' has lost its state",
	     link->cluster->name);
	link->forgotten = true;
	drop_events(link);
	link->events_after = 0;
	link->samples_after = 0;
	for (guint i = 0; i < link->meters->len; i++)
		remote_meter_rebase(g_ptr_array_index(link->meters, i));
	if (link->listener)
		link->listener->doubt(link, link->listener->data);
}

static bool read_capabilities(struct remote_link *link, json_t *body, GError **error)
{
	g_autofree char *ours = clock_boot_id();
	const char *what = "capabilities";
	const char *cluster;
	const char *boot_id;
	const char *incarnation;

	if (!json_get_string(body, "cluster", what, &cluster, error) ||
	    !json_get_string(body, "boot_id", what, &boot_id, error) ||
	    !json_get_string(body, "incarnation", what, &incarnation, error))
		return false;
	if (!g_str_equal(cluster, link->cluster->name)) {
		g_set_error(error, JSON_ERROR, JSON_ERROR_KEY,
			    "it serves cluster '%s', not '%s'; check local_scheduler in the "
			    "configuration",
			    cluster, link->cluster->name);
		return false;
	}
	if (!link->capabilities || !same_text(link->capabilities, body, "boot_id"))
		remote_clock_init(&link->clock, g_strcmp0(boot_id, ours) == 0);
	if (link->capabilities && !same_text(link->capabilities, body, "incarnation") &&
	    !link->forgotten)
		forget_peer(link);
	link->forgotten = false;
	if (link->capabilities)
		json_decref(link->capabilities);
	link->capabilities = json_incref(body);
	return true;
}

static void capabilities_done(int status, json_t *body, const GError *error, void *data)
{
	struct remote_link *link = data;
	g_autoptr(GError) wrong = NULL;
	bool good;

	link->identifying = false;
	if (!usable(link, body, error))
		return;
	good = read_capabilities(link, body, &wrong);
	if (good)
		link->identified = true;
	settle(link, good, wrong);
	if (good)
		ask_events(link);
}

static void identify(struct remote_link *link)
{
	if (link->identifying)
		return;
	link->identifying = true;
	link->identified_ns = clock_now_ns();
	http_client_request(link->client, "GET", "/v1/capabilities", NULL, REQUEST_TIMEOUT_S,
			    capabilities_done, link);
}

/* Events. */

static void event_node(struct remote_link *link, const json_t *event, const char *kind,
		       int64_t t_ns)
{
	json_t *detail = json_object_get(event, "detail");
	const char *reason = json_string_value(json_object_get(detail, "reason"));
	int64_t node;

	if (!json_get_integer(event, "node", "event", 0, link->cluster->nodes - 1, &node, NULL))
		return;
	set_node(link, (uint32_t)node, g_str_equal(kind, "node-ready"), t_ns, reason);
}

static bool event_task(struct remote_link *link, const json_t *event, const char *kind,
		       int64_t t_ns, GError **error)
{
	g_autoptr(remote_task_t) task = NULL;
	const char *id;

	if (g_str_equal(kind, "task-ended")) {
		task = remote_task_parse(json_object_get(event, "detail"), error);
		if (!task)
			return false;
	} else {
		if (!json_get_string(event, "task", "event", &id, error))
			return false;
		task = g_new0(struct remote_task, 1);
		task->id = g_strdup(id);
		task->state = REMOTE_TASK_RUNNING;
		task->started_ns = t_ns;
	}
	remote_link_translate(link, task);
	if (link->listener)
		link->listener->task(link, task, link->listener->data);
	return true;
}

static void event_other(struct remote_link *link, const json_t *event, const char *kind)
{
	const char *host = json_string_value(json_object_get(event, "host"));
	json_t *detail = json_object_get(event, "detail");
	g_autofree char *more = detail && !json_is_null(detail) ? json_text(detail) : NULL;

	note(link, kind, "cluster '%s'%s%s: %s%s%s", link->cluster->name, host ? ", host " : "",
	     host ?: "", kind, more ? " " : "", more ?: "");
}

static bool read_event(struct remote_link *link, const json_t *event, GError **error)
{
	const char *kind;
	int64_t seq;
	int64_t t_ns;

	if (!json_get_integer(event, "seq", "event", 0, SEQ_MAX, &seq, error) ||
	    !json_get_integer(event, "t_ns", "event", 0, INT64_MAX, &t_ns, error) ||
	    !json_get_string(event, "kind", "event", &kind, error))
		return false;
	if (seq <= link->events_after)
		return true;
	link->events_after = seq;
	if (g_str_equal(kind, "node-ready") || g_str_equal(kind, "node-down"))
		event_node(link, event, kind, t_ns);
	else if (g_str_equal(kind, "task-started") || g_str_equal(kind, "task-ended"))
		return event_task(link, event, kind, t_ns, error);
	else
		event_other(link, event, kind);
	return true;
}

/* One bad event does not hide the good ones after it. */
static bool read_events(struct remote_link *link, json_t *body, GError **error)
{
	json_t *events;
	int64_t last;
	bool good = true;

	if (!json_get_integer(body, "last", "events", 0, SEQ_MAX, &last, error))
		return false;
	if (link->events_after < 0) {
		link->events_after = last;
		return true;
	}
	if (last < link->events_after) {
		forget_peer(link);
		return true;
	}
	if (!json_get_array(body, "events", "events", &events, error))
		return false;
	for (size_t i = 0; i < json_array_size(events); i++)
		good = read_event(link, json_array_get(events, i), good ? error : NULL) && good;
	return good;
}

static gboolean events_again(gpointer data)
{
	struct remote_link *link = data;

	link->events_source = 0;
	ask_events(link);
	return G_SOURCE_REMOVE;
}

static void events_done(int status, json_t *body, const GError *error, void *data)
{
	struct remote_link *link = data;
	g_autoptr(GError) wrong = NULL;
	bool good = false;

	link->events_pending = false;
	if (usable(link, body, error)) {
		good = read_events(link, body, &wrong);
		settle(link, good, wrong);
	}
	if (good)
		ask_events(link);
	else if (!link->events_source)
		link->events_source = g_timeout_add(RETRY_MAX_MS / 2, events_again, link);
}

static void ask_events(struct remote_link *link)
{
	g_autofree char *path = NULL;

	if (link->events_pending || !link->identified)
		return;
	link->events_pending = true;
	if (link->events_after < 0)
		path = g_strdup_printf("/v1/events?after=%" PRId64 "&wait_s=0", SEQ_MAX);
	else
		path = g_strdup_printf("/v1/events?after=%" PRId64 "&wait_s=%d",
				       link->events_after, EVENTS_WAIT_S);
	http_client_request(link->events_client, "GET", path, NULL, EVENTS_TIMEOUT_S, events_done,
			    link);
}

/* Samples. */

static struct remote_meter *find_meter(struct remote_link *link, const char *host)
{
	for (guint i = 0; i < link->meters->len; i++) {
		struct remote_meter *meter = g_ptr_array_index(link->meters, i);

		if (g_str_equal(meter->host, host))
			return meter;
	}
	return NULL;
}

static bool read_sample(struct remote_link *link, const json_t *object, GError **error)
{
	struct remote_sample sample = {0};
	struct remote_meter *meter;
	const char *host;

	if (!json_get_integer(object, "seq", "sample", 0, SEQ_MAX, &sample.seq, error) ||
	    !json_get_integer(object, "t_ns", "sample", 0, INT64_MAX, &sample.t_ns, error) ||
	    !json_get_integer(object, "mw", "sample", 0, INT32_MAX, &sample.mw, error) ||
	    !json_get_integer(object, "energy_uj", "sample", 0, INT64_MAX, &sample.energy_uj,
			      error) ||
	    !json_get_string(object, "host", "sample", &host, error))
		return false;
	meter = find_meter(link, host);
	if (!meter) {
		g_set_error(error, JSON_ERROR, JSON_ERROR_KEY, "sample: unknown host '%.64s'", host);
		return false;
	}
	sample.t_ns = remote_clock_ours_ns(&link->clock, sample.t_ns);
	sample.gap = json_is_true(json_object_get(object, "gap"));
	if (remote_meter_add(meter, &sample) && link->listener)
		link->listener->sample(link, meter, remote_meter_last(meter), link->listener->data);
	return true;
}

static bool read_samples(struct remote_link *link, json_t *body, GError **error)
{
	json_t *samples;
	int64_t last;

	if (!json_get_integer(body, "last", "samples", 0, SEQ_MAX, &last, error) ||
	    !json_get_array(body, "samples", "samples", &samples, error))
		return false;
	if (last < link->samples_after) {
		forget_peer(link);
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
	if (usable(link, body, error))
		settle(link, read_samples(link, body, &wrong), wrong);
}

static bool read_energy(struct remote_link *link, json_t *body, GError **error)
{
	json_t *hosts;
	int64_t least = SEQ_MAX;

	if (!json_get_array(body, "hosts", "energy", &hosts, error))
		return false;
	for (size_t i = 0; i < json_array_size(hosts); i++) {
		int64_t seq;

		if (!json_get_integer(json_array_get(hosts, i), "sample_seq", "energy", 0, SEQ_MAX,
				      &seq, error))
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
	if (usable(link, body, error))
		settle(link, read_energy(link, body, &wrong), wrong);
}

static void ask_energy(struct remote_link *link)
{
	if (link->energy_pending)
		return;
	link->energy_pending = true;
	http_client_request(link->client, "GET", "/v1/energy", NULL, REQUEST_TIMEOUT_S, energy_done,
			    link);
}

static void ask_samples(struct remote_link *link)
{
	g_autofree char *path = NULL;

	if (!link->meters->len)
		return;
	if (link->samples_after < 0) {
		ask_energy(link);
		return;
	}
	if (link->samples_pending)
		return;
	link->samples_pending = true;
	path = g_strdup_printf("/v1/samples?after=%" PRId64, link->samples_after);
	http_client_request(link->client, "GET", path, NULL, REQUEST_TIMEOUT_S, samples_done, link);
}

/* Nodes. */

static bool read_node(struct remote_link *link, const json_t *object, int64_t now_ns,
		      GError **error)
{
	const char *state;
	int64_t index;
	struct node *node;

	if (!json_get_integer(object, "index", "node", 0, link->cluster->nodes - 1, &index, error) ||
	    !json_get_string(object, "state", "node", &state, error))
		return false;
	node = &link->nodes[index];
	g_free(node->state);
	node->state = g_strdup(state);
	g_free(node->reason);
	node->reason = g_strdup(json_string_value(json_object_get(object, "reason")));
	g_free(node->host);
	node->host = g_strdup(json_string_value(json_object_get(object, "host")));
	if (node->changed_ns <= now_ns)
		set_node(link, (uint32_t)index,
			 g_str_equal(state, "ready") || g_str_equal(state, "busy"), now_ns,
			 json_string_value(json_object_get(object, "reason")));
	return true;
}

static void nodes_done(int status, json_t *body, const GError *error, void *data)
{
	struct remote_link *link = data;
	g_autoptr(GError) wrong = NULL;
	json_t *nodes;
	bool good;

	link->nodes_pending = false;
	if (!usable(link, body, error))
		return;
	good = json_get_array(body, "nodes", "nodes", &nodes, &wrong);
	for (size_t i = 0; good && i < json_array_size(nodes); i++)
		good = read_node(link, json_array_get(nodes, i),
				 json_integer_value(json_object_get(body, "now_ns")), &wrong);
	settle(link, good, wrong);
}

static void ask_nodes(struct remote_link *link)
{
	if (link->nodes_pending)
		return;
	link->nodes_pending = true;
	link->nodes_asked_ns = clock_now_ns();
	http_client_request(link->client, "GET", "/v1/nodes", NULL, REQUEST_TIMEOUT_S, nodes_done,
			    link);
}

static bool all_up(const struct remote_link *link)
{
	for (uint32_t i = 0; i < link->cluster->nodes; i++)
		if (!link->nodes[i].up || g_strcmp0(link->nodes[i].state, "ready") != 0)
			return false;
	return true;
}

static gboolean tick(gpointer data)
{
	struct remote_link *link = data;

	if (!link->identified) {
		identify(link);
		return G_SOURCE_CONTINUE;
	}
	ask_events(link);
	ask_samples(link);
	if (seconds_since(link->nodes_asked_ns) >= (all_up(link) ? NODES_INTERVAL_S : 1))
		ask_nodes(link);
	if (seconds_since(link->identified_ns) >= IDENTIFY_INTERVAL_S)
		identify(link);
	return G_SOURCE_CONTINUE;
}

/* Requests that are repeated. */

static void request_free(void *data)
{
	struct request *request = data;

	if (request->retry_source)
		g_source_remove(request->retry_source);
	if (request->body)
		json_decref(request->body);
	g_free(request->method);
	g_free(request->path);
	g_free(request);
}

static void request_end(struct request *request, int status, json_t *body, const GError *error)
{
	remote_link_done_f done = request->done;
	void *data = request->data;

	g_ptr_array_remove_fast(request->link->requests, request);
	if (done)
		done(status, body, error, data);
}

static gboolean request_again(gpointer data)
{
	struct request *request = data;

	request->retry_source = 0;
	request_pass(request);
	return G_SOURCE_REMOVE;
}

static bool worth_repeating(struct request *request, int status, const GError *error)
{
	if (request->link->away)
		return false;
	if (g_error_matches(error, HTTP_ERROR, HTTP_ERROR_TRANSPORT) || status == 503)
		return true;
	if (g_error_matches(error, HTTP_ERROR, HTTP_ERROR_BODY))
		return ++request->rubbish < RUBBISH_TRIES;
	return false;
}

static void request_done(int status, json_t *body, const GError *error, void *data)
{
	struct request *request = data;
	struct remote_link *link = request->link;
	guint delay_ms = RETRY_FIRST_MS << MIN(request->tries, 8);

	if (g_error_matches(error, HTTP_ERROR, HTTP_ERROR_BODY))
		note_rubbish(link, error);
	if (error && !g_error_matches(error, HTTP_ERROR, HTTP_ERROR_STATUS))
		silence(link, error->message);
	if (error && worth_repeating(request, status, error)) {
		request->tries++;
		request->retry_source =
			g_timeout_add(MIN(delay_ms, RETRY_MAX_MS), request_again, request);
		return;
	}
	request_end(request, status, body, error);
}

static void request_pass(struct request *request)
{
	http_client_request(request->link->client, request->method, request->path, request->body,
			    REQUEST_TIMEOUT_S, request_done, request);
}

void remote_link_send(struct remote_link *link, const char *method, const char *path, json_t *body,
		      remote_link_done_f done, void *data)
{
	struct request *request = g_new0(struct request, 1);

	request->link = link;
	request->method = g_strdup(method);
	request->path = g_strdup(path);
	request->body = body ? json_incref(body) : NULL;
	request->done = done;
	request->data = data;
	g_ptr_array_add(link->requests, request);
	request_pass(request);
}

void remote_link_forget(struct remote_link *link, const void *data)
{
	for (guint i = 0; i < link->requests->len; i++) {
		struct request *request = g_ptr_array_index(link->requests, i);

		if (request->data == data)
			request->done = NULL;
	}
}

/* Life and queries. */

static void add_meters(struct remote_link *link)
{
	link->meters = g_ptr_array_new_with_free_func((GDestroyNotify)remote_meter_free);
	for (uint32_t i = 0; i < link->cluster->hosts_count; i++) {
		const struct config_host *host = &link->cluster->hosts[i];

		if (host->meter && host->meter->kind != CONFIG_METER_NONE)
			g_ptr_array_add(link->meters,
					remote_meter_new(host->name, host->meter->interval_s));
	}
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

struct remote_link *remote_link_new(const struct config_cluster *cluster, uint32_t index,
				    const char *address, GError **error)
{
	struct http_client *client = http_client_new(address, error);
	struct remote_link *link;

	if (!client)
		return NULL;
	link = g_new0(struct remote_link, 1);
	link->address = g_strdup(address);
	link->client = client;
	link->events_client = http_client_new(address, NULL);
	link->cluster = cluster;
	link->index = index;
	link->away_s = REMOTE_LINK_AWAY_S;
	link->events_after = -1;
	link->samples_after = -1;
	link->last_good_ns = clock_now_ns();
	link->nodes = g_new0(struct node, cluster->nodes);
	link->requests = g_ptr_array_new_with_free_func(request_free);
	add_meters(link);
	link->tick_source = g_timeout_add(tick_ms(link), tick, link);
	identify(link);
	return link;
}

void remote_link_free(struct remote_link *link)
{
	if (!link)
		return;
	http_client_free(link->events_client);
	http_client_free(link->client);
	g_ptr_array_unref(link->requests);
	if (link->events_source)
		g_source_remove(link->events_source);
	g_source_remove(link->tick_source);
	for (uint32_t i = 0; i < link->cluster->nodes; i++) {
		g_free(link->nodes[i].host);
		g_free(link->nodes[i].state);
		g_free(link->nodes[i].reason);
	}
	g_free(link->nodes);
	g_free(link->address);
	g_ptr_array_unref(link->meters);
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

bool remote_link_ready(const struct remote_link *link, char **ret_why)
{
	if (!link->identified || link->silent || link->away) {
		*ret_why = g_strdup_printf("local scheduler of cluster '%s' does not answer",
					   link->cluster->name);
		return false;
	}
	for (uint32_t i = 0; i < link->cluster->nodes; i++) {
		const struct node *node = &link->nodes[i];

		if (node->up && g_strcmp0(node->state, "ready") == 0)
			continue;
		*ret_why = g_strdup_printf("node %u of cluster '%s' is %s%s%s", i,
					   link->cluster->name, node->state ?: "not known yet",
					   node->reason ? ": " : "", node->reason ?: "");
		return false;
	}
	for (guint i = 0; i < link->meters->len; i++) {
		const struct remote_meter *meter = g_ptr_array_index(link->meters, i);

		if (remote_meter_fresh(meter, clock_now_ns()))
			continue;
		*ret_why = g_strdup_printf("the meter of host '%s' gives no samples", meter->host);
		return false;
	}
	return true;
}

void remote_link_refresh(struct remote_link *link)
{
	for (uint32_t i = 0; i < link->cluster->nodes; i++)
		g_clear_pointer(&link->nodes[i].state, g_free);
	link->nodes_asked_ns = 0;
}

bool remote_link_node_up(const struct remote_link *link, uint32_t node)
{
	return link->nodes[node].up;
}

void remote_link_set_patience(struct remote_link *link, double away_s)
{
	link->away_s = away_s;
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
		if (g_strcmp0(link->nodes[nodes[i]].host, meter->host) == 0)
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

bool remote_link_known(const struct remote_link *link)
{
	if (!link->identified || link->silent)
		return false;
	for (uint32_t i = 0; i < link->cluster->nodes; i++)
		if (!link->nodes[i].state)
			return false;
	return true;
}

void remote_link_samples_from(struct remote_link *link, int64_t seq)
{
	link->samples_after = seq;
}

int64_t remote_link_samples_seq(const struct remote_link *link)
{
	return MAX(link->samples_after, 0);
}

static void translate(const struct remote_link *link, int64_t *t_ns)
{
	if (*t_ns)
		*t_ns = remote_clock_ours_ns(&link->clock, *t_ns);
}

void remote_link_translate(const struct remote_link *link, struct remote_task *task)
{
	translate(link, &task->requested_ns);
	translate(link, &task->started_ns);
	translate(link, &task->ended_ns);
}
