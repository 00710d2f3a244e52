/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * virtbed-simulator: whole services with their faults under virtual time, one for each seed. Exit
 * status: 0 every invariant held, 1 one was broken ("violation: ..."), 2 bad usage.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/version/build_version.h"
#include "tests/simulator/sim_log.h"
#include "tests/simulator/sim_plan.h"
#include "tests/simulator/sim_world.h"

enum { STATUS_HELD = 0, STATUS_VIOLATED = 1, STATUS_USAGE = 2 };

/* A seed that takes longer than this in real time hangs, seconds. */
#define HANG_S 300

#define STORY_LINES 60

struct options {
	char *seed, *seeds, *minutes, *jobs, *one;
	gboolean story, shrink, log, plan;
	gboolean events, each, memory;
};
typedef struct options options_t; /* for g_auto() */

static void options_clear(struct options *options)
{
	g_free(options->seed);
	g_free(options->seeds);
	g_free(options->minutes);
	g_free(options->jobs);
	g_free(options->one);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(options_t, options_clear)

/* What a seed gave, as its process hands it over. */
struct result {
	uint64_t seed;
	struct sim_counts counts;
	char hash[65];
	char violation[1500]; /* "": none */
};

/* The log of the seed that this process carries out, for messages that are fatal. */
static struct sim_log *log_of_process;

static void take_message(const gchar *domain, GLogLevelFlags flags, const gchar *message,
			 gpointer data)
{
	if (flags & (G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_ERROR))
		sim_log_violate(log_of_process, -1, "no critical message", "%s", message);
	if (flags & G_LOG_LEVEL_ERROR)
		fprintf(stderr, "%s\n", message);
}

static void carry_out(const struct sim_plan *plan, struct sim_log *log, struct result *ret_result)
{
	const char *violation;

	*ret_result = (struct result){.seed = plan->seed};
	log_of_process = log;
	g_log_set_default_handler(take_message, NULL);
	sim_run(plan, log, &ret_result->counts);
	g_strlcpy(ret_result->hash, sim_log_hash(log), sizeof(ret_result->hash));
	violation = sim_log_violation(log);
	g_strlcpy(ret_result->violation, violation ?: "", sizeof(ret_result->violation));
}

/* The daemons' own log, on standard error, is left out unless VIRTBED_LOG is set. */
static void be_silent(void)
{
	const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (g_getenv("VIRTBED_LOG") || null < 0)
		return;
	dup2(null, STDERR_FILENO);
	close(null);
}

/* Begins a seed in a process of its own; *ret_pipe gives its result. */
static pid_t begin(const struct sim_plan *plan, int *ret_pipe)
{
	int ends[2];
	pid_t child;

	if (pipe(ends) < 0)
		g_error("pipe: %s", g_strerror(errno));
	fflush(stdout);
	child = fork();
	if (child < 0)
		g_error("fork: %s", g_strerror(errno));
	if (child == 0) {
		g_autoptr(sim_log_t) log = sim_log_new(false);
		struct result result;

		close(ends[0]);
		be_silent();
		alarm(HANG_S);
		carry_out(plan, log, &result);
		_exit(write(ends[1], &result, sizeof(result)) == sizeof(result) ? 0 : 1);
	}
	close(ends[1]);
	*ret_pipe = ends[0];
	return child;
}

/* Waits for the end of a seed. */
static void await(pid_t child, int pipe, uint64_t seed, struct result *ret_result)
{
	const ssize_t length = read(pipe, ret_result, sizeof(*ret_result));
	int status = 0;

	close(pipe);
	waitpid(child, &status, 0);
	if (length == sizeof(*ret_result))
		return;
	*ret_result = (struct result){.seed = seed};
	g_snprintf(ret_result->violation, sizeof(ret_result->violation), "no daemon crashes: %s %d",
		   WIFSIGNALED(status) ? "signal" : "status",
		   WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static void print_violation(const struct result *result)
{
	printf("violation: %s\n  seed %" G_GUINT64_FORMAT ", commit %s\n"
	       "  virtbed-simulator --seed %" G_GUINT64_FORMAT " --story\n",
	       result->violation, result->seed, build_version(), result->seed);
}

/* Shrinking. */

static bool fails_still(const struct sim_plan *plan)
{
	struct result result;
	int pipe;
	const pid_t child = begin(plan, &pipe);

	await(child, pipe, plan->seed, &result);
	return result.violation[0] != '\0';
}

/*
 * Leaves out what the violation does not need, halves first and then single actions (Zeller and
 * Hildebrandt 2002, "Simplifying and isolating failure-inducing input", ddmin).
 */
static void shrink(struct sim_plan *plan)
{
	for (guint size = plan->actions->len; size > 0; size /= 2) {
		for (guint from = 0; from < plan->actions->len; from += size) {
			const guint to = MIN(from + size, plan->actions->len);
			g_autofree bool *before = g_new(bool, to - from);
			bool any = false;

			for (guint i = from; i < to; i++) {
				struct sim_action *action =
					&g_array_index(plan->actions, struct sim_action, i);

				before[i - from] = action->left_out;
				any = any || !action->left_out;
				action->left_out = true;
			}
			if (!any || fails_still(plan))
				continue;
			for (guint i = from; i < to; i++)
				g_array_index(plan->actions, struct sim_action, i).left_out =
					before[i - from];
		}
	}
}

static void print_plan(const struct sim_plan *plan)
{
	printf("%u clusters, policy %s%s every %g s, limit %g J in %g s, delay %u ms + %u ms, "
	       "work %u ms, operations %g s, long tasks %g s, faults until %.0f s\n",
	       plan->clusters, plan->policy, plan->other_policy ? " or easy" : "",
	       plan->mapping_interval_s, plan->energy_limit_j, plan->energy_window_s,
	       plan->delay_ms, plan->jitter_ms, plan->work_ms, plan->operation_s, plan->long_s,
	       plan->active_s);
	for (guint i = 0; i < plan->actions->len; i++) {
		const struct sim_action *action =
			&g_array_index(plan->actions, struct sim_action, i);
		g_autofree char *text = sim_action_text(action);

		if (!action->left_out)
			printf("  %u: %s\n", i, text);
	}
}

/* One seed. */

/* Takes over the plan. */
static int run_plan(const struct options *options, struct sim_plan *taken)
{
	g_autoptr(sim_plan_t) plan = taken;
	g_autoptr(sim_log_t) log = sim_log_new(options->events);
	struct result result;

	if (options->shrink && fails_still(plan))
		shrink(plan);
	if (options->plan || options->shrink)
		print_plan(plan);
	fflush(stdout);
	be_silent();
	carry_out(plan, log, &result);
	if (options->story)
		sim_log_story(log, STORY_LINES);
	printf("seed %" G_GUINT64_FORMAT ": %" G_GUINT64_FORMAT " events in %.0f s, log %s\n",
	       plan->seed, result.counts.events, result.counts.simulated_s, result.hash);
	if (!result.violation[0])
		return STATUS_HELD;
	print_violation(&result);
	return STATUS_VIOLATED;
}

/* What a world leaves of memory that is used once all of it was dropped, bytes. */
#define MEMORY_LEFT 65536

/*
 * Carries out a seed three times in this process: what libraries keep is there after the second
 * time, and the third may leave nothing.
 */
static int run_memory(uint64_t seed)
{
	g_autoptr(sim_plan_t) plan = sim_plan_new(seed);
	struct result result;
	size_t used = 0;
	size_t before = 0;

	be_silent();
	for (guint i = 0; i < 3; i++) {
		struct sim_log *log = sim_log_new(false);

		carry_out(plan, log, &result);
		sim_log_free(log);
		before = used;
		used = mallinfo2().uordblks;
	}
	printf("seed %" G_GUINT64_FORMAT ": %" G_GUINT64_FORMAT " lives, %zu bytes, %zd more than "
	       "before\n",
	       seed, result.counts.lives, used, (ssize_t)(used - before));
	if (!result.violation[0] && used > before + MEMORY_LEFT)
		g_snprintf(result.violation, sizeof(result.violation),
			   "memory is bounded: %zu bytes are left", used - before);
	if (!result.violation[0])
		return STATUS_HELD;
	print_violation(&result);
	return STATUS_VIOLATED;
}

/* Many seeds. */

#define JOBS_MAX 64

struct swarm {
	uint64_t next, last; /* seeds */
	gint64 until_us;     /* of real time */
	guint jobs;
	struct {
		pid_t child; /* 0: none */
		int pipe;
		uint64_t seed;
	} running[JOBS_MAX];
	struct sim_counts sums;
	guint64 seeds, violations;
};

static void add_counts(struct sim_counts *sums, const struct sim_counts *counts)
{
	guint64 *to = &sums->events;
	const guint64 *from = &counts->events;

	for (gsize i = 0; i < offsetof(struct sim_counts, simulated_s) / sizeof(*to); i++)
		to[i] += from[i];
	sums->simulated_s += counts->simulated_s;
	sums->quiet_s = fmax(sums->quiet_s, counts->quiet_s);
}

static void print_figures(const struct swarm *swarm, double real_s)
{
	const struct sim_counts *sums = &swarm->sums;
	struct rusage usage;
	double cpu_s;

	printf("%" G_GUINT64_FORMAT " seeds, %" G_GUINT64_FORMAT " events, %" G_GUINT64_FORMAT
	       " requests, %" G_GUINT64_FORMAT " lives\n",
	       swarm->seeds, sums->events, sums->requests, sums->lives);
	printf("%" G_GUINT64_FORMAT " kills, %" G_GUINT64_FORMAT " crashes, %" G_GUINT64_FORMAT
	       " torn, %" G_GUINT64_FORMAT " partitions, %" G_GUINT64_FORMAT
	       " cuts, %" G_GUINT64_FORMAT " disk faults, %" G_GUINT64_FORMAT
	       " clock steps, %" G_GUINT64_FORMAT " stops, %" G_GUINT64_FORMAT
	       " freezes, %" G_GUINT64_FORMAT " odd requests\n",
	       sums->kills, sums->crashes, sums->tears, sums->partitions, sums->cuts,
	       sums->disk_faults, sums->steps, sums->stops, sums->freezes, sums->odd);
	printf("%" G_GUINT64_FORMAT " tasks submitted, %" G_GUINT64_FORMAT
	       " completed, %" G_GUINT64_FORMAT " other requests acknowledged\n",
	       sums->tasks, sums->completed, sums->acknowledged);
	printf("all was quiet %.0f s after the last fault at the latest\n", sums->quiet_s);
	getrusage(RUSAGE_CHILDREN, &usage);
	cpu_s = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
		(double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
	printf("%.1f simulated hours in %.1f s: %.0f hours per hour, %.0f per hour of a processor\n",
	       sums->simulated_s / 3600, real_s, sums->simulated_s / fmax(real_s, 0.001),
	       sums->simulated_s / fmax(cpu_s, 0.001));
	printf("%" G_GUINT64_FORMAT " violations\n", swarm->violations);
}

static bool goes_on(const struct swarm *swarm)
{
	return swarm->next <= swarm->last && g_get_monotonic_time() < swarm->until_us;
}

static int run_swarm(struct swarm *swarm)
{
	const gint64 begun_us = g_get_monotonic_time();
	guint at = 0;
	guint under_way = 0;

	while (goes_on(swarm) || under_way > 0) {
		struct result result;

		if (!swarm->running[at].child && goes_on(swarm)) {
			g_autoptr(sim_plan_t) plan = sim_plan_new(swarm->next);

			swarm->running[at].seed = swarm->next++;
			swarm->running[at].child = begin(plan, &swarm->running[at].pipe);
			under_way++;
		}
		at = (at + 1) % swarm->jobs;
		if (!swarm->running[at].child)
			continue;
		await(swarm->running[at].child, swarm->running[at].pipe, swarm->running[at].seed,
		      &result);
		swarm->running[at].child = 0;
		under_way--;
		swarm->seeds++;
		add_counts(&swarm->sums, &result.counts);
		if (!result.violation[0])
			continue;
		swarm->violations++;
		print_violation(&result);
		fflush(stdout);
	}
	print_figures(swarm, (double)(g_get_monotonic_time() - begun_us) / 1e6);
	return swarm->violations > 0 ? STATUS_VIOLATED : STATUS_HELD;
}

/* A fault at each change of a disk. */

static char *one_text(const struct sim_one *one)
{
	return g_strdup_printf("%u,%u,%u,%u", one->part, one->life, one->change,
			       one->fails ? SIM_DEATHS : one->death);
}

static bool read_one(const char *text, struct sim_one *ret_one)
{
	unsigned int death;

	if (sscanf(text, "%u,%u,%u,%u", &ret_one->part, &ret_one->life, &ret_one->change, &death) !=
		    4 ||
	    death > SIM_DEATHS)
		return false;
	ret_one->fails = death == SIM_DEATHS;
	ret_one->death = ret_one->fails ? SIM_KILL : (enum sim_death)death;
	return true;
}

/* Changes of one life, until it has no more; adds them to the figures. */
static void run_life(struct swarm *swarm, struct sim_one *one)
{
	struct result result;

	for (one->change = 1;; one->change++) {
		g_autoptr(sim_plan_t) plan = sim_plan_one(one);
		g_autofree char *text = one_text(one);
		int pipe;
		const pid_t child = begin(plan, &pipe);

		await(child, pipe, one->change, &result);
		swarm->seeds++;
		add_counts(&swarm->sums, &result.counts);
		if (result.violation[0]) {
			swarm->violations++;
			printf("violation: %s\n  commit %s\n  virtbed-simulator --one %s --story\n",
			       result.violation, build_version(), text);
			fflush(stdout);
		} else if (!result.counts.one) {
			return;
		}
	}
}

static int run_each(struct swarm *swarm)
{
	const gint64 begun_us = g_get_monotonic_time();

	for (uint32_t part = SIM_CONTROLLER; part <= SIM_LOCALS; part++)
		for (uint32_t life = 1; life <= 2; life++)
			for (uint32_t death = 0; death <= SIM_DEATHS; death++) {
				struct sim_one one = {.part = part,
						      .life = life,
						      .death = death == SIM_DEATHS
								       ? SIM_KILL
								       : (enum sim_death)death,
						      .fails = death == SIM_DEATHS};

				run_life(swarm, &one);
				printf("%s, life %u, %s: %u changes\n",
				       part == SIM_CONTROLLER ? "service" : "local scheduler", life,
				       one.fails ? "its disk fails" : sim_death_names[death],
				       one.change - 1);
				fflush(stdout);
			}
	print_figures(swarm, (double)(g_get_monotonic_time() - begun_us) / 1e6);
	return swarm->violations > 0 ? STATUS_VIOLATED : STATUS_HELD;
}

static bool read_seeds(const char *text, uint64_t *ret_first, uint64_t *ret_last)
{
	char *end;

	*ret_first = *ret_last = g_ascii_strtoull(text, &end, 10);
	if (*end == '-' && g_ascii_isdigit(end[1]))
		*ret_last = g_ascii_strtoull(end + 1, &end, 10);
	return end != text && *end == '\0' && *ret_last >= *ret_first;
}

static int usage(const char *what)
{
	fprintf(stderr, "virtbed-simulator: %s; try --help\n", what);
	return STATUS_USAGE;
}

int main(int argc, char **argv)
{
	g_auto(options_t) options = {0};
	const GOptionEntry entries[] = {
		{"seed", 0, 0, G_OPTION_ARG_STRING, &options.seed, "One seed", "S"},
		{"seeds", 0, 0, G_OPTION_ARG_STRING, &options.seeds, "Seeds from A to B", "A-B"},
		{"minutes", 0, 0, G_OPTION_ARG_STRING, &options.minutes,
		 "Seeds, until so many minutes of real time have passed", "M"},
		{"jobs", 0, 0, G_OPTION_ARG_STRING, &options.jobs, "Seeds side by side (1)", "N"},
		{"each-change", 0, 0, G_OPTION_ARG_NONE, &options.each,
		 "A small world for each change of a disk, in which one fault comes", NULL},
		{"one", 0, 0, G_OPTION_ARG_STRING, &options.one, "One of these",
		 "PART,LIFE,CHANGE,FAULT"},
		{"memory", 0, 0, G_OPTION_ARG_NONE, &options.memory,
		 "With --seed: three times, and whether memory is left", NULL},
		{"story", 0, 0, G_OPTION_ARG_NONE, &options.story, "Print the last events", NULL},
		{"events", 0, 0, G_OPTION_ARG_NONE, &options.events, "Print all events", NULL},
		{"plan", 0, 0, G_OPTION_ARG_NONE, &options.plan, "Print the plan of the seed",
		 NULL},
		{"shrink", 0, 0, G_OPTION_ARG_NONE, &options.shrink,
		 "Leave out what a violation does not need", NULL},
		{NULL},
	};
	g_autoptr(GOptionContext) context =
		g_option_context_new("- services and their faults under virtual time");
	g_autoptr(GError) error = NULL;
	struct sim_one one = {0};
	struct swarm swarm = {.until_us = G_MAXINT64, .jobs = 1};
	uint64_t seed;
	uint64_t last;

	g_option_context_add_main_entries(context, entries, NULL);
	if (!g_option_context_parse(context, &argc, &argv, &error))
		return usage(error->message);
	if (argc > 1 ||
	    (!options.seed && !options.seeds && !options.minutes && !options.each && !options.one))
		return usage("give --seed, --seeds, --minutes or --each-change");
	if (options.one)
		return read_one(options.one, &one) ? run_plan(&options, sim_plan_one(&one))
						   : usage("--one: not PART,LIFE,CHANGE,FAULT");
	if (options.each)
		return run_each(&swarm);
	if (options.seed && (!read_seeds(options.seed, &seed, &last) || seed != last))
		return usage("--seed: not a number");
	if (options.seed && options.memory)
		return run_memory(seed);
	if (options.seed)
		return run_plan(&options, sim_plan_new(seed));
	if (options.jobs)
		swarm.jobs = (guint)CLAMP(g_ascii_strtoull(options.jobs, NULL, 10), 1, JOBS_MAX);
	if (options.seeds && !read_seeds(options.seeds, &swarm.next, &swarm.last))
		return usage("--seeds: not A-B");
	if (!options.seeds) {
		swarm.next = 1;
		swarm.last = UINT64_MAX;
	}
	if (options.minutes)
		swarm.until_us = g_get_monotonic_time() +
				 (gint64)(g_ascii_strtod(options.minutes, NULL) * 60e6);
	return run_swarm(&swarm);
}
