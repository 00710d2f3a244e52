/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/carrier/carrier.h"

const struct carrier_ops *carrier_find(const struct config_cluster *cluster)
{
	return cluster->simulated ? &carrier_simulated_ops : &carrier_libvirt_ops;
}
