/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * The processes of a lab. Each is this program in a role, and the child of the one before:
 *
 *   supervisor   pid 1 of the lab's pid namespace, in a mount namespace of its own and the
 *                machine's network: runs the BMCs, feeds them the power model, starts the network.
 *                Every process of the lab dies with it.
 *   redfish      a blade's BMC, if it speaks Redfish (a BMC that speaks IPMI is ipmi_sim)
 *   fabric       a network namespace with the bridge that joins the blades
 *   blade        pid 1 of a blade's namespaces; runs its libvirtd and reaps the daemonised VMs
 *                (libvirtd itself as pid 1 never would, and `destroy` would fail after 40 s)
 *
 * Each waits for "go" on its channel (lab_channel.h) before it does anything visible, reports
 * there, and returns an exit status.
 */

/*
 * Bridge and address of the lab's network; a blade has 10.77.0.NUMBER, its VMs other parts of
 * 10.77/16.
 */
#define LAB_ROLES_FABRIC_BRIDGE "tb0"
#define LAB_ROLES_FABRIC_ADDRESS "10.77.0.254/16"
#define LAB_ROLES_BLADE_BRIDGE "br0"
/* Ethernet addresses of the bridges: locally administered, the last byte the blade's number. */
#define LAB_ROLES_MAC_PREFIX "02:76:62:00:00:"
#define LAB_ROLES_FABRIC_MAC LAB_ROLES_MAC_PREFIX "fe"

/*
 * Runs commands of ip(8), each ended by a NULL, in the caller's network namespace. False with
 * `error`: one failed.
 */
enum { LAB_NETWORK_IP_WORDS = 12 };
bool lab_network_run_ip(const char *const (*commands)[LAB_NETWORK_IP_WORDS], gsize count,
			GError **error);

/* The role `supervisor` of lab `lab`. */
int lab_supervisor_main(const char *lab);
/* The role `fabric`. */
int lab_network_main(const char *lab);
/* The role `blade` of the blade with this number, from "1". */
int lab_blade_main(const char *lab, const char *number);
/* The role `redfish` of the blade with this number. */
int lab_redfish_main(const char *lab, const char *number);

/*
 * Runs the role in argv (--role=ROLE LAB [NUMBER]); only lab_process_start() writes such a command
 * line. Returns an exit status, or -1 if argv has no role.
 */
int lab_roles_main(int argc, char **argv);
