/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/guest_image.h"

#include <glib.h>
#include <glib/gstdio.h>

static void test_a_name_comes_first(void)
{
	g_autofree char *named = NULL;
	g_autofree char *wanted = NULL;

	g_setenv("VIRTBED_IMAGE", "/srv/./image", TRUE);
	named = guest_image_find("some/image");
	wanted = guest_image_find(NULL);
	g_assert_cmpstr(named, ==, "some/image");
	g_assert_cmpstr(wanted, ==, "/srv/image");
	g_unsetenv("VIRTBED_IMAGE");
}

static void test_a_directory_without_a_manifest_is_no_image(void)
{
	g_autofree char *directory = g_dir_make_tmp("virtbed-image-XXXXXX", NULL);
	g_autofree char *manifest = g_build_filename(directory, "manifest.json", NULL);
	g_autofree char *none = guest_image_trouble(NULL);
	g_autofree char *empty = guest_image_trouble(directory);
	g_autofree char *begin = g_strdup_printf("there is none in '%s': ", directory);

	g_assert_cmpstr(none, ==, "there is none");
	g_assert_true(g_str_has_prefix(empty, begin));
	g_assert_true(g_file_set_contents(manifest, "{}", -1, NULL));
	g_assert_null(guest_image_trouble(directory));
	g_unlink(manifest);
	g_rmdir(directory);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/guest-image/a name comes first", test_a_name_comes_first);
	g_test_add_func("/guest-image/a directory without a manifest is no image",
			test_a_directory_without_a_manifest_is_no_image);
	return g_test_run();
}
