/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A node over libvirt's own test driver: what the host says while its VM is being created. */
#include <glib.h>
#include <libvirt-glib/libvirt-glib.h>
#include <string.h>

#include "local-sched/hypervisor/domain.h"
#include "local-sched/hypervisor/node.h"
#include "local-sched/hypervisor/virt_error.h"

#define DOMAIN "virtbed-test-n0"
#define DEADLINE_S 20

struct fixture {
	struct host *host;
	struct boot_queue *queue;
	struct cpu_cap cap;
	struct node *node;
	bool connected;
};

static void on_connection(struct host *host, bool up, const char *reason, void *data)
{
	((struct fixture *)data)->connected = up;
}

static void on_domain(struct host *host, const char *name, bool running, const char *reason,
		      void *data)
{
	if (!running && g_str_equal(name, DOMAIN))
		node_vm_stopped(((struct fixture *)data)->node, reason);
}

static void on_agent(struct host *host, const char *name, bool connected, void *data)
{
}

static const struct host_events host_events = {
	.connection = on_connection, .domain = on_domain, .agent = on_agent};

static void on_ready(struct node *node, void *data)
{
}

static void on_down(struct node *node, const char *reason, void *data)
{
}

static const struct node_events node_events = {.ready = on_ready, .down = on_down};

static gboolean too_late(gpointer data)
{
	g_error("nothing happened for %d s", DEADLINE_S);
	return G_SOURCE_REMOVE;
}

static bool is_connected(struct fixture *fixture)
{
	return fixture->connected;
}

static bool is_creating(struct fixture *fixture)
{
	return node_state(fixture->node) == NODE_CREATING;
}

static bool is_past_creating(struct fixture *fixture)
{
	return !is_creating(fixture);
}

static void wait_until(struct fixture *fixture, bool (*holds)(struct fixture *fixture))
{
	guint deadline = g_timeout_add_seconds(DEADLINE_S, too_late, NULL);

	while (!holds(fixture))
		g_main_context_iteration(NULL, TRUE);
	g_source_remove(deadline);
}

static void set_up(struct fixture *fixture, gconstpointer data)
{
	const struct config_cluster cluster = {.cores = 1};
	const struct domain_spec spec = {
		.name = DOMAIN,
		.virt_type = "test",
		.machine = "q35",
		.cores = 1,
		.memory_mib = 64,
		.kernel = "/vmlinuz",
		.initramfs = "/initramfs",
		.root = "/root.squashfs",
		.bridge = "br0",
		.mac = "52:54:00:77:01:0a",
		.address = "10.77.1.10/16",
		.guest_host = "n0",
		.console = "/console",
		.first_cpu = -1,
	};
	struct node_settings settings = {.name = "n0", .domain = DOMAIN, .boot_timeout_s = 60};

	fixture->queue = boot_queue_new(1);
	fixture->host = host_new("t", "test:///default", &host_events, fixture);
	cpu_cap_init(&fixture->cap, &cluster);
	settings.host = fixture->host;
	settings.queue = fixture->queue;
	settings.cap = &fixture->cap;
	fixture->node = node_new(&settings, 1, &node_events, fixture);
	node_prepare(fixture->node, &spec);
	wait_until(fixture, is_connected);
	node_found(fixture->node, false, NULL);
	wait_until(fixture, is_creating);
}

static void tear_down(struct fixture *fixture, gconstpointer data)
{
	host_free(fixture->host);
	node_free(fixture->node);
	boot_queue_free(fixture->queue);
	while (g_main_context_iteration(NULL, FALSE))
		;
}

/* The host works in order: created, destroyed, and gone when the node asks. */
static void test_dies(struct fixture *fixture, gconstpointer data)
{
	domain_destroy(fixture->host, DOMAIN, NULL, NULL);
	node_vm_stopped(fixture->node, "QEMU failed");
	g_assert_true(is_creating(fixture));
	wait_until(fixture, is_past_creating);
	g_assert_cmpstr(node_state_name(node_state(fixture->node)), ==, "down");
	g_assert_nonnull(strstr(node_reason(fixture->node), "as soon as it was started"));
}

static void test_predecessor(struct fixture *fixture, gconstpointer data)
{
	node_vm_stopped(fixture->node, "the VM was destroyed");
	wait_until(fixture, is_past_creating);
	g_assert_cmpstr(node_state_name(node_state(fixture->node)), ==, "awaiting");
}

#define ADD(name, test) g_test_add(name, struct fixture, NULL, set_up, test, tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	gvir_event_register();
	virt_error_quiet();
	ADD("/node/a-vm-that-dies-while-it-is-created-does-not-hold-its-place", test_dies);
	ADD("/node/a-predecessor-that-ends-while-a-vm-is-created-does-no-harm", test_predecessor);
	return g_test_run();
}
