/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * CPU time of all VMs of one host as a counter that never falls: a VM that is gone keeps what it
 * was last seen to have used, one that was started again under the same name adds to it. Pure.
 */
struct cpu_account;

/* An account of no VM yet. */
struct cpu_account *cpu_account_new(void);
/* NULL is allowed. */
void cpu_account_free(struct cpu_account *account);

/* Who has a VM at this moment: a text that lives at least until the next call, or NULL: nobody. */
typedef const char *(*cpu_account_owner_f)(const char *domain, void *data);

/*
 * From now on what VMs use is also noted by owner (cpu_account_take()). What a VM used between two
 * readings was its owner's at the first of them: there is to be a reading whenever that changes.
 */
void cpu_account_set_owner(struct cpu_account *account, cpu_account_owner_f owner, void *data);

/* What one owner's VMs used. */
struct cpu_account_use {
	char *owner; /* NULL: those that nobody had */
	uint64_t cpu_ns;
};

/* Notes what an owner used that is of no VM. */
void cpu_account_note(struct cpu_account *account, const char *owner, uint64_t cpu_ns);

/*
 * What all VMs used since the last call, by owner, in no order and without those that used nothing:
 * GArray of struct cpu_account_use, the caller's. Each nanosecond is told once.
 */
GArray *cpu_account_take(struct cpu_account *account);

/* Takes the reading of one VM, in nanoseconds since its start; a lower one is a new start. */
void cpu_account_add(struct cpu_account *account, const char *domain, uint64_t cpu_ns);

/* CPU time of all VMs since the account was opened, nanoseconds. */
uint64_t cpu_account_total_ns(const struct cpu_account *account);

/* The same of one VM, over all its starts; 0: never seen. */
uint64_t cpu_account_domain_ns(const struct cpu_account *account, const char *domain);
