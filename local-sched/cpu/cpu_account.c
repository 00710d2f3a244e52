/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/cpu/cpu_account.h"

#include <stdbool.h>

struct entry {
	uint64_t last_ns; /* the last reading */
	uint64_t total_ns;
	char *owner; /* at the last reading; NULL: none */
};

struct cpu_account {
	GHashTable *entries; /* domain name -> struct entry */
	uint64_t total_ns;
	GHashTable *uses;          /* owner -> uint64_t *, above 0: since cpu_account_take() */
	uint64_t nobodys_ns;       /* CPU time since cpu_account_take() of VMs without an owner */
	cpu_account_owner_f owner; /* NULL: use is not counted by owner */
	void *owner_data;
};

static void entry_free(void *data)
{
	g_free(((struct entry *)data)->owner);
	g_free(data);
}

struct cpu_account *cpu_account_new(void)
{
	struct cpu_account *account = g_new0(struct cpu_account, 1);

	account->entries = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, entry_free);
	account->uses = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	return account;
}

void cpu_account_free(struct cpu_account *account)
{
	if (!account)
		return;
	g_hash_table_destroy(account->entries);
	g_hash_table_destroy(account->uses);
	g_free(account);
}

/*
 * Whether a reading is late. Readings of two threads may overtake each other by some milliseconds,
 * so a slightly lower reading is late, and ignored. A VM that was started again has used much less
 * than its predecessor, or less than a boot takes.
 */
static bool is_late(const struct entry *entry, uint64_t cpu_ns)
{
	return cpu_ns < entry->last_ns && entry->last_ns - cpu_ns < UINT64_C(1000000000) &&
	       cpu_ns > entry->last_ns / 2;
}

void cpu_account_set_owner(struct cpu_account *account, cpu_account_owner_f owner, void *data)
{
	account->owner = owner;
	account->owner_data = data;
}

void cpu_account_note(struct cpu_account *account, const char *owner, uint64_t cpu_ns)
{
	uint64_t *use = g_hash_table_lookup(account->uses, owner);

	if (cpu_ns == 0)
		return;
	if (!use) {
		use = g_new0(uint64_t, 1);
		g_hash_table_insert(account->uses, g_strdup(owner), use);
	}
	*use += cpu_ns;
}

/*
 * Adds use to the VM's owner. What a VM has used that was started again since the last reading was
 * for its start, and has no owner.
 */
static void note_use(struct cpu_account *account, struct entry *entry, const char *domain,
		     uint64_t rise, bool again)
{
	if (!account->owner)
		return;
	if (entry->owner && !again)
		cpu_account_note(account, entry->owner, rise);
	else
		account->nobodys_ns += rise;
	g_free(entry->owner);
	entry->owner = g_strdup(account->owner(domain, account->owner_data));
}

static void use_clear(void *data)
{
	g_free(((struct cpu_account_use *)data)->owner);
}

/* NULL is first. */
static int compare_owners(gconstpointer one, gconstpointer other)
{
	return g_strcmp0(((const struct cpu_account_use *)one)->owner,
			 ((const struct cpu_account_use *)other)->owner);
}

GArray *cpu_account_take(struct cpu_account *account)
{
	GArray *list = g_array_new(FALSE, FALSE, sizeof(struct cpu_account_use));
	struct cpu_account_use use = {NULL, account->nobodys_ns};
	GHashTableIter iter;
	gpointer owner;
	gpointer value;

	g_array_set_clear_func(list, use_clear);
	if (use.cpu_ns)
		g_array_append_val(list, use);
	account->nobodys_ns = 0;
	g_hash_table_iter_init(&iter, account->uses);
	while (g_hash_table_iter_next(&iter, &owner, &value)) {
		use = (struct cpu_account_use){g_strdup(owner), *(uint64_t *)value};
		g_array_append_val(list, use);
	}
	g_hash_table_remove_all(account->uses);
	g_array_sort(list, compare_owners);
	return list;
}

void cpu_account_add(struct cpu_account *account, const char *domain, uint64_t cpu_ns)
{
	struct entry *entry = g_hash_table_lookup(account->entries, domain);
	uint64_t rise;
	bool again;

	if (!entry) {
		entry = g_new0(struct entry, 1);
		g_hash_table_insert(account->entries, g_strdup(domain), entry);
	}
	if (is_late(entry, cpu_ns))
		return;
	again = cpu_ns < entry->last_ns;
	rise = again ? cpu_ns : cpu_ns - entry->last_ns;
	entry->last_ns = cpu_ns;
	entry->total_ns += rise;
	account->total_ns += rise;
	note_use(account, entry, domain, rise, again);
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
