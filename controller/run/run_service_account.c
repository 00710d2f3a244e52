/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The time up to which a service has been under way is a fact in the store, written once a minute,
 * with the numbers of the samples read by then. A controller that continues the service reads
 * samples from there; a service that is started again begins with the next ones.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/clock.h"
#include "common/json.h"
#include "controller/run/run_record.h"
#include "controller/run/run_service_private.h"

#define ACCOUNT_KEY STORE_SERVICE_ACCOUNT
#define SECONDS_PER_DAY 86400.0

/*
 * Old records are removed on the main loop, so many rows of a table at a time, for at most
 * PRUNE_TAKES_S of a second. With 200 clusters and 5,000 tasks, 5,000 rows are added each second,
 * and removing them takes some ten milliseconds.
 */
#define PRUNE_ROWS 5000
#define PRUNE_TAKES_S 0.05

/* The maximum number of samples, over all meters, between the last one read and the account. */
#define SAMPLES_BACK 32

/* The account as it is stored. */
struct account {
	double time_s;   /* how long the service had been under way */
	int64_t at_ns;   /* the boot-clock reading at that time, of boot_id */
	char *boot_id;
	json_t *seqs;    /* by cluster: the last sample read */
	double window_begin_s, window_spent_j; /* of the limit's window; NAN: there was none */
};

static double now_s(const struct run_service *service)
{
	return clock_elapsed_s(service->session->t0_ns, clock_now_ns());
}

bool run_service_account_keep(struct run_service *service, GError **error)
{
	struct run_session *session = service->session;
	const struct engine_window_state window =
		service->engine ? engine_window(service->engine)
				: (struct engine_window_state){.limit_j = (double)NAN};
	json_t *seqs = json_array();
	g_autoptr(json_t) account = NULL;
	g_autofree char *text = NULL;

	for (uint32_t i = 0; i < session->config->clusters_count; i++)
		json_array_append_new(seqs, json_integer(remote_link_samples_seq(
						    remote_fleet_link(session->fleet, i))));
	account = json_pack("{s:f, s:I, s:s, s:o}", "time_s", now_s(service), "at_ns",
			    (json_int_t)clock_now_ns(), "boot_id", service->row.boot_id,
			    "samples_seq", seqs);
	if (!isnan(window.limit_j))
		json_object_update_new(account,
				       json_pack("{s:f, s:f}", "window_begin_s", window.begin_s,
						 "window_spent_j", window.spent_j));
	text = json_text(account);
	service->row.energy_j = run_service_energy_j(service);
	return store_set_meta(session->store, ACCOUNT_KEY, text, error) &&
	       store_update_run(session->store, &service->row, error);
}

static void account_clear(struct account *account)
{
	g_free(account->boot_id);
	json_decref(account->seqs);
}

static void read_account(struct store *store, struct account *ret_account)
{
	g_autofree char *text = store_get_meta(store, ACCOUNT_KEY);
	g_autoptr(json_t) json = text ? json_parse(text, strlen(text), ACCOUNT_KEY, NULL) : NULL;

	*ret_account = (struct account){
		.time_s = json_number_value(json_object_get(json, "time_s")),
		.at_ns = json_integer_value(json_object_get(json, "at_ns")),
		.boot_id = g_strdup(json_string_value(json_object_get(json, "boot_id"))),
		.seqs = json_incref(json_object_get(json, "samples_seq")),
		.window_begin_s = (double)NAN,
		.window_spent_j = (double)NAN,
	};
	if (json_object_get(json, "window_begin_s")) {
		ret_account->window_begin_s =
			json_number_value(json_object_get(json, "window_begin_s"));
		ret_account->window_spent_j =
			json_number_value(json_object_get(json, "window_spent_j"));
	}
}

/*
 * Seconds since the service began, by UTC, but at least account->time_s: wall clocks can be set
 * back.
 */
static double age_by_utc_s(const struct run_service *service, const struct account *account)
{
	g_autoptr(GDateTime) began = g_date_time_new_from_iso8601(service->row.started_utc, NULL);
	g_autoptr(GDateTime) now = g_date_time_new_now_utc();
	const double age_s =
		began ? (double)g_date_time_difference(now, began) / G_USEC_PER_SEC : 0;

	return fmax(age_s, account->time_s);
}

/* The stored baseline of hosts, as it was measured first; NULL: none. */
static json_t *read_baseline(const struct run_service *service)
{
	g_autofree char *key = run_record_baseline_key(service->row.run);
	g_autofree char *text = store_get_meta(service->session->store, key);

	return text ? json_parse(text, strlen(text), key, NULL) : NULL;
}

/* A host's idle watts, or NAN. */
static double idle_w_of(const json_t *baseline, const char *name)
{
	const json_t *host;
	size_t at;

	json_array_foreach (json_object_get(baseline, "hosts"), at, host)
		if (g_strcmp0(json_string_value(json_object_get(host, "host")), name) == 0)
			return json_number_value(json_object_get(host, "idle_w"));
	return (double)NAN;
}

char *run_service_unknown_idle(const struct run_service *service)
{
	GPtrArray *meters = remote_fleet_meters(service->session->fleet);
	g_autoptr(json_t) baseline = read_baseline(service);
	GString *names = g_string_new(NULL);

	for (guint i = 0; i < meters->len; i++) {
		const struct remote_meter *meter = g_ptr_array_index(meters, i);

		if (isnan(idle_w_of(baseline, meter->host)))
			g_string_append_printf(names, "%s%s", names->len ? " " : "", meter->host);
	}
	return g_string_free(names, names->len == 0);
}

/*
 * Starts the meters' accounts with the next sample of each host, or with the samples after the
 * stored fact.
 */
static void resume_meters(struct run_service *service, const struct account *account,
			  int64_t start_ns)
{
	struct run_session *session = service->session;
	GPtrArray *meters = remote_fleet_meters(session->fleet);
	g_autoptr(json_t) baseline = read_baseline(service);

	for (guint i = 0; i < meters->len; i++) {
		struct remote_meter *meter = g_ptr_array_index(meters, i);
		const double idle_w = idle_w_of(baseline, meter->host);

		/* Unknown idle watts; a note is made from run_service_unknown_idle(). */
		remote_meter_start(meter, start_ns, isnan(idle_w) ? 0 : idle_w);
	}
	for (uint32_t i = 0; start_ns == account->at_ns && i < session->config->clusters_count;
	     i++) {
		const json_int_t seq = json_integer_value(json_array_get(account->seqs, i));

		remote_link_samples_from(remote_fleet_link(session->fleet, i),
					 MAX(seq - SAMPLES_BACK, 0));
	}
}

bool run_service_account_resume(struct run_service *service, GError **error)
{
	struct run_session *session = service->session;
	g_autofree char *boot_id = clock_boot_id();
	const int64_t now_ns = clock_now_ns();
	struct account account;
	bool same_boot;

	read_account(session->store, &account);
	same_boot = g_strcmp0(boot_id, service->row.boot_id) == 0;
	if (!same_boot) {
		service->row.t0_ns =
			now_ns - (int64_t)(age_by_utc_s(service, &account) * 1e9);
		g_free(service->row.boot_id);
		service->row.boot_id = g_strdup(boot_id);
	}
	session->t0_ns = service->row.t0_ns;
	service->kept_begin_s = account.window_begin_s;
	service->kept_spent_j = account.window_spent_j;
	resume_meters(service, &account,
		      same_boot && session->go_on && account.at_ns ? account.at_ns : now_ns);
	account_clear(&account);
	return store_update_run(session->store, &service->row, error);
}

bool run_service_prune(struct run_service *service, GError **error)
{
	const double before_s = now_s(service) - service->config.retention_days * SECONDS_PER_DAY;
	const int64_t began_ns = clock_now_ns();
	bool good;

	do {
		service->pruning = false;
		good = before_s <= 0 || store_prune(service->session->store, service->row.run,
						    before_s, PRUNE_ROWS, &service->pruning, error);
	} while (good && service->pruning &&
		 clock_elapsed_s(began_ns, clock_now_ns()) < PRUNE_TAKES_S);
	return good;
}
