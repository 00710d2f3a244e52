/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/http_client.h"

/*
 * The operations of the controller's API (docs/reference/controller-api.json) with those parts of
 * the answers that its clients need. A test compares them with that description.
 */
extern const struct http_operation run_api[];
