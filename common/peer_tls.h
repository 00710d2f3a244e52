/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config.h"
#include "common/http_client.h"
#include "common/http_listener.h"

/*
 * Authentication between a controller and local schedulers on other machines: TLS in which both
 * sides show a certificate of the CA that the configuration's section `tls` names, and accept no
 * other.
 */

/*
 * The TLS settings of a local scheduler at `address`: fills in *ret_tls, which borrows from `tls`,
 * and returns it; NULL if it is no https address, or `tls` is NULL.
 */
const struct http_tls *peer_tls_server(const struct config_tls *tls, const char *address,
				       struct http_tls *ret_tls);

/* Whether its files are usable. False with `error` (HTTP_ERROR_TRUST), which names the file. */
bool peer_tls_check(const struct config_tls *tls, GError **error);

/*
 * A client of the local scheduler at `address`, which expects its API (peer_api.h) and, for an
 * https address, shows the certificate of `tls`, which may be NULL. Returns NULL with `error` as
 * http_client_new(), or as peer_tls_check().
 */
struct http_client *peer_tls_client(const struct platform *platform, const struct config_tls *tls,
				    const char *address, GError **error);
