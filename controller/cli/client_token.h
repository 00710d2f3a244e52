/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * The token that commands show to a controller over TCP. It comes from a file that nobody else can read:
 * $VIRTBED_TOKEN_FILE, or virtbed/token in the user's directory for configuration. What is on a command
 * line everybody on the machine can see.
 */

/*
 * The token for the controller at `address`, or NULL: on a Unix socket none is needed, and where there is no file
 * none is shown. Returns false with `error` (G_FILE_ERROR): others can read the file, or it holds no
 * token. The caller wipes and frees *ret_token. That it does not go over the network unencrypted the client sees to
 * (http_client_check_address()).
 */
bool client_token_read(const char *address, char **ret_token, GError **error);
