/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/api/api.h"

#include "common/http_server.h"
#include "common/json.h"
#include "common/platform.h"

#define EVENTS_MAX 1000
#define WAIT_MAX_S 60
#define LOOK_MS 500
#define NOW_MS 2000            /* the limit of a read of the current output */
#define ANSWER_MAX (512 << 10) /* bytes */

struct api {
	struct http_server *server;
	struct scheduler *scheduler;
	GPtrArray *waiters;        /* of struct waiter, owned */
	GPtrArray *output_waiters; /* of struct output_waiter, owned */
	guint look_source;
};

/* A reader of the event stream that waits for the next event. */
struct waiter {
	struct api *api;
	struct http_request *request;
	uint64_t after;
	guint timeout_source;
};

/* A reader of a running task's output that waits for more of it. */
struct output_waiter {
	struct api *api;
	struct http_request *request;
	char *id;
	uint64_t from;
	uint32_t looks; /* when the request came */
	bool now;       /* reply with the current output, even if it is not new */
	bool over;      /* its wait has ended */
	guint timeout_source;
};

static const struct {
	enum scheduler_error code;
	int status;
} statuses[] = {
	{SCHEDULER_ERROR_UNKNOWN, 404},
	{SCHEDULER_ERROR_CONFLICT, 409},
	{SCHEDULER_ERROR_GONE, 410},
	{SCHEDULER_ERROR_NOT_NOW, 503},
};

static int64_t api_now_ns(const struct api *api)
{
	return platform_now_ns(scheduler_platform(api->scheduler));
}

/* Replies with `body` (taken over) and the time. */
static void reply(const struct api *api, struct http_request *request, int status, json_t *body)
{
	json_object_set_new(body, "now_ns", json_integer(api_now_ns(api)));
	http_request_reply(request, status, body);
}

static void reply_error(struct http_request *request, const GError *error)
{
	/* Errors of the parsers have their domains. */
	int status = error->domain == TASK_ERROR || error->domain == JSON_ERROR ? 400 : 500;

	for (size_t i = 0; i < G_N_ELEMENTS(statuses); i++)
		if (g_error_matches(error, SCHEDULER_ERROR, (gint)statuses[i].code))
			status = statuses[i].status;
	http_request_fail(request, status, "%s", error->message);
}

/* Replies that there is no such task, or that it is not kept any more. */
static void reply_unknown(const struct scheduler *scheduler, struct http_request *request,
			  const char *id)
{
	g_autoptr(GError) error = NULL;

	scheduler_set_unknown_error(scheduler, id, &error);
	http_request_fail(request,
			  g_error_matches(error, SCHEDULER_ERROR, SCHEDULER_ERROR_GONE) ? 410 : 404,
			  "%s", error->message);
}

static void get_document(struct http_request *request, const char *const *arguments, json_t *body,
			 void *data)
{
	const struct api *api = data;
	uint64_t after;

	if (http_request_query_integer(request, "after", 0, INT64_MAX, 0, &after))
		reply(api, request, 200,
		      scheduler_document(api->scheduler,
					 (enum scheduler_document)http_request_what(request),
					 after));
}

/* Tasks. */

static json_t *task_with_output(struct api *api, const struct task *task)
{
	json_t *object = task_to_json(task, api_now_ns(api));
	g_autofree char *output = NULL;

	if (task->state == TASK_ENDED)
		output = task_store_output(scheduler_store(api->scheduler), task->id);
	json_object_set_new(object, "output", json_string_or_null(output));
	return object;
}

/* Arguments: the task's id, and the number of the operation, if its kind has one. */
static void operate(struct http_request *request, const char *const *arguments, json_t *body,
		    void *data)
{
	struct api *api = data;
	g_autoptr(GError) error = NULL;
	bool is_new;
	const struct task *task =
		scheduler_operate(api->scheduler,
				  (enum scheduler_operation)http_request_what(request),
				  arguments[0], arguments[1], body, &is_new, &error);

	if (task)
		reply(api, request, is_new ? 201 : 200, task_with_output(api, task));
	else
		reply_error(request, error);
}

static void get_task(struct http_request *request, const char *const *arguments, json_t *body,
		     void *data)
{
	struct api *api = data;
	const struct task *task = scheduler_task(api->scheduler, arguments[0]);

	if (task)
		reply(api, request, 200, task_with_output(api, task));
	else
		reply_unknown(api->scheduler, request, arguments[0]);
}

static void get_files(struct http_request *request, const char *const *arguments, json_t *body,
		      void *data)
{
	struct api *api = data;
	const struct task *task = scheduler_task(api->scheduler, arguments[0]);
	g_autoptr(GBytes) stream = NULL;

	if (!task) {
		reply_unknown(api->scheduler, request, arguments[0]);
		return;
	}
	if (task->state == TASK_ENDED)
		stream = task_store_results(scheduler_store(api->scheduler), task->id);
	if (!stream)
		stream = g_bytes_new_static("", 0);
	reply(api, request, 200, task_script_results(stream));
}

static void get_tasks(struct http_request *request, const char *const *arguments, json_t *body,
		      void *data)
{
	struct api *api = data;
	GPtrArray *tasks = scheduler_tasks(api->scheduler);
	json_t *array = json_array();

	for (guint i = 0; i < tasks->len; i++)
		json_array_append_new(array, task_to_json(tasks->pdata[i], api_now_ns(api)));
	reply(api, request, 200, json_pack("{s:o}", "tasks", array));
}

/*
 * Output of tasks while they run. The guests of tasks whose readers wait are read from time to time.
 */

static void output_waiter_free(gpointer data)
{
	struct output_waiter *waiter = data;

	g_clear_handle_id(&waiter->timeout_source, g_source_remove);
	g_free(waiter->id);
	g_free(waiter);
}

size_t api_whole_characters(const char *bytes, size_t length)
{
	/* a character has 4 bytes at most */
	for (size_t back = 1; back <= MIN(length, 3); back++) {
		const char *last = bytes + length - back;

		if (((guchar)*last & 0xc0) == 0x80)
			continue;
		return g_utf8_get_char_validated(last, (gssize)back) == (gunichar)-2 ? length - back
										     : length;
	}
	return length;
}

static void answer_output(const struct output_waiter *waiter, const struct scheduler_output *output)
{
	gsize length;
	const char *bytes = g_bytes_get_data(output->bytes, &length);
	gsize start = MIN(waiter->from, length);
	gsize count = MIN(length - start, (gsize)ANSWER_MAX);
	bool rest = start + count < length;
	g_autofree char *text = NULL;

	if (rest || !output->ended)
		count = count > 0 ? api_whole_characters(bytes + start, count) : 0;
	text = g_utf8_make_valid(count > 0 ? bytes + start : "", (gssize)count);
	http_request_reply(waiter->request, 200,
			   json_pack("{s:s, s:I, s:I, s:b, s:I}", "output", text, "from",
				     (json_int_t)start, "next", (json_int_t)(start + count),
				     "ended", output->ended && !rest, "now_ns",
				     (json_int_t)platform_now_ns(
					     scheduler_platform(waiter->api->scheduler))));
}

/* Replies to the request if that is possible now; returns whether it was. */
static bool serve_output(const struct output_waiter *waiter, const struct scheduler_output *output)
{
	bool more = g_bytes_get_size(output->bytes) > waiter->from;
	bool good = output->ended || waiter->over ||
		    (waiter->now ? output->looks != waiter->looks : more);

	if (good)
		answer_output(waiter, output);
	return good;
}

static void try_output_waiter(struct api *api, guint i)
{
	struct output_waiter *waiter = api->output_waiters->pdata[i];
	struct scheduler_output output =
		scheduler_output(api->scheduler, scheduler_task(api->scheduler, waiter->id));
	g_autoptr(GBytes) bytes = output.bytes;

	if (serve_output(waiter, &output))
		g_ptr_array_remove_index_fast(api->output_waiters, i);
}

/* Tasks have ended, or their output was read. */
static void outputs_changed(struct api *api)
{
	for (guint i = api->output_waiters->len; i > 0; i--)
		try_output_waiter(api, i - 1);
}

static void output_reader_gone(struct http_request *request, void *data)
{
	struct output_waiter *waiter = data;

	g_ptr_array_remove_fast(waiter->api->output_waiters, waiter);
}

static gboolean output_wait_over(gpointer data)
{
	struct output_waiter *waiter = data;

	waiter->timeout_source = 0;
	waiter->over = true;
	outputs_changed(waiter->api);
	return G_SOURCE_REMOVE;
}

static gboolean read_outputs(gpointer data)
{
	struct api *api = data;

	if (api->output_waiters->len == 0) {
		api->look_source = 0;
		return G_SOURCE_REMOVE;
	}
	for (guint i = 0; i < api->output_waiters->len; i++) {
		const struct output_waiter *waiter = api->output_waiters->pdata[i];

		scheduler_look(api->scheduler, scheduler_task(api->scheduler, waiter->id));
	}
	return G_SOURCE_CONTINUE;
}

/*
 * Responds with the output of task `id` from byte `from` on: as soon as there is more than that, or
 * after wait_s seconds; with wait_s = 0, with the output so far.
 */
static void wait_for_output(struct api *api, struct http_request *request, const char *id,
			    uint64_t from, uint64_t wait_s)
{
	const struct task *task = scheduler_task(api->scheduler, id);
	struct output_waiter *waiter;
	struct scheduler_output output;
	g_autoptr(GBytes) bytes = NULL;

	if (!task) {
		reply_unknown(api->scheduler, request, id);
		return;
	}
	output = scheduler_output(api->scheduler, task);
	bytes = output.bytes;
	waiter = g_new0(struct output_waiter, 1);
	*waiter = (struct output_waiter){.api = api,
					 .request = request,
					 .id = g_strdup(id),
					 .from = from,
					 .looks = output.looks,
					 .now = wait_s == 0};
	if (serve_output(waiter, &output)) {
		output_waiter_free(waiter);
		return;
	}
	waiter->timeout_source = platform_after_ms(scheduler_platform(api->scheduler),
						   wait_s > 0 ? (guint)wait_s * 1000 : NOW_MS,
						   output_wait_over, waiter);
	g_ptr_array_add(api->output_waiters, waiter);
	http_request_on_cancel(request, output_reader_gone, waiter);
	scheduler_look(api->scheduler, task);
	if (!api->look_source)
		api->look_source = platform_after_ms(scheduler_platform(api->scheduler), LOOK_MS,
						     read_outputs, api);
}

static void get_output(struct http_request *request, const char *const *arguments, json_t *body,
		       void *data)
{
	struct api *api = data;
	uint64_t from;
	uint64_t wait_s;

	if (http_request_query_integer(request, "from", 0, INT32_MAX, 0, &from) &&
	    http_request_query_integer(request, "wait_s", 0, WAIT_MAX_S, 0, &wait_s))
		wait_for_output(api, request, arguments[0], from, wait_s);
}

/* Events. */

/*
 * Replies with events. `last` is the number after which the reader continues: that of the last
 * event in a full reply.
 */
static void reply_events(struct api *api, struct http_request *request, uint64_t after)
{
	struct task_store *store = scheduler_store(api->scheduler);
	json_t *events = task_store_events(store, after, EVENTS_MAX);
	json_int_t last = (json_int_t)task_store_last_event(store);

	if (json_array_size(events) == EVENTS_MAX)
		last = json_integer_value(
			json_object_get(json_array_get(events, EVENTS_MAX - 1), "seq"));
	reply(api, request, 200, json_pack("{s:o, s:I}", "events", events, "last", last));
}

static void waiter_free(gpointer data)
{
	struct waiter *waiter = data;

	g_clear_handle_id(&waiter->timeout_source, g_source_remove);
	g_free(waiter);
}

static void answer_waiter(struct waiter *waiter)
{
	struct api *api = waiter->api;
	struct http_request *request = waiter->request;
	uint64_t after = waiter->after;

	g_ptr_array_remove_fast(api->waiters, waiter);
	reply_events(api, request, after);
}

static gboolean wait_over(gpointer data)
{
	struct waiter *waiter = data;

	waiter->timeout_source = 0;
	answer_waiter(waiter);
	return G_SOURCE_REMOVE;
}

static void reader_gone(struct http_request *request, void *data)
{
	struct waiter *waiter = data;

	g_ptr_array_remove_fast(waiter->api->waiters, waiter);
}

static void get_events(struct http_request *request, const char *const *arguments, json_t *body,
		       void *data)
{
	struct api *api = data;
	struct waiter *waiter;
	uint64_t after;
	uint64_t taken;
	uint64_t wait_s;

	if (!http_request_query_integer(request, "after", 0, INT64_MAX, 0, &after) ||
	    !http_request_query_integer(request, "taken", 0, INT64_MAX, 0, &taken) ||
	    !http_request_query_integer(request, "wait_s", 0, WAIT_MAX_S, 0, &wait_s))
		return;
	if (http_request_query(request, "taken"))
		scheduler_taken(api->scheduler, taken);
	if (wait_s == 0 || task_store_last_event(scheduler_store(api->scheduler)) > after) {
		reply_events(api, request, after);
		return;
	}
	waiter = g_new0(struct waiter, 1);
	waiter->api = api;
	waiter->request = request;
	waiter->after = after;
	waiter->timeout_source = platform_after_ms(scheduler_platform(api->scheduler),
						   (guint)wait_s * 1000, wait_over, waiter);
	g_ptr_array_add(api->waiters, waiter);
	http_request_on_cancel(request, reader_gone, waiter);
}

/* An event or an output has arrived: serves all readers that wait for it. */
static void on_change(void *data)
{
	struct api *api = data;
	uint64_t last = task_store_last_event(scheduler_store(api->scheduler));

	for (guint i = api->waiters->len; i > 0; i--) {
		struct waiter *waiter = api->waiters->pdata[i - 1];

		if (last > waiter->after)
			answer_waiter(waiter);
	}
	outputs_changed(api);
}

static const struct http_route routes[] = {
	{"GET", "/v1/capabilities", get_document, .what = SCHEDULER_CAPABILITIES},
	{"GET", "/v1/nodes", get_document, .what = SCHEDULER_NODES},
	{"GET", "/v1/energy", get_document, .what = SCHEDULER_ENERGY},
	{"GET", "/v1/samples", get_document, .query = "after", .what = SCHEDULER_SAMPLES},
	{"GET", "/v1/usage", get_document, .query = "after", .what = SCHEDULER_USAGE},
	{"GET", "/v1/events", get_events, .query = "after wait_s taken"},
	{"GET", "/v1/tasks", get_tasks},
	{"PUT", "/v1/tasks/*", operate, .takes_body = true, .what = SCHEDULER_START},
	{"PUT", "/v1/tasks/*/suspensions/*", operate, .takes_body = true,
	 .what = SCHEDULER_SUSPEND},
	{"PUT", "/v1/tasks/*/resumptions/*", operate, .takes_body = true, .what = SCHEDULER_RESUME},
	{"PUT", "/v1/tasks/*/migrations/*", operate, .takes_body = true, .what = SCHEDULER_MIGRATE},
	{"PUT", "/v1/tasks/*/shares/*", operate, .takes_body = true, .what = SCHEDULER_SHARE},
	{"GET", "/v1/tasks/*", get_task},
	{"GET", "/v1/tasks/*/output", get_output, .query = "from wait_s"},
	{"GET", "/v1/tasks/*/files", get_files},
	{"DELETE", "/v1/tasks/*", operate, .what = SCHEDULER_KILL},
	{NULL, NULL, NULL},
};

struct api *api_new(const char *address, const struct http_tls *tls, struct scheduler *scheduler,
		    GError **error)
{
	g_autoptr(api_t) api = g_new0(struct api, 1);

	api->scheduler = scheduler;
	api->waiters = g_ptr_array_new_with_free_func(waiter_free);
	api->output_waiters = g_ptr_array_new_with_free_func(output_waiter_free);
	api->server = http_server_new_tls(scheduler_platform(scheduler), address, tls, routes, api,
					  error);
	if (!api->server)
		return NULL;
	scheduler_listen(scheduler, on_change, api);
	return g_steal_pointer(&api);
}

void api_free(struct api *api)
{
	if (!api)
		return;
	if (api->server)
		scheduler_listen(api->scheduler, NULL, NULL);
	http_server_free(api->server);
	g_ptr_array_unref(api->waiters);
	g_clear_handle_id(&api->look_source, g_source_remove);
	g_ptr_array_unref(api->output_waiters);
	g_free(api);
}
