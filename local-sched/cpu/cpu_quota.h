/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "local-sched/cpu/cpu_cap.h"

/* CPU quota per VM by libvirt's scheduler parameters global_period and global_quota. */
extern const struct cpu_cap_ops cpu_quota_ops;
