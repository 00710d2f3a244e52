/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/ipmi_walk.h"

#include <string.h>

#include "common/visible.h"
#include "local-sched/power/meter_ipmi_parse.h"

enum {
	FIRST_RECORD = 0x0000,
	LAST_RECORD = 0xffff,
	WHOLE = 0xff,       /* as a count: the whole record */
	PIECE = 16,         /* bytes that every BMC returns */
	REPEATS_MAX = 5,    /* of one request that the BMC was too busy for */
	SENSORS_MAX = 1024, /* in watts, or of a wanted name */
	LISTED_MAX = 16,    /* in a message */
	CC_RESERVATION = 0xc5,
	CC_NOT_FOUND = 0xcb,
	CC_PRIVILEGE = 0xd4,
};

enum step {
	STEP_COUNT = 0, /* how many records there are */
	STEP_RESERVE,   /* a reservation, which reading pieces needs */
	STEP_RECORD,
};

/*
 * The commands of a repository (IPMI 2.0, section 33), and of a controller that keeps the records
 * of its own sensors without one (section 35).
 */
static const struct source {
	const char *count, *reserve, *get;
	gsize count_at; /* of the low byte of the number, in the answer to `count` */
} sources[] = {
	{"raw 0x0a 0x20", "raw 0x0a 0x22", "raw 0x0a 0x23", 1},
	{"raw 0x04 0x20 0x01", "raw 0x04 0x22", "raw 0x04 0x21", 0},
};

struct ipmi_walk {
	struct ipmi_shell *shell;
	const char *const *wanted;
	uint32_t count;
	ipmi_walk_done_f done;
	void *data;
	/* Where it is. */
	const struct source *source;
	enum step step;
	uint16_t id;          /* of the record to read */
	uint16_t reservation; /* that was sent with the request */
	bool in_pieces;
	int32_t silent_id; /* the record that had no answer, and was not read since; -1: none */
	size_t size;       /* of the record, as far as it is read */
	uint8_t record[IPMI_SDR_RECORD_MAX];
	int repeats;
	uint8_t seen[8192]; /* one bit for each record id: a chain may be a circle */
	uint32_t read, all;
	GArray *sensors; /* struct ipmi_sensor: in watts, or of a wanted name */
	/* Records are read again: that of found[index]. */
	bool checking;
	uint32_t index;
	int64_t session_ns; /* of the first of them */
	/* The result: one for each that is wanted; NULL: not known. */
	struct ipmi_sensor *found;
};

struct ipmi_walk *ipmi_walk_new(struct ipmi_shell *shell, const char *const *wanted, uint32_t count)
{
	struct ipmi_walk *walk = g_new0(struct ipmi_walk, 1);

	walk->shell = shell;
	walk->wanted = wanted;
	walk->count = count;
	walk->sensors = g_array_new(FALSE, FALSE, sizeof(struct ipmi_sensor));
	ipmi_walk_forget(walk);
	return walk;
}

void ipmi_walk_free(struct ipmi_walk *walk)
{
	if (!walk)
		return;
	ipmi_shell_drop(walk->shell, walk);
	g_array_unref(walk->sensors);
	g_free(walk->found);
	g_free(walk);
}

void ipmi_walk_forget(struct ipmi_walk *walk)
{
	walk->source = sources;
	walk->step = STEP_COUNT;
	walk->id = FIRST_RECORD;
	walk->checking = false;
	walk->size = 0;
	walk->repeats = 0;
	walk->read = walk->all = 0;
	walk->silent_id = -1;
	memset(walk->seen, 0, sizeof walk->seen);
	g_array_set_size(walk->sensors, 0);
	g_clear_pointer(&walk->found, g_free);
}

int64_t ipmi_walk_session_ns(const struct ipmi_walk *walk)
{
	return walk->session_ns;
}

const struct ipmi_sensor *ipmi_walk_sensors(const struct ipmi_walk *walk)
{
	return walk->found;
}

void ipmi_walk_progress(const struct ipmi_walk *walk, uint32_t *ret_read, uint32_t *ret_all)
{
	*ret_read = walk->read;
	*ret_all = walk->all;
}

static void stop(struct ipmi_walk *walk, const GError *error)
{
	walk->checking = false;
	walk->done(error, walk->data);
}

static void fail(struct ipmi_walk *walk, enum power_meter_error code, const char *format, ...)
	G_GNUC_PRINTF(3, 4);

static void fail(struct ipmi_walk *walk, enum power_meter_error code, const char *format, ...)
{
	g_autoptr(GError) error = NULL;
	va_list arguments;

	va_start(arguments, format);
	error = g_error_new_valist(POWER_METER_ERROR, (int)code, format, arguments);
	va_end(arguments);
	stop(walk, error);
}

static bool is_wanted(const struct ipmi_walk *walk, const struct ipmi_sensor *sensor)
{
	for (uint32_t i = 0; i < walk->count; i++)
		if (ipmi_sdr_is_named(sensor, walk->wanted[i]))
			return true;
	return false;
}

static bool is_same(const struct ipmi_sensor *a, const struct ipmi_sensor *b)
{
	return a->number == b->number && a->owner.address == b->owner.address &&
	       a->owner.lun == b->owner.lun && a->owner.channel == b->owner.channel;
}

/* Names of sensors in watts for a message; only those that `wanted` names, unless that is NULL. */
static char *list(const struct ipmi_walk *walk, const char *wanted)
{
	GString *names = g_string_new(NULL);
	guint listed = 0;

	for (guint i = 0; i < walk->sensors->len; i++) {
		const struct ipmi_sensor *sensor =
			&g_array_index(walk->sensors, struct ipmi_sensor, i);

		if (!sensor->in_watts || (wanted && !ipmi_sdr_is_named(sensor, wanted)))
			continue;
		if (listed++ == LISTED_MAX) {
			g_string_append(names, ", ...");
			break;
		}
		g_string_append(names, names->len ? ", \"" : "\"");
		visible_append(names, sensor->name);
		g_string_append_printf(names, " (0x%02x)\"", sensor->number);
	}
	if (names->len == 0)
		g_string_append(names, "none");
	return g_string_free(names, FALSE);
}

/*
 * Finds the sensor that `wanted` names. NULL with `error`. Two records of one sensor are one
 * sensor.
 */
static const struct ipmi_sensor *pick(const struct ipmi_walk *walk, const char *wanted,
				      GError **error)
{
	const struct ipmi_sensor *picked = NULL;
	g_autofree char *names = NULL;
	bool other_unit = false;
	bool several = false;

	for (guint i = 0; i < walk->sensors->len; i++) {
		const struct ipmi_sensor *sensor =
			&g_array_index(walk->sensors, struct ipmi_sensor, i);

		if (!ipmi_sdr_is_named(sensor, wanted))
			continue;
		other_unit |= !sensor->in_watts;
		if (!sensor->in_watts)
			continue;
		several |= picked && !is_same(picked, sensor);
		picked = sensor;
	}
	names = list(walk, several ? wanted : NULL);
	if (several)
		g_set_error(error, POWER_METER_ERROR, POWER_METER_ERROR_SETUP,
			    "several sensors have the name \"%s\"; give one of %s as `sensor`, or "
			    "a list to sum them",
			    wanted, names);
	else if (!picked)
		g_set_error(error, POWER_METER_ERROR, POWER_METER_ERROR_SETUP,
			    other_unit ? "sensor \"%s\" is not in watts; those in watts: %s"
				       : "there is no sensor \"%s\"; those in watts: %s",
			    wanted, names);
	else if (picked->of_software)
		g_set_error(
			error, POWER_METER_ERROR, POWER_METER_ERROR_SETUP,
			"sensor \"%s\" belongs to software (owner 0x%02x), which cannot be asked",
			wanted, picked->owner.address | 1U);
	else
		return picked;
	return NULL;
}

/* The chain is at its end. */
static void conclude(struct ipmi_walk *walk)
{
	g_autofree struct ipmi_sensor *found = g_new0(struct ipmi_sensor, walk->count);
	g_autoptr(GError) error = NULL;

	for (uint32_t i = 0; i < walk->count && !error; i++) {
		const struct ipmi_sensor *sensor = pick(walk, walk->wanted[i], &error);

		if (sensor)
			found[i] = *sensor;
		for (uint32_t j = 0; j < i && sensor && !error; j++)
			if (is_same(&found[j], sensor))
				g_set_error(&error, POWER_METER_ERROR, POWER_METER_ERROR_SETUP,
					    "`sensor` has \"%s\" and \"%s\", which are the same",
					    walk->wanted[j], walk->wanted[i]);
	}
	if (error) {
		ipmi_walk_forget(walk);
	} else {
		g_free(walk->found);
		walk->found = g_steal_pointer(&found);
	}
	stop(walk, error);
}

static void send_request(struct ipmi_walk *walk);

static void send_step(struct ipmi_walk *walk, enum step step)
{
	walk->step = step;
	walk->repeats = 0;
	send_request(walk);
}

/*
 * Begins to read the record at `id`, with the reservation that the session has, if any. Only parts
 * of a record need one (section 33.12).
 */
static void read_record(struct ipmi_walk *walk, uint16_t id)
{
	const bool reserved = *ipmi_shell_reservation(walk->shell) != 0;

	walk->id = id;
	walk->size = 0;
	send_step(walk, walk->in_pieces && !reserved ? STEP_RESERVE : STEP_RECORD);
}

/* A record is not that of the sensor found. */
static void lose(struct ipmi_walk *walk, const char *what)
{
	const struct ipmi_sensor *sensor = &walk->found[walk->index];
	g_autofree char *text = g_strdup_printf("sensor \"%s\" (0x%02x): its record 0x%04x is %s",
						sensor->name, sensor->number, sensor->record, what);

	ipmi_walk_forget(walk);
	fail(walk, POWER_METER_ERROR_REJECTED, "%s", text);
}

/* Compares a record that was read again with the sensor found; the next one follows. */
static void check_record(struct ipmi_walk *walk)
{
	struct ipmi_sensor *found = &walk->found[walk->index];
	struct ipmi_sensor sensor;

	if (!ipmi_sdr_parse(walk->record, walk->size, &sensor)) {
		lose(walk, "that of no sensor of watts");
		return;
	}
	if (!is_same(found, &sensor) || strcmp(found->name, sensor.name) != 0 || !sensor.in_watts ||
	    sensor.of_software != found->of_software) {
		g_autofree char *what =
			g_strdup_printf("that of sensor \"%s\" (0x%02x)%s", sensor.name,
					sensor.number, sensor.in_watts ? "" : ", not of watts");

		lose(walk, what);
		return;
	}
	found->factors = sensor.factors;
	if (++walk->index < walk->count)
		read_record(walk, walk->found[walk->index].record);
	else
		stop(walk, NULL);
}

/* Takes the record; the one at `next` follows. */
static void take_record(struct ipmi_walk *walk, uint16_t next)
{
	struct ipmi_sensor sensor;

	if (walk->silent_id == walk->id)
		walk->silent_id = -1;
	if (walk->checking) {
		check_record(walk);
		return;
	}
	if (ipmi_sdr_parse(walk->record, walk->size, &sensor) &&
	    (sensor.in_watts || is_wanted(walk, &sensor)) && walk->sensors->len < SENSORS_MAX) {
		sensor.record = walk->id;
		g_array_append_val(walk->sensors, sensor);
	}
	walk->read++;
	walk->size = 0;
	walk->seen[walk->id / 8] |= (uint8_t)(1U << walk->id % 8);
	walk->id = next;
	if (next == LAST_RECORD || (walk->seen[next / 8] & 1U << next % 8))
		conclude(walk);
	else
		send_step(walk, STEP_RECORD);
}

/* Whether the record is read as far as it matters: only sensors of watts do, which are full. */
static bool is_whole(const struct ipmi_walk *walk)
{
	return walk->size >= IPMI_SDR_HEADER &&
	       (walk->record[3] != IPMI_SDR_FULL ||
		walk->size >= IPMI_SDR_HEADER + (size_t)walk->record[4]);
}

/* The number that an answer of at least two bytes begins with. */
static uint16_t first_word(const struct ipmi_answer *answer)
{
	const unsigned word = answer->bytes[0] | (unsigned)answer->bytes[1] << 8;

	return (uint16_t)word;
}

/* Whether all wanted sensors are among the records that were read. */
static bool has_all(const struct ipmi_walk *walk)
{
	for (uint32_t i = 0; i < walk->count; i++) {
		bool found = false;

		for (guint k = 0; k < walk->sensors->len && !found; k++) {
			const struct ipmi_sensor *sensor =
				&g_array_index(walk->sensors, struct ipmi_sensor, k);

			found = sensor->in_watts && ipmi_sdr_is_named(sensor, walk->wanted[i]);
		}
		if (!found)
			return false;
	}
	return true;
}

static void read_in_pieces(struct ipmi_walk *walk)
{
	walk->in_pieces = true;
	read_record(walk, walk->id);
}

static void handle_record(struct ipmi_walk *walk, const struct ipmi_answer *answer)
{
	uint16_t next;
	size_t got;

	if (answer->code == CC_RESERVATION && walk->repeats++ < REPEATS_MAX) {
		/* Another walk of this session may have a new one already. */
		if (*ipmi_shell_reservation(walk->shell) == walk->reservation)
			*ipmi_shell_reservation(walk->shell) = 0;
		walk->size = 0;
		walk->step = *ipmi_shell_reservation(walk->shell) ? STEP_RECORD : STEP_RESERVE;
		send_request(walk);
		return;
	}
	if (answer->code == CC_NOT_FOUND && walk->id == FIRST_RECORD) {
		conclude(walk); /* no records at all */
		return;
	}
	if (walk->checking && walk->index == 0 && walk->size == 0)
		walk->session_ns = ipmi_shell_started_ns(walk->shell);
	got = answer->size > 2 ? MIN(answer->size - 2, sizeof walk->record - walk->size) : 0;
	if (answer->code == 0 && got > 0) {
		memcpy(walk->record + walk->size, answer->bytes + 2, got);
		walk->size += got;
		next = first_word(answer);
		if (is_whole(walk)) {
			take_record(walk, next);
			return;
		}
		if (walk->in_pieces && walk->size <= UINT8_MAX) {
			send_step(walk, STEP_RECORD);
			return;
		}
	}
	if (walk->checking && answer->code == CC_NOT_FOUND)
		lose(walk, "gone");
	else if (!walk->in_pieces)
		read_in_pieces(walk);
	else if (walk->checking)
		lose(walk, "not readable");
	else if (has_all(walk))
		conclude(walk); /* the record behind this one cannot be known */
	else
		fail(walk, POWER_METER_ERROR_REJECTED,
		     "its sensor record 0x%04x cannot be read: %s (%02x)", walk->id,
		     meter_ipmi_code_text(answer->code), (unsigned)answer->code);
}

static void handle_count(struct ipmi_walk *walk, const struct ipmi_answer *answer)
{
	const gsize at = walk->source->count_at;

	if (answer->code == 0) {
		walk->all = at < answer->size ? answer->bytes[at] : 0;
		if (at == 1 && answer->size > 2)
			walk->all |= (uint32_t)answer->bytes[2] << 8;
		send_step(walk, *ipmi_shell_reservation(walk->shell) ? STEP_RECORD : STEP_RESERVE);
	} else if (answer->code == CC_PRIVILEGE) {
		fail(walk, POWER_METER_ERROR_REJECTED,
		     "the user may not read its sensor records (d4); raise `privilege`");
	} else if (walk->source == sources) {
		walk->source++;
		send_step(walk, STEP_COUNT);
	} else {
		walk->source = sources;
		fail(walk, POWER_METER_ERROR_REJECTED, "it has no sensor records: %s (%02x)",
		     meter_ipmi_code_text(answer->code), (unsigned)answer->code);
	}
}

/* The session ends, and with it the reservation. */
static void interrupt(struct ipmi_walk *walk)
{
	if (walk->step == STEP_RECORD)
		walk->step = STEP_RESERVE;
	walk->size = 0;
}

static void on_answer(const char *output, const GError *error, void *data)
{
	struct ipmi_walk *walk = data;
	struct ipmi_answer answer;
	enum power_meter_error verdict;

	if (error) {
		interrupt(walk);
		stop(walk, error);
		return;
	}
	verdict = meter_ipmi_parse_raw(output, &answer);
	if (answer.code < 0) {
		g_autofree char *gist = meter_ipmi_parse_gist(output);

		/*
		 * A BMC may fall silent over a record that is too long for it. Once may be a lost
		 * packet.
		 */
		if (walk->step == STEP_RECORD && verdict == POWER_METER_ERROR_NO_ANSWER) {
			walk->in_pieces |= walk->silent_id == walk->id;
			walk->silent_id = walk->id;
		}
		interrupt(walk);
		ipmi_shell_stop(walk->shell);
		fail(walk, verdict, "no valid answer while its sensor records are read: %s", gist);
	} else if (verdict == POWER_METER_ERROR_NO_ANSWER && walk->repeats++ < REPEATS_MAX) {
		send_request(walk); /* it was busy */
	} else if (walk->step == STEP_COUNT) {
		handle_count(walk, &answer);
	} else if (walk->step == STEP_RESERVE) {
		/* Records can be read without where there are no reservations. */
		*ipmi_shell_reservation(walk->shell) = answer.size >= 2 ? first_word(&answer) : 0;
		walk->step = STEP_RECORD;
		send_request(walk);
	} else {
		handle_record(walk, &answer);
	}
}

/* How much of the record to ask for: all of it, its header, or the next piece. */
static size_t bytes_to_ask(const struct ipmi_walk *walk)
{
	size_t left;

	if (!walk->in_pieces)
		return WHOLE;
	if (walk->size < IPMI_SDR_HEADER)
		return IPMI_SDR_HEADER - walk->size;
	left = IPMI_SDR_HEADER + (size_t)walk->record[4] - walk->size;
	return MIN(left, PIECE);
}

static void send_request(struct ipmi_walk *walk)
{
	g_autofree char *command = NULL;

	switch (walk->step) {
	case STEP_COUNT:
		command = g_strdup(walk->source->count);
		break;
	case STEP_RESERVE:
		command = g_strdup(walk->source->reserve);
		break;
	case STEP_RECORD:
		walk->reservation = *ipmi_shell_reservation(walk->shell);
		command = g_strdup_printf("%s 0x%02x 0x%02x 0x%02x 0x%02x 0x%02x 0x%02x",
					  walk->source->get, walk->reservation & 0xffU,
					  walk->reservation >> 8U, walk->id & 0xffU, walk->id >> 8U,
					  (unsigned)walk->size, (unsigned)bytes_to_ask(walk));
		break;
	}
	ipmi_shell_command(walk->shell, &ipmi_bmc, command, on_answer, walk);
}

void ipmi_walk_go(struct ipmi_walk *walk, ipmi_walk_done_f done, void *data)
{
	walk->done = done;
	walk->data = data;
	walk->repeats = 0;
	if (walk->found)
		stop(walk, NULL);
	else
		send_request(walk);
}

void ipmi_walk_check(struct ipmi_walk *walk, ipmi_walk_done_f done, void *data)
{
	walk->done = done;
	walk->data = data;
	walk->checking = true;
	walk->index = 0;
	read_record(walk, walk->found[0].record);
}
