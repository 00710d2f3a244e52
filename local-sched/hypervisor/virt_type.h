/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "local-sched/hypervisor/domain_xml.h"
#include "local-sched/hypervisor/host.h"

/*
 * Whether a host's VMs run under KVM or under QEMU's emulator. A /dev/kvm, or type 'kvm' in
 * libvirt's capabilities, is no proof: hosts were seen that have both and on which no guest boots.
 * KVM is used only where the CPU has vmx or svm and a guest boots under KVM in time.
 */
enum virt_type_choice {
	VIRT_TYPE_AUTO = 0, /* check the CPU, then boot a guest */
	VIRT_TYPE_KVM,      /* as configured, not probed */
	VIRT_TYPE_QEMU,     /* as configured */
	VIRT_TYPE_PROBE,    /* boot a guest, whatever CPU it is */
};

#define VIRT_TYPE_PROBE_S 10

/* The result; strings are owned. */
struct virt_type {
	char *name;   /* "kvm" or "qemu" */
	char *reason; /* why, for people */
};
/* Frees the strings and empties it. */
void virt_type_clear(struct virt_type *type);

/* "auto", "kvm", "qemu", "probe"; false for any other text. */
bool virt_type_parse(const char *text, enum virt_type_choice *ret_choice);

/* Called once, from the main loop; `type` is borrowed. */
typedef void (*virt_type_done_f)(const struct virt_type *type, void *data);

/*
 * A decision under way. `probe_spec` is the VM to boot for a probe (its virt_type does not matter).
 * It is borrowed, like `host`, until `done`.
 */
struct virt_type_decision;
/* Begins a decision; never returns NULL. virt_type_decision_free() ends it early. */
struct virt_type_decision *virt_type_decide(struct host *host, enum virt_type_choice choice,
					    const struct domain_spec *probe_spec,
					    virt_type_done_f done, void *data);

/* Reports an agent that the host announces: the probe waits for that of its VM. */
void virt_type_agent(struct virt_type_decision *decision, const char *domain);

/* Frees a decision, at any point; call it after host_free() or `done`. NULL is allowed. */
void virt_type_decision_free(struct virt_type_decision *decision);
