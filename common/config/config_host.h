/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config_meter.h"

/*
 * A machine that runs a hypervisor. Either `uri` is given, or `blade` names an emulated blade of
 * this configuration's lab, which supplies URIs, bridge and meter when the lab is up.
 */
struct config_host {
	char *name;     /* unique; default: the blade's name, or CLUSTER-N */
	char *uri;      /* libvirt URI, or NULL */
	char *peer_uri; /* libvirt URI by which the cluster's other hosts reach it; default: uri */
	char *blade;    /* lab blade, or NULL */
	char *bridge;   /* bridge on the host to which the guests' NICs go; default "br0" */
	struct config_meter *meter; /* NULL: none */
	/* where the CPUs' knobs are, on a host that is this machine; default "/sys" */
	char *sys_root;
	char *dev_root; /* and cpu_dma_latency; default "/dev" */
};

/* The rows of the structures above. */
extern const struct config_section config_host_section;
