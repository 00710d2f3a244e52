/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/http_server.h"

/*
 * Who asks a controller, and what they may do: the guards of its servers. What each request takes is in the
 * table of routes, nowhere else.
 */

/*
 * On a Unix socket the kernel tells: root and the user that the controller runs as are operators, to whom no limits
 * apply, others users; somebody whom it does not name may look, as may everybody whom the socket's mode lets in.
 */
struct http_identity access_of_peer(const char *authorization, int64_t peer_uid, void *data);

/* Over TCP the token does. `data` is a struct token_book. */
struct http_identity access_of_token(const char *authorization, int64_t peer_uid, void *data);
