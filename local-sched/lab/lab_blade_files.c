/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/lab/lab_blade_files.h"

char *lab_blade_files_address(const struct lab_spec_blade *blade)
{
	return g_strdup_printf("10.77.0.%u", blade->number);
}

char *lab_blade_files_peer_uri(const struct lab_spec_blade *blade)
{
	g_autofree char *address = lab_blade_files_address(blade);

	return g_strdup_printf("qemu+tcp://%s/system", address);
}

char *lab_blade_files_hosts(const struct lab_spec *spec)
{
	g_autoptr(GString) text = g_string_new("127.0.0.1 localhost\n");

	for (uint32_t i = 0; i < spec->blades_count; i++) {
		g_autofree char *address = lab_blade_files_address(&spec->blades[i]);

		g_string_append_printf(text, "%s %s\n", address, spec->blades[i].name);
	}
	return g_string_free(g_steal_pointer(&text), FALSE);
}

char *lab_blade_files_libvirtd_conf(const struct lab_spec_blade *blade)
{
	g_autofree char *address = lab_blade_files_address(blade);

	return g_strdup_printf("listen_tls = 0\n"
			       "listen_tcp = 1\n"
			       "listen_addr = \"%s\"\n"
			       "auth_tcp = \"none\"\n"
			       "auth_unix_ro = \"none\"\n"
			       "auth_unix_rw = \"none\"\n"
			       "unix_sock_rw_perms = \"0700\"\n"
			       "unix_sock_ro_perms = \"0700\"\n"
			       "unix_sock_admin_perms = \"0700\"\n"
			       "host_uuid = \"%s\"\n"
			       "log_level = 3\n"
			       "log_outputs = \"3:file:/var/log/libvirt/libvirtd.log\"\n",
			       address, blade->uuid);
}

char *lab_blade_files_qemu_conf(void)
{
	/* A blade has no virtlogd: QEMU writes its log itself. */
	return g_strdup("stdio_handler = \"file\"\n"
			"security_driver = \"none\"\n"
			"user = \"root\"\n"
			"group = \"root\"\n"
			"dynamic_ownership = 0\n"
			"remember_owner = 0\n"
			"namespaces = []\n"
			"cgroup_controllers = [ \"cpu\", \"cpuacct\", \"cpuset\" ]\n");
}
