/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config.h"
#include "common/http_client.h"
#include "common/http_listener.h"

/*
 * How a controller and local schedulers on other machines know one another: by TLS in which both show a
 * certificate of the CA that the configuration's section `tls` names, and take no other.
 */

/*
 * With what a local scheduler listens at `address`: fills in *ret_tls, which borrows from `tls`, and returns
 * it; NULL where it is no address of https, or `tls` is NULL.
 */
const struct http_tls *peer_tls_server(const struct config_tls *tls, const char *address,
				       struct http_tls *ret_tls);

/* Whether its files can be gone by. False with `error` (HTTP_ERROR_TRUST), which names the file. */
bool peer_tls_check(const struct config_tls *tls, GError **error);

/*
 * A client of the local scheduler at `address`, which expects its API (peer_api.h) and shows who it is where that is one
 * of https. `tls` may be NULL. Returns NULL with `error` as http_client_new(), or as peer_tls_check().
 */
struct http_client *peer_tls_client(const struct config_tls *tls, const char *address,
				    GError **error);
