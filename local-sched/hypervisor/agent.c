/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/hypervisor/agent.h"

#include <string.h>

#include "common/error_fail.h"
#include "common/json.h"

#define WHAT "guest agent's reply"

G_DEFINE_QUARK(virtbed_agent, agent_error)

void agent_status_clear(struct agent_status *status)
{
	g_clear_pointer(&status->output, g_free);
	g_clear_pointer(&status->errors, g_free);
	memset(status, 0, sizeof(*status));
}

/* Takes over `arguments` (NULL: none). */
static char *request(const char *command, json_t *arguments)
{
	g_autoptr(json_t) object = json_object();

	json_object_set_new(object, "execute", json_string(command));
	if (arguments)
		json_object_set_new(object, "arguments", arguments);
	return json_text(object);
}

static json_t *string_array(const char *const *texts)
{
	json_t *array = json_array();

	for (; *texts; texts++)
		json_array_append_new(array, json_string(*texts));
	return array;
}

char *agent_ping_request(void)
{
	return request("guest-ping", NULL);
}

char *agent_set_time_request(int64_t time_ns)
{
	return request("guest-set-time", json_pack("{s:I}", "time", (json_int_t)time_ns));
}

char *agent_sync_request(uint32_t id)
{
	return request("guest-sync", json_pack("{s:I}", "id", (json_int_t)id));
}

static json_t *base64_json(GBytes *bytes)
{
	gsize length;
	const guchar *data = g_bytes_get_data(bytes, &length);
	g_autofree char *text = g_base64_encode(data, length);

	return json_string(text);
}

char *agent_exec_request(const char *const *arguments, const char *const *environment,
			 GBytes *input)
{
	json_t *object = json_object();

	json_object_set_new(object, "path", json_string(arguments[0]));
	json_object_set_new(object, "arg", string_array(arguments + 1));
	if (environment)
		json_object_set_new(object, "env", string_array(environment));
	if (input)
		json_object_set_new(object, "input-data", base64_json(input));
	json_object_set_new(object, "capture-output", json_true());
	return request("guest-exec", object);
}

char *agent_status_request(int64_t pid)
{
	return request("guest-exec-status", json_pack("{s:I}", "pid", (json_int_t)pid));
}

char *agent_file_open_request(const char *path)
{
	return request("guest-file-open", json_pack("{s:s, s:s}", "path", path, "mode", "r"));
}

char *agent_file_read_request(int64_t file, uint32_t bytes)
{
	return request("guest-file-read", json_pack("{s:I, s:I}", "handle", (json_int_t)file,
						    "count", (json_int_t)bytes));
}

char *agent_file_close_request(int64_t file)
{
	return request("guest-file-close", json_pack("{s:I}", "handle", (json_int_t)file));
}

static bool rubbish(GError **error, const char *reply)
{
	g_autofree char *shown = g_strndup(reply, 80);
	g_autofree char *escaped = g_strescape(shown, NULL);

	return error_fail(error, AGENT_ERROR, AGENT_ERROR_RUBBISH, WHAT " makes no sense: '%s'",
			  escaped);
}

/* Parses a reply. Returns a new reference, from which *ret_return is borrowed, or NULL. */
static json_t *parse(const char *reply, json_t **ret_return, GError **error)
{
	g_autoptr(json_t) object = json_parse(reply, strlen(reply), WHAT, NULL);
	json_t *refusal = json_object_get(object, "error");
	const char *text;

	if (refusal) {
		text = json_string_value(json_object_get(refusal, "desc"));
		return error_null(error, AGENT_ERROR, AGENT_ERROR_REFUSED,
				  "guest agent refused: %.200s", text ? text : "no description");
	}
	*ret_return = json_object_get(object, "return");
	if (!*ret_return) {
		rubbish(error, reply);
		return NULL;
	}
	return g_steal_pointer(&object);
}

bool agent_parse_empty(const char *reply, GError **error)
{
	json_t *value;
	g_autoptr(json_t) object = parse(reply, &value, error);

	if (!object)
		return false;
	return json_is_object(value) || rubbish(error, reply);
}

bool agent_parse_sync(const char *reply, uint32_t id, GError **error)
{
	json_t *value;
	g_autoptr(json_t) object = parse(reply, &value, error);

	if (!object)
		return false;
	return (json_is_integer(value) && json_integer_value(value) == (json_int_t)id) ||
	       rubbish(error, reply);
}

bool agent_parse_exec(const char *reply, int64_t *ret_pid, GError **error)
{
	json_t *value;
	g_autoptr(json_t) object = parse(reply, &value, error);
	int64_t pid;

	if (!object)
		return false;
	if (!json_get_integer(value, "pid", WHAT, 1, INT64_MAX, &pid, NULL))
		return rubbish(error, reply);
	*ret_pid = pid;
	return true;
}

/* Decodes the optional base64 text `key`; the result is NUL-terminated. */
static bool decode(const json_t *value, const char *key, char **ret_text, size_t *ret_length)
{
	const json_t *item = json_object_get(value, key);
	g_autofree guchar *bytes = NULL;
	gsize length = 0;

	if (!item)
		return true;
	if (!json_is_string(item))
		return false;
	bytes = g_base64_decode(json_string_value(item), &length);
	*ret_text = g_malloc(length + 1);
	memcpy(*ret_text, bytes, length);
	(*ret_text)[length] = '\0';
	*ret_length = length;
	return true;
}

bool agent_parse_file(const char *reply, int64_t *ret_file, GError **error)
{
	json_t *value;
	g_autoptr(json_t) object = parse(reply, &value, error);

	if (!object)
		return false;
	if (!json_is_integer(value) || json_integer_value(value) <= 0)
		return rubbish(error, reply);
	*ret_file = json_integer_value(value);
	return true;
}

bool agent_parse_piece(const char *reply, struct agent_piece *ret_piece, GError **error)
{
	json_t *value;
	g_autoptr(json_t) object = parse(reply, &value, error);
	struct agent_piece piece = {0};

	if (!object)
		return false;
	if (!json_is_object(value) || !json_object_get(value, "buf-b64") ||
	    !decode(value, "buf-b64", &piece.bytes, &piece.length))
		return rubbish(error, reply);
	*ret_piece = piece;
	return true;
}

/* Reads exitcode or signal of a process that has exited. */
static bool parse_end(const json_t *value, struct agent_status *status)
{
	int64_t number;

	if (json_get_integer(value, "exitcode", WHAT, 0, 255, &number, NULL))
		status->status = (int)number;
	else if (json_get_integer(value, "signal", WHAT, 1, 127, &number, NULL))
		status->status = 128 + (int)number;
	else
		return false;
	status->truncated = json_is_true(json_object_get(value, "out-truncated")) ||
			    json_is_true(json_object_get(value, "err-truncated"));
	return decode(value, "out-data", &status->output, &status->output_length) &&
	       decode(value, "err-data", &status->errors, &status->errors_length);
}

bool agent_parse_status(const char *reply, struct agent_status *ret_status, GError **error)
{
	json_t *value;
	g_autoptr(json_t) object = parse(reply, &value, error);
	struct agent_status status = {0};
	const json_t *exited;

	if (!object)
		return false;
	exited = json_object_get(value, "exited");
	if (!json_is_boolean(exited))
		return rubbish(error, reply);
	status.exited = json_is_true(exited);
	if (status.exited && !parse_end(value, &status)) {
		agent_status_clear(&status);
		return rubbish(error, reply);
	}
	*ret_status = status;
	return true;
}
