/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/check/policy_check.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "common/error_fail.h"
#include "common/json.h"
#include "common/program_path.h"
#include "common/random.h"
#include "controller/check/large_snapshots.h"
#include "controller/check/model_snapshots.h"
#include "controller/plugin/plugin.h"
#include "controller/snapshot/snapshot_json.h"

const char *const check_rule_names[] = {
	[CHECK_ANSWERS] = "answers", [CHECK_LEGAL] = "legal", [CHECK_REPEAT] = "repeat",
	[CHECK_MEMORY] = "memory",   [CHECK_ORDER] = "order", NULL,
};

/*
 * What memory of a process is filled with; hash seeds are numbers, and 0 is no hashing by chance.
 * New memory has bytes of 0, of a negative and of a positive number, so that each test of its value
 * has another result in one of them.
 */
struct contents {
	const char *perturb; /* MALLOC_PERTURB_: freed blocks; new ones get its complement */
	const char *stack;   /* VIRTBED_POLICY_FILL of virtbed-policy-so */
	const char *hash;    /* PYTHONHASHSEED */
};
static const struct contents contents[] = {
	{"255", "0", "0"},
	{"1", "254", "4242"},
	{"170", "85", "17"},
};
#define OTHERS (G_N_ELEMENTS(contents) - 1)

/* A check of one model. */
struct checking {
	const struct check_settings *settings;
	struct policy named;   /* as the user calls it */
	struct policy outside; /* the same as a program or shared object */
	const struct snapshot_model *model;
	struct check_model *result;
	GPtrArray *plans; /* char *: the first answer to each snapshot */
	GArray *event_s, *compute_s;
	uint32_t *done; /* of all models */
	uint32_t total;
};

/* A process that is asked. */
struct asked {
	struct plugin *plugin;
	struct arena *arena;
};

GQuark check_error_quark(void)
{
	return g_quark_from_static_string("check-error");
}

/* Results. */

static void finding_free(void *data)
{
	struct check_finding *finding = data;

	g_free(finding->what);
	g_free(finding->file);
	g_free(finding);
}

static void model_free(void *data)
{
	struct check_model *model = data;

	g_free(model->misfit);
	g_ptr_array_unref(model->findings);
	g_free(model);
}

void check_result_free(struct check_result *result)
{
	if (!result)
		return;
	g_ptr_array_unref(result->models);
	g_free(result);
}

bool check_result_is_good(const struct check_result *result)
{
	bool decides = false;

	for (guint i = 0; i < result->models->len; i++) {
		const struct check_model *model = result->models->pdata[i];

		decides |= !model->misfit;
		if (model->findings->len > 0)
			return false;
	}
	return decides;
}

static gint compare_reals(gconstpointer left, gconstpointer right)
{
	const double a = *(const double *)left;
	const double b = *(const double *)right;

	return (a > b) - (a < b);
}

static struct check_times times_of(GArray *list)
{
	const double *times = (const double *)(const void *)list->data;

	if (list->len == 0)
		return (struct check_times){NAN, NAN, NAN};
	g_array_sort(list, compare_reals);
	return (struct check_times){
		.median_s = times[list->len / 2],
		.high_s = times[(list->len - 1) * 99 / 100],
		.most_s = times[list->len - 1],
	};
}

/* The policy as a program. */

/*
 * A policy of the tree decides in a process, too, so that a crash and a hang are found as well.
 */
static bool find_policy(struct checking *checking, GError **error)
{
	const char *name = checking->settings->policy;
	g_autofree char *program = NULL;
	g_autofree char *quoted = NULL;
	g_autofree char *text = NULL;
	char message[1024];

	if (policy_parse(name, &checking->named, message, sizeof(message)) < 0)
		return error_fail(error, CHECK_ERROR, 1, "%s", message);
	if (policy_is_outside(&checking->named)) {
		checking->outside = checking->named;
		return true;
	}
	program = program_path("virtbed-policy-so", error);
	if (!program)
		return false;
	quoted = g_shell_quote(program);
	text = g_strdup_printf("exec:%s %s", quoted, name);
	return policy_parse(text, &checking->outside, message, sizeof(message)) == 0 ||
	       error_fail(error, CHECK_ERROR, 1, "%s", message);
}

/* Asking. */

/* Starts a process with new memory of `contents`, for systems like that of a snapshot. */
static bool start(const struct checking *checking, const struct contents *memory,
		  const struct sched_snapshot *snapshot, struct asked *ret_asked, GError **error)
{
	const struct plugin_settings settings = {.deadline_s = checking->settings->deadline_s};

	g_setenv("MALLOC_PERTURB_", memory->perturb, TRUE);
	g_setenv("VIRTBED_POLICY_FILL", memory->stack, TRUE);
	g_setenv("PYTHONHASHSEED", memory->hash, TRUE);
	ret_asked->arena = arena_new();
	ret_asked->plugin = plugin_new(&settings, snapshot->system, snapshot->seed);
	return plugin_start(ret_asked->plugin, &checking->outside, error);
}

static void finish(struct asked *asked)
{
	plugin_free(asked->plugin);
	arena_free(asked->arena);
	*asked = (struct asked){0};
}

/* The answer of a process as a text that the caller frees. NULL: it did not decide. */
static char *ask(const struct checking *checking, struct asked *asked,
		 const struct sched_snapshot *snapshot)
{
	struct policy_context context = {.arena = asked->arena,
					 .outside = plugin_outside(asked->plugin)};
	struct sched_plan plan;
	g_autofree char *actions = NULL;

	if (policy_decide(&checking->outside, snapshot, &context, &plan) < 0)
		return NULL;
	actions = snapshot_text_actions(snapshot->system, &plan, NULL);
	if (!snapshot->system->queueing)
		return g_steal_pointer(&actions);
	return g_strdup_printf("%s level %.17g %s", actions, plan.pruner.level,
			       plan.pruner.dropping ? "dropping" : "");
}

/* Findings. */

static bool is_found(const struct checking *checking, enum check_rule rule)
{
	for (guint i = 0; i < checking->result->findings->len; i++)
		if (((struct check_finding *)checking->result->findings->pdata[i])->rule == rule)
			return true;
	return false;
}

/* Writes the snapshot that shows a finding. */
static bool write_snapshot(const struct checking *checking, struct check_finding *finding,
			   const struct sched_snapshot *snapshot, GError **error)
{
	g_autoptr(json_t) object = snapshot_json_write(snapshot, &checking->named, NULL);
	g_autofree char *text = json_pretty(object);
	g_autofree char *name =
		g_strdup_printf("%s-%u.json", checking->model->name, finding->number);
	g_autofree char *path = NULL;

	if (!checking->settings->dir)
		return true;
	path = g_build_filename(checking->settings->dir, name, NULL);
	if (g_mkdir_with_parents(checking->settings->dir, 0777) < 0)
		return error_fail(error, CHECK_ERROR, 1, "cannot make the folder \"%s\": %s",
				  checking->settings->dir, g_strerror(errno));
	if (!g_file_set_contents(path, text, -1, error))
		return false;
	finding->file = g_steal_pointer(&path);
	return true;
}

/* Notes a finding, with a text that it takes over, unless the rule has one. */
static bool find(struct checking *checking, enum check_rule rule, uint32_t number,
		 const struct sched_snapshot *snapshot, char *what, GError **error)
{
	struct check_finding *finding;

	if (is_found(checking, rule)) {
		g_free(what);
		return true;
	}
	finding = g_new0(struct check_finding, 1);
	*finding = (struct check_finding){.rule = rule, .number = number, .what = what};
	g_ptr_array_add(checking->result->findings, finding);
	return write_snapshot(checking, finding, snapshot, error);
}

/* Notes that a process did not decide. */
static bool find_failure(struct checking *checking, const struct asked *asked, uint32_t number,
			 const struct sched_snapshot *snapshot, GError **error)
{
	enum plugin_failure failure = PLUGIN_DIED;
	const char *why = plugin_last_failure(asked->plugin, &failure);

	if (!why)
		return error_fail(error, CHECK_ERROR, 1, "out of memory");
	return find(checking, failure == PLUGIN_ILLEGAL ? CHECK_LEGAL : CHECK_ANSWERS, number,
		    snapshot, g_strdup(why), error);
}

/* The action at which two texts of plans differ: from there on, and at most so long. */
#define SHOWN 160

static char *describe_difference(const char *first, const char *second)
{
	size_t at = 0;
	size_t from = 0;
	uint32_t index = 0;

	for (; first[at] && first[at] == second[at]; at++) {
		if (first[at] != '{')
			continue;
		index += from > 0;
		from = at;
	}
	return g_strdup_printf("actions[%u] is %.*s at first and %.*s then", index, SHOWN,
			       first[from] ? first + from : "not there", SHOWN,
			       second[from] ? second + from : "not there");
}

/* Compares an answer, which it frees, with the first one. */
static bool compare(struct checking *checking, enum check_rule rule, struct asked *asked,
		    uint32_t number, const struct sched_snapshot *snapshot, GError **error)
{
	const char *first = checking->plans->pdata[number];
	g_autofree char *again = ask(checking, asked, snapshot);

	if (!again)
		return find_failure(checking, asked, number, snapshot, error);
	return strcmp(first, again) == 0 ||
	       find(checking, rule, number, snapshot, describe_difference(first, again), error);
}

/* The three rounds. */

static void tick(const struct checking *checking)
{
	(*checking->done)++;
	if (checking->settings->progress)
		checking->settings->progress(*checking->done, checking->total,
					     checking->settings->data);
}

/* Whether the model is done with: its process does not decide, or a rule is broken already. */
static bool is_over(const struct checking *checking)
{
	return is_found(checking, CHECK_ANSWERS) || is_found(checking, CHECK_LEGAL);
}

/* Notes how long an answer took, by the accounts before it and now. */
static void note_times(const struct asked *asked, const struct plugin_account *before,
		       GArray *event_s, GArray *compute_s)
{
	const struct plugin_account after = plugin_account(asked->plugin);
	const double took_s = after.event_s - before->event_s;
	const double computed_s = after.compute_s - before->compute_s;

	g_array_append_val(event_s, took_s);
	if (computed_s > 0)
		g_array_append_val(compute_s, computed_s);
}

/* Asks the first process about a snapshot, and notes how long it took. */
static bool ask_first(struct checking *checking, struct asked *asked, uint32_t number,
		      const struct sched_snapshot *snapshot, GError **error)
{
	const struct plugin_account before = plugin_account(asked->plugin);
	char *plan = ask(checking, asked, snapshot);

	if (!plan)
		return find_failure(checking, asked, number, snapshot, error);
	g_ptr_array_add(checking->plans, plan);
	checking->result->checked++;
	note_times(asked, &before, checking->event_s, checking->compute_s);
	return true;
}

/* Starts the processes with other memory than the first one. */
static bool start_others(const struct checking *checking, const struct sched_snapshot *snapshot,
			 struct asked *others, GError **error)
{
	for (size_t i = 0; i < OTHERS; i++)
		if (!start(checking, &contents[1 + i], snapshot, &others[i], error))
			return false;
	return true;
}

/* Asks them about a snapshot, as often as the first one: what that keeps they keep, too. */
static bool compare_others(struct checking *checking, struct asked *others, uint32_t number,
			   const struct sched_snapshot *snapshot, GError **error)
{
	for (size_t i = 0; i < 2 * OTHERS; i++)
		if (!compare(checking, CHECK_MEMORY, &others[i / 2], number, snapshot, error))
			return false;
	return true;
}

/* The first process and those with other memory, side by side. */
static bool check_forth(struct checking *checking, struct asked *first, struct asked *others,
			GError **error)
{
	const struct check_settings *settings = checking->settings;
	bool good = true;

	for (uint32_t i = 0; good && i < settings->count && !is_over(checking); i++) {
		struct model_snapshot made =
			model_snapshot_make(checking->model, settings->seed, i);

		good = ask_first(checking, first, i, made.snapshot, error) &&
		       (is_over(checking) ||
			(compare(checking, CHECK_REPEAT, first, i, made.snapshot, error) &&
			 compare_others(checking, others, i, made.snapshot, error)));
		model_snapshot_clear(&made);
		tick(checking);
	}
	return good;
}

/* A process with the memory of the first, in an order that the seed gives. */
static bool check_shuffled(struct checking *checking, struct asked *last, GError **error)
{
	const uint32_t count = checking->plans->len;
	g_autofree uint32_t *order = g_new(uint32_t, count + 1);
	struct random_stream random;
	bool good = true;

	random_stream_init(&random, checking->settings->seed, 0);
	for (uint32_t i = 0; i < count; i++) {
		const uint32_t at = (uint32_t)random_stream_below(&random, i + 1);

		order[i] = order[at];
		order[at] = i;
	}
	for (uint32_t i = 0; good && i < count && !is_over(checking); i++) {
		struct model_snapshot made =
			model_snapshot_make(checking->model, checking->settings->seed, order[i]);

		good = compare(checking, CHECK_ORDER, last, order[i], made.snapshot, error);
		model_snapshot_clear(&made);
		tick(checking);
	}
	return good;
}

/* Speed. */

/* Events that are timed: the first one has all tasks, the others what is new. */
#define TIMED 5

/* Times events with `waiting` tasks; where the policy does not decide there are no times. */
static void measure_size(struct checking *checking, struct asked *asked, uint32_t waiting)
{
	struct check_model *result = checking->result;
	struct large_snapshot *large =
		large_snapshot_new(checking->settings->seed, waiting,
				   g_str_equal(checking->model->name, "immediate"));
	g_autoptr(GArray) event_s = g_array_new(FALSE, FALSE, sizeof(double));
	g_autoptr(GArray) compute_s = g_array_new(FALSE, FALSE, sizeof(double));

	for (uint32_t i = 0; i < TIMED; i++) {
		const struct plugin_account before = plugin_account(asked->plugin);
		g_autofree char *plan = NULL;

		large->snapshot.event = i;
		plan = ask(checking, asked, &large->snapshot);
		if (!plan)
			break;
		note_times(asked, &before, event_s, compute_s);
	}
	result->speeds[result->speeds_count++] = (struct check_speed){
		.waiting = waiting,
		.event = times_of(event_s),
		.compute = times_of(compute_s),
	};
	large_snapshot_free(large);
}

/* Times events with many tasks, where they have nodes of their own. */
static void measure(struct checking *checking, struct asked *asked)
{
	static const uint32_t sizes[CHECK_SPEEDS] = {100, 5000};
	const char *model = checking->model->name;

	if (checking->result->findings->len > 0 ||
	    (!g_str_equal(model, "nodes") && !g_str_equal(model, "immediate")))
		return;
	for (uint32_t i = 0; i < CHECK_SPEEDS; i++)
		measure_size(checking, asked, sizes[i]);
}

/* A policy whose answers are never the same breaks these two rules as a consequence. */
static void drop_consequences(struct checking *checking)
{
	GPtrArray *findings = checking->result->findings;

	if (!is_found(checking, CHECK_REPEAT))
		return;
	for (guint i = findings->len; i > 0; i--) {
		const struct check_finding *finding = findings->pdata[i - 1];

		if (finding->rule == CHECK_MEMORY || finding->rule == CHECK_ORDER)
			g_ptr_array_remove_index(findings, i - 1);
	}
}

/* Whether a policy that does not start in a model refuses it, which is not wrong. */
static bool note_misfit(struct checking *checking, GError *problem, GError **error)
{
	/* The name before it is that of a program where the policy is one of the tree. */
	static const char before[] = " refuses the system: ";
	const char *why = strstr(problem->message, before);

	if (!g_error_matches(problem, PLUGIN_ERROR, PLUGIN_ERROR_REFUSED)) {
		g_propagate_error(error, problem);
		return false;
	}
	checking->result->misfit = g_strdup(why ? why + strlen(before) : problem->message);
	g_error_free(problem);
	return true;
}

static bool check_model(struct checking *checking, GError **error)
{
	const struct check_settings *settings = checking->settings;
	struct model_snapshot made = model_snapshot_make(checking->model, settings->seed, 0);
	struct asked first = {0};
	struct asked others[OTHERS] = {0};
	struct asked last = {0};
	GError *problem = NULL;
	bool good;

	if (!start(checking, &contents[0], made.snapshot, &first, &problem))
		good = note_misfit(checking, problem, error);
	else
		good = start_others(checking, made.snapshot, others, error) &&
		       check_forth(checking, &first, others, error) &&
		       (is_over(checking) || is_found(checking, CHECK_REPEAT) ||
			(start(checking, &contents[0], made.snapshot, &last, error) &&
			 check_shuffled(checking, &last, error)));
	if (good && !checking->result->misfit)
		measure(checking, &first);
	finish(&first);
	for (size_t i = 0; i < OTHERS; i++)
		finish(&others[i]);
	finish(&last);
	model_snapshot_clear(&made);
	drop_consequences(checking);
	checking->result->event = times_of(checking->event_s);
	checking->result->compute = times_of(checking->compute_s);
	return good;
}

/* All models. */

static bool check_all(struct checking *checking, struct check_result *result, GError **error)
{
	uint32_t done = 0;
	bool good = true;

	checking->done = &done;
	for (const struct snapshot_model *model = snapshot_models; model->name; model++)
		checking->total += 2 * checking->settings->count;
	for (const struct snapshot_model *model = snapshot_models; good && model->name; model++) {
		checking->model = model;
		checking->result = g_new0(struct check_model, 1);
		checking->result->name = model->name;
		checking->result->findings = g_ptr_array_new_with_free_func(finding_free);
		checking->plans = g_ptr_array_new_with_free_func(g_free);
		checking->event_s = g_array_new(FALSE, FALSE, sizeof(double));
		checking->compute_s = g_array_new(FALSE, FALSE, sizeof(double));
		g_ptr_array_add(result->models, checking->result);
		good = check_model(checking, error);
		g_ptr_array_unref(checking->plans);
		g_array_unref(checking->event_s);
		g_array_unref(checking->compute_s);
		done = (uint32_t)(model + 1 - snapshot_models) * 2 * checking->settings->count;
	}
	return good;
}

struct check_result *policy_check(const struct check_settings *settings, GError **error)
{
	struct checking checking = {.settings = settings};
	g_autoptr(check_result_t) result = g_new0(struct check_result, 1);
	bool decides = false;

	result->models = g_ptr_array_new_with_free_func(model_free);
	if (!find_policy(&checking, error) || !check_all(&checking, result, error))
		return NULL;
	for (guint i = 0; i < result->models->len; i++)
		decides |= !((struct check_model *)result->models->pdata[i])->misfit;
	if (!decides) {
		const struct check_model *model = result->models->pdata[0];

		return error_null(error, CHECK_ERROR, 1, "it decides in no model; in \"%s\": %s",
				  model->name, model->misfit);
	}
	return g_steal_pointer(&result);
}
