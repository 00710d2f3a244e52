/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "local-sched/power/meter_redfish_parse.h"
#include "local-sched/power/redfish_service.h"

/*
 * Finds the chassis that is the machine: all chassis of a service are read, and one is chosen by
 * its ChassisType and its links to computer systems; where these do not tell, the systems are asked
 * what they are in. The search asks no more than a few times a second: the processor of a BMC is a
 * weak one. Main loop only.
 */
struct redfish_search;

/*
 * The outcome: `machine`, which the callee takes over, or why there is none. SETUP: there is none,
 * or several, and the reason says what to configure; other codes are those of requests. May free
 * the search.
 */
typedef void (*redfish_search_f)(struct meter_redfish_chassis *machine, enum power_meter_error code,
				 const char *reason, void *data);

/* The usual path of the Power of the chassis at that path; the caller frees. */
char *redfish_search_usual_power(const char *chassis);

/*
 * The answer to the request for the resource at `path` that the search has made beside its own, to
 * save the time of an answer of a slow BMC; borrowed, with a tag of no meaning. NULL: it has not.
 * `search` may be NULL.
 */
const struct redfish_answer *redfish_search_ahead(const struct redfish_search *search,
						  const char *path);

/*
 * Begins a search in `service` (borrowed) for the chassis `named` (borrowed; NULL: the machine).
 * Calls `done` once, never before returning.
 */
struct redfish_search *redfish_search_new(const struct platform *platform,
					  struct redfish_service *service, const char *named,
					  redfish_search_f done, void *data);

/* Ends it without a callback; NULL is allowed. */
void redfish_search_free(struct redfish_search *search);

/* Whether a request found that there is no such resource. */
bool redfish_search_missing(const struct redfish_answer *answer);

/*
 * Why the user may not read a resource, NULL: this is not why there is no answer. The caller frees.
 */
char *redfish_search_denied(const struct redfish_answer *answer);
