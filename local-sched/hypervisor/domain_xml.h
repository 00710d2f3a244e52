/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/config/config.h"

/*
 * The libvirt domain of a node as XML. Pure. The guest is that of vm-images/: kernel and initramfs
 * booted directly, one read-only squashfs that all VMs share as /dev/vda, an agent port and one PMI
 * port per core. Devices that the guest never uses (USB, video, balloon, HPET) are left out: under
 * TCG every device costs boot time and memory.
 */
struct domain_spec {
	const char *name;         /* name of the domain */
	const char *keeper;       /* id of the local scheduler that owns it; NULL: none does */
	const char *virt_type;    /* "kvm" or "qemu" */
	const char *machine_type; /* QEMU's machine type: "q35", "pc" */
	uint32_t cores;           /* 1..DOMAIN_CORES_MAX */
	uint64_t memory_mib;
	const char *kernel; /* paths on the host */
	const char *initramfs;
	const char *root;
	const char *swap; /* path of a swap disk, or NULL */
	const char *bridge;
	const char *mac;
	const char *address;    /* of eth0, ADDRESS/PREFIX */
	const char *guest_host; /* the guest's host name */
	const char *console;    /* path on the host that gets the guest's console */
	int32_t first_cpu;      /* host CPU of core 0, core 1 on the next one; -1: not pinned */
};

/*
 * The namespace of the metadata that a local scheduler writes into a domain. The metadata, not the
 * name, says which local scheduler owns the domain.
 */
#define DOMAIN_METADATA_URI "urn:virtbed:vm"

/* A virtio-serial bus has 31 ports; one is the agent's. */
enum { DOMAIN_CORES_MAX = CONFIG_SERVED_CORES_MAX };

/* TCG's translation cache per VM; QEMU's default of up to 1 GiB fills memory within minutes. */
#define DOMAIN_TB_CACHE_MIB 64

#define DOMAIN_AGENT_PORT "org.qemu.guest_agent.0"
#define DOMAIN_PMI_PORT "virtbed.pmi.%u"

/* The domain's XML; the caller frees it. */
char *domain_xml(const struct domain_spec *spec);

/*
 * The keeper that a domain's metadata names. `element` is libvirt's text for DOMAIN_METADATA_URI
 * (NULL: none). The caller frees the result. NULL: no local scheduler owns the domain.
 */
char *domain_xml_keeper(const char *element);

/*
 * A text that identifies the domain of `spec`, wherever it is pinned. A VM with an equal
 * fingerprint need not be booted again. It is the VM's description in libvirt. The caller frees it.
 */
char *domain_fingerprint(const struct domain_spec *spec);

/*
 * The changes that turn the XML of the domain of `from`, as libvirt writes it, into that of `to` on
 * another host: paths, the bridge, the fingerprint. The result is pairs of texts, the old and the
 * new one; free it with g_strfreev(). Other differences are not handled: libvirt refuses the domain
 * then.
 */
char **domain_xml_changes(const struct domain_spec *from, const struct domain_spec *to);

/* Applies the changes of domain_xml_changes(). The caller frees the result. */
char *domain_xml_change(const char *xml, const char *const *changes);

/*
 * Addresses of a guest, from the numbers of its cluster (0..DOMAIN_CLUSTERS_MAX - 1) and its VM
 * (0..DOMAIN_NODES_MAX - 1): 52:54:00:77:C:N and 10.77.C.N/16 with C = cluster + 1 and N = 10 +
 * node. 10.77.0.0/24 is reserved for hosts. The caller frees them.
 */
enum {
	DOMAIN_CLUSTERS_MAX = CONFIG_SERVED_CLUSTERS_MAX,
	DOMAIN_NODES_MAX = CONFIG_SERVED_NODES_MAX + 1,
};
/* The Ethernet address, as text. */
char *domain_mac(uint32_t cluster, uint32_t node);
/* The IPv4 address with its prefix length, as text. */
char *domain_address(uint32_t cluster, uint32_t node);
