/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/cpu/host_knob.h"

#include <string.h>

#include "common/read_number.h"
#include "local-sched/cpu/sysfs.h"

const char *host_knob_effect_name(enum host_knob_effect effect)
{
	static const char *const names[] = {
		[HOST_KNOB_UNKNOWN] = "unknown",
		[HOST_KNOB_EFFECTIVE] = "yes",
		[HOST_KNOB_NOT_EFFECTIVE] = "no",
	};

	return names[effect];
}

void host_knob_set_text(char **text, char *value)
{
	g_free(*text);
	*text = value;
}

void host_knob_judge(struct host_knob *knob, enum host_knob_effect effect, char *reason)
{
	knob->effect = effect;
	host_knob_set_text(&knob->reason, reason);
}

void host_knob_clear(struct host_knob *knob)
{
	g_clear_pointer(&knob->requested, g_free);
	g_clear_pointer(&knob->set, g_free);
	g_clear_pointer(&knob->read_back, g_free);
	g_clear_pointer(&knob->reason, g_free);
}

/* Whether `number` is in a list of the kernel, "0-3,8". A list of another form has all numbers. */
static bool is_in_list(const char *list, uint64_t number)
{
	const char *rest = list;

	while (*rest) {
		uint64_t first, last;

		rest = read_number_front_unsigned(rest, &first);
		last = first;
		if (rest && *rest == '-')
			rest = read_number_front_unsigned(rest + 1, &last);
		if (!rest || (*rest != ',' && *rest != '\0'))
			return true;
		if (first <= number && number <= last)
			return true;
		rest += *rest == ',';
	}
	return false;
}

static char *read_below(const char *directory, const char *name)
{
	g_autofree char *path = g_build_filename(directory, name, NULL);

	return sysfs_read(path, NULL);
}

static bool has_directory(const char *cpu, const char *name)
{
	g_autofree char *path = g_build_filename(cpu, name, NULL);

	return g_file_test(path, G_FILE_TEST_IS_DIR);
}

/*
 * Whether a CPU is online: by its own file, which the first CPU often has not, or the list of all
 * (`list`, NULL: there is none). Where neither says so, it has to have something to set, or at
 * least a topology; where SMT is off (`smt_off`) that is not enough.
 */
static bool is_online(const char *cpu, uint64_t number, const char *list, bool smt_off)
{
	g_autofree char *online = read_below(cpu, "online");

	if (g_strcmp0(online, "0") == 0 || (list && *list && !is_in_list(list, number)))
		return false;
	return online || (list && *list && !smt_off) || has_directory(cpu, "cpufreq") ||
	       has_directory(cpu, "cpuidle") || (has_directory(cpu, "topology") && !smt_off);
}

char **host_knob_cpus(const char *sys_root)
{
	g_autofree char *directory = g_build_filename(sys_root, "devices", "system", "cpu", NULL);
	g_auto(GStrv) names = sysfs_list(directory, "cpu");
	g_autoptr(GStrvBuilder) cpus = g_strv_builder_new();
	g_autofree char *list = read_below(directory, "online");
	g_autofree char *smt = read_below(directory, "smt/control");
	const bool smt_off = smt && (strcmp(smt, "off") == 0 || strcmp(smt, "forceoff") == 0);

	for (gsize i = 0; names[i]; i++) {
		g_autofree char *path = g_build_filename(directory, names[i], NULL);
		uint64_t number;

		/* Not "cpufreq" and "cpuidle". */
		if (read_number_unsigned(names[i] + strlen("cpu"), 0, G_MAXUINT64, &number) &&
		    is_online(path, number, list, smt_off))
			g_strv_builder_add(cpus, path);
	}
	return g_strv_builder_end(cpus);
}
