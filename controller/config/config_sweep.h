/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "controller/config/config_environment.h"

/*
 * Sweeps: what a study can vary of an environment, of serial tasks (Machovec 2017, Figs. 3 to 7),
 * of shared hosts (Stillwell 2010, Fig. 1) or of tasks with deadlines that are drawn (Gentry 2019,
 * Figs. 4 to 9). `study.x` names the sweep and `study.values` lists the values, as numbers or,
 * where the key takes words, as words; either way a value is a number here.
 */
struct config_sweep {
	const char *name;    /* as in study.x: the key under environment.NEEDS, or "flags" */
	const char *needs;   /* "serial", "sharing" or "pruning" */
	const char *axis;    /* the figures' label, with the unit of `scale` */
	double scale;        /* from the value to what the axis shows */
	const char *keys[2]; /* the keys that take the value; NULL: that of the sweep's name */
};

/* Whether the configuration has the environment that a sweep needs. */
bool config_sweep_fits(const struct config_sweep *sweep, const struct config *config);

/* The sweep of that name, or NULL. */
const struct config_sweep *config_sweep_find(const char *name);

/* The names of all sweeps, with commas between them; the caller frees. */
char *config_sweep_names(void);

/* The words that a sweep takes, NULL-terminated, or NULL: it takes numbers. */
const char *const *config_sweep_words(const struct config_sweep *sweep);

/* Reads a value into *ret_value. Returns NULL, or what is wrong with it (the caller frees). */
char *config_sweep_read(const struct config_sweep *sweep, const char *text, double *ret_value);

/*
 * Gives the environment of `config`, which the sweep must fit, a value that config_sweep_read()
 * read.
 */
void config_sweep_apply(const struct config_sweep *sweep, struct config *config, double value);
