/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>

/*
 * Where a lab keeps its files. What others connect to and what must not outlive the machine's
 * uptime is under LAB_STATE_ROOT/NAME (short: a socket's path has at most 107 bytes); what may grow
 * (disk images, saved memory, logs) is under LAB_PATHS_DATA_ROOT/NAME. Blades are numbered from 1.
 *
 *   RUN/lab.json           what the lab offers (common/lab_state.h)
 *   RUN/spec.json          what it was asked to be (lab_spec.h)
 *   RUN/groups             below which groups its control groups are (lab_cgroup.h)
 *   RUN/probe.json         what it was fitted to (common/machine_probe.h), if it was
 *   RUN/bmc-password       mode 0600
 *   RUN/bmc-certificate.pem, RUN/bmc-key.pem   of the BMCs that speak Redfish, if there are any
 *   RUN/bN/run/            the blade's /run/libvirt, with libvirt-sock
 *   RUN/bN/watts           what the power model computed last
 *   DATA/lab.log           messages of the supervisor, the fabric and the blades' first processes
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

/* The libvirt URI of a blade, as a process outside of the lab opens it. */
char *lab_paths_uri(const char *lab, uint32_t number);
