/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>

#include "controller/attribution/attribution.h"

/*
 * One sentence on a cell, which a person can quote: "max-upt at 100 % earned 7.1 % less than
 * simulated; 5.2 points of it because suspending took 3.40 s where ...". The caller frees.
 */
char *attribution_sentence(const struct attribution *attribution,
			   const struct attribution_cell *cell);

/*
 * Of a comparison whose verdict is "differ": the first cause of the first opposite pair that has
 * one, as a part of a sentence. The caller frees. NULL: another verdict, or no cause stands out.
 */
char *attribution_verdict(const struct attribution *attribution);

/* The tables and sentences as text, to be shown after the comparison's. The caller frees. */
char *attribution_text(const struct attribution *attribution);

/* The same for the HTML page: tables and a list of sentences. The caller frees. */
char *attribution_html(const struct attribution *attribution);

/*
 * {"measure", "causes": [CAUSE], "exact", "orders", "simulations", "repeats", "moments_known",
 * "cells": [{"limit", "policy", "runs", "sentence", "because": {CAUSE: TEXT}, MEASURE: {"measured",
 * "simulated", "gap", "parts": {CAUSE: {"value", "low", "high", "error"}}, "simulated_again",
 * "remains", "alone", "first"}}], "pairs": [...], "alone": [...], "not_attributed"}. New reference.
 */
json_t *attribution_json(const struct attribution *attribution);
