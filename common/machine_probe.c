/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/machine_probe.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>

#include "common/error_fail.h"
#include "common/json.h"
#include "common/read_file.h"

#define CORES_MAX 4096.0
#define SPEED_MAX 1000.0

G_DEFINE_QUARK(virtbed_machine_probe, machine_probe_error)

static const char *const keys[] = {"cores", "speed", "memory_mib", "disk_mib", "utc", NULL};

static bool G_GNUC_PRINTF(3, 4)
	fail_document(GError **error, const char *what, const char *format, ...)
{
	g_autofree char *text = NULL;
	va_list arguments;

	va_start(arguments, format);
	text = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	return error_fail(error, MACHINE_PROBE_ERROR, MACHINE_PROBE_ERROR_DOCUMENT,
			  "%s: %s; `virtbed lab probe --json` prints a document", what, text);
}

static bool check_keys(const json_t *document, const char *what, GError **error)
{
	const char *key;
	json_t *value;

	json_object_foreach ((json_t *)document, key, value) {
		if (!g_strv_contains(keys, key))
			return fail_document(
				error, what,
				"'%s' is not a key of a probe, which has cores, speed, memory_mib, "
				"disk_mib and utc",
				key);
	}
	return true;
}

/* A number above 0. */
static bool take_number(const json_t *document, const char *key, double most, const char *what,
			double *ret_value, GError **error)
{
	const json_t *value = json_object_get(document, key);
	const double number = json_number_value(value);

	if (!json_is_number(value) || !(number > 0 && number <= most))
		return fail_document(error, what, "'%s' is not a number above 0 and up to %g", key,
				     most);
	*ret_value = number;
	return true;
}

static bool take_size(const json_t *document, const char *key, const char *what,
		      uint64_t *ret_value, GError **error)
{
	const json_t *value = json_object_get(document, key);

	if (!value)
		return true;
	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return fail_document(error, what, "'%s' is not a whole number of MiB", key);
	*ret_value = (uint64_t)json_integer_value(value);
	return true;
}

static bool take(const json_t *document, const char *what, struct machine_probe *probe,
		 GError **error)
{
	const json_t *utc = json_object_get(document, "utc");

	if (!json_is_object(document))
		return fail_document(error, what, "a probe is an object");
	if (utc && !json_is_string(utc))
		return fail_document(error, what, "'utc' is not a text");
	probe->utc = g_strdup(json_string_value(utc));
	probe->speed = (double)NAN;
	return check_keys(document, what, error) &&
	       take_number(document, "cores", CORES_MAX, what, &probe->cores, error) &&
	       (json_is_null(json_object_get(document, "speed")) ||
		take_number(document, "speed", SPEED_MAX, what, &probe->speed, error)) &&
	       take_size(document, "memory_mib", what, &probe->memory_mib, error) &&
	       take_size(document, "disk_mib", what, &probe->disk_mib, error);
}

struct machine_probe *machine_probe_parse(const char *text, gsize length, const char *what,
					  GError **error)
{
	g_autoptr(machine_probe_t) probe = g_new0(struct machine_probe, 1);
	g_autoptr(GError) cause = NULL;
	g_autoptr(json_t) document = json_parse(text, length, what, &cause);

	if (!document)
		return error_null(error, MACHINE_PROBE_ERROR, MACHINE_PROBE_ERROR_DOCUMENT, "%s",
				  cause->message);
	return take(document, what, probe, error) ? g_steal_pointer(&probe) : NULL;
}

struct machine_probe *machine_probe_load(const char *path, GError **error)
{
	g_autoptr(GError) cause = NULL;
	gsize length;
	g_autofree char *text = read_file(path, READ_FILE_SMALL_MAX, &length, &cause);

	if (text)
		return machine_probe_parse(text, length, path, error);
	return error_null(error, MACHINE_PROBE_ERROR, MACHINE_PROBE_ERROR_READ,
			  "the probe cannot be read: %s", cause->message);
}

char *machine_probe_text(const struct machine_probe *probe)
{
	g_autoptr(GString) text = g_string_new(NULL);

	g_string_append_printf(text, "{\"cores\": %.15g, \"speed\": ", probe->cores);
	if (isnan(probe->speed))
		g_string_append(text, "null");
	else
		g_string_append_printf(text, "%.15g", probe->speed);
	if (probe->memory_mib > 0)
		g_string_append_printf(text, ", \"memory_mib\": %" PRIu64, probe->memory_mib);
	if (probe->disk_mib > 0)
		g_string_append_printf(text, ", \"disk_mib\": %" PRIu64, probe->disk_mib);
	if (probe->utc) {
		g_autoptr(json_t) utc = json_string(probe->utc);
		g_autofree char *quoted = json_dumps(utc, JSON_ENCODE_ANY);

		g_string_append_printf(text, ", \"utc\": %s", quoted);
	}
	g_string_append_c(text, '}');
	return g_string_free(g_steal_pointer(&text), FALSE);
}

bool machine_probe_save(const struct machine_probe *probe, const char *path, GError **error)
{
	g_autofree char *text = machine_probe_text(probe);
	g_autofree char *line = g_strconcat(text, "\n", NULL);

	return g_file_set_contents(path, line, -1, error);
}

char *machine_probe_describe(const struct machine_probe *probe)
{
	GString *text = g_string_new(NULL);

	g_string_append_printf(text, "%.2f cores for the lab, ", probe->cores);
	if (isnan(probe->speed))
		g_string_append(text, "speed not known");
	else
		g_string_append_printf(text, "speed %.2f", probe->speed);
	if (probe->memory_mib > 0)
		g_string_append_printf(text, ", %.1f GiB of memory",
				       (double)probe->memory_mib / 1024);
	if (probe->disk_mib > 0)
		g_string_append_printf(text, ", %.1f GiB of disk", (double)probe->disk_mib / 1024);
	return g_string_free(text, FALSE);
}

void machine_probe_free(struct machine_probe *probe)
{
	if (!probe)
		return;
	g_free(probe->utc);
	g_free(probe);
}
