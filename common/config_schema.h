/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cyaml/cyaml.h>

/*
 * The schema of struct config for libcyaml. config.c reads and writes by it; nothing else needs it.
 */
extern const cyaml_schema_value_t config_schema;

/* The schema of a file of what was measured alone (struct config_measured). */
extern const cyaml_schema_value_t config_schema_estimates;

/* The schema of a file of execution times alone (struct config_pet_file). */
extern const cyaml_schema_value_t config_schema_pet;

/* What config_schema_pet reads into. */
struct config_pet_file {
	struct config_pet_entry *entries;
	uint32_t entries_count;
};

/* What 0 means for an optional number. */
enum config_zero {
	CONFIG_ZERO_IS_ABSENT = 0, /* the same as leaving it out */
	CONFIG_ZERO_IS_VALUE,      /* a value of its own, beside a default that is not 0 */
	CONFIG_ZERO_IS_REFUSED,    /* it makes no sense: whoever writes it means something else */
};

/* What 0 means for the key of that name, wherever it stands. */
enum config_zero config_schema_zero(const char *key);
