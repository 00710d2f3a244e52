/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <unistd.h>

#include "local-sched/lab/lab.h"
#include "local-sched/lab/lab_clean.h"
#include "local-sched/lab/lab_record.h"

enum { LOCK_TIMEOUT_S = 60 };

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
