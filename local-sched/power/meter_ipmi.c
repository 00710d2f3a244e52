/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "common/clock.h"
#include "common/platform.h"
#include "local-sched/power/ipmi_shell.h"
#include "local-sched/power/ipmi_walk.h"
#include "local-sched/power/meter_ipmi_parse.h"

#define LOG_SUBSYSTEM "meter"
#include "common/log.h"

/*
 * IPMI over LAN by ipmitool, which stays open (ipmi_shell.h). Reads the DCMI power reading (1 W
 * steps), or where that fails the configured sensors (8 bits: coarser, and they saturate), found
 * once by a walk along the sensor records (ipmi_walk.h). Then a reading takes one request for each
 * sensor. A BMC may give its sensors other numbers and factors: after each login, and at times,
 * their records are read again before their numbers are believed.
 *
 * A login, a walk or the answers to other meters may take longer than a reading: the reading ends
 * with "not yet" then, and the next one joins what is under way. A reading that comes between the
 * two is given to the next one, with the time at which it came.
 */

enum {
	/* As many failures in a row of the kind that passes (busy, no answer) end the use of DCMI. */
	DCMI_MISSES_MAX = 3,
	/* So often current power and mean change alike by no chance. */
	DCMI_CHANGES = 3,
	WATTS_TOP = 65535, /* as many, or more, are no reading */
	PATIENCE_MS = 200, /* after its deadline a reading is looked at so often */
	CC_PRIVILEGE = 0xd4,
	CC_NOT_FOUND = 0xcb,
	CHASSIS_ON = 0x01,
};

/* DCMI that has failed is asked again after so long, then less often. */
#define DCMI_AGAIN_S 60.0
#define DCMI_AGAIN_MAX_S 3600.0

/* A mean over a longer time does not change from one reading to the next. */
#define MEAN_MAX_S 3600.0

/* The records of the sensors are read again after so long. */
#define RECORDS_AGAIN_S 60.0

#define DCMI_COMMAND "raw 0x2c 0x02 0xdc 0x01 0x00 0x00"
#define CHASSIS_COMMAND "raw 0x00 0x01"

/* What the command under way is for. */
enum step {
	STEP_NONE = 0, /* there is none */
	STEP_DCMI,
	STEP_WALK,    /* for the sensors */
	STEP_CHECK,   /* of the records of the sensors */
	STEP_FACTORS, /* of the sensor, at this reading */
	STEP_SENSOR,
	STEP_POWER, /* whether the machine is on, after 0 W */
};

struct meter_ipmi {
	struct power_meter base;
	struct ipmi_shell *shell; /* borrowed of the set */
	struct ipmi_walk *walk;
	enum step step;
	bool wanted;      /* a read is under way */
	int64_t began_ns; /* the read */
	char *sent;       /* the last command, and its target */
	struct ipmi_target sent_to;
	/* Of a login or walk that failed while no read was under way; the next read reports it. */
	enum power_meter_error late_code;
	char *late_message;
	struct power_reading late; /* that arrived while no read was; t_ns == 0: none */
	/* DCMI, or the request that the configuration has in its place. */
	char *command;
	struct ipmi_target raw_target;
	bool dcmi_worked;
	/* Whether its current power is the mean that stands beside it. */
	int64_t dcmi_mw;       /* the last that was */
	unsigned dcmi_changes; /* of current power and mean together */
	bool dcmi_differs;     /* once they were not the same */
	bool dcmi_ranges;      /* once its least or most power was another one */
	int dcmi_misses;       /* in a row, of the kind that passes */
	bool use_sensor;       /* DCMI is not asked before dcmi_again_ns */
	int64_t dcmi_again_ns;
	double dcmi_wait_s; /* until then; doubles */
	/* DCMI has failed in this reading: use_sensor if a sensor has a reading. */
	bool leaving;
	bool resume;        /* the read before came as far as the sensors, and took too long */
	bool never_again;   /* DCMI is not there at all */
	bool warned;        /* that the sensor is read */
	bool from_sensor;   /* the reading under way, or else the last one */
	int64_t walked_ns;  /* when the walk began; 0: it is not under way */
	int64_t check_ns;   /* when the last check of their records began */
	int64_t checked_ns; /* since when their records are known; 0: they have to be read */
	bool sensors_lost;  /* since they were last found */
	/* The sensors of the reading under way. */
	uint32_t index;
	uint8_t raw;
	double sum_w;
};

static bool ipmi_open(struct power_meter *base, GError **error)
{
	struct meter_ipmi *meter = (struct meter_ipmi *)base;
	const struct config_meter *config = base->config;
	g_autoptr(GError) reason = NULL;

	if (!config->address || !*config->address || !config->user || !config->privilege)
		return power_meter_set_error(base, error, POWER_METER_ERROR_SETUP,
					     "its IPMI meter needs address, user and privilege");
	meter->dcmi_wait_s = DCMI_AGAIN_S;
	meter->raw_target = ipmi_bmc;
	if (config->controller)
		config_meter_controller(config->controller, &meter->raw_target.address,
					&meter->raw_target.channel);
	meter->command =
		config->raw ? g_strconcat("raw ", config->raw, NULL) : g_strdup(DCMI_COMMAND);
	meter->shell = ipmi_shells_find(base->set->shells, config, &reason);
	if (!meter->shell)
		return power_meter_set_error(base, error, POWER_METER_ERROR_SETUP, "%s",
					     reason->message);
	if (config->sensor_count > 0)
		meter->walk = ipmi_walk_new(meter->shell, (const char *const *)config->sensor,
					    config->sensor_count);
	return true;
}

/* What the request in place of the sensors is for. */
static const char *what_is_read(const struct meter_ipmi *meter)
{
	return meter->base.config->raw ? "power reading by `raw`" : "DCMI power reading";
}

/* A sensor has a reading after DCMI had none: it is read from now on. */
static void settle_on_sensor(struct meter_ipmi *meter)
{
	meter->leaving = false;
	meter->use_sensor = true;
	meter->dcmi_again_ns = meter->never_again ? INT64_MAX
						  : platform_now_ns(meter->base.platform) +
							    (int64_t)(meter->dcmi_wait_s * 1e9);
	meter->dcmi_wait_s = MIN(2 * meter->dcmi_wait_s, DCMI_AGAIN_MAX_S);
}

/* DCMI has a reading. */
static void settle_on_dcmi(struct meter_ipmi *meter)
{
	if (meter->warned)
		power_meter_find_place(&meter->base, "%s of BMC %s:%u", what_is_read(meter),
				       meter->base.config->address, meter->base.config->port);
	meter->warned = meter->use_sensor = false;
	meter->dcmi_worked = true;
	meter->dcmi_misses = 0;
	meter->dcmi_wait_s = DCMI_AGAIN_S;
}

static void end_read(struct meter_ipmi *meter, int64_t mw)
{
	meter->step = STEP_NONE;
	meter->resume = false;
	if (meter->from_sensor)
		meter->base.mean_s = 0;
	if (!meter->from_sensor)
		settle_on_dcmi(meter);
	else if (meter->leaving)
		settle_on_sensor(meter);
	if (!meter->wanted) {
		meter->late.mw = mw;
		meter->late.t_ns = platform_now_ns(meter->base.platform);
		return;
	}
	meter->wanted = false;
	power_meter_end(&meter->base, mw);
}

/* Ends the read with an error of the BMC, or keeps it for the next read. */
static void fail(struct meter_ipmi *meter, enum power_meter_error code, const char *format, ...)
	G_GNUC_PRINTF(3, 4);

static void fail(struct meter_ipmi *meter, enum power_meter_error code, const char *format, ...)
{
	g_autofree char *text = NULL;
	va_list arguments;

	va_start(arguments, format);
	text = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	meter->step = STEP_NONE;
	if (!meter->wanted) {
		meter->late_code = code;
		g_free(meter->late_message);
		meter->late_message = g_steal_pointer(&text);
		return;
	}
	meter->wanted = false;
	power_meter_fail(&meter->base, code, "BMC %s:%u: %s", meter->base.config->address,
			 meter->base.config->port, text);
}

static void on_answer(const char *output, const GError *error, void *data);

static void send_command(struct meter_ipmi *meter, const struct ipmi_target *target, enum step step,
			 const char *command)
{
	meter->step = step;
	g_free(meter->sent);
	meter->sent = g_strdup(command);
	meter->sent_to = *target;
	ipmi_shell_command(meter->shell, target, command, on_answer, meter);
}

/*
 * Sends the command again that had no answer, with a new login, where the session is older than the
 * read: the BMC may have ended it, or was restarted. Returns false if it is not.
 */
static bool try_again(struct meter_ipmi *meter)
{
	if (ipmi_shell_started_ns(meter->shell) >= meter->began_ns)
		return false;
	ipmi_shell_stop(meter->shell);
	ipmi_shell_command(meter->shell, &meter->sent_to, meter->sent, on_answer, meter);
	return true;
}

static const struct ipmi_sensor *current_sensor(const struct meter_ipmi *meter)
{
	return ipmi_walk_sensors(meter->walk) + meter->index;
}

static void read_sensor(struct meter_ipmi *meter)
{
	const struct ipmi_sensor *sensor = current_sensor(meter);
	g_autofree char *command = g_strdup_printf("raw 0x04 0x2d 0x%02x", sensor->number);

	send_command(meter, &sensor->owner, STEP_SENSOR, command);
}

static void on_walked(const GError *error, void *data);
static void on_checked(const GError *error, void *data);

/* Whether a login came after the records were read: the BMC may have been restarted. */
static bool logged_in_since(const struct meter_ipmi *meter)
{
	return ipmi_shell_started_ns(meter->shell) > meter->checked_ns;
}

static void check_records(struct meter_ipmi *meter)
{
	meter->step = STEP_CHECK;
	meter->check_ns = platform_now_ns(meter->base.platform);
	ipmi_walk_check(meter->walk, on_checked, meter);
}

/* Reads the sensors, which are looked for first where they are not known. */
static void read_sensors(struct meter_ipmi *meter)
{
	const int64_t now_ns = platform_now_ns(meter->base.platform);

	meter->from_sensor = true;
	meter->index = 0;
	meter->sum_w = 0;
	if (!ipmi_walk_sensors(meter->walk)) {
		meter->step = STEP_WALK;
		meter->walked_ns = meter->walked_ns ?: now_ns;
		ipmi_walk_go(meter->walk, on_walked, meter);
	} else if (logged_in_since(meter) ||
		   clock_elapsed_s(meter->checked_ns, now_ns) >= RECORDS_AGAIN_S) {
		check_records(meter);
	} else {
		read_sensor(meter);
	}
}

static void on_walked(const GError *error, void *data)
{
	struct meter_ipmi *meter = data;

	meter->step = STEP_NONE;
	if (error) {
		fail(meter, (enum power_meter_error)error->code, "%s", error->message);
		return;
	}
	/* A login meanwhile is one after that: some of the records may be from before it. */
	meter->checked_ns = meter->walked_ns;
	meter->walked_ns = 0;
	if (meter->sensors_lost)
		power_meter_find_place(&meter->base, "sensor \"%s\" (0x%02x)%s of BMC %s:%u",
				       current_sensor(meter)->name, current_sensor(meter)->number,
				       meter->base.config->sensor_count > 1 ? " and others" : "",
				       meter->base.config->address, meter->base.config->port);
	meter->sensors_lost = false;
	if (meter->wanted)
		read_sensors(meter);
}

static void on_checked(const GError *error, void *data)
{
	struct meter_ipmi *meter = data;

	meter->step = STEP_NONE;
	if (!ipmi_walk_sensors(meter->walk)) {
		power_meter_lose_place(&meter->base, "BMC %s:%u: %s; looking for it again",
				       meter->base.config->address, meter->base.config->port,
				       error->message);
		meter->sensors_lost = true;
		if (meter->wanted)
			read_sensors(meter);
		return;
	}
	/* As try_again() does. */
	if (error && error->code == POWER_METER_ERROR_NO_ANSWER && meter->wanted &&
	    ipmi_shell_started_ns(meter->shell) < meter->began_ns) {
		check_records(meter);
		return;
	}
	if (error) {
		fail(meter, (enum power_meter_error)error->code, "%s", error->message);
		return;
	}
	/*
	 * Other meters of the session may have ended it between two records: some are from before
	 * that login then. The login that the first record waited for is none of those.
	 */
	meter->checked_ns = MAX(meter->check_ns, ipmi_walk_session_ns(meter->walk));
	if (!meter->wanted)
		return;
	/* What was read before the login may have been by another number, or other factors. */
	meter->index = 0;
	meter->sum_w = 0;
	read_sensor(meter);
}

/* What a refusal means, with the key to look at; the caller frees. */
static char *refusal_text(const struct meter_ipmi *meter, int code)
{
	return g_strdup_printf(code == CC_PRIVILEGE
				       ? "%s (%02x); raise `privilege`, which is %s, up to that "
					 "of the BMC's user"
				       : "%s (%02x)",
			       meter_ipmi_code_text(code), (unsigned)code,
			       meter->base.config->privilege);
}

/* The sensors are read in place of DCMI, which has worked before or not. */
static void report_sensor(struct meter_ipmi *meter, const char *reason)
{
	const struct config_meter *config = meter->base.config;
	g_autofree char *text =
		g_strdup_printf("BMC %s:%u: %s; reading %s \"%s\"%s in its place", config->address,
				config->port, reason,
				config->sensor_count > 1 ? "the sum of sensors" : "sensor",
				config->sensor[0], config->sensor_count > 1 ? " and others" : "");

	if (meter->dcmi_worked)
		power_meter_lose_place(&meter->base, "%s", text);
	else
		log_warning_of(LOG_HOST(meter->base.host), "%s", text);
}

/*
 * DCMI has no reading, and `reason` is why. The sensors are read in its place where some are
 * configured: for long, or in this reading alone where the BMC was just busy.
 */
static void leave_dcmi(struct meter_ipmi *meter, enum power_meter_error verdict, const char *reason)
{
	const bool passes =
		verdict == POWER_METER_ERROR_NO_ANSWER && ++meter->dcmi_misses < DCMI_MISSES_MAX;

	if (!meter->walk || (passes && meter->dcmi_worked)) {
		fail(meter, verdict, "%s%s", reason,
		     meter->walk || verdict == POWER_METER_ERROR_NO_ANSWER
			     ? ""
			     : "; configure a `sensor`");
		return;
	}
	meter->leaving = !passes;
	meter->never_again = verdict == POWER_METER_ERROR_SETUP;
	if (!meter->warned)
		report_sensor(meter, reason);
	meter->warned = true;
	read_sensors(meter);
}

/*
 * DCMI's current power is that of now, but some BMCs have the mean over their statistics period
 * there. They do not say so: both numbers are the same then, however they change. Where the least
 * and the most power are the same as well, the BMC keeps no statistics, and has the current power
 * in all places.
 */
static void learn_mean(struct meter_ipmi *meter, const struct ipmi_dcmi *dcmi)
{
	meter->dcmi_differs |= dcmi->mw != dcmi->mean_mw;
	meter->dcmi_ranges |= dcmi->mw != dcmi->least_mw || dcmi->mw != dcmi->most_mw;
	meter->dcmi_changes += meter->dcmi_mw > 0 && meter->dcmi_mw != dcmi->mw;
	meter->dcmi_mw = dcmi->mw;
	meter->base.mean_s = !meter->dcmi_differs && meter->dcmi_ranges &&
					     meter->dcmi_changes >= DCMI_CHANGES &&
					     dcmi->period_s <= MEAN_MAX_S
				     ? dcmi->period_s
				     : 0;
}

static enum power_meter_error parse_power(struct meter_ipmi *meter,
					  const struct ipmi_answer *answer, int64_t *ret_mw)
{
	const struct config_meter *config = meter->base.config;
	struct ipmi_dcmi dcmi;
	enum power_meter_error verdict;

	if (config->raw)
		return meter_ipmi_parse_watts(answer, config->raw_at, ret_mw);
	verdict = meter_ipmi_parse_dcmi(answer, &dcmi);
	if (verdict != POWER_METER_OK)
		return verdict;
	learn_mean(meter, &dcmi);
	*ret_mw = dcmi.mw;
	return POWER_METER_OK;
}

static void handle_dcmi(struct meter_ipmi *meter, const struct ipmi_answer *answer)
{
	int64_t mw;
	const enum power_meter_error verdict = parse_power(meter, answer, &mw);
	const char *what = what_is_read(meter);
	const uint32_t at = meter->base.config->raw ? meter->base.config->raw_at - 1 : 1;
	g_autofree char *refusal = NULL;
	g_autofree char *reason = NULL;

	switch (verdict) {
	case POWER_METER_OK:
		if (mw == 0) {
			send_command(meter, &ipmi_bmc, STEP_POWER, CHASSIS_COMMAND);
			return;
		}
		end_read(meter, mw);
		return;
	case POWER_METER_ERROR_NOT_ACTIVE:
		reason = g_strdup_printf("its %s is deactivated", what);
		break;
	case POWER_METER_ERROR_SATURATED:
		reason = g_strdup_printf("its %s is %d W, which is none", what,
					 answer->bytes[at] | answer->bytes[at + 1] << 8);
		break;
	case POWER_METER_ERROR_GARBAGE:
		reason = g_strdup_printf("no valid %s: an answer of %zu bytes", what, answer->size);
		break;
	default:
		refusal = refusal_text(meter, answer->code);
		reason = g_strdup_printf(verdict == POWER_METER_ERROR_SETUP ? "it has no %s: %s"
									    : "%s refused: %s",
					 what, refusal);
		break;
	}
	leave_dcmi(meter, verdict, reason);
}

/* 0 W was read: a machine that is on draws more. */
static void handle_power(struct meter_ipmi *meter, const struct ipmi_answer *answer)
{
	const bool known = answer->code == 0 && answer->size >= 1;
	const bool runs_vm = meter_set_runs_vm(meter->base.set, meter->base.host);
	const char *reason = runs_vm ? "0 W from a machine on which our VMs run is no reading"
			     : known ? "0 W from a machine that is on is no reading"
				     : "0 W is no reading where the chassis status is not known";

	if (known && !(answer->bytes[0] & CHASSIS_ON) && !runs_vm) {
		end_read(meter, 0);
	} else if (meter->from_sensor) {
		fail(meter, POWER_METER_ERROR_NOT_ACTIVE, "%s; see `sensor`", reason);
	} else {
		g_autofree char *text = g_strdup_printf("%s: %s", what_is_read(meter), reason);

		leave_dcmi(meter, POWER_METER_ERROR_NOT_ACTIVE, text);
	}
}

/* DCMI has said 0 W, and whether the machine is on has no answer. */
static void leave_unknown_zero(struct meter_ipmi *meter, enum power_meter_error verdict,
			       const char *reason)
{
	g_autofree char *text = g_strdup_printf("%s: 0 W, and its chassis status is not known: %s",
						what_is_read(meter), reason);

	leave_dcmi(meter, verdict, text);
}

/* Adds the watts of the sensor to the sum; the next sensor follows. */
static void take_sensor(struct meter_ipmi *meter, const struct ipmi_factors *factors)
{
	const struct ipmi_sensor *sensor = current_sensor(meter);
	const double watts = ipmi_sdr_watts(factors, meter->raw);

	if (!(watts >= 0 && watts < WATTS_TOP)) {
		fail(meter, POWER_METER_ERROR_GARBAGE, "sensor \"%s\": %g W cannot be",
		     sensor->name, watts);
		return;
	}
	meter->sum_w += watts;
	if (++meter->index < meter->base.config->sensor_count)
		read_sensor(meter);
	else if (logged_in_since(meter))
		check_records(meter);
	else if (llround(meter->sum_w * 1e3) > 0)
		end_read(meter, llround(meter->sum_w * 1e3));
	else
		send_command(meter, &ipmi_bmc, STEP_POWER, CHASSIS_COMMAND);
}

/* The sensor gave no reading: nor does the sum. */
static void fail_sensor(struct meter_ipmi *meter, enum power_meter_error verdict,
			const struct ipmi_answer *answer)
{
	const struct ipmi_sensor *sensor = current_sensor(meter);
	g_autofree char *name = g_strdup(sensor->name);
	const bool bridged = sensor->owner.address != IPMI_BMC_ADDRESS;
	g_autofree char *of =
		bridged ? g_strdup_printf(" of controller 0x%02x", sensor->owner.address)
			: g_strdup("");
	g_autofree char *refusal = refusal_text(meter, answer->code);

	switch (verdict) {
	case POWER_METER_ERROR_NOT_ACTIVE:
		fail(meter, verdict, "sensor \"%s\"%s does not measure: %02x %02x", name, of,
		     answer->bytes[0], answer->bytes[1]);
		break;
	case POWER_METER_ERROR_GARBAGE:
		fail(meter, verdict, "sensor \"%s\"%s: an answer of %zu bytes", name, of,
		     answer->size);
		break;
	default:
		/* Records change with the firmware, and with what is plugged in. */
		if (answer->code == CC_NOT_FOUND)
			meter->checked_ns = 0;
		fail(meter,
		     verdict == POWER_METER_ERROR_SETUP ? POWER_METER_ERROR_REJECTED : verdict,
		     "sensor \"%s\"%s: refused: %s", name, of, refusal);
	}
}

static void handle_sensor(struct meter_ipmi *meter, const struct ipmi_answer *answer)
{
	const struct ipmi_sensor *sensor = current_sensor(meter);
	const enum power_meter_error verdict = meter_ipmi_parse_sensor(answer, &meter->raw);

	if (verdict != POWER_METER_OK) {
		fail_sensor(meter, verdict, answer);
	} else if (ipmi_sdr_at_top(&sensor->factors, meter->raw)) {
		fail(meter, POWER_METER_ERROR_SATURATED,
		     "sensor \"%s\" is at the top of its range: %02x", sensor->name, meter->raw);
	} else if (ipmi_sdr_needs_factors(&sensor->factors)) {
		g_autofree char *command =
			g_strdup_printf("raw 0x04 0x23 0x%02x 0x%02x", sensor->number, meter->raw);

		send_command(meter, &sensor->owner, STEP_FACTORS, command);
	} else {
		take_sensor(meter, &sensor->factors);
	}
}

/* Get Sensor Reading Factors: the next reading's number, then the factors. */
static void handle_factors(struct meter_ipmi *meter, const struct ipmi_answer *answer)
{
	struct ipmi_factors factors = current_sensor(meter)->factors;

	if (answer->code != 0 || answer->size < 7) {
		fail_sensor(meter,
			    answer->code == 0 ? POWER_METER_ERROR_GARBAGE
					      : POWER_METER_ERROR_REJECTED,
			    answer);
		return;
	}
	ipmi_sdr_parse_factors(answer->bytes + 1, &factors);
	take_sensor(meter, &factors);
}

static void on_answer(const char *output, const GError *error, void *data)
{
	static void (*const handlers[])(struct meter_ipmi * meter,
					const struct ipmi_answer *answer) = {
		[STEP_DCMI] = handle_dcmi,
		[STEP_FACTORS] = handle_factors,
		[STEP_SENSOR] = handle_sensor,
		[STEP_POWER] = handle_power,
	};
	struct meter_ipmi *meter = data;
	struct ipmi_answer answer;
	enum power_meter_error verdict;

	if (error) {
		fail(meter, (enum power_meter_error)error->code, "%s", error->message);
		return;
	}
	verdict = meter_ipmi_parse_raw(output, &answer);
	if (answer.code < 0) {
		g_autofree char *gist = meter_ipmi_parse_gist(output);
		g_autofree char *reason = g_strdup_printf(verdict == POWER_METER_ERROR_NO_ANSWER
								  ? "no answer: %s"
								  : "not a power reading: %s",
							  gist);

		if (try_again(meter))
			return;
		ipmi_shell_stop(meter->shell);
		if (meter->step == STEP_DCMI)
			leave_dcmi(meter, verdict, reason);
		else if (meter->step == STEP_POWER && !meter->from_sensor)
			leave_unknown_zero(meter, verdict, reason);
		else
			fail(meter, verdict, "%s", reason);
		return;
	}
	handlers[meter->step](meter, &answer);
}

/*
 * What the reading waits for beside the answer to its command, or to that of its check of records;
 * NULL: nothing.
 */
static const char *obstacle(const struct meter_ipmi *meter)
{
	return ipmi_shell_obstacle(meter->shell,
				   meter->step == STEP_CHECK ? (const void *)meter->walk : meter);
}

static gboolean on_deadline(gpointer data)
{
	struct meter_ipmi *meter = data;
	const char *text = obstacle(meter);
	uint32_t read, all;

	meter->base.timer_id =
		platform_after_ms(meter->base.platform, PATIENCE_MS, on_deadline, meter);
	meter->resume = meter->from_sensor && (meter->step == STEP_WALK || text);
	if (meter->step == STEP_WALK) {
		ipmi_walk_progress(meter->walk, &read, &all);
		meter->wanted = false;
		power_meter_fail(&meter->base, POWER_METER_ERROR_NOT_YET,
				 "BMC %s:%u: looks for the sensor: %u of %u records",
				 meter->base.config->address, meter->base.config->port, read, all);
	} else if (text) {
		meter->wanted = false;
		power_meter_fail(&meter->base, POWER_METER_ERROR_NOT_YET, "BMC %s:%u: %s",
				 meter->base.config->address, meter->base.config->port, text);
	}
	return G_SOURCE_REMOVE;
}

static gboolean on_late(gpointer data)
{
	struct meter_ipmi *meter = data;
	const struct power_reading reading = meter->late;

	meter->base.timer_id = 0;
	meter->late.t_ns = 0;
	meter->wanted = false;
	power_meter_end_with(&meter->base, &reading);
	return G_SOURCE_REMOVE;
}

static void ipmi_read(struct power_meter *base)
{
	struct meter_ipmi *meter = (struct meter_ipmi *)base;
	const int64_t now_ns = platform_now_ns(base->platform);
	const int64_t left_ms = (base->deadline_ns - now_ns) / 1000000;

	meter->wanted = true;
	meter->began_ns = now_ns;
	if (meter->late_message) {
		g_autofree char *message = g_steal_pointer(&meter->late_message);

		fail(meter, meter->late_code, "%s", message);
		return;
	}
	/*
	 * Without it, a meter that waits for others longer than a read lasts would have no reading
	 * for as long as their answers come between two of its reads.
	 */
	if (meter->late.t_ns != 0 &&
	    clock_elapsed_s(meter->late.t_ns, now_ns) <= base->config->interval_s) {
		base->timer_id = platform_after_ms(base->platform, 0, on_late, meter);
		return;
	}
	meter->late.t_ns = 0;
	base->timer_id =
		platform_after_ms(meter->base.platform, (guint)MAX(left_ms, 0), on_deadline, meter);
	if (meter->step != STEP_NONE)
		return;
	if (meter->resume || (meter->use_sensor && now_ns < meter->dcmi_again_ns)) {
		meter->resume = false;
		read_sensors(meter);
	} else {
		meter->from_sensor = meter->leaving = false;
		send_command(meter, &meter->raw_target, STEP_DCMI, meter->command);
	}
}

static const char *ipmi_source(const struct power_meter *base)
{
	const struct meter_ipmi *meter = (const struct meter_ipmi *)base;

	if (meter->from_sensor)
		return base->config->sensor_count > 1 ? "sensors" : "sensor";
	return base->config->raw ? "raw" : "dcmi";
}

static void ipmi_close(struct power_meter *base)
{
	struct meter_ipmi *meter = (struct meter_ipmi *)base;

	ipmi_walk_free(meter->walk);
	if (meter->shell)
		ipmi_shell_drop(meter->shell, meter);
	g_free(meter->late_message);
	g_free(meter->command);
	g_free(meter->sent);
}

const struct power_meter_ops meter_ipmi_ops = {
	.kind = CONFIG_METER_IPMI,
	.size = sizeof(struct meter_ipmi),
	.open = ipmi_open,
	.read = ipmi_read,
	.source = ipmi_source,
	.close = ipmi_close,
};
