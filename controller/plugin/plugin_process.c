/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/plugin/plugin_process.h"

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error_fail.h"
#include "common/program_path.h"

#define LOG_SUBSYSTEM "policy"
#include "common/log.h"

/* How long a program has to end after its input has. */
#define BYE_NS G_GINT64_CONSTANT(1000000000)
/* How long it takes to hear why a program ended after its output did. */
#define END_NS G_GINT64_CONSTANT(100000000)
/* A program that is killed is gone, but for a call that cannot be interrupted, by then. */
#define KILLED_NS G_GINT64_CONSTANT(2000000000)
/* Lines of standard error that are logged after a message, and what is kept of a longer line. */
#define COMPLAINTS_MAX 100
#define COMPLAINT_LENGTH 1000
#define PIPE_BYTES (1 << 20)
#define NS_PER_MS 1000000

struct plugin_process {
	char *name; /* of the policy */
	pid_t pid;  /* of the host, and its group */
	int input;  /* of the program: written here; -1: closed */
	int output;
	int complaints;
	int lifeline;    /* held open */
	int cancel;      /* borrowed: nothing is waited for if it can be read; -1: none */
	int trouble;     /* the host says here how it ends; -1: it has */
	GString *heard;  /* of `output`, not taken yet */
	size_t begin;    /* where in it the next line begins */
	size_t scanned;  /* bytes of the next line without a line feed */
	GString *said;   /* of `complaints`: the line under way */
	GString *ending; /* of `trouble` */
	char *last;      /* the last whole line of `complaints`; NULL: none */
	unsigned logged; /* lines since the last message was written */
	bool quiet;      /* its complaints are not logged */
	bool output_ended;
};

/* Starting. */

static void add_option(GPtrArray *argv, const char *name, uint32_t value)
{
	g_ptr_array_add(argv, g_strdup(name));
	g_ptr_array_add(argv, g_strdup_printf("%u", value));
}

static char **host_argv(const char *host, const char *const *words,
			const struct plugin_settings *settings)
{
	GPtrArray *argv = g_ptr_array_new();

	g_ptr_array_add(argv, g_strdup(host));
	if (settings->sandbox) {
		g_ptr_array_add(argv, g_strdup("--sandbox"));
		if (settings->user) {
			g_ptr_array_add(argv, g_strdup("--user"));
			g_ptr_array_add(argv, g_strdup(settings->user));
		}
		add_option(argv, "--cpu", settings->cpu_s);
		add_option(argv, "--memory", settings->memory_mib);
		add_option(argv, "--file", settings->file_mib);
		add_option(argv, "--files", settings->files);
		add_option(argv, "--processes", settings->processes);
	}
	for (; *words; words++)
		g_ptr_array_add(argv, g_strdup(*words));
	g_ptr_array_add(argv, NULL);
	return (char **)g_ptr_array_free(argv, FALSE);
}

static void set_up_streams(struct plugin_process *process)
{
	const int fds[] = {process->input, process->output, process->complaints, process->trouble};

	for (gsize i = 0; i < G_N_ELEMENTS(fds); i++)
		g_unix_set_fd_nonblocking(fds[i], TRUE, NULL);
	/* A snapshot of thousands of tasks passes at once. It is no matter if it cannot. */
	fcntl(process->input, F_SETPIPE_SZ, PIPE_BYTES);
	fcntl(process->output, F_SETPIPE_SZ, PIPE_BYTES);
}

struct plugin_process *plugin_process_start(const char *name, const char *const *words,
					    const struct plugin_settings *settings, GError **error)
{
	g_autofree char *host = program_path("virtbed-policy-host", error);
	struct plugin_process *process;
	int lifeline[2], trouble[2];
	bool started;

	if (!host)
		return NULL;
	if (!g_unix_open_pipe(lifeline, FD_CLOEXEC, error))
		return NULL;
	if (!g_unix_open_pipe(trouble, FD_CLOEXEC, error)) {
		close(lifeline[0]);
		close(lifeline[1]);
		return NULL;
	}
	process = g_new0(struct plugin_process, 1);

	g_auto(GStrv) argv = host_argv(host, words, settings);
	const int from[] = {lifeline[0], trouble[1]};
	const int to[] = {3, 4}; /* LIFELINE_FD and TROUBLE_FD of the host */

	started = g_spawn_async_with_pipes_and_fds(NULL, (const char *const *)argv, NULL,
						   G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, -1, -1,
						   -1, from, to, G_N_ELEMENTS(from), &process->pid,
						   &process->input, &process->output,
						   &process->complaints, error);
	close(lifeline[0]);
	close(trouble[1]);
	if (!started) {
		close(lifeline[1]);
		close(trouble[0]);
		g_free(process);
		return NULL;
	}
	process->name = g_strdup(name);
	process->quiet = settings->quiet;
	process->cancel = -1;
	process->lifeline = lifeline[1];
	process->trouble = trouble[0];
	process->heard = g_string_new(NULL);
	process->said = g_string_new(NULL);
	process->ending = g_string_new(NULL);
	set_up_streams(process);
	return process;
}

void plugin_process_set_cancel(struct plugin_process *process, int cancel)
{
	process->cancel = cancel;
}

/* Listening. */

static void log_complaint(struct plugin_process *process, const char *line, size_t length)
{
	g_free(process->last);
	process->last = g_utf8_make_valid(line, (gssize)length);
	if (process->quiet)
		return;
	if (process->logged < COMPLAINTS_MAX)
		log_info("%s: %s", process->name, process->last);
	else if (process->logged == COMPLAINTS_MAX)
		log_info("%s: ... (further lines until its next message are left out)",
			 process->name);
	process->logged++;
}

static void hear_complaints(struct plugin_process *process, const char *bytes, size_t length)
{
	for (const char *end; (end = memchr(bytes, '\n', length)) != NULL;) {
		const size_t part = (size_t)(end - bytes);
		const size_t room = COMPLAINT_LENGTH - process->said->len;

		g_string_append_len(process->said, bytes, (gssize)MIN(part, room));
		log_complaint(process, process->said->str, process->said->len);
		g_string_truncate(process->said, 0);
		bytes = end + 1;
		length -= part + 1;
	}
	g_string_append_len(process->said, bytes,
			    (gssize)MIN(length, COMPLAINT_LENGTH - process->said->len));
}

/* Reads what is there; false: the stream has ended. */
static bool drain(struct plugin_process *process, int fd)
{
	char bytes[65536];

	for (;;) {
		const ssize_t count = read(fd, bytes, sizeof(bytes));

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0 && errno == EAGAIN)
			return true;
		if (count <= 0)
			return false;
		if (fd == process->output)
			g_string_append_len(process->heard, bytes, count);
		else if (fd == process->complaints)
			hear_complaints(process, bytes, (size_t)count);
		else
			g_string_append_len(process->ending, bytes, count);
		/* A program that writes without end is heard a part at a time. */
		if (fd != process->trouble)
			return true;
	}
}

/*
 * Waits until something can be read, or also written, or the deadline. False: it has passed, or the
 * wait is cancelled.
 */
static bool listen_until(struct plugin_process *process, bool writing, int64_t deadline_ns)
{
	const int64_t left_ns = deadline_ns - clock_now_ns();
	struct pollfd fds[] = {
		{writing ? process->input : -1, POLLOUT, 0},
		{process->output_ended ? -1 : process->output, POLLIN, 0},
		{process->complaints, POLLIN, 0},
		{process->trouble, POLLIN, 0},
		{process->cancel, POLLIN, 0},
	};
	const int64_t left_ms = MAX(0, (left_ns + NS_PER_MS - 1) / NS_PER_MS);
	const int count =
		left_ns > 0 ? poll(fds, G_N_ELEMENTS(fds), (int)MIN(left_ms, G_MAXINT)) : 0;

	if (count <= 0)
		return count < 0 && errno == EINTR;
	if (fds[4].revents)
		return false;
	if (fds[1].revents && !drain(process, process->output))
		process->output_ended = true;
	if (fds[2].revents && !drain(process, process->complaints)) {
		close(process->complaints);
		process->complaints = -1;
	}
	if (fds[3].revents && !drain(process, process->trouble)) {
		close(process->trouble);
		process->trouble = -1;
	}
	return true;
}

/* Writes what the pipe takes. -1: it has no reader. SIGPIPE of it does not reach the process. */
static ssize_t write_some(int fd, const char *text, size_t length)
{
	const struct timespec at_once = {0};
	sigset_t pipe, before, pending;
	ssize_t count;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &pipe, &before);
	count = write(fd, text, length);
	if (count < 0 && errno == EPIPE && !sigismember(&pending, SIGPIPE))
		sigtimedwait(&pipe, NULL, &at_once);
	else if (count < 0 && (errno == EAGAIN || errno == EINTR))
		count = 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return count;
}

enum plugin_io plugin_process_write(struct plugin_process *process, const char *text, size_t length,
				    size_t *written, int64_t deadline_ns)
{
	if (*written == 0)
		process->logged = 0;
	while (*written < length) {
		const ssize_t count =
			process->input < 0
				? -1
				: write_some(process->input, text + *written, length - *written);

		if (count < 0)
			return PLUGIN_IO_ENDED;
		*written += (size_t)count;
		if (*written < length && !listen_until(process, true, deadline_ns))
			return PLUGIN_IO_LATE;
		if (process->heard->len > PLUGIN_LINE_MAX)
			return PLUGIN_IO_LONG;
		if (process->trouble < 0)
			return PLUGIN_IO_ENDED;
	}
	return PLUGIN_IO_DONE;
}

enum plugin_io plugin_process_read(struct plugin_process *process, int64_t deadline_ns,
				   const char **ret_line, size_t *ret_length)
{
	/* So that thousands of short lines take no longer than one long one. */
	if (process->begin > process->heard->len / 2) {
		g_string_erase(process->heard, 0, (gssize)process->begin);
		process->begin = 0;
	}
	for (;;) {
		const char *begin = process->heard->str + process->begin;
		const size_t length = process->heard->len - process->begin;
		const char *end = memchr(begin + process->scanned, '\n', length - process->scanned);

		if (end) {
			*ret_line = begin;
			*ret_length = (size_t)(end - begin);
			process->begin += *ret_length + 1;
			process->scanned = 0;
			return *ret_length < PLUGIN_LINE_MAX ? PLUGIN_IO_DONE : PLUGIN_IO_LONG;
		}
		process->scanned = length;
		if (process->scanned >= PLUGIN_LINE_MAX)
			return PLUGIN_IO_LONG;
		if (process->output_ended)
			return PLUGIN_IO_ENDED;
		/* It has ended, though a process that it has left may hold its output open. */
		if (process->trouble < 0)
			process->output_ended =
				!drain(process, process->output) ||
				process->heard->len - process->begin == process->scanned;
		else if (!listen_until(process, false, deadline_ns))
			return PLUGIN_IO_LATE;
	}
}

/* Ending. */

char *plugin_process_end(struct plugin_process *process)
{
	const int64_t deadline_ns = clock_now_ns() + END_NS;
	const int cancel = process->cancel;
	g_autofree char *how = NULL;

	process->cancel = -1;
	while (process->trouble >= 0 && listen_until(process, false, deadline_ns))
		;
	process->cancel = cancel;
	how = process->ending->len > 0
		      ? g_utf8_make_valid(process->ending->str, (gssize)process->ending->len)
		      : g_strdup(process->trouble < 0 ? "it was ended with its host"
						      : "it closed its output, or its input");
	if (process->said->len > 0)
		log_complaint(process, process->said->str, process->said->len);
	return process->last ? g_strdup_printf("%s; its last words: %s", how, process->last)
			     : g_steal_pointer(&how);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void plugin_process_free(struct plugin_process *process, bool kindly)
{
	int64_t deadline_ns = clock_now_ns() + BYE_NS;
	int status;

	if (!process)
		return;
	process->cancel = -1;
	close_fd(&process->input);
	while (kindly && process->trouble >= 0 && listen_until(process, false, deadline_ns))
		g_string_truncate(process->heard, 0); /* it is not read any more */
	/* The host ends them all, and itself. */
	close_fd(&process->lifeline);
	deadline_ns = clock_now_ns() + BYE_NS;
	while (process->trouble >= 0 && listen_until(process, false, deadline_ns))
		g_string_truncate(process->heard, 0);
	kill(-process->pid, SIGKILL);
	kill(process->pid, SIGKILL);
	deadline_ns = clock_now_ns() + KILLED_NS;
	while (waitpid(process->pid, &status, WNOHANG) == 0 && clock_now_ns() < deadline_ns)
		g_usleep(G_USEC_PER_SEC / 1000);
	close_fd(&process->output);
	close_fd(&process->complaints);
	close_fd(&process->trouble);
	g_string_free(process->heard, TRUE);
	g_string_free(process->said, TRUE);
	g_string_free(process->ending, TRUE);
	g_free(process->last);
	g_free(process->name);
	g_free(process);
}
