/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a VM is after its live migration failed, on hosts of libvirt's own test driver. */
#include <dlfcn.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <libvirt-glib/libvirt-glib.h>
#include <libvirt/libvirt.h>
#include <pthread.h>

#include "common/platform.h"
#include "local-sched/hypervisor/domain_xml.h"
#include "local-sched/hypervisor/transfer.h"
#include "local-sched/hypervisor/virt_error.h"
#include "tests/unit/hypervisor/deaf_events.h"

#define DEADLINE_S 20
#define NAME "virtbed-test-n0"
#define KEEPER "6f1d0a7e-0000-4000-8000-000000000001"
#define TYPE "http://libvirt.org/schemas/domain/test/1.0"

/* What a host has of it. */
enum has { NOTHING = 0, PAUSED, RUNNING, OUT_OF_REACH, FOREIGN };

/* What is found. */
enum found { FROM = TRANSFER_FROM, TO = TRANSFER_TO, GONE, NOT_YET };

static const struct {
	const char *name;
	enum has from;
	enum has to;
	enum found first;
	enum found second; /* when it is asked again */
} cases[] = {
	{"runs-where-it-was", RUNNING, NOTHING, FROM, FROM},
	{"runs-where-it-was-whatever-the-other-has", RUNNING, PAUSED, FROM, FROM},
	{"runs-where-it-was-and-the-other-is-gone", RUNNING, OUT_OF_REACH, FROM, FROM},
	{"has-come", NOTHING, RUNNING, TO, TO},
	{"has-come-and-what-it-left-stands-still", PAUSED, RUNNING, TO, TO},
	{"has-come-and-the-first-host-is-gone", OUT_OF_REACH, RUNNING, TO, TO},
	{"a-copy-that-does-not-run-has-not-come", OUT_OF_REACH, PAUSED, NOT_YET, NOT_YET},
	{"nor-one-that-is-not-there", OUT_OF_REACH, NOTHING, NOT_YET, NOT_YET},
	{"a-copy-without-an-original-is-set-going", NOTHING, PAUSED, TO, TO},
	{"is-set-going-where-it-was", PAUSED, NOTHING, NOT_YET, FROM},
	{"so-it-is-where-there-is-a-copy", PAUSED, PAUSED, NOT_YET, FROM},
	{"perhaps-it-is-where-nobody-can-look", NOTHING, OUT_OF_REACH, NOT_YET, NOT_YET},
	{"somebody-elses-of-its-name-is-not-it", FOREIGN, RUNNING, TO, TO},
	{"nor-is-it-where-it-was-to-go", PAUSED, FOREIGN, NOT_YET, FROM},
	{"is-gone-where-only-others-have-its-name", FOREIGN, FOREIGN, GONE, GONE},
	{"is-gone", NOTHING, NOTHING, GONE, GONE},
};

/*
 * One for each URI while a test runs: with a libvirtd behind them, all connections to a host see
 * the same VMs.
 */
static struct {
	pthread_mutex_t lock; /* ThreadSanitizer does not see GMutex */
	GHashTable *by_uri;
} connections = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Stands before libvirt's own, whose test driver reads the file again for each connection. */
virConnectPtr virConnectOpen(const char *name)
{
	virConnectPtr (*open)(const char *name) =
		(virConnectPtr(*)(const char *name))dlsym(RTLD_NEXT, "virConnectOpen");
	virConnectPtr connection;

	pthread_mutex_lock(&connections.lock);
	connection = g_hash_table_lookup(connections.by_uri, name);
	if (!connection) {
		connection = open(name);
		if (connection)
			g_hash_table_insert(connections.by_uri, g_strdup(name), connection);
	}
	if (connection)
		virConnectRef(connection);
	pthread_mutex_unlock(&connections.lock);
	return connection;
}

static void close_connection(gpointer connection)
{
	virConnectClose(connection);
}

/* A host with the VM in some state, described by a file in `directory`. */
static struct host *host_with(const char *directory, const char *name, enum has has)
{
	g_autofree char *path = g_build_filename(directory, name, NULL);
	g_autofree char *uri = g_strconcat("test://", path, NULL);
	g_autofree char *domain =
		g_strdup_printf("<domain type='test' xmlns:test='" TYPE "'><name>" NAME "</name>"
				"<metadata><v:vm xmlns:v='" DOMAIN_METADATA_URI
				"' keeper='%s'/></metadata>"
				"<memory>65536</memory><os><type>hvm</type></os>"
				"<test:runstate>%d</test:runstate></domain>",
				has == FOREIGN ? "somebody-else" : KEEPER,
				has == RUNNING || has == FOREIGN ? VIR_DOMAIN_RUNNING
								 : VIR_DOMAIN_PAUSED);
	g_autofree char *text = g_strdup_printf("<node>%s</node>", has == NOTHING ? "" : domain);

	if (has != OUT_OF_REACH)
		g_assert_true(g_file_set_contents(path, text, -1, NULL));
	return host_new(&platform_machine, name, uri, &deaf_host, NULL);
}

static gboolean too_late(gpointer data)
{
	g_error("nothing happened for %d s", DEADLINE_S);
	return G_SOURCE_REMOVE;
}

static void on_found(gpointer result, const GError *error, gpointer data)
{
	enum found *ret_found = data;

	if (!error)
		*ret_found = (enum found)GPOINTER_TO_INT(result);
	else
		*ret_found =
			g_error_matches(error, VIRT_ERROR, VIRT_ERROR_NO_DOMAIN) ? GONE : NOT_YET;
}

static enum found find(struct host *from, struct host *to)
{
	static const char *const changes[] = {NULL};
	const struct transfer transfer = {
		.from = from,
		.to = to,
		.to_uri = "test:///default",
		.domain = NAME,
		.keeper = KEEPER,
		.changes = changes,
		.manner = TRANSFER_LIVE,
	};
	guint deadline = g_timeout_add_seconds(DEADLINE_S, too_late, NULL);
	enum found found = 0;

	transfer_find(&transfer, on_found, &found);
	while (found == 0)
		g_main_context_iteration(NULL, TRUE);
	g_source_remove(deadline);
	return found;
}

static void test_finds(gconstpointer data)
{
	const size_t i = GPOINTER_TO_SIZE(data);
	g_autofree char *directory = g_dir_make_tmp("virtbed-transfer-XXXXXX", NULL);
	struct host *from;
	struct host *to;

	connections.by_uri =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, close_connection);
	from = host_with(directory, "from", cases[i].from);
	to = host_with(directory, "to", cases[i].to);
	g_assert_cmpint(find(from, to), ==, cases[i].first);
	g_assert_cmpint(find(from, to), ==, cases[i].second);
	host_free(from);
	host_free(to);
	g_hash_table_destroy(connections.by_uri);
	while (g_main_context_iteration(NULL, FALSE))
		;
	for (int h = 0; h < 2; h++) {
		g_autofree char *path = g_build_filename(directory, h ? "to" : "from", NULL);

		g_unlink(path);
	}
	g_rmdir(directory);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	gvir_event_register();
	virt_error_quiet();
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *path = g_strdup_printf("/transfer/%s", cases[i].name);

		g_test_add_data_func(path, GSIZE_TO_POINTER(i), test_finds);
	}
	return g_test_run();
}
