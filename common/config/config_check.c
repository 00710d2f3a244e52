/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "common/benchmark.h"
#include "common/config/config.h"
#include "common/config/config_parts.h"
#include "common/config/config_root.h"
#include "common/http_client.h"
#include "common/lab_state.h"
#include "common/duplicates.h"

/*
 * The meaning of a configuration. Each rule names the path of the key that breaks it, what is
 * wrong, and what to do. The first broken rule wins: one clear line.
 */

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

/* Takes over what a part found: NULL, or the line. */
static bool part(const struct check *check, char *wrong)
{
	g_autofree char *text = wrong;

	return !text || fail(check, "%s", text);
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

static bool check_host(const struct check *check, const struct config_host *host, bool simulated,
		       const char *key)
{
	g_autofree char *meter = g_strdup_printf("%s.meter", key);
	g_autofree char *wrong = config_host_check(host);

	if (!good_name(check, host->name, key))
		return false;
	if (wrong)
		return fail(check, "%s.%s", key, wrong);
	if (simulated)
		return true;
	if (host->meter && host->meter->kind == CONFIG_METER_SIMULATED)
		return fail(check, "%s.kind: only hosts of a simulated cluster have simulated meters; "
				   "name another kind",
			    meter);
	if (!host->uri && !host->blade)
		return fail(check, "%s: has neither uri nor blade; name one", key);
	if (host->blade && !find_blade(check->config, host->blade))
		return fail(check, "%s.blade: no blade '%s' in lab.blades", key, host->blade);
	return !host->meter || check_meter(check, host, meter);
}

static bool check_scheduler(const struct check *check, const struct config_cluster *cluster,
			    const char *key)
{
	g_autoptr(GError) reason = NULL;

	if (!cluster->local_scheduler)
		return true;
	if (!http_client_check_address(cluster->local_scheduler, &reason))
		return fail(check, "%s.local_scheduler: %s", key, reason->message);
	return check->config->tls || !g_str_has_prefix(cluster->local_scheduler, "https:") ||
	       fail(check, "%s.local_scheduler: https needs the section tls: ca, certificate and "
			   "key, by which daemons know one another", key);
}

/* Names of idle states as the kernel has them: POLL, C1, C1E, C7s, C10, C6-SKX, C1_ACPI. */
static bool check_cstate(const struct check *check, const struct config_cluster *cluster,
			 const char *key)
{
	if (!cluster->max_cstate ||
	    g_regex_match_simple("^(POLL|C[0-9]{1,2}[A-Za-z]?([-_][A-Za-z0-9]+)?)$",
				 cluster->max_cstate, G_REGEX_DOLLAR_ENDONLY, 0))
		return true;
	return fail(check, "%s.max_cstate: '%s' is no idle state; write e.g. C1, C1E or C6", key,
		    cluster->max_cstate);
}

/* Hosts that tasks share: policies see one cluster, and every host has the same room. */
static bool check_shared(const struct check *check, const struct config_cluster *cluster,
			 const char *key)
{
	if (check->config->clusters_count > 1 || check->config->is_drawn)
		return fail(check, "%s.shared: hosts are shared in the only cluster of a configuration "
				   "without environment; leave out the rest",
			    key);
	if (cluster->hosts_count == 0 || cluster->nodes % cluster->hosts_count != 0)
		return fail(check, "%s.nodes: %u nodes are not the same number on each of %u hosts; "
				   "shared hosts have equally many",
			    key, cluster->nodes, cluster->hosts_count);
	if (check->config->experiment && (check->config->experiment->limits_count != 1 ||
					  check->config->experiment->limits[0] < 1))
		return fail(check, "experiment.limits: shared hosts have no energy limit; give [1]");
	for (uint32_t h = 0; h < cluster->hosts_count; h++)
		if (cluster->hosts[h].blade && cluster->max_mhz == 0)
			return fail(check, "%s.max_mhz: missing; on a shared blade it says what all of "
					   "its CPU is, which VMs get shares of",
				    key);
	return true;
}

static bool check_cluster(const struct check *check, const struct config_cluster *cluster,
			  uint32_t index)
{
	g_autofree char *key = g_strdup_printf("clusters[%u]", index);
	g_autofree char *name = g_strdup_printf("%s.name", key);
	g_autofree char *wrong = NULL;

	if (!good_name(check, cluster->name, name))
		return false;
	if (cluster->max_mhz > 0 && cluster->base_mhz == 0)
		return fail(check, "%s.base_mhz: missing; max_mhz is a share of it", key);
	if (cluster->max_mhz > cluster->base_mhz)
		return fail(check, "%s.max_mhz: %u MHz is above base_mhz, %u MHz", key,
			    cluster->max_mhz, cluster->base_mhz);
	if (!check_scheduler(check, cluster, key) || !check_cstate(check, cluster, key))
		return false;
	for (uint32_t h = 0; h < cluster->hosts_count; h++) {
		g_autofree char *host = g_strdup_printf("%s.hosts[%u]", key, h);

		if (!check_host(check, &cluster->hosts[h], cluster->simulated, host))
			return false;
	}
	wrong = cluster->simulated ? config_cluster_check_simulated(cluster) : NULL;
	if (wrong)
		return fail(check, "%s.%s", key, wrong);
	return !cluster->shared || check_shared(check, cluster, key);
}

static bool fits_somewhere(const struct config *config, const struct config_type *type)
{
	for (uint32_t c = 0; c < config->clusters_count; c++)
		if (config_type_fits(type, &config->clusters[c]))
			return true;
	return false;
}

static bool check_nodes(const struct check *check, const struct config_type *type, const char *key)
{
	if (!config_type_is_script(type))
		return fail(check, "%s.nodes: for scripts only; give a benchmark its cores", key);
	if (type->cores > 0)
		return fail(check, "%s: cores and nodes; give one of them", key);
	return true;
}

static bool check_benchmark(const struct check *check, const struct config_type *type,
			    const char *key)
{
	const struct benchmark *benchmark = benchmark_find(type->benchmark);
	g_autofree char *names = NULL;

	if (!benchmark) {
		names = benchmark_names();
		return fail(check, "%s.benchmark: '%s' is not known; there are %s", key,
			    type->benchmark, names);
	}
	if (type->nodes_max > 0)
		return fail(check, "%s.nodes_max: %u; give a script's type `nodes` and a higher number up to %d, "
				   "and %d types in all",
			    key, type->nodes_max, BENCHMARK_RANKS_MAX, CONFIG_TYPES_MAX);
	if (type->nodes > 0)
		return check_nodes(check, type, key);
	if (type->cores == 0 || type->cores > BENCHMARK_RANKS_MAX)
		return fail(check, "%s.cores: %u cores; give a task 1 to %d%s", key, type->cores,
			    BENCHMARK_RANKS_MAX, benchmark->script ? ", or nodes" : "");
	if (benchmark->power_of_two && (type->cores & (type->cores - 1)) != 0)
		return fail(check,
			    "%s.cores: %s runs on a power of two of ranks, not on %u; give e.g. %u",
			    key, benchmark->name, type->cores, 1U << g_bit_storage(type->cores));
	return true;
}

/* What the type does not say is the workload's, which is checked with the rest of it. */
static bool check_type_utility(const struct check *check, const struct config_type *type,
			       const char *key)
{
	const struct config_workload *workload = check->config->workload;
	double until = type->constant_until;
	double zero = type->zero_at;

	if (workload && until == 0)
		until = workload->constant_until;
	if (workload && zero == 0)
		zero = workload->zero_at;
	return (type->constant_until == 0 && type->zero_at == 0) || zero >= until ||
	       fail(check, "%s.zero_at: %g is below constant_until, %g: utility would rise", key,
		    zero, until);
}

/* What only scripts have, and what only they do not need. */
static bool check_script(const struct check *check, const struct config_type *type, const char *key)
{
	const bool script = config_type_is_script(type);

	if (script && !(isfinite(type->time_s) && type->time_s > 0))
		return fail(check, "%s.time_s: give the longest that scripts of this type may run",
			    key);
	if (script && type->share > 0)
		return fail(check, "%s.share: people bring scripts along; give 0", key);
	if (!script && type->time_s != 0)
		return fail(check, "%s.time_s: of no use for a benchmark; leave it out", key);
	if (!type->class_ && !script)
		return fail(check, "%s.class: missing; give S, W, A, B or C", key);
	return !type->class_ || (strlen(type->class_) == 1 && strchr("SWABC", type->class_[0])) ||
	       fail(check, "%s.class: '%s' is not one of S, W, A, B, C", key, type->class_);
}

static bool check_type(const struct check *check, const struct config_type *type, uint32_t index)
{
	g_autofree char *key = g_strdup_printf("types[%u]", index);
	g_autofree char *name = g_strdup_printf("%s.name", key);

	if (!good_name(check, type->name, name) || !check_benchmark(check, type, key))
		return false;
	if (!check_script(check, type, key))
		return false;
	if (!check_type_utility(check, type, key))
		return false;
	if (!fits_somewhere(check->config, type))
		return fail(check,
			    "%s: type '%s' (%u %s, %" G_GUINT64_FORMAT
			    " MiB) fits no cluster; give a cluster more nodes, memory_mib or "
			    "swap_mib, or where hosts are shared the type a lower cpu_need",
			    key, type->name, type->nodes ?: type->cores,
			    type->nodes > 0 ? "nodes" : "cores", type->memory_mib);
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

static bool check_estimate(const struct check *check, const struct config_estimate *estimate,
			   uint32_t index)
{
	const struct config_cluster *cluster = config_cluster_find(check->config, estimate->cluster);
	const struct config_type *type = config_type_find(check->config, estimate->type);

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
	return true;
}

static bool check_unmeasured(const struct check *check, uint32_t index)
{
	const struct config *config = check->config;
	const struct config_unmeasured *entry = &config->unmeasured[index];

	if (!config_type_find(config, entry->type))
		return fail(check, "unmeasured[%u].type: no type '%s' in types", index, entry->type);
	if (!config_cluster_find(config, entry->cluster))
		return fail(check, "unmeasured[%u].cluster: no cluster '%s' in clusters", index,
			    entry->cluster);
	if (config_unmeasured(config, entry->type, entry->cluster) != entry)
		return fail(check, "unmeasured[%u]: '%s' on '%s' appears twice", index,
			    entry->type, entry->cluster);
	return !config_estimate(config, entry->type, entry->cluster) ||
	       fail(check, "unmeasured[%u]: '%s' on '%s' has an entry in estimates as well; leave "
			   "out one of them",
		    index, entry->type, entry->cluster);
}

static bool check_estimates(const struct check *check)
{
	const struct config *config = check->config;
	double etc_s;
	double eec_j;

	for (uint32_t i = 0; i < config->estimates_count; i++)
		if (!check_estimate(check, &config->estimates[i], i))
			return false;
	for (uint32_t i = 0; i < config->unmeasured_count; i++)
		if (!check_unmeasured(check, i))
			return false;
	if (config->estimates_count == 0)
		return true;
	for (uint32_t t = 0; t < config->types_count; t++)
		for (uint32_t c = 0; c < config->clusters_count; c++)
			if (config_type_fits(&config->types[t], &config->clusters[c]) &&
			    !config_is_hole(config, &config->types[t], &config->clusters[c]) &&
			    !config_expectation(config, &config->types[t], &config->clusters[c],
						&etc_s, &eec_j))
				return fail(check,
					    "estimates: no entry for type '%s' on cluster '%s'; "
					    "add one, or let `virtbed profile` measure it",
					    config->types[t].name, config->clusters[c].name);
	return true;
}

static bool check_overhead(const struct check *check, const struct config_overhead *overhead,
			   uint32_t index)
{
	if (!config_cluster_find(check->config, overhead->cluster))
		return fail(check, "overheads[%u].cluster: no cluster '%s' in clusters", index,
			    overhead->cluster);
	return !overhead->keep || g_str_equal(overhead->keep, "memory") || g_str_equal(overhead->keep, "disk") ||
	       fail(check, "overheads[%u].keep: '%s' is neither memory nor disk", index, overhead->keep);
}

static bool check_overheads(const struct check *check)
{
	for (uint32_t i = 0; i < check->config->overheads_count; i++)
		if (!check_overhead(check, &check->config->overheads[i], i))
			return false;
	return true;
}

/* The rules of the whole file and of the sections that it needs. */
static bool check_sections(const struct check *check)
{
	const struct config *config = check->config;

	for (uint32_t c = 0; c < config->clusters_count; c++)
		if (!check_cluster(check, &config->clusters[c], c))
			return false;
	for (uint32_t t = 0; t < config->types_count; t++)
		if (!check_type(check, &config->types[t], t))
			return false;
	if (!check_names_differ(check) || (config->served && !part(check, config->served->check(config))))
		return false;
	if (!config->is_drawn && (!check_shares(check) || !check_estimates(check)))
		return false;
	return check_overheads(check) &&
	       (!config->workload || part(check, config_workload_check(config->workload))) &&
	       part(check, config_experiment_check(config->experiment)) &&
	       (!config->workload || part(check, config_times_check(config))) &&
	       part(check, config_service_check(config)) && part(check, config_size_check(config)) &&
	       part(check, config_lab_check(config));
}

bool config_check(const struct config *config, const char *path, GError **error)
{
	const struct check check = { config, path, error };
	struct config_root root;

	config_root_init(config->served, &root);
	if (!good_name(&check, config->name, "name"))
		return false;
	if (config->lab && !lab_state_name_ok(config->name))
		return fail(&check, "name: '%s' cannot name a lab; use letters, digits, '_' and "
				    "'-' only",
			    config->name);
	if (config->clusters_count == 0)
		return fail(&check, "clusters: empty; give at least one cluster");
	if (!config->workload && (!config->is_drawn || config->served))
		return fail(&check, "workload: missing; give a workload or an environment");
	if (config->types_count == 0 && !config->is_drawn)
		return fail(&check, "types: empty; give at least one task type");
	return part(&check, config_section_check(&root.section, "", config)) && check_sections(&check);
}
