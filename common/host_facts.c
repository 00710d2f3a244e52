/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/host_facts.h"

#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/clock.h"

/* The value of the first line "KEY <blanks>: VALUE" of /proc/cpuinfo, or NULL. */
static char *cpuinfo_value(const char *text, const char *key)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

	for (char **line = lines; *line; line++) {
		char *colon = strchr(*line, ':');

		if (!colon)
			continue;
		*colon = '\0';
		if (g_str_equal(g_strstrip(*line), key))
			return g_strdup(g_strstrip(colon + 1));
	}
	return NULL;
}

static void read_cpu(struct host_facts *facts, const char *root)
{
	g_autofree char *path = g_strconcat(root, "/proc/cpuinfo", NULL);
	g_autofree char *text = NULL;

	if (!g_file_get_contents(path, &text, NULL, NULL))
		return;
	facts->cpu = cpuinfo_value(text, "model name");
	facts->microcode = cpuinfo_value(text, "microcode");
}

/* The governor of all processors, "mixed" if they differ, NULL without cpufreq. */
static char *read_governor(const char *root)
{
	g_autofree char *cpus = g_strconcat(root, "/sys/devices/system/cpu", NULL);
	g_autoptr(GDir) dir = g_dir_open(cpus, 0, NULL);
	g_autofree char *common = NULL;
	const char *name;

	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *path =
			g_build_filename(cpus, name, "cpufreq/scaling_governor", NULL);
		g_autofree char *governor = NULL;

		if (!g_str_has_prefix(name, "cpu") || !g_ascii_isdigit(name[3]) ||
		    !g_file_get_contents(path, &governor, NULL, NULL))
			continue;
		g_strstrip(governor);
		if (common && !g_str_equal(common, governor))
			return g_strdup("mixed");
		if (!common)
			common = g_steal_pointer(&governor);
	}
	return g_steal_pointer(&common);
}

struct host_facts *host_facts_read(const char *root)
{
	struct host_facts *facts = g_new0(struct host_facts, 1);
	struct utsname name;

	uname(&name);
	facts->name = g_strdup(name.nodename);
	facts->kernel = g_strdup(name.release);
	facts->boot_id = clock_boot_id();
	facts->cores = (guint)sysconf(_SC_NPROCESSORS_ONLN);
	facts->memory_mib = (guint64)sysconf(_SC_PHYS_PAGES) * (guint64)sysconf(_SC_PAGESIZE) >> 20;
	read_cpu(facts, root ? root : "");
	facts->governor = read_governor(root ? root : "");
	return facts;
}

void host_facts_free(struct host_facts *facts)
{
	if (!facts)
		return;
	g_free(facts->name);
	g_free(facts->kernel);
	g_free(facts->boot_id);
	g_free(facts->cpu);
	g_free(facts->microcode);
	g_free(facts->governor);
	g_free(facts);
}
