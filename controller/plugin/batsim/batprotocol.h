/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>

/*
 * Messages of the protocol of Batsim 5 (batprotocol) in its JSON form, from and to those of Batsim 4
 * that say the same (docs/reference/batsim.md). Members that are not understood are left out.
 * Events that are not understood keep their names, which no reader of the result knows.
 */

/* Both return a new message; NULL with `error` (BATSIM_ERROR): it cannot be said there, or read. */
json_t *batprotocol_to_5(const json_t *message, GError **error);
json_t *batprotocol_to_4(const json_t *message, GError **error);

/* The message of an external decision component that says hello; a new reference. */
json_t *batprotocol_hello(const char *name, const char *version);
