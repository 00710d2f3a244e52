/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "common/json.h"
#include "controller/backend/remote_clock.h"
#include "controller/backend/remote_curve.h"
#include "controller/backend/remote_meter.h"
#include "controller/backend/remote_task.h"

#define S INT64_C(1000000000)

static void clock_of_the_same_boot_is_not_translated(void)
{
	struct remote_clock clock;

	remote_clock_init(&clock, true);
	remote_clock_observe(&clock, 5 * S, 9 * S);
	g_assert_cmpint(remote_clock_ours_ns(&clock, 7 * S), ==, 7 * S);
}

static void the_fastest_answer_gives_the_offset(void)
{
	struct remote_clock clock;

	remote_clock_init(&clock, false);
	g_assert_cmpint(remote_clock_ours_ns(&clock, 7), ==, 7);
	remote_clock_observe(&clock, 100 * S, 1100 * S + 300);
	remote_clock_observe(&clock, 101 * S, 1101 * S + 20);
	remote_clock_observe(&clock, 102 * S, 1102 * S + 900);
	g_assert_cmpint(remote_clock_ours_ns(&clock, 100 * S), ==, 1100 * S + 20);
}

static void an_old_offset_is_forgotten(void)
{
	struct remote_clock clock;

	remote_clock_init(&clock, false);
	remote_clock_observe(&clock, 0, 0);
	for (int64_t s = 1; s < 300; s++) /* drifts by 1 us a second */
		remote_clock_observe(&clock, s * S, s * S + s * 1000);
	g_assert_cmpint(remote_clock_ours_ns(&clock, 300 * S) - 300 * S, >, 150000);
}

static void add(struct remote_meter *meter, int64_t seq, int64_t t_ns, int64_t mw, int64_t uj)
{
	const struct wire_sample sample = {.seq = seq, .t_ns = t_ns, .mw = mw, .energy_uj = uj};

	g_assert_true(remote_meter_add(meter, &sample));
}

static void counter_rises_evenly_between_samples(void)
{
	struct remote_meter *meter = remote_meter_new("b1", 1);

	g_assert_cmpfloat(remote_meter_counter_uj(meter, S), ==, 0);
	add(meter, 1, 10 * S, 60000, 1000000);
	add(meter, 2, 11 * S, 80000, 71000000);
	g_assert_cmpfloat_with_epsilon(remote_meter_counter_uj(meter, 10 * S), 1e6, 1e-3);
	g_assert_cmpfloat_with_epsilon(remote_meter_counter_uj(meter, 10 * S + S / 2), 36e6, 1e-3);
	g_assert_cmpfloat_with_epsilon(remote_meter_counter_uj(meter, 12 * S), 151e6, 1e-3);
	g_assert_cmpfloat_with_epsilon(remote_meter_counter_uj(meter, 9 * S), -59e6, 1e-3);
	remote_meter_free(meter);
}

static void the_longest_interval_is_known(void)
{
	struct remote_meter *meter = remote_meter_new("b1", 1);

	add(meter, 1, 10 * S, 100, 50);
	g_assert_cmpfloat(meter->longest_s, ==, 0);
	add(meter, 2, 11 * S, 100, 100);
	add(meter, 3, 13 * S + S / 2, 100, 100);
	add(meter, 4, 14 * S, 100, 100);
	g_assert_cmpfloat_with_epsilon(meter->longest_s, 2.5, 1e-9);
	g_assert_cmpfloat_with_epsilon(remote_meter_sampling_s(meter, 17 * S), 2.5, 1e-9);
	g_assert_cmpfloat_with_epsilon(remote_meter_sampling_s(meter, 18 * S), 4, 1e-9);

	/* A silence of 6 s is one after its samples have come, too. */
	remote_meter_note_silence(meter, 20 * S);
	for (int64_t k = 5; k <= 10; k++)
		add(meter, k, (10 + k) * S, 100, 100 * k);
	g_assert_cmpfloat_with_epsilon(remote_meter_sampling_s(meter, 20 * S), 6, 1e-9);
	remote_meter_free(meter);
}

static void samples_that_run_backwards_are_refused(void)
{
	struct remote_meter *meter = remote_meter_new("b1", 1);
	struct wire_sample sample = {.seq = 3, .t_ns = 2 * S, .mw = 1, .energy_uj = 99};

	add(meter, 1, S, 100, 50);
	add(meter, 2, 2 * S, 100, 100);
	g_assert_false(remote_meter_add(meter, &sample));
	sample.t_ns = 3 * S;
	g_assert_false(remote_meter_add(meter, &sample));
	sample.energy_uj = 101;
	g_assert_true(remote_meter_add(meter, &sample));
	remote_meter_free(meter);
}

static void a_counter_that_starts_anew_goes_on(void)
{
	struct remote_meter *meter = remote_meter_new("b1", 1);

	add(meter, 1, S, 50000, 900000000);
	remote_meter_rebase(meter);
	add(meter, 1, 3 * S, 70000, 5);
	g_assert_cmpint(remote_meter_last(meter)->energy_uj, ==, 900000000 + 2 * 70000000);
	g_assert_true(remote_meter_last(meter)->gap);
	add(meter, 2, 4 * S, 70000, 70000005);
	g_assert_cmpint(remote_meter_last(meter)->energy_uj, ==, 900000000 + 3 * 70000000);
	remote_meter_free(meter);
}

static GPtrArray *two_meters(void)
{
	GPtrArray *meters = g_ptr_array_new_with_free_func((GDestroyNotify)remote_meter_free);

	for (int i = 0; i < 2; i++) {
		struct remote_meter *meter = remote_meter_new(i ? "b2" : "b1", 1);

		for (int64_t s = 0; s <= 10; s++)
			add(meter, s + 1, (100 + s) * S, 100000, s * 100000000);
		g_ptr_array_add(meters, meter);
	}
	return meters;
}

static void dynamic_energy_leaves_idle_out(void)
{
	g_autoptr(GPtrArray) meters = two_meters();

	for (guint i = 0; i < 2; i++)
		remote_meter_start(g_ptr_array_index(meters, i), 102 * S + S / 2, 60);
	g_assert_cmpfloat_with_epsilon(remote_meters_dynamic_j(meters, 102 * S + S / 2), 0, 1e-9);
	g_assert_cmpfloat_with_epsilon(remote_meters_dynamic_j(meters, 106 * S + S / 2), 320, 1e-6);
}

static void the_start_is_that_of_the_samples_around_it(void)
{
	struct remote_meter *meter = remote_meter_new("b1", 1);

	add(meter, 1, 10 * S, 100000, 0);
	remote_meter_start(meter, 10 * S + S / 2, 0);
	g_assert_cmpfloat_with_epsilon(remote_meter_start_uj(meter), 50e6, 1);
	add(meter, 2, 11 * S, 300000, 200000000);
	g_assert_cmpfloat_with_epsilon(remote_meter_start_uj(meter), 100e6, 1);
	for (int64_t s = 12; s < 20000; s++)
		add(meter, s, s * S, 100000, s * 100000000);
	g_assert_cmpfloat_with_epsilon(remote_meter_start_uj(meter), 100e6, 1);
	remote_meter_free(meter);
}

static void crossing_is_interpolated(void)
{
	g_autoptr(GPtrArray) meters = two_meters();
	int64_t t_ns = 0;

	for (guint i = 0; i < 2; i++)
		remote_meter_start(g_ptr_array_index(meters, i), 100 * S, 60);
	g_assert_false(remote_meters_crossing(meters, 100, 100 * S, 101 * S, &t_ns));
	g_assert_true(remote_meters_crossing(meters, 100, 101 * S, 105 * S, &t_ns));
	g_assert_cmpint(ABS(t_ns - (100 * S + 5 * S / 4)), <=, 1000);
}

static void stale_meters_do_not_hold_up_the_others(void)
{
	g_autoptr(GPtrArray) meters = two_meters();

	add(g_ptr_array_index(meters, 0), 12, 115 * S, 100000, 1500000000);
	g_assert_cmpint(remote_meters_covered_ns(meters, 112 * S), ==, 110 * S);
	g_assert_cmpint(remote_meters_covered_ns(meters, 116 * S), ==, 115 * S);
	g_assert_cmpint(remote_meters_covered_ns(meters, 130 * S), ==, 130 * S);
}

static void what_all_meters_told_is_known(void)
{
	g_autoptr(GPtrArray) meters = two_meters();

	add(g_ptr_array_index(meters, 0), 12, 115 * S, 100000, 1500000000);
	g_assert_cmpint(remote_meters_known_ns(meters, 130 * S), ==, 110 * S);
	g_assert_cmpint(remote_meters_known_ns(meters, 105 * S), ==, 105 * S);
	g_assert_cmpint(remote_meters_kept_ns(meters), ==, 100 * S);
	g_ptr_array_add(meters, remote_meter_new("b3", 1));
	g_assert_cmpint(remote_meters_known_ns(meters, 130 * S), ==, 0);
	g_assert_cmpint(remote_meters_kept_ns(meters), ==, 100 * S);
	for (int64_t s = 200; s < 9000; s++)
		add(g_ptr_array_index(meters, 0), s, s * S, 100000, s * 100000000);
	g_assert_cmpint(remote_meters_kept_ns(meters), >, 1000 * S);
}

static void mean_is_over_whole_samples(void)
{
	struct remote_meter *meter = remote_meter_new("b1", 1);
	double w = 0;

	for (int64_t s = 0; s < 10; s++)
		add(meter, s, s * S, 0, s * s * 1000000);
	g_assert_true(remote_meter_mean_w(meter, 2 * S - 5, 6 * S + 5, &w));
	g_assert_cmpfloat_with_epsilon(w, 8, 1e-9);
	g_assert_false(remote_meter_mean_w(meter, 2 * S + 1, 3 * S + 1, &w));
	remote_meter_free(meter);
}

static void gaps_are_counted_within_the_run(void)
{
	struct remote_meter *meter = remote_meter_new("b1", 1);
	struct wire_sample late = {.seq = 2, .t_ns = 20 * S, .energy_uj = 10, .gap = true};

	add(meter, 1, 10 * S, 0, 0);
	g_assert_true(remote_meter_add(meter, &late));
	g_assert_cmpfloat_with_epsilon(remote_meter_gap_s(meter, 15 * S, 21 * S), 5, 1e-9);
	g_assert_cmpfloat_with_epsilon(remote_meter_gap_s(meter, 15 * S, 30 * S), 15, 1e-9);
	remote_meter_free(meter);
}

/* Tasks. */

#define ENDED "\"id\":\"a\",\"state\":\"ended\",\"requested_ns\":1000000000,\"ended_ns\":3000000000"

static const struct {
	const char *name;
	const char *json;
	bool good;
	enum backend_outcome outcome;
} task_cases[] = {
	{"completed", "{" ENDED ",\"outcome\":\"completed\"}", true, BACKEND_OUTCOME_COMPLETED},
	{"deadline", "{" ENDED ",\"outcome\":\"deadline\"}", true, BACKEND_OUTCOME_FAILED},
	{"lost", "{" ENDED ",\"outcome\":\"lost\",\"reason\":null}", true, BACKEND_OUTCOME_LOST},
	{"running", "{\"id\":\"a\",\"state\":\"running\",\"started_ns\":5}", true,
	 BACKEND_OUTCOME_NONE},
	{"no-id", "{\"state\":\"running\"}", false, BACKEND_OUTCOME_NONE},
	{"not-an-object", "[1]", false, BACKEND_OUTCOME_NONE},
	{"unknown-state", "{\"id\":\"a\",\"state\":\"dancing\"}", false, BACKEND_OUTCOME_NONE},
	{"no-outcome", "{" ENDED "}", false, BACKEND_OUTCOME_NONE},
	{"unknown-outcome", "{" ENDED ",\"outcome\":\"won\"}", false, BACKEND_OUTCOME_NONE},
	{"suspensions-no-list", "{\"id\":\"a\",\"state\":\"running\",\"suspensions\":1}", false,
	 BACKEND_OUTCOME_NONE},
	{"suspensions-descend",
	 "{\"id\":\"a\",\"state\":\"running\",\"suspensions\":[{\"n\":2},{\"n\":2}]}", false,
	 BACKEND_OUTCOME_NONE},
	{"suspension-without-number",
	 "{\"id\":\"a\",\"state\":\"suspended\",\"suspensions\":[{\"frozen_ns\":1}]}", false,
	 BACKEND_OUTCOME_NONE},
	{"suspension-on-a-bad-node",
	 "{\"id\":\"a\",\"state\":\"suspended\",\"suspensions\":[{\"n\":1,\"nodes\":[-1]}]}", false,
	 BACKEND_OUTCOME_NONE},
	{"suspended", "{\"id\":\"a\",\"state\":\"suspended\",\"suspensions\":[{\"n\":1}]}", true,
	 BACKEND_OUTCOME_NONE},
	{"progress-beyond-its-total",
	 "{\"id\":\"a\",\"state\":\"running\",\"progress\":{\"done\":3,\"total\":2}}", false,
	 BACKEND_OUTCOME_NONE},
	{"progress-of-nothing",
	 "{\"id\":\"a\",\"state\":\"running\",\"progress\":{\"done\":0,\"total\":0}}", false,
	 BACKEND_OUTCOME_NONE},
	{"text-for-time", "{\"id\":\"a\",\"state\":\"running\",\"started_ns\":\"now\"}", false,
	 BACKEND_OUTCOME_NONE},
};

static void tasks_are_read_or_refused(void)
{
	for (gsize i = 0; i < G_N_ELEMENTS(task_cases); i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(json_t) json =
			json_parse(task_cases[i].json, strlen(task_cases[i].json), "case", &error);
		g_autoptr(task_t) task = NULL;

		g_assert_no_error(error);
		task = remote_task_parse(json, &error);
		g_test_message("%s: %s", task_cases[i].name, error ? error->message : "read");
		g_assert_true((task != NULL) == task_cases[i].good);
		g_assert_true((error == NULL) == task_cases[i].good);
		if (task)
			g_assert_cmpint(remote_task_outcome(task), ==, task_cases[i].outcome);
	}
}

/* Numbers that cannot be, of a task that has ended: it has, and what is doubted is told. */
static const struct {
	const char *member; /* of the object */
	const char *doubt;  /* a part of what is told; NULL: nothing is doubted */
} doubt_cases[] = {
	{"\"cpu_s\":0.5,\"host_cpu_s\":0,\"host_energy_uj\":1e15", NULL},
	{"\"cpu_s\":null", NULL},
	{"\"cpu_s\":-0.25,\"host_cpu_s\":-1", "cpu_s -0.25; host_cpu_s -1"},
	{"\"cpu_s\":1e300", "cpu_s 1"},
	{"\"cpu_s\":NaN", "cpu_s \"NaN\""},
	{"\"host_cpu_s\":-Infinity", "host_cpu_s \"-Infinity\""},
	{"\"host_energy_uj\":1e999", "host_energy_uj \"1e999\""},
	{"\"host_energy_uj\":99999999999999999999", "host_energy_uj \"99999999999999999999\""},
	{"\"host_energy_uj\":-1", "host_energy_uj -1"},
	{"\"benchmark_time_s\":\"soon\"", "benchmark_time_s \"soon\""},
	{"\"benchmark_time_s\":true", "benchmark_time_s true"},
	{"\"cpu_s\":[1]", "cpu_s [1]"},
	{"\"started_ns\":\"now\"", "started_ns \"now\""},
	{"\"started_ns\":-5", "started_ns -5"},
	{"\"queued_ns\":1.5", "queued_ns 1.5"},
	{"\"started_ns\":9223372036854775807", "started_ns 9223372036854775807"},
	{"\"started_ns\":4000000000", "ended_ns is before the beginning"},
	{"\"started_ns\":900000000000", "started_ns is in the future"},
	{"\"progress\":{\"done\":3,\"total\":2}", "done"},
	{"\"progress\":7", "task of the local scheduler"},
	{"\"suspensions\":1", "not a list"},
	{"\"suspensions\":[{\"n\":1,\"frozen_ns\":-7}]", "frozen_ns -7"},
	{"\"suspensions\":[{\"n\":-1}]", "\"n\""},
	{"\"migrations\":[{\"n\":1,\"vms\":[{\"from\":-1,\"to\":0}]}]", "\"from\""},
	{"\"nodes\":[0,-1]", "nodes"},
	{"\"share\":{\"n\":1,\"share\":0.5,\"given_cores\":-2}", "given_cores -2"},
	{"\"share\":{\"n\":\"x\"}", "\"n\""},
	{"\"cause\":7", "cause"},
};

static void an_end_is_one_whatever_its_numbers(void)
{
	for (gsize i = 0; i < G_N_ELEMENTS(doubt_cases); i++) {
		g_autofree char *text = g_strdup_printf("{" ENDED ",\"outcome\":\"completed\",%s}",
							doubt_cases[i].member);
		g_autoptr(json_t) json = json_parse(text, strlen(text), "case", NULL)
						 ?: json_parse_mended(text, strlen(text));
		g_autoptr(task_t) task = remote_task_parse(json, NULL);

		g_test_message("%s", text);
		g_assert_nonnull(task);
		remote_task_sanitize_times(task, 100 * S);
		g_assert_cmpint(task->outcome, ==, TASK_OUTCOME_COMPLETED);
		g_test_message("%s", task->doubts ? task->doubts : "nothing");
		g_assert_true((task->doubts != NULL) == (doubt_cases[i].doubt != NULL));
		g_assert_true(!task->doubts || strstr(task->doubts, doubt_cases[i].doubt));
		g_assert_false(task->cpu_s < 0 || task->host_cpu_s < 0 || task->host_energy_uj < 0);
	}
}

static const struct {
	const char *json;
	enum task_cause cause;
	int64_t done, total;
} end_cases[] = {
	{"{" ENDED ",\"outcome\":\"completed\",\"cause\":null,\"progress\":null}", TASK_CAUSE_NONE,
	 0, 0},
	{"{" ENDED ",\"outcome\":\"failed\",\"cause\":\"stalled\","
	 "\"progress\":{\"done\":12,\"total\":375,\"age_s\":95.0}}",
	 TASK_CAUSE_STALLED, 12, 375},
	{"{" ENDED ",\"outcome\":\"failed\",\"cause\":\"exit\"}", TASK_CAUSE_EXIT, 0, 0},
	{"{" ENDED ",\"outcome\":\"lost\",\"cause\":\"vm\"}", TASK_CAUSE_VM, 0, 0},
	{"{" ENDED ",\"outcome\":\"failed\",\"cause\":\"of-a-later-version\"}", TASK_CAUSE_OTHER, 0,
	 0},
	/* Of an earlier version. */
	{"{" ENDED ",\"outcome\":\"failed\"}", TASK_CAUSE_OTHER, 0, 0},
	{"{" ENDED ",\"outcome\":\"deadline\"}", TASK_CAUSE_DEADLINE, 0, 0},
};

static void a_deadline_and_a_stall_are_told_apart(void)
{
	for (gsize i = 0; i < G_N_ELEMENTS(end_cases); i++) {
		g_autoptr(json_t) json =
			json_parse(end_cases[i].json, strlen(end_cases[i].json), "case", NULL);
		g_autoptr(task_t) task = remote_task_parse(json, NULL);

		g_test_message("%s", end_cases[i].json);
		g_assert_nonnull(task);
		g_assert_cmpint(task_end_cause(task), ==, end_cases[i].cause);
		g_assert_cmpint(task->progress.done, ==, end_cases[i].done);
		g_assert_cmpint(task->progress.total, ==, end_cases[i].total);
	}
}

static void a_task_answers_for_its_share_above_idle(void)
{
	struct task task = {
		.requested_ns = S,
		.ended_ns = 3 * S,
		.cpu_s = 1,
		.host_cpu_s = 4,
		.host_energy_uj = 200e6,
	};

	g_assert_cmpfloat_with_epsilon(remote_task_energy_j(&task, 120), 20, 1e-9);
	g_assert_cmpfloat_with_epsilon(remote_task_energy_j(&task, 300), 0, 1e-9);
	task.host_energy_uj = (double)NAN; /* no meter */
	g_assert_true(isnan(remote_task_energy_j(&task, 0)));
	task.host_energy_uj = 200e6;
	task.cpu_s = (double)NAN;
	g_assert_true(isnan(remote_task_energy_j(&task, 60)));
	task.cpu_s = 1;
	task.host_cpu_s = 0;
	g_assert_true(isnan(remote_task_energy_j(&task, 60)));
	task.host_cpu_s = (double)NAN;
	g_assert_true(isnan(remote_task_energy_j(&task, 60)));
}

#define SUSPENDED                                                                                         \
	"\"id\":\"a\",\"state\":\"running\",\"suspensions\":["                                            \
	"{\"n\":1,\"nodes\":[0,1],\"resumed_nodes\":[2,3],\"keep\":\"disk\",\"requested_ns\":1000000000," \
	"\"frozen_ns\":2000000000,\"suspended_ns\":3000000000,\"resume_requested_ns\":6000000000,"        \
	"\"running_ns\":7000000000,\"resumed_ns\":7500000000,\"skew_ns\":2000000,"                        \
	"\"vms\":[{\"node\":0,\"freeze_ns\":5000000},{\"node\":1,\"freeze_ns\":null,\"save_ns\":7}]},"    \
	"{\"n\":2,\"nodes\":[2,3],\"frozen_ns\":9000000000,\"suspended_ns\":9500000000,\"running_ns\":null}]"

static void suspensions_are_read(void)
{
	g_autoptr(json_t) json =
		json_parse("{" SUSPENDED "}", strlen("{" SUSPENDED "}"), "case", NULL);
	g_autoptr(task_t) task = remote_task_parse(json, NULL);
	const struct task_suspension *one;
	g_autoptr(GArray) stretches = NULL;
	const struct remote_interval *last;

	g_assert_nonnull(task);
	g_assert_cmpuint(task->suspensions->len, ==, 2);
	one = remote_suspensions_find(task->suspensions, 1);
	g_assert_cmpint(one->keep, ==, CONFIG_KEEP_DISK);
	g_assert_cmpint(one->resumed_ns, ==, 15 * S / 2);
	g_assert_cmpfloat_with_epsilon(wire_seconds(one->skew_ns), 2e-3, 1e-12);
	g_assert_cmpuint(one->count, ==, 2);
	g_assert_true(isnan(wire_seconds(one->vms[1].freeze_ns)));
	g_assert_null(remote_suspensions_find(task->suspensions, 3));
	/* Still from 2 to 7 and from 9 on. */
	g_assert_cmpfloat_with_epsilon(remote_suspensions_paused_s(task->suspensions, 3 * S), 1,
				       1e-9);
	g_assert_cmpfloat_with_epsilon(remote_suspensions_paused_s(task->suspensions, 12 * S), 8,
				       1e-9);
	stretches = remote_suspensions_intervals(task->suspensions, S, 12 * S);
	g_assert_cmpuint(stretches->len, ==, 2);
	last = &g_array_index(stretches, struct remote_interval, 1);
	g_assert_cmpint(last->from_ns, ==, 7 * S);
	g_assert_cmpint(last->to_ns, ==, 9 * S);
	g_assert_cmpuint(last->nodes[0], ==, 2);
}

static void a_task_that_was_never_suspended_has_one_stretch(void)
{
	g_autoptr(GArray) stretches = remote_suspensions_intervals(NULL, S, 3 * S);

	g_assert_cmpuint(stretches->len, ==, 1);
	g_assert_null(g_array_index(stretches, struct remote_interval, 0).nodes);
	g_assert_cmpfloat(remote_suspensions_paused_s(NULL, 3 * S), ==, 0);
}

#define TEXT_32 "0123456789abcdef0123456789abcdef"

#define INTERVAL INTERVAL_WITH("false")
#define INTERVAL_WITH(gap)                                                                             \
	"{\"seq\": 5, \"host\": \"b1\", \"from_ns\": 7, \"to_ns\": 9, \"from_uj\": 10, \"to_uj\": 30," \
	" \"gap\": " gap ", \"read\": true, \"tasks\": {\"x-1-2-3\": 40}, \"vms_ns\": 50, "

static json_t *text_json(const char *text)
{
	json_t *json = json_loads(text, 0, NULL);

	g_assert_nonnull(json);
	return json;
}

/* Of a clock that shows no more than the minute when it was told. */
#define NOW (60 * S)

/* A peer that says null of a gap says nothing of it: its other intervals are not lost. */
static void a_gap_may_be_null(void)
{
	g_autoptr(json_t) body = text_json("{\"stream\": \"s\", \"intervals\": [" INTERVAL_WITH(
		"null") "\"others_ns\": null}]}");
	struct remote_clock clock;
	const char *stream = NULL;
	int64_t last = 0;
	g_autoptr(GError) wrong = NULL;
	g_autoptr(GPtrArray) list = NULL;

	remote_clock_init(&clock, true);
	list = remote_usage_parse(body, &clock, NOW, &stream, &last, &wrong, NULL);
	g_assert_no_error(wrong);
	g_assert_nonnull(list);
	g_assert_cmpuint(list->len, ==, 1);
	g_assert_false(((struct wire_usage *)g_ptr_array_index(list, 0))->gap);
}

static void usage_is_read_whole(void)
{
	g_autoptr(json_t) body = text_json("{\"stream\": \"s\", \"intervals\": [" INTERVAL
					   "\"others_ns\": null}, " INTERVAL
					   "\"others_ns\": 6, \"counter\": \"c\"}]}");
	struct remote_clock clock;
	const char *stream = NULL;
	int64_t last = 0;
	g_autoptr(GError) wrong = NULL;
	g_autoptr(GPtrArray) list = NULL;
	const struct wire_usage *usage;

	remote_clock_init(&clock, true);
	list = remote_usage_parse(body, &clock, NOW, &stream, &last, &wrong, NULL);
	g_assert_nonnull(list);
	g_assert_no_error(wrong);
	g_assert_cmpint(last, ==, 5);
	g_assert_cmpuint(list->len, ==, 2);
	g_assert_cmpstr(stream, ==, "s");
	usage = g_ptr_array_index(list, 0);
	g_assert_cmpint(usage->seq, ==, 5);
	g_assert_cmpint(usage->length_ns, ==, 2);
	g_assert_cmpint(usage->to_uj - usage->from_uj, ==, 20);
	g_assert_true(usage->read && !usage->gap);
	g_assert_cmpint(usage->others_ns, ==, -1);
	g_assert_cmpuint(usage->tasks_count, ==, 1);
	g_assert_cmpint(usage->tasks[0].cpu_ns, ==, 40);
	g_assert_null(usage->counter);
	usage = g_ptr_array_index(list, 1);
	g_assert_cmpint(usage->others_ns, ==, 6);
	g_assert_cmpstr(usage->counter, ==, "c");
}

/*
 * A counter that falls or has risen more than a host can draw, times that run backwards or lie
 * ahead, CPU time below 0 or of no number: such an interval is left out, and reading continues
 * after it. One without a number cannot be passed over.
 */
static void usage_that_makes_no_sense_is_left_out(void)
{
	static const struct {
		const char *key, *value;
	} cases[] = {
		{"to_uj", "9"},
		{"to_ns", "6"},
		{"from_uj", "-1"},
		{"host", "1"},
		{"to_uj", "4400"},
		{"to_uj", "9223372036854775807"},
		{"to_ns", "9223372036854775807"},
		{"to_ns", "66000000000"},
		{"seq", "0"},
		{"seq", "9223372036854775807"},
		{"vms_ns", "-1"},
		{"others_ns", "\"x\""},
		{"tasks", "{\"x\": -1}"},
		{"counter", "5"},
		{"counter", "\"\""},
		{"counter", "\"" TEXT_32 TEXT_32 "x\""},
		{"tasks", "[]"},
		{"tasks", "{\"x\": 1.5}"},
		{"tasks", "{\"x\": 9223372036854775807}"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(json_t) body =
			text_json("{\"stream\": \"s\", \"intervals\": [" INTERVAL
				  "\"others_ns\": 0}, " INTERVAL "\"others_ns\": 0}]}");
		json_t *intervals = json_object_get(body, "intervals");
		g_autoptr(GPtrArray) list = NULL;
		g_autoptr(GError) wrong = NULL;
		g_autoptr(GError) error = NULL;
		struct remote_clock clock;
		const char *stream;
		int64_t last = 0;

		json_object_set_new(json_array_get(intervals, 0), cases[i].key,
				    json_loads(cases[i].value, JSON_DECODE_ANY, NULL));
		json_object_set_new(json_array_get(intervals, 1), "seq", json_integer(6));
		remote_clock_init(&clock, true);
		list = remote_usage_parse(body, &clock, NOW, &stream, &last, &wrong, &error);
		if (g_str_equal(cases[i].key, "seq")) {
			g_assert_null(list);
			g_assert_nonnull(error);
			continue;
		}
		g_assert_no_error(error);
		g_assert_nonnull(wrong);
		g_assert_cmpuint(list->len, ==, 1);
		g_assert_cmpint(last, ==, 6);
	}
}

static void ids_of_tasks_are_taken_apart(void)
{
	static const struct {
		const char *id;
		bool good;
	} cases[] = {
		{"lab-7-1-2-3", true},
		{"lab-7-1-2-", false},
		{"lab-7-1-2", false},
		{"lab-7-2-2-3", false},
		{"lab-7-1--3", false},
		{"lab-7-1-2-3x", false},
		{"lab-7-1-+2-3", false},
		{"lab-7-1-2- 3", false},
		{"lab-7-1-99999999999-3", false},
		{"", false},
		{"lab-7-1-02-3", false},
		{"lab-7-1-2-03", false},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		uint32_t task = 9, attempt = 9;

		g_assert_true(remote_usage_task_of("lab-7", 1, cases[i].id, &task, &attempt) ==
			      cases[i].good);
		g_assert_true(!cases[i].good || (task == 2 && attempt == 3));
	}
}

/* The sample of a second: the watts differ from second to second and from meter to meter. */
static void add_second(struct remote_meter *meter, guint which, int64_t second)
{
	const struct wire_sample *last = remote_meter_last(meter);
	const int64_t mw = 50000 + 1000 * ((second * 7919 + (int64_t)which * 31) % 97);
	const int64_t begun = last ? last->t_ns / S : second;

	add(meter, second, second * S + (int64_t)which * (S / 10), mw,
	    (last ? last->energy_uj : 0) + (second - begun) * (40000000 + 1000 * mw % 7919));
}

static int64_t first_of_all(GPtrArray *meters)
{
	int64_t from_ns = 0;

	for (guint i = 0; i < meters->len; i++) {
		const struct remote_meter *meter = g_ptr_array_index(meters, i);

		from_ns = MAX(from_ns, g_array_index(meter->samples, struct wire_sample, 0).t_ns);
	}
	return from_ns;
}

/* What it says of every moment is what the meters say of it now. */
static void check_curve(struct remote_curve *curve, GPtrArray *meters, int64_t now_ns)
{
	const int64_t from_ns = first_of_all(meters);
	const GArray *points = remote_curve_read(curve, meters, from_ns, now_ns);
	int64_t before_ns = from_ns;

	g_assert_cmpuint(points->len, <=, REMOTE_CURVE_POINTS);
	g_assert_cmpuint(points->len, >=, now_ns - from_ns > S ? REMOTE_CURVE_POINTS / 2 - 1 : 1);
	for (guint i = 0; i < points->len; i++) {
		const struct remote_curve_point *point =
			&g_array_index(points, struct remote_curve_point, i);
		double sum_uj = 0;

		for (guint k = 0; k < meters->len; k++)
			sum_uj +=
				remote_meter_counter_uj(g_ptr_array_index(meters, k), point->t_ns);
		g_assert_cmpint(point->t_ns, >, before_ns);
		g_assert_cmpfloat(point->sum_uj, ==, sum_uj);
		before_ns = point->t_ns;
	}
	g_assert_cmpint(before_ns, ==, now_ns);
}

/*
 * Over hours, so that the oldest samples go; the second meter is silent now and then, and tells
 * afterwards what it saw meanwhile or that it does not know.
 */
static void a_kept_curve_is_what_the_meters_say(void)
{
	struct remote_curve *curve = remote_curve_new();
	GPtrArray *meters = g_ptr_array_new_with_free_func((GDestroyNotify)remote_meter_free);

	for (guint i = 0; i < 3; i++)
		g_ptr_array_add(meters, remote_meter_new("b", 1));
	for (guint i = 0; i < 3; i++)
		add_second(g_ptr_array_index(meters, i), i, 10);
	for (int64_t second = 11; second < 10000; second++) {
		const bool silent = second % 400 > 350;

		for (guint i = 0; i < 3; i++)
			if (i != 1 || !silent)
				add_second(g_ptr_array_index(meters, i), i, second);
		if (second % 800 == 0)
			remote_meter_rebase(g_ptr_array_index(meters, 1));
		if (second < 50 || second % 17 == 0 || second % 400 > 340)
			check_curve(curve, meters, second * S + S / 2);
		if (second % 1200 == 399) /* late, all at once */
			for (int64_t late = second - 48; late < second; late++)
				add_second(g_ptr_array_index(meters, 1), 1, late);
	}
	g_ptr_array_unref(meters);
	remote_curve_free(curve);
}

static void a_curve_of_no_time_has_no_points(void)
{
	struct remote_curve *curve = remote_curve_new();
	g_autoptr(GPtrArray) meters =
		g_ptr_array_new_with_free_func((GDestroyNotify)remote_meter_free);

	g_ptr_array_add(meters, remote_meter_new("b", 1));
	add_second(g_ptr_array_index(meters, 0), 0, 10);
	g_assert_cmpuint(remote_curve_read(curve, meters, 10 * S, 10 * S)->len, ==, 0);
	g_assert_cmpuint(remote_curve_read(curve, meters, 10 * S, 10 * S + 1)->len, ==, 1);
	remote_curve_free(curve);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/clock/same-boot", clock_of_the_same_boot_is_not_translated);
	g_test_add_func("/clock/fastest-answer", the_fastest_answer_gives_the_offset);
	g_test_add_func("/clock/old-offset", an_old_offset_is_forgotten);
	g_test_add_func("/meter/counter", counter_rises_evenly_between_samples);
	g_test_add_func("/meter/longest", the_longest_interval_is_known);
	g_test_add_func("/meter/backwards", samples_that_run_backwards_are_refused);
	g_test_add_func("/meter/rebase", a_counter_that_starts_anew_goes_on);
	g_test_add_func("/meter/dynamic", dynamic_energy_leaves_idle_out);
	g_test_add_func("/meter/start", the_start_is_that_of_the_samples_around_it);
	g_test_add_func("/meter/crossing", crossing_is_interpolated);
	g_test_add_func("/meter/stale", stale_meters_do_not_hold_up_the_others);
	g_test_add_func("/meter/known", what_all_meters_told_is_known);
	g_test_add_func("/meter/mean", mean_is_over_whole_samples);
	g_test_add_func("/meter/gaps", gaps_are_counted_within_the_run);
	g_test_add_func("/curve/kept", a_kept_curve_is_what_the_meters_say);
	g_test_add_func("/curve/none", a_curve_of_no_time_has_no_points);
	g_test_add_func("/task/read", tasks_are_read_or_refused);
	g_test_add_func("/task/ends-whatever-its-numbers", an_end_is_one_whatever_its_numbers);
	g_test_add_func("/task/a-deadline-and-a-stall", a_deadline_and_a_stall_are_told_apart);
	g_test_add_func("/task/energy", a_task_answers_for_its_share_above_idle);
	g_test_add_func("/suspensions/read", suspensions_are_read);
	g_test_add_func("/suspensions/none", a_task_that_was_never_suspended_has_one_stretch);
	g_test_add_func("/remote/a gap may be null", a_gap_may_be_null);
	g_test_add_func("/remote/usage/is read whole", usage_is_read_whole);
	g_test_add_func("/remote/usage/what makes no sense is left out",
			usage_that_makes_no_sense_is_left_out);
	g_test_add_func("/remote/usage/ids of tasks are taken apart", ids_of_tasks_are_taken_apart);
	return g_test_run();
}
