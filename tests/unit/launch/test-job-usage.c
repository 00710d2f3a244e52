/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a task used while a VM of it was to go to another host, over libvirt's own test driver. */
#include <glib.h>
#include <glib/gstdio.h>
#include <libvirt-glib/libvirt-glib.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/platform.h"
#include "local-sched/hypervisor/domain.h"
#include "local-sched/hypervisor/virt_error.h"
#include "local-sched/launch/job_usage.h"
#include "tests/unit/hypervisor/deaf_events.h"

#define DEADLINE_S 20
#define DEAD "test:///nonexistent/node.xml"
#define HOSTS 2

/* What the host says of the CPU time of its VM. */
static struct {
	pthread_mutex_t lock;       /* ThreadSanitizer does not see GMutex */
	unsigned long long cpu_ns;  /* 0: nothing */
	unsigned long long step_ns; /* that it has used more the next time */
	bool first;                 /* the next request goes through the gate */
	pthread_mutex_t gate;
} vm = {.lock = PTHREAD_MUTEX_INITIALIZER, .gate = PTHREAD_MUTEX_INITIALIZER};

static void pass_gate(void)
{
	bool first;

	pthread_mutex_lock(&vm.lock);
	first = vm.first;
	vm.first = false;
	pthread_mutex_unlock(&vm.lock);
	if (!first)
		return;
	pthread_mutex_lock(&vm.gate);
	pthread_mutex_unlock(&vm.gate);
}

/* These stand before libvirt's own, whose test driver makes up a number. */
int virDomainGetCPUStats(virDomainPtr domain, virTypedParameterPtr params, unsigned int nparams,
			 int start_cpu, unsigned int ncpus, unsigned int flags)
{
	pass_gate();
	pthread_mutex_lock(&vm.lock);
	params->type = VIR_TYPED_PARAM_ULLONG;
	params->value.ul = vm.cpu_ns;
	g_strlcpy(params->field, VIR_DOMAIN_CPU_STATS_CPUTIME, sizeof(params->field));
	vm.cpu_ns += vm.step_ns;
	pthread_mutex_unlock(&vm.lock);
	return params->value.ul ? 1 : -1;
}

int virDomainGetInfo(virDomainPtr domain, virDomainInfoPtr info)
{
	return -1;
}

struct fixture {
	struct host *hosts[HOSTS];
	struct usage_source sources[HOSTS];
	struct boot_queue *queue;
	struct vm *vm;
	struct usage usage;
	bool done;
};

/* A VM on the first host; the second one is not there. */
static void set_up(struct fixture *fixture, gconstpointer data)
{
	struct vm_settings settings = {.name = "n0", .domain = "test", .boot_timeout_s = 60};

	fixture->queue = boot_queue_new(1);
	fixture->hosts[0] = host_new(&platform_machine, "b1", "test:///default", &deaf_host, NULL);
	fixture->hosts[1] = host_new(&platform_machine, "b2", DEAD, &deaf_host, NULL);
	for (int i = 0; i < HOSTS; i++)
		fixture->sources[i] = (struct usage_source){.host = fixture->hosts[i],
							    .account = cpu_account_new()};
	settings.host = fixture->hosts[0];
	settings.queue = fixture->queue;
	fixture->vm = vm_new(&settings, 1, &deaf_vm_events, NULL);
}

static void tear_down(struct fixture *fixture, gconstpointer data)
{
	for (int i = 0; i < HOSTS; i++) {
		host_free(fixture->hosts[i]);
		cpu_account_free(fixture->sources[i].account);
	}
	vm_free(fixture->vm);
	boot_queue_free(fixture->queue);
	while (g_main_context_iteration(NULL, FALSE))
		;
}

static gboolean too_late(gpointer data)
{
	g_error("nothing happened for %d s", DEADLINE_S);
	return G_SOURCE_REMOVE;
}

static void on_usage(const struct usage *usage, void *data)
{
	struct fixture *fixture = data;

	fixture->usage = *usage;
	fixture->done = true;
}

static void until(const bool *done)
{
	guint deadline = g_timeout_add_seconds(DEADLINE_S, too_late, NULL);

	while (!*done)
		g_main_context_iteration(NULL, TRUE);
	g_source_remove(deadline);
}

static void on_times(gpointer result, const GError *error, gpointer data)
{
	g_autoptr(GPtrArray) times = result;

	*(bool *)data = true;
}

/* Readings come in order: when another one is there, that of the start is. */
static void await_reading(struct fixture *fixture)
{
	bool read = false;

	domain_cpu_times(fixture->hosts[0], on_times, &read);
	until(&read);
}

static struct job_usage *start(struct fixture *fixture)
{
	struct job_usage *usage;
	GArray *parts = usage_parts_new(fixture->sources, HOSTS, &fixture->vm, 1);

	usage_parts_expect(parts, fixture->sources, HOSTS, fixture->vm, "b2");
	g_assert_cmpuint(parts->len, ==, HOSTS);
	usage = job_usage_start(parts, 1);
	await_reading(fixture);
	return usage;
}

static void finish(struct fixture *fixture, struct job_usage *usage)
{
	job_usage_finish(usage, 2, on_usage, fixture);
	until(&fixture->done);
	job_usage_free(usage);
}

static void test_stays(struct fixture *fixture, gconstpointer data)
{
	finish(fixture, start(fixture));
	g_assert_cmpfloat(fixture->usage.cpu_s, ==, 0);
	g_assert_cmpfloat(fixture->usage.host_cpu_s, ==, 0);
}

static void test_goes(struct fixture *fixture, gconstpointer data)
{
	struct job_usage *usage = start(fixture);

	vm_move(fixture->vm, fixture->hosts[1]);
	finish(fixture, usage);
	g_assert_true(isnan(fixture->usage.cpu_s));
}

struct owner {
	const struct job_usage *usage;
	const struct vm *vm;
};

/* The VM's owner, as executors tell it. */
static const char *owner_of(const char *domain, void *data)
{
	const struct owner *owner = data;

	return job_usage_is_over(owner->usage, owner->vm) ? NULL : "task";
}

/* What the account has for an owner since it was asked last; NULL: unowned time. */
static uint64_t take(struct fixture *fixture, const char *owner)
{
	g_autoptr(GArray) uses = cpu_account_take(fixture->sources[0].account);
	uint64_t cpu_ns = 0;

	for (guint i = 0; i < uses->len; i++) {
		const struct cpu_account_use *use = &g_array_index(uses, struct cpu_account_use, i);

		cpu_ns += g_strcmp0(use->owner, owner) == 0 ? use->cpu_ns : 0;
	}
	return cpu_ns;
}

/*
 * As with the sample of a meter just before the end, whose reading is there while that of the end
 * is taken.
 */
static void test_another_reading_ends_nothing(struct fixture *fixture, gconstpointer data)
{
	struct cpu_account *account = fixture->sources[0].account;
	struct job_usage *usage = start(fixture);
	struct owner owner = {usage, fixture->vm};

	cpu_account_set_owner(account, owner_of, &owner);
	cpu_account_add(account, "test", 100);
	job_usage_finish(usage, 2, on_usage, fixture);
	cpu_account_add(account, "test", 150);
	cpu_account_add(account, "test", 170);
	g_assert_cmpuint(take(fixture, "task"), ==, 70);
	until(&fixture->done);
	g_assert_true(job_usage_is_over(usage, fixture->vm));
	/* The test driver tells no CPU times: this stands for the reading at the end. */
	cpu_account_add(account, "test", 200);
	g_assert_cmpuint(take(fixture, "task"), ==, 30);
	cpu_account_add(account, "test", 205);
	g_assert_cmpuint(take(fixture, NULL), ==, 5);
	cpu_account_set_owner(account, NULL, NULL);
	job_usage_free(usage);
}

/* A request for a connection there waits until it is closed. */
static int listen_at(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	g_assert_cmpint(fd, >=, 0);
	g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
	g_assert_cmpint(bind(fd, (const struct sockaddr *)&address, sizeof(address)), ==, 0);
	g_assert_cmpint(listen(fd, 16), ==, 0);
	return fd;
}

/*
 * Both hosts are read at the end; the reading of the VM's host counts, though the other may be read
 * first.
 */
static void test_the_host_that_it_left_ends_nothing(struct fixture *fixture, gconstpointer data)
{
	g_autofree char *dir = g_dir_make_tmp("virtbed-test-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(dir, "libvirt", NULL);
	g_autofree char *uri = g_strdup_printf("qemu+unix:///system?socket=%s", path);
	const int fd = listen_at(path);
	struct job_usage *usage;
	bool read = false;

	host_free(fixture->hosts[1]);
	fixture->hosts[1] = host_new(&platform_machine, "b2", uri, &deaf_host, NULL);
	fixture->sources[1].host = fixture->hosts[1];
	usage = start(fixture);
	vm_move(fixture->vm, fixture->hosts[1]);
	job_usage_finish(usage, 2, on_usage, fixture);
	domain_cpu_times(fixture->hosts[0], on_times, &read); /* after that of the end */
	until(&read);
	g_assert_false(job_usage_is_over(usage, fixture->vm));
	close(fd);
	g_assert_cmpint(unlink(path), ==, 0);
	g_assert_cmpint(g_rmdir(dir), ==, 0);
	until(&fixture->done);
	g_assert_true(job_usage_is_over(usage, fixture->vm));
	job_usage_free(usage);
}

/*
 * The first reading is held up until that of the end is asked for, which comes after it all the
 * same, so that nothing is negative: of the start nothing is known.
 */
static void test_readings_come_in_order(struct fixture *fixture, gconstpointer data)
{
	struct job_usage *usage;

	vm.cpu_ns = 2000000000;
	vm.step_ns = 1000000000;
	vm.first = true;
	pthread_mutex_lock(&vm.gate);
	usage = job_usage_start(usage_parts_new(fixture->sources, HOSTS, &fixture->vm, 1), 1);
	job_usage_finish(usage, 2, on_usage, fixture);
	pthread_mutex_unlock(&vm.gate);
	until(&fixture->done);
	job_usage_free(usage);
	g_assert_true(isnan(fixture->usage.cpu_s) && isnan(fixture->usage.host_cpu_s));
	g_assert_cmpuint(cpu_account_total_ns(fixture->sources[0].account), ==, 3000000000);
	vm.cpu_ns = vm.step_ns = 0;
}

/* A reading that is taken in between, as for a meter, changes nothing. */
static void test_is_what_the_counter_rose(struct fixture *fixture, gconstpointer data)
{
	struct job_usage *usage;

	vm.cpu_ns = 2000000000;
	vm.step_ns = 1000000000;
	usage = job_usage_start(usage_parts_new(fixture->sources, HOSTS, &fixture->vm, 1), 1);
	await_reading(fixture);
	finish(fixture, usage);
	g_assert_cmpfloat(fixture->usage.cpu_s, ==, 2);
	g_assert_cmpfloat(fixture->usage.host_cpu_s, ==, 2);
	vm.cpu_ns = vm.step_ns = 0;
}

#define ADD(name, test) g_test_add(name, struct fixture, NULL, set_up, test, tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	signal(SIGPIPE, SIG_IGN); /* libvirt writes to a peer that is gone */
	gvir_event_register();
	virt_error_quiet();
	ADD("/job-usage/a-dead-host-that-no-vm-came-to-does-not-matter", test_stays);
	ADD("/job-usage/a-reading-that-comes-while-the-last-one-is-taken-ends-nothing",
	    test_another_reading_ends_nothing);
	ADD("/job-usage/the-reading-of-the-host-that-a-vm-left-ends-nothing",
	    test_the_host_that_it_left_ends_nothing);
	ADD("/job-usage/readings-come-in-order", test_readings_come_in_order);
	ADD("/job-usage/is-what-the-counter-rose", test_is_what_the_counter_rose);
	ADD("/job-usage/what-was-used-on-a-dead-host-is-not-known", test_goes);
	return g_test_run();
}
