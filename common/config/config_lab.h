/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config_key.h"

/* What an emulated blade's BMC speaks. */
enum config_bmc {
	CONFIG_BMC_IPMI = 0,
	CONFIG_BMC_REDFISH,
};

/* An emulated blade: its CPU budget and the coefficients of its power model. */
struct config_blade {
	char *name;
	/* CPU budget of the blade's cgroup, in host cores: at least its VMs' quotas */
	double cpu_cores;
	double idle_w;       /* watts at no load */
	double core_w;       /* watts more per host core that its VMs keep busy */
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
	 * Whether the blades may be promised more than 80 % of this machine's CPUs. For tests of
	 * what works: VMs then slow one another down, and nothing can be measured.
	 */
	enum config_answer overcommit;
	/*
	 * Whether the VMs' quotas follow the machine's own speed, so that their work per second
	 * does not.
	 */
	enum config_answer steady;
	/*
	 * Whether quotas and repetitions are for a machine that has enough of both, and are to be
	 * made smaller, or repetitions larger, by what a probe finds (lab_fit.h). What was fitted
	 * does not say so any more.
	 */
	enum config_answer fit;
};

/* What a steady lab takes of a CPU for itself, to measure the machine's speed. */
#define CONFIG_LAB_STEADY_CORES 0.05
/* How many times its quota a VM of a steady lab has at the most, while the machine is slow. */
#define CONFIG_LAB_STEADY_MOST 1.25

#define CONFIG_BLADES_MAX 64
/* The least that a control group takes is a thousandth of a core. */
#define CONFIG_BLADE_CORES_MIN 0.01
#define CONFIG_BLADE_NAME_MAX 24 /* its name is a host name, and part of VM names */

/* The rows of the structures above. */
extern const struct config_section config_lab_section;
