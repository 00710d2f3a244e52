/* SPDX-License-Identifier: GPL-3.0-or-later */
#define LOG_SUBSYSTEM "run"
/*
 * The time up to which a service has been under way is a fact in the store, written once a minute,
 * with the numbers of the samples read by then. A controller that continues the service reads
 * samples from there; a service that is started again begins with the next ones.
 */
#include <inttypes.h>
#include <math.h>

#include "common/clock.h"
#include "common/json.h"
#include "common/log.h"
#include "common/platform.h"
#include "controller/service/run_service_private.h"
#include "controller/session/run_record.h"

#define ACCOUNT_KEY STORE_SERVICE_ACCOUNT

/*
 * Old records are removed on the main loop, so many rows of a table at a time, for at most
 * PRUNE_TAKES_S of a second. With 200 clusters and 5,000 tasks, 5,000 rows are added each second,
 * and removing them takes some ten milliseconds.
 */
#define PRUNE_ROWS 5000
#define PRUNE_TAKES_S 0.05

/* The account as it is stored. Older versions stored a window's energy, and no `unreported`. */
struct account {
	double time_s; /* how long the service had been under way */
	int64_t at_ns; /* the boot-clock reading at that time, of boot_id */
	char *boot_id;
	json_t *samples_seq;   /* by cluster: the last sample read */
	GPtrArray *unreported; /* the ledger's: struct ledger_expected; NULL: none */
	double window_begin_s, window_spent_j; /* of an older version; NAN: not stored */
	/* struct ledger_older, while something is left; NAN: nothing */
	double older_begin_s, older_until_s;
	int64_t older_uj;
};

static const struct record_field account_fields[] = {
	{RECORD_FIELD_REAL(account, time_s)},
	{RECORD_FIELD_I64(account, at_ns)},
	{RECORD_FIELD_TEXT(account, boot_id)},
	{RECORD_AT(account, samples_seq), .type = RECORD_JSON},
	{RECORD_FIELD_LIST(account, unreported, ledger_expected_record),
	 .null = RECORD_NULL_POINTER, .flags = RECORD_OPTIONAL | RECORD_OMIT_NULL},
	{RECORD_FIELD_REAL(account, window_begin_s), .flags = RECORD_OPTIONAL | RECORD_OMIT_NULL},
	{RECORD_FIELD_REAL(account, window_spent_j), .flags = RECORD_OPTIONAL | RECORD_OMIT_NULL},
	{RECORD_FIELD_REAL(account, older_begin_s), .flags = RECORD_OPTIONAL | RECORD_OMIT_NULL},
	{RECORD_FIELD_REAL(account, older_until_s), .flags = RECORD_OPTIONAL | RECORD_OMIT_NULL},
	{RECORD_FIELD_I64(account, older_uj), .null = RECORD_NULL_ZERO,
	 .flags = RECORD_OPTIONAL | RECORD_OMIT_NULL},
	{NULL},
};
static const struct record account_record = {.size = sizeof(struct account),
					     .fields = account_fields,
					     .open = true};

bool run_service_account_keep(struct run_service *service, GError **error)
{
	struct run_session *session = service->session;
	const int64_t now_ns = platform_now_ns(session->platform);
	g_autoptr(GPtrArray) unreported = run_service_energy_provisional(service, now_ns);
	g_autoptr(json_t) seqs = run_record_samples_seq(session);
	const struct ledger_older *older = ledger_older(service->ledger);
	const struct account account = {
		.time_s = clock_elapsed_s(session->t0_ns, now_ns),
		.at_ns = now_ns,
		.boot_id = service->row.boot_id,
		.samples_seq = seqs,
		.unreported = unreported,
		.window_begin_s = (double)NAN,
		.window_spent_j = (double)NAN,
		.older_begin_s = older->uj > 0 ? older->begin_s : (double)NAN,
		.older_until_s = older->uj > 0 ? older->until_s : (double)NAN,
		.older_uj = older->uj,
	};
	g_autoptr(json_t) object = record_to_json(&account_record, &account);
	g_autofree char *text = json_text(object);

	service->row.energy_j = run_service_energy_j(service);
	return store_set_meta(session->store, ACCOUNT_KEY, text, error) &&
	       store_update_run(session->store, &service->row, error);
}

static void read_account(struct store *store, struct account *ret_account)
{
	g_autoptr(json_t) json = store_get_document(store, ACCOUNT_KEY);
	g_autoptr(GError) damage = NULL;

	record_init(&account_record, ret_account);
	if (!record_from_json(&account_record, json, ret_account, &damage) && json)
		log_warning("the stored account of energy is damaged and begins again: %s",
			    damage->message);
}

/*
 * Seconds since the service began, by UTC, but at least what is on record: wall clocks can be set
 * back. account->time_s is up to a minute old, or as old as the service where no controller lived
 * for a minute.
 */
static bool find_age(const struct run_service *service, const struct account *account,
		     double *ret_age_s, GError **error)
{
	g_autoptr(GDateTime) began = g_date_time_new_from_iso8601(service->row.started_utc, NULL);
	g_autoptr(GDateTime) now = g_date_time_new_from_unix_utc(
		platform_utc_us(service->session->platform) / G_USEC_PER_SEC);
	const double age_s =
		began ? (double)g_date_time_difference(now, began) / G_USEC_PER_SEC : 0;

	int64_t last_ns;

	if (!store_service_last_ns(service->session->store, service->row.run, &last_ns, error))
		return false;
	*ret_age_s = fmax(fmax(age_s, account->time_s), (double)last_ns * 1e-9);
	return true;
}

char *run_service_unknown_idle(const struct run_service *service)
{
	GPtrArray *meters = remote_fleet_meters(service->session->fleet);
	g_autoptr(json_t) baseline =
		run_record_find_baseline(service->session->store, service->row.run);
	GString *names = g_string_new(NULL);

	for (guint i = 0; i < meters->len; i++) {
		const struct remote_meter *meter = g_ptr_array_index(meters, i);

		if (isnan(run_record_idle_w(baseline, meter->host)))
			g_string_append_printf(names, "%s%s", names->len ? " " : "", meter->host);
	}
	return g_string_free(names, names->len == 0);
}

/* Keeps what an older version recorded of its window, or what was left of that. */
static void recall_older(struct run_service *service, const struct account *account)
{
	service->older_spent_j = (double)NAN;
	service->older = (struct ledger_older){0};
	if (isfinite(account->window_begin_s) && isfinite(account->window_spent_j)) {
		service->older.begin_s = account->window_begin_s;
		service->older.until_s = account->time_s;
		service->older_spent_j = account->window_spent_j;
	} else if (isfinite(account->older_begin_s) && isfinite(account->older_until_s) &&
		   account->older_uj < RUN_SERVICE_COUNTED_MAX_UJ) {
		service->older = (struct ledger_older){account->older_begin_s,
						       account->older_until_s, account->older_uj};
	}
}

bool run_service_account_resume(struct run_service *service, GError **error)
{
	struct run_session *session = service->session;
	g_autofree char *boot_id = platform_boot_id(service->session->platform);
	g_autoptr(json_t) baseline = run_record_find_baseline(session->store, service->row.run);
	const int64_t now_ns = platform_now_ns(service->session->platform);
	struct account account;
	double age_s = 0;
	bool same_boot;
	bool follows; /* on the account, without a break */

	read_account(session->store, &account);
	same_boot = g_strcmp0(boot_id, service->row.boot_id) == 0;
	if (!same_boot && !find_age(service, &account, &age_s, error)) {
		record_clear(&account_record, &account);
		return false;
	}
	if (!same_boot) {
		service->row.t0_ns = now_ns - (int64_t)(age_s * 1e9);
		g_free(service->row.boot_id);
		service->row.boot_id = g_strdup(boot_id);
	}
	session->t0_ns = service->row.t0_ns;
	service->expected = g_steal_pointer(&account.unreported);
	recall_older(service, &account);
	/* A note is made of hosts with unknown idle watts (run_service_unknown_idle()). */
	follows = same_boot && session->go_on && account.at_ns;
	run_record_start_meters(session, baseline, follows ? account.at_ns : now_ns);
	if (follows)
		run_record_samples_from(session, account.samples_seq);
	record_clear(&account_record, &account);
	return store_update_run(session->store, &service->row, error);
}

bool run_service_prune(struct run_service *service, GError **error)
{
	const double from_s = run_session_now_s(service->session) -
			      service->config.retention_days * SECONDS_PER_DAY;
	/* Nothing is that old yet, but there may be too many full states. */
	const double before_s = from_s > 0 ? from_s : -(double)INFINITY;
	const int64_t began_ns = platform_now_ns(service->session->platform);
	bool good;

	do {
		service->pruning = false;
		good = store_prune(service->session->store, service->row.run, before_s, PRUNE_ROWS,
				   &service->pruning, error);
	} while (good && service->pruning &&
		 clock_elapsed_s(began_ns, platform_now_ns(service->session->platform)) <
			 PRUNE_TAKES_S);
	return good;
}
