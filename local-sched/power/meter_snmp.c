/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "common/subprocess.h"
#include "local-sched/power/meter_ipmi_parse.h"
#include "local-sched/power/meter_value.h"
#include "local-sched/power/snmp_agent.h"

/*
 * Objects of an SNMP agent, such as a metered outlet of a power strip: numbers of any type, or
 * texts that are a number. The watts (or counters of energy) of several are added.
 */

struct meter_snmp {
	struct power_meter base;
	struct meter_value value;
	struct snmp_agent *agent; /* borrowed of the set */
	char **objects;           /* NULL-terminated */
};

static void fail(struct meter_snmp *meter, enum power_meter_error code, const char *what,
		 const char *gist)
{
	const struct config_meter *config = meter->base.config;

	power_meter_fail(&meter->base, code, "SNMP %s:%u: %s%s%s", config->address, config->port,
			 what, *gist ? ": " : "", gist);
}

/*
 * The number in a line "TYPE: value" of snmpget, as a text: of a string without its quotes, of an
 * opaque number without its second type. NULL: it is of another type.
 */
static const char *number_text(char *line)
{
	static const char *const types[] = {"INTEGER: ",    "Gauge32: ",       "Counter32: ",
					    "Counter64: ",  "Unsigned32: ",    "STRING: ",
					    "UInteger32: ", "Opaque: Float: ", "Opaque: Double: "};
	gsize length;

	for (gsize i = 0; i < G_N_ELEMENTS(types); i++) {
		if (!g_str_has_prefix(line, types[i]))
			continue;
		line += strlen(types[i]);
		length = strlen(line);
		if (length > 1 && *line == '"' && line[length - 1] == '"') {
			line[length - 1] = '\0';
			line++;
		}
		return line;
	}
	return NULL;
}

static void take_lines(struct meter_snmp *meter, char **lines)
{
	const struct config_meter *config = meter->base.config;
	g_autofree double *numbers = g_new0(double, config->oid_count);
	g_autofree char *what = g_strdup_printf("SNMP %s:%u", config->address, config->port);

	for (uint32_t i = 0; i < config->oid_count; i++) {
		g_autofree char *reason = NULL;
		const char *text = number_text(lines[i]);
		enum power_meter_error verdict = POWER_METER_ERROR_GARBAGE;

		if (text)
			verdict =
				meter_value_pick(config, text, strlen(text), &numbers[i], &reason);
		else if (g_str_has_prefix(lines[i], "No Such "))
			verdict = POWER_METER_ERROR_REJECTED;
		if (verdict == POWER_METER_OK)
			continue;
		power_meter_fail(&meter->base, verdict, "%s: object %s: %s", what, config->oid[i],
				 reason ?: lines[i]);
		return;
	}
	meter_value_end(&meter->base, &meter->value, numbers, what);
}

/* What snmpget's failure means, in words. */
static const char *explain(enum power_meter_error verdict, const char *complaint)
{
	if (snmp_agent_is_unresolved(complaint))
		return "its name cannot be resolved";
	if (strstr(complaint, "noSuchName"))
		return "it has no such object";
	if (verdict == POWER_METER_ERROR_NO_ANSWER)
		return "no answer (to a wrong community there is none)";
	if (verdict == POWER_METER_ERROR_LOGIN)
		return "refused; check user and password_file";
	return verdict == POWER_METER_ERROR_REJECTED ? "it refuses to read the object"
						     : "snmpget failed";
}

static void on_answer(const char *output, const char *complaint, const GError *error, void *data)
{
	struct meter_snmp *meter = data;
	const enum power_meter_error verdict = snmp_agent_verdict(complaint);
	g_autofree char *gist = meter_ipmi_parse_gist(complaint);
	g_autofree char *trimmed = g_strstrip(g_strdup(output));
	g_auto(GStrv) lines = g_strsplit(trimmed, "\n", -1);

	if (error && error->code != SUBPROCESS_ERROR_STATUS)
		fail(meter,
		     error->code == SUBPROCESS_ERROR_START ? POWER_METER_ERROR_SETUP
							   : POWER_METER_ERROR_NO_ANSWER,
		     "snmpget", error->message);
	else if (error)
		fail(meter, verdict, explain(verdict, complaint),
		     strstr(complaint, "Timeout") ? "" : gist);
	else if (g_strv_length(lines) != meter->base.config->oid_count)
		fail(meter, POWER_METER_ERROR_GARBAGE, "its answer is not one line an object", "");
	else
		take_lines(meter, lines);
}

static void snmp_read(struct power_meter *base)
{
	struct meter_snmp *meter = (struct meter_snmp *)base;

	snmp_agent_ask(meter->agent, (const char *const *)meter->objects, base->deadline_ns,
		       on_answer, meter);
}

static bool snmp_open(struct power_meter *base, GError **error)
{
	struct meter_snmp *meter = (struct meter_snmp *)base;
	const struct config_meter *config = base->config;

	meter->agent = snmp_agents_find(base->set->agents, config);
	meter_value_init(&meter->value, config->oid_count, (const char *const *)config->oid);
	meter->objects = g_new0(char *, config->oid_count + 1);
	for (uint32_t i = 0; i < config->oid_count; i++)
		meter->objects[i] = g_strdup(config->oid[i]);
	return true;
}

static void snmp_close(struct power_meter *base)
{
	struct meter_snmp *meter = (struct meter_snmp *)base;

	snmp_agent_drop(meter->agent, meter);
	meter_value_clear(&meter->value);
	g_strfreev(meter->objects);
}

const struct power_meter_ops meter_snmp_ops = {
	.kind = CONFIG_METER_SNMP,
	.size = sizeof(struct meter_snmp),
	.open = snmp_open,
	.read = snmp_read,
	.close = snmp_close,
};
