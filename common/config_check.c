/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "common/config.h"

/*
 * The meaning of a configuration. Each rule names the path of the key that breaks it, what is
 * wrong, and what to do. The first broken rule wins: one clear line.
 */

/* Guests, quotas and emulator threads of a lab may use this share of the host, the rest is ours. */
#define LAB_HOST_SHARE 0.8

struct check {
	const struct config *config;
	const char *path;
	GError **error;
};

static bool G_GNUC_PRINTF(2, 3) fail(const struct check *check, const char *format, ...)
{
	g_autofree char *message = NULL;
	va_list arguments;

	va_start(arguments, format);
	message = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	g_set_error(check->error, CONFIG_ERROR, CONFIG_ERROR_MEANING, "%s: %s", check->path,
		    message);
	return false;
}

static bool positive(const struct check *check, double value, const char *key)
{
	if (isfinite(value) && value > 0)
		return true;
	return fail(check, "%s: %g is not a positive number", key, value);
}

static bool not_negative(const struct check *check, double value, const char *key)
{
	if (isfinite(value) && value >= 0)
		return true;
	return fail(check, "%s: %g is negative or not a number", key, value);
}

/* Names go into file names, domain names and URLs. */
static bool good_name(const struct check *check, const char *name, const char *key)
{
	if (name[0] != '\0' && name[0] != '.' && name[0] != '-' && strlen(name) <= 40 &&
	    strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
		    strlen(name))
		return true;
	return fail(check,
		    "%s: '%s' is not a name; use 1 to 40 letters, digits, '.', '_' and '-', "
		    "starting with a letter, a digit or '_'",
		    key, name);
}

static const struct config_blade *find_blade(const struct config *config, const char *name)
{
	if (!config->lab)
		return NULL;
	for (uint32_t b = 0; b < config->lab->blades_count; b++)
		if (g_str_equal(config->lab->blades[b].name, name))
			return &config->lab->blades[b];
	return NULL;
}

static bool check_meter(const struct check *check, const struct config_host *host,
			const char *key)
{
	const bool local = host->uri && config_uri_is_local(host->uri);
	g_autofree char *wrong = config_meter_check(host->meter, local);

	return !wrong || fail(check, "%s.%s", key, wrong);
}

static bool check_host(const struct check *check, const struct config_host *host, const char *key)
{
	g_autofree char *meter = g_strdup_printf("%s.meter", key);

	if (!good_name(check, host->name, key))
		return false;
	if (!host->uri && !host->blade)
		return fail(check, "%s: has neither uri nor blade; name one", key);
	if (host->blade && !find_blade(check->config, host->blade))
		return fail(check, "%s.blade: no blade '%s' in lab.blades", key, host->blade);
	return !host->meter || check_meter(check, host, meter);
}

static bool check_cluster(const struct check *check, const struct config_cluster *cluster,
			  uint32_t index)
{
	g_autofree char *key = g_strdup_printf("clusters[%u]", index);
	g_autofree char *name = g_strdup_printf("%s.name", key);

	if (!good_name(check, cluster->name, name))
		return false;
	if (cluster->nodes == 0 || cluster->nodes > 65536)
		return fail(check, "%s.nodes: cluster '%s' has %u nodes; give 1 to 65536", key,
			    cluster->name, cluster->nodes);
	if (cluster->cores == 0 || cluster->cores > 1024)
		return fail(check, "%s.cores: %u cores per node; give 1 to 1024", key,
			    cluster->cores);
	if (cluster->memory_mib == 0 || cluster->memory_mib > 64 * 1024 * 1024)
		return fail(check, "%s.memory_mib: %" G_GUINT64_FORMAT " MiB; give 1 to 67108864",
			    key, cluster->memory_mib);
	if (cluster->swap_mib > 64 * 1024 * 1024)
		return fail(check, "%s.swap_mib: %" G_GUINT64_FORMAT " MiB is too much", key,
			    cluster->swap_mib);
	if (cluster->max_mhz > 0 && cluster->base_mhz == 0)
		return fail(check, "%s.base_mhz: missing; max_mhz is a share of it", key);
	if (cluster->max_mhz > cluster->base_mhz)
		return fail(check, "%s.max_mhz: %u MHz is above base_mhz, %u MHz", key,
			    cluster->max_mhz, cluster->base_mhz);
	for (uint32_t h = 0; h < cluster->hosts_count; h++) {
		g_autofree char *host = g_strdup_printf("%s.hosts[%u]", key, h);

		if (!check_host(check, &cluster->hosts[h], host))
			return false;
	}
	return true;
}

static bool fits_somewhere(const struct config *config, const struct config_type *type)
{
	for (uint32_t c = 0; c < config->clusters_count; c++)
		if (config_type_fits(type, &config->clusters[c]))
			return true;
	return false;
}

static bool check_type(const struct check *check, const struct config_type *type, uint32_t index)
{
	g_autofree char *key = g_strdup_printf("types[%u]", index);
	g_autofree char *name = g_strdup_printf("%s.name", key);

	if (!good_name(check, type->name, name))
		return false;
	if (!good_name(check, type->benchmark, key))
		return false;
	if (strlen(type->class_) != 1 || !strchr("SWABC", type->class_[0]))
		return fail(check, "%s.class: '%s' is not one of S, W, A, B, C", key, type->class_);
	if (type->cores == 0)
		return fail(check, "%s.cores: 0 cores; a task needs at least one", key);
	if (!(type->share >= 0 && type->share <= 1))
		return fail(check, "%s.share: %g is outside 0 to 1", key, type->share);
	if (!fits_somewhere(check->config, type))
		return fail(check,
			    "%s: type '%s' (%u cores, %" G_GUINT64_FORMAT
			    " MiB) fits no cluster; give a cluster more nodes, memory_mib or swap_mib",
			    key, type->name, type->cores, type->memory_mib);
	return true;
}

static bool check_names_differ(const struct check *check)
{
	const struct config *config = check->config;
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);

	for (uint32_t c = 0; c < config->clusters_count; c++)
		if (!g_hash_table_add(seen, config->clusters[c].name))
			return fail(check, "clusters[%u].name: '%s' appears twice", c,
				    config->clusters[c].name);
	g_hash_table_remove_all(seen);
	for (uint32_t t = 0; t < config->types_count; t++)
		if (!g_hash_table_add(seen, config->types[t].name))
			return fail(check, "types[%u].name: '%s' appears twice", t,
				    config->types[t].name);
	g_hash_table_remove_all(seen);
	for (uint32_t c = 0; c < config->clusters_count; c++)
		for (uint32_t h = 0; h < config->clusters[c].hosts_count; h++)
			if (!g_hash_table_add(seen, config->clusters[c].hosts[h].name))
				return fail(check,
					    "clusters[%u].hosts[%u].name: '%s' appears twice", c,
					    h, config->clusters[c].hosts[h].name);
	return true;
}

static bool check_shares(const struct check *check)
{
	double sum = 0;

	for (uint32_t t = 0; t < check->config->types_count; t++)
		sum += check->config->types[t].share;
	if (fabs(sum - 1) <= 1e-6)
		return true;
	return fail(check, "types: the shares sum to %g; they must sum to 1", sum);
}

static const struct config_cluster *find_cluster(const struct config *config, const char *name)
{
	for (uint32_t c = 0; c < config->clusters_count; c++)
		if (g_str_equal(config->clusters[c].name, name))
			return &config->clusters[c];
	return NULL;
}

static const struct config_type *find_type(const struct config *config, const char *name)
{
	for (uint32_t t = 0; t < config->types_count; t++)
		if (g_str_equal(config->types[t].name, name))
			return &config->types[t];
	return NULL;
}

static bool check_estimate(const struct check *check, const struct config_estimate *estimate,
			   uint32_t index)
{
	const struct config_cluster *cluster = find_cluster(check->config, estimate->cluster);
	const struct config_type *type = find_type(check->config, estimate->type);
	g_autofree char *etc = g_strdup_printf("estimates[%u].etc_s", index);
	g_autofree char *eec = g_strdup_printf("estimates[%u].eec_j", index);

	if (!type)
		return fail(check, "estimates[%u].type: no type '%s' in types", index,
			    estimate->type);
	if (!cluster)
		return fail(check, "estimates[%u].cluster: no cluster '%s' in clusters", index,
			    estimate->cluster);
	if (!config_type_fits(type, cluster))
		return fail(check,
			    "estimates[%u]: type '%s' does not fit cluster '%s'; leave the entry "
			    "out, or give the cluster more memory",
			    index, type->name, cluster->name);
	if (config_estimate(check->config, estimate->type, estimate->cluster) != estimate)
		return fail(check, "estimates[%u]: '%s' on '%s' appears twice", index,
			    estimate->type, estimate->cluster);
	return positive(check, estimate->etc_s, etc) && not_negative(check, estimate->eec_j, eec);
}

static bool check_estimates(const struct check *check)
{
	const struct config *config = check->config;

	for (uint32_t i = 0; i < config->estimates_count; i++)
		if (!check_estimate(check, &config->estimates[i], i))
			return false;
	if (config->estimates_count == 0)
		return true;
	for (uint32_t t = 0; t < config->types_count; t++)
		for (uint32_t c = 0; c < config->clusters_count; c++)
			if (config_type_fits(&config->types[t], &config->clusters[c]) &&
			    !config_estimate(config, config->types[t].name,
					     config->clusters[c].name))
				return fail(check,
					    "estimates: no entry for type '%s' on cluster '%s'; "
					    "add one, or let `virtbed profile` measure it",
					    config->types[t].name, config->clusters[c].name);
	return true;
}

static bool check_workload(const struct check *check)
{
	const struct config_workload *workload = check->config->workload;

	for (uint32_t i = 0; i < workload->utility_max_count; i++)
		if (workload->utility_max[i] == 0)
			return fail(check, "workload.utility_max[%u]: 0 earns nothing", i);
	if (workload->zero_at < workload->constant_until)
		return fail(check,
			    "workload.zero_at: %g is below constant_until, %g: utility would rise",
			    workload->zero_at, workload->constant_until);
	return positive(check, workload->arrival_mean_s, "workload.arrival_mean_s") &&
	       positive(check, workload->duration_s, "workload.duration_s") &&
	       positive(check, workload->constant_until, "workload.constant_until") &&
	       positive(check, workload->zero_at, "workload.zero_at");
}

static bool check_experiment(const struct check *check)
{
	const struct config_experiment *experiment = check->config->experiment;

	for (uint32_t i = 0; i < experiment->limits_count; i++)
		if (!(experiment->limits[i] > 0 && experiment->limits[i] <= 1))
			return fail(check, "experiment.limits[%u]: %g is outside (0, 1]", i,
				    experiment->limits[i]);
	if (experiment->repeats > 10000)
		return fail(check, "experiment.repeats: %u is more than 10000",
			    experiment->repeats);
	if (experiment->mapping_interval_s > experiment->duration_s)
		return fail(check, "experiment.mapping_interval_s: %g s is longer than duration_s",
			    experiment->mapping_interval_s);
	return positive(check, experiment->mapping_interval_s, "experiment.mapping_interval_s") &&
	       positive(check, experiment->duration_s, "experiment.duration_s") &&
	       not_negative(check, experiment->budget_j, "experiment.budget_j") &&
	       not_negative(check, experiment->baseline_s, "experiment.baseline_s") &&
	       not_negative(check, experiment->task_deadline_s, "experiment.task_deadline_s");
}

/*
 * Host cores that the VMs on `blade` may use under their quotas. A VM's quota covers its emulator
 * threads too (local-sched/cpu), so nothing comes on top. A cluster without max_mhz has no quota
 * that the host could fail to deliver.
 */
static double blade_quota(const struct config *config, const struct config_blade *blade)
{
	double cores = 0;

	for (uint32_t c = 0; c < config->clusters_count; c++) {
		const struct config_cluster *cluster = &config->clusters[c];
		double cap = cluster->max_mhz > 0 ? (double)cluster->max_mhz / cluster->base_mhz : 0;
		uint32_t here = 0;

		for (uint32_t h = 0; h < cluster->hosts_count; h++)
			here += cluster->hosts[h].blade &&
				g_str_equal(cluster->hosts[h].blade, blade->name);
		if (here > 0)
			cores += cap * cluster->cores * cluster->nodes * here /
				 cluster->hosts_count;
	}
	return cores;
}

static bool check_blade(const struct check *check, const struct config_blade *blade,
			uint32_t index, double *sum)
{
	g_autofree char *name = g_strdup_printf("lab.blades[%u].name", index);
	g_autofree char *idle = g_strdup_printf("lab.blades[%u].idle_w", index);
	g_autofree char *core = g_strdup_printf("lab.blades[%u].core_w", index);
	g_autofree char *cpu = g_strdup_printf("lab.blades[%u].cpu_cores", index);
	double quota = blade_quota(check->config, blade);

	if (!good_name(check, blade->name, name) || !positive(check, blade->cpu_cores, cpu) ||
	    !not_negative(check, blade->idle_w, idle) || !not_negative(check, blade->core_w, core))
		return false;
	if (find_blade(check->config, blade->name) != blade)
		return fail(check, "%s: '%s' appears twice", name, blade->name);
	if (quota > blade->cpu_cores + 1e-9)
		return fail(check,
			    "%s: the quotas of its VMs sum to %.2f cores, more than cpu_cores, "
			    "%.2f; lower max_mhz or raise cpu_cores",
			    cpu, quota, blade->cpu_cores);
	*sum += quota;
	return true;
}

static bool check_lab(const struct check *check)
{
	const struct config_lab *lab = check->config->lab;
	double host = (double)sysconf(_SC_NPROCESSORS_ONLN) * LAB_HOST_SHARE;
	double sum = 0;

	if (!lab)
		return true;
	for (uint32_t b = 0; b < lab->blades_count; b++)
		if (!check_blade(check, &lab->blades[b], b, &sum))
			return false;
	if (sum > host + 1e-9)
		return fail(check,
			    "lab.blades: the quotas of all VMs, emulator threads included, sum to "
			    "%.2f cores, more than 80 %% of this machine's %ld; lower max_mhz",
			    sum, sysconf(_SC_NPROCESSORS_ONLN));
	return true;
}

static bool check_environment(const struct check *check)
{
	const struct config_environment *environment = check->config->environment;
	const struct config_experiment *experiment = check->config->experiment;
	const double events = environment->lead_s / experiment->mapping_interval_s;

	if (check->config->types_count > 0 || check->config->estimates_count > 0)
		return fail(check, "types: an environment draws its own; leave types and estimates "
				   "empty");
	if (environment->pstates > 64)
		return fail(check, "environment.pstates: %u is more than 64",
			    environment->pstates);
	if (!(environment->sine_amplitude >= 0 && environment->sine_amplitude <= 1))
		return fail(check, "environment.sine_amplitude: %g is outside 0 to 1",
			    environment->sine_amplitude);
	for (uint32_t i = 0; i < environment->special_count; i++)
		if (!find_cluster(check->config, environment->special[i]))
			return fail(check, "environment.special[%u]: no cluster '%s' in clusters",
				    i, environment->special[i]);
	if (environment->special_count >= check->config->clusters_count)
		return fail(check, "environment.special: leave at least one general cluster");
	if (!(environment->tasks_per_day <= 1e6))
		return fail(check, "environment.tasks_per_day: %g is more than 1000000",
			    environment->tasks_per_day);
	if (environment->lead_s >= experiment->duration_s || events != floor(events))
		return fail(check, "environment.lead_s: %g s must be shorter than "
				   "experiment.duration_s and a multiple of mapping_interval_s",
			    environment->lead_s);
	return positive(check, environment->tasks_per_day, "environment.tasks_per_day") &&
	       not_negative(check, environment->lead_s, "environment.lead_s") &&
	       positive(check, experiment->budget_j, "experiment.budget_j");
}

static bool check_study(const struct check *check)
{
	static const char *const known[] = { "policy", "limit", "leniency", "drop", "size", NULL };
	const struct config_study *study = check->config->study;

	if (!g_strv_contains(known, study->x))
		return fail(check, "study.x: '%s' is none of policy, limit, leniency, drop, size",
			    study->x);
	if (check->config->experiment->limits_count > 1 && !g_str_equal(study->x, "limit"))
		return fail(check, "study.x: '%s' with several experiment.limits; give one of them, "
				   "or x: limit",
			    study->x);
	if (study->sizes_count > 1 && !g_str_equal(study->x, "size"))
		return fail(check, "study.x: '%s' with several study.sizes; give one of them, or x: "
				   "size",
			    study->x);
	if (study->trials > 1000000)
		return fail(check, "study.trials: %u is more than 1000000", study->trials);
	for (uint32_t i = 0; i < study->sizes_count; i++)
		if (!(study->sizes[i] > 0 && study->sizes[i] <= 100))
			return fail(check, "study.sizes[%u]: %g is outside (0, 100]", i,
				    study->sizes[i]);
	return true;
}

bool config_check(const struct config *config, const char *path, GError **error)
{
	const struct check check = { config, path, error };

	if (!good_name(&check, config->name, "name"))
		return false;
	if (config->clusters_count == 0)
		return fail(&check, "clusters: empty; give at least one cluster");
	if (!config->workload)
		return fail(&check, "workload: missing; give a workload or an environment");
	if (config->types_count == 0 && !config->environment)
		return fail(&check, "types: empty; give at least one task type");
	for (uint32_t c = 0; c < config->clusters_count; c++)
		if (!check_cluster(&check, &config->clusters[c], c))
			return false;
	for (uint32_t t = 0; t < config->types_count; t++)
		if (!check_type(&check, &config->types[t], t))
			return false;
	if (!check_study(&check))
		return false;
	if (config->environment)
		return check_names_differ(&check) && check_environment(&check) &&
		       check_workload(&check) && check_experiment(&check);
	return check_names_differ(&check) && check_shares(&check) && check_estimates(&check) &&
	       check_workload(&check) && check_experiment(&check) && check_lab(&check);
}
