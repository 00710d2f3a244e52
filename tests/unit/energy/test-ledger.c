/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ledger has what its intervals bring, and after a restart what the store has. */
#include "controller/energy/ledger.h"
#include "controller/store/store_records.h"
#include "tests/unit/store/run_dir.h"

struct fixture {
	struct run_dir record;
	struct ledger *ledger;
};

static void set_up(struct fixture *fixture, const void *data)
{
	run_dir_make(&fixture->record);
	fixture->ledger = ledger_new();
}

static void tear_down(struct fixture *fixture, const void *data)
{
	ledger_free(fixture->ledger);
	run_dir_remove(&fixture->record);
}

static struct host_account *open_account(struct fixture *fixture, const char *host,
					 const char *cluster)
{
	struct store_account_meter *meter = g_new(struct store_account_meter, 1);

	*meter = (struct store_account_meter){
		.run = fixture->record.run,
		.host = g_strdup(host),
		.cluster = g_strdup(cluster),
		.stream = g_strdup("x"),
	};
	return ledger_open(fixture->ledger, meter);
}

/*
 * Adds `length_s` seconds to a host's account: 100 uJ idle, task_uj of `task` and 7 uJ unattributed,
 * all of it unattributed where there is a mark.
 */
static void add(struct fixture *fixture, const char *host, double length_s, uint32_t task,
		int64_t task_uj, const char *mark)
{
	struct host_account *account = ledger_account(fixture->ledger, host);
	const struct store_account_part part = {.task = task, .attempt = 1, .uj = task_uj};
	g_autoptr(GArray) parts = g_array_new(FALSE, FALSE, sizeof(part));
	const struct store_account_interval interval = {
		.policy = "easy",
		.day = "2026-01-01",
		.from_s = account->meter->at_s,
		.to_s = account->meter->at_s + length_s,
		.from_uj = account->meter->at_uj,
		.to_uj = account->meter->at_uj + 107 + task_uj,
		.idle_uj = 100,
		.tasks_uj = mark ? 0 : task_uj,
		.unattributed_uj = mark ? 7 + task_uj : 7,
		.mark = mark,
	};
	g_autoptr(GError) error = NULL;
	bool good;

	g_array_append_val(parts, part);
	g_assert_true(store_begin_account(fixture->record.store, &error));
	good = ledger_add(fixture->ledger, account, fixture->record.store, &interval,
			  mark ? NULL : parts, &error) &&
	       host_account_put(account, fixture->record.store, "easy", &error);
	g_assert_no_error(error);
	g_assert_true(store_end_account(fixture->record.store, good, &error));
}

static void check_tasks(const struct fixture *fixture, int64_t first_uj, int64_t second_uj)
{
	g_assert_cmpint(ledger_task_uj(fixture->ledger, 0), ==, first_uj);
	g_assert_cmpint(ledger_task_uj(fixture->ledger, 1), ==, 0);
	g_assert_cmpint(ledger_task_uj(fixture->ledger, 5), ==, second_uj);
	g_assert_cmpint(ledger_task_uj(fixture->ledger, UINT32_MAX), ==, 0);
}

static void tasks_have_their_parts_of_all_hosts(struct fixture *fixture, const void *data)
{
	open_account(fixture, "b1", "c1");
	open_account(fixture, "b2", "c1");
	check_tasks(fixture, 0, 0);
	add(fixture, "b1", 1, 0, 30, NULL);
	add(fixture, "b2", 1, 0, 12, NULL);
	add(fixture, "b2", 1, 5, 1, NULL);
	check_tasks(fixture, 42, 1);
	g_assert_cmpint(ledger_dynamic_uj(fixture->ledger), ==, 43 + 3 * 7);
	g_assert_cmpint(ledger_counted_uj(fixture->ledger), ==, 43 + 3 * 107);
}

static void what_nobody_can_split_is_no_tasks(struct fixture *fixture, const void *data)
{
	open_account(fixture, "b1", "c1");
	add(fixture, "b1", 1, 0, 30, "gap");
	add(fixture, "b1", 1, 0, 30, STORE_ACCOUNT_UNSERVED);
	check_tasks(fixture, 0, 0);
	g_assert_cmpint(ledger_dynamic_uj(fixture->ledger), ==, 37);
	g_assert_cmpint(ledger_counted_uj(fixture->ledger), ==, 2 * 137);
}

static void it_is_the_same_after_a_restart(struct fixture *fixture, const void *data)
{
	g_autoptr(GError) error = NULL;

	open_account(fixture, "b1", "c1");
	open_account(fixture, "b2", "c1");
	add(fixture, "b1", 1, 0, 30, NULL);
	add(fixture, "b2", 61, 5, 12, NULL);
	add(fixture, "b2", 61, 5, 12, NULL);
	add(fixture, "b2", 1, 5, 9, STORE_ACCOUNT_UNSERVED);
	ledger_free(fixture->ledger);
	fixture->ledger = ledger_new();
	g_assert_true(
		ledger_load(fixture->ledger, fixture->record.store, fixture->record.run, &error));
	g_assert_true(ledger_load_sums(fixture->ledger, fixture->record.store, fixture->record.run,
				       6, &error));
	check_tasks(fixture, 30, 24);
	g_assert_cmpint(ledger_dynamic_uj(fixture->ledger), ==, 30 + 24 + 3 * 7);
	g_assert_cmpint(ledger_counted_uj(fixture->ledger), ==, 30 + 24 + 9 + 4 * 107);
	g_assert_cmpfloat(ledger_account(fixture->ledger, "b1")->meter->at_s, ==, 1);
	add(fixture, "b1", 1, 5, 1, NULL);
	check_tasks(fixture, 30, 25);
}

/* The store of another service, or a damaged one, may name tasks that do not exist. */
static void tasks_that_do_not_exist_are_left_out(struct fixture *fixture, const void *data)
{
	g_autoptr(GError) error = NULL;

	open_account(fixture, "b1", "c1");
	add(fixture, "b1", 1, 0, 30, NULL);
	add(fixture, "b1", 1, 4000000, 30, NULL);
	ledger_free(fixture->ledger);
	fixture->ledger = ledger_new();
	g_assert_true(ledger_load_sums(fixture->ledger, fixture->record.store, fixture->record.run,
				       1, &error));
	check_tasks(fixture, 30, 0);
	g_assert_cmpint(ledger_task_uj(fixture->ledger, 4000000), ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#define ADD(name, test) g_test_add("/ledger/" name, struct fixture, NULL, set_up, test, tear_down)
	ADD("parts", tasks_have_their_parts_of_all_hosts);
	ADD("unattributed", what_nobody_can_split_is_no_tasks);
	ADD("restart", it_is_the_same_after_a_restart);
	ADD("no-task", tasks_that_do_not_exist_are_left_out);
	return g_test_run();
}
