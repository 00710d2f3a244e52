/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/executor/simulated_host.h"

#include "common/clock.h"

void simulated_host_init(struct simulated_host *host, double idle_w, int64_t now_ns)
{
	*host = (struct simulated_host){.watts = idle_w, .at_ns = now_ns};
}

struct simulated_use simulated_host_use(const struct simulated_host *host, int64_t now_ns)
{
	const double elapsed_s = clock_elapsed_s(host->at_ns, now_ns);

	return (struct simulated_use){
		.energy_j = host->use.energy_j + host->watts * elapsed_s,
		.cpu_s = host->use.cpu_s + host->cores * elapsed_s,
	};
}

void simulated_host_load(struct simulated_host *host, int64_t now_ns, double watts, double cores)
{
	host->use = simulated_host_use(host, now_ns);
	host->at_ns = now_ns;
	host->watts += watts;
	host->cores += cores;
}

void simulated_use_add(struct simulated_use *use, struct simulated_use more, double factor)
{
	use->energy_j += factor * more.energy_j;
	use->cpu_s += factor * more.cpu_s;
}
