/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How a host is reached. That there is one, and that it lets us in, is for `config check --live`;
 * here is what cannot be right anywhere.
 */
#include <gio/gio.h>
#include <string.h>

#include "common/config/config_parts.h"
#include "common/loopback.h"

#define BRIDGE_NAME_MAX 15 /* IFNAMSIZ, less the terminating zero */

static const struct config_key host_keys[] = {
	{CONFIG_TEXT(host, name),
	 .help = "unlike those of all hosts; default: that of the blade, else CLUSTER-N."},
	{CONFIG_TEXT(host, uri),
	 .help = "of libvirt, such as qemu:///system or qemu+ssh://USER@HOST/system. "
		 "Connections in the clear (qemu+tcp) are for loopback."},
	{CONFIG_TEXT(host, peer_uri),
	 .help = "URI by which the cluster's other hosts reach it, for VMs that move; default: `uri`."},
	{CONFIG_TEXT(host, blade), .help = "name of one of `lab.blades`."},
	{CONFIG_TEXT(host, bridge), .fallback_text = "br0",
	 .help = "bridge on the host that the VMs are connected to."},
	{CONFIG_SECTION(host, meter, config_meter_section),
	 .help = "where the host's watts come from. Without one its energy is not known."},
	{CONFIG_TEXT(host, sys_root), .fallback_text = "/sys",
	 .help = "where the CPUs' knobs are, on a host that is this machine."},
	{CONFIG_TEXT(host, dev_root), .fallback_text = "/dev", .help = "where cpu_dma_latency is."},
	{NULL},
};

const struct config_section config_host_section = {
	host_keys, sizeof(struct config_host),
	"A machine with a hypervisor. It has a `uri`, or is an emulated `blade`."};

static char *check_uri(const char *key, const char *uri)
{
	g_autoptr(GUri) parts = g_uri_parse(uri, G_URI_FLAGS_NONE, NULL);

	if (!parts)
		return g_strdup_printf(
			"%s: '%s' is no libvirt URI; write e.g. qemu+ssh://USER@HOST/system", key,
			uri);
	if (g_str_has_suffix(g_uri_get_scheme(parts), "+tcp") &&
	    !loopback_is(g_uri_get_host(parts)))
		return g_strdup_printf(
			"%s: '%s' goes over the network in the clear; use qemu+ssh or qemu+tls",
			key, uri);
	return NULL;
}

/* As the kernel takes them for interfaces. */
static bool is_bridge_name(const char *name)
{
	const size_t length = strlen(name);

	if (length < 1 || length > BRIDGE_NAME_MAX || strcmp(name, ".") == 0 ||
	    strcmp(name, "..") == 0)
		return false;
	for (; *name; name++)
		if (!g_ascii_isgraph(*name) || strchr("/:'\"<>&", *name))
			return false;
	return true;
}

char *config_host_check(const struct config_host *host)
{
	g_autoptr(GUri) peer =
		host->peer_uri ? g_uri_parse(host->peer_uri, G_URI_FLAGS_NONE, NULL) : NULL;
	char *wrong = host->uri ? check_uri("uri", host->uri) : NULL;

	/*
	 * Blades of a lab speak to each other in the clear, on a network that is nowhere but in
	 * this machine.
	 */
	if (!wrong && host->peer_uri && !host->blade)
		wrong = check_uri("peer_uri", host->peer_uri);
	/* Another host reaches it by this URI, which therefore names the host. */
	if (!wrong && peer && !(g_uri_get_host(peer) && *g_uri_get_host(peer)))
		wrong = g_strdup_printf(
			"peer_uri: '%s' names no host, so other hosts cannot use it; write e.g. "
			"qemu+tls://HOST/system",
			host->peer_uri);
	if (wrong || is_bridge_name(host->bridge))
		return wrong;
	return g_strdup_printf(
		"bridge: '%s' cannot be the name of a bridge; give 1 to %d characters without blanks, "
		"'/' and ':'",
		host->bridge, BRIDGE_NAME_MAX);
}

bool config_uri_is_local(const char *uri)
{
	g_autoptr(GUri) parts = g_uri_parse(uri, G_URI_FLAGS_NONE, NULL);

	/* Behind a socket of its own may be any machine: a lab's blade is. */
	return parts && (!g_uri_get_host(parts) || !*g_uri_get_host(parts)) &&
	       !(g_uri_get_query(parts) && strstr(g_uri_get_query(parts), "socket="));
}
