/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/hypervisor/boot_watch.h"

#include <math.h>
#include <stddef.h>

void boot_watch_init(struct boot_watch *watch, double deadline_s)
{
	*watch = (struct boot_watch){
		.cpu_max_s = BOOT_WATCH_CPU_MAX_S + fmax(0, deadline_s - BOOT_WATCH_DEADLINE_S),
		.idle_share = BOOT_WATCH_IDLE_SHARE * fmin(1, BOOT_WATCH_DEADLINE_S / deadline_s),
	};
}

static bool was_idle(const struct boot_watch *watch, int64_t t_ns, uint64_t cpu_ns)
{
	return (double)(cpu_ns - watch->cpu_ns) < watch->idle_share * (double)(t_ns - watch->t_ns);
}

const char *boot_watch_look(struct boot_watch *watch, int64_t t_ns, uint64_t cpu_ns)
{
	bool comparable = watch->t_ns && t_ns > watch->t_ns && cpu_ns >= watch->cpu_ns;

	if (cpu_ns == 0)
		return NULL;
	watch->idle = comparable && was_idle(watch, t_ns, cpu_ns) ? watch->idle + 1 : 0;
	watch->t_ns = t_ns;
	watch->cpu_ns = cpu_ns;
	if (watch->idle >= BOOT_WATCH_IDLE_LOOKS)
		return "it idles without an agent";
	return (double)cpu_ns > watch->cpu_max_s * 1e9 ? "it goes in circles without an agent"
						       : NULL;
}
