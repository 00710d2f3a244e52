/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/lab/lab_paths.h"

#include "common/lab_state.h"

char *lab_paths_run(const char *lab, const char *file)
{
	return g_build_filename(LAB_STATE_ROOT, lab, file, NULL);
}

char *lab_paths_data(const char *lab, const char *file)
{
	return g_build_filename(LAB_PATHS_DATA_ROOT, lab, file, NULL);
}

char *lab_paths_blade_run(const char *lab, uint32_t number, const char *file)
{
	return g_strdup_printf("%s/%s/b%u/%s", LAB_STATE_ROOT, lab, number, file);
}

char *lab_paths_blade_data(const char *lab, uint32_t number, const char *file)
{
	return g_strdup_printf("%s/%s/b%u/%s", LAB_PATHS_DATA_ROOT, lab, number, file);
}

char *lab_paths_uri(const char *lab, uint32_t number)
{
	g_autofree char *socket = lab_paths_blade_run(lab, number, "run/libvirt-sock");

	return g_strdup_printf("qemu+unix:///system?socket=%s", socket);
}
