/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cyaml/cyaml.h>

/*
 * Writes a structure as YAML by its libcyaml schema. libcyaml's own writer rounds numbers to six
 * digits; a resolved configuration must read back bit for bit, so that a simulation sees exactly
 * what the measured run saw. Absent values (NULL, empty list, 0 in an optional field) are left out.
 * Strings are quoted. The caller frees the text with g_free().
 */
char *config_yaml_text(const cyaml_schema_value_t *schema, const void *data);
