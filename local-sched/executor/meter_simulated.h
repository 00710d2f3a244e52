/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/platform.h"
#include "local-sched/executor/simulated_host.h"
#include "local-sched/power/power_meter.h"

/*
 * The meter of a host of a simulated cluster: the mean watts since the last reading. `host` is
 * borrowed until the meter is closed.
 */
struct power_meter *meter_simulated_new(const struct platform *platform,
					const struct simulated_host *host);
