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

/* Takes the reading of one VM, in nanoseconds since its start; a lower one is a new start. */
void cpu_account_add(struct cpu_account *account, const char *domain, uint64_t cpu_ns);

/* CPU time of all VMs since the account was opened, nanoseconds. */
uint64_t cpu_account_total_ns(const struct cpu_account *account);

/* The same of one VM, over all its starts; 0: never seen. */
uint64_t cpu_account_domain_ns(const struct cpu_account *account, const char *domain);
