/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "controller/sched/policy.h"

#define FIVE_TIMES "+placeholders+placeholders+placeholders+placeholders+placeholders"
#define LONG_NAME "max-upr" FIVE_TIMES FIVE_TIMES FIVE_TIMES FIVE_TIMES

static void test_parse(void)
{
	const struct {
		const char *text;
		const char *ops;           /* NULL: refused */
		enum policy_future future; /* where starts are planned */
		double drop;
		const char *says; /* part of the message */
	} cases[] = {
		{"max-upr", "max-upr", POLICY_FUTURE_PLACEHOLDERS, 0, NULL},
		{"max-upr+reservations", "max-upr", POLICY_FUTURE_RESERVATIONS, 0, NULL},
		{"max-upr+placeholders", "max-upr", POLICY_FUTURE_PLACEHOLDERS, 0, NULL},
		{"max-upe+drop:0.5", "max-upe", POLICY_FUTURE_PLACEHOLDERS, 0.5, NULL},
		{"easy", "easy", POLICY_FUTURE_RESERVATIONS, 0, NULL},
		{"easy+reservations", "easy", POLICY_FUTURE_RESERVATIONS, 0, NULL},
		{"event-based", "event-based", POLICY_FUTURE_PLACEHOLDERS, 0, NULL},
		{"max-upt-preempt-pair", "max-upt-preempt-pair", 0, 0, NULL},
		{"max-util-preempt-diff+drop:0.5", "max-util-preempt-diff", 0, 0.5, NULL},
		{"max-util-preempt-greedy+placeholders", NULL, 0, 0,
		 "does not take \"+placeholders\""},
		{"max-util-preempt-greedy+reservations", NULL, 0, 0,
		 "does not take \"+reservations\""},
		{"max-upt-preempt-greedy+filter:task:2", NULL, 0, 0, "does not take \"+filter\""},
		{"easy+placeholders", NULL, 0, 0, "does not take \"+placeholders\""},
		{"event-based+reservations", NULL, 0, 0, "does not take \"+reservations\""},
		{"", NULL, 0, 0, "known: fcfs easy conservative"},
		{"max", NULL, 0, 0, "unknown policy \"max\""},
		{"MAX-UPR", NULL, 0, 0, "unknown policy"},
		{"max-upr+", NULL, 0, 0, "unknown modifier \"+\""},
		{"max-upr+filter", NULL, 0, 0, "known: +placeholders +reservations"},
		{"max-upr+filter:", NULL, 0, 0, "give +filter:task:LENIENCY"},
		{"max-upr+filter:node:2", NULL, 0, 0, "give +filter:task:LENIENCY"},
		{"max-upr+filter:task:", NULL, 0, 0, "must be a number above 0"},
		{"max-upr+filter:task:0", NULL, 0, 0, "must be a number above 0"},
		{"max-upr+filter:resource:-4", NULL, 0, 0, "must be a number above 0"},
		{"max-upr+filter:resource:inf", NULL, 0, 0, "must be a number above 0"},
		{"max-upr+filter:task:2", "max-upr", POLICY_FUTURE_PLACEHOLDERS, 0, NULL},
		{"easy+filter:resource:4.0+drop:0.5", "easy", POLICY_FUTURE_RESERVATIONS, 0.5,
		 NULL},
		{"max-upr+filter-once", NULL, 0, 0, "+filter-once without a +filter"},
		{"easy+reserve-now", "easy", POLICY_FUTURE_RESERVATIONS, 0, NULL},
		{"max-upr+reserve-now+reservations", "max-upr", POLICY_FUTURE_RESERVATIONS, 0,
		 NULL},
		{"fcfs+reserve-now", NULL, 0, 0, "+reserve-now without reservations"},
		{"max-upt-preempt-pair+reserve-now", NULL, 0, 0,
		 "+reserve-now without reservations"},
		{"easy+reserve-now+reserve-now", NULL, 0, 0, "does not go with"},
		{"max-upt-preempt-pair+algorithm-3+drop:0.5", "max-upt-preempt-pair", 0, 0.5, NULL},
		{"sjf+easy", "sjf", POLICY_FUTURE_PLACEHOLDERS, 0, NULL},
		{"f4+reservations+easy", "f4", POLICY_FUTURE_RESERVATIONS, 0, NULL},
		{"max-upr+easy", NULL, 0, 0, "does not take \"+easy\""},
		{"easy+easy", NULL, 0, 0, "does not take \"+easy\""},
		{"mm+prune", "mm", 0, 0, NULL},
		{"moc+prune", "moc", 0, 0, NULL},
		{"pam+prune", NULL, 0, 0, "does not take \"+prune\""},
		{"sjf+prune", NULL, 0, 0, "does not take \"+prune\""},
		{"mm+drop:1", NULL, 0, 0, "takes no modifiers but \"+prune\""},
		{"msd+prune+prune", NULL, 0, 0, "does not go with"},
		{"saf+easy+easy", NULL, 0, 0, "does not go with"},
		{"max-upt-preempt-diff+algorithm-3", NULL, 0, 0, "does not take \"+algorithm-3\""},
		{"max-util-preempt-pair+algorithm-3+no-wait", NULL, 0, 0, "does not go with"},
		{"max-util-preempt-pair+algorithm-4", NULL, 0, 0, "known: +placeholders"},
		{"max-upt-preempt-diff+no-wait", NULL, 0, 0, "does not take \"+no-wait\""},
		{"max-util-preempt-pair+no-wait+no-wait", NULL, 0, 0, "does not go with"},
		{"max-upr+drop:", NULL, 0, 0, "must be a number from 0"},
		{"max-upr+drop:1+drop:2", NULL, 0, 0, "does not go with"},
		{"max-upe+filter:task:2+filter:resource:4", NULL, 0, 0, "does not go with"},
		{"max-upe+placeholders+reservations", NULL, 0, 0, "does not go with"},
		{"max-upr+drop:-1", NULL, 0, 0, "must be a number from 0"},
		{"max-upr+drop:1x", NULL, 0, 0, "must be a number from 0"},
		{"max-upr+drop:nan", NULL, 0, 0, "must be a number from 0"},
		{LONG_NAME, NULL, 0, 0, "longer than"},
		{"exec:./mine.py --drop 0.5+drop:1", "outside", 0, 0, NULL},
		{"so:mine.so", "outside", 0, 0, NULL},
		{"exec:", NULL, 0, 0, "names nothing"},
		{"so: ", NULL, 0, 0, "names nothing"},
		{"exec:a\tb", NULL, 0, 0, "control character"},
		{"exec", NULL, 0, 0, "unknown policy \"exec\""},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct policy policy = {.drop_threshold = 77};
		char message[256] = "stale";
		const int result = policy_parse(cases[i].text, &policy, message, sizeof(message));

		if (!cases[i].ops) {
			g_assert_cmpint(result, <, 0);
			g_assert_nonnull(strstr(message, cases[i].says));
			g_assert_cmpfloat(policy.drop_threshold, ==, 77);
			continue;
		}
		g_assert_cmpint(result, ==, 0);
		g_assert_cmpstr(policy.ops->name, ==, cases[i].ops);
		g_assert_cmpstr(policy.name, ==, cases[i].text);
		g_assert_cmpint(policy.future, ==, cases[i].future);
		g_assert_cmpfloat(policy.drop_threshold, ==, cases[i].drop);
	}
}

/* "+no-wait" is the default: it does not show in the name, and the policy is the one without it. */
static void test_alias(void)
{
	const struct {
		const char *text;
		const char *name;
		bool algorithm_3;
	} cases[] = {
		{"max-util-preempt-pair", "max-util-preempt-pair", false},
		{"max-util-preempt-pair+no-wait", "max-util-preempt-pair", false},
		{"max-upt-preempt-pair+no-wait+drop:0.5", "max-upt-preempt-pair+drop:0.5", false},
		{"max-upt-preempt-pair+drop:0.50+no-wait", "max-upt-preempt-pair+drop:0.50", false},
		{"max-upt-preempt-pair+algorithm-3", "max-upt-preempt-pair+algorithm-3", true},
		{"max-upe+filter:task:2.0", "max-upe+filter:task:2.0", false},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct policy policy;
		char name[POLICY_NAME_MAX];

		g_assert_cmpint(policy_parse(cases[i].text, &policy, NULL, 0), ==, 0);
		g_assert_cmpstr(policy.name, ==, cases[i].name);
		g_assert_true(policy.algorithm_3 == cases[i].algorithm_3);
		strcpy(name, cases[i].text);
		policy_normalize_name(name);
		g_assert_cmpstr(name, ==, cases[i].name);
	}

	char unknown[] = "nonsense+no-wait";

	policy_normalize_name(unknown);
	g_assert_cmpstr(unknown, ==, "nonsense+no-wait");
}

static void test_short_message(void)
{
	struct policy policy;
	char message[12];

	g_assert_cmpint(policy_parse("nonsense", &policy, message, sizeof(message)), <, 0);
	g_assert_cmpstr(message, ==, "unknown pol");
	g_assert_cmpint(policy_parse("nonsense", &policy, NULL, 0), <, 0);
}

/* Two clusters of two nodes: "slow" takes 20 s and 10 J, "fast" 10 s and 40 J, for either type. */
static struct sched_system *make_system(void)
{
	const struct sched_cluster clusters[] = {
		{.name = "slow", .nodes = 2, .cores = 1, .pstates = 1},
		{.name = "fast", .nodes = 2, .cores = 1, .pstates = 1},
	};
	static const double etc_s[] = {20, 10};
	static const double eec_j[] = {10, 40};
	struct sched_system *system = sched_system_new(clusters, 2, 2);

	for (uint32_t row = 0; row < 2; row++)
		for (uint32_t c = 0; c < 2; c++) {
			system->row_names[row] = row == 0 ? "narrow" : "wide";
			system->etc_s[row * 2 + c] = etc_s[c];
			system->eec_j[row * 2 + c] = eec_j[c];
			system->nodes[row * 2 + c] = row + 1;
		}
	g_assert_cmpint(sched_system_finish(system, NULL), ==, SCHED_SYSTEM_OK);
	return system;
}

/* A mapping event at 100 s, the next at 105 s, of a day of 1000 s. */
struct scene {
	const char *name;
	const char *policy;
	double consumed_j;
	double budget_j;
	uint32_t rows[4]; /* of the waiting tasks */
	double maxima[4]; /* their utilities; up to the first 0 */
	bool promised;    /* nodes 0 and 1 of "fast" are reserved from 110 s to 120 s */
	const char *plan; /* "task kind cluster@start", in order */
};

static const struct scene scenes[] = {
	{"utility is higher where it is faster only if it decays: the first cluster wins a tie",
	 "max-util",
	 0,
	 0,
	 {0},
	 {2},
	 false,
	 "0 start slow@100\n"},
	{"per core-second the fast cluster is better",
	 "max-upr",
	 0,
	 0,
	 {0},
	 {2},
	 false,
	 "0 start fast@100\n"},
	{"per joule the slow one is", "max-upe", 0, 0, {0}, {2}, false, "0 start slow@100\n"},
	{"per time width does not count",
	 "max-upt",
	 0,
	 0,
	 {1, 0},
	 {3, 2},
	 false,
	 "0 start fast@100\n1 placeholder fast@110\n"},
	{"per core-second it does",
	 "max-upr",
	 0,
	 0,
	 {1, 0},
	 {3, 2},
	 false,
	 "1 start fast@100\n0 placeholder fast@110\n"},
	{"equal tasks go in order of arrival",
	 "max-upr",
	 0,
	 0,
	 {0, 0, 0},
	 {1, 1, 1},
	 false,
	 "0 start fast@100\n1 start fast@100\n2 placeholder fast@110\n"},
	{"with reservations what waits is reserved",
	 "max-upr+reservations",
	 0,
	 0,
	 {0, 0, 0},
	 {1, 1, 1},
	 false,
	 "0 start fast@100\n1 start fast@100\n2 reserve fast@110\n"},
	{"below the goal Event-Based is Max UPR",
	 "event-based",
	 90,
	 1000,
	 {0},
	 {2},
	 false,
	 "0 start fast@100\n"},
	{"at the goal it still is",
	 "event-based",
	 100,
	 1000,
	 {0},
	 {2},
	 false,
	 "0 start fast@100\n"},
	{"above the goal it is Max UPE",
	 "event-based",
	 101,
	 1000,
	 {0},
	 {2},
	 false,
	 "0 start slow@100\n"},
	{"what is promised counts towards the goal",
	 "event-based",
	 90,
	 1000,
	 {0},
	 {2},
	 true,
	 "0 start slow@100\n"},
	{"without a limit it is Max UPR",
	 "event-based",
	 1e9,
	 0,
	 {0},
	 {2},
	 false,
	 "0 start fast@100\n"},
	{"EASY tries clusters in order and promises once",
	 "easy",
	 0,
	 0,
	 {1, 1, 1, 1},
	 {1, 1, 1, 1},
	 false,
	 "0 start slow@100\n1 start fast@100\n2 reserve fast@110\n"},
	{"EASY promises nothing while it holds a reservation",
	 "easy",
	 0,
	 0,
	 {1, 1, 1},
	 {1, 1, 1},
	 true,
	 "0 start slow@100\n1 start fast@100\n"},
	{"Conservative promises to everyone",
	 "conservative",
	 0,
	 0,
	 {1, 1, 1, 1},
	 {1, 1, 1, 1},
	 false,
	 "0 start slow@100\n1 start fast@100\n2 reserve fast@110\n3 reserve slow@120\n"},
	{"SJF lets nothing overtake the first that waits",
	 "sjf",
	 0,
	 0,
	 {0, 1, 1, 0},
	 {1, 1, 1, 1},
	 false,
	 "0 start slow@100\n1 start fast@100\n2 placeholder fast@110\n"},
	{"with +easy what does not delay it does",
	 "sjf+easy",
	 0,
	 0,
	 {0, 1, 1, 0},
	 {1, 1, 1, 1},
	 false,
	 "0 start slow@100\n1 start fast@100\n2 placeholder fast@110\n3 start slow@100\n"},
	{"SQF takes the narrow task first",
	 "sqf",
	 0,
	 0,
	 {1, 0},
	 {1, 1},
	 false,
	 "1 start slow@100\n0 start fast@100\n"},
	{"WFP3 takes the wide task first",
	 "wfp3",
	 0,
	 0,
	 {0, 1},
	 {1, 1},
	 false,
	 "1 start slow@100\n0 start fast@100\n"},
	{"value per watt takes the task that earns more at the same power",
	 "value-per-watt",
	 0,
	 0,
	 {0, 0},
	 {1, 3},
	 false,
	 "1 start slow@100\n0 start slow@100\n"},
	{"a threshold makes cheap tasks leave",
	 "max-upr+drop:2",
	 0,
	 0,
	 {0, 0},
	 {1, 2},
	 false,
	 "0 drop\n1 start fast@100\n"},
};

static char *plan_text(const struct sched_system *system, const struct sched_plan *plan)
{
	GString *text = g_string_new(NULL);

	for (uint32_t i = 0; i < plan->actions_count; i++) {
		const struct sched_action *action = &plan->actions[i];

		g_string_append_printf(text, "%u %s", action->task,
				       sched_action_kind_name(action->kind));
		if (action->kind != SCHED_ACTION_DROP)
			g_string_append_printf(text, " %s@%g",
					       system->clusters[action->cluster].name,
					       action->start_s);
		g_string_append_c(text, '\n');
	}
	return g_string_free(text, FALSE);
}

static void test_scene(const void *data)
{
	const struct scene *scene = data;
	struct sched_system *system = make_system();
	struct sched_task tasks[5] = {0};
	const struct sched_task *waiting[4];
	static const uint32_t both[] = {0, 1};
	const struct sched_allocation promise = {&tasks[4], 1, 0, 2, both, 110, 0, 120};
	struct sched_snapshot snapshot = {
		.system = system,
		.now_s = 100,
		.next_event_s = 105,
		.end_s = 1000,
		.consumed_j = scene->consumed_j,
		.budget_j = scene->budget_j > 0 ? scene->budget_j : (double)INFINITY,
		.waiting = waiting,
		.reservations = &promise,
		.reservations_count = scene->promised,
	};
	struct policy_context context = {.arena = arena_new()};
	struct policy policy;
	struct sched_plan plan;
	char message[256];

	for (uint32_t i = 0; i < 4 && scene->maxima[i] > 0; i++) {
		tasks[i] = (struct sched_task){i, scene->rows[i], 50 + i,
					       utility_testbed(scene->maxima[i], 500, 600)};
		waiting[snapshot.waiting_count++] = &tasks[i];
	}
	tasks[4] = (struct sched_task){4, 1, 0, utility_testbed(1, 500, 600)};
	g_assert_cmpint(policy_parse(scene->policy, &policy, message, sizeof(message)), ==, 0);
	g_assert_cmpint(policy_decide(&policy, &snapshot, &context, &plan), ==, 0);

	g_autofree char *text = plan_text(system, &plan);

	g_assert_cmpstr(text, ==, scene->plan);
	arena_free(context.arena);
	sched_system_free(system);
}

static void test_systems(void)
{
	const struct sched_cluster good = {.name = "c", .nodes = 2, .cores = 1, .pstates = 1};
	const struct sched_cluster bad = {.name = "c", .nodes = 0, .cores = 1, .pstates = 1};
	const struct {
		const struct sched_cluster *cluster;
		double etc_s, eec_j;
		uint32_t nodes;
		enum sched_system_fault fault;
	} cases[] = {
		{&good, 1, 0, 2, SCHED_SYSTEM_OK},
		{&bad, 1, 1, 1, SCHED_SYSTEM_CLUSTER},
		{&good, 0, 1, 1, SCHED_SYSTEM_ESTIMATE},
		{&good, (double)INFINITY, 1, 1, SCHED_SYSTEM_ESTIMATE},
		{&good, 1, -1, 1, SCHED_SYSTEM_ESTIMATE},
		{&good, 1, (double)NAN, 1, SCHED_SYSTEM_ESTIMATE},
		{&good, 1, 1, 3, SCHED_SYSTEM_WIDTH},
		{&good, (double)NAN, 1, 1, SCHED_SYSTEM_OK},
		{&good, 1, 1, 0, SCHED_SYSTEM_OK},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct sched_system *system = sched_system_new(cases[i].cluster, 1, 1);

		system->etc_s[0] = cases[i].etc_s;
		system->eec_j[0] = cases[i].eec_j;
		system->nodes[0] = cases[i].nodes;
		g_assert_cmpint(sched_system_finish(system, NULL), ==, cases[i].fault);
		g_assert_nonnull(sched_system_fault_text(cases[i].fault));
		sched_system_free(system);
	}
}

/* EEC x max(0, 1 - elapsed / ETC). */
static void test_committed(void)
{
	struct sched_system *system = make_system();
	const struct sched_task task = {.row = 0};
	const struct sched_allocation running = {.task = &task, .cluster = 1, .start_s = 100};

	g_assert_cmpfloat(sched_allocation_committed_j(system, &running, 100), ==, 40);
	g_assert_cmpfloat(sched_allocation_committed_j(system, &running, 105), ==, 20);
	g_assert_cmpfloat(sched_allocation_committed_j(system, &running, 111), ==, 0);
	sched_system_free(system);
}

/* What an event left in it, the next one does not see. */
static void test_scratch(void)
{
	struct arena *arena = arena_new();

	for (int event = 0; event < 3; event++)
		for (size_t size = 1; size < (1 << 20); size = 3 * size + 1) {
			unsigned char *bytes = arena_array(arena, size, 1);

			for (size_t i = 0; i < size; i++)
				g_assert_cmpint(bytes[i], ==, 0);
			memset(bytes, 0xa5, size);
			if (size > 60000)
				arena_reset(arena);
		}
	arena_free(arena);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/policy/names and modifiers are read or refused with what is known",
			test_parse);
	g_test_add_func("/policy/no-wait does not show in a name", test_alias);
	g_test_add_func("/policy/a message is cut to its buffer", test_short_message);
	for (size_t i = 0; i < G_N_ELEMENTS(scenes); i++) {
		g_autofree char *path = g_strdup_printf("/policy/%s", scenes[i].name);

		g_test_add_data_func(path, &scenes[i], test_scene);
	}
	g_test_add_func("/policy/its memory is all zeros, whatever an event left there",
			test_scratch);
	g_test_add_func("/model/a system that makes no sense is refused", test_systems);
	g_test_add_func("/model/what a running task still takes", test_committed);
	return g_test_run();
}
