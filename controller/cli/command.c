/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/cli/command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "common/json.h"
#include "common/number_option.h"
#include "common/program_path.h"
#include "common/visible.h"
#include "controller/experiment/experiment.h"
#include "controller/run/run_paths.h"
#include "controller/workload/workload.h"

/* The most options of a command, and of the command that it runs at its end. */
#define OPTIONS_MAX 64

void command_name_source(GError **error, const char *path, bool policies_given)
{
	if (!g_error_matches(*error, EXPERIMENT_ERROR, EXPERIMENT_ERROR_POLICY)) {
		if ((*error)->domain == EXPERIMENT_ERROR || (*error)->domain == WORKLOAD_ERROR)
			g_prefix_error(error, "%s: ", path);
	} else if (policies_given) {
		g_prefix_error(error, "--policy: ");
	} else {
		g_prefix_error(error, "%s: experiment.policies: ", path);
	}
}

int command_fail(int status, const char *name, const char *format, ...)
{
	g_autofree char *text = NULL;
	va_list arguments;

	va_start(arguments, format);
	text = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	fflush(stdout);
	visible_complain(name, text);
	return status;
}

/* The value of an option as GLib sets it. Numbers are texts, for number_option(). */
union value {
	gboolean flag;
	char *text;
	char **texts;
};

static bool set_value(const struct command_option *option, const union value *value, GError **error)
{
	g_autofree char *name = g_strconcat("--", option->name, NULL);
	const int64_t max = option->max < (double)INT64_MAX ? (int64_t)option->max : INT64_MAX;

	switch (option->kind) {
	case COMMAND_NUMBER:
		return number_option(name, value->text, option->min, option->max, option->value,
				     error);
	case COMMAND_COUNT:
		return number_option_unsigned(name, value->text, (uint32_t)option->min,
					      (uint32_t)max, option->value, error);
	case COMMAND_INTEGER:
		return number_option_integer(name, value->text, (int64_t)option->min, max,
					     option->value, error);
	case COMMAND_FLAG:
		*(bool *)option->value = value->flag || *(bool *)option->value;
		break;
	case COMMAND_TEXT:
	case COMMAND_FILE:
		*(char **)option->value = value->text ?: *(char **)option->value;
		break;
	case COMMAND_TEXTS:
	case COMMAND_FILES:
		*(char ***)option->value = value->texts ?: *(char ***)option->value;
		break;
	}
	return true;
}

bool command_parse(int *argc, char ***argv, const char *usage, const char *summary,
		   const struct command_option *options)
{
	static const GOptionArg kinds[] = {
		[COMMAND_FLAG] = G_OPTION_ARG_NONE,
		[COMMAND_TEXT] = G_OPTION_ARG_STRING,
		[COMMAND_FILE] = G_OPTION_ARG_FILENAME,
		[COMMAND_TEXTS] = G_OPTION_ARG_STRING_ARRAY,
		[COMMAND_FILES] = G_OPTION_ARG_FILENAME_ARRAY,
		[COMMAND_NUMBER] = G_OPTION_ARG_STRING,
		[COMMAND_COUNT] = G_OPTION_ARG_STRING,
		[COMMAND_INTEGER] = G_OPTION_ARG_STRING,
	};
	static union value values[OPTIONS_MAX];
	static gsize used; /* of `values`: a command may run another one */
	g_autoptr(GOptionContext) context = g_option_context_new(usage);
	union value *value = &values[used];
	g_autoptr(GError) error = NULL;
	bool good;

	for (const struct command_option *option = options; option->name; option++) {
		const GOptionEntry entries[] = {
			{option->name, option->letter, option->help ? 0 : G_OPTION_FLAG_HIDDEN,
			 kinds[option->kind], &values[used], option->help, option->argument},
			{NULL},
		};

		g_assert(used < G_N_ELEMENTS(values));
		g_option_context_add_main_entries(context, entries, NULL);
		used++;
	}
	g_option_context_set_summary(context, summary);
	good = g_option_context_parse(context, argc, argv, &error);
	for (; good && options->name; options++)
		good = set_value(options, value++, &error);
	if (!good)
		command_fail(COMMAND_BAD, **argv, "%s", error->message);
	return good;
}

void command_print_json(const json_t *document)
{
	g_autofree char *text = json_pretty(document);

	puts(text);
}

int command_become(const char *program, char **argv)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *path = program_path(program, &error);
	const char *name = argv[0];

	if (!path)
		return command_fail(COMMAND_FAILED, name, "%s", error->message);
	argv[0] = path;
	execv(path, argv);
	return command_fail(COMMAND_FAILED, name, "cannot start \"%s\": %s", path,
			    g_strerror(errno));
}
