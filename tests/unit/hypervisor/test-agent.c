/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <string.h>

#include "common/random.h"
#include "local-sched/hypervisor/agent.h"

static void test_requests(void)
{
	const char *const arguments[] = {"/bin/x", "run", "0", NULL};
	const char *const environment[] = {"PMI_RANK=0", NULL};
	g_autofree char *ping = agent_ping_request();
	g_autofree char *sync = agent_sync_request(7);
	g_autofree char *exec = agent_exec_request(arguments, environment, NULL);
	g_autofree char *bare = agent_exec_request(arguments, NULL, NULL);
	g_autofree char *status = agent_status_request(42);

	g_assert_cmpstr(ping, ==, "{\"execute\":\"guest-ping\"}");
	g_assert_cmpstr(sync, ==, "{\"arguments\":{\"id\":7},\"execute\":\"guest-sync\"}");
	g_assert_cmpstr(
		exec, ==,
		"{\"arguments\":{\"arg\":[\"run\",\"0\"],\"capture-output\":true,"
		"\"env\":[\"PMI_RANK=0\"],\"path\":\"/bin/x\"},\"execute\":\"guest-exec\"}");
	g_assert_cmpstr(bare, ==,
			"{\"arguments\":{\"arg\":[\"run\",\"0\"],\"capture-output\":true,"
			"\"path\":\"/bin/x\"},\"execute\":\"guest-exec\"}");
	g_assert_cmpstr(status, ==,
			"{\"arguments\":{\"pid\":42},\"execute\":\"guest-exec-status\"}");
}

static void test_files(void)
{
	g_autofree char *open = agent_file_open_request("/run/x");
	g_autofree char *read = agent_file_read_request(1000, 42);
	g_autofree char *close = agent_file_close_request(1000);
	g_autoptr(GError) error = NULL;
	struct agent_piece piece;
	int64_t file = 0;

	g_assert_cmpstr(open, ==,
			"{\"arguments\":{\"mode\":\"r\",\"path\":\"/run/x\"},"
			"\"execute\":\"guest-file-open\"}");
	g_assert_cmpstr(read, ==,
			"{\"arguments\":{\"count\":42,\"handle\":1000},"
			"\"execute\":\"guest-file-read\"}");
	g_assert_cmpstr(close, ==,
			"{\"arguments\":{\"handle\":1000},\"execute\":\"guest-file-close\"}");
	g_assert_true(agent_parse_file("{\"return\":1000}", &file, &error));
	g_assert_cmpint(file, ==, 1000);
	g_assert_true(agent_parse_piece("{\"return\":{\"count\":5,\"buf-b64\":\"aGkKAGE=\","
					"\"eof\":true}}",
					&piece, &error));
	g_assert_cmpuint(piece.length, ==, 5);
	g_assert_cmpint(memcmp(piece.bytes, "hi\n\0a", 6), ==, 0);
	g_free(piece.bytes);
	g_assert_false(agent_parse_file("{\"return\":{}}", &file, NULL));
	g_assert_false(agent_parse_file("{\"return\":0}", &file, NULL));
	g_assert_false(agent_parse_piece("{\"return\":{}}", &piece, NULL));
	g_assert_false(agent_parse_piece("{\"return\":{\"buf-b64\":7}}", &piece, NULL));
	g_assert_false(agent_parse_piece("{\"error\":{\"desc\":\"no\"}}", &piece, NULL));
}

static void test_good_replies(void)
{
	g_autoptr(GError) error = NULL;
	int64_t pid = 0;

	g_assert_true(agent_parse_empty("{\"return\": {}}", &error));
	g_assert_true(agent_parse_sync("{\"return\": 7}", 7, &error));
	g_assert_true(agent_parse_exec("{\"return\": {\"pid\": 631}}", &pid, &error));
	g_assert_cmpint(pid, ==, 631);
	g_assert_no_error(error);
}

static void test_status(void)
{
	struct agent_status status;
	g_autoptr(GError) error = NULL;

	g_assert_true(agent_parse_status("{\"return\":{\"exited\":false}}", &status, &error));
	g_assert_false(status.exited);
	g_assert_true(agent_parse_status("{\"return\":{\"exited\":true,\"exitcode\":3,"
					 "\"out-data\":\"aGkKAGE=\",\"err-data\":\"ZQ==\","
					 "\"out-truncated\":true}}",
					 &status, &error));
	g_assert_true(status.exited);
	g_assert_cmpint(status.status, ==, 3);
	g_assert_cmpuint(status.output_length, ==, 5);
	g_assert_cmpint(memcmp(status.output, "hi\n\0a", 6), ==, 0);
	g_assert_cmpstr(status.errors, ==, "e");
	g_assert_true(status.truncated);
	agent_status_clear(&status);
	g_assert_true(
		agent_parse_status("{\"return\":{\"exited\":true,\"signal\":9}}", &status, &error));
	g_assert_cmpint(status.status, ==, 137);
	g_assert_null(status.output);
}

static const char *const rubbish[] = {
	"",
	"null",
	"[]",
	"{}",
	"{\"return\": 8}",
	"{\"return\": \"7\"}",
	"{\"return\": {\"pid\": 0}}",
	"{\"return\": {\"pid\": -1}}",
	"{\"return\": {\"pid\": \"1\"}}",
	"{\"return\": {\"pid\": 1.5}}",
	"{\"return\": {\"exited\": 1}}",
	"{\"return\": {\"exited\": true}}",
	"{\"return\": {\"exited\": true, \"exitcode\": 256}}",
	"{\"return\": {\"exited\": true, \"exitcode\": -1}}",
	"{\"return\": {\"exited\": true, \"signal\": 0}}",
	"{\"return\": {\"exited\": true, \"exitcode\": 0, \"out-data\": 5}}",
	"{\"return\": {\"pid\": 1}, \"return\": {\"pid\": 2}}",
	"{\"return\": {\"pid\": 1}",
};

static void test_rubbish(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(rubbish); i++) {
		struct agent_status status;
		int64_t pid = 5;
		g_autoptr(GError) sync_error = NULL;
		g_autoptr(GError) exec_error = NULL;
		g_autoptr(GError) status_error = NULL;

		g_test_message("%s", rubbish[i]);
		g_assert_false(agent_parse_sync(rubbish[i], 7, &sync_error));
		g_assert_error(sync_error, AGENT_ERROR, AGENT_ERROR_RUBBISH);
		if (!strstr(rubbish[i], "\"pid\": 1}, \"ret")) {
			g_assert_false(agent_parse_exec(rubbish[i], &pid, &exec_error));
			g_assert_error(exec_error, AGENT_ERROR, AGENT_ERROR_RUBBISH);
		}
		g_assert_cmpint(pid, ==, 5);
		g_assert_false(agent_parse_status(rubbish[i], &status, &status_error));
		g_assert_error(status_error, AGENT_ERROR, AGENT_ERROR_RUBBISH);
	}
}

static void test_refusal(void)
{
	g_autoptr(GError) error = NULL;

	g_assert_false(agent_parse_empty(
		"{\"error\":{\"class\":\"GenericError\",\"desc\":\"PID 5 does not exist\"}}",
		&error));
	g_assert_error(error, AGENT_ERROR, AGENT_ERROR_REFUSED);
	g_assert_nonnull(strstr(error->message, "PID 5 does not exist"));
}

/* A good reply with some of its bytes changed. */
static void test_changed_bytes(void)
{
	static const char good[] = "{\"return\":{\"exited\":true,\"exitcode\":3,"
				   "\"out-data\":\"aGkKAGE=\",\"err-data\":\"ZQ==\"}}";
	struct random_stream random;

	random_stream_init(&random, g_test_rand_int(), 0);
	for (int i = 0; i < 20000; i++) {
		g_autofree char *reply = g_strdup(good);
		struct agent_status status;
		int64_t pid;

		for (uint64_t n = 1 + random_stream_below(&random, 4); n > 0; n--)
			reply[random_stream_below(&random, strlen(good))] =
				(char)(1 + random_stream_below(&random, 255));
		if (agent_parse_status(reply, &status, NULL))
			agent_status_clear(&status);
		agent_parse_exec(reply, &pid, NULL);
		agent_parse_sync(reply, 7, NULL);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/agent/builds-requests", test_requests);
	g_test_add_func("/agent/reads-files", test_files);
	g_test_add_func("/agent/reads-good-replies", test_good_replies);
	g_test_add_func("/agent/reads-status", test_status);
	g_test_add_func("/agent/refuses-rubbish", test_rubbish);
	g_test_add_func("/agent/passes-on-refusals", test_refusal);
	g_test_add_func("/agent/survives-changed-bytes", test_changed_bytes);
	return g_test_run();
}
