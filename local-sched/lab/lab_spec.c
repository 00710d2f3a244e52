/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/lab/lab_spec.h"

#include <math.h>
#include <string.h>

#include "common/json.h"
#include "common/lab_state.h"
#include "local-sched/lab/lab_paths.h"

G_DEFINE_QUARK(virtbed-lab-spec, lab_spec_error)

/* A host name: lower-case letters, digits and inner dashes. */
static bool blade_name_ok(const char *name)
{
	gsize length = strspn(name, G_CSET_a_2_z G_CSET_DIGITS "-");

	return length >= 1 && length <= LAB_SPEC_NAME_MAX && name[length] == '\0' &&
	       name[0] != '-' && name[length - 1] != '-';
}

static bool coefficients_ok(const struct config_blade *blade)
{
	return isfinite(blade->cpu_cores) && blade->cpu_cores >= 0.01 &&
	       blade->cpu_cores <= 4096 && isfinite(blade->idle_w) && blade->idle_w >= 0 &&
	       isfinite(blade->core_w) && blade->core_w >= 0;
}

static bool check_blade(const struct config_lab *lab, uint32_t index, GError **error)
{
	const struct config_blade *blade = &lab->blades[index];
	const char *wrong = NULL;

	if (!blade->name || !blade_name_ok(blade->name))
		wrong = "name is not 1 to 24 of a-z, 0-9 and inner dashes";
	else if (!coefficients_ok(blade))
		wrong = "cpu_cores is not in [0.01, 4096], or watts are negative";
	for (uint32_t i = 0; i < index && !wrong; i++)
		if (strcmp(lab->blades[i].name, blade->name) == 0)
			wrong = "name is used twice";
	if (wrong)
		g_set_error(error, LAB_SPEC_ERROR, LAB_SPEC_ERROR_INPUT,
			    "lab.blades[%u] (\"%s\"): %s", index, blade->name ? blade->name : "",
			    wrong);
	return wrong == NULL;
}

static bool check(const struct config *config, const char *name, GError **error)
{
	if (!lab_state_name_ok(name)) {
		g_set_error(error, LAB_SPEC_ERROR, LAB_SPEC_ERROR_INPUT,
			    "\"%s\" cannot name a lab: 1 to 40 letters, digits, dashes and "
			    "underscores, the first not a dash; give another with --name",
			    name);
		return false;
	}
	if (!config->lab || config->lab->blades_count == 0 ||
	    config->lab->blades_count > LAB_SPEC_BLADES_MAX) {
		g_set_error(error, LAB_SPEC_ERROR, LAB_SPEC_ERROR_INPUT,
			    "the configuration has no lab of 1 to %d blades (key \"lab\"): nothing "
			    "to emulate",
			    LAB_SPEC_BLADES_MAX);
		return false;
	}
	if (config_lab_unsteady(config, CONFIG_LAB_HAS_METRONOME)) {
		g_set_error_literal(error, LAB_SPEC_ERROR, LAB_SPEC_ERROR_INPUT,
				    config_lab_unsteady(config, CONFIG_LAB_HAS_METRONOME));
		return false;
	}
	for (uint32_t i = 0; i < config->lab->blades_count; i++)
		if (!check_blade(config->lab, i, error))
			return false;
	return true;
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

void lab_spec_free(struct lab_spec *spec)
{
	if (!spec)
		return;
	for (uint32_t i = 0; i < spec->blades_count; i++) {
		g_free(spec->blades[i].name);
		g_free(spec->blades[i].uuid);
	}
	g_free(spec->blades);
	g_free(spec->name);
	g_free(spec);
}

static bool same_double(double a, double b)
{
	return !(a < b) && !(a > b);
}

bool lab_spec_same(const struct lab_spec *a, const struct lab_spec *b)
{
	if (strcmp(a->name, b->name) != 0 || a->blades_count != b->blades_count ||
	    a->steady != b->steady)
		return false;
	for (uint32_t i = 0; i < a->blades_count; i++) {
		const struct lab_spec_blade *x = &a->blades[i];
		const struct lab_spec_blade *y = &b->blades[i];

		if (strcmp(x->name, y->name) != 0 || !same_double(x->cpu_cores, y->cpu_cores) ||
		    !same_double(x->idle_w, y->idle_w) || !same_double(x->core_w, y->core_w) ||
		    x->bmc != y->bmc)
			return false;
	}
	return true;
}

char *lab_spec_text(const struct lab_spec *spec)
{
	g_autoptr(json_t) blades = json_array();
	g_autoptr(json_t) document = NULL;

	for (uint32_t i = 0; i < spec->blades_count; i++) {
		const struct lab_spec_blade *blade = &spec->blades[i];

		json_array_append_new(blades,
				      json_pack("{s:s, s:f, s:f, s:f, s:s, s:i, s:i}", "name",
						blade->name, "cpu_cores", blade->cpu_cores,
						"idle_w", blade->idle_w, "core_w", blade->core_w,
						"uuid", blade->uuid, "bmc", (int)blade->bmc,
						"bmc_port", blade->bmc_port));
	}
	document = json_pack("{s:s, s:b, s:f, s:O}", "name", spec->name, "steady", spec->steady,
			     "patience", spec->patience, "blades", blades);
	return json_pretty(document);
}

static bool parse_blade(const json_t *object, const char *what, struct lab_spec_blade *blade,
			GError **error)
{
	const char *name;
	const char *uuid;
	int64_t port;
	int64_t bmc;

	if (!json_get_string(object, "name", what, &name, error) ||
	    !json_get_string(object, "uuid", what, &uuid, error) ||
	    !json_get_number(object, "cpu_cores", what, &blade->cpu_cores, error) ||
	    !json_get_number(object, "idle_w", what, &blade->idle_w, error) ||
	    !json_get_number(object, "core_w", what, &blade->core_w, error) ||
	    !json_get_integer(object, "bmc", what, CONFIG_BMC_IPMI, CONFIG_BMC_REDFISH, &bmc,
			      error) ||
	    !json_get_integer(object, "bmc_port", what, 0, UINT16_MAX, &port, error))
		return false;
	blade->name = g_strdup(name);
	blade->uuid = g_strdup(uuid);
	blade->bmc = (enum config_bmc)bmc;
	blade->bmc_port = (uint16_t)port;
	return true;
}

static bool parse(const json_t *document, const char *what, struct lab_spec *spec, GError **error)
{
	const char *name;
	json_t *blades;

	if (!json_get_string(document, "name", what, &name, error) ||
	    !json_get_number(document, "patience", what, &spec->patience, error) ||
	    !json_get_array(document, "blades", what, &blades, error))
		return false;
	spec->steady = json_is_true(json_object_get(document, "steady"));
	spec->name = g_strdup(name);
	spec->blades = g_new0(struct lab_spec_blade, json_array_size(blades));
	for (size_t i = 0; i < json_array_size(blades); i++) {
		spec->blades_count++;
		spec->blades[i].number = (uint32_t)i + 1;
		if (!parse_blade(json_array_get(blades, i), what, &spec->blades[i], error))
			return false;
	}
	return true;
}

struct lab_spec *lab_spec_parse(const char *text, gsize length, const char *what, GError **error)
{
	g_autoptr(lab_spec_t) spec = g_new0(struct lab_spec, 1);
	g_autoptr(GError) cause = NULL;
	g_autoptr(json_t) document = json_parse(text, length, what, &cause);

	if (document && parse(document, what, spec, &cause))
		return g_steal_pointer(&spec);
	g_set_error_literal(error, LAB_SPEC_ERROR, LAB_SPEC_ERROR_BROKEN, cause->message);
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
