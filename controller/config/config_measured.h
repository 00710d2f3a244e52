/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config.h"
#include "common/record/record.h"

/* What a profile measures beside estimates, as JSON has it. */

/* Rows of struct config_unmeasured. */
extern const struct record config_unmeasured_record;

/* Rows of struct config_overhead. */
extern const struct record config_overhead_record;
