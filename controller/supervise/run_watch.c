/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/supervise/run_watch.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/http_client.h"
#include "common/json.h"
#include "common/log.h"
#include "common/visible.h"
#include "controller/run/run_api.h"

#define ASK_S 1
#define LIVE_COLUMNS 80
#define ASK_TIMEOUT_S 10.0
#define PLAIN_LINE_NS (10 * INT64_C(1000000000))

/* The kind of our own reports to the controller, which come back as notices. */
#define RUN_WATCH_TOLD "scheduler-died"

struct run_watch {
	struct http_client *client;
	bool terminal;
	bool shows; /* prints progress lines, not only notices */
	bool quiet; /* the controller's own lines reach the same journal */
	bool live;  /* a live line is on the terminal */
	bool pending;
	bool stale;       /* the pending request was sent to a controller that has died since */
	int64_t after;    /* number of the last notice shown */
	int64_t asked_ns; /* time of the last request */
	int silences;     /* requests in a row without an answer in time */
	struct run_watch_events events;
	int64_t plain_ns; /* when the last plain progress line was printed */
	char *error;      /* the controller's final error */
	guint source;
};

static void wipe(struct run_watch *watch)
{
	if (!watch || !watch->live)
		return;
	fputs("\r\033[K", stderr);
	watch->live = false;
}

void run_watch_say(struct run_watch *watch, const char *format, ...)
{
	g_autofree char *text = NULL;
	g_autofree char *shown = NULL;
	va_list arguments;

	wipe(watch);
	va_start(arguments, format);
	text = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	shown = visible_lines(text);
	fprintf(stderr, "%s\n", shown);
	fflush(stderr);
}

static double number(const json_t *status, const char *key)
{
	const json_t *value = json_object_get(status, key);

	return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static int count(const json_t *status, const char *key)
{
	return (int)json_integer_value(json_object_get(status, key));
}

static const char *text(const json_t *status, const char *key)
{
	return json_string_value(json_object_get(status, key));
}

static void append_left(GString *line, const json_t *status)
{
	double phase_s = number(status, "phase_left_s");
	double all_s = number(status, "left_s");
	g_autofree char *phase = isfinite(phase_s) ? visible_duration(phase_s) : NULL;
	g_autofree char *all = isfinite(all_s) ? visible_duration(all_s) : NULL;

	if (phase)
		g_string_append_printf(line, "; %s left", phase);
	if (all)
		g_string_append_printf(line, "%s %s in all", phase ? "," : "; left", all);
}

static void append_run(GString *line, const json_t *status)
{
	g_string_append_printf(
		line,
		"run %d/%d %s at %.0f %%: %.0f of %.0f s, energy %.0f/%.0f J, utility %.1f, "
		"%d running, %d waiting, ",
		count(status, "run"), count(status, "runs"), text(status, "policy") ?: "?",
		100 * number(status, "limit"), number(status, "time_s"),
		number(status, "duration_s"),
		/* Hosts may draw less than their idle watts: that is no news until tasks execute. */
		MAX(0, number(status, "energy_j")), number(status, "limit_j"),
		number(status, "utility"), count(status, "running"), count(status, "waiting"));
	if (count(status, "suspended") > 0)
		g_string_append_printf(line, "%d suspended, ", count(status, "suspended"));
	g_string_append_printf(line, "%d done", count(status, "completed"));
}

char *run_watch_line(const json_t *status)
{
	const char *phase = text(status, "phase") ?: "";
	const char *missing = text(status, "missing");
	GString *line = g_string_new(NULL);

	if (g_str_equal(phase, "run"))
		append_run(line, status);
	else if (g_str_equal(phase, "profile"))
		g_string_append_printf(line, "profile: %d of %d measured",
				       count(status, "profile_done"),
				       count(status, "profile_total"));
	else if (g_str_equal(phase, "baseline"))
		g_string_append(line, "metering the idle testbed");
	else if (g_str_equal(phase, "starting") || g_str_equal(phase, "settle"))
		g_string_append_printf(line, "waiting for nodes%s%s", missing ? ": " : "",
				       missing ?: "");
	else
		g_string_append(line, phase);
	append_left(line, status);
	return g_string_free(line, FALSE);
}

static void show_notices(struct run_watch *watch, const json_t *status)
{
	const json_t *notices = json_object_get(status, "notices");

	for (size_t i = 0; i < json_array_size(notices); i++) {
		const json_t *notice = json_array_get(notices, i);

		if (!watch->quiet && g_strcmp0(text(notice, "kind"), RUN_WATCH_TOLD) != 0)
			run_watch_say(watch, "%s", text(notice, "text") ?: "");
		if (watch->events.notice)
			watch->events.notice(text(notice, "kind") ?: "", text(notice, "text") ?: "",
					     watch->events.data);
		watch->after = json_integer_value(json_object_get(notice, "seq"));
	}
	/* A restarted controller numbers its notices from 1 again. */
	if (json_integer_value(json_object_get(status, "last")) < watch->after)
		watch->after = 0;
}

/*
 * Prints a live line, which must not wrap, or it could not be wiped. The lines are ASCII but for
 * names.
 */
static void print_live(const char *line)
{
	struct winsize size = {0};
	long columns = LIVE_COLUMNS;
	g_autofree char *shown = visible_text(line);
	g_autofree char *fits = NULL;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1)
		columns = size.ws_col;
	fits = g_utf8_substring(shown, 0, MIN(columns - 1, g_utf8_strlen(shown, -1)));
	fprintf(stderr, "\r\033[K%s", fits);
}

static void show_line(struct run_watch *watch, const json_t *status)
{
	g_autofree char *line = run_watch_line(status);

	if (watch->terminal) {
		print_live(line);
		fflush(stderr);
		watch->live = true;
	} else if (clock_now_ns() - watch->plain_ns >= PLAIN_LINE_NS) {
		watch->plain_ns = clock_now_ns();
		run_watch_say(watch, "%s", line);
	}
}

/*
 * Counts requests without an answer. A controller that is not there refuses at once, which its
 * supervisor knows already.
 */
static void count_silence(struct run_watch *watch, const GError *error)
{
	const bool silent =
		error && clock_elapsed_s(watch->asked_ns, clock_now_ns()) >= ASK_TIMEOUT_S - ASK_S;

	watch->silences = silent ? watch->silences + 1 : 0;
	if (watch->silences < RUN_WATCH_SILENCES)
		return;
	watch->silences = 0;
	if (watch->events.hung)
		watch->events.hung(watch->events.data);
}

static void answered(int status, json_t *body, const GError *error, void *data)
{
	struct run_watch *watch = data;
	const bool stale = watch->stale;

	watch->pending = false;
	watch->stale = false;
	if (stale)
		return;
	count_silence(watch, error);
	if (error || !json_is_object(body))
		return;
	show_notices(watch, body);
	if (watch->shows)
		show_line(watch, body);
	if (text(body, "error")) {
		g_free(watch->error);
		watch->error = g_strdup(text(body, "error"));
	}
}

static gboolean poll_status(gpointer data)
{
	struct run_watch *watch = data;
	g_autofree char *path = NULL;

	if (watch->pending)
		return G_SOURCE_CONTINUE;
	watch->pending = true;
	watch->asked_ns = clock_now_ns();
	path = g_strdup_printf("/v1/status?after=%" PRId64, watch->after);
	http_client_request(watch->client, "GET", path, NULL, ASK_TIMEOUT_S, answered, watch);
	return G_SOURCE_CONTINUE;
}

struct run_watch *run_watch_new(const char *address, bool shows, GError **error)
{
	struct http_client *client = http_client_new(&platform_machine, address, error);
	struct run_watch *watch;

	if (!client)
		return NULL;
	http_client_expect(client, run_api);
	watch = g_new0(struct run_watch, 1);
	watch->client = client;
	watch->shows = shows;
	watch->quiet = log_is_journal();
	watch->terminal = isatty(STDERR_FILENO);
	watch->plain_ns = clock_now_ns();
	watch->source = g_timeout_add_seconds(ASK_S, poll_status, watch);
	return watch;
}

void run_watch_free(struct run_watch *watch)
{
	if (!watch)
		return;
	wipe(watch);
	g_source_remove(watch->source);
	http_client_free(watch->client);
	g_free(watch->error);
	g_free(watch);
}

void run_watch_listen(struct run_watch *watch, const struct run_watch_events *events)
{
	watch->events = *events;
}

void run_watch_restarted(struct run_watch *watch)
{
	watch->after = 0;
	watch->stale = watch->pending;
}

const char *run_watch_error(const struct run_watch *watch)
{
	return watch->error;
}

static void on_reported(int status, json_t *body, const GError *error, void *data)
{
}

void run_watch_report(struct run_watch *watch, const char *words)
{
	g_autofree char *line = visible_line(words);
	g_autoptr(json_t) body = json_pack("{s:s, s:s}", "kind", RUN_WATCH_TOLD, "text", line);

	if (body)
		http_client_request(watch->client, "POST", "/v1/notices", body, ASK_TIMEOUT_S,
				    on_reported, watch);
}
