/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/config/config.h"
#include "common/error_fail.h"
#include "common/json.h"
#include "common/number_option.h"
#include "common/version/build_version.h"
#include "controller/cli/commands.h"
#include "controller/config/config_controller.h"
#include "controller/config/config_environment.h"
#include "controller/config/config_holes.h"
#include "controller/config/config_manual.h"
#include "controller/experiment/experiment.h"
#include "controller/report/table.h"
#include "common/config/config_files.h"
#include "controller/run/run_service_check.h"
#include "controller/supervise/run_check.h"
#include "controller/supervise/run_check_rows.h"
#include "controller/supervise/run_prepare.h"
#include "controller/workload/environment.h"

/*
 * Reads it as `run` and `simulate` do, which know the policies too. The first trial of tasks with
 * deadlines has to be drawn, since bins may be too many to work with; a section `service` is there
 * to be served by; and what is not steady can be simulated, but not run.
 */
static struct config *load(const char *path, GError **error)
{
	g_autoptr(config_t) config = config_controller_load(path, error);
	const struct config_environment *environment = config ? config_environment(config) : NULL;
	g_autoptr(environment_trial_t) trial = NULL;
	g_autoptr(GError) reason = NULL;
	const char *unsteady;
	const char *place = "";

	if (!config)
		return NULL;
	if (environment && environment->pruning && !config_wants_pet(config))
		trial = environment_trial_new(config, NULL, 0, 1, &reason);
	unsteady = config_lab_unsteady(config, CONFIG_LAB_HAS_METRONOME);
	if (!reason && config->service && run_service_check(config, &reason))
		run_service_find(config, &reason);
	if (!reason && unsteady)
		g_set_error_literal(&reason, CONFIG_ERROR, CONFIG_ERROR_MEANING, unsteady);
	if (!reason && !experiment_check_policies(config, NULL, &reason))
		place = "experiment.policies: ";
	if (!reason)
		return g_steal_pointer(&config);
	return error_null(error, CONFIG_ERROR, CONFIG_ERROR_MEANING, "%s: %s%s", path, place,
			  reason->message);
}

static bool is_report(const struct run_check_row *row)
{
	return strcmp(row->what, RUN_CHECK_REPORT) == 0;
}

/* One table, then what to do about each row that needs it, then a line for each host. */
static void print_rows(const GPtrArray *rows)
{
	g_autoptr(table_t) table =
		table_with("<cluster", "<host", "<what", "<result", "<found", NULL);

	for (guint i = 0; i < rows->len; i++) {
		const struct run_check_row *row = rows->pdata[i];

		if (is_report(row))
			continue;
		table_row(table);
		table_text(table, row->cluster);
		table_text(table, row->host);
		table_text(table, row->what);
		table_text(table, run_check_result_name(row->result));
		table_text(table, row->text);
	}
	table_print(table, 0, stdout);
	for (guint i = 0; i < rows->len; i++) {
		const struct run_check_row *row = rows->pdata[i];

		if (row->cure)
			printf("%s%s%s%s%s: %s\n", row->cluster, *row->cluster ? " " : "",
			       row->host, *row->host ? " " : "", row->what, row->cure);
	}
	for (guint i = 0; i < rows->len; i++) {
		const struct run_check_row *row = rows->pdata[i];

		if (is_report(row))
			printf("report: virtbed %s; %s\n", build_version(), row->text);
	}
}

static void print_rows_json(const GPtrArray *rows)
{
	g_autoptr(json_t) array = record_list_to_json(&run_check_row_record, rows);

	command_print_json(array);
}

/* What is in a good configuration (the caller frees). */
static char *contents(const struct config *config)
{
	g_autofree char *holes = config_holes(config, false);
	g_auto(GStrv) lines = g_strsplit(holes ?: "", "\n", -1);
	g_autofree char *joined = g_strjoinv(", ", lines);
	g_autofree char *none = holes ? g_strconcat(", none of ", joined, NULL) : g_strdup("");

	return g_strdup_printf("%u cluster%s, %u type%s, %u estimate%s%s%s", config->clusters_count,
			       config->clusters_count == 1 ? "" : "s", config->types_count,
			       config->types_count == 1 ? "" : "s", config->estimates_count,
			       config->estimates_count == 1 ? "" : "s", none,
			       !config->lab ? ""
			       : config->lab->overcommit
				       ? ", emulated blades that may slow one another down: for "
					 "tests, nothing can be measured on them"
				       : ", emulated blades");
}

/* What a configuration can be given to. */

enum use { USE_SIMULATE = 0, USE_RUN, USE_PROFILE, USE_SERVE, USES };

static const struct {
	const char *name;
	enum run_prepare_use prepared; /* but for USE_SIMULATE */
} uses[USES] = {
	[USE_SIMULATE] = {"simulate and study", 0},
	[USE_RUN] = {"run", RUN_PREPARE_RUN},
	[USE_PROFILE] = {"profile", RUN_PREPARE_PROFILE},
	[USE_SERVE] = {"serve", RUN_PREPARE_SERVE},
};

struct judgement {
	enum run_prepare_verdict verdict;
	const char *why; /* interned; NULL where it is taken */
};

/* Execution times that are still to be measured, or a trace that is not on this machine. */
static bool lacks_input(const struct config *config)
{
	const char *trace = config_environment(config) ? config_environment(config)->trace : NULL;

	return config_wants_pet(config) || (trace && access(trace, R_OK) < 0);
}

static enum run_prepare_verdict judge_simulation(const struct config *config, const char *path,
						 GError **ret_why)
{
	g_autoptr(experiment_t) experiment = NULL;

	if (!run_prepare_is_estimated(config, path, ret_why))
		return RUN_PREPARE_LACKS;
	experiment = experiment_new(config, NULL, ret_why);
	if (experiment)
		return RUN_PREPARE_TAKEN;
	return lacks_input(config) ? RUN_PREPARE_LACKS : RUN_PREPARE_REFUSED;
}

/* Why not, without the file's name, which is said already. */
static void judge(const struct config *config, const char *path, struct judgement *ret_judgements)
{
	g_autofree char *place = g_strconcat(path, ": ", NULL);

	for (int use = 0; use < USES; use++) {
		g_autoptr(GError) why = NULL;

		ret_judgements[use].verdict =
			use == USE_SIMULATE
				? judge_simulation(config, path, &why)
				: run_prepare_judge(config, path, uses[use].prepared, &why);
		if (why)
			ret_judgements[use].why = g_intern_string(
				why->message +
				(g_str_has_prefix(why->message, place) ? strlen(place) : 0));
	}
}

/*
 * What makes it wrong: that the section `service` cannot be served by, or that no command takes it.
 */
static const char *find_wrong(const struct config *config, const struct judgement *judgements)
{
	if (config->service && judgements[USE_SERVE].verdict == RUN_PREPARE_REFUSED)
		return judgements[USE_SERVE].why;
	for (int use = 0; use < USES; use++)
		if (judgements[use].verdict != RUN_PREPARE_REFUSED)
			return NULL;
	return judgements[USE_SIMULATE].why;
}

static void print_judgements(const char *path, const char *found,
			     const struct judgement *judgements)
{
	static const char *const words[] = {[RUN_PREPARE_TAKEN] = "yes",
					    [RUN_PREPARE_LACKS] = "not yet",
					    [RUN_PREPARE_REFUSED] = "no"};

	printf("%s: good: %s\n", path, found);
	for (int use = 0; use < USES; use++)
		printf("  for %s: %s%s%s\n", uses[use].name, words[judgements[use].verdict],
		       judgements[use].why ? ": " : "", judgements[use].why ?: "");
}

/* The same array as of a live check, of the rows that are known without trying. */
static void print_judgements_json(const char *found, const struct judgement *judgements)
{
	g_autoptr(GPtrArray) rows = run_check_rows_new();

	run_check_add(rows, "", "", "configuration", RUN_CHECK_WORKS, NULL, "%s", found);
	for (int use = 0; use < USES; use++)
		run_check_add(rows, "", "", uses[use].name,
			      judgements[use].verdict == RUN_PREPARE_TAKEN ? RUN_CHECK_WORKS
									   : RUN_CHECK_NOTE,
			      NULL, "%s", judgements[use].why ?: "");
	print_rows_json(rows);
}

/* Whether there is a cluster at all that could do more than be simulated. */
static bool can_run(const struct config *config)
{
	for (uint32_t i = 0; i < config->clusters_count; i++)
		if (run_check_can_run(&config->clusters[i]))
			return true;
	return false;
}

static int check_live(const char *name, struct config *config, const char *path, double timeout_s,
		      bool json)
{
	g_autoptr(GPtrArray) rows = NULL;
	g_autoptr(GError) error = NULL;

	if (!can_run(config))
		return command_fail(
			COMMAND_BAD, name,
			"%s: no cluster has hosts: there is nothing to try, it can only "
			"be simulated",
			path);
	rows = run_check(config, path, timeout_s, &error);
	if (!rows)
		return command_fail(COMMAND_FAILED, name, "%s", error->message);
	(json ? print_rows_json : print_rows)(rows);
	return run_check_good(rows) ? COMMAND_DONE : COMMAND_FAILED;
}

/* Judges a configuration for every use. */
static int check(const char *name, const char *path, bool live, double timeout_s, bool json)
{
	struct judgement judgements[USES] = {0};
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) config = load(path, &error);
	g_autofree char *found = NULL;
	const char *wrong;

	if (!config || !config_files_check_shared(config, path, &error))
		return command_fail(COMMAND_BAD, name, "%s", error->message);
	judge(config, path, judgements);
	wrong = find_wrong(config, judgements);
	if (wrong)
		return command_fail(COMMAND_BAD, name, "%s: %s", path, wrong);
	if (live)
		return check_live(name, config, path, timeout_s, json);
	found = contents(config);
	if (json)
		print_judgements_json(found, judgements);
	else
		print_judgements(path, found, judgements);
	return COMMAND_DONE;
}

static int dump(const char *name, const char *path)
{
	g_autofree char *text = NULL;
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) config = load(path, &error);

	if (!config)
		return command_fail(COMMAND_BAD, name, "%s", error->message);
	text = config_to_text(config);
	if (!config_text_is_readable(text, path, &error))
		return command_fail(COMMAND_BAD, name, "%s", error->message);
	fputs(text, stdout);
	return COMMAND_DONE;
}

/* What is printed of the keys: the paths, or all of the key of one path, or a row of each. */
struct listing {
	bool paths;
	const char *path;
	struct table *table;
	bool found;
	unsigned rows;
};

static void list_row(struct listing *listing, const struct config_manual_key *key)
{
	const char *const cells[] = {key->path, key->kind, key->unit ?: "", key->traits};

	table_row(listing->table);
	for (gsize i = 0; i < G_N_ELEMENTS(cells); i++)
		table_text(listing->table, cells[i]);
	listing->rows++;
}

/* Whether a key is in the section of that path, or a section of that list. */
static bool is_below(const char *key, const char *path)
{
	return g_str_has_prefix(key, path) && strchr(".[", key[strlen(path)]) &&
	       key[strlen(path)] != '\0';
}

static void list_key(const struct config_manual_key *key, void *data)
{
	struct listing *listing = data;

	if (listing->paths) {
		puts(key->path);
	} else if (!listing->path || is_below(key->path, listing->path)) {
		list_row(listing, key);
	} else if (g_str_equal(key->path, listing->path)) {
		listing->found = true;
		printf("%s: %s%s%s%s%s\n%s\n", key->path, key->kind, key->unit ? " in " : "",
		       key->unit ?: "", *key->traits ? ", " : "", key->traits, key->help);
	}
}

/* All keys, or the one of that path and what is below it (NULL: all). */
static int keys(const char *name, const char *path, bool man, bool paths)
{
	g_autofree char *page = man ? config_manual_page() : NULL;
	g_autoptr(table_t) table =
		table_with("<key", "<kind", "<unit", "<default, range or words", NULL);
	struct listing listing = {paths, path, table};

	if (man) {
		fputs(page, stdout);
		return COMMAND_DONE;
	}
	config_manual_each(list_key, &listing);
	if (path && !listing.found)
		return command_fail(COMMAND_BAD, name, "no key '%s'; \"config keys\" lists them",
				    path);
	if (path && listing.rows > 0)
		putchar('\n');
	if (listing.rows > 0)
		table_print(table, 0, stdout);
	return COMMAND_DONE;
}

/* An option that does nothing where it stands, or NULL. */
static const char *pointless_option(const char *what, bool live, bool timed, bool json,
				    bool listing)
{
	const bool checks = strcmp(what, "check") == 0;

	if (!checks && live)
		return "--live is for \"check\"";
	if (!checks && json)
		return "--json is for \"check\"";
	if (listing && strcmp(what, "keys") != 0)
		return "--man and --paths are for \"keys\"";
	return timed && !live ? "--timeout is for \"check --live\"" : NULL;
}

int cmd_config(int argc, char **argv)
{
	bool live = false;
	bool json = false;
	bool man = false;
	bool paths = false;
	double timeout_s = 0; /* not given */
	const char *pointless;
	bool listing;
	const struct command_option options[] = {
		{"live", 0, COMMAND_FLAG, &live,
		 "check: also try every host, meter, cap, image and channel"},
		{"timeout", 0, COMMAND_NUMBER, &timeout_s,
		 "check --live: longest time in all (default: 180)", "SECONDS", 0.001,
		 NUMBER_OPTION_SECONDS_MAX},
		{"json", 0, COMMAND_FLAG, &json, "check: one JSON array"},
		{"man", 0, COMMAND_FLAG, &man,
		 "keys: the source of the manual page virtbed.yaml(5)"},
		{"paths", 0, COMMAND_FLAG, &paths, "keys: their paths alone"},
		{NULL},
	};

	if (!command_parse(
		    &argc, &argv, "check|dump CONFIG | keys [KEY]",
		    "check: says whether a configuration is good, and for which commands, or what is wrong "
		    "where.\n"
		    "check --live: before a long run, boots every node, reads every meter and runs a "
		    "small\nMPI task on every cluster; one table says what works, and what to do about "
		    "the rest.\ndump: prints it with every default filled in.\n"
		    "keys: lists the keys that a configuration takes, or says what one of them is,\n"
		    "with those below it.",
		    options))
		return COMMAND_BAD;
	listing = argc >= 2 && strcmp(argv[1], "keys") == 0;
	if (listing ? argc > (man || paths ? 2 : 3) || (man && paths) : argc != 3)
		return command_fail(
			COMMAND_BAD, argv[0],
			"give \"check\" or \"dump\" and one file, or \"keys\" and no more than one key");
	pointless = pointless_option(argv[1], live, timeout_s > 0, json, man || paths);
	if (pointless)
		return command_fail(COMMAND_BAD, argv[0], "%s", pointless);
	if (listing)
		return keys(argv[0], argv[2], man, paths);
	if (strcmp(argv[1], "check") == 0)
		return check(argv[0], argv[2], live, timeout_s, json);
	if (strcmp(argv[1], "dump") == 0)
		return dump(argv[0], argv[2]);
	return command_fail(COMMAND_BAD, argv[0], "unknown \"%s\"; known: check dump keys",
			    argv[1]);
}
