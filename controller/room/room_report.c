/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/room/room_report.h"

#include <math.h>
#include <string.h>

#include "common/error_fail.h"
#include "common/json.h"
#include "common/read_file.h"
#include "controller/room/room_measured.h"

G_DEFINE_QUARK(room_error_quark, room_error)

/* A pair at a limit and a kind of error. */
struct row {
	double limit;
	char *first, *second;
	char *winner; /* of the two, without an error; NULL: none is clear */
	enum room_kind error;
	double changes_at, low, high; /* as of struct flip */
	double measured;              /* NAN: unknown */
	double room;                  /* changes_at / measured; INFINITY: unknown */
};

#define FAR(field_) RECORD_AT(row, field_), .type = RECORD_REAL, .null = RECORD_NULL_INFINITY
static const struct record_field row_fields[] = {
	{RECORD_FIELD_REAL(row, limit)},
	{RECORD_FIELD_TEXT(row, first)},
	{RECORD_FIELD_TEXT(row, second)},
	{RECORD_FIELD_TEXT(row, winner), .null = RECORD_NULL_POINTER},
	{RECORD_FIELD_WORD(row, error, room_kind_names)},
	{FAR(changes_at)},
	{FAR(low)},
	{FAR(high)},
	{RECORD_FIELD_REAL(row, measured)},
	{FAR(room)},
	{NULL},
};
static const struct record row_record = {.name = "pair",
					 .size = sizeof(struct row),
					 .fields = row_fields,
					 .open = true};

struct room_report {
	uint32_t trials;
	uint64_t runs; /* that were simulated */
	double largest;
	double unit_s;
	GArray *rows; /* struct row: ROOM_KINDS of each pair, in order */
};

static void clear_row(gpointer data)
{
	record_clear(&row_record, data);
}

static struct room_report *new_report(void)
{
	struct room_report *report = g_new0(struct room_report, 1);

	report->rows = g_array_new(FALSE, FALSE, sizeof(struct row));
	g_array_set_clear_func(report->rows, clear_row);
	return report;
}

void room_report_free(struct room_report *report)
{
	if (!report)
		return;
	g_array_unref(report->rows);
	g_free(report);
}

static const struct row *row_at(const struct room_report *report, guint index)
{
	return &g_array_index(report->rows, struct row, index);
}

/* What is simulated. */

/* The experiment of a directory, and the cells of its summary by number. */
struct subject {
	const struct room_request *request;
	struct config *config;
	struct experiment *experiment;
	GPtrArray *policies; /* const char *, borrowed, as the experiment's */
	GArray *limits_j;    /* per limit of the summary that has runs */
	GArray *limits;
	GArray *pairs; /* struct room_pair */
};

static void subject_clear(struct subject *subject)
{
	experiment_free(subject->experiment);
	config_free(subject->config);
	g_clear_pointer(&subject->policies, g_ptr_array_unref);
	g_clear_pointer(&subject->limits_j, g_array_unref);
	g_clear_pointer(&subject->limits, g_array_unref);
	g_clear_pointer(&subject->pairs, g_array_unref);
}
typedef struct subject subject_t; /* for g_auto() */
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(subject_t, subject_clear)

/* Finds the policies that this build knows and the limits that have runs. */
static void find_cells(struct subject *subject)
{
	const struct summary *summary = subject->request->simulated;
	struct policy policy;

	for (guint i = 0; i < summary->policies->len; i++)
		if (policy_parse(summary->policies->pdata[i], &policy, NULL, 0) == 0)
			g_ptr_array_add(subject->policies, summary->policies->pdata[i]);
	for (guint i = 0; i < summary->limits->len; i++) {
		const double limit = g_array_index(summary->limits, double, i);

		for (guint k = 0; k < subject->policies->len; k++) {
			const struct summary_cell *cell =
				summary_cell(summary, subject->policies->pdata[k], limit);

			if (!cell)
				continue;
			g_array_append_val(subject->limits, limit);
			g_array_append_val(subject->limits_j, cell->limit_j);
			break;
		}
	}
}

static bool is_wanted(const struct subject *subject, const char *first, const char *second,
		      double limit)
{
	const struct summary *summary = subject->request->simulated;
	const struct compare *compare = subject->request->compare;

	if (!summary_cell(summary, first, limit) || !summary_cell(summary, second, limit))
		return false;
	for (guint i = 0; compare && i < compare->pairs->len; i++) {
		const struct compare_pair *pair =
			&g_array_index(compare->pairs, struct compare_pair, i);

		if (summary_same_limit(pair->limit, limit) &&
		    ((g_str_equal(pair->first, first) && g_str_equal(pair->second, second)) ||
		     (g_str_equal(pair->first, second) && g_str_equal(pair->second, first))))
			return true;
	}
	return !compare;
}

static void find_pairs(struct subject *subject)
{
	const GPtrArray *policies = subject->policies;

	for (uint32_t limit = 0; limit < subject->limits->len; limit++) {
		for (uint32_t i = 0; i < policies->len; i++) {
			for (uint32_t j = i + 1; j < policies->len; j++) {
				const struct room_pair pair = {i, j, limit};

				if (is_wanted(subject, policies->pdata[i], policies->pdata[j],
					      g_array_index(subject->limits, double, limit)))
					g_array_append_val(subject->pairs, pair);
			}
		}
	}
}

static bool subject_init(struct subject *subject, const struct room_request *request,
			 GError **error)
{
	const struct summary *summary = request->simulated;
	g_autofree char *overheads = store_get_meta(summary->store, "overheads");
	g_autofree const char **names = NULL;

	*subject = (struct subject){
		.request = request,
		.config = summary_config(summary, error),
		.policies = g_ptr_array_new(),
		.limits_j = g_array_new(FALSE, FALSE, sizeof(double)),
		.limits = g_array_new(FALSE, FALSE, sizeof(double)),
		.pairs = g_array_new(FALSE, FALSE, sizeof(struct room_pair)),
	};
	if (!subject->config)
		return false;
	find_cells(subject);
	find_pairs(subject);
	if (subject->pairs->len == 0)
		return error_fail(error, ROOM_ERROR, ROOM_ERROR_NOTHING,
				  "%s: no limit at which two policies ran that this build knows",
				  summary->dir);
	names = g_new0(const char *, subject->policies->len + 1);
	for (guint i = 0; i < subject->policies->len; i++)
		names[i] = subject->policies->pdata[i];
	subject->experiment = experiment_new(subject->config, names, error);
	if (!subject->experiment)
		return false;
	/* `simulate --no-overheads` */
	if (g_strcmp0(overheads, "0") == 0)
		experiment_drop_overheads(subject->experiment);
	return experiment_check_programs(subject->experiment, error);
}

/* The rows of a pair. */
static void add_pair(struct room_report *report, const struct subject *subject,
		     const struct room_pair *pair, const double measured[ROOM_KINDS])
{
	for (uint32_t kind = 0; kind < ROOM_KINDS; kind++) {
		const struct flip *flip = &pair->flips[kind];
		struct row row = {
			.limit = g_array_index(subject->limits, double, pair->limit),
			.first = g_strdup(subject->policies->pdata[pair->first]),
			.second = g_strdup(subject->policies->pdata[pair->second]),
			.error = (enum room_kind)kind,
			.changes_at = flip->size,
			.low = flip->low,
			.high = flip->high,
			.measured = measured[kind],
			.room = INFINITY,
		};

		if (flip->winner != STATS_SIGN_UNCLEAR)
			row.winner = g_strdup(flip->winner == STATS_SIGN_POSITIVE ? row.first
										  : row.second);
		if (measured[kind] > 0)
			row.room = flip->size / measured[kind];
		g_array_append_val(report->rows, row);
	}
}

struct room_report *room_report_new(const struct room_request *request, GError **error)
{
	g_auto(subject_t) subject;
	const struct store_run *run = request->simulated->runs->pdata[0];
	g_autoptr(room_report_t) report = new_report();
	double measured[ROOM_KINDS];

	if (!subject_init(&subject, request, error))
		return NULL;

	const struct room_setup setup = {
		.experiment = subject.experiment,
		.seed = run->seed,
		.trials = request->trials,
		.jobs = request->jobs,
		.limits_j = (const double *)(const void *)subject.limits_j->data,
		.limits_count = subject.limits_j->len,
		.by_stretch = request->compare ? request->compare->measure == COMPARE_BY_STRETCH
					       : request->simulated->shared,
		.progress = request->progress,
		.data = request->data,
	};
	struct room_pair *pairs = (struct room_pair *)(void *)subject.pairs->data;

	report->trials = setup.trials;
	report->largest = ROOM_MOST;
	report->unit_s = room_overhead_unit_s(subject.experiment);
	for (uint32_t kind = 0; kind < ROOM_KINDS; kind++)
		measured[kind] = NAN;
	if (request->measured &&
	    !room_measured(request->measured, subject.experiment, report->unit_s, measured, error))
		return NULL;
	if (request->begin)
		request->begin(room_most_runs(&setup, subject.pairs->len), subject.pairs->len,
			       request->data);
	if (!room_find(&setup, pairs, subject.pairs->len, &report->runs, error))
		return NULL;
	for (guint i = 0; i < subject.pairs->len; i++)
		add_pair(report, &subject, &pairs[i], measured);
	return g_steal_pointer(&report);
}

/* Output. */

/* A size in percent, of which `size` may be INFINITY: more than was tried. */
static char *percent(const struct room_report *report, double size)
{
	if (isinf(size))
		return g_strdup_printf("> %.0f", 100 * report->largest);
	return g_strdup_printf(100 * size < 10 ? "%.1f" : "%.0f", 100 * size);
}

/* The interval in percent. */
static char *interval(const struct room_report *report, const struct row *row)
{
	g_autofree char *low = percent(report, row->low);
	g_autofree char *high = percent(report, row->high);

	return g_strdup_printf("%s .. %s", low, high);
}

/* The room of a row as text; NULL: it is unknown. */
static char *room_text(const struct row *row)
{
	return isinf(row->room) ? NULL : g_strdup_printf("%.1f", row->room);
}

/*
 * The row of a pair with the least room, else with the least change; NULL: there is no winner, or
 * none of the errors changes it.
 */
static const struct row *least_room(const struct room_report *report, guint first)
{
	const struct row *least = NULL;

	for (guint i = first; i < first + ROOM_KINDS; i++) {
		const struct row *row = row_at(report, i);

		if (!row->winner || isinf(row->changes_at))
			continue;
		if (!least || row->room < least->room ||
		    (row->room == least->room && row->changes_at < least->changes_at))
			least = row;
	}
	return least;
}

/* The row of the first pair with the largest error that was measured; NULL: none was. */
static const struct row *largest_measured(const struct room_report *report)
{
	const struct row *largest = NULL;

	for (guint kind = 0; kind < ROOM_KINDS; kind++) {
		const struct row *row = row_at(report, kind);

		if (row->measured > 0 && (!largest || row->measured > largest->measured))
			largest = row;
	}
	return largest;
}

/* The cell of a pair and a kind of error. */
static void put_change(struct table *table, const struct room_report *report, const struct row *row)
{
	g_autofree char *changes_at = percent(report, row->changes_at);
	g_autofree char *within = interval(report, row);

	if (!row->winner)
		table_text(table, NULL);
	else if (isinf(row->low))
		table_text(table, changes_at);
	else
		table_textf(table, "%s [%s]", changes_at, within);
}

/*
 * The row of a pair, whose rows begin at `first`. Where no error changes the winner its room is
 * above that of the largest measured one.
 */
static void put_pair(struct table *table, const struct room_report *report, guint first)
{
	const struct row *pair = row_at(report, first);
	const struct row *least = least_room(report, first);
	const struct row *largest = largest_measured(report);
	g_autofree char *room = least ? room_text(least) : NULL;

	table_row(table);
	table_number(table, 100 * pair->limit, 0);
	table_textf(table, "%s - %s", pair->first, pair->second);
	table_text(table, pair->winner ?: "not clear");
	for (guint kind = 0; kind < ROOM_KINDS; kind++)
		put_change(table, report, row_at(report, first + kind));
	if (room)
		table_textf(table, "%s, %s", room, room_kind_names[least->error]);
	else if (largest && pair->winner && !least)
		table_textf(table, "> %.1f", report->largest / largest->measured);
	else
		table_text(table, NULL);
}

/* What was measured is the same for all pairs. */
static void put_measured(struct table *table, const struct room_report *report)
{
	table_rule(table);
	table_row(table);
	table_text(table, "");
	table_text(table, "measured");
	table_text(table, "");
	for (guint kind = 0; kind < ROOM_KINDS; kind++)
		table_number(table, 100 * row_at(report, kind)->measured, 1);
	table_text(table, "");
}

static struct table *make_table(const struct room_report *report)
{
	struct table *table = table_with(">limit %", "<pair", "<winner", NULL);

	for (guint kind = 0; kind < ROOM_KINDS; kind++) {
		g_autofree char *heading = g_strdup_printf("%s %%", room_kind_names[kind]);

		table_column(table, heading, TABLE_RIGHT);
	}
	table_column(table, "least room", TABLE_LEFT);
	for (guint i = 0; i < report->rows->len; i += ROOM_KINDS) {
		if (i > 0 && row_at(report, i)->limit != row_at(report, i - 1)->limit)
			table_rule(table);
		put_pair(table, report, i);
	}
	put_measured(table, report);
	return table;
}

/* When the winner changes, as a clause. The caller frees. */
static char *clause(const struct room_report *report, const struct row *row)
{
	static const char *const clauses[] = {
		[ROOM_ESTIMATES] = "estimates are off by %s %",
		[ROOM_NOISE] = "execution times spread by %s %",
		[ROOM_MORE_LOAD] = "tasks arrive %s % faster",
		[ROOM_LESS_LOAD] = "tasks arrive %s % more slowly",
		[ROOM_OVERHEAD] = "every start and resumption takes %s % of an execution time "
				  "longer",
	};
	g_auto(GStrv) parts = g_strsplit(clauses[row->error], "%s", 2);
	g_autofree char *size = percent(report, row->changes_at);
	g_autofree char *within = interval(report, row);

	return g_strdup_printf("%s%s%s (95 %% interval %s)", parts[0], size, parts[1], within);
}

/* A sentence about the pair whose rows begin at `first`. The caller frees. */
static char *sentence(const struct room_report *report, guint first)
{
	const struct row *pair = row_at(report, first);
	const struct row *least = least_room(report, first);
	const char *loser = g_strcmp0(pair->winner, pair->first) == 0 ? pair->second : pair->first;
	g_autofree char *when = least ? clause(report, least) : NULL;
	g_autofree char *room = least ? room_text(least) : NULL;

	if (!pair->winner)
		return g_strdup_printf("At a limit of %g %%, the simulation has no clear winner of "
				       "%s and %s, so that no error can change it.",
				       100 * pair->limit, pair->first, pair->second);
	if (!least)
		return g_strdup_printf("At a limit of %g %%, %s beats %s in the simulation with "
				       "every error that was tried, up to %g %% of each kind.",
				       100 * pair->limit, pair->winner, loser,
				       100 * report->largest);
	if (!room)
		return g_strdup_printf("At a limit of %g %%, %s beats %s in the simulation until "
				       "%s.",
				       100 * pair->limit, pair->winner, loser, when);
	return g_strdup_printf("At a limit of %g %%, %s beats %s in the simulation until %s: "
			       "%s%s times the %.1f %% that were measured, the least room of all "
			       "kinds of error.",
			       100 * pair->limit, pair->winner, loser, when,
			       least->room < 1 ? "only " : "", room, 100 * least->measured);
}

static const char title[] =
	"Room of the verdict: the least error that changes the simulated winner";

/* What the columns mean. The caller frees. */
static char *notes(const struct room_report *report)
{
	return g_strdup_printf(
		"percent at which the winner becomes another one [95 %% interval] of the "
		"simulation, over %u trials;\n> %g: none up to there; estimates: deviation of "
		"measured / estimated between pairs of type and\ncluster; noise: within them; "
		"more, less load: arrivals so much faster, slower; overhead: added to\nevery start "
		"and resumption, 100 %% is %.3g s, the mean execution time at the fastest place;\n"
		"least room: the least quotient of such a percentage and the measured one",
		report->trials, 100 * report->largest, report->unit_s);
}

static void append_indented(GString *text, const char *paragraph)
{
	g_auto(GStrv) lines = g_strsplit(paragraph, "\n", -1);

	for (char **line = lines; *line; line++)
		g_string_append_printf(text, "  %s%s\n", line == lines ? "" : "  ", *line);
}

char *room_report_text(const struct room_report *report)
{
	g_autoptr(table_t) table = make_table(report);
	g_autofree char *body = table_format(table, 2);
	g_autofree char *below = notes(report);
	GString *text = g_string_new(NULL);

	g_string_append_printf(text, "\n%s\n%s", title, body);
	append_indented(text, below);
	g_string_append_c(text, '\n');
	for (guint i = 0; i < report->rows->len; i += ROOM_KINDS) {
		g_autofree char *line = sentence(report, i);

		g_string_append_printf(text, "%s\n", line);
	}
	return g_string_free(text, FALSE);
}

char *room_report_html(const struct room_report *report)
{
	g_autoptr(table_t) table = make_table(report);
	g_autofree char *below = notes(report);
	g_autofree char *body = NULL;
	GString *text = g_string_new(NULL);

	g_strdelimit(below, "\n", ' ');
	body = table_html(table, below);
	g_string_append_printf(text, "<h2>%s</h2>\n<ul>\n", title);
	for (guint i = 0; i < report->rows->len; i += ROOM_KINDS) {
		g_autofree char *line = sentence(report, i);
		g_autofree char *escaped = g_markup_escape_text(line, -1);

		g_string_append_printf(text, "<li>%s</li>\n", escaped);
	}
	g_string_append_printf(text,
			       "</ul>\n<details><summary>All pairs and errors</summary>%s"
			       "</details>\n",
			       body);
	return g_string_free(text, FALSE);
}

json_t *room_report_json(const struct room_report *report)
{
	json_t *pairs = json_array();
	json_t *sentences = json_array();

	for (guint i = 0; i < report->rows->len; i++) {
		g_autofree char *line = i % ROOM_KINDS == 0 ? sentence(report, i) : NULL;

		json_array_append_new(pairs, record_to_json(&row_record, row_at(report, i)));
		if (line)
			json_array_append_new(sentences, json_string(line));
	}
	return json_pack("{s:i, s:I, s:f, s:f, s:o, s:o}", "trials", (int)report->trials,
			 "simulated_runs", (json_int_t)report->runs, "largest_size",
			 report->largest, "overhead_unit_s", report->unit_s, "pairs", pairs,
			 "sentences", sentences);
}

/* The file. */

bool room_report_save(const struct room_report *report, const struct summary *summary,
		      GError **error)
{
	g_autofree char *path = g_build_filename(summary->path, ROOM_FILE, NULL);
	g_autoptr(json_t) document = room_report_json(report);
	g_autofree char *text = NULL;

	json_object_set_new(document, "runs", json_integer(summary->runs->len));
	text = json_pretty(document);
	return g_file_set_contents(path, text, -1, error);
}

/* A file that this program wrote has few pairs. */
#define FILE_BYTES_MAX ((size_t)16 << 20)

static bool read_rows(struct room_report *report, const json_t *pairs)
{
	const json_t *pair;
	size_t i;

	json_array_foreach (pairs, i, pair) {
		struct row row;

		record_init(&row_record, &row);
		if (!record_from_json(&row_record, pair, &row, NULL))
			return false;
		g_array_append_val(report->rows, row);
	}
	return report->rows->len > 0 && report->rows->len % ROOM_KINDS == 0;
}

struct room_report *room_report_load(const struct summary *summary)
{
	g_autofree char *path = g_build_filename(summary->path, ROOM_FILE, NULL);
	g_autoptr(room_report_t) report = new_report();
	size_t length;
	g_autofree char *text = read_file(path, FILE_BYTES_MAX, &length, NULL);
	g_autoptr(json_t) document = text ? json_parse(text, length, path, NULL) : NULL;
	const json_int_t trials = json_integer_value(json_object_get(document, "trials"));

	if (json_integer_value(json_object_get(document, "runs")) != summary->runs->len)
		return NULL;
	report->trials = (uint32_t)CLAMP(trials, 0, G_MAXINT);
	report->runs = (uint64_t)json_integer_value(json_object_get(document, "simulated_runs"));
	report->largest = json_number_value(json_object_get(document, "largest_size"));
	report->unit_s = json_number_value(json_object_get(document, "overhead_unit_s"));
	return read_rows(report, json_object_get(document, "pairs")) ? g_steal_pointer(&report)
								     : NULL;
}
