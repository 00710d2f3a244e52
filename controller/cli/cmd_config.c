/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "common/config.h"
#include "common/config_schema.h"
#include "common/config_yaml.h"
#include "controller/cli/commands.h"

static int check(const char *name, const char *path)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) config = config_load(path, &error);

	if (!config)
		return command_fail(COMMAND_BAD, name, "%s", error->message);
	printf("%s: good: %u clusters, %u types, %u estimates%s\n", path, config->clusters_count,
	       config->types_count, config->estimates_count,
	       config->lab ? ", emulated blades" : "");
	return COMMAND_DONE;
}

static int dump(const char *name, const char *path)
{
	g_autofree char *text = NULL;
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) config = config_load(path, &error);

	if (!config)
		return command_fail(COMMAND_BAD, name, "%s", error->message);
	text = config_yaml_text(&config_schema, config);
	fputs(text, stdout);
	return COMMAND_DONE;
}

int cmd_config(int argc, char **argv)
{
	g_autoptr(GOptionContext) context = g_option_context_new("check|dump CONFIG");
	g_autoptr(GError) error = NULL;

	g_option_context_set_summary(
		context, "check: says whether a configuration is good, or what is wrong "
			 "where.\ndump: prints it with every default filled in.");
	if (!g_option_context_parse(context, &argc, &argv, &error))
		return command_fail(COMMAND_BAD, argv[0], "%s", error->message);
	if (argc != 3)
		return command_fail(COMMAND_BAD, argv[0],
				    "give \"check\" or \"dump\" and one file");
	if (strcmp(argv[1], "check") == 0)
		return check(argv[0], argv[2]);
	if (strcmp(argv[1], "dump") == 0)
		return dump(argv[0], argv[2]);
	return command_fail(COMMAND_BAD, argv[0], "unknown \"%s\"; known: check dump", argv[1]);
}
