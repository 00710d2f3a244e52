/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/config/config_arrivals.h"

#include <string.h>

#include "common/error_fail.h"
#include "common/read_file.h"
#include "common/read_number.h"

/*
 * A task has a line of about 20 bytes. A simulation that keeps nothing takes all of them. A run
 * directory has its tasks in a configuration of CONFIG_FILE_BYTES_MAX, in 50 to 80 bytes each, and
 * what does not fit is refused before anything runs (config_text_is_readable()).
 */
#define FILE_BYTES_MAX ((size_t)64 << 20)

#define ARRIVAL_MAX_S 1e9 /* as in the rows of workload.list */

#define FIELDS 4

/* The longest field that an error quotes whole, in bytes. */
#define FIELD_MAX 200

/* The file that is read. */
struct reading {
	const char *name; /* as the configuration has it */
	const char *path; /* of the configuration */
	uint32_t line;
	GArray *tasks; /* struct config_workload_task */
	GError **error;
};

static const char heading[] = "arrival_s,type,utility,user";
static const char *const field_names[FIELDS] = {"arrival_s", "type", "utility", "user"};

static bool refuse(const struct reading *reading, const char *field, const char *format, ...)
	G_GNUC_PRINTF(3, 4);

/* Sets the error: file, line, field and what is wrong. Returns false. */
static bool refuse(const struct reading *reading, const char *field, const char *format, ...)
{
	g_autofree char *wrong = NULL;
	va_list arguments;

	va_start(arguments, format);
	wrong = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	return error_fail(reading->error, CONFIG_ERROR, CONFIG_ERROR_MEANING,
			  "%s: workload.arrivals: '%s', line %u: %s: %s", reading->path,
			  reading->name, reading->line, field, wrong);
}

/* Whether the stripped fields of a line are the names of the fields. */
static bool is_heading(char *const *fields)
{
	g_autofree char *joined = g_strjoinv(",", (char **)fields);

	return g_str_equal(joined, heading) || g_str_equal(joined, "arrival_s,type,utility");
}

/* Adds the task of a line, of which `fields` are stripped. */
static bool add_task(struct reading *reading, char *const *fields)
{
	const guint count = g_strv_length((char **)fields);
	struct config_workload_task task = {.line = reading->line};
	uint64_t utility = 0;

	for (guint i = 0; i < MIN(count, FIELDS); i++)
		if (strlen(fields[i]) > FIELD_MAX)
			return refuse(reading, field_names[i], "more than %d bytes", FIELD_MAX);
	if (!read_number(fields[0], 0, ARRIVAL_MAX_S, &task.arrival_s))
		return refuse(reading, "arrival_s", "'%s' is no time in seconds from 0 to %g",
			      fields[0], ARRIVAL_MAX_S);
	if (count < 2 || !*fields[1])
		return refuse(reading, "type", "missing; give a line %s", heading);
	if (count > FIELDS)
		return refuse(reading, "user", "more than %d fields; give a line %s", FIELDS,
			      heading);
	if (count > 2 && *fields[2] && !read_number_unsigned(fields[2], 1, UINT32_MAX, &utility))
		return refuse(reading, "utility", "'%s' is no whole number above 0", fields[2]);
	task.utility = (uint32_t)utility;
	task.type = g_strdup(fields[1]);
	task.user = count > 3 && *fields[3] ? g_strdup(fields[3]) : NULL;
	g_array_append_val(reading->tasks, task);
	return true;
}

static bool read_line(struct reading *reading, char *line)
{
	g_auto(GStrv) fields = NULL;

	line[strcspn(line, "#")] = '\0';
	g_strstrip(line);
	if (!*line)
		return true;
	if (reading->tasks->len == CONFIG_TASKS_MAX)
		return refuse(reading, "arrival_s", "more than %d tasks", CONFIG_TASKS_MAX);
	/* One more than a line has: what follows them is refused as a whole. */
	fields = g_strsplit(line, ",", FIELDS + 1);
	for (guint i = 0; fields[i]; i++)
		g_strstrip(fields[i]);
	if (reading->tasks->len == 0 && is_heading(fields))
		return true;
	return add_task(reading, fields);
}

static bool read_lines(struct reading *reading, char *text)
{
	for (char *line = text, *next = NULL; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		reading->line++;
		if (!read_line(reading, line))
			return false;
	}
	return true;
}

static void clear_task(gpointer data)
{
	struct config_workload_task *task = data;

	g_free(task->type);
	g_free(task->user);
}

bool config_arrivals_read(struct config_workload *workload, const char *path, GError **error)
{
	g_autofree char *folder = g_path_get_dirname(path);
	g_autofree char *file = g_path_is_absolute(workload->arrivals)
					? g_strdup(workload->arrivals)
					: g_build_filename(folder, workload->arrivals, NULL);
	g_autoptr(GArray) tasks = g_array_new(FALSE, FALSE, sizeof(struct config_workload_task));
	struct reading reading = {workload->arrivals, path, 0, tasks, error};
	g_autoptr(GError) trouble = NULL;
	g_autofree char *text = NULL;
	size_t length;

	g_array_set_clear_func(tasks, clear_task);
	if (workload->list_count > 0)
		return error_fail(error, CONFIG_ERROR, CONFIG_ERROR_MEANING,
				  "%s: workload.arrivals: '%s', but there is a list as well; leave "
				  "out one of them",
				  path, workload->arrivals);
	text = read_file(file, FILE_BYTES_MAX, &length, &trouble);
	if (!text)
		return error_fail(error, CONFIG_ERROR, CONFIG_ERROR_READ,
				  "%s: workload.arrivals: %s", path, trouble->message);
	if (!g_utf8_validate_len(text, length, NULL) || strlen(text) != length)
		return error_fail(error, CONFIG_ERROR, CONFIG_ERROR_SYNTAX,
				  "%s: workload.arrivals: '%s' is no text in UTF-8", path,
				  workload->arrivals);
	if (!read_lines(&reading, text))
		return false;
	if (tasks->len == 0)
		return error_fail(
			error, CONFIG_ERROR, CONFIG_ERROR_MEANING,
			"%s: workload.arrivals: '%s' has no task; give a line %s for each", path,
			workload->arrivals, heading);
	g_array_set_clear_func(tasks, NULL);
	workload->list_count = tasks->len;
	workload->list =
		(struct config_workload_task *)(void *)g_array_free(g_steal_pointer(&tasks), FALSE);
	return true;
}
