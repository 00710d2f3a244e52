/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/meter_amm.h"

#include <string.h>

#include "common/read_number.h"
#include "common/subprocess.h"
#include "local-sched/power/meter_ipmi_parse.h"
#include "local-sched/power/snmp_agent.h"

#define POWER_OBJECTS "1.3.6.1.4.1.2.3.51.2.2.10"

enum {
	DOMAIN_1_BAYS = 7,
	DOMAIN_1_FIRST = 16, /* the row of a bay in domain 1's table is its number plus this */
	DOMAIN_2_FIRST = 9,
	WATTS_MAX = 100000, /* the most that a bay draws; a higher value is an error */
	WATTS_NONE = 65535, /* all ones stand for no reading */
};

struct meter_amm {
	struct power_meter base;
	struct snmp_agent *agent; /* borrowed of the set */
	char *objects[2];         /* NULL-terminated */
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
	if (strcmp(end, "W") != 0 || watts > WATTS_MAX || watts == WATTS_NONE)
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
	return snmp_agent_verdict(trimmed);
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
		[POWER_METER_ERROR_REJECTED] = "it has no such object, or refuses to read it",
		[POWER_METER_ERROR_NOT_ACTIVE] = "it does not measure",
		[POWER_METER_ERROR_GARBAGE] = "not a power reading",
	};
	struct meter_amm *meter = data;
	enum power_meter_error verdict;
	g_autofree char *text = g_strconcat(complaint, output, NULL);
	g_autofree char *gist = NULL;
	int64_t mw;

	if (error && error->code != SUBPROCESS_ERROR_STATUS) {
		fail(meter,
		     error->code == SUBPROCESS_ERROR_START ? POWER_METER_ERROR_SETUP
							   : POWER_METER_ERROR_NO_ANSWER,
		     "snmpget", error->message);
		return;
	}
	verdict = meter_amm_parse(text, &mw);
	if (verdict == POWER_METER_OK) {
		power_meter_end(&meter->base, mw);
		return;
	}
	gist = meter_ipmi_parse_gist(text);
	fail(meter, verdict,
	     snmp_agent_is_unresolved(text) ? "its name cannot be resolved" : meanings[verdict],
	     gist);
}

static void amm_read(struct power_meter *base)
{
	struct meter_amm *meter = (struct meter_amm *)base;

	g_free(meter->objects[0]);
	meter->objects[0] = meter_amm_object(base->config->bay);
	snmp_agent_ask(meter->agent, (const char *const *)meter->objects, base->deadline_ns,
		       on_answer, meter);
}

static bool amm_open(struct power_meter *base, GError **error)
{
	struct meter_amm *meter = (struct meter_amm *)base;

	meter->agent = snmp_agents_find(base->set->agents, base->config);
	return true;
}

static void amm_close(struct power_meter *base)
{
	struct meter_amm *meter = (struct meter_amm *)base;

	snmp_agent_drop(meter->agent, meter);
	g_free(meter->objects[0]);
}

const struct power_meter_ops meter_amm_ops = {
	.kind = CONFIG_METER_AMM,
	.size = sizeof(struct meter_amm),
	.open = amm_open,
	.read = amm_read,
	.close = amm_close,
};
