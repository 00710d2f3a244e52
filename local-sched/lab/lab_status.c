/* SPDX-License-Identifier: GPL-3.0-or-later */

#include "common/json.h"
#include "common/lab_state.h"
#include "common/read_number.h"
#include "local-sched/lab/bmc/bmc.h"
#include "local-sched/lab/lab.h"
#include "local-sched/lab/lab_blade_files.h"
#include "local-sched/lab/lab_clean.h"
#include "local-sched/lab/lab_paths.h"
#include "local-sched/lab/lab_peers.h"
#include "local-sched/lab/lab_process.h"
#include "local-sched/lab/lab_record.h"
#include "local-sched/lab/lab_compensation.h"

enum { ANSWER_TIMEOUT_S = 5 };

static const char *state_name(const char *lab, struct lab_state_process supervisor)
{
	if (supervisor.pid == 0)
		return lab_clean_needed(lab) ? "dead" : "down";
	return lab_state_phase_names[MAX(lab_state_load(lab).phase, LAB_STATE_STARTING)];
}

static json_t *pid_json(pid_t pid)
{
	return pid > 0 ? json_integer(pid) : json_null();
}

/* The number in a file that the supervisor writes; null if there is none. */
static json_t *number_json(const char *path)
{
	g_autofree char *text = NULL;
	double number;

	if (!g_file_get_contents(path, &text, NULL, NULL))
		return json_null();
	return read_number_front(text, &number) ? json_real(number) : json_null();
}

/* The pid of a blade's BMC: ipmi_sim, or this program. */
static pid_t bmc_pid(const struct lab_spec *spec, const struct lab_spec_blade *blade,
		     pid_t supervisor)
{
	g_autofree char *file = lab_paths_blade_data(spec->name, blade->number, "bmc/" BMC_FILE);
	const char *const arguments[] = {"ipmi_sim", "-c", file, NULL};

	return blade->bmc == CONFIG_BMC_REDFISH
		       ? lab_process_in_role(supervisor, "redfish", spec->name, blade->number)
		       : lab_process_find(supervisor, arguments);
}

static void add_blade(json_t *object, const struct lab_spec *spec, uint32_t index, pid_t supervisor,
		      pid_t fabric)
{
	const struct lab_spec_blade *blade = &spec->blades[index];
	g_autofree char *watts = lab_paths_blade_run(spec->name, blade->number, "watts");
	g_autofree char *address = lab_blade_files_address(blade);

	json_object_set_new(object, "address", json_string(address));
	json_object_set_new(object, "cpu_cores", json_real(blade->cpu_cores));
	json_object_set_new(object, "watts", number_json(watts));
	json_object_set_new(object, "blade_pid",
			    pid_json(fabric > 0 ? lab_process_in_role(fabric, "blade", spec->name,
								      blade->number)
						: 0));
	json_object_set_new(object, "bmc_pid",
			    pid_json(supervisor > 0 ? bmc_pid(spec, blade, supervisor) : 0));
	json_object_set_new(object, "libvirt", json_false());
	json_object_set_new(object, "domains", json_null());
}

static void add_answers(json_t *blades, const struct lab_spec *spec)
{
	g_autoptr(GAsyncQueue) answers = lab_peers_ask_libvirts(spec->name, spec->blades_count, 0);

	for (uint32_t i = 0; i < spec->blades_count; i++) {
		g_autoptr(lab_peers_answer_t) answer =
			g_async_queue_timeout_pop(answers, ANSWER_TIMEOUT_S * G_USEC_PER_SEC);
		json_t *object;

		if (!answer)
			return;
		object = json_array_get(blades, answer->number - 1);
		json_object_set_new(object, "libvirt", json_boolean(answer->answered));
		if (answer->domains >= 0)
			json_object_set_new(object, "domains", json_integer(answer->domains));
	}
}

/*
 * The document of the record, with blades in the order of the spec; or a document without blades.
 */
static json_t *base(const char *name)
{
	g_autofree char *path = lab_state_file(name);
	g_autofree char *text = NULL;
	gsize length;
	json_t *document = NULL;

	if (g_file_get_contents(path, &text, &length, NULL))
		document = json_parse(text, length, path, NULL);
	if (!json_is_object(document) || !json_is_array(json_object_get(document, "blades"))) {
		json_decref(document);
		document = json_pack("{s:s, s:[]}", "name", name, "blades");
	}
	return document;
}

json_t *lab_status(const char *name)
{
	struct lab_state_process supervisor = lab_record_supervisor(name);
	g_autoptr(lab_spec_t) spec = lab_spec_load(name, NULL);
	g_autofree char *pace = lab_paths_run(name, LAB_COMPENSATION_FILE);
	json_t *document = base(name);
	json_t *blades = json_object_get(document, "blades");
	pid_t fabric =
		supervisor.pid > 0 ? lab_process_in_role(supervisor.pid, "fabric", name, 0) : 0;

	json_object_set_new(document, "state", json_string(state_name(name, supervisor)));
	json_object_set_new(document, "pid", pid_json(supervisor.pid));
	json_object_set_new(document, "fabric_pid", pid_json(fabric));
	json_object_set_new(document, "pace", number_json(pace));
	if (!spec || spec->blades_count != json_array_size(blades))
		return document;
	for (uint32_t i = 0; i < spec->blades_count; i++)
		add_blade(json_array_get(blades, i), spec, i, supervisor.pid, fabric);
	if (supervisor.pid > 0)
		add_answers(blades, spec);
	return document;
}

char **lab_list(void)
{
	g_autoptr(GStrvBuilder) names = g_strv_builder_new();
	g_autoptr(GDir) dir = g_dir_open(LAB_STATE_ROOT, 0, NULL);
	const char *name;

	while (dir && (name = g_dir_read_name(dir)))
		if (lab_state_name_ok(name))
			g_strv_builder_add(names, name);
	return g_strv_builder_end(names);
}
