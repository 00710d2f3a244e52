/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/http_method_filter.h"

#include <stdbool.h>
#include <string.h>

static const char *const methods[] = {
	"GET ", "HEAD ", "POST ", "PUT ", "DELETE ", "PATCH ", "OPTIONS ", "TRACE ", "CONNECT ",
};

enum {
	WORD_MAX = sizeof("OPTIONS ") - 1,
	LINE_MAX_KEPT = 63, /* kept bytes of a header line, enough to identify it */
};

static const char no_method[] = "HTTP/1.1 501 Not Implemented\r\nConnection: close\r\n"
				"Content-Type: application/json\r\nContent-Length: 35\r\n\r\n"
				"{\"error\":\"that is no HTTP method\"}\n";

static const char no_headers[] = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n"
				 "Content-Type: application/json\r\nContent-Length: 57\r\n\r\n"
				 "{\"error\":\"the headers do not say where the request ends\"}";

G_DECLARE_FINAL_TYPE(MethodFilter, method_filter, METHOD, FILTER, GInputStream)

struct _MethodFilter {
	GInputStream parent;
	GIOStream *base;
	char word[WORD_MAX]; /* the first word so far */
	guint length;
	bool known;                   /* it is a method, and lines follow */
	bool done;                    /* the headers have ended; the rest is passed through */
	bool heads;                   /* the line is a header, not the first line */
	char line[LINE_MAX_KEPT + 1]; /* beginning of the present line */
	gsize line_length;
};

static void pollable_init(GPollableInputStreamInterface *interface);

G_DEFINE_FINAL_TYPE_WITH_CODE(MethodFilter, method_filter, G_TYPE_INPUT_STREAM,
			      G_IMPLEMENT_INTERFACE(G_TYPE_POLLABLE_INPUT_STREAM, pollable_init))

static GInputStream *base_input(MethodFilter *self)
{
	return g_io_stream_get_input_stream(self->base);
}

/* Whether a method begins with this text. */
static bool is_like_method(const char *word, guint length)
{
	for (gsize i = 0; i < G_N_ELEMENTS(methods); i++)
		if (strncmp(methods[i], word, length) == 0)
			return true;
	return false;
}

/* A new connection has room in its send buffer for such a short answer. */
static void answer(MethodFilter *self, const char *text)
{
	GOutputStream *output = g_io_stream_get_output_stream(self->base);

	if (G_IS_POLLABLE_OUTPUT_STREAM(output))
		g_pollable_output_stream_write_nonblocking(G_POLLABLE_OUTPUT_STREAM(output), text,
							   strlen(text), NULL, NULL);
}

/* The value of the header line in `line`, if `name` is its name; else NULL. `line` is changed. */
static const char *value_of(char *line, const char *name)
{
	const gsize length = strlen(name);

	if (g_ascii_strncasecmp(line, name, length) != 0 || line[length] != ':')
		return NULL;
	return g_strstrip(line + length + 1);
}

/*
 * Whether the line that ends now is accepted: libsoup never frees the target, of up to 100 KiB, of
 * a request with an unknown length or coding (3.2.3, parse_headers()).
 */
static bool is_line_good(MethodFilter *self)
{
	const bool whole = self->line_length <= LINE_MAX_KEPT;
	const char *value;

	self->line[MIN(self->line_length, LINE_MAX_KEPT)] = '\0';
	if (*self->line == ' ' || *self->line == '\t') /* continues the line before */
		return false;
	if ((value = value_of(self->line, "Content-Length")))
		return whole && *value && strspn(value, G_CSET_DIGITS) == strlen(value);
	if ((value = value_of(self->line, "Transfer-Encoding")))
		return whole && g_ascii_strcasecmp(value, "chunked") == 0;
	return true;
}

/* Processes a byte of the headers. Returns false if it is not allowed; libsoup removes NULs. */
static bool scan(MethodFilter *self, char byte)
{
	bool good = byte != '\0';

	if (byte != '\n') {
		if (self->line_length < LINE_MAX_KEPT)
			self->line[self->line_length] = byte;
		self->line_length++;
		return good;
	}
	self->done = self->heads &&
		     (self->line_length == 0 || (self->line_length == 1 && *self->line == '\r'));
	good = !self->heads || self->done || is_line_good(self);
	self->heads = true;
	self->line_length = 0;
	return good;
}

/* Processes a byte of the first word. Returns false if no method has it there. */
static bool check_word(MethodFilter *self, char byte)
{
	if (self->length == 0 && (byte == '\r' || byte == '\n'))
		return true;
	self->word[self->length++] = byte;
	self->known = byte == ' ';
	return is_like_method(self->word, self->length);
}

/*
 * Processes `count` bytes that were read (below 1: none). Returns their number, or -1 with `error`
 * after an answer.
 */
static gssize examine(MethodFilter *self, const char *bytes, gssize count, GError **error)
{
	for (gssize i = 0; i < count && !self->done; i++) {
		const bool known = self->known;

		if (known ? scan(self, bytes[i]) : check_word(self, bytes[i]))
			continue;
		answer(self, known ? no_headers : no_method);
		g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA,
				    "no request of HTTP");
		return -1;
	}
	return count;
}

/* GInputStream. */

static gssize read_some(GInputStream *stream, void *buffer, gsize count, GCancellable *cancellable,
			GError **error)
{
	MethodFilter *self = METHOD_FILTER(stream);

	return examine(self, buffer,
		       g_input_stream_read(base_input(self), buffer, count, cancellable, error),
		       error);
}

static gboolean close_now(GInputStream *stream, GCancellable *cancellable, GError **error)
{
	return g_io_stream_close(METHOD_FILTER(stream)->base, cancellable, error);
}

static void on_closed(GObject *base, GAsyncResult *result, gpointer data)
{
	g_autoptr(GTask) task = data;
	GError *error = NULL;

	if (g_io_stream_close_finish(G_IO_STREAM(base), result, &error))
		g_task_return_boolean(task, TRUE);
	else
		g_task_return_error(task, error);
}

static void close_later(GInputStream *stream, int priority, GCancellable *cancellable,
			GAsyncReadyCallback callback, gpointer data)
{
	GTask *task = g_task_new(stream, cancellable, callback, data);

	g_io_stream_close_async(METHOD_FILTER(stream)->base, priority, cancellable, on_closed,
				task);
}

static gboolean close_finish(GInputStream *stream, GAsyncResult *result, GError **error)
{
	return g_task_propagate_boolean(G_TASK(result), error);
}

/* GPollableInputStream. */

static gboolean can_poll(GPollableInputStream *stream)
{
	GInputStream *input = base_input(METHOD_FILTER(stream));

	return G_IS_POLLABLE_INPUT_STREAM(input) &&
	       g_pollable_input_stream_can_poll(G_POLLABLE_INPUT_STREAM(input));
}

static gboolean is_readable(GPollableInputStream *stream)
{
	return g_pollable_input_stream_is_readable(
		G_POLLABLE_INPUT_STREAM(base_input(METHOD_FILTER(stream))));
}

static GSource *create_source(GPollableInputStream *stream, GCancellable *cancellable)
{
	g_autoptr(GSource) readable = g_pollable_input_stream_create_source(
		G_POLLABLE_INPUT_STREAM(base_input(METHOD_FILTER(stream))), NULL);

	return g_pollable_source_new_full(stream, readable, cancellable);
}

static gssize read_nonblocking(GPollableInputStream *stream, void *buffer, gsize count,
			       GError **error)
{
	MethodFilter *self = METHOD_FILTER(stream);

	return examine(self, buffer,
		       g_pollable_input_stream_read_nonblocking(G_POLLABLE_INPUT_STREAM(
									base_input(self)),
								buffer, count, NULL, error),
		       error);
}

static void pollable_init(GPollableInputStreamInterface *interface)
{
	interface->can_poll = can_poll;
	interface->is_readable = is_readable;
	interface->create_source = create_source;
	interface->read_nonblocking = read_nonblocking;
}

/* Life cycle. */

static void finalize(GObject *object)
{
	g_object_unref(METHOD_FILTER(object)->base);
	G_OBJECT_CLASS(method_filter_parent_class)->finalize(object);
}

static void method_filter_class_init(MethodFilterClass *class)
{
	GInputStreamClass *input = G_INPUT_STREAM_CLASS(class);

	G_OBJECT_CLASS(class)->finalize = finalize;
	input->read_fn = read_some;
	input->close_fn = close_now;
	input->close_async = close_later;
	input->close_finish = close_finish;
}

static void method_filter_init(MethodFilter *self)
{
}

GIOStream *http_method_filter_new(GIOStream *base)
{
	g_autoptr(MethodFilter) input = g_object_new(method_filter_get_type(), NULL);

	input->base = g_object_ref(base);
	return g_simple_io_stream_new(G_INPUT_STREAM(input), g_io_stream_get_output_stream(base));
}
