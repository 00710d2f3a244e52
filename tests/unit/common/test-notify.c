/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/notify.h"

#include <gio/gio.h>
#include <gio/gunixsocketaddress.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

/* A service manager's end of $NOTIFY_SOCKET. */
struct manager {
	char *dir;
	char *path;
	GSocket *socket;
};

static void set_up(struct manager *manager, gconstpointer data)
{
	g_autoptr(GSocketAddress) address = NULL;
	g_autofree char *pid = g_strdup_printf("%d", (int)getpid());
	g_autoptr(GError) error = NULL;

	manager->dir = g_dir_make_tmp("notify-XXXXXX", &error);
	g_assert_no_error(error);
	manager->path = g_build_filename(manager->dir, "socket", NULL);
	address = g_unix_socket_address_new(manager->path);
	manager->socket = g_socket_new(G_SOCKET_FAMILY_UNIX, G_SOCKET_TYPE_DATAGRAM,
				       G_SOCKET_PROTOCOL_DEFAULT, &error);
	g_assert_no_error(error);
	g_socket_bind(manager->socket, address, FALSE, &error);
	g_assert_no_error(error);
	g_socket_set_timeout(manager->socket, 60);
	g_setenv("NOTIFY_SOCKET", manager->path, TRUE);
	g_setenv("SYSTEMD_EXEC_PID", pid, TRUE);
	g_setenv("WATCHDOG_USEC", "40000", TRUE);
	g_setenv("WATCHDOG_PID", pid, TRUE);
}

static void tear_down(struct manager *manager, gconstpointer data)
{
	g_object_unref(manager->socket);
	g_unlink(manager->path);
	g_rmdir(manager->dir);
	g_free(manager->path);
	g_free(manager->dir);
}

/* What the daemon says next. */
static char *heard(struct manager *manager)
{
	char text[512];
	g_autoptr(GError) error = NULL;
	gssize length = g_socket_receive(manager->socket, text, sizeof(text) - 1, NULL, &error);

	g_assert_no_error(error);
	return g_strndup(text, (gsize)length);
}

static void expect(struct manager *manager, const char *text)
{
	g_autofree char *said = heard(manager);

	g_assert_cmpstr(said, ==, text);
}

/* Datagrams of one process come at once and in order: what is not there was not said. */
static void expect_nothing(struct manager *manager)
{
	g_assert_false(g_socket_condition_check(manager->socket, G_IO_IN) & G_IO_IN);
}

static void test_manager_is_told(struct manager *manager, gconstpointer data)
{
	g_autofree char *reloading = NULL;

	notify_ready(NULL);
	expect(manager, "READY=1");
	notify_ready("serving\nREADY=0");
	expect(manager, "READY=1\nSTATUS=serving READY=0");
	notify_reloading();
	reloading = heard(manager);
	g_assert_true(g_str_has_prefix(reloading, "RELOADING=1\nMONOTONIC_USEC="));
	notify_stopping(0);
	expect(manager, "STOPPING=1\nWATCHDOG_USEC=40000");
	notify_stopping(300);
	expect(manager, "STOPPING=1\nWATCHDOG_USEC=300000000");
	g_unsetenv("WATCHDOG_USEC");
	notify_stopping(300);
	expect(manager, "STOPPING=1");
}

static void test_loop_that_turns_feeds_the_watchdog(struct manager *manager, gconstpointer data)
{
	guint source = notify_watchdog();

	g_assert_cmpuint(source, !=, 0);
	expect(manager, "WATCHDOG=1");
	expect_nothing(manager); /* the loop does not turn */
	for (int i = 0; i < 3; i++) {
		while (!(g_socket_condition_check(manager->socket, G_IO_IN) & G_IO_IN))
			g_main_context_iteration(NULL, TRUE);
		expect(manager, "WATCHDOG=1");
	}
	g_source_remove(source);
}

static void test_nobody_else_is_heard(struct manager *manager, gconstpointer data)
{
	/* A child of the process that was started, with its environment. */
	g_setenv("SYSTEMD_EXEC_PID", "1", TRUE);
	notify_ready("x");
	notify_reloading();
	notify_stopping(1);
	g_assert_cmpuint(notify_watchdog(), ==, 0);
	expect_nothing(manager);
	/* Started by hand. */
	g_unsetenv("SYSTEMD_EXEC_PID");
	g_setenv("WATCHDOG_PID", "1", TRUE);
	g_assert_cmpuint(notify_watchdog(), ==, 0);
	g_unsetenv("WATCHDOG_PID");
	g_unsetenv("WATCHDOG_USEC");
	g_assert_cmpuint(notify_watchdog(), ==, 0);
	g_unsetenv("NOTIFY_SOCKET");
	notify_ready("x");
	notify_stopping(1);
	expect_nothing(manager);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *path;
		void (*test)(struct manager *manager, gconstpointer data);
	} tests[] = {
		{"/notify/manager-is-told", test_manager_is_told},
		{"/notify/loop-that-turns-feeds-the-watchdog",
		 test_loop_that_turns_feeds_the_watchdog},
		{"/notify/nobody-else-is-heard", test_nobody_else_is_heard},
	};

	g_test_init(&argc, &argv, NULL);
	for (gsize i = 0; i < G_N_ELEMENTS(tests); i++)
		g_test_add(tests[i].path, struct manager, NULL, set_up, tests[i].test, tear_down);
	return g_test_run();
}
