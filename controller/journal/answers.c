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

static void append_number(GByteArray *bytes, uint64_t number)
{
	do {
		const guint8 byte = (guint8)((number & 0x7f) | (number > 0x7f ? 0x80 : 0));

		g_byte_array_append(bytes, &byte, 1);
		number >>= 7;
	} while (number > 0);
}

void answers_add(struct answers *answers, enum answer_kind kind, double value)
{
	const uint64_t difference = bits_of(value) - bits_of(answers->last[kind]);

	if (difference == 0) {
		answers->expected++;
		return;
	}
	for (; answers->expected > 0; answers->expected--)
		append_number(answers->bytes, 0);
	append_number(answers->bytes, difference << 1 ^ (difference >> 63 ? UINT64_MAX : 0));
	answers->last[kind] = value;
}

char *answers_text(const struct answers *answers)
{
	return answers->bytes->len > 0 ? g_base64_encode(answers->bytes->data, answers->bytes->len)
				       : NULL;
}

/* The next number; 0 at the end, or where it is cut off. */
static uint64_t next_number(struct answers *answers)
{
	uint64_t number = 0;

	for (unsigned int shift = 0; answers->at < answers->bytes->len && shift < 64; shift += 7) {
		const guint8 byte = answers->bytes->data[answers->at++];

		number |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return number;
	}
	return 0;
}

double answers_next(struct answers *answers, enum answer_kind kind)
{
	const uint64_t number = next_number(answers);
	const uint64_t difference = number >> 1 ^ (number & 1 ? UINT64_MAX : 0);

	if (difference != 0)
		answers->last[kind] = of_bits(bits_of(answers->last[kind]) + difference);
	return answers->last[kind];
}

bool answers_left(const struct answers *answers)
{
	return answers->at < answers->bytes->len;
}
