/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/report/listing.h"
#include "controller/report/summary.h"

/* In how many mapping events of measured runs a policy from outside was used (`exec:`, `so:`). */
struct plugins_row {
	const char *policy; /* borrowed from the summary */
	double limit;
	uint32_t runs;
	double events, used; /* over all runs; the fallback decided the others, because it ... */
	double late, died, rubbish, illegal, refused, starting, disabled;
	double timed;    /* events that event_ms and own_ms are means over */
	double event_ms; /* mean wall time of an event in which it was used; NAN: none */
	double own_ms;   /* of that, what the program says it took itself */
};

/* A listing of struct plugins_row, by limit and policy in the order of the summary's cells. */
extern const struct listing_part plugins_part;

/*
 * Appends to `lines` (of char *, owned), for each policy from outside whose fallback decided some
 * events, "exec:./mine.py at 100 % was used in 118 of 120 mapping events; its fallback decided the
 * others". Nothing if the store cannot be read.
 */
void plugins_add_lines(const struct summary *summary, GPtrArray *lines);
