/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "common/config.h"

/*
 * Sweeps: what a study can vary of a serial environment (paper 000, Figs. 3 to 7). `study.x` names
 * the sweep and `study.values` lists the values, as numbers or, where the key takes words, as
 * words; either way a value is a number here.
 */
struct config_sweep {
	const char *name; /* as in study.x: the key under environment.serial, or "flags" */
	const char *axis; /* the figures' label, with the unit of `scale` */
	double scale;     /* from the value to what the axis shows */
	double min, max;  /* of the value; of words the indices */
	const char *const *words; /* NULL-terminated, or NULL: it takes numbers */
	void (*apply)(struct config_serial *serial, double value);
};

/* The sweep of that name, or NULL. */
const struct config_sweep *config_sweep_find(const char *name);

/* The names of all sweeps, with commas between them; the caller frees. */
char *config_sweep_names(void);

/* Reads a value. Returns true with it in *ret_value, or false with *ret_wrong (the caller frees). */
bool config_sweep_read(const struct config_sweep *sweep, const char *text, double *ret_value,
		       char **ret_wrong);

/* Gives the environment of `config`, which must be serial, a value that config_sweep_read() read. */
void config_sweep_apply(const struct config_sweep *sweep, struct config *config, double value);
