/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/api/status_api.h"
#include "controller/session/run_session.h"
#include "tests/unit/service/daemons.h"
#include "tests/virtual/virtual_platform.h"

/*
 * Both daemons, which are started again and again, and a user who submits one task with a key until
 * that is acknowledged.
 */
struct start_bed {
	struct daemons daemons;
	struct virtual_platform *virtual; /* of the present life; NULL: none */
	struct virtual_disk *disk;        /* borrowed; NULL: that of this machine */
	bool *acknowledged;               /* whether a user was told that the task is submitted */
	/* Of the present life. */
	struct run_session *session;
	struct status_api *status;
	struct http_client *user;
	bool completes; /* it lasts until the task has completed; else until it is acknowledged */
	bool asked;     /* a request of the user is under way */
	bool submitted; /* the user was told so in this life */
	bool over;
	double completed_s; /* of the clock; INFINITY: it has not completed */
};

/* How a life ended. */
enum start_life {
	START_REFUSED = 0, /* a daemon did not start, or has ended by itself */
	START_STUCK,       /* nothing was acknowledged, or completed, in START_LIFE_S */
	START_DONE,        /* what it is to last for has come */
};

/* The longest life, in virtual time. */
#define START_LIFE_S 400

/* Makes an empty run directory. Release: start_bed_finish(). */
void start_bed_begin(struct start_bed *bed, struct virtual_disk *disk, bool *acknowledged);
void start_bed_finish(struct start_bed *bed);

/*
 * A life of both daemons. With `boots` it begins with a start of the machine; else the processes
 * alone are new, and the controller continues. At its end no daemon can write any more.
 */
enum start_life start_bed_live(struct start_bed *bed, bool boots, bool completes);

/*
 * Asserts that the service has one task, and that it has completed once on the local scheduler, of
 * whose record a crash may have taken the last second.
 */
void start_bed_assert_once(struct start_bed *bed, bool crashed);
