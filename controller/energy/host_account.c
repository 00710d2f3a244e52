/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/energy/host_account.h"

#include <math.h>

#define PARTS_S 60.0

int64_t host_account_sum(int64_t sum, int64_t more)
{
	int64_t result;

	return __builtin_add_overflow(sum, more, &result) ? INT64_MAX : result;
}

struct host_account *host_account_new(struct store_account_meter *meter)
{
	struct host_account *account = g_new0(struct host_account, 1);

	account->meter = meter;
	account->spans = g_array_new(FALSE, FALSE, sizeof(struct host_span));
	account->parts = g_array_new(FALSE, FALSE, sizeof(struct store_account_part));
	return account;
}

int64_t host_account_counted_uj(const struct host_account *account)
{
	const struct store_account_meter *meter = account->meter;

	return host_account_sum(meter->before_uj, MAX(meter->at_uj - meter->begin_uj, 0));
}

static struct host_span *span_at(const struct host_account *account, guint i)
{
	return &g_array_index(account->spans, struct host_span, i);
}

void host_account_expect(struct host_account *account, const struct host_span *span)
{
	struct host_span after = *span;

	after.from_s = fmax(after.from_s, host_account_until_s(account));
	if (isfinite(after.from_s) && isfinite(after.until_s) && after.until_s > after.from_s &&
	    after.uj >= 0)
		g_array_append_val(account->spans, after);
}

/* The part of `uj` by time. */
static int64_t part_of(int64_t uj, double length_s, double all_s)
{
	return length_s < all_s ? (int64_t)((double)uj * (length_s / all_s)) : uj;
}

void host_account_replace(struct host_account *account, const struct store_account_rise *rise)
{
	struct host_span *span;
	double length_s;

	while (account->spans->len > 0 && span_at(account, 0)->until_s <= rise->to_s)
		g_array_remove_index(account->spans, 0);
	if (account->spans->len == 0 || span_at(account, 0)->from_s >= rise->to_s)
		return;
	span = span_at(account, 0);
	length_s = rise->to_s - span->from_s;
	span->uj -= rise->uj < 0 ? part_of(span->uj, length_s, span->until_s - span->from_s)
				 : part_of(rise->uj, length_s, rise->to_s - rise->from_s);
	span->uj = MAX(span->uj, 0);
	span->from_s = rise->to_s;
}

int64_t host_account_provisional_uj(const struct host_account *account)
{
	int64_t sum_uj = 0;

	for (guint i = 0; i < account->spans->len; i++)
		sum_uj = host_account_sum(sum_uj, span_at(account, i)->uj);
	return sum_uj;
}

double host_account_until_s(const struct host_account *account)
{
	return account->spans->len > 0 ? span_at(account, account->spans->len - 1)->until_s
				       : -INFINITY;
}

bool host_account_expects(const struct host_account *account, double time_s)
{
	for (guint i = 0; i < account->spans->len; i++)
		if (time_s > span_at(account, i)->from_s && time_s <= span_at(account, i)->until_s)
			return true;
	return false;
}

void host_account_free(struct host_account *account)
{
	if (!account)
		return;
	store_account_meter_free(account->meter);
	g_array_unref(account->parts);
	g_array_unref(account->spans);
	g_free(account->day);
	g_free(account);
}

int host_account_compare_parts(const void *a, const void *b)
{
	const struct store_account_part *one = a;
	const struct store_account_part *other = b;

	if (one->task != other->task)
		return one->task < other->task ? -1 : 1;
	return (one->attempt > other->attempt) - (one->attempt < other->attempt);
}

/* Sorts the parts and merges those of one attempt. */
static void merge_parts(GArray *parts)
{
	guint kept = 0;

	g_array_sort(parts, host_account_compare_parts);
	for (guint i = 1; i < parts->len; i++) {
		const struct store_account_part *one =
			&g_array_index(parts, struct store_account_part, i);
		struct store_account_part *sum =
			&g_array_index(parts, struct store_account_part, kept);

		if (host_account_compare_parts(sum, one) == 0) {
			sum->cpu_ns += MIN(one->cpu_ns, INT64_MAX - sum->cpu_ns);
			sum->uj += one->uj;
		} else {
			g_array_index(parts, struct store_account_part, ++kept) = *one;
		}
	}
	g_array_set_size(parts, MIN(parts->len, kept + 1));
}

static bool put_parts(struct host_account *account, struct store *store, const char *policy,
		      GError **error)
{
	struct store_account_parts parts = {
		.policy = policy,
		.day = account->day,
		.n = account->parts_n,
		.to_s = account->parts_s,
	};
	bool good;

	merge_parts(account->parts);
	parts.parts = (const struct store_account_part *)(void *)account->parts->data;
	parts.count = account->parts->len;
	good = store_add_account_parts(store, account->meter, &parts, error);
	g_array_set_size(account->parts, 0);
	return good;
}

/* Adds the parts to the sums; sums of another day, or of a complete minute, are stored first. */
static bool keep_parts(struct host_account *account, struct store *store,
		       const struct store_account_interval *interval, const GArray *parts,
		       GError **error)
{
	const bool complete = !account->parts_n || interval->to_s - account->parts_s >= PARTS_S;

	if ((complete || g_strcmp0(account->day, interval->day) != 0) &&
	    !put_parts(account, store, interval->policy, error))
		return false;
	if (complete) {
		account->parts_n = account->meter->n;
		account->parts_s = interval->to_s;
	}
	g_free(account->day);
	account->day = g_strdup(interval->day);
	if (parts)
		g_array_append_vals(account->parts, parts->data, parts->len);
	return true;
}

bool host_account_add(struct host_account *account, struct store *store,
		      const struct store_account_interval *interval, const GArray *parts,
		      GError **error)
{
	struct store_account_meter *meter = account->meter;
	const bool known = g_strcmp0(interval->mark, STORE_ACCOUNT_NEW_COUNTER) != 0;
	const struct store_account_rise rise = {interval->from_s, interval->to_s,
						known ? interval->to_uj - interval->from_uj : -1};

	host_account_replace(account, &rise);
	meter->at_uj = interval->to_uj;
	meter->at_s = interval->to_s;
	meter->n++;
	return keep_parts(account, store, interval, parts, error) &&
	       store_add_account(store, meter, interval, error);
}

bool host_account_put(struct host_account *account, struct store *store, const char *policy,
		      GError **error)
{
	if (!account->day)
		return true;
	if (!put_parts(account, store, policy, error))
		return false;
	g_clear_pointer(&account->day, g_free);
	return store_put_account_meter(store, account->meter, error);
}
