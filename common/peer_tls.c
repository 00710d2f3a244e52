/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/peer_tls.h"

#include "common/peer_api.h"
#include "common/tls_files.h"

static bool is_secure(const char *address)
{
	return g_str_has_prefix(address, "https:");
}

bool peer_tls_check(const struct config_tls *tls, GError **error)
{
	g_autoptr(GTlsCertificate) certificate =
		tls_files_certificate(tls->certificate, tls->key, error);

	return certificate && tls_files_check_ca(tls->ca, error);
}

const struct http_tls *peer_tls_server(const struct config_tls *tls, const char *address,
				       struct http_tls *ret_tls)
{
	if (!tls || !is_secure(address))
		return NULL;
	*ret_tls = (struct http_tls){
		.certificate = tls->certificate,
		.key = tls->key,
		.client_ca = tls->ca,
	};
	return ret_tls;
}

struct http_client *peer_tls_client(const struct platform *platform, const struct config_tls *tls,
				    const char *address, GError **error)
{
	struct http_client_identity identity = {0};
	struct http_client *client;

	if (tls && is_secure(address) && !peer_tls_check(tls, error))
		return NULL;
	client = http_client_new(platform, address, error);
	if (!client)
		return NULL;
	http_client_expect(client, peer_api);
	if (!tls || !is_secure(address))
		return client;
	identity.ca_file = tls->ca;
	identity.certificate = tls->certificate;
	identity.key = tls->key;
	http_client_identify(client, &identity);
	return client;
}
