/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>

/*
 * The CPU time of all VMs of a host as a counter that never falls. A VM that is gone keeps its last
 * reading, and a VM that is started again under the same name adds to it. Pure.
 */
struct cpu_account;

/* Creates an account without VMs. */
struct cpu_account *cpu_account_new(void);
/* NULL is allowed. */
void cpu_account_free(struct cpu_account *account);

/*
 * The owner of a VM at this moment: a text that is valid at least until the next call, or NULL:
 * none.
 */
typedef const char *(*cpu_account_owner_f)(const char *domain, void *data);

/*
 * Begins to count by owner (cpu_account_take()). What a VM uses between two readings counts for its
 * owner at the first of them, so make a reading whenever the owner changes.
 */
void cpu_account_set_owner(struct cpu_account *account, cpu_account_owner_f owner, void *data);

/* The CPU time of an owner's VMs. */
struct cpu_account_use {
	char *owner; /* NULL: of VMs without an owner */
	uint64_t cpu_ns;
};

/* Adds CPU time of an owner that no VM has used. */
void cpu_account_note(struct cpu_account *account, const char *owner, uint64_t cpu_ns);

/*
 * The CPU time of all VMs since the last call, sorted by owner (NULL first), without owners that
 * used none: GArray of struct cpu_account_use, which the caller frees. Each nanosecond is returned
 * once.
 */
GArray *cpu_account_take(struct cpu_account *account);

/*
 * Adds the reading of a VM, in nanoseconds since its start. A lower value than before means a new
 * start.
 */
void cpu_account_add(struct cpu_account *account, const char *domain, uint64_t cpu_ns);

/* CPU time of all VMs since the account was opened, nanoseconds. */
uint64_t cpu_account_total_ns(const struct cpu_account *account);

/* CPU time of a VM over all its starts, nanoseconds; 0: unknown VM. */
uint64_t cpu_account_domain_ns(const struct cpu_account *account, const char *domain);
