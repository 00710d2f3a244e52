/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/cli/command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "common/visible.h"
#include "controller/engine/experiment.h"
#include "controller/run/run_paths.h"
#include "controller/workload/workload.h"

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

int command_become(const char *program, char **argv)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *path = run_paths_program(program, &error);
	const char *name = argv[0];

	if (!path)
		return command_fail(COMMAND_FAILED, name, "%s", error->message);
	argv[0] = path;
	execv(path, argv);
	return command_fail(COMMAND_FAILED, name, "cannot start \"%s\": %s", path,
			    g_strerror(errno));
}
