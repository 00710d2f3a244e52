/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "local-sched/power/power_meter.h"

/*
 * Parses the resources of a Redfish service. Pure. All of them are untrusted. A link counts only if
 * it is a path below /redfish/, or a URL with such a path, because the path is appended to the
 * address of the BMC and gets the password with it.
 */

/* What a chassis can be, by its ChassisType (DSP0268). */
enum meter_redfish_class {
	METER_REDFISH_UNKNOWN = 0, /* no type, "Other", or a type that DSP0268 does not have */
	METER_REDFISH_MACHINE,     /* RackMount, Blade ... */
	METER_REDFISH_ENCLOSURE,   /* holds machines: Enclosure, Rack ... */
	METER_REDFISH_PART,        /* of a machine, or beside it: Module, Card, Zone ... */
};

/* Whether a chassis or system is on. */
enum meter_redfish_state {
	METER_REDFISH_STATE_UNKNOWN = 0,
	METER_REDFISH_OFF,
	METER_REDFISH_ON, /* also on its way to it, or from it */
};

/* A chassis. The links are paths, NULL: it has none. */
struct meter_redfish_chassis {
	char *path;
	char *id;   /* the last part of the path */
	char *type; /* its ChassisType, for messages; NULL: none */
	enum meter_redfish_class kind;
	bool linked; /* to a computer system, by one of the two */
	bool absent; /* it says that it is not there */
	bool blade;  /* of a type that an enclosure holds: Blade, Sled, Cartridge */
	char *power, *environment, *sensors;
	char *elsewhere; /* a link of a blade to watts of another chassis; NULL: none */
	unsigned
		machines; /* computer systems that it is linked to, and that are one of their own */
	char *system;     /* the one machine, else the first system; NULL: there are several */
	enum meter_redfish_state state; /* when it was read */
	int order;                      /* in the list of chassis, by the caller */
	char *others;  /* the chassis beside it with a Power of their own, by the caller, or NULL */
	double mean_s; /* its watts are known to be a mean of so long, or as old; 0: not known */
};

/* The chassis that `body` is, read at `path`; the caller frees. NULL: not an object. */
struct meter_redfish_chassis *meter_redfish_chassis_new(const json_t *body, const char *path);
/* NULL is allowed. */
void meter_redfish_chassis_free(struct meter_redfish_chassis *chassis);

/*
 * Those of `chassis` that may be the machine, borrowed, in a new array that the caller unrefs: one,
 * if its place is clear. Parts are never among them, and enclosures only where nothing else is.
 */
GPtrArray *meter_redfish_choose(const GPtrArray *chassis);

/* "1 (RackMount), GPU_0 (Module), 2": at most twenty, with known types. The caller frees. */
char *meter_redfish_list(const GPtrArray *chassis);

enum meter_redfish_state meter_redfish_parse_state(const json_t *resource);

/*
 * Adds the links of the members of the collection at `path` to `paths` (of char *, freed by the
 * array). Returns false if it is no collection, or if its next page is at no path of the service.
 * *ret_next is the next page (the caller frees), or NULL.
 */
bool meter_redfish_parse_members(const json_t *collection, const char *path, GPtrArray *paths,
				 char **ret_next);

/* The paths in Links.Chassis of a computer system that `path` is among. */
bool meter_redfish_parse_holds(const json_t *system, const char *path);

/* What a resource says of watts. */
struct meter_redfish_watts {
	/*
	 * OK: `mw` is set. NOT_ACTIVE: the property is null, or a number that stands for no
	 * reading. GARBAGE: not a number of watts. SETUP: it has no such property.
	 */
	enum power_meter_error code;
	int64_t mw;
	bool several;     /* SETUP: there are several, none of which is the machine's for sure */
	bool gone;        /* SETUP: the entry that was found is not there */
	double mean_s;    /* the watts are a mean of so long; 0: not known */
	bool of_unknown;  /* they are a mean, over a time that is not said */
	const char *what; /* why there are none; NULL: nothing to add */
};

/* Where in a Power the watts of the machine are. */
struct meter_redfish_entry {
	int index;  /* of PowerControl; -1: not known yet; -2: a vendor's place beside it */
	char *id;   /* its MemberId when it was found; NULL: it had none */
	char *name; /* its Name then; NULL: it had none */
};

/* Frees what the entry owns. */
void meter_redfish_entry_clear(struct meter_redfish_entry *entry);

/*
 * The watts of the whole `machine` in its Power: of the entry of PowerControl that has some and is
 * not for a part of the machine, nor for another system; of several that whose name is the whole
 * machine's, else `several`. Without any those of a vendor's place. Sets *entry, if its index is
 * -1; else reads that one, and follows it by MemberId and Name where the order is another. Where it
 * is not there the watts are `gone`.
 */
struct meter_redfish_watts meter_redfish_parse_power(const json_t *power,
						     const struct meter_redfish_chassis *machine,
						     struct meter_redfish_entry *entry);

/*
 * The names in PowerControl, at most twenty, or MemberIds where a name is not one's own: "Node 1
 * Power, Node 2 Power". The caller frees.
 */
char *meter_redfish_list_entries(const json_t *power);

/*
 * The watts of EnvironmentMetrics (PowerWatts), of a sensor (Reading) or of a supply's metrics
 * (InputPowerWatts).
 */
struct meter_redfish_watts meter_redfish_parse_reading(const json_t *resource);

/*
 * What a reading is that is none of power in watts, by its ReadingType or ReadingUnits; the caller
 * frees. NULL: it may be one.
 */
char *meter_redfish_describe_quantity(const json_t *resource);

/*
 * Whether the watts of EnvironmentMetrics are those of a part, by the name of the sensor that they
 * are from (DSP0268, DataSourceUri): "HGX_GPU_0_Power". Those of a whole module are in its own.
 */
bool meter_redfish_is_of_part(const json_t *environment);

/* The name that stands for all supplies of Power. */
#define METER_REDFISH_SUPPLIES "PowerSupplies"

/*
 * The watts of what is called `name` in Power: METER_REDFISH_SUPPLIES, a power supply or an entry
 * of PowerControl, by Name or MemberId. SETUP: there is none, or not one alone.
 */
struct meter_redfish_watts meter_redfish_parse_named(const json_t *power, const char *name);

/*
 * Whether two names are of the same thing in Power, by Name and by MemberId, or one is in the sum
 * that the other stands for.
 */
bool meter_redfish_is_same_named(const json_t *power, const char *a, const char *b);

/* How many supplies of Power have watts at their input. */
unsigned meter_redfish_parse_supplies(const json_t *power);

/* Where a service root says that sessions are opened, borrowed; NULL: it does not. */
const char *meter_redfish_parse_sessions(const json_t *root);

/*
 * The path of a resource in a Location header, which is a URL or a path; the caller frees it. NULL:
 * neither.
 */
char *meter_redfish_parse_location(const char *location);

/*
 * The path that a redirection from `path` leads to; the caller frees. NULL: `location` is none, or
 * leads out of the service at `address` ("https://HOST:PORT") or of /redfish/.
 */
char *meter_redfish_parse_redirection(const char *address, const char *path, const char *location);

/* Whether two paths are of the same resource. */
bool meter_redfish_is_same_path(const char *a, const char *b);

/* Whether `text` is a path that may be asked for. */
bool meter_redfish_is_path(const char *text);
