/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/energy/ledger.h"

#include <math.h>

#include "common/read_number.h"

struct ledger {
	GHashTable *accounts; /* host -> struct host_account */
	GArray *tasks_uj;     /* int64_t, by task; shorter if the last tasks have used nothing */
	int64_t counted_uj, dynamic_uj;
	double since_s; /* since_uj is dynamic energy since then; -INFINITY: it is not summed up */
	int64_t since_uj;
	struct ledger_older older;
};

/* A window begins by UTC, and may be found to begin up to so much later after a restart. */
#define SAME_BEGIN_S 1.0

struct ledger *ledger_new(void)
{
	struct ledger *ledger = g_new0(struct ledger, 1);

	ledger->accounts = g_hash_table_new_full(g_str_hash, g_str_equal, NULL,
						 (GDestroyNotify)host_account_free);
	ledger->tasks_uj = g_array_new(FALSE, TRUE, sizeof(int64_t));
	ledger->since_s = -INFINITY;
	return ledger;
}

void ledger_free(struct ledger *ledger)
{
	if (!ledger)
		return;
	g_hash_table_unref(ledger->accounts);
	g_array_unref(ledger->tasks_uj);
	g_free(ledger);
}

bool ledger_load(struct ledger *ledger, struct store *store, int64_t run, GError **error)
{
	g_autoptr(GPtrArray) meters = store_account_meters(store, run, error);

	if (!meters)
		return false;
	g_ptr_array_set_free_func(meters, NULL);
	for (guint i = 0; i < meters->len; i++) {
		const struct host_account *account =
			ledger_open(ledger, g_ptr_array_index(meters, i));

		ledger->counted_uj =
			host_account_sum(ledger->counted_uj, host_account_counted_uj(account));
	}
	return true;
}

static const struct record_field span_fields[] = {
	{RECORD_FIELD_REAL(host_span, from_s)},
	{RECORD_FIELD_REAL(host_span, until_s)},
	{RECORD_FIELD_I64(host_span, uj)},
	{NULL},
};
static const struct record span_record = {.fields = span_fields};

static const struct record_field expected_fields[] = {
	{RECORD_FIELD_TEXT(ledger_expected, host)},
	{RECORD_FIELD_I64(ledger_expected, n)},
	{RECORD_FIELD_REAL(ledger_expected, at_s)},
	{RECORD_FIELD_STRUCT(ledger_expected, span, span_record)},
	{NULL},
};
RECORD_DEFINE_FREE_OF(free_expected, ledger_expected_record)
const struct record ledger_expected_record = {.name = "provisional energy of a host",
					      .size = sizeof(struct ledger_expected),
					      .fields = expected_fields,
					      .open = true,
					      .free = free_expected};

/* Replaces what was expected by the intervals of the account after that, up to its end. */
static bool replace_expected(struct host_account *account, struct store *store,
			     const struct ledger_expected *expected, GError **error)
{
	const double at_s = account->meter->at_s;
	const struct store_account_rise end = {at_s, at_s, -1};
	g_autoptr(GPtrArray) rises =
		store_account_rises(store, account->meter, expected->n, expected->at_s, error);

	for (guint i = 0; rises && i < rises->len; i++)
		host_account_replace(account, g_ptr_array_index(rises, i));
	host_account_replace(account, &end);
	return rises != NULL;
}

/* The account of a host that has provisional energy; NULL: it is missing. */
static struct host_account *expecting(struct ledger *ledger, int64_t run,
				      const struct ledger_expected *expected)
{
	struct host_account *account = ledger_account(ledger, expected->host);
	struct store_account_meter *meter;

	if (account || expected->n != 0 || !isfinite(expected->at_s))
		return account;
	meter = g_new(struct store_account_meter, 1);
	*meter = (struct store_account_meter){
		.run = run,
		.host = g_strdup(expected->host),
		.cluster = g_strdup(""), /* its first report tells */
		.at_s = expected->at_s,
	};
	return ledger_open(ledger, meter);
}

bool ledger_expect(struct ledger *ledger, struct store *store, int64_t run, const GPtrArray *list,
		   GError **error)
{
	for (guint i = 0; i < list->len; i++) {
		const struct ledger_expected *expected = g_ptr_array_index(list, i);
		const struct ledger_expected *next =
			i + 1 < list->len ? g_ptr_array_index(list, i + 1) : NULL;
		struct host_account *account = expecting(ledger, run, expected);

		if (!account)
			continue;
		host_account_expect(account, &expected->span);
		/* The last one of the host. */
		if (!(next && g_str_equal(next->host, expected->host)) &&
		    !replace_expected(account, store, expected, error))
			return false;
	}
	return true;
}

void ledger_set_older(struct ledger *ledger, const struct ledger_older *older)
{
	ledger->older = *older;
}

const struct ledger_older *ledger_older(const struct ledger *ledger)
{
	return &ledger->older;
}

int64_t ledger_older_since_uj(const struct ledger *ledger, double begin_s)
{
	return begin_s <= ledger->older.begin_s + SAME_BEGIN_S ? ledger->older.uj : 0;
}

static void add_to_task(struct ledger *ledger, uint32_t task, int64_t uj)
{
	int64_t *sum;

	if (task >= ledger->tasks_uj->len)
		g_array_set_size(ledger->tasks_uj, task + 1);
	sum = &g_array_index(ledger->tasks_uj, int64_t, task);
	*sum = host_account_sum(*sum, uj);
}

bool ledger_load_sums(struct ledger *ledger, struct store *store, int64_t run, uint32_t tasks_count,
		      GError **error)
{
	g_autoptr(GPtrArray) hosts = store_account_sums(store, run, "host", error);
	g_autoptr(GPtrArray) tasks = hosts ? store_account_sums(store, run, "task", error) : NULL;

	if (!tasks)
		return false;
	for (guint i = 0; i < hosts->len; i++) {
		const struct store_account_sum *sum = g_ptr_array_index(hosts, i);

		ledger->dynamic_uj =
			host_account_sum(ledger->dynamic_uj,
					 sum->meter_uj - sum->idle_uj - sum->unserved_uj);
	}
	for (guint i = 0; i < tasks->len; i++) {
		const struct store_account_sum *sum = g_ptr_array_index(tasks, i);
		uint64_t task;

		/* A row with another number is of no task. */
		if (read_number_unsigned(sum->key, 0, UINT32_MAX, &task) && task < tasks_count)
			add_to_task(ledger, (uint32_t)task, sum->tasks_uj);
	}
	return true;
}

struct host_account *ledger_account(const struct ledger *ledger, const char *host)
{
	return g_hash_table_lookup(ledger->accounts, host);
}

struct host_account *ledger_open(struct ledger *ledger, struct store_account_meter *meter)
{
	struct host_account *account = host_account_new(meter);

	g_hash_table_insert(ledger->accounts, meter->host, account);
	return account;
}

GHashTable *ledger_accounts(const struct ledger *ledger)
{
	return ledger->accounts;
}

/* The part of an interval's `uj` that belongs to the time after since_s. */
static int64_t part_since(const struct store_account_interval *interval, int64_t uj, double since_s)
{
	if (interval->from_s >= since_s)
		return uj;
	if (interval->to_s <= since_s)
		return 0;
	return (int64_t)((double)uj *
			 ((interval->to_s - since_s) / (interval->to_s - interval->from_s)));
}

/* Replaces what an older version had counted by what an interval brings of that time. */
static void replace_older(struct ledger_older *older, const struct store_account_interval *interval,
			  int64_t uj)
{
	const int64_t before_uj =
		part_since(interval, uj, older->begin_s) - part_since(interval, uj, older->until_s);

	older->uj -= CLAMP(before_uj, 0, older->uj);
}

bool ledger_watch(struct ledger *ledger, struct store *store, int64_t run, double begin_s,
		  GError **error)
{
	int64_t uj;

	if (!store_account_dynamic_since(store, run, begin_s, &uj, error))
		return false;
	ledger->since_s = begin_s;
	ledger->since_uj = uj;
	return true;
}

int64_t ledger_since_uj(const struct ledger *ledger)
{
	return ledger->since_uj;
}

double ledger_since_s(const struct ledger *ledger)
{
	return ledger->since_s;
}

bool ledger_add(struct ledger *ledger, struct host_account *account, struct store *store,
		const struct store_account_interval *interval, const GArray *parts, GError **error)
{
	const int64_t uj = interval->to_uj - interval->from_uj;

	if (!host_account_add(account, store, interval, parts, error))
		return false;
	ledger->counted_uj += uj;
	if (g_strcmp0(interval->mark, STORE_ACCOUNT_UNSERVED) != 0) {
		replace_older(&ledger->older, interval, uj - interval->idle_uj);
		ledger->dynamic_uj += uj - interval->idle_uj;
		ledger->since_uj += part_since(interval, uj - interval->idle_uj, ledger->since_s);
	}
	for (guint i = 0; parts && i < parts->len; i++) {
		const struct store_account_part *part =
			&g_array_index(parts, struct store_account_part, i);

		add_to_task(ledger, part->task, part->uj);
	}
	return true;
}

int64_t ledger_task_uj(const struct ledger *ledger, uint32_t task)
{
	return task < ledger->tasks_uj->len ? g_array_index(ledger->tasks_uj, int64_t, task) : 0;
}

int64_t ledger_dynamic_uj(const struct ledger *ledger)
{
	return ledger->dynamic_uj;
}

int64_t ledger_counted_uj(const struct ledger *ledger)
{
	return ledger->counted_uj;
}
