/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/json.h"
#include "common/random.h"
#include "controller/plugin/plugin.h"
#include "controller/plugin/plugin_process.h"
#include "controller/plugin/plugin_protocol.h"
#include "controller/sched/plan_rules.h"
#include "controller/snapshot/snapshot_json.h"
#include "tests/oracle/snapshots.h"

#define USER_OF_ROOT "nobody"

static const char *twin; /* the program */

static const struct plugin_settings usual = {
	.deadline_s = 20,
	.cpu_s = 60,
	.memory_mib = 256,
	.file_mib = 1,
	.files = 32,
	.processes = 8,
	.user = USER_OF_ROOT,
};

/* exec: with the program and its arguments. */
static struct policy policy_of(const char *arguments)
{
	g_autofree char *name = g_strdup_printf("exec:%s %s", twin, arguments);
	struct policy policy;
	char message[512];

	g_assert_cmpint(policy_parse(name, &policy, message, sizeof(message)), ==, 0);
	g_assert_true(policy_is_outside(&policy));
	g_assert_cmpstr(policy.name, ==, name);
	return policy;
}

static char *actions_of(const struct sched_snapshot *snapshot, const struct sched_plan *plan)
{
	return snapshot_text_actions(snapshot->system, plan, NULL);
}

/* What the policy of the tree decides. */
static char *own_actions(const char *name, const struct sched_snapshot *snapshot)
{
	struct policy_context context = {.arena = arena_new()};
	struct policy policy;
	struct sched_plan plan;
	char *text;

	g_assert_cmpint(policy_parse(name, &policy, NULL, 0), ==, 0);
	g_assert_cmpint(policy_decide(&policy, snapshot, &context, &plan), ==, 0);
	text = actions_of(snapshot, &plan);
	arena_free(context.arena);
	return text;
}

/* A run with a plug-in. */
struct bench {
	struct random_snapshot *random;
	struct sched_snapshot snapshot;
	struct plugin *plugin;
	struct policy policy;
	struct policy_context context;
	struct sched_plan plan;
};

static void bench_init(struct bench *bench, uint64_t seed, const char *arguments,
		       const struct plugin_settings *settings)
{
	*bench = (struct bench){.random = random_snapshot_new(seed)};
	bench->snapshot = bench->random->snapshot;
	bench->plugin = plugin_new(settings, bench->snapshot.system, 1);
	bench->policy = policy_of(arguments);
	bench->context.arena = arena_new();
	bench->context.outside = plugin_outside(bench->plugin);
}

static void bench_clear(struct bench *bench)
{
	plugin_free(bench->plugin);
	arena_free(bench->context.arena);
	random_snapshot_free(bench->random);
}

static int bench_decide(struct bench *bench)
{
	bench->snapshot.event++;
	return policy_decide(&bench->policy, &bench->snapshot, &bench->context, &bench->plan);
}

static void assert_as(const struct bench *bench, const char *policy)
{
	g_autofree char *own = own_actions(policy, &bench->snapshot);
	g_autofree char *there = actions_of(&bench->snapshot, &bench->plan);

	g_assert_cmpstr(there, ==, own);
}

/* Plans. */

static void test_twin(void)
{
	static const char *const names[] = {"easy", "max-upe", "conservative", "event-based"};

	for (uint64_t seed = 0; seed < 40; seed++) {
		struct bench bench;

		bench_init(&bench, seed, names[seed % G_N_ELEMENTS(names)], &usual);
		g_assert_cmpint(bench_decide(&bench), ==, 0);
		g_assert_null(bench.plan.fallback);
		assert_as(&bench, names[seed % G_N_ELEMENTS(names)]);
		bench_clear(&bench);
	}
}

/* What is left out of actions is filled in. */
static void test_bare(void)
{
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct policy_context context = {.arena = arena_new()};
		struct policy easy;
		struct sched_plan own;
		struct bench bench;

		bench_init(&bench, seed, "--bare easy", &usual);
		g_assert_cmpint(policy_parse("easy", &easy, NULL, 0), ==, 0);
		g_assert_cmpint(bench_decide(&bench), ==, 0);
		g_assert_cmpint(policy_decide(&easy, &bench.snapshot, &context, &own), ==, 0);
		g_assert_cmpuint(bench.plan.actions_count, ==, own.actions_count);
		for (uint32_t i = 0; i < own.actions_count; i++) {
			const struct sched_action *action = &bench.plan.actions[i];

			g_assert_cmpuint(action->task, ==, own.actions[i].task);
			g_assert_cmpint(action->kind, ==, own.actions[i].kind);
			g_assert_cmpfloat(action->start_s, ==, own.actions[i].start_s);
			g_assert_cmpfloat(action->end_s, ==, own.actions[i].end_s);
			g_assert_cmpfloat(action->energy_j, ==, own.actions[i].energy_j);
			g_assert_cmpint(action->reason, ==, SCHED_REASON_OUTSIDE);
		}
		arena_free(context.arena);
		bench_clear(&bench);
	}
}

/*
 * The snapshot that a program rebuilds from differences is that of virtbed: it decides the same,
 * while tasks come, change and go. The twin ends where one goes that it never had.
 */
static void test_differences(void)
{
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct bench bench;
		uint32_t count;

		bench_init(&bench, seed, "--differences max-upe", &usual);
		count = bench.snapshot.waiting_count;
		bench.snapshot.placeholders_count = 0;
		for (uint32_t step = 0; step < 6; step++) {
			struct sched_task changed;
			const struct sched_task **waiting =
				g_memdup2(bench.random->snapshot.waiting,
					  count * sizeof(struct sched_task *));

			/* The first task changes, and the last ones come and go. */
			if (count > 0) {
				changed = *waiting[0];
				changed.utility.max *= 1 + step % 3;
				waiting[0] = &changed;
			}
			bench.snapshot.waiting = waiting;
			bench.snapshot.waiting_count = count - (step * count / 3) % (count + 1);
			g_assert_cmpint(bench_decide(&bench), ==, 0);
			assert_as(&bench, "max-upe");
			g_free(waiting);
		}
		g_assert_cmpuint(plugin_account(bench.plugin).used, ==, 6);
		bench_clear(&bench);
	}
}

/*
 * A snapshot that is too long is not sent; the tasks that were new in it are in the next one. Its
 * length is a name of a row, so that writing it takes little time.
 */
static void test_long_snapshot(void)
{
	struct plugin_settings settings = usual;
	g_autofree char *name = g_strnfill(PLUGIN_LINE_MAX, 'x');
	struct sched_system *system;
	const char *own;
	struct bench bench;
	uint32_t count;

	settings.fallback = "easy";
	bench_init(&bench, 3, "--differences max-upe", &settings);
	system = bench.random->system;
	own = system->row_names[0];
	count = bench.snapshot.waiting_count;
	bench.snapshot.waiting_count = count / 2;
	g_assert_cmpint(bench_decide(&bench), ==, 0);
	assert_as(&bench, "max-upe");
	bench.snapshot.waiting_count = count;
	system->row_names[0] = name;
	g_assert_cmpint(bench_decide(&bench), ==, 0);
	g_assert_cmpstr(bench.plan.fallback_reason, ==,
			"refused: the snapshot has more than 64 MiB");
	system->row_names[0] = own;
	g_assert_cmpint(bench_decide(&bench), ==, 0);
	g_assert_null(bench.plan.fallback);
	assert_as(&bench, "max-upe");
	bench_clear(&bench);
}

/* Faults. */

static void test_faults(void)
{
	const struct {
		const char *fault;
		enum plugin_failure failure;
		const char *says;
		double deadline_s;
	} cases[] = {
		{"hang", PLUGIN_LATE, "late: it did not answer within 0.3 s", 0.3},
		{"silent", PLUGIN_LATE, "late: it did not answer", 0.3},
		{"late", PLUGIN_LATE, "late: it did not answer", 0.3},
		{"busy", PLUGIN_LATE, "late: it did not answer", 0.3},
		{"die", PLUGIN_DIED,
		 "died: it ended with exit status 3; its last words: Traceback: all is lost", 20},
		{"rubbish", PLUGIN_RUBBISH, "it wrote: Segmentation fault (not really)", 20},
		{"endless", PLUGIN_RUBBISH, "longer than 64 MiB", 20},
		{"number", PLUGIN_RUBBISH, "it answered to message 3, and the last one is 2", 20},
		{"illegal", PLUGIN_ILLEGAL, "illegal: actions[0]", 20},
		{"error", PLUGIN_REFUSED, "refused: no idea", 20},
		{"fork", PLUGIN_DIED, "died: it ended with exit status 0", 20},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *arguments =
			g_strdup_printf("--differences --at 2 %s max-upe", cases[i].fault);
		struct plugin_settings settings = usual;
		struct plugin_account account;
		struct bench bench;
		int64_t begun_ns;

		settings.fallback = "easy";
		bench_init(&bench, 3, arguments, &settings);
		g_assert_true(plugin_start(bench.plugin, &bench.policy, NULL));
		g_assert_cmpint(bench_decide(&bench), ==, 0);
		g_assert_null(bench.plan.fallback);
		settings.deadline_s = cases[i].deadline_s;
		plugin_reload(bench.plugin, &settings, &bench.policy);
		begun_ns = clock_now_ns();
		g_assert_cmpint(bench_decide(&bench), ==, 0);
		if (cases[i].deadline_s < 1)
			g_assert_cmpfloat(clock_elapsed_s(begun_ns, clock_now_ns()), <, 10);
		g_assert_cmpstr(bench.plan.fallback, ==, "easy");
		g_assert_true(strstr(bench.plan.fallback_reason, cases[i].says));
		assert_as(&bench, "easy");
		account = plugin_account(bench.plugin);
		g_assert_cmpuint(account.events, ==, 2);
		g_assert_cmpuint(account.used, ==, 1);
		g_assert_cmpuint(account.failed[cases[i].failure], ==, 1);
		/* The next event: of the same process or, if it owes an answer, of another. */
		settings.deadline_s = 20;
		plugin_reload(bench.plugin, &settings, &bench.policy);
		g_assert_cmpint(bench_decide(&bench), ==, 0);
		g_assert_null(bench.plan.fallback);
		assert_as(&bench, "max-upe");
		bench_clear(&bench);
	}
}

/* Changes up to four bytes of an answer. */
static void change(struct random_stream *stream, char *answer)
{
	static const char likely[] = "0123456789-.,:[]{}\"eE";
	const size_t length = strlen(answer);
	const uint64_t count = random_stream_next(stream) % 5;

	for (uint64_t i = 0; i < count; i++) {
		const uint64_t draw = random_stream_next(stream);
		char *at = &answer[(draw >> 16) % length];

		*at = (draw & 3) > 0 ? likely[(draw >> 8) % (sizeof(likely) - 1)]
				     : (char)(1 + (draw >> 8) % 255);
	}
}

/*
 * Answers with random bytes are read without harm, and a plan that is legal by the rules is made of
 * numbers that the engine may take.
 */
static void test_random_bytes(void)
{
	uint32_t counts[PLUGIN_ANSWER_ILLEGAL + 1] = {0};
	uint32_t legal = 0;

	for (uint64_t seed = 0; seed < 4000; seed++) {
		struct random_snapshot *random = random_snapshot_new(seed % 40);
		g_autofree char *actions = own_actions("max-upe", &random->snapshot);
		g_autofree char *answer =
			g_strdup_printf("{\"type\":\"plan\",\"number\":7,\"actions\":%s}", actions);
		struct plugin_told told = {.number = 7};
		struct arena *arena = arena_new();
		struct random_stream stream;
		struct sched_plan plan = {0};
		g_autofree char *why = NULL;
		enum plugin_answer result;
		double compute_s = 0;

		random_stream_init(&stream, seed, 1);
		change(&stream, answer);
		result = plugin_read_plan(&told, answer, strlen(answer), &random->snapshot, arena,
					  &plan, &compute_s, &why);
		counts[result]++;
		g_assert_true((result == PLUGIN_ANSWER_GOOD || result == PLUGIN_ANSWER_NONE) ==
			      (why == NULL));
		legal += result == PLUGIN_ANSWER_GOOD &&
			 !plan_rules_broken(&random->snapshot, &plan, arena);
		arena_free(arena);
		random_snapshot_free(random);
	}
	g_assert_cmpuint(counts[PLUGIN_ANSWER_WRONG], >, 0);
	g_assert_cmpuint(counts[PLUGIN_ANSWER_ILLEGAL], >, 0);
	g_assert_cmpuint(legal, >, 0);
	g_assert_cmpuint(legal, <, counts[PLUGIN_ANSWER_GOOD]);
}

/* Reads an answer to message 7, which is no plan if there is a reason. */
static enum plugin_answer read_answer(const char *answer, char **ret_why)
{
	struct random_snapshot *random = random_snapshot_new(3);
	struct plugin_told told = {.number = 7};
	struct arena *arena = arena_new();
	struct sched_plan plan = {0};
	double compute_s = 0;
	const enum plugin_answer result =
		plugin_read_plan(&told, answer, strlen(answer), &random->snapshot, arena, &plan,
				 &compute_s, ret_why);

	arena_free(arena);
	random_snapshot_free(random);
	return result;
}

/* An illegal action is named by its place in the program's array. */
static void test_place_of_action(void)
{
	static const char *const answers[] = {
		"{\"type\":\"plan\",\"number\":7,\"actions\":[{\"kind\":\"wait\",\"task\":1},"
		"{\"kind\":\"drop\",\"task\":4711}]}",
		"{\"type\":\"plan\",\"number\":7,\"actions\":[{\"kind\":\"wait\",\"task\":1},"
		"{\"kind\":\"drop\"}]}",
	};
	struct random_snapshot *random = random_snapshot_new(3);
	const struct plugin_told told = {.number = 7};
	struct arena *arena = arena_new();
	struct sched_plan plan = {0};
	g_autofree char *why = NULL;
	double compute_s = 0;

	g_assert_cmpint(plugin_read_plan(&told, answers[0], strlen(answers[0]), &random->snapshot,
					 arena, &plan, &compute_s, &why),
			==, PLUGIN_ANSWER_GOOD);
	g_assert_cmpstr(plan_rules_broken(&random->snapshot, &plan, arena), ==,
			"actions[1], drop of task 4711: the snapshot has no such task");
	g_assert_cmpint(plugin_read_plan(&told, answers[1], strlen(answers[1]), &random->snapshot,
					 arena, &plan, &compute_s, &why),
			==, PLUGIN_ANSWER_ILLEGAL);
	g_assert_true(g_str_has_prefix(why, "actions[1]: "));
	arena_free(arena);
	random_snapshot_free(random);
}

/* With queues a plan may have a state of pruning. */
static void test_pruner(void)
{
	static const struct sched_queueing queueing;
	const struct {
		const char *pruner;
		enum plugin_answer answer;
		double level;
		bool dropping;
	} cases[] = {
		{"", PLUGIN_ANSWER_GOOD, 0.25, false},
		{",\"pruner\":{\"level\":1.5,\"dropping\":true}", PLUGIN_ANSWER_GOOD, 1.5, true},
		{",\"pruner\":{\"level\":2}", PLUGIN_ANSWER_GOOD, 2, false},
		{",\"pruner\":{\"level\":\"2\"}", PLUGIN_ANSWER_ILLEGAL, 0, false},
		{",\"pruner\":{\"level\":2,\"dropping\":1}", PLUGIN_ANSWER_ILLEGAL, 0, false},
		{",\"pruner\":[]", PLUGIN_ANSWER_ILLEGAL, 0, false},
	};
	struct random_snapshot *random = random_snapshot_new(3);
	const struct plugin_told told = {.number = 7};
	struct arena *arena = arena_new();

	random->system->queueing = &queueing;
	random->snapshot.pruner.level = 0.25;
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *answer =
			g_strdup_printf("{\"type\":\"plan\",\"number\":7,\"actions\":[]%s}",
					cases[i].pruner);
		g_autofree char *why = NULL;
		struct sched_plan plan = {0};
		double compute_s = 0;

		g_assert_cmpint(plugin_read_plan(&told, answer, strlen(answer), &random->snapshot,
						 arena, &plan, &compute_s, &why),
				==, cases[i].answer);
		if (cases[i].answer == PLUGIN_ANSWER_ILLEGAL) {
			g_assert_true(g_str_has_prefix(why, "\"pruner\": expected "));
			continue;
		}
		g_assert_cmpfloat(plan.pruner.level, ==, cases[i].level);
		g_assert_cmpint(plan.pruner.dropping, ==, cases[i].dropping);
	}
	random->system->queueing = NULL;
	arena_free(arena);
	random_snapshot_free(random);
}

/* A plan with `count` times `value` in a member that is ignored. */
static char *plan_with(const char *before, const char *value, int count, const char *after)
{
	GString *text = g_string_new("{\"type\":\"plan\",\"number\":7,\"actions\":[],\"x\":");

	g_string_append(text, before);
	for (int i = 0; i < count; i++)
		g_string_append(text, value);
	g_string_append(text, after);
	g_string_append_c(text, '}');
	return g_string_free(text, FALSE);
}

/* An answer that takes much memory to read is not read. */
static void test_large_answers(void)
{
	const struct {
		const char *before, *value, *after;
		int count;
		const char *says; /* NULL: it is read */
	} cases[] = {
		{"[", "{},", "{}]", 1000, NULL},
		{"[", "{},", "{}]", 1000000, "its answer has more than "},
		{"[", "1,", "1]", 1000000, "its answer has more than "},
		{"\"", "[{,\\\"", "\"", 100000, NULL}, /* a text alone */
		{"", "[", "", 1000, "its answer has more than 16 brackets within each other"},
		{"[[[[[[[[[[[[[[1", "", "]]]]]]]]]]]]]]", 0, NULL},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *answer =
			plan_with(cases[i].before, cases[i].value, cases[i].count, cases[i].after);
		g_autofree char *why = NULL;
		const enum plugin_answer result = read_answer(answer, &why);

		g_assert_cmpint(result, ==,
				cases[i].says ? PLUGIN_ANSWER_WRONG : PLUGIN_ANSWER_GOOD);
		g_assert_true(!cases[i].says || g_str_has_prefix(why, cases[i].says));
	}
}

/* More answers than messages are no conversation. Those that came late: test_faults(). */
static void test_old_answers(void)
{
	struct plugin_settings settings = usual;
	struct bench bench;

	settings.fallback = "easy";
	bench_init(&bench, 3, "--at 1 many max-upe", &settings);
	g_assert_cmpint(bench_decide(&bench), ==, 0);
	g_assert_cmpstr(bench.plan.fallback_reason, ==,
			"rubbish: it answered an earlier message again");
	bench_clear(&bench);
}

/* Reads the lines of a program with standard error in `log`. */
static void read_lines(struct plugin_process *process, int log, unsigned count)
{
	const int own = dup(STDERR_FILENO);
	const int64_t deadline_ns = clock_now_ns() + 20 * G_GINT64_CONSTANT(1000000000);
	const char *line;
	size_t length;

	dup2(log, STDERR_FILENO);
	for (unsigned i = 0; i < count; i++)
		g_assert_cmpint(plugin_process_read(process, deadline_ns, &line, &length), ==,
				PLUGIN_IO_DONE);
	dup2(own, STDERR_FILENO);
	close(own);
}

/* What a program complains about is logged until a limit, however many lines it writes besides. */
static void test_complaints(void)
{
	static const char *const words[] = {
		"exec", "--", "sh", "-c", "for i in 1 2 3 4 5; do seq 60 >&2; echo; done; cat",
		NULL,
	};
	g_autoptr(GError) error = NULL;
	const int log = memfd_create("log", MFD_CLOEXEC);
	struct plugin_process *process = plugin_process_start("mine", words, &usual, &error);
	char text[65536] = "";
	unsigned count = 0;

	g_assert_no_error(error);
	read_lines(process, log, 5);
	plugin_process_free(process, false);
	g_assert_cmpint(pread(log, text, sizeof(text) - 1, 0), >, 0);
	for (const char *at = text; (at = strstr(at, " mine: ")) != NULL; at++)
		count++;
	g_assert_cmpuint(count, >=, 60);
	g_assert_cmpuint(count, <=, 101);
	close(log);
}

/* The time that a program says it has computed is a part of the event. */
static void test_boasts(void)
{
	struct plugin_account account;
	struct bench bench;

	bench_init(&bench, 3, "--at 1 boasts easy", &usual);
	g_assert_cmpint(bench_decide(&bench), ==, 0);
	account = plugin_account(bench.plugin);
	g_assert_cmpuint(account.used, ==, 1);
	g_assert_cmpfloat(account.compute_s, ==, account.event_s);
	bench_clear(&bench);
}

static void test_disabled(void)
{
	struct plugin_settings settings = usual;
	struct bench bench;

	settings.fallback = "easy";
	bench_init(&bench, 3, "--at 0 error max-upe", &settings);
	for (int i = 0; i < 5; i++) {
		g_assert_cmpint(bench_decide(&bench), ==, 0);
		g_assert_true(g_str_has_prefix(bench.plan.fallback_reason,
					       i < PLUGIN_FAILURES_MAX ? "rubbish" : "disabled"));
		g_assert_cmpint(plugin_account(bench.plugin).state == PROGRAM_DISABLED, ==,
				i + 1 >= PLUGIN_FAILURES_MAX);
	}
	/* Another policy of the same run is asked, and so is this one after a reload. */
	plugin_reload(bench.plugin, &settings, &bench.policy);
	g_assert_cmpint(bench_decide(&bench), ==, 0);
	g_assert_true(g_str_has_prefix(bench.plan.fallback_reason, "rubbish"));
	bench.policy = policy_of("max-upe");
	g_assert_cmpint(bench_decide(&bench), ==, 0);
	g_assert_null(bench.plan.fallback);
	bench_clear(&bench);
}

/* The processes whose command line has a text. */
static unsigned count_processes(const char *token);

/*
 * A program that starts slowly is not asked until it has said hello, at a reload to it and after it
 * died; that is no failure. It is started at the reload.
 */
static void test_slow_start(void)
{
	g_autofree char *dir = g_dir_make_tmp("virtbed-test-XXXXXX", NULL);
	g_autofree char *file = g_build_filename(dir, "go", NULL);
	g_autofree char *arguments =
		g_strdup_printf("--token token-%d-slow --until %s --at 2 die easy", (int)getpid(),
				file);
	g_autofree char *token = g_strdup_printf("token-%d-slow", (int)getpid());
	struct plugin_settings settings = usual;
	struct bench bench;

	settings.fallback = "easy";
	settings.deadline_s = 0.02;
	bench_init(&bench, 3, "easy", &usual);
	g_assert_true(plugin_start(bench.plugin, &bench.policy, NULL));
	bench.policy = policy_of(arguments);
	g_assert_cmpuint(count_processes(token), ==, 0);
	plugin_reload(bench.plugin, &settings, &bench.policy);
	g_assert_cmpuint(count_processes(token), >, 0);
	for (unsigned i = 1; i <= PLUGIN_FAILURES_MAX + 1; i++) {
		g_assert_cmpint(bench_decide(&bench), ==, 0);
		g_assert_true(g_str_has_prefix(bench.plan.fallback_reason,
					       "starting: it has not said hello yet, "));
		g_assert_cmpuint(plugin_account(bench.plugin).failed[PLUGIN_STARTING], ==, i);
	}
	g_assert_cmpint(plugin_account(bench.plugin).state, ==, PROGRAM_STARTING);
	g_assert_true(g_file_set_contents(file, "", 0, NULL));
	settings.deadline_s = 20;
	plugin_reload(bench.plugin, &settings, &bench.policy);
	g_assert_cmpint(bench_decide(&bench), ==, 0);
	g_assert_null(bench.plan.fallback);
	/* It dies, and starts slowly again. */
	g_assert_cmpint(bench_decide(&bench), ==, 0);
	g_assert_true(g_str_has_prefix(bench.plan.fallback_reason, "died: "));
	unlink(file);
	settings.deadline_s = 0.02;
	plugin_reload(bench.plugin, &settings, &bench.policy);
	for (int i = 0; i <= PLUGIN_FAILURES_MAX; i++) {
		g_assert_cmpint(bench_decide(&bench), ==, 0);
		g_assert_true(g_str_has_prefix(bench.plan.fallback_reason, "starting: "));
	}
	g_assert_true(g_file_set_contents(file, "", 0, NULL));
	settings.deadline_s = 20;
	plugin_reload(bench.plugin, &settings, &bench.policy);
	g_assert_cmpint(bench_decide(&bench), ==, 0);
	g_assert_null(bench.plan.fallback);
	bench_clear(&bench);
	unlink(file);
	rmdir(dir);
}

static void *decide_apart(void *data)
{
	struct bench *bench = data;

	g_assert_cmpint(bench_decide(bench), ==, 0);
	return NULL;
}

/* The end, and a reload to another policy, do not wait for a program that hangs. */
static void test_cancel(void)
{
	for (int reload = 0; reload < 2; reload++) {
		struct plugin_settings settings = usual;
		const int64_t begun_ns = clock_now_ns();
		struct policy other = policy_of("max-upe");
		struct bench bench;
		GThread *thread;

		settings.fallback = "easy";
		settings.deadline_s = 1000;
		bench_init(&bench, 3, "--at 1 hang easy", &settings);
		g_assert_true(plugin_start(bench.plugin, &bench.policy, NULL));
		thread = g_thread_new("decides", decide_apart, &bench);
		if (reload)
			plugin_reload(bench.plugin, &settings, &other);
		else
			plugin_cancel(bench.plugin);
		g_thread_join(thread);
		g_assert_cmpstr(bench.plan.fallback_reason, ==,
				"late: it is not waited for any longer");
		bench.policy = other;
		g_assert_cmpint(bench_decide(&bench), ==, 0);
		g_assert_cmpint(bench.plan.fallback == NULL, ==, reload);
		bench_clear(&bench);
		g_assert_cmpfloat(clock_elapsed_s(begun_ns, clock_now_ns()), <, 500);
	}
}

/* A policy whose command cannot be had fails at each event, as one whose program dies. */
static void test_no_command(void)
{
	struct plugin_settings settings = usual;
	struct bench bench;

	settings.fallback = "easy";
	bench_init(&bench, 3, "easy", &settings);
	g_assert_cmpint(policy_parse("exec:echo 'one", &bench.policy, NULL, 0), ==, 0);
	for (int i = 0; i < 4; i++) {
		g_assert_cmpint(bench_decide(&bench), ==, 0);
		g_assert_true(g_str_has_prefix(bench.plan.fallback_reason,
					       i < PLUGIN_FAILURES_MAX ? "died" : "disabled"));
		g_assert_true(strstr(bench.plan.fallback_reason, "cannot be split"));
	}
	bench_clear(&bench);
}

/* Without a fallback there is no plan, and the problem names policy and event. */
static void test_no_fallback(void)
{
	struct bench bench;

	bench_init(&bench, 3, "--at 1 die max-upe", &usual);
	g_assert_cmpint(bench_decide(&bench), ==, -EIO);
	g_assert_true(g_str_has_prefix(bench.context.outside->problem, "policy \"exec:"));
	g_assert_true(strstr(bench.context.outside->problem, "did not decide mapping event "));
	g_assert_true(strstr(bench.context.outside->problem, "its last words: Traceback"));
	bench_clear(&bench);
}

/* Starting. */

static void check_refused(const char *name, enum plugin_error code, const char *says)
{
	struct random_snapshot *random = random_snapshot_new(3);
	g_autoptr(GError) error = NULL;
	struct policy policy;

	g_assert_cmpint(policy_parse(name, &policy, NULL, 0), ==, 0);
	g_assert_false(plugin_check(&policy, &usual, random->system, 1, &error));
	g_assert_error(error, PLUGIN_ERROR, (int)code);
	g_assert_true(strstr(error->message, says));
	g_assert_true(strstr(error->message, name));
	random_snapshot_free(random);
}

/* A program of this text is refused with what `says` says. */
static void check_script(const char *text, const char *says)
{
	g_autofree char *folder = g_dir_make_tmp("virtbed-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(folder, "mine.py", NULL);
	g_autofree char *name = g_strconcat("exec:", path, NULL);

	g_assert_true(
		g_file_set_contents_full(path, text, -1, G_FILE_SET_CONTENTS_NONE, 0755, NULL));
	check_refused(name, PLUGIN_ERROR_START, says);
	g_unlink(path);
	g_rmdir(folder);
}

static void test_start(void)
{
	g_autofree char *shared = g_strdup_printf("exec:%s --models shared easy", twin);
	g_autofree char *dies = g_strdup_printf("exec:%s --at 0 die easy", twin);
	g_autoptr(GError) error = NULL;
	struct policy policy;
	char message[512];

	g_assert_cmpint(policy_parse("exec:/nowhere/mine.py x", &policy, NULL, 0), ==, 0);
	g_assert_false(plugin_find(&policy, &error));
	g_assert_error(error, PLUGIN_ERROR, PLUGIN_ERROR_NAME);
	g_assert_true(strstr(error->message, "there is no program \"/nowhere/mine.py\""));
	policy = policy_of("easy");
	g_assert_true(plugin_find(&policy, NULL));
	check_refused("exec:/nowhere/mine.py", PLUGIN_ERROR_START,
		      "cannot execute \"/nowhere/mine.py\": No such file or directory");
	check_refused("exec:/tmp", PLUGIN_ERROR_START, "it is a directory; give the path");
	check_script("#!/usr/bin/python3\r\nprint(1)\r\n",
		     "its lines end as those of Windows, so that the interpreter would be "
		     "\"/usr/bin/python3\\r\"");
	check_script("#! /nowhere/python3 -u\nprint(1)\n",
		     "there is no \"/nowhere/python3\", which its first line names");
	check_refused("exec:echo 'one", PLUGIN_ERROR_NAME, "cannot be split");
	check_refused("exec:echo hello", PLUGIN_ERROR_START,
		      "it wrote: hello (what is no answer goes to standard error)");
	check_refused("exec:cat", PLUGIN_ERROR_START, "it repeats its input");
	check_refused("exec:true", PLUGIN_ERROR_START, "it ended with exit status 0");
	check_refused(dies, PLUGIN_ERROR_START, "its last words: Traceback: all is lost");
	check_refused(shared, PLUGIN_ERROR_REFUSED, "does not decide in the model \"nodes\"");
	g_assert_cmpint(policy_parse("exec: ", &policy, message, sizeof(message)), ==, -EINVAL);
	g_assert_true(strstr(message, "names nothing"));
	g_assert_cmpint(policy_parse("exec:a\nb", &policy, message, sizeof(message)), ==, -EINVAL);
	g_assert_true(strstr(message, "control character"));
}

/* The sandbox. */

/* Whether the sandbox can be had here; else the test is skipped. */
static bool has_sandbox(void)
{
	struct random_snapshot *random = random_snapshot_new(3);
	struct plugin_settings settings = usual;
	struct policy policy = policy_of("easy");
	g_autoptr(GError) error = NULL;
	bool good;

#ifdef __SANITIZE_ADDRESS__
	g_test_skip("a program with the address sanitizer needs more memory than any limit allows");
	random_snapshot_free(random);
	return false;
#endif
	settings.sandbox = true;
	good = plugin_check(&policy, &settings, random->system, 1, &error);
	random_snapshot_free(random);
	if (!good && strstr(error->message, "the sandbox cannot have"))
		g_test_skip(error->message);
	else if (!good && strstr(error->message, "in the sandbox as user"))
		g_test_skip("the user of the sandbox cannot read the build");
	else
		g_assert_no_error(error);
	return good;
}

static unsigned count_processes(const char *token)
{
	g_autoptr(GDir) dir = g_dir_open("/proc", 0, NULL);
	unsigned count = 0;

	for (const char *name; (name = g_dir_read_name(dir));) {
		g_autofree char *path = g_strdup_printf("/proc/%s/cmdline", name);
		g_autofree char *text = NULL;
		gsize length = 0;

		if (g_ascii_isdigit(*name) && g_file_get_contents(path, &text, &length, NULL))
			count += g_strstr_len(text, (gssize)length, token) != NULL ||
				 memmem(text, length, token, strlen(token)) != NULL;
	}
	return count;
}

/* Whether the kernel lets a PID namespace have a /proc of its own here. */
static bool has_own_proc(void)
{
	const int user = geteuid() == 0 ? 0 : CLONE_NEWUSER;
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (unshare(user | CLONE_NEWPID | CLONE_NEWNS) < 0)
			_exit(1);
		pid = fork();
		if (pid == 0)
			_exit(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
			      mount("proc", "/proc", "proc", 0, NULL) < 0);
		_exit(waitpid(pid, &status, 0) < 0 || status != 0);
	}
	return waitpid(pid, &status, 0) == pid && status == 0;
}

static void test_sandbox(void)
{
	const bool has_landlock =
		syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) > 0;
	const struct {
		const char *fault;
		const char *says;
	} cases[] = {
		{"network", "refused: Operation not permitted"},
		{"calls", "refused: none"},
		{"look", "oom score 1000, 32 files, home /tmp, VIRTBED_TWIN kept, TWIN lost"},
		{"look", has_own_proc() ? ", 2 processes" : " processes"},
		/* Where everyone may: Landlock, or a mount that is read-only, refuses it. */
		{"write", has_landlock ? "refused: cannot: " : "refused: "},
		{"leak", "its last words: out of memory"},
		{"fork", "died: it ended with exit status 0"},
	};

	if (!has_sandbox())
		return;
	g_setenv("VIRTBED_TWIN", "", TRUE);
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *token =
			g_strdup_printf("token-%d-%s", (int)getpid(), cases[i].fault);
		g_autofree char *arguments =
			g_strdup_printf("--token %s --at 1 %s easy", token, cases[i].fault);
		struct plugin_settings settings = usual;
		struct bench bench;

		settings.sandbox = true;
		settings.fallback = "easy";
		bench_init(&bench, 3, arguments, &settings);
		g_assert_cmpint(bench_decide(&bench), ==, 0);
		g_assert_cmpstr(bench.plan.fallback, ==, "easy");
		if (!strstr(bench.plan.fallback_reason, cases[i].says))
			g_error("%s: %s", cases[i].fault, bench.plan.fallback_reason);
		bench_clear(&bench);
		/* Also what had left the process group. */
		g_assert_cmpuint(count_processes(token), ==, 0);
	}
}

/* A process of the sandbox's user, which ends with this one. */
static pid_t start_other(void)
{
	int ready[2];
	char byte;
	pid_t pid;

	g_assert_cmpint(pipe(ready), ==, 0);
	pid = fork();
	if (pid == 0) {
		if (setresuid(65534, 65534, 65534) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ||
		    write(ready[1], "", 1) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	g_assert_cmpint(read(ready[0], &byte, 1), ==, 1);
	close(ready[0]);
	return pid;
}

/* The kernel counts the processes of a user on the whole machine. */
static void test_many_processes(void)
{
	struct plugin_settings settings = usual;
	struct random_snapshot *random;
	struct policy policy = policy_of("easy");
	g_autoptr(GError) error = NULL;
	pid_t others[2];

	if (geteuid() != 0) {
		g_test_skip("only root has another user in the sandbox");
		return;
	}
	if (!has_sandbox())
		return;
	random = random_snapshot_new(3);
	settings.sandbox = true;
	settings.processes = 1;
	for (size_t i = 0; i < G_N_ELEMENTS(others); i++)
		others[i] = start_other();
	g_assert_false(plugin_check(&policy, &settings, random->system, 1, &error));
	g_assert_nonnull(strstr(error->message, "user " USER_OF_ROOT " has more processes on this "
						"machine than plugin.processes, 1, allows"));
	for (size_t i = 0; i < G_N_ELEMENTS(others); i++) {
		kill(others[i], SIGKILL);
		waitpid(others[i], NULL, 0);
	}
	random_snapshot_free(random);
}

/* What is limited already stays so: no limit of virtbed's own is raised. */
static void test_lower_limit(void)
{
	struct plugin_settings settings = usual;
	struct rlimit limit;
	struct bench bench;

	if (!g_test_subprocess()) {
		if (!has_sandbox())
			return;
		g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_INHERIT_STDERR);
		g_test_trap_assert_passed();
		return;
	}
	g_assert_cmpint(getrlimit(RLIMIT_NOFILE, &limit), ==, 0);
	limit.rlim_cur = limit.rlim_max = 64;
	g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &limit), ==, 0);
	settings.sandbox = true;
	settings.fallback = "easy";
	settings.files = 100;
	bench_init(&bench, 3, "--at 1 look easy", &settings);
	g_assert_cmpint(bench_decide(&bench), ==, 0);
	if (!strstr(bench.plan.fallback_reason, ", 64 files"))
		g_error("%s", bench.plan.fallback_reason);
	bench_clear(&bench);
}

/* From here on this process has no Landlock, and is not root. */
static void lose_landlock(void)
{
	static struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_landlock_create_ruleset, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	if (geteuid() == 0)
		g_assert_true(setresgid(65534, 65534, 65534) == 0 &&
			      setresuid(65534, 65534, 65534) == 0);
	g_assert_cmpint(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), ==, 0);
	g_assert_cmpint(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER,
			      &(const struct sock_fprog){G_N_ELEMENTS(code), code}),
			==, 0);
}

/* Where the program has the user of virtbed, a kernel without Landlock is no sandbox. */
static void test_no_landlock(void)
{
	struct random_snapshot *random;
	struct plugin_settings settings = usual;
	struct policy policy = policy_of("easy");
	g_autoptr(GError) error = NULL;

#ifdef __SANITIZE_ADDRESS__
	g_test_skip("a program with the address sanitizer needs more memory than any limit allows");
	return;
#endif
	if (!g_test_subprocess()) {
		g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_INHERIT_STDERR);
		g_test_trap_assert_passed();
		return;
	}
	lose_landlock();
	random = random_snapshot_new(3);
	settings.sandbox = true;
	g_assert_false(plugin_check(&policy, &settings, random->system, 1, &error));
	if (strstr(error->message, "namespaces") || strstr(error->message, "Permission denied"))
		g_test_message("there is no sandbox for users here: %s", error->message);
	else if (!strstr(error->message, "the sandbox cannot have files that it cannot change"))
		g_error("%s", error->message);
	random_snapshot_free(random);
}

/* Without the sandbox no process is left, in the group or not. */
static void test_group(void)
{
	static const char *const faults[] = {"hang", "fork"};

	for (size_t i = 0; i < G_N_ELEMENTS(faults); i++) {
		g_autofree char *token = g_strdup_printf("token-%d-%s-", (int)getpid(), faults[i]);
		g_autofree char *arguments =
			g_strdup_printf("--token %s --at 1 %s easy", token, faults[i]);
		struct plugin_settings settings = usual;
		struct bench bench;

		settings.deadline_s = i == 0 ? 0.3 : 20;
		bench_init(&bench, 3, arguments, &settings);
		g_assert_cmpint(bench_decide(&bench), ==, -EIO);
		g_assert_true(i > 0 || count_processes(token) > 0);
		bench_clear(&bench);
		g_assert_cmpuint(count_processes(token), ==, 0);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	/* A subprocess of a test has no arguments. */
	if (argc > 1)
		g_setenv("TWIN", argv[1], TRUE);
	twin = g_getenv("TWIN");
	if (!twin)
		g_error("give the twin");
	g_test_add_func("/plugin/a program decides as the policy of the tree that it asks",
			test_twin);
	g_test_add_func("/plugin/what actions leave out is filled in", test_bare);
	g_test_add_func("/plugin/differences make the same snapshot", test_differences);
	g_test_add_func("/plugin/a snapshot that is too long is not sent", test_long_snapshot);
	g_test_add_func("/plugin/the fallback decides where a program does not", test_faults);
	g_test_add_func("/plugin/answers with random bytes do no harm", test_random_bytes);
	g_test_add_func("/plugin/an illegal action is named by its place", test_place_of_action);
	g_test_add_func("/plugin/with queues a plan has a state of pruning", test_pruner);
	g_test_add_func("/plugin/answers that take much memory are not read", test_large_answers);
	g_test_add_func("/plugin/more answers than messages are rubbish", test_old_answers);
	g_test_add_func("/plugin/a limit of lines of standard error is logged", test_complaints);
	g_test_add_func("/plugin/a program computes no longer than the event", test_boasts);
	g_test_add_func("/plugin/three failures in a row disable a program", test_disabled);
	g_test_add_func("/plugin/a program that starts slowly is waited for", test_slow_start);
	g_test_add_func("/plugin/an end does not wait for a program that hangs", test_cancel);
	g_test_add_func("/plugin/a policy without a command fails at each event", test_no_command);
	g_test_add_func("/plugin/without a fallback there is no plan", test_no_fallback);
	g_test_add_func("/plugin/a program that does not start is refused", test_start);
	g_test_add_func("/plugin/a sandbox has no network, and limits", test_sandbox);
	g_test_add_func("/plugin/a user of the sandbox with many processes is named",
			test_many_processes);
	g_test_add_func("/plugin/a lower limit than that of the sandbox stays", test_lower_limit);
	g_test_add_func("/plugin/a sandbox without another user needs Landlock", test_no_landlock);
	g_test_add_func("/plugin/all processes of a program are ended", test_group);
	return g_test_run();
}
