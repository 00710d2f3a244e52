/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/run/run_usage.h"

#include <string.h>
#include <unistd.h>

#include "common/read_number.h"

/*
 * proc(5): utime and stime are fields 14 and 15; the name, field 2, may hold any character but ends
 * with ')'.
 */
static bool read_cpu(GPid pid, double *ret_cpu_s)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/stat", pid);
	g_autofree char *text = NULL;
	g_auto(GStrv) fields = NULL;
	uint64_t user, system;
	const char *rest;

	if (!g_file_get_contents(path, &text, NULL, NULL))
		return false;
	rest = strrchr(text, ')');
	fields = g_strsplit(rest ?: "", " ", 15); /* element 1 is field 3 */
	if (g_strv_length(fields) < 15 || !read_number_unsigned(fields[12], 0, UINT64_MAX, &user) ||
	    !read_number_unsigned(fields[13], 0, UINT64_MAX, &system))
		return false;
	*ret_cpu_s = (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
	return true;
}

static bool read_rss(GPid pid, double *ret_rss_mib)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/status", pid);
	g_autofree char *text = NULL;
	const char *line;
	uint64_t kib;

	if (!g_file_get_contents(path, &text, NULL, NULL))
		return false;
	line = strstr(text, "VmHWM:");
	if (line)
		line += strlen("VmHWM:") + strspn(line + strlen("VmHWM:"), " \t");
	if (!read_number_front_unsigned(line, &kib))
		return false;
	*ret_rss_mib = (double)kib / 1024;
	return true;
}

bool run_usage_read(GPid pid, struct run_usage *ret_usage)
{
	return read_cpu(pid, &ret_usage->cpu_s) && read_rss(pid, &ret_usage->rss_mib);
}

struct run_usage run_usage_own(void)
{
	struct run_usage usage = {0};

	run_usage_read(getpid(), &usage);
	return usage;
}
