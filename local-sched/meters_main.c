/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * virtbed-meters: reads the meters of a configuration's hosts; `virtbed energy --live` executes it.
 * Exit status: 0 all meters gave watts, 1 some did not, 2 bad usage or bad input.
 */
#include <glib-unix.h>
#include <signal.h>
#include <stdio.h>

#include "common/config/config.h"
#include "common/json.h"
#include "common/lab_state.h"
#include "common/number_option.h"
#include "common/visible.h"
#include "local-sched/power/live.h"

enum { STATUS_DONE = 0, STATUS_FAILED = 1, STATUS_USAGE = 2 };

/*
 * At most: a slow BMC gives its sensor records in half a minute and more, before the first answer.
 * A meter that has failed is not waited for.
 */
#define SETTLE_S 120.0

/* Between two readings. */
#define INTERVAL_MIN_S 0.05
#define INTERVAL_MAX_S 86400

/* The command line. */
struct options {
	gboolean live;
	gboolean json;
	char *lab;
	uint32_t count;
	double interval_s;
};

static gboolean on_signal(gpointer interrupted)
{
	*(bool *)interrupted = true;
	return G_SOURCE_CONTINUE;
}

static int report_failure(const char *message)
{
	visible_complain("virtbed energy", message);
	return STATUS_USAGE;
}

/* Returns false if standard output has no reader. */
static bool print(const json_t *document, bool as_json)
{
	g_autofree char *text = as_json ? json_pretty(document) : live_table(document);

	fputs(text, stdout);
	if (as_json)
		putchar('\n');
	return fflush(stdout) == 0 && !ferror(stdout);
}

static bool has_hosts(const struct config *config)
{
	for (uint32_t i = 0; i < config->clusters_count; i++)
		if (config->clusters[i].hosts_count > 0)
			return true;
	return false;
}

static int refuse_hostless(const char *path)
{
	g_autofree char *message = g_strdup_printf(
		"%s: no cluster has hosts: there are no meters to read, it can only be simulated",
		path);

	return report_failure(message);
}

/*
 * Names the hosts without watts on standard error, beside the table or document on standard output.
 */
static int print_silent_hosts(const json_t *document)
{
	const json_t *hosts = json_object_get(document, "hosts");
	const json_t *silent = NULL;
	const json_t *host;
	size_t count = 0;
	size_t i;

	json_array_foreach (hosts, i, host) {
		if (json_is_number(json_object_get(host, "watts")))
			continue;
		silent = silent ?: host;
		count++;
	}
	fprintf(stderr, "virtbed energy: %zu of %zu hosts have no watts: cluster '%s'%s%s: %s\n",
		count, json_array_size(hosts),
		json_string_value(json_object_get(silent, "cluster")),
		json_is_string(json_object_get(silent, "host")) ? ", host " : "",
		json_string_value(json_object_get(silent, "host")) ?: "",
		json_string_value(json_object_get(silent, "error")) ?: "not known yet");
	return STATUS_FAILED;
}

/* Reads and prints `count` times (0: until a signal comes). */
static int watch(const struct config *config, const struct options *options)
{
	g_autoptr(live_t) live = live_new(config);
	bool interrupted = false;
	g_autoptr(json_t) document = NULL;

	g_unix_signal_add(SIGINT, on_signal, &interrupted);
	g_unix_signal_add(SIGTERM, on_signal, &interrupted);
	g_unix_signal_add(SIGHUP, on_signal, &interrupted); /* its terminal is gone */
	signal(SIGPIPE, SIG_IGN); /* sessions of BMCs are given back then, too */
	live_settle(live, SETTLE_S, &interrupted);
	for (uint32_t i = 0; !interrupted && (i < options->count || options->count == 0); i++) {
		if (i > 0)
			live_wait(live, options->interval_s, &interrupted);
		json_decref(document);
		document = live_json(live);
		if (!print(document, options->json))
			return STATUS_FAILED;
	}
	return !document || live_all_answered(document) ? STATUS_DONE
							: print_silent_hosts(document);
}

int main(int argc, char **argv)
{
	struct options options = {.count = 1, .interval_s = 1};
	g_autofree char *count = NULL;
	g_autofree char *interval = NULL;
	const GOptionEntry entries[] = {
		{"live", 0, 0, G_OPTION_ARG_NONE, &options.live, "Read the meters now", NULL},
		{"count", 'n', 0, G_OPTION_ARG_STRING, &count,
		 "How often to print (default 1; 0: until interrupted)", "N"},
		{"interval", 'i', 0, G_OPTION_ARG_STRING, &interval,
		 "Seconds between two (default 1)", "S"},
		{"lab", 0, 0, G_OPTION_ARG_STRING, &options.lab,
		 "Lab whose blades the hosts name (default: the configuration's name)", "NAME"},
		{"json", 0, 0, G_OPTION_ARG_NONE, &options.json, "One JSON document each", NULL},
		{NULL},
	};
	g_autoptr(GOptionContext) context = g_option_context_new("CONFIG");
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) config = NULL;

	visible_check_at_exit();
	visible_plain_help();
	g_set_prgname("virtbed energy");
	g_option_context_add_main_entries(context, entries, NULL);
	g_option_context_set_summary(context, "Reads the meters of the hosts.");
	if (!g_option_context_parse(context, &argc, &argv, &error) ||
	    !number_option_unsigned("--count", count, 0, UINT32_MAX, &options.count, &error) ||
	    !number_option("--interval", interval, INTERVAL_MIN_S, INTERVAL_MAX_S,
			   &options.interval_s, &error))
		return report_failure(error->message);
	if (argc != 2 || !options.live)
		return report_failure("give --live and a configuration; try --help");
	config = config_load(argv[1], &error);
	if (!config || !lab_state_resolve(config, options.lab, &error))
		return report_failure(error->message);
	if (!has_hosts(config))
		return refuse_hostless(argv[1]);
	return watch(config, &options);
}
