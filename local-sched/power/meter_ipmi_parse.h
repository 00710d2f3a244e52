/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "local-sched/power/power_meter.h"

/*
 * Parses the output of ipmitool. Pure. Strict: a reading is taken only from an answer that is
 * complete and says that the meter is active. ipmitool exits with 0 and prints a number in worse
 * cases too.
 */

/*
 * The verdicts: NO_ANSWER: ipmitool had no answer in time, or the BMC was busy; SETUP: invalid
 * command (c1h), the BMC has no DCMI; REJECTED: another completion code, or no such sensor;
 * NOT_ACTIVE: power reading deactivated, sensor not scanning or without one; SATURATED: the top of
 * the range; GARBAGE: anything else.
 */

/* `dcmi power reading`. `ret_mw` (milliwatts) is set only for POWER_METER_OK. */
enum power_meter_error meter_ipmi_parse_dcmi(const char *text, int64_t *ret_mw);

/*
 * `sensor get "NAME"`: the sensor's number. POWER_METER_ERROR_REJECTED if there is no such sensor;
 * POWER_METER_ERROR_GARBAGE also if its unit is not watts.
 */
enum power_meter_error meter_ipmi_parse_sensor_number(const char *text, const char *name,
						      uint8_t *ret_number);

/*
 * `raw 0x04 0x2d NUMBER`, Get Sensor Reading (IPMI 2.0, section 35.14): whether the sensor has a
 * valid value now. A raw value of 255 is the top of its range.
 */
enum power_meter_error meter_ipmi_parse_sensor_raw(const char *text);

/* `sensor reading "NAME"`. `ret_mw` (milliwatts) is set only for POWER_METER_OK. */
enum power_meter_error meter_ipmi_parse_sensor(const char *text, const char *name, int64_t *ret_mw);

/* The output of ipmitool on one line, at most 120 characters, for messages; the caller frees it. */
char *meter_ipmi_parse_gist(const char *text);
