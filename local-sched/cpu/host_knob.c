/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/cpu/host_knob.h"

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

char **host_knob_cpus(const char *sys_root)
{
	g_autofree char *directory = g_build_filename(sys_root, "devices", "system", "cpu", NULL);
	g_auto(GStrv) names = sysfs_list(directory, "cpu");
	g_autoptr(GStrvBuilder) cpus = g_strv_builder_new();

	for (gsize i = 0; names[i]; i++) {
		g_autofree char *path = g_build_filename(directory, names[i], NULL);

		/* Not "cpufreq" and "cpuidle". */
		if (g_ascii_isdigit(names[i][3]))
			g_strv_builder_add(cpus, path);
	}
	return g_strv_builder_end(cpus);
}
