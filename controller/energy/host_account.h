/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/store/store_account.h"

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
	 * Provisional energy of the time before a restart: by until_s the host's counters had
	 * counted until_uj in all (host_account_counted_uj()). What is beyond the end of the
	 * account is not reported yet; until_s at most that end: everything is. Of the time between
	 * the two it was counted in length_s: while no controller served nothing was.
	 */
	double until_s, length_s;
	int64_t until_uj;
};

/* What all counters of the host have counted, one after the other, as far as reported. */
int64_t host_account_counted_uj(const struct host_account *account);

/*
 * Sets the provisional energy. No effect where the account is beyond until_s, or has counted
 * until_uj.
 */
void host_account_expect(struct host_account *account, double until_s, double length_s,
			 int64_t until_uj);

/* What is counted in the account's provisional energy, idle included; 0: there is none. */
int64_t host_account_provisional_uj(const struct host_account *account);

/* The sum, at most INT64_MAX: an older store may have any numbers. */
int64_t host_account_sum(int64_t sum, int64_t more);

/* Continues the account that ends at `meter`, which it takes over. */
struct host_account *host_account_new(struct store_account_meter *meter);
/* NULL is allowed. */
void host_account_free(struct host_account *account);

/* Orders struct store_account_part by task, then by attempt; for g_array_sort(). */
int host_account_compare_parts(const void *a, const void *b);

/*
 * Adds the next interval, which replaces the provisional energy of its time, with the `parts`
 * (struct store_account_part; NULL: none) that tasks have of it; the account then ends where the
 * interval ends. To be called within store_begin_account(). False with `error`: the store failed,
 * the account in memory is ahead of the store, and no interval may be added any more.
 */
bool host_account_add(struct host_account *account, struct store *store,
		      const struct store_account_interval *interval, const GArray *parts,
		      GError **error);

/*
 * To be called after all intervals of an answer, within store_begin_account(): stores the parts of
 * tasks, with `policy`, and the end of the account. Errors: as host_account_add(). It is not called
 * after each interval: with 200 clusters of 36 tasks each, two rows per interval took a third of
 * the main loop's time without any request.
 */
bool host_account_put(struct host_account *account, struct store *store, const char *policy,
		      GError **error);
