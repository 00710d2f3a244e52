/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "local-sched/power/power_meter.h"

/*
 * A stand-in for a meter: watts = idle_w + core_w x busy CPUs of this machine, from the CPU time
 * that the kernel has measured in /proc/stat (everything except idle, waiting for I/O, and time
 * stolen by a hypervisor below). Linear in utilisation, as Machovec 2018, section 3.4, takes a
 * task's average power. Every display of its watts says that they are modelled.
 */
extern const struct power_meter_ops meter_model_ops;
