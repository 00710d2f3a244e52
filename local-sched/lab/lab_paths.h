/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

/*
 * The files of a lab. Files to which others connect, and files that must not survive a reboot, are
 * under LAB_STATE_ROOT/NAME (short: a socket's path has at most 107 bytes). Files that may grow
 * (disk images, saved memory, logs) are under LAB_PATHS_DATA_ROOT/NAME. Blades are numbered from 1.
 *
 *   RUN/lab.json           what the lab offers (common/lab_state.h)
 *   RUN/spec.json          its specification (lab_spec.h)
 *   RUN/groups             the parents of its control groups (lab_cgroup.h)
 *   RUN/probe.json         the measurement that it was fitted to (common/machine_probe.h), if any
 *   RUN/bmc-password       mode 0600
 *   RUN/bmc-certificate.pem, RUN/bmc-key.pem   of the BMCs that speak Redfish, if any
 *   RUN/bN/run/            the blade's /run/libvirt, with libvirt-sock
 *   RUN/bN/watts           the last result of the power model
 *   DATA/lab.log           messages of the supervisor, the network and the blades' first processes
 *   DATA/bN/{etc,lib,log,cache}/   the blade's /etc/libvirt, /var/{lib,log,cache}/libvirt
 *   DATA/bN/bmc/           the BMC's files
 *
 * All functions return a new string.
 */
#define LAB_PATHS_DATA_ROOT "/var/lib/virtbed/lab"

/* RUN/file, or RUN itself for NULL. */
char *lab_paths_run(const char *lab, const char *file);

/* DATA/file, or DATA itself for NULL. */
char *lab_paths_data(const char *lab, const char *file);

/* RUN/bN/file. */
char *lab_paths_blade_run(const char *lab, uint32_t number, const char *file);

/* DATA/bN/file. */
char *lab_paths_blade_data(const char *lab, uint32_t number, const char *file);

/* The libvirt URI of a blade for a process outside the lab. */
char *lab_paths_uri(const char *lab, uint32_t number);
