/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/meter_ipmi_parse.h"

#include <glib.h>
#include <string.h>

#include "common/visible.h"

enum {
	GIST_MAX = 120,
	/* IPMI 2.0, table 5-2 */
	CC_NODE_BUSY = 0xc0,
	CC_INVALID_COMMAND = 0xc1,
	CC_TIMEOUT = 0xc3,
	/* Get Power Reading */
	DCMI_GROUP = 0xdc,
	DCMI_SIZE = 18,
	DCMI_ACTIVE = 0x40,
	/*
	 * As many, or more, are no reading: all ones where the BMC knows none, or what is below 0
	 * in two's complement. No machine draws 32 kW.
	 */
	WATTS_NEGATIVE = 32768,
	/* Get Node Manager Statistics */
	NM_SIZE = 20,
	NM_MEASURES = 0x40,
	/* Get Sensor Reading, second byte */
	SENSOR_UNAVAILABLE = 0x20,
	SENSOR_SCANNING = 0x40,
};

/* A line before the bytes of an answer begins so. */
#define RESPONSE "RAW RSP ("

static enum power_meter_error judge_code(int code)
{
	switch (code) {
	case 0:
		return POWER_METER_OK;
	case CC_INVALID_COMMAND:
		return POWER_METER_ERROR_SETUP;
	case CC_NODE_BUSY:
	case CC_TIMEOUT:
		return POWER_METER_ERROR_NO_ANSWER;
	default:
		return POWER_METER_ERROR_REJECTED;
	}
}

/* Adds a line of bytes in hexadecimal, " ff c0 00"; false: it is none. */
static bool add_bytes(const char *line, struct ipmi_answer *answer)
{
	const size_t before = answer->size;

	while (*line) {
		if (answer->size == IPMI_ANSWER_MAX || !g_ascii_isxdigit(line[0]) ||
		    !g_ascii_isxdigit(line[1]) || (line[2] && line[2] != ' ')) {
			answer->size = before;
			return false;
		}
		answer->bytes[answer->size++] = (uint8_t)(g_ascii_xdigit_value(line[0]) * 16 +
							  g_ascii_xdigit_value(line[1]));
		line += line[2] ? 3 : 2;
	}
	return true;
}

/* The completion code of "... cmd=0x2 rsp=0xc1): Invalid command"; -1: there is none. */
static int code_of(const char *text)
{
	const char *at = strstr(text, " rsp=0x");
	guint64 code;
	char *end;

	if (!at)
		return -1;
	at += strlen(" rsp=0x");
	if (!g_ascii_isxdigit(*at))
		return -1;
	code = g_ascii_strtoull(at, &end, 16);
	return *end == ')' && code > 0 && code <= UINT8_MAX ? (int)code : -1;
}

/*
 * Whether a line is what ipmitool says beside the answer: of the request (after `set verbose 0`
 * too), or of a late answer to an earlier one. snmpget says what it makes in a new directory.
 */
static bool is_aside(const char *line)
{
	return g_str_has_prefix(line, "Created directory: ") ||
	       g_str_has_prefix(line, "RAW REQ (") ||
	       strstr(line, "Received an Unexpected message ID");
}

/* The number of "RAW RSP (18 bytes)"; -1: the line is none. */
static int announced(const char *line)
{
	guint64 size;
	char *end;

	if (!g_str_has_prefix(line, RESPONSE) || !g_ascii_isdigit(line[strlen(RESPONSE)]))
		return -1;
	size = g_ascii_strtoull(line + strlen(RESPONSE), &end, 10);
	return strcmp(end, " bytes)") == 0 && size <= IPMI_ANSWER_MAX ? (int)size : -1;
}

/* No line at all is an answer without bytes. */
enum power_meter_error meter_ipmi_parse_raw(const char *text, struct ipmi_answer *ret_answer)
{
	g_auto(GStrv) lines = g_strsplit_set(text, "\r\n", -1);
	bool others = false;
	int size = -1;

	*ret_answer = (struct ipmi_answer){.code = -1};
	if (strstr(text, "Unable to send RAW command")) {
		ret_answer->code = code_of(text);
		return ret_answer->code < 0 ? POWER_METER_ERROR_NO_ANSWER
					    : judge_code(ret_answer->code);
	}
	for (gsize i = 0; lines[i]; i++) {
		g_strstrip(lines[i]);
		if (!*lines[i] || is_aside(lines[i]))
			continue;
		if (size < 0 && ret_answer->size == 0 && announced(lines[i]) >= 0)
			size = announced(lines[i]);
		else if (!add_bytes(lines[i], ret_answer))
			others = true;
	}
	if (others || (size >= 0 && (size_t)size != ret_answer->size)) {
		*ret_answer = (struct ipmi_answer){.code = -1};
		return POWER_METER_ERROR_GARBAGE;
	}
	ret_answer->code = 0;
	return POWER_METER_OK;
}

static unsigned number_at(const struct ipmi_answer *answer, size_t at, unsigned bytes)
{
	unsigned number = 0;

	for (unsigned i = 0; i < bytes; i++)
		number |= (unsigned)answer->bytes[at + i] << 8 * i;
	return number;
}

enum power_meter_error meter_ipmi_parse_dcmi(const struct ipmi_answer *answer,
					     struct ipmi_dcmi *ret_dcmi)
{
	unsigned watts;

	if (answer->code != 0)
		return judge_code(answer->code);
	if (answer->size < DCMI_SIZE || answer->bytes[0] != DCMI_GROUP)
		return POWER_METER_ERROR_GARBAGE;
	if (!(answer->bytes[17] & DCMI_ACTIVE))
		return POWER_METER_ERROR_NOT_ACTIVE;
	watts = number_at(answer, 1, 2);
	if (watts >= WATTS_NEGATIVE)
		return POWER_METER_ERROR_SATURATED;
	*ret_dcmi = (struct ipmi_dcmi){.mw = (int64_t)watts * 1000,
				       .least_mw = (int64_t)number_at(answer, 3, 2) * 1000,
				       .most_mw = (int64_t)number_at(answer, 5, 2) * 1000,
				       .mean_mw = (int64_t)number_at(answer, 7, 2) * 1000,
				       .period_s = number_at(answer, 13, 4) / 1e3};
	return POWER_METER_OK;
}

enum power_meter_error meter_ipmi_parse_watts(const struct ipmi_answer *answer, uint32_t at,
					      int64_t *ret_mw)
{
	static const uint8_t intel[] = {0x57, 0x01, 0x00};
	unsigned watts;

	if (answer->code != 0)
		return judge_code(answer->code);
	if (answer->size < (size_t)at + 1)
		return POWER_METER_ERROR_GARBAGE;
	if (answer->size == NM_SIZE && memcmp(answer->bytes, intel, sizeof intel) == 0 &&
	    !(answer->bytes[NM_SIZE - 1] & NM_MEASURES))
		return POWER_METER_ERROR_NOT_ACTIVE;
	watts = number_at(answer, at - 1, 2);
	if (watts >= WATTS_NEGATIVE)
		return POWER_METER_ERROR_SATURATED;
	*ret_mw = (int64_t)watts * 1000;
	return POWER_METER_OK;
}

enum power_meter_error meter_ipmi_parse_sensor(const struct ipmi_answer *answer, uint8_t *ret_raw)
{
	if (answer->code != 0)
		return judge_code(answer->code);
	/* The bytes after the second are absent on some controllers. */
	if (answer->size < 2)
		return POWER_METER_ERROR_GARBAGE;
	if ((answer->bytes[1] & SENSOR_UNAVAILABLE) || !(answer->bytes[1] & SENSOR_SCANNING))
		return POWER_METER_ERROR_NOT_ACTIVE;
	*ret_raw = answer->bytes[0];
	return POWER_METER_OK;
}

const char *meter_ipmi_code_text(int code)
{
	static const struct {
		int code;
		const char *text;
	} texts[] = {
		{0xc0, "Node busy"},
		{0xc1, "Invalid command"},
		{0xc2, "Invalid command on LUN"},
		{0xc3, "Timeout"},
		{0xc4, "Out of space"},
		{0xc5, "Reservation cancelled or invalid"},
		{0xc6, "Request data truncated"},
		{0xc7, "Request data length invalid"},
		{0xc8, "Request data field length limit exceeded"},
		{0xc9, "Parameter out of range"},
		{0xca, "Cannot return number of requested data bytes"},
		{0xcb, "Requested sensor, data, or record not found"},
		{0xcc, "Invalid data field in request"},
		{0xcd, "Command illegal for specified sensor or record type"},
		{0xce, "Command response could not be provided"},
		{0xcf, "Cannot execute duplicated request"},
		{0xd0, "SDR Repository in update mode"},
		{0xd1, "Device firmware in update mode"},
		{0xd2, "BMC initialization in progress"},
		{0xd3, "Destination unavailable"},
		{0xd4, "Insufficient privilege level"},
		{0xd5, "Command not supported in present state"},
		{0xd6, "Command disabled"},
		{0xff, "Unspecified error"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
		if (texts[i].code == code)
			return texts[i].text;
	return "completion code";
}

char *meter_ipmi_parse_gist(const char *text)
{
	g_auto(GStrv) lines = g_strsplit_set(text, "\r\n", -1);
	g_autoptr(GString) joined = g_string_new(NULL);
	g_autofree char *gist = NULL;

	for (gsize i = 0; lines[i]; i++) {
		g_strstrip(lines[i]);
		if (*lines[i] && !is_aside(lines[i]))
			g_string_append_printf(joined, "%s%s", joined->len ? " | " : "", lines[i]);
	}
	gist = visible_line(joined->str);
	if (g_utf8_strlen(gist, -1) > GIST_MAX)
		return g_utf8_substring(gist, 0, GIST_MAX);
	return g_steal_pointer(&gist);
}
