/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "local-sched/power/power_meter.h"

/*
 * The ACPI power meter of this machine (ACPI 6.4, section 10.4), by the kernel's hwmon:
 * power1_average in microwatts, or power1_input where there is no average. The firmware is asked at
 * each reading and may be slow, so a thread reads it. 0 W is no reading: a machine that runs this
 * program draws power.
 */
extern const struct power_meter_ops meter_acpi_ops;
