/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/http_client.h"

/*
 * The operations of a local scheduler's API (docs/reference/api.md) with those parts of the answers
 * that its clients need.
 */
extern const struct http_operation peer_api[];
