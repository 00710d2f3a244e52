/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Starts or kills one MPI rank in a guest; the local scheduler calls it through the agent.
 *
 *   virtbed-rank run N PROGRAM [ARGUMENT...]
 *       Run PROGRAM in a process group of its own with the port virtbed.pmi.N open as PMI_FD.
 *       When it has ended, write "cmd=virtbed_exit status=S" to the port and end with status S:
 *       the program's exit status, or 128 + the signal that killed it.
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
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "vm-images/guest/ports.h"

#define PORT_DEADLINE_MS 5000
#define LINK_DEADLINE_MS 5000
#define KILL_DEADLINE_MS 5000
#define MAX_PORT 4095
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

/* In the child.  Does not start before the parent has recorded it, nor when the parent died. */
static void exec_program(int port_fd, int go_fd, char **argv)
{
	char go;

	setpgid(0, 0);
	if (read(go_fd, &go, 1) != 1)
		_exit(STATUS_NOT_STARTED);
	close(go_fd);
	set_environment(port_fd);
	wait_for_link(getenv("UCX_NET_DEVICES"));
	execv(argv[0], argv);
	fail("cannot start", argv[0]);
	_exit(STATUS_NOT_STARTED);
}

/* Fork the rank into its own group and write its number down; -1 on failure. */
static pid_t start(long port, int port_fd, char **argv)
{
	int go[2];
	pid_t pid;

	if (pipe2(go, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		exec_program(port_fd, go[0], argv);
	}
	close(go[0]);
	if (pid > 0) {
		setpgid(pid, pid);
		if (write_pid(port, pid) < 0 || write(go[1], "g", 1) != 1)
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

static int run(long port, char **argv)
{
	int port_fd = open_port(port);
	int status = STATUS_NOT_STARTED;
	pid_t pid;

	if (port_fd < 0)
		return STATUS_NOT_STARTED;
	signal(SIGPIPE, SIG_IGN);
	pid = start(port, port_fd, argv);
	if (pid > 0)
		status = wait_status(pid);
	else
		fail("cannot fork for", argv[0]);
	remove_pid(port);
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
	fputs("usage: virtbed-rank run N PROGRAM [ARGUMENT...]\n"
	      "       virtbed-rank kill N\n"
	      "N is the number of the port virtbed.pmi.N\n", stderr);
	return 2;
}

int main(int argc, char **argv)
{
	char *end = NULL;
	long port;

	if (argc < 3)
		return usage();
	port = strtol(argv[2], &end, 10);
	if (end == argv[2] || *end != '\0' || port < 0 || port > MAX_PORT)
		return usage();
	if (strcmp(argv[1], "run") == 0 && argc > 3)
		return run(port, argv + 3);
	if (strcmp(argv[1], "kill") == 0 && argc == 3)
		return kill_rank(port);
	return usage();
}
