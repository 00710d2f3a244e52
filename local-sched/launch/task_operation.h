/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/config/config.h"

/*
 * What a request for an operation on a task says: a suspension, a resumption, a migration or a CPU
 * share (docs/reference/api.md). The request to start a task is part of struct task. Pure.
 */
struct task_operation {
	int64_t n;             /* number of the suspension, migration or share, from 1 */
	int64_t attempt;       /* of a step, from 1: "try" */
	enum config_keep keep; /* of a suspension */
	uint32_t *nodes;       /* of a resumption or migration: count different nodes */
	uint32_t count;
	double share; /* in (0, 1] */
};

/*
 * Read the number in the path and the body of a PUT: of a suspension, of a resumption or migration
 * to nodes below `nodes`, of a share. False with `error` (TASK_ERROR, JSON_ERROR), and
 * *ret_operation untouched: an invalid request. The caller frees the nodes.
 */
bool task_operation_parse_suspend(const char *n, const json_t *body,
				  struct task_operation *ret_operation, GError **error);
bool task_operation_parse_nodes(const char *n, const json_t *body, uint32_t nodes,
				struct task_operation *ret_operation, GError **error);
bool task_operation_parse_share(const char *n, const json_t *body,
				struct task_operation *ret_operation, GError **error);
