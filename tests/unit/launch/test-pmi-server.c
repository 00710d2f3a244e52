/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <string.h>

#include "common/random.h"
#include "local-sched/launch/pmi_server.h"

/* Dialogues recorded from MPICH 4.0.2 in guests: what each rank sent, in the order of arrival. */
static const struct dialogue {
	const char *name; /* file in dialogues/, and test */
	uint32_t ranks;
	uint32_t nodes;
	uint32_t per_node;
	const char *mapping;
} dialogues[] = {
	{"2x1", 2, 2, 1, "(vector,(0,2,1))"},
	{"2x2", 4, 2, 2, "(vector,(0,2,2))"},
	{"4x1", 4, 4, 1, "(vector,(0,4,1))"},
};

static char *source_root;

static char *take(struct pmi_server *server, uint32_t rank)
{
	size_t length = 0;
	char *bytes = pmi_server_take_output(server, rank, &length);

	if (bytes)
		g_assert_cmpuint(strlen(bytes), ==, length);
	return bytes;
}

static void assert_answer(struct pmi_server *server, uint32_t rank, const char *expected)
{
	g_autofree char *bytes = take(server, rank);

	g_assert_cmpstr(bytes, ==, expected);
}

static bool send(struct pmi_server *server, uint32_t rank, const char *text, GError **error)
{
	return pmi_server_input(server, rank, text, strlen(text), error);
}

static void send_good(struct pmi_server *server, uint32_t rank, const char *text)
{
	g_autoptr(GError) error = NULL;

	send(server, rank, text, &error);
	g_assert_no_error(error);
}

/* A rank as its dialogue has it: what it will send, and whether it waits for an answer. */
struct player {
	GPtrArray *lines; /* borrowed */
	guint next;
	bool waiting;
	GString *heard;
};

static GPtrArray *read_dialogue(const struct dialogue *dialogue, struct player *players)
{
	g_autofree char *path = g_build_filename(source_root, "tests", "unit", "launch",
						 "dialogues", dialogue->name, NULL);
	g_autofree char *text = NULL;
	GPtrArray *all = g_ptr_array_new_with_free_func(g_free);
	g_auto(GStrv) lines = NULL;

	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	lines = g_strsplit(text, "\n", -1);
	for (uint32_t i = 0; i < dialogue->ranks; i++)
		players[i] =
			(struct player){.lines = g_ptr_array_new(), .heard = g_string_new(NULL)};
	for (char **line = lines; **line; line++) {
		char *message = g_strconcat(*line + 2, "\n", NULL);

		g_ptr_array_add(all, message);
		g_ptr_array_add(players[**line - '0'].lines, message);
	}
	return all;
}

static void hear(struct pmi_server *server, struct player *players, uint32_t ranks)
{
	for (uint32_t i = 0; i < ranks; i++) {
		g_autofree char *bytes = take(server, i);

		if (!bytes)
			continue;
		g_string_append(players[i].heard, bytes);
		players[i].waiting = false;
	}
}

/* Sends the next message of a rank in pieces of up to `piece` bytes. */
static void speak(struct pmi_server *server, struct player *player, uint32_t rank, size_t piece)
{
	const char *message = player->lines->pdata[player->next++];
	size_t length = strlen(message);

	for (size_t at = 0; at < length; at += piece) {
		g_autoptr(GError) error = NULL;

		pmi_server_input(server, rank, message + at, MIN(piece, length - at), &error);
		g_assert_no_error(error);
	}
	player->waiting = !g_str_has_prefix(message, "cmd=virtbed_exit");
}

/* Plays a dialogue with the ranks in a random order; every rank must come to its end. */
static void play(const struct dialogue *dialogue, uint64_t seed, size_t piece)
{
	struct player players[4];
	g_autoptr(GPtrArray) all = read_dialogue(dialogue, players);
	g_autoptr(pmi_server_t) server =
		pmi_server_new(dialogue->ranks, dialogue->nodes, dialogue->per_node);
	struct random_stream random;
	guint left = all->len;
	guint idle = 0;

	random_stream_init(&random, seed, 0);
	while (left > 0) {
		uint32_t rank = (uint32_t)random_stream_below(&random, dialogue->ranks);
		struct player *player = &players[rank];

		g_assert_cmpuint(idle++, <, 10000); /* no client may wait for ever */
		if (player->waiting || player->next == player->lines->len)
			continue;
		speak(server, player, rank, piece);
		hear(server, players, dialogue->ranks);
		left--;
		idle = 0;
	}
	for (uint32_t i = 0; i < dialogue->ranks; i++) {
		int status = -1;

		g_assert_true(pmi_server_exited(server, i, &status));
		g_assert_cmpint(status, ==, 0);
		g_assert_true(pmi_server_finalized(server, i));
		g_assert_nonnull(strstr(players[i].heard->str, dialogue->mapping));
		g_assert_null(strstr(players[i].heard->str, "key_not_found"));
		g_string_free(players[i].heard, TRUE);
		g_ptr_array_unref(players[i].lines);
	}
}

static void test_dialogue(gconstpointer data)
{
	for (uint64_t seed = 1; seed <= 50; seed++) {
		play(data, seed, 4096);
		play(data, seed, 1 + seed % 7);
	}
}

static void test_handshake(void)
{
	g_autoptr(pmi_server_t) server = pmi_server_new(3, 2, 2);

	send_good(server, 0, "cmd=init pmi_version=1 pmi_subversion=1\ncmd=get_maxes\n");
	assert_answer(server, 0,
		      "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"
		      "cmd=maxes kvsname_max=64 keylen_max=64 vallen_max=1024\n");
	send_good(server, 1, "cmd=get_appnum\ncmd=get_universe_size\n");
	assert_answer(server, 1, "cmd=appnum appnum=0\ncmd=universe_size size=3\n");
	send_good(server, 2, "cmd=get kvsname=virtbed key=PMI_process_mapping\n");
	assert_answer(server, 2, "cmd=get_result rc=0 msg=success value=(vector,(0,2,2))\n");
	assert_answer(server, 0, NULL);
}

static void test_keys(void)
{
	g_autoptr(pmi_server_t) server = pmi_server_new(2, 2, 1);

	send_good(server, 0, "cmd=get kvsname=virtbed key=k\n");
	assert_answer(server, 0, "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
	send_good(server, 1, "cmd=put kvsname=virtbed key=k value=a=b\n");
	assert_answer(server, 1, "cmd=put_result rc=0 msg=success\n");
	send_good(server, 0, "cmd=get kvsname=virtbed key=k\n");
	assert_answer(server, 0, "cmd=get_result rc=0 msg=success value=a=b\n");
	send_good(server, 0, "cmd=put kvsname=virtbed key=k value=c\n");
	assert_answer(server, 0, "cmd=put_result rc=-1 msg=duplicate_key\n");
}

static void test_barrier(void)
{
	g_autoptr(pmi_server_t) server = pmi_server_new(2, 2, 1);

	g_assert_false(pmi_server_is_calm(server)); /* they have not met */
	send_good(server, 0, "cmd=barrier_in\n");
	assert_answer(server, 0, NULL);
	send_good(server, 1, "cmd=barrier_in\n");
	g_assert_true(pmi_server_is_calm(server));
	assert_answer(server, 0, "cmd=barrier_out rc=0\n");
	assert_answer(server, 1, "cmd=barrier_out rc=0\n");
	send_good(server, 1, "cmd=barrier_in\n");
	g_assert_false(pmi_server_is_calm(server));
}

/* Inputs that end a job, and the code. */
static const struct {
	const char *name;
	const char *text;
	enum pmi_error code;
} bad_inputs[] = {
	{"abort", "cmd=abort exitcode=3\n", PMI_ERROR_ABORT},
	{"no-command", "hello\n", PMI_ERROR_PROTOCOL},
	{"empty-line", "\n", PMI_ERROR_PROTOCOL},
	{"unknown-command", "cmd=spawn\n", PMI_ERROR_PROTOCOL},
	{"other-version", "cmd=init pmi_version=2 pmi_subversion=0\n", PMI_ERROR_PROTOCOL},
	{"no-version", "cmd=init\n", PMI_ERROR_PROTOCOL},
	{"no-key", "cmd=get kvsname=virtbed\n", PMI_ERROR_PROTOCOL},
	{"empty-key", "cmd=get kvsname=virtbed key=\n", PMI_ERROR_PROTOCOL},
	{"other-kvs", "cmd=get kvsname=x key=k\n", PMI_ERROR_PROTOCOL},
	{"no-value", "cmd=put kvsname=virtbed key=k\n", PMI_ERROR_PROTOCOL},
	{"exit-without-status", "cmd=virtbed_exit\n", PMI_ERROR_PROTOCOL},
	{"exit-negative", "cmd=virtbed_exit status=-1\n", PMI_ERROR_PROTOCOL},
	{"exit-too-large", "cmd=virtbed_exit status=256\n", PMI_ERROR_PROTOCOL},
	{"barrier-twice", "cmd=barrier_in\ncmd=barrier_in\n", PMI_ERROR_PROTOCOL},
	{"steps-of-nothing", "cmd=progress done=0 total=0\n", PMI_ERROR_PROTOCOL},
	{"steps-beyond-all", "cmd=progress done=8 total=7\n", PMI_ERROR_PROTOCOL},
	{"steps-without-number", "cmd=progress done=x total=7\n", PMI_ERROR_PROTOCOL},
	{"steps-negative", "cmd=progress done=-1 total=7\n", PMI_ERROR_PROTOCOL},
	{"steps-without-end", "cmd=progress done=1\n", PMI_ERROR_PROTOCOL},
	{"too-many-steps", "cmd=progress done=1 total=1000000000000001\n", PMI_ERROR_PROTOCOL},
	{"steps-backwards", "cmd=progress done=2 total=7\ncmd=progress done=1 total=7\n",
	 PMI_ERROR_PROTOCOL},
	{"steps-of-other-work", "cmd=progress done=2 total=7\ncmd=progress done=3 total=8\n",
	 PMI_ERROR_PROTOCOL},
	{"talks-after-exit", "cmd=virtbed_exit status=0\ncmd=finalize\n", PMI_ERROR_PROTOCOL},
};

static void test_bad_inputs(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(bad_inputs); i++) {
		g_autoptr(pmi_server_t) server = pmi_server_new(2, 2, 1);
		g_autoptr(GError) error = NULL;

		g_test_message("%s", bad_inputs[i].name);
		g_assert_false(send(server, 0, bad_inputs[i].text, &error));
		g_assert_error(error, PMI_ERROR, (gint)bad_inputs[i].code);
	}
}

static void test_progress(void)
{
	g_autoptr(pmi_server_t) server = pmi_server_new(2, 2, 1);
	g_autoptr(GError) error = NULL;
	int64_t done = -1;
	int64_t total = -1;

	g_assert_false(pmi_server_progress(server, &done, &total));
	send_good(server, 0, "cmd=progress done=0 total=375\ncmd=progress done=12 total=375\n");
	assert_answer(server, 0, NULL);
	g_assert_true(pmi_server_progress(server, &done, &total));
	g_assert_cmpint(done, ==, 12);
	g_assert_cmpint(total, ==, 375);
	send_good(server, 0, "cmd=progress done=12 total=375\n");
	g_assert_false(send(server, 1, "cmd=progress done=13 total=375\n", &error));
	g_assert_error(error, PMI_ERROR, PMI_ERROR_PROTOCOL);
	g_assert_true(pmi_server_progress(server, &done, &total));
	g_assert_cmpint(done, ==, 12);
}

/*
 * Of a report that was cut off with its port nothing is left that the next words could be taken
 * for.
 */
static void test_torn(void)
{
	g_autoptr(pmi_server_t) server = pmi_server_new(1, 1, 1);
	int64_t done = -1;
	int64_t total = -1;

	send_good(server, 0, "cmd=progress done=1 total=9\ncmd=progress do");
	pmi_server_torn(server, 0);
	send_good(server, 0, "cmd=progress done=3 total=9\ncmd=barrier_in\n");
	assert_answer(server, 0, "cmd=barrier_out rc=0\n");
	g_assert_true(pmi_server_progress(server, &done, &total));
	g_assert_cmpint(done, ==, 3);
}

static void test_bounds(void)
{
	g_autoptr(pmi_server_t) server = pmi_server_new(1, 1, 1);
	g_autofree char *endless = g_strnfill(PMI_LINE_MAX, 'x');
	g_autoptr(GError) error = NULL;

	g_assert_false(send(server, 0, endless, &error));
	g_assert_error(error, PMI_ERROR, PMI_ERROR_PROTOCOL);
	g_clear_error(&error);
	pmi_server_free(g_steal_pointer(&server));

	server = pmi_server_new(1, 1, 1);
	g_assert_false(pmi_server_input(server, 0, "cmd=get\0x\n", 10, &error));
	g_assert_error(error, PMI_ERROR, PMI_ERROR_PROTOCOL);
	g_clear_error(&error);
	pmi_server_free(g_steal_pointer(&server));

	server = pmi_server_new(1, 1, 1);
	for (int i = 0; !error; i++) {
		g_autofree char *put =
			g_strdup_printf("cmd=put kvsname=virtbed key=k%d value=v\n", i);

		g_assert_cmpint(i, <=, PMI_KEYS_PER_RANK_MAX + 1);
		send(server, 0, put, &error);
	}
	g_assert_error(error, PMI_ERROR, PMI_ERROR_PROTOCOL);
}

/*
 * The ends of ranks are seen after a failure as well: that is how a kill is known to have worked.
 */
static void test_exit_after_failure(void)
{
	g_autoptr(pmi_server_t) server = pmi_server_new(2, 2, 1);
	g_autoptr(GError) error = NULL;
	int status = -1;

	g_assert_false(send(server, 0, "rubbish\nmore\ncmd=virtbed_exit status=137\n", &error));
	g_assert_true(pmi_server_exited(server, 0, &status));
	g_assert_cmpint(status, ==, 137);
	g_assert_false(pmi_server_exited(server, 1, &status));
	send_good(server, 1, "cmd=barrier_in\n\xff\xff");
	send_good(server, 1, "\ncmd=virtbed_");
	send_good(server, 1, "exit status=9\n");
	g_assert_true(pmi_server_exited(server, 1, &status));
	g_assert_cmpint(status, ==, 9);
	assert_answer(server, 1, NULL);
}

/* Whatever comes from a guest: no crash, and no unrequested output. */
static void test_random_bytes(void)
{
	static const char *const seeds[] = {"cmd=",
					    "get ",
					    "kvsname=virtbed ",
					    "key=",
					    "\n",
					    "put ",
					    "barrier_in",
					    "value=",
					    "init pmi_version=1",
					    "progress done=1 total=2\n",
					    "\0"};
	struct random_stream random;

	random_stream_init(&random, g_test_rand_int(), 0);
	for (int round = 0; round < 3000; round++) {
		g_autoptr(pmi_server_t) server = pmi_server_new(2, 1, 2);

		for (int i = 0; i < 40; i++) {
			char bytes[64];
			size_t length = random_stream_below(&random, sizeof(bytes));
			const char *word = seeds[random_stream_below(&random, G_N_ELEMENTS(seeds))];

			for (size_t b = 0; b < length; b++)
				bytes[b] = (char)random_stream_next(&random);
			if (random_stream_below(&random, 3) > 0)
				pmi_server_input(server, i % 2, word, strlen(word), NULL);
			else
				pmi_server_input(server, i % 2, bytes, length, NULL);
			g_free(take(server, i % 2));
		}
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	source_root = argv[1];
	for (size_t i = 0; i < G_N_ELEMENTS(dialogues); i++) {
		g_autofree char *path = g_strconcat("/pmi-server/plays-recorded-dialogue-",
						    dialogues[i].name, NULL);

		g_test_add_data_func(path, &dialogues[i], test_dialogue);
	}
	g_test_add_func("/pmi-server/answers-the-handshake", test_handshake);
	g_test_add_func("/pmi-server/keeps-keys", test_keys);
	g_test_add_func("/pmi-server/barrier-waits-for-all", test_barrier);
	g_test_add_func("/pmi-server/bad-input-fails-the-job", test_bad_inputs);
	g_test_add_func("/pmi-server/takes-progress-of-rank-0", test_progress);
	g_test_add_func("/pmi-server/forgets-what-was-torn", test_torn);
	g_test_add_func("/pmi-server/sizes-are-bounded", test_bounds);
	g_test_add_func("/pmi-server/sees-ends-after-a-failure", test_exit_after_failure);
	g_test_add_func("/pmi-server/survives-random-bytes", test_random_bytes);
	return g_test_run();
}
