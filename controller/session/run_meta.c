/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/session/run_meta.h"

#include <float.h>
#include <inttypes.h>

#include "common/host_facts.h"
#include "common/json.h"
#include "common/machine_probe.h"
#include "common/platform.h"
#include "common/read_file.h"
#include "common/read_number.h"
#include "common/version/build_version.h"
#include "controller/run/run_paths.h"
#include "controller/session/run_session_private.h"

/* A capability as text: a string as it is, a boolean as "true" or "false"; "unknown" when absent.
 */
static const char *capability_text(const json_t *capabilities, const char *key)
{
	const json_t *value = json_object_get(capabilities, key);

	if (json_is_boolean(value))
		return json_is_true(value) ? "true" : "false";
	return json_string_value(value) ?: "unknown";
}

char *run_meta_common(const struct run_session *session, const char *capability)
{
	const char *common = NULL;

	for (uint32_t i = 0; i < session->config->clusters_count; i++) {
		const struct remote_link *link = remote_fleet_link(session->fleet, i);
		const char *text = capability_text(remote_link_capabilities(link), capability);

		if (!remote_link_capabilities(link))
			/* a service continues without local schedulers that do not answer */
			continue;
		if (common && !g_str_equal(common, text))
			return g_strdup("mixed");
		common = text;
	}
	return g_strdup(common ?: "unknown");
}

/* With one modelled meter the sum of watts is modelled. */
static const char *modelled_watts(const struct run_session *session)
{
	g_autofree char *common = run_meta_common(session, "modelled_watts");

	return g_str_equal(common, "mixed") || g_str_equal(common, "true") ? "true" : "false";
}

/*
 * Whether the caps of CPU frequency and idle states have their effect: "no" if those of one host do
 * not (now, or earlier in this experiment), else "unknown" if a host's are not known to, else
 * "yes"; "none" if there are no caps.
 */
static const char *caps_effective(const struct run_session *session)
{
	static const char *const order[] = {"none", "yes", "unknown", "no"};
	g_autofree char *before = store_get_meta(session->store, "caps_effective");
	gsize worst = g_strcmp0(before, "no") == 0 ? G_N_ELEMENTS(order) - 1 : 0;

	for (uint32_t i = 0; i < session->config->clusters_count; i++) {
		const struct remote_link *link = remote_fleet_link(session->fleet, i);
		const char *text =
			capability_text(remote_link_capabilities(link), "caps_effective");

		for (gsize k = worst + 1; k < G_N_ELEMENTS(order); k++)
			if (g_str_equal(text, order[k]))
				worst = k;
	}
	return order[worst];
}

/*
 * With one meter of CPU packages alone the sum of watts is of CPU packages, and with one of
 * allotments it is in part of these.
 */
static char *meter_of_all(const struct run_session *session)
{
	static const char *const least[] = {"rapl", "amm"};

	for (gsize k = 0; k < G_N_ELEMENTS(least); k++) {
		for (uint32_t i = 0; i < session->config->clusters_count; i++) {
			const struct remote_link *link = remote_fleet_link(session->fleet, i);
			const json_t *capabilities = remote_link_capabilities(link);

			if (g_str_equal(capability_text(capabilities, "meter"), least[k]))
				return g_strdup(least[k]);
		}
	}
	return run_meta_common(session, "meter");
}

/*
 * The longest time, in seconds, that the readings of a meter are means over, now or earlier in this
 * experiment.
 */
static char *meter_mean_s(const struct run_session *session)
{
	g_autofree char *before = store_get_meta(session->store, "meter_mean_s");
	double longest_s = 0;

	read_number(before, 0, DBL_MAX, &longest_s);
	for (uint32_t i = 0; i < session->config->clusters_count; i++) {
		const json_t *capabilities =
			remote_link_capabilities(remote_fleet_link(session->fleet, i));
		const json_t *mean_s = json_object_get(capabilities, "meter_mean_s");

		longest_s = MAX(longest_s, json_number_value(mean_s));
	}
	return g_strdup_printf("%g", longest_s);
}

/* Whether the readings of a meter are means over a time that is not known, now or earlier. */
static const char *meter_mean_unknown(const struct run_session *session)
{
	g_autofree char *before = store_get_meta(session->store, "meter_mean_unknown");
	bool unknown = g_strcmp0(before, "true") == 0;

	for (uint32_t i = 0; i < session->config->clusters_count; i++)
		unknown |=
			json_is_true(json_object_get(remote_link_capabilities(
							     remote_fleet_link(session->fleet, i)),
						     "meter_mean_unknown"));
	return unknown ? "true" : "false";
}

static bool put_host(struct store *store, GError **error)
{
	g_autoptr(host_facts_t) facts = host_facts_read(NULL);
	g_autofree char *cores = g_strdup_printf("%u", facts->cores);
	g_autofree char *memory = g_strdup_printf("%" G_GUINT64_FORMAT, facts->memory_mib);

	return store_set_meta(store, "host_name", facts->name, error) &&
	       store_set_meta(store, "host_kernel", facts->kernel, error) &&
	       store_set_meta(store, "host_cores", cores, error) &&
	       store_set_meta(store, "host_memory_mib", memory, error) &&
	       store_set_meta(store, "host_cpu", facts->cpu ?: "unknown", error) &&
	       store_set_meta(store, "host_microcode", facts->microcode, error) &&
	       store_set_meta(store, "host_governor", facts->governor ?: "none", error) &&
	       store_set_meta(store, "host_boot_id", facts->boot_id, error);
}

/*
 * The whole capabilities of every local scheduler; of those that do not answer the previous ones.
 */
static bool put_capabilities(const struct run_session *session, GError **error)
{
	g_autoptr(json_t) past = store_get_document(session->store, "capabilities");
	g_autoptr(json_t) all = json_is_object(past) ? json_incref(past) : json_object();
	g_autofree char *text = NULL;

	for (uint32_t i = 0; i < session->config->clusters_count; i++) {
		const struct remote_link *link = remote_fleet_link(session->fleet, i);
		json_t *one = json_copy((json_t *)remote_link_capabilities(link));

		if (!one)
			continue;
		json_object_del(one, "now_ns");
		json_object_set_new(all, session->config->clusters[i].name, one);
	}
	text = json_text(all);
	return store_set_meta(session->store, "capabilities", text, error);
}

static char *cluster_order(const struct config *config)
{
	GString *names = g_string_new(NULL);

	for (uint32_t i = 0; i < config->clusters_count; i++)
		g_string_append_printf(names, "%s%s", i ? "," : "", config->clusters[i].name);
	return g_string_free(names, FALSE);
}

/* Provenance of the experiment itself; a resumed one keeps its beginning. */
static bool put_experiment(const struct run_session *session, GError **error)
{
	struct store *store = session->store;
	const struct config *config = session->config;
	g_autofree char *began = store_get_meta(store, "started_utc");
	g_autofree char *now = platform_utc(session->platform);
	g_autofree char *order = cluster_order(config);
	g_autofree char *repeats = g_strdup_printf("%u", session->plan->repeats);
	g_autofree char *seed =
		g_strdup_printf("%" PRIu64, config->workload ? config->workload->seed : 0);
	g_autofree char *tasks = config->workload ? config_workload_digest(config->workload) : NULL;
	g_autofree char *users = config_workload_users_digest(config);

	return store_set_meta(store, "kind", "measured", error) &&
	       store_set_meta(store, "version", build_version(), error) &&
	       store_set_meta(store, "experiment", session->plan->experiment, error) &&
	       store_set_meta(store, "config_name", config->name, error) &&
	       store_set_meta(store, "started_utc", began ?: now, error) &&
	       store_set_meta(store, "ended_utc", NULL, error) &&
	       store_set_meta(store, "seed", seed, error) &&
	       store_set_meta(store, "tasks_sha256", tasks, error) &&
	       store_set_meta(store, "users_sha256", users, error) &&
	       store_set_meta(store, "repeats", repeats, error) &&
	       store_set_meta(store, "cluster_order", order, error) &&
	       store_set_meta(store, "estimates", session->plan->estimates, error);
}

bool run_meta_end(struct run_session *session, GError **error)
{
	g_autofree char *path = g_build_filename(session->dir, "config.yaml", NULL);
	g_autofree char *text = read_file(path, READ_FILE_SMALL_MAX, NULL, error);
	g_autofree char *now = platform_utc(session->platform);
	/* Some meters know it only after their first readings. */
	g_autofree char *mean_s = meter_mean_s(session);

	return text && store_set_meta(session->store, "meter_mean_s", mean_s, error) &&
	       store_set_meta(session->store, "meter_mean_unknown", meter_mean_unknown(session),
			      error) &&
	       store_set_meta(session->store, "caps_effective", caps_effective(session), error) &&
	       store_set_meta(session->store, "config_yaml", text, error) &&
	       store_set_meta(session->store, "ended_utc", now, error);
}

/* Versions that local schedulers may report. */
static bool put_versions(const struct run_session *session, GError **error)
{
	static const char *const keys[] = {"libvirt", "qemu"};

	for (gsize i = 0; i < G_N_ELEMENTS(keys); i++) {
		g_autofree char *common = run_meta_common(session, keys[i]);

		if (!g_str_equal(common, "unknown") &&
		    !store_set_meta(session->store, keys[i], common, error))
			return false;
	}
	return true;
}

/* Keeps the previous value if the present one is unknown. */
static bool put_common(struct store *store, const char *key, const char *text, GError **error)
{
	g_autofree char *before = g_str_equal(text, "unknown") ? store_get_meta(store, key) : NULL;

	return before || store_set_meta(store, key, text, error);
}

/* Makes a note; the headings of reports say so, too. */
static void note_steady_on_kvm(struct run_session *session, const char *virt_type)
{
	if (config_lab_is_steady(session->config) &&
	    (g_str_equal(virt_type, "kvm") || g_str_equal(virt_type, "mixed")))
		run_session_note(
			session, "steady-kvm",
			"lab.steady follows the speed of QEMU's emulator, and VMs run under KVM: "
			"leave it out of the configuration");
}

/* The text of a file of the run directory without its last newline; NULL if there is none. */
static char *text_of(const struct run_session *session, const char *name)
{
	g_autofree char *path = g_build_filename(session->dir, name, NULL);
	char *text = read_file(path, READ_FILE_SMALL_MAX, NULL, NULL);

	return text ? g_strchomp(text) : NULL;
}

/* Stores what the lab was fitted to, and the result. */
static bool put_fit(const struct run_session *session, GError **error)
{
	g_autofree char *probe = text_of(session, MACHINE_PROBE_FILE);
	g_autofree char *notices = text_of(session, RUN_FIT_FILE);

	return store_set_meta(session->store, "probe", probe, error) &&
	       store_set_meta(session->store, "fitted", notices, error);
}

bool run_meta_write(struct run_session *session, GError **error)
{
	struct store *store = session->store;
	g_autofree char *virt_type = run_meta_common(session, "virt_type");
	g_autofree char *cpu_cap = run_meta_common(session, "cpu_cap");
	g_autofree char *meter = meter_of_all(session);
	g_autofree char *mean_s = meter_mean_s(session);
	const bool steady = config_lab_is_steady(session->config);

	note_steady_on_kvm(session, virt_type);
	return put_experiment(session, error) && put_common(store, "virt_type", virt_type, error) &&
	       put_common(store, "cpu_cap", cpu_cap, error) &&
	       store_set_meta(store, "caps_effective", caps_effective(session), error) &&
	       put_common(store, "meter", meter, error) &&
	       store_set_meta(store, "meter_mean_s", mean_s, error) &&
	       store_set_meta(store, "meter_mean_unknown", meter_mean_unknown(session), error) &&
	       store_set_meta(store, "modelled_watts", modelled_watts(session), error) &&
	       store_set_meta(store, "steady_lab", steady ? "true" : "false", error) &&
	       put_fit(session, error) && put_capabilities(session, error) &&
	       put_versions(session, error) && put_host(store, error);
}
