/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/http_operation.h"

/*
 * What a controller answers (docs/reference/controller-api.json), as far as its clients cannot do
 * without. A test holds it against that description.
 */
extern const struct http_operation run_api[];
