/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "local-sched/lab/lab_spec.h"

/*
 * The texts of a blade's configuration files. They start from the defaults of libvirt's programs,
 * not from the machine's /etc/libvirt, which may have VMs and networks of other users. Their
 * relaxed settings (TCP without authentication, QEMU as root, no security driver) are for the lab
 * alone: its network has no way out. All functions return a new string.
 */

/* The blade's address, "10.77.0.NUMBER". */
char *lab_blade_files_address(const struct lab_spec_blade *blade);

/* The URI by which the libvirt of another blade reaches this blade's, in the lab's network. */
char *lab_blade_files_peer_uri(const struct lab_spec_blade *blade);

/* /etc/hosts: all blades, so that a migration finds its peer by host name. */
char *lab_blade_files_hosts(const struct lab_spec *spec);

/* /etc/libvirt/libvirtd.conf. */
char *lab_blade_files_libvirtd_conf(const struct lab_spec_blade *blade);

/* /etc/libvirt/qemu.conf. */
char *lab_blade_files_qemu_conf(void);
