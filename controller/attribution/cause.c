/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/attribution/cause.h"

const char *const cause_titles[CAUSES] = {
	"execution times", "launch",    "suspension", "lost attempts",
	"metering",        "decisions", "arrivals",
};

const char *const cause_keys[CAUSES] = {
	"execution_times", "launch",    "suspension", "lost_attempts",
	"metering",        "decisions", "arrivals",
};
