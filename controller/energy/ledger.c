/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/energy/ledger.h"

#include <glib.h>
#include <math.h>

#include "common/read_number.h"

/* mW x ns = 1e-6 uJ */
#define MW_NS_PER_UJ 1000000

/* Parts of tasks are summed up over so long. */
#define PARTS_S 60.0

/* A window begins by UTC, and may be found to begin up to so much later after a restart. */
#define SAME_BEGIN_S 1.0

/* The parts of an interval. */

typedef unsigned __int128 wide;

/*
 * The remainder of a fraction that was rounded down; `place`: index of the part, or their number
 * for management.
 */
struct remainder {
	wide rest;
	size_t place;
};

static uint64_t idle_uj(const struct energy_interval *interval)
{
	const wide uj = (wide)interval->idle_mw * interval->duration_ns / MW_NS_PER_UJ;

	return uj < interval->meter_uj ? (uint64_t)uj : interval->meter_uj;
}

/* The largest first; among equals the earlier. */
static int compare(const void *a, const void *b)
{
	const struct remainder *one = a;
	const struct remainder *other = b;

	if (one->rest != other->rest)
		return one->rest < other->rest ? 1 : -1;
	return (one->place > other->place) - (one->place < other->place);
}

/* The fraction cpu_ns / total_ns of dynamic_uj, rounded down; sets the remainder. */
static uint64_t share(uint64_t dynamic_uj, uint64_t cpu_ns, wide total_ns, size_t place,
		      struct remainder *ret_remainder)
{
	const wide product = (wide)dynamic_uj * cpu_ns;

	*ret_remainder = (struct remainder){product % total_ns, place};
	return (uint64_t)(product / total_ns);
}

static void split_dynamic(uint64_t dynamic_uj, uint64_t management_ns, wide total_ns,
			  struct energy_part *parts, size_t count, struct energy_split *split)
{
	g_autofree struct remainder *remainders = g_new(struct remainder, count + 1);
	uint64_t left_uj = dynamic_uj;

	for (size_t i = 0; i < count; i++) {
		parts[i].uj = share(dynamic_uj, parts[i].cpu_ns, total_ns, i, &remainders[i]);
		left_uj -= parts[i].uj;
	}
	split->management_uj =
		share(dynamic_uj, management_ns, total_ns, count, &remainders[count]);
	left_uj -= split->management_uj;
	qsort(remainders, count + 1, sizeof(*remainders), compare);
	/* The remainders add up to left_uj, so it is less than their number. */
	for (size_t i = 0; left_uj > 0; i++, left_uj--) {
		if (remainders[i].place < count)
			parts[remainders[i].place].uj++;
		else
			split->management_uj++;
	}
	for (size_t i = 0; i < count; i++)
		split->tasks_uj += parts[i].uj;
}

struct energy_split energy_split(const struct energy_interval *interval, struct energy_part *parts,
				 size_t count)
{
	struct energy_split split = {.idle_uj = idle_uj(interval)};
	const uint64_t dynamic_uj = interval->meter_uj - split.idle_uj;
	wide total_ns = interval->management_ns;

	for (size_t i = 0; i < count; i++) {
		parts[i].uj = 0;
		total_ns += parts[i].cpu_ns;
	}
	if (interval->known && total_ns > 0)
		split_dynamic(dynamic_uj, interval->management_ns, total_ns, parts, count, &split);
	else
		split.unattributed_uj = dynamic_uj;
	return split;
}

/* The account of a host. */

int64_t host_account_sum(int64_t sum, int64_t more)
{
	int64_t result;

	return __builtin_add_overflow(sum, more, &result) ? INT64_MAX : result;
}

/* Continues the account that ends at `meter`, which it takes over. */
static struct host_account *host_account_new(struct store_account_meter *meter)
{
	struct host_account *account = g_new0(struct host_account, 1);

	account->meter = meter;
	account->spans = g_array_new(FALSE, FALSE, sizeof(struct host_span));
	account->parts = g_array_new(FALSE, FALSE, sizeof(struct store_account_part));
	return account;
}

/* What all counters of the host have counted, one after the other, as far as reported. */
static int64_t host_account_counted_uj(const struct host_account *account)
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

/*
 * Replaces provisional energy by what is reported of an interval: spans that end by its end are
 * dropped, and its part is subtracted from the span in which it ends; where it is not known how
 * much that is, the part of the span.
 */
static void host_account_replace(struct host_account *account,
				 const struct store_account_rise *rise)
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

/* NULL is allowed. */
static void host_account_free(struct host_account *account)
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

/*
 * Adds the next interval, which replaces the provisional energy of its time, with the `parts`
 * (struct store_account_part; NULL: none) that tasks have of it; the account then ends where the
 * interval ends. To be called within store_begin_account(). False with `error`: the store failed,
 * the account in memory is ahead of the store, and no interval may be added any more.
 */
static bool host_account_add(struct host_account *account, struct store *store,
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

/* The ledger. */

struct ledger {
	GHashTable *accounts; /* host -> struct host_account */
	GArray *tasks_uj;     /* int64_t, by task; shorter if the last tasks have used nothing */
	int64_t counted_uj, dynamic_uj;
	double since_s; /* since_uj is dynamic energy since then; -INFINITY: it is not summed up */
	int64_t since_uj;
	struct ledger_older older;
};

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
