/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * The token that commands present to a controller over TCP. It comes from a file that only its
 * owner can read: $VIRTBED_TOKEN_FILE, or virtbed/token in the user's directory for configuration.
 * It is not taken from the command line, which every user of the machine can read.
 */

/*
 * Reads the token for the controller at `address`. *ret_token is NULL on a Unix socket, which needs
 * none, and where there is no file. Returns false with `error` (G_FILE_ERROR): others can read the
 * file, or it holds no token. The caller wipes and frees *ret_token. The client makes sure that the
 * token is not sent unencrypted (http_client_check_address()).
 */
bool client_token_read(const char *address, char **ret_token, GError **error);
