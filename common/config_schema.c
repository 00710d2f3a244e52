/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/config_schema.h"

#include <glib.h>

#include "common/config.h"

#define OPTIONAL CYAML_FLAG_OPTIONAL
#define NEEDED CYAML_FLAG_DEFAULT

/* A string of any length that the structure owns. */
#define STRING(flags, type, field) \
	CYAML_FIELD_STRING_PTR(#field, (flags) | CYAML_FLAG_POINTER, type, field, 0, 4096)
/* A list of mappings with its count beside it. */
#define LIST(flags, type, field, entry, minimum) \
	CYAML_FIELD_SEQUENCE(#field, (flags) | CYAML_FLAG_POINTER, type, field, entry, minimum, \
			     CYAML_UNLIMITED)
#define UINT(flags, type, field) CYAML_FIELD_UINT(#field, flags, type, field)
#define FLOAT(flags, type, field) CYAML_FIELD_FLOAT(#field, flags, type, field)
/* One of a list of words; the first is the default. */
#define FLAG(type, field) CYAML_FIELD_BOOL(#field, OPTIONAL, type, field)
#define WORD(flags, type, field, words) \
	CYAML_FIELD_ENUM(#field, (flags) | CYAML_FLAG_STRICT, type, field, words, \
			 CYAML_ARRAY_LEN(words))

static const cyaml_strval_t meter_kinds[] = {
	{ "none", CONFIG_METER_NONE },
	{ "ipmi", CONFIG_METER_IPMI },
	{ "redfish", CONFIG_METER_REDFISH },
	{ "amm", CONFIG_METER_AMM },
	{ "rapl", CONFIG_METER_RAPL },
	{ "acpi", CONFIG_METER_ACPI },
	{ "model", CONFIG_METER_MODEL },
	{ "simulated", CONFIG_METER_SIMULATED },
};

static const cyaml_strval_t meter_auths[] = {
	{ "basic", CONFIG_METER_BASIC },
	{ "session", CONFIG_METER_SESSION },
};

static const cyaml_strval_t meter_tlses[] = {
	{ "verify", CONFIG_METER_VERIFY },
	{ "insecure", CONFIG_METER_INSECURE },
};

static const cyaml_strval_t meter_snmps[] = {
	{ "v3", CONFIG_METER_SNMP_V3 },
	{ "v1", CONFIG_METER_SNMP_V1 },
	{ "v2c", CONFIG_METER_SNMP_V2C },
};

static const cyaml_strval_t bmc_kinds[] = {
	{ "ipmi", CONFIG_BMC_IPMI },
	{ "redfish", CONFIG_BMC_REDFISH },
};

static const cyaml_schema_field_t meter_fields[] = {
	CYAML_FIELD_ENUM("kind", CYAML_FLAG_STRICT, struct config_meter, kind, meter_kinds,
			 CYAML_ARRAY_LEN(meter_kinds)),
	STRING(OPTIONAL, struct config_meter, address),
	UINT(OPTIONAL, struct config_meter, port),
	STRING(OPTIONAL, struct config_meter, user),
	STRING(OPTIONAL, struct config_meter, password_file),
	UINT(OPTIONAL, struct config_meter, cipher_suite),
	STRING(OPTIONAL, struct config_meter, privilege),
	STRING(OPTIONAL, struct config_meter, sensor),
	STRING(OPTIONAL, struct config_meter, ca_file),
	WORD(OPTIONAL, struct config_meter, tls, meter_tlses),
	WORD(OPTIONAL, struct config_meter, auth, meter_auths),
	STRING(OPTIONAL, struct config_meter, chassis),
	UINT(OPTIONAL, struct config_meter, bay),
	WORD(OPTIONAL, struct config_meter, snmp, meter_snmps),
	STRING(OPTIONAL, struct config_meter, sys_root),
	STRING(OPTIONAL, struct config_meter, proc_root),
	FLOAT(OPTIONAL, struct config_meter, idle_w),
	FLOAT(OPTIONAL, struct config_meter, core_w),
	FLOAT(OPTIONAL, struct config_meter, interval_s),
	CYAML_FIELD_END
};

static const cyaml_schema_field_t host_fields[] = {
	STRING(OPTIONAL, struct config_host, name),
	STRING(OPTIONAL, struct config_host, uri),
	STRING(OPTIONAL, struct config_host, peer_uri),
	STRING(OPTIONAL, struct config_host, blade),
	STRING(OPTIONAL, struct config_host, bridge),
	CYAML_FIELD_MAPPING_PTR("meter", OPTIONAL | CYAML_FLAG_POINTER, struct config_host, meter,
				meter_fields),
	STRING(OPTIONAL, struct config_host, sys_root),
	STRING(OPTIONAL, struct config_host, dev_root),
	CYAML_FIELD_END
};

static const cyaml_schema_value_t host_entry = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct config_host, host_fields),
};

static const cyaml_strval_t keeps[] = {
	{"auto", CONFIG_KEEP_AUTO}, {"memory", CONFIG_KEEP_MEMORY}, {"disk", CONFIG_KEEP_DISK}};

static const cyaml_schema_field_t preemption_fields[] = {
	WORD(OPTIONAL, struct config_preemption, keep, keeps),
	UINT(OPTIONAL, struct config_preemption, spares),
	UINT(OPTIONAL, struct config_preemption, memory_mib),
	CYAML_FIELD_END
};

static const cyaml_schema_field_t simulated_fields[] = {
	FLOAT(OPTIONAL, struct config_simulated, speed),
	FLOAT(NEEDED, struct config_simulated, idle_w),
	UINT(OPTIONAL, struct config_simulated, seed),
	CYAML_FIELD_END
};

static const cyaml_schema_field_t cluster_fields[] = {
	STRING(NEEDED, struct config_cluster, name),
	UINT(NEEDED, struct config_cluster, nodes),
	UINT(NEEDED, struct config_cluster, cores),
	UINT(NEEDED, struct config_cluster, memory_mib),
	UINT(OPTIONAL, struct config_cluster, swap_mib),
	UINT(OPTIONAL, struct config_cluster, max_mhz),
	UINT(OPTIONAL, struct config_cluster, base_mhz),
	STRING(OPTIONAL, struct config_cluster, max_cstate),
	CYAML_FIELD_MAPPING_PTR("preemption", OPTIONAL | CYAML_FLAG_POINTER, struct config_cluster,
				preemption, preemption_fields),
	FLAG(struct config_cluster, shared),
	FLAG(struct config_cluster, migration_tls),
	STRING(OPTIONAL, struct config_cluster, local_scheduler),
	CYAML_FIELD_MAPPING_PTR("simulated", OPTIONAL | CYAML_FLAG_POINTER, struct config_cluster,
				simulated, simulated_fields),
	LIST(OPTIONAL, struct config_cluster, hosts, &host_entry, 0),
	CYAML_FIELD_END
};

static const cyaml_schema_value_t cluster_entry = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct config_cluster, cluster_fields),
};

static const cyaml_schema_field_t type_fields[] = {
	STRING(NEEDED, struct config_type, name),
	STRING(NEEDED, struct config_type, benchmark),
	CYAML_FIELD_STRING_PTR("class", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
			       struct config_type, class_, 0, 16),
	UINT(OPTIONAL, struct config_type, cores),
	UINT(OPTIONAL, struct config_type, nodes),
	UINT(OPTIONAL, struct config_type, nodes_max),
	UINT(OPTIONAL, struct config_type, repetitions),
	UINT(NEEDED, struct config_type, memory_mib),
	FLOAT(NEEDED, struct config_type, share),
	FLOAT(OPTIONAL, struct config_type, time_s),
	FLAG(struct config_type, may_preempt),
	FLAG(struct config_type, preemptible),
	UINT(OPTIONAL, struct config_type, utility_max),
	FLOAT(OPTIONAL, struct config_type, constant_until),
	FLOAT(OPTIONAL, struct config_type, zero_at),
	FLOAT(OPTIONAL, struct config_type, cpu_need),
	CYAML_FIELD_END
};

static const cyaml_schema_value_t type_entry = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct config_type, type_fields),
};

static const cyaml_schema_field_t estimate_fields[] = {
	STRING(NEEDED, struct config_estimate, type),
	STRING(NEEDED, struct config_estimate, cluster),
	FLOAT(NEEDED, struct config_estimate, etc_s),
	FLOAT(OPTIONAL, struct config_estimate, etc_sd_s),
	FLOAT(NEEDED, struct config_estimate, eec_j),
	FLOAT(OPTIONAL, struct config_estimate, eec_sd_j),
	UINT(OPTIONAL, struct config_estimate, count),
	CYAML_FIELD_END
};

static const cyaml_schema_value_t estimate_entry = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct config_estimate, estimate_fields),
};

static const cyaml_schema_value_t uint_entry = {
	CYAML_VALUE_UINT(CYAML_FLAG_DEFAULT, uint32_t),
};

static const cyaml_schema_value_t float_entry = {
	CYAML_VALUE_FLOAT(CYAML_FLAG_DEFAULT, double),
};

static const cyaml_schema_value_t string_entry = {
	CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 0, 4096),
};

static const cyaml_schema_field_t overhead_fields[] = {
	STRING(NEEDED, struct config_overhead, cluster),
	FLOAT(NEEDED, struct config_overhead, freeze_s),
	FLOAT(NEEDED, struct config_overhead, save_s),
	FLOAT(NEEDED, struct config_overhead, restore_s),
	FLOAT(NEEDED, struct config_overhead, resume_s),
	STRING(OPTIONAL, struct config_overhead, keep),
	FLOAT(OPTIONAL, struct config_overhead, skew_s),
	CYAML_FIELD_END
};

static const cyaml_schema_value_t overhead_entry = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct config_overhead, overhead_fields),
};

static const cyaml_schema_field_t unmeasured_fields[] = {
	STRING(NEEDED, struct config_unmeasured, type),
	STRING(NEEDED, struct config_unmeasured, cluster),
	STRING(NEEDED, struct config_unmeasured, reason),
	CYAML_FIELD_END
};

static const cyaml_schema_value_t unmeasured_entry = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct config_unmeasured, unmeasured_fields),
};

static const cyaml_schema_field_t workload_fields[] = {
	FLOAT(OPTIONAL, struct config_workload, arrival_mean_s),
	FLOAT(OPTIONAL, struct config_workload, duration_s),
	FLOAT(OPTIONAL, struct config_workload, load),
	FLOAT(OPTIONAL, struct config_workload, tasks),
	UINT(OPTIONAL, struct config_workload, seed),
	LIST(NEEDED, struct config_workload, utility_max, &uint_entry, 1),
	FLOAT(OPTIONAL, struct config_workload, constant_until),
	FLOAT(OPTIONAL, struct config_workload, zero_at),
	CYAML_FIELD_END
};

static const cyaml_strval_t utilities[] = {
	{ "classes", CONFIG_UTILITY_CLASSES },
	{ "step", CONFIG_UTILITY_STEP },
	{ "decay", CONFIG_UTILITY_DECAY },
};

static const cyaml_schema_field_t serial_fields[] = {
	FLOAT(OPTIONAL, struct config_serial, spread),
	FLOAT(OPTIONAL, struct config_serial, burst),
	WORD(OPTIONAL, struct config_serial, utility, utilities),
	FLOAT(OPTIONAL, struct config_serial, critical_share),
	FLOAT(OPTIONAL, struct config_serial, critical_utility),
	FLOAT(OPTIONAL, struct config_serial, critical_mean_s),
	FLOAT(OPTIONAL, struct config_serial, ordinary_mean_s),
	FLOAT(OPTIONAL, struct config_serial, may_preempt_share),
	FLOAT(OPTIONAL, struct config_serial, preemptible_share),
	CYAML_FIELD_END
};

static const cyaml_schema_field_t job_fields[] = {
	FLOAT(NEEDED, struct config_job, arrival_s),
	FLOAT(NEEDED, struct config_job, run_s),
	UINT(NEEDED, struct config_job, vms),
	FLOAT(NEEDED, struct config_job, cpu),
	FLOAT(NEEDED, struct config_job, memory),
	CYAML_FIELD_END
};

static const cyaml_schema_value_t job_entry = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct config_job, job_fields),
};

static const cyaml_schema_field_t sharing_fields[] = {
	UINT(OPTIONAL, struct config_sharing, jobs),
	FLOAT(OPTIONAL, struct config_sharing, load),
	FLOAT(OPTIONAL, struct config_sharing, penalty_s),
	FLAG(struct config_sharing, virtual_time_in_penalty),
	UINT(OPTIONAL, struct config_sharing, memory_tenths),
	UINT(OPTIONAL, struct config_sharing, week),
	LIST(OPTIONAL, struct config_sharing, list, &job_entry, 0),
	CYAML_FIELD_END
};

static const cyaml_schema_field_t pet_entry_fields[] = {
	STRING(NEEDED, struct config_pet_entry, type),
	STRING(NEEDED, struct config_pet_entry, machine),
	LIST(OPTIONAL, struct config_pet_entry, samples, &float_entry, 0),
	UINT(OPTIONAL, struct config_pet_entry, first),
	LIST(OPTIONAL, struct config_pet_entry, masses, &float_entry, 0),
	CYAML_FIELD_END
};

static const cyaml_schema_value_t pet_entry = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct config_pet_entry, pet_entry_fields),
};

static const cyaml_schema_field_t pruning_task_fields[] = {
	STRING(NEEDED, struct config_pruning_task, type),
	FLOAT(NEEDED, struct config_pruning_task, arrival_s),
	FLOAT(NEEDED, struct config_pruning_task, deadline_s),
	CYAML_FIELD_END
};

static const cyaml_schema_value_t pruning_task_entry = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct config_pruning_task, pruning_task_fields),
};

static const cyaml_schema_field_t pruning_fields[] = {
	FLOAT(OPTIONAL, struct config_pruning, level),
	FLOAT(OPTIONAL, struct config_pruning, span_s),
	FLOAT(OPTIONAL, struct config_pruning, demand),
	UINT(OPTIONAL, struct config_pruning, tasks),
	UINT(OPTIONAL, struct config_pruning, left_out),
	FLOAT(OPTIONAL, struct config_pruning, variance),
	FLOAT(OPTIONAL, struct config_pruning, slack),
	LIST(OPTIONAL, struct config_pruning, list, &pruning_task_entry, 0),
	STRING(OPTIONAL, struct config_pruning, pet),
	LIST(OPTIONAL, struct config_pruning, entries, &pet_entry, 0),
	UINT(OPTIONAL, struct config_pruning, pet_seed),
	FLOAT(OPTIONAL, struct config_pruning, bin_s),
	UINT(OPTIONAL, struct config_pruning, queue_length),
	FLOAT(OPTIONAL, struct config_pruning, drop_threshold),
	FLOAT(OPTIONAL, struct config_pruning, defer_threshold),
	FLOAT(OPTIONAL, struct config_pruning, adjustment),
	FLOAT(OPTIONAL, struct config_pruning, recency),
	FLOAT(OPTIONAL, struct config_pruning, toggle),
	FLOAT(OPTIONAL, struct config_pruning, separation),
	FLOAT(OPTIONAL, struct config_pruning, fairness),
	FLOAT(OPTIONAL, struct config_pruning, cull_threshold),
	FLAG(struct config_pruning, evict),
	UINT(OPTIONAL, struct config_pruning, merge),
	LIST(OPTIONAL, struct config_pruning, prices, &float_entry, 0),
	CYAML_FIELD_END
};

static const cyaml_schema_field_t environment_fields[] = {
	FLOAT(OPTIONAL, struct config_environment, tasks_per_day),
	STRING(OPTIONAL, struct config_environment, trace),
	UINT(OPTIONAL, struct config_environment, trace_day),
	UINT(OPTIONAL, struct config_environment, trace_cores),
	UINT(OPTIONAL, struct config_environment, pstates),
	FLOAT(OPTIONAL, struct config_environment, lead_s),
	UINT(OPTIONAL, struct config_environment, seed),
	UINT(OPTIONAL, struct config_environment, classes_seed),
	LIST(OPTIONAL, struct config_environment, special, &string_entry, 0),
	FLOAT(OPTIONAL, struct config_environment, sine_amplitude),
	CYAML_FIELD_MAPPING_PTR("serial", OPTIONAL | CYAML_FLAG_POINTER, struct config_environment,
				serial, serial_fields),
	CYAML_FIELD_MAPPING_PTR("sharing", OPTIONAL | CYAML_FLAG_POINTER, struct config_environment,
				sharing, sharing_fields),
	CYAML_FIELD_MAPPING_PTR("pruning", OPTIONAL | CYAML_FLAG_POINTER, struct config_environment,
				pruning, pruning_fields),
	CYAML_FIELD_END
};

static const cyaml_schema_field_t study_fields[] = {
	UINT(OPTIONAL, struct config_study, trials),
	STRING(OPTIONAL, struct config_study, x),
	LIST(OPTIONAL, struct config_study, sizes, &float_entry, 1),
	LIST(OPTIONAL, struct config_study, values, &string_entry, 1),
	CYAML_FIELD_END
};

static const cyaml_schema_field_t experiment_fields[] = {
	LIST(NEEDED, struct config_experiment, policies, &string_entry, 1),
	LIST(NEEDED, struct config_experiment, limits, &float_entry, 1),
	FLOAT(OPTIONAL, struct config_experiment, budget_j),
	FLOAT(OPTIONAL, struct config_experiment, mapping_interval_s),
	FLOAT(OPTIONAL, struct config_experiment, duration_s),
	FLOAT(OPTIONAL, struct config_experiment, mapping_interval),
	FLOAT(OPTIONAL, struct config_experiment, duration),
	UINT(OPTIONAL, struct config_experiment, repeats),
	FLOAT(OPTIONAL, struct config_experiment, baseline_s),
	UINT(OPTIONAL, struct config_experiment, profile_repeats),
	FLOAT(OPTIONAL, struct config_experiment, task_deadline_s),
	CYAML_FIELD_END
};

static const cyaml_schema_field_t blade_fields[] = {
	STRING(NEEDED, struct config_blade, name),
	FLOAT(NEEDED, struct config_blade, cpu_cores),
	FLOAT(NEEDED, struct config_blade, idle_w),
	FLOAT(NEEDED, struct config_blade, core_w),
	WORD(OPTIONAL, struct config_blade, bmc, bmc_kinds),
	CYAML_FIELD_END
};

static const cyaml_schema_value_t blade_entry = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct config_blade, blade_fields),
};

static const cyaml_strval_t answers[] = {
	{ "no", CONFIG_NO },
	{ "yes", CONFIG_YES },
};

static const cyaml_schema_field_t lab_fields[] = {
	LIST(NEEDED, struct config_lab, blades, &blade_entry, 1),
	CYAML_FIELD_ENUM("overcommit", OPTIONAL | CYAML_FLAG_STRICT, struct config_lab, overcommit,
			 answers, CYAML_ARRAY_LEN(answers)),
	CYAML_FIELD_ENUM("steady", OPTIONAL | CYAML_FLAG_STRICT, struct config_lab, steady, answers,
			 CYAML_ARRAY_LEN(answers)),
	CYAML_FIELD_ENUM("fit", OPTIONAL | CYAML_FLAG_STRICT, struct config_lab, fit, answers,
			 CYAML_ARRAY_LEN(answers)),
	CYAML_FIELD_END
};

static const cyaml_schema_field_t service_fields[] = {
	STRING(OPTIONAL, struct config_service, policy),
	FLOAT(OPTIONAL, struct config_service, mapping_interval_s),
	UINT(OPTIONAL, struct config_service, tasks_max),
	UINT(OPTIONAL, struct config_service, user_tasks_max),
	FLOAT(OPTIONAL, struct config_service, user_requests_per_s),
	FLOAT(OPTIONAL, struct config_service, retention_days),
	FLOAT(OPTIONAL, struct config_service, energy_limit_j),
	FLOAT(OPTIONAL, struct config_service, energy_window_s),
	FLOAT(OPTIONAL, struct config_service, meter_refresh_s),
	STRING(OPTIONAL, struct config_service, group),
	STRING(OPTIONAL, struct config_service, listen),
	STRING(OPTIONAL, struct config_service, certificate),
	STRING(OPTIONAL, struct config_service, key),
	CYAML_FIELD_END
};

static const cyaml_schema_field_t tls_fields[] = {
	STRING(NEEDED, struct config_tls, ca),
	STRING(NEEDED, struct config_tls, certificate),
	STRING(NEEDED, struct config_tls, key),
	CYAML_FIELD_END
};

static const cyaml_schema_field_t config_fields[] = {
	STRING(NEEDED, struct config, name),
	STRING(OPTIONAL, struct config, description),
	LIST(NEEDED, struct config, clusters, &cluster_entry, 0),
	LIST(OPTIONAL, struct config, types, &type_entry, 0),
	LIST(OPTIONAL, struct config, estimates, &estimate_entry, 0),
	LIST(OPTIONAL, struct config, overheads, &overhead_entry, 0),
	LIST(OPTIONAL, struct config, unmeasured, &unmeasured_entry, 0),
	CYAML_FIELD_MAPPING_PTR("workload", OPTIONAL | CYAML_FLAG_POINTER, struct config, workload,
				workload_fields),
	CYAML_FIELD_MAPPING_PTR("experiment", CYAML_FLAG_POINTER, struct config, experiment,
				experiment_fields),
	CYAML_FIELD_MAPPING_PTR("service", OPTIONAL | CYAML_FLAG_POINTER, struct config, service,
				service_fields),
	CYAML_FIELD_MAPPING_PTR("tls", OPTIONAL | CYAML_FLAG_POINTER, struct config, tls,
				tls_fields),
	CYAML_FIELD_MAPPING_PTR("lab", OPTIONAL | CYAML_FLAG_POINTER, struct config, lab,
				lab_fields),
	CYAML_FIELD_MAPPING_PTR("environment", OPTIONAL | CYAML_FLAG_POINTER, struct config,
				environment, environment_fields),
	CYAML_FIELD_MAPPING_PTR("study", OPTIONAL | CYAML_FLAG_POINTER, struct config, study,
				study_fields),
	STRING(OPTIONAL, struct config, image),
	FLOAT(OPTIONAL, struct config, patience),
	CYAML_FIELD_END
};

const cyaml_schema_value_t config_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct config, config_fields),
};

static const cyaml_schema_field_t estimates_file_fields[] = {
	LIST(NEEDED, struct config_measured, estimates, &estimate_entry, 0),
	LIST(OPTIONAL, struct config_measured, overheads, &overhead_entry, 0),
	LIST(OPTIONAL, struct config_measured, unmeasured, &unmeasured_entry, 0),
	CYAML_FIELD_END
};

const cyaml_schema_value_t config_schema_estimates = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct config_measured,
			    estimates_file_fields),
};

static const cyaml_schema_field_t pet_file_fields[] = {
	LIST(NEEDED, struct config_pet_file, entries, &pet_entry, 1),
	CYAML_FIELD_END
};

const cyaml_schema_value_t config_schema_pet = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct config_pet_file, pet_file_fields),
};

/* What a zero means, by key; of a key that is not here it means that the key is absent. */
static const struct {
	const char *key;
	enum config_zero zero;
} zeros[] = {
	{ "adjustment", CONFIG_ZERO_IS_VALUE },
	{ "arrival_s", CONFIG_ZERO_IS_VALUE },
	{ "baseline_s", CONFIG_ZERO_IS_VALUE },
	{ "bin_s", CONFIG_ZERO_IS_REFUSED },
	{ "burst", CONFIG_ZERO_IS_REFUSED },
	{ "cipher_suite", CONFIG_ZERO_IS_REFUSED },
	{ "classes_seed", CONFIG_ZERO_IS_REFUSED },
	{ "constant_until", CONFIG_ZERO_IS_REFUSED },
	{ "cpu_need", CONFIG_ZERO_IS_REFUSED },
	{ "critical_mean_s", CONFIG_ZERO_IS_REFUSED },
	{ "critical_share", CONFIG_ZERO_IS_VALUE },
	{ "critical_utility", CONFIG_ZERO_IS_REFUSED },
	{ "cull_threshold", CONFIG_ZERO_IS_VALUE },
	{ "defer_threshold", CONFIG_ZERO_IS_VALUE },
	{ "drop_threshold", CONFIG_ZERO_IS_VALUE },
	{ "duration", CONFIG_ZERO_IS_REFUSED },
	{ "evict", CONFIG_ZERO_IS_VALUE },
	{ "fairness", CONFIG_ZERO_IS_VALUE },
	{ "first", CONFIG_ZERO_IS_REFUSED },
	{ "interval_s", CONFIG_ZERO_IS_REFUSED },
	{ "jobs", CONFIG_ZERO_IS_REFUSED },
	{ "lead_s", CONFIG_ZERO_IS_VALUE },
	{ "left_out", CONFIG_ZERO_IS_VALUE },
	{ "level", CONFIG_ZERO_IS_REFUSED },
	{ "load", CONFIG_ZERO_IS_REFUSED },
	{ "mapping_interval", CONFIG_ZERO_IS_REFUSED },
	{ "may_preempt_share", CONFIG_ZERO_IS_VALUE },
	{ "memory_tenths", CONFIG_ZERO_IS_REFUSED },
	{ "ordinary_mean_s", CONFIG_ZERO_IS_REFUSED },
	{ "patience", CONFIG_ZERO_IS_REFUSED },
	{ "penalty_s", CONFIG_ZERO_IS_VALUE },
	{ "pet_seed", CONFIG_ZERO_IS_REFUSED },
	{ "port", CONFIG_ZERO_IS_REFUSED },
	{ "preemptible_share", CONFIG_ZERO_IS_VALUE },
	{ "profile_repeats", CONFIG_ZERO_IS_REFUSED },
	{ "pstates", CONFIG_ZERO_IS_REFUSED },
	{ "queue_length", CONFIG_ZERO_IS_REFUSED },
	{ "recency", CONFIG_ZERO_IS_VALUE },
	{ "repeats", CONFIG_ZERO_IS_REFUSED },
	{ "repetitions", CONFIG_ZERO_IS_REFUSED },
	{ "seed", CONFIG_ZERO_IS_REFUSED },
	{ "separation", CONFIG_ZERO_IS_VALUE },
	{ "sine_amplitude", CONFIG_ZERO_IS_VALUE },
	{ "slack", CONFIG_ZERO_IS_VALUE },
	{ "span_s", CONFIG_ZERO_IS_REFUSED },
	{ "speed", CONFIG_ZERO_IS_REFUSED },
	{ "spread", CONFIG_ZERO_IS_VALUE },
	{ "task_deadline_s", CONFIG_ZERO_IS_REFUSED },
	{ "tasks", CONFIG_ZERO_IS_REFUSED },
	{ "toggle", CONFIG_ZERO_IS_REFUSED },
	{ "trials", CONFIG_ZERO_IS_REFUSED },
	{ "variance", CONFIG_ZERO_IS_REFUSED },
	{ "week", CONFIG_ZERO_IS_REFUSED },
	{ "zero_at", CONFIG_ZERO_IS_REFUSED },
};

enum config_zero config_schema_zero(const char *key)
{
	for (gsize i = 0; i < G_N_ELEMENTS(zeros); i++)
		if (g_str_equal(key, zeros[i].key))
			return zeros[i].zero;
	return CONFIG_ZERO_IS_ABSENT;
}
