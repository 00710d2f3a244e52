/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/lab/lab_clean.h"

#include "local-sched/lab/lab_cgroup.h"
#include "local-sched/lab/lab_paths.h"
#include "local-sched/lab/lab_record.h"

enum { GROUPS_TIMEOUT_S = 10 };

bool lab_clean_needed(const char *lab)
{
	g_autoptr(lab_cgroup_t) cgroup = lab_cgroup_of(lab, NULL);
	g_autofree char *run = lab_paths_run(lab, NULL);
	g_autofree char *data = lab_paths_data(lab, NULL);

	return g_file_test(run, G_FILE_TEST_EXISTS) || g_file_test(data, G_FILE_TEST_EXISTS) ||
	       (cgroup && lab_cgroup_exists(cgroup, lab)) || lab_record_supervisor(lab).pid > 0;
}

bool lab_clean(const char *lab, GError **error)
{
	g_autoptr(lab_cgroup_t) cgroup = lab_cgroup_of(lab, NULL);

	return lab_record_kill(lab, error) &&
	       (!cgroup || lab_cgroup_remove(cgroup, lab, GROUPS_TIMEOUT_S, error)) &&
	       lab_record_remove(lab, error);
}
