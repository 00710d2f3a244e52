/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/replay/swf_input.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "common/error_fail.h"
#include "common/read_file.h"
#include "controller/replay/swf.h"

/* RAW_SIZE: bytes of a read. TEXT_SIZE: the longest line, with room for a chunk of the next. */
#define RAW_SIZE (256u << 10)
#define TEXT_SIZE (1u << 20)

struct swf_input {
	char *path;
	int fd;
	bool zipped;
	bool raw_ended; /* the file has no more bytes */
	bool between;   /* zipped: between gzip members, or behind the last */
	bool ended;     /* no more text */
	z_stream stream;
	unsigned char *raw;
	char *text;   /* TEXT_SIZE + 1 bytes */
	size_t begin; /* begin of the unread text */
	size_t end;
};

/* Fills the raw buffer when it is empty. Returns false with `error` set. */
static bool fill_raw(struct swf_input *input, GError **error)
{
	ssize_t got;

	if (input->stream.avail_in > 0 || input->raw_ended)
		return true;
	do
		got = read(input->fd, input->raw, RAW_SIZE);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return error_fail(error, SWF_ERROR, SWF_ERROR_READ, "%s: cannot be read: %s",
				  input->path, g_strerror(errno));
	input->raw_ended = got == 0;
	input->stream.next_in = input->raw;
	input->stream.avail_in = (uInt)got;
	return true;
}

struct swf_input *swf_input_open(const char *path, GError **error)
{
	struct swf_input *input = g_new0(struct swf_input, 1);
	g_autoptr(GError) reason = NULL;

	input->path = g_strdup(path);
	input->raw = g_malloc(RAW_SIZE);
	input->text = g_malloc(TEXT_SIZE + 1);
	input->fd = read_file_open(path, &reason);
	if (input->fd < 0) {
		g_set_error_literal(error, SWF_ERROR, SWF_ERROR_READ, reason->message);
	} else if (fill_raw(input, error)) {
		input->zipped = input->stream.avail_in >= 2 && input->raw[0] == 0x1f &&
				input->raw[1] == 0x8b;
		input->between = true;
		if (!input->zipped || inflateInit2(&input->stream, 16 + MAX_WBITS) == Z_OK)
			return input;
		input->zipped = false;
		g_set_error(error, SWF_ERROR, SWF_ERROR_READ, "%s: out of memory", path);
	}
	swf_input_close(input);
	return NULL;
}

void swf_input_close(struct swf_input *input)
{
	if (!input)
		return;
	if (input->zipped)
		inflateEnd(&input->stream);
	if (input->fd >= 0)
		close(input->fd);
	g_free(input->path);
	g_free(input->raw);
	g_free(input->text);
	g_free(input);
}

static bool fail_zip(const struct swf_input *input, const char *what, GError **error)
{
	return error_fail(error, SWF_ERROR, SWF_ERROR_READ,
			  "%s: the gzip stream %s; get the file again", input->path, what);
}

/* Unzips what there is into the free part of the text. Returns false with `error` set. */
static bool inflate_some(struct swf_input *input, GError **error)
{
	z_stream *stream = &input->stream;
	int result;

	if (stream->avail_in == 0) {
		input->ended = true;
		return input->between || fail_zip(input, "is cut short", error);
	}
	if (input->between && *stream->next_in == 0) {
		/* Zeros behind the last member: the end of a tape's or a copy's block. */
		while (stream->avail_in > 0 && *stream->next_in == 0) {
			stream->next_in++;
			stream->avail_in--;
		}
		return true;
	}
	input->between = false;
	stream->next_out = (unsigned char *)input->text + input->end;
	stream->avail_out = (uInt)(TEXT_SIZE - input->end);
	result = inflate(stream, Z_NO_FLUSH);
	input->end = TEXT_SIZE - stream->avail_out;
	if (result == Z_STREAM_END) {
		input->between = true;
		return inflateReset(stream) == Z_OK;
	}
	return result == Z_OK || result == Z_BUF_ERROR || fail_zip(input, "is damaged", error);
}

static void copy_some(struct swf_input *input)
{
	const size_t count = MIN(input->stream.avail_in, TEXT_SIZE - input->end);

	input->ended = count == 0;
	memcpy(input->text + input->end, input->stream.next_in, count);
	input->stream.next_in += count;
	input->stream.avail_in -= (uInt)count;
	input->end += count;
}

/* Appends more text to the unread text. Returns false with `error` set. */
static bool fill_text(struct swf_input *input, GError **error)
{
	memmove(input->text, input->text + input->begin, input->end - input->begin);
	input->end -= input->begin;
	input->begin = 0;
	if (input->end == TEXT_SIZE)
		return error_fail(error, SWF_ERROR, SWF_ERROR_READ,
				  "%s: a line is longer than %u bytes; this is not a trace",
				  input->path, TEXT_SIZE);
	if (!fill_raw(input, error))
		return false;
	if (input->zipped)
		return inflate_some(input, error);
	copy_some(input);
	return true;
}

int swf_input_line(struct swf_input *input, char **ret_line, size_t *ret_length, GError **error)
{
	size_t seen = 0;

	for (;;) {
		char *line = input->text + input->begin;
		const size_t left = input->end - input->begin;
		char *newline = memchr(line + seen, '\n', left - seen);

		if (newline || (input->ended && left > 0)) {
			*ret_length = newline ? (size_t)(newline - line) : left;
			line[*ret_length] = '\0';
			*ret_line = line;
			input->begin += *ret_length + (newline != NULL);
			return 1;
		}
		if (input->ended)
			return 0;
		seen = left;
		if (!fill_text(input, error))
			return -1;
	}
}
