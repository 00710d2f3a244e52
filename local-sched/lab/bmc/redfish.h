/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * An emulated BMC that speaks Redfish (DMTF DSP0266) over HTTPS, on the GLib main loop. It has the
 * service root, sessions and Basic authentication, and one chassis, "1". The watts stand in both
 * places where real BMCs have them: PowerControl[0].PowerConsumedWatts of Power, which is
 * deprecated, and PowerWatts.Reading of EnvironmentMetrics, its successor. That is enough for a
 * client to find and read them; `redfishtool` and `python3-sushy` do.
 */
struct redfish;
typedef struct redfish redfish_t;

/* The places of the watts in the chassis. */
enum redfish_places {
	REDFISH_BOTH = 0,
	REDFISH_POWER,       /* Power only, as older BMCs do */
	REDFISH_ENVIRONMENT, /* EnvironmentMetrics only, as newer ones may */
};

struct redfish_spec {
	const char *name;        /* of the host, as the resources show it */
	const char *address;     /* "https://127.0.0.1:PORT"; port 0: any */
	const char *certificate; /* PEM files; redfish_make_certificate() makes them */
	const char *key;
	const char *user;
	const char *password;
	const char *watts_file; /* as struct bmc_spec has it (bmc.h) */
	double max_age_s;       /* a watts file older than this is no reading, null; 0: 5 s */
	enum redfish_places places;
};

/* Begins to serve; `spec` is copied. NULL with `error` if it cannot listen. */
struct redfish *redfish_new(const struct redfish_spec *spec, GError **error);

/* NULL is allowed. */
void redfish_free(struct redfish *redfish);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(redfish_t, redfish_free)

/* The address on which it listens, with the actual port. Borrowed. */
const char *redfish_address(const struct redfish *redfish);

/* How many sessions are open. */
guint redfish_sessions(const struct redfish *redfish);

/*
 * Creates a key (mode 0600) and a self-signed certificate of 127.0.0.1, as BMCs come with, by
 * openssl(1). Blocks for some milliseconds.
 */
bool redfish_make_certificate(const char *certificate, const char *key, GError **error);
