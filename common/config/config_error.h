/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

#define CONFIG_ERROR (config_error_quark())
GQuark config_error_quark(void);

/* The most bytes of a file; keeps a hostile file from eating the memory. */
#define CONFIG_FILE_BYTES_MAX (4 * 1024 * 1024)

/* Codes of CONFIG_ERROR. All of them are bad input: a program exits with status 2. */
enum config_error {
	CONFIG_ERROR_READ = 1, /* the file could not be read */
	CONFIG_ERROR_SYNTAX,   /* not YAML, unknown key, wrong kind of value */
	CONFIG_ERROR_MEANING,  /* a value that makes no sense */
};
