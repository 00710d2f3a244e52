/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/fuzz/api_bed.h"

#include <errno.h>
#include <gio/gio.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/json.h"
#include "controller/config/config_controller.h"
#include "tests/fuzz/fuzz.h"

/* A long poll takes a minute at most. */
#define ANSWER_WITHIN_S 90

void api_bed_open(struct api_bed *bed, const char *config_text)
{
	static const char *const schedulers[] = {"unix:/nonexistent", NULL};
	struct run_session *session = &bed->session;
	g_autofree char *address = NULL;
	g_autoptr(GError) error = NULL;

	bed->directory = g_dir_make_tmp("virtbed-fuzz-XXXXXX", NULL);
	fuzz_check(bed->directory != NULL);
	bed->socket_path = g_build_filename(bed->directory, "s", NULL);
	address = g_strconcat("unix:", bed->socket_path, NULL);
	bed->plan.experiment = (char *)"fuzz";
	session->platform = &platform_machine;
	session->dir = bed->directory;
	session->plan = &bed->plan;
	session->config =
		config_controller_load(fuzz_file((const uint8_t *)config_text, strlen(config_text)),
				       &error);
	g_assert_no_error(error);
	session->progress = run_progress_new(&platform_machine);
	session->store = store_open(bed->directory, true, NULL);
	session->fleet = remote_fleet_new(&platform_machine, session->config, schedulers, NULL);
	bed->api = status_api_new(address, session, NULL);
	bed->experiment = experiment_new(session->config, NULL, &error);
	g_assert_no_error(error);
	fuzz_check(session->store && session->fleet && bed->api);
}

/* The scripts that were kept, too: they are files of a folder. */
static void remove_directory(const char *path)
{
	g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
	const char *name;

	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *file = g_build_filename(path, name, NULL);

		if (g_file_test(file, G_FILE_TEST_IS_DIR))
			remove_directory(file);
		else
			g_unlink(file);
	}
	g_rmdir(path);
}

void api_bed_close(struct api_bed *bed)
{
	status_api_free(bed->api);
	experiment_free(bed->experiment);
	remote_fleet_free(bed->session.fleet);
	store_close(bed->session.store);
	config_free(bed->session.config);
	run_progress_free(bed->session.progress);
	remove_directory(bed->directory);
	g_free(bed->directory);
	g_free(bed->socket_path);
}

static int connect_api(const char *socket_path)
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
static GString *exchange(const struct api_bed *bed, GString *request)
{
	const int peer = connect_api(bed->socket_path);
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

/*
 * What libsoup refuses by itself has no body; ours is JSON, to the end, but for the page and the
 * metrics.
 */
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

/* The most seconds of a long poll that is tried: the fuzzer takes a longer wait for a hang. */
#define WAIT_S_MAX 1.0

static bool waits_too_long(const char *text)
{
	const char *wait = strstr(text, "wait_s=");

	return wait && g_ascii_strtod(wait + strlen("wait_s="), NULL) > WAIT_S_MAX;
}

/* One request: its first line, then its body. */
static void ask(const struct api_bed *bed, const char *text)
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
	answer = exchange(bed, request);
	check_answer(answer, g_str_has_prefix(text, "HEAD"));
}

struct api_requests api_requests_read(const struct api_bed *bed, const uint8_t *data, size_t size)
{
	g_autofree char *text = fuzz_text(data, size);

	return (struct api_requests){
		.bed = bed,
		.texts = g_strsplit(text, "\n---\n", API_BED_REQUESTS_MAX),
	};
}

void api_requests_clear(struct api_requests *requests)
{
	g_strfreev(requests->texts);
}

void api_requests_ask_next(double time_s, void *data)
{
	struct api_requests *requests = data;
	const char *text = requests->texts[requests->next];

	if (!text)
		return;
	requests->next++;
	if (!waits_too_long(text))
		ask(requests->bed, text);
}
