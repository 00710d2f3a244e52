/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/live.h"

#include <string.h>

#include "common/clock.h"
#include "common/json.h"
#include "common/peer_tls.h"
#include "common/platform.h"
#include "common/record/record.h"
#include "local-sched/power/sampler.h"

#define ASK_TIMEOUT_S 5.0

enum { WAKE_MS = 50 };

/* A host whose meter is read from here. */
struct live_host {
	const struct config_cluster *cluster;
	const struct config_host *host;
	struct sampler *sampler; /* NULL: no meter, or a meter that cannot work */
	char *error;             /* why not, or NULL */
};

struct live {
	const struct config *config;
	struct meter_set *meters;
	GArray *hosts; /* struct live_host */
};

static void host_clear(gpointer data)
{
	struct live_host *host = data;

	sampler_free(host->sampler);
	g_free(host->error);
}

static void add_host(struct live *live, const struct config_cluster *cluster,
		     const struct config_host *host)
{
	struct live_host added = {.cluster = cluster, .host = host};
	g_autoptr(GError) error = NULL;

	if (cluster->simulated) {
		added.error =
			g_strdup("it is simulated: its local scheduler alone knows what it draws; "
				 "`virtbed energy` asks the service");
	} else if (host->meter && host->meter->kind != CONFIG_METER_NONE) {
		added.sampler = sampler_new(&platform_machine, host->meter, NULL, host->name,
					    live->meters, NULL, NULL, NULL, &error);
		added.error = error ? g_strdup(error->message) : NULL;
	} else {
		added.error = g_strdup("it has no meter");
	}
	g_array_append_val(live->hosts, added);
}

struct live *live_new(const struct config *config)
{
	struct live *live = g_new0(struct live, 1);

	live->config = config;
	live->meters = meter_set_new(&platform_machine);
	live->hosts = g_array_new(FALSE, TRUE, sizeof(struct live_host));
	g_array_set_clear_func(live->hosts, host_clear);
	for (uint32_t c = 0; c < config->clusters_count; c++) {
		const struct config_cluster *cluster = &config->clusters[c];

		for (uint32_t h = 0; h < cluster->hosts_count && !cluster->local_scheduler; h++)
			add_host(live, cluster, &cluster->hosts[h]);
	}
	return live;
}

void live_free(struct live *live)
{
	if (!live)
		return;
	g_array_unref(live->hosts);
	meter_set_free(live->meters);
	g_free(live);
}

static gboolean on_wake(gpointer data)
{
	return G_SOURCE_CONTINUE;
}

typedef bool (*stop_f)(struct live *live, const void *data);

/* Runs the main loop until `stop` says so, or for `seconds`. */
static void run_main_loop(struct live *live, double seconds, stop_f stop, const void *data)
{
	const int64_t from_ns = platform_now_ns(&platform_machine);
	const guint wake_id = platform_after_ms(&platform_machine, WAKE_MS, on_wake, NULL);

	while (!stop(live, data) &&
	       clock_elapsed_s(from_ns, platform_now_ns(&platform_machine)) < seconds)
		g_main_context_iteration(NULL, TRUE);
	g_source_remove(wake_id);
}

static bool is_settled(struct live *live, const void *interrupted)
{
	if (*(const bool *)interrupted)
		return true;
	for (guint i = 0; i < live->hosts->len; i++) {
		const struct sampler *sampler =
			g_array_index(live->hosts, struct live_host, i).sampler;

		if (sampler && !sampler_answered(sampler) && !sampler_failed(sampler))
			return false;
	}
	return true;
}

void live_settle(struct live *live, double timeout_s, const bool *interrupted)
{
	run_main_loop(live, timeout_s, is_settled, interrupted);
}

static bool is_interrupted(struct live *live, const void *interrupted)
{
	return *(const bool *)interrupted;
}

void live_wait(struct live *live, double seconds, const bool *interrupted)
{
	run_main_loop(live, seconds, is_interrupted, interrupted);
}

/* What is known of a host, as live_json() describes it. The texts are borrowed. */
struct reading {
	const char *cluster, *host, *kind, *source;
	bool modelled;
	double mean_s; /* 0: none, or not known */
	bool mean_unknown;
	double watts, energy_j, gap_s, age_s; /* NAN: not known */
	const char *error;
};

#define TEXT(field_)                                                                               \
	{                                                                                          \
		RECORD_AT(reading, field_), .type = RECORD_BORROWED, .null = RECORD_NULL_POINTER   \
	}

static const struct record_field reading_fields[] = {
	TEXT(cluster),
	TEXT(host),
	TEXT(kind),
	TEXT(source),
	{RECORD_FIELD_BOOL(reading, modelled)},
	{RECORD_FIELD_REAL(reading, mean_s)},
	{RECORD_FIELD_BOOL(reading, mean_unknown)},
	{RECORD_FIELD_REAL(reading, watts)},
	{RECORD_FIELD_REAL(reading, energy_j)},
	{RECORD_FIELD_REAL(reading, gap_s)},
	{RECORD_FIELD_REAL(reading, age_s)},
	TEXT(error),
	{NULL},
};
static const struct record reading_record = {.size = sizeof(struct reading),
					     .fields = reading_fields};

static void append(json_t *hosts, const struct reading *reading)
{
	json_array_append_new(hosts, record_to_json(&reading_record, reading));
}

static void add_local(json_t *hosts, const struct live_host *host)
{
	const struct sampler *sampler = host->sampler;
	g_autofree char *progress = sampler ? sampler_progress(sampler) : NULL;
	const enum config_meter_kind kind =
		host->host->meter ? host->host->meter->kind : CONFIG_METER_NONE;
	struct reading reading;

	record_init(&reading_record, &reading);
	reading.cluster = host->cluster->name;
	reading.host = host->host->name;
	reading.kind = config_meter_kind_name(kind);
	reading.modelled = host->host->blade || kind == CONFIG_METER_MODEL;
	reading.error = sampler ? sampler_reason(sampler) ?: progress : host->error;
	if (sampler && sampler_answered(sampler)) {
		const struct energy_counter *counter = sampler_counter(sampler);

		reading.source = sampler_source(sampler);
		reading.mean_s = sampler_mean_s(sampler);
		reading.mean_unknown = sampler_mean_unknown(sampler);
		/* The last reading is not current if a failed one followed. */
		if (!reading.error)
			reading.watts = (double)counter->last_mw / 1e3;
		reading.energy_j = (double)counter->energy_uj / 1e6;
		reading.gap_s = (double)counter->gap_ns / 1e9;
		reading.age_s =
			clock_elapsed_s(counter->last_ns, platform_now_ns(&platform_machine));
	}
	append(hosts, &reading);
}

/* A number; NAN if it is none. */
static double number_of(const json_t *object, const char *key)
{
	const json_t *number = json_object_get(object, key);

	return json_is_number(number) ? json_number_value(number) : (double)NAN;
}

static void add_remote_host(json_t *hosts, const char *cluster, const json_t *host,
			    const json_t *capabilities, double now_ns)
{
	const bool lost = json_is_true(json_object_get(host, "lost"));

	append(hosts,
	       &(struct reading){
		       .cluster = cluster,
		       .host = json_string_value(json_object_get(host, "host")),
		       .kind = "remote",
		       .source = json_string_value(json_object_get(capabilities, "meter")),
		       .modelled = json_is_true(json_object_get(capabilities, "modelled_watts")),
		       .mean_s = number_of(capabilities, "meter_mean_s"),
		       .mean_unknown =
			       json_is_true(json_object_get(capabilities, "meter_mean_unknown")),
		       .watts = lost ? (double)NAN : number_of(host, "watts"),
		       .energy_j = number_of(host, "energy_uj") / 1e6,
		       .gap_s = number_of(host, "gap_ns") / 1e9,
		       .age_s = (now_ns - number_of(host, "sample_ns")) / 1e9,
		       .error = !lost ? NULL
				  : json_string_value(json_object_get(host, "reason"))
					  ?: "its local scheduler has lost the meter",
	       });
}

/* Asks a running local scheduler for its hosts. */
static void add_remote(json_t *hosts, const struct config *config,
		       const struct config_cluster *cluster)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(http_client_t) client =
		peer_tls_client(&platform_machine, config->tls, cluster->local_scheduler, &error);
	g_autoptr(json_t) energy = NULL;
	g_autoptr(json_t) capabilities = NULL;
	const json_t *host;
	size_t index;
	double timeout_s;

	if (client && http_client_timeout(ASK_TIMEOUT_S, &timeout_s, &error))
		capabilities = http_client_call(client, "GET", "/v1/capabilities", NULL, timeout_s,
						&error);
	if (capabilities)
		energy = http_client_call(client, "GET", "/v1/energy", NULL, timeout_s, &error);
	if (!energy) {
		struct reading reading;

		record_init(&reading_record, &reading);
		reading.cluster = cluster->name;
		reading.kind = "remote";
		reading.error = error->message;
		append(hosts, &reading);
		return;
	}
	json_array_foreach (json_object_get(energy, "hosts"), index, host) {
		add_remote_host(hosts, cluster->name, host, capabilities,
				json_number_value(json_object_get(energy, "now_ns")));
	}
}

json_t *live_json(struct live *live)
{
	json_t *hosts = json_array();

	for (guint i = 0; i < live->hosts->len; i++)
		add_local(hosts, &g_array_index(live->hosts, struct live_host, i));
	for (uint32_t c = 0; c < live->config->clusters_count; c++)
		if (live->config->clusters[c].local_scheduler)
			add_remote(hosts, live->config, &live->config->clusters[c]);
	return json_pack("{s:o}", "hosts", hosts);
}

bool live_all_answered(const json_t *json)
{
	const json_t *hosts = json_object_get(json, "hosts");
	const json_t *host;
	size_t index;

	json_array_foreach (hosts, index, host) {
		if (!json_is_number(json_object_get(host, "watts")))
			return false;
	}
	return true;
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "-";
}

/* A number for the table; "-" where it is not known. */
static char *cell(const json_t *object, const char *key, int decimals)
{
	const double number = number_of(object, key);

	return isnan(number) ? g_strdup("-") : g_strdup_printf("%.*f", decimals, number);
}

static void add_row(GString *table, const json_t *host)
{
	g_autofree char *watts = cell(host, "watts", 1);
	g_autofree char *energy = cell(host, "energy_j", 1);
	g_autofree char *gap = cell(host, "gap_s", 1);
	g_autofree char *age = cell(host, "age_s", 2);
	const char *error = json_string_value(json_object_get(host, "error"));

	g_string_append_printf(table, "%-12s %-12s %-8s %-8s %9s %11s %7s %7s%s%s\n",
			       text_of(host, "cluster"), text_of(host, "host"),
			       text_of(host, "kind"), text_of(host, "source"), watts, energy, gap,
			       age, error ? "  " : "", error ? error : "");
}

char *live_table(const json_t *json)
{
	g_autoptr(GString) table = g_string_new(NULL);
	const json_t *hosts = json_object_get(json, "hosts");
	bool modelled = false;
	bool simulated = false;
	bool packages = false;
	bool allotted = false;
	bool mean_unknown = false;
	double mean_s = 0;
	const json_t *host;
	size_t index;

	g_string_append_printf(table, "%-12s %-12s %-8s %-8s %9s %11s %7s %7s\n", "CLUSTER", "HOST",
			       "KIND", "SOURCE", "WATTS", "ENERGY-J", "GAP-S", "AGE-S");
	json_array_foreach (hosts, index, host) {
		add_row(table, host);
		if (strcmp(text_of(host, "source"), "simulated") == 0)
			simulated = true;
		else
			modelled |= json_is_true(json_object_get(host, "modelled"));
		mean_s = fmax(mean_s, number_of(host, "mean_s"));
		mean_unknown |= json_is_true(json_object_get(host, "mean_unknown"));
		packages |= strcmp(text_of(host, "source"), "rapl") == 0;
		allotted |= strcmp(text_of(host, "source"), "amm") == 0;
	}
	if (modelled)
		g_string_append(table,
				"note: watts of a model fed by CPU time, not of a real meter\n");
	if (simulated)
		g_string_append(
			table, "note: watts that are simulated: what the estimates of tasks say\n");
	if (packages)
		g_string_append(table,
				"note: rapl is the watts of CPU packages, not of the host\n");
	if (allotted)
		g_string_append(table,
				"note: amm is the watts that the management module allots "
				"to the bay (of a BladeCenter H), which need not be measured\n");
	if (mean_s >= CONFIG_METER_MEAN_NOTED_S)
		g_string_append_printf(table,
				       "note: watts are means over up to %g s: changes show late\n",
				       mean_s);
	if (mean_unknown)
		g_string_append(table,
				"note: watts are means over a time that is not known: changes "
				"show late; give it as `mean_s`\n");
	return g_string_free(g_steal_pointer(&table), FALSE);
}
