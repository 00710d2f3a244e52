/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

#include "local-sched/lab/lab_spec.h"

/*
 * The texts of a blade's configuration files. They start from the defaults of libvirt's programs,
 * not from the machine's /etc/libvirt, which may hold somebody's own VMs and networks. What they
 * relax (TCP without authentication, QEMU as root, no security driver) is for the lab alone: its
 * network leads nowhere. All functions return a new string.
 */

/* The blade's address, "10.77.0.NUMBER". */
char *lab_blade_files_address(const struct lab_spec_blade *blade);

/* By which the libvirt of another blade reaches this one's, in the lab's own network. */
char *lab_blade_files_peer_uri(const struct lab_spec_blade *blade);

/* /etc/hosts: all blades, so that migration finds its peer by host name. */
char *lab_blade_files_hosts(const struct lab_spec *spec);

/* /etc/libvirt/libvirtd.conf. */
char *lab_blade_files_libvirtd_conf(const struct lab_spec_blade *blade);

/* /etc/libvirt/qemu.conf. */
char *lab_blade_files_qemu_conf(void);
