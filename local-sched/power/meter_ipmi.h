/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "local-sched/power/power_meter.h"

/*
 * IPMI over LAN by ipmitool, which stays open (ipmi_shell.h). Reads the DCMI power reading (1 W
 * steps). A BMC without DCMI (completion code c1h) is asked for the configured sensor from then on
 * (8 bits: coarser, and it saturates). A shell that fails twice in a row is restarted, because
 * ipmitool does not log in again after a restart of the BMC.
 */
extern const struct power_meter_ops meter_ipmi_ops;
