/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/config/config.h"

#include <string.h>

#include "common/config/config_parts.h"
#include "common/config/config_read.h"
#include "common/config/config_root.h"
#include "common/config/config_write.h"
#include "common/error_fail.h"

G_DEFINE_QUARK(virtbed_config_error_quark, config_error)

/* Reads the file alone, by the rows. */
static struct config *read_file_of(const char *path, const struct config_served *served,
				   GHashTable *given, GError **error)
{
	struct config_root root;
	struct config *config = config_read(path, config_root_init(served, &root), given, error);

	if (config)
		config->served = served;
	return config;
}

struct config *config_load_served(const char *path, const struct config_served *served,
				  GError **error)
{
	g_autoptr(GHashTable) given = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_autoptr(config_t) config = read_file_of(path, served, given, error);

	if (!config)
		return NULL;
	config->is_drawn = g_hash_table_contains(given, "environment");
	if (served && !served->fill_in(config, path, given, error))
		return NULL;
	for (uint32_t c = 0; c < config->clusters_count; c++)
		config_cluster_fill_in(&config->clusters[c]);
	config->service_follows = !config->service || config->service->mapping_interval_s == 0;
	config_expand_types(config);
	config_times_derive(config);
	if (!config_check(config, path, error))
		return NULL;
	return g_steal_pointer(&config);
}

struct config *config_load(const char *path, GError **error)
{
	return config_load_served(path, NULL, error);
}

/* What was measured changes places with what the configuration has, of overheads if `overheads`. */
static void exchange_measured(struct config *config, struct config_measured *measured,
			      bool overheads)
{
	CONFIG_EXCHANGE(config->estimates, measured->estimates);
	CONFIG_EXCHANGE(config->estimates_count, measured->estimates_count);
	CONFIG_EXCHANGE(config->unmeasured, measured->unmeasured);
	CONFIG_EXCHANGE(config->unmeasured_count, measured->unmeasured_count);
	if (!overheads)
		return;
	CONFIG_EXCHANGE(config->overheads, measured->overheads);
	CONFIG_EXCHANGE(config->overheads_count, measured->overheads_count);
}

/* What was measured, of a file that profile wrote, or of a whole configuration for `served`. */
static struct config_measured *load_measured(const char *path, const struct config_served *served,
					     GError **error)
{
	g_autoptr(GError) short_error = NULL;
	struct config_measured *file =
		config_read(path, &config_measured_section, NULL, &short_error);
	g_autoptr(config_t) whole = NULL;

	if (file && (file->estimates_count > 0 || file->unmeasured_count > 0))
		return file;
	if (file) {
		config_section_free(&config_measured_section, file);
		g_set_error(error, CONFIG_ERROR, CONFIG_ERROR_MEANING,
			    "%s: estimates: empty; give at least 1", path);
		return NULL;
	}
	whole = read_file_of(path, served, NULL, NULL);
	if (!whole || (whole->estimates_count == 0 && whole->unmeasured_count == 0)) {
		g_propagate_error(error, g_steal_pointer(&short_error));
		return NULL;
	}
	file = config_section_new(&config_measured_section);
	exchange_measured(whole, file, true);
	return file;
}

bool config_load_estimates(struct config *config, const char *path, GError **error)
{
	struct config_measured *file = load_measured(path, config->served, error);
	const bool overheads = file && file->overheads;
	bool good;

	if (!file)
		return false;
	exchange_measured(config, file, overheads);
	config_times_derive(config);
	good = config_check(config, path, error);
	if (!good) {
		exchange_measured(config, file, overheads);
		config_times_derive(config);
	}
	config_section_free(&config_measured_section, file);
	return good;
}

char *config_to_text(const struct config *config)
{
	struct config_root root;

	return config_write_text(config_root_init(config->served, &root), config);
}

bool config_text_is_readable(const char *text, const char *path, GError **error)
{
	const size_t length = strlen(text);

	return length <= CONFIG_FILE_BYTES_MAX ||
	       error_fail(error, CONFIG_ERROR, CONFIG_ERROR_MEANING,
			  "%s: with every default filled in it has %zu bytes, and a configuration "
			  "of more than 4 MiB is not read again; give fewer or shorter entries",
			  path, length);
}

bool config_save(const struct config *config, const char *path, GError **error)
{
	g_autofree char *text = config_to_text(config);

	return config_text_is_readable(text, path, error) && config_write_file(path, text, error);
}

bool config_save_measured(const struct config_measured *measured, const char *path, GError **error)
{
	struct config_measured file = *measured;
	g_autofree char *text = NULL;

	/* What there is none of is not named. */
	if (file.overheads_count == 0)
		file.overheads = NULL;
	if (file.unmeasured_count == 0)
		file.unmeasured = NULL;
	text = config_write_text(&config_measured_section, &file);
	return config_text_is_readable(text, path, error) && config_write_file(path, text, error);
}

void config_free(struct config *config)
{
	struct config_root root;

	if (config)
		config_section_free(config_root_init(config->served, &root), config);
}
