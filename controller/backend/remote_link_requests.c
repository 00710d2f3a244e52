/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Idempotent requests that are repeated until they are answered. A plan that fills an empty cluster
 * makes requests for all its tasks at once, so they take turns: at most UNDER_WAY_MAX at a time, in
 * the order in which they were made. Each request under way has its own socket; with hundreds of
 * clusters there would be thousands, which the main loop would check in every turn while users
 * wait.
 */
#include <math.h>

#include "common/clock.h"
#include "common/http_client.h"
#include "controller/backend/remote_link_private.h"

#define REQUEST_TIMEOUT_S 10.0
#define RETRY_FIRST_MS 100
#define RETRY_MAX_MS 1000
#define BAD_TRIES 5

/* A local scheduler carries out one after the other, so more would only wait there. */
#define UNDER_WAY_MAX 4

struct request {
	struct remote_link *link;
	char *method;
	char *path;
	json_t *body;
	remote_link_make_f make; /* makes `body` when its turn comes; NULL: `body` is set */
	remote_link_done_f done; /* NULL: dropped by remote_link_forget() */
	void *data;
	uint64_t number; /* of link->requests_made, from 1 */
	guint tries;
	guint bad;             /* unusable answers in a row */
	int64_t unanswered_ns; /* since when there is no answer; 0: the last try was answered */
	guint retry_source;
	/* takes no turn: the peer delays the answer until there is something to report */
	bool polls;
	bool waits;        /* for its turn */
	bool passed;       /* sent at least once: the peer may have carried it out */
	int64_t passed_ns; /* time of the last try */
	/* the last answer was 503, and it was not sent since: the peer has not carried it out */
	bool refused;
	bool noted;    /* a note about a 503 was made */
	bool orphaned; /* a forgotten PUT under way, to be undone when it is over */
};

void remote_link_request_free(void *data)
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

static void wait_turn(struct request *request);

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
	wait_turn(request);
	return G_SOURCE_REMOVE;
}

/* No caller waits for a forgotten GET; a forgotten DELETE must still be carried out. */
static bool is_pointless(const struct request *request)
{
	return !request->done && g_str_equal(request->method, "GET");
}

/*
 * Other requests may be answered meanwhile, so that the local scheduler is not away; a single
 * request gets the same time.
 */
static bool has_patience(struct request *request)
{
	if (!request->unanswered_ns)
		request->unanswered_ns = request->passed_ns;
	return remote_link_seconds_since(request->link, request->unanswered_ns) <
	       request->link->away_s;
}

/*
 * Whether an answer is unusable. A PUT is not repeated after a 5xx: the task can be started
 * elsewhere.
 */
static bool is_bad(const struct request *request, int status, const GError *error)
{
	return g_error_matches(error, HTTP_ERROR, HTTP_ERROR_BODY) ||
	       (status >= 500 && !g_str_equal(request->method, "PUT"));
}

static bool worth_repeating(struct request *request, int status, const GError *error)
{
	if (request->link->away || is_pointless(request))
		return false;
	if (g_error_matches(error, HTTP_ERROR, HTTP_ERROR_TRANSPORT))
		return has_patience(request);
	request->unanswered_ns = 0;
	if (status == 503)
		return true;
	return is_bad(request, status, error) && ++request->bad < BAD_TRIES;
}

static void request_later(struct request *request)
{
	guint delay_ms = RETRY_FIRST_MS << MIN(request->tries, 8);

	request->tries++;
	request->retry_source =
		platform_after_ms(request->link->platform, MIN(delay_ms, RETRY_MAX_MS),
				  request_again, request);
}

/* "/v1/tasks/ID" for the path of a task or of a part of it. */
static char *task_path(const char *path)
{
	g_auto(GStrv) parts = g_strsplit(path, "/", 5);

	return g_strv_length(parts) < 5
		       ? g_strdup(path)
		       : g_strdup_printf("/%s/%s/%s", parts[1], parts[2], parts[3]);
}

/*
 * Turns a PUT into the DELETE of its task, since it is unknown whether it was carried out. If the
 * owner of a suspension or resumption is gone, this ends the task.
 */
static void make_delete(struct request *request)
{
	char *path = task_path(request->path);

	g_free(request->path);
	request->path = path;
	request->orphaned = false;
	request->unanswered_ns = 0;
	request->bad = 0;
	g_free(request->method);
	request->method = g_strdup("DELETE");
	g_clear_pointer(&request->body, json_decref);
}

/* At most one note per request, however often it is repeated. */
static void note_not_now(struct request *request, const GError *error)
{
	if (request->noted)
		return;
	request->noted = true;
	remote_link_note(request->link, "scheduler-busy",
			 "local scheduler of cluster '%s' does not carry out %s %s now: %s; it is "
			 "asked again",
			 request->link->cluster->name, request->method, request->path,
			 error->message);
}

static void pass_next(struct remote_link *link);

static void request_done(int status, json_t *body, const GError *error, void *data)
{
	struct request *request = data;
	struct remote_link *link = request->link;

	link->under_way -= !request->polls;
	if (g_error_matches(error, HTTP_ERROR, HTTP_ERROR_BODY))
		remote_link_note_protocol_error(link, error);
	if (error && !g_error_matches(error, HTTP_ERROR, HTTP_ERROR_STATUS))
		remote_link_silence(link, error);
	if (error && status == 503) {
		request->refused = true;
		note_not_now(request, error);
	}
	pass_next(link); /* before the callback, which may free the link */
	if (request->orphaned) {
		make_delete(request);
		request_later(request);
	} else if (error && worth_repeating(request, status, error)) {
		request_later(request);
	} else {
		request_end(request, status, body, error);
	}
}

/* The body is made once and repeated unchanged. */
static bool make_body(struct request *request)
{
	g_autoptr(GError) error = NULL;

	if (!request->make)
		return true;
	request->body = request->make(request->data, &error);
	request->make = NULL;
	if (request->body)
		return true;
	request_end(request, 400, NULL, error);
	return false;
}

static void request_pass(struct request *request)
{
	request->waits = false;
	if (!make_body(request))
		return;
	request->passed = true;
	request->refused = false;
	request->link->under_way += !request->polls;
	request->passed_ns = platform_now_ns(request->link->platform);
	http_client_request(request->link->client, request->method, request->path, request->body,
			    fmin(REQUEST_TIMEOUT_S, request->link->away_s), request_done, request);
}

static gboolean fail_turn(gpointer data)
{
	struct request *request = data;
	g_autoptr(GError) error =
		g_error_new(HTTP_ERROR, HTTP_ERROR_TRANSPORT,
			    "%s %s: the local scheduler of cluster '%s' is away", request->method,
			    request->path, request->link->cluster->name);

	request->retry_source = 0;
	request_end(request, 0, NULL, error);
	return G_SOURCE_REMOVE;
}

/*
 * While the peer is away, waiting requests are not sent but fail: their turn could come very late,
 * and their callers have to learn of it in time.
 */
static void pass_next(struct remote_link *link)
{
	while (!link->held && !g_queue_is_empty(&link->turns) &&
	       (link->away || link->under_way < UNDER_WAY_MAX)) {
		struct request *request = g_queue_pop_head(&link->turns);

		if (!link->away) {
			request_pass(request);
			continue;
		}
		request->waits = false;
		/* not before the request function has returned */
		request->retry_source = platform_soon(request->link->platform, G_PRIORITY_DEFAULT,
						      fail_turn, request);
	}
}

static void wait_turn(struct request *request)
{
	if (request->polls) {
		request_pass(request);
		return;
	}
	request->waits = true;
	g_queue_push_tail(&request->link->turns, request);
	pass_next(request->link);
}

void remote_link_hold(struct remote_link *link, bool held)
{
	link->held = held;
	pass_next(link);
}

static struct request *request_new(struct remote_link *link, const char *method, const char *path,
				   remote_link_done_f done, void *data)
{
	struct request *request = g_new0(struct request, 1);

	request->link = link;
	request->number = ++link->requests_made;
	request->method = g_strdup(method);
	request->path = g_strdup(path);
	request->done = done;
	request->data = data;
	g_ptr_array_add(link->requests, request);
	return request;
}

void remote_link_send(struct remote_link *link, const char *method, const char *path, json_t *body,
		      remote_link_done_f done, void *data)
{
	struct request *request = request_new(link, method, path, done, data);

	request->body = body ? json_incref(body) : NULL;
	wait_turn(request);
}

void remote_link_send_made(struct remote_link *link, const char *method, const char *path,
			   remote_link_make_f make, remote_link_done_f done, void *data)
{
	struct request *request = request_new(link, method, path, done, data);

	request->make = make;
	wait_turn(request);
}

void remote_link_poll(struct remote_link *link, const char *path, remote_link_done_f done,
		      void *data)
{
	struct request *request = request_new(link, "GET", path, done, data);

	request->polls = true;
	wait_turn(request);
}

/*
 * A PUT that is refused by 503 is about a task that the peer does not have, so there are no earlier
 * events of it.
 */
static bool has_no_past(const struct request *request)
{
	return request->refused && g_str_equal(request->method, "PUT");
}

bool remote_link_waits_for(const struct remote_link *link, uint64_t count)
{
	for (guint i = 0; i < link->requests->len; i++) {
		const struct request *request = g_ptr_array_index(link->requests, i);

		if (request->done && request->number <= count && !has_no_past(request))
			return true;
	}
	return false;
}

/* Removes a request that is not under way. */
static void drop_request(struct request *request)
{
	g_queue_remove(&request->link->turns, request);
	g_ptr_array_remove_fast(request->link->requests, request);
}

bool remote_link_withdraw(struct remote_link *link, const void *data)
{
	for (guint i = 0; i < link->requests->len; i++) {
		struct request *request = g_ptr_array_index(link->requests, i);

		if (request->data != data || !(request->refused || !request->passed) ||
		    !(request->retry_source || request->waits) ||
		    !g_str_equal(request->method, "PUT"))
			continue;
		drop_request(request);
		return true;
	}
	return false;
}

static void forget_request(struct request *request)
{
	request->done = NULL;
	request->data = NULL; /* the address may be reused */
	if (!request->passed && !g_str_equal(request->method, "DELETE"))
		drop_request(request);
	else if (!g_str_equal(request->method, "PUT"))
		return;
	else if (request->retry_source || request->waits)
		make_delete(request);
	else
		request->orphaned = true;
}

void remote_link_forget(struct remote_link *link, const void *data)
{
	for (guint i = link->requests->len; i > 0; i--) {
		struct request *request = g_ptr_array_index(link->requests, i - 1);

		if (request->data == data)
			forget_request(request);
	}
}
