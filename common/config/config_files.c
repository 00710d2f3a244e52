/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/config/config_files.h"

#include "common/read_file.h"
#include "common/tls_files.h"

static bool check_small(const char *file, GError **error)
{
	return read_file_check(file, READ_FILE_SMALL_MAX, error);
}

/* `what` is the key's place, `file` its value; NULL: not given. */
static bool check_file(const char *what, const char *key, const char *file,
		       bool (*check)(const char *file, GError **error), const char *cure, GError **error)
{
	g_autoptr(GError) trouble = NULL;

	if (!file || check(file, &trouble))
		return true;
	g_set_error(error, CONFIG_ERROR, CONFIG_ERROR_READ, "%s.meter.%s: %s; %s", what, key, trouble->message, cure);
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

		if (meter && meter->kind != CONFIG_METER_NONE &&
		    (!check_file(what, "password_file", meter->password_file, check_small,
				 "write the password into it, mode 0600", error) ||
		     !check_file(what, "ca_file", meter->ca_file, tls_files_check_ca,
				 "put the certificates to trust there", error)))
			return false;
	}
	return true;
}
