/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "common/json.h"
#include "local-sched/power/redfish_search.h"

#define LOG_SUBSYSTEM "meter"
#include "common/log.h"

/*
 * Redfish over HTTPS (DMTF DSP0266). The first reading finds the place of the watts, and remembers
 * it: in the chassis that is the machine (redfish_search.h) its Power, with PowerControl or a
 * vendor's place, or else its EnvironmentMetrics. A configured `sensor` names the place instead: a
 * path, or something in Power or Sensors of the chassis. Several are added.
 *
 * A place that was found is kept: null for a while is no reading, and no reason to search again. It
 * is searched again when the BMC says that it is gone.
 *
 * null or a missing property is no reading, never 0 W. 0 W is a reading where the BMC says that the
 * machine is off. A repeated value is a reading: BMCs refresh it at their own pace (iDRAC about
 * once a minute), and some hosts do draw constant power.
 */

enum { SENSORS_SHOWN = 12, SENSOR_PAGES_MAX = 32 };

/* A place that has watts, or may have them. */
struct place {
	char *path;
	bool is_power;                    /* a Power; else what has a reading */
	struct meter_redfish_entry entry; /* of Power */
	char *name;                       /* of what is meant in Power; NULL: the whole machine */
};

struct meter_redfish {
	struct power_meter base;
	struct redfish_service *service;
	struct redfish_search *search;         /* under way, or NULL */
	struct meter_redfish_chassis *machine; /* found, or NULL */
	GPtrArray *places;                     /* struct place * */
	bool found;                            /* `places` are those of the watts */
	bool warned;                           /* of a mean over an unknown time */
	char *former;                          /* the last chassis that had the watts, or NULL */
	/* The read under way. */
	bool fresh;                  /* `machine` was read in it */
	guint tried;                 /* places of the machine */
	guint asked;                 /* requests that were not answered yet */
	int64_t mw;                  /* the sum so far */
	enum power_meter_error code; /* why there are no watts */
	char *reason;
	struct meter_redfish_watts verdict; /* of the places that were tried */
	unsigned supplies;                  /* that have watts where the machine has none */
	char *entries;                      /* names of those in PowerControl then, or NULL */
	const char *unnamed;                /* why Power has no configured name, or NULL */
	char *denied;                       /* why a place could not be read, or NULL */
	char *refused;                      /* what the BMC said where a place is none, or NULL */
	GPtrArray *sensors;                 /* char *: paths */
	unsigned pages;                     /* of the sensors */
	bool cut;                           /* there are more */
	enum meter_redfish_state state;     /* of the chassis */
};

static void try_place(struct meter_redfish *meter);
static void read_watts(struct meter_redfish *meter);

static void place_free(gpointer data)
{
	struct place *place = data;

	meter_redfish_entry_clear(&place->entry);
	g_free(place->path);
	g_free(place->name);
	g_free(place);
}

static struct place *add_place(struct meter_redfish *meter, const char *path, bool is_power,
			       const char *name)
{
	struct place *place = g_new0(struct place, 1);

	*place = (struct place){.path = g_strdup(path),
				.is_power = is_power,
				.entry = {.index = -1},
				.name = g_strdup(name)};
	g_ptr_array_add(meter->places, place);
	return place;
}

/* The next reading begins the search again. */
static void forget_places(struct meter_redfish *meter)
{
	g_ptr_array_set_size(meter->places, 0);
	meter->found = false;
	g_clear_pointer(&meter->machine, meter_redfish_chassis_free);
	meter->base.mean_s = 0;
	meter->base.mean_unknown = false;
}

static bool redfish_open(struct power_meter *base, GError **error)
{
	struct meter_redfish *meter = (struct meter_redfish *)base;
	g_autoptr(GError) reason = NULL;

	meter->places = g_ptr_array_new_with_free_func(place_free);
	meter->sensors = g_ptr_array_new_with_free_func(g_free);
	meter->service = redfish_services_find(base->set->services, base->config, &reason);
	return meter->service ||
	       power_meter_set_error(base, error, POWER_METER_ERROR_SETUP, "%s", reason->message);
}

static void fail(struct meter_redfish *meter, enum power_meter_error code, const char *reason)
{
	power_meter_fail(&meter->base, code, "BMC %s: %s", redfish_service_address(meter->service),
			 reason);
}

/* Notes why a read that waits for several answers fails. */
static void note_failure(struct meter_redfish *meter, enum power_meter_error code,
			 const char *reason)
{
	if (meter->reason)
		return;
	meter->code = code;
	meter->reason = g_strdup(reason);
}

/* 0 W: whether the machine is off. */

static void end_zero(struct meter_redfish *meter, enum meter_redfish_state system)
{
	if (meter_set_runs_vm(meter->base.set, meter->base.host))
		fail(meter, POWER_METER_ERROR_NOT_ACTIVE,
		     "it says 0 W, and our VMs run on the machine: no reading");
	else if (meter->state == METER_REDFISH_ON || system == METER_REDFISH_ON)
		fail(meter, POWER_METER_ERROR_NOT_ACTIVE,
		     "it says 0 W, and that the machine is on: no reading");
	else if (meter->state == METER_REDFISH_OFF || system == METER_REDFISH_OFF)
		power_meter_end(&meter->base, 0);
	else
		fail(meter, POWER_METER_ERROR_NOT_ACTIVE,
		     "it says 0 W, and not that the machine is off: no reading");
}

static void on_system(const struct redfish_answer *answer, void *data)
{
	end_zero(data, meter_redfish_parse_state(answer->body));
}

/* What the chassis says of itself, and then its system, which may say more. */
static void take_state(struct meter_redfish *meter, enum meter_redfish_state chassis)
{
	meter->state = chassis;
	if (meter->machine->system && meter->state != METER_REDFISH_ON)
		redfish_service_get(meter->service, meter->machine->system, 0, on_system, meter);
	else
		end_zero(meter, METER_REDFISH_STATE_UNKNOWN);
}

static void on_state(const struct redfish_answer *answer, void *data)
{
	take_state(data, meter_redfish_parse_state(answer->body));
}

static void end_watts(struct meter_redfish *meter)
{
	meter->state = METER_REDFISH_STATE_UNKNOWN;
	if (meter->reason)
		fail(meter, meter->code, meter->reason);
	else if (meter->mw > 0)
		power_meter_end(&meter->base, meter->mw);
	else if (meter->machine && meter->fresh)
		take_state(meter, meter->machine->state);
	else if (meter->machine)
		redfish_service_get(meter->service, meter->machine->path, 0, on_state, meter);
	else
		end_zero(meter, METER_REDFISH_STATE_UNKNOWN);
}

/* Reading the places that were found. */

/* What the watts are a mean of, by themselves and by their chassis. */
static void note_mean(struct meter_redfish *meter, const struct meter_redfish_watts *watts)
{
	meter->base.mean_s = MAX(meter->base.mean_s, watts->mean_s);
	if (meter->machine)
		meter->base.mean_s = MAX(meter->base.mean_s, meter->machine->mean_s);
	if (watts->of_unknown && !meter->warned)
		log_warning_of(
			LOG_HOST(meter->base.host),
			"its watts are a mean over an unknown time: BMC %s has "
			"AverageConsumedWatts without IntervalInMin; give the time as `mean_s`",
			redfish_service_address(meter->service));
	meter->warned |= watts->of_unknown;
	meter->base.mean_unknown |= watts->of_unknown;
}

/* The places are searched again after this reading. */
static void lose_places(struct meter_redfish *meter, const char *reason)
{
	if (meter->found)
		power_meter_lose_place(&meter->base, "%s", reason);
	meter->found = false;
}

static void take_watts(struct meter_redfish *meter, struct place *place, const json_t *body)
{
	g_autofree char *quantity = place->is_power ? NULL : meter_redfish_describe_quantity(body);
	struct meter_redfish_watts watts;

	if (quantity) {
		g_autofree char *reason = g_strdup_printf("%s: %s", place->path, quantity);

		note_failure(meter, POWER_METER_ERROR_SETUP, reason);
		return;
	}
	if (place->name)
		watts = meter_redfish_parse_named(body, place->name);
	else if (place->is_power)
		watts = meter_redfish_parse_power(body, meter->machine, &place->entry);
	else
		watts = meter_redfish_parse_reading(body);
	if (watts.code != POWER_METER_OK) {
		g_autofree char *reason =
			g_strdup_printf("%s%s%s", place->name ? place->name : "",
					place->name ? ": " : "", watts.what ?: "it has no watts");

		if (watts.gone)
			lose_places(meter, reason);
		note_failure(meter,
			     watts.code == POWER_METER_ERROR_SETUP ? POWER_METER_ERROR_REJECTED
								   : watts.code,
			     reason);
		return;
	}
	meter->mw += watts.mw;
	note_mean(meter, &watts);
}

static void on_watts(const struct redfish_answer *answer, void *data)
{
	struct meter_redfish *meter = data;
	const struct place *asked = meter->places->pdata[answer->tag];
	g_autofree char *denied = redfish_search_denied(answer);

	meter->asked--;
	for (guint i = (guint)answer->tag; answer->body && i < meter->places->len; i++) {
		struct place *place = meter->places->pdata[i];

		if (strcmp(place->path, asked->path) == 0)
			take_watts(meter, place, answer->body);
	}
	if (redfish_search_missing(answer)) {
		lose_places(meter, answer->reason);
		note_failure(meter, POWER_METER_ERROR_REJECTED, answer->reason);
	} else if (denied) {
		note_failure(meter, POWER_METER_ERROR_SETUP, denied);
	} else if (answer->code != POWER_METER_OK) {
		note_failure(meter, answer->code, answer->reason);
	}
	if (meter->asked > 0)
		return;
	if (!meter->found)
		forget_places(meter);
	end_watts(meter);
}

/* The first place of the same path. */
static guint first_of(const GPtrArray *places, guint index)
{
	const struct place *place = places->pdata[index];

	for (guint i = 0; i < index; i++)
		if (strcmp(((const struct place *)places->pdata[i])->path, place->path) == 0)
			return i;
	return index;
}

static void read_watts(struct meter_redfish *meter)
{
	for (guint i = 0; i < meter->places->len; i++) {
		if (first_of(meter->places, i) != i)
			continue;
		meter->asked++;
		redfish_service_get(meter->service,
				    ((const struct place *)meter->places->pdata[i])->path, (int)i,
				    on_watts, meter);
	}
}

/* The places are those of the watts, from now on. */
static void settle(struct meter_redfish *meter)
{
	meter->found = true;
	if (meter->machine) {
		g_free(meter->former);
		meter->former = g_strdup(meter->machine->path);
	}
	power_meter_find_place(&meter->base, "%s%s of BMC %s",
			       ((const struct place *)meter->places->pdata[0])->path,
			       meter->places->len > 1 ? " and others" : "",
			       redfish_service_address(meter->service));
}

/* The sensors of the chassis: for a name in the configuration, or for a message. */

/* The last part of a sensor's path, which may end with a slash; the caller frees. */
static char *name_of(const char *path)
{
	return g_path_get_basename(path);
}

static bool speaks_of_power(const char *path)
{
	g_autofree char *name = name_of(path);
	g_autofree char *lower = g_ascii_strdown(name, -1);

	return strstr(lower, "pow") || strstr(lower, "pwr") || strstr(lower, "watt");
}

/* Appends the names of the sensors that speak of power, or of all others. */
static void append_sensors(GString *text, const GPtrArray *sensors, bool of_power)
{
	guint count = 0;

	for (guint i = 0; i < sensors->len && count <= SENSORS_SHOWN; i++) {
		g_autofree char *name = name_of(sensors->pdata[i]);

		if (speaks_of_power(sensors->pdata[i]) != of_power)
			continue;
		g_string_append_printf(text, "%s%s", count > 0 ? ", " : "",
				       count < SENSORS_SHOWN ? name : "...");
		count++;
	}
}

/* Appends the names of the sensors that speak of power; where none does, of all. */
static void append_power_sensors(GString *text, const GPtrArray *sensors)
{
	const gsize start = text->len;

	append_sensors(text, sensors, true);
	if (text->len == start)
		append_sensors(text, sensors, false);
}

/* What the chassis has instead of watts of the whole machine. */
static void fail_without_watts(struct meter_redfish *meter)
{
	g_autoptr(GString) text = g_string_new(NULL);

	g_string_append_printf(text, "no chassis has watts: chassis %s (%s) has %s",
			       meter->machine->id, meter->machine->type ?: "no ChassisType",
			       meter->verdict.what
				       ? meter->verdict.what
				       : "neither Power nor EnvironmentMetrics with any");
	if (meter->machine->elsewhere)
		g_string_append_printf(text,
				       "; what it is linked to is that of another chassis, "
				       "perhaps its enclosure: %s",
				       meter->machine->elsewhere);
	if (meter->supplies > 0)
		g_string_append_printf(text,
				       "; %u of its power supplies have: `sensor: %s` reads their "
				       "sum",
				       meter->supplies, METER_REDFISH_SUPPLIES);
	if (meter->sensors->len > 0) {
		g_string_append(text, "; name those of its sensors as `sensor` that are the power "
				      "of the machine: ");
		append_power_sensors(text, meter->sensors);
	}
	if (meter->entries && *meter->entries)
		g_string_append_printf(
			text,
			"; if one of the entries of its PowerControl is the power of "
			"the machine, name it as `sensor`: %s",
			meter->entries);
	if (!meter->verdict.what && meter->refused)
		g_string_append_printf(text, " (%s)", meter->refused);
	if (meter->machine->others)
		g_string_append_printf(text, "; another `chassis` has a Power of its own: %s",
				       meter->machine->others);
	else if (meter->supplies == 0 && meter->sensors->len == 0 &&
		 !(meter->entries && *meter->entries))
		g_string_append(text, "; name another `chassis`, or take another kind of meter");
	fail(meter, POWER_METER_ERROR_SETUP, text->str);
	forget_places(meter);
}

/* A configured name is neither in Power nor a sensor. */
static void fail_without_sensor(struct meter_redfish *meter, const char *name)
{
	g_autoptr(GString) text = g_string_new(NULL);

	g_string_append_printf(text, "chassis %s has no sensor \"%s\"; its sensors are: ",
			       meter->machine->id, name);
	append_power_sensors(text, meter->sensors);
	if (meter->sensors->len == 0)
		g_string_append(text, "none");
	if (meter->unnamed)
		g_string_append_printf(text, " (%s)", meter->unnamed);
	if (meter->cut)
		g_string_append_printf(text,
				       "; there are more than the %d pages of its list that were "
				       "read: give the whole path of the sensor",
				       SENSOR_PAGES_MAX);
	fail(meter, POWER_METER_ERROR_SETUP, text->str);
	forget_places(meter);
}

/* The path of a sensor, borrowed; NULL: there is none of this name. */
static const char *find_sensor(const struct meter_redfish *meter, const char *name)
{
	g_autofree char *escaped = g_uri_escape_string(name, NULL, FALSE);

	for (guint i = 0; i < meter->sensors->len; i++) {
		g_autofree char *one = name_of(meter->sensors->pdata[i]);

		if (strcmp(one, name) == 0 || strcmp(one, escaped) == 0)
			return meter->sensors->pdata[i];
	}
	return NULL;
}

static bool is_in_power(const struct meter_redfish *meter, const char *name)
{
	for (guint i = 0; i < meter->places->len; i++)
		if (g_strcmp0(((const struct place *)meter->places->pdata[i])->name, name) == 0)
			return true;
	return false;
}

/* Two names in the configuration are of the same thing, which would be counted twice. */
static void fail_of_same(struct meter_redfish *meter, const char *a, const char *b)
{
	g_autofree char *reason =
		g_strdup_printf("`sensor` has \"%s\" and \"%s\", which are the same", a, b);

	fail(meter, POWER_METER_ERROR_SETUP, reason);
	forget_places(meter);
}

/* The path that is among the places already, borrowed; NULL: there is none. */
static const char *find_twice(const struct meter_redfish *meter, const char *path)
{
	for (guint i = 0; i < meter->places->len; i++) {
		const struct place *place = meter->places->pdata[i];

		if (!place->is_power && meter_redfish_is_same_path(place->path, path))
			return place->path;
	}
	return NULL;
}

static void end_sensors(struct meter_redfish *meter)
{
	const struct config_meter *config = meter->base.config;

	for (uint32_t i = 0; i < config->sensor_count; i++) {
		const char *name = config->sensor[i];
		const char *path = meter_redfish_is_path(name) ? name : find_sensor(meter, name);

		if (is_in_power(meter, name))
			continue;
		if (!path) {
			fail_without_sensor(meter, name);
			return;
		}
		if (find_twice(meter, path)) {
			fail_of_same(meter, find_twice(meter, path), name);
			return;
		}
		add_place(meter, path, false, NULL);
	}
	if (config->sensor_count == 0) {
		fail_without_watts(meter);
	} else {
		settle(meter);
		read_watts(meter);
	}
}

static void on_sensors(const struct redfish_answer *answer, void *data)
{
	struct meter_redfish *meter = data;
	g_autofree char *next = NULL;

	if (answer->status == 0) {
		fail(meter, answer->code, answer->reason);
		return;
	}
	if (answer->body)
		meter_redfish_parse_members(answer->body, answer->path, meter->sensors, &next);
	meter->cut = next && ++meter->pages >= SENSOR_PAGES_MAX;
	if (next && !meter->cut)
		redfish_service_get(meter->service, next, 0, on_sensors, meter);
	else
		end_sensors(meter);
}

static void list_sensors(struct meter_redfish *meter)
{
	g_ptr_array_set_size(meter->sensors, 0);
	meter->pages = 0;
	meter->cut = false;
	if (meter->machine && meter->machine->sensors)
		redfish_service_get(meter->service, meter->machine->sensors, 0, on_sensors, meter);
	else
		end_sensors(meter);
}

/* Trying the places of the machine. */

/* All were tried: null is no reading now, and nothing at all is a matter of the configuration. */
static void end_tries(struct meter_redfish *meter)
{
	if (meter->verdict.code != POWER_METER_ERROR_SETUP)
		fail(meter, meter->verdict.code, meter->verdict.what);
	else if (meter->denied)
		fail(meter, POWER_METER_ERROR_SETUP, meter->denied);
	else
		list_sensors(meter);
}

/* Finds the configured names in Power; what is left is looked for in Sensors. */
static void resolve_in_power(struct meter_redfish *meter, const struct redfish_answer *answer)
{
	const struct config_meter *config = meter->base.config;
	bool all = true;

	g_ptr_array_set_size(meter->places, 0);
	for (uint32_t i = 0; i < config->sensor_count; i++) {
		const char *name = config->sensor[i];
		struct meter_redfish_watts watts;

		if (meter_redfish_is_path(name))
			continue;
		for (uint32_t j = 0; j < i; j++) {
			if (!meter_redfish_is_same_named(answer->body, config->sensor[j], name))
				continue;
			fail_of_same(meter, config->sensor[j], name);
			return;
		}
		watts = meter_redfish_parse_named(answer->body, name);
		if (watts.code != POWER_METER_ERROR_SETUP) {
			add_place(meter, answer->path, true, name);
			continue;
		}
		meter->unnamed = meter->unnamed ?: watts.what;
		all = false;
	}
	if (all)
		end_sensors(meter);
	else
		list_sensors(meter);
}

/* The watts are those of several machines, and no `chassis` says that these are meant. */
static void fail_of_all(struct meter_redfish *meter)
{
	g_autofree char *reason =
		g_strdup_printf("chassis %s holds %u computer systems, and its watts are those of "
				"all; name it as `chassis` if these are meant",
				meter->machine->id, meter->machine->machines);

	fail(meter, POWER_METER_ERROR_SETUP, reason);
	forget_places(meter);
}

/* Power has several entries, none of which is the machine's for sure. */
static void fail_of_several(struct meter_redfish *meter, const json_t *power)
{
	g_autofree char *list = meter_redfish_list_entries(power);
	g_autofree char *reason =
		g_strdup_printf("the Power of chassis %s has several entries with watts, which may "
				"be those of several machines; name one as `sensor`: %s",
				meter->machine->id, list);

	fail(meter, POWER_METER_ERROR_SETUP, reason);
	forget_places(meter);
}

static void on_try(const struct redfish_answer *answer, void *data)
{
	struct meter_redfish *meter = data;
	const bool is_power = meter->tried == 0;
	struct meter_redfish_watts watts = {.code = POWER_METER_ERROR_SETUP};
	g_autofree char *denied = redfish_search_denied(answer);
	struct meter_redfish_entry entry = {.index = -1};

	if (answer->code != POWER_METER_OK && !denied && !redfish_search_missing(answer)) {
		fail(meter, answer->code, answer->reason);
		return;
	}
	if (denied && !meter->denied)
		meter->denied = g_steal_pointer(&denied);
	if (!answer->body && !meter->refused)
		meter->refused = g_strdup(answer->reason);
	if (meter->base.config->sensor_count > 0 && answer->body) {
		resolve_in_power(meter, answer);
		return;
	}
	if (answer->body && is_power) {
		watts = meter_redfish_parse_power(answer->body, meter->machine, &entry);
		if (watts.several) {
			fail_of_several(meter, answer->body);
			return;
		}
		meter->supplies = meter_redfish_parse_supplies(answer->body);
		g_free(meter->entries);
		meter->entries = meter_redfish_list_entries(answer->body);
	} else if (answer->body && !meter->base.config->chassis &&
		   meter_redfish_is_of_part(answer->body)) {
		watts.what = "EnvironmentMetrics whose watts are from the sensor of a part";
	} else if (answer->body) {
		watts = meter_redfish_parse_reading(answer->body);
	}
	if (watts.code == POWER_METER_OK && meter->machine->machines > 1 &&
	    !meter->base.config->chassis) {
		meter_redfish_entry_clear(&entry);
		fail_of_all(meter);
		return;
	}
	if (watts.code == POWER_METER_OK) {
		add_place(meter, answer->path, is_power, NULL)->entry = entry;
		meter->mw = watts.mw;
		meter->base.mean_s = 0;
		note_mean(meter, &watts);
		settle(meter);
		end_watts(meter);
		return;
	}
	if (meter->verdict.code == POWER_METER_ERROR_SETUP &&
	    (watts.code != POWER_METER_ERROR_SETUP || !meter->verdict.what))
		meter->verdict = watts;
	meter->tried++;
	try_place(meter);
}

static void try_place(struct meter_redfish *meter)
{
	const struct meter_redfish_chassis *machine = meter->machine;
	const bool named = meter->base.config->sensor_count > 0;
	/* Some firmware has it without a link. */
	const bool linked = machine->power || machine->environment || machine->sensors;
	g_autofree char *usual = linked ? NULL : redfish_search_usual_power(machine->path);
	const char *power = machine->power ?: usual;
	const struct redfish_answer *ahead;
	const char *path;

	if (meter->tried == 0 && !power)
		meter->tried++;
	path = meter->tried == 0             ? power
	       : meter->tried == 1 && !named ? machine->environment
					     : NULL;
	ahead = path && meter->tried == 0 ? redfish_search_ahead(meter->search, path) : NULL;
	if (ahead)
		on_try(ahead, meter);
	else if (path)
		redfish_service_get(meter->service, path, 0, on_try, meter);
	else if (named && meter->denied)
		fail(meter, POWER_METER_ERROR_SETUP, meter->denied);
	else if (named)
		list_sensors(meter);
	else
		end_tries(meter);
}

/*
 * Whether a chassis is another one than that which had the watts, and may be what held it: a BMC
 * that starts lists what it has found so far.
 */
static bool is_other(const struct meter_redfish *meter, const struct meter_redfish_chassis *chassis)
{
	const bool is_surely = chassis->kind == METER_REDFISH_MACHINE && chassis->linked;

	return meter->former && !is_surely &&
	       !meter_redfish_is_same_path(meter->former, chassis->path);
}

static void on_searched(struct meter_redfish_chassis *machine, enum power_meter_error code,
			const char *reason, void *data)
{
	struct meter_redfish *meter = data;

	if (machine && is_other(meter, machine)) {
		g_autofree char *lost = g_strdup_printf(
			"the chassis of its watts, %s, is gone; name another as `chassis`: %s",
			meter->former, machine->id);

		fail(meter, POWER_METER_ERROR_SETUP, lost);
		meter_redfish_chassis_free(machine);
	} else if (machine) {
		meter->machine = machine;
		meter->fresh = true;
		try_place(meter);
	} else {
		fail(meter, code, reason);
	}
	g_clear_pointer(&meter->search, redfish_search_free);
}

/* Whether the configuration says where the watts are, without a chassis. */
static bool is_told(const struct config_meter *config)
{
	for (uint32_t i = 0; i < config->sensor_count; i++)
		if (!meter_redfish_is_path(config->sensor[i]))
			return false;
	return config->sensor_count > 0 && !config->chassis;
}

/*
 * The chassis that a path is in, "/redfish/v1/Chassis/1" of "/redfish/v1/Chassis/1/Sensors/x"; the
 * caller frees. NULL: none.
 */
static char *chassis_in(const char *path)
{
	static const char list[] = "/redfish/v1/Chassis/";
	const char *end = g_str_has_prefix(path, list) ? strchr(path + strlen(list), '/') : NULL;

	return end ? g_strndup(path, (gsize)(end - path)) : NULL;
}

/* The chassis that all configured paths are in; the caller frees. NULL: there is no such one. */
static char *chassis_of_all(const struct config_meter *config)
{
	g_autofree char *chassis = chassis_in(config->sensor[0]);

	for (uint32_t i = 1; i < config->sensor_count && chassis; i++) {
		g_autofree char *other = chassis_in(config->sensor[i]);

		if (g_strcmp0(chassis, other) != 0)
			return NULL;
	}
	return g_steal_pointer(&chassis);
}

/* The chassis of the configured paths says what its watts are a mean of, and whether it is off. */
static void on_told(const struct redfish_answer *answer, void *data)
{
	struct meter_redfish *meter = data;

	if (answer->status == 0) {
		fail(meter, answer->code, answer->reason);
		return;
	}
	meter->machine = meter_redfish_chassis_new(answer->body, answer->path);
	meter->fresh = true;
	end_sensors(meter);
}

/* The configuration says where the watts are: nothing is searched. */
static void read_told(struct meter_redfish *meter)
{
	g_autofree char *chassis = chassis_of_all(meter->base.config);

	forget_places(meter);
	g_ptr_array_set_size(meter->sensors, 0);
	if (chassis)
		redfish_service_get(meter->service, chassis, 0, on_told, meter);
	else
		end_sensors(meter);
}

static void redfish_read(struct power_meter *base)
{
	struct meter_redfish *meter = (struct meter_redfish *)base;

	meter->fresh = false;
	meter->tried = meter->asked = meter->supplies = 0;
	meter->unnamed = NULL;
	g_clear_pointer(&meter->entries, g_free);
	meter->mw = 0;
	meter->verdict = (struct meter_redfish_watts){.code = POWER_METER_ERROR_SETUP};
	g_clear_pointer(&meter->reason, g_free);
	g_clear_pointer(&meter->denied, g_free);
	g_clear_pointer(&meter->refused, g_free);
	if (meter->found)
		read_watts(meter);
	else if (is_told(base->config))
		read_told(meter);
	else if (meter->machine)
		try_place(meter);
	else
		meter->search = redfish_search_new(base->platform, meter->service,
						   base->config->chassis, on_searched, meter);
}

static char *redfish_progress(const struct power_meter *base)
{
	const struct meter_redfish *meter = (const struct meter_redfish *)base;
	double slowest_s;
	const unsigned answers = redfish_service_answers(meter->service, &slowest_s);

	if (answers == 0)
		return g_strdup_printf("BMC %s: no answer yet",
				       redfish_service_address(meter->service));
	return g_strdup_printf("BMC %s: %u answers so far, the slowest after %.1f s",
			       redfish_service_address(meter->service), answers, slowest_s);
}

static const char *redfish_source(const struct power_meter *base)
{
	const struct config_meter *config = base->config;
	const bool sums = config->sensor_count > 1 ||
			  (config->sensor_count == 1 &&
			   strcmp(config->sensor[0], METER_REDFISH_SUPPLIES) == 0);

	return sums ? "sensors" : config->sensor_count == 1 ? "sensor" : "redfish";
}

static void redfish_close(struct power_meter *base)
{
	struct meter_redfish *meter = (struct meter_redfish *)base;

	redfish_search_free(meter->search);
	if (meter->service)
		redfish_service_drop(meter->service, meter);
	forget_places(meter);
	g_ptr_array_unref(meter->places);
	g_ptr_array_unref(meter->sensors);
	g_free(meter->reason);
	g_free(meter->denied);
	g_free(meter->refused);
	g_free(meter->entries);
	g_free(meter->former);
}

const struct power_meter_ops meter_redfish_ops = {
	.kind = CONFIG_METER_REDFISH,
	.size = sizeof(struct meter_redfish),
	.open = redfish_open,
	.read = redfish_read,
	.progress = redfish_progress,
	.source = redfish_source,
	.close = redfish_close,
};
