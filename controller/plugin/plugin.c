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
#include "controller/plugin/plugin_process.h"
#include "controller/plugin/plugin_protocol.h"
#include "controller/plugin/so/plugin_so.h"
#include "controller/sched/plan_rules.h"

#define LOG_SUBSYSTEM "policy"
#include "common/log.h"

/*
 * How long a program may take to say hello: an interpreter that loads. An event does not wait for
 * it as long, unless there is no fallback.
 */
#define HELLO_S 30
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
	bool ended;                  /* plugin_cancel() was called */
	int cancel;                  /* an eventfd, which can be read while nothing is waited for */
	char *named;                 /* the policy of the last start or reload; NULL: none */
	struct plugin_process *next; /* of `named`, started at the reload; NULL: none */
	int64_t next_begun_ns;       /* when that was */

	/* Of the thread that decides: */
	struct own_settings in_force;
	struct policy policy;           /* whose program it is; without ops: none yet */
	char **words;                   /* of its command; NULL: none */
	struct plugin_so *so;           /* what is loaded into this process; NULL: nothing */
	struct plugin_process *process; /* NULL: it is to be started */
	struct plugin_told told;        /* of the process */
	int64_t begun_ns;               /* when the process was started */
	char *hello;                    /* to the process; NULL: it is to be written yet */
	size_t hello_written;           /* bytes of it */
	bool greeted;                   /* the process has said hello */
	unsigned due;                   /* answers to `decide` that the process still owes */
	uint64_t number;                /* of the last message to any process */
	unsigned in_a_row;              /* events that failed */
	char *last;                     /* why the last one failed */
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

/* Ends the process; `kindly` if it may end by itself. */
static void end_process(struct plugin *plugin, bool kindly)
{
	size_t written = 0;

	if (!plugin->process)
		return;
	if (kindly && plugin_process_write(plugin->process, PLUGIN_BYE, strlen(PLUGIN_BYE),
					   &written, clock_now_ns() + NS_PER_S) != PLUGIN_IO_DONE)
		kindly = false;
	plugin_process_free(plugin->process, kindly);
	plugin->process = NULL;
	plugin->greeted = false;
	g_clear_pointer(&plugin->hello, g_free);
	plugin_told_clear(&plugin->told);
}

/* Whether the program has answered all that it was asked, so that it may answer a bye too. */
static bool is_well(const struct plugin *plugin)
{
	return plugin->greeted && plugin->due == 0 && plugin->in_a_row == 0;
}

void plugin_free(struct plugin *plugin)
{
	if (!plugin)
		return;
	end_process(plugin, is_well(plugin));
	plugin_process_free(plugin->next, false);
	g_free(plugin->named);
	close(plugin->cancel);
	g_mutex_clear(&plugin->lock);
	clear_settings(&plugin->wanted);
	clear_settings(&plugin->in_force);
	g_strfreev(plugin->words);
	plugin_so_free(plugin->so);
	g_free(plugin->hello);
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
	return account;
}

json_t *plugin_account_json(struct plugin *plugin)
{
	const struct plugin_account account = plugin_account(plugin);
	json_t *object =
		json_pack("{s:I, s:I, s:b, s:f, s:f}", "events", (json_int_t)account.events, "used",
			  (json_int_t)account.used, "disabled", account.disabled, "event_s",
			  account.event_s, "compute_s", account.compute_s);

	for (int i = 0; i < PLUGIN_FAILURES; i++)
		if (account.failed[i] > 0)
			json_object_set_new(object, plugin_failure_names[i],
					    json_integer((json_int_t)account.failed[i]));
	return object;
}

const char *plugin_last_failure(const struct plugin *plugin, enum plugin_failure *ret_failure)
{
	if (plugin->why)
		*ret_failure = plugin->failure;
	return plugin->why;
}

/* Takes over new settings, which the next process has. */
static void take_settings(struct plugin *plugin)
{
	g_mutex_lock(&plugin->lock);
	if (plugin->reloaded) {
		copy_settings(&plugin->in_force, &plugin->wanted.settings);
		plugin->account.disabled = false;
		plugin->in_a_row = 0;
		plugin->reloaded = false;
	}
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
	return program ||
	       error_fail(error, PLUGIN_ERROR, PLUGIN_ERROR_NAME,
			  "policy \"%s\": there is no program \"%s\"%s", policy->name, wanted,
			  g_file_test(wanted, G_FILE_TEST_IS_REGULAR)
				  ? " that can be executed; chmod +x it"
				  : "; give its path");
}

/* Notes the policy that is asked next; whether it is another than before. */
static bool note_named(struct plugin *plugin, const struct policy *policy)
{
	bool changed;

	g_mutex_lock(&plugin->lock);
	changed = g_strcmp0(plugin->named, policy->name) != 0;
	g_free(plugin->named);
	plugin->named = g_strdup(policy->name);
	g_mutex_unlock(&plugin->lock);
	return changed;
}

/* Starts a policy's program; NULL where there is nothing to start, or with `error` set. */
static struct plugin_process *start_named(const struct plugin_settings *settings,
					  const struct policy *policy, GError **error)
{
	g_auto(GStrv) words = policy_is_outside(policy) ? host_words(policy->name, error) : NULL;

	return words ? plugin_process_start(policy->name, (const char *const *)words, settings,
					    error)
		     : NULL;
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

static bool is_cancelled(const struct plugin *plugin)
{
	struct pollfd fd = {plugin->cancel, POLLIN, 0};

	return poll(&fd, 1, 0) > 0;
}

/* Programs are waited for again, unless a reload has named another policy, or for good. */
static void clear_cancel(struct plugin *plugin, const struct policy *policy)
{
	eventfd_t count;

	g_mutex_lock(&plugin->lock);
	if (!plugin->ended && g_strcmp0(plugin->named, policy->name) == 0)
		eventfd_read(plugin->cancel, &count);
	g_mutex_unlock(&plugin->lock);
}

void plugin_reload(struct plugin *plugin, const struct plugin_settings *settings,
		   const struct policy *policy)
{
	/* What fails here fails again at the event, which says so. */
	const bool changed = note_named(plugin, policy);
	struct plugin_process *next = changed ? start_named(settings, policy, NULL) : NULL;
	struct plugin_process *unused;

	g_mutex_lock(&plugin->lock);
	copy_settings(&plugin->wanted, settings);
	plugin->reloaded = true;
	unused = plugin->next;
	plugin->next = next;
	plugin->next_begun_ns = clock_now_ns();
	if (changed)
		eventfd_write(plugin->cancel, 1);
	g_mutex_unlock(&plugin->lock);
	plugin_process_free(unused, false);
}

/* Takes the process that was started at a reload to this policy, unless there is one. */
static void take_next(struct plugin *plugin)
{
	struct plugin_process *next = NULL;

	g_mutex_lock(&plugin->lock);
	if (plugin->next && g_str_equal(plugin->named, plugin->policy.name)) {
		next = g_steal_pointer(&plugin->next);
		if (!plugin->process)
			plugin->begun_ns = plugin->next_begun_ns;
	}
	g_mutex_unlock(&plugin->lock);
	if (plugin->process)
		plugin_process_free(next, false);
	else
		plugin->process = next;
}

/* The plug-in's program becomes that of `policy`. */
static void choose(struct plugin *plugin, const struct policy *policy)
{
	if (plugin->policy.ops && strcmp(plugin->policy.name, policy->name) == 0)
		return;
	end_process(plugin, is_well(plugin));
	g_clear_pointer(&plugin->words, g_strfreev);
	g_clear_pointer(&plugin->so, plugin_so_free);
	plugin->policy = *policy;
	plugin->in_a_row = 0;
	g_mutex_lock(&plugin->lock);
	plugin->account.disabled = false;
	g_mutex_unlock(&plugin->lock);
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

/* A failure with its reason, which it takes over. */
static bool fail(enum plugin_failure failure, char *why, enum plugin_failure *ret_failure,
		 char **ret_why)
{
	*ret_failure = failure;
	*ret_why = why;
	return false;
}

/* The failure of a write or a read, after which there is no conversation but after a late read. */
static bool fail_io(struct plugin *plugin, enum plugin_io io, enum plugin_failure *ret_failure,
		    char **ret_why)
{
	if (io == PLUGIN_IO_LATE && is_cancelled(plugin))
		return fail(PLUGIN_LATE, g_strdup("it is not waited for any longer"), ret_failure,
			    ret_why);
	if (io == PLUGIN_IO_LATE)
		return fail(PLUGIN_LATE,
			    g_strdup_printf("it did not answer within %g s",
					    plugin->in_force.settings.deadline_s),
			    ret_failure, ret_why);
	if (io == PLUGIN_IO_LONG)
		return fail(PLUGIN_RUBBISH,
			    g_strdup_printf("a line of its answer is longer than %u MiB",
					    PLUGIN_LINE_MAX >> 20),
			    ret_failure, ret_why);
	return fail(PLUGIN_DIED, plugin_process_end(plugin->process), ret_failure, ret_why);
}

/* Writes a message, which it frees. */
static bool send(struct plugin *plugin, char *text, int64_t deadline_ns,
		 enum plugin_failure *ret_failure, char **ret_why)
{
	g_autofree char *own = text;
	const size_t length = strlen(own);
	size_t written = 0;
	enum plugin_io io;

	if (length > PLUGIN_LINE_MAX) {
		/* It is taken to know tasks that it is not told about. */
		end_process(plugin, false);
		return fail(PLUGIN_REFUSED,
			    g_strdup_printf("the snapshot has more than %u MiB",
					    PLUGIN_LINE_MAX >> 20),
			    ret_failure, ret_why);
	}
	io = plugin_process_write(plugin->process, own, length, &written, deadline_ns);
	if (io == PLUGIN_IO_DONE)
		return true;
	fail_io(plugin, io, ret_failure, ret_why);
	/* A part of the message may be written: nothing can follow it. */
	end_process(plugin, false);
	return false;
}

/* Reads a line; a program that ended or wrote without end is ended. */
static bool hear(struct plugin *plugin, int64_t deadline_ns, const char **ret_line,
		 size_t *ret_length, enum plugin_failure *ret_failure, char **ret_why)
{
	const enum plugin_io io =
		plugin_process_read(plugin->process, deadline_ns, ret_line, ret_length);

	if (io == PLUGIN_IO_DONE)
		return true;
	fail_io(plugin, io, ret_failure, ret_why);
	if (io != PLUGIN_IO_LATE)
		end_process(plugin, false);
	return false;
}

static bool start_process(struct plugin *plugin, enum plugin_failure *ret_failure, char **ret_why)
{
	g_autoptr(GError) error = NULL;

	plugin->begun_ns = clock_now_ns();
	plugin->process =
		plugin_process_start(plugin->policy.name, (const char *const *)plugin->words,
				     &plugin->in_force.settings, &error);
	return plugin->process || fail(PLUGIN_DIED, g_strdup(error->message), ret_failure, ret_why);
}

/* Writes what is left of the hello. */
static enum plugin_io say_hello(struct plugin *plugin, int64_t deadline_ns)
{
	if (!plugin->hello) {
		plugin_told_init(&plugin->told);
		plugin->hello =
			plugin_write_hello(&plugin->told, plugin->policy.name, plugin->seed,
					   plugin->in_force.settings.deadline_s, plugin->system);
		plugin->hello_written = 0;
	}
	return plugin_process_write(plugin->process, plugin->hello, strlen(plugin->hello),
				    &plugin->hello_written, deadline_ns);
}

/* The failure of a hello in which a write or a read failed. */
static bool fail_hello(struct plugin *plugin, enum plugin_io io, enum plugin_failure *ret_failure,
		       char **ret_why)
{
	const double started_s = clock_elapsed_s(plugin->begun_ns, clock_now_ns());

	if (io == PLUGIN_IO_LATE && started_s < HELLO_S)
		return fail(PLUGIN_STARTING,
			    g_strdup_printf("it has not said hello yet, %.3g s after its start",
					    started_s),
			    ret_failure, ret_why);
	if (io == PLUGIN_IO_LATE)
		fail(PLUGIN_LATE,
		     g_strdup_printf("it did not say hello within %d s of its start", HELLO_S),
		     ret_failure, ret_why);
	else
		fail_io(plugin, io, ret_failure, ret_why);
	end_process(plugin, false);
	return false;
}

/*
 * Whether the program runs and has said hello, which it is given until the deadline for, and less
 * where it was started long ago.
 */
static bool greet(struct plugin *plugin, int64_t deadline_ns, enum plugin_failure *ret_failure,
		  char **ret_why)
{
	g_autofree char *name = NULL;
	enum plugin_answer answer;
	enum plugin_io io;
	const char *line;
	size_t length;

	if (!plugin->process && !start_process(plugin, ret_failure, ret_why))
		return false;
	plugin_process_set_cancel(plugin->process, plugin->cancel);
	if (plugin->greeted)
		return true;
	deadline_ns = MIN(deadline_ns, plugin->begun_ns + HELLO_S * NS_PER_S);
	io = say_hello(plugin, deadline_ns);
	if (io == PLUGIN_IO_DONE)
		io = plugin_process_read(plugin->process, deadline_ns, &line, &length);
	if (io != PLUGIN_IO_DONE)
		return fail_hello(plugin, io, ret_failure, ret_why);
	answer = plugin_read_hello(&plugin->told, line, length, plugin->system, &name, ret_why);
	if (answer == PLUGIN_ANSWER_GOOD) {
		log_debug("%s: started as \"%s\"", plugin->policy.name, name);
		plugin->greeted = true;
		plugin->due = 0;
		g_clear_pointer(&plugin->hello, g_free);
		return true;
	}
	*ret_failure = answer == PLUGIN_ANSWER_REFUSED ? PLUGIN_REFUSED : PLUGIN_RUBBISH;
	end_process(plugin, false);
	return false;
}

bool plugin_start(struct plugin *plugin, const struct policy *policy, GError **error)
{
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
	if (greet(plugin, G_MAXINT64, &failure, &why))
		return true;
	if (failure == PLUGIN_REFUSED)
		return error_fail(error, PLUGIN_ERROR, PLUGIN_ERROR_REFUSED,
				  "policy \"%s\" refuses the system: %s", policy->name, why);
	if (failure == PLUGIN_LATE)
		return error_fail(error, PLUGIN_ERROR, PLUGIN_ERROR_START,
				  "policy \"%s\" has not answered \"hello\" within %d s; write one "
				  "line for each that is read, and flush the output",
				  policy->name, HELLO_S);
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

/* Reads answers until that to the last message. */
static bool hear_plan(struct plugin *plugin, int64_t deadline_ns,
		      const struct sched_snapshot *snapshot, struct arena *arena,
		      struct sched_plan *ret_plan, double *ret_compute_s,
		      enum plugin_failure *ret_failure, char **ret_why)
{
	enum plugin_answer answer = PLUGIN_ANSWER_NONE;

	plugin->due++;
	while (answer == PLUGIN_ANSWER_NONE) {
		const char *line;
		size_t length;

		if (!hear(plugin, deadline_ns, &line, &length, ret_failure, ret_why))
			return false;
		answer = plugin_read_plan(&plugin->told, line, length, snapshot, arena, ret_plan,
					  ret_compute_s, ret_why);
		plugin->due--;
		if (answer == PLUGIN_ANSWER_NONE && plugin->due == 0) {
			answer = PLUGIN_ANSWER_WRONG;
			*ret_why = g_strdup("it answered an earlier message again");
		}
		/* Also where old answers come without end, or a plan takes long to read. */
		if (answer != PLUGIN_ANSWER_WRONG && clock_now_ns() > deadline_ns) {
			g_clear_pointer(ret_why, g_free);
			return fail_io(plugin, PLUGIN_IO_LATE, ret_failure, ret_why);
		}
	}
	if (answer == PLUGIN_ANSWER_GOOD)
		return true;
	*ret_failure = answer == PLUGIN_ANSWER_REFUSED   ? PLUGIN_REFUSED
		       : answer == PLUGIN_ANSWER_ILLEGAL ? PLUGIN_ILLEGAL
							 : PLUGIN_RUBBISH;
	if (answer == PLUGIN_ANSWER_WRONG)
		end_process(plugin, false);
	return false;
}

/* Whether a plan is legal. */
static bool verify(const struct sched_snapshot *snapshot, const struct sched_plan *plan,
		   struct arena *arena, enum plugin_failure *ret_failure, char **ret_why)
{
	const char *illegal = plan_rules_broken(snapshot, plan, arena);

	return !illegal || fail(PLUGIN_ILLEGAL, g_strdup(illegal), ret_failure, ret_why);
}

/* Notes how long an event took in which the plan is used. */
static void note_times(struct plugin *plugin, int64_t begun_ns, double compute_s)
{
	g_mutex_lock(&plugin->lock);
	plugin->account.event_s += clock_elapsed_s(begun_ns, clock_now_ns());
	plugin->account.compute_s += compute_s;
	g_mutex_unlock(&plugin->lock);
}

/* Asks the shared object in this process, which has no deadline. */
static bool ask_so(struct plugin *plugin, const struct sched_snapshot *snapshot,
		   struct policy_context *context, struct sched_plan *ret_plan,
		   enum plugin_failure *ret_failure, char **ret_why)
{
	const struct policy *policy = plugin_so_policy(plugin->so);
	const char *misfit = policy_misfit(policy, snapshot->system);
	const int64_t begun_ns = clock_now_ns();
	int64_t decided_ns;

	if (misfit)
		return fail(PLUGIN_REFUSED, g_strdup(misfit), ret_failure, ret_why);
	if (policy_decide(policy, snapshot, context, ret_plan) < 0)
		return fail(PLUGIN_REFUSED, g_strdup("out of memory"), ret_failure, ret_why);
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
	double compute_s = 0;

	/* Without a fallback an event can wait. */
	if (!greet(plugin, plugin->in_force.settings.fallback ? deadline_ns : G_MAXINT64,
		   ret_failure, ret_why) ||
	    !send(plugin, plugin_write_decide(&plugin->told, ++plugin->number, snapshot),
		  deadline_ns, ret_failure, ret_why) ||
	    !hear_plan(plugin, deadline_ns, snapshot, arena, ret_plan, &compute_s, ret_failure,
		       ret_why))
		return false;
	if (!verify(snapshot, ret_plan, arena, ret_failure, ret_why))
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
	plugin->account.disabled =
		plugin->in_force.settings.fallback && plugin->in_a_row >= PLUGIN_FAILURES_MAX;
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
	if (plugin_account(plugin).disabled)
		return fail(PLUGIN_DISABLED,
			    g_strdup_printf("after %d events in a row, the last one %s",
					    PLUGIN_FAILURES_MAX, plugin->last),
			    ret_failure, ret_why);
	if (!find_command(plugin, &error))
		return fail(PLUGIN_DIED, g_strdup(error->message), ret_failure, ret_why);
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
	bool was_disabled;

	if (stored) {
		/* It was not asked, or its process may have ended by it: the next one is new. */
		end_process(plugin, false);
		return fall_back(stored, snapshot, context, "as the record says", ret_plan);
	}
	take_settings(plugin);
	clear_cancel(plugin, policy);
	was_disabled = plugin_account(plugin).disabled;
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
	if (!was_disabled && plugin_account(plugin).disabled) {
		log_error("%s: disabled after %d events in a row; %s decides until a reload",
			  policy->name, PLUGIN_FAILURES_MAX, plugin->in_force.settings.fallback);
		end_process(plugin, false);
	}
	return fall_back(plugin->in_force.settings.fallback, snapshot, context, reason, ret_plan);
}
