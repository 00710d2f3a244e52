/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/guest_image.h"

#include <gio/gio.h>

#include "common/read_file.h"

/* From the executable's directory, in a build and in an installation. */
static const char *const image_places[] = {
	"../image",
	"../../image",
	"../../../image",
	"../share/virtbed/image",
	"../../share/virtbed/image",
};

char *guest_image_find(const char *named)
{
	const char *wanted = g_getenv("VIRTBED_IMAGE");
	g_autofree char *exe = g_file_read_link("/proc/self/exe", NULL);
	g_autofree char *dir = exe ? g_path_get_dirname(exe) : g_strdup(".");

	if (named)
		return g_strdup(named);
	if (wanted && *wanted)
		return g_canonicalize_filename(wanted, NULL);
	for (gsize i = 0; i < G_N_ELEMENTS(image_places); i++) {
		g_autofree char *path = g_build_filename(dir, image_places[i], NULL);
		g_autofree char *manifest = g_build_filename(path, "manifest.json", NULL);

		if (g_file_test(manifest, G_FILE_TEST_EXISTS))
			return g_canonicalize_filename(path, NULL);
	}
	return NULL;
}

char *guest_image_trouble(const char *image)
{
	g_autofree char *manifest = image ? g_build_filename(image, "manifest.json", NULL) : NULL;
	g_autoptr(GError) trouble = NULL;

	if (!image)
		return g_strdup("there is none");
	return read_file_check(manifest, READ_FILE_SMALL_MAX, &trouble)
		       ? NULL
		       : g_strdup_printf("there is none in '%s': %s", image, trouble->message);
}
