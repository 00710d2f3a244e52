/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * An emulated BMC of a lab's blade: OpenIPMI's ipmi_sim, one process per blade, with a module of
 * ours that reads watts from a file. It speaks IPMI 2.0 over UDP as a real BMC does, with cipher
 * suite 3 only, and gives the blade's power as a DCMI reading (1 W steps) and as an 8-bit sensor (2
 * W steps, saturating at 510 W).
 */

/* ipmi_sim asks for this privilege for every DCMI command. */
#define BMC_PRIVILEGE "ADMINISTRATOR"
#define BMC_SENSOR "Pwr Consumption"
enum { BMC_CIPHER_SUITE = 3 };

/* Its configuration in its directory; ipmi_sim's arguments begin with "-c" and this file. */
#define BMC_FILE "lan.conf"

struct bmc_spec {
	const char *name; /* [A-Za-z0-9._-], at most 64 characters */
	/* directory of its files: configuration, sensor records, log; created if missing */
	const char *dir;
	uint16_t port;          /* UDP port on 127.0.0.1 */
	const char *user;       /* 1 to 16 printable characters */
	const char *password;   /* 1 to 20; no blanks, quotes or backslashes in either */
	const char *watts_file; /* decimal watts, up to three decimals; replaced by rename */
	double max_age_s;       /* a watts file older than this is no reading; 0: 5 s */
	const char *kg;         /* its key K_g in hexadecimal, 32 digits; NULL: none */
	bool no_dcmi;           /* only the sensor, as BMCs without DCMI have it */
};

#define BMC_ERROR (bmc_error_quark())
GQuark bmc_error_quark(void);
enum bmc_error {
	BMC_ERROR_SPEC = 1, /* the specification is not valid in ipmi_sim's configuration */
	BMC_ERROR_FILES,    /* a file could not be written, or the sensor records not compiled */
	BMC_ERROR_START,    /* ipmi_sim or the module is missing */
};

/*
 * Writes the BMC's configuration and starts it. Replaces files of an earlier BMC in `dir`. The
 * process dies with the calling thread and logs to DIR/bmc.log. Returns its pid, or -1 with
 * `error`; subprocess_stop() ends it. It answers some milliseconds later. A port that is taken ends
 * it at once, so watch it.
 */
GPid bmc_start(const struct bmc_spec *spec, GError **error);
