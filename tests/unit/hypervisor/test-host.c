/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The host over libvirt's own test driver, which needs no hypervisor. */
#include <glib.h>
#include <glib/gstdio.h>
#include <libvirt-glib/libvirt-glib.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/platform.h"
#include "local-sched/hypervisor/domain.h"
#include "local-sched/hypervisor/domain_xml.h"
#include "local-sched/hypervisor/host.h"
#include "local-sched/hypervisor/host_info.h"
#include "local-sched/hypervisor/virt_error.h"

#define DEADLINE_S 20
#define KEEPER "6f1d0a7e-0000-4000-8000-000000000001"

struct fixture {
	GMainLoop *loop;
	struct host *host;
	GThread *main_thread;
	bool connected;
	int told;     /* connection events */
	char *reason; /* of the last */
	int stopped;  /* domain events */
	gpointer result;
	GError *error;
};

static void on_connection(struct host *host, bool up, const char *reason, void *data)
{
	struct fixture *fixture = data;

	fixture->connected = up;
	fixture->told++;
	g_free(fixture->reason);
	fixture->reason = g_strdup(reason);
	g_main_loop_quit(fixture->loop);
}

static void on_domain(struct host *host, const char *name, bool running, const char *reason,
		      void *data)
{
	struct fixture *fixture = data;

	if (!running && g_str_equal(name, "ours"))
		fixture->stopped++;
	g_main_loop_quit(fixture->loop);
}

static void on_agent(struct host *host, const char *name, bool connected, void *data)
{
}

static const struct host_events events = {.connection = on_connection,
					  .domain = on_domain,
					  .agent = on_agent};

static gboolean too_late(gpointer data)
{
	g_error("nothing happened for %d s", DEADLINE_S);
	return G_SOURCE_REMOVE;
}

static void run(struct fixture *fixture)
{
	guint deadline = g_timeout_add_seconds(DEADLINE_S, too_late, NULL);

	g_main_loop_run(fixture->loop);
	g_source_remove(deadline);
}

static void on_done(gpointer result, const GError *error, gpointer data)
{
	struct fixture *fixture = data;

	g_assert_true(g_thread_self() == fixture->main_thread);
	fixture->result = result;
	g_clear_error(&fixture->error);
	fixture->error = error ? g_error_copy(error) : NULL;
	g_main_loop_quit(fixture->loop);
}

static void set_up(struct fixture *fixture, gconstpointer uri)
{
	fixture->loop = g_main_loop_new(NULL, FALSE);
	fixture->main_thread = g_thread_self();
	fixture->host = host_new(&platform_machine, "t", uri, &events, fixture);
	if (g_str_has_prefix(uri, "test:"))
		run(fixture);
}

static void tear_down(struct fixture *fixture, gconstpointer uri)
{
	host_free(fixture->host);
	/* libvirt gives callbacks' data back from the event loop */
	while (g_main_context_iteration(NULL, FALSE))
		;
	g_clear_error(&fixture->error);
	g_free(fixture->reason);
	g_main_loop_unref(fixture->loop);
}

static void test_list(struct fixture *fixture, gconstpointer uri)
{
	GPtrArray *found;
	const struct domain_info *info;

	g_assert_true(fixture->connected && host_connected(fixture->host));
	domain_list(fixture->host, "te", on_done, fixture);
	run(fixture);
	g_assert_no_error(fixture->error);
	found = fixture->result;
	g_assert_cmpuint(found->len, ==, 1);
	info = found->pdata[0];
	g_assert_cmpstr(info->name, ==, "test");
	g_ptr_array_unref(found);
	domain_list(fixture->host, "no", on_done, fixture);
	run(fixture);
	found = fixture->result;
	g_assert_cmpuint(found->len, ==, 0);
	g_ptr_array_unref(found);
}

/* The XML of a VM of `keeper`. */
static char *xml_of(const char *name, const char *keeper)
{
	return g_strdup_printf(
		"<domain type='test'><name>%s</name><metadata><v:vm xmlns:v='" DOMAIN_METADATA_URI
		"' keeper='%s'/></metadata><memory>65536</memory><os><type>hvm</type></os></domain>",
		name, keeper);
}

static void create(struct fixture *fixture, const char *name, const char *keeper)
{
	g_autofree char *xml = xml_of(name, keeper);

	fixture->result = NULL;
	domain_create(fixture->host, name, keeper, xml, on_done, fixture);
	while (!fixture->result && !fixture->error)
		run(fixture);
	g_assert_no_error(fixture->error);
	fixture->result = NULL;
}

static void destroy(struct fixture *fixture, const char *name, const char *keeper)
{
	fixture->result = NULL;
	domain_destroy(fixture->host, name, keeper, on_done, fixture);
	while (!fixture->result && !fixture->error)
		run(fixture);
	g_assert_no_error(fixture->error);
	fixture->result = NULL;
}

/* The keeper of a VM, "no keeper" or "none such". */
static const char *keeper_of(struct fixture *fixture, const char *name)
{
	static char keeper[64];
	g_autoptr(GPtrArray) found = NULL;

	domain_list(fixture->host, name, on_done, fixture);
	while (!fixture->result && !fixture->error)
		run(fixture);
	g_assert_no_error(fixture->error);
	found = g_steal_pointer(&fixture->result);
	if (found->len == 0)
		return "none such";
	g_strlcpy(keeper, ((const struct domain_info *)found->pdata[0])->keeper ?: "no keeper",
		  sizeof(keeper));
	return keeper;
}

/* Ending a VM tells so by an event, and ending it again does no harm. */
static void test_destroy(struct fixture *fixture, gconstpointer uri)
{
	create(fixture, "ours", KEEPER);
	domain_destroy(fixture->host, "ours", KEEPER, on_done, fixture);
	while (!fixture->stopped || !fixture->result)
		run(fixture);
	g_assert_no_error(fixture->error);
	destroy(fixture, "ours", KEEPER);
	destroy(fixture, "never-was", KEEPER);
	g_assert_cmpint(fixture->stopped, ==, 1);
	g_assert_cmpstr(keeper_of(fixture, "ours"), ==, "none such");
}

/* The same VM, which is found once. */
static gpointer end_twice_work(virConnectPtr connection, gpointer input, GError **error)
{
	g_autoptr(virDomain) domain = virDomainLookupByName(connection, input);

	g_assert_nonnull(domain);
	return domain_end(domain, error) && domain_end(domain, error) ? HOST_DONE : NULL;
}

/* A VM may end by itself after it was found: that is no failure to end it. */
static void test_ended_meanwhile(struct fixture *fixture, gconstpointer uri)
{
	static const char *const names[] = {"ours", "test"}; /* a transient VM, and a defined one */

	create(fixture, "ours", KEEPER);
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		const struct host_call call = {.work = end_twice_work,
					       .input = (gpointer)names[i],
					       .done = on_done,
					       .data = fixture};

		fixture->result = NULL;
		host_call(fixture->host, HOST_LANE_LIFE, &call);
		while (!fixture->result && !fixture->error)
			run(fixture);
		g_assert_no_error(fixture->error);
	}
}

/* Whose a VM is says its metadata, not its name. */
static void test_leaves_foreign(struct fixture *fixture, gconstpointer uri)
{
	create(fixture, "others", "6f1d0a7e-0000-4000-8000-000000000002");
	destroy(fixture, "others", KEEPER);
	destroy(fixture, "test", KEEPER);
	g_assert_cmpstr(keeper_of(fixture, "others"), ==, "6f1d0a7e-0000-4000-8000-000000000002");
	g_assert_cmpstr(keeper_of(fixture, "test"), ==, "no keeper");
	destroy(fixture, "others", "6f1d0a7e-0000-4000-8000-000000000002");
	g_assert_cmpstr(keeper_of(fixture, "others"), ==, "none such");
}

/* A name that a foreign VM has is reported as foreign. */
static void test_taken_name(struct fixture *fixture, gconstpointer uri)
{
	g_autofree char *xml = xml_of("test", KEEPER);

	domain_create(fixture->host, "test", KEEPER, xml, on_done, fixture);
	run(fixture);
	g_assert_error(fixture->error, VIRT_ERROR, VIRT_ERROR_FOREIGN);
	g_assert_nonnull(
		strstr(fixture->error->message, "'test': another owner's VM of that name"));
	domain_create_bound(fixture->host, "test", KEEPER, xml, on_done, fixture);
	run(fixture);
	g_assert_error(fixture->error, VIRT_ERROR, VIRT_ERROR_FOREIGN);
}

/* The test driver cannot bind a VM to its connection: it is started all the same. */
static void test_bound(struct fixture *fixture, gconstpointer uri)
{
	static const char xml[] = "<domain type='test'><name>bound</name><memory>65536</memory>"
				  "<os><type>hvm</type></os></domain>";
	GPtrArray *found;

	domain_create_bound(fixture->host, "bound", KEEPER, xml, on_done, fixture);
	while (!fixture->result && !fixture->error)
		run(fixture);
	g_assert_no_error(fixture->error);
	domain_list(fixture->host, "bound", on_done, fixture);
	fixture->result = NULL;
	while (!fixture->result)
		run(fixture);
	found = fixture->result;
	g_assert_cmpuint(found->len, ==, 1);
	g_ptr_array_unref(found);
}

static void test_errors(struct fixture *fixture, gconstpointer uri)
{
	domain_agent(fixture->host, "never-was", NULL, "{}", 1, on_done, fixture);
	run(fixture);
	g_assert_error(fixture->error, VIRT_ERROR, VIRT_ERROR_NO_DOMAIN);
	domain_create(fixture->host, "never-was", KEEPER, "<rubbish>", on_done, fixture);
	run(fixture);
	g_assert_error(fixture->error, VIRT_ERROR, VIRT_ERROR_OTHER);
}

/* What the test driver says of its vm, and no file of ours: it is not this one. */
static void test_about(struct fixture *fixture, gconstpointer uri)
{
	const struct host_call call = {.work = host_info_work, .done = on_done, .data = fixture};
	struct host_info *about;

	host_call(fixture->host, HOST_LANE_CONTROL, &call);
	run(fixture);
	g_assert_no_error(fixture->error);
	about = fixture->result;
	g_assert_cmpuint(about->cpus, ==, 16);
	g_assert_true(about->libvirt && strchr(about->libvirt, '.'));
	g_assert_cmpint(json_integer_value(json_object_get(about->facts, "cpus")), ==, 16);
	g_assert_cmpstr(json_string_value(json_object_get(about->facts, "cpu")), ==, "i686");
	g_assert_nonnull(json_object_get(about->facts, "kernel"));
	host_info_free(about);
}

/* A host that is away: calls fail and it is tried again. */
static void test_away(struct fixture *fixture, gconstpointer uri)
{
	domain_list(fixture->host, "", on_done, fixture);
	while (!fixture->error)
		run(fixture);
	g_assert_error(fixture->error, VIRT_ERROR, VIRT_ERROR_CONNECTION);
	g_assert_false(host_connected(fixture->host));
}

/* A socket without a listener, to be closed. */
static int bind_socket(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	g_assert_cmpint(g_strlcpy(address.sun_path, path, sizeof(address.sun_path)), <,
			sizeof(address.sun_path));
	g_assert_cmpint(bind(fd, (struct sockaddr *)&address, sizeof(address)), ==, 0);
	return fd;
}

/* Why the first connection fails is told, and told again for another reason. */
static void test_unreachable(void)
{
	g_autofree char *dir = g_dir_make_tmp("virtbed-host-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(dir, "s", NULL);
	g_autofree char *uri = g_strdup_printf("qemu+unix:///system?socket=%s", path);
	struct fixture fixture = {0};

	set_up(&fixture, uri);
	while (fixture.told == 0)
		run(&fixture);
	g_assert_false(fixture.connected);
	g_assert_nonnull(strstr(fixture.reason, uri));
	g_assert_nonnull(strstr(fixture.reason, "No such file"));
	g_assert_cmpint(close(bind_socket(path)), ==, 0);
	while (fixture.told == 1)
		run(&fixture);
	g_assert_nonnull(strstr(fixture.reason, "refused"));
	tear_down(&fixture, uri);
	g_assert_cmpint(g_unlink(path) + g_rmdir(dir), ==, 0);
}

static gpointer slow_work(virConnectPtr connection, gpointer input, GError **error)
{
	g_usleep(50000);
	g_atomic_int_inc((gint *)input);
	return g_strdup("result");
}

/* Freed while work is under way: it ends first, and no callback is called. */
static void test_free(struct fixture *fixture, gconstpointer uri)
{
	gint worked = 0;
	const struct host_call call = {.work = slow_work,
				       .input = &worked,
				       .result_free = g_free,
				       .done = on_done,
				       .data = fixture};

	host_call(fixture->host, HOST_LANE_AGENT, &call);
	while (g_atomic_int_get(&worked) == 0)
		g_thread_yield();
	host_free(g_steal_pointer(&fixture->host));
	while (g_main_context_iteration(NULL, FALSE))
		;
	g_assert_null(fixture->result);
}

enum { HUNG = 8, SEEN = 64 };

/* Calls that hang until the gate is open, and the caller of each connection. */
struct gate {
	pthread_mutex_t lock; /* ThreadSanitizer does not see GMutex */
	pthread_cond_t changed;
	bool open;
	uint32_t hanging;
	struct {
		virConnectPtr connection;
		GThread *thread;
	} seen[SEEN];
	uint32_t seen_count;
	GString *order;
	GError *error;
};

static void gate_init(struct gate *gate)
{
	*gate = (struct gate){.order = g_string_new(NULL)};
	pthread_mutex_init(&gate->lock, NULL);
	pthread_cond_init(&gate->changed, NULL);
}

static void gate_open(struct gate *gate)
{
	pthread_mutex_lock(&gate->lock);
	gate->open = true;
	pthread_cond_broadcast(&gate->changed);
	pthread_mutex_unlock(&gate->lock);
}

static void gate_finish(struct gate *gate)
{
	g_string_free(gate->order, TRUE);
	g_clear_error(&gate->error);
	pthread_cond_destroy(&gate->changed);
	pthread_mutex_destroy(&gate->lock);
}

static void note_caller(struct gate *gate, virConnectPtr connection)
{
	g_assert_cmpuint(gate->seen_count, <, SEEN);
	gate->seen[gate->seen_count].connection = connection;
	gate->seen[gate->seen_count++].thread = g_thread_self();
}

static gpointer hang_work(virConnectPtr connection, gpointer input, GError **error)
{
	struct gate *gate = input;

	pthread_mutex_lock(&gate->lock);
	note_caller(gate, connection);
	gate->hanging++;
	pthread_cond_broadcast(&gate->changed);
	while (!gate->open)
		pthread_cond_wait(&gate->changed, &gate->lock);
	pthread_mutex_unlock(&gate->lock);
	return g_strdup("late");
}

static gpointer quick_work(virConnectPtr connection, gpointer input, GError **error)
{
	struct gate *gate = input;

	pthread_mutex_lock(&gate->lock);
	note_caller(gate, connection);
	pthread_mutex_unlock(&gate->lock);
	return g_strdup("done");
}

static void note_end(gpointer result, const GError *error, gpointer data)
{
	struct gate *gate = data;

	g_string_append_c(gate->order, error ? 'e' : *(const char *)result);
	if (error && !gate->error)
		gate->error = g_error_copy(error);
	g_free(result);
}

static void until_told(const struct gate *gate, const char *order)
{
	guint deadline = g_timeout_add_seconds(DEADLINE_S, too_late, NULL);

	while (gate->order->len < strlen(order))
		g_main_context_iteration(NULL, TRUE);
	g_source_remove(deadline);
	g_assert_cmpstr(gate->order->str, ==, order);
}

static void call(struct fixture *fixture, struct gate *gate, enum host_lane lane, const char *vm,
		 host_work_f work, guint limit_s)
{
	const struct host_call request = {.vm = vm,
					  .work = work,
					  .input = gate,
					  .result_free = g_free,
					  .done = note_end,
					  .data = gate,
					  .limit_s = limit_s};

	host_call(fixture->host, lane, &request);
}

/* One thread each: two of the same connection are one thread. */
static void assert_connections_apart(const struct gate *gate)
{
	for (uint32_t i = 0; i < gate->seen_count; i++)
		for (uint32_t k = 0; k < i; k++)
			if (gate->seen[i].connection == gate->seen[k].connection)
				g_assert_true(gate->seen[i].thread == gate->seen[k].thread);
			else
				g_assert_true(gate->seen[i].thread != gate->seen[k].thread);
}

static uint32_t hanging(struct gate *gate)
{
	uint32_t count;

	pthread_mutex_lock(&gate->lock);
	count = gate->hanging;
	pthread_mutex_unlock(&gate->lock);
	return count;
}

static void until_hanging(struct gate *gate, uint32_t count)
{
	pthread_mutex_lock(&gate->lock);
	while (gate->hanging < count)
		pthread_cond_wait(&gate->changed, &gate->lock);
	pthread_mutex_unlock(&gate->lock);
}

static void hang_vms(struct fixture *fixture, struct gate *gate, enum host_lane lane, int count)
{
	for (int i = 0; i < count; i++) {
		g_autofree char *vm = g_strdup_printf("hung%d", i);

		call(fixture, gate, lane, vm, hang_work, 0);
	}
}

/* More VMs hang than there were threads for a kind of work. */
static void test_hung_vms(struct fixture *fixture, gconstpointer uri)
{
	struct gate gate;

	gate_init(&gate);
	hang_vms(fixture, &gate, HOST_LANE_AGENT, HUNG);
	until_hanging(&gate, HUNG);
	call(fixture, &gate, HOST_LANE_AGENT, "test", quick_work, 0);
	call(fixture, &gate, HOST_LANE_LIFE, "hung0", quick_work, 0);
	call(fixture, &gate, HOST_LANE_CONTROL, NULL, quick_work, 0);
	until_told(&gate, "ddd");
	gate_open(&gate);
	until_told(&gate, "dddllllllll");
	assert_connections_apart(&gate);
	gate_finish(&gate);
}

/*
 * However many guests hang, and VMs that are being ended: the claim is reported, and CPU times are
 * read.
 */
static void test_kept_workers(struct fixture *fixture, gconstpointer uri)
{
	struct gate gate;

	gate_init(&gate);
	hang_vms(fixture, &gate, HOST_LANE_AGENT, HOST_WORKERS_MAX);
	until_hanging(&gate, HOST_WORKERS_MAX - HOST_WORKERS_SIGNS - HOST_WORKERS_LIFE);
	call(fixture, &gate, HOST_LANE_LIFE, "test", quick_work, 0);
	until_told(&gate, "d");
	hang_vms(fixture, &gate, HOST_LANE_LIFE, HOST_WORKERS_LIFE + 1);
	until_hanging(&gate, HOST_WORKERS_MAX - HOST_WORKERS_SIGNS);
	call(fixture, &gate, HOST_LANE_STATS, NULL, hang_work, 0);
	until_hanging(&gate, HOST_WORKERS_MAX - 1);
	call(fixture, &gate, HOST_LANE_CLAIM, NULL, quick_work, 0);
	until_told(&gate, "dd");
	gate_open(&gate);
	until_told(&gate, "ddllllllllllllllllllllllll");
	gate_finish(&gate);
}

/* VMs that are saved take no more than their share of the workers. */
static void test_disks(struct fixture *fixture, gconstpointer uri)
{
	struct gate gate;

	gate_init(&gate);
	hang_vms(fixture, &gate, HOST_LANE_DISK, HOST_WORKERS_MAX);
	until_hanging(&gate, HOST_DISKS_MAX);
	call(fixture, &gate, HOST_LANE_ACT, "test", quick_work, 0);
	call(fixture, &gate, HOST_LANE_CLAIM, NULL, quick_work, 0);
	until_told(&gate, "dd");
	g_assert_cmpuint(hanging(&gate), ==, HOST_DISKS_MAX);
	gate_open(&gate);
	until_told(&gate, "ddllllllllllllllllllll");
	gate_finish(&gate);
}

/* What is asked about a VM waits for what was asked before; no request waits for ever. */
static void test_order(struct fixture *fixture, gconstpointer uri)
{
	struct gate gate;

	gate_init(&gate);
	call(fixture, &gate, HOST_LANE_ACT, "test", hang_work, 1);
	call(fixture, &gate, HOST_LANE_ACT, "test", quick_work, 0);
	call(fixture, &gate, HOST_LANE_STATS, NULL, quick_work, 0);
	until_told(&gate, "ded");
	g_assert_error(gate.error, VIRT_ERROR, VIRT_ERROR_OTHER);
	g_assert_nonnull(
		strstr(gate.error->message, "did not answer within 1 s, asked of VM 'test'"));
	gate_open(&gate);
	call(fixture, &gate, HOST_LANE_ACT, "test", quick_work, 0);
	until_told(&gate, "dedd"); /* the late answer is dropped */
	host_free(g_steal_pointer(&fixture->host));
	gate_finish(&gate);
}

/*
 * A peer that takes a connection and says nothing until it is closed, as a libvirtd that stands
 * still.
 */
static void test_out_of_reach(void)
{
	g_autofree char *dir = g_dir_make_tmp("virtbed-host-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(dir, "s", NULL);
	g_autofree char *uri = g_strdup_printf("qemu+unix:///system?socket=%s", path);
	struct fixture fixture = {0};
	struct gate gate;
	int fd;

	gate_init(&gate);
	fd = bind_socket(path);
	g_assert_cmpint(listen(fd, 16), ==, 0);
	set_up(&fixture, uri);
	for (int i = 0; i < 3; i++)
		call(&fixture, &gate, HOST_LANE_ACT, i ? "a" : "b", quick_work, 0);
	call(&fixture, &gate, HOST_LANE_CONTROL, NULL, quick_work, 0);
	g_assert_cmpint(close(fd), ==, 0);
	until_told(&gate, "eeee");
	g_assert_error(gate.error, VIRT_ERROR, VIRT_ERROR_CONNECTION);
	g_assert_cmpuint(gate.seen_count, ==, 0);
	/* It is known to be out of reach by now. */
	call(&fixture, &gate, HOST_LANE_ACT, "a", quick_work, 0);
	until_told(&gate, "eeeee");
	tear_down(&fixture, uri);
	gate_finish(&gate);
	g_assert_cmpint(g_unlink(path) + g_rmdir(dir), ==, 0);
}

#define ADD(name, uri, test) g_test_add(name, struct fixture, uri, set_up, test, tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	signal(SIGPIPE, SIG_IGN); /* libvirt writes to a peer that is gone */
	gvir_event_register();
	virt_error_quiet();
	ADD("/host/lists-vms", "test:///default", test_list);
	ADD("/host/destroys-vms", "test:///default", test_destroy);
	ADD("/host/ends-a-vm-that-has-ended-meanwhile", "test:///default", test_ended_meanwhile);
	ADD("/host/leaves-alone-what-is-not-its-keepers", "test:///default", test_leaves_foreign);
	ADD("/host/says-that-a-name-is-somebody-elses", "test:///default", test_taken_name);
	ADD("/host/starts-vms-bound-to-it", "test:///default", test_bound);
	ADD("/host/translates-errors", "test:///default", test_errors);
	ADD("/host/says-what-it-is", "test:///default", test_about);
	ADD("/host/fails-without-connection", "qemu+unix:///system?socket=/nonexistent/s",
	    test_away);
	g_test_add_func("/host/tells-why-it-cannot-be-reached", test_unreachable);
	ADD("/host/holds-up-no-vm-by-vms-that-hang", "test:///default", test_hung_vms);
	ADD("/host/holds-up-no-sign-of-life-by-guests-that-hang", "test:///default",
	    test_kept_workers);
	ADD("/host/saves-few-vms-at-a-time", "test:///default", test_disks);
	ADD("/host/works-in-order-on-a-vm-until-it-gives-up", "test:///default", test_order);
	g_test_add_func("/host/refuses-what-waits-when-it-is-out-of-reach", test_out_of_reach);
	ADD("/host/is-freed-with-work-under-way", "test:///default", test_free);
	return g_test_run();
}
