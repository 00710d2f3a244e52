/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How fast the MPI kernels are on this machine, beside what its memory can do: every kernel
 * natively, on each of the given numbers of ranks, in turn with a bandwidth loop and a gather loop
 * on as many threads (loops.h). The rates depend on the machine, the ratios to the loops much less.
 *
 *   kernel-speed [--programs DIR] [--class C] [--ranks 1,2] [--rounds N] [--mpiexec PROGRAM]
 *                [--emulated N] [--image DIR] [--qemu PROGRAM]
 *
 * and then each kernel of class S under QEMU's emulator, on a processor with fused multiply-add and
 * on one without (emulated.h). It prints one JSON document; exit status 1 when a kernel does not
 * run or not verify, 2 for bad usage.
 *
 * For class A on 1 and 2 ranks `reference_mops` is what the Fortran and C of NPB 3.4 reached (MPICH
 * 4.0, gcc 12.2 -O3 -march=native, two shared cores of an AMD EPYC, median of 5): another machine
 * needs its own, and the loops say how it compares.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "benchmarks/host.h"
#include "benchmarks/kernels/emulated.h"
#include "benchmarks/kernels/loops.h"
#include "common/json.h"
#include "common/read_number.h"
#include "common/subprocess.h"

#define RUN_TIMEOUT_S 1800
#define ROUNDS_MAX 100
#define RANKS_MAX 1024

struct options {
	gchar *programs;
	gchar *class_;
	gchar *ranks;
	gchar *mpiexec;
	gint rounds;
	gint emulated; /* rounds under the emulator; 0: none */
	gchar *image;
	gchar *qemu;
};

struct kernel {
	const char *program;
	double reference_mops[2]; /* class A, 1 and 2 ranks */
};

static const struct kernel kernels[] = {
	{"is", {141, 284}},
	{"cg", {2388, 4870}},
	{"mg", {4464, 8787}},
	{"ep", {188, 373}},
};

/* All that is measured on one number of ranks; a row per round. */
struct figures {
	int ranks;
	double *triad_gb_per_s, *gather_m_per_s;
	double *mops[G_N_ELEMENTS(kernels)];
};

/* The number of the report's line `Mop/s total`; false if there is none. */
static bool find_mops(const char *output, double *ret_mops)
{
	static const char name[] = "\n Mop/s total     =";
	const char *line = strstr(output, name);

	if (!line)
		return false;
	*ret_mops = g_ascii_strtod(line + strlen(name), NULL);
	return *ret_mops > 0;
}

/* One run of a kernel, which exits with 0 only if it verified. */
static bool run_kernel(const struct options *options, const char *kernel, int ranks,
		       double *ret_mops, GError **error)
{
	g_autofree char *program = g_build_filename(options->programs, kernel, NULL);
	g_autofree char *n = g_strdup_printf("%d", ranks);
	g_autofree char *output = NULL;
	const char *const argv[] = {options->mpiexec, "-n", n, program, "--class",
				    options->class_,  NULL};

	if (!subprocess_run(argv, NULL, RUN_TIMEOUT_S, &output, error)) {
		g_prefix_error(error, "%s on %d ranks: ", kernel, ranks);
		return false;
	}
	if (find_mops(output, ret_mops))
		return true;
	g_set_error(error, SUBPROCESS_ERROR, SUBPROCESS_ERROR_OUTPUT,
		    "%s on %d ranks: no line ' Mop/s total' in its output", kernel, ranks);
	return false;
}

/* One line that is written over, for a person. */
static void show_progress(int ranks, int round, int rounds, const char *kernel)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r%d ranks, round %d of %d: %-5s", ranks, round + 1, rounds,
			kernel);
}

/* Loops and kernels in turn, so that a busy spell of the machine meets all of them. */
static bool measure_round(const struct options *options, struct figures *figures, int round,
			  GError **error)
{
	int ranks = figures->ranks;

	figures->triad_gb_per_s[round] = loops_triad_gb_per_s(ranks, LOOPS_TRIAD_BYTES);
	figures->gather_m_per_s[round] = loops_gather_m_per_s(ranks);
	if (figures->triad_gb_per_s[round] < 0 || figures->gather_m_per_s[round] < 0) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOMEM, "no memory for the loops");
		return false;
	}
	for (size_t k = 0; k < G_N_ELEMENTS(kernels); k++) {
		show_progress(ranks, round, options->rounds, kernels[k].program);
		if (!run_kernel(options, kernels[k].program, ranks, &figures->mops[k][round],
				error))
			return false;
	}
	return true;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(const double *values, int count)
{
	g_autofree double *sorted = g_memdup2(values, (gsize)count * sizeof(*values));

	qsort(sorted, (size_t)count, sizeof(*sorted), compare);
	return count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

static json_t *values_json(const double *values, int count)
{
	json_t *array = json_array();

	for (int i = 0; i < count; i++)
		json_array_append_new(array, json_real(values[i]));
	return array;
}

static json_t *kernel_json(const struct options *options, const struct figures *figures, size_t k)
{
	double mops = median(figures->mops[k], options->rounds);
	double triad = median(figures->triad_gb_per_s, options->rounds);
	double gather = median(figures->gather_m_per_s, options->rounds);
	json_t *json = json_pack("{s:s, s:f, s:f, s:f, s:o}", "name", kernels[k].program, "mops",
				 mops, "mops_per_triad_gb_per_s", mops / triad,
				 "mops_per_gather_m_per_s", mops / gather, "mops_rounds",
				 values_json(figures->mops[k], options->rounds));

	if (g_str_equal(options->class_, "A") && figures->ranks <= 2) {
		double reference = kernels[k].reference_mops[figures->ranks - 1];

		json_object_set_new(json, "reference_mops", json_real(reference));
		json_object_set_new(json, "to_reference", json_real(mops / reference));
	}
	return json;
}

static json_t *figures_json(const struct options *options, const struct figures *figures)
{
	json_t *list = json_array();

	for (size_t k = 0; k < G_N_ELEMENTS(kernels); k++)
		json_array_append_new(list, kernel_json(options, figures, k));
	return json_pack("{s:i, s:f, s:f, s:o}", "ranks", figures->ranks, "triad_gb_per_s",
			 median(figures->triad_gb_per_s, options->rounds), "gather_m_per_s",
			 median(figures->gather_m_per_s, options->rounds), "kernels", list);
}

/* Measures on `ranks` ranks; NULL on failure. */
static json_t *measure_ranks(const struct options *options, int ranks, GError **error)
{
	struct figures figures = {.ranks = ranks};
	json_t *json = NULL;
	bool good = true;

	figures.triad_gb_per_s = g_new0(double, options->rounds);
	figures.gather_m_per_s = g_new0(double, options->rounds);
	for (size_t k = 0; k < G_N_ELEMENTS(kernels); k++)
		figures.mops[k] = g_new0(double, options->rounds);
	for (int round = 0; round < options->rounds && good; round++)
		good = measure_round(options, &figures, round, error);
	if (isatty(STDERR_FILENO))
		fputc('\n', stderr);
	if (good)
		json = figures_json(options, &figures);
	g_free(figures.triad_gb_per_s);
	g_free(figures.gather_m_per_s);
	for (size_t k = 0; k < G_N_ELEMENTS(kernels); k++)
		g_free(figures.mops[k]);
	return json;
}

/* The numbers of ranks of the list `text`; NULL if it is no such list. */
static GArray *parse_ranks(const char *text)
{
	g_auto(GStrv) words = g_strsplit(text, ",", -1);
	g_autoptr(GArray) ranks = g_array_new(FALSE, FALSE, sizeof(int));

	for (char **word = words; *word; word++) {
		guint64 value = 0;
		int number;

		if (!read_number_unsigned(*word, 1, RANKS_MAX, &value) ||
		    (value & (value - 1)) != 0)
			return NULL;
		number = (int)value;
		g_array_append_val(ranks, number);
	}
	return ranks->len > 0 ? g_steal_pointer(&ranks) : NULL;
}

/* What the build puts at `path`, seen from this program; the caller frees it. */
static char *beside(const char *path)
{
	g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
	g_autofree char *directory = self ? g_path_get_dirname(self) : g_strdup(".");

	return g_build_filename(directory, path, NULL);
}

/* NULL on failure. */
static json_t *measure_emulated(const struct options *options, GError **error)
{
	g_autofree char *init = beside("guest-init");
	const struct emulated_settings settings = {
		.qemu = options->qemu,
		.image = options->image,
		.programs = options->programs,
		.init = init,
		.class_ = "S",
		.rounds = options->emulated,
	};
	const char *programs[G_N_ELEMENTS(kernels)];

	if (options->emulated == 0)
		return json_pack("{s:s}", "skipped", "not asked for");
	for (size_t k = 0; k < G_N_ELEMENTS(kernels); k++)
		programs[k] = kernels[k].program;
	return emulated_measure(&settings, programs, G_N_ELEMENTS(programs), error);
}

/* Returns the exit status. */
static int measure(const struct options *options, const GArray *ranks)
{
	g_autoptr(json_t) document = NULL;
	g_autoptr(GError) wrong = NULL;
	g_autofree char *text = NULL;
	json_t *emulated;
	json_t *list = json_array();

	document = json_pack("{s:s, s:i, s:o, s:o}", "class", options->class_, "rounds",
			     options->rounds, "host", host_json(host_load()), "ranks", list);
	for (guint i = 0; i < ranks->len; i++) {
		g_autoptr(GError) error = NULL;
		json_t *json = measure_ranks(options, g_array_index(ranks, int, i), &error);

		if (!json) {
			fprintf(stderr, "kernel-speed: %s\n", error->message);
			return 1;
		}
		json_array_append_new(list, json);
	}
	emulated = measure_emulated(options, &wrong);
	if (!emulated) {
		fprintf(stderr, "kernel-speed: %s\n", wrong->message);
		return 1;
	}
	json_object_set_new(document, "emulated", emulated);
	text = json_pretty(document);
	puts(text);
	return 0;
}

static const char *check(const struct options *options)
{
	if (strlen(options->class_) != 1 || !strchr("SWABC", options->class_[0]))
		return "--class must be one of S, W, A, B, C";
	if (options->rounds < 1 || options->rounds > ROUNDS_MAX)
		return "--rounds must be a number from 1 to 100";
	if (options->emulated < 0 || options->emulated > ROUNDS_MAX)
		return "--emulated must be a number from 0 to 100";
	return NULL;
}

int main(int argc, char **argv)
{
	struct options options = {
		.programs = beside("../npb"),
		.class_ = g_strdup("A"),
		.ranks = g_strdup("1,2"),
		.mpiexec = g_strdup("mpiexec"),
		.rounds = 5,
		.emulated = 1,
		.image = beside("../../image"),
		.qemu = g_strdup("qemu-system-x86_64"),
	};
	const GOptionEntry entries[] = {
		{"programs", 0, 0, G_OPTION_ARG_FILENAME, &options.programs,
		 "Where the kernels are (../npb)", "DIR"},
		{"class", 0, 0, G_OPTION_ARG_STRING, &options.class_, "Problem class (A)", "C"},
		{"ranks", 0, 0, G_OPTION_ARG_STRING, &options.ranks,
		 "Numbers of ranks, powers of two (1,2)", "N,..."},
		{"rounds", 0, 0, G_OPTION_ARG_INT, &options.rounds, "Runs of each (5)", "N"},
		{"mpiexec", 0, 0, G_OPTION_ARG_FILENAME, &options.mpiexec,
		 "MPICH's launcher (mpiexec)", "PROGRAM"},
		{"emulated", 0, 0, G_OPTION_ARG_INT, &options.emulated,
		 "Runs of each under QEMU's emulator, with FMA and without (1)", "N"},
		{"image", 0, 0, G_OPTION_ARG_FILENAME, &options.image,
		 "Where the guest image is (../../image)", "DIR"},
		{"qemu", 0, 0, G_OPTION_ARG_FILENAME, &options.qemu, "QEMU (qemu-system-x86_64)",
		 "PROGRAM"},
		{NULL},
	};
	g_autoptr(GOptionContext) context = g_option_context_new("- time the MPI kernels");
	g_autoptr(GError) error = NULL;
	g_autoptr(GArray) ranks = NULL;
	const char *wrong = NULL;

	g_option_context_add_main_entries(context, entries, NULL);
	if (!g_option_context_parse(context, &argc, &argv, &error))
		wrong = error->message;
	else if (argc > 1)
		wrong = "no arguments but options, try --help";
	else
		wrong = check(&options);
	if (!wrong && !(ranks = parse_ranks(options.ranks)))
		wrong = "--ranks must be powers of two, such as 1,2";
	if (!wrong)
		return measure(&options, ranks);
	fprintf(stderr, "kernel-speed: %s\n", wrong);
	return 2;
}
