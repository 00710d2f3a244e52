/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/overdue.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/json.h"
#include "common/read_number.h"

static void cause_free(gpointer data)
{
	struct overdue_cause *cause = data;

	g_free(cause->text);
	g_free(cause);
}

static void count_cause(struct overdue *overdue, const char *text)
{
	struct overdue_cause *cause;

	if (!overdue->causes)
		overdue->causes = g_ptr_array_new_with_free_func(cause_free);
	for (guint i = 0; i < overdue->causes->len; i++) {
		cause = overdue->causes->pdata[i];
		if (!g_str_equal(cause->text, text))
			continue;
		cause->starts++;
		return;
	}
	cause = g_new(struct overdue_cause, 1);
	*cause = (struct overdue_cause){g_strdup(text), 1};
	g_ptr_array_add(overdue->causes, cause);
}

/*
 * Parses "starts 12.400 s later than promised: what ran on its nodes was late; a node of its place
 * went" (engine/reservations.c).
 */
static void read_reason(struct overdue *overdue, const char *reason)
{
	const char *causes = strstr(reason, ": ");
	double late_s;
	g_auto(GStrv) list = causes ? g_strsplit(causes + 2, "; ", -1) : NULL;

	if (g_str_has_prefix(reason, "starts ") &&
	    read_number_front(reason + strlen("starts "), &late_s))
		overdue->most_s = fmax(overdue->most_s, late_s);
	for (char **cause = list; cause && *cause; cause++)
		count_cause(overdue, *cause);
}

static void add_event(const char *detail, void *data)
{
	struct overdue *overdue = data;
	g_autoptr(json_t) object =
		detail ? json_parse(detail, strlen(detail), "event", NULL) : NULL;
	const char *reason = json_string_value(json_object_get(object, "reason"));

	overdue->starts++;
	if (reason)
		read_reason(overdue, reason);
}

bool overdue_add_run(struct overdue *overdue, struct store *store, int64_t run, GError **error)
{
	return store_each_event(store, run, "overdue", add_event, overdue, error);
}

void overdue_clear(struct overdue *overdue)
{
	g_clear_pointer(&overdue->causes, g_ptr_array_unref);
}

char *overdue_text(const struct overdue *overdue)
{
	GString *text;

	if (overdue->starts == 0)
		return NULL;
	text = g_string_new(NULL);
	g_string_append_printf(text, "%" PRIu64 " start%s later than a reservation promised",
			       overdue->starts, overdue->starts == 1 ? "" : "s");
	if (isfinite(overdue->most_s))
		g_string_append_printf(text, ", by up to %.1f s", overdue->most_s);
	for (guint i = 0; overdue->causes && i < overdue->causes->len; i++) {
		const struct overdue_cause *cause = overdue->causes->pdata[i];

		g_string_append_printf(text, "%s%s (%" PRIu64 ")", i ? ", " : ": ", cause->text,
				       cause->starts);
	}
	g_string_append(text, " (events \"overdue\")");
	return g_string_free(text, FALSE);
}
