/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/config/config_workload.h"

#include <math.h>

#include "common/config/config_parts.h"

static const struct config_key task_keys[] = {
	{CONFIG_TEXT(workload_task, type), .needed = true, .help = "name of a type."},
	{CONFIG_NUMBER(workload_task, arrival_s), .needed = true, CONFIG_OR_ZERO,
	 CONFIG_MOST(0, 1e9), .help = "seconds since the beginning of the run, in any order."},
	{CONFIG_UINT(workload_task, utility), CONFIG_NOT_ZERO, .min = 1, .max = UINT32_MAX,
	 .says = "# earns nothing",
	 .help = "whole number above 0; default: the `utility_max` of the type."},
	{CONFIG_TEXT(workload_task, user),
	 .help = "the user that submits it; default: it arrives at its own time. The first task of a user arrives at its "
		 "`arrival_s`, the next one after the end of that and a think time: the time from when the task before would "
		 "have ended, had it started at once where it is fastest, to the `arrival_s`, or none."},
	{NULL},
};

static const struct config_section config_workload_task_section = {
	task_keys, sizeof(struct config_workload_task)};

static const struct config_key workload_keys[] = {
	{CONFIG_NUMBER(workload, arrival_mean_s), CONFIG_MOST(0, INFINITY),
	 .help = "mean time between two arrivals, "
		 "which is exponential; default: as `load` says. One of them is needed, unless tasks are given."},
	{CONFIG_NUMBER(workload, duration_s), CONFIG_MOST(0, 1e9),
	 .help = "tasks arrive in this time; default: as `tasks` says. One of them is needed, unless tasks "
		 "are given."},
	{CONFIG_NUMBER(workload, load), CONFIG_NOT_ZERO, CONFIG_ABOVE(0, 1e6),
	 .help = "the work that arrives, over what all clusters can do in the same time; above 1 more arrives than "
		 "they can take. `arrival_mean_s` then follows from the estimates, so that the same experiment comes out on "
		 "hosts that are faster or slower; where the file gives both, this one counts."},
	{CONFIG_NUMBER(workload, tasks), CONFIG_NOT_ZERO, CONFIG_ABOVE(0, 1e6),
	 .help = "mean number of tasks that arrive; goes with `load`. `duration_s` follows."},
	{CONFIG_UINT(workload, users), CONFIG_NOT_ZERO, .min = 1, .max = 10000,
	 .help = "so many users who react submit the tasks, instead of `arrival_mean_s` or `load`: each submits one, waits "
		 "for its end, thinks, and submits the next, until `duration_s`, and at most 10,000."},
	{CONFIG_NUMBER(workload, think_mean_s), CONFIG_NOT_ZERO, CONFIG_ABOVE(0, 1e9),
	 .help = "mean time that `users` think, which is exponential."},
	{CONFIG_NUMBER(workload, think_s), CONFIG_MOST(0, 1e9),
	 .help = "instead of `think_mean_s`: the time that `users` think, each time; default: none. They begin at different "
		 "times within the first one."},
	{CONFIG_TEXT(workload, arrivals),
	 .help = "file of tasks, the same in every run and trial, instead of drawn ones: lines "
		 "`arrival_s,type,utility,user`, as in `list`; its path begins at the directory of the configuration. The "
		 "saved configuration of a run has them in `list`."},
	{CONFIG_SECTIONS(workload, list, config_workload_task_section), .most = CONFIG_TASKS_MAX,
	 .help = "the tasks here, instead of in a file."},
	{CONFIG_UINT(workload, seed), .fallback = 1, CONFIG_NOT_ZERO, .help = "of the arrivals."},
	{CONFIG_LIST(workload, utility_max, UINT), .least = 1, .min = 1, .max = INFINITY,
	 .says = "# earns nothing",
	 .help = "whole numbers above 0, of which each task's utility is drawn. Needed, unless tasks are given."},
	{CONFIG_NUMBER(workload, constant_until), .fallback = 2.5, CONFIG_NOT_ZERO, .max = 1e6,
	 .above_min = true, .range = CONFIG_RANGE_MOST,
	 .help = "a task is worth all until so many times the type's least execution time have passed."},
	{CONFIG_NUMBER(workload, zero_at), .fallback = 4, CONFIG_NOT_ZERO, .max = 1e6,
	 .above_min = true, .range = CONFIG_RANGE_MOST,
	 .help = "and nothing from so many times on; falling in between."},
	{NULL},
};

const struct config_section config_workload_section = {
	workload_keys, sizeof(struct config_workload),
	"Arrivals and utility of the tasks of an experiment. A service ignores it, but for its types' utility."};

bool config_workload_reacts(const struct config_workload *workload)
{
	bool reacts = workload->users > 0;

	for (uint32_t i = 0; !reacts && i < workload->list_count; i++)
		reacts = workload->list[i].user != NULL;
	return reacts;
}

double config_workload_duration_s(const struct config_workload *workload)
{
	double last_s = 0;

	for (uint32_t i = 0; i < workload->list_count; i++)
		last_s = fmax(last_s, workload->list[i].arrival_s);
	return workload->list_count > 0 ? last_s : workload->duration_s;
}

char *config_workload_digest(const struct config_workload *workload)
{
	g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);

	if (workload->list_count == 0)
		return NULL;
	for (uint32_t i = 0; i < workload->list_count; i++) {
		const struct config_workload_task *task = &workload->list[i];
		char arrival_s[G_ASCII_DTOSTR_BUF_SIZE];
		g_autofree char *line = NULL;

		g_ascii_dtostr(arrival_s, sizeof(arrival_s), task->arrival_s);
		line = g_strdup_printf("%s,%s,%u%s%s\n", arrival_s, task->type, task->utility,
				       task->user ? "," : "", task->user ?: "");
		g_checksum_update(sum, (const guchar *)line, -1);
	}
	return g_strdup(g_checksum_get_string(sum));
}

static void add_number(GString *text, double value)
{
	char number[G_ASCII_DTOSTR_BUF_SIZE];

	g_string_append_printf(text, " %s", g_ascii_dtostr(number, sizeof(number), value));
}

char *config_workload_users_digest(const struct config *config)
{
	const struct config_workload *workload = config->workload;
	g_autoptr(GString) text = g_string_new("users");

	if (!workload || !config_workload_reacts(workload))
		return NULL;
	if (workload->list_count > 0)
		return config_workload_digest(workload);
	add_number(text, workload->users);
	add_number(text, workload->think_mean_s);
	add_number(text, workload->think_s);
	add_number(text, workload->duration_s);
	for (uint32_t i = 0; i < workload->utility_max_count; i++)
		add_number(text, workload->utility_max[i]);
	for (uint32_t i = 0; i < config->types_count; i++) {
		g_string_append_printf(text, "\n%s", config->types[i].name);
		add_number(text, config->types[i].share);
		add_number(text, config->types[i].utility_max);
	}
	return g_compute_checksum_for_string(G_CHECKSUM_SHA256, text->str, (gssize)text->len);
}

/*
 * What is wrong with a task, beginning with the field; NULL: nothing. `types` is of
 * config_types_by_name(). The caller frees.
 */
static char *check_task(GHashTable *types, const struct config_workload_task *task)
{
	const struct config_type *type = g_hash_table_lookup(types, task->type);

	if (!type)
		return g_strdup_printf("type: no type '%s' in types", task->type);
	if (task->utility == 0 && type->utility_max == 0)
		return g_strdup_printf("utility: missing; give one, or type '%s' a utility_max",
				       task->type);
	return NULL;
}

static char *check_tasks(const struct config *config)
{
	const struct config_workload *workload = config->workload;
	g_autoptr(GHashTable) types = config_types_by_name(config);

	for (uint32_t i = 0; i < workload->list_count; i++) {
		const struct config_workload_task *task = &workload->list[i];
		g_autofree char *wrong = check_task(types, task);

		if (wrong && task->line)
			return g_strdup_printf("workload.arrivals: '%s', line %u: %s",
					       workload->arrivals, task->line, wrong);
		if (wrong)
			return g_strdup_printf("workload.list[%u].%s", i, wrong);
	}
	return NULL;
}

/* Whether drawn and given tasks are kept apart. */
static char *check_given(const struct config *config)
{
	const struct config_workload *workload = config->workload;
	const char *key = workload->arrivals ? "arrivals" : "list";
	const struct {
		const char *name;
		double value;
	} drawn[] = {{"arrival_mean_s", workload->arrival_mean_s},
		     {"duration_s", workload->duration_s},
		     {"load", workload->load},
		     {"tasks", workload->tasks},
		     {"users", workload->users},
		     {"think_mean_s", workload->think_mean_s},
		     {"think_s", workload->think_s},
		     {"utility_max", workload->utility_max_count}};

	if (config->is_drawn)
		return g_strdup_printf("workload.%s: an environment has tasks of its own", key);
	for (gsize i = 0; i < G_N_ELEMENTS(drawn); i++)
		if (drawn[i].value > 0)
			return g_strdup_printf("workload.%s: of drawn tasks, and %s gives them; "
					       "leave out one of the two",
					       drawn[i].name, key);
	return check_tasks(config);
}

/* Whether users who react and arrivals are kept apart. */
static char *check_users(const struct config *config)
{
	const struct config_workload *workload = config->workload;
	const struct {
		const char *name;
		double value;
	} arrivals[] = {{"arrival_mean_s", workload->arrival_mean_s},
			{"load", workload->load},
			{"tasks", workload->tasks}};

	if (workload->users == 0 && (workload->think_mean_s > 0 || workload->think_s > 0))
		return g_strdup_printf("workload.%s: of users, and there are none; give "
				       "workload.users, or leave it out",
				       workload->think_mean_s > 0 ? "think_mean_s" : "think_s");
	if (workload->users > 0 && config->is_drawn)
		return g_strdup("workload.users: an environment has tasks of its own");
	if (workload->think_mean_s > 0 && workload->think_s > 0)
		return g_strdup("workload.think_s: users think either so long each time, or "
				"think_mean_s in the mean; leave out one of the two");
	for (gsize i = 0; workload->users > 0 && i < G_N_ELEMENTS(arrivals); i++)
		if (arrivals[i].value > 0)
			return g_strdup_printf("workload.%s: of tasks that arrive at their own "
					       "times, and users submit them; leave out one of the "
					       "two",
					       arrivals[i].name);
	return NULL;
}

char *config_workload_check(const struct config *config)
{
	const struct config_workload *workload = config->workload;
	char *wrong = NULL;

	if (config_workload_is_given(workload))
		wrong = check_given(config);
	else if (workload->utility_max_count == 0)
		wrong = g_strdup("workload.utility_max: missing; give whole numbers above 0");
	if (!wrong)
		wrong = check_users(config);
	if (wrong)
		return wrong;
	if (workload->zero_at < workload->constant_until)
		return g_strdup_printf(
			"workload.zero_at: %g is below constant_until, %g: utility would rise",
			workload->zero_at, workload->constant_until);
	return NULL;
}
