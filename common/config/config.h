/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config_cluster.h"
#include "common/config/config_experiment.h"
#include "common/config/config_lab.h"
#include "common/config/config_service.h"
#include "common/config/config_tls.h"
#include "common/config/config_type.h"
#include "common/config/config_workload.h"

/*
 * The experiment configuration: one YAML file that names the clusters, the task types, the
 * estimates, the workload and the experiment, and that `run`, `simulate`, `profile`, the
 * controller and the local schedulers all read.
 *
 * Reading has two steps: config_load() reads by the rows of the keys (an unknown key or a value of
 * the wrong kind is refused with its line and column) and config_check() verifies the meaning (a
 * wrong value is refused with the path of its key). Both produce one line that names the file, the
 * place and the cure. A loaded configuration is read-only and is shared by pointer.
 *
 * Where an optional number is absent from the file, config_load() fills in the default of its row,
 * else 0. A 0 that is written stays one, means the same as an absent key, or is refused (enum
 * config_zero).
 */

/* Sections of a file that are not in common/config. */
#define CONFIG_SERVED_MAX 4

struct config;

/*
 * What a program reads of a configuration beside the sections in common/config. A program that
 * serves none of these accepts them unread.
 */
struct config_served {
	/* of environment and study, or NULL */
	const struct config_section *sections[CONFIG_SERVED_MAX];
	/*
	 * Fills in what rows alone cannot, before all else is filled in. `path` is the file's.
	 * `error`: CONFIG_ERROR.
	 */
	bool (*fill_in)(struct config *config, const char *path, GHashTable *given, GError **error);
	/*
	 * Verifies the meaning of the sections: NULL, or "KEY.PATH: what is wrong; what to do" (the
	 * caller frees).
	 */
	char *(*check)(const struct config *config);
};

/* A whole configuration file. */
struct config {
	char *name;        /* of the experiment; names the run directory and the lab */
	char *description; /* free text for report headings, or NULL */
	struct config_cluster *clusters;
	uint32_t clusters_count;
	struct config_type *types;
	uint32_t types_count;
	struct config_estimate *estimates; /* may be empty: then `profile` measures them */
	uint32_t estimates_count;
	struct config_overhead *overheads; /* an entry per suspension that was measured */
	uint32_t overheads_count;
	struct config_unmeasured *unmeasured; /* the holes of the estimates, with their reasons */
	uint32_t unmeasured_count;
	struct config_workload *workload;
	struct config_experiment *experiment;
	struct config_service *service; /* NULL: the defaults (config_service_of()) */
	/* NULL: all daemons are on one machine, or their connections are tunnelled */
	struct config_tls *tls;
	struct config_lab *lab; /* NULL: real blades */
	/*
	 * Sections that one program alone serves, in the order of config_served: each is a
	 * structure of that program's; NULL: absent, or not served here.
	 */
	void *served_sections[CONFIG_SERVED_MAX];
	char *image; /* directory of the guest image; default: the build's own */
	/*
	 * How many times as long as on a machine of speed 1 with all of its quotas what a machine
	 * does may take (config_patience()); 0: not given.
	 */
	double patience;
	/* Not keys: */
	/* what it was read for; NULL: the sections above alone */
	const struct config_served *served;
	bool service_follows; /* service.mapping_interval_s is not given, or 0: the experiment's */
	/* simulations draw its types and workload (section environment): both may be missing */
	bool is_drawn;
};

/*
 * Reads `path`, fills in defaults and checks the meaning (config_check()). Returns a new
 * configuration that the caller frees with config_free(), or NULL with `error` set. Its sections
 * are those of common/config; others are accepted unread.
 */
struct config *config_load(const char *path, GError **error);

/* The same, with the sections that `served` reads, which outlives the configuration. */
struct config *config_load_served(const char *path, const struct config_served *served,
				  GError **error);

/*
 * Whether some time follows from the estimates (workload.load, experiment.mapping_interval,
 * experiment.duration).
 */
bool config_times_follow(const struct config *config);

/* Whether all times are known: they are given, or the estimates that they follow from are there. */
bool config_times_known(const struct config *config);

/*
 * Reads only what was measured from `path` (a file written by `profile`, or a whole configuration):
 * `estimates:` and `unmeasured:` replace those of `config`; where there are `overheads:`, they
 * replace those of `config`. Checks again. On failure `config`
 * is unchanged. Returns true, or false with `error` set.
 */
bool config_load_estimates(struct config *config, const char *path, GError **error);

/*
 * Verifies the meaning of `config`; `path` names the file in messages. Returns true, or false with
 * `error` set to a line `PATH: KEY.PATH: what is wrong; what to do`.
 */
bool config_check(const struct config *config, const char *path, GError **error);

/*
 * What an emulated VM takes beside its RAM when it is young, in MiB: QEMU, and the code that it has
 * translated.
 */
#define CONFIG_LAB_EMULATOR_MIB 120

/*
 * MiB of memory that the VMs of a lab need when all are up, spares and QEMU included. 0 without
 * blades.
 */
uint64_t config_lab_memory_mib(const struct config *config);

/*
 * Limits of a local scheduler: addresses of VMs hold the numbers of cluster and node, and a VM has
 * a channel for each core. What is only simulated may be larger.
 */
#define CONFIG_SERVED_NODES_MAX 239
#define CONFIG_SERVED_CORES_MAX 30
#define CONFIG_SERVED_CLUSTERS_MAX 254

/*
 * Whether a local scheduler can serve `clusters[index]`. Returns NULL, or "KEY.PATH: what is wrong;
 * what to do" (the caller frees).
 */
char *config_cluster_check_served(const struct config *config, uint32_t index);

/* Whether the libvirt URI `uri` names the machine that opens it: no host in it, and no socket. */
bool config_uri_is_local(const char *uri);

/*
 * `config` as YAML, such that equal texts are equal configurations; the caller frees. With all
 * defaults it may be longer than a file can be (config_text_is_readable()).
 */
char *config_to_text(const struct config *config);

/*
 * Whether `text`, a configuration with all defaults that is to be at `path`, is as short as a file
 * that is read has to be. Returns true, or false with `error` (CONFIG_ERROR_MEANING).
 */
bool config_text_is_readable(const char *text, const char *path, GError **error);

/*
 * Writes `config` as YAML to `path`, such that config_load() reads it back equal; refuses what
 * would be too long to be read (config_text_is_readable()).
 */
bool config_save(const struct config *config, const char *path, GError **error);

/* Writes what was measured, borrowed, as a YAML file that config_load_estimates() reads. */
bool config_save_measured(const struct config_measured *measured, const char *path, GError **error);

/* Frees a configuration; NULL is allowed. */
void config_free(struct config *config);
typedef struct config config_t;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(config_t, config_free)

/* The cluster of that name, or NULL. */
const struct config_cluster *config_cluster_find(const struct config *config, const char *name);

/* The type of that name, or NULL. */
const struct config_type *config_type_find(const struct config *config, const char *name);

/*
 * All types by their names, for many searches: struct config_type, borrowed like the names. The
 * caller frees with g_hash_table_unref().
 */
GHashTable *config_types_by_name(const struct config *config);

/* The estimate of a pair, or NULL where there is none. */
const struct config_estimate *config_estimate(const struct config *config, const char *type,
					      const char *cluster);

/* The entry of a pair that could not be measured, or NULL where there is none. */
const struct config_unmeasured *config_unmeasured(const struct config *config, const char *type,
						  const char *cluster);

/*
 * Whether `type` fits `cluster` and has no estimate there, and may have none: the pair could not be
 * measured, or the type has a share of 0. No task of the type is placed there.
 */
bool config_is_hole(const struct config *config, const struct config_type *type,
		    const struct config_cluster *cluster);

/*
 * What a task of `type` is expected to take on `cluster`: what its estimate says; of a script
 * without one the time that its type allows, at the mean power of all other types there. False:
 * there is no estimate.
 */
bool config_expectation(const struct config *config, const struct config_type *type,
			const struct config_cluster *cluster, double *ret_etc_s, double *ret_eec_j);

/*
 * Whether there can be the blades of its lab, if it has one, on a machine that is large enough;
 * their numbers are in their ranges. Returns NULL, or "KEY.PATH: what is wrong; what to do" (the
 * caller frees).
 */
char *config_lab_check(const struct config *config);

/* Whether there is a lab, and it is to be steady. */
bool config_lab_is_steady(const struct config *config);

/* Whether there is a lab, and it is to be fitted to the machine. */
bool config_lab_is_to_fit(const struct config *config);

/* The share of this machine's CPUs that the VMs of a lab, its metronome included, may use. */
#define CONFIG_LAB_HOST_SHARE 0.8

/*
 * Host cores that all VMs of a lab may use, emulator threads included: under the quotas of their
 * clusters, or where there is none the budgets of their blades. Without the metronome. The
 * configuration has a lab.
 */
double config_lab_cores(const struct config *config);

/* Those of them that may be used under quotas on the blade of that index. */
double config_lab_blade_quotas(const struct config *config, uint32_t blade);

/*
 * `seconds` that are enough on a machine of speed 1 with all of its quotas, as this machine may
 * take: times `patience`, and never less.
 */
double config_patience(const struct config *config, double seconds);

/*
 * Whether this build has the metronome that a steady lab goes by (local-sched/lab/metronome, for
 * x86-64 alone).
 */
#ifdef __x86_64__
#define CONFIG_LAB_HAS_METRONOME true
#else
#define CONFIG_LAB_HAS_METRONOME false
#endif

/* What is wrong with its lab in a build that has a metronome, or not: one line, or NULL. */
const char *config_lab_unsteady(const struct config *config, bool has_metronome);

/* How the service of a configuration is to be run, defaults filled in. Its texts are borrowed. */
struct config_service config_service_of(const struct config *config);
