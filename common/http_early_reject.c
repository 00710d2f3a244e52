/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/http_early_reject.h"

#include "common/http_listener.h"
#include "common/transport.h"

/*
 * How much input is discarded: a peer that reads only after it has sent everything gets its answer
 * up to this size, and discarding it is cheap.
 */
#define DROPPED_MAX ((gsize)15 << 20)
#define DROP_AT_ONCE ((gsize)256 << 10)

struct http_early_reject {
	const struct platform *platform;
	SoupServerMessage *message; /* until the connection is taken from libsoup */
	gulong disconnected_id;
	GSource *source;
	GIOStream *stream;
	GSocketAddress *remote; /* for the listener's time limit */
	GString *answer;
	gsize dropped;
};

static void refusal_free(struct http_early_reject *refusal)
{
	if (refusal->stream)
		g_io_stream_close(refusal->stream, NULL, NULL);
	g_clear_object(&refusal->stream);
	g_clear_object(&refusal->remote);
	if (refusal->answer)
		g_string_free(refusal->answer, TRUE);
	g_free(refusal);
}

static void add_header(const char *name, const char *value, gpointer data)
{
	g_string_append_printf(data, "%s: %s\r\n", name, value);
}

static GString *answer_text(SoupServerMessage *message)
{
	const guint status = soup_server_message_get_status(message);
	g_autoptr(GBytes) body =
		soup_message_body_flatten(soup_server_message_get_response_body(message));
	GString *text = g_string_new(NULL);
	gsize length;
	const char *bytes = g_bytes_get_data(body, &length);

	g_string_append_printf(text, "HTTP/1.1 %u %s\r\nContent-Length: %" G_GSIZE_FORMAT "\r\n",
			       status, soup_status_get_phrase(status), length);
	soup_message_headers_foreach(soup_server_message_get_response_headers(message), add_header,
				     text);
	g_string_append(text, "\r\n");
	return g_string_append_len(text, bytes, (gssize)length);
}

static void drop(struct http_early_reject *refusal);

static void on_dropped(GObject *input, GAsyncResult *result, gpointer data)
{
	struct http_early_reject *refusal = data;
	const gssize count = g_input_stream_skip_finish(G_INPUT_STREAM(input), result, NULL);

	refusal->dropped += count > 0 ? (gsize)count : 0;
	if (count > 0 && refusal->dropped < DROPPED_MAX)
		drop(refusal);
	else
		refusal_free(refusal);
}

static void drop(struct http_early_reject *refusal)
{
	g_input_stream_skip_async(g_io_stream_get_input_stream(refusal->stream), DROP_AT_ONCE,
				  G_PRIORITY_DEFAULT, NULL, on_dropped, refusal);
}

static void on_written(GObject *output, GAsyncResult *result, gpointer data)
{
	struct http_early_reject *refusal = data;
	GIOStream *stream = http_listener_stream(refusal->remote);

	if (!g_output_stream_write_all_finish(G_OUTPUT_STREAM(output), result, NULL, NULL)) {
		refusal_free(refusal);
		return;
	}
	if (stream)
		refusal->platform->transport->shutdown(stream, false);
	drop(refusal);
}

/* Ends the link to the message, which libsoup does not have any more. */
static void detach_message(struct http_early_reject *refusal)
{
	g_signal_handler_disconnect(refusal->message, refusal->disconnected_id);
	g_source_destroy(refusal->source);
	g_source_unref(refusal->source);
	g_clear_object(&refusal->message);
}

static gboolean take(gpointer data)
{
	struct http_early_reject *refusal = data;
	g_autoptr(SoupServerMessage) message = g_object_ref(refusal->message);

	refusal->answer = answer_text(message);
	g_set_object(&refusal->remote, soup_server_message_get_remote_address(message));
	detach_message(refusal);
	refusal->stream = soup_server_message_steal_connection(message);
	if (!refusal->stream) {
		refusal_free(refusal);
		return G_SOURCE_REMOVE;
	}
	g_output_stream_write_all_async(g_io_stream_get_output_stream(refusal->stream),
					refusal->answer->str, refusal->answer->len,
					G_PRIORITY_DEFAULT, NULL, on_written, refusal);
	return G_SOURCE_REMOVE;
}

static void on_disconnected(SoupServerMessage *message, gpointer data)
{
	detach_message(data);
	refusal_free(data);
}

void http_early_reject_begin(const struct platform *platform, SoupServerMessage *message)
{
	struct http_early_reject *refusal = g_new0(struct http_early_reject, 1);

	soup_server_message_pause(message);
	refusal->platform = platform;
	refusal->message = g_object_ref(message);
	refusal->disconnected_id =
		g_signal_connect(message, "disconnected", G_CALLBACK(on_disconnected), refusal);
	refusal->source = g_idle_source_new();
	g_source_set_priority(refusal->source, G_PRIORITY_DEFAULT);
	g_source_set_callback(refusal->source, take, refusal, NULL);
	g_source_attach(refusal->source, g_main_context_get_thread_default());
}
