/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The energy of a service that the accounts of its hosts do not have yet: provisional energy of the
 * time before a restart (ledger.h), and what the meters have counted since the last reports. With
 * the ledger it is the energy that was used, by which a limit's window goes.
 */
#include <math.h>

#include "common/clock.h"
#include "controller/service/run_service_private.h"

static double run_s(const struct run_service *service, int64_t t_ns)
{
	return clock_elapsed_s(service->session->t0_ns, t_ns);
}

/* What a host has used since the end of its account. */
struct unreported {
	double uj; /* idle included */
	double length_s;
};

/* Since when a host's meter has counted what is not reported of the time since begin_s. */
static double unreported_from_s(const struct run_service *service, const struct remote_meter *meter,
				double begin_s)
{
	const struct host_account *account = ledger_account(service->ledger, meter->host);
	const double at_s = account ? account->meter->at_s : -INFINITY;

	return fmax(fmax(run_s(service, meter->start_ns), at_s), begin_s);
}

/*
 * The provisional energy of a host, and what its meter has counted since until now_ns, both since
 * begin_s, time of the run; of provisional energy the part by time.
 */
static struct unreported unreported_of(const struct run_service *service,
				       const struct remote_meter *meter, double begin_s,
				       int64_t now_ns)
{
	const struct host_account *account = ledger_account(service->ledger, meter->host);
	const double at_s = account ? account->meter->at_s : -INFINITY;
	const double from_s = unreported_from_s(service, meter, begin_s);
	const int64_t from_ns = MIN(service->session->t0_ns + (int64_t)(from_s * 1e9), now_ns);
	struct unreported sum = {
		.uj = remote_meter_counter_uj(meter, now_ns) -
		      remote_meter_counter_uj(meter, from_ns),
		.length_s = clock_elapsed_s(from_ns, now_ns),
	};

	if (account && account->until_s > fmax(at_s, begin_s)) {
		const double length_s = account->until_s - fmax(at_s, begin_s);

		sum.uj += (double)host_account_provisional_uj(account) *
			  (length_s / (account->until_s - at_s));
		sum.length_s += length_s;
	}
	return sum;
}

/* Joules above idle of a host that are not reported yet, of the time since begin_s. */
static double unreported_j(const struct run_service *service, const struct remote_meter *meter,
			   double begin_s, int64_t now_ns)
{
	const struct unreported unreported = unreported_of(service, meter, begin_s, now_ns);

	return fmax(0, unreported.uj * 1e-6 - meter->idle_w * unreported.length_s);
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
	return session->service ? all_unreported_j(session->service, -INFINITY, clock_now_ns()) : 0;
}

json_t *run_service_energy_provisional(const struct run_service *service)
{
	GPtrArray *meters = remote_fleet_meters(service->session->fleet);
	json_t *object = json_object();

	for (guint i = 0; i < meters->len; i++) {
		const struct remote_meter *meter = g_ptr_array_index(meters, i);
		const double uj = unreported_of(service, meter, -INFINITY, clock_now_ns()).uj;

		if (uj >= 1 && uj < (double)RUN_SERVICE_COUNTED_MAX_UJ)
			json_object_set_new(object, meter->host, json_integer((json_int_t)uj));
	}
	return object;
}

void run_service_recall_provisional(struct run_service *service)
{
	const char *host;
	json_t *uj;

	json_object_foreach (service->provisional_json, host, uj)
		ledger_expect(service->ledger, host, service->until_s,
			      MIN((int64_t)json_integer_value(uj), RUN_SERVICE_COUNTED_MAX_UJ));
	g_clear_pointer(&service->provisional_json, json_decref);
}

bool run_service_used_since(const struct run_service *service, double begin_s, double *ret_j,
			    GError **error)
{
	int64_t uj;

	if (!store_account_dynamic_since(service->session->store, service->row.run, begin_s, &uj,
					 error))
		return false;
	*ret_j = (double)uj * 1e-6 + all_unreported_j(service, begin_s, clock_now_ns());
	return true;
}

/* How many intervals of a meter the first sample may be late. */
#define LATE_INTERVALS 3

bool run_service_samples_suffice(const struct run_service *service, double begin_s)
{
	GPtrArray *meters = remote_fleet_meters(service->session->fleet);

	for (guint i = 0; i < meters->len; i++) {
		const struct remote_meter *meter = g_ptr_array_index(meters, i);
		const double from_s = unreported_from_s(service, meter, begin_s);

		if (meter->samples->len == 0 ||
		    run_s(service, g_array_index(meter->samples, struct wire_sample, 0).t_ns) >
			    from_s + LATE_INTERVALS * meter->interval_s)
			return false;
	}
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
		 all_unreported_j(service, begin_s, now_ns);
	return true;
}
