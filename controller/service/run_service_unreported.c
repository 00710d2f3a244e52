/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The energy of a service that the accounts of its hosts do not have yet: provisional energy of the
 * time before a restart (ledger.h), and what the meters have counted since the last reports. With
 * the ledger it is the energy that was used, by which a limit's window goes.
 */
#include <math.h>

#include "common/clock.h"
#include "common/platform.h"
#include "controller/service/run_service_private.h"

static double run_s(const struct run_service *service, int64_t t_ns)
{
	return clock_elapsed_s(service->session->t0_ns, t_ns);
}

static const struct host_span *span_at(const struct host_account *account, guint i)
{
	return &g_array_index(account->spans, struct host_span, i);
}

/*
 * Joules above idle of the time since begin_s: the part by time. Idle is at most all of it, as in
 * the account (ledger.h).
 */
static double span_j(const struct host_span *span, double idle_w, double begin_s)
{
	const double length_s = span->until_s - span->from_s;
	const double all_j = (double)span->uj * 1e-6 - idle_w * length_s;

	if (!(all_j > 0) || span->until_s <= begin_s)
		return 0;
	return all_j * fmin(1, (span->until_s - begin_s) / length_s);
}

/*
 * The counter of a meter that has samples. A long run discards the oldest samples: before the first
 * kept sample the counter counts as having risen evenly since the start.
 */
static double counter_uj(const struct remote_meter *meter, int64_t t_ns)
{
	const struct wire_sample *first = &g_array_index(meter->samples, struct wire_sample, 0);
	double part;

	if (!meter->start_known || t_ns < meter->start_ns || t_ns >= first->t_ns)
		return remote_meter_counter_uj(meter, t_ns);
	part = (double)(t_ns - meter->start_ns) / (double)(first->t_ns - meter->start_ns);
	return meter->start_uj + ((double)first->energy_uj - meter->start_uj) * part;
}

/* Of how many intervals before it a first sample tells. */
#define FIRST_INTERVALS 3

/*
 * The time from which on a meter that has samples has counted. Where its host was away before the
 * first sample nothing is known of that time; reports may tell.
 */
static int64_t known_from_ns(const struct remote_meter *meter)
{
	const struct wire_sample *first = &g_array_index(meter->samples, struct wire_sample, 0);
	const bool discarded = meter->samples->len >= meter->kept;

	return discarded ? meter->start_ns
			 : first->t_ns - (int64_t)(FIRST_INTERVALS * meter->interval_s * 1e9);
}

/*
 * From when on what a host's meter has counted is in no account: after the end of the account and
 * its provisional energy, while this controller serves, as far as is known. `account` may be NULL.
 */
static int64_t live_from_ns(const struct run_service *service, const struct remote_meter *meter,
			    const struct host_account *account)
{
	double from_s = fmax(run_s(service, meter->start_ns), service->served_s);

	if (account)
		from_s = fmax(fmax(from_s, account->meter->at_s), host_account_until_s(account));
	return MAX(service->session->t0_ns + (int64_t)(from_s * 1e9), known_from_ns(meter));
}

/* What a meter that has samples has counted from from_ns to to_ns. */
static double live_uj(const struct remote_meter *meter, int64_t from_ns, int64_t to_ns)
{
	return remote_meter_counter_uj(meter, to_ns) - counter_uj(meter, from_ns);
}

/* Joules above idle that a meter has counted and no account has, of the time since begin_s. */
static double live_j(const struct run_service *service, const struct remote_meter *meter,
		     const struct host_account *account, double begin_s, int64_t now_ns)
{
	int64_t from_ns;

	/* A meter without samples has counted nothing. */
	if (!remote_meter_last(meter))
		return 0;
	from_ns = live_from_ns(service, meter, account);
	if (isfinite(begin_s))
		from_ns = MAX(from_ns, service->session->t0_ns + (int64_t)(begin_s * 1e9));
	if (from_ns >= now_ns)
		return 0;
	return fmax(0, live_uj(meter, from_ns, now_ns) * 1e-6 -
			       meter->idle_w * clock_elapsed_s(from_ns, now_ns));
}

/* Provisional joules above idle of an account (NULL: none), of the time since begin_s. */
static double spans_j(const struct host_account *account, double idle_w, double begin_s)
{
	double sum_j = 0;

	for (guint i = 0; account && i < account->spans->len; i++)
		sum_j += span_j(span_at(account, i), idle_w, begin_s);
	return sum_j;
}

static double all_unreported_j(const struct run_service *service, double begin_s, int64_t now_ns)
{
	GPtrArray *meters = remote_fleet_meters(service->session->fleet);
	double sum_j = 0;

	for (guint i = 0; i < meters->len; i++) {
		const struct remote_meter *meter = g_ptr_array_index(meters, i);
		const struct host_account *account = ledger_account(service->ledger, meter->host);

		sum_j += live_j(service, meter, account, begin_s, now_ns) +
			 spans_j(account, meter->idle_w, begin_s);
	}
	for (guint i = 0; i < service->departed->len; i++) {
		const struct host_account *account = g_ptr_array_index(service->departed, i);

		sum_j += spans_j(account, account->idle_w, begin_s);
	}
	return sum_j;
}

double run_service_unreported_j(const struct run_session *session)
{
	return session->service ? all_unreported_j(session->service, -INFINITY,
						   platform_now_ns(session->platform))
				: 0;
}

/* Adds a span of a host to the list; `account` is NULL before its first report. */
static void expect(GPtrArray *list, const char *host, const struct host_account *account,
		   const struct host_span *span)
{
	struct ledger_expected *expected = record_new(&ledger_expected_record);

	expected->host = g_strdup(host);
	expected->n = account ? account->meter->n : 0;
	expected->at_s = account ? account->meter->at_s : span->from_s;
	expected->span = *span;
	g_ptr_array_add(list, expected);
}

/* What a meter has counted from *from_ns to to_ns, which becomes *from_ns. False: nothing. */
static bool take_live(const struct run_service *service, const struct remote_meter *meter,
		      int64_t *from_ns, int64_t to_ns, struct host_span *ret_span)
{
	const double uj = to_ns > *from_ns ? live_uj(meter, *from_ns, to_ns) : -1;

	if (!(uj >= 0) || !(uj < (double)RUN_SERVICE_COUNTED_MAX_UJ))
		return false;
	*ret_span =
		(struct host_span){run_s(service, *from_ns), run_s(service, to_ns), (int64_t)uj};
	*from_ns = to_ns;
	return true;
}

/* Adds what a meter has counted from *from_ns to to_ns, which becomes *from_ns. */
static void expect_live(const struct run_service *service, const struct remote_meter *meter,
			const struct host_account *account, int64_t *from_ns, int64_t to_ns,
			GPtrArray *list)
{
	struct host_span span;

	if (take_live(service, meter, from_ns, to_ns, &span))
		expect(list, meter->host, account, &span);
}

/* Adds the spans that a host's account (NULL: none) has to the list. */
static void expect_spans(const struct host_account *account, GPtrArray *list)
{
	for (guint i = 0; account && i < account->spans->len; i++)
		expect(list, account->meter->host, account, span_at(account, i));
}

/*
 * Adds what a host's meter has counted since its account and its spans to the list. What is
 * estimated is apart: before the samples after gaps, where another counter may have begun, and
 * after the last sample.
 */
static void expect_counted(const struct run_service *service, const struct remote_meter *meter,
			   const struct host_account *account, int64_t now_ns, GPtrArray *list)
{
	int64_t before_ns = 0; /* the time of the sample before */
	int64_t from_ns;
	guint first;

	if (!remote_meter_last(meter))
		return;
	from_ns = live_from_ns(service, meter, account);
	first = remote_meter_first_from(meter, from_ns);
	if (first > 0)
		before_ns = g_array_index(meter->samples, struct wire_sample, first - 1).t_ns;
	for (guint i = first; i < meter->samples->len; i++) {
		const struct wire_sample *sample =
			&g_array_index(meter->samples, struct wire_sample, i);

		if (sample->gap) {
			expect_live(service, meter, account, &from_ns, MIN(before_ns, now_ns),
				    list);
			expect_live(service, meter, account, &from_ns, MIN(sample->t_ns, now_ns),
				    list);
		}
		before_ns = sample->t_ns;
	}
	expect_live(service, meter, account, &from_ns, MIN(before_ns, now_ns), list);
	expect_live(service, meter, account, &from_ns, now_ns, list);
}

GPtrArray *run_service_energy_provisional(const struct run_service *service, int64_t now_ns)
{
	GPtrArray *meters = remote_fleet_meters(service->session->fleet);
	GPtrArray *list = record_list_new(&ledger_expected_record);

	for (guint i = 0; i < meters->len; i++) {
		const struct remote_meter *meter = g_ptr_array_index(meters, i);
		const struct host_account *account = ledger_account(service->ledger, meter->host);

		expect_spans(account, list);
		expect_counted(service, meter, account, now_ns, list);
	}
	for (guint i = 0; i < service->departed->len; i++)
		expect_spans(g_ptr_array_index(service->departed, i), list);
	return list;
}

/*
 * A new counter begins with a sample, whose time may be translated from another clock with another
 * offset: an older sample is this part of an interval before it.
 */
#define OLDER_INTERVALS 0.25

/* The time of the last sample of a meter before the counter that began at from_ns; 0: none. */
static int64_t last_before_ns(const struct remote_meter *meter, int64_t from_ns)
{
	const int64_t before_ns = from_ns - (int64_t)(OLDER_INTERVALS * meter->interval_s * 1e9);

	for (guint i = meter->samples->len; i > 0; i--) {
		const struct wire_sample *sample =
			&g_array_index(meter->samples, struct wire_sample, i - 1);

		if (sample->t_ns < before_ns)
			return sample->t_ns;
	}
	return 0;
}

void run_service_expect_counted(struct run_service *service, struct host_account *account,
				int64_t from_ns)
{
	GPtrArray *meters = remote_fleet_meters(service->session->fleet);

	for (guint i = 0; i < meters->len; i++) {
		const struct remote_meter *meter = g_ptr_array_index(meters, i);
		const bool same = g_str_equal(meter->host, account->meter->host);
		const int64_t last_ns = same ? last_before_ns(meter, from_ns) : 0;
		int64_t live_ns = last_ns > 0 ? live_from_ns(service, meter, account) : 0;
		struct host_span span;

		if (last_ns > 0 && take_live(service, meter, &live_ns, last_ns, &span))
			host_account_expect(account, &span);
	}
}

bool run_service_recall_provisional(struct run_service *service, GError **error)
{
	const bool good =
		!service->expected || ledger_expect(service->ledger, service->session->store,
						    service->row.run, service->expected, error);

	g_clear_pointer(&service->expected, g_ptr_array_unref);
	return good;
}

bool run_service_recall_older(struct run_service *service, double begin_s, GError **error)
{
	struct run_session *session = service->session;
	struct ledger_older *older = &service->older;
	int64_t begin_uj, until_uj;
	double uj;

	if (isfinite(service->older_spent_j)) {
		if (!store_account_dynamic_since(session->store, service->row.run, older->begin_s,
						 &begin_uj, error) ||
		    !store_account_dynamic_since(session->store, service->row.run, older->until_s,
						 &until_uj, error))
			return false;
		uj = service->older_spent_j * 1e6 - ((double)begin_uj - (double)until_uj);
		older->uj = uj >= 1 && uj < (double)RUN_SERVICE_COUNTED_MAX_UJ ? (int64_t)uj : 0;
		service->older_spent_j = (double)NAN;
	}
	if (older->uj == 0)
		return true;
	ledger_set_older(service->ledger, older);
	if (ledger_older_since_uj(service->ledger, begin_s) == 0) {
		/* Its window has ended; late reports of that time still count as served. */
		older->uj = 0;
		ledger_set_older(service->ledger, older);
		return true;
	}
	run_session_note(session, "energy-older",
			 "%.1f J of a window of the energy limit are as an older version counted "
			 "them; no host has reported them",
			 (double)older->uj * 1e-6);
	return true;
}

bool run_service_used_since(const struct run_service *service, double begin_s, double *ret_j,
			    GError **error)
{
	int64_t uj;

	if (!store_account_dynamic_since(service->session->store, service->row.run, begin_s, &uj,
					 error))
		return false;
	*ret_j = (double)uj * 1e-6 +
		 (double)ledger_older_since_uj(service->ledger, begin_s) * 1e-6 +
		 all_unreported_j(service, begin_s, platform_now_ns(service->session->platform));
	return true;
}

bool run_service_used_until(struct run_service *service, double begin_s, int64_t now_ns,
			    double *ret_j, GError **error)
{
	if (ledger_since_s(service->ledger) != begin_s &&
	    !ledger_watch(service->ledger, service->session->store, service->row.run, begin_s,
			  error))
		return false;
	*ret_j = (double)ledger_since_uj(service->ledger) * 1e-6 +
		 (double)ledger_older_since_uj(service->ledger, begin_s) * 1e-6 +
		 all_unreported_j(service, begin_s, now_ns);
	return true;
}
