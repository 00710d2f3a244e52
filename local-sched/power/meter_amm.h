/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "local-sched/power/power_meter.h"

/*
 * A bay of an IBM BladeCenter, read from its Advanced Management Module by SNMP with the
 * distribution's snmpget. The object is what xCAT's blade plugin reads as a blade's power usage,
 * and that the MIB names pd1ModuleAllocatedPowerCurrent. It is not documented whether it is the
 * power that the blade draws or its allotment, or how often it changes: check it on your chassis.
 *
 * The password or community is never in an argument vector. snmpget reads it from a file in a
 * directory of its own (0700), which is removed with the meter.
 */

/*
 * The object of bay 1 to 14, in digits; the caller frees it. Bays 1 to 7 are in power domain 1, 8
 * to 14 in domain 2 (xCAT-server/lib/xcat/plugins/blade.pm).
 */
char *meter_amm_object(uint32_t bay);

/*
 * The meaning of `text`, standard output and error of `snmpget -Ov`. *ret_mw is set only for
 * POWER_METER_OK. NO_ANSWER may also be a wrong community (SNMP 1 and 2); REJECTED: there is no
 * such object: not such a chassis, or no such bay; NOT_ACTIVE: "Not Readable" and the like, or 0 W.
 * Pure.
 */
enum power_meter_error meter_amm_parse(const char *text, int64_t *ret_mw);
