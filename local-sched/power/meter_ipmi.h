/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "local-sched/power/power_meter.h"

/*
 * IPMI over LAN by ipmitool, which stays open (ipmi_shell.h). Reads the DCMI power reading (1 W
 * steps). A BMC that has none (completion code c1h) is asked for the configured sensor from then on
 * (8 bits: coarser, and it saturates). A shell that fails twice in a row is started anew, because
 * ipmitool never logs in again when a BMC was restarted.
 */
extern const struct power_meter_ops meter_ipmi_ops;
