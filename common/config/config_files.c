/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/config/config_files.h"

#include <string.h>

#include "common/error_fail.h"
#include "common/read_file.h"
#include "common/tls_files.h"

/* An address without the brackets of IPv6 and the dot behind a whole name; the caller frees. */
static char *bare_address(const char *address)
{
	const gsize length = strlen(address);

	if (length >= 2 && address[0] == '[' && address[length - 1] == ']')
		return g_strndup(address + 1, length - 2);
	return g_strndup(address, length - g_str_has_suffix(address, "."));
}

/* Whether the meter's BMC has sessions. */
static bool has_sessions(const struct config_meter *meter)
{
	return meter->kind == CONFIG_METER_REDFISH || meter->kind == CONFIG_METER_IPMI;
}

bool config_files_share_bmc(const struct config_meter *a, const struct config_meter *b)
{
	g_autofree char *one = NULL;
	g_autofree char *other = NULL;

	if (a->kind != b->kind || !has_sessions(a) || a->port != b->port ||
	    g_strcmp0(a->user, b->user) != 0)
		return false;
	one = bare_address(a->address);
	other = bare_address(b->address);
	return g_ascii_strcasecmp(one, other) == 0;
}

/* Whether two files have different texts, as far as both can be read: in line 1, or at all. */
static bool texts_differ(const char *a, const char *b, bool first_line)
{
	g_autofree char *one = NULL;
	g_autofree char *other = NULL;

	if (!a || !b)
		return a != b;
	if (strcmp(a, b) == 0)
		return false;
	one = read_file(a, READ_FILE_SMALL_MAX, NULL, NULL);
	other = read_file(b, READ_FILE_SMALL_MAX, NULL, NULL);
	if (!one || !other)
		return false;
	if (first_line) {
		one[strcspn(one, "\r\n")] = '\0';
		other[strcspn(other, "\r\n")] = '\0';
	}
	return strcmp(one, other) != 0;
}

const char *config_files_differ(const struct config_meter *a, const struct config_meter *b)
{
	if (a->auth != b->auth)
		return "auth";
	if (a->tls != b->tls)
		return "tls";
	if (a->ipmi != b->ipmi)
		return "ipmi";
	if (a->cipher_suite != b->cipher_suite)
		return "cipher_suite";
	if (g_strcmp0(a->privilege, b->privilege) != 0)
		return "privilege";
	if (texts_differ(a->kg_file, b->kg_file, true))
		return "kg_file";
	if (texts_differ(a->password_file, b->password_file, true))
		return "password_file";
	return texts_differ(a->ca_file, b->ca_file, false) ? "ca_file" : NULL;
}

/* A host's place in the configuration. */
struct metered {
	uint32_t cluster;
	uint32_t host;
	const struct config_meter *meter;
};

/* The hosts with meters that may share a BMC. */
static GArray *list_meters(const struct config *config)
{
	GArray *list = g_array_new(FALSE, FALSE, sizeof(struct metered));

	for (uint32_t c = 0; c < config->clusters_count; c++) {
		for (uint32_t h = 0; h < config->clusters[c].hosts_count; h++) {
			const struct metered one = {c, h, config->clusters[c].hosts[h].meter};

			if (one.meter && has_sessions(one.meter))
				g_array_append_val(list, one);
		}
	}
	return list;
}

bool config_files_check_shared(const struct config *config, const char *path, GError **error)
{
	g_autoptr(GArray) list = list_meters(config);

	for (guint i = 0; i < list->len; i++) {
		const struct metered *one = &g_array_index(list, struct metered, i);

		for (guint j = 0; j < i; j++) {
			const struct metered *other = &g_array_index(list, struct metered, j);
			const char *key = config_files_share_bmc(other->meter, one->meter)
						  ? config_files_differ(other->meter, one->meter)
						  : NULL;

			if (key)
				return error_fail(
					error, CONFIG_ERROR, CONFIG_ERROR_MEANING,
					"%s: clusters[%u].hosts[%u].meter.%s: not that of "
					"clusters[%u].hosts[%u], whose BMC, %s, and user, %s, are "
					"the same: both share one session; make it the same, or "
					"give one another `user`",
					path, one->cluster, one->host, key, other->cluster,
					other->host, one->meter->address, one->meter->user);
		}
	}
	return true;
}

bool config_files_check(const struct config *config, const char *path, uint32_t cluster,
			GError **error)
{
	const struct config_cluster *checked = &config->clusters[cluster];

	if (!config_files_check_shared(config, path, error))
		return false;

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
