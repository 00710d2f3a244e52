/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/attribution/attribution.h"
#include "controller/report/chart.h"

/*
 * Waterfalls of the measure by which policies are ranked: a chart for each limit with the bars of
 * each policy, from the simulated value, cause by cause, to the measured one. GPtrArray of struct
 * chart, owned by the caller.
 */
GPtrArray *chart_causes(const struct attribution *attribution);
