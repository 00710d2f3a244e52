/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/shares.h"

#include <math.h>

#define POINTS(field_)                                                                             \
	{                                                                                          \
		.name = #field_ "_points", .type = RECORD_REAL, .null = RECORD_NULL_NAN,           \
		.offset = offsetof(struct shares_policy, field_)                                   \
	}

static const struct record_field fields[] = {
	{RECORD_AT(shares_policy, policy), .type = RECORD_BORROWED},
	{RECORD_FIELD_REAL(shares_policy, limit)},
	{RECORD_FIELD_U32(shares_policy, yields)},
	{RECORD_FIELD_U32(shares_policy, intervals)},
	{RECORD_FIELD_REAL(shares_policy, asked_cores)},
	{RECORD_FIELD_REAL(shares_policy, given_cores)},
	POINTS(difference_mean),
	POINTS(difference_least),
	POINTS(difference_greatest),
	{NULL},
};
static const struct record record = {.size = sizeof(struct shares_policy), .fields = fields};

static const struct listing_column columns[] = {
	{"limit %", "limit", 0, 100},
	{"policy", "policy"},
	{"yields given", "yields"},
	{"intervals", "intervals"},
	{"asked cores", "asked_cores", 3},
	{"given cores", "given_cores", 3},
	{"mean points", "difference_mean_points", 1},
	{"most below", "difference_least_points", 1},
	{"most above", "difference_greatest_points", 1},
	{NULL},
};

static const struct listing listing = {
	.title = SHARES_TITLE,
	.csv = "shares",
	.record = &record,
	.columns = columns,
	.note = "over intervals of 2 s; points: delivered share less the one asked for, of 100; "
		"VMs that wait for\n    one another use less than they may, and none may use more",
};

/* Adds an interval; fields for means hold sums until the end. */
static void add_delivery(struct shares_policy *row, const struct store_delivery *delivery)
{
	const double points =
		100 * delivery->share * (delivery->given_cores / delivery->asked_cores - 1);

	if (!(delivery->share < 1) || !isfinite(points))
		return;
	row->intervals++;
	row->asked_cores += delivery->asked_cores;
	row->given_cores += delivery->given_cores;
	row->difference_mean += points;
	row->difference_least = fmin(row->difference_least, points);
	row->difference_greatest = fmax(row->difference_greatest, points);
}

static bool add_run(const struct summary *summary, const struct summary_cell *cell,
		    const struct store_run *run, void *data, GError **error)
{
	GArray *shares = *(GArray **)data;
	g_autoptr(GPtrArray) yields = store_shares(summary->store, run->run, error);
	g_autoptr(GPtrArray) deliveries =
		yields ? store_deliveries(summary->store, run->run, error) : NULL;
	const struct shares_policy fresh = {
		.policy = cell->policy,
		.limit = cell->limit,
		.difference_least = (double)NAN,
		.difference_greatest = (double)NAN,
	};
	struct shares_policy *row;

	if (!deliveries)
		return false;
	row = shares->len ? &g_array_index(shares, struct shares_policy, shares->len - 1) : NULL;
	if (!row || row->policy != cell->policy || row->limit != cell->limit) {
		g_array_append_val(shares, fresh);
		row = &g_array_index(shares, struct shares_policy, shares->len - 1);
	}
	row->yields += yields->len;
	for (guint i = 0; i < deliveries->len; i++)
		add_delivery(row, deliveries->pdata[i]);
	return true;
}

static bool read_shares(const struct summary *summary, GArray **arrays, GError **error)
{
	GArray *shares = arrays[0];

	if (!summary_each_run(summary, add_run, arrays, error))
		return false;
	for (guint i = shares->len; i-- > 0;) {
		struct shares_policy *row = &g_array_index(shares, struct shares_policy, i);

		/* 0 / 0 is NAN: unknown without intervals. */
		row->asked_cores /= row->intervals;
		row->given_cores /= row->intervals;
		row->difference_mean /= row->intervals;
		if (row->yields == 0 && row->intervals == 0)
			g_array_remove_index(shares, i);
	}
	return true;
}

const struct listing_part shares_part = {"shares", {&listing}, read_shares};
