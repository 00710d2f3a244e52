/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "common/clock.h"
#include "common/http_client.h"
#include "common/json.h"
#include "common/platform.h"
#include "local-sched/power/meter_value.h"

/*
 * A web server that answers a GET with the number: JSON (the query APIs of Prometheus and Kwollect,
 * a metered outlet's own), or the text exposition of Prometheus. Connections are kept. An answer is
 * at most 64 KiB, once it is decompressed; a redirection is not followed. A password or token goes
 * over https only, or stays on this machine.
 */

enum {
	ANSWER_MAX = 64 * 1024,
	STATUS_UNAUTHORIZED = 401,
	STATUS_FORBIDDEN = 403,
};

struct meter_http {
	struct power_meter base;
	struct meter_value value;
	struct http_client *client;
	char *path; /* what follows the host and port */
};

static void fail(struct meter_http *meter, enum power_meter_error code, const char *why,
		 const char *cure)
{
	power_meter_fail(&meter->base, code, "http: %s%s", why, cure);
}

static void take_error(struct meter_http *meter, int status, const GError *error)
{
	if (status == STATUS_UNAUTHORIZED || status == STATUS_FORBIDDEN)
		fail(meter, POWER_METER_ERROR_LOGIN, error->message,
		     "; check password_file, and user where the server wants one");
	else if (error->code == HTTP_ERROR_TRUST || error->code == HTTP_ERROR_NAME)
		fail(meter, POWER_METER_ERROR_SETUP, error->message,
		     "; name the certificate, or its CA's, in `ca_file`, and the server as the "
		     "certificate does");
	else if (error->code == HTTP_ERROR_BODY)
		fail(meter, POWER_METER_ERROR_GARBAGE, error->message, "");
	else
		fail(meter, status > 0 ? POWER_METER_ERROR_REJECTED : POWER_METER_ERROR_NO_ANSWER,
		     error->message, "");
}

static void on_answer(int status, json_t *body, const GError *error, void *data)
{
	struct meter_http *meter = data;
	const struct config_meter *config = meter->base.config;
	g_autofree char *reason = NULL;
	g_autofree char *what = NULL;
	enum power_meter_error verdict;
	double number;

	if (error) {
		take_error(meter, status, error);
		return;
	}
	verdict = meter_value_pick(config, json_string_value(body) ?: "", json_string_length(body),
				   &number, &reason);
	what = g_strdup_printf("http: the answer of %s", config->url);
	if (verdict == POWER_METER_OK)
		meter_value_end(&meter->base, &meter->value, &number, what);
	else
		power_meter_fail(&meter->base, verdict, "%s: %s", what, reason);
}

/* Whether a token may stand in a header. */
static bool is_token(const char *text)
{
	for (const char *at = text; *at; at++)
		if (!g_ascii_isgraph(*at))
			return false;
	return *text != '\0';
}

/* Tells the client what to send, with the password or token that the file has now. */
static bool identify(struct meter_http *meter, GError **error)
{
	const struct config_meter *config = meter->base.config;
	g_autofree char *password = power_meter_password(config, error);
	const bool bearer = config->password_file && !config->user;
	g_autofree char *header = NULL;

	if (!password)
		return false;
	if (bearer && !is_token(password))
		return power_meter_set_error(
			&meter->base, error, POWER_METER_ERROR_SETUP,
			"the first line of \"%s\" is no token: it is empty, or "
			"has blanks or characters that are not ASCII",
			config->password_file);
	header = bearer ? g_strconcat("Authorization: Bearer ", password, NULL) : NULL;
	const struct http_client_identity identity = {
		.ca_file = config->ca_file,
		.insecure = config->tls == CONFIG_METER_INSECURE,
		.user = config->user,
		.password = config->user ? password : NULL,
		.header = header,
	};

	http_client_identify(meter->client, &identity);
	return true;
}

static void http_read(struct power_meter *base)
{
	struct meter_http *meter = (struct meter_http *)base;
	const double left_s = clock_elapsed_s(platform_now_ns(base->platform), base->deadline_ns);
	g_autoptr(GError) error = NULL;

	if (identify(meter, &error))
		http_client_request(meter->client, "GET", meter->path, NULL, MAX(left_s, 0),
				    on_answer, meter);
	else
		fail(meter, POWER_METER_ERROR_SETUP, error->message, "");
}

/* What follows the host of a URL, with all that must not stand in a request as %XX. */
static char *path_of(const char *rest)
{
	GString *path = g_string_new(*rest == '/' ? NULL : "/");

	for (const char *at = rest; *at; at++) {
		if (g_ascii_isgraph(*at) && !strchr("\"<>\\^`{|}", *at))
			g_string_append_c(path, *at);
		else
			g_string_append_printf(path, "%%%02X", (unsigned char)*at);
	}
	return g_string_free(path, FALSE);
}

static bool http_open(struct power_meter *base, GError **error)
{
	struct meter_http *meter = (struct meter_http *)base;
	const struct config_meter *config = base->config;
	const char *host = strstr(config->url, "://") + strlen("://");
	const gsize length = (gsize)(host - config->url) + strcspn(host, "/?#");
	g_autofree char *address = g_strndup(config->url, length);
	g_autofree char *reason = NULL;
	g_autoptr(GError) refused = NULL;

	meter_value_init(&meter->value, 1, NULL);
	meter->path = path_of(config->url + length);
	if (!meter_value_check(config, &reason))
		return power_meter_set_error(base, error, POWER_METER_ERROR_SETUP, "http: %s",
					     reason);
	/* With a secret the client's own rule holds, which is stricter. */
	if (!config->password_file || http_client_check_address(address, &refused))
		meter->client = http_client_new_text(base->platform, address, ANSWER_MAX, &refused);
	return meter->client || power_meter_set_error(base, error, POWER_METER_ERROR_SETUP,
						      "http: %s", refused->message);
}

static void http_close(struct power_meter *base)
{
	struct meter_http *meter = (struct meter_http *)base;

	http_client_free(meter->client);
	meter_value_clear(&meter->value);
	g_free(meter->path);
}

const struct power_meter_ops meter_http_ops = {
	.kind = CONFIG_METER_HTTP,
	.size = sizeof(struct meter_http),
	.open = http_open,
	.read = http_read,
	.close = http_close,
};
