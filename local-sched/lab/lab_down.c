/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <unistd.h>

#include "local-sched/lab/lab.h"
#include "local-sched/lab/lab_cgroup.h"
#include "local-sched/lab/lab_clean.h"
#include "local-sched/lab/lab_paths.h"
#include "local-sched/lab/lab_record.h"

enum { LOCK_TIMEOUT_S = 60, GROUPS_TIMEOUT_S = 10 };

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

bool lab_down(const char *name, bool *ret_was, GError **error)
{
	int lock;
	bool done;

	*ret_was = lab_clean_needed(name);
	if (!*ret_was)
		return true;
	/* Before locking: an `up` that holds the lock then fails, cleans up and releases it. */
	if (!lab_record_kill(name, error))
		return false;
	lock = lab_record_lock(name, LOCK_TIMEOUT_S, error);
	if (lock < 0)
		return false;
	done = lab_clean(name, error);
	close(lock);
	return done;
}
