/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "local-sched/hypervisor/host.h"

/*
 * A local scheduler's claim on a host: the VMs of one cluster of one experiment there are its own.
 * The claim is a volume in the host's storage pool. Every client of that host's libvirt sees it
 * before there is any VM, and libvirt lets only one client create it. The volume names the process
 * that holds the claim, and changes every CLAIM_RENEW_S as a sign of life. A local scheduler that
 * finds another's claim on the same machine checks whether the process lives. From another machine
 * it watches the volume, and replaces a claim that has not changed for CLAIM_LAPSE_S.
 */

#define CLAIM_RENEW_S 10
#define CLAIM_LOOK_S 5
#define CLAIM_LAPSE_S 30

/* A process that holds a claim. Strings are owned. */
struct claim {
	char *keeper;     /* id of its state directory: the owner of its VMs */
	char *machine;    /* host name of its machine, for people */
	char *machine_id; /* contents of /etc/machine-id; "": not known */
	char *boot_id;    /* boot id of the kernel that it runs on */
	char *pids;       /* its pid namespace */
	int64_t pid;
	int64_t start_ticks; /* start time of the process (lab_state.h) */
	char *since;         /* local date and time, for people */
	int64_t beat;        /* raised each time that the claim is written */
};
typedef struct claim claim_t;

/* A claim of this process for the state directory `keeper`. claim_free() frees it. */
struct claim *claim_new(const struct platform *platform, const char *keeper);
/* NULL is allowed. */
void claim_free(struct claim *claim);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(claim_t, claim_free)

/*
 * Writes a claim as text, which the caller frees, and reads it. claim_parse() returns NULL with
 * `error` (VIRT_ERROR_FOREIGN) for a text that no local scheduler wrote.
 */
char *claim_text(const struct claim *claim);
struct claim *claim_parse(const char *text, GError **error);

/*
 * The holder for people: "pid 4711 on machine 'blade7', since 2026-03-01 12:00:00". The caller
 * frees the text.
 */
char *claim_who(const struct claim *claim);

/*
 * Whether `volume` belongs to the claim `name`: NAME, NAME.1, NAME.2 and so on. *ret_number is 0,
 * 1, 2, ... The volume with the highest number counts (claim_take.c). Pure.
 */
bool claim_volume_number(const char *volume, const char *name, uint64_t *ret_number);

/* The state of a claim that a local scheduler has found. */
enum claim_standing {
	CLAIM_OWN = 0, /* it is the finder's own */
	CLAIM_ENDED,   /* its process has ended: the claim may be taken */
	CLAIM_LIVES,   /* its process lives */
	/* its process is on another machine, or is not visible: watch it (struct claim_watch) */
	CLAIM_DOUBTFUL,
};

/*
 * The standing of the claim `found` for the process of `own`. Checks the processes of this machine
 * if `found` is from this machine.
 */
enum claim_standing claim_judge(const struct claim *found, const struct claim *own);

/*
 * The observation of another local scheduler's claim; zeroed: none is observed. Times are those of
 * platform_now_ns(). Time during which the host was out of reach does not count, because the holder
 * may not have reached it either.
 */
struct claim_watch {
	char *text;       /* the claim's text when it was read last, owned; NULL: none */
	int64_t since_ns; /* since when the text has not changed; 0: since the next reading */
};

/* Records that the claim reads `text` now. True: it has changed since the last reading. */
bool claim_watch_see(struct claim_watch *watch, const char *text, int64_t now_ns);
/* Records that the host went out of reach, or that its claim could not be read. */
void claim_watch_interrupt(struct claim_watch *watch);
/* The claim's text, borrowed, if it has not changed for CLAIM_LAPSE_S; else NULL. */
const char *claim_watch_lapsed(const struct claim_watch *watch, int64_t now_ns);
/* Ends the observation. */
void claim_watch_clear(struct claim_watch *watch);

/* The result of an attempt to take a claim; strings are owned. */
struct claim_result {
	enum claim_standing standing; /* CLAIM_OWN: the claim is held from now on */
	char *seen;                   /* the text that was found; NULL: none */
	char *who; /* claim_who() of that text; NULL: there was none, or an empty one */
};
typedef struct claim_result claim_result_t;
/* NULL is allowed. */
void claim_result_free(struct claim_result *result);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(claim_result_t, claim_result_free)

/*
 * Takes the claim in volume `name`, or renews it. A claim whose text is `lapsed` (NULL: none)
 * counts as ended. Result: struct claim_result. Fails with VIRT_ERROR_FOREIGN where another program
 * made the volume. Fails with VIRT_ERROR_OTHER where others take the claim at the same time; try
 * again.
 */
void claim_take(struct host *host, const char *name, const struct claim *own, const char *lapsed,
		host_done_f done, gpointer data);

/* Gives up the claim if it is the own one. No result. */
void claim_release(struct host *host, const char *name, const struct claim *own, host_done_f done,
		   gpointer data);
