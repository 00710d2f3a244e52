/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "common/json.h"
#include "controller/report/listing.h"

struct row {
	const char *policy;
	uint32_t n;
	int kind;
	double limit;
	double *times_s;
	uint32_t times_count;
	double hidden;
};

static const char *const kinds[] = {"first", "second", NULL};

static const struct record_field fields[] = {
	{RECORD_AT(row, policy), .type = RECORD_BORROWED},
	{RECORD_FIELD_U32(row, n)},
	{RECORD_FIELD_WORD(row, kind, kinds)},
	{RECORD_FIELD_REAL(row, limit)},
	{RECORD_AT(row, times_s), .type = RECORD_REALS,
	 .count_offset = offsetof(struct row, times_count)},
	{RECORD_FIELD_REAL(row, hidden), .variants = LISTING_TABLE},
	{NULL},
};
static const struct record record = {.size = sizeof(struct row), .fields = fields};

static const struct listing_column columns[] = {
	{"limit %", "limit", 0, 100, "all"},
	{"policy", "policy"},
	{"kind", "kind"},
	{"n", "n"},
	{"times", "times_s", 2},
	{"hidden", "hidden", 1},
	{NULL},
};

/* A row with everything, and one with nothing. */
static GArray *two_rows(void)
{
	GArray *rows = g_array_new(FALSE, FALSE, sizeof(struct row));
	struct row full = {.policy = "easy", .n = 3, .kind = 1, .limit = 0.5, .hidden = 1.25};
	const struct row empty = {.limit = NAN, .hidden = NAN};

	listing_add_real(&full.times_s, &full.times_count, 0.25);
	listing_add_real(&full.times_s, &full.times_count, 0.5);
	g_array_append_val(rows, full);
	g_array_append_val(rows, empty);
	return rows;
}

static void free_rows(GArray *rows)
{
	for (guint i = 0; i < rows->len; i++)
		record_clear(&record, &g_array_index(rows, struct row, i));
	g_array_unref(rows);
}

static void test_table(void)
{
	GArray *rows = two_rows();
	g_autoptr(table_t) table = listing_table(columns, &record, rows, G_MAXUINT);
	g_autoptr(table_t) one = listing_table(columns, &record, rows, 1);
	g_autofree char *text = table_format(table, 0);
	g_autofree char *first = table_format(one, 0);

	g_assert_cmpstr(text, ==,
			"limit %  policy  kind    n  times      hidden\n"
			"-------  ------  ------  -  ---------  ------\n"
			"     50  easy    second  3  0.25 0.50     1.2\n"
			"    all  -       first   0  -               -\n");
	g_assert_null(strstr(first, "all"));
	free_rows(rows);
}

static void test_csv(void)
{
	GArray *rows = two_rows();
	g_autoptr(GString) csv = g_string_new("dir");

	listing_csv_titles(csv, &record);
	g_assert_cmpstr(csv->str, ==, "dir,policy,n,kind,limit,times_s");
	for (guint i = 0; i < rows->len; i++) {
		g_string_assign(csv, "x");
		listing_csv_fields(csv, &record, &g_array_index(rows, struct row, i));
		g_assert_cmpstr(csv->str, ==,
				i == 0 ? "x,easy,3,second,0.5,0.25 0.5" : "x,,0,first,,");
	}
	free_rows(rows);
}

static void test_json(void)
{
	GArray *rows = two_rows();
	g_autoptr(json_t) list = listing_json(&record, rows);
	g_autofree char *text = json_text(list);

	g_assert_cmpstr(text, ==,
			"[{\"kind\":\"second\",\"limit\":0.5,\"n\":3,\"policy\":\"easy\","
			"\"times_s\":[0.25,0.5]},{\"kind\":\"first\",\"limit\":null,\"n\":0,"
			"\"policy\":null,\"times_s\":[]}]");
	free_rows(rows);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/listing/a table has the columns for people", test_table);
	g_test_add_func("/listing/CSV has the fields in their order", test_csv);
	g_test_add_func("/listing/JSON has a null for what is unknown", test_json);
	return g_test_run();
}
