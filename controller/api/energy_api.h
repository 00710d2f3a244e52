/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/http_server.h"

/*
 * The energy account of a service in the controller's API (docs/reference/controller-api.json):
 * whole microjoules, whose parts add up exactly. A handler of status_api.c's table.
 */

/*
 * GET /v1/energy?by=KEY: sums by a key of store_account_keys (default: user), and every host's
 * account.
 */
void energy_api_get(struct http_request *request, const char *const *arguments, json_t *body,
		    void *data);
