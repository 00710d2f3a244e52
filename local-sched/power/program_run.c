/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/program_run.h"

#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>

#include "common/child_process.h"
#include "common/clock.h"
#include "common/platform.h"
#include "common/subprocess.h"

struct program_run {
	struct child_process *child;
	guint deadline_id;
	GString *texts[CHILD_STREAMS];
	program_run_done_f done;
	void *data;
};

/* A program that has not ended is killed with its process group. */
void program_run_cancel(struct program_run *run)
{
	if (!run)
		return;
	g_clear_handle_id(&run->deadline_id, g_source_remove);
	child_kill(run->child);
	child_dismiss(run->child, 0, 0);
	for (int i = 0; i < CHILD_STREAMS; i++)
		g_string_free(run->texts[i], TRUE);
	g_free(run);
}

static void end(struct program_run *run, GError *error)
{
	const program_run_done_f done = run->done;
	void *data = run->data;
	g_autofree char *output = g_strdup(run->texts[CHILD_OUTPUT]->str);
	g_autofree char *complaint = g_strdup(run->texts[CHILD_COMPLAINT]->str);

	program_run_cancel(run);
	done(output, complaint, error, data);
	g_clear_error(&error);
}

static void end_killed(struct program_run *run, enum subprocess_error code, const char *what)
{
	end(run, g_error_new_literal(SUBPROCESS_ERROR, (int)code, what));
}

static void on_heard(enum child_stream stream, const char *bytes, size_t length, void *data)
{
	struct program_run *run = data;

	if (run->texts[stream]->len + length > PROGRAM_RUN_OUTPUT_MAX)
		end_killed(run, SUBPROCESS_ERROR_OUTPUT,
			   "it printed more than 64 KiB and was killed");
	else
		g_string_append_len(run->texts[stream], bytes, (gssize)length);
}

/* Whether the text has a zero byte: what is before it could be a part of a number. */
static bool has_zero_byte(const GString *text)
{
	return strlen(text->str) != text->len;
}

static void on_ended(int status, void *data)
{
	struct program_run *run = data;
	GError *error = NULL;

	if (WIFSIGNALED(status))
		g_set_error(&error, SUBPROCESS_ERROR, SUBPROCESS_ERROR_STATUS,
			    "it was ended by signal %d", WTERMSIG(status));
	else if (WEXITSTATUS(status) != 0)
		g_set_error(&error, SUBPROCESS_ERROR, SUBPROCESS_ERROR_STATUS,
			    "it exited with status %d", WEXITSTATUS(status));
	else if (has_zero_byte(run->texts[CHILD_OUTPUT]))
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
	struct program_run *run = g_new0(struct program_run, 1);
	const struct child_setup setup = {
		.argv = argv,
		.environment = environment,
		.kept_fd = kept_fd,
		.heard = on_heard,
		.ended = on_ended,
		.data = run,
	};

	run->child = child_start(platform, &setup, error);
	if (!run->child) {
		g_free(run);
		return NULL;
	}
	run->done = done;
	run->data = data;
	for (int i = 0; i < CHILD_STREAMS; i++)
		run->texts[i] = g_string_new(NULL);
	run->deadline_id =
		platform_after_ms(platform, (guint)MAX(left_s * 1e3, 0), on_deadline, run);
	return run;
}
