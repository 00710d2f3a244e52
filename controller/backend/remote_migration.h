/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The migrations and the share of a task as a local scheduler describes them
 * (docs/reference/api.md, Migrating and Sharing), read from untrusted JSON.
 */

/* The result of a migration for one VM. */
struct remote_vm_move {
	uint32_t from, to; /* nodes; equal if it stays */
	bool moved;        /* it is at `to` */
	double total_s;    /* duration of the move; NAN: not known, or it did not change its host */
	double downtime_s; /* how long it executed nowhere; NAN, as above */
};

/* One migration. Times are the local scheduler's; 0 stands for null. */
struct remote_migration {
	uint32_t n; /* from 1, ascending */
	int64_t requested_ns, settled_ns;
	char *reason; /* NULL: all VMs were moved */
	GArray *vms;  /* of struct remote_vm_move, in the order of the ranks */
};

/*
 * Reads the value of "migrations"; NULL and null stand for none. Returns a GPtrArray of struct
 * remote_migration, owned by the caller, or NULL with `error` (JSON_ERROR).
 */
GPtrArray *remote_migrations_parse(const json_t *array, GError **error);

/* The CPU share that the VMs of a task have of their nodes, and how much of it they use. */
struct remote_share {
	int64_t n;          /* number of the last request; 0: none yet */
	double share;
	bool set;           /* all VMs have it */
	double asked_cores; /* what its VMs may use together; NAN: not known */
	double given_cores; /* what they used in the last seconds; NAN: not known */
};

/* Reads the value of "share"; NULL and null stand for none. Returns false with `error`. */
bool remote_share_parse(const json_t *object, struct remote_share *ret_share, GError **error);
