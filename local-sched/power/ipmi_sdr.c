/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/ipmi_sdr.h"

#include <glib.h>
#include <math.h>
#include <string.h>

/* Bytes of a full sensor record (IPMI 2.0, table 43-1), counted from 0. */
enum {
	AT_VERSION = 2,
	AT_TYPE = 3,
	AT_LENGTH = 4,
	AT_OWNER = 5,
	AT_LUN = 6,
	AT_NUMBER = 7,
	AT_UNITS = 20,
	AT_BASE_UNIT = 21,
	AT_MODIFIER_UNIT = 22,
	AT_LINEARIZATION = 23,
	AT_FACTORS = 24,
	AT_NAME_LENGTH = 47,
	AT_NAME = 48,
	VERSION = 0x51, /* of IPMI 1.5 and 2.0 */
	UNIT_WATTS = 6,
	FORMAT_ONES_COMPLEMENT = 1,
	FORMAT_TWOS_COMPLEMENT = 2,
	NON_LINEAR = 0x70,
};

/* Of a name (section 43.15). */
enum name_kind { NAME_UNICODE = 0, NAME_BCD_PLUS, NAME_PACKED, NAME_BYTES };

/* The number that the lowest `bits` bits of `value` are, in two's complement. */
static int signed_bits(unsigned value, unsigned bits)
{
	const unsigned top = 1U << (bits - 1);

	value &= 2 * top - 1;
	return (int)value - (value & top ? (int)(2 * top) : 0);
}

void ipmi_sdr_parse_factors(const uint8_t bytes[6], struct ipmi_factors *factors)
{
	factors->m = signed_bits(bytes[0] | (bytes[1] & 0xc0U) << 2, 10);
	factors->b = signed_bits(bytes[2] | (bytes[3] & 0xc0U) << 2, 10);
	factors->r_exponent = signed_bits(bytes[5] >> 4, 4);
	factors->b_exponent = signed_bits(bytes[5] & 0x0fU, 4);
}

/* Appends a name of bytes: UTF-8 where it is, else Latin-1. */
static void append_bytes(GString *name, const uint8_t *bytes, size_t size)
{
	const char *text = (const char *)bytes;
	const size_t length = strnlen(text, size);

	if (g_utf8_validate(text, (gssize)length, NULL)) {
		g_string_append_len(name, text, (gssize)length);
		return;
	}
	for (size_t i = 0; i < length; i++)
		g_string_append_unichar(name, bytes[i]);
}

/* Appends a name of characters of six bits each, packed into bytes, the lowest bits first. */
static void append_packed(GString *name, const uint8_t *bytes, size_t size)
{
	for (size_t bit = 0; bit + 6 <= size * 8; bit += 6) {
		const size_t i = bit / 8;
		const unsigned next = i + 1 < size ? bytes[i + 1] : 0;
		const unsigned two = bytes[i] | next << 8;

		g_string_append_c(name, (char)(0x20 + ((two >> bit % 8) & 0x3f)));
	}
}

static void append_bcd(GString *name, const uint8_t *bytes, size_t size)
{
	static const char digits[] = "0123456789 -.:,_";

	for (size_t i = 0; i < size; i++) {
		g_string_append_c(name, digits[bytes[i] >> 4]);
		g_string_append_c(name, digits[bytes[i] & 0x0f]);
	}
}

static void read_name(const uint8_t *record, size_t size, char *ret_name)
{
	const enum name_kind kind = (enum name_kind)(record[AT_NAME_LENGTH] >> 6);
	const size_t length = MIN((size_t)(record[AT_NAME_LENGTH] & 0x1f), size - AT_NAME);
	g_autoptr(GString) name = g_string_new(NULL);

	switch (kind) {
	case NAME_UNICODE: /* what it would be is not defined; BMCs mean bytes */
	case NAME_BYTES:
		append_bytes(name, record + AT_NAME, length);
		break;
	case NAME_BCD_PLUS:
		append_bcd(name, record + AT_NAME, length);
		break;
	case NAME_PACKED:
		append_packed(name, record + AT_NAME, length);
		break;
	}
	g_strchomp(name->str);
	g_strlcpy(ret_name, name->str, IPMI_SDR_NAME_MAX);
}

bool ipmi_sdr_parse(const uint8_t *record, size_t size, struct ipmi_sensor *ret_sensor)
{
	if (size < AT_NAME || record[AT_VERSION] != VERSION || record[AT_TYPE] != IPMI_SDR_FULL ||
	    size < IPMI_SDR_HEADER + (size_t)record[AT_LENGTH])
		return false;
	*ret_sensor = (struct ipmi_sensor){
		.number = record[AT_NUMBER],
		.owner = {.address = record[AT_OWNER] & 0xfe,
			  .channel = record[AT_LUN] >> 4,
			  .lun = record[AT_LUN] & 0x03},
		.of_software = record[AT_OWNER] & 0x01,
		/* Watts themselves: no rate, no other unit with it, no percentage. */
		.in_watts = (record[AT_UNITS] & 0x3f) == 0 && record[AT_BASE_UNIT] == UNIT_WATTS,
		.factors = {.format = record[AT_UNITS] >> 6,
			    .linearization = record[AT_LINEARIZATION] & 0x7f},
	};
	ipmi_sdr_parse_factors(record + AT_FACTORS, &ret_sensor->factors);
	read_name(record, size, ret_sensor->name);
	return true;
}

bool ipmi_sdr_needs_factors(const struct ipmi_factors *factors)
{
	return factors->linearization >= NON_LINEAR;
}

/* The functions of a linearization (table 43-1, byte 24). */
static double linearize(uint8_t linearization, double x)
{
	switch (linearization) {
	case 0:
		return x;
	case 1:
		return log(x);
	case 2:
		return log10(x);
	case 3:
		return log2(x);
	case 4:
		return exp(x);
	case 5:
		return pow(10, x);
	case 6:
		return exp2(x);
	case 7:
		return 1 / x;
	case 8:
		return x * x;
	case 9:
		return x * x * x;
	case 10:
		return sqrt(x);
	case 11: /* "cube^-1(x)", which ipmitool and FreeIPMI take for this too */
		return cbrt(x);
	default:
		return linearization >= NON_LINEAR ? x : (double)NAN;
	}
}

double ipmi_sdr_watts(const struct ipmi_factors *factors, uint8_t raw)
{
	double x;

	switch (factors->format) {
	case 0:
		x = raw;
		break;
	case FORMAT_ONES_COMPLEMENT:
		x = raw & 0x80 ? -(double)(uint8_t)~raw : raw;
		break;
	case FORMAT_TWOS_COMPLEMENT:
		x = (int8_t)raw;
		break;
	default:
		return (double)NAN;
	}
	x = (factors->m * x + factors->b * pow(10, factors->b_exponent)) *
	    pow(10, factors->r_exponent);
	x = linearize(factors->linearization, x);
	return isfinite(x) ? x : (double)NAN;
}

bool ipmi_sdr_at_top(const struct ipmi_factors *factors, uint8_t raw)
{
	return raw == (factors->format == 0 ? UINT8_MAX : INT8_MAX);
}

bool ipmi_sdr_is_named(const struct ipmi_sensor *sensor, const char *wanted)
{
	g_autofree char *numbered = g_strdup_printf("%s (0x%02x)", sensor->name, sensor->number);
	g_autofree char *name = g_strchomp(g_strdup(wanted));

	return strcmp(name, sensor->name) == 0 || g_ascii_strcasecmp(name, numbered) == 0;
}
