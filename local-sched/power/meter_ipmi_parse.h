/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "local-sched/power/power_meter.h"

/*
 * Parses what ipmitool prints of a BMC's answer to `raw`. Pure. The bytes themselves are looked at,
 * not what other commands of ipmitool make of them: `dcmi power reading` prints numbers of an
 * answer that is too short to have them.
 */

enum { IPMI_ANSWER_MAX = 300 };

/* An answer. */
struct ipmi_answer {
	int code; /* completion code; 0: success; -1: there was no answer, or no valid one */
	size_t size;
	uint8_t bytes[IPMI_ANSWER_MAX]; /* behind the completion code */
};

/*
 * The verdicts: NO_ANSWER: ipmitool had no answer in time (code -1), or the BMC is busy; SETUP:
 * invalid command (c1h), the BMC does not have it; REJECTED: another completion code; NOT_ACTIVE:
 * power reading deactivated, sensor not scanning or without a reading; SATURATED: the top of the
 * range; GARBAGE: anything else.
 */

/* What ipmitool prints of `raw ...`. `ret_answer` is always set. */
enum power_meter_error meter_ipmi_parse_raw(const char *text, struct ipmi_answer *ret_answer);

/* What Get Power Reading says (DCMI 1.5, table 6-16). */
struct ipmi_dcmi {
	int64_t mw;                         /* the current power */
	int64_t least_mw, most_mw, mean_mw; /* over the last period_s */
	double period_s;                    /* of the BMC's own statistics */
};

/* The answer to Get Power Reading. `ret_dcmi` is set for POWER_METER_OK only. */
enum power_meter_error meter_ipmi_parse_dcmi(const struct ipmi_answer *answer,
					     struct ipmi_dcmi *ret_dcmi);

/*
 * The watts of an answer to a request of the configuration, from its byte `at` (from 1) on. The
 * statistics of Intel's Node Manager, which begin with its number 57 01 00, are looked at whole:
 * they say whether they are measured. `ret_mw` is set for POWER_METER_OK only.
 */
enum power_meter_error meter_ipmi_parse_watts(const struct ipmi_answer *answer, uint32_t at,
					      int64_t *ret_mw);

/*
 * The answer to Get Sensor Reading (IPMI 2.0, section 35.14). `ret_raw` is set for POWER_METER_OK
 * only.
 */
enum power_meter_error meter_ipmi_parse_sensor(const struct ipmi_answer *answer, uint8_t *ret_raw);

/* What a completion code means (IPMI 2.0, table 5-2). */
const char *meter_ipmi_code_text(int code);

/*
 * The output of ipmitool on one visible line, at most 120 characters, for messages; the caller
 * frees it.
 */
char *meter_ipmi_parse_gist(const char *text);
