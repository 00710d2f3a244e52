/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/lab/lab_process.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/read_number.h"
#include "local-sched/lab/lab_channel.h"

/* The data of a child between clone and exec, prepared before because it may not allocate then. */
struct launch {
	char *const *argv;
	char *const *environment;
	int log_fd;
	int channel;
	enum lab_process_life life;
};

static void set_errno_error(GError **error, const char *doing, const char *what)
{
	int code = errno;

	g_set_error(error, G_IO_ERROR, (int)g_io_error_from_errno(code),
		    "cannot start the lab's process \"%s\": %s: %s", what, doing, g_strerror(code));
}

static void reset_signals(void)
{
	sigset_t none;

	for (int number = 1; number < SIGRTMIN; number++)
		signal(number, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Between clone and exec: async-signal-safe calls only. */
static _Noreturn void become(const struct launch *launch)
{
	static const char message[] = "error cannot execute the lab's own program again";
	int null_fd;

	reset_signals();
	if (launch->life == LAB_PROCESS_PARENTS_LIFE)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	else
		setsid();
	null_fd = open("/dev/null", O_RDONLY);
	dup2(null_fd, STDIN_FILENO);
	dup2(launch->log_fd, STDOUT_FILENO);
	dup2(launch->log_fd, STDERR_FILENO);
	if (launch->channel == LAB_CHANNEL_PARENT)
		fcntl(launch->channel, F_SETFD, 0);
	else
		dup2(launch->channel, LAB_CHANNEL_PARENT);
	close_range(LAB_CHANNEL_PARENT + 1, ~0U, CLOSE_RANGE_CLOEXEC);
	execve("/proc/self/exe", launch->argv, launch->environment);
	if (send(LAB_CHANNEL_PARENT, message, sizeof message - 1, MSG_NOSIGNAL) < 0)
		_exit(126);
	_exit(127);
}

/* A fork that starts in new namespaces; the child may only call async-signal-safe functions. */
static pid_t fork_into(int namespaces)
{
	struct clone_args arguments = {.flags = (uint64_t)(uint32_t)namespaces,
				       .exit_signal = SIGCHLD};

	return (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
}

static char **role_argv(const char *role, const char *const *arguments)
{
	g_autoptr(GPtrArray) argv = g_ptr_array_new();

	g_ptr_array_add(argv, g_strdup("virtbed-lab"));
	g_ptr_array_add(argv, g_strdup_printf("--role=%s", role));
	for (gsize i = 0; arguments[i]; i++)
		g_ptr_array_add(argv, g_strdup(arguments[i]));
	g_ptr_array_add(argv, NULL);
	return (char **)g_ptr_array_free(g_steal_pointer(&argv), FALSE);
}

/* No other variable of the user's environment (LIBVIRT_*, LD_*, proxies) gets into the lab. */
static char **clean_environment(void)
{
	static const char *const kept[] = {"VIRTBED_LOG", "VIRTBED_DCMI_MODULE"};
	char **environment = NULL;

	environment =
		g_environ_setenv(environment, "PATH",
				 "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
				 TRUE);
	environment = g_environ_setenv(environment, "HOME", "/root", TRUE);
	environment = g_environ_setenv(environment, "LANG", "C.UTF-8", TRUE);
	for (gsize i = 0; i < G_N_ELEMENTS(kept); i++) {
		const char *value = g_getenv(kept[i]);

		if (value)
			environment = g_environ_setenv(environment, kept[i], value, TRUE);
	}
	return environment;
}

pid_t lab_process_start(const char *role, const char *const *arguments, int namespaces,
			enum lab_process_life life, const char *log_path, int *ret_channel,
			GError **error)
{
	g_auto(GStrv) argv = role_argv(role, arguments);
	g_auto(GStrv) environment = clean_environment();
	struct launch launch = {.argv = argv, .environment = environment, .life = life};
	int channel[2];
	pid_t pid = -1;

	launch.log_fd = open(log_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (launch.log_fd < 0) {
		set_errno_error(error, log_path, role);
		return -1;
	}
	if (lab_channel_open(channel, error)) {
		launch.channel = channel[1];
		pid = fork_into(namespaces);
		if (pid == 0)
			become(&launch);
		if (pid < 0) {
			set_errno_error(error, "clone into new namespaces", role);
			close(channel[0]);
		} else {
			*ret_channel = channel[0];
		}
		close(channel[1]);
	}
	close(launch.log_fd);
	return pid;
}

static bool await_end(int pidfd, double timeout_s)
{
	int64_t until_ns = clock_now_ns() + (int64_t)(timeout_s * 1e9);

	for (;;) {
		struct pollfd wait = {.fd = pidfd, .events = POLLIN};
		double left_s = clock_elapsed_s(clock_now_ns(), until_ns);

		if (left_s < 0)
			return false;
		if (poll(&wait, 1, (int)(left_s * 1000) + 1) == 1)
			return true;
	}
}

bool lab_process_kill(struct lab_state_process process, double timeout_s)
{
	bool ended = true;
	int pidfd;

	if (process.pid <= 0)
		return true;
	pidfd = pidfd_open(process.pid, 0);
	if (pidfd < 0)
		return true;
	/*
	 * Checked after the handle was opened: if the process is the recorded one now, the handle
	 * refers to it. Not lab_state_process_alive(): when the first thread is a zombie, other
	 * threads may still be ending the rest of the pid namespace, and only the handle shows
	 * their end.
	 */
	if (lab_state_start_ticks(process.pid) == process.start_ticks) {
		pidfd_send_signal(pidfd, SIGKILL, NULL, 0);
		ended = await_end(pidfd, timeout_s);
		/* Reaps it if it is a child of this process; otherwise its parent does. */
		if (ended)
			waitpid(process.pid, NULL, WNOHANG);
	}
	close(pidfd);
	return ended;
}

/* Whether the command line of a process begins with `arguments`. */
static bool begins_with(pid_t pid, const char *const *arguments)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/cmdline", (int)pid);
	g_autofree char *text = NULL;
	gsize length;
	gsize at = 0;

	if (!g_file_get_contents(path, &text, &length, NULL))
		return false;
	for (; *arguments && at < length && strcmp(text + at, *arguments) == 0; arguments++)
		at += strlen(text + at) + 1;
	return !*arguments;
}

static pid_t parent_of(pid_t pid)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/stat", (int)pid);
	g_autofree char *text = NULL;
	const char *after;
	int64_t parent;

	if (!g_file_get_contents(path, &text, NULL, NULL))
		return 0;
	after = strrchr(text, ')');
	if (!after || strlen(after) < 4)
		return 0;
	return read_number_front_integer(after + 4, &parent) ? (pid_t)parent : 0; /* ") S PPID" */
}

pid_t lab_process_find(pid_t parent, const char *const *arguments)
{
	g_autoptr(GDir) processes = g_dir_open("/proc", 0, NULL);
	const char *name;
	int64_t pid;

	while (processes && (name = g_dir_read_name(processes)))
		if (read_number_integer(name, 1, INT32_MAX, &pid) &&
		    (parent == 0 || parent_of((pid_t)pid) == parent) &&
		    begins_with((pid_t)pid, arguments))
			return (pid_t)pid;
	return 0;
}

pid_t lab_process_in_role(pid_t parent, const char *role, const char *lab, uint32_t number)
{
	g_autofree char *text = g_strdup_printf("%u", number);
	const char *const arguments[] = {lab, number > 0 ? text : NULL, NULL};
	g_auto(GStrv) argv = role_argv(role, arguments);

	return lab_process_find(parent, (const char *const *)argv);
}
