/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config_host.h"

/* Where the VMs of a suspended task go. */
enum config_keep {
	CONFIG_KEEP_AUTO = 0, /* into memory as long as it suffices, else to disk */
	CONFIG_KEEP_MEMORY,   /* they stay where they are, frozen */
	CONFIG_KEEP_DISK,     /* their hosts save them */
};

/* How tasks are suspended on a cluster. */
struct config_preemption {
	enum config_keep keep;
	/* VMs per host beyond its nodes, booted beforehand or suspended; default 0 */
	uint32_t spares;
	/* RAM that suspended VMs may hold on each host; 0: as much as its nodes */
	uint64_t memory_mib;
};

/*
 * A cluster that is simulated behind its local scheduler's API, in real time: no VMs, no hosts but
 * in name. Tasks take what the estimates say, and draw the energy that these say.
 */
struct config_simulated {
	double speed;  /* how many times as fast as the estimates; default 1 */
	double idle_w; /* of each host, >= 0 */
	/* of the execution times, which vary by the estimates' etc_sd_s; default 1 */
	uint64_t seed;
	/* how long a start, suspension, resumption or migration takes, in simulated seconds; >= 0 */
	double operation_s;
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
	 * Its hosts are shared in time (Stillwell 2010): policies place VMs on hosts and give them
	 * shares of their CPUs. A node is then a place for a VM, with the whole CPU of its host for
	 * its cap; every host has the same number of them. docs/how-to/sharing.md.
	 */
	bool shared;
	/*
	 * Its hosts send one another the memory of VMs by TLS, with the certificates that each
	 * one's libvirt has for that (migrate_tls_x509_cert_dir in qemu.conf).
	 * docs/explanation/migrate.md.
	 */
	bool migration_tls;
	char *local_scheduler; /* URL of a running local scheduler; NULL: `run` starts one */
	struct config_simulated *simulated; /* NULL: VMs on hosts */
	/*
	 * hosts_count of them; may be empty for `simulate` only. A simulated cluster has one by
	 * default.
	 */
	struct config_host *hosts;
	uint32_t hosts_count;
};

/* The rows of the structures above. */
extern const struct config_section config_cluster_section;

/*
 * The index of the host that a node of `cluster` is on: they are spread over its hosts in blocks.
 */
uint32_t config_cluster_host(const struct config_cluster *cluster, uint32_t node);

/* How many hosts of `cluster` are blades of a lab: the one of that name, or (NULL) any. */
uint32_t config_cluster_blades(const struct config_cluster *cluster, const char *name);

/* VMs of `cluster` on blades of a lab, spares included; 0: it is on none. */
uint64_t config_cluster_lab_vms(const struct config_cluster *cluster);

/* Places for VMs on each host of a cluster that is shared. */
uint32_t config_cluster_places(const struct config_cluster *cluster);
