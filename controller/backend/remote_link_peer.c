/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The local scheduler: its identity, its clock, whether it answers, and its nodes. */
#include "common/clock.h"
#include "common/error_fail.h"
#include "common/http_client.h"
#include "common/json.h"
#include "common/peer_tls.h"
#include "controller/backend/remote_link_private.h"

#define REQUEST_TIMEOUT_S 10.0
#define NOTE_INTERVAL_NS (10 * INT64_C(1000000000))

double remote_link_seconds_since(const struct remote_link *link, int64_t then_ns)
{
	return clock_elapsed_s(then_ns, platform_now_ns(link->platform));
}

void remote_link_note(struct remote_link *link, const char *kind, const char *format, ...)
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

void remote_link_note_protocol_error(struct remote_link *link, const GError *error)
{
	int64_t now_ns = platform_now_ns(link->platform);

	if (link->last_protocol_note_ns && now_ns - link->last_protocol_note_ns < NOTE_INTERVAL_NS)
		return;
	link->last_protocol_note_ns = now_ns;
	remote_link_note(link, "scheduler-rubbish",
			 "local scheduler of cluster '%s' sends malformed answers: %s",
			 link->cluster->name, error->message);
}

void remote_link_set_node(struct remote_link *link, uint32_t index, bool up, int64_t theirs_ns,
			  const char *reason)
{
	struct wire_node *node = &link->nodes[index];

	node->changed_ns = theirs_ns;
	if (node->up == up)
		return;
	node->up = up;
	if (link->listener)
		link->listener->node(link, index, up, remote_clock_ours_ns(&link->clock, theirs_ns),
				     reason, link->listener->data);
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

static void translate(const struct remote_link *link, int64_t *t_ns)
{
	if (*t_ns)
		*t_ns = remote_clock_ours_ns(&link->clock, *t_ns);
}

void remote_link_translate(const struct remote_link *link, struct task *task)
{
	const int64_t now_ns = platform_now_ns(link->platform);

	translate(link, &task->queued_ns);
	translate(link, &task->requested_ns);
	translate(link, &task->started_ns);
	translate(link, &task->ended_ns);
	for (guint i = 0; task->suspensions && i < task->suspensions->len; i++) {
		struct task_suspension *one = g_ptr_array_index(task->suspensions, i);

		translate(link, &one->requested_ns);
		translate(link, &one->frozen_ns);
		translate(link, &one->suspended_ns);
		translate(link, &one->resume_requested_ns);
		translate(link, &one->running_ns);
		translate(link, &one->resumed_ns);
	}
	for (guint i = 0; task->migrations && i < task->migrations->len; i++) {
		struct task_migration *one = g_ptr_array_index(task->migrations, i);

		translate(link, &one->requested_ns);
		translate(link, &one->settled_ns);
	}
	remote_task_sanitize_times(task, now_ns);
}

void remote_link_resync(struct remote_link *link)
{
	link->events_seen = link->events_read;
	if (link->listener)
		link->listener->resync(link, link->listener->data);
}

/* Counts a valid answer: the peer is available. */
static void answered(struct remote_link *link)
{
	link->last_good_ns = platform_now_ns(link->platform);
	if (link->away) {
		link->away = false;
		remote_link_note(link, "scheduler-back",
				 "local scheduler of cluster '%s' answers again",
				 link->cluster->name);
		link->silent = true;
		remote_link_resync(link);
	}
	if (link->silent) {
		link->silent = false;
		/* a restarted peer keeps usage only from the first request on */
		link->usage_read_ns = 0;
		remote_link_identify(link);
	}
	/* A single valid answer among malformed ones does not clear the trouble. */
	if (remote_link_known(link))
		g_clear_pointer(&link->trouble, g_free);
}

static bool is_transport(const GError *error)
{
	return g_error_matches(error, HTTP_ERROR, HTTP_ERROR_TRANSPORT);
}

void remote_link_silence(struct remote_link *link, const GError *error)
{
	const char *why = error->message;
	g_autofree char *reason = NULL;

	link->silent = true;
	g_free(link->trouble);
	link->trouble =
		g_strdup_printf("%s: %s",
				is_transport(error) ? "does not answer" : "sends malformed answers",
				why);
	if (link->away || remote_link_seconds_since(link, link->last_good_ns) < link->away_s)
		return;
	link->away = true;
	remote_link_note(link, "scheduler-away",
			 "local scheduler of cluster '%s' has not answered for %.0f s: %s",
			 link->cluster->name, link->away_s, why);
	reason = g_strdup_printf("local scheduler away: %s", why);
	for (uint32_t i = 0; i < link->cluster->nodes; i++)
		remote_link_set_node(link, i, false, link->nodes[i].changed_ns, reason);
	remote_link_resync(link);
}

bool remote_link_usable(struct remote_link *link, json_t *body, const GError *error)
{
	g_autoptr(GError) wrong = NULL;
	int64_t now_ns;

	if (error) {
		if (!is_transport(error))
			remote_link_note_protocol_error(link, error);
		remote_link_silence(link, error);
		return false;
	}
	if (!json_get_integer(body, "now_ns", "answer of the local scheduler", 0, WIRE_CLOCK_MAX_NS,
			      &now_ns, &wrong)) {
		remote_link_note_protocol_error(link, wrong);
		remote_link_silence(link, wrong);
		return false;
	}
	remote_clock_observe(&link->clock, now_ns, platform_now_ns(link->platform));
	return true;
}

void remote_link_settle(struct remote_link *link, bool good, const GError *wrong)
{
	if (good) {
		answered(link);
		return;
	}
	remote_link_note_protocol_error(link, wrong);
	remote_link_silence(link, wrong);
}

static bool same_text(const json_t *a, const json_t *b, const char *key)
{
	return g_strcmp0(json_string_value(json_object_get(a, key)),
			 json_string_value(json_object_get(b, key))) == 0;
}

struct http_client *remote_link_client(const struct platform *platform,
				       const struct config_tls *tls, const char *address,
				       GError **error)
{
	struct http_client *client = peer_tls_client(platform, tls, address, error);

	if (client)
		http_client_mend_numbers(client);
	return client;
}

/* The address was valid before, so this cannot fail. */
static void drop_events(struct remote_link *link)
{
	http_client_free(link->events_client);
	link->events_client = remote_link_client(link->platform, link->tls, link->address, NULL);
	link->events_pending = false;
}

void remote_link_forget_peer(struct remote_link *link)
{
	remote_link_note(link, "scheduler-reset",
			 "local scheduler of cluster '%s' has lost its state", link->cluster->name);
	link->forgotten = true;
	drop_events(link);
	link->events_after = 0;
	link->events_read = link->events_taken = 0;
	link->samples_after = 0;
	link->sample_skipped = false;
	link->usage_read_ns = 0;
	for (guint i = 0; i < link->meters->len; i++)
		remote_meter_rebase(g_ptr_array_index(link->meters, i));
	remote_link_resync(link);
}

static bool read_capabilities(struct remote_link *link, json_t *body, GError **error)
{
	g_autofree char *ours = platform_boot_id(link->platform);
	const char *what = "capabilities";
	const char *cluster;
	const char *boot_id;
	const char *incarnation;

	if (!json_get_string(body, "cluster", what, &cluster, error) ||
	    !json_get_string(body, "boot_id", what, &boot_id, error) ||
	    !json_get_string(body, "incarnation", what, &incarnation, error))
		return false;
	if (!g_str_equal(cluster, link->cluster->name))
		return error_fail(error, JSON_ERROR, JSON_ERROR_KEY,
				  "it serves cluster '%s', not '%s'; check local_scheduler in the "
				  "configuration",
				  cluster, link->cluster->name);
	if (!link->capabilities || !same_text(link->capabilities, body, "boot_id"))
		remote_clock_init(&link->clock, g_strcmp0(boot_id, ours) == 0);
	if (link->capabilities && !same_text(link->capabilities, body, "incarnation") &&
	    !link->forgotten)
		remote_link_forget_peer(link);
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
	if (!remote_link_usable(link, body, error))
		return;
	good = read_capabilities(link, body, &wrong);
	if (good)
		link->identified = true;
	remote_link_settle(link, good, wrong);
	/*
	 * Nothing was polled before the first answer, and no events since the peer lost its state.
	 * After a failed poll of events the next one has its time.
	 */
	if (good && !link->events_pending && !link->events_source)
		platform_due_now(link->tick);
}

void remote_link_identify(struct remote_link *link)
{
	if (link->identifying)
		return;
	link->identifying = true;
	link->identified_ns = platform_now_ns(link->platform);
	http_client_request(link->client, "GET", "/v1/capabilities", NULL, REQUEST_TIMEOUT_S,
			    capabilities_done, link);
}
