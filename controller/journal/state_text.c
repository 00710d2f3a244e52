/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/journal/state_text.h"

#include <glib.h>
#include <inttypes.h>
#include <string.h>
#include <zlib.h>

#include "common/json.h"
#include "common/read_number.h"

/* The longest JSON that is unpacked: of a million tasks it is five sixths of that. */
#define BYTES_MAX (300u << 20)

char *state_text_pack(const json_t *state)
{
	g_autofree char *text = json_text(state);
	const uLong length = (uLong)strlen(text);
	uLongf size = compressBound(length);
	g_autofree guchar *packed = g_malloc(size);
	g_autofree char *encoded = NULL;

	if (compress2(packed, &size, (const Bytef *)text, length, Z_BEST_SPEED) != Z_OK)
		g_error("out of memory");
	encoded = g_base64_encode(packed, size);
	return g_strdup_printf("%lu %s", length, encoded);
}

json_t *state_text_unpack(const char *text)
{
	const char *blank = text ? strchr(text, ' ') : NULL;
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
