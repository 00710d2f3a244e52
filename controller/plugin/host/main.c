/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * virtbed-policy-host: the process in which a policy from outside runs (docs/reference/
 * policy-protocol.md). It is started by controller/plugin/plugin_process.c and takes no part in the
 * conversation: the program has its standard streams.
 *
 *     virtbed-policy-host [OPTIONS] exec -- PROGRAM [ARGUMENT...]
 *
 * LIFELINE_FD is a pipe whose other end virtbed holds: when that closes, everything here is killed,
 * however virtbed ended. TROUBLE_FD is a pipe on which it is told why the program could not be
 * started, or how it ended.
 *
 * With --sandbox there are three processes: this one; the first process of a PID namespace, whose
 * end the kernel makes that of all others in it, also of those that left the process group; and the
 * program. Without it this one becomes the parent of all that the program leaves, and ends these.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/landlock.h>
#include <poll.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/read_number.h"
#include "controller/plugin/host/syscall_filter.h"

#define LIFELINE_FD 3
#define TROUBLE_FD 4
/* Of this program where the other could not be started. */
#define STATUS_REFUSED 125

/* Later than the headers of Debian 12. */
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (UINT64_C(1) << 14)
#endif
/* Of a first line as execve(2) reads it. */
#define INTERPRETER_MAX 256
#define MIB (1024 * 1024)
#define LIMIT_MAX 1e12
/* How often processes that a program left are looked for, each of which may have left more. */
#define GENERATIONS_MAX 1000

struct options {
	bool sandbox;
	bool unix_sockets; /* in the sandbox, for a program of virtbed: of any path */
	bool read_only;    /* in the sandbox: mount_read_only() */
	const char *user;  /* where this is root */
	rlim_t cpu_s, memory_mib, file_mib, files, processes;
	char **program;
};

/* Tells virtbed, and ends. */
static _Noreturn void refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

static _Noreturn void refuse(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vdprintf(TROUBLE_FD, format, arguments);
	va_end(arguments);
	_exit(STATUS_REFUSED);
}

/* What cannot be had, with errno. */
static _Noreturn void refuse_sandbox(const char *what)
{
	refuse("the sandbox cannot have %s: %s; set plugin.sandbox: no to run it without", what,
	       strerror(errno));
}

static _Noreturn void usage(void)
{
	fputs("usage: virtbed-policy-host [--sandbox] [--user NAME] [--cpu S] [--memory MIB]\n"
	      "           [--file MIB] [--files N] [--processes N] [--unix-sockets]\n"
	      "           exec -- PROGRAM [ARGUMENT...]\n"
	      "virtbed starts it: docs/reference/policy-protocol.md\n",
	      stderr);
	exit(2);
}

static rlim_t number(const char *text)
{
	double value;

	if (!text || !read_number(text, 1, LIMIT_MAX, &value))
		usage();
	return (rlim_t)value;
}

static struct options read_options(char **argv)
{
	struct options options = {.sandbox = false};

	for (argv++; *argv && strncmp(*argv, "--", 2) == 0; argv++) {
		if (strcmp(*argv, "--sandbox") == 0)
			options.sandbox = true;
		else if (strcmp(*argv, "--unix-sockets") == 0)
			options.unix_sockets = true;
		else if (strcmp(*argv, "--user") == 0 && argv[1])
			options.user = *++argv;
		else if (strcmp(*argv, "--cpu") == 0)
			options.cpu_s = number(*++argv);
		else if (strcmp(*argv, "--memory") == 0)
			options.memory_mib = number(*++argv);
		else if (strcmp(*argv, "--file") == 0)
			options.file_mib = number(*++argv);
		else if (strcmp(*argv, "--files") == 0)
			options.files = number(*++argv);
		else if (strcmp(*argv, "--processes") == 0)
			options.processes = number(*++argv);
		else
			usage();
	}
	if (!*argv || strcmp(*argv, "exec") != 0 || !argv[1] || strcmp(argv[1], "--") != 0 ||
	    !argv[2])
		usage();
	options.program = argv + 2;
	return options;
}

/* The sandbox. */

static void put(const char *path, const char *text)
{
	const int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		refuse_sandbox("a user namespace");
	close(fd);
}

/* Namespaces of its own; a user other than root needs a user namespace for the others. */
static void unshare_all(void)
{
	const uid_t uid = geteuid();
	const gid_t gid = getegid();
	char map[64];

	if (uid == 0) {
		if (unshare(CLONE_NEWNET | CLONE_NEWPID) < 0)
			refuse_sandbox("network and PID namespaces");
		return;
	}
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWPID) < 0)
		refuse_sandbox("user, network and PID namespaces");
	snprintf(map, sizeof(map), "%u %u 1", (unsigned)uid, (unsigned)uid);
	put("/proc/self/uid_map", map);
	put("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "%u %u 1", (unsigned)gid, (unsigned)gid);
	put("/proc/self/gid_map", map);
}

/* Folders below which files can be changed. */
static const char *const open_folders[] = {"/tmp", "/dev"};
#define OPEN_FOLDERS (sizeof(open_folders) / sizeof(open_folders[0]))

/*
 * Mounts all but the open folders and /proc read-only. Whether it is so: a kernel before 5.12, or a
 * filter of system calls, may not let it.
 */
static bool mount_read_only(void)
{
	struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY};
	char *here = get_current_dir_name();
	const char *paths[OPEN_FOLDERS + 1];
	int trees[OPEN_FOLDERS + 1];
	size_t count = 0;

	for (size_t i = 0; i <= OPEN_FOLDERS; i++) {
		paths[count] = i < OPEN_FOLDERS ? open_folders[i] : "/proc";
		trees[count] = open_tree(AT_FDCWD, paths[count],
					 OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
		count += trees[count] >= 0;
	}
	if (count == 0 ||
	    mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &read_only, sizeof(read_only)) < 0) {
		while (count > 0)
			close(trees[--count]);
		free(here);
		return false;
	}
	for (size_t i = 0; i < count; i++) {
		if (move_mount(trees[i], "", AT_FDCWD, paths[i], MOVE_MOUNT_F_EMPTY_PATH) < 0)
			refuse_sandbox("files that it can change, below /tmp and /dev");
		close(trees[i]);
	}
	/* The working directory may be below one of them. */
	if (here && chdir(here) < 0)
		refuse_sandbox("its working directory");
	free(here);
	return true;
}

/*
 * In the PID namespace: a /proc that shows its processes alone, and file systems that it cannot
 * change. The kernel lets a user mount a /proc only where it sees all of the present one, and a
 * filter of system calls (of a unit of systemd, or a container) may forbid mounts; then others are
 * seen there, as any user of the machine sees them. Returns mount_read_only().
 */
static bool hide_others(void)
{
	bool read_only;

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return false;
	read_only = mount_read_only();
	mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	return read_only;
}

/* Whether the program gets a variable, NAME=VALUE. A service may have secrets in others. */
static bool keeps_variable(const char *variable)
{
	static const char *const begins[] = {
		"PATH=",       "LANG=",
		"LANGUAGE=",   "LC_",
		"TZ=",         "LD_LIBRARY_PATH=",
		"PYTHONPATH=", "OMP_NUM_THREADS=",
		"VIRTBED_",
	};

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (strncmp(variable, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

static void strip_environment(void)
{
	char **kept = environ;

	for (char **variable = environ; *variable; variable++)
		if (keeps_variable(*variable))
			*kept++ = *variable;
	*kept = NULL;
	/* As many threads as the machine has cores would be more than the limit of processes. */
	if (setenv("HOME", "/tmp", 1) < 0 || setenv("OMP_NUM_THREADS", "1", 0) < 0)
		refuse_sandbox("an environment");
}

/* At most `most`, or less where this process has less already. */
static void limit(int resource, rlim_t most, const char *what)
{
	struct rlimit limit;

	if (most == 0)
		return;
	if (getrlimit((__rlimit_resource_t)resource, &limit) < 0)
		refuse_sandbox(what);
	/* RLIM_INFINITY is the largest number. */
	if (most < limit.rlim_max)
		limit.rlim_max = most;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit((__rlimit_resource_t)resource, &limit) < 0)
		refuse_sandbox(what);
}

/* The first to be ended where the machine has no memory left. It is no matter if it is not. */
static void offer_to_oom_killer(void)
{
	const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	dprintf(fd, "1000");
	close(fd);
}

/* Becomes another user than root: the kernel limits neither the processes of root nor its files. */
static void leave_root(const char *name)
{
	const struct passwd *user = name ? getpwnam(name) : NULL;

	if (!user)
		refuse("the sandbox has no user \"%s\"; set plugin.user to a user of this machine",
		       name ? name : "");
	if (user->pw_uid == 0)
		refuse("the sandbox cannot run it as root; set plugin.user to another user");
	if (setgroups(0, NULL) < 0 || setresgid(user->pw_gid, user->pw_gid, user->pw_gid) < 0 ||
	    setresuid(user->pw_uid, user->pw_uid, user->pw_uid) < 0)
		refuse_sandbox("a user of its own");
}

/*
 * Lets it change files below /tmp and /dev alone (landlock(7)): where it has the user of virtbed,
 * the records of a service would be its own, and so a kernel without it is refused. For another
 * user such a kernel leaves it to the permissions of files.
 */
static void restrict_files(bool other_user)
{
	struct landlock_ruleset_attr changes = {
		.handled_access_fs = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
				     LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
				     LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
				     LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
				     LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM,
	};
	const long version =
		syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	int rules;

	if (version < 1 && other_user)
		return;
	if (version < 1)
		refuse_sandbox("files that it cannot change (Landlock)");
	if (version >= 3)
		changes.handled_access_fs |= LANDLOCK_ACCESS_FS_TRUNCATE;
	rules = (int)syscall(SYS_landlock_create_ruleset, &changes, sizeof(changes), 0);
	for (size_t i = 0; i < OPEN_FOLDERS; i++) {
		const struct landlock_path_beneath_attr below = {
			.allowed_access = changes.handled_access_fs,
			.parent_fd = open(open_folders[i], O_PATH | O_CLOEXEC),
		};

		if (below.parent_fd >= 0)
			syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &below,
				0);
	}
	if (syscall(SYS_landlock_restrict_self, rules, 0) < 0)
		refuse_sandbox("files that it cannot change (Landlock)");
}

/* In the process that becomes the program. */
static void enter_sandbox(const struct options *options)
{
	const bool root = geteuid() == 0;

	strip_environment();
	offer_to_oom_killer();
	limit(RLIMIT_CPU, options->cpu_s, "a limit of CPU time");
	limit(RLIMIT_AS, options->memory_mib * MIB, "a limit of memory");
	limit(RLIMIT_FSIZE, options->file_mib * MIB, "a limit of the size of files");
	limit(RLIMIT_NOFILE, options->files, "a limit of open files");
	limit(RLIMIT_NPROC, options->processes, "a limit of processes");
	setrlimit(RLIMIT_CORE, &(const struct rlimit){0, 0});
	if (root)
		leave_root(options->user);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		refuse_sandbox("no new privileges");
	restrict_files(root);
	if (options->unix_sockets && setenv(SYSCALL_FILTER_VARIABLE, "", 1) < 0)
		refuse_sandbox("an environment");
	if (!syscall_filter_install(options->unix_sockets ? SYSCALL_SOCKETS_UNIX
							  : SYSCALL_SOCKETS_PAIRS,
				    options->read_only))
		refuse_sandbox("a filter of system calls");
}

/* Processes. */

static void close_streams(void)
{
	for (int fd = 0; fd < LIFELINE_FD; fd++)
		close(fd);
}

/* Says what a program that exists lacks to be executed. */
static void refuse_interpreter(const char *program)
{
	char line[INTERPRETER_MAX] = "";
	FILE *file = fopen(program, "re");
	const char *name;
	size_t length;

	if (!file)
		return;
	if (!fgets(line, sizeof(line), file) || strncmp(line, "#!", 2) != 0)
		refuse("cannot execute \"%s\": the file is there, but not the loader or interpreter "
		       "that it names; is it of this machine's architecture?",
		       program);
	name = line + 2 + strspn(line + 2, " \t");
	length = strcspn(name, " \t\r\n");
	if (name[length] == '\r')
		refuse("cannot execute \"%s\": its lines end as those of Windows, so that the "
		       "interpreter would be \"%.*s\\r\"; run dos2unix on it",
		       program, (int)length, name);
	refuse("cannot execute \"%s\": there is no \"%.*s\", which its first line names", program,
	       (int)length, name);
}

/* Tells why the program cannot be executed. */
static _Noreturn void refuse_program(const struct options *options, int why)
{
	const struct passwd *user = options->sandbox ? getpwuid(getuid()) : NULL;
	struct stat status;

	if (why == ENOENT && strchr(options->program[0], '/'))
		refuse_interpreter(options->program[0]);
	else if (why == ENOENT && access(options->program[0], F_OK) == 0)
		refuse("cannot execute \"%s\": it is not in PATH; for the file of that name in "
		       "this folder write exec:./%s",
		       options->program[0], options->program[0]);
	if (why == EACCES && stat(options->program[0], &status) == 0 && S_ISDIR(status.st_mode))
		refuse("cannot execute \"%s\": it is a directory; give the path of a program",
		       options->program[0]);
	if (user && why == EAGAIN)
		refuse("cannot execute \"%s\" in the sandbox: user %s has more processes on this "
		       "machine than plugin.processes, %ju, allows; raise it, or set plugin.user to "
		       "a user that has no others",
		       options->program[0], user->pw_name, (uintmax_t)options->processes);
	if (user && why == EACCES)
		refuse("cannot execute \"%s\" in the sandbox as user %s: %s; let that user read and "
		       "execute it, set plugin.user, or plugin.sandbox: no",
		       options->program[0], user->pw_name, strerror(why));
	refuse("cannot execute \"%s\": %s", options->program[0], strerror(why));
}

static _Noreturn void become_program(const struct options *options)
{
	sigset_t none;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		refuse("cannot have it end with virtbed: %s", strerror(errno));
	if (options->sandbox)
		enter_sandbox(options);
	/* The user has changed, which clears it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	close(LIFELINE_FD);
	execvp(options->program[0], options->program);
	refuse_program(options, errno);
}

static pid_t start(const struct options *options)
{
	const pid_t pid = fork();

	if (pid < 0)
		refuse("cannot start a process: %s", strerror(errno));
	if (pid == 0)
		become_program(options);
	return pid;
}

/* Says how the program ended, unless that it did not begin was said. */
static void tell_end(int status)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) != STATUS_REFUSED)
		dprintf(TROUBLE_FD, "it ended with exit status %d", WEXITSTATUS(status));
	else if (WIFSIGNALED(status))
		dprintf(TROUBLE_FD, "it was killed by signal %d (%s)", WTERMSIG(status),
			strsignal(WTERMSIG(status)));
}

/* The first process of the PID namespace. */
static _Noreturn void be_init(const struct options *given)
{
	struct options options = *given;
	pid_t program;
	int status;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		refuse("cannot have it end with virtbed: %s", strerror(errno));
	options.read_only = hide_others();
	program = start(&options);
	close_streams();
	for (;;) {
		const pid_t ended = wait(&status);

		if (ended == program) {
			tell_end(status);
			_exit(0);
		}
		if (ended < 0 && errno != EINTR)
			_exit(1);
	}
}

/*
 * Kills the processes that the program has left, also those that left its group: this process is
 * the parent of all whose own has ended.
 */
static void end_children(void)
{
	char path[64];
	long pid;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	/* Each of them may leave children itself. */
	for (int i = 0; i < GENERATIONS_MAX; i++) {
		FILE *list = fopen(path, "re");

		while (list && fscanf(list, "%ld", &pid) == 1)
			kill((pid_t)pid, SIGKILL);
		if (list)
			fclose(list);
		if (wait(NULL) < 0)
			return;
	}
}

/* Waits until the child has ended or virtbed is gone, and ends whatever is left. */
static void watch(pid_t child, bool sandbox)
{
	sigset_t ends;
	int signals;

	sigemptyset(&ends);
	sigaddset(&ends, SIGCHLD);
	signals = signalfd(-1, &ends, SFD_CLOEXEC);
	for (;;) {
		struct pollfd fds[] = {{LIFELINE_FD, POLLIN, 0}, {signals, POLLIN, 0}};
		struct signalfd_siginfo what;
		int status;

		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			break;
		if (fds[0].revents)
			break;
		if (fds[1].revents && read(signals, &what, sizeof(what)) < 0)
			break;
		if (waitpid(child, &status, WNOHANG) == child) {
			if (!sandbox)
				tell_end(status);
			break;
		}
	}
	kill(child, SIGKILL);
	end_children();
}

int main(int argc, char **argv)
{
	const struct options options = read_options(argv);
	sigset_t ends;
	pid_t child;

	(void)argc;
	if (fcntl(LIFELINE_FD, F_SETFD, FD_CLOEXEC) < 0 ||
	    fcntl(TROUBLE_FD, F_SETFD, FD_CLOEXEC) < 0)
		usage();
	setpgid(0, 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	sigemptyset(&ends);
	sigaddset(&ends, SIGCHLD);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	if (options.sandbox) {
		unshare_all();
		child = fork();
		if (child < 0)
			refuse_sandbox("a process of its own");
		if (child == 0)
			be_init(&options);
	} else {
		child = start(&options);
	}
	close_streams();
	watch(child, options.sandbox);
	return 0;
}
