/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/http_server.h"

/*
 * Authenticates the requests to a controller: the identity functions of its servers. The role that
 * a request needs is only in the table of routes.
 */

/*
 * On a Unix socket the kernel names the peer. Root and the user that the controller runs as are
 * operators without limits, other users have the role user, and an unknown peer that the socket's
 * mode admits is a viewer.
 */
struct http_identity access_of_peer(const char *authorization, int64_t peer_uid, void *data);

/* Over TCP the token names the user and the role. `data` is a struct token_book. */
struct http_identity access_of_token(const char *authorization, int64_t peer_uid, void *data);
