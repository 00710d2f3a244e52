/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/journal/state_pack.h"

#include <string.h>
#include <zlib.h>

#include "common/json.h"
#include "common/read_number.h"

/* The longest JSON that is unpacked: of a million tasks it is five sixths of that. */
#define BYTES_MAX (300u << 20)

/* Bytes that are packed or unpacked at a time. */
#define CHUNK 65536

/* What a state begins with that is no text. */
#define MARK 0

struct state_packer {
	z_stream stream;
	GByteArray *packed;
};

/* Packs bytes; `flush` Z_FINISH: they are the last ones. */
static void pack(struct state_packer *packer, const char *bytes, size_t size, int flush)
{
	z_stream *stream = &packer->stream;
	guint8 chunk[CHUNK];

	stream->next_in = (Bytef *)bytes;
	stream->avail_in = (uInt)size;
	do {
		stream->next_out = chunk;
		stream->avail_out = sizeof(chunk);
		deflate(stream, flush);
		g_byte_array_append(packer->packed, chunk,
				    (guint)(sizeof(chunk) - stream->avail_out));
	} while (stream->avail_out == 0);
}

static void add_line(struct state_packer *packer, const json_t *object)
{
	g_autofree char *line = json_text(object);

	pack(packer, line, strlen(line), Z_NO_FLUSH);
	pack(packer, "\n", 1, Z_NO_FLUSH);
}

struct state_packer *state_packer_new(const json_t *head)
{
	static const guint8 mark = MARK;
	struct state_packer *packer = g_new0(struct state_packer, 1);

	if (deflateInit(&packer->stream, Z_BEST_COMPRESSION) != Z_OK)
		g_error("out of memory");
	packer->packed = g_byte_array_new();
	g_byte_array_append(packer->packed, &mark, 1);
	add_line(packer, head);
	return packer;
}

void state_packer_add(const json_t *task, void *data)
{
	add_line(data, task);
}

GBytes *state_packer_end(struct state_packer *packer)
{
	GBytes *state;

	pack(packer, NULL, 0, Z_FINISH);
	deflateEnd(&packer->stream);
	state = g_byte_array_free_to_bytes(packer->packed);
	g_free(packer);
	return state;
}

/* Reads the lines that are whole, and removes them. */
static bool read_lines(GByteArray *text, json_t **head, json_t *tasks)
{
	const char *from = (const char *)text->data;
	const char *end = from ? from + text->len : NULL;
	const char *line_end;

	while (from && (line_end = memchr(from, '\n', (size_t)(end - from)))) {
		json_t *line = json_parse(from, (size_t)(line_end - from), "a full state", NULL);

		if (!line)
			return false;
		if (*head)
			json_array_append_new(tasks, line);
		else
			*head = line;
		from = line_end + 1;
	}
	if (from)
		g_byte_array_remove_range(text, 0, (guint)(from - (const char *)text->data));
	return true;
}

/* Whether all was unpacked. */
static bool unpack(z_stream *stream, json_t **head, json_t *tasks)
{
	g_autoptr(GByteArray) text = g_byte_array_new();
	guint8 chunk[CHUNK];
	int code;

	do {
		stream->next_out = chunk;
		stream->avail_out = sizeof(chunk);
		code = inflate(stream, Z_NO_FLUSH);
		if ((code != Z_OK && code != Z_STREAM_END) || stream->total_out > BYTES_MAX)
			return false;
		g_byte_array_append(text, chunk, (guint)(sizeof(chunk) - stream->avail_out));
		if (!read_lines(text, head, tasks))
			return false;
	} while (code != Z_STREAM_END);
	return text->len == 0 && stream->avail_in == 0;
}

static json_t *unpack_lines(const guint8 *data, gsize size)
{
	z_stream stream = {.next_in = (Bytef *)data, .avail_in = (uInt)size};
	json_t *tasks = json_array();
	json_t *head = NULL;
	bool good;

	if (inflateInit(&stream) != Z_OK)
		g_error("out of memory");
	good = unpack(&stream, &head, tasks);
	inflateEnd(&stream);
	good = good && json_is_object(json_object_get(head, "engine"));
	if (good && json_array_size(tasks) > 0)
		json_object_set(json_object_get(head, "engine"), "tasks", tasks);
	json_decref(tasks);
	if (!good)
		g_clear_pointer(&head, json_decref);
	return head;
}

/* Of version 12. */
static json_t *unpack_text(const char *text)
{
	const char *blank = strchr(text, ' ');
	g_autofree char *number = blank ? g_strndup(text, (gsize)(blank - text)) : NULL;
	g_autofree guchar *packed = NULL;
	g_autofree char *json = NULL;
	guint64 length;
	uLongf size;
	gsize packed_size;

	if (!number || !read_number_unsigned(number, 1, BYTES_MAX, &length))
		return NULL;
	packed = g_base64_decode(blank + 1, &packed_size);
	/* zlib packs a thousand bytes into one at best. */
	if (length / 1100 > packed_size)
		return NULL;
	json = g_try_malloc(length);
	size = length;
	if (!json || uncompress((Bytef *)json, &size, packed, packed_size) != Z_OK ||
	    size != length)
		return NULL;
	return json_parse(json, length, "a full state", NULL);
}

json_t *state_unpack(GBytes *state)
{
	gsize size;
	const guint8 *data = g_bytes_get_data(state, &size);
	g_autofree char *text = NULL;

	if (size == 0 || size > G_MAXUINT)
		return NULL;
	if (data[0] == MARK)
		return unpack_lines(data + 1, size - 1);
	text = g_strndup((const char *)data, size);
	return unpack_text(text);
}
