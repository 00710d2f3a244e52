/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "common/config/config.h"

/*
 * Writes the execution times of a profile (GArray of struct run_measurement, run_estimate.h), by
 * type and cluster, to pet.yaml of run directory `dir`, as the list of entries that
 * environment.pruning.pet of a configuration names; they are the input of the histograms of Gentry
 * 2019 (PET). Returns true, or false with `error`.
 */
bool run_pet_save(const struct config *config, const GArray *measurements, const char *dir,
		  GError **error);
