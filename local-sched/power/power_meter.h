/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>

#include "common/config/config.h"

/*
 * A power meter of a host, read on the GLib main loop. This is the seam to BMCs and other sources
 * of watts: a constant table of operations per kind, chosen by the configuration.
 */

/* One reading. */
struct power_reading {
	int64_t mw;   /* milliwatts, >= 0 */
	int64_t t_ns; /* clock_now_ns() when the answer arrived */
};

#define POWER_METER_ERROR (power_meter_error_quark())
GQuark power_meter_error_quark(void);

/* Why there is no reading. A missing reading is never 0 W. */
enum power_meter_error {
	POWER_METER_ERROR_NO_ANSWER = 1, /* silent, unreachable or too late; may work later */
	POWER_METER_ERROR_LOGIN,      /* login refused; frequent retries may lock the account */
	POWER_METER_ERROR_REJECTED,   /* the request was answered with an error */
	POWER_METER_ERROR_NOT_ACTIVE, /* the meter answers that it does not measure now */
	POWER_METER_ERROR_SATURATED,  /* at the top of its range: the watts are at least that */
	POWER_METER_ERROR_GARBAGE,    /* an invalid answer */
	POWER_METER_ERROR_SETUP,      /* the meter cannot be opened or asked: wrong configuration */
};

/* A reading takes at most this long, a login included. */
#define POWER_METER_DEADLINE_S 5.0

struct power_meter;

/* The result of a read: `reading` (borrowed) or `error`. May read again or close the meter. */
typedef void (*power_meter_done_f)(const struct power_reading *reading, const GError *error,
				   void *data);

/* The operations of a kind of meter. All are required. */
struct power_meter_ops {
	const char *name; /* as in configuration files */
	enum config_meter_kind kind;
	/*
	 * Creates a meter without talking to it. `config` and `host` (its name, for messages)
	 * outlive the meter. Returns NULL with POWER_METER_ERROR_SETUP if it can never work.
	 */
	struct power_meter *(*open)(const struct config_meter *config, const char *host,
				    GError **error);
	/*
	 * Starts a read; at most one at a time. Calls `done` once from the main loop, never before
	 * returning and at the latest after POWER_METER_DEADLINE_S. Logs in as needed.
	 */
	void (*read)(struct power_meter *meter, power_meter_done_f done, void *data);
	/*
	 * The current source of the watts: "dcmi", "sensor", "redfish", "amm", "rapl", "acpi",
	 * "model".
	 */
	const char *(*source)(const struct power_meter *meter);
	/*
	 * Drops a read under way (its `done` is not called) and frees the meter. Blocks for at most
	 * half a second (to close a Redfish session).
	 */
	void (*close)(struct power_meter *meter);
};

/* The common part of every meter: the first member of the driver's own struct. */
struct power_meter {
	const struct power_meter_ops *ops;
};
typedef struct power_meter power_meter_t;

/* Opens the meter that `config` describes. A kind without a driver is POWER_METER_ERROR_SETUP. */
struct power_meter *power_meter_open(const struct config_meter *config, const char *host,
				     GError **error);

/*
 * The first line of the meter's password file, read now; the caller frees it. NULL with
 * POWER_METER_ERROR_SETUP if it is not readable. Empty if no file is configured. For drivers.
 */
char *power_meter_password(const struct config_meter *config, GError **error);

/* The operations above. power_meter_close() accepts NULL. */
void power_meter_read(struct power_meter *meter, power_meter_done_f done, void *data);
/* The current source of the watts by its driver ("dcmi", "sensor", ...). */
const char *power_meter_source(const struct power_meter *meter);
/* Drops a read under way without a callback, and frees the meter. NULL is allowed. */
void power_meter_close(struct power_meter *meter);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(power_meter_t, power_meter_close)
