/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fixture.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>

#include "common/random.h"
#include "controller/store/store.h"

/* The paper's order: EASY last; under a limit UPE and Event-Based ahead of UPR. */
const struct fixture_cell fixture_paper[] = {
	{"easy", 1, 80, 2, 9000},
	{"max-upr", 1, 100, 2, 9900},
	{"max-upe", 1, 99, 2, 9000},
	{"event-based", 1, 101, 2, 9800},
	{"easy", 0.7, 55, 2, 7000},
	{"max-upr", 0.7, 75, 2, 7000},
	{"max-upe", 0.7, 85, 2, 7000},
	{"event-based", 0.7, 84, 2, 7000},
	{NULL},
};

/* The same but for EASY, which comes first when energy is short. */
const struct fixture_cell fixture_turned[] = {
	{"easy", 1, 80, 2, 9000},
	{"max-upr", 1, 100, 2, 9900},
	{"max-upe", 1, 99, 2, 9000},
	{"event-based", 1, 101, 2, 9800},
	{"easy", 0.7, 95, 2, 7000},
	{"max-upr", 0.7, 75, 2, 7000},
	{"max-upe", 0.7, 85, 2, 7000},
	{"event-based", 0.7, 84, 2, 7000},
	{NULL},
};

/* Differences that drown in the deviation. */
const struct fixture_cell fixture_noisy[] = {
	{"easy", 1, 99, 15, 9000},
	{"max-upr", 1, 100, 15, 9900},
	{"max-upe", 1, 99, 15, 9000},
	{"event-based", 1, 101, 15, 9800},
	{NULL},
};

/* Standard normal by Box and Muller. */
static double normal(struct random_stream *random)
{
	double u = 1 - random_stream_uniform(random);

	return sqrt(-2 * log(u)) * cos(2 * G_PI * random_stream_uniform(random));
}

static void good(bool done, GError **error)
{
	g_assert_no_error(*error);
	g_assert_true(done);
}

/*
 * Tasks whose utilities go up and down around their share of the run's: what one policy earns from
 * a task another earns from a different one.
 */
static void put_tasks(struct store *store, const struct fixture *fixture,
		      const struct store_run *run, struct random_stream *random)
{
	g_autoptr(GError) error = NULL;
	double carry = 0;

	for (uint32_t i = 0; i < fixture->tasks; i++) {
		double wobble = i + 1 < fixture->tasks ? 0.5 * normal(random) : 0;
		struct store_task task = {
			.run = run->run,
			.task = i,
			.type = (char *)"IS.2",
			.arrival_s = 2.0 * i,
			.utility_max = 4,
			.state = (char *)"completed",
			.cluster = (char *)(i % 2 ? "c2" : "c1"),
			.nodes = (char *)"0",
			.attempts = 1,
			.planned_start_s = NAN,
			.started_s = 2.0 * i,
			.ended_s = 2.0 * i + 5,
			.etc_s = 5,
			.energy_j = 10,
			.eec_j = 10,
			.exec_s = 5 * fixture->ratio * (1 + 0.02 * normal(random)),
			.utility = run->utility / fixture->tasks + wobble - carry,
		};

		carry = wobble;
		good(store_put_task(store, &task, &error), &error);
	}
}

static void put_run(struct store *store, const struct fixture *fixture,
		    const struct fixture_cell *cell, uint32_t repeat, struct random_stream *random)
{
	g_autoptr(GError) error = NULL;
	struct store_run run = {
		.policy = (char *)cell->policy,
		.limit = cell->limit,
		.limit_j = 1e4 * cell->limit,
		.repeat = repeat,
		.seed = 1,
		.measured = fixture->measured,
		.ended_by = (char *)(cell->limit < 1 ? "limit" : "time"),
		.ended_s = 70,
		.utility = cell->utility + cell->spread * normal(random),
		.energy_j = cell->energy_j,
		.idle_w = 240,
		.host_load = fixture->measured ? 1.5 : NAN,
		.tasks_arrived = 40,
		.tasks_completed = 30,
		.tasks_dropped = 5,
	};

	good(store_add_run(store, &run, &error), &error);
	put_tasks(store, fixture, &run, random);
}

static void put_meta(struct store *store, const struct fixture *fixture)
{
	static const char *const measured[][2] = {
		{"kind", "measured"},         {"virt_type", "qemu"},
		{"cpu_cap", "quota"},         {"config_name", "fixture"},
		{"modelled_watts", "true"},   {"cluster_order", "c1,c2"},
		{"profile_host_load", "1.4"},
	};
	g_autoptr(GError) error = NULL;

	good(store_set_meta(store, "ended_utc", "2026-01-01T00:00:00Z", &error), &error);
	if (!fixture->measured) {
		good(store_set_meta(store, "kind", "simulated", &error), &error);
		return;
	}
	for (gsize i = 0; i < G_N_ELEMENTS(measured); i++)
		good(store_set_meta(store, measured[i][0], measured[i][1], &error), &error);
	if (fixture->capabilities)
		good(store_set_meta(store, "capabilities", fixture->capabilities, &error), &error);
	if (fixture->unmeasured)
		good(store_set_meta(store, "unmeasured", fixture->unmeasured, &error), &error);
	if (fixture->speed_changes)
		good(store_set_meta(store, "speed_changes", fixture->speed_changes, &error),
		     &error);
}

void fixture_write(const struct fixture *fixture, const char *dir)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(store_t) store = store_open(dir, true, &error);
	struct random_stream random;

	g_assert_no_error(error);
	random_stream_init(&random, fixture->seed, fixture->measured);
	good(store_begin(store, &error), &error);
	put_meta(store, fixture);
	for (uint32_t repeat = 1; repeat <= fixture->runs; repeat++)
		for (const struct fixture_cell *cell = fixture->cells; cell->policy; cell++)
			put_run(store, fixture, cell, repeat, &random);
	good(store_commit(store, &error), &error);
}

char *fixture_new(const struct fixture *fixture)
{
	g_autoptr(GError) error = NULL;
	char *dir = g_dir_make_tmp("virtbed-report-XXXXXX", &error);

	g_assert_no_error(error);
	fixture_write(fixture, dir);
	return dir;
}

static void remove_tree(const char *path)
{
	g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
	const char *name;

	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *child = g_build_filename(path, name, NULL);

		if (g_file_test(child, G_FILE_TEST_IS_DIR))
			remove_tree(child);
		else
			g_unlink(child);
	}
	g_rmdir(path);
}

void fixture_remove(char *dir)
{
	remove_tree(dir);
	g_free(dir);
}
