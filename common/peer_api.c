/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/peer_api.h"

#include <stddef.h>

#define TASK "{id: string, state: string}"

/*
 * Elements of arrays are not checked here but by their readers, so that a bad element does not hide
 * the good ones.
 */
const struct http_operation peer_api[] = {
	{"GET", "/v1/capabilities", 200, 0,
	 "{cluster: string, boot_id: string, incarnation: string, now_ns: integer}"},
	{"GET", "/v1/nodes", 200, 0, "{nodes: array, now_ns: integer}"},
	{"GET", "/v1/energy", 200, 0, "{hosts: array, now_ns: integer}"},
	{"GET", "/v1/samples", 200, 0, "{samples: array, last: integer, now_ns: integer}"},
	{"GET", "/v1/usage", 200, 0, "{intervals: array, now_ns: integer}"},
	{"GET", "/v1/events", 200, 0, "{events: array, last: integer, now_ns: integer}"},
	{"GET", "/v1/tasks", 200, 0, "{tasks: array}"},
	{"GET", "/v1/tasks/{}", 200, 0, TASK},
	{"PUT", "/v1/tasks/{}", 201, 200, TASK},
	{"DELETE", "/v1/tasks/{}", 200, 0, TASK},
	{"GET", "/v1/tasks/{}/output", 200, 0,
	 "{output: string, from: integer, next: integer, ended: boolean}"},
	{"GET", "/v1/tasks/{}/files", 200, 0, "{files: array, skipped: array}"},
	{"PUT", "/v1/tasks/{}/suspensions/{}", 201, 200, TASK},
	{"PUT", "/v1/tasks/{}/resumptions/{}", 201, 200, TASK},
	{"PUT", "/v1/tasks/{}/shares/{}", 201, 200, TASK},
	{"PUT", "/v1/tasks/{}/migrations/{}", 201, 200, TASK},
	{NULL, NULL, 0, 0, NULL},
};
