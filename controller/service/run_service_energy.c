/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The energy account of a service's hosts; run_service_task_energy.c has the energy of its tasks.
 * The usage that local schedulers report between samples (remote_meter.h) is split and stored,
 * interval after interval of each host (ledger.h). The store has the end of each host's account, so
 * repeated reports are skipped; energy that cannot be attributed any more becomes a marked interval
 * of its own.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "common/clock.h"
#include "common/json.h"
#include "common/platform.h"
#include "common/read_number.h"
#include "controller/energy/ledger.h"
#include "controller/run/run_meters.h"
#include "controller/service/run_service_private.h"
#include "controller/session/run_record.h"

/* Marks of intervals that no local scheduler reports. */
#define MARK_GAP "gap"
#define MARK_UNREAD "unread"
#define MARK_MISSED "missed"

/* Key in the store's meta: since when a controller serves, seconds of the run. */
#define SERVED_KEY "service_served_s"

double run_service_energy_j(const struct run_service *service)
{
	g_autofree char *missing = run_meters_missing(service->session->config);

	return missing ? (double)NAN : (double)ledger_dynamic_uj(service->ledger) * 1e-6;
}

static double run_s(const struct run_service *service, int64_t t_ns)
{
	return clock_elapsed_s(service->session->t0_ns, t_ns);
}

/* Intervals. */

/* The UTC day of a time of the run. */
static char *day_of(const struct run_service *service, double time_s)
{
	const double ago_s = run_session_now_s(service->session) - time_s;
	g_autoptr(GDateTime) now = g_date_time_new_from_unix_utc(
		platform_utc_us(service->session->platform) / G_USEC_PER_SEC);
	g_autoptr(GDateTime) then = g_date_time_add_seconds(now, -ago_s);

	return g_date_time_format(then, "%Y-%m-%d");
}

static const struct remote_meter *meter_of(const struct run_service *service, const char *host)
{
	GPtrArray *meters = remote_fleet_meters(service->session->fleet);

	for (guint i = 0; i < meters->len; i++) {
		const struct remote_meter *meter = g_ptr_array_index(meters, i);

		if (g_str_equal(meter->host, host))
			return meter;
	}
	return NULL;
}

/* A host's baseline in milliwatts; 0 if it is not known. */
static uint64_t idle_mw_of(const struct run_service *service, const char *host)
{
	const struct remote_meter *meter = meter_of(service, host);
	const struct host_account *account = meter ? NULL : ledger_account(service->ledger, host);
	const double idle_w = meter ? meter->idle_w : account ? account->idle_w : 0;

	return idle_w > 0 ? (uint64_t)llround(idle_w * 1e3) : 0;
}

/* Adds an interval that ends where `interval` says, with the `parts` of tasks (NULL: none). */
static bool add(struct run_service *service, struct host_account *account,
		struct store_account_interval *interval, const struct energy_split *split,
		const GArray *parts, GError **error)
{
	g_autofree char *day = day_of(service, interval->to_s);

	interval->policy = service->row.policy;
	interval->day = day;
	interval->idle_uj = (int64_t)split->idle_uj;
	interval->tasks_uj = (int64_t)split->tasks_uj;
	interval->management_uj = (int64_t)split->management_uj;
	interval->unattributed_uj = (int64_t)split->unattributed_uj;
	return ledger_add(service->ledger, account, service->session->store, interval, parts,
			  error);
}

static bool add_hole(struct run_service *service, struct host_account *account, double to_s,
		     int64_t to_uj, const char *mark, GError **error)
{
	struct store_account_interval interval = {
		.from_s = account->meter->at_s,
		.to_s = to_s,
		.from_uj = account->meter->at_uj,
		.to_uj = to_uj,
		.mark = mark,
	};
	const struct energy_interval all = {
		.meter_uj = (uint64_t)(to_uj - interval.from_uj),
		.duration_ns = (uint64_t)((interval.to_s - interval.from_s) * 1e9),
		.idle_mw = idle_mw_of(service, account->meter->host),
	};
	const struct energy_split split = energy_split(&all, NULL, 0);

	return add(service, account, &interval, &split, NULL, error);
}

/* Adds the part of a span until to_s; the time before it was not served. */
static bool add_span(struct run_service *service, struct host_account *account,
		     const struct host_span *span, double to_s, int64_t most_uj, GError **error)
{
	const int64_t room_uj = RUN_SERVICE_COUNTED_MAX_UJ - ledger_counted_uj(service->ledger);
	const int64_t at_uj = account->meter->at_uj;
	int64_t uj = span->uj;

	if (span->from_s > account->meter->at_s &&
	    !add_hole(service, account, span->from_s, at_uj, STORE_ACCOUNT_UNSERVED, error))
		return false;
	if (to_s < span->until_s)
		uj = (int64_t)((double)uj *
			       ((to_s - span->from_s) / (span->until_s - span->from_s)));
	uj = CLAMP(uj, 0, MAX(room_uj, 0));
	return add_hole(service, account, fmin(to_s, span->until_s),
			MIN(host_account_sum(at_uj, uj), most_uj), MARK_MISSED, error);
}

/*
 * Adds the provisional energy of the time until to_s, if there is any, at most up to `most_uj`: it
 * was not reported.
 */
static bool add_provisional(struct run_service *service, struct host_account *account, double to_s,
			    int64_t most_uj, GError **error)
{
	while (account->spans->len > 0) {
		const struct host_span span = g_array_index(account->spans, struct host_span, 0);

		if (span.from_s >= to_s)
			break;
		if (!add_span(service, account, &span, to_s, most_uj, error))
			return false;
	}
	return true;
}

/* The end of the last span that ends by to_s; -INFINITY: none does. */
static double complete_s(const struct host_account *account, double to_s)
{
	double until_s = -INFINITY;

	for (guint i = 0; i < account->spans->len; i++) {
		const struct host_span *span = &g_array_index(account->spans, struct host_span, i);

		if (span->until_s <= to_s)
			until_s = span->until_s;
	}
	return until_s;
}

/*
 * Whether an interval of a host that ends at to_s was served by this controller, or by the one
 * before it, whose record of the time then counts. `account` may be NULL.
 */
static bool was_served(const struct run_service *service, const struct host_account *account,
		       double to_s)
{
	const struct ledger_older *older = ledger_older(service->ledger);

	return to_s > service->served_s || (account && host_account_expects(account, to_s)) ||
	       to_s <= older->until_s;
}

/*
 * Adds the time from the end of the account until until_s, if there is any, in which no controller
 * served: the counter is assumed to rise evenly up to `to_uj` at `to_s`.
 */
static bool add_unserved(struct run_service *service, struct host_account *account, double until_s,
			 double to_s, int64_t to_uj, GError **error)
{
	const double at_s = account->meter->at_s;
	const int64_t at_uj = account->meter->at_uj;
	const int64_t uj = to_uj - at_uj;

	if (until_s <= at_s || until_s >= to_s)
		return true;
	return add_hole(service, account, until_s,
			at_uj + MIN((int64_t)((double)uj * (until_s - at_s) / (to_s - at_s)), uj),
			STORE_ACCOUNT_UNSERVED, error);
}

/*
 * Adds an unattributed interval from the end of the account to `to_uj` at `to_s`. Provisional
 * energy, and the time in which no controller served, become separate intervals.
 */
static bool add_unreported(struct run_service *service, struct host_account *account, double to_s,
			   int64_t to_uj, GError **error)
{
	double span_s; /* when the span begins in which the interval ends */

	if (!add_provisional(service, account, complete_s(account, to_s), to_uj, error))
		return false;
	to_s = fmax(to_s, account->meter->at_s);
	if (!was_served(service, account, to_s))
		return add_hole(service, account, to_s, to_uj, STORE_ACCOUNT_UNSERVED, error);
	span_s = account->spans->len > 0 ? g_array_index(account->spans, struct host_span, 0).from_s
					 : -INFINITY;
	return add_unserved(service, account, span_s, to_s, to_uj, error) &&
	       add_unserved(service, account, service->served_s, to_s, to_uj, error) &&
	       add_hole(service, account, to_s, to_uj, MARK_MISSED, error);
}

/* The counter restarted: its rise so far is kept, and energy used in between is not counted. */
static bool begin_counter(struct run_service *service, struct host_account *account, double at_s,
			  int64_t at_uj, GError **error)
{
	struct store_account_meter *meter = account->meter;
	struct store_account_interval interval = {
		.from_s = meter->at_s,
		.to_s = fmax(at_s, meter->at_s),
		.from_uj = at_uj,
		.to_uj = at_uj,
		.mark = STORE_ACCOUNT_NEW_COUNTER,
	};
	const struct energy_split nothing = {0};

	meter->before_uj = host_account_sum(meter->before_uj, meter->at_uj - meter->begin_uj);
	meter->begin_uj = at_uj;
	return add(service, account, &interval, &nothing, NULL, error);
}

/*
 * The parts of an interval, ordered by task; CPU time of foreign tasks is added to *ret_others_ns,
 * without overflow.
 */
static GArray *parts_of(const struct run_service *service, const struct wire_usage *usage,
			int64_t *ret_others_ns)
{
	GArray *parts = g_array_new(FALSE, FALSE, sizeof(struct store_account_part));

	for (uint32_t i = 0; i < usage->tasks_count; i++) {
		const struct wire_usage_task *task = &usage->tasks[i];
		struct store_account_part part = {.cpu_ns = task->cpu_ns};

		if (remote_usage_task_of(service->session->plan->experiment, service->row.run,
					 task->id, &part.task, &part.attempt) &&
		    part.task < service->submissions->len)
			g_array_append_val(parts, part);
		else
			*ret_others_ns += MIN(task->cpu_ns, INT64_MAX - *ret_others_ns);
	}
	g_array_sort(parts, host_account_compare_parts);
	return parts;
}

/*
 * Whether the CPU time of processes that are no VMs is missing: emulated blades cannot report it
 * (docs/how-to/service.md), other hosts must.
 */
static bool lacks_others(const struct run_service *service, uint32_t cluster,
			 const struct wire_usage *usage)
{
	const struct config_cluster *of = &service->session->config->clusters[cluster];

	for (uint32_t i = 0; i < of->hosts_count && usage->others_ns < 0; i++)
		if (g_str_equal(of->hosts[i].name, usage->host))
			return !of->hosts[i].blade;
	return false;
}

static const char *mark_of(const struct run_service *service, uint32_t cluster,
			   const struct wire_usage *usage)
{
	const struct host_account *account = ledger_account(service->ledger, usage->host);

	if (!was_served(service, account, run_s(service, usage->to_ns)))
		return STORE_ACCOUNT_UNSERVED;
	if (usage->gap)
		return MARK_GAP;
	return usage->read && !lacks_others(service, cluster, usage) ? NULL : MARK_UNREAD;
}

static bool add_reported(struct run_service *service, struct host_account *account,
			 uint32_t cluster, const struct wire_usage *usage, GError **error)
{
	int64_t others_ns = usage->vms_ns + MAX(usage->others_ns, 0);
	g_autoptr(GArray) parts = parts_of(service, usage, &others_ns);
	g_autofree struct energy_part *shares = g_new0(struct energy_part, parts->len);
	const char *mark = mark_of(service, cluster, usage);
	const struct energy_interval all = {
		.meter_uj = (uint64_t)(usage->to_uj - usage->from_uj),
		.duration_ns = (uint64_t)usage->length_ns,
		.idle_mw = idle_mw_of(service, usage->host),
		.known = !mark,
		.management_ns = (uint64_t)others_ns,
	};
	struct store_account_interval interval = {
		.from_s = account->meter->at_s,
		.to_s = fmax(run_s(service, usage->to_ns), account->meter->at_s),
		.from_uj = usage->from_uj,
		.to_uj = usage->to_uj,
		.mark = mark,
	};
	struct energy_split split;

	for (guint i = 0; i < parts->len; i++)
		shares[i].cpu_ns =
			(uint64_t)g_array_index(parts, struct store_account_part, i).cpu_ns;
	split = energy_split(&all, shares, parts->len);
	for (guint i = 0; i < parts->len; i++)
		g_array_index(parts, struct store_account_part, i).uj = (int64_t)shares[i].uj;
	if (!add(service, account, &interval, &split, all.known ? parts : NULL, error))
		return false;
	if (all.known)
		run_service_update_energy(service, parts);
	return true;
}

/* Whether an account has provisional energy alone: its host has not reported yet. */
static bool is_unreported(const struct host_account *account)
{
	return account->meter->n == 0 && !account->meter->stream;
}

/*
 * Since when reports of a host count: an account begins with the service, with its provisional
 * energy, or with a host that is added.
 */
static double account_from_s(const struct run_service *service, const char *host)
{
	const struct host_account *account = ledger_account(service->ledger, host);

	if (!account)
		return fmax(service->served_s, 0);
	return is_unreported(account) ? account->meter->at_s : -INFINITY;
}

static struct host_account *account_of(struct run_service *service, uint32_t cluster,
				       const struct wire_usage *usage)
{
	struct host_account *account = ledger_account(service->ledger, usage->host);
	struct store_account_meter *meter;

	if (account && is_unreported(account)) {
		account->meter->begin_uj = account->meter->at_uj = usage->from_uj;
		g_free(account->meter->cluster);
		account->meter->cluster =
			g_strdup(service->session->config->clusters[cluster].name);
	}
	if (account)
		return account;
	meter = g_new(struct store_account_meter, 1);
	*meter = (struct store_account_meter){
		.run = service->row.run,
		.host = g_strdup(usage->host),
		.cluster = g_strdup(service->session->config->clusters[cluster].name),
		.begin_uj = usage->from_uj,
		.at_uj = usage->from_uj,
		.at_s = run_s(service, usage->from_ns),
	};
	return ledger_open(service->ledger, meter);
}

/*
 * Whether the interval is of another counter than the account: a new counter begins at 0, and may
 * have passed the old value since.
 */
static bool is_another(const struct store_account_meter *meter, const struct wire_usage *usage)
{
	return usage->from_uj < meter->at_uj ||
	       (meter->counter && usage->counter && !g_str_equal(meter->counter, usage->counter));
}

/*
 * Stores the counter's name. If the local scheduler does not name its counters, only their values
 * can show a restart.
 */
static void note_counter(struct store_account_meter *meter, const struct wire_usage *usage)
{
	if (g_strcmp0(meter->counter, usage->counter) == 0)
		return;
	g_free(meter->counter);
	meter->counter = g_strdup(usage->counter);
}

static bool add_usage(struct run_service *service, uint32_t cluster, const char *stream,
		      const struct wire_usage *usage, GError **error)
{
	const double from_s = run_s(service, usage->from_ns);
	struct host_account *account;
	struct store_account_meter *meter;
	bool first;
	bool another;

	if (from_s < account_from_s(service, usage->host))
		return true;
	account = account_of(service, cluster, usage);
	meter = account->meter;
	first = is_unreported(account);
	if (g_strcmp0(meter->stream, stream) != 0) {
		g_free(meter->stream);
		meter->stream = g_strdup(stream);
		meter->seq = 0;
	} else if (usage->seq <= meter->seq) {
		return true; /* a repeated report */
	}
	/* What its counter had before the first report is not known: that begins another one. */
	another = is_another(meter, usage) || (first && account->spans->len > 0);
	note_counter(meter, usage);
	if (usage->to_uj - MIN(meter->at_uj, usage->from_uj) >
	    RUN_SERVICE_COUNTED_MAX_UJ - ledger_counted_uj(service->ledger)) {
		meter->seq = usage->seq;
		return begin_counter(service, account, run_s(service, usage->to_ns), usage->to_uj,
				     error);
	}
	if (another)
		run_service_expect_counted(service, account, usage->from_ns);
	if (another && !(add_provisional(service, account, from_s, INT64_MAX, error) &&
			 begin_counter(service, account, from_s, usage->from_uj, error)))
		return false;
	if (usage->from_uj > meter->at_uj &&
	    !add_unreported(service, account, from_s, usage->from_uj, error))
		return false;
	meter->seq = usage->seq;
	/* The controller before this one ended within the interval. */
	if (host_account_provisional_uj(account) > 0 &&
	    g_strcmp0(mark_of(service, cluster, usage), STORE_ACCOUNT_UNSERVED) == 0)
		return add_unreported(service, account, run_s(service, usage->to_ns), usage->to_uj,
				      error);
	return add_reported(service, account, cluster, usage, error);
}

static bool add_intervals(struct run_service *service, uint32_t cluster, const char *stream,
			  const GPtrArray *intervals, GError **error)
{
	for (guint i = 0; i < intervals->len; i++)
		if (!add_usage(service, cluster, stream, g_ptr_array_index(intervals, i), error))
			return false;
	for (guint i = 0; i < intervals->len; i++) {
		const struct wire_usage *usage = g_ptr_array_index(intervals, i);
		struct host_account *account = ledger_account(service->ledger, usage->host);

		if (account &&
		    !host_account_put(account, service->session->store, service->row.policy, error))
			return false;
	}
	return true;
}

static bool add_usage_of_cluster(struct run_service *service, uint32_t cluster, const char *stream,
				 const GPtrArray *intervals, GError **error)
{
	struct store *store = service->session->store;

	bool good;

	if (!recorder_store_join(service->recorder, error) || !store_begin_account(store, error))
		return false;
	good = add_intervals(service, cluster, stream, intervals, error);
	if (good)
		run_service_settle_energy(service, cluster);
	return store_end_account(store, good, error);
}

void run_service_energy_sample(double time_s, const struct remote_meter *meter,
			       const struct wire_sample *sample, void *data)
{
	struct run_session *session = data;
	GError *error = NULL;

	if (session->service && !recorder_store_join(session->service->recorder, &error))
		run_session_store_failed(session, error);
	else
		run_record_sample(time_s, meter, sample, session);
}

void run_service_energy_take(uint32_t cluster, const char *stream, const GPtrArray *intervals,
			     void *data)
{
	struct run_session *session = data;
	GError *error = NULL;

	if (session->service &&
	    !add_usage_of_cluster(session->service, cluster, stream, intervals, &error))
		run_session_store_failed(session, error);
}

/* Beginning. */

static int compare_hosts(const void *a, const void *b)
{
	const struct host_account *const *one = a;
	const struct host_account *const *other = b;

	return strcmp((*one)->meter->host, (*other)->meter->host);
}

/* Finds the accounts of hosts that the configuration no longer has. */
static void find_departed(struct run_service *service)
{
	g_autoptr(json_t) baseline =
		run_record_find_baseline(service->session->store, service->row.run);
	GHashTableIter iter;
	gpointer value;

	g_hash_table_iter_init(&iter, ledger_accounts(service->ledger));
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		struct host_account *account = value;
		const double idle_w = run_record_idle_w(baseline, account->meter->host);

		if (meter_of(service, account->meter->host))
			continue;
		account->idle_w = isnan(idle_w) ? 0 : idle_w;
		g_ptr_array_add(service->departed, account);
	}
	g_ptr_array_sort(service->departed, compare_hosts);
}

bool run_service_energy_load(struct run_service *service, GError **error)
{
	struct store *store = service->session->store;
	const double begin_s = run_service_limit_begin_s(service, &service->config);
	g_autoptr(GError) fault = NULL;

	if (!ledger_load(service->ledger, store, service->row.run, error) ||
	    !run_service_recall_provisional(service, error) ||
	    !run_service_recall_older(service, begin_s, error))
		return false;
	find_departed(service);
	service->ledger_complete = ledger_load_sums(service->ledger, store, service->row.run,
						    service->submissions->len, &fault);
	/* A ledger without its sums does not keep the service from starting. */
	if (!service->ledger_complete)
		run_session_note(
			service->session, "energy-unknown",
			"what the service has used so far is not known, and counts from now on; "
			"what its tasks use is not known: %s",
			fault->message);
	return true;
}

/* A controller that continues a run serves since the one before it did. */
static bool begin_serving(struct run_service *service, GError **error)
{
	struct run_session *session = service->session;
	char text[G_ASCII_DTOSTR_BUF_SIZE];

	if (session->go_on) {
		g_autofree char *since = store_get_meta(session->store, SERVED_KEY);

		service->served_s = -INFINITY; /* if it is not known */
		read_number(since, -DBL_MAX, DBL_MAX, &service->served_s);
		return true;
	}
	service->served_s = run_session_now_s(session);
	return store_set_meta(session->store, SERVED_KEY,
			      g_ascii_dtostr(text, sizeof(text), service->served_s), error);
}

/* Continues after the last stored interval of the cluster. */
static void ask_cluster(struct run_service *service, uint32_t cluster)
{
	const struct run_session *session = service->session;
	const char *name = session->config->clusters[cluster].name;
	const char *stream = NULL;
	int64_t seq = 0;
	GHashTableIter iter;
	gpointer value;

	g_hash_table_iter_init(&iter, ledger_accounts(service->ledger));
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		const struct store_account_meter *meter =
			((const struct host_account *)value)->meter;

		if (g_str_equal(meter->cluster, name) && meter->seq > seq) {
			stream = meter->stream;
			seq = meter->seq;
		}
	}
	remote_link_usage_from(remote_fleet_link(session->fleet, cluster), stream, seq);
}

bool run_service_energy_begin(struct run_service *service, GError **error)
{
	struct run_session *session = service->session;

	if (!run_service_recall_energy(service, error) || !begin_serving(service, error))
		return false;
	for (uint32_t i = 0; i < session->config->clusters_count; i++)
		ask_cluster(service, i);
	return true;
}

/* Ending. */

/* Available local schedulers answer at once. */
#define LAST_WORDS_S 2.0

struct ending {
	const struct run_session *session;
	int64_t since_ns;
};

static bool have_reported(void *data)
{
	const struct ending *ending = data;
	bool reported = true;

	for (uint32_t i = 0; i < ending->session->config->clusters_count; i++)
		reported &= remote_link_usage_complete(remote_fleet_link(ending->session->fleet, i),
						       ending->since_ns);
	return reported || ending->session->store_failed;
}

/* Energy that is not reported by then is provisional for the next controller. */
void run_service_energy_end(struct run_service *service)
{
	struct ending ending = {service->session, platform_now_ns(service->session->platform)};

	remote_fleet_until(service->session->fleet, have_reported, &ending, LAST_WORDS_S, false);
}
