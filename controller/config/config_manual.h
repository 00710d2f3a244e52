/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config_key.h"

/*
 * What there is to know of the keys of a configuration, from their rows: the manual page
 * virtbed.yaml(5), and a list.
 */

/*
 * The source of the whole manual page, docs/reference/virtbed.yaml.5: the built-in copy of it with
 * the sections of the keys as the rows have them. The caller frees.
 */
char *config_manual_page(void);

/* A key, as config_manual_each() has it. */
struct config_manual_key {
	const char *path;   /* as in "clusters[].nodes" */
	const char *kind;   /* its kind in words */
	const char *traits; /* "needed", its default, its range or words; "" */
	const char *unit;   /* of a number, from its name; NULL: none */
	const char *help;   /* `x` is a key or word */
};

/* Calls `each` with every key in order; what it gets is gone afterwards. */
void config_manual_each(void (*each)(const struct config_manual_key *key, void *data), void *data);
