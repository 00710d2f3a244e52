/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/http_client.h"

#include <curl/curl.h>
#include <string.h>

#include "common/error_fail.h"
#include "common/json.h"
#include "common/loopback.h"
#include "common/read_number.h"
#include "common/transport.h"
#include "common/visible.h"

/* Operations of an API. */

#define JSON_TYPE "application/json"

/* The parts of a path, without the query. */
static char **split(const char *path)
{
	g_autofree char *bare = g_strndup(path, strcspn(path, "?"));

	return g_strsplit(bare, "/", -1);
}

/* The name in "{name}", which the caller frees; NULL: a literal part. */
static char *name_of(const char *part)
{
	const size_t length = strlen(part);

	return length >= 2 && part[0] == '{' && part[length - 1] == '}'
		       ? g_strndup(part + 1, length - 2)
		       : NULL;
}

static bool is_at(const struct http_operation *operation, char *const *parts)
{
	g_auto(GStrv) pattern = split(operation->path);

	if (g_strv_length(pattern) != g_strv_length((char **)parts))
		return false;
	for (gsize i = 0; pattern[i]; i++)
		if (pattern[i][0] != '{' && !g_str_equal(pattern[i], parts[i]))
			return false;
	return true;
}

const struct http_operation *http_operation_find(const struct http_operation *operations,
						 const char *method, const char *path)
{
	g_auto(GStrv) parts = split(path);

	for (; operations && operations->method; operations++)
		if (g_str_equal(operations->method, method) && is_at(operations, parts))
			return operations;
	return NULL;
}

#define fail_shape(error, ...) error_fail(error, HTTP_ERROR, HTTP_ERROR_BODY, __VA_ARGS__)

/* Whether a Content-Type says JSON, whatever its parameters. */
static bool is_json(const char *content_type)
{
	return content_type &&
	       g_ascii_strncasecmp(content_type, JSON_TYPE, strlen(JSON_TYPE)) == 0 &&
	       (content_type[strlen(JSON_TYPE)] == '\0' ||
		strchr("; \t", content_type[strlen(JSON_TYPE)]));
}

/* A value as it is written in a path; NULL: its type is impossible there. The caller frees. */
static char *as_part(const json_t *value)
{
	if (json_is_integer(value))
		return g_strdup_printf("%" JSON_INTEGER_FORMAT, json_integer_value(value));
	return json_is_string(value) ? g_strdup(json_string_value(value)) : NULL;
}

/* Whether the body is about what the path names. */
static bool is_about(const struct http_operation *operation, const char *path, const json_t *body,
		     GError **error)
{
	g_auto(GStrv) pattern = split(operation->path);
	g_auto(GStrv) parts = split(path);

	for (gsize i = 0; pattern[i]; i++) {
		g_autofree char *name = name_of(pattern[i]);
		g_autofree char *wanted = name ? g_uri_unescape_string(parts[i], NULL) : NULL;
		const json_t *value = name ? json_object_get(body, name) : NULL;
		g_autofree char *part = as_part(value);

		if (value && g_strcmp0(part, wanted) != 0)
			return fail_shape(error, "asked about %s %s it answers about %s", name,
					  wanted, part ?: "none");
	}
	return true;
}

/*
 * Whether an answer to a request for `path` is valid for the operation: `content_type` and `body`
 * are NULL if it had none. Returns true, or false with HTTP_ERROR_BODY, whose message continues
 * "ADDRESS: ".
 */
static bool check_answer(const struct http_operation *operation, const char *path, int status,
			 const char *content_type, const json_t *body, GError **error)
{
	g_autoptr(GError) reason = NULL;

	if (status != operation->status && (status != operation->other_status || !status))
		return fail_shape(error, "status %d instead of %d", status, operation->status);
	if (!body)
		return fail_shape(error, "status %d and an empty answer", status);
	if (!is_json(content_type))
		return fail_shape(error, "the answer's content type is %s%s%s, not " JSON_TYPE,
				  content_type ? "\"" : "", content_type ?: "not told",
				  content_type ? "\"" : "");
	if (!json_shape_check(operation->shape, body, &reason))
		return fail_shape(error, "the answer has another shape: %s", reason->message);
	return is_about(operation, path, body, error);
}

/* The client. */

/* The range of a command's timeout, seconds. */
#define TIMEOUT_MIN_S 1e-3
#define TIMEOUT_MAX_S 86400.0

enum {
	BODY_MAX = 64 << 20,
	QUOTE_MAX = 200,      /* bytes that an error quotes of an answer that is not JSON */
	REASON_MAX = 1 << 10, /* bytes of a peer's error message, or of one about its answer */
};

struct http_client {
	int references; /* 1 for the owner, 1 for each delivery that is on the stack */
	GMainContext *context;
	const struct platform_transport *transport;
	struct transport_client *shared;         /* with the other clients of the context */
	char *address;                           /* as given, for messages */
	char *base;                              /* prefix of the request's URL */
	char *socket_path;                       /* Unix socket, or NULL */
	const struct http_operation *operations; /* of the peer's API; NULL: any */
	GQueue active; /* struct transfer elements that have not been delivered */
	/* what the callback that runs now is about, or NULL */
	const struct transport_answer *answered;
	/* The identity. */
	char *ca_file;
	bool insecure;
	char *user;
	char *password;
	char *header;
	char *certificate;
	char *key;
	bool mends_numbers;
	bool device;    /* http_client_device() */
	bool texts;     /* http_client_new_text() */
	size_t largest; /* bytes of an answer */
};

/* A request under way. */
struct transfer {
	struct http_client *client;
	struct transport_exchange *exchange;
	const struct http_operation *operation; /* NULL: any JSON answer is accepted */
	char *path;
	char *title; /* for messages: ADDRESS, or "GET /x on ADDRESS" for an API that is not ours */
	http_client_done_f done;
	void *data;
};

/* A waiting http_client_call(), on the stack. */
struct call {
	bool ended;
	int status;
	json_t *body;
	GError *error;
};

static void transfer_free(struct transfer *transfer)
{
	g_free(transfer->path);
	g_free(transfer->title);
	g_free(transfer);
}

static void client_unref(struct http_client *client)
{
	if (--client->references > 0)
		return;
	g_main_context_unref(client->context);
	g_free(client->address);
	g_free(client->base);
	g_free(client->socket_path);
	g_free(client->ca_file);
	g_free(client->user);
	g_free(client->password);
	g_free(client->header);
	g_free(client->certificate);
	g_free(client->key);
	g_free(client);
}

/* The bytes of an answer as JSON, by the rules for its peer. */
static json_t *parse_text(const struct transfer *transfer, const GString *text, GError **error)
{
	json_t *body;

	if (transfer->client->texts) {
		g_autofree char *valid = g_utf8_make_valid(text->str, (gssize)text->len);

		return json_string(valid);
	}
	if (transfer->client->device)
		return json_parse_lenient(text->str, text->len, "answer", error);
	body = json_parse(text->str, text->len, "answer", error);
	if (body || !transfer->client->mends_numbers)
		return body;
	body = json_parse_mended(text->str, text->len);
	if (body)
		g_clear_error(error);
	return body;
}

/* The answer's body; NULL without `error` if it is empty. */
static json_t *parse_answer(const struct transfer *transfer, const GString *text, GError **error)
{
	g_autoptr(GError) reason = NULL;
	json_t *body;

	if (text->len == 0)
		return NULL;
	body = parse_text(transfer, text, &reason);
	if (!body) {
		g_autofree char *why = visible_start(reason->message, REASON_MAX);

		g_set_error(error, HTTP_ERROR, HTTP_ERROR_BODY, "%s: %s", transfer->title, why);
	}
	return body;
}

/*
 * The body of an answer, checked by the request's operation; NULL without `error` if it is empty
 * and no operation applies.
 */
static json_t *read_answer(const struct transfer *transfer, const struct transport_answer *answer,
			   GError **error)
{
	g_autoptr(GError) reason = NULL;
	g_autoptr(json_t) body = parse_answer(transfer, answer->body, error);

	if (*error || !transfer->operation)
		return g_steal_pointer(&body);
	if (check_answer(transfer->operation, transfer->path, answer->status, answer->content_type,
			 body, &reason))
		return g_steal_pointer(&body);
	g_autofree char *why = visible_start(reason->message, REASON_MAX);

	return error_null(error, HTTP_ERROR, HTTP_ERROR_BODY, "%s: %s", transfer->title, why);
}

/* The beginning of an answer of another API, which the caller frees. */
static char *beginning(const struct transport_answer *answer)
{
	return visible_start(answer->body->str, QUOTE_MAX);
}

/* Appends a message of a Redfish service: its text, else its name and what is in it (HPE iLO). */
static void append_info(GString *text, const json_t *info)
{
	const json_t *arguments = json_object_get(info, "MessageArgs");
	const char *id = json_string_value(json_object_get(info, "MessageId"))
				 ?: json_string_value(json_object_get(info, "MessageID"));
	const char *one = json_string_value(json_object_get(info, "Message"));
	const json_t *argument;
	size_t index;

	if (!one || !*one)
		one = id;
	if (!one || text->len >= REASON_MAX || strstr(text->str, one))
		return;
	g_string_append_printf(text, "%s%.*s", text->len ? " " : "", REASON_MAX, one);
	if (one != id)
		return;
	json_array_foreach (arguments, index, argument)
		if (json_is_string(argument) && text->len < REASON_MAX)
			g_string_append_printf(text, " \"%.*s\"", REASON_MAX,
					       json_string_value(argument));
}

/*
 * What a Redfish service says: its own messages where it has some, for "message" is often "A
 * general error has occurred". The caller frees; NULL: it says nothing.
 */
static char *said_by_redfish(const json_t *said)
{
	const json_t *infos = json_object_get(said, "@Message.ExtendedInfo");
	const char *message = json_string_value(json_object_get(said, "message"));
	g_autoptr(GString) text = g_string_new(NULL);
	const json_t *info;
	size_t index;

	/* Some firmware has the one message there instead of a list. */
	if (json_is_object(infos))
		append_info(text, infos);
	json_array_foreach (infos, index, info)
		append_info(text, info);
	if (text->len == 0 && message)
		g_string_append(text, message);
	return text->len ? visible_start(text->str, REASON_MAX) : NULL;
}

/*
 * The reason in a refusal: its "error" (Redfish: an object); NULL: it has none. The caller frees.
 */
static char *complaint(const struct transfer *transfer, const struct transport_answer *answer)
{
	g_autoptr(json_t) body = parse_text(transfer, answer->body, NULL);
	const json_t *said = json_object_get(body, "error");

	if (json_is_string(said))
		return visible_start(json_string_value(said), REASON_MAX);
	/* Devices say it without an "error", too. */
	return said_by_redfish(said || !transfer->client->device ? said : body);
}

/* A refusal without a reason comes from a proxy or from another API. */
static void set_refusal(const struct transfer *transfer, const struct transport_answer *answer,
			GError **error)
{
	g_autofree char *said = complaint(transfer, answer);
	g_autofree char *start = said ? NULL : beginning(answer);

	if (said || !transfer->operation)
		g_set_error(error, HTTP_ERROR, HTTP_ERROR_STATUS, "%s: status %d: %s",
			    transfer->title, answer->status, said ?: start);
	else
		g_set_error(error, HTTP_ERROR, HTTP_ERROR_BODY,
			    "%s: status %d without a reason%s%s%s", transfer->title, answer->status,
			    *start ? ", but \"" : "", start, *start ? "\"" : "");
}

/* Sets the error for a status below 400 that the operation does not have. */
static void set_unexpected(const struct transfer *transfer, const struct transport_answer *answer,
			   GError **error)
{
	g_autofree char *target =
		answer->redirection ? visible_start(answer->redirection, REASON_MAX) : NULL;

	if (target)
		g_set_error(error, HTTP_ERROR, HTTP_ERROR_BODY,
			    "%s: status %d, a redirection to \"%s\", which is not followed",
			    transfer->title, answer->status, target);
	else
		g_set_error(error, HTTP_ERROR, HTTP_ERROR_BODY, "%s: status %d, which is no answer",
			    transfer->title, answer->status);
}

/* There is no answer, and it is not too large. libcurl's text may quote the peer's certificate. */
static void set_failure(const struct transfer *transfer, const struct transport_answer *answer,
			GError **error)
{
	g_autofree char *reason = visible_start(answer->reason, REASON_MAX);

	g_set_error(error, HTTP_ERROR,
		    answer->result == TRANSPORT_MISNAMED    ? HTTP_ERROR_NAME
		    : answer->result == TRANSPORT_UNTRUSTED ? HTTP_ERROR_TRUST
							    : HTTP_ERROR_TRANSPORT,
		    "%s: %s", transfer->title, reason);
}

/* Makes the answer or an error; either may be NULL. */
static json_t *read_result(const struct transfer *transfer, const struct transport_answer *answer,
			   int *ret_status, GError **error)
{
	*ret_status = answer->status;
	if (transfer->client->device && answer->status >= 400) {
		set_refusal(transfer, answer, error);
	} else if (answer->result == TRANSPORT_TOO_LARGE) {
		g_set_error(error, HTTP_ERROR, HTTP_ERROR_BODY, "%s: answer larger than %zu bytes",
			    transfer->title, transfer->client->largest);
	} else if (answer->result != TRANSPORT_ANSWERED) {
		*ret_status = 0;
		set_failure(transfer, answer, error);
	} else if (answer->status >= 400) {
		set_refusal(transfer, answer, error);
	} else if (answer->status < 200 || answer->status >= 300) {
		set_unexpected(transfer, answer, error);
	}
	return *error ? NULL : read_answer(transfer, answer, error);
}

/*
 * Delivers an answer to its callback or waiting call, which may wait for another, and may free the
 * client.
 */
static void deliver(const struct transport_answer *answer, void *data)
{
	struct transfer *transfer = data;
	g_autoptr(GError) error = NULL;
	int status;
	g_autoptr(json_t) body = read_result(transfer, answer, &status, &error);
	struct http_client *client = transfer->client;
	const struct transport_answer *before = client->answered;

	g_queue_remove(&client->active, transfer);
	client->references++;
	client->answered = answer;
	transfer->done(status, body, error, transfer->data);
	client->answered = before;
	transfer_free(transfer);
	client_unref(client);
}

static bool refuse_address(const char *address, const char *why, GError **error)
{
	const char *at = strrchr(address, '@'); /* a password may be before it */

	return error_fail(error, HTTP_ERROR, HTTP_ERROR_ADDRESS, "address \"%s%s\": %s",
			  at ? "..." : "", at ?: address, why);
}

/* Whether a URL has a part, as parsed by libcurl, which makes the request. */
static bool has_part(CURLU *url, CURLUPart part)
{
	char *text = NULL;
	const bool has = curl_url_get(url, part, &text, 0) == CURLUE_OK;

	curl_free(text);
	return has;
}

/* Whether traffic to a URL's host stays on this machine. */
static bool is_here(CURLU *url)
{
	char *host = NULL;
	const bool here =
		curl_url_get(url, CURLUPART_HOST, &host, 0) == CURLUE_OK && loopback_is(host);

	curl_free(host);
	return here;
}

/* Whether at most one "/" follows HOST:PORT. */
static bool ends_at_port(const char *host)
{
	const char *path = strchr(host, '/');

	return !path || path[1] == '\0';
}

/* `anywhere`: http may go to other machines. */
static bool check_url(CURLU *url, const char *address, bool anywhere, GError **error)
{
	const bool secure = g_str_has_prefix(address, "https://");
	const char *host = strstr(address, "://");

	if ((!secure && !g_str_has_prefix(address, "http://")) || host[strlen("://")] == '/' ||
	    curl_url_set(url, CURLUPART_URL, address, CURLU_NO_DEFAULT_PORT) != CURLUE_OK)
		return refuse_address(
			address, "expected unix:/PATH, https://HOST:PORT or http://127.0.0.1:PORT",
			error);
	if (has_part(url, CURLUPART_USER) || has_part(url, CURLUPART_PASSWORD) ||
	    has_part(url, CURLUPART_OPTIONS))
		return refuse_address(address,
				      "it has no user before \"@\"; write SCHEME://HOST:PORT",
				      error);
	if (strpbrk(address, "?#") || !ends_at_port(host + strlen("://")))
		return refuse_address(address,
				      "nothing follows the host and port; write SCHEME://HOST:PORT",
				      error);
	return secure || anywhere || is_here(url) ||
	       refuse_address(
		       address,
		       "what is sent there could be read on its way, as http to another machine is "
		       "not encrypted; use https, or http://127.0.0.1:PORT in this machine",
		       error);
}

static bool check_address(const char *address, bool anywhere, GError **error)
{
	CURLU *url;
	bool good;

	if (g_str_has_prefix(address, "unix:/"))
		return true;
	url = curl_url();
	good = check_url(url, address, anywhere, error);
	curl_url_cleanup(url);
	return good;
}

bool http_client_check_address(const char *address, GError **error)
{
	return check_address(address, false, error);
}

bool http_client_timeout(double usual_s, double *ret_s, GError **error)
{
	const char *given = g_getenv("VIRTBED_TIMEOUT");
	double seconds = usual_s;

	if (given && *given &&
	    (!read_number_duration(given, &seconds) ||
	     !(seconds >= TIMEOUT_MIN_S && seconds <= TIMEOUT_MAX_S)))
		return error_fail(error, HTTP_ERROR, HTTP_ERROR_ADDRESS,
				  "VIRTBED_TIMEOUT: \"%s\" is no time from 1 ms to a day; write "
				  "30, 90s or 2m",
				  given);
	*ret_s = seconds;
	return true;
}

/* Splits `address` into the parts that libcurl needs. */
static bool parse_address(struct http_client *client, const char *address, GError **error)
{
	if (!check_address(address, client->texts, error))
		return false;
	if (g_str_has_prefix(address, "unix:/")) {
		client->socket_path = g_strdup(address + strlen("unix:"));
		client->base = g_strdup("http://localhost");
		return true;
	}
	client->base = g_strdup(address);
	if (g_str_has_suffix(client->base, "/"))
		client->base[strlen(client->base) - 1] = '\0';
	return true;
}

static struct http_client *client_new(const struct platform *platform, const char *address,
				      bool texts, GError **error)
{
	struct http_client *client = g_new0(struct http_client, 1);

	client->references = 1;
	client->texts = texts;
	client->context = g_main_context_ref_thread_default();
	client->address = g_strdup(address);
	if (!parse_address(client, address, error)) {
		client_unref(client);
		return NULL;
	}
	client->largest = BODY_MAX;
	client->transport = platform->transport;
	client->shared = client->transport->join(platform, client->context);
	return client;
}

struct http_client *http_client_new(const struct platform *platform, const char *address,
				    GError **error)
{
	return client_new(platform, address, false, error);
}

struct http_client *http_client_new_text(const struct platform *platform, const char *address,
					 size_t most, GError **error)
{
	struct http_client *client = client_new(platform, address, true, error);

	if (client)
		http_client_device(client, most);
	return client;
}

void http_client_expect(struct http_client *client, const struct http_operation *operations)
{
	client->operations = operations;
}

static void replace(char **text, const char *by)
{
	char *old = *text;

	*text = g_strdup(by);
	g_free(old);
}

void http_client_identify(struct http_client *client, const struct http_client_identity *identity)
{
	replace(&client->ca_file, identity->ca_file);
	client->insecure = identity->insecure;
	replace(&client->user, identity->user);
	replace(&client->password, identity->password);
	replace(&client->header, identity->header);
	replace(&client->certificate, identity->certificate);
	replace(&client->key, identity->key);
}

void http_client_mend_numbers(struct http_client *client)
{
	client->mends_numbers = true;
}

void http_client_device(struct http_client *client, size_t most)
{
	client->device = true;
	client->largest = most;
}

const char *http_client_answer_header(const struct http_client *client, const char *name)
{
	return client->answered ? client->transport->header(client->answered, name) : NULL;
}

/* A waiting call has its answer. */
static void on_called(int status, json_t *body, const GError *error, void *data)
{
	struct call *call = data;

	call->ended = true;
	call->status = status;
	if (error)
		call->error = g_error_copy(error);
	else
		call->body = body ? json_incref(body) : json_null();
}

/* Ends a transfer without its callback; a waiting call ends with an error. */
static void abandon(struct transfer *transfer)
{
	g_autoptr(GError) error = NULL;

	if (transfer->done == on_called) {
		g_set_error(&error, HTTP_ERROR, HTTP_ERROR_TRANSPORT, "%s: the client was closed",
			    transfer->title);
		on_called(0, NULL, error, transfer->data);
	}
	transfer_free(transfer);
}

void http_client_cancel(struct http_client *client, bool unsent)
{
	GList *next;

	for (GList *link = client->active.head; link; link = next) {
		struct transfer *transfer = link->data;

		next = link->next;
		if (unsent && client->transport->is_sent(transfer->exchange))
			continue;
		g_queue_delete_link(&client->active, link);
		client->transport->cancel(transfer->exchange);
		abandon(transfer);
	}
}

/* The first of the client's requests that has ended and was not delivered; NULL: none. */
static struct transfer *first_ended(const struct http_client *client)
{
	for (const GList *link = client->active.head; link; link = link->next) {
		struct transfer *transfer = link->data;

		if (client->transport->has_ended(transfer->exchange))
			return transfer;
	}
	return NULL;
}

/* Delivers what has ended. Returns whether requests are under way. */
static bool deliver_ended(void *data)
{
	struct http_client *client = data;
	struct transfer *transfer;

	while ((transfer = first_ended(client)))
		client->transport->deliver(transfer->exchange);
	return !g_queue_is_empty(&client->active);
}

void http_client_settle(struct http_client *client, double timeout_s)
{
	client->transport->settle(client->shared, timeout_s, deliver_ended, client);
}

void http_client_free(struct http_client *client)
{
	if (!client)
		return;
	http_client_cancel(client, false);
	client->transport->leave(client->shared);
	client_unref(client);
}

/* The lines of a request's head that are ours, NULL-terminated; the caller frees. */
static char **make_headers(const struct http_client *client, bool has_body)
{
	g_autoptr(GStrvBuilder) headers = g_strv_builder_new();

	if (has_body)
		g_strv_builder_add(headers, "Content-Type: application/json");
	if (client->header)
		g_strv_builder_add(headers, client->header);
	g_strv_builder_add(headers, client->texts ? "Accept: */*" : "Accept: application/json");
	return g_strv_builder_end(headers);
}

void http_client_request(struct http_client *client, const char *method, const char *path,
			 json_t *body, double timeout_s, http_client_done_f done, void *data)
{
	struct transfer *transfer = g_new0(struct transfer, 1);
	g_autofree char *url = g_strconcat(client->base, path, NULL);
	g_autofree char *text = body ? json_text(body) : NULL;
	g_auto(GStrv) headers = make_headers(client, body != NULL);
	const struct transport_request request = {
		.method = method,
		.url = url,
		.socket_path = client->socket_path,
		.headers = (const char *const *)headers,
		.body = text,
		.timeout_s = timeout_s,
		.connect_s = client->device ? HTTP_CLIENT_CONNECT_S : 0,
		.largest = client->largest,
		.compressed = client->device,
		.ca_file = client->ca_file,
		.certificate = client->certificate,
		.key = client->key,
		.user = client->user,
		.password = client->password,
		.insecure = client->insecure,
	};

	transfer->client = client;
	transfer->done = done;
	transfer->data = data;
	/* Paths of our own daemons mean nothing to users, who know commands. */
	transfer->title = g_str_has_prefix(path, "/v1/")
				  ? g_strdup(client->address)
				  : g_strdup_printf("%s %s on %s", method, path, client->address);
	transfer->operation = http_operation_find(client->operations, method, path);
	transfer->path = g_strdup(path);
	g_queue_push_tail(&client->active, transfer);
	transfer->exchange = client->transport->send(client->shared, &request, deliver, transfer);
}

json_t *http_client_call(struct http_client *client, const char *method, const char *path,
			 json_t *body, double timeout_s, GError **error)
{
	int status;

	return http_client_ask(client, method, path, body, timeout_s, &status, error);
}

json_t *http_client_ask(struct http_client *client, const char *method, const char *path,
			json_t *body, double timeout_s, int *ret_status, GError **error)
{
	g_autoptr(GMainContext) context = g_main_context_ref(client->context);
	struct call call = {.ended = false};

	http_client_request(client, method, path, body, timeout_s, on_called, &call);
	/* A callback may free the client, which ends the call, so no other state is used here. */
	while (!call.ended)
		g_main_context_iteration(context, TRUE);
	*ret_status = call.status;
	if (call.error)
		g_propagate_error(error, call.error);
	return call.body;
}
