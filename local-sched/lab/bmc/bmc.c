/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/lab/bmc/bmc.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "common/error_fail.h"
#include "common/subprocess.h"
#include "local-sched/lab/bmc/dcmi_module.h"

enum {
	NAME_MAX_LENGTH = 64,
	USER_MAX_LENGTH = 16,     /* IPMI 2.0, section 22.28 */
	PASSWORD_MAX_LENGTH = 20, /* IPMI 2.0, section 22.30 */
};

#define DEFAULT_MAX_AGE_S 5.0
#define SDRCOMP_TIMEOUT_S 10.0

G_DEFINE_QUARK(virtbed_bmc, bmc_error)

/* Whether `text` has 1 to `length_max` printable characters and may stand between quotes. */
static bool quotable(const char *text, gsize length_max)
{
	if (!text || !*text || strlen(text) > length_max)
		return false;
	for (; *text; text++)
		if (!g_ascii_isprint(*text) || *text == '"' || *text == '\\')
			return false;
	return true;
}

/* ipmi_sim ends a name at the first blank, quoted or not. */
static bool plain(const char *text, gsize length_max)
{
	return quotable(text, length_max) && !strchr(text, ' ');
}

static bool check_spec(const struct bmc_spec *spec, GError **error)
{
	const char *wrong = NULL;

	if (!spec->name || !g_regex_match_simple("^[A-Za-z0-9._-]+\\z", spec->name, 0, 0) ||
	    strlen(spec->name) > NAME_MAX_LENGTH)
		wrong = "its name needs 1 to 64 of [A-Za-z0-9._-]";
	else if (!quotable(spec->dir, PATH_MAX) || !quotable(spec->watts_file, PATH_MAX))
		wrong = "its paths must be printable and without quotes";
	else if (!plain(spec->user, USER_MAX_LENGTH))
		wrong = "its user needs 1 to 16 printable characters without blanks and quotes";
	else if (!plain(spec->password, PASSWORD_MAX_LENGTH))
		wrong = "its password needs 1 to 20 printable characters without blanks and quotes";
	else if (spec->port == 0)
		wrong = "it needs a port";
	else if (spec->kg && !g_regex_match_simple("^[0-9a-f]{32}\\z", spec->kg, 0, 0))
		wrong = "its key needs 32 hexadecimal digits";
	if (wrong)
		g_set_error(error, BMC_ERROR, BMC_ERROR_SPEC, "cannot emulate BMC \"%s\": %s",
			    spec->name ? spec->name : "", wrong);
	return !wrong;
}

/* The path of the module: from the environment, in the build tree, or installed. */
static const char *module_path(GError **error)
{
	const char *const places[] = {g_getenv("VIRTBED_DCMI_MODULE"), DCMI_MODULE_BUILT,
				      DCMI_MODULE_INSTALLED};

	for (gsize i = 0; i < G_N_ELEMENTS(places); i++)
		if (places[i] && g_access(places[i], R_OK) == 0)
			return places[i];
	return error_null(error, BMC_ERROR, BMC_ERROR_START,
			  "cannot emulate a BMC: no module \"%s\"; build it, or name it in "
			  "VIRTBED_DCMI_MODULE",
			  DCMI_MODULE_INSTALLED);
}

/* ipmi_lan(5). Sessions for a shell, its successor, and people beside them. */
static char *lan_conf(const struct bmc_spec *spec, const char *module)
{
	char max_age_s[G_ASCII_DTOSTR_BUF_SIZE];

	g_ascii_dtostr(max_age_s, sizeof max_age_s,
		       spec->max_age_s > 0 ? spec->max_age_s : DEFAULT_MAX_AGE_S);
	return g_strdup_printf("name \"%s\"\n"
			       "loadlib \"%s\" \"%s %s %s\"\n"
			       "set_working_mc 0x%02x\n"
			       "  startlan 1\n"
			       "    addr 127.0.0.1 %u\n"
			       "    priv_limit admin\n"
			       "    allowed_auths_callback none md2 md5 straight\n"
			       "    allowed_auths_user none md2 md5 straight\n"
			       "    allowed_auths_operator none md2 md5 straight\n"
			       "    allowed_auths_admin none md2 md5 straight\n"
			       "    guid a123456789abcdefa123456789abcdef\n"
			       "%s%s%s"
			       "  endlan\n"
			       "  user 2 true \"%s\" \"%s\" admin 20 none md2 md5 straight\n",
			       spec->name, module, spec->no_dcmi ? "sensor" : "dcmi", max_age_s,
			       spec->watts_file, DCMI_MODULE_MC_ADDRESS, spec->port,
			       spec->kg ? "    bmc_key " : "", spec->kg ? spec->kg : "",
			       spec->kg ? "\n" : "", spec->user, spec->password);
}

/* ipmi_sim_cmd(5): one controller with a sensor whose events are all off. */
static char *emulator_commands(void)
{
	static const char none[] = "000000000000000";

	return g_strdup_printf("mc_setbmc 0x%02x\n"
			       "mc_add 0x%02x 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 "
			       "persist_sdr\n"
			       "sensor_add 0x%02x 0 %d 0x0b 0x01\n"
			       "sensor_set_event_support 0x%02x 0 %d enable scanning per-state "
			       "%s %s %s %s\n"
			       "mc_enable 0x%02x\n",
			       DCMI_MODULE_MC_ADDRESS, DCMI_MODULE_MC_ADDRESS,
			       DCMI_MODULE_MC_ADDRESS, DCMI_MODULE_SENSOR_NUMBER,
			       DCMI_MODULE_MC_ADDRESS, DCMI_MODULE_SENSOR_NUMBER, none, none, none,
			       none, DCMI_MODULE_MC_ADDRESS);
}

/* The source of the sensor's record (IPMI 2.0, Table 43-1), as sdrcomp takes it. */
static char *sensor_records(void)
{
	return g_strdup_printf("sdr type 1\n"
			       "\tsensor_owner_id 0x%02x\n"
			       "\tsensor_owner_lun 0\n"
			       "\tchannel_number 0\n"
			       "\tsensor_number %d\n"
			       "\tentity_id system_board\n"
			       "\tentity_instance 1\n"
			       "\tinit_scanning true\n"
			       "\tinit_sensor_type true\n"
			       "\tdefault_sensor_scan_on true\n"
			       "\tsensor_type Other_Units_Based_Sensor\n"
			       "\tevent_reading_type_code 1\n"
			       "\tanalog_data_format unsigned\n"
			       "\tbase_unit Watts\n"
			       "\tm %d\n"
			       "\tb 0\n"
			       "\tr_exp 0\n"
			       "\tid_string \"%s\"\n"
			       "endsdr\n",
			       DCMI_MODULE_MC_ADDRESS, DCMI_MODULE_SENSOR_NUMBER,
			       DCMI_MODULE_SENSOR_STEP_W, BMC_SENSOR);
}

/* Writes DIR/name; returns its path, or NULL. `text` is freed. */
static char *write_file(const char *dir, const char *name, char *text, GError **error)
{
	g_autofree char *owned = text;
	g_autofree char *path = g_build_filename(dir, name, NULL);

	if (!g_file_set_contents_full(path, owned, -1, G_FILE_SET_CONTENTS_CONSISTENT, 0600, error))
		return NULL;
	return g_steal_pointer(&path);
}

/* Removes what an earlier BMC has stored: its users and passwords would override the new ones. */
static void clear_state(const char *state)
{
	g_autoptr(GDir) dir = g_dir_open(state, 0, NULL);
	const char *name;

	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *path = g_build_filename(state, name, NULL);

		g_unlink(path);
	}
}

/*
 * Compiles the sensor records to the place where ipmi_sim reads them. Returns its state directory.
 */
static char *prepare_state(const struct bmc_spec *spec, GError **error)
{
	g_autofree char *state = g_build_filename(spec->dir, "state", NULL);
	g_autofree char *own = g_build_filename(state, "ipmi_sim", spec->name, NULL);
	g_autofree char *compiled = g_build_filename(own, "sdr.20.main", NULL);
	g_autofree char *source = NULL;

	if (g_mkdir_with_parents(own, 0700) < 0)
		return error_null(error, BMC_ERROR, BMC_ERROR_FILES, "cannot make \"%s\": %s", own,
				  g_strerror(errno));
	clear_state(own);
	source = write_file(spec->dir, "sensors.sdrs", sensor_records(), error);
	if (!source)
		return NULL;

	const char *const compile[] = {"sdrcomp", "-o", compiled, source, NULL};

	if (!subprocess_run(compile, NULL, SDRCOMP_TIMEOUT_S, NULL, error))
		return NULL;
	return g_steal_pointer(&state);
}

GPid bmc_start(const struct bmc_spec *spec, GError **error)
{
	const char *module;
	g_autofree char *state = NULL;
	g_autofree char *lan = NULL;
	g_autofree char *commands = NULL;
	g_autofree char *log = NULL;

	if (!check_spec(spec, error))
		return -1;
	module = module_path(error);
	if (!module)
		return -1;
	state = prepare_state(spec, error);
	if (!state)
		return -1;
	lan = write_file(spec->dir, BMC_FILE, lan_conf(spec, module), error);
	commands = lan ? write_file(spec->dir, "bmc.emu", emulator_commands(), error) : NULL;
	if (!commands)
		return -1;
	log = g_build_filename(spec->dir, "bmc.log", NULL);

	/* All files by name: the program's own defaults are in /usr/etc. -n: leave stdin alone. */
	const char *const argv[] = {"ipmi_sim", "-c", lan, "-f", commands, "-s", state, "-n", NULL};

	return subprocess_spawn(argv, NULL, log, error);
}
