/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/lab/lab_spec.h"

#include "common/json.h"
#include "common/lab_state.h"
#include "common/record/record.h"
#include "local-sched/lab/lab_error.h"
#include "local-sched/lab/lab_paths.h"

/* spec.json. */
static const struct record_field blade_fields[] = {
	{RECORD_FIELD_TEXT(lab_spec_blade, name)},
	{RECORD_AT(lab_spec_blade, cpu_cores), .type = RECORD_REAL},
	{RECORD_AT(lab_spec_blade, idle_w), .type = RECORD_REAL},
	{RECORD_AT(lab_spec_blade, core_w), .type = RECORD_REAL},
	{RECORD_FIELD_TEXT(lab_spec_blade, uuid)},
	{RECORD_FIELD_U32(lab_spec_blade, bmc), .max = CONFIG_BMC_REDFISH},
	{RECORD_FIELD_U32(lab_spec_blade, bmc_port), .max = UINT16_MAX},
	{NULL},
};
static const struct record blade_record = {.size = sizeof(struct lab_spec_blade),
					   .fields = blade_fields,
					   .open = true};

static const struct record_field fields[] = {
	{RECORD_FIELD_TEXT(lab_spec, name)},
	{RECORD_FIELD_BOOL(lab_spec, steady), .flags = RECORD_OPTIONAL},
	{RECORD_AT(lab_spec, patience), .type = RECORD_REAL},
	{RECORD_FIELD_ARRAY(lab_spec, blades, blades_count, blade_record)},
	{NULL},
};
static const struct record record = {.size = sizeof(struct lab_spec),
				     .fields = fields,
				     .open = true};
RECORD_DEFINE_FREE(lab_spec, record)

static bool check(const struct config *config, const char *name, GError **error)
{
	g_autofree char *wrong = NULL;

	if (!lab_state_name_ok(name))
		return lab_error_set(
			error, LAB_ERROR_INPUT,
			"\"%s\" cannot name a lab: 1 to 40 letters, digits, dashes and "
			"underscores, the first not a dash; give another with --name",
			name);
	if (!config->lab || config->lab->blades_count == 0 ||
	    config->lab->blades_count > LAB_SPEC_BLADES_MAX)
		return lab_error_set(
			error, LAB_ERROR_INPUT,
			"the configuration has no lab of 1 to %d blades (key \"lab\"): nothing "
			"to emulate",
			LAB_SPEC_BLADES_MAX);
	if (config_lab_unsteady(config, CONFIG_LAB_HAS_METRONOME))
		return lab_error_set(error, LAB_ERROR_INPUT, "%s",
				     config_lab_unsteady(config, CONFIG_LAB_HAS_METRONOME));
	wrong = config_section_check(&config_lab_section, "lab", config->lab)
			?: config_lab_check(config);
	return !wrong || lab_error_set(error, LAB_ERROR_INPUT, "%s", wrong);
}

struct lab_spec *lab_spec_new(const struct config *config, const char *name, GError **error)
{
	struct lab_spec *spec;

	name = name ? name : config->name;
	if (!check(config, name, error))
		return NULL;
	spec = g_new0(struct lab_spec, 1);
	spec->name = g_strdup(name);
	spec->blades_count = config->lab->blades_count;
	spec->blades = g_new0(struct lab_spec_blade, spec->blades_count);
	spec->steady = config_lab_is_steady(config);
	spec->patience = config_patience(config, 1);
	for (uint32_t i = 0; i < spec->blades_count; i++) {
		const struct config_blade *from = &config->lab->blades[i];

		spec->blades[i] = (struct lab_spec_blade){
			.name = g_strdup(from->name),
			.number = i + 1,
			.cpu_cores = from->cpu_cores,
			.idle_w = from->idle_w,
			.core_w = from->core_w,
			.uuid = g_uuid_string_random(),
			.bmc = from->bmc,
		};
	}
	return spec;
}

bool lab_spec_same(const struct lab_spec *a, const struct lab_spec *b)
{
	g_autoptr(lab_spec_t) drawn = record_copy(&record, b);

	drawn->patience = a->patience;
	for (uint32_t i = 0; i < MIN(a->blades_count, b->blades_count); i++) {
		g_free(drawn->blades[i].uuid);
		drawn->blades[i].uuid = g_strdup(a->blades[i].uuid);
		drawn->blades[i].bmc_port = a->blades[i].bmc_port;
	}
	return record_equal(&record, a, drawn);
}

char *lab_spec_text(const struct lab_spec *spec)
{
	g_autoptr(json_t) document = record_to_json(&record, spec);

	return json_pretty(document);
}

struct lab_spec *lab_spec_parse(const char *text, gsize length, const char *what, GError **error)
{
	g_autoptr(lab_spec_t) spec = record_new(&record);
	g_autoptr(GError) cause = NULL;
	g_autoptr(json_t) document = json_parse(text, length, what, &cause);

	if (document && !record_from_json(&record, document, spec, &cause))
		g_prefix_error(&cause, "%s: ", what);
	for (uint32_t i = 0; i < spec->blades_count; i++)
		spec->blades[i].number = i + 1;
	if (!cause)
		return g_steal_pointer(&spec);
	g_set_error_literal(error, LAB_ERROR, LAB_ERROR_BROKEN, cause->message);
	return NULL;
}

bool lab_spec_save(const struct lab_spec *spec, GError **error)
{
	g_autofree char *path = lab_paths_run(spec->name, "spec.json");
	g_autofree char *text = lab_spec_text(spec);

	return g_file_set_contents_full(path, text, -1, G_FILE_SET_CONTENTS_CONSISTENT, 0600,
					error);
}

struct lab_spec *lab_spec_load(const char *lab, GError **error)
{
	g_autofree char *path = lab_paths_run(lab, "spec.json");
	g_autofree char *text = NULL;
	gsize length;

	if (!g_file_get_contents(path, &text, &length, error))
		return NULL;
	return lab_spec_parse(text, length, path, error);
}
