/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "local-sched/power/power_meter.h"

/*
 * Redfish over HTTPS (DMTF DSP0266), on connections that are kept. Finds the watts at the first
 * reading and remembers where: of each chassis (or the configured one) first the power control of
 * its Power resource, PowerControl[0].PowerConsumedWatts, then PowerWatts.Reading of its
 * EnvironmentMetrics, which newer BMCs have in its place. What takes longer than a reading may goes
 * on in the next one.
 *
 * null or a missing property is no reading, never 0 W. The same value again and again is a reading:
 * BMCs refresh it as they like (iDRAC about once a minute), and some hosts do draw the same power.
 *
 * Logs in with Basic authentication or, where configured so, once for a session whose token is used
 * from then on; a session that the BMC has ended is opened again within the same reading, and the
 * last one is given back when the meter is closed.
 */
extern const struct power_meter_ops meter_redfish_ops;
