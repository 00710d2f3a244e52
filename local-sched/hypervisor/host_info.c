/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/hypervisor/host_info.h"

#include <libvirt/virterror.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/host_facts.h"
#include "common/json.h"
#include "common/read_number.h"
#include "local-sched/hypervisor/virt_error.h"

/* libvirt packs versions as 1,000,000 x major + 1,000 x minor + release. */
static char *version_text(unsigned long version)
{
	return version ? g_strdup_printf("%lu.%lu.%lu", version / 1000000, version / 1000 % 1000,
					 version % 1000)
		       : NULL;
}

static void put_text(json_t *facts, const char *key, const char *text)
{
	json_object_set_new(facts, key, json_string_or_null(text));
}

/* The revision in <microcode version='123'/> of the host's capabilities, as Linux writes it. */
static char *microcode_of(const char *capabilities)
{
	static const char mark[] = "<microcode version='";
	const char *at = strstr(capabilities, mark);
	uint64_t revision;

	if (!at || !read_number_front_unsigned(at + strlen(mark), &revision) || revision == 0)
		return NULL;
	return g_strdup_printf("0x%" G_GINT64_MODIFIER "x", revision);
}

/* Whether the hypervisor is on this machine: its URI has no host. */
static bool is_here(virConnectPtr connection, const char *host_name)
{
	char *uri = virConnectGetURI(connection);
	bool local = uri && strstr(uri, ":///") && !g_str_has_prefix(uri, "test:");

	free(uri);
	return local && g_str_equal(g_get_host_name(), host_name ? host_name : "");
}

static void put_own_files(json_t *facts)
{
	g_autoptr(host_facts_t) here = host_facts_read(NULL);

	put_text(facts, "kernel", here->kernel);
	put_text(facts, "governor", here->governor);
	if (here->cpu)
		put_text(facts, "cpu", here->cpu);
	if (here->microcode)
		put_text(facts, "microcode", here->microcode);
}

static void ask_name(virConnectPtr connection, json_t *facts)
{
	char *name = virConnectGetHostname(connection);
	char *capabilities = virConnectGetCapabilities(connection);
	g_autofree char *microcode = capabilities ? microcode_of(capabilities) : NULL;

	put_text(facts, "name", name);
	put_text(facts, "microcode", microcode);
	put_text(facts, "kernel", NULL);
	put_text(facts, "governor", NULL);
	if (is_here(connection, name))
		put_own_files(facts);
	free(name);
	free(capabilities);
}

gpointer host_info_work(virConnectPtr connection, gpointer input, GError **error)
{
	struct host_info *about;
	unsigned long version = 0;
	virNodeInfo info;

	if (virNodeGetInfo(connection, &info) < 0) {
		virt_error_set(error, "cannot count the host's CPUs");
		return NULL;
	}
	about = g_new0(struct host_info, 1);
	about->cpus = info.cpus;
	if (virConnectGetLibVersion(connection, &version) == 0)
		about->libvirt = version_text(version);
	version = 0;
	if (virConnectGetVersion(connection, &version) == 0)
		about->hypervisor = version_text(version);
	about->facts =
		json_pack("{s:s, s:i, s:i, s:I}", "cpu", info.model, "cpus", (int)info.cpus, "mhz",
			  (int)info.mhz, "memory_mib", (json_int_t)(info.memory / 1024));
	put_text(about->facts, "libvirt", about->libvirt);
	put_text(about->facts, "qemu", about->hypervisor);
	ask_name(connection, about->facts);
	virResetLastError();
	return about;
}

void host_info_free(struct host_info *about)
{
	if (!about)
		return;
	g_free(about->libvirt);
	g_free(about->hypervisor);
	json_decref(about->facts);
	g_free(about);
}
