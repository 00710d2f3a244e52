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

/* A part of what a host has used since the end of its account. */
struct unreported {
	double uj; /* idle included */
	double length_s;
};

/* Dynamic energy; idle is at most all of it, as in the account (energy_split.h). */
static double dynamic_j(const struct remote_meter *meter, const struct unreported *part)
{
	return fmax(0, part->uj * 1e-6 - meter->idle_w * part->length_s);
}

/* The provisional energy of the time since begin_s, time of the run: the part by time. */
static struct unreported provisional_since(const struct host_account *account, double begin_s)
{
	const double at_s = account->meter->at_s;
	const double part = (account->until_s - fmax(at_s, begin_s)) / (account->until_s - at_s);

	if (!(account->until_s > fmax(at_s, begin_s)))
		return (struct unreported){0};
	return (struct unreported){(double)host_account_provisional_uj(account) * part,
				   account->length_s * part};
}

/*
 * The counter of a meter that has samples. The oldest are discarded in long runs: before those that
 * are left it is taken to have risen evenly since the start.
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
 * What a host's meter has counted until now_ns since the provisional energy, since the end of the
 * account, since a controller serves, and since begin_s. A meter without samples has counted
 * nothing.
 */
static struct unreported counted_since(const struct run_service *service,
				       const struct remote_meter *meter,
				       const struct host_account *account, double begin_s,
				       int64_t now_ns)
{
	const double until_s = account ? fmax(account->meter->at_s, account->until_s) : -INFINITY;
	const double start_s = fmax(run_s(service, meter->start_ns), service->served_s);
	const double from_s = fmax(fmax(start_s, until_s), begin_s);
	int64_t from_ns = service->session->t0_ns + (int64_t)(from_s * 1e9);

	if (!remote_meter_last(meter))
		return (struct unreported){0};
	from_ns = MIN(MAX(from_ns, known_from_ns(meter)), now_ns);
	return (struct unreported){
		.uj = remote_meter_counter_uj(meter, now_ns) - counter_uj(meter, from_ns),
		.length_s = clock_elapsed_s(from_ns, now_ns),
	};
}

/* Joules above idle of a host that are not reported yet, of the time since begin_s. */
static double unreported_j(const struct run_service *service, const struct remote_meter *meter,
			   double begin_s, int64_t now_ns)
{
	const struct host_account *account = ledger_account(service->ledger, meter->host);
	const struct unreported counted = counted_since(service, meter, account, begin_s, now_ns);
	double sum_j = dynamic_j(meter, &counted);

	if (account) {
		const struct unreported provisional = provisional_since(account, begin_s);

		sum_j += dynamic_j(meter, &provisional);
	}
	return sum_j;
}

static double all_unreported_j(const struct run_service *service, double begin_s, int64_t now_ns)
{
	GPtrArray *meters = remote_fleet_meters(service->session->fleet);
	double sum_j = 0;

	for (guint i = 0; i < meters->len; i++)
		sum_j += unreported_j(service, g_ptr_array_index(meters, i), begin_s, now_ns);
	return sum_j;
}

double run_service_unreported_j(const struct run_session *session)
{
	return session->service ? all_unreported_j(session->service, -INFINITY,
						   platform_now_ns(session->platform))
				: 0;
}

/*
 * Adds a part to what is stored of a host. What is below idle is of so much less time, so that no
 * debt is left to another part.
 */
static void add_part(struct ledger_expected *expected, const struct remote_meter *meter,
		     const struct unreported *part)
{
	const double idle_s =
		meter->idle_w > 0 ? part->uj * 1e-6 / meter->idle_w : (double)INFINITY;

	expected->until_uj = host_account_sum(expected->until_uj, (int64_t)fmax(part->uj, 0));
	expected->length_s += fmax(0, fmin(part->length_s, idle_s));
}

/* The provisional energy of a host that has an account; NULL: there is none. */
static struct ledger_expected *provisional_of(const struct run_service *service,
					      const struct remote_meter *meter,
					      const struct host_account *account, int64_t now_ns)
{
	const struct unreported before = provisional_since(account, -INFINITY);
	const struct unreported counted = counted_since(service, meter, account, -INFINITY, now_ns);
	const int64_t reported_uj = host_account_counted_uj(account);
	struct ledger_expected *expected;

	if (!(before.uj + counted.uj >= 1) ||
	    !(before.uj + counted.uj < (double)RUN_SERVICE_COUNTED_MAX_UJ))
		return NULL;
	expected = record_new(&ledger_expected_record);
	expected->host = g_strdup(meter->host);
	expected->at_s = account->meter->at_s;
	expected->until_s = counted.uj > 0 ? run_s(service, now_ns) : account->until_s;
	expected->length_s = 0;
	expected->until_uj = reported_uj;
	add_part(expected, meter, &before);
	add_part(expected, meter, &counted);
	return expected;
}

GPtrArray *run_service_energy_provisional(const struct run_service *service, int64_t now_ns)
{
	GPtrArray *meters = remote_fleet_meters(service->session->fleet);
	GPtrArray *list = record_list_new(&ledger_expected_record);

	for (guint i = 0; i < meters->len; i++) {
		const struct remote_meter *meter = g_ptr_array_index(meters, i);
		const struct host_account *account = ledger_account(service->ledger, meter->host);
		struct ledger_expected *expected =
			account ? provisional_of(service, meter, account, now_ns) : NULL;

		if (expected)
			g_ptr_array_add(list, expected);
	}
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

void run_service_expect_counted(struct run_service *service, const struct host_account *account,
				int64_t from_ns)
{
	GPtrArray *meters = remote_fleet_meters(service->session->fleet);

	for (guint i = 0; i < meters->len; i++) {
		const struct remote_meter *meter = g_ptr_array_index(meters, i);
		const bool same = g_str_equal(meter->host, account->meter->host);
		const int64_t last_ns = same ? last_before_ns(meter, from_ns) : 0;
		struct ledger_expected *expected =
			last_ns > 0 ? provisional_of(service, meter, account, last_ns) : NULL;

		if (expected)
			ledger_expect(service->ledger, expected);
		record_free(&ledger_expected_record, expected);
	}
}

void run_service_recall_provisional(struct run_service *service)
{
	for (guint i = 0; service->expected && i < service->expected->len; i++)
		ledger_expect(service->ledger, g_ptr_array_index(service->expected, i));
	g_clear_pointer(&service->expected, g_ptr_array_unref);
}

bool run_service_recall_older(struct run_service *service, GError **error)
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
	if (older->uj > 0) {
		ledger_set_older(service->ledger, older);
		run_session_note(session, "energy-older",
				 "%.1f J of a window of the energy limit are as an older version "
				 "counted them; no host has reported them",
				 (double)older->uj * 1e-6);
	}
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
