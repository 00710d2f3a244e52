/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "local-sched/hypervisor/host.h"

/*
 * A local scheduler's claim on a host: that the VMs of one cluster of one experiment there are its own. It is a volume of
 * the host's storage pool, which whoever asks that host's libvirt sees before there is any VM, and which libvirt lets
 * only one make. It names the process that holds it, and changes every CLAIM_RENEW_S, as a sign of life. Who finds
 * another one's knows on the same vm whether that process lives, and elsewhere watches it: one that has not
 * changed for CLAIM_LAPSE_S is replaced.
 */

#define CLAIM_RENEW_S 10
#define CLAIM_LOOK_S 5
#define CLAIM_LAPSE_S 30

/* A process that holds a claim. Strings are owned. */
struct claim {
	char *keeper;     /* id of its state directory; whom VMs belong to */
	char *vm;    /* host name, for people */
	char *vm_id; /* of /etc/vm-id; "": not known */
	char *boot_id;    /* of the kernel that it runs on */
	char *pids;       /* its namespace of process ids */
	int64_t pid;
	int64_t start_ticks; /* when it started (lab_state.h) */
	char *since;         /* local date and time, for people */
	int64_t beat;        /* raised each time that it is written */
};
typedef struct claim claim_t;

/* That of this process, for the state directory `keeper`; claim_free() frees it. */
struct claim *claim_new(const char *keeper);
/* NULL is allowed. */
void claim_free(struct claim *claim);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(claim_t, claim_free)

/* As text, which the caller frees, and from it; NULL with `error` (VIRT_ERROR_FOREIGN): no local scheduler wrote that. */
char *claim_text(const struct claim *claim);
struct claim *claim_parse(const char *text, GError **error);

/* "pid 4711 on vm 'blade7', since 2026-03-01 12:00:00"; the caller frees it. */
char *claim_who(const struct claim *claim);

/*
 * Whether `volume` is one of those of claim `name`: NAME, NAME.1, NAME.2 and so on; *ret_number is 0, 1, 2, ... The
 * one of the highest number counts (claim_take.c). Pure.
 */
bool claim_volume_number(const char *volume, const char *name, uint64_t *ret_number);

/* What a claim that was found is to the one who found it. */
enum claim_standing {
	CLAIM_OWN = 0,  /* its own */
	CLAIM_ENDED,    /* that process has ended: free to be taken */
	CLAIM_LIVES,    /* that process lives */
	CLAIM_DOUBTFUL, /* it is on another vm, or cannot be seen: it is to be watched */
};

/* Looks at this vm's processes, where `found` is of this vm as `own` is. */
enum claim_standing claim_judge(const struct claim *found, const struct claim *own);

/*
 * Another one's claim that is watched; zeroed: none is. Times are those of clock_now_ns(). What was not seen, because
 * the host was out of reach, does not count: its holder may not have reached it either.
 */
struct claim_watch {
	char *text;       /* as it was seen last, owned; NULL: none */
	int64_t since_ns; /* since when it was seen not to change; 0: since the next look */
};

/* It was seen to be `text` now. True: it has changed since it was seen before. */
bool claim_watch_see(struct claim_watch *watch, const char *text, int64_t now_ns);
/* The host went out of reach, or its claim could not be read. */
void claim_watch_interrupt(struct claim_watch *watch);
/* Its text, borrowed, if it has not changed for CLAIM_LAPSE_S; else NULL. */
const char *claim_watch_lapsed(const struct claim_watch *watch, int64_t now_ns);
/* Watches none any more. */
void claim_watch_clear(struct claim_watch *watch);

/* What came of an attempt to take a claim; strings are owned. */
struct claim_result {
	enum claim_standing standing; /* CLAIM_OWN: it is held from now on */
	char *seen;                   /* the text that was there; NULL: none */
	char *who;                    /* claim_who() of that; NULL: there was none, or an empty one */
};
typedef struct claim_result claim_result_t;
/* NULL is allowed. */
void claim_result_free(struct claim_result *result);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(claim_result_t, claim_result_free)

/*
 * Takes the claim in volume `name`, or renews it. One whose text is `lapsed` (NULL: none) counts as ended. Result:
 * struct claim_result. Fails with VIRT_ERROR_FOREIGN where the volume is somebody else's, and with VIRT_ERROR_OTHER, to be
 * tried again, where others take it at the same time.
 */
void claim_take(struct host *host, const char *name, const struct claim *own, const char *lapsed,
		host_done_f done, gpointer data);

/* Gives it up, if it is this one's. No result. */
void claim_release(struct host *host, const char *name, const struct claim *own, host_done_f done, gpointer data);
