/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The experiment configuration: one YAML file that names the clusters, the task types, the
 * estimates, the workload and the experiment, and that `run`, `simulate`, `profile`, the
 * controller and the local schedulers all read.
 *
 * Reading has two steps: config_load() parses against a schema (an unknown key or a value of the
 * wrong kind is refused with its line and column) and config_check() verifies the meaning (a wrong
 * value is refused with the path of its key). Both produce one line that names the file, the place
 * and the cure. A loaded configuration is read-only and is shared by pointer.
 *
 * Where an optional number is absent from the file, config_load() fills in the default that the
 * comments below name, else 0. A 0 that is written stays one, or is refused.
 */

/* Where a host's watts come from. */
enum config_meter_kind {
	CONFIG_METER_NONE = 0, /* no meter: energy of the host is not known */
	CONFIG_METER_IPMI,     /* ipmitool over LAN: DCMI, else the named sensor */
	CONFIG_METER_REDFISH,  /* HTTPS: PowerControl, else EnvironmentMetrics */
	CONFIG_METER_AMM,      /* SNMP: a bay of an IBM BladeCenter's management module */
	CONFIG_METER_RAPL,     /* CPU packages of this machine only, not its whole power */
	CONFIG_METER_ACPI,     /* ACPI power meter of this machine (hwmon) */
	CONFIG_METER_MODEL,    /* no meter: watts computed from this machine's CPU time */
	CONFIG_METER_SIMULATED, /* of a host of a simulated cluster, which has no other */
};

/* How a Redfish meter logs in. */
enum config_meter_auth {
	CONFIG_METER_BASIC = 0, /* name and password with every request */
	CONFIG_METER_SESSION,   /* one login for a token, which is given back at the end */
};

/* Which certificates a Redfish meter accepts. */
enum config_meter_tls {
	CONFIG_METER_VERIFY = 0, /* those that `ca_file`, or else the system, vouches for */
	CONFIG_METER_INSECURE,   /* any: whoever stands between may read the password */
};

/* Version of SNMP that an AMM is asked in. */
enum config_meter_snmp {
	CONFIG_METER_SNMP_V3 = 0, /* user, authentication by SHA and encryption by DES */
	CONFIG_METER_SNMP_V1,     /* the first line of the password file is the community */
	CONFIG_METER_SNMP_V2C,
};

/*
 * A power meter of one host. docs/reference/meters.md says what each kind measures; config_meter.c has the
 * table of which keys each kind takes and needs: a key of another kind is refused.
 */
struct config_meter {
	enum config_meter_kind kind;
	char *address;          /* host name or IP address of the BMC (ipmi, redfish, amm) */
	uint16_t port;          /* default: 623 (ipmi, UDP), 443 (redfish), 161 (amm, UDP) */
	char *user;             /* ipmi, redfish, amm with SNMP 3; default "ADMIN" */
	char *password_file;    /* file whose first line is the password; never in argv */
	uint32_t cipher_suite;  /* ipmi; default 17 */
	char *privilege;        /* ipmi: USER, OPERATOR, ADMINISTRATOR; default USER */
	char *sensor;           /* ipmi: sensor to read where DCMI is missing; NULL: none */
	char *ca_file;          /* redfish: PEM file of the certificates to trust; NULL: system */
	enum config_meter_tls tls;   /* redfish */
	enum config_meter_auth auth; /* redfish */
	char *chassis;          /* redfish: Id of the chassis; NULL: the first that has watts */
	uint32_t bay;           /* amm: the blade's bay, 1 to 14 */
	enum config_meter_snmp snmp; /* amm */
	char *sys_root;         /* rapl, acpi: where sysfs is; default "/sys" */
	char *proc_root;        /* model: where procfs is; default "/proc" */
	double idle_w;          /* model: watts at no load, >= 0 */
	double core_w;          /* model: watts more per busy CPU, >= 0 */
	double interval_s;      /* sampling interval; default 1 */
};

/*
 * A machine that runs a hypervisor. Either `uri` is given, or `blade` names an emulated blade of
 * this configuration's lab, which supplies URIs, bridge and meter when the lab is up.
 */
struct config_host {
	char *name;   /* unique; default: the blade's name, or CLUSTER-N */
	char *uri;    /* libvirt URI, or NULL */
	char *peer_uri; /* libvirt URI by which the cluster's other hosts reach it; default: uri */
	char *blade;  /* lab blade, or NULL */
	char *bridge; /* bridge on the host to which the guests' NICs go; default "br0" */
	struct config_meter *meter; /* NULL: none */
	char *sys_root; /* where the CPUs' knobs are, on a host that is this machine; default "/sys" */
	char *dev_root; /* and cpu_dma_latency; default "/dev" */
};

/* Where the VMs of a suspended task go. */
enum config_keep {
	CONFIG_KEEP_AUTO = 0, /* into memory as long as it suffices, else to disk */
	CONFIG_KEEP_MEMORY,   /* they stay where they are, frozen */
	CONFIG_KEEP_DISK,     /* their hosts save them */
};

/* How tasks are suspended on a cluster. */
struct config_preemption {
	enum config_keep keep;
	uint32_t spares;     /* VMs per host beyond its nodes, booted beforehand or suspended; default 0 */
	uint64_t memory_mib; /* RAM that suspended VMs may hold on each host; 0: as much as its nodes */
};

/*
 * A cluster that is simulated behind its local scheduler's API, in real time: no VMs, no hosts but in
 * name. Tasks take what the estimates say, and draw the energy that these say.
 */
struct config_simulated {
	double speed;  /* how many times as fast as the estimates; default 1 */
	double idle_w; /* of each host, >= 0 */
	uint64_t seed; /* of the execution times, which vary by the estimates' etc_sd_s; default 1 */
};

/* A homogeneous cluster (Machovec 2018, Table 4). */
struct config_cluster {
	char *name;
	uint32_t nodes;      /* VMs, spread over the hosts in blocks */
	uint32_t cores;      /* virtual CPUs per node */
	uint64_t memory_mib; /* RAM per node */
	uint64_t swap_mib;   /* swap disk per node; 0: none */
	uint32_t max_mhz;    /* P-state cap: cpufreq where the host has it, else a quota; 0: none */
	uint32_t base_mhz;   /* the host's nominal frequency; needed where max_mhz is given */
	char *max_cstate;    /* deepest C-state, e.g. "C1"; NULL: no limit */
	struct config_preemption *preemption; /* NULL: the defaults */
	/*
	 * Its hosts are shared in time (Stillwell 2010): policies place VMs on hosts and give them shares of
	 * their CPUs. A node is then a place for a VM, with the whole CPU of its host for its cap; every
	 * host has the same number of them. docs/how-to/sharing.md.
	 */
	bool shared;
	/*
	 * Its hosts send one another the memory of VMs by TLS, with the certificates that each one's libvirt
	 * has for that (migrate_tls_x509_cert_dir in qemu.conf). docs/explanation/migrate.md.
	 */
	bool migration_tls;
	char *local_scheduler; /* URL of a running local scheduler; NULL: `run` starts one */
	struct config_simulated *simulated; /* NULL: VMs on hosts */
	/* hosts_count of them; may be empty for `simulate` only. A simulated cluster has one by default. */
	struct config_host *hosts;
	uint32_t hosts_count;
};

/* A task type: what runs, how wide, and its share of the workload. */
struct config_type {
	char *name;
	char *benchmark;      /* one of common/benchmark.h */
	char *class_;         /* problem class: S W A B C; key `class`; of no meaning to scripts */
	uint32_t cores;       /* cores asked for, equal to the MPI ranks; 0: `nodes` says it */
	uint32_t nodes;       /* of scripts, instead of cores: whole nodes, whatever their cores; 0: not said */
	uint32_t nodes_max;   /* it stood for one type of each number of nodes up to this; 0 once that is done */
	uint32_t repetitions; /* of the timed section; default 1 */
	uint64_t memory_mib;  /* least memory (RAM + swap) over all nodes of the task */
	double share;         /* fraction of arrivals, 0..1; shares sum to 1 */
	/*
	 * Benchmark "script" only: the longest that its tasks, what people bring along, may run, and what
	 * is expected of them; > 0.
	 */
	double time_s;
	/* Preemption (Machovec 2017, section II), both false unless given: */
	bool may_preempt;     /* its tasks may take the nodes of preemptible ones */
	bool preemptible;     /* its tasks may be suspended for others */
	/* The utility of its tasks, where it is not the workload's; 0: the workload's. */
	uint32_t utility_max;
	double constant_until; /* equal to zero_at: a step */
	double zero_at;
	double cpu_need;      /* of each VM on shared hosts, share of a host, (0, 1]; default 1 */
};

/* One entry of the ETC and EEC matrices (Machovec 2018, Tables 5 and 6), with its spread. */
struct config_estimate {
	char *type;
	char *cluster;
	double etc_s;    /* mean execution time, > 0 */
	double etc_sd_s; /* its standard deviation over `count` measurements */
	double eec_j;    /* mean dynamic energy, >= 0 */
	double eec_sd_j;
	uint32_t count;  /* measurements behind the entry; 0: given */
};

/* A pair of type and cluster that was to be measured and could not be: no task of the type is placed there. */
struct config_unmeasured {
	char *type;
	char *cluster;
	char *reason; /* in words, for headings */
};

/*
 * What one suspension of a task took, seconds of elapsed time, each step after the one before: all of
 * its VMs frozen, off the nodes, back on nodes, going on (controller/backend/backend.h). Simulations
 * draw from these; without any, suspending takes no time (Machovec 2017, section II).
 */
struct config_overhead {
	char *cluster;
	double freeze_s;  /* >= 0, as the others */
	double save_s;
	double restore_s;
	double resume_s;
	char *keep;       /* where its VMs were meanwhile: "memory" or "disk"; NULL: not said */
	double skew_s;    /* between the first and the last VM frozen, part of freeze_s */
};

/* Arrivals and utility functions (Machovec 2018, section 6.2). */
struct config_workload {
	double arrival_mean_s; /* mean of the exponential inter-arrival time */
	double duration_s;     /* arrivals happen in [0, duration_s) */
	/*
	 * Instead of these, both 0 unless given: the work that arrives over what all clusters can do in that
	 * time, and the mean number of tasks. The two above follow from the estimates then.
	 */
	double load;
	double tasks;
	uint64_t seed;         /* default 1 */
	uint32_t *utility_max; /* maxima drawn from uniformly; utility_max_count of them */
	uint32_t utility_max_count;
	double constant_until; /* x minimum execution time of the type, from arrival; default 2.5 */
	double zero_at;        /* x minimum execution time; default 4 */
};

/* The utility functions of the tasks of a serial environment (Machovec 2017, section IV.C). */
enum config_utility {
	CONFIG_UTILITY_CLASSES = 0, /* one of 20 classes for each burst */
	CONFIG_UTILITY_STEP,
	CONFIG_UTILITY_DECAY,       /* one class: constant, then one period of decay */
};

/*
 * Serial tasks that arrive in bursts, critical and ordinary ones, on clusters that are counted in
 * cores (Machovec 2017, section IV). Tasks use no energy.
 */
struct config_serial {
	double spread; /* a trial's clusters have nodes x (1 - spread) to (1 + spread); default 0.5 */
	double burst;             /* mean number of tasks that arrive at once, from 1; default 64 */
	enum config_utility utility;
	double critical_share;    /* of the task types, [0, 1]; default 0.2 */
	double critical_utility;  /* that critical tasks start with, ordinary ones with 1; default 8 */
	double critical_mean_s;   /* mean execution time of critical tasks; default 600 */
	double ordinary_mean_s;   /* default 3000 */
	double may_preempt_share; /* of the bursts, [0, 1]: their tasks may preempt others; default 1 */
	double preemptible_share; /* of the bursts, [0, 1]: their tasks may be preempted; default 1 */
};

/* A job that a configuration lists: equal VMs, their needs as shares of a host. */
struct config_job {
	double arrival_s; /* >= 0, in order */
	double run_s;     /* alone on the cluster, > 0 */
	uint32_t vms;
	double cpu;       /* need of each VM, (0, 1] */
	double memory;    /* requirement of each, (0, 1] */
};

/*
 * Jobs on the hosts of one cluster, its nodes, that policies may share in time (Stillwell 2010): those of
 * the Lublin model; or of a week of environment.trace, by the rules for HPC2N; or listed ones.
 */
struct config_sharing {
	uint32_t jobs;    /* of the model, in a trial; default 1000 */
	double load;      /* the offered load that they are scaled to; default 0: as drawn */
	double penalty_s; /* of rescheduling (IV.A), >= 0; default 300 */
	bool virtual_time_in_penalty; /* virtual time runs during the penalty, though there is no progress; default false */
	uint32_t memory_tenths; /* of a host's: the most that a task of the model needs, 2 to 10; default 10 */
	uint32_t week;    /* of the trace, from 1, that trial 1 runs; default 1 */
	struct config_job *list; /* list_count jobs, the same in all trials; none: the others */
	uint32_t list_count;
};

/*
 * The execution time of a task type on a machine: as samples, or as a PMF. One of both lists is empty.
 */
struct config_pet_entry {
	char *type;
	char *machine;       /* a cluster's name */
	double *samples;     /* samples_count measured times, seconds, > 0 */
	uint32_t samples_count;
	uint32_t first;      /* bin of the first mass, from 1; default 1 */
	double *masses;      /* masses_count probabilities of that bin and the next ones; they sum to 1 */
	uint32_t masses_count;
};

/* A task with a deadline that a configuration lists. */
struct config_pruning_task {
	char *type;
	double arrival_s;  /* >= 0, in order */
	double deadline_s; /* hard; after arrival_s */
};

/*
 * Tasks with hard deadlines on machines with queues, which are the clusters (Gentry 2019, VI): policies
 * put tasks into queues, and drop them. Chances, thresholds and factors are in [0, 1].
 */
struct config_pruning {
	double level;            /* tasks that arrive in span_s; default 34000 */
	double span_s;           /* default 250000, calibrated (docs/explanation/reproduction.md) */
	/*
	 * Tasks arrive so many times as fast as the machines could do tasks of all types in turn; level and
	 * span_s do not count then. Default 0: they do.
	 */
	double demand;
	uint32_t tasks;          /* of them the first so many make a trial; default 800 */
	uint32_t left_out;       /* first and last tasks to leave that do not count; default 100 */
	double variance;         /* of a type's gaps, as a share of their mean; default 0.1 */
	double slack;            /* beta of the deadlines; default 1.7, calibrated */
	struct config_pruning_task *list; /* list_count tasks, the same in all trials; none: drawn */
	uint32_t list_count;
	char *pet;               /* file of entries; NULL once it is read into the list below */
	/*
	 * entries_count; none: a matrix of ours, of pet_seed, or where there are types those that are to
	 * be measured.
	 */
	struct config_pet_entry *entries;
	uint32_t entries_count;
	uint64_t pet_seed;       /* default 4 */
	double bin_s;            /* what a time bin is worth; default 1 */
	uint32_t queue_length;   /* the executing task counts; default 6 */
	double drop_threshold;   /* default 0.5 */
	double defer_threshold;  /* default 0.9 */
	double adjustment;       /* p of eq. (7); default drop_threshold */
	double recency;          /* lambda of eq. (8); default 0.9 */
	double toggle;           /* oversubscription level that begins dropping, > 0; default 1 */
	double separation;       /* of the Schmitt trigger; default 0.2; 0: none */
	double fairness;         /* factor; default 0.05 */
	double cull_threshold;   /* of MOC; default 0.3 */
	bool evict;              /* baselines, too, take executing tasks off at deadlines; default yes */
	uint32_t merge;          /* most impulses of a completion time; default 0: exact */
	double *prices;          /* prices_count: of an hour of each cluster; none: 1 each */
	uint32_t prices_count;
};

/*
 * A simulated environment (Machovec 2018, section 4.2): task types, estimates and arrivals are drawn
 * anew for every trial on the configured clusters; `types`, `estimates` and `workload` stay empty.
 */
struct config_environment {
	double tasks_per_day;   /* mean number of arrivals in 24 h, > 0; of no use with a trace */
	char *trace;            /* SWF file whose jobs are the tasks (4.3); NULL: drawn ones */
	uint32_t trace_day;     /* that trial 1 runs, from 1; days without jobs do not count; default 1 */
	uint32_t trace_cores;   /* jobs that ask for more cores are left out; default 4096 */
	uint32_t pstates;       /* default 3; scaling factors evenly from 1 to 0.5 */
	double lead_s;          /* time before the day that counts; default 4 h */
	uint64_t seed;          /* default 1 */
	uint64_t classes_seed;  /* of the 20 utility classes; default 1 */
	char **special;         /* special_count clusters that only run types of their own */
	uint32_t special_count;
	double sine_amplitude;  /* of the arrival rates, relative, [0, 1]; default 0.5 */
	struct config_serial *serial; /* serial tasks in bursts instead; NULL: parallel ones */
	struct config_sharing *sharing; /* jobs on shared hosts instead; NULL: none */
	struct config_pruning *pruning; /* tasks with deadlines instead; NULL: none */
};

/*
 * A study (`virtbed study`): trials x sizes x values x policies x limits, and the figures that show
 * it.
 */
struct config_study {
	uint32_t trials;      /* default 48 */
	/*
	 * What the figures have on their x axis: policy, limit, leniency, drop, size, or the name
	 * of a sweep (config_sweep.h). Default: what there are several of.
	 */
	char *x;
	char **values;        /* values_count of what is swept; only with a sweep */
	uint32_t values_count;
	double *sizes;        /* sizes_count shares of the nodes of every cluster; default 1 */
	uint32_t sizes_count;
};

/* Limits closer than this are one and the same, in tables and file names too. */
#define CONFIG_LIMITS_DIFFER 1e-6

/* Policies x limits x repeats: no policy and no limit appears twice. */
struct config_experiment {
	char **policies;
	uint32_t policies_count;
	double *limits;      /* fractions of the budget, each in (0, 1] */
	uint32_t limits_count;
	double budget_j;     /* 100 %; 0: what an unlimited max-upr run is simulated to use */
	double mapping_interval_s;
	double duration_s;   /* a run ends at this time at the latest */
	/* Instead of these, 0 unless given: x the mean execution time; x workload.duration_s. */
	double mapping_interval;
	double duration;
	uint32_t repeats;    /* of the same workload; default 1 */
	double baseline_s;   /* idle time metered before each run; default 10 */
	uint32_t profile_repeats; /* measurements per type and cluster; default 3 */
	double task_deadline_s; /* a task that runs longer is killed and fails; default 10 x its ETC */
};

#define CONFIG_SERVICE_TASKS_MAX 1000000 /* the most that tasks_max can be */

/*
 * The service (`virtbed serve`): how tasks are scheduled that people submit while it runs.
 * docs/how-to/run.md.
 */
struct config_service {
	char *policy;              /* default "easy" */
	double mapping_interval_s; /* > 0; default: that of the experiment */
	uint32_t tasks_max;        /* tasks that it can take in its life, 1 to 1e6; default 100000 */
	uint32_t user_tasks_max;   /* of one user that have not ended, 1 to 1e6; default 10000 */
	double user_requests_per_s; /* of one user, [1, 1e6]; default 100 */
	double retention_days;     /* how long samples, decisions, events and output are kept, > 0; default 30 */
	double energy_limit_j;     /* dynamic, in every window, > 0; 0: none, the default */
	double energy_window_s;    /* 10 to 31622400; default a day */
	double meter_refresh_s;    /* how old what meters say can be, beside their interval_s; 0 to 600, default 0 */
	char *group;               /* whose members may use its socket, too; NULL: nobody else */
	char *listen;              /* a second address, http on loopback or https; NULL: none */
	char *certificate;         /* file; for https */
	char *key;                 /* of the certificate; file that nobody else can read */
};

/*
 * How daemons on different machines know one another: every one has a certificate of the same CA. On each
 * machine the files are its own.
 */
struct config_tls {
	char *ca;          /* file: whose certificates are trusted */
	char *certificate; /* file: what this machine's daemons show */
	char *key;         /* of the certificate; file that nobody else can read */
};

/* What an emulated blade's BMC speaks. */
enum config_bmc {
	CONFIG_BMC_IPMI = 0,
	CONFIG_BMC_REDFISH,
};

/* An emulated blade: its CPU budget and the coefficients of its power model. */
struct config_blade {
	char *name;
	double cpu_cores; /* CPU budget of the blade's cgroup, in host cores: at least its VMs' quotas */
	double idle_w;    /* watts at no load */
	double core_w;    /* watts more per host core that its VMs keep busy */
	enum config_bmc bmc; /* default ipmi */
};

/* A key that takes yes or no. */
enum config_answer {
	CONFIG_NO = 0,
	CONFIG_YES,
};

/* Emulated blades on this machine (`virtbed lab`). */
struct config_lab {
	struct config_blade *blades; /* CONFIG_BLADES_MAX at most */
	uint32_t blades_count;
	/*
	 * Whether the blades may be promised more than 80 % of this machine's CPUs. For tests of what
	 * works: VMs then slow one another down, and nothing can be measured.
	 */
	enum config_answer overcommit;
	/* Whether the VMs' quotas follow the machine's own speed, so that their work per second does not. */
	enum config_answer steady;
	/*
	 * Whether quotas and repetitions are for a machine that has enough of both, and are to be made smaller,
	 * or repetitions larger, by what a probe finds (config_fit.h). What was fitted does not say so any more.
	 */
	enum config_answer fit;
};

/* What a steady lab takes of a CPU for itself, to measure the machine's speed ... */
#define CONFIG_LAB_STEADY_CORES 0.05
/* ... and how many times its quota a VM has there at the most, while the machine is slow. */
#define CONFIG_LAB_STEADY_MOST 1.25

#define CONFIG_BLADES_MAX 64
#define CONFIG_BLADE_NAME_MAX 24 /* its name is a host name, and part of VM names */

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
	struct config_tls *tls; /* NULL: all daemons are on one machine, or their connections are tunnelled */
	struct config_lab *lab; /* NULL: real blades */
	struct config_environment *environment; /* NULL: the configured types and workload */
	struct config_study *study; /* never NULL after config_load() */
	char *image;            /* directory of the guest image; default: the build's own */
	/*
	 * How many times as long as on a machine of speed 1 with all of its quotas what a machine does may take
	 * (config_patience()); 0: not given.
	 */
	double patience;
};

#define CONFIG_ERROR (config_error_quark())
GQuark config_error_quark(void);

/* Codes of CONFIG_ERROR. All of them are bad input: a program exits with status 2. */
enum config_error {
	CONFIG_ERROR_READ = 1, /* the file could not be read */
	CONFIG_ERROR_SYNTAX,   /* not YAML, unknown key, wrong kind of value */
	CONFIG_ERROR_MEANING,  /* a value that makes no sense */
};

/*
 * Reads `path`, fills in defaults and checks the meaning (config_check()). Returns a new
 * configuration that the caller frees with config_free(), or NULL with `error` set.
 */
struct config *config_load(const char *path, GError **error);

/* Whether some time follows from the estimates (workload.load, experiment.mapping_interval, experiment.duration). */
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
 * Reads the execution times of tasks with deadlines from `path` (a file of `profile --pet`) and replaces the
 * entries of environment.pruning, which `config` has, by them. On failure `config` is unchanged. Returns
 * true, or false with `error` set.
 */
bool config_load_pet(struct config *config, const char *path, GError **error);

/* Whether `config` has tasks with deadlines whose execution times are still to be measured. */
bool config_wants_pet(const struct config *config);

/*
 * Verifies the meaning of `config`; `path` names the file in messages. Returns true, or false with
 * `error` set to a line `PATH: KEY.PATH: what is wrong; what to do`.
 */
bool config_check(const struct config *config, const char *path, GError **error);

/*
 * Whether this process may use enough memory (config_check_memory()) and CPU time of this machine for `config`: the VMs
 * of its lab and its metronome get CONFIG_LAB_HOST_SHARE of the CPU time at the most, but where lab.overcommit allows
 * more, and where the lab is still to be fitted. Who is about to run VMs here asks; config_check() does not, so that a configuration that is too
 * large for this machine can be simulated and reported on. `path` and `error` as of config_check().
 */
bool config_check_room(const struct config *config, const char *path, GError **error);

/* What an emulated VM takes beside its RAM when it is young, in MiB: QEMU, and the code that it has translated. */
#define CONFIG_LAB_EMULATOR_MIB 120

/* MiB of memory that the VMs of a lab need when all are up, spares and QEMU included. 0 without blades. */
uint64_t config_lab_memory_mib(const struct config *config);

/*
 * Whether this machine, with nothing else on it, has the memory of all VMs of `config` that run here: those on blades,
 * and those of clusters without local_scheduler on this machine's own libvirt. Part of config_check_room(), and with
 * its arguments.
 */
bool config_check_memory(const struct config *config, const char *path, GError **error);

/*
 * Limits of a local scheduler: addresses of VMs hold the numbers of cluster and node, and a VM has a channel for each
 * core. What is only simulated may be larger.
 */
#define CONFIG_SERVED_NODES_MAX 239
#define CONFIG_SERVED_CORES_MAX 30
#define CONFIG_SERVED_CLUSTERS_MAX 254

/*
 * Whether a local scheduler can serve `clusters[index]`. Returns NULL, or "KEY.PATH: what is wrong; what to do" (the
 * caller frees).
 */
char *config_cluster_check_served(const struct config *config, uint32_t index);

/* Fills in the defaults of `meter` that depend on its kind. */
void config_meter_fill_in(struct config_meter *meter);

/*
 * Verifies the meaning of `meter`. `local`: its host's libvirt URI names this machine. Returns
 * NULL, or "KEY: what is wrong; what to do" (the caller frees).
 */
char *config_meter_check(const struct config_meter *meter, bool local);

/* The kind's name as in configurations. */
const char *config_meter_kind_name(enum config_meter_kind kind);

/* Frees what `meter` points to and makes it one of kind none; its sampling interval stays. */
void config_meter_clear(struct config_meter *meter);

/* Whether the libvirt URI `uri` names the machine that opens it: no host in it, and no socket. */
bool config_uri_is_local(const char *uri);

/* `config` as YAML, such that equal texts are equal configurations; the caller frees. */
char *config_to_text(const struct config *config);

/* Writes `config` as YAML to `path`, such that config_load() reads it back equal. */
bool config_save(const struct config *config, const char *path, GError **error);

/* What a profile measured: the lists of a configuration of the same names. */
struct config_measured {
	struct config_estimate *estimates;
	uint32_t estimates_count;
	struct config_overhead *overheads;
	uint32_t overheads_count;
	struct config_unmeasured *unmeasured;
	uint32_t unmeasured_count;
};

/* Writes what was measured, borrowed, as a YAML file that config_load_estimates() reads. */
bool config_save_measured(const struct config_measured *measured, const char *path,
			  GError **error);

/* Writes `estimates` (`count` of them) as a YAML file that config_load_estimates() reads. */
bool config_save_estimates(const struct config_estimate *estimates, uint32_t count,
			   const char *path, GError **error);

/* Frees a configuration; NULL is allowed. */
void config_free(struct config *config);
typedef struct config config_t;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(config_t, config_free)

/* Nodes that `type` occupies in `cluster`: its own, or cores / cores-per-node, rounded up. */
uint32_t config_type_nodes(const struct config_type *type, const struct config_cluster *cluster);

/* Cores that `type` asks for in `cluster`: its own, or all of its nodes. */
uint32_t config_type_cores(const struct config_type *type, const struct config_cluster *cluster);

/* The index of the host that a node of `cluster` is on: they are spread over its hosts in blocks. */
uint32_t config_cluster_host(const struct config_cluster *cluster, uint32_t node);

/* Places for VMs on each host of a cluster that is shared. */
uint32_t config_cluster_places(const struct config_cluster *cluster);

/*
 * Whether `type` can run in `cluster` at all: it is wide enough, and RAM plus swap of the nodes that
 * the type occupies hold its memory (Machovec 2018, section 6.1: why MG.8 is n.a. on clusters 3 and 4).
 * Where hosts are shared, also whether they have the CPU that all of its VMs need at once.
 */
bool config_type_fits(const struct config_type *type, const struct config_cluster *cluster);

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
 * The holes, a line each: "'TYPE' on 'CLUSTER'", with `reasons` followed by ": REASON". NULL: there are
 * none. None is a hole where nothing was measured at all. The caller frees.
 */
char *config_holes(const struct config *config, bool reasons);

/*
 * What an experiment lacks of the measurements that it needs, one line, or NULL where it has them: a type
 * with a share needs an estimate on one cluster at least; tasks with deadlines need all execution times.
 * The caller frees.
 */
char *config_lacks(const struct config *config);

/* Whether tasks of the type are scripts that people bring along. */
bool config_type_is_script(const struct config_type *type);

/*
 * What a task of `type` is expected to take on `cluster`: what its estimate says; of a script without one the
 * time that its type allows, at the mean power of all other types there. False: there is no estimate.
 */
bool config_expectation(const struct config *config, const struct config_type *type,
			const struct config_cluster *cluster, double *ret_etc_s, double *ret_eec_j);

/* Whether there is a lab, and it is to be steady. */
bool config_lab_is_steady(const struct config *config);

/* Whether there is a lab, and it is to be fitted to the machine. */
bool config_lab_is_to_fit(const struct config *config);

/* The share of this machine's CPUs that the VMs of a lab, its metronome included, may use. */
#define CONFIG_LAB_HOST_SHARE 0.8

/*
 * Host cores that all VMs of a lab may use, emulator threads included: under the quotas of their clusters, or
 * where there is none the budgets of their blades. Without the metronome. The configuration has a lab.
 */
double config_lab_cores(const struct config *config);

/* Those of them that may be used under quotas on the blade of that index. */
double config_lab_blade_quotas(const struct config *config, uint32_t blade);

/*
 * `seconds` that are enough on a machine of speed 1 with all of its quotas, as this machine may take: times
 * `patience`, and never less.
 */
double config_patience(const struct config *config, double seconds);

/* Whether this build has the metronome that a steady lab goes by (local-sched/lab/metronome, for x86-64 alone). */
#ifdef __x86_64__
#define CONFIG_LAB_HAS_METRONOME true
#else
#define CONFIG_LAB_HAS_METRONOME false
#endif

/* What is wrong with its lab in a build that has a metronome, or not: one line, or NULL. */
const char *config_lab_unsteady(const struct config *config, bool has_metronome);

/* How the service of a configuration is to be run, defaults filled in. Its texts are borrowed. */
struct config_service config_service_of(const struct config *config);
