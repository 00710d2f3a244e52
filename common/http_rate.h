/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Limits the rate of several peers: a number of actions per second each, with a burst of a few
 * seconds' worth after a rest (one token bucket per peer). There are as many buckets as different
 * keys, so keys must be limited in number, such as user ids, and not chosen by peers.
 */
struct http_rate;
typedef struct http_rate http_rate_t;

/* The burst after a rest, in seconds of the rate. */
#define HTTP_RATE_BURST_S 5.0

/* `per_s`: actions per second of each peer, above 0. */
struct http_rate *http_rate_new(double per_s);
/* NULL is allowed. */
void http_rate_free(struct http_rate *rate);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(http_rate_t, http_rate_free)

/* Whether the peer `key` may act at `now_ns` (platform_now_ns()); if so, the action is counted. */
bool http_rate_take(struct http_rate *rate, int64_t key, int64_t now_ns);
