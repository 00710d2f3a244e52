/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/http_client.h"
#include "controller/api/status_api.h"
#include "controller/session/run_session.h"
#include "local-sched/api/api.h"
#include "local-sched/core/scheduler.h"
#include "tests/simulator/sim_log.h"
#include "tests/simulator/sim_plan.h"
#include "tests/virtual/virtual_platform.h"

/*
 * The world of one seed: a service, the local schedulers of its clusters, which are simulated, and
 * users, in one process and on one thread under one virtual time. The daemons are the product's.
 * Each is a part: a machine with a clock, a disk and a process, which dies and is started again
 * while the others live. What happens to the parts is the plan's.
 *
 * The service waits in its own main loop, which is that of the world, too: sim_run() calls it, and
 * all else are events in it.
 */
struct sim_world;
struct sim_users;
struct sim_promises;

/* A part. */
struct sim_part {
	struct sim_world *world;
	guint index; /* in sim_world.parts */
	char *name;
	char *address, *dir;
	struct virtual_disk *disk;
	struct virtual_platform *virtual; /* of its present life, or the last one; NULL: of none */
	bool up;                          /* its objects exist */
	bool dying;                       /* it is dead, and its objects are to be dropped */
	bool down;                        /* its machine has no power */
	bool disk_fails;                  /* a fault of its disk was in this life */
	bool disk_bad;                    /* its disk fails */
	enum sim_death death;             /* of the last life */
	enum sim_death at_write;          /* how it is to die in a change of its disk */
	double heard_s;                   /* when the service could reach it last */
	bool frozen;                      /* its process is stopped */
	double restart_s;                 /* after its death it is started again */
	guint lives;
	guint start, unwind; /* sources */
	/* Of a local scheduler that is up. */
	struct config *config;
	struct task_store *store;
	struct scheduler *scheduler;
	struct api *api;
};

/* Parts by index; users have one, too, which never dies. */
enum { SIM_USERS = 0, SIM_CONTROLLER, SIM_LOCALS, SIM_PARTS_MAX = SIM_LOCALS + SIM_CLUSTERS_MAX };

/* What has happened, for figures. */
struct sim_counts {
	guint64 events, kills, crashes, tears, partitions, cuts, disk_faults, steps, stops, freezes,
		one, odd;
	guint64 requests, lives, tasks, acknowledged, completed;
	double simulated_s;
	double quiet_s; /* the longest time from the last fault until all was quiet */
};

/* Requests of the service that fare otherwise than the others. */
struct sim_odd {
	const char *request; /* how they begin, as "GET /v1/tasks/"; NULL: there are none */
	enum { SIM_ODD_FAILS = 0, SIM_ODD_UNANSWERED, SIM_ODD_LATE, SIM_ODD_ANSWERED_LATE } how;
	guint ms; /* the mean of how late */
	double until_s;
};

struct sim_world {
	const struct sim_plan *plan;
	struct sim_log *log;
	struct virtual_platform *ground; /* whose timers are the world's; it never dies */
	struct sim_part parts[SIM_PARTS_MAX];
	guint parts_count;
	char *dir;
	struct random_stream messages, work, disks;  /* of the world's own choices */
	guint blocked[SIM_PARTS_MAX][SIM_PARTS_MAX]; /* [from][to]: faults that hold messages */
	guint slow_ms;                               /* beyond what the plan says */
	struct sim_odd odd;
	/* Of the controller that is up; NULL: none. */
	struct run_session *session;
	struct status_api *status;
	bool start_wanted; /* the controller is to be started */
	bool has_served;   /* the service has begun */
	bool stopping;     /* the service is being stopped in order */
	bool healed;       /* there are no faults from now on */
	double healed_s;
	bool ending; /* all has been seen: the service is stopped for good */
	bool over;
	struct sim_users *users;
	struct sim_promises *promises;
	/* What may be excused by the faults so far. */
	bool lost_machine, long_silence, disk_fault;
	bool clock_set;        /* the service's, which a restart of its machine goes by */
	double service_s;      /* the latest time of the service that was seen */
	double last_silence_s; /* the end of the last fault of the network */
	uint64_t notices;      /* of the service's present life that are in the log */
	double quiet_after_s;  /* after the last fault, until all was quiet */
	GHashTable *counters;  /* host -> its counter when all was quiet, microjoules */
	guint descriptors;     /* at the beginning */
	struct sim_counts counts;
};

/* Carries out a plan, with an empty log. *ret_counts is what happened. */
void sim_run(const struct sim_plan *plan, struct sim_log *log, struct sim_counts *ret_counts);

/* For the parts of the simulator. */

/* Seconds of the world. */
double sim_now_s(const struct sim_world *world);

/* Adds an event of a part. */
#define sim_say(part, ...)                                                                         \
	sim_log_add((part)->world->log, sim_now_s((part)->world), (part)->name, __VA_ARGS__)

/* A violation, after which the world ends. */
#define sim_violate(world, invariant, ...)                                                         \
	do {                                                                                       \
		sim_log_violate((world)->log, sim_now_s(world), (invariant), __VA_ARGS__);         \
		sim_end(world);                                                                    \
	} while (0)
void sim_end(struct sim_world *world);

/* A part dies, and is started again after `restart_s`. A dead part stays as it is. */
void sim_part_die(struct sim_part *part, enum sim_death death, double restart_s);

/* Stops the service, or a local scheduler, as a signal does; it is started again. */
void sim_stop_service(struct sim_world *world, double restart_s);
void sim_stop_local(struct sim_part *part, double restart_s);

/* Stops the process of a local scheduler, and has it run again, as SIGSTOP and SIGCONT do. */
void sim_part_freeze(struct sim_part *part);
void sim_part_thaw(struct sim_part *part);

/* Whether the service takes requests. */
bool sim_serves(const struct sim_world *world);
