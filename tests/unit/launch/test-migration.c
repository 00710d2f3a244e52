/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <string.h>

#include "common/json.h"
#include "common/platform.h"
#include "local-sched/launch/migration_step.h"
#include "local-sched/launch/task.h"
#include "tests/unit/fsm_page.h"

#define DONE MIGRATION_EVENT_DONE
#define FAIL MIGRATION_EVENT_FAIL
#define ABORT MIGRATION_EVENT_ABORT
#define LIMIT MIGRATION_EVENT_LIMIT

#define REQUEST                                                                                        \
	"{\"type\": \"T\", \"benchmark\": \"is\", \"class\": \"S\", \"ranks\": 2, \"repetitions\": 1," \
	" \"nodes\": [0, 1], \"deadline_s\": 60}"

static const char intro[] =
	"# Steps of a migration\n"
	"\n"
	"This page is for people who change a local scheduler. It is generated from the table in\n"
	"`local-sched/launch/migration_step.c`; a test compares them:\n"
	"\n"
	"    cd build/tests/unit/launch\n"
	"    ./test-launch-migration print >../../../../docs/reference/migration-steps.md\n"
	"\n"
	"These are the steps by which VMs of a running task are brought to other nodes; what each does is\n"
	"in `migration_step.h`. `done` and `fail`: the step has succeeded for all VMs that move, or failed\n"
	"for one. `abort`: the task ends. `limit`: the step exceeds its limit. In `lost` the VMs have to be\n"
	"removed.\n";

static const struct fsm_page page = {
	.file = "migration-steps.md",
	.intro = intro,
	.fsm = &migration_step_fsm,
	.ends = UINT32_C(1) << MIGRATION_LOST,
};

/* What may come of a request: a start, events, and where they lead. */
static const struct {
	const char *name;
	enum migration_step start;
	enum migration_event events[8];
	int count;
	enum migration_step end;
} lives[] = {
	{"all-go",
	 MIGRATION_IDLE,
	 {MIGRATION_EVENT_START, DONE, DONE, DONE, DONE, DONE, DONE},
	 7,
	 MIGRATION_IDLE},
	{"one-that-fails-is-looked-for", MIGRATION_MOVING, {FAIL}, 1, MIGRATION_LOCATING},
	{"so-is-one-that-takes-too-long", MIGRATION_MOVING, {LIMIT}, 1, MIGRATION_LOCATING},
	{"the-others-go-on-where-they-are",
	 MIGRATION_MOVING,
	 {FAIL, DONE, DONE, DONE, DONE, DONE},
	 6,
	 MIGRATION_IDLE},
	{"one-that-is-nowhere-loses-the-task", MIGRATION_MOVING, {FAIL, FAIL}, 2, MIGRATION_LOST},
	{"so-does-one-without-its-cap", MIGRATION_PLACING, {FAIL}, 1, MIGRATION_LOST},
	{"a-late-clock-does-not-matter", MIGRATION_CLOCKING, {FAIL}, 1, MIGRATION_LEAVING},
	{"ranks-that-always-talk-stay", MIGRATION_QUIETING, {LIMIT}, 1, MIGRATION_IDLE},
	{"a-task-may-end-before-it-begins", MIGRATION_QUIETING, {ABORT}, 1, MIGRATION_IDLE},
	{"and-while-clocks-are-set", MIGRATION_CLOCKING, {ABORT}, 1, MIGRATION_IDLE},
	{"and-while-nodes-are-left", MIGRATION_LEAVING, {ABORT}, 1, MIGRATION_IDLE},
	{"what-moves-comes-to-its-end",
	 MIGRATION_MOVING,
	 {ABORT, MIGRATION_EVENT_START},
	 2,
	 MIGRATION_MOVING},
	{"late-events-mean-nothing", MIGRATION_IDLE, {DONE, FAIL, ABORT, LIMIT}, 4, MIGRATION_IDLE},
	{"nothing-follows-a-loss", MIGRATION_LOST, {DONE, FAIL, ABORT, LIMIT}, 4, MIGRATION_LOST},
};

static void test_life(gconstpointer data)
{
	size_t i = (size_t)GPOINTER_TO_UINT(data);
	guint step = lives[i].start;

	for (int e = 0; e < lives[i].count; e++)
		fsm_move(&migration_step_fsm, &step, lives[i].events[e], "test");
	g_assert_cmpstr(migration_step_fsm.state_names[step], ==,
			migration_step_fsm.state_names[lives[i].end]);
}

/* Every step in which hosts are asked comes to an end, and guests are left alone in them. */
static void test_steps(void)
{
	for (guint step = 0; step < MIGRATION_STEPS; step++) {
		const bool limited = vm_step_limit_s(&migration_steps, step, 15) > 0;
		guint next = step;

		g_assert_cmpint(fsm_move(&migration_step_fsm, &next, LIMIT, "test"), ==, limited);
	}
	g_assert_cmpuint(vm_step_limit_s(&migration_steps, MIGRATION_QUIETING, 75), ==, 150);
	g_assert_cmpuint(vm_step_limit_s(&migration_steps, MIGRATION_CLOCKING, 75), ==, 150);
	g_assert_cmpuint(vm_step_limit_s(&migration_steps, MIGRATION_PLACING, 75), ==, 60);
	g_assert_false(migration_steps.steps[MIGRATION_IDLE].holds);
	g_assert_false(migration_steps.steps[MIGRATION_QUIETING].holds);
	g_assert_true(migration_steps.steps[MIGRATION_MOVING].holds);
	g_assert_true(migration_steps.steps[MIGRATION_PLACING].holds);
	g_assert_false(migration_steps.steps[MIGRATION_CLOCKING].holds);
	g_assert_false(migration_steps.steps[MIGRATION_LEAVING].holds);
}

static struct task *new_task(void)
{
	g_autoptr(json_t) body = json_loads(REQUEST, 0, NULL);

	return task_parse_request("t", body, 4, 1, NULL);
}

/* The second VM goes from node 1 to `to`. */
static struct task_migration *move(struct task *task, uint32_t n, uint32_t to, bool moved)
{
	const uint32_t *from = task_placed(task);
	const uint32_t nodes[] = {from[0], to};
	struct task_migration *migration = task_migration_new(n, from, nodes, 2, 5);

	migration->vms[1].from_host = g_strdup("b1");
	migration->vms[1].to_host = g_strdup("b2");
	migration->vms[1].total_ns = 7;
	migration->vms[1].downtime_ns = 0;
	task_migration_set_moved(migration, 1, moved);
	migration->moved_ns = 10 * (int64_t)n;
	migration->settled_ns = 10 * (int64_t)n + 1;
	g_ptr_array_add(task->migrations, migration);
	return migration;
}

static void test_tells_where_it_is(void)
{
	g_autoptr(task_t) task = new_task();
	struct task_suspension *suspension;
	const uint32_t resumed[] = {1, 2};

	move(task, 1, 3, true)->moved_ns = 0;
	g_assert_cmpuint(task_placed(task)[1], ==, 1); /* on its way */
	g_assert_false(task_is_migrating(task));
	task_last_migration(task)->settled_ns = 0;
	g_assert_true(task_is_migrating(task));
	task_last_migration(task)->moved_ns = 10;
	g_assert_cmpuint(task_placed(task)[0], ==, 0);
	g_assert_cmpuint(task_placed(task)[1], ==, 3);
	move(task, 2, 2, false);
	g_assert_cmpuint(task_placed(task)[1], ==, 3); /* it failed */
	suspension = task_suspension_new(1, task_placed(task), 2, 21);
	suspension->resumed_nodes = g_memdup2(resumed, sizeof(resumed));
	suspension->running_ns = 25;
	g_ptr_array_add(task->suspensions, suspension);
	g_assert_cmpuint(task_placed(task)[1], ==, 2);
	move(task, 3, 0, true);
	g_assert_cmpuint(task_placed(task)[0], ==, 1);
	g_assert_cmpuint(task_placed(task)[1], ==, 0);
	task->state = TASK_ENDED;
	task_last_migration(task)->settled_ns = 0;
	g_assert_false(task_is_migrating(task));
}

static void test_comes_back_from_the_store(void)
{
	g_autoptr(task_t) task = new_task();
	g_autoptr(json_t) object = NULL;
	g_autoptr(json_t) object_again = NULL;
	g_autofree char *record = NULL;
	g_autofree char *request = task_request_text(task);
	g_autoptr(task_t) again = NULL;

	move(task, 1, 3, true)->attempt = 2;
	move(task, 2, 2, false)->reason = g_strdup("moving: no way");
	object = task_to_json(task, platform_now_ns(&platform_machine));
	record = json_text(object);
	again = task_restore("t", request, record, platform_now_ns(&platform_machine), NULL);
	object_again = task_to_json(again, platform_now_ns(&platform_machine));
	g_assert_true(json_equal(object, object_again));
	g_assert_cmpuint(again->migrations->len, ==, 2);
	g_assert_cmpuint(task_placed(again)[1], ==, 3);
	g_assert_false(task_migration_came_about(task_last_migration(again)));
	g_assert_cmpint(task_last_migration(again)->vms[0].total_ns, ==, -1);
}

int main(int argc, char **argv)
{
	if (fsm_page_print(&page, argc, argv))
		return 0;
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/migration/page-is-the-table", &page, fsm_page_test_stored);
	g_test_add_data_func("/migration/steps-are-reachable-and-have-a-way-out", &page,
			     fsm_page_test_reachable);
	g_test_add_data_func("/migration/rules-are-complete", &page, fsm_page_test_rules);
	g_test_add_data_func("/migration/names-differ", &page, fsm_page_test_names);
	for (size_t i = 0; i < G_N_ELEMENTS(lives); i++) {
		g_autofree char *path = g_strdup_printf("/migration/%s", lives[i].name);

		g_test_add_data_func(path, GUINT_TO_POINTER((guint)i), test_life);
	}
	g_test_add_func("/migration/steps-end-and-leave-guests-alone", test_steps);
	g_test_add_func("/migration/tells-where-it-is", test_tells_where_it_is);
	g_test_add_func("/migration/comes-back-from-the-store", test_comes_back_from_the_store);
	return g_test_run();
}
