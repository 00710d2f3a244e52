/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/run/run_tls.h"

const struct http_tls *run_tls(const char *address, const struct config *config,
			       struct http_tls *ret_tls)
{
	const struct config_service service = config_service_of(config);

	if (!g_str_has_prefix(address, "https:") || !service.key)
		return NULL;
	*ret_tls = (struct http_tls){.certificate = service.certificate, .key = service.key};
	return ret_tls;
}
