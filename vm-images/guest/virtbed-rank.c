/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Starts or kills one MPI rank in a guest; the local scheduler calls it through the agent.
 *
 *   virtbed-rank run N [OPTION...] PROGRAM [ARGUMENT...]
 *       Run PROGRAM in a process group of its own with the port virtbed.pmi.N open as PMI_FD, and
 *       pass on what it writes (relay.h); what it writes to standard output is in
 *       /run/virtbed-rank.N.out meanwhile. When it has ended, kill what is left of its group, write
 *       "cmd=virtbed_exit status=S" to the port and end with status S: the program's exit status,
 *       or 128 + the signal that killed it.
 *         --user UID    it runs as this user, in a directory of its own, which is its HOME too
 *         --unpack      the directory is new, and holds the files that come on standard input
 *                       (bundle.h); standard error goes where standard output does.  It is for a
 *                       program that has the guest for itself: at its end all of the user's
 *                       processes are killed.
 *         --result NAME a file or folder of it to write at the end, on standard error (bundle.h);
 *                       may be repeated
 *   virtbed-rank kill N
 *       Kill what "run N" started and wait until it is gone; 0 also when nothing ran.  A "run N"
 *       that has not got as far as starting its program is killed itself, without a last line.
 *
 * The environment is the caller's (PMI_RANK, PMI_SIZE, ...).  What every rank in this image needs
 * is added where the caller left it out: see defaults[].
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "vm-images/guest/bundle.h"
#include "vm-images/guest/ports.h"
#include "vm-images/guest/relay.h"

#define PORT_DEADLINE_MS 5000
#define LINK_DEADLINE_MS 5000
#define KILL_DEADLINE_MS 5000
#define MAX_PORT 4095
#define WORK "/work"
#define RESULTS_MAX 16
#define ARGUMENTS_MAX 64
#define MAX_USER 4294967294L
/* As in a shell: the program could not be started. */
#define STATUS_NOT_STARTED 127

/* Added to the environment unless set already. */
static const struct {
	const char *name, *value;
} defaults[] = {
	/* waits that block, see benchmarks/npb/npb_wait.c */
	{"VIRTBED_BLOCK_MS", "2"},
	{"UCX_TLS", "tcp,self"},
	{"UCX_NET_DEVICES", "eth0"},
};

static int fail(const char *what, const char *on)
{
	fprintf(stderr, "virtbed-rank: %s '%s': %s\n", what, on, strerror(errno));
	return STATUS_NOT_STARTED;
}

static void pid_path(long port, char *ret_path, size_t size)
{
	snprintf(ret_path, size, "/run/virtbed-rank.%ld.pid", port);
}

/* What "run" was asked for. */
struct order {
	long port;
	bool owned; /* it is a user's */
	uid_t user;
	char work[32]; /* its directory */
	bool unpack;
	char *results[RESULTS_MAX];
	int results_count;
	char **program; /* its arguments */
};

/* Open the port for reading and writing; a port that was just added may need a moment. */
static int open_port(long port)
{
	char name[64], device[PORT_PATH_SIZE];
	int fd = -1;

	snprintf(name, sizeof(name), "virtbed.pmi.%ld", port);
	for (int waited_ms = 0; waited_ms < PORT_DEADLINE_MS; waited_ms += 5) {
		errno = ENODEV;
		if (port_find(name, device, sizeof(device)))
			fd = open(device, O_RDWR);
		if (fd >= 0)
			return fd;
		if (errno != ENODEV && errno != ENOENT && errno != ENXIO)
			break; /* EBUSY: another rank holds it */
		poll(NULL, 0, 5);
	}
	fail("cannot open port", name);
	return -1;
}

/* Written under another name first, so that "kill" never reads half a number. */
static int write_pid(long port, pid_t pid)
{
	char path[64], fresh[72];
	FILE *file;

	pid_path(port, path, sizeof(path));
	snprintf(fresh, sizeof(fresh), "%s.new", path);
	file = fopen(fresh, "we");
	if (!file)
		return -1;
	fprintf(file, "%d\n", (int)pid);
	if (fclose(file) != 0)
		return -1;
	return rename(fresh, path);
}

static pid_t read_pid(long port)
{
	char path[64];
	int pid = 0;
	FILE *file;

	pid_path(port, path, sizeof(path));
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fscanf(file, "%d", &pid) != 1)
		pid = 0;
	fclose(file);
	return pid;
}

static void remove_pid(long port)
{
	char path[64];

	pid_path(port, path, sizeof(path));
	unlink(path);
}

static bool is_running(int fd, const char *interface)
{
	struct ifreq request = {0};

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%.15s", interface);
	return ioctl(fd, SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & IFF_RUNNING);
}

/*
 * Right after boot the kernel may not yet have called the link running, and then UCX finds no
 * way to the other ranks.  Gives up silently: a job within one guest may do without.
 */
static void wait_for_link(const char *interface)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return;
	for (int waited_ms = 0; waited_ms < LINK_DEADLINE_MS; waited_ms += 5) {
		if (is_running(fd, interface))
			break;
		poll(NULL, 0, 5);
	}
	close(fd);
}

static void set_environment(int port_fd)
{
	char number[16];

	for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++)
		setenv(defaults[i].name, defaults[i].value, 0);
	snprintf(number, sizeof(number), "%d", port_fd);
	setenv("PMI_FD", number, 1);
}

/* What the user could do before it got its directory must not matter: hence not under /tmp. */
static bool make_work(struct order *order)
{
	char options[64];

	snprintf(order->work, sizeof(order->work), WORK "/%u", (unsigned)order->user);
	mkdir(WORK, 0755);
	if (mkdir(order->work, 0700) < 0 && errno != EEXIST)
		return false;
	if (!order->unpack)
		return chown(order->work, order->user, order->user) == 0;
	snprintf(options, sizeof(options), "mode=0700,uid=%u,gid=%u", (unsigned)order->user,
		 (unsigned)order->user);
	umount2(order->work, MNT_DETACH); /* of the task before */
	return mount("tmpfs", order->work, "tmpfs", MS_NOSUID | MS_NODEV, options) == 0;
}

/* For good: not even a program with the set-user-ID bit gives anything back. */
static bool become(uid_t user)
{
	return setgroups(0, NULL) == 0 && setgid(user) == 0 && setuid(user) == 0 &&
	       prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

static bool enter_work(const struct order *order)
{
	if (!order->owned)
		return true;
	if (!become(order->user) || chdir(order->work) < 0 || setenv("HOME", order->work, 1) < 0)
		return fail("cannot run in", order->work) == 0;
	return !order->unpack || bundle_unpack(STDIN_FILENO, order->work);
}

/* A program that has the guest for itself is no rank, and reads nothing. */
static void keep_apart(int port_fd)
{
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);

	close(port_fd);
	unsetenv("PMI_FD");
	if (nothing >= 0)
		dup2(nothing, STDIN_FILENO);
}

/* As shells do with a script that does not name its interpreter. */
static void exec_by_shell(const struct order *order)
{
	char *argv[ARGUMENTS_MAX + 3] = {"sh"};
	int count = 1;

	for (char **word = order->program; *word && count < ARGUMENTS_MAX + 2; word++)
		argv[count++] = *word;
	execv("/bin/sh", argv);
}

/* In the child.  Does not start before the parent has recorded it, nor when the parent died. */
static void exec_program(const struct order *order, int port_fd, int go_fd)
{
	char go;

	setpgid(0, 0);
	if (read(go_fd, &go, 1) != 1)
		_exit(STATUS_NOT_STARTED);
	close(go_fd);
	set_environment(port_fd);
	if (!enter_work(order))
		_exit(STATUS_NOT_STARTED);
	if (order->unpack)
		keep_apart(port_fd);
	else
		wait_for_link(getenv("UCX_NET_DEVICES"));
	execv(order->program[0], order->program);
	if (errno == ENOEXEC)
		exec_by_shell(order);
	fail("cannot start", order->program[0]);
	_exit(STATUS_NOT_STARTED);
}

/* Pipes from the program to the relays; the program's ends are in @ret_ends. */
static bool open_relays(const struct order *order, struct relay *relays, int *ret_ends)
{
	char path[64];
	int ends[2];

	for (int i = 0; i < 2; i++) {
		relays[i] = (struct relay){.from = -1, .to = STDOUT_FILENO + i, .copy = -1};
		ret_ends[i] = -1;
	}
	for (int i = 0; i < (order->unpack ? 1 : 2); i++) {
		if (pipe2(ends, O_CLOEXEC) < 0)
			return false;
		relays[i].from = ends[0];
		ret_ends[i] = ends[1];
	}
	snprintf(path, sizeof(path), "/run/virtbed-rank.%ld.out", order->port);
	relays[0].copy = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	return true;
}

/* Fork the rank into its own group and write its number down; -1 on failure. */
static pid_t start(const struct order *order, int port_fd, const int *ends)
{
	int go[2];
	pid_t pid;

	if (pipe2(go, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		dup2(ends[0], STDOUT_FILENO);
		dup2(ends[1] >= 0 ? ends[1] : ends[0], STDERR_FILENO);
		exec_program(order, port_fd, go[0]);
	}
	close(go[0]);
	if (pid > 0) {
		setpgid(pid, pid);
		if (write_pid(order->port, pid) < 0 || write(go[1], "g", 1) != 1)
			fail("cannot record the rank in", "/run");
	}
	close(go[1]); /* had nothing been written, the child ends now */
	return pid;
}

static int wait_status(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return STATUS_NOT_STARTED;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void report_exit(int port_fd, int status)
{
	char line[64];
	int length = snprintf(line, sizeof(line), "cmd=virtbed_exit status=%d\n", status);

	if (write(port_fd, line, (size_t)length) != length)
		fail("cannot report the exit status on", "PMI port");
}

/* Kills whatever the user has left, from a process of the user's: kill(2) spares that one. */
static void kill_all_of(uid_t user)
{
	pid_t pid = fork();

	if (pid == 0) {
		if (setuid(user) == 0)
			kill(-1, SIGKILL);
		_exit(0);
	}
	if (pid > 0)
		wait_status(pid);
}

/* Waits for the program, and passes on what it writes until it ends. */
static int attend(const struct order *order, struct relay *relays, pid_t pid)
{
	int status;

	relay_until_end(relays, 2, pid);
	status = wait_status(pid);
	kill(-pid, SIGKILL); /* what it has left */
	if (order->unpack && order->user != 0)
		kill_all_of(order->user);
	relay_finish(&relays[0]);
	relay_finish(&relays[1]);
	return status;
}

static int run(struct order *order)
{
	int port_fd = open_port(order->port);
	int status = STATUS_NOT_STARTED;
	struct relay relays[2];
	int ends[2];
	pid_t pid;

	if (port_fd < 0)
		return STATUS_NOT_STARTED;
	signal(SIGPIPE, SIG_IGN);
	if (!open_relays(order, relays, ends) || (order->owned && !make_work(order)))
		pid = -1;
	else
		pid = start(order, port_fd, ends);
	if (ends[0] >= 0)
		close(ends[0]);
	if (ends[1] >= 0)
		close(ends[1]);
	if (pid > 0)
		status = attend(order, relays, pid);
	else
		fail("cannot run", order->program[0]);
	remove_pid(order->port);
	/* what it left is read with its user's eyes */
	if (order->results_count > 0 && become(order->user))
		bundle_pack(STDERR_FILENO, order->work, order->results, order->results_count);
	report_exit(port_fd, status);
	return status;
}

/* Whether process @pid is a "virtbed-rank run @port". */
static bool is_runner(const char *pid, long port)
{
	char path[64], line[128] = "", wanted[32];
	size_t length, name;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%.20s/cmdline", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	length = fread(line, 1, sizeof(line) - 1, file);
	fclose(file);
	for (size_t i = 0; i < length; i++)
		if (line[i] == '\0')
			line[i] = ' ';
	snprintf(wanted, sizeof(wanted), "virtbed-rank run %ld ", port);
	name = strcspn(line, " ");
	while (name > 0 && line[name - 1] != '/')
		name--;
	return strncmp(line + name, wanted, strlen(wanted)) == 0;
}

/* Process number of a "run @port", or 0. */
static pid_t find_runner(long port)
{
	DIR *directory = opendir("/proc");
	struct dirent *entry;
	pid_t pid = 0;

	if (!directory)
		return 0;
	while (pid == 0 && (entry = readdir(directory)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
		    is_runner(entry->d_name, port))
			pid = (pid_t)strtol(entry->d_name, NULL, 10);
	closedir(directory);
	return pid;
}

/* Kill group or process @pid, as for kill(2), until there is none left. */
static int kill_until_gone(pid_t pid)
{
	for (int waited_ms = 0; waited_ms < KILL_DEADLINE_MS; waited_ms += 5) {
		if (kill(pid, SIGKILL) < 0)
			return errno == ESRCH ? 0 : fail("cannot kill", "rank");
		poll(NULL, 0, 5);
	}
	errno = ETIMEDOUT;
	return fail("cannot kill", "rank");
}

/*
 * The runner starts its program only after it has written down its number.  So without a number
 * the runner goes first; should it have written one in the meantime, the program follows.
 */
static int kill_rank(long port)
{
	pid_t pid = read_pid(port);
	pid_t runner = pid == 0 ? find_runner(port) : 0;
	int status = 0;

	if (runner > 0) {
		status = kill_until_gone(runner);
		pid = read_pid(port);
	}
	if (pid > 1)
		status = kill_until_gone(-pid);
	if (status == 0)
		remove_pid(port);
	return status;
}

static int usage(void)
{
	fputs("usage: virtbed-rank run N [OPTION...] PROGRAM [ARGUMENT...]\n"
	      "       virtbed-rank kill N\n"
	      "N is the number of the port virtbed.pmi.N; options: --user UID --unpack "
	      "--result NAME\n",
	      stderr);
	return 2;
}

/* A whole number from 0 to @max, or -1. */
static long number(const char *text, long max)
{
	char *end = NULL;
	long value = strtol(text, &end, 10);

	return end == text || *end != '\0' || value < 0 || value > max ? -1 : value;
}

/* Reads options and program; false: bad usage. */
static bool read_order(struct order *order, char **argv)
{
	for (; *argv && strncmp(*argv, "--", 2) == 0; argv++) {
		if (strcmp(*argv, "--unpack") == 0) {
			order->unpack = true;
		} else if (strcmp(*argv, "--user") == 0 && argv[1]) {
			long user = number(*++argv, MAX_USER);

			if (user < 0)
				return false;
			order->owned = true;
			order->user = (uid_t)user;
		} else if (strcmp(*argv, "--result") == 0 && argv[1] &&
			   order->results_count < RESULTS_MAX) {
			order->results[order->results_count++] = *++argv;
		} else {
			return false;
		}
	}
	order->program = argv;
	return *argv && (order->owned || (!order->unpack && order->results_count == 0));
}

int main(int argc, char **argv)
{
	struct order order = {0};

	if (argc < 3)
		return usage();
	order.port = number(argv[2], MAX_PORT);
	if (order.port < 0)
		return usage();
	if (strcmp(argv[1], "run") == 0 && read_order(&order, argv + 3))
		return run(&order);
	if (strcmp(argv[1], "kill") == 0 && argc == 3)
		return kill_rank(order.port);
	return usage();
}
