/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "local-sched/hypervisor/domain_xml.h"
#include "local-sched/hypervisor/host.h"

/*
 * Whether a host's VMs run under KVM or under QEMU's emulator. That /dev/kvm exists, or that
 * libvirt lists type 'kvm', says little (platform-blades.md, section 6: both held where no guest
 * booted); so KVM is used only where the CPU has vmx or svm AND a guest boots on it in time.
 */
enum virt_type_choice {
	VIRT_TYPE_AUTO = 0, /* ask the CPU, then boot a guest */
	VIRT_TYPE_KVM,      /* as told; not probed */
	VIRT_TYPE_QEMU,     /* as told */
	VIRT_TYPE_PROBE,    /* boot a guest whatever the CPU says */
};

#define VIRT_TYPE_PROBE_S 10

/* What was found; strings are owned. */
struct virt_type {
	char *name;   /* "kvm" or "qemu" */
	char *reason; /* why, for people */
};
/* Frees the strings and empties it. */
void virt_type_clear(struct virt_type *type);

/* "auto", "kvm", "qemu", "probe"; false for any other text. */
bool virt_type_parse(const char *text, enum virt_type_choice *ret_choice);

/* Told once, from the main loop; `type` is borrowed. */
typedef void (*virt_type_done_f)(const struct virt_type *type, void *data);

/*
 * A decision under way. `probe_spec` is the VM to boot if it comes to that (its virt_type does not
 * matter); borrowed, like `host`, until `done`.
 */
struct virt_type_decision;
/* Begins one. NULL is never returned; virt_type_decision_free() ends it early. */
struct virt_type_decision *virt_type_decide(struct host *host, enum virt_type_choice choice,
					    const struct domain_spec *probe_spec,
					    virt_type_done_f done, void *data);

/* To be told of the agents that the host announces: the probe waits for its own. */
void virt_type_agent(struct virt_type_decision *decision, const char *domain);

/* Frees it, decided or not; after host_free() or `done`. NULL is allowed. */
void virt_type_decision_free(struct virt_type_decision *decision);
