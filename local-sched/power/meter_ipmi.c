/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "local-sched/power/ipmi_shell.h"
#include "local-sched/power/meter_ipmi_parse.h"

#define LOG_SUBSYSTEM "meter"
#include "common/log.h"

/*
 * IPMI over LAN by ipmitool, which stays open (ipmi_shell.h). Reads the DCMI power reading (1 W
 * steps). A BMC without DCMI (completion code c1h) is asked for the configured sensor from then on
 * (8 bits: coarser, and it saturates). A shell that fails twice in a row is restarted, because
 * ipmitool does not log in again after a restart of the BMC.
 */

/* A shell without a valid answer as many times in a row is restarted. */
enum { FAILURES_MAX = 2 };

/* The commands of a read: one with DCMI; for a sensor its number once, and then two each time. */
enum step {
	STEP_DCMI = 0,
	STEP_SENSOR_NUMBER,
	/* whether the sensor works and is within its range, which `sensor reading` does not show */
	STEP_SENSOR_RAW,
	STEP_SENSOR,
};

struct meter_ipmi {
	struct power_meter base;
	struct ipmi_shell *shell;
	bool use_sensor;   /* the BMC has no DCMI */
	int sensor_number; /* -1: not known yet */
	int failures;      /* in a row, of a running shell */
	enum step step;    /* of the read under way */
};

static void send_step(struct meter_ipmi *meter, enum step step);

static bool ipmi_open(struct power_meter *base, GError **error)
{
	struct meter_ipmi *meter = (struct meter_ipmi *)base;
	const struct config_meter *config = base->config;

	if (!config->address || !*config->address || !config->user || !config->privilege)
		return power_meter_set_error(base, error, POWER_METER_ERROR_SETUP,
					     "its IPMI meter needs address, user and privilege");
	/* The name becomes part of a command line of ipmitool's shell. */
	if (config->sensor && (strpbrk(config->sensor[0], "\"\\\r\n") || !*config->sensor[0]))
		return power_meter_set_error(base, error, POWER_METER_ERROR_SETUP,
					     "sensor \"%s\": a name without quotes is needed",
					     config->sensor[0]);
	if (config->sensor_count > 1)
		return power_meter_set_error(base, error, POWER_METER_ERROR_SETUP,
					     "its IPMI meter reads one sensor, not %u",
					     config->sensor_count);
	meter->sensor_number = -1;
	meter->shell = ipmi_shell_new(config);
	return true;
}

static void end_read(struct meter_ipmi *meter, int64_t mw)
{
	meter->failures = 0;
	power_meter_end(&meter->base, mw);
}

/* Ends the read with an error: `what` happened, `gist` is the output of ipmitool. */
static void fail(struct meter_ipmi *meter, enum power_meter_error code, const char *what,
		 const char *gist)
{
	power_meter_fail(&meter->base, code, "BMC %s:%u: %s%s%s", meter->base.config->address,
			 meter->base.config->port, what, *gist ? ": " : "", gist);
}

/* Ends the read by the meaning of an answer, and restarts a shell that has failed too often. */
static void fail_verdict(struct meter_ipmi *meter, enum power_meter_error verdict,
			 const char *output)
{
	static const char *const meanings[] = {
		[POWER_METER_ERROR_NO_ANSWER] = "no answer",
		[POWER_METER_ERROR_SETUP] = "it has no DCMI power reading; configure a `sensor`",
		[POWER_METER_ERROR_REJECTED] = "request refused",
		[POWER_METER_ERROR_NOT_ACTIVE] = "it does not measure",
		[POWER_METER_ERROR_SATURATED] = "top of its range",
		[POWER_METER_ERROR_GARBAGE] = "not a power reading",
	};
	g_autofree char *gist = meter_ipmi_parse_gist(output);

	if (verdict == POWER_METER_ERROR_NO_ANSWER || verdict == POWER_METER_ERROR_GARBAGE)
		meter->failures++;
	else
		meter->failures = 0;
	if (meter->failures >= FAILURES_MAX) {
		meter->failures = 0;
		ipmi_shell_stop(meter->shell);
	}
	fail(meter, verdict, meanings[verdict], gist);
}

static void handle_dcmi(struct meter_ipmi *meter, const char *output)
{
	int64_t mw;
	const enum power_meter_error verdict = meter_ipmi_parse_dcmi(output, &mw);

	if (verdict == POWER_METER_OK) {
		end_read(meter, mw);
	} else if (verdict == POWER_METER_ERROR_SETUP && meter->base.config->sensor) {
		log_warning_of(LOG_HOST(meter->base.host),
			       "BMC %s:%u has no DCMI power reading; reading sensor "
			       "\"%s\" from now on",
			       meter->base.config->address, meter->base.config->port,
			       meter->base.config->sensor[0]);
		meter->use_sensor = true;
		send_step(meter, STEP_SENSOR_NUMBER);
	} else {
		fail_verdict(meter, verdict, output);
	}
}

static void handle_sensor_number(struct meter_ipmi *meter, const char *output)
{
	uint8_t number;
	const enum power_meter_error verdict =
		meter_ipmi_parse_sensor_number(output, meter->base.config->sensor[0], &number);

	if (verdict != POWER_METER_OK) {
		fail_verdict(meter, verdict, output);
		return;
	}
	meter->sensor_number = number;
	send_step(meter, STEP_SENSOR_RAW);
}

static void handle_sensor_raw(struct meter_ipmi *meter, const char *output)
{
	const enum power_meter_error verdict = meter_ipmi_parse_sensor_raw(output);

	/*
	 * A sensor of another controller than the BMC has no raw reading; its reading is used
	 * without.
	 */
	if (verdict == POWER_METER_OK || verdict == POWER_METER_ERROR_REJECTED)
		send_step(meter, STEP_SENSOR);
	else
		fail_verdict(meter, verdict, output);
}

static void handle_sensor(struct meter_ipmi *meter, const char *output)
{
	int64_t mw;
	const enum power_meter_error verdict =
		meter_ipmi_parse_sensor(output, meter->base.config->sensor[0], &mw);

	if (verdict == POWER_METER_OK)
		end_read(meter, mw);
	else
		fail_verdict(meter, verdict, output);
}

static void on_answer(const char *output, const GError *error, void *data)
{
	static void (*const handlers[])(struct meter_ipmi * meter, const char *output) = {
		[STEP_DCMI] = handle_dcmi,
		[STEP_SENSOR_NUMBER] = handle_sensor_number,
		[STEP_SENSOR_RAW] = handle_sensor_raw,
		[STEP_SENSOR] = handle_sensor,
	};
	struct meter_ipmi *meter = data;

	if (!error) {
		handlers[meter->step](meter, output);
		return;
	}
	meter->failures = 0; /* the shell has ended, or never started */
	fail(meter, (enum power_meter_error)error->code, error->message, "");
}

static void send_step(struct meter_ipmi *meter, enum step step)
{
	g_autofree char *command = NULL;

	meter->step = step;
	switch (step) {
	case STEP_DCMI:
		command = g_strdup("dcmi power reading");
		break;
	case STEP_SENSOR_NUMBER:
		command = g_strdup_printf("sensor get \"%s\"", meter->base.config->sensor[0]);
		break;
	case STEP_SENSOR_RAW:
		command = g_strdup_printf("raw 0x04 0x2d 0x%02x", meter->sensor_number);
		break;
	case STEP_SENSOR:
		command = g_strdup_printf("sensor reading \"%s\"", meter->base.config->sensor[0]);
		break;
	}
	ipmi_shell_command(meter->shell, command, meter->base.deadline_ns, on_answer, meter);
}

static void ipmi_read(struct power_meter *base)
{
	struct meter_ipmi *meter = (struct meter_ipmi *)base;

	if (!meter->use_sensor)
		send_step(meter, STEP_DCMI);
	else
		send_step(meter, meter->sensor_number < 0 ? STEP_SENSOR_NUMBER : STEP_SENSOR_RAW);
}

static const char *ipmi_source(const struct power_meter *base)
{
	return ((const struct meter_ipmi *)base)->use_sensor ? "sensor" : "dcmi";
}

static void ipmi_close(struct power_meter *base)
{
	ipmi_shell_free(((struct meter_ipmi *)base)->shell);
}

const struct power_meter_ops meter_ipmi_ops = {
	.kind = CONFIG_METER_IPMI,
	.size = sizeof(struct meter_ipmi),
	.open = ipmi_open,
	.read = ipmi_read,
	.source = ipmi_source,
	.close = ipmi_close,
};
