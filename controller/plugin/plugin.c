/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/plugin/plugin.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error_fail.h"
#include "common/program_path.h"
#include "controller/plugin/program.h"
#include "controller/plugin/so/plugin_so.h"
#include "controller/sched/plan_rules.h"

#define LOG_SUBSYSTEM "policy"
#include "common/log.h"

#define NS_PER_S G_GINT64_CONSTANT(1000000000)

const char *const plugin_failure_names[] = {
	[PLUGIN_LATE] = "late",         [PLUGIN_DIED] = "died",
	[PLUGIN_RUBBISH] = "rubbish",   [PLUGIN_ILLEGAL] = "illegal",
	[PLUGIN_REFUSED] = "refused",   [PLUGIN_STARTING] = "starting",
	[PLUGIN_DISABLED] = "disabled", NULL,
};

/* Settings with texts of their own. */
struct own_settings {
	struct plugin_settings settings;
	char *fallback, *user;
};

struct plugin {
	struct policy_outside outside; /* first */
	const struct sched_system *system;
	uint64_t seed;
	plugin_stored_f stored; /* NULL: this is no rerun */
	void *stored_data;

	GMutex lock; /* of the next eight */
	struct own_settings wanted;
	bool reloaded; /* `wanted` is new */
	struct plugin_account account;
	bool ended;          /* plugin_cancel() was called */
	int cancel;          /* an eventfd, which can be read while nothing is waited for */
	struct policy named; /* that of the last start or reload; without ops: none yet */
	char *called;        /* what the last program that said hello calls itself; NULL: none */
	struct program next; /* that of `named`, if it was started at the reload */

	/* Of the thread that decides: */
	struct own_settings in_force;
	struct policy policy;   /* whose program it is; without ops: none yet */
	char **words;           /* of its command; NULL: none */
	struct plugin_so *so;   /* what is loaded into this process; NULL: nothing */
	struct program program; /* absent where there is `so` */
	uint64_t number;        /* of the last message to any process */
	unsigned in_a_row;      /* events that failed */
	char *last;             /* why the last one failed */
	char *problem;
	char *why;                   /* the last event failed; NULL: it did not */
	enum plugin_failure failure; /* of `why` */
};

GQuark plugin_error_quark(void)
{
	return g_quark_from_static_string("plugin-error");
}

/* Settings. */

static void copy_settings(struct own_settings *own, const struct plugin_settings *settings)
{
	char *fallback = g_strdup(settings->fallback);
	char *user = g_strdup(settings->user);

	g_free(own->fallback);
	g_free(own->user);
	*own = (struct own_settings){*settings, fallback, user};
	own->settings.fallback = fallback;
	own->settings.user = user;
}

static void clear_settings(struct own_settings *own)
{
	g_free(own->fallback);
	g_free(own->user);
}

const char *plugin_default_fallback(const struct sched_system *system)
{
	return system->queueing ? "mm" : system->shared ? "greedy" : "easy";
}

/* Life cycle. */

static int decide(struct policy_outside *outside, const struct policy *policy,
		  const struct sched_snapshot *snapshot, struct policy_context *context,
		  struct sched_plan *ret_plan);

struct plugin *plugin_new(const struct plugin_settings *settings, const struct sched_system *system,
			  uint64_t seed)
{
	struct plugin *plugin = g_new0(struct plugin, 1);

	plugin->outside.decide = decide;
	plugin->system = system;
	plugin->seed = seed;
	g_mutex_init(&plugin->lock);
	plugin->cancel = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (plugin->cancel < 0)
		g_error("eventfd: %s", g_strerror(errno));
	copy_settings(&plugin->in_force, settings);
	copy_settings(&plugin->wanted, settings);
	return plugin;
}

struct policy_outside *plugin_outside(struct plugin *plugin)
{
	return &plugin->outside;
}

void plugin_set_stored(struct plugin *plugin, plugin_stored_f stored, void *data)
{
	plugin->stored = stored;
	plugin->stored_data = data;
}

/* Whether the program has answered all that it was asked, so that it may answer a bye too. */
static bool is_well(const struct plugin *plugin)
{
	return plugin->program.state == PROGRAM_READY && plugin->in_a_row == 0;
}

void plugin_free(struct plugin *plugin)
{
	if (!plugin)
		return;
	program_end(&plugin->program, is_well(plugin));
	program_end(&plugin->next, false);
	g_free(plugin->called);
	close(plugin->cancel);
	g_mutex_clear(&plugin->lock);
	clear_settings(&plugin->wanted);
	clear_settings(&plugin->in_force);
	g_strfreev(plugin->words);
	plugin_so_free(plugin->so);
	g_free(plugin->last);
	g_free(plugin->problem);
	g_free(plugin->why);
	g_free(plugin);
}

struct plugin_account plugin_account(struct plugin *plugin)
{
	struct plugin_account account;

	g_mutex_lock(&plugin->lock);
	account = plugin->account;
	g_mutex_unlock(&plugin->lock);
	account.state = program_state(&plugin->program);
	return account;
}

json_t *plugin_account_json(struct plugin *plugin)
{
	const struct plugin_account account = plugin_account(plugin);
	json_t *object =
		json_pack("{s:I, s:I, s:b, s:f, s:f}", "events", (json_int_t)account.events, "used",
			  (json_int_t)account.used, "disabled", account.state == PROGRAM_DISABLED,
			  "event_s", account.event_s, "compute_s", account.compute_s);

	for (int i = 0; i < PLUGIN_FAILURES; i++)
		if (account.failed[i] > 0)
			json_object_set_new(object, plugin_failure_names[i],
					    json_integer((json_int_t)account.failed[i]));
	return object;
}

/*
 * The state of the program of `named`, which becomes plugin->program at the next event. With the
 * lock.
 */
static enum program_state state_of_named(struct plugin *plugin)
{
	const enum program_state state = program_state(&plugin->program);

	if (plugin->next.process)
		return program_state(&plugin->next);
	return plugin->reloaded && state == PROGRAM_DISABLED ? PROGRAM_ABSENT : state;
}

/* A mean of the events in which plans were used; null: there are none. */
static json_t *mean_json(double sum_s, const struct plugin_account *account)
{
	return account->used > 0 ? json_real(sum_s / (double)account->used) : json_null();
}

json_t *plugin_program_json(struct plugin *plugin)
{
	const struct plugin_account account = plugin_account(plugin);
	json_t *failed = json_object();
	json_t *object;

	for (int i = 0; i < PLUGIN_FAILURES; i++)
		json_object_set_new(failed, plugin_failure_names[i],
				    json_integer((json_int_t)account.failed[i]));
	g_mutex_lock(&plugin->lock);
	object = policy_is_outside(&plugin->named)
			 ? json_pack("{s:s?, s:s, s:s?, s:I, s:I, s:O, s:o, s:o}", "name",
				     plugin->called, "state",
				     program_state_names[state_of_named(plugin)], "fallback",
				     plugin->wanted.settings.fallback, "events",
				     (json_int_t)account.events, "used", (json_int_t)account.used,
				     "failed", failed, "event_mean_s",
				     mean_json(account.event_s, &account), "compute_mean_s",
				     mean_json(account.compute_s, &account))
			 : json_null();
	g_mutex_unlock(&plugin->lock);
	json_decref(failed);
	return object;
}

const char *plugin_last_failure(const struct plugin *plugin, enum plugin_failure *ret_failure)
{
	if (plugin->why)
		*ret_failure = plugin->failure;
	return plugin->why;
}

/*
 * Takes over new settings, which the next process has. A program that owes an answer may hang for
 * good: its process is ended.
 */
static void take_settings(struct plugin *plugin)
{
	bool reloaded;

	g_mutex_lock(&plugin->lock);
	reloaded = plugin->reloaded;
	g_mutex_unlock(&plugin->lock);
	if (!reloaded)
		return;
	/* Without the lock, for which other threads would wait. */
	if (plugin->program.state == PROGRAM_BEHIND)
		program_end(&plugin->program, false);
	g_mutex_lock(&plugin->lock);
	copy_settings(&plugin->in_force, &plugin->wanted.settings);
	program_enable(&plugin->program);
	plugin->in_a_row = 0;
	plugin->reloaded = false;
	g_mutex_unlock(&plugin->lock);
}

/* Starting a program. */

/* The words of a program of ours; false with `error`. */
static bool add_own_program(GPtrArray *words, const char *name, GError **error)
{
	char *program = program_path(name, error);

	if (!program)
		return false;
	g_ptr_array_add(words, program);
	return true;
}

/* The words of a policy's name behind its prefix; false with `error`. */
static bool add_given(GPtrArray *words, const char *policy, GError **error)
{
	g_autoptr(GError) parsing = NULL;
	g_auto(GStrv) given = NULL;

	if (!g_shell_parse_argv(strchr(policy, ':') + 1, NULL, &given, &parsing))
		return error_fail(error, PLUGIN_ERROR, PLUGIN_ERROR_NAME,
				  "policy \"%s\": its words cannot be split: %s", policy,
				  parsing->message);
	for (char **word = given; *word; word++)
		g_ptr_array_add(words, g_strdup(*word));
	return true;
}

static bool add_words(GPtrArray *words, const char *policy, GError **error)
{
	const size_t prefix = strcspn(policy, ":");

	if (g_str_has_prefix(policy, "so:")) {
		if (!add_own_program(words, "virtbed-policy-so", error))
			return false;
		g_ptr_array_add(words, g_strdup(policy));
		return true;
	}
	if (g_str_has_prefix(policy, "exec:"))
		return add_given(words, policy, error);
	/* batsim: and batsim-edc: */
	if (!add_own_program(words, "virtbed-policy-batsim", error))
		return false;
	g_ptr_array_add(words, g_strndup(policy, prefix));
	return add_given(words, policy, error);
}

/*
 * The arguments of the host behind the settings; NULL with `error`. A scheduler of Batsim has its
 * conversation with virtbed-policy-batsim on a Unix socket.
 */
static char **host_words(const char *policy, GError **error)
{
	GPtrArray *words = g_ptr_array_new_with_free_func(g_free);

	if (g_str_has_prefix(policy, "batsim:"))
		g_ptr_array_add(words, g_strdup("--unix-sockets"));
	g_ptr_array_add(words, g_strdup("exec"));
	g_ptr_array_add(words, g_strdup("--"));
	if (!add_words(words, policy, error)) {
		g_ptr_array_unref(words);
		return NULL;
	}
	g_ptr_array_add(words, NULL);
	return (char **)g_ptr_array_free(words, FALSE);
}

bool plugin_find(const struct policy *policy, GError **error)
{
	g_auto(GStrv) words = NULL;
	g_autofree char *program = NULL;
	const char *wanted;
	bool here;

	if (!policy_is_outside(policy))
		return true;
	words = host_words(policy->name, error);
	if (!words)
		return false;
	if (g_str_has_prefix(policy->name, "so:")) {
		const char *file = policy->name + strlen("so:");

		return g_file_test(file, G_FILE_TEST_IS_REGULAR) ||
		       error_fail(error, PLUGIN_ERROR, PLUGIN_ERROR_NAME,
				  "policy \"%s\": there is no file \"%s\"; give its path",
				  policy->name, file);
	}
	wanted = words[g_str_equal(words[0], "exec") ? 2 : 3];
	program = g_find_program_in_path(wanted);
	here = g_file_test(wanted, G_FILE_TEST_IS_REGULAR);
	return program ||
	       error_fail(error, PLUGIN_ERROR, PLUGIN_ERROR_NAME,
			  "policy \"%s\": there is no program \"%s\"%s%s", policy->name, wanted,
			  !here                 ? "; give its path"
			  : strchr(wanted, '/') ? " that can be executed; chmod +x it"
						: " in PATH; for the file in this folder write "
						  "exec:./",
			  here && !strchr(wanted, '/') ? wanted : "");
}

/* Notes the policy that is asked next; whether it is another than before. */
static bool note_named(struct plugin *plugin, const struct policy *policy)
{
	bool changed;

	g_mutex_lock(&plugin->lock);
	changed = !plugin->named.ops || strcmp(plugin->named.name, policy->name) != 0;
	plugin->named = *policy;
	if (changed)
		g_clear_pointer(&plugin->called, g_free);
	g_mutex_unlock(&plugin->lock);
	return changed;
}

/* Starts a policy's program, if it has one. What fails here fails again at the event. */
static struct program start_named(const struct plugin_settings *settings,
				  const struct policy *policy)
{
	g_auto(GStrv) words = policy_is_outside(policy) ? host_words(policy->name, NULL) : NULL;
	struct program program = {0};

	if (words)
		program_start(&program, policy->name, (const char *const *)words, settings, NULL);
	return program;
}

void plugin_cancel(struct plugin *plugin)
{
	if (!plugin)
		return;
	g_mutex_lock(&plugin->lock);
	plugin->ended = true;
	eventfd_write(plugin->cancel, 1);
	g_mutex_unlock(&plugin->lock);
}

/* Programs are waited for again, unless a reload has named another policy, or for good. */
static void clear_cancel(struct plugin *plugin, const struct policy *policy)
{
	eventfd_t count;

	g_mutex_lock(&plugin->lock);
	if (!plugin->ended && strcmp(plugin->named.name, policy->name) == 0)
		eventfd_read(plugin->cancel, &count);
	g_mutex_unlock(&plugin->lock);
}

void plugin_reload(struct plugin *plugin, const struct plugin_settings *settings,
		   const struct policy *policy)
{
	const bool changed = note_named(plugin, policy);
	const struct program none = {0};
	const struct program next = changed ? start_named(settings, policy) : none;
	struct program unused;

	g_mutex_lock(&plugin->lock);
	copy_settings(&plugin->wanted, settings);
	plugin->reloaded = true;
	unused = plugin->next;
	plugin->next = next;
	if (changed)
		eventfd_write(plugin->cancel, 1);
	g_mutex_unlock(&plugin->lock);
	program_end(&unused, false);
}

/* Takes the program that was started at a reload to this policy, if there is no other. */
static void take_next(struct plugin *plugin)
{
	struct program unused = {0};

	g_mutex_lock(&plugin->lock);
	if (plugin->next.process && strcmp(plugin->named.name, plugin->policy.name) == 0)
		program_take(plugin->program.state == PROGRAM_ABSENT ? &plugin->program : &unused,
			     &plugin->next);
	g_mutex_unlock(&plugin->lock);
	program_end(&unused, false);
}

/* The plug-in's program becomes that of `policy`. */
static void choose(struct plugin *plugin, const struct policy *policy)
{
	if (plugin->policy.ops && strcmp(plugin->policy.name, policy->name) == 0)
		return;
	program_end(&plugin->program, is_well(plugin));
	program_enable(&plugin->program);
	g_clear_pointer(&plugin->words, g_strfreev);
	g_clear_pointer(&plugin->so, plugin_so_free);
	plugin->policy = *policy;
	plugin->in_a_row = 0;
}

/* Whether there is a command of the policy, or its shared object is loaded; else `error`. */
static bool find_command(struct plugin *plugin, GError **error)
{
	const char *name = plugin->policy.name;

	if (plugin->words || plugin->so)
		return true;
	if (plugin->in_force.settings.in_process && g_str_has_prefix(name, "so:"))
		plugin->so = plugin_so_open(name + strlen("so:"), error);
	else
		plugin->words = host_words(name, error);
	return plugin->words || plugin->so;
}

/* Whether the program runs and has said hello, which it is given until the deadline for. */
static bool greet(struct plugin *plugin, const struct program_terms *terms, int64_t deadline_ns,
		  enum plugin_failure *ret_failure, char **ret_why)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *name = NULL;

	if (plugin->program.state == PROGRAM_ABSENT &&
	    !program_start(&plugin->program, terms->policy, (const char *const *)plugin->words,
			   terms->settings, &error))
		return program_fail(PLUGIN_DIED, g_strdup(error->message), ret_failure, ret_why);
	if (!program_greet(&plugin->program, terms, deadline_ns, &name, ret_failure, ret_why))
		return false;
	if (name) {
		g_mutex_lock(&plugin->lock);
		g_free(plugin->called);
		plugin->called = g_steal_pointer(&name);
		g_mutex_unlock(&plugin->lock);
	}
	return true;
}

static struct program_terms terms_of(const struct plugin *plugin)
{
	return (struct program_terms){plugin->policy.name, &plugin->in_force.settings,
				      plugin->system, plugin->seed, plugin->cancel};
}

bool plugin_start(struct plugin *plugin, const struct policy *policy, GError **error)
{
	struct program_terms terms;
	enum plugin_failure failure;
	g_autofree char *why = NULL;

	note_named(plugin, policy);
	if (!policy_is_outside(policy))
		return true;
	choose(plugin, policy);
	if (!find_command(plugin, error))
		return false;
	if (plugin->so) {
		const char *misfit = policy_misfit(plugin_so_policy(plugin->so), plugin->system);

		return !misfit || error_fail(error, PLUGIN_ERROR, PLUGIN_ERROR_REFUSED,
					     "policy \"%s\" does not fit the system: %s",
					     policy->name, misfit);
	}
	terms = terms_of(plugin);
	if (greet(plugin, &terms, G_MAXINT64, &failure, &why))
		return true;
	if (failure == PLUGIN_REFUSED)
		return error_fail(error, PLUGIN_ERROR, PLUGIN_ERROR_REFUSED,
				  "policy \"%s\" refuses the system: %s", policy->name, why);
	if (failure == PLUGIN_LATE)
		return error_fail(error, PLUGIN_ERROR, PLUGIN_ERROR_START,
				  "policy \"%s\" has not answered \"hello\" within %d s; write one "
				  "line for each that is read, and flush the output",
				  policy->name, PROGRAM_HELLO_S);
	return error_fail(error, PLUGIN_ERROR, PLUGIN_ERROR_START,
			  "policy \"%s\" does not start: %s", policy->name, why);
}

bool plugin_check(const struct policy *policy, const struct plugin_settings *settings,
		  const struct sched_system *system, uint64_t seed, GError **error)
{
	g_autoptr(plugin_t) plugin = plugin_new(settings, system, seed);

	return plugin_start(plugin, policy, error);
}

/* Deciding. */

/* Whether a plan is legal. */
static bool verify(const struct sched_snapshot *snapshot, const struct sched_plan *plan,
		   struct arena *arena, enum plugin_failure *ret_failure, char **ret_why)
{
	const char *illegal = plan_rules_broken(snapshot, plan, arena);

	return !illegal || program_fail(PLUGIN_ILLEGAL, g_strdup(illegal), ret_failure, ret_why);
}

/* Notes how long an event took in which the plan is used; a program may say more of itself. */
static void note_times(struct plugin *plugin, int64_t begun_ns, double compute_s)
{
	const double event_s = clock_elapsed_s(begun_ns, clock_now_ns());

	g_mutex_lock(&plugin->lock);
	plugin->account.event_s += event_s;
	plugin->account.compute_s += MIN(compute_s, event_s);
	g_mutex_unlock(&plugin->lock);
}

/* Asks the shared object in this process. */
static bool ask_so(struct plugin *plugin, const struct sched_snapshot *snapshot,
		   struct policy_context *context, struct sched_plan *ret_plan,
		   enum plugin_failure *ret_failure, char **ret_why)
{
	const struct policy *policy = plugin_so_policy(plugin->so);
	const char *misfit = policy_misfit(policy, snapshot->system);
	const int64_t begun_ns = clock_now_ns();
	int64_t decided_ns;

	if (misfit)
		return program_fail(PLUGIN_REFUSED, g_strdup(misfit), ret_failure, ret_why);
	if (plugin_so_decide(plugin->so, plugin->in_force.settings.deadline_s, snapshot, context,
			     ret_plan) < 0)
		return program_fail(PLUGIN_REFUSED, g_strdup("out of memory"), ret_failure,
				    ret_why);
	decided_ns = clock_now_ns();
	if (!verify(snapshot, ret_plan, context->arena, ret_failure, ret_why))
		return false;
	note_times(plugin, begun_ns, clock_elapsed_s(begun_ns, decided_ns));
	return true;
}

/* Asks the program for a plan and verifies it. */
static bool ask(struct plugin *plugin, const struct sched_snapshot *snapshot, struct arena *arena,
		struct sched_plan *ret_plan, enum plugin_failure *ret_failure, char **ret_why)
{
	const int64_t begun_ns = clock_now_ns();
	const int64_t deadline_ns =
		begun_ns + (int64_t)(plugin->in_force.settings.deadline_s * NS_PER_S);
	const struct program_terms terms = terms_of(plugin);
	double compute_s = 0;

	/* Without a fallback an event can wait. */
	if (!greet(plugin, &terms, terms.settings->fallback ? deadline_ns : G_MAXINT64, ret_failure,
		   ret_why) ||
	    !program_ask(&plugin->program, &terms, ++plugin->number, snapshot, deadline_ns, arena,
			 ret_plan, &compute_s, ret_failure, ret_why) ||
	    !verify(snapshot, ret_plan, arena, ret_failure, ret_why))
		return false;
	note_times(plugin, begun_ns, compute_s);
	return true;
}

/* Notes what became of an event. */
static void note(struct plugin *plugin, bool used, enum plugin_failure failure)
{
	g_mutex_lock(&plugin->lock);
	plugin->account.events++;
	plugin->account.used += used;
	if (!used)
		plugin->account.failed[failure]++;
	if (failure != PLUGIN_STARTING || used)
		plugin->in_a_row = used ? 0 : plugin->in_a_row + 1;
	g_mutex_unlock(&plugin->lock);
}

static const char *copy_text(struct arena *arena, const char *text)
{
	char *copy = arena_array(arena, strlen(text) + 1, 1);

	return copy ? strcpy(copy, text) : NULL;
}

/* The plan of a fallback, with the reason. */
static int fall_back(const char *name, const struct sched_snapshot *snapshot,
		     struct policy_context *context, const char *reason,
		     struct sched_plan *ret_plan)
{
	struct policy fallback;
	char message[512];

	if (policy_parse(name, &fallback, message, sizeof(message)) < 0 ||
	    policy_misfit(&fallback, snapshot->system) || policy_is_outside(&fallback))
		g_error("the fallback \"%s\" was not checked", name);
	if (policy_decide(&fallback, snapshot, context, ret_plan) < 0)
		return -ENOMEM;
	ret_plan->fallback = copy_text(context->arena, name);
	ret_plan->fallback_reason = copy_text(context->arena, reason);
	return ret_plan->fallback && ret_plan->fallback_reason ? 0 : -ENOMEM;
}

/* Asks the program, unless it is disabled. */
static bool decide_outside(struct plugin *plugin, const struct policy *policy,
			   const struct sched_snapshot *snapshot, struct policy_context *context,
			   struct sched_plan *ret_plan, enum plugin_failure *ret_failure,
			   char **ret_why)
{
	g_autoptr(GError) error = NULL;

	choose(plugin, policy);
	take_next(plugin);
	if (plugin->program.state == PROGRAM_DISABLED)
		return program_fail(PLUGIN_DISABLED,
				    g_strdup_printf("after %d events in a row, the last one %s",
						    PLUGIN_FAILURES_MAX, plugin->last),
				    ret_failure, ret_why);
	if (!find_command(plugin, &error))
		return program_fail(PLUGIN_DIED, g_strdup(error->message), ret_failure, ret_why);
	if (plugin->so)
		return ask_so(plugin, snapshot, context, ret_plan, ret_failure, ret_why);
	return ask(plugin, snapshot, context->arena, ret_plan, ret_failure, ret_why);
}

/* One line, as JSON may have it: parts of it come from the program. */
static char *reason_of(enum plugin_failure failure, const char *why)
{
	g_autofree char *text = g_strdup_printf("%s: %s", plugin_failure_names[failure], why);

	for (char *at = text; *at; at++)
		if ((unsigned char)*at < ' ')
			*at = ' ';
	return g_utf8_make_valid(text, -1);
}

static int decide(struct policy_outside *outside, const struct policy *policy,
		  const struct sched_snapshot *snapshot, struct policy_context *context,
		  struct sched_plan *ret_plan)
{
	struct plugin *plugin = (struct plugin *)outside;
	enum plugin_failure failure = PLUGIN_LATE;
	g_autofree char *why = NULL;
	g_autofree char *reason = NULL;
	const char *stored = plugin->stored ? plugin->stored(snapshot->event, snapshot->now_s,
							     plugin->stored_data)
					    : NULL;

	if (stored) {
		/* It was not asked, or its process may have ended by it: the next one is new. */
		program_end(&plugin->program, false);
		return fall_back(stored, snapshot, context, "as the record says", ret_plan);
	}
	take_settings(plugin);
	clear_cancel(plugin, policy);
	g_clear_pointer(&plugin->why, g_free);
	if (decide_outside(plugin, policy, snapshot, context, ret_plan, &failure, &why)) {
		note(plugin, true, failure);
		return 0;
	}
	note(plugin, false, failure);
	reason = reason_of(failure, why);
	plugin->why = g_strdup(reason);
	plugin->failure = failure;
	if (!plugin->in_force.settings.fallback) {
		g_free(plugin->problem);
		plugin->problem = g_strdup_printf("policy \"%s\" did not decide mapping event "
						  "%" G_GUINT64_FORMAT " at %g s: %s",
						  policy->name, (guint64)snapshot->event,
						  snapshot->now_s, reason);
		outside->problem = plugin->problem;
		return -EIO;
	}
	if (failure != PLUGIN_DISABLED) {
		if (failure != PLUGIN_STARTING) {
			g_free(plugin->last);
			plugin->last = g_strdup(reason);
		}
		log_warning("%s: mapping event %" G_GUINT64_FORMAT " at %g s: %s; %s decides",
			    policy->name, (guint64)snapshot->event, snapshot->now_s, reason,
			    plugin->in_force.settings.fallback);
	}
	if (plugin->in_a_row >= PLUGIN_FAILURES_MAX && failure != PLUGIN_DISABLED) {
		log_error("%s: disabled after %d events in a row; %s decides until a "
			  "reload, or the end of the run",
			  policy->name, PLUGIN_FAILURES_MAX, plugin->in_force.settings.fallback);
		program_disable(&plugin->program);
	}
	return fall_back(plugin->in_force.settings.fallback, snapshot, context, reason, ret_plan);
}
