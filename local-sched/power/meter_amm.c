/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/meter_amm.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "common/error_fail.h"
#include "common/read_number.h"
#include "common/subprocess.h"
#include "local-sched/power/meter_ipmi_parse.h"
#include "local-sched/power/program_run.h"

#define POWER_OBJECTS "1.3.6.1.4.1.2.3.51.2.2.10"
#define CONFIG_FILE "snmp.conf"

enum {
	DOMAIN_1_BAYS = 7,
	DOMAIN_1_FIRST = 16, /* the row of a bay in domain 1's table is its number plus this */
	DOMAIN_2_FIRST = 9,
	WATTS_MAX = 100000, /* the most that a bay draws; a higher value is an error */
};

struct meter_amm {
	struct power_meter base;
	char *directory; /* of snmpget's configuration, or NULL */
	char *written;   /* contents of the file there, or NULL */
	struct program_run *get;
};

char *meter_amm_object(uint32_t bay)
{
	if (bay <= DOMAIN_1_BAYS)
		return g_strdup_printf(POWER_OBJECTS ".2.1.1.7.%u", bay + DOMAIN_1_FIRST);
	return g_strdup_printf(POWER_OBJECTS ".3.1.1.7.%u", bay + DOMAIN_2_FIRST);
}

/* Reads "123W", with or without a blank before the unit. */
static enum power_meter_error parse_watts(const char *value, int64_t *ret_mw)
{
	const char *end;
	uint64_t watts;

	if (g_str_has_prefix(value, "Not ") || !*value)
		return POWER_METER_ERROR_NOT_ACTIVE;
	end = read_number_front_unsigned(value, &watts);
	if (!end)
		return POWER_METER_ERROR_GARBAGE;
	if (*end == ' ')
		end++;
	if (strcmp(end, "W") != 0 || watts > WATTS_MAX)
		return POWER_METER_ERROR_GARBAGE;
	if (watts == 0)
		return POWER_METER_ERROR_NOT_ACTIVE;
	*ret_mw = (int64_t)watts * 1000;
	return POWER_METER_OK;
}

/*
 * The begin of a string's value, or NULL. Lines of standard error may precede it: with a new
 * configuration directory snmpget prints what it creates there.
 */
static char *find_value(char *text)
{
	static const char start[] = "\nSTRING: \"";
	char *line;

	if (g_str_has_prefix(text, start + 1))
		return text + strlen(start + 1);
	line = strstr(text, start);
	return line ? line + strlen(start) : NULL;
}

enum power_meter_error meter_amm_parse(const char *text, int64_t *ret_mw)
{
	static const struct {
		const char *words;
		enum power_meter_error verdict;
	} complaints[] = {
		{"Timeout", POWER_METER_ERROR_NO_ANSWER},
		{"Unknown host", POWER_METER_ERROR_NO_ANSWER},
		{"Unknown user name", POWER_METER_ERROR_LOGIN},
		{"Authentication failure", POWER_METER_ERROR_LOGIN},
		{"authorizationError", POWER_METER_ERROR_LOGIN},
		{"Unsupported security level", POWER_METER_ERROR_LOGIN},
		{"Decryption error", POWER_METER_ERROR_LOGIN},
		{"passphrase", POWER_METER_ERROR_LOGIN},
		{"No Such ", POWER_METER_ERROR_REJECTED},
		{"noSuchName", POWER_METER_ERROR_REJECTED},
	};
	g_autofree char *trimmed = g_strstrip(g_strdup(text));
	char *value = find_value(trimmed);
	const gsize length = value ? strlen(value) : 0;

	if (strcmp(trimmed, "\"\"") == 0) /* an empty string has no type */
		return POWER_METER_ERROR_NOT_ACTIVE;
	/* STRING: "123W" */
	if (length > 0 && value[length - 1] == '"') {
		value[length - 1] = '\0';
		return parse_watts(g_strstrip(value), ret_mw);
	}
	for (gsize i = 0; i < G_N_ELEMENTS(complaints); i++)
		if (strstr(trimmed, complaints[i].words))
			return complaints[i].verdict;
	return POWER_METER_ERROR_GARBAGE;
}

static void fail(struct meter_amm *meter, enum power_meter_error code, const char *what,
		 const char *gist)
{
	const struct config_meter *config = meter->base.config;

	power_meter_fail(&meter->base, code, "AMM %s:%u, bay %u: %s%s%s", config->address,
			 config->port, config->bay, what, *gist ? ": " : "", gist);
}

static void on_answer(const char *output, const char *complaint, const GError *error, void *data)
{
	static const char *const meanings[] = {
		[POWER_METER_ERROR_NO_ANSWER] = "no answer (to a wrong community there is none)",
		[POWER_METER_ERROR_LOGIN] = "login refused; check user and password_file",
		[POWER_METER_ERROR_REJECTED] = "it has no such object",
		[POWER_METER_ERROR_NOT_ACTIVE] = "it does not measure",
		[POWER_METER_ERROR_GARBAGE] = "not a power reading",
	};
	struct meter_amm *meter = data;
	enum power_meter_error verdict;
	g_autofree char *text = g_strconcat(complaint, output, NULL);
	g_autofree char *gist = NULL;
	int64_t mw;

	meter->get = NULL;
	if (error && error->code != SUBPROCESS_ERROR_STATUS) {
		fail(meter, POWER_METER_ERROR_NO_ANSWER, "snmpget", error->message);
		return;
	}
	verdict = meter_amm_parse(text, &mw);
	if (verdict == POWER_METER_OK) {
		power_meter_end(&meter->base, mw);
		return;
	}
	gist = meter_ipmi_parse_gist(text);
	fail(meter, verdict, meanings[verdict], gist);
}

/* Whether a value may stand between quotes in snmp.conf(5), in which it must not contain any. */
static bool quotable(const char *text)
{
	for (; *text; text++)
		if (!g_ascii_isprint(*text) || *text == '"' || *text == '\\')
			return false;
	return true;
}

/* The configuration file for snmpget, with the current password. */
static char *configuration(const struct meter_amm *meter, GError **error)
{
	const struct config_meter *config = meter->base.config;
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
			       "defPrivType DES\n"
			       "defPassphrase \"%s\"\n",
			       config->user, password);
}

static bool write_configuration(struct meter_amm *meter, GError **error)
{
	g_autofree char *text = configuration(meter, error);
	g_autofree char *path = NULL;

	if (!text)
		return false;
	if (g_strcmp0(text, meter->written) == 0)
		return true;
	if (!meter->directory)
		meter->directory = g_dir_make_tmp("virtbed-amm-XXXXXX", error);
	if (!meter->directory)
		return false;
	path = g_build_filename(meter->directory, CONFIG_FILE, NULL);
	if (!g_file_set_contents_full(path, text, -1, G_FILE_SET_CONTENTS_CONSISTENT, 0600, error))
		return false;
	g_free(meter->written);
	meter->written = g_steal_pointer(&text);
	return true;
}

static bool start(struct meter_amm *meter, GError **error)
{
	const struct config_meter *config = meter->base.config;
	const bool six = strchr(config->address, ':') != NULL;
	g_autofree char *peer =
		g_strdup_printf("%s:%s%s%s:%u", six ? "udp6" : "udp", six ? "[" : "",
				config->address, six ? "]" : "", config->port);
	g_autofree char *object = meter_amm_object(config->bay);
	g_autofree char *place = NULL;
	g_autofree char *state = NULL;

	if (!write_configuration(meter, error))
		return false;
	place = g_strconcat("SNMPCONFPATH=", meter->directory, NULL);
	state = g_strconcat("SNMP_PERSISTENT_DIR=", meter->directory, NULL);

	/*
	 * -t 1 -r 2: a silent module fails a reading in 3 s. No MIB files: the object is in digits.
	 */
	const char *const argv[] = {"snmpget", "-m",  "",   "-t",   "1", "-r",
				    "2",       "-Ov", peer, object, NULL};
	const char *const environment[] = {place, state, "LC_ALL=C", NULL};

	meter->get = program_run_start(argv, environment, meter->base.deadline_ns, on_answer, meter,
				       error);
	return meter->get != NULL;
}

static void amm_read(struct power_meter *base)
{
	struct meter_amm *meter = (struct meter_amm *)base;
	g_autoptr(GError) error = NULL;

	if (!start(meter, &error))
		fail(meter, POWER_METER_ERROR_SETUP, error->message, "");
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

static void amm_close(struct power_meter *base)
{
	struct meter_amm *meter = (struct meter_amm *)base;

	program_run_cancel(meter->get);
	if (meter->directory)
		remove_directory(meter->directory);
	g_free(meter->directory);
	g_free(meter->written);
}

const struct power_meter_ops meter_amm_ops = {
	.kind = CONFIG_METER_AMM,
	.size = sizeof(struct meter_amm),
	.read = amm_read,
	.close = amm_close,
};
