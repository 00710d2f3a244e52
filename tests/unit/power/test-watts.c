/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/lab/bmc/watts.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utime.h>

#include "local-sched/lab/bmc/bmc.h"

static void test_parse_takes_decimal_watts_only(void)
{
	static const struct {
		const char *text;
		int64_t mw; /* -1: refused */
	} cases[] = {
		{"61", 61000},
		{"61\n", 61000},
		{"61.2", 61200},
		{"61.25\n", 61250},
		{"0.001", 1},
		{"0", 0},
		{"65535", 65535000},
		{"00061", 61000},
		{"65535.000\n", 65535000},
		{"", -1},
		{"\n", -1},
		{"65535.001", -1},
		{"65536", -1},
		{"-1", -1},
		{"+1", -1},
		{" 61", -1},
		{"61 ", -1},
		{"61\n\n", -1},
		{"61.", -1},
		{".5", -1},
		{"61.1234", -1},
		{"1e3", -1},
		{"0x10", -1},
		{"61,5", -1},
		{"nan", -1},
		{"61 W", -1},
		{"18446744073709551617", -1},
		{"99999999999999999999999999", -1},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		uint32_t mw = 4711;
		const bool good = watts_parse(cases[i].text, &mw);

		g_test_message("\"%s\"", cases[i].text);
		g_assert_true(good == (cases[i].mw >= 0));
		g_assert_cmpint(mw, ==, good ? cases[i].mw : 4711);
	}
}

static void test_read_refuses_what_is_stale_missing_or_no_file(void)
{
	g_autofree char *dir = g_dir_make_tmp("virtbed-test-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(dir, "watts", NULL);
	g_autofree char *fifo = g_build_filename(dir, "fifo", NULL);
	const time_t now = time(NULL);
	const struct utimbuf old = {.actime = now - 10, .modtime = now - 10};
	const struct utimbuf future = {.actime = now + 100, .modtime = now + 100};
	uint32_t mw = 0;

	g_assert_false(watts_read(path, 5, &mw));
	g_assert_true(g_file_set_contents(path, "61.5\n", -1, NULL));
	g_assert_true(watts_read(path, 5, &mw));
	g_assert_cmpuint(mw, ==, 61500);
	utime(path, &old);
	g_assert_false(watts_read(path, 5, &mw));
	g_assert_true(watts_read(path, 20, &mw));
	utime(path, &future);
	g_assert_true(watts_read(path, 5, &mw));
	g_assert_true(g_file_set_contents(path, "0000000000000000000000000000000061", -1, NULL));
	g_assert_false(watts_read(path, 5, &mw));
	g_assert_false(watts_read(dir, 5, &mw));
	g_assert_cmpint(mkfifo(fifo, 0600), ==, 0);
	g_assert_false(watts_read(fifo, 5, &mw));
	g_unlink(path);
	g_unlink(fifo);
	g_rmdir(dir);
}

static void test_bmc_refuses_what_its_configuration_cannot_hold(void)
{
	static const struct bmc_spec good = {.name = "b1",
					     .dir = "/nonexistent/dir",
					     .port = 9,
					     .user = "ADMIN",
					     .password = "secret",
					     .watts_file = "/tmp/watts"};
	struct bmc_spec cases[11];

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
		cases[i] = good;
	cases[0].name = "b 1";
	cases[1].name = "../b1";
	cases[1].name = "b1\n";
	cases[2].dir = "/tmp/\"x";
	cases[3].port = 0;
	cases[4].user = "";
	cases[5].user = "seventeen-letters";
	cases[6].password = "twenty-one-characters";
	cases[7].password = "quo\"te";
	cases[8].watts_file = "/tmp/new\nline";
	cases[9].password = NULL;
	cases[10].password = "two words";
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_cmpint(bmc_start(&cases[i], &error), ==, -1);
		g_assert_error(error, BMC_ERROR, BMC_ERROR_SPEC);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/watts/parse", test_parse_takes_decimal_watts_only);
	g_test_add_func("/watts/read", test_read_refuses_what_is_stale_missing_or_no_file);
	g_test_add_func("/bmc/spec", test_bmc_refuses_what_its_configuration_cannot_hold);
	return g_test_run();
}
