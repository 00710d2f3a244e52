/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Meters by IPMI that share the session of one BMC: none of them starves, and what one of them does
 * to the session leads to no wrong reading of another. In virtual time (virtual_time.h).
 */
#include <math.h>
#include <string.h>

#include "common/clock.h"
#include "common/platform.h"
#include "local-sched/power/power.h"
#include "local-sched/power/sample_ring.h"
#include "tests/meters/fake_ipmitool.h"
#include "tests/meters/virtual_time.h"

enum { MANY = 10, PORT = 623, MANY_S = 120 };

static const char *const names[MANY] = {"h0", "h1", "h2", "h3", "h4", "h5", "h6", "h7", "h8", "h9"};

struct bed {
	char *directory, *password, *journal;
	struct fake_ipmitool tools;
	struct config_meter meters[MANY];
	struct power *power;
	guint slow_ms; /* what each answer takes */
	double timeout_s;
	GArray *answers; /* int64_t: when each of them came */
	GArray *samples[MANY];
};

static unsigned log_in(uint16_t port, guint *ret_ms, void *data)
{
	*ret_ms = 100;
	return 1;
}

/* Get Power Reading: 200 W, after some time. */
static void ask(uint16_t port, unsigned session, const uint8_t *request, size_t size,
		struct fake_ipmi_answer *answer, void *data)
{
	static const uint8_t reading[18] = {0xdc, 200, [17] = 0x40};
	struct bed *bed = data;
	const int64_t at_ns = clock_now_ns() + bed->slow_ms * INT64_C(1000000);

	answer->code = 0;
	answer->after_ms = bed->slow_ms;
	answer->size = sizeof reading;
	memcpy(answer->bytes, reading, sizeof reading);
	g_array_append_val(bed->answers, at_ns);
}

static void on_sample(uint32_t index, const struct sample_ring_entry *sample, void *data)
{
	struct bed *bed = data;

	g_array_append_vals(bed->samples[index], sample, 1);
}

static void on_event(const char *host, enum power_event event, const char *text, int64_t t_ns,
		     void *data)
{
	g_test_message("%s: event %d: %s", host, (int)event, text);
}

static void bed_start(struct bed *bed)
{
	struct power_host hosts[MANY];
	g_autoptr(GError) error = NULL;

	bed->directory = g_dir_make_tmp("virtbed-test-XXXXXX", NULL);
	bed->password = g_build_filename(bed->directory, "password", NULL);
	bed->journal = g_build_filename(bed->directory, "power", NULL);
	g_assert_true(g_file_set_contents_full(bed->password, "secret\n", -1,
					       G_FILE_SET_CONTENTS_NONE, 0600, NULL));
	bed->answers = g_array_new(FALSE, FALSE, sizeof(int64_t));
	fake_ipmitool_init(&bed->tools, &platform_machine);
	bed->tools.log_in = log_in;
	bed->tools.ask = ask;
	bed->tools.data = bed;
	for (int i = 0; i < MANY; i++) {
		bed->samples[i] = g_array_new(FALSE, FALSE, sizeof(struct sample_ring_entry));
		bed->meters[i] = (struct config_meter){.kind = CONFIG_METER_IPMI,
						       .address = (char *)"bmc",
						       .port = PORT,
						       .user = (char *)"ADMIN",
						       .privilege = (char *)"USER",
						       .password_file = bed->password,
						       .timeout_s = bed->timeout_s,
						       .interval_s = 1};
		hosts[i] = (struct power_host){.name = names[i], .meter = &bed->meters[i]};
	}
	virtual_time_begin();
	bed->power =
		power_new(&bed->tools.platform, hosts, MANY, bed->journal, on_event, bed, &error);
	g_assert_no_error(error);
	power_watch(bed->power, on_sample, bed);
}

static void bed_clear(struct bed *bed)
{
	const char *const argv[] = {"rm", "-rf", bed->directory, NULL};

	virtual_time_end();
	power_free(bed->power);
	for (int i = 0; i < MANY; i++)
		g_array_unref(bed->samples[i]);
	g_array_unref(bed->answers);
	g_assert_true(g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL,
				   NULL, NULL, NULL));
	g_free(bed->directory);
	g_free(bed->password);
	g_free(bed->journal);
}

static gboolean on_end(gpointer data)
{
	*(bool *)data = true;
	return G_SOURCE_REMOVE;
}

static void run_for(guint seconds)
{
	bool ended = false;

	g_timeout_add_seconds(seconds, on_end, &ended);
	while (!ended)
		g_main_context_iteration(NULL, TRUE);
}

/* Whether an answer of the BMC came at that time. */
static bool came_at(const struct bed *bed, int64_t t_ns)
{
	for (guint i = 0; i < bed->answers->len; i++)
		if (llabs(g_array_index(bed->answers, int64_t, i) - t_ns) < 20000000)
			return true;
	return false;
}

/*
 * The answers to all meters take longer than a reading may: each meter has its turn in every round
 * or in every second one, by the time at which its answer came. After the first minute no joule is
 * in a gap.
 */
static void check_turns(double timeout_s, guint slow_ms)
{
	const double round_s = MANY * slow_ms / 1000.0;
	struct bed bed = {.timeout_s = timeout_s, .slow_ms = slow_ms};
	int64_t began_ns, gap_ns[MANY];

	bed_start(&bed);
	began_ns = clock_now_ns();
	run_for(MANY_S / 2);
	for (int i = 0; i < MANY; i++)
		gap_ns[i] = power_counter(bed.power, names[i])->gap_ns;
	run_for(MANY_S / 2);
	for (int i = 0; i < MANY; i++) {
		int64_t last_ns = began_ns;
		double apart_s = 0;

		for (guint k = 0; k < bed.samples[i]->len; k++) {
			const struct sample_ring_entry *sample =
				&g_array_index(bed.samples[i], struct sample_ring_entry, k);

			g_assert_true(came_at(&bed, sample->t_ns));
			apart_s = MAX(apart_s, clock_elapsed_s(last_ns, sample->t_ns));
			last_ns = sample->t_ns;
		}
		apart_s = MAX(apart_s, clock_elapsed_s(last_ns, clock_now_ns()));
		g_test_message("%s: %u readings, at most %.1f s apart", names[i],
			       bed.samples[i]->len, apart_s);
		g_assert_cmpfloat(apart_s, <, 2 * round_s + 1);
		g_assert_cmpint(power_counter(bed.power, names[i])->gap_ns, ==, gap_ns[i]);
	}
	bed_clear(&bed);
}

static void test_no_meter_starves_another_of_its_bmc(void)
{
	check_turns(0, 600);
}

/* A read joins another several times: what a reading takes counts from the first one on. */
static void test_turns_longer_than_several_reads_leave_no_gaps(void)
{
	check_turns(1.5, 700);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ipmi, shared/no meter starves another of its BMC",
			test_no_meter_starves_another_of_its_bmc);
	g_test_add_func("/ipmi, shared/turns longer than several reads leave no gaps",
			test_turns_longer_than_several_reads_leave_no_gaps);
	return g_test_run();
}
