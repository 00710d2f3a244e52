/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/api/output_api.h"

#include "common/platform.h"

#define LOOK_MS 500
#define NOW_MS 2000            /* the limit of a read of the current output */
#define ANSWER_MAX (512 << 10) /* bytes */

struct output_api {
	struct scheduler *scheduler;
	GPtrArray *waiters; /* of struct waiter, owned */
	guint look_source;
};

struct waiter {
	struct output_api *api;
	struct http_request *request;
	char *id;
	uint64_t from;
	uint32_t looks; /* when the request came */
	bool now;       /* reply with the current output, even if it is not new */
	bool over;      /* its wait has ended */
	guint timeout_source;
};

static void waiter_free(gpointer data)
{
	struct waiter *waiter = data;

	g_clear_handle_id(&waiter->timeout_source, g_source_remove);
	g_free(waiter->id);
	g_free(waiter);
}

struct output_api *output_api_new(struct scheduler *scheduler)
{
	struct output_api *api = g_new0(struct output_api, 1);

	api->scheduler = scheduler;
	api->waiters = g_ptr_array_new_with_free_func(waiter_free);
	return api;
}

void output_api_free(struct output_api *api)
{
	if (!api)
		return;
	g_clear_handle_id(&api->look_source, g_source_remove);
	g_ptr_array_unref(api->waiters);
	g_free(api);
}

/* Answers. */

size_t output_api_whole(const char *bytes, size_t length)
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

static void answer(const struct waiter *waiter, const struct scheduler_output *output)
{
	gsize length;
	const char *bytes = g_bytes_get_data(output->bytes, &length);
	gsize start = MIN(waiter->from, length);
	gsize count = MIN(length - start, (gsize)ANSWER_MAX);
	bool rest = start + count < length;
	g_autofree char *text = NULL;

	if (rest || !output->ended)
		count = count > 0 ? output_api_whole(bytes + start, count) : 0;
	text = g_utf8_make_valid(count > 0 ? bytes + start : "", (gssize)count);
	http_request_reply(waiter->request, 200,
			   json_pack("{s:s, s:I, s:I, s:b, s:I}", "output", text, "from",
				     (json_int_t)start, "next", (json_int_t)(start + count),
				     "ended", output->ended && !rest, "now_ns",
				     (json_int_t)platform_now_ns(
					     scheduler_platform(waiter->api->scheduler))));
}

/* Replies to the request if that is possible now; returns whether it was. */
static bool serve(const struct waiter *waiter, const struct scheduler_output *output)
{
	bool more = g_bytes_get_size(output->bytes) > waiter->from;
	bool good = output->ended || waiter->over ||
		    (waiter->now ? output->looks != waiter->looks : more);

	if (good)
		answer(waiter, output);
	return good;
}

/* Waiting. */

static void try_waiter(struct output_api *api, guint i)
{
	struct waiter *waiter = api->waiters->pdata[i];
	struct scheduler_output output =
		scheduler_output(api->scheduler, scheduler_task(api->scheduler, waiter->id));
	g_autoptr(GBytes) bytes = output.bytes;

	if (serve(waiter, &output))
		g_ptr_array_remove_index_fast(api->waiters, i);
}

static void gone(struct http_request *request, void *data)
{
	struct waiter *waiter = data;

	g_ptr_array_remove_fast(waiter->api->waiters, waiter);
}

static gboolean wait_over(gpointer data)
{
	struct waiter *waiter = data;

	waiter->timeout_source = 0;
	waiter->over = true;
	output_api_changed(waiter->api);
	return G_SOURCE_REMOVE;
}

static gboolean read_outputs(gpointer data)
{
	struct output_api *api = data;

	if (api->waiters->len == 0) {
		api->look_source = 0;
		return G_SOURCE_REMOVE;
	}
	for (guint i = 0; i < api->waiters->len; i++) {
		const struct waiter *waiter = api->waiters->pdata[i];

		scheduler_look(api->scheduler, scheduler_task(api->scheduler, waiter->id));
	}
	return G_SOURCE_CONTINUE;
}

void output_api_changed(struct output_api *api)
{
	for (guint i = api->waiters->len; i > 0; i--)
		try_waiter(api, i - 1);
}

void output_api_unknown(const struct scheduler *scheduler, struct http_request *request,
			const char *id)
{
	g_autoptr(GError) error = NULL;

	scheduler_set_unknown_error(scheduler, id, &error);
	http_request_fail(request,
			  g_error_matches(error, SCHEDULER_ERROR, SCHEDULER_ERROR_GONE) ? 410 : 404,
			  "%s", error->message);
}

void output_api_answer(struct output_api *api, struct http_request *request, const char *id,
		       uint64_t from, uint64_t wait_s)
{
	const struct task *task = scheduler_task(api->scheduler, id);
	struct waiter *waiter;
	struct scheduler_output output;
	g_autoptr(GBytes) bytes = NULL;

	if (!task) {
		output_api_unknown(api->scheduler, request, id);
		return;
	}
	output = scheduler_output(api->scheduler, task);
	bytes = output.bytes;
	waiter = g_new0(struct waiter, 1);
	*waiter = (struct waiter){.api = api,
				  .request = request,
				  .id = g_strdup(id),
				  .from = from,
				  .looks = output.looks,
				  .now = wait_s == 0};
	if (serve(waiter, &output)) {
		waiter_free(waiter);
		return;
	}
	waiter->timeout_source =
		platform_after_ms(scheduler_platform(api->scheduler),
				  wait_s > 0 ? (guint)wait_s * 1000 : NOW_MS, wait_over, waiter);
	g_ptr_array_add(api->waiters, waiter);
	http_request_on_cancel(request, gone, waiter);
	scheduler_look(api->scheduler, task);
	if (!api->look_source)
		api->look_source = platform_after_ms(scheduler_platform(api->scheduler), LOOK_MS,
						     read_outputs, api);
}
