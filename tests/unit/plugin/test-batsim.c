/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Both doors to Batsim. No message here was recorded from Batsim: those of conversations.h are
 * written from its protocol's pages, the others are what our two ends say.
 */
#include <errno.h>
#include <glib.h>
#include <math.h>
#include <string.h>

#include "common/json.h"
#include "controller/plugin/batsim/batprotocol.h"
#include "controller/plugin/batsim/batsim_alloc.h"
#include "controller/plugin/batsim/batsim_bridge.h"
#include "controller/plugin/batsim/batsim_scheduler.h"
#include "controller/snapshot/snapshot_json.h"
#include "tests/unit/plugin/conversations.h"

static const char *component; /* libvirtbed-batsim.so */

static json_t *parse(const char *text)
{
	g_autoptr(GError) error = NULL;
	json_t *value = json_parse(text, strlen(text), "text", &error);

	g_assert_no_error(error);
	return value;
}

/* Whether two texts are the same JSON. */
static void assert_same(const char *text, const char *expected)
{
	g_autoptr(json_t) left = parse(text);
	g_autoptr(json_t) right = parse(expected);

	if (!json_equal(left, right))
		g_error("%s\nis not\n%s", text, expected);
}

static void test_sets_of_resources(void)
{
	static const struct {
		const char *text, *again;
		uint32_t chosen;
	} good[] = {
		{"0-3 5", "0-3 5", 5}, {"2", "2", 1},       {"1 2 4-5", "1-2 4-5", 4},
		{"3,1,2", "1-3", 3},   {"0-7", "0-7", 8},   {"", "", 0},
		{"4-4", "4", 1},       {"1 1-2", "1-2", 2},
	};
	static const char *const bad[] = {"8",  "0-8", "3-1",   "-1", "a",
					  "1-", "0x1", "1-2-3", "1;2"};

	for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
		uint32_t chosen;
		g_autofree bool *have = batsim_alloc_read(good[i].text, 8, &chosen);
		g_autofree char *again = NULL;

		g_assert_nonnull(have);
		g_assert_cmpuint(chosen, ==, good[i].chosen);
		again = batsim_alloc_text(have, 8);
		g_assert_cmpstr(again, ==, good[i].again);
	}
	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
		uint32_t chosen;

		g_assert_null(batsim_alloc_read(bad[i], 8, &chosen));
	}
}

static struct batsim_scheduler *scheduler_of(const char *name)
{
	g_autoptr(GError) error = NULL;
	struct batsim_scheduler *scheduler;
	struct policy policy;

	g_assert_cmpint(policy_parse(name, &policy, NULL, 0), ==, 0);
	scheduler = batsim_scheduler_new(&policy, false, &error);
	g_assert_no_error(error);
	return scheduler;
}

static void hold_conversation(const struct exchange *exchanges)
{
	g_autoptr(batsim_scheduler_t) scheduler = scheduler_of("easy");
	bool over = false;

	for (; exchanges->batsim; exchanges++) {
		g_autoptr(GError) error = NULL;
		g_autofree char *answer = NULL;

		g_assert_false(over);
		answer = batsim_scheduler_answer(scheduler, exchanges->batsim, &over, &error);
		g_assert_no_error(error);
		assert_same(answer, exchanges->scheduler);
	}
	g_assert_true(over);
}

static void test_a_conversation_of_batsim_4(void)
{
	hold_conversation(batsim_4);
}

static void test_a_conversation_of_batsim_2(void)
{
	hold_conversation(batsim_2);
}

static void test_jobs_that_outlive_their_walltimes(void)
{
	hold_conversation(outlived);
}

/* The same in both directions, but for what Batsim 5 does not have. */
static void test_messages_of_batsim_5(void)
{
	for (const struct exchange *pair = batsim_5; pair->batsim; pair++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(json_t) five = parse(pair->batsim);
		g_autoptr(json_t) four = batprotocol_to_4(five, &error);
		g_autoptr(json_t) again = NULL;
		g_autofree char *text = NULL;
		g_autofree char *text_again = NULL;

		g_assert_no_error(error);
		text = json_text(four);
		assert_same(text, pair->scheduler);
		again = batprotocol_to_5(four, &error);
		g_assert_no_error(error);
		text_again = json_text(again);
		assert_same(text_again, pair->batsim);
	}
}

static void check_untranslatable(const char *message, bool to_5, const char *why)
{
	g_autoptr(json_t) read = parse(message);
	g_autoptr(GError) error = NULL;

	g_assert_null(to_5 ? batprotocol_to_5(read, &error) : batprotocol_to_4(read, &error));
	g_assert_nonnull(error);
	g_assert_nonnull(strstr(error->message, why));
}

static void test_what_batsim_5_cannot_say(void)
{
	check_untranslatable("{\"now\": 1, \"events\": [{\"timestamp\": 1, \"type\": \"NOTIFY\","
			     "\"data\": {\"type\": \"event_machine_unavailable\", \"resources\": "
			     "\"0\"}}]}",
			     true, "no event for NOTIFY event_machine_unavailable");
	check_untranslatable("{\"now\": 1, \"events\": [{\"timestamp\": 1, \"event_type\": "
			     "\"CallMeLaterEvent\", \"event\": {\"call_me_later_id\": \"a\","
			     "\"when_type\": \"Periodic\", \"when\": {}}}]}",
			     false, "\"Periodic\"");
	check_untranslatable("{\"now\": 1}", true, "events");
}

static void check_misunderstood(const char *message, const char *why)
{
	g_autoptr(batsim_scheduler_t) scheduler = scheduler_of("easy");
	g_autoptr(GError) error = NULL;
	bool over = false;

	g_assert_null(batsim_scheduler_answer(scheduler, message, &over, &error));
	g_assert_nonnull(error);
	if (!strstr(error->message, why))
		g_error("\"%s\" does not say \"%s\"", error->message, why);
}

static void test_messages_that_are_refused(void)
{
	g_autoptr(GError) error = NULL;
	struct policy policy;

	check_misunderstood("[", "the message");
	check_misunderstood("{\"events\": []}", "now");
	check_misunderstood("{\"now\": 0}", "events");
	check_misunderstood("{\"now\": 0, \"events\": [{\"timestamp\": 0, \"type\": "
			    "\"REQUESTED_CALL\", \"data\": {}}]}",
			    "the first event is not SIMULATION_BEGINS");
	check_misunderstood("{\"now\": 0, \"events\": [{\"timestamp\": 0, \"type\": "
			    "\"SIMULATION_BEGINS\", \"data\": {\"nb_resources\": 0}}]}",
			    "nb_resources");
	check_misunderstood("{\"now\": 0, \"events\": [{\"timestamp\": 0, \"type\": "
			    "\"SIMULATION_BEGINS\", \"data\": {\"nb_resources\": 4, "
			    "\"allow_time_sharing\": true}}]}",
			    "share hosts");
	g_assert_cmpint(policy_parse("dynmcb8", &policy, NULL, 0), ==, 0);
	g_assert_null(batsim_scheduler_new(&policy, false, &error));
	g_assert_nonnull(strstr(error->message, "cannot decide for Batsim"));
}

/* The bridge, with a scheduler that answers what the test says. */
struct scripted {
	struct batsim_peer peer;
	const char *const *answers; /* what follows "events": in each */
	GPtrArray *asked;
	unsigned started, freed;
};

static struct scripted script;

static char *scripted_ask(struct batsim_peer *peer G_GNUC_UNUSED, const char *message,
			  GError **error G_GNUC_UNUSED)
{
	g_ptr_array_add(script.asked, g_strdup(message));
	if (strstr(message, "SIMULATION_ENDS") || strstr(message, "SIMULATION_BEGINS"))
		return g_strdup("{\"now\": 0, \"events\": []}");
	g_assert_nonnull(*script.answers);
	return g_strdup_printf("{\"now\": 0, \"events\": [%s]}", *script.answers++);
}

static void scripted_free(struct batsim_peer *peer G_GNUC_UNUSED, bool kindly G_GNUC_UNUSED)
{
	script.freed++;
}

static struct batsim_peer *scripted_start(void *data G_GNUC_UNUSED, GError **error G_GNUC_UNUSED)
{
	script.started++;
	script.peer = (struct batsim_peer){.ask = scripted_ask, .free = scripted_free};
	return &script.peer;
}

/* A system of one cluster with four nodes, and a state of it that tests change. */
struct bench {
	struct sched_system *system;
	struct sched_task tasks[4];
	const struct sched_task *waiting[4];
	struct sched_allocation running[4];
	struct sched_node down[4];
	struct sched_snapshot snapshot;
	struct batsim_bridge *bridge;
	struct policy_context context;
	struct sched_plan plan;
};

static const uint32_t nodes[] = {0, 1, 2, 3};

static void open_bench(struct bench *bench, const char *const *answers)
{
	const struct sched_cluster cluster = {"c1", 4, 1, 1, 0};

	memset(bench, 0, sizeof(*bench));
	script = (struct scripted){.answers = answers,
				   .asked = g_ptr_array_new_with_free_func(g_free)};
	bench->system = sched_system_new(&cluster, 1, 1);
	bench->system->row_names[0] = "IS.2";
	bench->system->etc_s[0] = 100;
	bench->system->eec_j[0] = 50;
	bench->system->nodes[0] = 2;
	g_assert_cmpint(sched_system_finish(bench->system, NULL), ==, SCHED_SYSTEM_OK);
	for (uint32_t i = 0; i < 4; i++) {
		bench->tasks[i] = (struct sched_task){
			.id = i,
			.arrival_s = i,
			.utility = {1, 1, {{UTILITY_CONSTANT, 1e6, 1, 1, 0}}},
		};
		bench->running[i] =
			(struct sched_allocation){.task = &bench->tasks[i], .nodes_count = 2};
	}
	bench->snapshot = (struct sched_snapshot){
		.system = bench->system,
		.now_s = 10,
		.next_event_s = 20,
		.end_s = 1000,
		.budget_j = INFINITY,
		.consumed_j = 7,
		.waiting = bench->waiting,
		.running = bench->running,
		.down = bench->down,
	};
	bench->bridge = batsim_bridge_new(NULL, scripted_start, NULL);
	bench->context = (struct policy_context){.arena = arena_new(),
						 .outside = batsim_bridge_outside(bench->bridge)};
}

static void close_bench(struct bench *bench)
{
	batsim_bridge_free(bench->bridge);
	g_assert_cmpuint(script.freed, ==, script.started);
	arena_free(bench->context.arena);
	sched_system_free(bench->system);
	g_ptr_array_unref(script.asked);
}

static void wait_task(struct bench *bench, uint32_t task)
{
	bench->waiting[bench->snapshot.waiting_count++] = &bench->tasks[task];
}

static void run_task(struct bench *bench, uint32_t task, uint32_t first_node)
{
	struct sched_allocation *running = &bench->running[bench->snapshot.running_count++];

	running->task = &bench->tasks[task];
	running->nodes = nodes + first_node;
	running->end_s = 500;
}

/* The next event 10 s later; the plan's kinds and tasks as a text, or why there is none. */
static char *next(struct bench *bench)
{
	const struct policy policy = {.ops = &policy_outside_ops, .name = "batsim:test"};
	GString *text = g_string_new("");

	bench->snapshot.now_s += 10;
	bench->snapshot.next_event_s += 10;
	bench->snapshot.event++;
	if (policy_decide(&policy, &bench->snapshot, &bench->context, &bench->plan) != 0) {
		g_string_append(text, bench->context.outside->problem);
		return g_string_free(text, FALSE);
	}
	for (uint32_t i = 0; i < bench->plan.actions_count; i++) {
		const struct sched_action *action = &bench->plan.actions[i];

		g_string_append_printf(text, "%s %u", sched_action_kind_name(action->kind),
				       action->task);
		for (uint32_t n = 0; n < action->nodes_count; n++)
			g_string_append_printf(text, "%c%u", n ? ',' : '@', action->nodes[n]);
		g_string_append_c(text, ';');
	}
	return g_string_free(text, FALSE);
}

static void assert_next(struct bench *bench, const char *expected)
{
	g_autofree char *text = next(bench);

	g_assert_cmpstr(text, ==, expected);
	bench->snapshot.waiting_count = 0;
	bench->snapshot.running_count = 0;
	bench->snapshot.down_count = 0;
}

/* The types of the events of the message, and of what they are about. */
static void assert_asked(guint number, const char *expected)
{
	g_autoptr(json_t) message = parse(script.asked->pdata[number]);
	GString *text = g_string_new("");
	size_t i;
	json_t *event;

	json_array_foreach (json_object_get(message, "events"), i, event) {
		const json_t *data = json_object_get(event, "data");
		static const char *const keys[] = {"job_id", "job_state", "type", "resources"};

		g_string_append(text, json_string_value(json_object_get(event, "type")));
		for (size_t k = 0; k < G_N_ELEMENTS(keys); k++)
			if (json_object_get(data, keys[k]))
				g_string_append_printf(text, " %s",
						       json_string_value(
							       json_object_get(data, keys[k])));
		g_string_append_c(text, ';');
	}
	g_assert_cmpstr(text->str, ==, expected);
	g_string_free(text, TRUE);
}

#define EXECUTE(job, alloc)                                                                        \
	"{\"timestamp\": 20, \"type\": \"EXECUTE_JOB\", \"data\": {\"job_id\": \"" job             \
	"\", \"alloc\": \"" alloc "\"}}"
#define EVENT(type, data) "{\"timestamp\": 20, \"type\": \"" type "\", \"data\": " data "}"

static void test_the_bridge_tells_changes_and_takes_decisions(void)
{
	static const char *const answers[] = {
		EXECUTE("virtbed!0", "0 1"),
		"",
		EVENT("REJECT_JOB", "{\"job_id\": \"virtbed!2\"}") ", " EXECUTE("virtbed!1", "2-3"),
		"",
		NULL,
	};
	struct bench bench;

	open_bench(&bench, answers);
	wait_task(&bench, 0);
	assert_next(&bench, "start 0@0,1;");
	assert_asked(0, "SIMULATION_BEGINS;");
	assert_asked(1, "JOB_SUBMITTED virtbed!0;");
	/* Another one runs on a node, one is down. */
	run_task(&bench, 0, 0);
	bench.down[bench.snapshot.down_count++].node = 3;
	wait_task(&bench, 1);
	wait_task(&bench, 2);
	assert_next(&bench, "");
	assert_asked(2, "NOTIFY event_machine_unavailable 3;JOB_SUBMITTED virtbed!1;JOB_SUBMITTED "
			"virtbed!2;");
	/* Nothing has changed: it is not asked. */
	run_task(&bench, 0, 0);
	bench.down[bench.snapshot.down_count++].node = 3;
	wait_task(&bench, 1);
	wait_task(&bench, 2);
	assert_next(&bench, "");
	g_assert_cmpuint(script.asked->len, ==, 3);
	wait_task(&bench, 1);
	wait_task(&bench, 2);
	assert_next(&bench, "drop 2;start 1@2,3;");
	assert_asked(3, "JOB_COMPLETED virtbed!0 COMPLETED_SUCCESSFULLY;NOTIFY "
			"event_machine_available 3;");
	/* The start has failed. */
	wait_task(&bench, 1);
	assert_next(&bench, "");
	assert_asked(4, "JOB_COMPLETED virtbed!1 COMPLETED_FAILED;JOB_SUBMITTED virtbed!1#1;");
	g_assert_cmpuint(script.started, ==, 1);
	close_bench(&bench);
}

static void test_the_bridge_begins_again_where_the_state_is_another(void)
{
	static const char *const answers[] = {"", "", NULL};
	struct bench bench;

	open_bench(&bench, answers);
	wait_task(&bench, 0);
	wait_task(&bench, 1);
	assert_next(&bench, "");
	/* A user cancelled task 0, and another policy has started task 1. */
	run_task(&bench, 1, 2);
	wait_task(&bench, 2);
	assert_next(&bench, "");
	g_assert_cmpuint(script.started, ==, 2);
	assert_asked(2, "SIMULATION_ENDS;");
	assert_asked(3, "SIMULATION_BEGINS;");
	assert_asked(4, "NOTIFY event_machine_unavailable 2-3;JOB_SUBMITTED "
			"virtbed!2;");
	close_bench(&bench);
}

static void test_the_bridge_begins_again_where_a_task_is_elsewhere(void)
{
	static const char *const answers[] = {EXECUTE("virtbed!0", "0,1"), "", "", NULL};
	struct bench bench;

	open_bench(&bench, answers);
	wait_task(&bench, 0);
	assert_next(&bench, "start 0@0,1;");
	run_task(&bench, 0, 0);
	wait_task(&bench, 1);
	assert_next(&bench, "");
	g_assert_cmpuint(script.started, ==, 1);
	/* Its plan came too late, and the fallback has started the task. */
	run_task(&bench, 0, 2);
	wait_task(&bench, 1);
	assert_next(&bench, "");
	g_assert_cmpuint(script.started, ==, 2);
	assert_asked(5, "NOTIFY event_machine_unavailable 2-3;JOB_SUBMITTED "
			"virtbed!1;");
	close_bench(&bench);
}

static void test_the_bridge_calls_later_and_answers(void)
{
	static const char *const answers[] = {
		EVENT("CALL_ME_LATER", "{\"timestamp\": 35}"),
		EVENT("QUERY", "{\"requests\": {\"consumed_energy\": {}}}"),
		"",
		NULL,
	};
	struct bench bench;

	open_bench(&bench, answers);
	wait_task(&bench, 0);
	assert_next(&bench, "");
	g_assert_cmpuint(script.asked->len, ==, 2);
	wait_task(&bench, 0);
	assert_next(&bench, "");
	wait_task(&bench, 0);
	assert_next(&bench, "");
	assert_asked(2, "REQUESTED_CALL;");
	assert_asked(3, "ANSWER;");
	g_assert_nonnull(strstr(script.asked->pdata[3], "\"consumed_energy\":7"));
	close_bench(&bench);
}

static void check_no_plan(const char *answer, const char *why)
{
	const char *const answers[] = {answer, NULL};
	struct bench bench;
	g_autofree char *text = NULL;

	open_bench(&bench, answers);
	wait_task(&bench, 0);
	text = next(&bench);
	if (!strstr(text, why))
		g_error("\"%s\" does not say \"%s\"", text, why);
	g_assert_cmpuint(script.freed, ==, 1);
	close_bench(&bench);
}

static void test_what_virtbed_cannot_do_has_a_reason(void)
{
	check_no_plan(EVENT("KILL_JOB", "{\"job_ids\": [\"virtbed!0\"]}"), "asks for KILL_JOB");
	check_no_plan(EVENT("SET_RESOURCE_STATE", "{}"), "asks for SET_RESOURCE_STATE");
	check_no_plan(EVENT("REGISTER_JOB", "{}"), "asks for REGISTER_JOB");
	check_no_plan(EVENT("ProbeDataEmittedEvent", "{}"), "asks for ProbeDataEmittedEvent");
	check_no_plan(EVENT("QUERY", "{\"requests\": {\"air\": {}}}"),
		      "other than consumed_energy");
	check_no_plan(EXECUTE("virtbed!1", "0-1"), "no job \"virtbed!1\" waits");
	check_no_plan(EXECUTE("w0!0", "0-1"), "no job \"w0!0\" waits");
	check_no_plan(EXECUTE("virtbed!0", "0-4"), "\"0-4\" is no set of resources below 4");
	check_no_plan(EXECUTE("virtbed!0", "0-1") ", " EXECUTE("virtbed!0", "2-3"), "no job");
	check_no_plan("5", "asks for nothing");
	check_no_plan("]", "its answer");
}

static void check_refused(const char *hello, const char *cluster, const char *why)
{
	g_autoptr(json_t) message = parse(hello);
	struct batsim_bridge *bridge = batsim_bridge_new(cluster, scripted_start, NULL);
	g_autofree char *reason = batsim_bridge_refuses(batsim_bridge_outside(bridge), message);

	if (!why)
		g_assert_cmpstr(reason, ==, NULL);
	else if (!reason || !strstr(reason, why))
		g_error("\"%s\" does not say \"%s\"", reason, why);
	batsim_bridge_free(bridge);
}

static void test_systems_that_are_refused(void)
{
	const char *two = "{\"model\": \"nodes\", \"system\": {\"clusters\": [{\"name\": \"a\"}, "
			  "{\"name\": \"b\"}]}}";

	check_refused(two, NULL, "cluster=NAME");
	check_refused(two, "c", "no cluster \"c\"; there are \"a\" \"b\"");
	check_refused(two, "b", NULL);
	check_refused("{\"model\": \"shared\", \"system\": {\"clusters\": [{\"name\": \"a\"}]}}",
		      NULL, "\"shared\"");
}

/* Both doors in one process: the component decides for the bridge. */
static struct batsim_peer *start_component(void *data, GError **error)
{
	return batsim_peer_edc(component, data, error);
}

static void test_our_component_decides_for_our_bridge(void)
{
	char init[] = "{\"policy\": \"easy\"}";
	struct bench bench;

	open_bench(&bench, NULL);
	batsim_bridge_free(bench.bridge);
	bench.bridge = batsim_bridge_new(NULL, start_component, init);
	bench.context.outside = batsim_bridge_outside(bench.bridge);
	for (uint32_t i = 0; i < 4; i++)
		wait_task(&bench, i);
	assert_next(&bench, "start 0@0,1;start 1@2,3;");
	run_task(&bench, 0, 0);
	wait_task(&bench, 2);
	wait_task(&bench, 3);
	assert_next(&bench, "start 2@2,3;");
	close_bench(&bench);
}

static void check_component(const char *file, const char *init, const char *why)
{
	g_autoptr(GError) error = NULL;

	g_assert_null(batsim_peer_edc(file, init, &error));
	g_assert_nonnull(error);
	if (!strstr(error->message, why))
		g_error("\"%s\" does not say \"%s\"", error->message, why);
}

/*
 * The first messages between Batsim 5 and a process, written from its pages: byte by byte, on a
 * machine whose least byte comes first.
 */
static void test_the_first_messages_of_batsim_5(void)
{
	static const char init[] = "\x05\x00\x00\x00"
				   "a=b\xc3\xa9";
	static const char hello[] =
		"\x02\x00\x00\x00{\"now\": 0.0, \"events\": [{\"timestamp\": 0.0, \"event_type\": "
		"\"EDCHelloEvent\", \"event\": {\"batprotocol_version\": \"v0.0.0\", "
		"\"decision_component_name\": \"fcfs\", \"decision_component_version\": \"1\"}}]}";
	static const struct {
		const char *bytes;
		size_t size;
		const char *why;
	} refused[] = {
		{"\x02\x00\x00", 3, "answers its initialisation with 3 bytes"},
		{"\x01\x00\x00\x00\x10", 5, "speaks the binary format (flags 0x1)"},
		{"{\"now\": 0", 9, "the message: "},
		{"\x02\x00\x00\x00", 4, "the message: "},
		{"\x02\x00\x00\x00[]", 6, "expected an object"},
	};
	g_autoptr(GByteArray) first = batprotocol_init("a=b\xc3\xa9");
	g_autoptr(GByteArray) empty = batprotocol_init("");
	g_autoptr(json_t) own = batprotocol_hello("virtbed", "1.0");
	g_autoptr(GByteArray) answer = batprotocol_init_answer(own);
	g_autoptr(GError) error = NULL;

	if (G_BYTE_ORDER == G_LITTLE_ENDIAN)
		g_assert_cmpmem(first->data, first->len, init, sizeof(init) - 1);
	g_assert_true(batprotocol_is_init(first->data, first->len));
	g_assert_true(batprotocol_is_init(empty->data, empty->len));
	g_assert_false(batprotocol_is_init(first->data, first->len - 1));
	g_assert_false(batprotocol_is_init(first->data, 3));
	g_assert_false(batprotocol_is_init("{\"now\": 0.0, \"events\": []}", 27));
	g_byte_array_append(answer, (const guint8 *)"", 1);
	g_assert_true(batprotocol_read_init_answer("own", (const char *)answer->data,
						   answer->len - 1, &error));
	if (G_BYTE_ORDER == G_LITTLE_ENDIAN)
		g_assert_true(
			batprotocol_read_init_answer("fcfs", hello, sizeof(hello) - 1, &error));
	g_assert_no_error(error);
	for (size_t i = 0; i < G_N_ELEMENTS(refused) && G_BYTE_ORDER == G_LITTLE_ENDIAN; i++) {
		g_autoptr(GError) why = NULL;

		g_assert_false(batprotocol_read_init_answer("it", refused[i].bytes, refused[i].size,
							    &why));
		if (!strstr(why->message, refused[i].why))
			g_error("\"%s\" does not say \"%s\"", why->message, refused[i].why);
	}
}

static void test_components_that_are_refused(void)
{
	check_component("/nowhere.so", "", "cannot load \"/nowhere.so\"");
	check_component("libc.so.6", "", "cannot load \"libc.so.6\"");
	check_component(component, "", "has failed");
	check_component(component, "nonsense", "has failed");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	component = argv[1];
	g_test_add_func("/batsim/sets of resources", test_sets_of_resources);
	g_test_add_func("/batsim/a conversation of Batsim 4", test_a_conversation_of_batsim_4);
	g_test_add_func("/batsim/a conversation of Batsim 2", test_a_conversation_of_batsim_2);
	g_test_add_func("/batsim/jobs that outlive their walltimes",
			test_jobs_that_outlive_their_walltimes);
	g_test_add_func("/batsim/messages of Batsim 5", test_messages_of_batsim_5);
	g_test_add_func("/batsim/what Batsim 5 cannot say", test_what_batsim_5_cannot_say);
	g_test_add_func("/batsim/messages that are refused", test_messages_that_are_refused);
	g_test_add_func("/batsim/the bridge tells changes and takes decisions",
			test_the_bridge_tells_changes_and_takes_decisions);
	g_test_add_func("/batsim/the bridge begins again where the state is another",
			test_the_bridge_begins_again_where_the_state_is_another);
	g_test_add_func("/batsim/the bridge begins again where a task is elsewhere",
			test_the_bridge_begins_again_where_a_task_is_elsewhere);
	g_test_add_func("/batsim/the bridge calls later and answers",
			test_the_bridge_calls_later_and_answers);
	g_test_add_func("/batsim/what virtbed cannot do has a reason",
			test_what_virtbed_cannot_do_has_a_reason);
	g_test_add_func("/batsim/systems that are refused", test_systems_that_are_refused);
	g_test_add_func("/batsim/our component decides for our bridge",
			test_our_component_decides_for_our_bridge);
	g_test_add_func("/batsim/the first messages of Batsim 5",
			test_the_first_messages_of_batsim_5);
	g_test_add_func("/batsim/components that are refused", test_components_that_are_refused);
	return g_test_run();
}
