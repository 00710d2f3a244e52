/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/platform.h"
#include "local-sched/power/power_journal.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "common/random.h"

#define S INT64_C(1000000000)

enum { HOSTS = 2 };

static const char *const hosts[HOSTS] = {"b1", "b1 two"};

/* What a journal works on. */
struct state {
	sample_ring_t *ring;
	struct energy_counter counters[HOSTS];
	char *ids[HOSTS];
	power_journal_t *journal;
};

static void state_open(struct state *state, const char *path)
{
	g_autoptr(GError) error = NULL;

	state->ring = sample_ring_new(100, 1);
	for (int i = 0; i < HOSTS; i++)
		energy_counter_init(&state->counters[i], 1.0);
	for (int i = 0; i < HOSTS; i++)
		state->ids[i] = g_uuid_string_random();
	state->journal = power_journal_open(&platform_machine, path, hosts, HOSTS, state->ring,
					    state->counters, state->ids, &error);
	g_assert_no_error(error);
}

static void state_close(struct state *state)
{
	power_journal_close(state->journal);
	sample_ring_free(state->ring);
	for (int i = 0; i < HOSTS; i++)
		g_free(state->ids[i]);
}

static void add_sample(struct state *state, uint32_t host, int64_t t_ns, int64_t mw)
{
	struct energy_counter *counter = &state->counters[host];
	struct sample_ring_entry entry = {.host = host, .t_ns = t_ns, .mw = mw};

	entry.gap = energy_counter_add(counter, t_ns, mw) == ENERGY_COUNTER_GAP;
	entry.energy_uj = counter->energy_uj;
	sample_ring_push(state->ring, &entry);
	power_journal_append(state->journal);
}

static void assert_same(const struct state *a, const struct state *b)
{
	const struct sample_ring_entry *x = NULL;

	g_assert_cmpuint(sample_ring_last_seq(a->ring), ==, sample_ring_last_seq(b->ring));
	while ((x = sample_ring_after(a->ring, x ? x->seq : 0))) {
		const struct sample_ring_entry *y = sample_ring_after(b->ring, x->seq - 1);

		g_assert_nonnull(y);
		g_assert_cmpuint(x->seq, ==, y->seq);
		g_assert_cmpuint(x->host, ==, y->host);
		g_assert_cmpint(x->t_ns, ==, y->t_ns);
		g_assert_cmpint(x->mw, ==, y->mw);
		g_assert_cmpuint(x->energy_uj, ==, y->energy_uj);
		g_assert_true(x->gap == y->gap);
	}
	for (int i = 0; i < HOSTS; i++) {
		g_assert_cmpuint(a->counters[i].energy_uj, ==, b->counters[i].energy_uj);
		g_assert_cmpuint(a->counters[i].gap_uj, ==, b->counters[i].gap_uj);
		g_assert_cmpint(a->counters[i].covered_ns, ==, b->counters[i].covered_ns);
		g_assert_cmpint(a->counters[i].gap_ns, ==, b->counters[i].gap_ns);
		g_assert_cmpuint(a->counters[i].remainder, ==, b->counters[i].remainder);
		g_assert_cmpint(a->counters[i].last_ns, ==, b->counters[i].last_ns);
		g_assert_cmpint(a->counters[i].last_mw, ==, b->counters[i].last_mw);
		g_assert_true(a->counters[i].has_last == b->counters[i].has_last);
		g_assert_cmpstr(a->ids[i], ==, b->ids[i]);
	}
}

static char *temporary_path(void)
{
	g_autofree char *dir = g_dir_make_tmp("virtbed-test-XXXXXX", NULL);

	return g_build_filename(dir, "power", NULL);
}

static void remove_path(const char *path)
{
	g_autofree char *dir = g_path_get_dirname(path);

	g_unlink(path);
	g_assert_cmpint(g_rmdir(dir), ==, 0);
}

static void add_many(struct state *state, struct random_stream *random, int count)
{
	int64_t t_ns = MAX(state->counters[0].last_ns, state->counters[1].last_ns);

	for (int i = 0; i < count; i++) {
		t_ns += (int64_t)random_stream_below(random, 5 * S) + 1;
		add_sample(state, (uint32_t)random_stream_below(random, HOSTS), t_ns,
			   (int64_t)random_stream_below(random, 300000));
	}
}

static void test_restart_brings_back_what_there_was(void)
{
	g_autofree char *path = temporary_path();
	struct state before, after;
	struct random_stream random;

	random_stream_init(&random, 3, 0);
	state_open(&before, path);
	for (int i = 0; i < 10; i++) {
		add_many(&before, &random, 33);
		/* No close: the process was killed. */
		state_open(&after, path);
		assert_same(&before, &after);
		state_close(&after);
		/* Opening rewrote the file; the other still appends to the old one. */
		state_close(&before);
		state_open(&before, path);
	}
	state_close(&before);
	remove_path(path);
}

/* A file cut at any byte yields a state that there was at some time, and stays usable. */
static void test_file_cut_anywhere_is_an_earlier_state(void)
{
	g_autofree char *path = temporary_path();
	g_autofree char *text = NULL;
	gsize length;
	struct state state;

	state_open(&state, path);
	for (int i = 0; i < 5; i++)
		add_sample(&state, 0, (i + 1) * S, 100000);
	state_close(&state);
	g_assert_true(g_file_get_contents(path, &text, &length, NULL));
	for (gsize cut = 0; cut <= length; cut++) {
		g_assert_true(g_file_set_contents(path, text, (gssize)cut, NULL));
		state_open(&state, path);
		g_assert_cmpuint(state.counters[0].energy_uj % 100000000, ==, 0);
		g_assert_cmpuint(state.counters[0].energy_uj, <=, 400000000);
		if (sample_ring_last_seq(state.ring) > 0)
			g_assert_cmpuint(state.counters[0].energy_uj, ==,
					 (sample_ring_last_seq(state.ring) - 1) * 100000000);
		state_close(&state);
	}
	remove_path(path);
}

static void test_reboot_keeps_sums_and_numbers_alone(void)
{
	g_autofree char *path = temporary_path();
	g_autofree char *text = NULL;
	g_autofree char *other = NULL;
	g_autofree char *id = NULL;
	struct state state;

	state_open(&state, path);
	add_sample(&state, 0, 1 * S, 100000);
	add_sample(&state, 0, 2 * S, 100000);
	id = g_strdup(state.ids[0]);
	state_close(&state);
	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	other = g_strconcat("virtbed-power 1 another-boot", strchr(text, '\n'), NULL);
	g_assert_true(g_file_set_contents(path, other, -1, NULL));
	state_open(&state, path);
	g_assert_cmpuint(state.counters[0].energy_uj, ==, 100000000);
	g_assert_cmpstr(state.ids[0], ==, id);
	g_assert_false(state.counters[0].has_last);
	g_assert_null(sample_ring_after(state.ring, 0));
	g_assert_cmpuint(sample_ring_last_seq(state.ring), >=, 2);
	add_sample(&state, 0, S / 2, 100000);
	g_assert_cmpuint(state.counters[0].energy_uj, ==, 100000000);
	state_close(&state);
	remove_path(path);
}

/*
 * Each host's counter has a name of its own; a text that is no UUID, or none, is not taken for it.
 */
static void test_counter_without_its_file_has_another_name(void)
{
	static const char *const texts[] = {
		NULL,
		"virtbed-power 1 x\nC 5 0 0 0 0 1 5 5 b1\n",
		"virtbed-power 1 x\nC 5 0 0 0 0 1 5 5 b1\nI b1\nI  b1\nI x b1\nI \xff b1\n",
	};
	g_autofree char *path = temporary_path();
	g_autofree char *id = NULL;
	struct state state;

	state_open(&state, path);
	g_assert_cmpstr(state.ids[0], !=, state.ids[1]);
	id = g_strdup(state.ids[0]);
	state_close(&state);
	for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_unlink(path);
		if (texts[i])
			g_assert_true(g_file_set_contents(path, texts[i], -1, NULL));
		state_open(&state, path);
		g_assert_true(g_uuid_string_is_valid(state.ids[0]));
		g_assert_cmpstr(state.ids[0], !=, id);
		state_close(&state);
	}
	remove_path(path);
}

static void test_rubbish_is_passed_over(void)
{
	static const char *const texts[] = {
		"",
		"hello\n",
		"virtbed-power 2 x\nC 5 0 0 0 0 1 5 5 b1\n",
		"virtbed-power 1 x\nC\nS\nA\nN\n\n\n",
		"virtbed-power 1 x\nC -5 0 0 0 0 1 5 -5 b1\nC 1 2 3 b1\nA 1 0 1 2 b1\n",
		"virtbed-power 1 x\nN 99999999999999999999\nS 99999999999999999999 1 1 1 0 b1\n",
		"virtbed-power 1 x\nC 5 0 0 0 0 1 5 5 b9\nS 1 1 1 1 0 b9\n",
		"virtbed-power 1 x\nA 18446744073709551615 0 0 0 0 0 0 1 1 1 b1\n",
	};
	g_autofree char *path = temporary_path();

	for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
		struct state state;

		g_assert_true(g_file_set_contents(path, texts[i], -1, NULL));
		state_open(&state, path);
		add_sample(&state, 0, S, 100000);
		add_sample(&state, 0, 2 * S, 100000);
		g_assert_cmpuint(state.counters[0].energy_uj, ==, 100000000);
		state_close(&state);
	}
	remove_path(path);
}

static void test_journal_does_not_grow_for_ever(void)
{
	g_autofree char *path = temporary_path();
	struct random_stream random;
	struct state state, again;
	GStatBuf status;

	random_stream_init(&random, 4, 0);
	state_open(&state, path);
	add_many(&state, &random, 40000);
	g_assert_cmpint(g_stat(path, &status), ==, 0);
	g_assert_cmpint(status.st_size, <, 2000000);
	state_open(&again, path);
	assert_same(&state, &again);
	state_close(&again);
	state_close(&state);
	remove_path(path);
}

static void test_a_file_that_has_just_begun_has_the_samples_of_the_one_before(void)
{
	g_autofree char *path = temporary_path();
	struct random_stream random;
	struct state state, again;

	random_stream_init(&random, 5, 0);
	state_open(&state, path);
	add_many(&state, &random, 16384 + 50);
	state_open(&again, path);
	assert_same(&state, &again);
	state_close(&again);
	state_close(&state);
	remove_path(path);
}

static void test_path_that_cannot_be_written_is_an_error(void)
{
	struct energy_counter counters[HOSTS] = {0};
	char *ids[HOSTS] = {NULL};
	sample_ring_t *ring = sample_ring_new(10, 1);
	g_autoptr(GError) error = NULL;

	g_assert_null(power_journal_open(&platform_machine, "/nonexistent/journal", hosts, HOSTS,
					 ring, counters, ids, &error));
	g_assert_nonnull(error);
	g_clear_error(&error);
	g_assert_null(power_journal_open(&platform_machine, "/proc", hosts, HOSTS, ring, counters,
					 ids, &error));
	g_assert_nonnull(error);
	sample_ring_free(ring);
}

static void test_ring_gives_what_it_still_has(void)
{
	static const struct {
		uint64_t after, expected; /* 0: none */
	} cases[] = {{0, 8},  {6, 8},  {7, 8},    {8, 9},          {16, 17},
		     {17, 0}, {18, 0}, {1000, 0}, {UINT64_MAX, 0}, {UINT64_MAX - 1, 0}};
	sample_ring_t *ring = sample_ring_new(10, 1);
	const struct sample_ring_entry entry = {.mw = 1};

	g_assert_cmpuint(sample_ring_last_seq(ring), ==, 0);
	g_assert_null(sample_ring_after(ring, 0));
	for (uint64_t seq = 1; seq <= 17; seq++)
		g_assert_cmpuint(sample_ring_push(ring, &entry), ==, seq);
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct sample_ring_entry *found = sample_ring_after(ring, cases[i].after);

		g_assert_cmpuint(found ? found->seq : 0, ==, cases[i].expected);
	}
	sample_ring_skip_to(ring, 5); /* not backwards */
	g_assert_cmpuint(sample_ring_last_seq(ring), ==, 17);
	sample_ring_skip_to(ring, 18); /* no hole: nothing is lost */
	g_assert_nonnull(sample_ring_after(ring, 0));
	sample_ring_skip_to(ring, 30);
	g_assert_null(sample_ring_after(ring, 0));
	g_assert_cmpuint(sample_ring_push(ring, &entry), ==, 30);
	g_assert_cmpuint(sample_ring_after(ring, 0)->seq, ==, 30);
	sample_ring_free(ring);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/sample-ring/after", test_ring_gives_what_it_still_has);
	g_test_add_func("/power-journal/restart", test_restart_brings_back_what_there_was);
	g_test_add_func("/power-journal/cut", test_file_cut_anywhere_is_an_earlier_state);
	g_test_add_func("/power-journal/reboot", test_reboot_keeps_sums_and_numbers_alone);
	g_test_add_func("/power-journal/another counter",
			test_counter_without_its_file_has_another_name);
	g_test_add_func("/power-journal/rubbish", test_rubbish_is_passed_over);
	g_test_add_func("/power-journal/growth", test_journal_does_not_grow_for_ever);
	g_test_add_func("/power-journal/two files",
			test_a_file_that_has_just_begun_has_the_samples_of_the_one_before);
	g_test_add_func("/power-journal/unwritable", test_path_that_cannot_be_written_is_an_error);
	return g_test_run();
}
