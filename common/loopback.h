/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

/*
 * Whether traffic to `host` stays on this machine, whatever a resolver says: a numeric loopback
 * address (IPv6 with or without brackets), or "localhost". NULL and other names: no.
 */
bool loopback_is(const char *host);
