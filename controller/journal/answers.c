/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/journal/answers.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

void answers_init(struct answers *answers)
{
	*answers = (struct answers){.bytes = g_byte_array_new()};
}

void answers_finish(struct answers *answers)
{
	g_byte_array_unref(answers->bytes);
}

void answers_restart(struct answers *answers)
{
	memset(answers->last, 0, sizeof(answers->last));
}

bool answers_begin(struct answers *answers, double time_s, const char *text)
{
	gsize size = 0;
	g_autofree guchar *bytes = text ? g_base64_decode(text, &size) : NULL;

	g_byte_array_set_size(answers->bytes, 0);
	answers->expected = 0;
	answers->at = 0;
	if (!isnan(time_s))
		answers->last[ANSWER_CLOCK] = time_s;
	if (size > G_MAXINT)
		return false;
	if (size > 0)
		g_byte_array_append(answers->bytes, bytes, (guint)size);
	return !text || size > 0;
}

static uint64_t bits_of(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static double of_bits(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/*
 * Appends a difference: a byte with its sign, the number of its bytes and that of the zero bytes
 * below them, which are left out, then the bytes. Round values have many zero bytes, and readings
 * that follow one another closely few bytes at all. A difference of 0 is one byte of 0.
 */
static void append_difference(GByteArray *bytes, uint64_t difference)
{
	const bool negative = difference >> 63;
	uint64_t left = negative ? -difference : difference;
	guint8 text[9];
	guint8 zeros = 0;
	guint8 count = 0;

	for (; left > 0 && (left & 0xff) == 0; left >>= 8)
		zeros++;
	for (; left > 0; left >>= 8)
		text[++count] = (guint8)(left & 0xff);
	text[0] = (guint8)((negative ? 0x80 : 0) | count << 3 | zeros);
	g_byte_array_append(bytes, text, count + 1u);
}

void answers_add(struct answers *answers, enum answer_kind kind, double value)
{
	const uint64_t difference = bits_of(value) - bits_of(answers->last[kind]);

	if (difference == 0) {
		answers->expected++;
		return;
	}
	for (; answers->expected > 0; answers->expected--)
		append_difference(answers->bytes, 0);
	append_difference(answers->bytes, difference);
	answers->last[kind] = value;
}

char *answers_text(const struct answers *answers)
{
	return answers->bytes->len > 0 ? g_base64_encode(answers->bytes->data, answers->bytes->len)
				       : NULL;
}

/* The next difference; 0 at the end, or where it is cut off. */
static uint64_t next_difference(struct answers *answers)
{
	const guint8 *bytes = answers->bytes->data;
	const guint left = answers->bytes->len - answers->at;
	const guint8 head = left > 0 ? bytes[answers->at] : 0;
	const guint count = head >> 3 & 0xf;
	const guint zeros = head & 7;
	uint64_t difference = 0;

	if (left == 0)
		return 0;
	if (count + zeros > 8 || count >= left) {
		answers->at = answers->bytes->len;
		return 0;
	}
	for (guint i = 0; i < count; i++)
		difference |= (uint64_t)bytes[answers->at + 1 + i] << (8 * (zeros + i));
	answers->at += 1 + count;
	return head & 0x80 ? -difference : difference;
}

double answers_next(struct answers *answers, enum answer_kind kind)
{
	const uint64_t difference = next_difference(answers);

	if (difference != 0)
		answers->last[kind] = of_bits(bits_of(answers->last[kind]) + difference);
	return answers->last[kind];
}

bool answers_left(const struct answers *answers)
{
	return answers->at < answers->bytes->len;
}
