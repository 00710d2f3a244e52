/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/cpu/cpu_account.h"

struct entry {
	uint64_t last_ns; /* the last reading */
	uint64_t total_ns;
};

struct cpu_account {
	GHashTable *entries; /* domain name -> struct entry */
	uint64_t total_ns;
};

struct cpu_account *cpu_account_new(void)
{
	struct cpu_account *account = g_new0(struct cpu_account, 1);

	account->entries = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	return account;
}

void cpu_account_free(struct cpu_account *account)
{
	if (!account)
		return;
	g_hash_table_destroy(account->entries);
	g_free(account);
}

/*
 * Readings of two threads may overtake each other by some milliseconds: a reading that is lower by
 * little is late and ignored; a VM that was started again has used much less than its predecessor,
 * or not yet as much as it takes to boot.
 */
static bool is_late(const struct entry *entry, uint64_t cpu_ns)
{
	return cpu_ns < entry->last_ns && entry->last_ns - cpu_ns < UINT64_C(1000000000) &&
	       cpu_ns > entry->last_ns / 2;
}

void cpu_account_add(struct cpu_account *account, const char *domain, uint64_t cpu_ns)
{
	struct entry *entry = g_hash_table_lookup(account->entries, domain);
	uint64_t rise;

	if (!entry) {
		entry = g_new0(struct entry, 1);
		g_hash_table_insert(account->entries, g_strdup(domain), entry);
	}
	if (is_late(entry, cpu_ns))
		return;
	rise = cpu_ns >= entry->last_ns ? cpu_ns - entry->last_ns : cpu_ns;
	entry->last_ns = cpu_ns;
	entry->total_ns += rise;
	account->total_ns += rise;
}

uint64_t cpu_account_total_ns(const struct cpu_account *account)
{
	return account->total_ns;
}

uint64_t cpu_account_domain_ns(const struct cpu_account *account, const char *domain)
{
	const struct entry *entry = g_hash_table_lookup(account->entries, domain);

	return entry ? entry->total_ns : 0;
}
