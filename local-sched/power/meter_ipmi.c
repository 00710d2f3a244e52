/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/meter_ipmi.h"

#include <string.h>

#include "common/clock.h"
#include "local-sched/power/ipmi_shell.h"
#include "local-sched/power/meter_ipmi_parse.h"

#define LOG_SUBSYSTEM "meter"
#include "common/log.h"

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
	const struct config_meter *config;
	const char *host;
	struct ipmi_shell *shell;
	bool use_sensor;   /* the BMC has no DCMI */
	int sensor_number; /* -1: not known yet */
	int failures;      /* in a row, of a running shell */
	/* The read under way. */
	enum step step;
	int64_t deadline_ns;
	power_meter_done_f done;
	void *data;
};

static void send_step(struct meter_ipmi *meter, enum step step);

static struct power_meter *ipmi_open(const struct config_meter *config, const char *host,
				     GError **error)
{
	struct meter_ipmi *meter;

	if (!config->address || !*config->address || !config->user || !config->privilege) {
		g_set_error(error, POWER_METER_ERROR, POWER_METER_ERROR_SETUP,
			    "host \"%s\": its IPMI meter needs address, user and privilege", host);
		return NULL;
	}
	/* The name becomes part of a command line of ipmitool's shell. */
	if (config->sensor && (strpbrk(config->sensor, "\"\\\r\n") || !*config->sensor)) {
		g_set_error(error, POWER_METER_ERROR, POWER_METER_ERROR_SETUP,
			    "host \"%s\": sensor \"%s\": a name without quotes is needed", host,
			    config->sensor);
		return NULL;
	}
	meter = g_new0(struct meter_ipmi, 1);
	meter->base.ops = &meter_ipmi_ops;
	meter->config = config;
	meter->host = host;
	meter->sensor_number = -1;
	meter->shell = ipmi_shell_new(config);
	return &meter->base;
}

/* Ends the read with watts. The meter may be freed afterwards. */
static void end_read(struct meter_ipmi *meter, int64_t mw)
{
	const struct power_reading reading = { .mw = mw, .t_ns = clock_now_ns() };

	meter->failures = 0;
	meter->done(&reading, NULL, meter->data);
}

/*
 * Ends the read with an error: `what` happened, `gist` is the output of ipmitool. The meter may be
 * freed afterwards.
 */
static void end_read_failed(struct meter_ipmi *meter, int code, const char *what, const char *gist)
{
	g_autoptr(GError) error = g_error_new(
		POWER_METER_ERROR, code, "host \"%s\": BMC %s:%u: %s%s%s", meter->host,
		meter->config->address, meter->config->port, what, *gist ? ": " : "", gist);

	meter->done(NULL, error, meter->data);
}

/* Ends the read by the meaning of an answer, and restarts a shell that has failed too often. */
static void fail_verdict(struct meter_ipmi *meter, enum meter_ipmi_verdict verdict,
			 const char *output)
{
	static const struct {
		enum power_meter_error code;
		const char *what;
	} meanings[] = {
		[METER_IPMI_NO_ANSWER] = { POWER_METER_ERROR_NO_ANSWER, "no answer" },
		[METER_IPMI_UNSUPPORTED] = { POWER_METER_ERROR_SETUP,
					     "it has no DCMI power reading; configure a `sensor`" },
		[METER_IPMI_REJECTED] = { POWER_METER_ERROR_REJECTED, "request refused" },
		[METER_IPMI_NOT_ACTIVE] = { POWER_METER_ERROR_NOT_ACTIVE, "it does not measure" },
		[METER_IPMI_SATURATED] = { POWER_METER_ERROR_SATURATED, "top of its range" },
		[METER_IPMI_GARBAGE] = { POWER_METER_ERROR_GARBAGE, "not a power reading" },
	};
	g_autofree char *gist = meter_ipmi_parse_gist(output);

	if (verdict == METER_IPMI_NO_ANSWER || verdict == METER_IPMI_GARBAGE)
		meter->failures++;
	else
		meter->failures = 0;
	if (meter->failures >= FAILURES_MAX) {
		meter->failures = 0;
		ipmi_shell_stop(meter->shell);
	}
	end_read_failed(meter, (int)meanings[verdict].code, meanings[verdict].what, gist);
}

static void handle_dcmi(struct meter_ipmi *meter, const char *output)
{
	int64_t mw;
	const enum meter_ipmi_verdict verdict = meter_ipmi_parse_dcmi(output, &mw);

	if (verdict == METER_IPMI_OK) {
		end_read(meter, mw);
	} else if (verdict == METER_IPMI_UNSUPPORTED && meter->config->sensor) {
		log_warning_of(LOG_HOST(meter->host),
			       "BMC %s:%u has no DCMI power reading; reading sensor "
			       "\"%s\" from now on",
			       meter->config->address, meter->config->port, meter->config->sensor);
		meter->use_sensor = true;
		send_step(meter, STEP_SENSOR_NUMBER);
	} else {
		fail_verdict(meter, verdict, output);
	}
}

static void handle_sensor_number(struct meter_ipmi *meter, const char *output)
{
	uint8_t number;
	const enum meter_ipmi_verdict verdict =
		meter_ipmi_parse_sensor_number(output, meter->config->sensor, &number);

	if (verdict != METER_IPMI_OK) {
		fail_verdict(meter, verdict, output);
		return;
	}
	meter->sensor_number = number;
	send_step(meter, STEP_SENSOR_RAW);
}

static void handle_sensor_raw(struct meter_ipmi *meter, const char *output)
{
	const enum meter_ipmi_verdict verdict = meter_ipmi_parse_sensor_raw(output);

	/*
	 * A sensor of another controller than the BMC has no raw reading; its reading is used
	 * without.
	 */
	if (verdict == METER_IPMI_OK || verdict == METER_IPMI_REJECTED)
		send_step(meter, STEP_SENSOR);
	else
		fail_verdict(meter, verdict, output);
}

static void handle_sensor(struct meter_ipmi *meter, const char *output)
{
	int64_t mw;
	const enum meter_ipmi_verdict verdict =
		meter_ipmi_parse_sensor(output, meter->config->sensor, &mw);

	if (verdict == METER_IPMI_OK)
		end_read(meter, mw);
	else
		fail_verdict(meter, verdict, output);
}

static void on_answer(const char *output, const GError *error, void *data)
{
	static void (*const handlers[])(struct meter_ipmi *meter, const char *output) = {
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
	end_read_failed(meter, error->code, error->message, "");
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
		command = g_strdup_printf("sensor get \"%s\"", meter->config->sensor);
		break;
	case STEP_SENSOR_RAW:
		command = g_strdup_printf("raw 0x04 0x2d 0x%02x", meter->sensor_number);
		break;
	case STEP_SENSOR:
		command = g_strdup_printf("sensor reading \"%s\"", meter->config->sensor);
		break;
	}
	ipmi_shell_command(meter->shell, command, meter->deadline_ns, on_answer, meter);
}

static void ipmi_read(struct power_meter *base, power_meter_done_f done, void *data)
{
	struct meter_ipmi *meter = (struct meter_ipmi *)base;

	meter->deadline_ns = clock_now_ns() + (int64_t)(POWER_METER_DEADLINE_S * 1e9);
	meter->done = done;
	meter->data = data;
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
	struct meter_ipmi *meter = (struct meter_ipmi *)base;

	ipmi_shell_free(meter->shell);
	g_free(meter);
}

const struct power_meter_ops meter_ipmi_ops = {
	.name = "ipmi",
	.kind = CONFIG_METER_IPMI,
	.open = ipmi_open,
	.read = ipmi_read,
	.source = ipmi_source,
	.close = ipmi_close,
};
