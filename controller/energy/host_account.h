/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/store/store_account.h"

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

/* What all counters of the host have counted, one after the other, as far as reported. */
int64_t host_account_counted_uj(const struct host_account *account);

/* Adds provisional energy of a time after all that there is; of other times it has no effect. */
void host_account_expect(struct host_account *account, const struct host_span *span);

/*
 * Replaces provisional energy by what is reported of an interval: spans that end by its end are
 * dropped, and its part is subtracted from the span in which it ends; where it is not known how
 * much that is, the part of the span. host_account_add() does this.
 */
void host_account_replace(struct host_account *account, const struct store_account_rise *rise);

/* All provisional energy, idle included; 0: there is none. */
int64_t host_account_provisional_uj(const struct host_account *account);

/* Until when there is provisional energy; -INFINITY: there is none. */
double host_account_until_s(const struct host_account *account);

/* Whether there is provisional energy of the time that ends at time_s. */
bool host_account_expects(const struct host_account *account, double time_s);

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
