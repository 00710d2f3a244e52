/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "tests/simulator/sim_world.h"

/*
 * The users of a service: they send requests over HTTP, repeat submissions that were not answered,
 * and remember what was acknowledged.
 */

/* What users know of a task. */
struct sim_task {
	uint32_t number;
	uint32_t submission; /* of which action of the plan */
	bool hold;           /* a hold was acknowledged last */
	bool moved;          /* a request about its hold is without an answer */
	uint32_t suspends;   /* requests to suspend it that are under way */
	bool suspended;      /* a user wants it so, or may have asked for it */
	bool unsure;         /* a request to suspend it may come at any time */
	bool cancel_sent;    /* it may be killed */
	bool cancel;         /* its cancellation was acknowledged */
};

struct sim_users *sim_users_new(struct sim_world *world);
void sim_users_free(struct sim_users *users);

/* Carries out an action of the plan. */
void sim_users_act(struct sim_users *users, guint action);

/*
 * Asks for what lets all tasks end: users release and resume what they held and suspended, and
 * undrain nodes. What the service has suspended it has to resume.
 */
void sim_users_tidy(struct sim_users *users);

/* Takes the limit of energy out of the configuration, so that all can end soon. */
void sim_users_lift_limit(struct sim_users *users);

/* The tasks that were acknowledged (struct sim_task), and how many submissions have no answer. */
const GArray *sim_users_tasks(const struct sim_users *users);
guint sim_users_open(const struct sim_users *users);

/* A task that was acknowledged, by its number; NULL: none has it. */
struct sim_task *sim_users_find(const struct sim_users *users, uint32_t number);
