/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/json.h"
#include "controller/check/policy_check.h"
#include "controller/cli/commands.h"
#include "controller/config/config_plugin.h"
#include "controller/plugin/batsim/batsim_scheduler.h"
#include "controller/report/table.h"
#include "controller/sched/policy.h"

#define FOLDER "policy-check"
#define SNAPSHOTS 300
#define DEADLINE_S 30
/* The socket at which Batsim looks for its scheduler by default. */
#define SOCKET "tcp://127.0.0.1:28000"

static const char *const rule_texts[] = {
	[CHECK_ANSWERS] = "it does not answer",
	[CHECK_LEGAL] = "a plan is not legal",
	[CHECK_REPEAT] = "another answer to the same snapshot",
	[CHECK_MEMORY] = "another answer in another process: memory that is not initialised, an "
			 "address, or the order of a hash table",
	[CHECK_ORDER] =
		"another answer after other snapshots: something is kept between events, or "
		"an address decides",
};

/* The progress line. */
struct progress {
	const char *name;
	bool shown;
};

static void show_progress(uint32_t done, uint32_t total, void *data)
{
	struct progress *progress = data;

	progress->shown = true;
	fprintf(stderr, "\r%s: %u of %u", progress->name, done, total);
}

/* Whether a text is a policy's name already. */
static bool is_policy(const char *text)
{
	struct policy policy;

	return policy_parse(text, &policy, NULL, 0) == 0;
}

/* A word as a shell takes it; the caller frees it. */
static char *shell_word(const char *text)
{
	for (const char *at = text; *at; at++)
		if (!g_ascii_isalnum(*at) && !strchr("_./:+-,=", *at))
			return g_shell_quote(text);
	return g_strdup(text);
}

/* What a user means: a policy, or a file that is one. The caller frees it. */
static char *policy_name(const char *text)
{
	g_autofree char *path = NULL;
	g_autofree char *quoted = NULL;

	if (is_policy(text) || !g_file_test(text, G_FILE_TEST_IS_REGULAR))
		return g_strdup(text);
	if (g_str_has_suffix(text, ".so"))
		return g_strconcat("so:", text, NULL);
	/* A command without "/" would be looked for in PATH. */
	path = strchr(text, '/') ? g_strdup(text) : g_strconcat("./", text, NULL);
	quoted = shell_word(path);
	if (g_str_has_suffix(text, ".py") && access(text, X_OK) != 0)
		return g_strconcat("exec:python3 ", quoted, NULL);
	return g_strconcat("exec:", quoted, NULL);
}

/* The command that shows a finding again; the caller frees it. NULL: no snapshot was written. */
static char *decide_command(const char *policy, const struct check_finding *finding)
{
	g_autofree char *file = NULL;
	g_autofree char *name = NULL;

	if (!finding->file)
		return NULL;
	file = shell_word(finding->file);
	name = shell_word(policy);
	return g_strdup_printf("virtbed decide %s --policy %s", file, name);
}

/* JSON. */

static json_t *times_json(const struct check_times *times)
{
	return json_pack("{s:o, s:o, s:o}", "median_s", json_number_or_null(times->median_s),
			 "high_s", json_number_or_null(times->high_s), "most_s",
			 json_number_or_null(times->most_s));
}

static json_t *finding_json(const char *policy, const struct check_finding *finding)
{
	g_autofree char *command = decide_command(policy, finding);

	return json_pack("{s:s, s:i, s:s, s:s?, s:s?}", "rule", check_rule_names[finding->rule],
			 "snapshot", finding->number, "what", finding->what, "file", finding->file,
			 "command", command);
}

static json_t *speeds_json(const struct check_model *model)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < model->speeds_count; i++)
		json_array_append_new(list,
				      json_pack("{s:i, s:o, s:o}", "waiting",
						model->speeds[i].waiting, "event",
						times_json(&model->speeds[i].event), "compute",
						times_json(&model->speeds[i].compute)));
	return list;
}

static json_t *model_json(const char *policy, const struct check_model *model)
{
	json_t *findings = json_array();

	for (guint i = 0; i < model->findings->len; i++)
		json_array_append_new(findings, finding_json(policy, model->findings->pdata[i]));
	return json_pack("{s:s, s:s?, s:i, s:o, s:o, s:o, s:o}", "model", model->name, "misfit",
			 model->misfit, "snapshots", model->checked, "event",
			 times_json(&model->event), "compute", times_json(&model->compute),
			 "speeds", speeds_json(model), "findings", findings);
}

static void print_json(const struct check_settings *settings, const struct check_result *result)
{
	json_t *models = json_array();
	g_autoptr(json_t) document = NULL;

	for (guint i = 0; i < result->models->len; i++)
		json_array_append_new(models,
				      model_json(settings->policy, result->models->pdata[i]));
	document = json_pack("{s:s, s:I, s:i, s:b, s:o}", "policy", settings->policy, "seed",
			     (json_int_t)settings->seed, "snapshots", settings->count, "good",
			     check_result_is_good(result), "models", models);
	command_print_json(document);
}

/* Tables. */

static const char *verdict(const struct check_model *model, enum check_rule rule)
{
	bool asked = true;

	for (guint i = 0; i < model->findings->len; i++) {
		const struct check_finding *finding = model->findings->pdata[i];

		if (finding->rule == rule)
			return "NO";
		/* After these three the other rules are not looked into. */
		asked &= finding->rule > rule || finding->rule > CHECK_REPEAT;
	}
	return asked ? "yes" : "-";
}

static void print_models(const struct check_result *result)
{
	g_autoptr(table_t) table =
		table_with("<model", ">snapshots", "<answers", "<legal", "<repeat", "<memory",
			   "<order", ">event ms", ">99 %", ">computing ms", ">99 %", NULL);

	for (guint i = 0; i < result->models->len; i++) {
		const struct check_model *model = result->models->pdata[i];

		if (model->misfit)
			continue;
		table_row(table);
		table_text(table, model->name);
		table_integer(table, model->checked);
		for (int rule = 0; rule < CHECK_RULES; rule++)
			table_text(table, verdict(model, (enum check_rule)rule));
		table_number(table, model->event.median_s * 1e3, 3);
		table_number(table, model->event.high_s * 1e3, 3);
		table_number(table, model->compute.median_s * 1e3, 3);
		table_number(table, model->compute.high_s * 1e3, 3);
	}
	table_print(table, 0, stdout);
	for (guint i = 0; i < result->models->len; i++) {
		const struct check_model *model = result->models->pdata[i];

		if (model->misfit)
			printf("not in the model %s: %s\n", model->name, model->misfit);
	}
}

/* Names events that a run or a service does not wait for. */
static void print_late(const struct check_result *result)
{
	static const struct config none;
	const double deadline_s = config_plugin_of(&none).deadline_s;

	for (guint i = 0; i < result->models->len; i++) {
		const struct check_model *model = result->models->pdata[i];

		for (uint32_t k = 0; k < model->speeds_count; k++)
			if (model->speeds[k].event.median_s > deadline_s)
				printf("late in runs and services, in the model %s with %u waiting "
				       "tasks: %.3g s, and plugin.deadline_s is %g s by default\n",
				       model->name, model->speeds[k].waiting,
				       model->speeds[k].event.median_s, deadline_s);
	}
}

static void print_speeds(const struct check_result *result)
{
	g_autoptr(table_t) table = table_with("<model", ">waiting tasks", ">event ms", ">most",
					      ">computing ms", ">most", NULL);
	bool any = false;

	for (guint i = 0; i < result->models->len; i++) {
		const struct check_model *model = result->models->pdata[i];

		for (uint32_t k = 0; k < model->speeds_count; k++) {
			const struct check_speed *speed = &model->speeds[k];

			any = true;
			table_row(table);
			table_text(table, model->name);
			table_integer(table, speed->waiting);
			table_number(table, speed->event.median_s * 1e3, 3);
			table_number(table, speed->event.most_s * 1e3, 3);
			table_number(table, speed->compute.median_s * 1e3, 3);
			table_number(table, speed->compute.most_s * 1e3, 3);
		}
	}
	if (!any)
		return;
	puts("");
	table_print(table, 0, stdout);
}

static void print_findings(const struct check_settings *settings, const struct check_model *model)
{
	for (guint i = 0; i < model->findings->len; i++) {
		const struct check_finding *finding = model->findings->pdata[i];
		g_autofree char *command = decide_command(settings->policy, finding);

		printf("\n%s, snapshot %u, %s: %s\n  %s\n", model->name, finding->number,
		       check_rule_names[finding->rule], rule_texts[finding->rule], finding->what);
		if (command)
			printf("  see it: %s\n", command);
	}
}

static int check(const char *name, struct check_settings *settings, bool json)
{
	struct progress progress = {.name = name};
	g_autoptr(GError) error = NULL;
	g_autoptr(check_result_t) result = NULL;

	if (isatty(STDERR_FILENO)) {
		settings->progress = show_progress;
		settings->data = &progress;
	}
	result = policy_check(settings, &error);
	if (progress.shown)
		fputs("\r\033[K", stderr);
	if (!result)
		return command_fail(COMMAND_BAD, name, "%s", error->message);
	if (json) {
		print_json(settings, result);
	} else {
		printf("%s, %u snapshots of each model, seed %" G_GUINT64_FORMAT "\n",
		       settings->policy, settings->count, (guint64)settings->seed);
		print_models(result);
		print_speeds(result);
		print_late(result);
		for (guint i = 0; i < result->models->len; i++)
			print_findings(settings, result->models->pdata[i]);
	}
	return check_result_is_good(result) ? COMMAND_DONE : COMMAND_FAILED;
}

/* The command `policy batsim`: answers Batsim until its simulation is over. */
static int serve_batsim(const char *command, const char *name, const char *endpoint, bool immediate)
{
	g_autoptr(batsim_scheduler_t) scheduler = NULL;
	g_autoptr(GError) error = NULL;
	struct policy policy;
	char message[1024];

	if (policy_parse(name, &policy, message, sizeof(message)) < 0)
		return command_fail(COMMAND_BAD, command, "%s", message);
	scheduler = batsim_scheduler_new(&policy, immediate, &error);
	if (!scheduler)
		return command_fail(COMMAND_BAD, command, "%s", error->message);
	if (!batsim_scheduler_serve(scheduler, endpoint, &error))
		return command_fail(COMMAND_FAILED, command, "%s", error->message);
	return COMMAND_DONE;
}

int cmd_policy(int argc, char **argv)
{
	int64_t seed = 1;
	uint32_t count = SNAPSHOTS;
	double deadline_s = DEADLINE_S;
	const char *out = FOLDER;
	const char *socket = NULL; /* SOCKET */
	bool json = false;
	bool immediate = false;
	const struct command_option options[] = {
		{"snapshots", 'n', COMMAND_COUNT, &count,
		 "how many of each model (300); four processes are asked about each", "N", 1,
		 1000000},
		{"seed", 's', COMMAND_INTEGER, &seed, "of the snapshots (1)", "N", 0, INT32_MAX},
		{"deadline", 0, COMMAND_NUMBER, &deadline_s, "of an answer (30)", "SECONDS", 0.001,
		 86400},
		{"out", 'o', COMMAND_FILE, &out,
		 "folder for snapshots that show a broken rule (" FOLDER ")", "DIR"},
		{"json", 0, COMMAND_FLAG, &json, "one JSON object"},
		{"socket", 0, COMMAND_TEXT, &socket,
		 "of batsim: the ZeroMQ endpoint to answer at (" SOCKET ")", "ENDPOINT"},
		{"immediate", 0, COMMAND_FLAG, &immediate,
		 "of batsim: jobs start now or wait, no start is planned"},
		{NULL},
	};
	g_autofree char *policy = NULL;

	if (!command_parse(
		    &argc, &argv, "check|batsim POLICY",
		    "check: checks the rules of all policies on random snapshots. POLICY is "
		    "exec:COMMAND,\n"
		    "so:FILE, a name of `virtbed policies`, or a file: a program, or a shared "
		    "object (.so).\n"
		    "batsim: decides for one simulation of Batsim 2 to 5, as its scheduler. "
		    "POLICY is a name of\n"
		    "`virtbed policies`.",
		    options))
		return COMMAND_BAD;
	if (argc != 3 || (strcmp(argv[1], "check") != 0 && strcmp(argv[1], "batsim") != 0))
		return command_fail(COMMAND_BAD, argv[0], "give check or batsim, and one policy");
	if (strcmp(argv[1], "batsim") == 0) {
		if (json || seed != 1 || count != SNAPSHOTS || deadline_s != DEADLINE_S ||
		    strcmp(out, FOLDER) != 0)
			return command_fail(COMMAND_BAD, argv[0],
					    "batsim takes --socket and --immediate alone");
		return serve_batsim(argv[0], argv[2], socket ? socket : SOCKET, immediate);
	}
	if (socket || immediate)
		return command_fail(COMMAND_BAD, argv[0],
				    "--socket and --immediate are options of batsim");
	policy = policy_name(argv[2]);

	struct check_settings settings = {
		.policy = policy,
		.seed = (uint64_t)seed,
		.count = count,
		.deadline_s = deadline_s,
		.dir = out,
	};

	return check(argv[0], &settings, json);
}
