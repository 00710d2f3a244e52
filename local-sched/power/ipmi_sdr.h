/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "local-sched/power/ipmi_shell.h"

/*
 * Sensor data records of a BMC (IPMI 2.0, section 43), as far as a sensor of watts needs them.
 * Pure. The bytes come from a BMC: anything may stand in them.
 */

enum {
	IPMI_SDR_HEADER = 5, /* record id, version, type, bytes that follow */
	IPMI_SDR_RECORD_MAX = IPMI_SDR_HEADER + 255, /* of a record */
	IPMI_SDR_NAME_MAX = 96,                      /* of a name in UTF-8, with its NUL */
	IPMI_SDR_FULL = 0x01,                        /* type of a full sensor record */
};

/* How a raw reading becomes watts (section 36.3): L((M x + B 10^K1) 10^K2). */
struct ipmi_factors {
	int m, b, b_exponent, r_exponent;
	uint8_t format;        /* of the raw value: unsigned, 1's or 2's complement, none (3) */
	uint8_t linearization; /* 0: linear; from 0x70 on: the factors change with the reading */
};

/* A sensor. */
struct ipmi_sensor {
	uint16_t record; /* the id by which its record is read; not of ipmi_sdr_parse() */
	uint8_t number;
	struct ipmi_target owner;
	bool of_software; /* its owner is software, which nothing can be asked for over a LAN */
	bool in_watts;
	struct ipmi_factors factors;
	/* In UTF-8, without blanks at the end; a byte that is not UTF-8 is taken as Latin-1. */
	char name[IPMI_SDR_NAME_MAX];
};

/*
 * Reads a whole record. Returns false unless it is a full sensor record with all its fields,
 * which alone can be in watts.
 */
bool ipmi_sdr_parse(const uint8_t *record, size_t size, struct ipmi_sensor *ret_sensor);

/*
 * Reads the factors from bytes of the form that Get Sensor Reading Factors and a full record (from
 * its byte 25 on) have: M, tolerance, B, accuracy, accuracy exponent, R and B exponents.
 */
void ipmi_sdr_parse_factors(const uint8_t bytes[6], struct ipmi_factors *factors);

/* Whether the factors have to be asked for with each reading (ipmi_sdr_parse_factors()). */
bool ipmi_sdr_needs_factors(const struct ipmi_factors *factors);

/* The watts of a raw reading; NAN: there are none. */
double ipmi_sdr_watts(const struct ipmi_factors *factors, uint8_t raw);

/* Whether a raw reading is the top of its range, so that the value may be any above. */
bool ipmi_sdr_at_top(const struct ipmi_factors *factors, uint8_t raw);

/*
 * Whether a configuration's `wanted` names the sensor: by its name, or, where several have the same
 * one, as "NAME (0x52)" with its number.
 */
bool ipmi_sdr_is_named(const struct ipmi_sensor *sensor, const char *wanted);
