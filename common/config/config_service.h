/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config_key.h"

#define CONFIG_SERVICE_TASKS_MAX 1000000 /* the most that tasks_max can be */

/*
 * The service (`virtbed serve`): how tasks are scheduled that people submit while it runs.
 * docs/how-to/run.md.
 */
struct config_service {
	char *policy;              /* default "easy" */
	double mapping_interval_s; /* > 0; default: that of the experiment */
	/* tasks that it can take in its life, 1 to 1e6; default 100000 */
	uint32_t tasks_max;
	uint32_t user_tasks_max;    /* of one user that have not ended, 1 to 1e6; default 10000 */
	double user_requests_per_s; /* of one user, [1, 1e6]; default 100 */
	/* how long samples, decisions, events and output are kept, > 0; default 30 */
	double retention_days;
	double energy_limit_j;  /* dynamic, in every window, > 0; 0: none, the default */
	double energy_window_s; /* 10 to 31622400; default a day */
	/* how old what meters say can be, beside their interval_s; 0 to 600, default 0 */
	double meter_refresh_s;
	/* whose members may use its socket, too; NULL: only its user and root */
	char *group;
	char *listen;      /* a second address, http on loopback or https; NULL: none */
	char *certificate; /* file; for https */
	char *key;         /* of the certificate; file that only its user can read */
};

/* The rows of the structures above. */
extern const struct config_section config_service_section;
