/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * How often each of several peers may do something: so many times a second, and a few seconds' worth at once
 * after a rest (a token bucket for each). There are as many buckets as there are different keys: these must
 * come from us, such as user ids, not from what peers can choose.
 */
struct http_rate;
typedef struct http_rate http_rate_t;

/* Seconds' worth that a peer who has rested may take at once. */
#define HTTP_RATE_BURST_S 5.0

/* `per_s` is above 0. */
struct http_rate *http_rate_new(double per_s);
/* NULL is allowed. */
void http_rate_free(struct http_rate *rate);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(http_rate_t, http_rate_free)

/* Whether the peer `key` may once more, at `now_ns` (clock_now_ns()); if so it counts. */
bool http_rate_take(struct http_rate *rate, int64_t key, int64_t now_ns);
