/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/supervise/run_child.h"

#include <errno.h>
#include <glib-unix.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "common/clock.h"
#include "common/subprocess.h"

#define LOG_TAIL 4096
#define RESTART_FIRST_MS 200
#define STOP_GRACE_S 30.0

struct run_child {
	char *name;
	GPtrArray *argv; /* NULL-terminated */
	char *log_path;
	run_child_died_f died;
	void *data;
	GPid pid;                         /* 0: not running */
	int pidfd;                        /* -1: not running */
	int kept_fds[RUN_CHILD_KEPT_MAX]; /* descriptors that it inherits */
	size_t kept_count;
	guint watch_source;
	struct run_usage past; /* sum over the ended processes */
	guint restart_source;
	int64_t deaths_ns[RUN_CHILD_DEATHS]; /* the last ones, a ring */
	guint deaths;
};

struct run_child *run_child_new(const char *name, const char *const *argv, const char *log_path,
				run_child_died_f died, void *data)
{
	struct run_child *child = g_new0(struct run_child, 1);

	child->name = g_strdup(name);
	child->argv = g_ptr_array_new_with_free_func(g_free);
	for (; *argv; argv++)
		g_ptr_array_add(child->argv, g_strdup(*argv));
	g_ptr_array_add(child->argv, NULL);
	child->log_path = g_strdup(log_path);
	child->pidfd = -1;
	child->died = died;
	child->data = data;
	return child;
}

void run_child_free(struct run_child *child)
{
	if (!child)
		return;
	run_child_stop(child, STOP_GRACE_S);
	g_ptr_array_unref(child->argv);
	g_free(child->log_path);
	g_free(child->name);
	g_free(child);
}

const char *run_child_name(const struct run_child *child)
{
	return child->name;
}

GPid run_child_pid(const struct run_child *child)
{
	return child->pid;
}

bool run_child_running(const struct run_child *child)
{
	return child->pid > 0;
}

void run_child_keep(struct run_child *child, int fd)
{
	if (fd < 0)
		return;
	g_assert(child->kept_count < RUN_CHILD_KEPT_MAX);
	child->kept_fds[child->kept_count++] = fd;
}

void run_child_add_argument(struct run_child *child, const char *argument)
{
	if (g_strv_contains((const char *const *)child->argv->pdata, argument))
		return;
	g_ptr_array_insert(child->argv, (int)child->argv->len - 1, g_strdup(argument));
}

static struct run_usage sum_usage(struct run_usage a, struct run_usage b)
{
	return (struct run_usage){
		.cpu_s = a.cpu_s + b.cpu_s,
		.rss_mib = MAX(a.rss_mib, b.rss_mib),
	};
}

static double timeval_s(const struct timeval *time)
{
	return (double)time->tv_sec + (double)time->tv_usec * 1e-6;
}

static struct run_usage last_usage(const struct rusage *usage)
{
	return (struct run_usage){
		.cpu_s = timeval_s(&usage->ru_utime) + timeval_s(&usage->ru_stime),
		.rss_mib = (double)usage->ru_maxrss / 1024,
	};
}

struct run_usage run_child_usage(const struct run_child *child)
{
	struct run_usage now;

	if (child->pid > 0 && run_usage_read(child->pid, &now))
		return sum_usage(child->past, now);
	return child->past;
}

static void unwatch(struct run_child *child)
{
	g_clear_handle_id(&child->watch_source, g_source_remove);
	if (child->pidfd >= 0)
		g_close(child->pidfd, NULL);
	child->pidfd = -1;
}

/* Reaped here, since GLib's child watch does not report the usage. */
static gboolean ended(int pidfd, GIOCondition condition, gpointer data)
{
	struct run_child *child = data;
	struct rusage usage = {0};
	int status = W_EXITCODE(127, 0); /* for a process that was reaped elsewhere */

	if (wait4(child->pid, &status, WNOHANG, &usage) == 0)
		return G_SOURCE_CONTINUE;
	child->past = sum_usage(child->past, last_usage(&usage));
	child->pid = 0;
	child->watch_source = 0;
	unwatch(child);
	child->deaths_ns[child->deaths++ % RUN_CHILD_DEATHS] = clock_now_ns();
	child->died(child, status, child->data);
	return G_SOURCE_REMOVE;
}

bool run_child_start(struct run_child *child, GError **error)
{
	GPid pid = subprocess_spawn_keeping((const char *const *)child->argv->pdata, NULL,
					    child->log_path, child->kept_fds, child->kept_count,
					    error);

	if (pid < 0) {
		g_prefix_error(error, "%s: ", child->name);
		return false;
	}
	child->pidfd = pidfd_open(pid, 0);
	if (child->pidfd < 0) {
		g_set_error(error, G_FILE_ERROR, (gint)g_file_error_from_errno(errno),
			    "%s: cannot be watched: %s", child->name, g_strerror(errno));
		subprocess_stop(pid, 0);
		return false;
	}
	child->pid = pid;
	child->watch_source = g_unix_fd_add(child->pidfd, G_IO_IN, ended, child);
	return true;
}

static gboolean restart(gpointer data)
{
	struct run_child *child = data;
	g_autoptr(GError) error = NULL;

	child->restart_source = 0;
	if (!run_child_start(child, &error)) {
		child->deaths_ns[child->deaths++ % RUN_CHILD_DEATHS] = clock_now_ns();
		child->died(child, W_EXITCODE(127, 0), child->data);
	}
	return G_SOURCE_REMOVE;
}

bool run_child_restart_soon(struct run_child *child)
{
	int64_t oldest_ns = child->deaths_ns[child->deaths % RUN_CHILD_DEATHS];
	guint delay_ms = RESTART_FIRST_MS << MIN(child->deaths, 4);

	if (child->deaths >= RUN_CHILD_DEATHS &&
	    clock_elapsed_s(oldest_ns, clock_now_ns()) < RUN_CHILD_WINDOW_S)
		return false;
	child->restart_source = g_timeout_add(delay_ms, restart, child);
	return true;
}

void run_child_restart_in(struct run_child *child, guint delay_s)
{
	child->restart_source = g_timeout_add_seconds(delay_s, restart, child);
}

guint run_child_deaths(const struct run_child *child)
{
	return child->deaths;
}

void run_child_ask_to_stop(struct run_child *child)
{
	g_clear_handle_id(&child->restart_source, g_source_remove);
	if (child->pid > 0)
		kill(child->pid, SIGTERM);
}

void run_child_stop(struct run_child *child, double grace_s)
{
	g_clear_handle_id(&child->restart_source, g_source_remove);
	unwatch(child);
	if (child->pid > 0)
		subprocess_stop(child->pid, grace_s);
	child->pid = 0;
}

char *run_child_status_text(int status)
{
	if (WIFSIGNALED(status))
		return g_strdup_printf("signal %d (%s)", WTERMSIG(status),
				       g_strsignal(WTERMSIG(status)));
	return g_strdup_printf("exit status %d", WEXITSTATUS(status));
}

char *run_child_last_words(const struct run_child *child)
{
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;
	gsize length;
	guint count;

	if (!child->log_path || !g_file_get_contents(child->log_path, &text, &length, NULL))
		return NULL;
	lines = g_strsplit(length > LOG_TAIL ? text + length - LOG_TAIL : text, "\n", -1);
	for (count = g_strv_length(lines); count > 0; count--)
		if (*g_strstrip(lines[count - 1]))
			return g_strdup(lines[count - 1]);
	return NULL;
}
