/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "local-sched/power/power_meter.h"

/*
 * The ACPI power meter of this machine (ACPI 6.4, section 10.4), as the kernel's hwmon shows it:
 * power1_average in microwatts, or power1_input where there is no average. The firmware is asked
 * at each reading and may take its time, so a thread does it. 0 W is no reading: what runs this
 * program draws something.
 */
extern const struct power_meter_ops meter_acpi_ops;
