/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/measure/run_pet.h"

#include "common/json.h"
#include "controller/measure/run_estimate.h"

/* JSON strings are valid quoted scalars of YAML. */
static void append_name(GString *text, const char *key, const char *name)
{
	g_autoptr(json_t) string = json_string(name);
	g_autofree char *quoted = json_text(string);

	g_string_append_printf(text, "%s: %s\n", key, quoted);
}

static void append_pair(GString *text, const struct config *config, const GArray *measurements,
			uint32_t type, uint32_t cluster)
{
	const char *before = "    samples: [";

	for (guint i = 0; i < measurements->len; i++) {
		const struct run_measurement *one =
			&g_array_index(measurements, struct run_measurement, i);
		char number[G_ASCII_DTOSTR_BUF_SIZE];

		if (one->type != type || one->cluster != cluster)
			continue;
		if (before[0] == ' ') {
			append_name(text, "  - type", config->types[type].name);
			append_name(text, "    machine", config->clusters[cluster].name);
		}
		g_ascii_formatd(number, sizeof(number), "%.4f", one->exec_s);
		g_string_append_printf(text, "%s%s", before, number);
		before = ", ";
	}
	if (before[0] == ',')
		g_string_append(text, "]\n");
}

bool run_pet_save(const struct config *config, const GArray *measurements, const char *dir,
		  GError **error)
{
	g_autofree char *path = g_build_filename(dir, "pet.yaml", NULL);
	g_autoptr(GString) text = g_string_new(measurements->len ? "entries:\n" : "entries: []\n");

	for (uint32_t type = 0; type < config->types_count; type++)
		for (uint32_t cluster = 0; cluster < config->clusters_count; cluster++)
			append_pair(text, config, measurements, type, cluster);
	return g_file_set_contents(path, text->str, (gssize)text->len, error);
}
