/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/executor/executor.h"

G_DEFINE_QUARK(virtbed_executor, executor_error)

const struct executor_ops *executor_find(const struct config_cluster *cluster)
{
	return cluster->simulated ? &executor_simulated_ops : &executor_libvirt_ops;
}
