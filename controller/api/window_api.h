/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

#include "controller/session/run_session.h"

/*
 * A service's energy window for GET /v1/power and /v1/energy (docs/reference/controller-api.json,
 * EnergyWindow); null where there is none. The caller owns it.
 */
json_t *window_api_json(const struct run_session *session);
