/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

#include "local-sched/power/power_meter.h"

/*
 * The Redfish service of a BMC (DMTF DSP0266) over HTTPS, on connections that are kept. Logs in as
 * needed, and follows redirections within the service. Meters of the same BMC and user
 * (config_files_share_bmc()) share one service, and so one session; the longest of their timeout_s
 * holds for all of them. Main loop only.
 *
 * A service that redirects a path to the same with a slash at its end is asked for paths with one
 * from then on: a slow BMC would have each of them take two answers.
 *
 * With `auth: auto` it opens a session, or uses Basic authentication where the service offers no
 * sessions (404, 405, 501 or a redirection). A session that the BMC has ended is opened again
 * within the same request.
 */
struct redfish_service;

/* The services of one owner. */
struct redfish_services;

struct redfish_services *redfish_services_new(const struct platform *platform);

/*
 * Closes all sessions, of which a BMC has few, side by side: that blocks for two seconds at most,
 * and before that as long as a login or the end of a session that was sent is not answered, its
 * timeout_s at most. Does not run the main loop. NULL is allowed. Requests were dropped before.
 */
void redfish_services_free(struct redfish_services *services);

/* The outcome of a request. All is borrowed. */
struct redfish_answer {
	int tag;                     /* of the request */
	enum power_meter_error code; /* POWER_METER_OK: there is a `body` */
	int status;                  /* of HTTP; 0: no answer */
	json_t *body;
	/* Where the resource is: another place than asked for after a permanent redirection. */
	const char *path;
	const char *reason; /* of an error, without the BMC's name */
};

/* May ask for more. */
typedef void (*redfish_answer_f)(const struct redfish_answer *answer, void *data);

/*
 * The service that `config` describes, borrowed until redfish_services_free(). NULL with `error`
 * (HTTP_ERROR_ADDRESS) if its address is none, or if another meter of the BMC and user has another
 * password, other certificates to trust, `tls` or `auth` (config_files_differ()).
 */
struct redfish_service *redfish_services_find(struct redfish_services *services,
					      const struct config_meter *config, GError **error);

/* Drops the requests whose `data` is this, without a callback. */
void redfish_service_drop(struct redfish_service *service, const void *data);

/* How many answers it gave since it was found, and how long the slowest took, in seconds. */
unsigned redfish_service_answers(const struct redfish_service *service, double *ret_slowest_s);

/* "https://HOST:PORT", for messages. Borrowed. */
const char *redfish_service_address(const struct redfish_service *service);

/*
 * Asks for the resource at `path`, which begins with /redfish/. Calls `done` once from the main
 * loop, never before returning; no more than four are under way at once. Each answer, of a login or
 * a redirection too, may take the configuration's timeout_s. Requests that wait for a
 * login fail after that time; a session that it opens later, within as long again, is used.
 */
void redfish_service_get(struct redfish_service *service, const char *path, int tag,
			 redfish_answer_f done, void *data);
