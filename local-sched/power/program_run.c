/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/program_run.h"

#include <errno.h>
#include <glib-unix.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/platform.h"
#include "common/subprocess.h"

enum { OUTPUT = 0, COMPLAINT, STREAMS };

struct program_run {
	GPid pid;
	guint child_id;
	guint deadline_id;
	int fds[STREAMS]; /* -1: read to its end */
	guint fd_ids[STREAMS];
	GString *texts[STREAMS];
	program_run_done_f done;
	void *data;
};

static void on_reaped(GPid pid, gint status, gpointer data)
{
	g_spawn_close_pid(pid);
}

static void close_stream(struct program_run *run, int i)
{
	g_clear_handle_id(&run->fd_ids[i], g_source_remove);
	if (run->fds[i] >= 0)
		close(run->fds[i]);
	run->fds[i] = -1;
}

static void free_run(struct program_run *run)
{
	g_clear_handle_id(&run->deadline_id, g_source_remove);
	for (int i = 0; i < STREAMS; i++) {
		close_stream(run, i);
		g_string_free(run->texts[i], TRUE);
	}
	g_free(run);
}

/* Kills it, if it has not ended, and leaves its end to on_reaped(). */
static void abandon(struct program_run *run)
{
	if (!run->child_id)
		return;
	g_clear_handle_id(&run->child_id, g_source_remove);
	kill(-run->pid, SIGKILL);
	g_child_watch_add(run->pid, on_reaped, NULL);
}

void program_run_cancel(struct program_run *run)
{
	if (!run)
		return;
	abandon(run);
	free_run(run);
}

static void end(struct program_run *run, GError *error)
{
	const program_run_done_f done = run->done;
	void *data = run->data;
	g_autofree char *output = g_strdup(run->texts[OUTPUT]->str);
	g_autofree char *complaint = g_strdup(run->texts[COMPLAINT]->str);

	program_run_cancel(run);
	done(output, complaint, error, data);
	g_clear_error(&error);
}

static void end_killed(struct program_run *run, enum subprocess_error code, const char *what)
{
	end(run, g_error_new_literal(SUBPROCESS_ERROR, (int)code, what));
}

/*
 * Reads what is there of stream `i`, and closes it at its end. Returns false if it is too much, in
 * which case the run has ended.
 */
static bool drain(struct program_run *run, int i)
{
	char bytes[4096];
	ssize_t got;

	while (run->fds[i] >= 0) {
		got = TEMP_FAILURE_RETRY(read(run->fds[i], bytes, sizeof bytes));
		if (got < 0 && errno == EAGAIN)
			return true;
		if (got <= 0) {
			close_stream(run, i);
			return true;
		}
		if (run->texts[i]->len + (gsize)got > PROGRAM_RUN_OUTPUT_MAX) {
			end_killed(run, SUBPROCESS_ERROR_OUTPUT,
				   "it printed more than 64 KiB and was killed");
			return false;
		}
		g_string_append_len(run->texts[i], bytes, got);
	}
	return true;
}

static gboolean on_readable(gint fd, GIOCondition condition, gpointer data)
{
	struct program_run *run = data;

	drain(run, fd == run->fds[OUTPUT] ? OUTPUT : COMPLAINT);
	return G_SOURCE_CONTINUE; /* a stream that was read to its end has removed its source */
}

/* Whether the text has a zero byte: what is before it could be a part of a number. */
static bool has_zero_byte(const GString *text)
{
	return strlen(text->str) != text->len;
}

/*
 * Its exit is its end: a daemon that it has started may hold its pipes. What it leaves running in
 * its process group would become more with each run, and is killed.
 */
static void on_ended(GPid pid, gint status, gpointer data)
{
	struct program_run *run = data;
	GError *error = NULL;

	kill(-pid, SIGKILL);
	g_spawn_close_pid(pid);
	run->child_id = 0;
	if (!drain(run, OUTPUT) || !drain(run, COMPLAINT))
		return;
	if (WIFSIGNALED(status))
		g_set_error(&error, SUBPROCESS_ERROR, SUBPROCESS_ERROR_STATUS,
			    "it was ended by signal %d", WTERMSIG(status));
	else if (WEXITSTATUS(status) != 0)
		g_set_error(&error, SUBPROCESS_ERROR, SUBPROCESS_ERROR_STATUS,
			    "it exited with status %d", WEXITSTATUS(status));
	else if (has_zero_byte(run->texts[OUTPUT]))
		g_set_error(&error, SUBPROCESS_ERROR, SUBPROCESS_ERROR_OUTPUT,
			    "it printed a zero byte, which is no text");
	end(run, error);
}

static gboolean on_deadline(gpointer data)
{
	struct program_run *run = data;

	run->deadline_id = 0;
	end_killed(run, SUBPROCESS_ERROR_TIMEOUT, "it did not end in time and was killed");
	return G_SOURCE_REMOVE;
}

struct program_run *program_run_start(const struct platform *platform, const char *const *argv,
				      const char *const *environment, int kept_fd,
				      int64_t deadline_ns, program_run_done_f done, void *data,
				      GError **error)
{
	const double left_s = clock_elapsed_s(platform_now_ns(platform), deadline_ns);
	struct program_run *run;
	int fds[STREAMS];
	GPid pid = subprocess_spawn_outputs(argv, environment, kept_fd, fds, error);

	if (pid < 0)
		return NULL;
	run = g_new0(struct program_run, 1);
	run->pid = pid;
	run->done = done;
	run->data = data;
	for (int i = 0; i < STREAMS; i++) {
		run->fds[i] = fds[i];
		run->texts[i] = g_string_new(NULL);
		run->fd_ids[i] =
			g_unix_fd_add(fds[i], G_IO_IN | G_IO_HUP | G_IO_ERR, on_readable, run);
	}
	run->child_id = g_child_watch_add(pid, on_ended, run);
	run->deadline_id =
		platform_after_ms(platform, (guint)MAX(left_s * 1e3, 0), on_deadline, run);
	return run;
}
