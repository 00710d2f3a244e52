/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/energy/host_account.h"

/*
 * The ledger of a service's joules: what each task has used, and all of them together, in whole
 * microjoules. It grows by intervals of hosts (host_account.h); energy_split() makes the parts of
 * an interval. `energy`, `show`, the energy of completed tasks that policies read, and the energy
 * that a window begins with come from the ledger. The store has the same sums: an addition here is
 * an addition there, in the same transaction. Provisional energy is what meters had counted before
 * a restart and no interval has yet; intervals replace it.
 */
struct ledger;

/* An empty ledger. */
struct ledger *ledger_new(void);
/* NULL is allowed. */
void ledger_free(struct ledger *ledger);

/*
 * Fills an empty ledger from the store: where the accounts of the hosts of a run stand. False with
 * `error`: the store cannot be read.
 */
bool ledger_load(struct ledger *ledger, struct store *store, int64_t run, GError **error);

/*
 * Fills in the sums so far of a run and of its first tasks_count tasks. O(rows of energy_task).
 * False with `error`: the store cannot be read, and the sums count from now on.
 */
bool ledger_load_sums(struct ledger *ledger, struct store *store, int64_t run, uint32_t tasks_count,
		      GError **error);

/* Provisional energy of a host as it is stored. */
struct ledger_expected {
	char *host;
	int64_t n;   /* of the last interval of the account by then; 0: it had none; */
	double at_s; /* and the account's end */
	struct host_span span;
};
extern const struct record ledger_expected_record;

/*
 * Restores provisional energy of a run, after ledger_load(): a list of struct ledger_expected, by
 * host and time. Intervals that were stored since replace it. Where a host had no account yet (n is
 * 0) one is opened, which is not in the store before its first report; its stream is NULL until
 * then. No effect where the account of a host is missing. False with `error`: the store cannot be
 * read.
 */
bool ledger_expect(struct ledger *ledger, struct store *store, int64_t run, const GPtrArray *list,
		   GError **error);

/*
 * Energy of a limit's window that an older version of the controller counted and no host's account
 * has: `uj` used between begin_s, when the window began, and until_s, times of the run. Intervals
 * of that time replace it.
 */
struct ledger_older {
	double begin_s, until_s;
	int64_t uj;
};

void ledger_set_older(struct ledger *ledger, const struct ledger_older *older);

/* What is left of it, borrowed. */
const struct ledger_older *ledger_older(const struct ledger *ledger);

/* What is left of it that counts since begin_s: all or nothing. Beginnings may differ by 1 s. */
int64_t ledger_older_since_uj(const struct ledger *ledger, double begin_s);

/* The account of a host, borrowed; NULL: it has none yet. */
struct host_account *ledger_account(const struct ledger *ledger, const char *host);

/* Opens the account of a host that has none, at `meter`, which it takes over. */
struct host_account *ledger_open(struct ledger *ledger, struct store_account_meter *meter);

/* All accounts: host -> struct host_account, borrowed. */
GHashTable *ledger_accounts(const struct ledger *ledger);

/*
 * Adds the next interval of a host's account, with the `parts` of tasks (struct store_account_part;
 * NULL: none). To be called within store_begin_account(); false with `error` as
 * host_account_add().
 */
bool ledger_add(struct ledger *ledger, struct host_account *account, struct store *store,
		const struct store_account_interval *interval, const GArray *parts, GError **error);

/* What all attempts of a task have used, as far as reported. O(1). */
int64_t ledger_task_uj(const struct ledger *ledger, uint32_t task);

/* All but idle that the hosts have used while a controller served, as far as reported. O(1). */
int64_t ledger_dynamic_uj(const struct ledger *ledger);

/*
 * Has the ledger sum up dynamic energy since begin_s, time of the run, as
 * store_account_dynamic_since() does; false with `error`: the store cannot be read. Then in O(1):
 * ledger_since_uj(); and since when, -INFINITY before.
 */
bool ledger_watch(struct ledger *ledger, struct store *store, int64_t run, double begin_s,
		  GError **error);
int64_t ledger_since_uj(const struct ledger *ledger);
double ledger_since_s(const struct ledger *ledger);

/* What the counters of all hosts have counted, as far as reported. O(1). */
int64_t ledger_counted_uj(const struct ledger *ledger);
