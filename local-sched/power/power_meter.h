/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/config/config.h"
#include "common/platform.h"
#include "local-sched/power/meter_set.h"

/*
 * A power meter of a host, read on the GLib main loop. This is the seam to BMCs and other sources
 * of watts: a constant table of operations per kind, chosen by the configuration.
 */

/* One reading. */
struct power_reading {
	int64_t mw;   /* milliwatts, >= 0 */
	int64_t t_ns; /* platform_now_ns() when the answer arrived */
};

#define POWER_METER_ERROR (power_meter_error_quark())
GQuark power_meter_error_quark(void);

/* Why there is no reading. A missing reading is never 0 W. */
enum power_meter_error {
	POWER_METER_OK = 0,              /* there is one */
	POWER_METER_ERROR_NO_ANSWER = 1, /* silent, unreachable or too late; may work later */
	POWER_METER_ERROR_LOGIN,         /* login refused; frequent retries may lock the account */
	POWER_METER_ERROR_REJECTED,      /* the request was answered with an error */
	POWER_METER_ERROR_NOT_ACTIVE,    /* the meter answers that it does not measure now */
	POWER_METER_ERROR_SATURATED,     /* at the top of its range: the watts are at least that */
	POWER_METER_ERROR_GARBAGE,       /* an invalid answer */
	POWER_METER_ERROR_SETUP, /* the meter cannot be opened or asked: wrong configuration */
	/*
	 * What comes before the reading (a slow login, a search, answers to other meters) is under
	 * way; the next read joins it. The text says how far it is.
	 */
	POWER_METER_ERROR_NOT_YET,
};

/* A reading takes at most this long, a login included, where the configuration has no timeout_s. */
#define POWER_METER_DEADLINE_S 5.0

struct power_meter;

/* The result of a read: `reading` (borrowed) or `error`. May read again or close the meter. */
typedef void (*power_meter_done_f)(const struct power_reading *reading, const GError *error,
				   void *data);

/*
 * The place that a meter reads is lost (`lost`), such as a chassis, an entry of it or a chip, and
 * is searched again or replaced by another; or there is a place again after that. `text` (borrowed)
 * says why, or which. Must not close the meter.
 */
typedef void (*power_meter_place_f)(bool lost, const char *text, void *data);

/* The operations of a kind of meter. A kind has either `read` or `sample`; others may be NULL. */
struct power_meter_ops {
	enum config_meter_kind kind;
	size_t size; /* of the driver's own struct */
	/*
	 * Prepares a new meter without talking to it. Returns false with POWER_METER_ERROR_SETUP
	 * if it can never work; the meter is closed then.
	 */
	bool (*open)(struct power_meter *meter, GError **error);
	/*
	 * Starts a read; at most one at a time. Ends it by power_meter_end() or power_meter_fail(),
	 * at the latest at `deadline_ns`. Logs in as needed.
	 */
	void (*read)(struct power_meter *meter);
	/*
	 * For a meter that reads a counter (of energy, of CPU time) instead of watts. Its rise
	 * between two samples is the mean power of the time between them. Returns true with
	 * *ret_mw, the mean milliwatts since the previous sample, or -1 where there is no sample to
	 * compare with: the reading then takes a second sample POWER_METER_FIRST_MS later. False
	 * with `error` (POWER_METER_ERROR). Has to return at once.
	 */
	bool (*sample)(struct power_meter *meter, int64_t *ret_mw, GError **error);
	/* How far a read under way is, for a message; the caller frees. NULL: it cannot say. */
	char *(*progress)(const struct power_meter *meter);
	/* The current source of the watts; NULL: the name of the kind. */
	const char *(*source)(const struct power_meter *meter);
	/*
	 * Drops a read under way and frees what the driver's struct owns, also after a failed
	 * open(). Does not block.
	 */
	void (*close)(struct power_meter *meter);
};

enum { POWER_METER_FIRST_MS = 200 };

/* The common part of every meter: the first member of the driver's own struct. */
struct power_meter {
	const struct platform *platform;
	const struct power_meter_ops *ops;
	const struct config_meter *config;
	const char *host;
	struct meter_set *set; /* NULL: of a simulated meter */
	/* what each reading is a mean of, in seconds, as far as the driver knows; 0: of no time */
	double mean_s;
	bool mean_unknown;            /* they are means of a time that is not said */
	bool place_lost;              /* since the last place that was found */
	power_meter_place_f on_place; /* or NULL */
	void *place_data;
	/* The read under way. */
	int64_t deadline_ns;
	guint timer_id;  /* of the driver; removed with the end of the read and of the meter */
	GError *failure; /* reported next from the main loop */
	power_meter_done_f done;
	void *data;
};
typedef struct power_meter power_meter_t;

/* The drivers, meter_NAME.c. */
extern const struct power_meter_ops meter_acpi_ops;
extern const struct power_meter_ops meter_amm_ops;
extern const struct power_meter_ops meter_command_ops;
extern const struct power_meter_ops meter_http_ops;
extern const struct power_meter_ops meter_hwmon_ops;
extern const struct power_meter_ops meter_ipmi_ops;
extern const struct power_meter_ops meter_model_ops;
extern const struct power_meter_ops meter_rapl_ops;
extern const struct power_meter_ops meter_redfish_ops;
extern const struct power_meter_ops meter_snmp_ops;

/*
 * Opens the meter that `config` describes, as one of `set`, which may be NULL for a meter without
 * a BMC. `config`, `host` (its name) and `set` outlive the meter. A kind without a driver is
 * POWER_METER_ERROR_SETUP.
 */
struct power_meter *power_meter_open(const struct platform *platform,
				     const struct config_meter *config, const char *host,
				     struct meter_set *set, GError **error);

/*
 * The first line of the meter's password file, read now; the caller frees it. NULL with
 * POWER_METER_ERROR_SETUP if it is not readable. Empty if no file is configured. For drivers.
 */
char *power_meter_password(const struct config_meter *config, GError **error);

/* Ends the read of a driver with a reading. The meter may be freed afterwards. */
void power_meter_end(struct power_meter *meter, int64_t mw);

/* The same with a reading that arrived before, perhaps before the read began. */
void power_meter_end_with(struct power_meter *meter, const struct power_reading *reading);

/*
 * Ends the read of a driver with an error, soon, from the main loop. The error names the host. The
 * text may hold what a device said: it becomes one line of at most 1 KiB, by visible_start().
 */
void power_meter_fail(struct power_meter *meter, enum power_meter_error code, const char *format,
		      ...) G_GNUC_PRINTF(3, 4);

/* Sets `error` behind the name of the host, as power_meter_fail() does. Returns false. */
bool power_meter_set_error(const struct power_meter *meter, GError **error,
			   enum power_meter_error code, const char *format, ...)
	G_GNUC_PRINTF(4, 5);

/*
 * Reports that the place of the watts is lost, with the reason: a warning in the log, and the
 * callback of power_meter_watch(). For drivers.
 */
void power_meter_lose_place(struct power_meter *meter, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Reports the place of the watts, to the callback only if one was lost before. For drivers. */
void power_meter_find_place(struct power_meter *meter, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* Calls on_place(..., data) from now on, from the main loop, before the end of a read. */
void power_meter_watch(struct power_meter *meter, power_meter_place_f on_place, void *data);

/*
 * Starts a read; at most one at a time. Calls `done` once from the main loop, never before
 * returning and at the latest after the configuration's timeout_s (POWER_METER_DEADLINE_S). The
 * reading may have arrived before, after a read that ended with NOT_YET.
 */
void power_meter_read(struct power_meter *meter, power_meter_done_f done, void *data);
/* How far a read under way is, behind the name of the host; the caller frees. NULL: not known. */
char *power_meter_progress(const struct power_meter *meter);
/* The current source of the watts by its driver ("dcmi", "sensor", ...). */
const char *power_meter_source(const struct power_meter *meter);
/*
 * The seconds that each reading is a mean of, where the meter (an ACPI power meter, an iDRAC) or the
 * configuration says so: changes of power show late by as much. 0: none, or not known.
 */
double power_meter_mean_s(const struct power_meter *meter);
/* Whether the readings are means of a time that neither the meter nor the configuration says. */
bool power_meter_mean_unknown(const struct power_meter *meter);
/* Drops a read under way without a callback, and frees the meter. NULL is allowed. */
void power_meter_close(struct power_meter *meter);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(power_meter_t, power_meter_close)
