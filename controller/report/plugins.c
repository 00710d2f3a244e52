/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/plugins.h"

#include <math.h>
#include <string.h>

#include "common/json.h"

static const struct record_field fields[] = {
	{RECORD_AT(plugins_row, policy), .type = RECORD_BORROWED},
	{RECORD_FIELD_REAL(plugins_row, limit)},
	{RECORD_FIELD_U32(plugins_row, runs)},
	{RECORD_FIELD_REAL(plugins_row, events)},
	{RECORD_FIELD_REAL(plugins_row, used)},
	{RECORD_FIELD_REAL(plugins_row, late)},
	{RECORD_FIELD_REAL(plugins_row, died)},
	{RECORD_FIELD_REAL(plugins_row, rubbish)},
	{RECORD_FIELD_REAL(plugins_row, illegal)},
	{RECORD_FIELD_REAL(plugins_row, refused)},
	{RECORD_FIELD_REAL(plugins_row, starting)},
	{RECORD_FIELD_REAL(plugins_row, disabled)},
	{RECORD_FIELD_REAL(plugins_row, event_ms)},
	{RECORD_FIELD_REAL(plugins_row, own_ms)},
	{NULL},
};
static const struct record record = {.size = sizeof(struct plugins_row), .fields = fields};

static const struct listing_column columns[] = {
	{"limit %", "limit", 0, 100}, {"policy", "policy"},        {"runs", "runs"},
	{"events", "events", 0},      {"used", "used", 0},         {"late", "late", 0},
	{"died", "died", 0},          {"rubbish", "rubbish", 0},   {"illegal", "illegal", 0},
	{"refused", "refused", 0},    {"starting", "starting", 0}, {"disabled", "disabled", 0},
	{"event ms", "event_ms", 2},  {"its own", "own_ms", 2},    {NULL},
};

static const struct listing listing = {
	.title = "Policies from outside: mapping events in which they were used\n",
	.record = &record,
	.columns = columns,
	.note = "the fallback decided the other events, because it was late, died, ...; event ms: "
		"mean time from the snapshot to the plan, of which its own is what it says itself",
	.text_only = true,
};

/* What a run's event `outside` says; the row has sums until the end. */
static void add_account(const char *detail, void *data)
{
	struct plugins_row *row = data;
	g_autoptr(json_t) account =
		detail ? json_parse(detail, strlen(detail), "an event", NULL) : NULL;
	const struct {
		const char *key;
		double *sum;
		double scale;
	} sums[] = {
		{"events", &row->events, 1},      {"used", &row->used, 1},
		{"late", &row->late, 1},          {"died", &row->died, 1},
		{"rubbish", &row->rubbish, 1},    {"illegal", &row->illegal, 1},
		{"refused", &row->refused, 1},    {"starting", &row->starting, 1},
		{"event_s", &row->event_ms, 1e3}, {"compute_s", &row->own_ms, 1e3},
	};

	if (!account)
		return;
	row->runs++;
	row->timed += json_number_value(json_object_get(account, "timed")
						? json_object_get(account, "timed")
						: json_object_get(account, "used"));
	for (size_t i = 0; i < G_N_ELEMENTS(sums); i++)
		*sums[i].sum +=
			sums[i].scale * json_number_value(json_object_get(account, sums[i].key));
	row->disabled = row->events - row->used - row->late - row->died - row->rubbish -
			row->illegal - row->refused - row->starting;
}

static bool add_run(const struct summary *summary, const struct summary_cell *cell,
		    const struct store_run *run, void *data, GError **error)
{
	GArray *rows = *(GArray **)data;
	struct plugins_row one = {.policy = cell->policy, .limit = cell->limit};
	struct plugins_row *last =
		rows->len > 0 ? &g_array_index(rows, struct plugins_row, rows->len - 1) : NULL;
	const bool known = last && last->policy == one.policy && last->limit == one.limit;

	if (!store_each_event(summary->store, run->run, "outside", add_account, known ? last : &one,
			      error))
		return false;
	if (one.runs > 0)
		g_array_append_val(rows, one);
	return true;
}

static bool read_plugins(const struct summary *summary, GArray **arrays, GError **error)
{
	const bool good = summary_each_run(summary, add_run, arrays, error);

	for (guint i = 0; i < arrays[0]->len; i++) {
		struct plugins_row *row = &g_array_index(arrays[0], struct plugins_row, i);

		row->event_ms = row->timed > 0 ? row->event_ms / row->timed : (double)NAN;
		row->own_ms = row->timed > 0 ? row->own_ms / row->timed : (double)NAN;
	}
	return good;
}

const struct listing_part plugins_part = {"plugins", {&listing}, read_plugins};

void plugins_add_lines(const struct summary *summary, GPtrArray *lines)
{
	g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(struct plugins_row));
	GArray *arrays[] = {rows};

	if (!read_plugins(summary, arrays, NULL))
		return;
	for (guint i = 0; i < rows->len; i++) {
		const struct plugins_row *row = &g_array_index(rows, struct plugins_row, i);

		if (row->used < row->events)
			summary_add_line(lines,
					 "%s at %.0f %% was used in %.0f of %.0f mapping events; "
					 "its fallback decided the others",
					 row->policy, 100 * row->limit, row->used, row->events);
	}
}
