/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/store/store_account.h"

/*
 * The account of a host's energy as it goes on (store_account.h): its intervals are added one after the other, what
 * tasks had of them in sums over a minute, since a row for each task, host and second would be 25 GB a day of 200 hosts
 * with 7,000 tasks.
 */
struct host_account {
	struct store_account_meter *meter; /* where it stands; owned */
	int64_t parts_n;                   /* the first interval of the minute; 0: there is none yet */
	double parts_s;                    /* when that ended, seconds of the run */
	GArray *parts;                     /* struct store_account_part, not on record yet */
	char *day;                         /* to which they count; NULL: nothing was added since all was put there */
};

/* Goes on where `meter`, which it takes over, says. */
struct host_account *host_account_new(struct store_account_meter *meter);
/* NULL is allowed. */
void host_account_free(struct host_account *account);

/* By task, and by attempt: for g_array_sort() of struct store_account_part. */
int host_account_compare_parts(const void *a, const void *b);

/*
 * Adds the interval that follows, and `parts` (struct store_account_part; NULL: none), which tasks had of it; the
 * account stands where it ends. Within store_begin_account(). False with `error`: the store failed, and what is here is
 * ahead of the record: nothing more may be added.
 */
bool host_account_add(struct host_account *account, struct store *store,
		      const struct store_account_interval *interval, const GArray *parts, GError **error);

/*
 * After all intervals of an answer, which are `policy`'s: puts what tasks had of them on record, and where the account
 * stands. Likewise. Not after each one: each of 200 clusters tells some of 36 tasks, and two rows for each of them took
 * a third of the main loop's time when nobody asked anything.
 */
bool host_account_put(struct host_account *account, struct store *store, const char *policy, GError **error);
