/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/child_process.h"

#include <errno.h>
#include <glib-unix.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/subprocess.h"

/* On this machine. */

enum { SETTLE_LOOK_MS = 2 };

struct machine_child {
	struct child_process base; /* first: operations cast back */
	GPid pid;
	guint child_id; /* watches for its end; 0: it was reaped, or no one asks */
	bool reaped;
	int to; /* its input; -1: none */
	int fds[CHILD_STREAMS];
	guint fd_ids[CHILD_STREAMS];
	bool *gone; /* set when it is freed while a callback runs; NULL: none does */
	void (*heard)(enum child_stream stream, const char *bytes, size_t length, void *data);
	void (*ended)(int status, void *data);
	void *data;
};

/* A child that was dismissed; the main loop owns it until it is reaped. */
struct leaving {
	GPid pid;
	guint term_id, kill_id;
};

static void on_left(GPid pid, int status, gpointer data)
{
	struct leaving *leaving = data;

	g_clear_handle_id(&leaving->term_id, g_source_remove);
	g_clear_handle_id(&leaving->kill_id, g_source_remove);
	g_free(leaving);
}

static gboolean on_term(gpointer data)
{
	struct leaving *leaving = data;

	leaving->term_id = 0;
	kill(leaving->pid, SIGTERM);
	return G_SOURCE_REMOVE;
}

static gboolean on_kill(gpointer data)
{
	struct leaving *leaving = data;

	leaving->kill_id = 0;
	kill(leaving->pid, SIGKILL);
	return G_SOURCE_REMOVE;
}

static void leave(const struct platform *platform, GPid pid, guint term_ms, guint kill_ms)
{
	struct leaving *leaving = g_new0(struct leaving, 1);

	leaving->pid = pid;
	if (term_ms)
		leaving->term_id = platform_after_ms(platform, term_ms, on_term, leaving);
	if (kill_ms)
		leaving->kill_id = platform_after_ms(platform, kill_ms, on_kill, leaving);
	g_child_watch_add(pid, on_left, leaving);
}

static void close_stream(struct machine_child *child, int i)
{
	g_clear_handle_id(&child->fd_ids[i], g_source_remove);
	if (child->fds[i] >= 0)
		close(child->fds[i]);
	child->fds[i] = -1;
}

static void machine_dismiss(struct child_process *base, guint term_ms, guint kill_ms)
{
	struct machine_child *child = (struct machine_child *)base;

	for (int i = 0; i < CHILD_STREAMS; i++)
		close_stream(child, i);
	if (child->to >= 0)
		close(child->to);
	g_clear_handle_id(&child->child_id, g_source_remove);
	if (!child->reaped)
		leave(base->platform, child->pid, term_ms, kill_ms);
	if (child->gone)
		*child->gone = true;
	g_free(child);
}

/*
 * Reads what is there of stream `i`, and closes it at its end. Returns false if the child was
 * dismissed meanwhile.
 */
static bool drain(struct machine_child *child, int i)
{
	bool gone = false;
	char bytes[4096];

	while (!gone && child->fds[i] >= 0) {
		const ssize_t got = TEMP_FAILURE_RETRY(read(child->fds[i], bytes, sizeof bytes));

		if (got < 0 && errno == EAGAIN)
			break;
		if (got <= 0)
			close_stream(child, i);
		child->gone = &gone;
		child->heard(i, bytes, got > 0 ? (size_t)got : 0, child->data);
		if (!gone)
			child->gone = NULL;
	}
	return !gone;
}

static gboolean on_readable(gint fd, GIOCondition condition, gpointer data)
{
	struct machine_child *child = data;

	drain(child, fd == child->fds[CHILD_OUTPUT] ? CHILD_OUTPUT : CHILD_COMPLAINT);
	return G_SOURCE_CONTINUE; /* a stream that was read to its end has removed its source */
}

static void on_ended(GPid pid, gint status, gpointer data)
{
	struct machine_child *child = data;

	child->child_id = 0;
	child->reaped = true;
	/* What it leaves running in its process group would become more with each run. */
	kill(-pid, SIGKILL);
	if (drain(child, CHILD_OUTPUT) && drain(child, CHILD_COMPLAINT))
		child->ended(status, child->data);
}

static GPid spawn(const struct child_setup *setup, struct machine_child *child, GError **error)
{
	if (setup->dialogue)
		return subprocess_spawn_pipes(setup->argv, setup->environment, true, &child->to,
					      &child->fds[CHILD_OUTPUT], error);
	return subprocess_spawn_outputs(setup->argv, setup->environment, setup->kept_fd, child->fds,
					error);
}

static struct child_process *machine_start(const struct platform *platform,
					   const struct child_setup *setup, GError **error)
{
	struct machine_child *child = g_new0(struct machine_child, 1);

	*child = (struct machine_child){.base = {.platform = platform},
					.to = -1,
					.fds = {-1, -1},
					.heard = setup->heard,
					.ended = setup->ended,
					.data = setup->data};
	child->pid = spawn(setup, child, error);
	if (child->pid < 0) {
		g_free(child);
		return NULL;
	}
	for (int i = 0; i < CHILD_STREAMS; i++)
		if (child->fds[i] >= 0)
			child->fd_ids[i] =
				g_unix_fd_add(child->fds[i], G_IO_IN | G_IO_HUP | G_IO_ERR,
					      on_readable, child);
	if (child->ended)
		child->child_id = g_child_watch_add(child->pid, on_ended, child);
	return &child->base;
}

static void machine_say(struct child_process *child, const char *text)
{
	if (write(((struct machine_child *)child)->to, text, strlen(text)) < 0)
		return;
}

static void machine_kill(struct child_process *base)
{
	const struct machine_child *child = (struct machine_child *)base;

	if (!child->reaped)
		kill(-child->pid, SIGKILL);
}

/* Drops what the child has written, waiting for it at most so long. */
static void drop_output(const struct machine_child *child, int wait_ms)
{
	struct pollfd polled = {.fd = child->fds[CHILD_OUTPUT], .events = POLLIN};
	char bytes[4096];

	/* Where the stream has ended there is nothing to wait for but the end of the child. */
	if (poll(&polled, 1, wait_ms) > 0 && read(polled.fd, bytes, sizeof bytes) <= 0)
		poll(NULL, 0, wait_ms);
}

static bool machine_settle(struct child_process *base, double timeout_s)
{
	struct machine_child *child = (struct machine_child *)base;
	const int64_t began_ns = platform_now_ns(base->platform);
	double left_s = timeout_s;

	while (!child->reaped) {
		const pid_t pid = waitpid(child->pid, NULL, WNOHANG); /* never interrupted */

		child->reaped = pid != 0;
		if (child->reaped || left_s <= 0)
			break;
		drop_output(child, SETTLE_LOOK_MS);
		left_s = timeout_s - clock_elapsed_s(began_ns, platform_now_ns(base->platform));
	}
	return child->reaped;
}

static bool machine_run(const struct platform *platform, const char *const *argv, double timeout_s,
			char **ret_output, GError **error)
{
	return subprocess_run(argv, NULL, timeout_s, ret_output, error);
}

const struct platform_children children_machine = {
	.start = machine_start,
	.say = machine_say,
	.kill = machine_kill,
	.settle = machine_settle,
	.dismiss = machine_dismiss,
	.run = machine_run,
};

/* By the platform. */

static const struct platform_children *children_of(const struct child_process *child)
{
	return child->platform->children;
}

struct child_process *child_start(const struct platform *platform, const struct child_setup *setup,
				  GError **error)
{
	return platform->children->start(platform, setup, error);
}

void child_say(struct child_process *child, const char *text)
{
	children_of(child)->say(child, text);
}

void child_kill(struct child_process *child)
{
	children_of(child)->kill(child);
}

bool child_settle(struct child_process *child, double timeout_s)
{
	return children_of(child)->settle(child, timeout_s);
}

void child_dismiss(struct child_process *child, guint term_ms, guint kill_ms)
{
	children_of(child)->dismiss(child, term_ms, kill_ms);
}

bool child_run(const struct platform *platform, const char *const *argv, double timeout_s,
	       char **ret_output, GError **error)
{
	return platform->children->run(platform, argv, timeout_s, ret_output, error);
}
