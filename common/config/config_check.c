/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "common/benchmark.h"
#include "common/config/config_parts.h"
#include "common/config/config_root.h"
#include "common/http_client.h"
#include "common/lab_state.h"

/*
 * The meaning of a configuration. Each rule names the path of the key that breaks it, what is
 * wrong, and what to do. The first broken rule wins: one clear line. The line of a rule begins with
 * the key's path below the section of the rule, or with ":" where the section itself is meant.
 */

/*
 * Puts the path of an entry of a list before what is wrong with it, which it takes over; NULL:
 * nothing is.
 */
static char *entry_line(const char *list, uint32_t index, char *wrong)
{
	g_autofree char *line = wrong;

	return line ? g_strdup_printf("%s[%u]%s%s", list, index, *line == ':' ? "" : ".", line)
		    : NULL;
}

/* Names go into file names, domain names and URLs. */
static char *check_name(const char *key, const char *name)
{
	if (*name && *name != '.' && *name != '-' && strlen(name) <= 40 &&
	    strspn(name, G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "._-") == strlen(name))
		return NULL;
	return g_strdup_printf(
		"%s: '%s' is not a name; use 1 to 40 letters, digits, '.', '_' and '-', "
		"starting with a letter, a digit or '_'",
		key, name);
}

static char *check_host(const struct config *config, const struct config_host *host, bool simulated)
{
	char *wrong = check_name("", host->name) ?: config_host_check(host);

	if (wrong || simulated)
		return wrong;
	if (host->meter && host->meter->kind == CONFIG_METER_SIMULATED)
		return g_strdup(
			"meter.kind: only hosts of a simulated cluster have simulated meters; name another "
			"kind");
	if (!host->uri && !host->blade)
		return g_strdup(": has neither uri nor blade; name one");
	if (host->blade && !(config->lab && CONFIG_FIND(config->lab, blades, host->blade, NULL)))
		return g_strdup_printf("blade: no blade '%s' in lab.blades", host->blade);
	return host->meter ? config_meter_check(host->meter,
						host->uri && config_uri_is_local(host->uri))
			   : NULL;
}

static char *check_scheduler(const struct config *config, const char *address)
{
	g_autoptr(GError) reason = NULL;

	if (!http_client_check_address(address, &reason))
		return g_strdup_printf("local_scheduler: %s", reason->message);
	if (config->tls || !g_str_has_prefix(address, "https:"))
		return NULL;
	return g_strdup(
		"local_scheduler: https needs the section tls: ca, certificate and key, by which daemons know "
		"one another");
}

/* Hosts that tasks share: policies see one cluster, and every host has the same room. */
static char *check_shared(const struct config *config, const struct config_cluster *cluster)
{
	if (config->clusters_count > 1 || config->is_drawn)
		return g_strdup(
			"shared: hosts are shared in the only cluster of a configuration without environment; "
			"leave out the rest");
	if (cluster->hosts_count == 0 || cluster->nodes % cluster->hosts_count != 0)
		return g_strdup_printf(
			"nodes: %u nodes are not the same number on each of %u hosts; shared hosts have "
			"equally many",
			cluster->nodes, cluster->hosts_count);
	if (config_cluster_blades(cluster, NULL) > 0 && cluster->max_mhz == 0)
		return g_strdup(
			"max_mhz: missing; on a shared blade it says what all of its CPU is, which VMs get "
			"shares of");
	return NULL;
}

static char *check_cluster(const struct config *config, const struct config_cluster *cluster)
{
	char *wrong = check_name("name", cluster->name);

	if (wrong)
		return wrong;
	if (cluster->max_mhz > 0 && cluster->base_mhz == 0)
		return g_strdup("base_mhz: missing; max_mhz is a share of it");
	if (cluster->max_mhz > cluster->base_mhz)
		return g_strdup_printf("max_mhz: %u MHz is above base_mhz, %u "
				       "MHz",
				       cluster->max_mhz, cluster->base_mhz);
	if (cluster->local_scheduler)
		wrong = check_scheduler(config, cluster->local_scheduler);
	/* Names of idle states as the kernel has them: POLL, C1, C1E, C7s, C10, C6-SKX, C1_ACPI. */
	if (!wrong && cluster->max_cstate &&
	    !g_regex_match_simple("^(POLL|C[0-9]{1,2}[A-Za-z]?([-_][A-Za-z0-9]+)?)$",
				  cluster->max_cstate, G_REGEX_DOLLAR_ENDONLY, 0))
		wrong = g_strdup_printf("max_cstate: '%s' is no idle state; write e.g. C1, C1E or "
					"C6",
					cluster->max_cstate);
	for (uint32_t h = 0; !wrong && h < cluster->hosts_count; h++)
		wrong = entry_line("hosts", h,
				   check_host(config, &cluster->hosts[h], cluster->simulated));
	if (!wrong && cluster->simulated)
		wrong = config_cluster_check_simulated(cluster);
	return !wrong && cluster->shared ? check_shared(config, cluster) : wrong;
}

/* How wide a type is, and what runs. */
static char *check_benchmark(const struct config_type *type)
{
	const struct benchmark *benchmark = benchmark_find(type->benchmark);
	const bool script = config_type_is_script(type);
	g_autofree char *names = benchmark ? NULL : benchmark_names();

	if (!benchmark)
		return g_strdup_printf("benchmark: '%s' is not known; there are %s",
				       type->benchmark, names);
	if (type->nodes_max > 0)
		return g_strdup_printf(
			"nodes_max: %u; give a script's type `nodes` and a higher number up to %d, "
			"and %d types in all",
			type->nodes_max, BENCHMARK_RANKS_MAX, CONFIG_TYPES_MAX);
	if (type->nodes > 0 && !script)
		return g_strdup("nodes: for scripts only; give a benchmark its cores");
	if (type->nodes > 0 && type->cores > 0)
		return g_strdup(": cores and nodes; give one of them");
	if (type->nodes == 0 && (type->cores == 0 || type->cores > BENCHMARK_RANKS_MAX))
		return g_strdup_printf("cores: %u cores; give a task 1 to %d%s", type->cores,
				       BENCHMARK_RANKS_MAX, script ? ", or nodes" : "");
	if (benchmark->power_of_two && (type->cores & (type->cores - 1)) != 0)
		return g_strdup_printf(
			"cores: %s runs on a power of two of ranks, not on %u; give e.g. %u",
			benchmark->name, type->cores, 1U << g_bit_storage(type->cores));
	if (script && !(isfinite(type->time_s) && type->time_s > 0))
		return g_strdup("time_s: give the longest that scripts of this type may run");
	if (script && type->share > 0)
		return g_strdup("share: people bring scripts along; give 0");
	if (!script && type->time_s != 0)
		return g_strdup("time_s: of no use for a benchmark; leave it out");
	if (!type->class_ && !script)
		return g_strdup("class: missing; give S, W, A, B or C");
	if (type->class_ && !(strlen(type->class_) == 1 && strchr("SWABC", type->class_[0])))
		return g_strdup_printf("class: '%s' is not one of S, W, A, B, C", type->class_);
	return NULL;
}

static char *check_type(const struct config *config, const struct config_type *type)
{
	const struct config_workload *workload = config->workload;
	/* What the type does not say is the workload's, which is checked with the rest of it. */
	const double until = type->constant_until ?: workload ? workload->constant_until : 0;
	const double zero = type->zero_at ?: workload ? workload->zero_at : 0;
	char *wrong = check_name("name", type->name) ?: check_benchmark(type);

	if (wrong)
		return wrong;
	if ((type->constant_until != 0 || type->zero_at != 0) && zero < until)
		return g_strdup_printf(
			"zero_at: %g is below constant_until, %g: utility would rise", zero, until);
	for (uint32_t c = 0; c < config->clusters_count; c++)
		if (config_type_fits(type, &config->clusters[c]))
			return NULL;
	return g_strdup_printf(
		": type '%s' (%u %s, %" G_GUINT64_FORMAT
		" MiB) fits no cluster; give a cluster more "
		"nodes, memory_mib or swap_mib, or where hosts are shared the type a lower cpu_need",
		type->name, type->nodes ?: type->cores, type->nodes > 0 ? "nodes" : "cores",
		type->memory_mib);
}

/* Those of clusters, types and blades differ by their rows. */
static char *check_host_names(const struct config *config)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);

	for (uint32_t c = 0; c < config->clusters_count; c++)
		for (uint32_t h = 0; h < config->clusters[c].hosts_count; h++) {
			const struct config_host *host = &config->clusters[c].hosts[h];

			/* Without a name it has that of its blade. */
			if (!g_hash_table_add(seen, host->name))
				return g_strdup_printf(
					"clusters[%u].hosts[%u].%s: '%s' appears twice", c, h,
					g_strcmp0(host->blade, host->name) ? "name" : "blade",
					host->name);
		}
	return NULL;
}

/* Whether there are such a type (NULL: none is named) and such a cluster. */
static char *check_pair(const struct config *config, const char *type, const char *cluster)
{
	if (type && !config_type_find(config, type))
		return g_strdup_printf("type: no type '%s' in types", type);
	if (!config_cluster_find(config, cluster))
		return g_strdup_printf("cluster: no cluster '%s' in clusters", cluster);
	return NULL;
}

static char *check_estimate(const struct config *config, const struct config_estimate *estimate)
{
	char *wrong = check_pair(config, estimate->type, estimate->cluster);

	if (wrong)
		return wrong;
	if (!config_type_fits(config_type_find(config, estimate->type),
			      config_cluster_find(config, estimate->cluster)))
		return g_strdup_printf(
			": type '%s' does not fit cluster '%s'; leave the entry out, or give the "
			"cluster more memory",
			estimate->type, estimate->cluster);
	if (config_estimate(config, estimate->type, estimate->cluster) != estimate)
		return g_strdup_printf(": '%s' on '%s' appears twice", estimate->type,
				       estimate->cluster);
	return NULL;
}

static char *check_unmeasured(const struct config *config, const struct config_unmeasured *entry)
{
	char *wrong = check_pair(config, entry->type, entry->cluster);

	if (wrong)
		return wrong;
	if (config_unmeasured(config, entry->type, entry->cluster) != entry)
		return g_strdup_printf(": '%s' on '%s' appears twice", entry->type, entry->cluster);
	if (config_estimate(config, entry->type, entry->cluster))
		return g_strdup_printf(
			": '%s' on '%s' has an entry in estimates as well; leave out one of them",
			entry->type, entry->cluster);
	return NULL;
}

/* What arrives, and what it takes. */
static char *check_estimates(const struct config *config)
{
	char *wrong = NULL;
	double etc_s, eec_j, sum = 0;

	for (uint32_t t = 0; t < config->types_count; t++)
		sum += config->types[t].share;
	if (!(fabs(sum - 1) <= 1e-6))
		return g_strdup_printf("types: the shares sum to %g; they must sum to 1", sum);
	for (uint32_t i = 0; !wrong && i < config->estimates_count; i++)
		wrong = entry_line("estimates", i, check_estimate(config, &config->estimates[i]));
	for (uint32_t i = 0; !wrong && i < config->unmeasured_count; i++)
		wrong = entry_line("unmeasured", i,
				   check_unmeasured(config, &config->unmeasured[i]));
	for (uint32_t t = 0; !wrong && config->estimates_count > 0 && t < config->types_count; t++)
		for (uint32_t c = 0; !wrong && c < config->clusters_count; c++) {
			const struct config_type *type = &config->types[t];
			const struct config_cluster *cluster = &config->clusters[c];

			if (config_type_fits(type, cluster) &&
			    !config_is_hole(config, type, cluster) &&
			    !config_expectation(config, type, cluster, &etc_s, &eec_j))
				wrong = g_strdup_printf(
					"estimates: no entry for type '%s' on cluster '%s'; add one, "
					"or let `virtbed profile` measure "
					"it",
					type->name, cluster->name);
		}
	return wrong;
}

static char *check_overhead(const struct config *config, const struct config_overhead *overhead)
{
	char *wrong = check_pair(config, NULL, overhead->cluster);

	if (!wrong && overhead->keep && !g_str_equal(overhead->keep, "memory") &&
	    !g_str_equal(overhead->keep, "disk"))
		wrong = g_strdup_printf("keep: '%s' is neither memory nor disk", overhead->keep);
	return wrong;
}

static char *check_interval(const char *section, double interval_s)
{
	return interval_s > 0 && interval_s < CONFIG_MAPPING_INTERVAL_MIN_S
		       ? g_strdup_printf("%s.mapping_interval_s: %g s is below %g s", section,
					 interval_s, CONFIG_MAPPING_INTERVAL_MIN_S)
		       : NULL;
}

static char *check_intervals(const struct config *config)
{
	return check_interval("experiment", config->experiment->mapping_interval_s)
		       ?: (config->service
				   ? check_interval("service", config->service->mapping_interval_s)
				   : NULL);
}

/* The first broken rule of the whole file, or NULL. */
static char *find_wrong(const struct config *config)
{
	const struct config_experiment *experiment = config->experiment;
	struct config_root root;
	char *wrong = check_name("name", config->name);

	if (wrong)
		return wrong;
	if (config->lab && !lab_state_name_ok(config->name))
		return g_strdup_printf(
			"name: '%s' cannot name a lab; use letters, digits, '_' and '-' "
			"only",
			config->name);
	if (config->clusters_count == 0)
		return g_strdup("clusters: empty; give at least one cluster");
	if (!config->workload && (!config->is_drawn || config->served))
		return g_strdup("workload: missing; give a workload or an environment");
	if (config->types_count == 0 && !config->is_drawn)
		return g_strdup("types: empty; give at least one task type");
	wrong = config_section_check(config_root_init(config->served, &root), "", config);
	for (uint32_t c = 0; !wrong && c < config->clusters_count; c++) {
		wrong = entry_line("clusters", c, check_cluster(config, &config->clusters[c]));
		if (!wrong && config->clusters[c].shared &&
		    (experiment->limits_count != 1 || experiment->limits[0] < 1))
			wrong = g_strdup(
				"experiment.limits: shared hosts have no energy limit; give [1]");
	}
	for (uint32_t t = 0; !wrong && t < config->types_count; t++)
		wrong = entry_line("types", t, check_type(config, &config->types[t]));
	wrong = wrong ?: check_host_names(config);
	if (!wrong && config->is_drawn && config_times_follow(config))
		wrong = g_strdup_printf("%s: an environment has times of its own; leave out load, "
					"experiment.mapping_interval and experiment.duration",
					config->workload && config->workload->load > 0
						? "workload.load"
					: config->experiment->mapping_interval > 0
						? "experiment.mapping_interval"
						: "experiment.duration");
	if (!wrong && config->served)
		wrong = config->served->check(config);
	if (!wrong && !config->is_drawn)
		wrong = check_estimates(config);
	for (uint32_t i = 0; !wrong && i < config->overheads_count; i++)
		wrong = entry_line("overheads", i, check_overhead(config, &config->overheads[i]));
	if (!wrong && config->workload)
		wrong = config_workload_check(config);
	wrong = wrong ?: config_experiment_check(experiment);
	if (!wrong && config->workload)
		wrong = config_times_check(config);
	return wrong ?: config_service_check(config) ?: config_size_check(config)
		     ?: config_lab_check(config) ?: check_intervals(config);
}

bool config_check(const struct config *config, const char *path, GError **error)
{
	g_autofree char *wrong = find_wrong(config);
	g_autofree char *key = wrong ? g_strndup(wrong, strcspn(wrong, ":")) : NULL;
	const char *source = key ? config_times_source(config, key) : NULL;

	if (wrong && source == key)
		g_set_error(error, CONFIG_ERROR, CONFIG_ERROR_MEANING, "%s: %s", path, wrong);
	else if (wrong)
		g_set_error(error, CONFIG_ERROR, CONFIG_ERROR_MEANING,
			    "%s: %s: %s follows from it: %s", path, source, key,
			    wrong + strlen(key) + 2);
	return !wrong;
}
