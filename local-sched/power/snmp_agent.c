/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/snmp_agent.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "common/error_fail.h"
#include "local-sched/power/power_meter.h"

#define CONFIG_FILE "snmp.conf"

/* Whether a value may stand between quotes in snmp.conf(5), in which it must not contain any. */
static bool quotable(const char *text)
{
	for (; *text; text++)
		if (!g_ascii_isprint(*text) || *text == '"' || *text == '\\')
			return false;
	return true;
}

/* The configuration file for snmpget, with the current password. */
static char *configuration(const struct config_meter *config, GError **error)
{
	g_autofree char *password = power_meter_password(config, error);

	if (!password)
		return NULL;
	if (!*password || !quotable(password) || (config->user && !quotable(config->user)))
		return error_null(error, POWER_METER_ERROR, POWER_METER_ERROR_SETUP,
				  "user and password need printable characters without quotes and "
				  "backslashes");
	if (config->snmp != CONFIG_METER_SNMP_V3)
		return g_strdup_printf("defVersion %s\ndefCommunity \"%s\"\n",
				       config->snmp == CONFIG_METER_SNMP_V1 ? "1" : "2c", password);
	return g_strdup_printf("defVersion 3\n"
			       "defSecurityName \"%s\"\n"
			       "defSecurityLevel authPriv\n"
			       "defAuthType SHA\n"
			       "defPrivType %s\n"
			       "defPassphrase \"%s\"\n",
			       config->user, config->privacy == CONFIG_METER_AES ? "AES" : "DES",
			       password);
}

static bool write_configuration(struct snmp_agent *agent, const struct config_meter *config,
				GError **error)
{
	g_autofree char *text = configuration(config, error);
	g_autofree char *path = NULL;

	if (!text)
		return false;
	if (g_strcmp0(text, agent->written) == 0)
		return true;
	if (!agent->directory)
		agent->directory = g_dir_make_tmp("virtbed-snmp-XXXXXX", error);
	if (!agent->directory)
		return false;
	path = g_build_filename(agent->directory, CONFIG_FILE, NULL);
	if (!g_file_set_contents_full(path, text, -1, G_FILE_SET_CONTENTS_CONSISTENT, 0600, error))
		return false;
	g_free(agent->written);
	agent->written = g_steal_pointer(&text);
	return true;
}

bool snmp_agent_ask(struct snmp_agent *agent, const struct config_meter *config,
		    const char *const *objects, int64_t deadline_ns, program_run_done_f done,
		    void *data, GError **error)
{
	/*
	 * -t 1 -r 2: a silent agent fails a reading in 3 s. No MIB files: the objects are in digits.
	 */
	static const char *const options[] = {"snmpget", "-m", "", "-t", "1", "-r", "2", "-Ov"};
	const bool six = strchr(config->address, ':') != NULL;
	g_autofree char *peer =
		g_strdup_printf("%s:%s%s%s:%u", six ? "udp6" : "udp", six ? "[" : "",
				config->address, six ? "]" : "", config->port);
	g_autoptr(GPtrArray) argv = g_ptr_array_new();
	g_autofree char *place = NULL;
	g_autofree char *state = NULL;

	if (!write_configuration(agent, config, error))
		return false;
	place = g_strconcat("SNMPCONFPATH=", agent->directory, NULL);
	state = g_strconcat("SNMP_PERSISTENT_DIR=", agent->directory, NULL);
	for (gsize i = 0; i < G_N_ELEMENTS(options); i++)
		g_ptr_array_add(argv, (gpointer)options[i]);
	g_ptr_array_add(argv, peer);
	for (gsize i = 0; objects[i]; i++)
		g_ptr_array_add(argv, (gpointer)objects[i]);
	g_ptr_array_add(argv, NULL);

	const char *const environment[] = {place, state, "LC_ALL=C", NULL};

	agent->run = program_run_start((const char *const *)argv->pdata, environment, deadline_ns,
				       done, data, error);
	return agent->run != NULL;
}

/* Removes the directory with the files of snmpget in it. */
static void remove_directory(const char *path)
{
	g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
	const char *name;

	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *inner = g_build_filename(path, name, NULL);

		if (g_unlink(inner) < 0 && errno == EISDIR)
			remove_directory(inner);
	}
	g_rmdir(path);
}

void snmp_agent_clear(struct snmp_agent *agent)
{
	g_clear_pointer(&agent->run, program_run_cancel);
	if (agent->directory)
		remove_directory(agent->directory);
	g_clear_pointer(&agent->directory, g_free);
	g_clear_pointer(&agent->written, g_free);
}
