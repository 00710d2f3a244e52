/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/config.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "common/benchmark.h"
#include "common/config_parts.h"
#include "common/config_schema.h"
#include "common/config_strict.h"
#include "common/config_yaml.h"
#include "common/read_file.h"

G_DEFINE_QUARK(virtbed-config-error-quark, config_error)

/* Room that a sequence of names must not exceed; keeps a hostile file from eating the memory. */
#define MAX_FILE_BYTES (4 * 1024 * 1024)

static void *allocate(void *context, void *pointer, size_t size)
{
	if (size == 0) {
		g_free(pointer);
		return NULL;
	}
	return g_try_realloc(pointer, size);
}

/* libcyaml reports a failure as one line and then a backtrace with places; both are kept. */
static void G_GNUC_PRINTF(3, 0) collect(cyaml_log_t level, void *context, const char *format,
					va_list arguments)
{
	if (level >= CYAML_LOG_ERROR)
		g_string_append_vprintf(context, format, arguments);
}

static cyaml_config_t reader(GString *log)
{
	return (cyaml_config_t){
		.log_fn = collect,
		.log_ctx = log,
		.log_level = CYAML_LOG_ERROR,
		.mem_fn = allocate,
		.flags = CYAML_CFG_NO_ALIAS,
	};
}

/*
 * Turns libcyaml's log ("Load: Unexpected key: x\nLoad: Backtrace:\n  in mapping (line: 3, column:
 * 5)...") into "PATH:3:5: unexpected key: x".
 */
static void set_syntax_error(GError **error, const char *path, const char *log, cyaml_err_t code)
{
	g_autoptr(GRegex) place = g_regex_new("line: (\\d+), column: (\\d+)", 0, 0, NULL);
	g_autoptr(GMatchInfo) match = NULL;
	g_autofree char *line = NULL;
	g_autofree char *column = NULL;
	g_autofree char *what = NULL;
	const char *end = strchr(log, '\n');

	if (g_regex_match(place, log, 0, &match)) {
		line = g_match_info_fetch(match, 1);
		column = g_match_info_fetch(match, 2);
	}
	if (log[0] != '\0') {
		const char *text = g_str_has_prefix(log, "Load: ") ? log + 6 : log;

		what = end && end > text ? g_strndup(text, (gsize)(end - text)) : g_strdup(text);
	} else {
		what = g_strdup(cyaml_strerror(code));
	}
	what[0] = g_ascii_tolower(what[0]);
	if (line)
		g_set_error(error, CONFIG_ERROR, CONFIG_ERROR_SYNTAX, "%s:%s:%s: %s", path, line,
			    column, what);
	else
		g_set_error(error, CONFIG_ERROR, CONFIG_ERROR_SYNTAX, "%s: %s", path, what);
}

/* Reads by `schema`; `given` as config_strict_check() has it. */
static void *load(const char *path, const cyaml_schema_value_t *schema, GHashTable *given,
		  GError **error)
{
	g_autoptr(GString) log = g_string_new(NULL);
	g_autoptr(GError) reason = NULL;
	gsize length = 0;
	g_autofree char *text = read_file(path, MAX_FILE_BYTES, &length, &reason);
	cyaml_config_t config = reader(log);
	cyaml_data_t *data = NULL;
	cyaml_err_t code;

	if (!text) {
		g_set_error_literal(error, CONFIG_ERROR, CONFIG_ERROR_READ, reason->message);
		return NULL;
	}
	if (length == 0) {
		g_set_error(error, CONFIG_ERROR, CONFIG_ERROR_READ,
			    "%s: is empty; a configuration is YAML text of at most 4 MiB", path);
		return NULL;
	}
	if (!config_strict_check(text, length, path, schema, given, error))
		return NULL;
	code = cyaml_load_data((const uint8_t *)text, length, &config, schema, &data, NULL);
	if (code == CYAML_OK && data)
		return data;
	set_syntax_error(error, path, log->str, code);
	return NULL;
}

static void default_text(char **field, const char *value)
{
	if (!*field)
		*field = g_strdup(value);
}

/* For numbers whose 0 is refused or means that they are absent (config_schema_zero()). */
#define DEFAULT_NUMBER(field, value) \
	do { \
		if ((field) == 0) \
			(field) = (value); \
	} while (0)

static void fill_in_host(struct config_host *host, const char *cluster, uint32_t index)
{
	if (!host->name)
		host->name = host->blade ? g_strdup(host->blade) :
					   g_strdup_printf("%s-%u", cluster, index + 1);
	default_text(&host->bridge, "br0");
	default_text(&host->sys_root, "/sys");
	default_text(&host->dev_root, "/dev");
	if (host->meter)
		config_meter_fill_in(host->meter);
}

#define DEFAULT_GIVEN(key, field, value) \
	do { \
		if (!g_hash_table_contains(given, key)) \
			(field) = (value); \
	} while (0)

/* Serial tasks (Machovec 2017, section IV). They use no energy, so any budget is enough. */
static void fill_in_serial(struct config *config, GHashTable *given)
{
	struct config_serial *serial = config->environment->serial;

	DEFAULT_GIVEN("environment.serial.spread", serial->spread, 0.5);
	DEFAULT_NUMBER(serial->burst, 64);
	DEFAULT_GIVEN("environment.serial.critical_share", serial->critical_share, 0.2);
	DEFAULT_NUMBER(serial->critical_utility, 8);
	DEFAULT_NUMBER(serial->critical_mean_s, 600);
	DEFAULT_NUMBER(serial->ordinary_mean_s, 3000);
	DEFAULT_GIVEN("environment.serial.may_preempt_share", serial->may_preempt_share, 1);
	DEFAULT_GIVEN("environment.serial.preemptible_share", serial->preemptible_share, 1);
	DEFAULT_NUMBER(config->environment->pstates, 1);
	DEFAULT_NUMBER(config->experiment->budget_j, 1);
}

/* Jobs on shared hosts (Stillwell 2010). They use no energy either. */
static void fill_in_sharing(struct config *config, GHashTable *given)
{
	struct config_sharing *sharing = config->environment->sharing;

	DEFAULT_NUMBER(sharing->jobs, 1000);
	DEFAULT_GIVEN("environment.sharing.penalty_s", sharing->penalty_s, 300);
	DEFAULT_NUMBER(sharing->memory_tenths, 10);
	DEFAULT_NUMBER(sharing->week, 1);
	DEFAULT_NUMBER(config->environment->pstates, 1);
	DEFAULT_GIVEN("environment.lead_s", config->environment->lead_s, 0);
	DEFAULT_NUMBER(config->environment->tasks_per_day, 1);
	DEFAULT_NUMBER(config->experiment->budget_j, 1);
}

/* Tasks with deadlines on machines with queues (Gentry 2019). No energy here either. */
static void fill_in_pruning(struct config *config, GHashTable *given)
{
	struct config_pruning *pruning = config->environment->pruning;

#define DEFAULT_PRUNING(field, value) \
	DEFAULT_GIVEN("environment.pruning." #field, pruning->field, value)
	DEFAULT_NUMBER(pruning->level, 34000);
	DEFAULT_NUMBER(pruning->span_s, 250000);
	DEFAULT_NUMBER(pruning->tasks, 800);
	DEFAULT_PRUNING(left_out, pruning->list_count > 0 ? 0 : 100);
	DEFAULT_NUMBER(pruning->variance, 0.1);
	DEFAULT_PRUNING(slack, 1.7);
	DEFAULT_NUMBER(pruning->pet_seed, 4);
	DEFAULT_NUMBER(pruning->bin_s, 1);
	DEFAULT_NUMBER(pruning->queue_length, 6);
	DEFAULT_PRUNING(drop_threshold, 0.5);
	DEFAULT_PRUNING(defer_threshold, 0.9);
	DEFAULT_PRUNING(adjustment, pruning->drop_threshold);
	DEFAULT_PRUNING(recency, 0.9);
	DEFAULT_NUMBER(pruning->toggle, 1);
	DEFAULT_PRUNING(separation, 0.2);
	DEFAULT_PRUNING(fairness, 0.05);
	DEFAULT_PRUNING(cull_threshold, 0.3);
	DEFAULT_PRUNING(evict, true);
#undef DEFAULT_PRUNING
	for (uint32_t i = 0; i < pruning->entries_count; i++)
		DEFAULT_NUMBER(pruning->entries[i].first, 1);
	DEFAULT_NUMBER(config->environment->pstates, 1);
	DEFAULT_GIVEN("environment.lead_s", config->environment->lead_s, 0);
	DEFAULT_NUMBER(config->environment->tasks_per_day, 1);
	DEFAULT_NUMBER(config->experiment->budget_j, 1);
}

/* An environment draws its own workload; what others read of one is filled in. */
static void fill_in_environment(struct config *config, GHashTable *given)
{
	struct config_environment *environment = config->environment;
	struct config_workload *workload = config->workload;

	if (environment->serial)
		fill_in_serial(config, given);
	if (environment->sharing)
		fill_in_sharing(config, given);
	if (environment->pruning)
		fill_in_pruning(config, given);
	DEFAULT_NUMBER(environment->pstates, 3);
	if (!environment->sharing && !environment->pruning &&
	    !g_hash_table_contains(given, "environment.lead_s"))
		environment->lead_s = 4.0 * 3600;
	DEFAULT_NUMBER(environment->seed, 1);
	DEFAULT_NUMBER(environment->classes_seed, 1);
	if (!g_hash_table_contains(given, "environment.sine_amplitude"))
		environment->sine_amplitude = 0.5;
	DEFAULT_NUMBER(environment->trace_day, 1);
	DEFAULT_NUMBER(environment->trace_cores, 4096);
	if (workload)
		return;
	workload = config->workload = g_new0(struct config_workload, 1);
	/* A trace has its own; the check wants some number. */
	workload->arrival_mean_s =
		environment->trace && !environment->sharing
			? 1
			: 86400 / environment->tasks_per_day;
	workload->duration_s = config->experiment->duration_s;
	workload->seed = environment->seed;
	workload->utility_max = g_new0(uint32_t, 1);
	workload->utility_max[0] =
		environment->serial
			? (uint32_t)ceil(CLAMP(environment->serial->critical_utility, 1, 1e6))
			: 8;
	workload->utility_max_count = 1;
}

static void fill_in_study(struct config *config)
{
	struct config_study *study = config->study;

	if (!study)
		study = config->study = g_new0(struct config_study, 1);
	DEFAULT_NUMBER(study->trials, 48);
	default_text(&study->x, config->experiment->limits_count > 1 ? "limit"
				: study->sizes_count > 1		? "size"
									: "policy");
	if (study->sizes_count == 0) {
		study->sizes = g_new(double, 1);
		study->sizes[0] = 1;
		study->sizes_count = 1;
	}
}

static void fill_in(struct config *config, GHashTable *given)
{
	struct config_experiment *experiment = config->experiment;
	struct config_workload *workload;

	if (config->environment)
		fill_in_environment(config, given);
	workload = config->workload;
	for (uint32_t c = 0; c < config->clusters_count; c++)
		if (config->clusters[c].simulated)
			config_cluster_simulate(&config->clusters[c]);
	for (uint32_t c = 0; c < config->clusters_count; c++)
		for (uint32_t h = 0; h < config->clusters[c].hosts_count; h++)
			fill_in_host(&config->clusters[c].hosts[h], config->clusters[c].name, h);
	for (uint32_t t = 0; t < config->types_count; t++) {
		DEFAULT_NUMBER(config->types[t].repetitions, 1);
		DEFAULT_NUMBER(config->types[t].cpu_need, 1);
	}
	if (workload) {
		DEFAULT_NUMBER(workload->seed, 1);
		DEFAULT_NUMBER(workload->constant_until, 2.5);
		DEFAULT_NUMBER(workload->zero_at, 4.0);
	}
	fill_in_study(config);
	DEFAULT_NUMBER(experiment->repeats, 1);
	if (!g_hash_table_contains(given, "experiment.baseline_s"))
		experiment->baseline_s = 10;
	DEFAULT_NUMBER(experiment->profile_repeats, 3);
	if (config->service)
		config_service_fill_in(config, given);
}

/* Frees what was read by a schema. */
static void discard(const cyaml_schema_value_t *schema, void *data)
{
	cyaml_config_t memory = reader(NULL);

	memory.log_fn = NULL;
	cyaml_free(&memory, schema, data, 0);
}

static void free_entries(struct config_pet_entry *entries, uint32_t count)
{
	struct config_pet_file file = { .entries = entries, .entries_count = count };

	discard(&config_schema_pet, g_memdup2(&file, sizeof(file)));
}

bool config_load_pet(struct config *config, const char *path, GError **error)
{
	struct config_pruning *pruning = config->environment->pruning;
	struct config_pet_file *file = load(path, &config_schema_pet, NULL, error);
	g_autofree char *wrong = NULL;

	if (!file)
		return false;
	for (uint32_t i = 0; i < file->entries_count; i++)
		DEFAULT_NUMBER(file->entries[i].first, 1);
	wrong = config_pet_check(config, "entries", file->entries, file->entries_count);
	if (wrong) {
		discard(&config_schema_pet, file);
		g_set_error(error, CONFIG_ERROR, CONFIG_ERROR_MEANING, "%s: %s", path, wrong);
		return false;
	}
	free_entries(pruning->entries, pruning->entries_count);
	pruning->entries = g_steal_pointer(&file->entries);
	pruning->entries_count = file->entries_count;
	file->entries_count = 0;
	discard(&config_schema_pet, file);
	g_clear_pointer(&pruning->pet, g_free);
	return true;
}

/*
 * The execution times of environment.pruning.pet, a path from where the configuration at `path` is: from
 * here on they are part of the configuration, which is then all that a run depends on.
 */
static bool read_pet(struct config *config, const char *path, GError **error)
{
	const struct config_pruning *pruning =
		config->environment ? config->environment->pruning : NULL;
	g_autofree char *folder = g_path_get_dirname(path);
	g_autofree char *pet = NULL;

	if (!pruning || !pruning->pet)
		return true;
	if (pruning->entries_count > 0) {
		g_set_error(error, CONFIG_ERROR, CONFIG_ERROR_MEANING,
			    "%s: environment.pruning.pet: '%s', but there are entries as well; leave "
			    "out one of them",
			    path, pruning->pet);
		return false;
	}
	pet = g_path_is_absolute(pruning->pet) ? g_strdup(pruning->pet)
					       : g_build_filename(folder, pruning->pet, NULL);
	return config_load_pet(config, pet, error);
}

struct config *config_load(const char *path, GError **error)
{
	g_autoptr(GHashTable) given = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_autoptr(config_t) config = load(path, &config_schema, given, error);

	if (!config)
		return NULL;
	if (!read_pet(config, path, error))
		return NULL;
	fill_in(config, given);
	config_expand_types(config);
	config_times_derive(config);
	if (!config_check(config, path, error))
		return NULL;
	return g_steal_pointer(&config);
}

static void free_estimates(struct config_estimate *estimates, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		g_free(estimates[i].type);
		g_free(estimates[i].cluster);
	}
	g_free(estimates);
}

static void free_overheads(struct config_overhead *overheads, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		g_free(overheads[i].cluster);
		g_free(overheads[i].keep);
	}
	g_free(overheads);
}

static void free_unmeasured(struct config_unmeasured *unmeasured, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		g_free(unmeasured[i].type);
		g_free(unmeasured[i].cluster);
		g_free(unmeasured[i].reason);
	}
	g_free(unmeasured);
}

/* Takes what was measured out of a configuration. */
static struct config_measured take_measured(struct config *config)
{
	const struct config_measured measured = {
		g_steal_pointer(&config->estimates),  config->estimates_count,
		g_steal_pointer(&config->overheads),  config->overheads_count,
		g_steal_pointer(&config->unmeasured), config->unmeasured_count,
	};

	config->estimates_count = config->overheads_count = config->unmeasured_count = 0;
	return measured;
}

static void put_measured(struct config *config, const struct config_measured *measured)
{
	config->estimates = measured->estimates;
	config->estimates_count = measured->estimates_count;
	config->overheads = measured->overheads;
	config->overheads_count = measured->overheads_count;
	config->unmeasured = measured->unmeasured;
	config->unmeasured_count = measured->unmeasured_count;
}

/* What was measured, of a file that profile wrote, or of a whole configuration. */
static struct config_measured *load_measured(const char *path, GError **error)
{
	g_autoptr(GError) short_error = NULL;
	struct config_measured *file = load(path, &config_schema_estimates, NULL, &short_error);
	struct config *whole;

	if (file && (file->estimates_count > 0 || file->unmeasured_count > 0))
		return file;
	if (file) {
		discard(&config_schema_estimates, file);
		g_set_error(error, CONFIG_ERROR, CONFIG_ERROR_MEANING,
			    "%s: estimates: empty; give at least 1", path);
		return NULL;
	}
	whole = load(path, &config_schema, NULL, NULL);
	if (!whole || (whole->estimates_count == 0 && whole->unmeasured_count == 0)) {
		config_free(whole);
		g_propagate_error(error, g_steal_pointer(&short_error));
		return NULL;
	}
	file = g_new0(struct config_measured, 1);
	*file = take_measured(whole);
	config_free(whole);
	return file;
}

bool config_load_estimates(struct config *config, const char *path, GError **error)
{
	g_autofree struct config_measured *file = load_measured(path, error);
	struct config_measured before;
	struct config_measured *unused = file;
	bool kept; /* the overheads that there were */
	bool good;

	if (!file)
		return false;
	before = take_measured(config);
	put_measured(config, file);
	kept = !file->overheads;
	if (kept) {
		config->overheads = before.overheads;
		config->overheads_count = before.overheads_count;
	}
	config_times_derive(config);
	good = config_check(config, path, error);
	if (!good) {
		put_measured(config, &before);
		config_times_derive(config);
	} else {
		unused = &before;
	}
	free_estimates(unused->estimates, unused->estimates_count);
	free_unmeasured(unused->unmeasured, unused->unmeasured_count);
	if (!kept)
		free_overheads(unused->overheads, unused->overheads_count);
	return good;
}

char *config_to_text(const struct config *config)
{
	return config_yaml_text(&config_schema, config);
}

/* All of the file, or the one that was there before. */
static bool write_text(const char *path, const char *text, GError **error)
{
	g_autoptr(GError) reason = NULL;

	if (g_file_set_contents_full(path, text, -1,
				     G_FILE_SET_CONTENTS_CONSISTENT | G_FILE_SET_CONTENTS_DURABLE, 0666,
				     &reason))
		return true;
	if (g_error_matches(reason, G_FILE_ERROR, G_FILE_ERROR_NOSPC))
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOSPC,
			    "%s: cannot be written: the disk is full; make room there", path);
	else
		g_propagate_error(error, g_steal_pointer(&reason));
	return false;
}

bool config_save(const struct config *config, const char *path, GError **error)
{
	g_autofree char *text = config_to_text(config);

	return write_text(path, text, error);
}

bool config_save_measured(const struct config_measured *measured, const char *path,
			  GError **error)
{
	struct config_measured file = *measured;
	g_autofree char *text = NULL;

	/* What there is none of is not named. */
	if (file.overheads_count == 0)
		file.overheads = NULL;
	if (file.unmeasured_count == 0)
		file.unmeasured = NULL;
	text = config_yaml_text(&config_schema_estimates, &file);
	return write_text(path, text, error);
}

bool config_save_estimates(const struct config_estimate *estimates, uint32_t count,
			   const char *path, GError **error)
{
	const struct config_measured measured = {
		.estimates = (struct config_estimate *)estimates,
		.estimates_count = count,
	};

	return config_save_measured(&measured, path, error);
}

void config_free(struct config *config)
{
	discard(&config_schema, config);
}

uint32_t config_type_nodes(const struct config_type *type, const struct config_cluster *cluster)
{
	if (type->nodes > 0)
		return type->nodes;
	return type->cores / cluster->cores + (type->cores % cluster->cores != 0);
}

uint32_t config_type_cores(const struct config_type *type, const struct config_cluster *cluster)
{
	return type->nodes > 0 ? type->nodes * cluster->cores : type->cores;
}

uint32_t config_cluster_host(const struct config_cluster *cluster, uint32_t node)
{
	return (uint32_t)((uint64_t)node * cluster->hosts_count / cluster->nodes);
}

uint32_t config_cluster_places(const struct config_cluster *cluster)
{
	return cluster->nodes / MAX(cluster->hosts_count, 1);
}

/* Whether shared hosts are enough for VMs of the type, alone there with all that they need. */
static bool has_hosts(const struct config_cluster *cluster, const struct config_type *type,
		      uint32_t vms)
{
	const double need = type->cpu_need > 0 ? type->cpu_need : 1;
	const uint32_t each = MIN((uint32_t)(1 / need + 1e-9), config_cluster_places(cluster));

	return vms <= (uint64_t)each * cluster->hosts_count;
}

bool config_type_fits(const struct config_type *type, const struct config_cluster *cluster)
{
	uint32_t nodes = config_type_nodes(type, cluster);

	return nodes <= cluster->nodes && config_type_cores(type, cluster) <= BENCHMARK_RANKS_MAX &&
	       (!cluster->shared || has_hosts(cluster, type, nodes)) &&
	       type->memory_mib <= nodes * (cluster->memory_mib + cluster->swap_mib);
}

const struct config_estimate *config_estimate(const struct config *config, const char *type,
					      const char *cluster)
{
	for (uint32_t i = 0; i < config->estimates_count; i++) {
		const struct config_estimate *estimate = &config->estimates[i];

		if (g_str_equal(estimate->type, type) && g_str_equal(estimate->cluster, cluster))
			return estimate;
	}
	return NULL;
}
