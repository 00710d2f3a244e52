/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The account of a service's energy: what local schedulers tell goes into the store, whatever it
 * is.
 */
#include "common/clock.h"
#include "controller/service/run_service_private.h"
#include "controller/store/store_private.h"
#include "tests/unit/backend/fixture.h"
#include "tests/unit/store/run_dir.h"

#define S INT64_C(1000000000)
/* How long the run has been under way when a service begins. */
#define AGE_S 1000

/*
 * As much of a service as its account asks for; host "b1" is no emulated blade, and draws nothing
 * idle.
 */
struct account {
	struct fixture remote;
	struct run_dir record;
	struct run_plan plan;
	struct run_session session;
	struct run_service service;
	bool fails; /* its store is to have failed */
};

static void open_service(struct account *account)
{
	account->service.submissions = g_ptr_array_new();
	g_ptr_array_set_size(account->service.submissions, 3);
	account->service.session = &account->session;
	run_service_energy_init(&account->service);
	account->service.recorder =
		recorder_store_new(account->session.store, account->service.row.run, NULL, true);
	account->session.recorder = account->service.recorder;
	account->session.service = &account->service;
}

static void close_service(struct account *account)
{
	g_assert_true(recorder_store_finish(account->service.recorder, NULL) == !account->fails);
	g_assert_true(account->session.store_failed == account->fails);
	recorder_store_free(account->service.recorder);
	run_service_energy_clear(&account->service);
	g_ptr_array_unref(account->service.submissions);
}

static void set_up(struct account *account, gconstpointer data)
{
	fixture_set_up(&account->remote, data);
	run_dir_make(&account->record);
	account->plan.experiment = (char *)"test";
	account->session.plan = &account->plan;
	account->session.platform = &platform_machine;
	account->session.config = (struct config *)&fixture_config;
	account->session.fleet = account->remote.fleet;
	account->session.progress = run_progress_new(&platform_machine);
	account->session.t0_ns = clock_now_ns() - AGE_S * S;
	account->session.store = account->record.store;
	account->service.row.run = account->record.run;
	account->service.row.policy = (char *)"easy";
	open_service(account);
}

static void tear_down(struct account *account, gconstpointer data)
{
	close_service(account);
	run_progress_free(account->session.progress);
	run_dir_remove(&account->record);
	fixture_tear_down(&account->remote, data);
}

static void begin(struct account *account)
{
	g_autoptr(GError) error = NULL;

	g_assert_true(run_service_energy_load(&account->service, &error));
	g_assert_no_error(error);
	g_assert_true(run_service_energy_begin(&account->service, &error));
	g_assert_no_error(error);
}

/* The service ends, and begins again. */
static void begin_again(struct account *account, bool go_on)
{
	close_service(account);
	open_service(account);
	account->session.go_on = go_on;
	begin(account);
}

/* Where the host's account stood when a controller served last. */
static void stand(struct account *account, double at_s, int64_t at_uj)
{
	const struct store_account_meter meter = {
		.run = account->service.row.run,
		.host = (char *)"b1",
		.cluster = (char *)"c1",
		.begin_uj = at_uj,
		.at_uj = at_uj,
		.at_s = at_s,
		.stream = (char *)"old",
		.seq = 9,
	};

	g_assert_true(store_put_account_meter(account->session.store, &meter, NULL));
}

/* One second until `to_s` of the run. */
static struct wire_usage second(struct account *account, int64_t seq, int64_t to_s, int64_t from_uj,
				int64_t to_uj)
{
	return (struct wire_usage){
		.seq = seq,
		.host = "b1",
		.from_ns = account->session.t0_ns + (to_s - 1) * S,
		.to_ns = account->session.t0_ns + to_s * S,
		.length_ns = S,
		.from_uj = from_uj,
		.to_uj = to_uj,
		.read = true,
	};
}

static void used(struct wire_usage *usage, const char *id, int64_t cpu_ns)
{
	usage->tasks = g_renew(struct wire_usage_task, usage->tasks, usage->tasks_count + 1);
	usage->tasks[usage->tasks_count++] = (struct wire_usage_task){(char *)id, cpu_ns};
}

static void take_all(struct account *account, struct wire_usage *usages, int count)
{
	g_autoptr(GPtrArray) list = g_ptr_array_new();

	for (int i = 0; i < count; i++)
		g_ptr_array_add(list, &usages[i]);
	run_service_energy_take(0, "new", list, &account->session);
	for (int i = 0; i < count; i++)
		g_free(usages[i].tasks);
	g_assert_false(account->session.store_failed);
}

static void take(struct account *account, struct wire_usage usage)
{
	take_all(account, &usage, 1);
}

static struct store_account_sum sum_of(struct account *account)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) sums = store_account_sums(account->session.store,
						       account->service.row.run, "host", &error);
	struct store_account_sum sum;

	g_assert_no_error(error);
	g_assert_cmpuint(sums->len, ==, 1);
	sum = *(struct store_account_sum *)g_ptr_array_index(sums, 0);
	sum.key = NULL;
	g_assert_cmpint(sum.meter_uj, ==,
			sum.tasks_uj + sum.idle_uj + sum.management_uj + sum.unattributed_uj);
	return sum;
}

/* 1,800 s without a word, of which the service was there for the last 900. */
static void a_hole_is_unserved_until_somebody_serves(struct account *account, gconstpointer data)
{
	struct store_account_sum sum;

	stand(account, 100, 5000);
	begin(account);
	take(account, second(account, 1, 1901, 5000 + 1800000, 5000 + 1800000 + 7));
	sum = sum_of(account);
	g_assert_cmpint(sum.meter_uj, ==, 1800007);
	g_assert_cmpint(sum.unattributed_uj, ==, 1800007);
	g_assert_cmpint(sum.unserved_uj, >=, 900000);
	g_assert_cmpint(sum.unserved_uj, <, 960000); /* a minute to come this far */
	g_assert_cmpint(ledger_dynamic_uj(account->service.ledger), ==,
			sum.meter_uj - sum.unserved_uj);
}

static void who_takes_over_knows_since_when_somebody_serves(struct account *account,
							    gconstpointer data)
{
	double served_s;
	struct store_account_sum sum;

	stand(account, 100, 5000);
	begin(account);
	served_s = account->service.served_s;
	begin_again(account, true);
	g_assert_cmpfloat(account->service.served_s, ==, served_s);
	take(account, second(account, 1, 1901, 5000 + 1800000, 5000 + 1800000 + 7));
	sum = sum_of(account);
	g_assert_cmpint(sum.unserved_uj, >=, 900000);
	g_assert_cmpint(sum.unserved_uj, <, 960000);
}

/*
 * Another counter of the host's, which begins at 0 and has passed the old one's value while no
 * controller looked.
 */
static void another_counter_is_no_missed_energy(struct account *account, gconstpointer data)
{
	struct wire_usage usage;

	begin(account);
	usage = second(account, 1, 2 * AGE_S, 5000, 5100);
	usage.counter = (char *)"first";
	take(account, usage);
	begin_again(account, false);
	usage = second(account, 2, 3 * AGE_S, 9000, 9070);
	usage.counter = (char *)"second";
	take(account, usage);
	g_assert_cmpint(sum_of(account).meter_uj, ==, 170);
	/* The counter continues: what was missed of it counts. */
	begin_again(account, false);
	usage = second(account, 3, 4 * AGE_S, 9100, 9101);
	usage.counter = (char *)"second";
	take(account, usage);
	g_assert_cmpint(sum_of(account).meter_uj, ==, 201);
}

/*
 * As before there were names: a counter that has fallen is another one, a counter that has risen is
 * not.
 */
static void a_counter_without_a_name_goes_by_its_value(struct account *account, gconstpointer data)
{
	static const char *const names[] = {NULL, "new", NULL};
	struct wire_usage usage;

	begin(account);
	for (int i = 0; i < 3; i++) {
		usage = second(account, 1 + i, 2 * AGE_S + 10 * i, 1000 + 100 * i, 1050 + 100 * i);
		usage.counter = (char *)names[i];
		take(account, usage);
	}
	g_assert_cmpint(sum_of(account).meter_uj, ==, 250);
	take(account, second(account, 4, 2 * AGE_S + 40, 50, 60));
	g_assert_cmpint(sum_of(account).meter_uj, ==, 260);
}

/* Up and down by as much as a counter can show, until 64 bits would be full several times. */
static void counters_never_fill_the_sums(struct account *account, gconstpointer data)
{
	const int64_t most_uj = INT64_C(1) << 58;
	const int64_t base_s = 2 * AGE_S;

	begin(account);
	take(account, second(account, 1, base_s, 0, 0));
	for (int64_t i = 0; i < 100; i++)
		take(account, second(account, 2 + i, base_s + 1 + i, i % 2 ? 0 : most_uj - 5,
				     i % 2 ? 5 : most_uj));
	g_assert_cmpint(ledger_dynamic_uj(account->service.ledger), >, most_uj);
	g_assert_cmpint(sum_of(account).meter_uj, ==, ledger_counted_uj(account->service.ledger));
	begin_again(account, false);
	g_assert_cmpint(sum_of(account).meter_uj, ==, ledger_counted_uj(account->service.ledger));
}

static void a_sum_that_fails_is_no_reason_not_to_serve(struct account *account, gconstpointer data)
{
	static const char *const days[] = {"2026-01-01", "2026-01-02"};

	for (int i = 0; i < 2; i++) {
		const struct store_account_meter meter = {.run = account->service.row.run,
							  .host = (char *)"b1",
							  .cluster = (char *)"c1",
							  .before_uj = INT64_MAX - 10,
							  .at_uj = 1000,
							  .n = i + 1};
		const struct store_account_interval interval = {.policy = "easy",
								.day = days[i],
								.to_s = i,
								.to_uj = INT64_MAX - 10,
								.unattributed_uj = INT64_MAX - 10};

		g_assert_true(store_add_account(account->session.store, &meter, &interval, NULL) &&
			      store_put_account_meter(account->session.store, &meter, NULL));
	}
	begin(account);
	g_assert_cmpint(ledger_dynamic_uj(account->service.ledger), ==, 0);
	take(account, second(account, 1, 2 * AGE_S, 1000, 1010));
}

/* Of a host that is no emulated blade, what is no VM must be known. */
static void without_the_hosts_own_cpu_time_nothing_is_known(struct account *account,
							    gconstpointer data)
{
	struct wire_usage usage;
	struct store_account_sum sum;

	begin(account);
	usage = second(account, 1, 2 * AGE_S, 1000, 1100);
	used(&usage, "test-1-2-1", 50);
	usage.others_ns = -1;
	take(account, usage);
	sum = sum_of(account);
	g_assert_cmpint(sum.tasks_uj, ==, 0);
	g_assert_cmpint(sum.unattributed_uj, ==, 100);
	usage = second(account, 2, 2 * AGE_S + 1, 1100, 1200);
	used(&usage, "test-1-2-1", 50);
	take(account, usage);
	sum = sum_of(account);
	g_assert_cmpint(sum.tasks_uj, ==, 100);
	g_assert_cmpint(sum.unattributed_uj, ==, 100);
}

static void cpu_time_of_strangers_stays_in_range(struct account *account, gconstpointer data)
{
	const int64_t most_ns = INT64_C(1) << 56;
	struct wire_usage usage;
	struct store_account_sum sum;

	begin(account);
	usage = second(account, 1, 2 * AGE_S, 1000, 1100);
	used(&usage, "test-1-2-1", most_ns);
	for (int i = 0; i < 300; i++)
		used(&usage, "other-1-2-1", most_ns);
	take(account, usage);
	sum = sum_of(account);
	g_assert_cmpint(sum.tasks_uj, ==, 1); /* one 129th */
	g_assert_cmpint(sum.management_uj, ==, 99);
}

static int64_t count(struct store *store, const char *sql)
{
	sqlite3_stmt *statement;
	int64_t value;

	g_assert_cmpint(sqlite3_prepare_v2(database_handle(store->database), sql, -1, &statement,
					   NULL),
			==, SQLITE_OK);
	g_assert_cmpint(sqlite3_step(statement), ==, SQLITE_ROW);
	value = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return value;
}

/* With what the engine records, and not before. */
static void many_intervals_go_on_record_at_once(struct account *account, gconstpointer data)
{
	static const char sql[] = "SELECT count(*) FROM energy_interval";
	g_autoptr(store_t) other = store_open(account->record.dir, false, NULL);

	begin(account);
	for (int i = 0; i < 5; i++)
		take(account,
		     second(account, 1 + i, 2 * AGE_S + i, 1000 + 100 * i, 1100 + 100 * i));
	g_assert_cmpint(count(other, sql), ==, 0);
	g_assert_true(recorder_store_finish(account->service.recorder, NULL));
	g_assert_cmpint(count(other, sql), ==, 5);
}

/*
 * The account in memory is ahead of the record then: nothing that follows may be written without
 * what failed.
 */
static void after_an_answer_that_failed_nothing_is_written(struct account *account,
							   gconstpointer data)
{
	static const char sql[] =
		"SELECT (SELECT count(*) FROM energy_interval) + (SELECT count(*) FROM energy_part)"
		" + (SELECT count(*) FROM energy_task) + (SELECT count(*) FROM energy_day)";
	struct store *store = account->session.store;
	g_autoptr(GPtrArray) list = g_ptr_array_new();
	struct wire_usage usages[4];

	account->fails = true;
	begin(account);
	g_assert_cmpint(
		sqlite3_exec(
			database_handle(store->database),
			"CREATE TEMP TRIGGER full BEFORE INSERT ON energy_interval WHEN new.n = 2"
			" BEGIN SELECT RAISE(ABORT, 'full'); END",
			NULL, NULL, NULL),
		==, SQLITE_OK);
	for (int i = 0; i < 4; i++) {
		usages[i] = second(account, 1 + i, 2 * AGE_S + i, 1000 + 100 * i, 1100 + 100 * i);
		used(&usages[i], "test-1-1-1", 50);
		if (i < 3)
			g_ptr_array_add(list, &usages[i]);
	}
	run_service_energy_take(0, "new", list, &account->session);
	g_assert_true(account->session.store_failed);
	g_assert_cmpint(count(store, sql), ==, 0);
	g_ptr_array_set_size(list, 0);
	g_ptr_array_add(list, &usages[3]);
	run_service_energy_take(0, "new", list, &account->session);
	g_assert_cmpint(count(store, sql), ==, 0);
	for (int i = 0; i < 4; i++)
		g_free(usages[i].tasks);
}

/*
 * A row for each task and minute, also after a service that began in the midst of a minute; and
 * they add up. So many intervals come in an answer.
 */
static void check_parts(struct account *account, int at_once)
{
	struct store *store = account->session.store;
	struct wire_usage usages[13];

	begin(account);
	for (int i = 0; i < 150; i++) {
		struct wire_usage *usage = &usages[i % at_once];

		*usage = second(account, 1 + i, 2 * AGE_S + i, 1000 + 100 * i, 1100 + 100 * i);
		if (i == 130)
			begin_again(account, true);
		if (i % 10) {
			used(usage, "test-1-1-1", 50);
			used(usage, "test-1-2-1", 50);
		}
		if ((i + 1) % at_once == 0 || i == 149)
			take_all(account, usages, 1 + i % at_once);
	}
	g_assert_cmpint(count(store, "SELECT count(*) FROM energy_interval"), ==, 150);
	g_assert_cmpint(count(store, "SELECT group_concat(n) = '1,61,121,131' FROM"
				     " (SELECT DISTINCT n FROM energy_part ORDER BY n)"),
			==, 1);
	g_assert_cmpint(count(store, "SELECT count(*) FROM energy_part"), ==, 8);
	g_assert_cmpint(count(store, "SELECT sum(uj) FROM energy_part WHERE n = 61"), ==, 54 * 100);
	g_assert_cmpint(count(store, "SELECT sum(uj) FROM energy_part"), ==,
			count(store, "SELECT sum(tasks_uj) FROM energy_interval"));
	g_assert_cmpint(count(store, "SELECT sum(uj) FROM energy_task"), ==, 135 * 100);
	g_assert_cmpint(count(store, "SELECT sum(cpu_ns) FROM energy_part"), ==, 135 * 100);
	g_assert_cmpint(count(store, "SELECT n FROM energy_meter"), ==, 150);
	g_assert_cmpint(count(store, "SELECT at_uj FROM energy_meter"), ==, 16000);
}

static void parts_of_a_minute_are_one_row(struct account *account, gconstpointer data)
{
	check_parts(account, 1);
}

static void parts_of_an_answer_go_to_their_minutes(struct account *account, gconstpointer data)
{
	check_parts(account, 13);
}

/* What the local scheduler tells goes into the account from now on. */
static void listen_to_it(struct account *account)
{
	const struct remote_run run = {
		.experiment = "test",
		.run = account->service.row.run,
		.t0_ns = account->session.t0_ns,
		.usage = run_service_energy_take,
		.data = &account->session,
	};

	backend_destroy(account->remote.backend);
	account->remote.backend = remote_backend_new(account->remote.fleet, &run);
	begin(account);
}

static int64_t last_told(const struct account *account)
{
	const struct host_account *of = ledger_account(account->service.ledger, "b1");

	return of ? of->meter->seq : 0;
}

/* Not when it would be asked the next time. */
static void a_service_that_ends_asks_once_more(struct account *account, gconstpointer data)
{
	const gint64 until_us = g_get_monotonic_time() + (gint64)(FIXTURE_SOON_S * G_USEC_PER_SEC);
	int64_t last;

	listen_to_it(account);
	while (!last_told(account) && g_get_monotonic_time() < until_us)
		g_main_context_iteration(NULL, TRUE);
	g_assert_cmpint(last_told(account), >, 0);
	scripted_scheduler_set_watts(account->remote.scheduler, 160);
	last = scripted_scheduler_last_interval(account->remote.scheduler);
	g_assert_cmpint(last_told(account), <, last);
	run_service_energy_end(&account->service);
	g_assert_cmpint(last_told(account), >=, last);
	/* An interval ends with a sample, which is told as well. */
	g_assert_cmpint(remote_link_samples_seq(remote_fleet_link(account->remote.fleet, 0)), >=,
			last_told(account));
}

/* Not even as long as a silent meter is taken to be there. */
static void a_service_that_ends_waits_for_nobody(struct account *account, gconstpointer data)
{
	struct remote_link *link = remote_fleet_link(account->remote.fleet, 0);
	gint64 begin_us;

	remote_link_set_patience(link, 3600);
	scripted_scheduler_set_mood(account->remote.scheduler, SCRIPTED_SILENT);
	listen_to_it(account);
	begin_us = g_get_monotonic_time();
	run_service_energy_end(&account->service);
	g_assert_cmpint(g_get_monotonic_time() - begin_us, <, 5 * G_USEC_PER_SEC);
	g_assert_false(remote_link_away(link));
	scripted_scheduler_set_mood(account->remote.scheduler, SCRIPTED_FINE);
}

static const struct {
	const char *path;
	void (*test)(struct account *account, gconstpointer data);
} tests[] = {
	{"/service-energy/hole", a_hole_is_unserved_until_somebody_serves},
	{"/service-energy/taken-over", who_takes_over_knows_since_when_somebody_serves},
	{"/service-energy/another-counter", another_counter_is_no_missed_energy},
	{"/service-energy/unnamed-counter", a_counter_without_a_name_goes_by_its_value},
	{"/service-energy/counters", counters_never_fill_the_sums},
	{"/service-energy/sum-fails", a_sum_that_fails_is_no_reason_not_to_serve},
	{"/service-energy/others", without_the_hosts_own_cpu_time_nothing_is_known},
	{"/service-energy/strangers", cpu_time_of_strangers_stays_in_range},
	{"/service-energy/at-once", many_intervals_go_on_record_at_once},
	{"/service-energy/fails", after_an_answer_that_failed_nothing_is_written},
	{"/service-energy/last-words", a_service_that_ends_asks_once_more},
	{"/service-energy/no-last-words", a_service_that_ends_waits_for_nobody},
	{"/service-energy/parts", parts_of_a_minute_are_one_row},
	{"/service-energy/parts-at-once", parts_of_an_answer_go_to_their_minutes},
};

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (gsize i = 0; i < G_N_ELEMENTS(tests); i++)
		g_test_add(tests[i].path, struct account, NULL, set_up, tests[i].test, tear_down);
	return g_test_run();
}
