/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/lab_state.h"

#include <string.h>

#include "common/clock.h"
#include "common/error_fail.h"
#include "common/json.h"
#include "common/read_number.h"

G_DEFINE_QUARK(virtbed_lab_state, lab_state_error)

bool lab_state_name_ok(const char *name)
{
	gsize length = strspn(name, G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "_-");

	return length >= 1 && length <= 40 && name[length] == '\0' && name[0] != '-';
}

char *lab_state_file(const char *name)
{
	return g_build_filename(LAB_STATE_ROOT, name, "lab.json", NULL);
}

bool lab_state_read_metronome(const char *lab, struct lab_state_metronome *ret_metronome)
{
	g_autofree char *path =
		g_build_filename(LAB_STATE_ROOT, lab, LAB_STATE_METRONOME_FILE, NULL);
	g_autofree char *text = NULL;
	const char *after;
	uint64_t rounds;

	if (!g_file_get_contents(path, &text, NULL, NULL))
		return false;
	after = read_number_front_unsigned(text, &rounds);
	if (!after || *after != ' ' ||
	    !read_number_front_unsigned(after + 1, &ret_metronome->cpu_ns))
		return false;
	ret_metronome->rounds = (uint32_t)rounds;
	return true;
}

/*
 * Reads a process's state (a letter, proc_pid_stat(5)) and start; false if there is no process. The
 * second field is the program's name in brackets, which may hold any character.
 */
static bool read_stat(pid_t pid, char *ret_state, uint64_t *ret_ticks)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/stat", (int)pid);
	g_autofree char *text = NULL;
	g_auto(GStrv) fields = NULL;
	const char *after;

	if (pid <= 0 || !g_file_get_contents(path, &text, NULL, NULL))
		return false;
	after = strrchr(text, ')');
	/* element 1 is field 3, element 20 field 22 */
	fields = g_strsplit(after ? after + 1 : "", " ", 22);
	if (g_strv_length(fields) < 21)
		return false;
	*ret_state = fields[1][0];
	return read_number_unsigned(fields[20], 0, UINT64_MAX, ret_ticks);
}

uint64_t lab_state_start_ticks(pid_t pid)
{
	uint64_t ticks = 0;
	char state;

	return read_stat(pid, &state, &ticks) ? ticks : 0;
}

bool lab_state_process_alive(struct lab_state_process process)
{
	uint64_t ticks;
	char state;

	return process.start_ticks > 0 && read_stat(process.pid, &state, &ticks) &&
	       ticks == process.start_ticks && state != 'Z' && state != 'X';
}

static json_t *read_document(const char *path, GError **error)
{
	g_autoptr(GError) cause = NULL;
	g_autofree char *text = NULL;
	gsize length;
	json_t *document;

	if (!g_file_get_contents(path, &text, &length, &cause)) {
		if (g_error_matches(cause, G_FILE_ERROR, G_FILE_ERROR_NOENT))
			g_set_error(error, LAB_STATE_ERROR, LAB_STATE_ERROR_DOWN,
				    "the lab is not up (no \"%s\"); start it with `virtbed lab up`",
				    path);
		else
			g_set_error(error, LAB_STATE_ERROR, LAB_STATE_ERROR_DOWN,
				    "the lab's state cannot be read: %s", cause->message);
		return NULL;
	}
	document = json_parse(text, length, path, &cause);
	if (!document)
		g_set_error_literal(error, LAB_STATE_ERROR, LAB_STATE_ERROR_BROKEN, cause->message);
	return document;
}

/* Replaces `text` by the string at `key`. */
static bool take_text(const json_t *object, const char *key, const char *what, char **text,
		      GError **error)
{
	const char *given;

	if (!json_get_string(object, key, what, &given, error))
		return false;
	g_free(*text);
	*text = g_strdup(given);
	return true;
}

/* Takes the sensor that `bmc` names to a meter without sensors. */
static bool take_sensor(const json_t *bmc, const char *what, struct config_meter *meter,
			GError **error)
{
	const char *given;

	if (!json_get_string(bmc, "sensor", what, &given, error))
		return false;
	meter->sensor = g_new0(char *, 1);
	meter->sensor[0] = g_strdup(given);
	meter->sensor_count = 1;
	return true;
}

/* Fills in a meter from the "bmc" of a blade; its sampling interval stays. */
static bool read_meter(const json_t *bmc, const char *what, struct config_meter *meter,
		       GError **error)
{
	int64_t port, cipher_suite;

	if (!json_is_object(bmc))
		return error_fail(error, LAB_STATE_ERROR, LAB_STATE_ERROR_BROKEN,
				  "%s: \"bmc\" is missing or not an object", what);
	config_meter_clear(meter);
	if (!(meter->interval_s > 0))
		meter->interval_s = 1;
	if (!take_text(bmc, "address", what, &meter->address, error) ||
	    !json_get_integer(bmc, "port", what, 1, UINT16_MAX, &port, error) ||
	    !take_text(bmc, "user", what, &meter->user, error) ||
	    !take_text(bmc, "password_file", what, &meter->password_file, error))
		return false;
	meter->port = (uint16_t)port;
	if (g_strcmp0(json_string_value(json_object_get(bmc, "kind")), "redfish") == 0) {
		meter->kind = CONFIG_METER_REDFISH;
		return take_text(bmc, "ca_file", what, &meter->ca_file, error);
	}
	meter->kind = CONFIG_METER_IPMI;
	if (!json_get_integer(bmc, "cipher_suite", what, 0, 255, &cipher_suite, error))
		return false;
	meter->cipher_suite = (uint32_t)cipher_suite;
	return take_text(bmc, "privilege", what, &meter->privilege, error) &&
	       take_sensor(bmc, what, meter, error);
}

/* Fills in a host from a blade of lab.json. */
static bool read_blade(const json_t *blade, const char *what, struct config_host *host,
		       GError **error)
{
	/* A lab of an earlier version has none. */
	const char *peer_uri = json_string_value(json_object_get(blade, "peer_uri"));
	const char *name;

	if (!json_get_string(blade, "name", what, &name, error) ||
	    !take_text(blade, "uri", what, &host->uri, error) ||
	    !take_text(blade, "bridge", what, &host->bridge, error))
		return false;
	g_free(host->peer_uri);
	host->peer_uri = g_strdup(peer_uri);
	if (!host->meter)
		host->meter = g_new0(struct config_meter, 1);
	return read_meter(json_object_get(blade, "bmc"), what, host->meter, error);
}

/* Whether every blade of lab.json could fill in a host. */
static bool check_blades(const json_t *blades, const char *path, GError **error)
{
	size_t index;
	json_t *blade;

	json_array_foreach (blades, index, blade) {
		g_autofree char *what = g_strdup_printf("%s: blades[%zu]", path, index);
		struct config_host *host = config_section_new(&config_host_section);
		const bool good = read_blade(blade, what, host, error);

		config_section_free(&config_host_section, host);
		if (!good)
			return false;
	}
	return true;
}

static const json_t *find_blade(const json_t *blades, const char *name)
{
	size_t index;
	json_t *blade;

	json_array_foreach (blades, index, blade)
		if (g_str_equal(json_string_value(json_object_get(blade, "name")), name))
			return blade;
	return NULL;
}

/*
 * Visits the hosts that name a blade: first to check that all blades exist, then, with `change`, to
 * fill them in, so that a failure changes nothing.
 */
static bool each_host(struct config *config, const json_t *blades, const char *path, bool change,
		      GError **error)
{
	for (uint32_t c = 0; c < config->clusters_count; c++) {
		for (uint32_t h = 0; h < config->clusters[c].hosts_count; h++) {
			struct config_host *host = &config->clusters[c].hosts[h];
			const json_t *blade = host->blade ? find_blade(blades, host->blade) : NULL;

			if (host->blade && !blade)
				return error_fail(error, LAB_STATE_ERROR, LAB_STATE_ERROR_BLADE,
						  "%s: the lab has no blade \"%s\", which cluster "
						  "\"%s\" names; take the lab down and up again",
						  path, host->blade, config->clusters[c].name);
			if (blade && change && !read_blade(blade, path, host, error))
				return false;
		}
	}
	return true;
}

static bool names_a_blade(const struct config *config)
{
	for (uint32_t c = 0; c < config->clusters_count; c++)
		if (config_cluster_blades(&config->clusters[c], NULL) > 0)
			return true;
	return false;
}

static bool resolve(struct config *config, const json_t *document, const char *path, GError **error)
{
	g_autoptr(GError) cause = NULL;
	json_t *blades;

	if (!json_get_array(document, "blades", path, &blades, &cause) ||
	    !check_blades(blades, path, &cause))
		return error_fail(error, LAB_STATE_ERROR, LAB_STATE_ERROR_BROKEN, "%s",
				  cause->message);
	return each_host(config, blades, path, false, error) &&
	       each_host(config, blades, path, true, error);
}

bool lab_state_resolve_file(struct config *config, const char *path, GError **error)
{
	g_autoptr(json_t) document = NULL;

	if (!names_a_blade(config))
		return true;
	document = read_document(path, error);
	return document && resolve(config, document, path, error);
}

const char *const lab_state_phase_names[] = {"none", "starting", "up", NULL};

static struct lab_state parse_state(const json_t *document)
{
	g_autofree char *boot_id = clock_boot_id();
	const char *booted = json_string_value(json_object_get(document, "boot_id"));
	struct lab_state state = {.phase = LAB_STATE_NONE};
	const char *phase;
	int64_t pid;
	int64_t ticks;

	if (!booted || !json_get_string(document, "state", "", &phase, NULL))
		return state;
	for (int i = LAB_STATE_STARTING; i <= LAB_STATE_UP; i++)
		if (strcmp(phase, lab_state_phase_names[i]) == 0)
			state.phase = (enum lab_state_phase)i;
	if (g_strcmp0(booted, boot_id) == 0 &&
	    json_get_integer(document, "pid", "", 1, G_MAXINT, &pid, NULL) &&
	    json_get_integer(document, "start_ticks", "", 1, G_MAXINT64, &ticks, NULL))
		state.supervisor = (struct lab_state_process){(pid_t)pid, (uint64_t)ticks};
	return state;
}

struct lab_state lab_state_load(const char *lab)
{
	g_autofree char *path = lab_state_file(lab);
	g_autoptr(json_t) document = read_document(path, NULL);

	return parse_state(document);
}

static bool is_up(struct lab_state state)
{
	return state.phase == LAB_STATE_UP && lab_state_process_alive(state.supervisor);
}

bool lab_state_is_up(const char *lab)
{
	return is_up(lab_state_load(lab));
}

bool lab_state_resolve(struct config *config, const char *lab_name, GError **error)
{
	const char *name = lab_name ? lab_name : config->name;
	g_autofree char *path = NULL;
	g_autoptr(json_t) document = NULL;

	if (!names_a_blade(config))
		return true;
	if (!lab_state_name_ok(name))
		return error_fail(error, LAB_STATE_ERROR, LAB_STATE_ERROR_DOWN,
				  "\"%s\" cannot name a lab: 1 to 40 letters, digits, dashes and "
				  "underscores, the first not a dash",
				  name);
	path = lab_state_file(name);
	document = read_document(path, error);
	if (document && !is_up(parse_state(document)))
		return error_fail(error, LAB_STATE_ERROR, LAB_STATE_ERROR_DOWN,
				  "%s: the lab is not up (it is half started, or it died); start "
				  "it with `virtbed lab up`",
				  path);
	return document && resolve(config, document, path, error);
}
