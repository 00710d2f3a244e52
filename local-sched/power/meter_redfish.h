/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "local-sched/power/power_meter.h"

/*
 * Redfish over HTTPS (DMTF DSP0266), on connections that are kept. Finds the watts at the first
 * reading and remembers the place. For each chassis (or the configured one) it tries the power
 * control of its Power resource, PowerControl[0].PowerConsumedWatts, and then PowerWatts.Reading of
 * its EnvironmentMetrics, which newer BMCs have instead. A search that takes longer than a reading
 * continues in the next one.
 *
 * null or a missing property is no reading, never 0 W. A repeated value is a reading: BMCs refresh
 * it at their own pace (iDRAC about once a minute), and some hosts do draw constant power.
 *
 * Logs in with Basic authentication or, where configured, once for a session whose token is used
 * from then on. A session that the BMC has ended is opened again within the same reading. The last
 * session is closed with the meter.
 */
extern const struct power_meter_ops meter_redfish_ops;
