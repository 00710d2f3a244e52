/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <string.h>

#include "local-sched/hypervisor/domain_xml.h"

static char *source_root;

static const struct domain_spec plain = {
	.name = "virtbed-lab-c1-n0",
	.keeper = "6f1d0a7e-0000-4000-8000-000000000001",
	.virt_type = "qemu",
	.machine_type = "q35",
	.cores = 1,
	.memory_mib = 112,
	.kernel = "/pool/k",
	.initramfs = "/pool/i",
	.root = "/pool/r",
	.bridge = "br0",
	.mac = "52:54:00:77:01:0a",
	.address = "10.77.1.10/16",
	.guest_host = "c1-n0",
	.console = "/var/log/libvirt/qemu/virtbed-lab-c1-n0.console",
	.first_cpu = -1,
};

static struct domain_spec pinned_kvm(void)
{
	struct domain_spec spec = plain;

	spec.virt_type = "kvm";
	spec.cores = 2;
	spec.memory_mib = 4096;
	spec.first_cpu = 4;
	return spec;
}

static struct domain_spec with_swap(void)
{
	struct domain_spec spec = plain;

	spec.swap = "/pool/swap <&'\">";
	spec.machine_type = "pc";
	return spec;
}

static struct domain_spec plain_spec(void)
{
	return plain;
}

static const struct {
	const char *name;
	struct domain_spec (*spec)(void);
} cases[] = {
	{"tcg", plain_spec},
	{"kvm-pinned", pinned_kvm},
	{"swap", with_swap},
};

/* VIRTBED_REWRITE_GOLDEN=1 rewrites the files, for review. */
static void test_golden(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct domain_spec spec = cases[i].spec();
		g_autofree char *xml = domain_xml(&spec);
		g_autofree char *file = g_strconcat("domain-", cases[i].name, ".xml", NULL);
		g_autofree char *path = g_build_filename(source_root, "tests", "unit", "hypervisor",
							 "golden", file, NULL);
		g_autofree char *expected = NULL;

		if (g_getenv("VIRTBED_REWRITE_GOLDEN"))
			g_assert_true(g_file_set_contents(path, xml, -1, NULL));
		g_assert_true(g_file_get_contents(path, &expected, NULL, NULL));
		g_assert_cmpstr(xml, ==, expected);
	}
}

static void test_fingerprint(void)
{
	struct domain_spec other = plain;
	g_autofree char *a = domain_fingerprint(&plain);
	g_autofree char *again = domain_fingerprint(&plain);
	g_autofree char *b = NULL;
	g_autofree char *xml = domain_xml(&plain);

	other.memory_mib++;
	b = domain_fingerprint(&other);
	g_assert_cmpstr(a, ==, again);
	g_assert_cmpstr(a, !=, b);
	g_assert_nonnull(strstr(xml, a));
}

/*
 * On a host with other names: the XML that it would have been given there, and nothing of the one
 * here.
 */
static void test_changes(void)
{
	struct domain_spec from = with_swap();
	struct domain_spec to = from;
	g_auto(GStrv) none = domain_xml_changes(&from, &from);
	g_auto(GStrv) changes = NULL;
	g_autofree char *before = domain_xml(&from);
	g_autofree char *expected = NULL;
	g_autofree char *changed = NULL;

	to.bridge = "br'7&";
	to.kernel = "/other/vmlinuz";
	to.initramfs = "/other/initramfs";
	to.root = "/other/root";
	to.swap = "/other/swap";
	changes = domain_xml_changes(&from, &to);
	expected = domain_xml(&to);
	changed = domain_xml_change(before, (const char *const *)changes);
	g_assert_cmpuint(g_strv_length(none), ==, 0);
	g_assert_cmpstr(changed, ==, expected);
}

/* Of what libvirt tells of the metadata, and of what others may have written there. */
static void test_keeper(void)
{
	static const struct {
		const char *element;
		const char *keeper;
	} elements[] = {
		{NULL, NULL},
		{"", NULL},
		{"<virtbed:vm xmlns:virtbed='" DOMAIN_METADATA_URI "' keeper='a-b'/>", "a-b"},
		{"<vm xmlns='" DOMAIN_METADATA_URI "' keeper=\"a-b\"></vm>\n", "a-b"},
		{"<virtbed:vm xmlns:virtbed='" DOMAIN_METADATA_URI "'/>", NULL},
		{"<virtbed:vm xmlns:virtbed='" DOMAIN_METADATA_URI "' keeper=''/>", NULL},
		{"<virtbed:vm keeper='a-b'>", NULL},
		{"keeper='a-b'", NULL},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(elements); i++) {
		g_autofree char *keeper = domain_xml_keeper(elements[i].element);

		g_assert_cmpstr(keeper, ==, elements[i].keeper);
	}
}

static void test_addresses(void)
{
	g_autofree char *mac = domain_mac(0, 0);
	g_autofree char *address = domain_address(0, 0);
	g_autofree char *last_mac = domain_mac(DOMAIN_CLUSTERS_MAX - 1, DOMAIN_NODES_MAX - 1);
	g_autofree char *last = domain_address(DOMAIN_CLUSTERS_MAX - 1, DOMAIN_NODES_MAX - 1);

	g_assert_cmpstr(mac, ==, "52:54:00:77:01:0a");
	g_assert_cmpstr(address, ==, "10.77.1.10/16");
	g_assert_cmpstr(last_mac, ==, "52:54:00:77:fe:f9");
	g_assert_cmpstr(last, ==, "10.77.254.249/16");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	source_root = argv[1];
	g_test_add_func("/domain-xml/is-as-reviewed", test_golden);
	g_test_add_func("/domain-xml/fingerprint-follows-content", test_fingerprint);
	g_test_add_func("/domain-xml/is-changed-for-another-host", test_changes);
	g_test_add_func("/domain-xml/says-whose-it-is", test_keeper);
	g_test_add_func("/domain-xml/addresses-fit-in-their-network", test_addresses);
	return g_test_run();
}
