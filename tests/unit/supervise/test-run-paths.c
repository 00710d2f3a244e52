/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a run keeps its files and sockets, and the lock of its name. */
#include <glib.h>
#include <glib/gstdio.h>
#include <grp.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "controller/run/run_paths.h"
#include "controller/supervise/run_lock.h"
#include "controller/supervise/run_prepare_service.h"
#include "controller/supervise/run_supervisor.h"

static char *temporary_dir(void)
{
	return g_dir_make_tmp("virtbed-test-XXXXXX", NULL);
}

/* The lock of a name. */

static char *lock_name(void)
{
	return g_strdup_printf("test-%d", (int)getpid());
}

static void a_name_is_locked_once(void)
{
	g_autofree char *name = lock_name();
	g_autofree char *path = NULL;
	struct run_lock first = RUN_LOCK_INIT;
	struct run_lock second = RUN_LOCK_INIT;
	g_autoptr(GError) error = NULL;

	g_assert_true(run_lock_take(&first, name, NULL, NULL, &error));
	path = g_strdup(first.path);
	g_assert_false(run_lock_take(&second, name, NULL, NULL, &error));
	g_assert_error(error, RUN_SUPERVISOR_ERROR, RUN_SUPERVISOR_ERROR_FAILED);
	g_assert_nonnull(strstr(error->message, "another run of 'test-"));
	g_clear_error(&error);
	run_lock_drop(&first);
	g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
	g_assert_true(run_lock_take(&second, name, NULL, NULL, &error));
	run_lock_drop(&second);
	run_lock_drop(&second);
	g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
}

/* As a daemon of a service manager that is not root and cannot open root's directory. */
static G_NORETURN void lock_as_nobody(void)
{
	struct run_lock lock = RUN_LOCK_INIT;
	g_autoptr(GError) error = NULL;

	if (setgroups(0, NULL) < 0 || setgid(65534) < 0 || setuid(65534) < 0 ||
	    !g_setenv("STATE_DIRECTORY", "/nowhere", TRUE))
		_exit(2);
	_exit(!run_lock_take(&lock, "test-nobody", NULL, NULL, &error) &&
			      g_error_matches(error, RUN_SUPERVISOR_ERROR,
					      RUN_SUPERVISOR_ERROR_INPUT)
		      ? 0
		      : 1);
}

static void a_service_never_locks_where_nobody_else_looks(void)
{
	int status = -1;
	pid_t child;

	if (geteuid() != 0) {
		g_test_skip("only root can become another user");
		return;
	}
	child = fork();
	if (child == 0)
		lock_as_nobody();
	g_assert_cmpint(waitpid(child, &status, 0), ==, child);
	g_assert_cmpint(status, ==, 0);
}

/* What is left of a run that was killed: its daemons hold the lock, its owner is dead. */
struct remains {
	struct run_lock lock;
	guint asked;
	guint end_at; /* the daemons end when asked so often */
	bool stopped;
};

static bool ask_remains(void *data)
{
	struct remains *remains = data;

	if (++remains->asked == remains->end_at)
		close(remains->lock.fd);
	return remains->stopped;
}

static void leave_remains(struct remains *remains, const char *name)
{
	pid_t dead = fork();

	if (dead == 0)
		_exit(0);
	g_assert_cmpint(waitpid(dead, NULL, 0), ==, dead);
	g_assert_true(run_lock_take(&remains->lock, name, NULL, NULL, NULL));
	g_assert_cmpint(ftruncate(remains->lock.fd, 0), ==, 0);
	g_assert_cmpint(dprintf(remains->lock.fd, "%d\n", (int)dead), >, 0);
}

static void locks_of_killed_runs_are_removed_when_they_are_free(void)
{
	g_autofree char *name = lock_name();
	g_autofree char *other = g_strconcat(name, "-other", NULL);
	struct remains remains = {.lock = RUN_LOCK_INIT};
	struct run_lock lock = RUN_LOCK_INIT;

	leave_remains(&remains, name);
	if (!g_str_has_prefix(remains.lock.path, "/run/virtbed/")) {
		run_lock_drop(&remains.lock);
		g_test_skip("/run/virtbed is not ours; elsewhere files of others lie beside");
		return;
	}
	g_assert_true(run_lock_take(&lock, other, NULL, NULL, NULL));
	g_assert_true(g_file_test(remains.lock.path, G_FILE_TEST_EXISTS));
	run_lock_drop(&lock);
	close(remains.lock.fd);
	g_assert_true(run_lock_take(&lock, other, NULL, NULL, NULL));
	g_assert_false(g_file_test(remains.lock.path, G_FILE_TEST_EXISTS));
	run_lock_drop(&lock);
	g_free(remains.lock.path);
}

static void what_is_left_of_a_killed_run_is_waited_for(void)
{
	g_autofree char *name = lock_name();
	struct remains remains = {.lock = RUN_LOCK_INIT, .end_at = 5, .stopped = true};
	struct run_lock lock = RUN_LOCK_INIT;
	g_autoptr(GError) error = NULL;

	leave_remains(&remains, name);
	g_assert_false(run_lock_take(&lock, name, ask_remains, &remains, &error));
	g_assert_error(error, RUN_SUPERVISOR_ERROR, RUN_SUPERVISOR_ERROR_INTERRUPTED);
	remains.stopped = false;
	g_assert_true(run_lock_take(&lock, name, ask_remains, &remains, NULL));
	g_assert_cmpuint(remains.asked, ==, remains.end_at);
	run_lock_drop(&lock);
	g_free(remains.lock.path);
}

/* Paths. */

static void a_long_directory_gets_sockets_elsewhere(void)
{
	g_autofree char *name = g_strnfill(150, 'd');
	g_autofree char *base = temporary_dir();
	g_autofree char *dir = g_build_filename(base, name, NULL);
	g_autoptr(GError) error = NULL;
	g_autofree char *here = NULL;
	g_autofree char *elsewhere = NULL;
	bool own = true;

	here = run_paths_socket_dir(base, &own, &error);
	g_assert_false(own);
	g_assert_cmpstr(here, ==, base);
	elsewhere = run_paths_socket_dir(dir, &own, &error);
	g_assert_no_error(error);
	g_assert_true(own);
	g_assert_cmpint(strlen(elsewhere) + strlen("/controller.sock"), <=, 107);
	g_rmdir(elsewhere);
	g_rmdir(base);
}

static unsigned mode_of(const char *path)
{
	struct stat status;

	g_assert_cmpint(stat(path, &status), ==, 0);
	return status.st_mode & 07777;
}

static void the_state_of_a_service_is_private(void)
{
	g_autofree char *base = temporary_dir();
	g_autofree char *dir = g_build_filename(base, "state", NULL);
	g_autofree char *plan = g_build_filename(dir, "plan.json", NULL);
	g_autofree char *other = g_build_filename(dir, "other", NULL);
	g_autoptr(GError) error = NULL;

	g_assert_true(run_prepare_service_dir(dir, NULL));
	g_assert_cmpuint(mode_of(dir), ==, 0700);
	g_assert_cmpint(chmod(dir, 0755), ==, 0);
	g_assert_true(run_prepare_service_dir(dir, NULL));
	g_assert_cmpuint(mode_of(dir), ==, 0700);
	g_assert_cmpint(chmod(dir, 0755), ==, 0);
	g_assert_true(g_file_set_contents(other, "x", -1, NULL));
	g_assert_false(run_prepare_service_dir(dir, &error));
	g_assert_error(error, RUN_SUPERVISOR_ERROR, RUN_SUPERVISOR_ERROR_INPUT);
	g_assert_cmpuint(mode_of(dir), ==, 0755);
	g_assert_true(g_file_set_contents(plan, "{}", -1, NULL));
	g_assert_true(run_prepare_service_dir(dir, NULL));
	g_assert_cmpuint(mode_of(dir), ==, 0700);
	if (geteuid() == 0) { /* only root can give it away */
		g_clear_error(&error);
		g_assert_cmpint(chown(dir, 65534, (gid_t)-1), ==, 0);
		g_assert_false(run_prepare_service_dir(dir, &error));
		g_assert_error(error, RUN_SUPERVISOR_ERROR, RUN_SUPERVISOR_ERROR_INPUT);
	}
	g_unlink(plan);
	g_unlink(other);
	g_rmdir(dir);
	g_rmdir(base);
}

/* A group gets as far as the socket, or is told that it does not. */
static void a_socket_is_where_its_group_can_reach_it(void)
{
	g_autofree char *base = temporary_dir();
	g_autofree char *dir = g_build_filename(base, "x", NULL);
	g_autofree char *listen = g_strdup_printf("unix:%s/controller.sock", dir);
	const struct run_request request = {.config_path = "a.yaml", .listen = listen};
	struct config_service service = {.group = (char *)"lab"};
	const struct config config = {.service = &service};
	g_autoptr(GError) error = NULL;
	g_autofree char *address = NULL;

	g_assert_null(run_prepare_service_address(&request, &config, &error));
	g_assert_error(error, RUN_SUPERVISOR_ERROR, RUN_SUPERVISOR_ERROR_INPUT);
	g_assert_nonnull(strstr(error->message, "a.yaml: service.group: "));
	g_assert_nonnull(strstr(error->message, base));
	service.group = NULL;
	address = run_prepare_service_address(&request, &config, NULL);
	g_assert_cmpstr(address, ==, listen);
	if (g_str_equal(g_get_tmp_dir(), "/tmp")) {
		g_free(address);
		service.group = (char *)"lab";
		g_assert_cmpint(chmod(base, 0711), ==, 0);
		g_assert_cmpint(chmod(dir, 0750), ==, 0);
		address = run_prepare_service_address(&request, &config, NULL);
		g_assert_cmpstr(address, ==, listen);
	}
	g_rmdir(dir);
	g_rmdir(base);
}

/* Locks make the directory for us alone; a service for a group lets others pass, not look. */
static void a_group_gets_through_our_directory(void)
{
	const struct run_request request = {.config_path = "a.yaml"};
	struct config_service service = {.group = (char *)"lab"};
	const struct config config = {.service = &service};
	g_autofree char *name = lock_name();
	struct run_lock lock = RUN_LOCK_INIT;
	g_autofree char *address = NULL;
	unsigned before;

	g_assert_true(run_lock_take(&lock, name, NULL, NULL, NULL));
	if (geteuid() != 0 || !g_str_has_prefix(lock.path, RUN_PATHS_OUR_DIR)) {
		run_lock_drop(&lock);
		g_test_skip("only root's services are found at " RUN_PATHS_OUR_DIR);
		return;
	}
	before = mode_of(RUN_PATHS_OUR_DIR);
	address = run_prepare_service_address(&request, &config, NULL);
	g_assert_cmpstr(address, ==, "unix:" RUN_PATHS_OUR_DIR "/controller.sock");
	g_assert_cmpuint(mode_of(RUN_PATHS_OUR_DIR), ==, before | 0011);
	g_assert_cmpuint(mode_of(lock.path) & 0007, ==, 0);
	g_chmod(RUN_PATHS_OUR_DIR, (int)before);
	run_lock_drop(&lock);
}

/* The session's directory after su, of a session that is over, and this user's own. */
static G_NORETURN void listen_as_nobody(const char *dir)
{
	g_autofree char *none = g_build_filename(dir, "none", NULL);
	g_autofree char *own = g_build_filename(dir, "own", NULL);
	g_autofree char *own_prefix = g_strconcat("unix:", own, NULL);
	const char *const unusable[] = {dir, none, "relative"};
	g_autofree char *found = NULL;
	bool good = true;

	if (setgroups(0, NULL) < 0 || setgid(65534) < 0 || setuid(65534) < 0 ||
	    g_mkdir(own, 0700) < 0)
		_exit(2);
	g_unsetenv("RUNTIME_DIRECTORY");
	for (gsize i = 0; i < G_N_ELEMENTS(unusable); i++) {
		g_autofree char *address = NULL;

		g_setenv("XDG_RUNTIME_DIR", unusable[i], TRUE);
		address = run_paths_service_address();
		good = good && !strstr(address, unusable[i]);
	}
	g_setenv("XDG_RUNTIME_DIR", own, TRUE);
	found = run_paths_service_address();
	_exit(good && g_str_has_prefix(found, own_prefix) ? 0 : 1);
}

static void an_unusable_session_directory_is_passed_over(void)
{
	g_autofree char *dir = NULL;
	g_autofree char *own = NULL;
	int status = -1;
	pid_t child;

	if (geteuid() != 0) {
		g_test_skip("only root can become another user");
		return;
	}
	dir = temporary_dir();
	own = g_build_filename(dir, "own", NULL);
	g_assert_cmpint(chmod(dir, 0777), ==, 0);
	child = fork();
	if (child == 0)
		listen_as_nobody(dir);
	g_assert_cmpint(waitpid(child, &status, 0), ==, child);
	g_assert_cmpint(status, ==, 0);
	g_rmdir(own);
	g_rmdir(dir);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/lock/once", a_name_is_locked_once);
	g_test_add_func("/lock/nobody", a_service_never_locks_where_nobody_else_looks);
	g_test_add_func("/lock/left-over", locks_of_killed_runs_are_removed_when_they_are_free);
	g_test_add_func("/lock/remains", what_is_left_of_a_killed_run_is_waited_for);
	g_test_add_func("/paths/sockets", a_long_directory_gets_sockets_elsewhere);
	g_test_add_func("/paths/session", an_unusable_session_directory_is_passed_over);
	g_test_add_func("/service/state", the_state_of_a_service_is_private);
	g_test_add_func("/service/group", a_socket_is_where_its_group_can_reach_it);
	g_test_add_func("/service/our-dir", a_group_gets_through_our_directory);
	return g_test_run();
}
