/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/hypervisor/domain_xml.h"

#define FINGERPRINT_PREFIX "virtbed node "

/*
 * The guest image's kernel arguments (vm-images/build, "kernel_arguments"), with which it boots in
 * less CPU time.
 */
#define KERNEL_ARGUMENTS                                                                           \
	"console=ttyS0 quiet panic=-1 mitigations=off nokaslr audit=0 ipv6.disable=1 "             \
	"cryptomgr.notests random.trust_cpu=on no_timer_check"

static void G_GNUC_PRINTF(2, 3) add(GString *xml, const char *format, ...)
{
	g_autofree char *text = NULL;
	va_list arguments;

	va_start(arguments, format);
	text = g_markup_vprintf_escaped(format, arguments);
	va_end(arguments);
	g_string_append(xml, text);
}

static bool is_emulated(const struct domain_spec *spec)
{
	return g_str_equal(spec->virt_type, "qemu");
}

static void add_pinning(GString *xml, const struct domain_spec *spec)
{
	if (spec->first_cpu < 0)
		return;
	add(xml, "  <cputune>\n");
	for (uint32_t i = 0; i < spec->cores; i++)
		add(xml, "    <vcpupin vcpu='%u' cpuset='%u'/>\n", i,
		    (uint32_t)spec->first_cpu + i);
	add(xml, "  </cputune>\n");
}

/*
 * An emulated VM of one core has room for a second vCPU, which it never gets. Without that room
 * QEMU leaves the guest's memory barriers out of the translated code, although its own main loop
 * reads the virtio rings at the same time (7.2: CF_PARALLEL, tcg_gen_mb()). Once in some millions
 * of packets, the guest then adds a packet and sees no request for a notification, while the main
 * loop requests it and sees no packet: the guest never sends again.
 */
static void add_vcpus(GString *xml, const struct domain_spec *spec)
{
	if (is_emulated(spec) && spec->cores == 1)
		add(xml, "  <vcpu current='1'>2</vcpu>\n");
	else
		add(xml, "  <vcpu>%u</vcpu>\n", spec->cores);
}

static void add_boot(GString *xml, const struct domain_spec *spec)
{
	add(xml, "  <os>\n    <type arch='x86_64' machine='%s'>hvm</type>\n", spec->machine_type);
	add(xml, "    <kernel>%s</kernel>\n    <initrd>%s</initrd>\n", spec->kernel,
	    spec->initramfs);
	add(xml, "    <cmdline>" KERNEL_ARGUMENTS " virtbed.ip=%s virtbed.host=%s%s</cmdline>\n",
	    spec->address, spec->guest_host, spec->swap ? " virtbed.swap=1" : "");
	add(xml, "  </os>\n");
}

/*
 * An emulated CPU has no FMA. QEMU calls a library function for each fused multiply-add, which
 * glibc and the kernels' x86-64-v3 clones use if the CPU has it. On some hosts CG then takes twice
 * the CPU time, and EP seven times (benchmarks/README.md, kernels). Without FMA the clones for AVX2
 * run.
 */
static void add_cpu(GString *xml, bool tcg)
{
	add(xml,
	    tcg ? "  <cpu mode='maximum'>\n    <feature policy='disable' name='fma'/>\n  </cpu>\n"
		: "  <cpu mode='host-passthrough'/>\n");
}

static void add_platform(GString *xml, const struct domain_spec *spec)
{
	bool tcg = is_emulated(spec);

	add(xml, "  <features>\n    <acpi/>\n");
	if (tcg)
		add(xml, "    <tcg>\n      <tb-cache unit='MiB'>%d</tb-cache>\n    </tcg>\n",
		    DOMAIN_TB_CACHE_MIB);
	add(xml, "  </features>\n");
	add_cpu(xml, tcg);
	add(xml, "  <clock offset='utc'>\n    <timer name='hpet' present='no'/>\n  </clock>\n");
	add(xml, "  <on_poweroff>destroy</on_poweroff>\n  <on_reboot>destroy</on_reboot>\n"
		 "  <on_crash>destroy</on_crash>\n");
}

static void add_disks(GString *xml, const struct domain_spec *spec)
{
	add(xml,
	    "    <disk type='file' device='disk'>\n"
	    "      <driver name='qemu' type='raw'/>\n"
	    "      <source file='%s'/>\n"
	    "      <target dev='vda' bus='virtio'/>\n"
	    "      <readonly/>\n      <shareable/>\n"
	    "    </disk>\n",
	    spec->root);
	if (spec->swap)
		add(xml,
		    "    <disk type='file' device='disk'>\n"
		    "      <driver name='qemu' type='raw' cache='unsafe' discard='unmap'/>\n"
		    "      <source file='%s'/>\n"
		    "      <target dev='vdb' bus='virtio'/>\n"
		    "    </disk>\n",
		    spec->swap);
}

static void add_channel(GString *xml, const char *port)
{
	add(xml,
	    "    <channel type='unix'>\n      <target type='virtio' name='%s'/>\n"
	    "    </channel>\n",
	    port);
}

static void add_devices(GString *xml, const struct domain_spec *spec)
{
	add(xml, "  <devices>\n");
	add_disks(xml, spec);
	add(xml, "    <controller type='usb' model='none'/>\n");
	add(xml,
	    "    <interface type='bridge'>\n      <mac address='%s'/>\n"
	    "      <source bridge='%s'/>\n      <model type='virtio'/>\n"
	    "      <rom enabled='no'/>\n    </interface>\n",
	    spec->mac, spec->bridge);
	add(xml,
	    "    <serial type='file'>\n      <source path='%s' append='off'/>\n"
	    "      <target port='0'/>\n    </serial>\n",
	    spec->console);
	add_channel(xml, DOMAIN_AGENT_PORT);
	for (uint32_t i = 0; i < spec->cores; i++) {
		g_autofree char *port = g_strdup_printf(DOMAIN_PMI_PORT, i);

		add_channel(xml, port);
	}
	add(xml, "    <memballoon model='none'/>\n    <video>\n      <model type='none'/>\n"
		 "    </video>\n");
	add(xml, "    <rng model='virtio'>\n"
		 "      <backend model='random'>/dev/urandom</backend>\n    </rng>\n");
	add(xml, "  </devices>\n");
}

/*
 * QEMU's emulator before 9.0 loses what the guest writes to pages that are already sent, where the
 * guest's memory is a multiple of 64 pages ("physmem: Fix migration dirty bitmap coherency with TCG
 * memory access", QEMU 9.0). The memory is therefore 8 KiB less, the unit to which QEMU rounds.
 * libvirt rounds to 1 MiB, so the size is given to QEMU directly.
 */
static void add_odd_memory(GString *xml, const struct domain_spec *spec)
{
	const uint64_t odd_kib = spec->memory_mib * 1024 - 8;
	g_autofree char *backend =
		g_strdup_printf("memory-backend-ram,id=odd,size=%" G_GUINT64_FORMAT "k", odd_kib);
	g_autofree char *size = g_strdup_printf("size=%" G_GUINT64_FORMAT "k", odd_kib);
	const char *const arguments[] = {
		"-object", backend, "-machine", "memory-backend=odd", "-m", size, NULL,
	};

	add(xml, "  <qemu:commandline"
		 " xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>\n");
	for (const char *const *argument = arguments; *argument; argument++)
		add(xml, "    <qemu:arg value='%s'/>\n", *argument);
	add(xml, "  </qemu:commandline>\n");
}

/* The domain with `description`, or without a description for the fingerprint. */
static char *build(const struct domain_spec *spec, const char *description)
{
	GString *xml = g_string_new(NULL);

	add(xml, "<domain type='%s'>\n  <name>%s</name>\n", spec->virt_type, spec->name);
	if (description)
		add(xml, "  <description>%s</description>\n", description);
	if (spec->keeper)
		add(xml,
		    "  <metadata>\n    <virtbed:vm xmlns:virtbed='" DOMAIN_METADATA_URI
		    "' keeper='%s'/>\n"
		    "  </metadata>\n",
		    spec->keeper);
	add(xml, "  <memory unit='MiB'>%" G_GUINT64_FORMAT "</memory>\n", spec->memory_mib);
	add_vcpus(xml, spec);
	add_pinning(xml, spec);
	add_boot(xml, spec);
	add_platform(xml, spec);
	add_devices(xml, spec);
	if (is_emulated(spec))
		add_odd_memory(xml, spec);
	add(xml, "</domain>\n");
	return g_string_free(xml, FALSE);
}

char *domain_fingerprint(const struct domain_spec *spec)
{
	struct domain_spec anywhere = *spec;
	g_autofree char *xml = NULL;
	g_autofree char *sum = NULL;

	anywhere.first_cpu = -1; /* the VM may be at another node by now */
	xml = build(&anywhere, NULL);
	sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, xml, -1);
	return g_strconcat(FINGERPRINT_PREFIX, sum, NULL);
}

char *domain_xml(const struct domain_spec *spec)
{
	g_autofree char *fingerprint = domain_fingerprint(spec);

	return build(spec, fingerprint);
}

static void read_keeper(GMarkupParseContext *context, const char *element, const char **names,
			const char **values, gpointer data, GError **error)
{
	char **ret_keeper = data;

	for (; *names && !*ret_keeper; names++, values++)
		if (g_str_equal(*names, "keeper") && **values)
			*ret_keeper = g_strdup(*values);
}

char *domain_xml_keeper(const char *element)
{
	static const GMarkupParser parser = {.start_element = read_keeper};
	char *keeper = NULL;
	GMarkupParseContext *context = g_markup_parse_context_new(&parser, 0, &keeper, NULL);

	if (!element || !g_markup_parse_context_parse(context, element, -1, NULL) ||
	    !g_markup_parse_context_end_parse(context, NULL))
		g_clear_pointer(&keeper, g_free);
	g_markup_parse_context_free(context);
	return keeper;
}

static void add_change(GStrvBuilder *changes, const char *format, const char *from, const char *to)
{
	g_autofree char *before = g_markup_printf_escaped(format, from);
	g_autofree char *after = g_markup_printf_escaped(format, to);

	if (g_str_equal(from, to))
		return;
	g_strv_builder_add(changes, before);
	g_strv_builder_add(changes, after);
}

char **domain_xml_changes(const struct domain_spec *from, const struct domain_spec *to)
{
	g_autoptr(GStrvBuilder) changes = g_strv_builder_new();
	g_autofree char *before = domain_fingerprint(from);
	g_autofree char *after = domain_fingerprint(to);

	add_change(changes, "<description>%s</description>", before, after);
	add_change(changes, "<kernel>%s</kernel>", from->kernel, to->kernel);
	add_change(changes, "<initrd>%s</initrd>", from->initramfs, to->initramfs);
	add_change(changes, " bridge='%s'", from->bridge, to->bridge);
	add_change(changes, " file='%s'", from->root, to->root);
	if (from->swap && to->swap)
		add_change(changes, " file='%s'", from->swap, to->swap);
	return g_strv_builder_end(changes);
}

char *domain_xml_change(const char *xml, const char *const *changes)
{
	GString *text = g_string_new(xml);

	for (; changes[0]; changes += 2)
		g_string_replace(text, changes[0], changes[1], 0);
	return g_string_free(text, FALSE);
}

char *domain_mac(uint32_t cluster, uint32_t node)
{
	g_assert(cluster < DOMAIN_CLUSTERS_MAX && node < DOMAIN_NODES_MAX);
	return g_strdup_printf("52:54:00:77:%02x:%02x", cluster + 1, 10 + node);
}

char *domain_address(uint32_t cluster, uint32_t node)
{
	g_assert(cluster < DOMAIN_CLUSTERS_MAX && node < DOMAIN_NODES_MAX);
	return g_strdup_printf("10.77.%u.%u/16", cluster + 1, 10 + node);
}
