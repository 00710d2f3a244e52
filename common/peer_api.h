/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/http_operation.h"

/* What a local scheduler answers (docs/reference/api.md), as far as its clients cannot do without. */
extern const struct http_operation peer_api[];
