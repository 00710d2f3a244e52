/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The only program of a guest beside the kernels that it times (emulated.h): its init.
 *
 *   NPB_CLASS=CLASS init PROGRAM...
 *
 * runs each program (an absolute path; Linux may have put other arguments before) alone on CLASS,
 * and switches the guest off. The line "BEGIN PROGRAM" goes to the serial port before each, and
 * "END STATUS" after it: what the guest's processor took meanwhile its host knows better, which may
 * be busy.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void run(const char *program, const char *class)
{
	int nothing = open("/dev/null", O_RDWR);

	dup2(nothing, STDIN_FILENO);
	dup2(nothing, STDOUT_FILENO);
	execl(program, program, "--class", class, NULL);
	_exit(127);
}

static void run_program(const char *program, const char *class)
{
	int status = 0;
	pid_t pid;

	printf("BEGIN %s\n", program);
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		run(program, class);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		status = -1;
	printf("END %d\n", status);
	fflush(stdout);
}

/* The kernel gives an init without a console no open files. */
static void open_serial(void)
{
	int serial;

	mkdir("/dev", 0755);
	mount("dev", "/dev", "devtmpfs", 0, NULL);
	mkdir("/proc", 0755);
	mount("proc", "/proc", "proc", 0, NULL);
	mkdir("/sys", 0755);
	mount("sys", "/sys", "sysfs", 0, NULL);
	serial = open("/dev/ttyS0", O_RDWR);
	for (int fd = 0; fd <= 2; fd++)
		dup2(serial, fd);
}

int main(int argc, char **argv)
{
	const char *class = getenv("NPB_CLASS");

	open_serial();
	for (int i = 1; i < argc; i++)
		if (argv[i][0] == '/')
			run_program(argv[i], class ? class : "S");
	reboot(RB_POWER_OFF);
	return 1;
}
