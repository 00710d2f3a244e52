/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Migrations and shares in reports. */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "controller/report/migrations.h"
#include "controller/report/report.h"
#include "controller/report/shares.h"
#include "fixture.h"

/* A run directory with two runs of one policy and one of another. */
struct directory {
	char *dir;
	struct store *store;
};

static void add_run(struct store *store, const char *policy, uint32_t repeat)
{
	struct store_run run = {
		.policy = (char *)policy,
		.limit = 1,
		.limit_j = 100,
		.repeat = repeat,
		.measured = true,
		.ended_by = (char *)"done",
		.ended_s = 100,
		.host_load = NAN,
	};
	const struct store_task tasks[] = {
		{.task = 0, .type = (char *)"IS.1", .state = (char *)"completed"},
		{.task = 3, .type = (char *)"CG.2", .state = (char *)"completed"},
	};

	g_assert_true(store_add_run(store, &run, NULL));
	for (gsize i = 0; i < G_N_ELEMENTS(tasks); i++) {
		struct store_task task = tasks[i];

		task.run = run.run;
		g_assert_true(store_put_task(store, &task, NULL));
	}
}

static void set_up(struct directory *directory, const void *data)
{
	g_autoptr(GError) error = NULL;

	directory->dir = g_dir_make_tmp("virtbed-migrations-XXXXXX", NULL);
	directory->store = store_open(directory->dir, true, &error);
	g_assert_no_error(error);
	add_run(directory->store, "greedy-pmtn-migr", 1);
	add_run(directory->store, "greedy-pmtn-migr", 2);
	add_run(directory->store, "easy", 1);
}

static void tear_down(struct directory *directory, const void *data)
{
	store_close(directory->store);
	fixture_remove(directory->dir);
}

static struct summary *load(struct directory *directory)
{
	g_autoptr(GError) error = NULL;
	struct summary *summary = summary_load(directory->dir, &error);

	g_assert_no_error(error);
	return summary;
}

/* Two that moved, a person's that failed, and one whose task ended first. */
static void put_migrations(struct store *store)
{
	static const struct store_migration rows[] = {
		{.run = 1, .task = 3, .attempt = 1, .n = 1, .requested_s = 10, .ended_s = 12},
		{.run = 1,
		 .task = 3,
		 .attempt = 1,
		 .n = 2,
		 .requested_s = 20,
		 .ended_s = 50,
		 .by_person = true,
		 .reason = (char *)"host b2 is down, \"b2\""},
		{.run = 2, .task = 0, .attempt = 2, .n = 1, .requested_s = 10, .ended_s = 16},
		{.run = 2, .task = 3, .attempt = 1, .n = 1, .requested_s = 30, .ended_s = NAN},
	};
	static const struct store_migration_vm vms[] = {
		{.run = 1,
		 .task = 3,
		 .attempt = 1,
		 .n = 1,
		 .vm = 0,
		 .from_node = 0,
		 .to_node = 2,
		 .total_s = 1.5,
		 .downtime_s = 0.25},
		{.run = 1,
		 .task = 3,
		 .attempt = 1,
		 .n = 1,
		 .vm = 1,
		 .from_node = 1,
		 .to_node = 1,
		 .total_s = NAN,
		 .downtime_s = NAN},
		{.run = 1,
		 .task = 3,
		 .attempt = 1,
		 .n = 2,
		 .vm = 0,
		 .from_node = 2,
		 .to_node = 0,
		 .total_s = 2,
		 .downtime_s = 0.75},
		{.run = 2,
		 .task = 0,
		 .attempt = 2,
		 .n = 1,
		 .vm = 0,
		 .from_node = 0,
		 .to_node = 1,
		 .total_s = 3,
		 .downtime_s = 0.5},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
		struct store_migration row = rows[i];

		row.cluster = (char *)"hosts";
		row.nodes = (char *)"0,1";
		row.to_nodes = (char *)"2,1";
		g_assert_true(store_put_migration(store, &row, NULL));
	}
	for (gsize i = 0; i < G_N_ELEMENTS(vms); i++)
		g_assert_true(store_put_migration_vm(store, &vms[i], NULL));
}

static void test_migrations(struct directory *directory, const void *data)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(summary_t) summary = NULL;
	g_autoptr(GPtrArray) migrations = NULL;
	const struct migrations_policy *row;
	const struct migrations_one *one;

	put_migrations(directory->store);
	summary = load(directory);
	migrations = listing_read(&migrations_part, summary, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(listing_array(migrations, 0)->len, ==, 1);
	row = &g_array_index(listing_array(migrations, 0), struct migrations_policy, 0);
	g_assert_cmpstr(row->policy, ==, "greedy-pmtn-migr");
	g_assert_cmpuint(row->asked, ==, 4);
	g_assert_cmpuint(row->by_person, ==, 1);
	g_assert_cmpuint(row->moved, ==, 2);
	g_assert_cmpuint(row->failed, ==, 1);
	g_assert_cmpfloat(row->total_median_s, ==, 4);
	g_assert_cmpfloat(row->total_max_s, ==, 6);
	g_assert_cmpuint(row->vms, ==, 3);
	g_assert_cmpfloat(row->downtime_median_s, ==, 0.5);
	g_assert_cmpfloat(row->downtime_max_s, ==, 0.75);
	g_assert_cmpuint(listing_array(migrations, 1)->len, ==, 4);
	one = &g_array_index(listing_array(migrations, 1), struct migrations_one, 2);
	g_assert_cmpuint(one->repeat, ==, 2);
	g_assert_cmpstr(one->type, ==, "IS.1");
	g_assert_cmpuint(one->attempt, ==, 2);
	g_assert_cmpfloat(one->total_s, ==, 6);
	g_assert_cmpuint(one->downtimes_count, ==, 1);
}

static void test_formats(struct directory *directory, const void *data)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(summary_t) summary = NULL;
	g_autofree char *text = NULL;
	g_autofree char *csv = NULL;
	json_t *document;
	json_t *list;

	put_migrations(directory->store);
	summary = load(directory);
	text = report_text(summary, &error);
	g_assert_no_error(error);
	g_assert_nonnull(strstr(text, MIGRATIONS_POLICIES_TITLE));
	g_assert_nonnull(strstr(text, "host b2 is down"));
	g_assert_nonnull(strstr(text, "person"));
	g_assert_null(strstr(text, SHARES_TITLE));
	csv = report_csv(&summary, 1, "migrations", &error);
	g_assert_nonnull(strstr(csv,
				",greedy-pmtn-migr,1,1,3,CG.2,1,policy,hosts,\"0,1\",\"2,1\",10,2,"
				"0.25,\n"));
	g_assert_nonnull(strstr(csv, ",person,hosts,\"0,1\",\"2,1\",20,30,0.75,\"host b2 is down, "
				     "\"\"b2\"\"\"\n"));
	document = report_json(&summary, 1, &error);
	list = json_object_get(json_object_get(json_array_get(document, 0), "migrations"),
			       "migrations");
	g_assert_cmpuint(json_array_size(list), ==, 4);
	g_assert_true(json_is_null(json_object_get(json_array_get(list, 3), "total_s")));
	json_decref(document);
}

static void put_delivery(struct store *store, double time_s, double share, double asked_cores,
			 double given_cores)
{
	const struct store_delivery row = {
		.run = 1,
		.task = 0,
		.attempt = 1,
		.time_s = time_s,
		.share = share,
		.asked_cores = asked_cores,
		.given_cores = given_cores,
	};

	g_assert_true(store_put_delivery(store, &row, NULL));
}

/* Shares of 1 are no promise; an interval in which nothing was asked tells nothing. */
static void test_shares(struct directory *directory, const void *data)
{
	const struct store_share yield = {.run = 1, .attempt = 1, .time_s = 1, .yield = 0.5};
	g_autoptr(GError) error = NULL;
	g_autoptr(summary_t) summary = NULL;
	g_autoptr(GPtrArray) shares = NULL;
	g_autofree char *csv = NULL;
	const struct shares_policy *row;

	g_assert_true(store_put_share(directory->store, &yield, NULL));
	put_delivery(directory->store, 2, 0.5, 0.25, 0.25);
	put_delivery(directory->store, 4, 0.5, 0.25, 0.2);
	put_delivery(directory->store, 6, 0.25, 0.125, 0.13);
	put_delivery(directory->store, 8, 1, 0.5, 0.1);
	put_delivery(directory->store, 10, 0.5, 0, 0);
	summary = load(directory);
	shares = listing_read(&shares_part, summary, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(listing_array(shares, 0)->len, ==, 1);
	row = &g_array_index(listing_array(shares, 0), struct shares_policy, 0);
	g_assert_cmpuint(row->yields, ==, 1);
	g_assert_cmpuint(row->intervals, ==, 3);
	g_assert_cmpfloat(fabs(row->asked_cores - 0.625 / 3), <, 1e-12);
	g_assert_cmpfloat(fabs(row->given_cores - 0.58 / 3), <, 1e-12);
	g_assert_cmpfloat(fabs(row->difference_mean + 3), <, 1e-9);
	g_assert_cmpfloat(fabs(row->difference_least + 10), <, 1e-9);
	g_assert_cmpfloat(fabs(row->difference_greatest - 1), <, 1e-9);
	csv = report_csv(&summary, 1, "shares", &error);
	g_assert_nonnull(strstr(csv, ",greedy-pmtn-migr,1,1,3,"));
}

static void test_nothing(struct directory *directory, const void *data)
{
	g_autoptr(summary_t) summary = load(directory);
	g_autofree char *text = report_text(summary, NULL);
	g_autofree char *csv = report_csv(&summary, 1, "migrations-by-policy", NULL);

	g_assert_null(strstr(text, MIGRATIONS_LIST_TITLE));
	g_assert_null(strstr(text, SHARES_TITLE));
	g_assert_true(g_str_has_suffix(csv, ",downtime_max_s\n"));
	g_assert_false(report_csv_known("nodes"));
}

#define TEST(path, function) g_test_add(path, struct directory, NULL, set_up, function, tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	TEST("/migrations/they are summed up by policy, and listed", test_migrations);
	TEST("/migrations/text, CSV and JSON tell of them", test_formats);
	TEST("/shares/what was delivered is held against what was asked", test_shares);
	TEST("/migrations/nothing is told where nothing was migrated or shared", test_nothing);
	return g_test_run();
}
