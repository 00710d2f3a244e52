/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/snmp_get.h"

#include <errno.h>
#include <glib-unix.h>
#include <signal.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/subprocess.h"

enum { OUTPUT_MAX = 16 * 1024 };

struct snmp_get {
	GPid pid;
	int from; /* -1: it was read to its end */
	guint from_id;
	guint deadline_id;
	GString *output;
	snmp_get_done_f done;
	void *data;
};

static void on_reaped(GPid pid, gint status, gpointer data)
{
	g_spawn_close_pid(pid);
}

static void free_get(struct snmp_get *get)
{
	g_clear_handle_id(&get->from_id, g_source_remove);
	g_clear_handle_id(&get->deadline_id, g_source_remove);
	if (get->from >= 0)
		close(get->from);
	g_string_free(get->output, TRUE);
	g_free(get);
}

void snmp_get_cancel(struct snmp_get *get)
{
	if (!get)
		return;
	kill(-get->pid, SIGKILL); /* its process group; on_reaped() gets its end */
	free_get(get);
}

static void end(struct snmp_get *get, const GError *error)
{
	const snmp_get_done_f done = get->done;
	void *data = get->data;
	g_autofree char *output = g_strdup(get->output->str);

	if (error)
		snmp_get_cancel(get);
	else
		free_get(get);
	done(error ? NULL : output, error, data);
}

static void end_failed(struct snmp_get *get, enum subprocess_error code, const char *what)
{
	g_autoptr(GError) error = g_error_new_literal(SUBPROCESS_ERROR, (int)code, what);

	end(get, error);
}

/* The end of its output is the end of the run: it has closed both streams. */
static gboolean on_output(gint fd, GIOCondition condition, gpointer data)
{
	struct snmp_get *get = data;
	char bytes[4096];
	const ssize_t got = read(fd, bytes, sizeof bytes);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return G_SOURCE_CONTINUE;
	if (got > 0) {
		g_string_append_len(get->output, bytes, got);
		if (get->output->len <= OUTPUT_MAX)
			return G_SOURCE_CONTINUE;
	}
	get->from_id = 0;
	if (got > 0)
		end_failed(get, SUBPROCESS_ERROR_OUTPUT, "its output is too long");
	else
		end(get, NULL);
	return G_SOURCE_REMOVE;
}

static gboolean on_deadline(gpointer data)
{
	struct snmp_get *get = data;

	get->deadline_id = 0;
	end_failed(get, SUBPROCESS_ERROR_TIMEOUT, "it did not end in time");
	return G_SOURCE_REMOVE;
}

struct snmp_get *snmp_get_start(const char *const *argv, const char *const *environment,
				int64_t deadline_ns, snmp_get_done_f done, void *data,
				GError **error)
{
	const double left_s = clock_elapsed_s(clock_now_ns(), deadline_ns);
	struct snmp_get *get;
	int to;
	int from;
	GPid pid = subprocess_spawn_pipes(argv, environment, true, &to, &from, error);

	if (pid < 0)
		return NULL;
	close(to);
	g_child_watch_add(pid, on_reaped, NULL);
	get = g_new0(struct snmp_get, 1);
	get->pid = pid;
	get->from = from;
	get->output = g_string_new(NULL);
	get->done = done;
	get->data = data;
	get->from_id = g_unix_fd_add(from, G_IO_IN | G_IO_HUP | G_IO_ERR, on_output, get);
	get->deadline_id = g_timeout_add((guint)MAX(left_s * 1e3, 0), on_deadline, get);
	return get;
}
