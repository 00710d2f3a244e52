/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/platform.h"
#include "tests/integration/power/meter_fixture.h"

#include <errno.h>
#include <gio/gio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "common/clock.h"
#include "common/subprocess.h"

enum {
	WAKE_MS = 20,
	ATTEMPTS = 10,
};

/* One wait of METER_FIXTURE_WAIT_FOR(). */
struct waker {
	const char *condition;
	int64_t until_ns;
};

static gboolean on_wake(gpointer data)
{
	const struct waker *waker = data;

	if (clock_now_ns() > waker->until_ns)
		g_error("%s did not happen within %d s", waker->condition, METER_FIXTURE_WAIT_S);
	return G_SOURCE_CONTINUE;
}

guint meter_fixture_wait_begin(const char *condition)
{
	struct waker *waker = g_new0(struct waker, 1);

	waker->condition = condition;
	waker->until_ns = clock_now_ns() + METER_FIXTURE_WAIT_S * INT64_C(1000000000);
	return g_timeout_add_full(G_PRIORITY_DEFAULT, WAKE_MS, on_wake, waker, g_free);
}

void meter_fixture_wait_end(guint waker_id)
{
	g_source_remove(waker_id);
}

void meter_fixture_init(struct meter_fixture *fixture, const char *host)
{
	*fixture = (struct meter_fixture){.host = host};
	fixture->dir = g_dir_make_tmp("virtbed-test-XXXXXX", NULL);
	g_assert_nonnull(fixture->dir);
	fixture->password_file = meter_fixture_path(fixture, "password");
	fixture->config.password_file = fixture->password_file;
}

/* Whether all our children are reaped, seen without reaping one. */
static bool no_children(void)
{
	siginfo_t info;

	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD;
}

void meter_fixture_finish(struct meter_fixture *fixture)
{
	const char *const argv[] = {"rm", "-rf", fixture->dir, NULL};
	g_autoptr(GError) error = NULL;

	meter_fixture_close(fixture);
	METER_FIXTURE_WAIT_FOR(no_children());
	subprocess_run(argv, NULL, METER_FIXTURE_WAIT_S, NULL, &error);
	g_assert_no_error(error);
	g_free(fixture->dir);
	g_free(fixture->password_file);
	g_free(fixture->message);
}

char *meter_fixture_path(const struct meter_fixture *fixture, const char *name)
{
	return g_build_filename(fixture->dir, name, NULL);
}

void meter_fixture_write(const char *path, const char *text)
{
	g_autoptr(GError) error = NULL;

	g_file_set_contents_full(path, text, -1, G_FILE_SET_CONTENTS_CONSISTENT, 0600, &error);
	g_assert_no_error(error);
}

void meter_fixture_on_read(const struct power_reading *reading, const GError *error, void *data)
{
	struct meter_fixture *fixture = data;

	g_assert_true((reading != NULL) != (error != NULL));
	fixture->reads++;
	fixture->mw = reading ? reading->mw : -1;
	fixture->code = error ? error->code : 0;
	if (error && g_strcmp0(error->message, fixture->message) != 0)
		g_test_message("%s", error->message);
	g_free(fixture->message);
	fixture->message = error ? g_strdup(error->message) : NULL;
}

void meter_fixture_open(struct meter_fixture *fixture)
{
	g_autoptr(GError) error = NULL;

	fixture->own_set |= !fixture->set;
	if (!fixture->set)
		fixture->set = meter_set_new(&platform_machine);
	fixture->meter = power_meter_open(&platform_machine, &fixture->config, fixture->host,
					  fixture->set, &error);
	g_assert_no_error(error);
}

int meter_fixture_read(struct meter_fixture *fixture)
{
	const int before = fixture->reads;

	if (!fixture->meter)
		meter_fixture_open(fixture);
	power_meter_read(fixture->meter, meter_fixture_on_read, fixture);
	g_assert_cmpint(fixture->reads, ==, before); /* never before it returns */
	METER_FIXTURE_WAIT_FOR(fixture->reads == before + 1);
	return fixture->code;
}

int meter_fixture_read_answer(struct meter_fixture *fixture)
{
	int code = POWER_METER_ERROR_NO_ANSWER;

	for (int i = 0; i < ATTEMPTS &&
			(code == POWER_METER_ERROR_NO_ANSWER || code == POWER_METER_ERROR_NOT_YET);
	     i++)
		code = meter_fixture_read(fixture);
	return code;
}

void meter_fixture_close(struct meter_fixture *fixture)
{
	g_clear_pointer(&fixture->meter, power_meter_close);
	if (!fixture->own_set)
		return;
	g_clear_pointer(&fixture->set, meter_set_free);
	fixture->own_set = false;
}

static int compare_doubles(const void *a, const void *b)
{
	return (*(const double *)a > *(const double *)b) -
	       (*(const double *)a < *(const double *)b);
}

void meter_fixture_time(struct meter_fixture *fixture, int count)
{
	g_autofree double *ms = g_new(double, count);

	for (int i = 0; i < count; i++) {
		const int64_t start_ns = clock_now_ns();

		g_assert_cmpint(meter_fixture_read_answer(fixture), ==, 0);
		ms[i] = clock_elapsed_s(start_ns, clock_now_ns()) * 1e3;
	}
	qsort(ms, (size_t)count, sizeof *ms, compare_doubles);
	g_test_message("ms per reading: median %.3f, 95%% %.3f, max %.3f", ms[count / 2],
		       ms[count * 95 / 100], ms[count - 1]);
}

uint16_t meter_fixture_free_port(void)
{
	g_autoptr(GInetAddress) host = g_inet_address_new_loopback(G_SOCKET_FAMILY_IPV4);
	g_autoptr(GSocketAddress) any = g_inet_socket_address_new(host, 0);
	g_autoptr(GSocketAddress) bound = NULL;
	g_autoptr(GSocket) socket = g_socket_new(G_SOCKET_FAMILY_IPV4, G_SOCKET_TYPE_DATAGRAM,
						 G_SOCKET_PROTOCOL_UDP, NULL);

	g_assert_true(socket && g_socket_bind(socket, any, FALSE, NULL));
	bound = g_socket_get_local_address(socket, NULL);
	return g_inet_socket_address_get_port(G_INET_SOCKET_ADDRESS(bound));
}
