/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/error_fail.h"

static void test_an_error_is_set(void)
{
	g_autoptr(GError) error = NULL;

	g_assert_false(error_fail(&error, G_FILE_ERROR, G_FILE_ERROR_NOENT, "'%s' has %d lines",
				  "a%s", 7));
	g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT);
	g_assert_cmpstr(error->message, ==, "'a%s' has 7 lines");
}

static void test_an_error_may_be_unwanted(void)
{
	g_assert_false(error_fail(NULL, G_FILE_ERROR, G_FILE_ERROR_NOENT, "%s", "unseen"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/error-fail/set", test_an_error_is_set);
	g_test_add_func("/error-fail/unwanted", test_an_error_may_be_unwanted);
	return g_test_run();
}
