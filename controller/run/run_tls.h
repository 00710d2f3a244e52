/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config.h"
#include "common/http_listener.h"

/*
 * The TLS settings of a controller at `address`: fills in *ret_tls with the files of the
 * configuration (borrowed) and returns it; NULL if the address does not use TLS or there is no
 * certificate.
 */
const struct http_tls *run_tls(const char *address, const struct config *config,
			       struct http_tls *ret_tls);
