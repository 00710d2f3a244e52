/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/journal/state_pack.h"

#include <string.h>
#include <zlib.h>

#include "common/config/config_service.h"
#include "common/json.h"
#include "common/read_number.h"

/* The longest JSON that is unpacked: of a million tasks it is five sixths of that. */
#define BYTES_MAX (300u << 20)

/* The longest lines: a head names a million planned tasks, and a task the nodes of a cluster. */
#define HEAD_BYTES_MAX (100u << 20)
#define TASK_BYTES_MAX (64u << 10)

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

/* What was read. */
struct reader {
	GByteArray *line; /* of which the end is to come */
	json_t *head;     /* NULL: it is to come */
	json_t *tasks;
};

static bool read_line(struct reader *reader)
{
	json_t *object = reader->line->len > 0 ? json_parse((const char *)reader->line->data,
							    reader->line->len, "a full state", NULL)
					       : NULL;

	g_byte_array_set_size(reader->line, 0);
	if (!json_is_object(object) || json_array_size(reader->tasks) >= CONFIG_SERVICE_TASKS_MAX) {
		json_decref(object);
		return false;
	}
	if (reader->head)
		json_array_append_new(reader->tasks, object);
	else
		reader->head = object;
	return true;
}

/* Reads the next bytes; false: they are no such lines. */
static bool read_lines(struct reader *reader, const guint8 *bytes, gsize size)
{
	while (size > 0) {
		const guint8 *end = memchr(bytes, '\n', size);
		const gsize part = end ? (gsize)(end - bytes) : size;

		if (reader->line->len + part > (reader->head ? TASK_BYTES_MAX : HEAD_BYTES_MAX))
			return false;
		g_byte_array_append(reader->line, bytes, (guint)part);
		if (!end)
			return true;
		if (!read_line(reader))
			return false;
		bytes = end + 1;
		size -= part + 1;
	}
	return true;
}

/* Whether all was unpacked. */
static bool unpack(z_stream *stream, struct reader *reader)
{
	guint8 chunk[CHUNK];
	int code;

	do {
		stream->next_out = chunk;
		stream->avail_out = sizeof(chunk);
		code = inflate(stream, Z_NO_FLUSH);
		if ((code != Z_OK && code != Z_STREAM_END) || stream->total_out > BYTES_MAX ||
		    !read_lines(reader, chunk, sizeof(chunk) - stream->avail_out))
			return false;
	} while (code != Z_STREAM_END);
	return reader->line->len == 0 && stream->avail_in == 0;
}

static json_t *unpack_lines(const guint8 *data, gsize size)
{
	z_stream stream = {.next_in = (Bytef *)data, .avail_in = (uInt)size};
	struct reader reader = {.line = g_byte_array_new(), .tasks = json_array()};
	json_t *engine;
	bool good;

	if (inflateInit(&stream) != Z_OK)
		g_error("out of memory");
	good = unpack(&stream, &reader);
	inflateEnd(&stream);
	engine = json_object_get(reader.head, "engine");
	good = good && json_is_object(engine);
	if (good && json_array_size(reader.tasks) > 0)
		json_object_set(engine, "tasks", reader.tasks);
	json_decref(reader.tasks);
	g_byte_array_unref(reader.line);
	if (!good)
		g_clear_pointer(&reader.head, json_decref);
	return reader.head;
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
