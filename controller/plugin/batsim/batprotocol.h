/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>

/*
 * Translates messages between Batsim 4 and the JSON form of Batsim 5's protocol, batprotocol
 * (docs/reference/batsim.md). The translation leaves unknown members out. Unknown events keep their
 * names, which no reader of the result knows.
 */

/* Both return a new message; NULL with `error` (BATSIM_ERROR): it cannot be said there, or read. */
json_t *batprotocol_to_5(const json_t *message, GError **error);
json_t *batprotocol_to_4(const json_t *message, GError **error);

/* The message of an external decision component that says hello; a new reference. */
json_t *batprotocol_hello(const char *name, const char *version);
