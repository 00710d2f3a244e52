/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/platform.h"
#include "tests/virtual/virtual_disk.h"

/*
 * A platform (common/platform.h) in memory, for daemons that run in one process and on one thread
 * under virtual time. Its clock stands still while any source of the default main context is ready,
 * and then jumps to the next timer, so that hours pass in milliseconds and nothing sleeps. Work of
 * threads is done where it is begun, and its end is an event. What happens depends on the seed and
 * on what the program does, on nothing else.
 */
struct virtual_platform;
typedef struct virtual_platform virtual_platform_t; /* for g_autoptr() */

/* The clock begins at one second after the boot, on 2026-01-01. */
struct virtual_platform *virtual_platform_new(uint64_t seed);

/*
 * Another platform in the world of `other`: both have one time and one network, and each has a
 * clock, a disk and a life of its own. It is a machine that was just started, with the UTC of
 * `other`. Each is freed; the world goes with the last one.
 */
struct virtual_platform *virtual_platform_beside(struct virtual_platform *other, uint64_t seed);

/*
 * Has its clocks continue those of `former`, which the daemons had before it. With `boots` the
 * machine was started again: the boot clock begins at its first time, under another boot id.
 */
void virtual_platform_follow(struct virtual_platform *virtual,
			     const struct virtual_platform *former, bool boots);

/*
 * Its process ends as if it were killed, with `silent` its machine loses power. From then on
 * nothing that its objects do leaves it, and nothing reaches them; peers find its connections
 * closed, with `silent` they hear nothing. The objects are then freed, which may take time: its
 * clock alone runs meanwhile, and that of the world stands still.
 */
void virtual_platform_die(struct virtual_platform *virtual, bool silent);

/* To be called after all that was made with it is gone. */
void virtual_platform_free(struct virtual_platform *virtual);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(virtual_platform_t, virtual_platform_free)

/* What objects get. */
const struct platform *virtual_platform_of(struct virtual_platform *virtual);

/*
 * Has it keep its files on a disk in memory, which is borrowed, until the end of the disk's present
 * life. At first it has this machine's disk.
 */
void virtual_platform_use_disk(struct virtual_platform *virtual, struct virtual_disk *disk);

/* Its timers do not ring until it is thawed, as of a process that was stopped. */
void virtual_platform_freeze(struct virtual_platform *virtual, bool frozen);

/* Sets its UTC clock forward by `by_s`, or back. */
void virtual_platform_step_utc(struct virtual_platform *virtual, double by_s);

/* What becomes of one request, while others pass. */
struct virtual_fate {
	guint request_ms, answer_ms; /* they take so much longer; VIRTUAL_HELD: are lost */
	int status; /* the request is lost, and its client gets this answer; 0: neither */
};

/* What happens in a world beyond its platforms. Each callback is optional. */
struct virtual_rules {
	/*
	 * How long a message takes, in ms, of a client that connects or has connected to `address`
	 * ("unix:PATH", "HOST:PORT"), or (`answer`) to it; VIRTUAL_HELD: until
	 * virtual_platform_release(). Messages of one direction of a connection keep their order.
	 */
	guint (*delay_ms)(const struct virtual_platform *client, const char *address, bool answer,
			  void *data);
	/* Whether the machine of an address where no server listens refuses connections; else it
	 * is silent. */
	bool (*refuses)(const char *address, void *data);
	/*
	 * How long the work of a thread takes, in ms; *ret_late: it is done at the end of that
	 * time, not at its beginning.
	 */
	guint (*work_ms)(const struct virtual_platform *virtual, bool *ret_late, void *data);
	/* What becomes of a request ("GET /v1/status") that is sent; all 0 at first. */
	void (*fate)(const struct virtual_platform *client, const char *address,
		     const char *request, struct virtual_fate *ret_fate, void *data);
	/* A client has sent a request (status 0), or was answered. */
	void (*trace)(const struct virtual_platform *client, const char *address,
		      const char *request, int status, void *data);
};
#define VIRTUAL_HELD G_MAXUINT

/* Sets the rules of its world (borrowed). */
void virtual_platform_rules(struct virtual_platform *virtual, const struct virtual_rules *rules,
			    void *data);

/* Sends the messages that were held, as far as the rules let them pass. */
void virtual_platform_release(struct virtual_platform *virtual);

/* Of the clock, seconds since the platform was made. */
double virtual_platform_s(const struct virtual_platform *virtual);

/* How long bytes take from one end of a connection to the other, 0 at first. */
void virtual_platform_delay(struct virtual_platform *virtual, guint ms);

/*
 * Cuts all connections to an address ("unix:/PATH" or "http://HOST:PORT"): each side finds them
 * closed. Returns how many there were.
 */
guint virtual_platform_cut(struct virtual_platform *virtual, const char *address);

/* A program that can be started: it prints `output` after some time and exits. */
struct virtual_program {
	const char *name; /* argv[0]; NULL: the end of a table */
	const char *output;
	guint after_ms;
	int status;
};

/* Sets what programs there are (borrowed), none at first. */
void virtual_platform_programs(struct virtual_platform *virtual,
			       const struct virtual_program *programs);
