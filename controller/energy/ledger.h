/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/store/store_account.h"

/*
 * The ledger of a service's joules: what each task has used, and all of them together, in whole
 * microjoules. It grows by intervals of hosts: energy_split() makes the parts of an interval; they
 * are added to the account of the host and to the sums of the tasks. `energy`, `show`, the energy
 * of completed tasks that policies read, and the energy that a window begins with come from the
 * ledger. The store has the same sums: an addition here is an addition there, in the same
 * transaction. Provisional energy is what meters had counted before a restart and no interval has
 * yet; intervals replace it.
 */

/*
 * The parts of an interval. The energy that a host's meter counted over an interval is split in
 * whole microjoules, so that the parts add up exactly:
 *
 *  meter = idle + sum over tasks + management + unattributed
 *
 * - idle: the baseline's watts over the interval's duration, rounded down, and at most what the
 *  meter counted. If the meter shows less than idle, all of it is idle; no debt is carried over to
 *  later intervals.
 * - the rest, which is dynamic, by CPU time measured in the interval: each task by the CPU time of
 *  its VMs on the host, management by that of the others (VMs without a task, and processes that
 *  are no VMs, if that is known). Fractions are rounded down; the remaining microjoules go one each
 *  to the largest remainders, among equals to the earlier task, and to management last.
 * - unattributed: the dynamic part if it cannot be attributed: no CPU time was read, none was used,
 *  or the meter only estimates.
 *
 * Pure. Any numbers are allowed, since products are 128 bits wide.
 */

/* One task of an interval. */
struct energy_part {
	uint64_t cpu_ns;
	uint64_t uj; /* result: its part */
};

/* An interval of one host. */
struct energy_interval {
	uint64_t meter_uj; /* rise of its counter */
	uint64_t duration_ns;
	uint64_t idle_mw;       /* idle baseline */
	bool known;             /* CPU times were read, and the meter measured */
	uint64_t management_ns; /* CPU time without a task */
};

struct energy_split {
	uint64_t idle_uj;
	uint64_t tasks_uj; /* sum of the parts */
	uint64_t management_uj;
	uint64_t unattributed_uj;
};

/* Splits `interval` and sets `uj` of the `count` parts. Cannot fail. */
struct energy_split energy_split(const struct energy_interval *interval, struct energy_part *parts,
				 size_t count);

/*
 * A time in which a controller served and a host's meter was read, and what it counted, idle
 * included: energy that its local scheduler has not reported, and may never report.
 */
struct host_span {
	double from_s, until_s; /* of the run */
	int64_t uj;
};

/*
 * The energy account of a host while it grows (store_account.h). Intervals are added one after the
 * other; the parts of tasks are summed up over a minute, since a row for each task, host and second
 * would be 25 GB a day for 200 hosts with 7,000 tasks.
 */
struct host_account {
	struct store_account_meter *meter; /* the end of the account; owned */
	/* number of the first interval of the minute; 0: none yet */
	int64_t parts_n;
	double parts_s; /* end of the minute, seconds of the run */
	GArray *parts;  /* struct store_account_part, not in the store yet */
	/* the day that the parts count to; NULL: none since the last host_account_put() */
	char *day;
	/*
	 * Provisional energy: struct host_span, by time. What is beyond the end of the account is
	 * not reported yet.
	 */
	GArray *spans;
	double idle_w; /* of a host that left the configuration: no meter has its idle watts */
};

/* Adds provisional energy of a time after all that there is; of other times it has no effect. */
void host_account_expect(struct host_account *account, const struct host_span *span);

/* All provisional energy, idle included; 0: there is none. */
int64_t host_account_provisional_uj(const struct host_account *account);

/* Until when there is provisional energy; -INFINITY: there is none. */
double host_account_until_s(const struct host_account *account);

/* Whether there is provisional energy of the time that ends at time_s. */
bool host_account_expects(const struct host_account *account, double time_s);

/* The sum, at most INT64_MAX: an older store may have any numbers. */
int64_t host_account_sum(int64_t sum, int64_t more);

/* Orders struct store_account_part by task, then by attempt; for g_array_sort(). */
int host_account_compare_parts(const void *a, const void *b);

/*
 * To be called after all intervals of an answer, within store_begin_account(): stores the parts of
 * tasks, with `policy`, and the end of the account. Errors: as ledger_add(). It is not called
 * after each interval: with 200 clusters of 36 tasks each, two rows per interval took a third of
 * the main loop's time without any request.
 */
bool host_account_put(struct host_account *account, struct store *store, const char *policy,
		      GError **error);

/* The sums over all hosts. */
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
 * NULL: none); the account then ends where the interval ends. To be called within
 * store_begin_account(). False with `error`: the store failed, the account in memory is ahead of
 * the store, and no interval may be added any more.
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
