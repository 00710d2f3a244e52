/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "plant.h"

/*
 * attribution-rate [PLANTS]: plants causes in runs of the simulator and prints, as JSON, how often
 * attribution names the right one first: with one cause, with two, and with none, where it is to
 * name none. The baseline is what naming the most frequent cause every time would give.
 */

static json_t *measure(uint32_t plants, uint32_t count, double chance)
{
	const gint64 begun = g_get_monotonic_time();
	const uint32_t right = plant_count_right(plants, count, g_get_num_processors());
	const double took_s = (double)(g_get_monotonic_time() - begun) / (double)G_TIME_SPAN_SECOND;

	return json_pack("{s:I, s:I, s:f, s:f, s:f}", "plants", (json_int_t)plants, "right",
			 (json_int_t)right, "rate", (double)right / plants, "by_chance", chance,
			 "seconds_each", took_s / plants);
}

int main(int argc, char **argv)
{
	const long plants = argc > 1 ? strtol(argv[1], NULL, 10) : 200;
	json_t *document;

	if (argc > 2 || plants < 1 || plants > 100000) {
		fputs("usage: attribution-rate [PLANTS]\n", stderr);
		return 2;
	}
	document = json_object();
	json_object_set_new(document, "one_cause", measure((uint32_t)plants, 1, 1.0 / CAUSES));
	json_object_set_new(document, "two_causes", measure((uint32_t)plants, 2, 2.0 / CAUSES));
	json_object_set_new(document, "none", measure((uint32_t)plants, 0, 1));
	json_dumpf(document, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(document);
	return 0;
}
