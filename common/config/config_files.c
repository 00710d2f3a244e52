/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/config/config_files.h"

#include "common/error_fail.h"
#include "common/read_file.h"
#include "common/tls_files.h"

bool config_files_check(const struct config *config, const char *path, uint32_t cluster,
			GError **error)
{
	const struct config_cluster *checked = &config->clusters[cluster];

	for (uint32_t i = 0; i < checked->hosts_count; i++) {
		const struct config_meter *meter = checked->hosts[i].meter;
		g_autoptr(GError) trouble = NULL;
		const char *key = "password_file";
		const char *cure = "write the password into it, mode 0600";
		bool good;

		if (!meter || meter->kind == CONFIG_METER_NONE)
			continue;
		good = !meter->password_file ||
		       read_file_check(meter->password_file, READ_FILE_SMALL_MAX, &trouble);
		if (good && meter->ca_file) {
			key = "ca_file";
			cure = "put the certificates to trust there";
			good = tls_files_check_ca(meter->ca_file, &trouble);
		}
		if (!good)
			return error_fail(error, CONFIG_ERROR, CONFIG_ERROR_READ,
					  "%s: clusters[%u].hosts[%u].meter.%s: %s; %s", path,
					  cluster, i, key, trouble->message, cure);
	}
	return true;
}
