/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/supervise/run_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error_fail.h"
#include "common/read_number.h"
#include "controller/supervise/run_supervisor.h"

#define ASK_MS 100

enum outcome { TAKEN = 0, OWNED, LEFT_OVER, BROKEN };

/*
 * The path of a lock. The directory is made here rather than by the first user, since two runs must
 * not lock in two places. A service manager may give its services a /tmp of their own, where a lock
 * excludes no other run.
 */
static char *path_of(const char *name, GError **error)
{
	if (g_mkdir_with_parents(RUN_LOCK_DIR, 0700) == 0 && g_access(RUN_LOCK_DIR, W_OK) == 0)
		return g_strdup_printf("%s/run-%s.lock", RUN_LOCK_DIR, name);
	if (!g_getenv("STATE_DIRECTORY"))
		return g_strdup_printf("%s/run-%s.lock", g_get_tmp_dir(), name);
	return error_null(error, RUN_SUPERVISOR_ERROR, RUN_SUPERVISOR_ERROR_INPUT,
			  "a service locks its name in %s, where we cannot write: %s; "
			  "systemd-tmpfiles --create virtbed.conf makes it",
			  RUN_LOCK_DIR, g_strerror(errno));
}

/* A process that has ended and was not reaped yet is dead, too. */
static bool is_alive(pid_t pid)
{
	struct pollfd end = {.fd = pid > 0 ? pidfd_open(pid, 0) : -1, .events = POLLIN};
	bool alive;

	if (end.fd < 0)
		return pid > 0 && errno != ESRCH && errno != EINVAL;
	alive = poll(&end, 1, 0) == 0;
	g_close(end.fd, NULL);
	return alive;
}

/* The process id in the file; 0: not written yet, or invalid. */
static pid_t owner_of(int fd)
{
	char text[32] = {0};
	uint64_t pid;

	if (pread(fd, text, sizeof(text) - 1, 0) <= 0 || !read_number_front_unsigned(text, &pid) ||
	    pid > INT32_MAX)
		return 0;
	return (pid_t)pid;
}

static bool write_owner(int fd)
{
	g_autofree char *text = g_strdup_printf("%ld\n", (long)getpid());
	const size_t length = strlen(text);

	/* Only the owner of the file may; its group is that of the directory. */
	if (fchmod(fd, 0660) < 0 && errno != EPERM)
		return false;
	return ftruncate(fd, 0) == 0 && pwrite(fd, text, length, 0) == (ssize_t)length;
}

/*
 * Whether the open file is still at `path`; the last owner removes it. It must be a plain file with
 * a single link: other users of the directory cannot make us write elsewhere.
 */
static bool is_there(int fd, const char *path)
{
	struct stat open_file;
	struct stat file;

	return fstat(fd, &open_file) == 0 && lstat(path, &file) == 0 && S_ISREG(file.st_mode) &&
	       file.st_nlink == 1 && open_file.st_dev == file.st_dev &&
	       open_file.st_ino == file.st_ino;
}

/* Removes the file if its owner is dead and no process holds the lock. */
static void remove_left_over(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	pid_t owner = fd >= 0 ? owner_of(fd) : 0;

	if (owner && !is_alive(owner) && flock(fd, LOCK_EX | LOCK_NB) == 0 && is_there(fd, path) &&
	    owner_of(fd) == owner)
		g_unlink(path);
	if (fd >= 0)
		close(fd);
}

/* Removes the locks of killed runs of other names that are free. */
static void remove_free_locks(void)
{
	g_autoptr(GDir) dir = g_dir_open(RUN_LOCK_DIR, 0, NULL);
	const char *name;

	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *path = g_build_filename(RUN_LOCK_DIR, name, NULL);

		if (g_str_has_prefix(name, "run-") && g_str_has_suffix(name, ".lock"))
			remove_left_over(path);
	}
}

/*
 * One attempt; errno says why it is BROKEN. An owner that has not written its process id yet counts
 * as alive.
 */
static enum outcome try_take(struct run_lock *lock, const char *path)
{
	int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
	enum outcome outcome = BROKEN;
	int saved;

	if (fd < 0)
		return BROKEN;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
		if (is_there(fd, path) && write_owner(fd)) {
			lock->fd = fd;
			lock->path = g_strdup(path);
			return TAKEN;
		}
		outcome = is_there(fd, path) ? BROKEN : LEFT_OVER;
	} else if (errno == EWOULDBLOCK) {
		pid_t owner = owner_of(fd);

		outcome = owner && !is_alive(owner) ? LEFT_OVER : OWNED;
	}
	saved = errno;
	close(fd);
	errno = saved;
	return outcome;
}

static gboolean wake(gpointer data)
{
	return G_SOURCE_CONTINUE;
}

/* Waits for the daemons of a run that was killed. */
static enum outcome wait_for_daemons(struct run_lock *lock, const char *path,
				     bool (*stopped)(void *data), void *data)
{
	int64_t end_ns = clock_now_ns() + (int64_t)(RUN_LOCK_WAIT_S * 1e9);
	guint source = g_timeout_add(ASK_MS, wake, NULL);
	enum outcome outcome = LEFT_OVER;

	while (outcome == LEFT_OVER && clock_now_ns() < end_ns && !(stopped && stopped(data))) {
		g_main_context_iteration(NULL, TRUE);
		outcome = try_take(lock, path);
	}
	g_source_remove(source);
	return outcome;
}

bool run_lock_take(struct run_lock *lock, const char *name, bool (*stopped)(void *data), void *data,
		   GError **error)
{
	g_autofree char *path = path_of(name, error);
	enum outcome outcome;

	if (!path)
		return false;
	remove_free_locks();
	outcome = try_take(lock, path);
	if (outcome == LEFT_OVER) {
		fprintf(stderr,
			"a run of '%s' was killed: waiting until its daemons have ended its tasks "
			"and VMs (at most %.0f s)\n",
			name, RUN_LOCK_WAIT_S);
		outcome = wait_for_daemons(lock, path, stopped, data);
	}
	if (outcome == TAKEN)
		return true;
	if (outcome == BROKEN)
		g_set_error(error, RUN_SUPERVISOR_ERROR, RUN_SUPERVISOR_ERROR_FAILED,
			    "%s cannot be locked: %s", path, g_strerror(errno));
	else if (outcome == OWNED)
		g_set_error(error, RUN_SUPERVISOR_ERROR, RUN_SUPERVISOR_ERROR_FAILED,
			    "another run of '%s' is under way on this machine (%s is locked); "
			    "wait for it, or stop it",
			    name, path);
	else if (stopped && stopped(data))
		g_set_error(error, RUN_SUPERVISOR_ERROR, RUN_SUPERVISOR_ERROR_INTERRUPTED,
			    "interrupted");
	else
		g_set_error(error, RUN_SUPERVISOR_ERROR, RUN_SUPERVISOR_ERROR_FAILED,
			    "daemons of a run of '%s' that was killed have not ended after %.0f s "
			    "(%s is locked); see fuser %s",
			    name, RUN_LOCK_WAIT_S, path, path);
	return false;
}

void run_lock_drop(struct run_lock *lock)
{
	if (lock->fd < 0)
		return;
	g_unlink(lock->path);
	g_clear_pointer(&lock->path, g_free);
	close(lock->fd);
	lock->fd = -1;
}
