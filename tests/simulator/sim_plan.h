/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/random.h"

/*
 * The plan of one seed, drawn before its world begins: the size and settings of the world, and a
 * list of actions of users and faults, each with its time and numbers of its own. Which kinds of
 * actions a seed has at all is drawn first (Groce et al. 2012, "Swarm testing"), so that some seeds
 * have few kinds and many of each. An action can be left out without a change of the others, by
 * which a plan is shrunk.
 */

#define SIM_CLUSTERS_MAX 3

/* How a part ends. */
enum sim_death {
	SIM_KILL = 0, /* its process alone: all that it wrote is there */
	SIM_CRASH,    /* its machine: what was not synced is gone */
	SIM_TEAR,     /* the same, and a part of what was not synced is there */
	SIM_DEATHS,
};
extern const char *const sim_death_names[];

enum sim_action_kind {
	/* Of users. */
	SIM_SUBMIT = 0,
	SIM_CANCEL,
	SIM_HOLD,
	SIM_RELEASE,
	SIM_SUSPEND,
	SIM_RESUME,
	SIM_MIGRATE,
	SIM_DRAIN,
	SIM_UNDRAIN,
	SIM_LIST,
	SIM_RELOAD,
	/* Faults. */
	SIM_STOP_LOCAL,   /* a local scheduler is stopped in order, and started again */
	SIM_STOP,         /* the service is stopped in order, and started again */
	SIM_DIE,          /* a part ends */
	SIM_DIE_ALL,      /* all parts end at once */
	SIM_DIE_AT_WRITE, /* a part ends in one of its next changes of its disk */
	SIM_PART,         /* messages between two parts are held for some time */
	SIM_FREEZE,       /* a local scheduler is stopped for some time, as by SIGSTOP */
	SIM_CUT,          /* all connections to a part are cut */
	SIM_SLOW,         /* messages take long for some time */
	SIM_DISK,         /* changes of a part's disk fail for some time */
	SIM_CLOCK,        /* a part's UTC clock is set */
	SIM_ODD,          /* requests of a kind fail, get no answer or are late for some time */
	SIM_ACTION_KINDS,
};
extern const char *const sim_action_names[];
#define SIM_FAULT_FIRST SIM_STOP_LOCAL

/* The numbers choose what is meant: a part, a task, how long. */
struct sim_action {
	double at_s;
	enum sim_action_kind kind;
	uint32_t numbers[4];
	bool left_out;
};

/* A fault at a change of the disk of a part in one of its lives. */
struct sim_one {
	uint32_t part;   /* index in the world */
	uint32_t life;   /* from 1; 0: there is no such fault */
	uint32_t change; /* from 1 */
	enum sim_death death;
	bool fails; /* the disk fails from then on, for some seconds; `death` means nothing */
};

struct sim_plan {
	uint64_t seed;
	uint32_t clusters;
	uint32_t nodes[SIM_CLUSTERS_MAX];
	uint32_t hosts[SIM_CLUSTERS_MAX];
	const char *policy;
	bool drops; /* the policy drops tasks */
	/*
	 * Nothing happens after which a task may be executed twice (docs/explanation/reliability.md):
	 * no machine loses power, no disk fails, and no local scheduler is silent for 30 s.
	 */
	bool gentle;
	double retention_days; /* 0: the default */
	double mapping_interval_s;
	double energy_limit_j; /* in each window; 0: none */
	double energy_window_s;
	bool other_policy;  /* a reload may take another policy */
	double operation_s; /* what a start, suspension, resumption or migration takes */
	double long_s;      /* what a long task takes */
	uint32_t mute;      /* 1 + a task whose first attempt can't be asked about; 0: none */
	guint delay_ms;     /* the least that a message takes */
	guint jitter_ms;    /* the mean of what it takes beyond */
	guint work_ms;      /* the mean that a thread's work takes */
	struct sim_one one; /* a fault at one change of a disk */
	double active_s;    /* from then on there are no faults, and users end all */
	GArray *actions;    /* struct sim_action, by time */
};
typedef struct sim_plan sim_plan_t; /* for g_autoptr() */

struct sim_plan *sim_plan_new(uint64_t seed);
/*
 * The plan of a small world with two lives of each part, in which users do a little of all. The one
 * fault is that of `one`.
 */
struct sim_plan *sim_plan_one(const struct sim_one *one);
void sim_plan_free(struct sim_plan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(sim_plan_t, sim_plan_free)

/* The text of an action; the caller frees. */
char *sim_action_text(const struct sim_action *action);
