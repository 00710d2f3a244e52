/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error_fail.h"

enum {
	OUTPUT_MAX = 16 << 20,
	QUOTE_MAX = 400, /* characters of standard error in an error message */
};

/* What a child gets; prepared before the fork. */
struct launch {
	const char *program; /* resolved path */
	char **argv;
	char **environment;
	int fds[3];          /* become 0, 1 and 2; -1: inherited */
	const int *kept_fds; /* inherited as they are, `kept_count` of them */
	size_t kept_count;
	int death_signal; /* sent when the parent thread dies */
	pid_t parent;
	int status_fd; /* close-on-exec; receives errno if the program cannot be executed */
};

G_DEFINE_QUARK(virtbed_subprocess, subprocess_error)

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static bool fail_errno(GError **error, const char *program, const char *doing, int code)
{
	return error_fail(error, SUBPROCESS_ERROR, SUBPROCESS_ERROR_START,
			  "cannot start \"%s\": %s: %s", program, doing, g_strerror(code));
}

/* Opens a close-on-exec pipe, [0] to read from. */
static bool open_pipe(int ret_fds[2], const char *program, GError **error)
{
	return pipe2(ret_fds, O_CLOEXEC) == 0 || fail_errno(error, program, "pipe", errno);
}

static char **merge_environment(const char *const *additions)
{
	char **environment = g_get_environ();

	for (gsize i = 0; additions && additions[i]; i++) {
		const char *equals = strchr(additions[i], '=');

		g_assert(equals);
		g_autofree char *key = g_strndup(additions[i], (gsize)(equals - additions[i]));

		environment = g_environ_setenv(environment, key, equals + 1, TRUE);
	}
	return environment;
}

/* Resets the child's signals: blocked and ignored ones would survive the exec. */
static void reset_signals(void)
{
	sigset_t none;

	for (int number = 1; number < SIGRTMIN; number++)
		signal(number, SIG_DFL); /* fails for SIGKILL and SIGSTOP, as it should */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Runs in the child between fork and exec: async-signal-safe calls only. */
static _Noreturn void exec_child(const struct launch *launch)
{
	int failure;
	pid_t parent;

	setpgid(0, 0);
	reset_signals();
	if (prctl(PR_SET_PDEATHSIG, launch->death_signal) < 0)
		goto fail;
	/* The parent may have died before the prctl; 0 is a parent in an outer PID namespace. */
	parent = getppid();
	if (parent != launch->parent && parent != 0)
		_exit(127);
	/*
	 * Sources are above 2 (see spawn()), so no dup2 overwrites a descriptor that is still
	 * needed.
	 */
	for (int fd = 0; fd < 3; fd++)
		if (launch->fds[fd] >= 0 && dup2(launch->fds[fd], fd) < 0)
			goto fail;
	close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
	for (size_t i = 0; i < launch->kept_count; i++)
		if (fcntl(launch->kept_fds[i], F_SETFD, 0) < 0)
			goto fail;
	execve(launch->program, launch->argv, launch->environment);
fail:
	failure = errno;
	if (write(launch->status_fd, &failure, sizeof failure) < 0)
		_exit(126);
	_exit(127);
}

static int reap(GPid pid)
{
	int status = 0;

	TEMP_FAILURE_RETRY(waitpid(pid, &status, 0));
	return status;
}

/* Waits until the child has executed its program. Returns 0, or the errno of the failure. */
static int await_exec(int status_fd, pid_t pid)
{
	int failure = 0;

	if (TEMP_FAILURE_RETRY(read(status_fd, &failure, sizeof failure)) !=
	    (ssize_t)sizeof failure)
		return 0;
	reap(pid);
	return failure;
}

/* Forks and executes. Returns the pid, or -1 with `error`; the caller keeps `fds`. */
static GPid spawn(const char *const *argv, const char *const *environment, const int fds[3],
		  const int *kept_fds, size_t kept_count, int death_signal, GError **error)
{
	g_autofree char *program = g_find_program_in_path(argv[0]);
	g_auto(GStrv) merged = merge_environment(environment);
	struct launch launch = {.program = program,
				.argv = (char **)argv,
				.environment = merged,
				.fds = {fds[0], fds[1], fds[2]},
				.kept_fds = kept_fds,
				.kept_count = kept_count,
				.death_signal = death_signal,
				.parent = getpid()};
	int status[2];
	int failure;
	pid_t pid;

	if (!program) {
		fail_errno(error, argv[0], "not found in PATH", ENOENT);
		return -1;
	}
	if ((fds[0] >= 0 && fds[0] < 3) || (fds[1] >= 0 && fds[1] < 3)) {
		fail_errno(error, argv[0], "our own standard input or output is closed", EBADF);
		return -1;
	}
	if (!open_pipe(status, argv[0], error))
		return -1;
	launch.status_fd = status[1];
	pid = fork();
	if (pid == 0)
		exec_child(&launch);
	failure = pid < 0 ? errno : 0;
	close_fd(&status[1]);
	if (pid > 0)
		failure = await_exec(status[0], pid);
	close_fd(&status[0]);
	if (failure) {
		fail_errno(error, argv[0], pid < 0 ? "fork" : "execute", failure);
		return -1;
	}
	return pid;
}

static int open_null(const char *program, GError **error)
{
	const int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		fail_errno(error, program, "open /dev/null", errno);
	return fd;
}

/* A program that is run to its end, with its output so far. */
struct run {
	GPid pid;
	int pidfd;
	int fds[2];          /* its standard output and error, or -1 */
	GString *texts[2];   /* their contents */
	int64_t deadline_ns; /* clock_now_ns() */
};

/*
 * Reads available data from stream `i`; closes the stream at its end. Returns false if there is too
 * much.
 */
static bool drain(struct run *run, int i)
{
	char buffer[65536];
	ssize_t got;

	while (run->fds[i] >= 0) {
		got = TEMP_FAILURE_RETRY(read(run->fds[i], buffer, sizeof buffer));
		if (got < 0 && errno == EAGAIN)
			return true;
		if (got <= 0) {
			close_fd(&run->fds[i]);
			return true;
		}
		if (run->texts[i]->len + (gsize)got > OUTPUT_MAX)
			return false;
		g_string_append_len(run->texts[i], buffer, got);
	}
	return true;
}

/*
 * Milliseconds until a deadline, rounded up so that the last wait does not spin, 60 s at most; 0:
 * it has passed.
 */
static int left_ms(int64_t deadline_ns)
{
	const int64_t left_ns = deadline_ns - clock_now_ns();

	return left_ns > 0 ? (int)MIN(left_ns / 1000000 + 1, 60000) : 0;
}

/*
 * Collects output until the program exits: not until its pipes are closed, since a daemon that it
 * started may hold them. Returns 0, or a code of SUBPROCESS_ERROR.
 */
static int collect(struct run *run)
{
	for (;;) {
		struct pollfd polled[] = {
			{.fd = run->pidfd, .events = POLLIN},
			{.fd = run->fds[0], .events = POLLIN},
			{.fd = run->fds[1], .events = POLLIN},
		};
		const int wait_ms = left_ms(run->deadline_ns);

		if (wait_ms == 0)
			return SUBPROCESS_ERROR_TIMEOUT;
		if (poll(polled, G_N_ELEMENTS(polled), wait_ms) < 0 && errno != EINTR)
			return SUBPROCESS_ERROR_START;
		if (!drain(run, 0) || !drain(run, 1))
			return SUBPROCESS_ERROR_OUTPUT;
		if (polled[0].revents) {
			if (drain(run, 0) && drain(run, 1))
				return 0;
			return SUBPROCESS_ERROR_OUTPUT;
		}
	}
}

/* The end of what the program wrote to standard error, on one line, "" or ": text". */
static char *quote(const struct run *run)
{
	g_autofree char *valid = g_utf8_make_valid(run->texts[1]->str, (gssize)run->texts[1]->len);
	char *text = g_strstrip(valid);
	const size_t length = strlen(text);

	if (length > QUOTE_MAX)
		text = g_utf8_next_char(text + length - QUOTE_MAX - 1);
	g_strdelimit(text, "\r\n\t", ' ');
	return *text ? g_strconcat(": ", text, NULL) : g_strdup("");
}

/* Turns the program's end into an error. Returns true if it exited with 0. */
static bool check_end(const struct run *run, const char *program, int failure, int status,
		      double timeout_s, GError **error)
{
	g_autofree char *said = quote(run);

	if (failure == SUBPROCESS_ERROR_TIMEOUT)
		g_set_error(error, SUBPROCESS_ERROR, failure,
			    "\"%s\" did not end within %g s and was killed%s", program, timeout_s,
			    said);
	else if (failure == SUBPROCESS_ERROR_OUTPUT)
		g_set_error(error, SUBPROCESS_ERROR, failure,
			    "\"%s\" wrote more than %d bytes and was killed", program, OUTPUT_MAX);
	else if (failure)
		g_set_error(error, SUBPROCESS_ERROR, failure, "cannot wait for \"%s\"", program);
	else if (WIFSIGNALED(status))
		g_set_error(error, SUBPROCESS_ERROR, SUBPROCESS_ERROR_STATUS,
			    "\"%s\" was ended by signal %d (%s)%s", program, WTERMSIG(status),
			    strsignal(WTERMSIG(status)), said);
	else if (WEXITSTATUS(status) != 0)
		g_set_error(error, SUBPROCESS_ERROR, SUBPROCESS_ERROR_STATUS,
			    "\"%s\" exited with status %d%s", program, WEXITSTATUS(status), said);
	else
		return true;
	return false;
}

GPid subprocess_spawn_outputs(const char *const *argv, const char *const *environment, int kept_fd,
			      int ret_fds[2], GError **error)
{
	int null_fd = open_null(argv[0], error);
	int out[2] = {-1, -1};
	int err[2] = {-1, -1};
	GPid pid = -1;

	if (null_fd >= 0 && open_pipe(out, argv[0], error) && open_pipe(err, argv[0], error)) {
		const int fds[3] = {null_fd, out[1], err[1]};

		g_unix_set_fd_nonblocking(out[0], TRUE, NULL);
		g_unix_set_fd_nonblocking(err[0], TRUE, NULL);
		pid = spawn(argv, environment, fds, &kept_fd, kept_fd >= 0, SIGKILL, error);
	}
	close_fd(&null_fd);
	close_fd(&out[1]);
	close_fd(&err[1]);
	if (pid < 0) {
		close_fd(&out[0]);
		close_fd(&err[0]);
	}
	ret_fds[0] = out[0];
	ret_fds[1] = err[0];
	return pid;
}

bool subprocess_run(const char *const *argv, const char *const *environment, double timeout_s,
		    char **ret_output, GError **error)
{
	struct run run = {.pidfd = -1,
			  .texts = {g_string_new(NULL), g_string_new(NULL)},
			  .deadline_ns = clock_now_ns() + (int64_t)(timeout_s * 1e9)};
	bool good;

	run.pid = subprocess_spawn_outputs(argv, environment, -1, run.fds, error);
	good = run.pid > 0;
	if (good) {
		int failure = SUBPROCESS_ERROR_START;

		run.pidfd = pidfd_open(run.pid, 0);
		if (run.pidfd >= 0)
			failure = collect(&run);
		if (failure)
			kill(-run.pid, SIGKILL);
		good = check_end(&run, argv[0], failure, reap(run.pid), timeout_s, error);
	}
	close_fd(&run.pidfd);
	close_fd(&run.fds[0]);
	close_fd(&run.fds[1]);
	if (good && ret_output)
		*ret_output = g_string_free(run.texts[0], FALSE);
	else
		g_string_free(run.texts[0], TRUE);
	g_string_free(run.texts[1], TRUE);
	return good;
}

GPid subprocess_spawn_keeping(const char *const *argv, const char *const *environment,
			      const char *log_path, const int *kept_fds, size_t kept_count,
			      GError **error)
{
	int null_fd = open_null(argv[0], error);
	int log_fd = -1;
	GPid pid = -1;

	if (null_fd < 0)
		return -1;
	if (log_path) {
		log_fd = open(log_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
		if (log_fd < 0)
			fail_errno(error, argv[0], log_path, errno);
	}
	if (!log_path || log_fd >= 0) {
		const int fds[3] = {null_fd, log_fd, log_fd};

		pid = spawn(argv, environment, fds, kept_fds, kept_count, SIGTERM, error);
	}
	close_fd(&null_fd);
	close_fd(&log_fd);
	return pid;
}

GPid subprocess_spawn(const char *const *argv, const char *const *environment, const char *log_path,
		      GError **error)
{
	return subprocess_spawn_keeping(argv, environment, log_path, NULL, 0, error);
}

GPid subprocess_spawn_pipes(const char *const *argv, const char *const *environment, bool merge,
			    int *ret_stdin, int *ret_stdout, GError **error)
{
	int in[2] = {-1, -1};
	int out[2] = {-1, -1};
	GPid pid = -1;

	if (open_pipe(in, argv[0], error) && open_pipe(out, argv[0], error)) {
		const int fds[3] = {in[0], out[1], merge ? out[1] : -1};

		pid = spawn(argv, environment, fds, NULL, 0, SIGTERM, error);
	}
	close_fd(&in[0]);
	close_fd(&out[1]);
	if (pid < 0) {
		close_fd(&in[1]);
		close_fd(&out[0]);
		return -1;
	}
	signal(SIGPIPE, SIG_IGN);
	g_unix_set_fd_nonblocking(in[1], TRUE, NULL);
	g_unix_set_fd_nonblocking(out[0], TRUE, NULL);
	*ret_stdin = in[1];
	*ret_stdout = out[0];
	return pid;
}

/* Waits until the child ended, at most `timeout_s`. */
static bool await_exit(int pidfd, double timeout_s)
{
	const int64_t deadline_ns = clock_now_ns() + (int64_t)(timeout_s * 1e9);
	struct pollfd polled = {.fd = pidfd, .events = POLLIN};
	int wait_ms;

	while ((wait_ms = left_ms(deadline_ns)) > 0)
		if (poll(&polled, 1, wait_ms) > 0)
			return true;
	return false;
}

void subprocess_stop(GPid pid, double grace_s)
{
	siginfo_t info;
	int pidfd;

	/* A pid that was reaped already may belong to another process. */
	if (pid <= 0 || waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
		return;
	kill(pid, SIGTERM);
	pidfd = pidfd_open(pid, 0);
	if (pidfd < 0 || !await_exit(pidfd, grace_s)) {
		kill(-pid, SIGKILL);
		kill(pid, SIGKILL);
	}
	close_fd(&pidfd);
	reap(pid);
}
