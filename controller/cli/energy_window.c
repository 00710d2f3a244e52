/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/cli/energy_window.h"

#include <glib.h>
#include <math.h>

#include "common/visible.h"
#include "controller/cli/fields.h"

/* Joules as "12.3"; a small negative remainder of rounding becomes 0.0. */
static double joules_of(const json_t *window, const char *key)
{
	const double joules = field_number(window, key);

	return fabs(joules) < 0.05 ? 0 : joules;
}

char *energy_window_line(const json_t *window, double now_s)
{
	g_autofree char *end = NULL;
	g_autofree char *left = NULL;
	const bool exhausted = json_is_true(json_object_get(window, "exhausted"));

	if (!json_is_object(window))
		return NULL;
	end = field_line(window, "end_utc");
	left = visible_duration(field_number(window, "end_s") - now_s);
	return g_strdup_printf(
		"energy limit: %.1f J of %.1f J used%s, %.1f J committed, forecast %.1f J; "
		"until %s, in %s",
		joules_of(window, "spent_j"), joules_of(window, "limit_j"),
		exhausted ? ", nothing more runs" : "", joules_of(window, "committed_j"),
		joules_of(window, "forecast_j"), end, left);
}

/* Adds by how much the limit was exceeded, and by how much it can be. */
static void add_bound(GString *text, const json_t *window)
{
	g_string_append_printf(
		text,
		"it can be exceeded by %.1f J: at most %.1f W above idle so far x (%.1f s between samples + "
		"%.1f s of the meters' refresh + %.1f s until tasks stood still or were over); so far it was by %.1f J\n",
		field_number(window, "bound_j"), field_number(window, "power_w"),
		field_number(window, "sampling_s"), field_number(window, "refresh_s"),
		field_number(window, "reaction_s"), field_number(window, "overshoot_j"));
}

char *energy_window_text(const json_t *window, double now_s)
{
	g_autofree char *line = energy_window_line(window, now_s);
	const json_int_t refusals = field_integer(window, "refusals");
	const json_int_t silent = field_integer(window, "meters_silent");
	const json_int_t unknown = field_integer(window, "windows_unknown");
	GString *text;

	if (!line)
		return NULL;
	text = g_string_new(NULL);
	g_string_append_printf(text, "%s\nby the estimates of what runs it %s until then\n", line,
			       json_is_true(json_object_get(window, "holds")) ? "holds"
									      : "does not hold");
	if (refusals > 0)
		g_string_append_printf(text,
				       "%" JSON_INTEGER_FORMAT
				       " task%s refused for want of energy\n",
				       refusals, refusals == 1 ? " was" : "s were");
	if (silent > 0)
		g_string_append_printf(
			text,
			"%" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT
			" meters report nothing now: their last watts are assumed to hold\n",
			silent, field_integer(window, "meters"));
	if (unknown > 0)
		g_string_append_printf(
			text,
			"%" JSON_INTEGER_FORMAT
			" window%s ended while a meter said nothing: what it drew "
			"then is not known yet, and can be more than the bound below\n",
			unknown, unknown == 1 ? "" : "s");
	add_bound(text, window);
	return g_string_free(text, FALSE);
}
