/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests to a controller, over its socket, in the midst of a run with a policy that preempts, by a
 * scripted backend in virtual time. Input: requests, separated by lines of three dashes; of each the
 * first line is "METHOD PATH", the rest is the body. Every answer that says so is JSON, all errors are, and
 * the run comes to its end.
 */
#include <errno.h>
#include <gio/gio.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/json.h"
#include "controller/api/status_api.h"
#include "controller/engine/experiment.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/sched/scripted_backend.h"

/* A long poll takes a minute at most. */
#define ANSWER_WITHIN_S 90
#define REQUESTS_MAX 16

static const char config_text[] =
	"name: fuzz\n"
	"clusters:\n"
	"  - {name: c, nodes: 2, cores: 1, memory_mib: 128, max_mhz: 1000, base_mhz: 1000,\n"
	"     hosts: [{name: h, uri: 'test:///default'}]}\n"
	"types:\n"
	"  - {name: one, benchmark: is, class: S, cores: 1, memory_mib: 64, share: 0.5}\n"
	"  - {name: two, benchmark: is, class: S, cores: 2, memory_mib: 64, share: 0.5}\n"
	"estimates:\n"
	"  - {type: one, cluster: c, etc_s: 15, eec_j: 15}\n"
	"  - {type: two, cluster: c, etc_s: 20, eec_j: 40}\n"
	"workload: {arrival_mean_s: 8, duration_s: 80, utility_max: [1, 8]}\n"
	"experiment: {policies: [max-util-preempt-greedy], limits: [1], budget_j: 1000,\n"
	"  mapping_interval_s: 5, duration_s: 100}\n";

/* What all inputs share. */
static char *directory;
static char *socket_path;
static struct run_plan plan = {.experiment = (char *)"fuzz"};
static struct run_session session = {.plan = &plan};
static struct status_api *api;
static struct experiment *experiment;
static struct experiment_trial trial;

/* The requests of one input that are still to come. */
struct requests {
	char **texts; /* NULL: the end */
	guint next;
};

static void remove_directory(void)
{
	g_autofree char *store = g_build_filename(directory, STORE_FILE, NULL);

	status_api_free(api);
	experiment_trial_clear(&trial);
	experiment_free(experiment);
	remote_fleet_free(session.fleet);
	store_close(session.store);
	config_free(session.config);
	run_progress_free(session.progress);
	g_unlink(store);
	g_rmdir(directory);
	g_free(directory);
	g_free(socket_path);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const char *const schedulers[] = {"unix:/nonexistent", NULL};
	g_autofree char *address = NULL;
	g_autoptr(GError) error = NULL;

	fuzz_silence();
	directory = g_dir_make_tmp("virtbed-fuzz-XXXXXX", NULL);
	fuzz_check(directory != NULL);
	socket_path = g_build_filename(directory, "s", NULL);
	address = g_strconcat("unix:", socket_path, NULL);
	session.config = config_load(
		fuzz_file((const uint8_t *)config_text, strlen(config_text)), &error);
	g_assert_no_error(error);
	session.progress = run_progress_new();
	session.store = store_open(directory, true, NULL);
	session.fleet = remote_fleet_new(session.config, schedulers, NULL);
	api = status_api_new(address, &session, NULL);
	experiment = experiment_new(session.config, NULL, NULL);
	fuzz_check(session.store && session.fleet && api && experiment);
	fuzz_check(experiment_trial_init(experiment, 0, 1, &trial, NULL));
	atexit(remove_directory);
	return 0;
}

static int connect_api(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const int peer = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	g_strlcpy(address.sun_path, socket_path, sizeof(address.sun_path));
	fuzz_check(peer >= 0);
	fuzz_check(connect(peer, (struct sockaddr *)&address, sizeof(address)) == 0);
	return peer;
}

/* Sends what fits; false when all is sent or the peer is gone. */
static bool send_some(int peer, GString *request)
{
	const ssize_t sent = send(peer, request->str, request->len, MSG_NOSIGNAL);

	if (sent < 0)
		return errno == EAGAIN;
	g_string_erase(request, 0, sent);
	return request->len > 0;
}

/* The whole answer, until the server hangs up. */
static GString *exchange(GString *request)
{
	const int peer = connect_api();
	const int64_t deadline_us = g_get_monotonic_time() + ANSWER_WITHIN_S * G_USEC_PER_SEC;
	GString *answer = g_string_new(NULL);
	bool sending = true;
	char buffer[4096];
	ssize_t got;

	for (;;) {
		sending = sending && send_some(peer, request);
		g_main_context_iteration(NULL, FALSE);
		got = recv(peer, buffer, sizeof(buffer), 0);
		if (got > 0)
			g_string_append_len(answer, buffer, got);
		else if (got == 0 || errno != EAGAIN)
			break;
		fuzz_check(g_get_monotonic_time() < deadline_us);
	}
	close(peer);
	return answer;
}

/* What libsoup refuses by itself has no body; ours is JSON, to the end, but for the page and the metrics. */
static void check_answer(const GString *answer, bool head)
{
	const char *body = strstr(answer->str, "\r\n\r\n");
	int status = 0;

	if (answer->len == 0)
		return; /* not HTTP enough to be answered */
	fuzz_check(sscanf(answer->str, "HTTP/1.%*d %d", &status) == 1 && body != NULL);
	fuzz_check(status >= 200 && status <= 503);
	body += 4;
	if (*body == '\0') {
		fuzz_check(status == 400 || status == 304 || head);
		return;
	}
	if (status < 400 && !strstr(answer->str, "\r\nContent-Type: application/json\r\n"))
		return;

	g_autoptr(GError) error = NULL;
	g_autoptr(json_t) object = json_parse(body, strlen(body), "answer", &error);

	g_assert_no_error(error);
	fuzz_check(status < 400 || json_is_string(json_object_get(object, "error")));
}

/* One request: its first line, then its body. */
static void ask(const char *text)
{
	const char *end = strchrnul(text, '\n');
	const char *body = *end ? end + 1 : end;
	g_autoptr(GString) request = g_string_new(NULL);
	g_autoptr(GString) answer = NULL;

	g_string_append_len(request, text, end - text);
	g_string_append_printf(request,
			       " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
			       "Content-Length: %zu\r\n\r\n%s",
			       strlen(body), body);
	answer = exchange(request);
	check_answer(answer, g_str_has_prefix(text, "HEAD"));
}

static void ask_next(double time_s, void *data)
{
	struct requests *requests = data;

	if (requests->texts[requests->next])
		ask(requests->texts[requests->next++]);
}

static void run(struct requests *requests)
{
	const struct engine_setup setup = experiment_trial_setup(
		experiment, &trial, &experiment->policies[0], experiment->config->experiment->budget_j);
	double calls_s[REQUESTS_MAX];
	const struct script script = {
		.system = setup.system,
		.watts = 2,
		.suspend_s = 1.5,
		.resume_s = 2.5,
		.calls_s = calls_s,
		.calls_count = REQUESTS_MAX,
		.call = ask_next,
		.data = requests,
	};
	struct engine_result result;

	for (uint32_t i = 0; i < REQUESTS_MAX; i++)
		calls_s[i] = 6 + 3.5 * i;

	struct backend *backend = scripted_backend_new(&script);

	session.engine = engine_new(&setup, backend);
	session.tasks_count = setup.workload->tasks_count;
	engine_run(session.engine, &result);
	fuzz_check(result.ended_by != ENGINE_END_NONE && result.ended_by != ENGINE_END_ABORTED);
	engine_free(session.engine);
	session.engine = NULL;
	backend_destroy(backend);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autofree char *text = fuzz_text(data, size);
	g_auto(GStrv) texts = g_strsplit(text, "\n---\n", REQUESTS_MAX);
	struct requests requests = {.texts = texts};

	run(&requests);
	/* Those that are left find no run under way. */
	while (texts[requests.next])
		ask(texts[requests.next++]);
	return 0;
}
