/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/meter_ipmi_parse.h"

#include <glib.h>
#include <string.h>

enum {
	WATTS_TOP = 65535, /* of the 16 bits of a DCMI reading */
	GIST_MAX = 120,
	/* IPMI 2.0, Table 5-2 */
	CC_NODE_BUSY = 0xc0,
	CC_INVALID_COMMAND = 0xc1,
	CC_TIMEOUT = 0xc3,
	/* Get Sensor Reading, second byte */
	SENSOR_UNAVAILABLE = 0x20,
	SENSOR_SCANNING = 0x40,
	RAW_TOP = 255,
};

/* The lines of `text` without the blanks around them. */
static char **trimmed_lines(const char *text)
{
	char **lines = g_strsplit_set(text, "\r\n", -1);

	for (gsize i = 0; lines[i]; i++)
		g_strstrip(lines[i]);
	return lines;
}

/*
 * The text after `label` (which includes its colon) on the line that begins with it, without
 * blanks; NULL: there is no such line or more than one.
 */
static const char *field(char **lines, const char *label)
{
	const char *value = NULL;

	for (gsize i = 0; lines[i]; i++) {
		if (!g_str_has_prefix(lines[i], label))
			continue;
		if (value)
			return NULL;
		value = g_strchug(lines[i] + strlen(label));
	}
	return value;
}

/* Reads `text`, which must be "DIGITS[.DIGITS]" followed by `unit`, as thousandths. */
static bool parse_thousandths(const char *text, const char *unit, int64_t *ret_value)
{
	int64_t value = 0;
	int64_t weight = 1000;
	const char *p = text;

	if (!g_ascii_isdigit(*p))
		return false;
	for (; g_ascii_isdigit(*p) && value <= WATTS_TOP; p++)
		value = value * 10 + g_ascii_digit_value(*p);
	value *= weight;
	if (*p == '.') {
		if (!g_ascii_isdigit(p[1]))
			return false;
		for (p++; g_ascii_isdigit(*p); p++) {
			weight /= 10;
			value += weight * g_ascii_digit_value(*p);
		}
	}
	if (strcmp(p, unit) != 0)
		return false;
	*ret_value = value;
	return true;
}

/* Whether watts in thousandths are within the range, at its top, or impossible. */
static enum power_meter_error judge_range(int64_t mw)
{
	if (mw > (int64_t)WATTS_TOP * 1000)
		return POWER_METER_ERROR_GARBAGE;
	return mw == (int64_t)WATTS_TOP * 1000 ? POWER_METER_ERROR_SATURATED : POWER_METER_OK;
}

/* The completion code at the end of "REASON (c1)"; -1 if there is none. */
static int completion_code(const char *text)
{
	const gsize length = strlen(text);

	if (length < 4 || text[length - 4] != '(' || text[length - 1] != ')' ||
	    !g_ascii_isxdigit(text[length - 3]) || !g_ascii_isxdigit(text[length - 2]))
		return -1;
	return g_ascii_xdigit_value(text[length - 3]) * 16 + g_ascii_xdigit_value(text[length - 2]);
}

static enum power_meter_error judge_code(int code)
{
	switch (code) {
	case -1:
		return POWER_METER_ERROR_GARBAGE;
	case CC_INVALID_COMMAND:
		return POWER_METER_ERROR_SETUP;
	case CC_NODE_BUSY:
	case CC_TIMEOUT:
		return POWER_METER_ERROR_NO_ANSWER;
	default:
		return POWER_METER_ERROR_REJECTED;
	}
}

enum power_meter_error meter_ipmi_parse_dcmi(const char *text, int64_t *ret_mw)
{
	g_auto(GStrv) lines = trimmed_lines(text);
	const char *failure = field(lines, "DCMI request failed because:");
	const char *watts = field(lines, "Instantaneous power reading:");
	const char *state = field(lines, "Power reading state is:");
	enum power_meter_error verdict;
	int64_t mw;

	if (failure)
		return judge_code(completion_code(failure));
	if (field(lines, "Unable to get DCMI information"))
		return POWER_METER_ERROR_NO_ANSWER;
	if (!watts || !state || strchr(watts, '.') || !parse_thousandths(watts, " Watts", &mw))
		return POWER_METER_ERROR_GARBAGE;
	if (strcmp(state, "deactivated") == 0)
		return POWER_METER_ERROR_NOT_ACTIVE;
	if (strcmp(state, "activated") != 0)
		return POWER_METER_ERROR_GARBAGE;
	verdict = judge_range(mw);
	if (verdict == POWER_METER_OK)
		*ret_mw = mw;
	return verdict;
}

/* Whether ipmitool says that there is no sensor of this name. */
static bool says_not_found(const char *text)
{
	return strstr(text, "not found!") != NULL;
}

/* Reads "NAME (0x1f)". */
static bool parse_sensor_id(const char *text, const char *name, uint8_t *ret_number)
{
	const char *p = text + strlen(name);
	guint64 number;
	char *end;

	if (!g_str_has_prefix(text, name) || !g_str_has_prefix(p, " (0x"))
		return false;
	p += strlen(" (0x");
	if (!g_ascii_isxdigit(*p))
		return false;
	number = g_ascii_strtoull(p, &end, 16);
	if (strcmp(end, ")") != 0 || number > UINT8_MAX)
		return false;
	*ret_number = (uint8_t)number;
	return true;
}

enum power_meter_error meter_ipmi_parse_sensor_number(const char *text, const char *name,
						      uint8_t *ret_number)
{
	g_auto(GStrv) lines = trimmed_lines(text);
	const char *id = field(lines, "Sensor ID");
	const char *reading = field(lines, "Sensor Reading");
	uint8_t number;

	if (says_not_found(text))
		return POWER_METER_ERROR_REJECTED;
	if (!id)
		return strstr(text, "Unable to") ? POWER_METER_ERROR_NO_ANSWER
						 : POWER_METER_ERROR_GARBAGE;
	if (*id != ':' || !parse_sensor_id(g_strchug((char *)id + 1), name, &number))
		return POWER_METER_ERROR_GARBAGE;
	/* A silent sensor shows no unit; another unit means the wrong sensor. */
	if (reading && strchr(reading, '(') && !g_str_has_suffix(reading, " Watts"))
		return POWER_METER_ERROR_GARBAGE;
	*ret_number = number;
	return POWER_METER_OK;
}

/* Reads a line of bytes in hexadecimal, "ff c0 00 00". Returns how many, or 0 if it is none. */
static gsize parse_bytes(const char *line, uint8_t *ret_bytes, gsize max)
{
	gsize count = 0;

	while (*line) {
		if (count == max || !g_ascii_isxdigit(line[0]) || !g_ascii_isxdigit(line[1]) ||
		    (line[2] && line[2] != ' '))
			return 0;
		ret_bytes[count++] = (uint8_t)(g_ascii_xdigit_value(line[0]) * 16 +
					       g_ascii_xdigit_value(line[1]));
		line += line[2] ? 3 : 2;
	}
	return count;
}

enum power_meter_error meter_ipmi_parse_sensor_raw(const char *text)
{
	g_auto(GStrv) lines = trimmed_lines(text);
	uint8_t bytes[4];
	gsize count = 0;

	if (strstr(text, "rsp=0x"))
		return POWER_METER_ERROR_REJECTED;
	if (strstr(text, "Unable to send RAW command"))
		return POWER_METER_ERROR_NO_ANSWER;
	for (gsize i = 0; lines[i] && count == 0; i++)
		count = parse_bytes(lines[i], bytes, G_N_ELEMENTS(bytes));
	/* The last byte is absent for threshold sensors on some controllers. */
	if (count < 2)
		return POWER_METER_ERROR_GARBAGE;
	if ((bytes[1] & SENSOR_UNAVAILABLE) || !(bytes[1] & SENSOR_SCANNING))
		return POWER_METER_ERROR_NOT_ACTIVE;
	return bytes[0] == RAW_TOP ? POWER_METER_ERROR_SATURATED : POWER_METER_OK;
}

/* The text after the bar in "NAME | VALUE", or NULL. */
static const char *sensor_value(char **lines, const char *name)
{
	for (gsize i = 0; lines[i]; i++) {
		const char *rest = lines[i] + strlen(name);

		if (!g_str_has_prefix(lines[i], name))
			continue;
		while (*rest == ' ')
			rest++;
		if (*rest == '|')
			return g_strchug((char *)rest + 1);
	}
	return NULL;
}

enum power_meter_error meter_ipmi_parse_sensor(const char *text, const char *name, int64_t *ret_mw)
{
	g_auto(GStrv) lines = trimmed_lines(text);
	const char *value = sensor_value(lines, name);
	enum power_meter_error verdict;
	int64_t mw;

	if (!value) {
		g_autofree char *gist = meter_ipmi_parse_gist(text);

		if (says_not_found(text))
			return POWER_METER_ERROR_REJECTED;
		if (strstr(text, "Unable to"))
			return POWER_METER_ERROR_NO_ANSWER;
		/* A sensor without a reading prints nothing at all. */
		return *gist ? POWER_METER_ERROR_GARBAGE : POWER_METER_ERROR_NOT_ACTIVE;
	}
	if (strcmp(value, "na") == 0 || strcmp(value, "ns") == 0 || strcmp(value, "disabled") == 0)
		return POWER_METER_ERROR_NOT_ACTIVE;
	if (!parse_thousandths(value, "", &mw))
		return POWER_METER_ERROR_GARBAGE;
	verdict = judge_range(mw);
	if (verdict == POWER_METER_OK)
		*ret_mw = mw;
	return verdict;
}

char *meter_ipmi_parse_gist(const char *text)
{
	g_autofree char *valid = g_utf8_make_valid(text, -1);
	g_auto(GStrv) lines = trimmed_lines(valid);
	g_autoptr(GString) gist = g_string_new(NULL);

	for (gsize i = 0; lines[i]; i++)
		if (*lines[i])
			g_string_append_printf(gist, "%s%s", gist->len ? " | " : "", lines[i]);
	if (g_utf8_strlen(gist->str, -1) > GIST_MAX)
		return g_utf8_substring(gist->str, 0, GIST_MAX);
	return g_string_free(g_steal_pointer(&gist), FALSE);
}
