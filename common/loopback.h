/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

/*
 * Whether what is sent to `host` stays in this machine, whatever a resolver says: an address of loopback in numbers
 * (IPv6 with or without brackets), or "localhost". NULL and other names: no, however they look.
 */
bool loopback_is(const char *host);
