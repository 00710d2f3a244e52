/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How much faster `virtbed study` is on several threads than on one: the whole program, figures
 * included, in turn with --jobs 1 and --jobs N. Both must write the same results.
 *
 *   study-speed CONFIG [--trials N] [--jobs N] [--rounds N]
 *
 * prints one JSON document; exit status 1 when results differ, 2 for bad usage or input.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "benchmarks/host.h"
#include "common/clock.h"
#include "common/json.h"

struct options {
	gint trials;
	gint jobs;
	gint rounds;
};

/* What the program took. */
struct pass {
	double wall_s;
	double cpu_s; /* of its threads and of what draws */
};

static double children_cpu_s(void)
{
	struct rusage usage;

	getrusage(RUSAGE_CHILDREN, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* Runs the study into an empty `dir`. Returns the text of its results, or NULL with `error` set. */
static char *time_study(const char *path, const struct options *options, gint jobs, const char *dir,
			struct pass *ret_pass, GError **error)
{
	g_autofree char *trials_text = g_strdup_printf("--trials=%d", options->trials);
	g_autofree char *jobs_text = g_strdup_printf("--jobs=%d", jobs);
	g_autofree char *out = g_strdup_printf("--out=%s/jobs-%d", dir, jobs);
	g_autofree char *results = g_strdup_printf("%s/jobs-%d/results.csv", dir, jobs);
	char *const command[] = {
		(char *)VIRTBED, (char *)"study", (char *)path, trials_text, jobs_text, out, NULL};
	const int64_t begun_ns = clock_now_ns();
	const double cpu_s = children_cpu_s();
	char *text = NULL;
	int status;

	if (!g_spawn_sync(NULL, (char **)command, NULL, G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL,
			  NULL, NULL, &status, error) ||
	    !g_spawn_check_wait_status(status, error))
		return NULL;
	*ret_pass = (struct pass){.wall_s = clock_elapsed_s(begun_ns, clock_now_ns()),
				  .cpu_s = children_cpu_s() - cpu_s};
	g_file_get_contents(results, &text, NULL, error);
	return text;
}

static void remove_tree(const char *dir)
{
	char *const command[] = {(char *)"rm", (char *)"-rf", (char *)dir, NULL};

	g_spawn_sync(NULL, (char **)command, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL,
		     NULL, NULL);
}

/* One round. Returns false with `error` set, or when the results differ. */
static bool time_both(const char *path, const struct options *options, struct pass *ret_one,
		      struct pass *ret_many, GError **error)
{
	g_autofree char *dir = g_dir_make_tmp("study-speed-XXXXXX", error);
	g_autofree char *one = NULL;
	g_autofree char *many = NULL;

	if (!dir)
		return false;
	one = time_study(path, options, 1, dir, ret_one, error);
	if (one)
		many = time_study(path, options, options->jobs, dir, ret_many, error);
	remove_tree(dir);
	if (many && strcmp(one, many) != 0)
		fputs("study-speed: the results depend on the number of threads\n", stderr);
	return many && strcmp(one, many) == 0;
}

static void keep_best(struct pass *best, const struct pass *pass)
{
	best->wall_s = fmin(best->wall_s, pass->wall_s);
	best->cpu_s = fmin(best->cpu_s, pass->cpu_s);
}

static json_t *pass_json(const struct pass *pass)
{
	return json_pack("{s:f, s:f}", "seconds", pass->wall_s, "cpu_seconds", pass->cpu_s);
}

static int measure(const char *path, const struct options *options)
{
	const double load = host_load();
	struct pass best[2] = {{INFINITY, INFINITY}, {INFINITY, INFINITY}};
	g_autoptr(json_t) document = NULL;
	g_autofree char *text = NULL;

	for (gint i = 0; i < options->rounds; i++) {
		g_autoptr(GError) error = NULL;
		struct pass one;
		struct pass many;

		if (!time_both(path, options, &one, &many, &error)) {
			if (error)
				fprintf(stderr, "study-speed: %s\n", error->message);
			return error ? 2 : 1;
		}
		keep_best(&best[0], &one);
		keep_best(&best[1], &many);
	}
	document = json_pack("{s:s, s:i, s:i, s:o, s:o, s:f, s:f, s:o}", "config", path, "trials",
			     options->trials, "jobs", options->jobs, "one", pass_json(&best[0]),
			     "many", pass_json(&best[1]), "ratio", best[0].wall_s / best[1].wall_s,
			     "cpu_ratio", best[1].cpu_s / best[0].cpu_s, "host", host_json(load));
	text = json_pretty(document);
	puts(text);
	return 0;
}

int main(int argc, char **argv)
{
	struct options options = {.trials = 16, .jobs = (gint)g_get_num_processors(), .rounds = 3};
	const GOptionEntry entries[] = {
		{"trials", 0, 0, G_OPTION_ARG_INT, &options.trials, "(16)", "N"},
		{"jobs", 0, 0, G_OPTION_ARG_INT, &options.jobs, "Threads (processors)", "N"},
		{"rounds", 0, 0, G_OPTION_ARG_INT, &options.rounds, "The fastest counts (3)", "N"},
		G_OPTION_ENTRY_NULL,
	};
	g_autoptr(GOptionContext) context = g_option_context_new("CONFIG - time studies");
	g_autoptr(GError) error = NULL;
	const char *wrong = NULL;

	g_option_context_add_main_entries(context, entries, NULL);
	if (!g_option_context_parse(context, &argc, &argv, &error))
		wrong = error->message;
	else if (argc != 2)
		wrong = "give one configuration file";
	else if (options.trials < 1 || options.jobs < 2 || options.rounds < 1)
		wrong = "--trials and --rounds must be at least 1, --jobs at least 2";
	if (!wrong)
		return measure(argv[1], &options);
	fprintf(stderr, "study-speed: %s\n", wrong);
	return 2;
}
