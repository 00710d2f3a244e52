/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config_key.h"

/*
 * How daemons on different machines know one another: every one has a certificate of the same CA.
 * On each machine the files are its own.
 */
struct config_tls {
	char *ca;          /* file: whose certificates are trusted */
	char *certificate; /* file: what this machine's daemons show */
	char *key;         /* of the certificate; file that only its user can read */
};

/* The rows of the structures above. */
extern const struct config_section config_tls_section;
