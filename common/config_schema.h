/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cyaml/cyaml.h>

/*
 * The schema of struct config for libcyaml. config.c reads and writes by it; nothing else needs it.
 */
extern const cyaml_schema_value_t config_schema;

/* The schema of a file that holds nothing but `estimates:` (struct config_estimates_file). */
extern const cyaml_schema_value_t config_schema_estimates;

/* What config_schema_estimates reads into. */
struct config_estimates_file {
	struct config_estimate *estimates;
	uint32_t estimates_count;
};
