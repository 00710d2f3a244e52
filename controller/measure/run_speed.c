/* SPDX-License-Identifier: GPL-3.0-or-later */
#define LOG_SUBSYSTEM "run"

#include "controller/measure/run_speed.h"

#include <math.h>
#include <string.h>

#include "common/child_process.h"
#include "common/clock.h"
#include "common/lab_state.h"
#include "common/log.h"
#include "common/machine_probe.h"
#include "common/platform.h"
#include "common/program_path.h"
#include "controller/run/run_paths.h"
#include "controller/session/run_session_private.h"

enum { LOOK_S = 1 };

/* The minimum number of windows of a run, and the shortest useful window. */
#define WINDOWS_LEAST 6
#define WINDOW_LEAST_S 2.0
/* A last window shorter than this fraction of the others is dropped. */
#define WINDOW_LEAST 0.5

#define PROBE_S 60.0

struct run_speed {
	struct run_session *session;
	GArray *speeds;                  /* double elements */
	guint source;                    /* 0: there is no metronome */
	struct lab_state_metronome from; /* at the beginning of this window */
	int64_t from_ns;
	double window_s;
};

double run_speed_change(const double *speeds, guint count)
{
	double farthest = 0;

	for (guint i = 1; i < count; i++) {
		const double change = speeds[i] / speeds[0] - 1;

		/* Half and twice the speed are equally different. */
		if (fabs(log1p(change)) > fabs(log1p(farthest)))
			farthest = change;
	}
	return farthest;
}

/* Ends the present window if it is at least `least_s` long, and begins the next. */
static void take_window(struct run_speed *speed, double least_s)
{
	const int64_t now_ns = platform_now_ns(speed->session->platform);
	struct lab_state_metronome now;
	double round_ns;

	if (clock_elapsed_s(speed->from_ns, now_ns) < least_s ||
	    !lab_state_read_metronome(speed->session->config->name, &now))
		return;
	if (now.rounds != speed->from.rounds && now.cpu_ns > speed->from.cpu_ns) {
		double one;

		round_ns = (double)(now.cpu_ns - speed->from.cpu_ns) /
			   (double)(uint32_t)(now.rounds - speed->from.rounds);
		one = MACHINE_PROBE_ROUND_NS / round_ns;
		g_array_append_val(speed->speeds, one);
	}
	speed->from = now;
	speed->from_ns = now_ns;
}

static gboolean on_look(gpointer data)
{
	struct run_speed *speed = data;

	if (speed->session->run > 0) {
		take_window(speed, speed->window_s);
	} else if (lab_state_read_metronome(speed->session->config->name, &speed->from)) {
		speed->from_ns = platform_now_ns(speed->session->platform);
	}
	return G_SOURCE_CONTINUE;
}

/* Measures the speed by a short probe; a failed probe adds nothing and does not end the run. */
static void take_probe(struct run_speed *speed)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *program = program_path("virtbed-lab", &error);
	const char *const argv[] = {program, "probe", "--json", "--seconds", "1", NULL};
	g_autofree char *text = NULL;
	g_autoptr(machine_probe_t) probe = NULL;

	if (program && child_run(speed->session->platform, argv, PROBE_S, &text, &error))
		probe = machine_probe_parse(text, strlen(text), "virtbed-lab probe", &error);
	if (!probe)
		log_warning("the machine's speed is not known at this end of the run: %s",
			    error->message);
	else if (!isnan(probe->speed))
		g_array_append_val(speed->speeds, probe->speed);
}

static bool was_fitted(const struct run_session *session)
{
	g_autofree char *path = g_build_filename(session->dir, MACHINE_PROBE_FILE, NULL);

	return g_file_test(path, G_FILE_TEST_EXISTS);
}

struct run_speed *run_speed_begin(struct run_session *session)
{
	struct lab_state_metronome from;
	const bool has_metronome =
		session->config->lab && lab_state_read_metronome(session->config->name, &from);
	struct run_speed *speed;

	if (!has_metronome && !was_fitted(session))
		return NULL;
	speed = g_new0(struct run_speed, 1);
	speed->session = session;
	speed->speeds = g_array_new(FALSE, FALSE, sizeof(double));
	if (has_metronome) {
		speed->from = from;
		speed->from_ns = platform_now_ns(speed->session->platform);
		speed->window_s = CLAMP(session->config->experiment->duration_s / WINDOWS_LEAST,
					WINDOW_LEAST_S, RUN_SPEED_WINDOW_S);
		speed->source = platform_after_s(speed->session->platform, LOOK_S, on_look, speed);
	} else {
		take_probe(speed);
	}
	return speed;
}

static void add_line(struct run_session *session, const char *line)
{
	g_autofree char *before = store_get_meta(session->store, RUN_SPEED_META);
	g_autofree char *text = before ? g_strjoin("\n", before, line, NULL) : g_strdup(line);
	GError *error = NULL;

	if (!store_set_meta(session->store, RUN_SPEED_META, text, &error))
		run_session_store_failed(session, error);
}

static void record(struct run_speed *speed)
{
	g_autoptr(GString) detail = g_string_new("{\"speeds\": [");
	GError *error = NULL;

	for (guint i = 0; i < speed->speeds->len; i++)
		g_string_append_printf(detail, "%s%.3f", i ? ", " : "",
				       g_array_index(speed->speeds, double, i));
	g_string_append(detail, "]}");
	if (!store_add_event(speed->session->store, speed->session->run, 0, "speed", detail->str,
			     &error))
		run_session_store_failed(speed->session, error);
}

static void note_change(struct run_speed *speed, const char *run)
{
	const double change = run_speed_change((const double *)(const void *)speed->speeds->data,
					       speed->speeds->len);
	g_autofree char *line =
		g_strdup_printf("%s: the machine became %.0f %% %s while it ran", run,
				fabs(change) * 100, change < 0 ? "slower" : "faster");

	if (fabs(change) <= RUN_SPEED_CHANGE)
		return;
	add_line(speed->session, line);
	run_session_note(speed->session, "speed-changed", "%s", line);
}

void run_speed_end(struct run_speed *speed, const char *run)
{
	if (!speed)
		return;
	if (speed->source) {
		g_source_remove(speed->source);
		take_window(speed, speed->window_s * WINDOW_LEAST);
	} else {
		take_probe(speed);
	}
	if (speed->speeds->len > 0 && run) {
		record(speed);
		note_change(speed, run);
	}
	g_array_unref(speed->speeds);
	g_free(speed);
}
