/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "controller/api/status_api.h"
#include "controller/experiment/experiment.h"
#include "controller/session/run_session_private.h"

/*
 * What the fuzzers of the controller's API share: a session with a store and the API on a socket,
 * and requests to it. An input is requests, separated by lines of three dashes; of each the first
 * line is "METHOD PATH", the rest is the body.
 */

/* Of one input at most. */
#define API_BED_REQUESTS_MAX 16

struct api_bed {
	char *directory;
	char *socket_path;
	struct run_plan plan;
	struct run_session session;
	struct status_api *api;
	struct experiment *experiment;
};

/* Opens all of it on a configuration, in YAML. `bed` is zeroed, and stays until api_bed_close(). */
void api_bed_open(struct api_bed *bed, const char *config_text);
void api_bed_close(struct api_bed *bed);

/* The requests of one input that are still to come. */
struct api_requests {
	const struct api_bed *bed;
	char **texts; /* NULL: the end */
	guint next;
};

struct api_requests api_requests_read(const struct api_bed *bed, const uint8_t *data, size_t size);
void api_requests_clear(struct api_requests *requests);

/*
 * Asks the next one, if there is one, and checks the answer: JSON where it says so, and where it is
 * an error. For struct script: `data` is struct api_requests.
 */
void api_requests_ask_next(double time_s, void *data);
