/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/run/run_api.h"

#include <stddef.h>

#define TASK "{task: integer, type: string, state: string, held: boolean, attempts: integer}"
#define NODE "{cluster: string, node: integer, name: string, state: string, reason: ?string}"
#define FILE "{name: string, mode: integer, bytes: integer, sha256: string, data: string}"

const struct http_operation run_api[] = {
	{"GET", "/v1/status", 200, 0,
	 "{phase: string, run: integer, tasks: integer, notices: [object], last: integer, error: "
	 "?string, directory: ?string}"},
	{"GET", "/v1/runs", 200, 0,
	 "{runs: [{run: integer, policy: string, tasks_arrived: integer}]}"},
	{"GET", "/v1/tasks", 200, 0, "{run: integer, tasks: [" TASK "], more: integer}"},
	{"POST", "/v1/tasks", 201, 0, "{tasks: [integer]}"},
	{"GET", "/v1/tasks/{task}", 200, 0, TASK},
	{"GET", "/v1/tasks/{task}/files", 200, 0,
	 "{task: integer, files: [" FILE "], skipped: [string]}"},
	{"GET", "/v1/tasks/{task}/output", 200, 0,
	 "{task: integer, attempt: ?integer, output: string, from: integer, next: integer, ended: "
	 "boolean}"},
	{"GET", "/v1/tasks/{task}/decisions", 200, 0,
	 "{task: integer, decisions: [{time_s: number, action: object}]}"},
	{"POST", "/v1/tasks/{task}/suspend", 202, 0, TASK},
	{"POST", "/v1/tasks/{task}/resume", 202, 0, TASK},
	{"POST", "/v1/tasks/{task}/migrate", 202, 0, TASK},
	{"POST", "/v1/tasks/{task}/cancel", 202, 0, TASK},
	{"POST", "/v1/tasks/{task}/hold", 202, 0, TASK},
	{"POST", "/v1/tasks/{task}/release", 202, 0, TASK},
	{"POST", "/v1/notices", 201, 0, "object"},
	{"GET", "/v1/clusters", 200, 0,
	 "{clusters: [{cluster: string, nodes: integer, types: array, hosts: array}]}"},
	{"GET", "/v1/nodes", 200, 0, "{nodes: [" NODE "]}"},
	{"POST", "/v1/nodes/{cluster}/{node}/drain", 202, 0, NODE},
	{"POST", "/v1/nodes/{cluster}/{node}/undrain", 202, 0, NODE},
	{"GET", "/v1/power", 200, 0,
	 "{run: integer, now_s: number, hosts: [object], energy: array}"},
	{"GET", "/v1/energy", 200, 0,
	 "{run: integer, now_s: number, by: string, sums: [object], hosts: [object]}"},
	{NULL, NULL, 0, 0, NULL},
};
