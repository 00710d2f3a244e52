/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "benchmarks/kernels/emulated.h"

#include <glib/gstdio.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/subprocess.h"

/* For one boot with all kernels: a hundred times what a quiet machine takes. */
#define BOOT_TIMEOUT_S 1800
#define PACK_TIMEOUT_S 120

/*
 * As the local scheduler's domains have them (local-sched/hypervisor/domain_xml.c), but for the
 * feature.
 */
static const struct processor {
	const char *name; /* in the document */
	const char *cpu;  /* QEMU's */
} processors[] = {
	{"fma", "max"},
	{"no_fma", "max,-fma"},
};

#define PROCESSORS G_N_ELEMENTS(processors)

static bool fail(GError **error, const char *what, const char *on)
{
	g_set_error(error, SUBPROCESS_ERROR, SUBPROCESS_ERROR_OUTPUT, "emulated: %s '%s'", what,
		    on);
	return false;
}

/* The guest's files. */

static bool run(GError **error, const char *a, const char *b, const char *c, const char *d)
{
	const char *const argv[] = {a, b, c, d, NULL};

	return subprocess_run(argv, NULL, PACK_TIMEOUT_S, NULL, error);
}

/* The kernels are one program under several names. */
static bool fill(const struct emulated_settings *settings, const char *root,
		 const char *const *programs, gsize count, GError **error)
{
	g_autofree char *init = g_build_filename(root, "init", NULL);
	g_autofree char *npb = g_build_filename(root, "npb", NULL);
	g_autofree char *first = g_build_filename(npb, programs[0], NULL);
	g_autofree char *program = g_build_filename(settings->programs, programs[0], NULL);

	if (g_mkdir_with_parents(npb, 0755) != 0)
		return fail(error, "cannot create", npb);
	if (!run(error, "cp", settings->init, init, NULL) ||
	    !run(error, "strip", "-o", first, program))
		return false;
	for (gsize i = 1; i < count; i++) {
		g_autofree char *other = g_build_filename(npb, programs[i], NULL);

		if (link(first, other) != 0)
			return fail(error, "cannot link", other);
	}
	return true;
}

static bool pack(const char *root, const char *initramfs, GError **error)
{
	const char *const argv[] = {
		"sh",
		"-c",
		"cd \"$1\" && find . | cpio --quiet --owner=0:0 --format=newc --create >\"$2\"",
		"sh",
		root,
		initramfs,
		NULL};

	return subprocess_run(argv, NULL, PACK_TIMEOUT_S, NULL, error);
}

/* A boot. */

struct boot {
	GPid pid;
	int output;
	int64_t began_ns;
	GString *text; /* not taken yet */
};

/* That of all threads of QEMU so far, seconds. */
static double cpu_s(const struct boot *boot)
{
	struct timespec time = {0};
	clockid_t clock;

	if (clock_getcpuclockid(boot->pid, &clock) == 0)
		clock_gettime(clock, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* The next line of the serial port; NULL: there is none, or not in time. The caller frees it. */
static char *next_line(struct boot *boot)
{
	struct pollfd output = {.fd = boot->output, .events = POLLIN};
	char *end;

	while (!(end = strchr(boot->text->str, '\n'))) {
		char bytes[4096];
		ssize_t length;

		if (clock_elapsed_s(boot->began_ns, clock_now_ns()) > BOOT_TIMEOUT_S)
			return NULL;
		if (poll(&output, 1, 1000) <= 0)
			continue;
		length = read(boot->output, bytes, sizeof(bytes));
		if (length <= 0)
			return NULL;
		g_string_append_len(boot->text, bytes, length);
	}
	{
		char *line = g_strchomp(g_strndup(boot->text->str, (gsize)(end - boot->text->str)));

		g_string_erase(boot->text, 0, end - boot->text->str + 1);
		return line;
	}
}

/* The seconds that each kernel takes, in order. */
static bool time_kernels(struct boot *boot, const char *const *programs, gsize count, double *ret_s,
			 GError **error)
{
	double began_s = 0;
	gsize ended = 0;

	while (ended < count) {
		g_autofree char *line = next_line(boot);

		if (!line)
			return fail(error, "the guest has said nothing of", programs[ended]);
		if (g_str_has_prefix(line, "BEGIN ")) {
			began_s = cpu_s(boot);
		} else if (g_str_has_prefix(line, "END ")) {
			if (!g_str_equal(line, "END 0"))
				return fail(error, "in the guest does not verify", programs[ended]);
			ret_s[ended++] = cpu_s(boot) - began_s;
		}
	}
	return true;
}

static char *arguments_of_linux(const struct emulated_settings *settings,
				const char *const *programs, gsize count)
{
	g_autoptr(GString) text = g_string_new(NULL);

	g_string_printf(
		text,
		"console=ttyS0 quiet panic=-1 mitigations=off VIRTBED_BLOCK_MS=2 UCX_TLS=tcp,self "
		"NPB_CLASS=%s --",
		settings->class_);
	for (gsize i = 0; i < count; i++)
		g_string_append_printf(text, " /npb/%s", programs[i]);
	return g_string_free(g_steal_pointer(&text), FALSE);
}

static bool boot_once(const struct emulated_settings *settings, const char *initramfs,
		      const char *cpu, const char *const *programs, gsize count, double *ret_s,
		      GError **error)
{
	g_autofree char *kernel = g_build_filename(settings->image, "vmlinuz", NULL);
	g_autofree char *arguments = arguments_of_linux(settings, programs, count);
	const char *const argv[] = {
		settings->qemu, "-accel",      "tcg,tb-size=64", "-machine",    "pc",
		"-cpu",         cpu,           "-smp",           "1,maxcpus=2", "-m",
		"256",          "-nodefaults", "-display",       "none",        "-no-reboot",
		"-serial",      "stdio",       "-kernel",        kernel,        "-initrd",
		initramfs,      "-append",     arguments,        NULL};
	struct boot boot = {.began_ns = clock_now_ns()};
	int input;
	bool good;

	boot.pid = subprocess_spawn_pipes(argv, NULL, true, &input, &boot.output, error);
	if (boot.pid < 0)
		return false;
	boot.text = g_string_new(NULL);
	good = time_kernels(&boot, programs, count, ret_s, error);
	close(input);
	close(boot.output);
	subprocess_stop(boot.pid, 1);
	g_string_free(boot.text, TRUE);
	return good;
}

/* The document. */

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

/* `seconds` of one kernel: a row of rounds per processor. */
static json_t *kernel_json(const char *program, double *const *seconds, int rounds)
{
	json_t *json = json_pack("{s:s}", "name", program);

	for (gsize p = 0; p < PROCESSORS; p++) {
		g_autofree char *key = g_strconcat(processors[p].name, "_cpu_s", NULL);
		g_autofree char *rounds_key =
			g_strconcat(processors[p].name, "_cpu_s_rounds", NULL);
		json_t *list = json_array();

		for (int i = 0; i < rounds; i++)
			json_array_append_new(list, json_real(seconds[p][i]));
		json_object_set_new(json, key, json_real(median(seconds[p], rounds)));
		json_object_set_new(json, rounds_key, list);
	}
	json_object_set_new(json, "fma_to_no_fma",
			    json_real(median(seconds[0], rounds) / median(seconds[1], rounds)));
	return json;
}

static json_t *measure(const struct emulated_settings *settings, const char *initramfs,
		       const char *const *programs, gsize count, GError **error)
{
	g_autofree double *once = g_new0(double, count);
	g_autofree double *all = g_new0(double, (gsize)settings->rounds *PROCESSORS *count);
	json_t *list = json_array();

	for (int round = 0; round < settings->rounds; round++) {
		for (gsize p = 0; p < PROCESSORS; p++) {
			if (!boot_once(settings, initramfs, processors[p].cpu, programs, count,
				       once, error)) {
				json_decref(list);
				return NULL;
			}
			for (gsize k = 0; k < count; k++)
				all[(k * PROCESSORS + p) * (gsize)settings->rounds + (gsize)round] =
					once[k];
		}
	}
	for (gsize k = 0; k < count; k++) {
		double *rows[PROCESSORS];

		for (gsize p = 0; p < PROCESSORS; p++)
			rows[p] = &all[(k * PROCESSORS + p) * (gsize)settings->rounds];
		json_array_append_new(list, kernel_json(programs[k], rows, settings->rounds));
	}
	return json_pack("{s:s, s:i, s:o}", "class", settings->class_, "rounds", settings->rounds,
			 "kernels", list);
}

/* Why nothing can be measured; NULL: it can. The caller frees it. */
static char *missing(const struct emulated_settings *settings)
{
	g_autofree char *qemu = g_find_program_in_path(settings->qemu);
	g_autofree char *cpio = g_find_program_in_path("cpio");
	g_autofree char *kernel = g_build_filename(settings->image, "vmlinuz", NULL);

	if (!qemu)
		return g_strdup_printf("there is no '%s': install qemu-system-x86", settings->qemu);
	if (!cpio)
		return g_strdup("there is no 'cpio': install it");
	if (!g_file_test(kernel, G_FILE_TEST_EXISTS))
		return g_strdup_printf("there is no '%s': ./testbed build makes it", kernel);
	return NULL;
}

static bool remove_tree(const char *directory, GError **error)
{
	return run(error, "rm", "-rf", directory, NULL);
}

json_t *emulated_measure(const struct emulated_settings *settings, const char *const *programs,
			 gsize programs_count, GError **error)
{
	g_autofree char *reason = missing(settings);
	g_autofree char *directory = NULL;
	g_autofree char *root = NULL;
	g_autofree char *initramfs = NULL;
	json_t *json = NULL;

	if (reason)
		return json_pack("{s:s}", "skipped", reason);
	directory = g_dir_make_tmp("kernel-speed-XXXXXX", error);
	if (!directory)
		return NULL;
	root = g_build_filename(directory, "root", NULL);
	initramfs = g_build_filename(directory, "initramfs", NULL);
	if (fill(settings, root, programs, programs_count, error) && pack(root, initramfs, error))
		json = measure(settings, initramfs, programs, programs_count, error);
	remove_tree(directory, NULL);
	return json;
}
