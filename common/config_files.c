/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/config_files.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <unistd.h>

/* NULL: it can be read. */
static const char *trouble_of(const char *path)
{
	if (g_access(path, R_OK) < 0)
		return g_strerror(errno);
	return g_file_test(path, G_FILE_TEST_IS_DIR) ? g_strerror(EISDIR) : NULL;
}

/* `what` is the key's place, `file` its value; NULL: not given. */
static bool check_file(const char *what, const char *key, const char *file, const char *cure,
		       GError **error)
{
	const char *trouble = file ? trouble_of(file) : NULL;

	if (!trouble)
		return true;
	g_set_error(error, CONFIG_ERROR, CONFIG_ERROR_READ,
		    "%s.meter.%s: '%s' cannot be read: %s; %s", what, key, file, trouble, cure);
	return false;
}

bool config_files_check(const struct config *config, const char *path, uint32_t cluster,
			GError **error)
{
	const struct config_cluster *checked = &config->clusters[cluster];

	for (uint32_t i = 0; i < checked->hosts_count; i++) {
		const struct config_meter *meter = checked->hosts[i].meter;
		g_autofree char *what =
			g_strdup_printf("%s: clusters[%u].hosts[%u]", path, cluster, i);

		if (meter &&
		    (!check_file(what, "password_file", meter->password_file,
				 "write the password into it, mode 0600", error) ||
		     !check_file(what, "ca_file", meter->ca_file,
				 "put the certificates to trust there", error)))
			return false;
	}
	return true;
}

/* From the executable's directory, in a build and in an installation. */
static const char *const image_places[] = {
	"../image",
	"../../image",
	"../../../image",
	"../share/virtbed/image",
	"../../share/virtbed/image",
};

char *config_files_image(void)
{
	const char *wanted = g_getenv("VIRTBED_IMAGE");
	g_autofree char *exe = g_file_read_link("/proc/self/exe", NULL);
	g_autofree char *dir = exe ? g_path_get_dirname(exe) : g_strdup(".");

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

char *config_files_image_trouble(const char *image)
{
	g_autofree char *manifest = image ? g_build_filename(image, "manifest.json", NULL) : NULL;
	const char *trouble = manifest ? trouble_of(manifest) : NULL;

	if (!image)
		return g_strdup("there is none");
	return trouble ? g_strdup_printf("there is none in '%s': %s: %s", image, manifest, trouble)
		       : NULL;
}
