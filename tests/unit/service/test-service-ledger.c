/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A service's ledger, with the service's engine: what it has of an ended task, and when that is
 * final; the provisional energy that a restart keeps; and the energy of a window.
 */
#include <inttypes.h>

#include "common/clock.h"
#include "tests/unit/service/ledger_bed.h"

/* Task 0 as its record has it, in its last place; a stored task that ended has energy_j. */
static void restore(struct bed *bed, enum engine_task_event event, uint32_t cluster,
		    double energy_j)
{
	static const uint32_t node = 0;
	struct engine_task record = {
		.cluster = cluster,
		.nodes = &node,
		.nodes_count = 1,
		.attempts = 1,
		.reservation = true,
		.planned_start_s = 5 * AGE_S,
		.started_s = 1500,
		.ended_s = event == ENGINE_TASK_COMPLETE ? 1600 : (double)NAN,
		.exec_s = (double)NAN,
		.energy_j = energy_j,
	};

	engine_task_move(&record.state, ENGINE_TASK_ARRIVE);
	if (event == ENGINE_TASK_COMPLETE) {
		engine_task_move(&record.state, ENGINE_TASK_START);
		engine_task_move(&record.state, ENGINE_TASK_STARTED);
	}
	g_assert_true(engine_task_move(&record.state, event));
	g_assert_true(engine_restore_task(bed->service.engine, 0, &record));
}

/* A host reports a second that ends at to_s, in which the task, if any, used `uj`. */
static void report(struct bed *bed, uint32_t cluster, int64_t to_s, const char *task, int64_t uj)
{
	struct wire_usage_task used = {(char *)task, 50};
	struct wire_usage usage = {
		.seq = ++bed->seqs[cluster],
		.host = bed_host(cluster),
		.from_ns = bed->session.t0_ns + (to_s - 1) * S,
		.to_ns = bed->session.t0_ns + to_s * S,
		.length_ns = S,
		.from_uj = bed->counters[cluster],
		.to_uj = bed->counters[cluster] + uj,
		.read = true,
		.tasks = &used,
		.tasks_count = task ? 1 : 0,
	};
	g_autoptr(GPtrArray) list = g_ptr_array_new();

	bed->counters[cluster] += uj;
	g_ptr_array_add(list, &usage);
	run_service_energy_take(cluster, "stream", list, &bed->session);
	g_assert_false(bed->session.store_failed);
}

static void assert_energy(const struct bed *bed, enum engine_energy_kind kind, double uj)
{
	const struct engine_task *task = engine_task_at(bed->service.engine, 0);

	g_assert_cmpstr(engine_energy_names[task->energy_kind], ==, engine_energy_names[kind]);
	g_assert_cmpfloat(fabs(task->energy_j * 1e6 - uj), <, 0.5);
}

static void end(struct bed *bed, uint32_t attempt, enum backend_outcome outcome, double time_s)
{
	const struct backend_event event = {
		.kind = BACKEND_EVENT_ENDED,
		.time_s = time_s,
		.task = 0,
		.attempt = attempt,
		.outcome = outcome,
		.exec_s = 1,
		.energy_j = (double)NAN,
	};

	engine_event(bed->service.engine, &event);
}

static enum engine_task_state state_of(const struct bed *bed)
{
	return engine_task_at(bed->service.engine, 0)->state;
}

/* The task runs at `cluster`. */
static void run_at(struct bed *bed, uint32_t cluster)
{
	restore(bed, ENGINE_TASK_START, cluster, (double)NAN);
	engine_begin_run(bed->service.engine);
}

static void energy_is_final_beyond_the_end(struct bed *bed, const void *data)
{
	run_at(bed, CLUSTER_A);
	bed_begin(bed);
	report(bed, CLUSTER_A, 2000, "test-1-0-1", 100);
	end(bed, 1, BACKEND_OUTCOME_COMPLETED, 2001.5);
	assert_energy(bed, ENGINE_ENERGY_PROVISIONAL, 100);
	report(bed, CLUSTER_A, 2001, "test-1-0-1", 20);
	assert_energy(bed, ENGINE_ENERGY_PROVISIONAL, 120);
	report(bed, CLUSTER_A, 2002, "test-1-0-1", 3);
	assert_energy(bed, ENGINE_ENERGY_FINAL, 123);
}

/* It runs on at "b"; the host of the attempt that was lost reports last. */
static void a_lost_attempt_is_waited_for(struct bed *bed, const void *data)
{
	struct engine *engine = bed->service.engine;

	run_at(bed, CLUSTER_A);
	bed_begin(bed);
	report(bed, CLUSTER_A, 2000, "test-1-0-1", 100);
	report(bed, CLUSTER_B, 2000, NULL, 0);
	g_assert_cmpint(engine_request_drain(engine, CLUSTER_A, 0, NULL), ==, 0);
	end(bed, 1, BACKEND_OUTCOME_LOST, 2001.5);
	for (int i = 0; i < 10 && state_of(bed) == ENGINE_TASK_WAITING; i++) {
		const struct backend_event none = {.time_s = 2002 + i};

		engine_event(engine, &none);
	}
	g_assert_cmpint(state_of(bed), ==, ENGINE_TASK_STARTING);
	g_assert_cmpuint(engine_task_at(engine, 0)->cluster, ==, CLUSTER_B);
	end(bed, 2, BACKEND_OUTCOME_COMPLETED, 2050.5);
	report(bed, CLUSTER_B, 2051, "test-1-0-2", 40);
	assert_energy(bed, ENGINE_ENERGY_PROVISIONAL, 140);
	report(bed, CLUSTER_A, 2001, "test-1-0-1", 5);
	assert_energy(bed, ENGINE_ENERGY_PROVISIONAL, 145);
	report(bed, CLUSTER_A, 2002, "test-1-0-1", 1);
	assert_energy(bed, ENGINE_ENERGY_FINAL, 146);
}

/* After a restart of the controller; the task is cancelled while it is planned at "b". */
static void a_lost_attempt_is_recalled(struct bed *bed, const void *data)
{
	const struct store_task lost = {
		.run = bed->service.row.run,
		.task = 0,
		.attempts = 1,
		.cluster = (char *)"a",
		.nodes = (char *)"0",
		.started_s = 1500,
		.ended_s = 2001.5,
	};
	g_autoptr(GError) error = NULL;

	g_assert_true(store_put_lost(bed->session.store, &lost, &error));
	restore(bed, ENGINE_TASK_PLAN, CLUSTER_B, (double)NAN);
	bed_begin(bed);
	report(bed, CLUSTER_A, 2000, "test-1-0-1", 100);
	g_assert_cmpint(engine_request_cancel(bed->service.engine, 0), ==, 0);
	g_assert_cmpint(state_of(bed), ==, ENGINE_TASK_KILLED);
	report(bed, CLUSTER_B, 2100, NULL, 0);
	assert_energy(bed, ENGINE_ENERGY_PROVISIONAL, 100);
	report(bed, CLUSTER_A, 2001, "test-1-0-1", 5);
	assert_energy(bed, ENGINE_ENERGY_PROVISIONAL, 105);
	report(bed, CLUSTER_A, 2002, "test-1-0-1", 1);
	assert_energy(bed, ENGINE_ENERGY_FINAL, 106);
}

/* After a restart, too: no report is to come of its last attempt, which has no meter. */
static void a_place_without_meters_is_not_waited_for(struct bed *bed, const void *data)
{
	const struct store_task lost = {
		.run = bed->service.row.run,
		.task = 0,
		.attempts = 1,
		.cluster = (char *)"a",
		.nodes = (char *)"0",
		.started_s = 1500,
		.ended_s = 2001.5,
	};
	g_autoptr(GError) error = NULL;

	g_assert_true(store_put_lost(bed->session.store, &lost, &error));
	run_at(bed, CLUSTER_C);
	bed_begin(bed);
	report(bed, CLUSTER_A, 2000, "test-1-0-1", 100);
	end(bed, 1, BACKEND_OUTCOME_COMPLETED, 2050.5);
	assert_energy(bed, ENGINE_ENERGY_PROVISIONAL, 100);
	report(bed, CLUSTER_A, 2002, "test-1-0-1", 5);
	assert_energy(bed, ENGINE_ENERGY_FINAL, 105);
	bed_close(bed);
	bed_open(bed);
	restore(bed, ENGINE_TASK_COMPLETE, CLUSTER_C, 105e-6);
	bed->session.go_on = true;
	bed_begin(bed);
	assert_energy(bed, ENGINE_ENERGY_FINAL, 105);
}

/* The last report of its lost attempt came before its end. */
static void an_end_without_meters_is_final(struct bed *bed, const void *data)
{
	run_at(bed, CLUSTER_C);
	bed_begin(bed);
	report(bed, CLUSTER_A, 2000, "test-1-0-1", 100);
	end(bed, 1, BACKEND_OUTCOME_COMPLETED, 2050.5);
	assert_energy(bed, ENGINE_ENERGY_FINAL, 100);
}

/* After a restart: what the store has of the task is the account's. */
static void kinds_are_recalled(struct bed *bed, const void *data)
{
	run_at(bed, CLUSTER_A);
	bed_begin(bed);
	report(bed, CLUSTER_A, 2000, "test-1-0-1", 100);
	bed_close(bed);
	bed_open(bed);
	restore(bed, ENGINE_TASK_COMPLETE, CLUSTER_A, 100e-6);
	bed->session.go_on = true;
	bed_begin(bed);
	assert_energy(bed, ENGINE_ENERGY_FINAL, 100);
	/* Late parts of it still count. */
	report(bed, CLUSTER_A, 2001, "test-1-0-1", 7);
	assert_energy(bed, ENGINE_ENERGY_FINAL, 107);
}

/* What an older version attributed stays, and is no figure of the account. */
static void older_figures_stay(struct bed *bed, const void *data)
{
	run_at(bed, CLUSTER_A);
	bed_begin(bed);
	report(bed, CLUSTER_A, 2000, "test-1-0-1", 100);
	bed_close(bed);
	bed_open(bed);
	restore(bed, ENGINE_TASK_COMPLETE, CLUSTER_A, 90e-6);
	bed->session.go_on = true;
	bed_begin(bed);
	assert_energy(bed, ENGINE_ENERGY_ESTIMATED, 90);
	report(bed, CLUSTER_A, 2001, "test-1-0-1", 7);
	assert_energy(bed, ENGINE_ENERGY_ESTIMATED, 90);
}

/* Provisional energy. */

/* The account of "ha" ends 10 s ago at 5,000 uJ, and its meter has counted so much since. */
#define PROVISIONAL_UJ 4000

static struct remote_meter *meter_of(struct bed *bed, uint32_t cluster)
{
	return g_ptr_array_index(remote_fleet_meters(bed->session.fleet), cluster);
}

static void use_unreported_of(struct bed *bed, int64_t uj)
{
	const struct store_account_meter account = {
		.run = bed->service.row.run,
		.host = (char *)"ha",
		.cluster = (char *)"a",
		.begin_uj = 5000,
		.at_uj = 5000,
		.at_s = AGE_S - 10,
		.stream = (char *)"old",
	};
	struct remote_meter *of = meter_of(bed, CLUSTER_A);
	const struct wire_sample first = {.t_ns = bed->session.t0_ns + (AGE_S - 10) * S,
					  .energy_uj = 5000};
	const struct wire_sample last = {.t_ns = bed->session.t0_ns + AGE_S * S,
					 .energy_uj = 5000 + uj};

	g_assert_cmpstr(of->host, ==, "ha");
	g_assert_true(store_put_account_meter(bed->session.store, &account, NULL));
	remote_meter_start(of, bed->session.t0_ns, 0);
	g_assert_true(remote_meter_add(of, &first) && remote_meter_add(of, &last));
	bed->counters[CLUSTER_A] = 5000;
	bed->session.go_on = true; /* a controller took over, whose meters have counted on */
	bed_begin(bed);
}

static void use_unreported(struct bed *bed)
{
	use_unreported_of(bed, PROVISIONAL_UJ);
}

/* As once a minute, and at the end. */
static void keep(struct bed *bed)
{
	g_autoptr(GError) error = NULL;
	struct run_service *service = &bed->service;

	service->row.t0_ns = bed->session.t0_ns;
	service->row.boot_id = clock_boot_id();
	g_assert_true(run_service_account_keep(service, &error));
	g_assert_no_error(error);
	g_clear_pointer(&service->row.boot_id, g_free);
}

/* The service has ended, or died, and is started again 500 s later; no host has a word for it. */
static void start(struct bed *bed)
{
	g_autoptr(GError) error = NULL;
	struct run_service *service = &bed->service;

	bed_close(bed);
	service->row.t0_ns -= 500 * S;
	service->row.boot_id = clock_boot_id();
	bed->session.go_on = false;
	bed_open(bed);
	for (uint32_t c = CLUSTER_A; c <= CLUSTER_B; c++)
		g_array_set_size(meter_of(bed, c)->samples, 0);
	g_assert_true(run_service_account_resume(service, &error));
	g_assert_no_error(error);
	g_clear_pointer(&service->row.boot_id, g_free);
	bed_begin(bed);
}

static void start_again(struct bed *bed)
{
	keep(bed);
	start(bed);
}

/* The real clock runs on for some milliseconds, in which a host draws nothing but is to be idle. */
static void assert_about(double uj, double expected_uj)
{
	g_assert_cmpfloat(fabs(uj - expected_uj), <, 1 + 0.001 * expected_uj);
}

static void assert_used(const struct bed *bed, double begin_s, double uj)
{
	g_autoptr(GError) error = NULL;
	double used_j;

	g_assert_true(run_service_used_since(&bed->service, begin_s, &used_j, &error));
	g_assert_no_error(error);
	assert_about(used_j * 1e6, uj);
}

/* By the ledger: what counts as served, and all of it. */
static void assert_ledger(const struct bed *bed, int64_t dynamic_uj, int64_t counted_uj)
{
	assert_about((double)ledger_dynamic_uj(bed->service.ledger), (double)dynamic_uj);
	assert_about((double)ledger_counted_uj(bed->service.ledger), (double)counted_uj);
}

/* Its host draws 300 uJ while no controller serves, and reports an interval of that time. */
static void provisional_energy_outlasts_a_restart(struct bed *bed, const void *data)
{
	use_unreported(bed);
	assert_used(bed, 0, PROVISIONAL_UJ);
	start_again(bed);
	assert_used(bed, 0, PROVISIONAL_UJ);
	assert_ledger(bed, 0, 0);
	bed->counters[CLUSTER_A] = 5000 + PROVISIONAL_UJ + 200;
	report(bed, CLUSTER_A, 1300, NULL, 100);
	assert_used(bed, 0, PROVISIONAL_UJ);
	assert_ledger(bed, PROVISIONAL_UJ, PROVISIONAL_UJ + 300);
	start_again(bed);
	assert_used(bed, 0, PROVISIONAL_UJ);
}

/* The last interval that a controller served ends while none does. */
static void an_interval_is_divided_where_the_service_ended(struct bed *bed, const void *data)
{
	use_unreported(bed);
	start_again(bed);
	report(bed, CLUSTER_A, 1300, NULL, PROVISIONAL_UJ + 300);
	assert_used(bed, 0, PROVISIONAL_UJ);
	assert_ledger(bed, PROVISIONAL_UJ, PROVISIONAL_UJ + 300);
}

/* A late report of the time before replaces its part, and tasks get theirs. */
static void late_reports_replace_provisional_energy(struct bed *bed, const void *data)
{
	use_unreported(bed);
	start_again(bed);
	report(bed, CLUSTER_A, AGE_S - 5, "test-1-0-1", 1500);
	assert_used(bed, 0, PROVISIONAL_UJ);
	assert_ledger(bed, 1500, 1500);
	g_assert_cmpint(ledger_task_uj(bed->service.ledger, 0), ==, 1500);
	report(bed, CLUSTER_A, 1300, NULL, PROVISIONAL_UJ - 1500);
	assert_used(bed, 0, PROVISIONAL_UJ);
}

static void provisional_energy_outlasts_its_counter(struct bed *bed, const void *data)
{
	use_unreported(bed);
	start_again(bed);
	bed->counters[CLUSTER_A] = 10;
	report(bed, CLUSTER_A, 1300, NULL, 7);
	assert_used(bed, 0, PROVISIONAL_UJ);
	assert_ledger(bed, PROVISIONAL_UJ, PROVISIONAL_UJ + 7);
}

/*
 * The local scheduler lost its state 6 s before the service ended, to which it did not get through:
 * what its new counter reports of these seconds replaces what was expected of them.
 */
static void a_new_counter_replaces_provisional_energy(struct bed *bed, const void *data)
{
	use_unreported(bed);
	start_again(bed);
	bed->counters[CLUSTER_A] = 10;
	report(bed, CLUSTER_A, AGE_S - 5, "test-1-0-1", 7);
	assert_used(bed, 0, PROVISIONAL_UJ);
	/* Of 4 of 10 s nothing is reported, and one is. */
	assert_ledger(bed, PROVISIONAL_UJ * 4 / 10 + 7, PROVISIONAL_UJ * 4 / 10 + 7);
	start_again(bed);
	assert_used(bed, 0, PROVISIONAL_UJ);
	/* The next second has more than was expected of the rest. */
	report(bed, CLUSTER_A, AGE_S - 4, "test-1-0-1", 3000);
	assert_used(bed, 0, PROVISIONAL_UJ * 4 / 10 + 3007);
	report(bed, CLUSTER_A, AGE_S + 300, NULL, 11);
	assert_used(bed, 0, PROVISIONAL_UJ * 4 / 10 + 3007);
	assert_ledger(bed, PROVISIONAL_UJ * 4 / 10 + 3007, PROVISIONAL_UJ * 4 / 10 + 3018);
}

/* The service dies after reports that came since it was recorded last. */
static void reports_since_the_last_record_replace_it(struct bed *bed, const void *data)
{
	use_unreported(bed);
	keep(bed);
	report(bed, CLUSTER_A, AGE_S - 9, "test-1-0-1", 1500);
	start(bed);
	assert_used(bed, 0, PROVISIONAL_UJ);
	assert_ledger(bed, 1500, 1500);
	/* Also where the counter began again meanwhile. */
	keep(bed);
	bed->counters[CLUSTER_A] = 10;
	report(bed, CLUSTER_A, AGE_S - 8, "test-1-0-1", 500);
	start(bed);
	assert_used(bed, 0, PROVISIONAL_UJ);
	assert_ledger(bed, 2000, 2000);
}

/* 1 mW of the host is idle: 10 mJ in 10 s. */
#define IDLE_W 1e-3

static void draw_idle(struct bed *bed)
{
	meter_of(bed, CLUSTER_A)->idle_w = IDLE_W;
}

/* Its host stays away, for the second service, too. */
static void provisional_energy_does_not_melt(struct bed *bed, const void *data)
{
	use_unreported_of(bed, 40000);
	draw_idle(bed);
	assert_used(bed, 0, 30000);
	for (int i = 0; i < 3; i++) {
		start_again(bed);
		draw_idle(bed);
		assert_used(bed, 0, 30000);
	}
	for (int i = 9; i >= 5; i--) {
		report(bed, CLUSTER_A, AGE_S - i, "test-1-0-1", 2600);
		assert_used(bed, 0, 30000);
	}
	report(bed, CLUSTER_A, AGE_S + 1300, NULL, 40000 - 13000 + 500);
	assert_used(bed, 0, 30000);
	assert_ledger(bed, 30000, 40500);
}

/* Its meter counts for some seconds of the second service, which reports nothing either. */
static void provisional_energy_grows_by_what_is_counted(struct bed *bed, const void *data)
{
	struct remote_meter *of;
	struct wire_sample sample;

	use_unreported_of(bed, 40000);
	draw_idle(bed);
	start_again(bed);
	draw_idle(bed);
	of = meter_of(bed, CLUSTER_A);
	sample = (struct wire_sample){.t_ns = clock_now_ns() - 4 * S, .energy_uj = 90000};
	remote_meter_start(of, sample.t_ns, IDLE_W);
	bed->service.served_s -= 4;
	g_assert_true(remote_meter_add(of, &sample));
	sample.t_ns += 4 * S;
	sample.energy_uj += 9000;
	g_assert_true(remote_meter_add(of, &sample));
	assert_used(bed, 0, 35000);
	start_again(bed);
	draw_idle(bed);
	assert_used(bed, 0, 35000);
}

/* "ha" has no account yet; its meter has counted for 10 s, and the service is started again. */
static void use_no_account(struct bed *bed)
{
	struct remote_meter *of = meter_of(bed, CLUSTER_A);
	struct wire_sample sample = {.t_ns = bed->session.t0_ns + (AGE_S - 10) * S,
				     .energy_uj = 5000};

	remote_meter_start(of, sample.t_ns, 0);
	g_assert_true(remote_meter_add(of, &sample));
	sample.t_ns += 10 * S;
	sample.energy_uj += PROVISIONAL_UJ;
	g_assert_true(remote_meter_add(of, &sample));
	bed->session.go_on = true;
	bed_begin(bed);
	assert_used(bed, 0, PROVISIONAL_UJ);
	start_again(bed);
}

static void provisional_energy_comes_before_an_account(struct bed *bed, const void *data)
{
	use_no_account(bed);
	assert_used(bed, 0, PROVISIONAL_UJ);
	start_again(bed);
	assert_used(bed, 0, PROVISIONAL_UJ);
	bed->counters[CLUSTER_A] = 5000 + PROVISIONAL_UJ + 200;
	report(bed, CLUSTER_A, 1300, NULL, 100);
	assert_used(bed, 0, PROVISIONAL_UJ);
	assert_ledger(bed, PROVISIONAL_UJ, PROVISIONAL_UJ + 100);
	start_again(bed);
	assert_used(bed, 0, PROVISIONAL_UJ);
	assert_ledger(bed, PROVISIONAL_UJ, PROVISIONAL_UJ + 100);
	report(bed, CLUSTER_A, 1301, NULL, 50);
	assert_ledger(bed, PROVISIONAL_UJ, PROVISIONAL_UJ + 150);
}

/* What is late is of the sixth second; what was before the 10 s does not count. */
static void late_reports_open_an_account(struct bed *bed, const void *data)
{
	use_no_account(bed);
	bed->counters[CLUSTER_A] = 3000;
	report(bed, CLUSTER_A, AGE_S - 15, "test-1-0-1", 10);
	assert_used(bed, 0, PROVISIONAL_UJ);
	assert_ledger(bed, 0, 0);
	report(bed, CLUSTER_A, AGE_S - 4, "test-1-0-1", 1300);
	assert_used(bed, 0, PROVISIONAL_UJ);
	assert_ledger(bed, PROVISIONAL_UJ / 2 + 1300, PROVISIONAL_UJ / 2 + 1300);
	g_assert_cmpint(ledger_task_uj(bed->service.ledger, 0), ==, 1300);
}

/* The service was recorded at AGE_S with this provisional energy, and is started again. */
static void start_with(struct bed *bed, const char *provisional)
{
	g_autofree char *boot_id = clock_boot_id();
	g_autofree char *text =
		g_strdup_printf("{\"time_s\": %d, \"at_ns\": %" PRId64
				", \"boot_id\": \"%s\", \"samples_seq\": [],"
				" \"unreported\": [%s]}",
				AGE_S, bed->session.t0_ns + AGE_S * S, boot_id, provisional);

	bed->service.row.t0_ns = bed->session.t0_ns;
	g_assert_true(store_set_meta(bed->session.store, STORE_SERVICE_ACCOUNT, text, NULL));
	start(bed);
}

/* 4,000 uJ until the first service ended, and 1,000 of 10 s of a second one. */
static void use_two_services(struct bed *bed)
{
	const struct store_account_meter account = {
		.run = bed->service.row.run,
		.host = (char *)"ha",
		.cluster = (char *)"a",
		.begin_uj = 5000,
		.at_uj = 5000,
		.at_s = AGE_S - 10,
		.stream = (char *)"old",
	};

	bed_begin(bed);
	g_assert_true(store_put_account_meter(bed->session.store, &account, NULL));
	start_with(bed, "{\"host\": \"ha\", \"n\": 0, \"at_s\": 990, \"span\":"
			" {\"from_s\": 990, \"until_s\": 1000, \"uj\": 4000}},"
			"{\"host\": \"ha\", \"n\": 0, \"at_s\": 990, \"span\":"
			" {\"from_s\": 1400, \"until_s\": 1410, \"uj\": 1000}}");
}

/*
 * The first report that is left is of the second service: the host drew 10 uW between the two, and
 * after that.
 */
static void time_between_two_services_is_not_served(struct bed *bed, const void *data)
{
	use_two_services(bed);
	assert_used(bed, 0, 5000);
	bed->counters[CLUSTER_A] = 5000 + PROVISIONAL_UJ + 404 * 10;
	report(bed, CLUSTER_A, 1405, NULL, 7);
	assert_used(bed, 0, 5000);
	assert_ledger(bed, PROVISIONAL_UJ + 40 + 7, PROVISIONAL_UJ + 4040 + 7);
}

/* "hz", not configured any more, has an account, and 40 mJ of 10 s, of which 10 are idle. */
static void use_departed(struct bed *bed)
{
	const struct store_account_meter account = {
		.run = bed->service.row.run,
		.host = (char *)"hz",
		.cluster = (char *)"a",
		.begin_uj = 7000,
		.at_uj = 7000,
		.at_s = AGE_S - 10,
		.stream = (char *)"old",
	};
	g_autofree char *key = g_strdup_printf("run.%" PRId64 ".baseline", bed->service.row.run);

	bed_begin(bed);
	g_assert_true(store_put_account_meter(bed->session.store, &account, NULL));
	g_assert_true(store_set_meta(bed->session.store, key,
				     "{\"hosts\": [{\"host\": \"hz\", \"idle_w\": 1e-3}]}", NULL));
	start_with(bed, "{\"host\": \"hz\", \"n\": 0, \"at_s\": 990, \"span\":"
			" {\"from_s\": 990, \"until_s\": 1000, \"uj\": 40000}}");
}

/* The service is started with a configuration without its host. */
static void provisional_energy_outlasts_its_host(struct bed *bed, const void *data)
{
	use_departed(bed);
	assert_used(bed, 0, 30000);
	assert_used(bed, AGE_S - 5, 15000);
	start_again(bed);
	assert_used(bed, 0, 30000);
}

static void a_new_window_has_no_provisional_energy(struct bed *bed, const void *data)
{
	use_unreported(bed);
	start_again(bed);
	assert_used(bed, AGE_S + 100, 0);
	report(bed, CLUSTER_A, 1300, NULL, PROVISIONAL_UJ);
	assert_used(bed, AGE_S + 100, 0);
}

/* A window's energy by the ledger, as the store has it. */
static void assert_window(struct bed *bed, double begin_s, double uj)
{
	g_autoptr(GError) error = NULL;
	double used_j;

	g_assert_true(
		run_service_used_until(&bed->service, begin_s, clock_now_ns(), &used_j, &error));
	g_assert_no_error(error);
	g_assert_cmpfloat(fabs(used_j * 1e6 - uj), <, 2);
	assert_used(bed, begin_s, uj);
}

/* An interval that a window begins in is divided, now and after a restart. */
static void a_window_has_its_part_of_intervals(struct bed *bed, const void *data)
{
	bed_begin(bed);
	report(bed, CLUSTER_A, 2000, "test-1-0-1", 100);
	assert_window(bed, 1999.5, 50);
	report(bed, CLUSTER_A, 2001, NULL, 30);
	assert_window(bed, 1999.5, 80);
	report(bed, CLUSTER_B, 2000, NULL, 20);
	assert_window(bed, 1999.5, 90);
	assert_window(bed, 2000.5, 15);
	report(bed, CLUSTER_B, 2001, NULL, 4);
	assert_window(bed, 2000.5, 17);
}

/* What a meter estimates where its counter begins again is no energy of the ledger. */
static void a_window_follows_the_ledger(struct bed *bed, const void *data)
{
	struct remote_meter *of = meter_of(bed, CLUSTER_A);
	struct wire_sample sample = {.energy_uj = 50};

	use_unreported(bed);
	assert_window(bed, 0, PROVISIONAL_UJ);
	/* The counter begins again: the meter guesses, the account does not. */
	sample.t_ns = clock_now_ns();
	remote_meter_rebase(of);
	g_assert_true(remote_meter_add(of, &sample));
	bed->counters[CLUSTER_A] = 0;
	report(bed, CLUSTER_A, AGE_S, NULL, 50);
	assert_window(bed, 0, 50);
}

/* Its local scheduler lost its state, with what its samples had shown and no report had brought. */
static void what_a_former_counter_counted_stays(struct bed *bed, const void *data)
{
	struct wire_sample sample = {.t_ns = bed->session.t0_ns + (AGE_S + 4) * S, .energy_uj = 50};

	use_unreported(bed);
	remote_meter_rebase(meter_of(bed, CLUSTER_A));
	g_assert_true(remote_meter_add(meter_of(bed, CLUSTER_A), &sample));
	bed->counters[CLUSTER_A] = 50;
	report(bed, CLUSTER_A, AGE_S + 5, NULL, 7);
	assert_used(bed, 0, PROVISIONAL_UJ + 7);
	assert_ledger(bed, PROVISIONAL_UJ + 7, PROVISIONAL_UJ + 7);
}

/* A controller died soon after its start: the next one reads samples of the time before, too. */
static void samples_of_unserved_time_do_not_count(struct bed *bed, const void *data)
{
	struct wire_sample sample = {.energy_uj = 5000};

	use_unreported(bed);
	keep(bed);
	start(bed);
	bed_close(bed);
	bed_open(bed);
	bed->session.go_on = true;
	remote_meter_start(meter_of(bed, CLUSTER_A), bed->session.t0_ns + AGE_S * S, 0);
	for (int64_t s = AGE_S; s <= AGE_S + 500; s += 250) {
		sample.t_ns = bed->session.t0_ns + s * S;
		sample.energy_uj += 1000;
		g_assert_true(remote_meter_add(meter_of(bed, CLUSTER_A), &sample));
	}
	bed_begin(bed);
	assert_used(bed, 0, 0);
}

/* An older version recorded 9,000 uJ of the window since AGE_S - 500; 1,500 of them are known. */
static void use_older_store(struct bed *bed)
{
	g_autofree char *boot_id = clock_boot_id();
	g_autofree char *text = g_strdup_printf(
		"{\"time_s\": %d, \"at_ns\": %" G_GINT64_FORMAT ", \"boot_id\": \"%s\","
		" \"samples_seq\": [0, 0, 0], \"window_begin_s\": %d, \"window_spent_j\": 9e-3}",
		AGE_S, bed->session.t0_ns + AGE_S * S, boot_id, AGE_S - 500);
	g_autoptr(GError) error = NULL;

	bed_begin(bed);
	bed->service.row.t0_ns = bed->session.t0_ns;
	bed->service.served_s = 0;
	report(bed, CLUSTER_A, AGE_S - 10, "test-1-0-1", 1500);
	g_assert_true(store_set_meta(bed->session.store, STORE_SERVICE_ACCOUNT, text, &error));
	g_assert_no_error(error);
	start(bed);
}

static void a_window_of_an_older_version_goes_on(struct bed *bed, const void *data)
{
	use_older_store(bed);
	assert_used(bed, AGE_S - 500, 9000);
	assert_window(bed, AGE_S - 500, 9000);
	assert_window(bed, AGE_S + 1000, 0); /* the next one */
	assert_ledger(bed, 1500, 1500);
	/* A late report replaces some of it, and what is new is added. */
	report(bed, CLUSTER_A, AGE_S - 9, "test-1-0-1", 300);
	start_again(bed);
	assert_used(bed, AGE_S - 500, 9000);
	report(bed, CLUSTER_A, AGE_S + 2000, NULL, 70);
	start_again(bed);
	assert_used(bed, AGE_S - 500, 9070);
	assert_ledger(bed, 1870, 1870);
}

/* Nothing of it is kept, once a controller is started in a later window. */
static void a_window_of_an_older_version_ends(struct bed *bed, const void *data)
{
	const struct ledger_older *older;

	use_older_store(bed);
	start_again(bed);
	older = ledger_older(bed->service.ledger);
	g_assert_cmpint(older->uj, ==, 7500);
	bed->service.config.energy_window_s = 10;
	start_again(bed);
	older = ledger_older(bed->service.ledger);
	g_assert_cmpint(older->uj, ==, 0);
	bed->service.config.energy_window_s = 1e9;
	start_again(bed);
	assert_used(bed, AGE_S - 500, 1500);
}

/* A limit of a window of decades, which has begun before the run. */
static void begin_window(struct bed *bed, double limit_uj)
{
	g_autoptr(GError) error = NULL;

	bed->service.config.energy_limit_j = limit_uj * 1e-6;
	bed->service.config.energy_window_s = 1e9;
	g_assert_true(run_service_limit_begin(&bed->service, &error));
	g_assert_no_error(error);
}

/* What the engine holds the limit against, a second later. */
static void assert_spent(struct bed *bed, double uj, bool exhausted)
{
	g_autoptr(GError) error = NULL;
	struct engine_window_state state;

	g_assert_true(run_service_limit_tick(&bed->service, &error));
	g_assert_no_error(error);
	state = engine_window_now(bed->service.engine);
	assert_about(state.spent_j * 1e6, uj);
	g_assert_true(state.exhausted == exhausted);
}

/* The host "hb" says nothing at all; "ha" counts on. */
static void a_silent_host_keeps_nobody_from_counting(struct bed *bed, const void *data)
{
	struct wire_sample sample = {.energy_uj = 5000 + PROVISIONAL_UJ + 2000};

	use_unreported(bed);
	begin_window(bed, 100000);
	assert_spent(bed, PROVISIONAL_UJ, false);
	sample.t_ns = clock_now_ns();
	g_assert_true(remote_meter_add(meter_of(bed, CLUSTER_A), &sample));
	assert_spent(bed, PROVISIONAL_UJ + 2000, false);
	/* The next service has both hosts silent at first, and then "hb". */
	start_again(bed);
	begin_window(bed, 100000);
	assert_spent(bed, PROVISIONAL_UJ + 2000, false);
	report(bed, CLUSTER_A, 1300, NULL, PROVISIONAL_UJ + 2000 + 500);
	report(bed, CLUSTER_A, 1601, NULL, 300);
	assert_spent(bed, PROVISIONAL_UJ + 2300, false);
}

/* By the account, which has a new counter where the meter guessed. */
static void a_window_has_energy_again(struct bed *bed, const void *data)
{
	struct wire_sample sample = {.energy_uj = 50};

	use_unreported(bed);
	begin_window(bed, 3000);
	assert_spent(bed, PROVISIONAL_UJ, true);
	sample.t_ns = clock_now_ns();
	remote_meter_rebase(meter_of(bed, CLUSTER_A));
	g_assert_true(remote_meter_add(meter_of(bed, CLUSTER_A), &sample));
	bed->counters[CLUSTER_A] = 0;
	report(bed, CLUSTER_A, AGE_S, NULL, 50);
	assert_spent(bed, 50, false);
}

/* Nothing is known of the 10 s before the first sample, but for the last of them. */
static void a_first_sample_tells_of_some_intervals(struct bed *bed, const void *data)
{
	const struct store_account_meter account = {
		.run = bed->service.row.run,
		.host = (char *)"ha",
		.cluster = (char *)"a",
		.at_s = AGE_S - 10,
		.stream = (char *)"old",
	};
	struct wire_sample sample = {.t_ns = bed->session.t0_ns + AGE_S * S, .mw = 1000};

	g_assert_true(store_put_account_meter(bed->session.store, &account, NULL));
	remote_meter_start(meter_of(bed, CLUSTER_A), bed->session.t0_ns, 0);
	g_assert_true(remote_meter_add(meter_of(bed, CLUSTER_A), &sample));
	bed->session.go_on = true;
	bed_begin(bed);
	sample.t_ns = clock_now_ns();
	sample.energy_uj = 100;
	sample.mw = 0;
	g_assert_true(remote_meter_add(meter_of(bed, CLUSTER_A), &sample));
	assert_used(bed, 0, 3e6 + 100);
}

/* The samples since the last report are more than are kept. */
static void discarded_samples_still_count(struct bed *bed, const void *data)
{
	struct remote_meter *of = meter_of(bed, CLUSTER_A);
	struct wire_sample sample = {.energy_uj = 5000};
	int64_t from_ns;

	use_unreported(bed);
	remote_meter_start(of, bed->session.t0_ns + (AGE_S - 10) * S, 0);
	from_ns = bed->session.t0_ns + AGE_S * S;
	sample.energy_uj += PROVISIONAL_UJ;
	for (guint i = 1; i <= 3 * of->kept; i++) {
		sample.t_ns = from_ns + i;
		sample.energy_uj += 1;
		g_assert_true(remote_meter_add(of, &sample));
	}
	g_assert_cmpint(g_array_index(of->samples, struct wire_sample, 0).t_ns, >, from_ns);
	assert_used(bed, 0, PROVISIONAL_UJ + 3.0 * of->kept);
}

static const struct {
	const char *path;
	void (*test)(struct bed *bed, const void *data);
} tests[] = {
	{"/service-ledger/final", energy_is_final_beyond_the_end},
	{"/service-ledger/lost", a_lost_attempt_is_waited_for},
	{"/service-ledger/lost-and-cancelled", a_lost_attempt_is_recalled},
	{"/service-ledger/no-meter", a_place_without_meters_is_not_waited_for},
	{"/service-ledger/no-meter-at-the-end", an_end_without_meters_is_final},
	{"/service-ledger/recalled", kinds_are_recalled},
	{"/service-ledger/older", older_figures_stay},
	{"/service-ledger/provisional", provisional_energy_outlasts_a_restart},
	{"/service-ledger/divided", an_interval_is_divided_where_the_service_ended},
	{"/service-ledger/late", late_reports_replace_provisional_energy},
	{"/service-ledger/counter", provisional_energy_outlasts_its_counter},
	{"/service-ledger/new-counter", a_new_counter_replaces_provisional_energy},
	{"/service-ledger/died", reports_since_the_last_record_replace_it},
	{"/service-ledger/away", provisional_energy_does_not_melt},
	{"/service-ledger/grows", provisional_energy_grows_by_what_is_counted},
	{"/service-ledger/live-new-counter", what_a_former_counter_counted_stays},
	{"/service-ledger/unserved", samples_of_unserved_time_do_not_count},
	{"/service-ledger/part", a_window_has_its_part_of_intervals},
	{"/service-ledger/follows", a_window_follows_the_ledger},
	{"/service-ledger/older-window", a_window_of_an_older_version_goes_on},
	{"/service-ledger/older-window-ends", a_window_of_an_older_version_ends},
	{"/service-ledger/silent", a_silent_host_keeps_nobody_from_counting},
	{"/service-ledger/energy-again", a_window_has_energy_again},
	{"/service-ledger/first-sample", a_first_sample_tells_of_some_intervals},
	{"/service-ledger/discarded", discarded_samples_still_count},
	{"/service-ledger/no-account", provisional_energy_comes_before_an_account},
	{"/service-ledger/no-account-late", late_reports_open_an_account},
	{"/service-ledger/between", time_between_two_services_is_not_served},
	{"/service-ledger/departed", provisional_energy_outlasts_its_host},
	{"/service-ledger/window", a_new_window_has_no_provisional_energy},
};

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (gsize i = 0; i < G_N_ELEMENTS(tests); i++)
		g_test_add(tests[i].path, struct bed, NULL, bed_set_up, tests[i].test,
			   bed_tear_down);
	return g_test_run();
}
