/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/platform.h"
#include "controller/api/output_api.h"

#include <inttypes.h>

#include "controller/api/status_api_private.h"
#include "controller/api/task_api.h"

/* The longest wait that is passed on: a request to a local scheduler times out after 10 s. */
#define WAIT_MAX_S 5

/* The most time for all answers beyond that; then the client gets an error. */
#define ANSWER_S 3

/*
 * A request that waits for a local scheduler's answer. A task whose attempt was lost may be planned
 * on another cluster than the one with its output, so all clusters are asked in turn, its own
 * first.
 */
struct output_wait {
	struct http_request *request;
	const struct run_session *session;
	struct remote_link *link; /* of the present request */
	char *path;
	const char *const *keys; /* of the answer's fields that are passed on, NULL-terminated */
	uint32_t task, attempt;
	uint32_t cluster; /* the first to be asked */
	uint32_t asked;   /* number of clusters that answered or could not be reached */
	char *trouble;    /* about the first that could not be reached; NULL: all answered */
	guint late_source;
};

static void output_wait_free(struct output_wait *wait)
{
	if (wait->late_source)
		g_source_remove(wait->late_source);
	g_free(wait->trouble);
	g_free(wait->path);
	g_free(wait);
}

static void cancelled(struct http_request *request, void *data)
{
	struct output_wait *wait = data;

	remote_link_forget(wait->link, wait);
	output_wait_free(wait);
}

static void done(int status, json_t *body, const GError *error, void *data);

/* The error names the first cluster that could not be reached. */
static void send_failure(struct output_wait *wait)
{
	http_request_on_cancel(wait->request, NULL, NULL);
	if (wait->trouble)
		http_request_fail(wait->request, 503,
				  "output of task %u: the local scheduler of cluster %s",
				  wait->task, wait->trouble);
	else
		http_request_fail(wait->request, 404,
				  "no local scheduler has output of task %u any more", wait->task);
	output_wait_free(wait);
}

static void G_GNUC_PRINTF(2, 3) note_trouble(struct output_wait *wait, const char *format, ...)
{
	g_autofree char *why = NULL;
	va_list arguments;

	va_start(arguments, format);
	why = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	if (!wait->trouble)
		wait->trouble =
			g_strdup_printf("'%s'%s", remote_link_cluster(wait->link)->name, why);
}

/* The output may be on a cluster that does not answer. */
static void note_silence(struct output_wait *wait)
{
	note_trouble(
		wait,
		", which may have it, does not answer; see to its host (`virtbed clusters`) and ask again "
		"when it is back");
}

/* Ends the request in time, without asking the remaining clusters. */
static gboolean late(gpointer data)
{
	struct output_wait *wait = data;

	wait->late_source = 0;
	remote_link_forget(wait->link, wait);
	note_silence(wait);
	send_failure(wait);
	return G_SOURCE_REMOVE;
}

/* Asks the next reachable cluster, or ends the request. */
static void request_next(struct output_wait *wait)
{
	const uint32_t count = view_config(wait->session)->clusters_count;

	for (; wait->asked < count; wait->asked++) {
		wait->link = view_link(wait->session, (wait->cluster + wait->asked) % count);
		if (!remote_link_away(wait->link)) {
			remote_link_poll(wait->link, wait->path, done, wait);
			return;
		}
		note_silence(wait);
	}
	send_failure(wait);
}

static void ask_next(struct output_wait *wait)
{
	wait->asked++;
	request_next(wait);
}

static void send_output(const struct output_wait *wait, const json_t *body)
{
	json_t *object =
		json_pack("{s:i, s:i}", "task", (int)wait->task, "attempt", (int)wait->attempt);

	for (const char *const *key = wait->keys; *key; key++)
		json_object_set(object, *key, json_object_get(body, *key));
	http_request_reply(wait->request, 200, object);
}

static void done(int status, json_t *body, const GError *error, void *data)
{
	struct output_wait *wait = data;

	if (status == 404 || status == 410) {
		ask_next(wait);
	} else if (error) {
		note_trouble(wait, " cannot be asked: %s", error->message);
		ask_next(wait);
	} else {
		http_request_on_cancel(wait->request, NULL, NULL);
		send_output(wait, body);
		output_wait_free(wait);
	}
}

/* Finds the task of the request, which may have output; else answers it and returns NULL. */
static const struct engine_task *find(struct http_request *request,
				      const struct run_session *session, const char *number)
{
	const struct engine_task *task = task_api_find(request, session, number);

	if (!task || task->attempts > 0)
		return task;
	http_request_fail(request, 404, "task %u has not been started", task->task->id);
	return NULL;
}

/* Requests `below` the task from the clusters. */
static void begin_wait(struct http_request *request, const struct run_session *session,
		       const struct engine_task *task, const char *below, const char *const *keys)
{
	g_autofree char *id = view_attempt_id(session, task);
	struct output_wait *wait = g_new0(struct output_wait, 1);

	*wait = (struct output_wait){
		.request = request,
		.session = session,
		.path = g_strdup_printf("/v1/tasks/%s/%s", id, below),
		.keys = keys,
		.task = task->task->id,
		.attempt = task->attempts,
		.cluster = task->cluster,
	};
	http_request_on_cancel(request, cancelled, wait);
	wait->late_source =
		platform_after_s(view_platform(session), WAIT_MAX_S + ANSWER_S, late, wait);
	request_next(wait);
}

void output_api_get(struct http_request *request, const char *const *arguments, json_t *body,
		    void *data)
{
	const struct run_session *session = api_session(data);
	static const char *const keys[] = {"output", "from", "next", "ended", NULL};
	g_autofree char *below = NULL;
	uint64_t from;
	uint64_t attempt;
	uint64_t wait_s;
	const struct engine_task *task;

	if (!http_request_query_integer(request, "from", 0, INT32_MAX, 0, &from) ||
	    !http_request_query_integer(request, "attempt", 0, UINT32_MAX, 0, &attempt) ||
	    !http_request_query_integer(request, "wait_s", 0, 60, 0, &wait_s) ||
	    !(task = find(request, session, arguments[0])))
		return;
	if (attempt > task->attempts) {
		http_request_fail(request, 400, "query: attempt: task %u has had %u so far",
				  task->task->id, task->attempts);
		return;
	}
	if (attempt > 0 && attempt != task->attempts)
		from = 0;
	below = g_strdup_printf("output?from=%" PRIu64 "&wait_s=%" PRIu64, from,
				MIN(wait_s, (uint64_t)WAIT_MAX_S));
	begin_wait(request, session, task, below, keys);
}

void output_api_files(struct http_request *request, const char *const *arguments, json_t *body,
		      void *data)
{
	const struct run_session *session = api_session(data);
	static const char *const keys[] = {"files", "skipped", NULL};
	const struct engine_task *task = find(request, session, arguments[0]);

	if (task)
		begin_wait(request, session, task, "files", keys);
}
