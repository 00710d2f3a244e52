/* SPDX-License-Identifier: GPL-3.0-or-later */
#define LOG_SUBSYSTEM "domain"
#include "local-sched/hypervisor/domain.h"

#include <libvirt/libvirt-qemu.h>
#include <libvirt/virterror.h>
#include <math.h>
#include <string.h>

#include "common/error_fail.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/platform.h"
#include "local-sched/hypervisor/cpu_quota.h"
#include "local-sched/hypervisor/cpu_spread.h"
#include "local-sched/hypervisor/domain_xml.h"
#include "local-sched/hypervisor/pause.h"
#include "local-sched/hypervisor/virt_error.h"

enum { MEMORY_STATS_MAX = 8 };

/*
 * For calls that hang. An agent's call has its own timeout in addition; the end of a task waits for
 * a reading.
 */
#define CALL_LIMIT_S 60
#define CREATE_LIMIT_S 120
#define STATS_LIMIT_S 8

static const guint limits_s[] = {
	[HOST_LANE_CONTROL] = 0,           [HOST_LANE_LIFE] = CREATE_LIMIT_S,
	[HOST_LANE_ACT] = CALL_LIMIT_S,    [HOST_LANE_AGENT] = CALL_LIMIT_S,
	[HOST_LANE_STATS] = STATS_LIMIT_S,
};

/* The input of most calls; strings are owned. */
struct input {
	const struct platform *platform;
	char *name;
	char *keeper;
	char *text;
	int timeout_s;
	struct domain_boot boot; /* boots NULL: any */
	struct cpu_cap cap;
	struct domain_cores cores;
	virStreamPtr stream; /* the stream to close */
};

static void input_free(gpointer data)
{
	struct input *input = data;

	g_free(input->name);
	g_free(input->keeper);
	g_free(input->text);
	if (input->stream)
		virStreamFree(input->stream);
	g_free(input);
}

static struct input *input_new(const char *name, const char *text)
{
	struct input *input = g_new0(struct input, 1);

	input->name = g_strdup(name);
	input->text = g_strdup(text);
	return input;
}

static gpointer list_work(virConnectPtr connection, gpointer data, GError **error);

/*
 * Hands `input` over to the host. A list also waits for earlier calls about the VM of exactly that
 * name.
 */
static void submit(struct host *host, enum host_lane lane, host_work_f work, struct input *input,
		   GDestroyNotify result_free, host_done_f done, gpointer data)
{
	const char *vm = lane == HOST_LANE_CONTROL ? NULL : input->name;
	const struct host_call call = {
		.vm = work == list_work ? input->text : vm,
		.work = work,
		.input = input,
		.input_free = input_free,
		.result_free = result_free,
		.done = done,
		.data = data,
		.limit_s = limits_s[lane] ? limits_s[lane] + (guint)input->timeout_s : 0,
	};

	input->platform = host_platform(host);
	host_call(host, lane, &call);
}

static virDomainPtr lookup(virConnectPtr connection, const char *name, GError **error)
{
	virDomainPtr domain = virDomainLookupByName(connection, name);

	if (!domain)
		virt_error_set(error, "VM '%s'", name);
	return domain;
}

/* The owner of a VM. */

/*
 * The owner of a VM, *ret_keeper, which the caller frees (NULL: no local scheduler); false with
 * `error`: not known.
 */
static bool keeper_of(virDomainPtr domain, char **ret_keeper, GError **error)
{
	char *element =
		virDomainGetMetadata(domain, VIR_DOMAIN_METADATA_ELEMENT, DOMAIN_METADATA_URI, 0);

	*ret_keeper = domain_xml_keeper(element);
	if (element) {
		free(element); /* libvirt's, by malloc() */
		return true;
	}
	if (virGetLastErrorCode() == VIR_ERR_NO_DOMAIN_METADATA) {
		virResetLastError();
		return true;
	}
	virt_error_set_domain(error, domain, "cannot read whose it is");
	return false;
}

bool domain_find(virConnectPtr connection, const char *name, const char *keeper,
		 virDomainPtr *ret_domain, GError **error)
{
	g_autoptr(virDomain) domain = virDomainLookupByName(connection, name);
	g_autoptr(GError) cause = NULL;
	g_autofree char *whose = NULL;

	*ret_domain = NULL;
	if (!domain)
		virt_error_set(&cause, "VM '%s'", name);
	else if (keeper_of(domain, &whose, &cause) && g_strcmp0(whose, keeper) == 0)
		*ret_domain = g_steal_pointer(&domain);
	if (!cause || g_error_matches(cause, VIRT_ERROR, VIRT_ERROR_NO_DOMAIN))
		return true;
	g_propagate_error(error, g_steal_pointer(&cause));
	return false;
}

/* Whether a VM of that name, running or not, exists and is not `keeper`'s. */
static bool is_taken(virConnectPtr connection, const char *name, const char *keeper)
{
	g_autoptr(virDomain) domain = virDomainLookupByName(connection, name);
	g_autofree char *whose = NULL;

	return domain && keeper_of(domain, &whose, NULL) && g_strcmp0(whose, keeper) != 0;
}

/* Sets the error after libvirt refused to start a VM. */
static gpointer create_failed(virConnectPtr connection, const struct input *input, GError **error)
{
	virt_error_set(error, "cannot start VM '%s'", input->name);
	if (!is_taken(connection, input->name, input->keeper))
		return NULL;
	g_clear_error(error);
	g_set_error(error, VIRT_ERROR, VIRT_ERROR_FOREIGN,
		    "cannot start VM '%s': another owner's VM of that name is on the host, and is "
		    "left alone; remove it or give it another name",
		    input->name);
	return NULL;
}

static gpointer create_work(virConnectPtr connection, gpointer data, GError **error)
{
	const struct input *input = data;
	g_autoptr(virDomain) domain = virDomainCreateXML(connection, input->text, 0);

	return domain ? HOST_DONE : create_failed(connection, input, error);
}

static struct input *kept_input(const char *name, const char *keeper, const char *text)
{
	struct input *input = input_new(name, text);

	input->keeper = g_strdup(keeper);
	return input;
}

void domain_create(struct host *host, const char *name, const char *keeper, const char *xml,
		   host_done_f done, gpointer data)
{
	submit(host, HOST_LANE_LIFE, create_work, kept_input(name, keeper, xml), NULL, done, data);
}

/* A driver that does not know the flag refuses it before it does anything. */
static gpointer create_bound_work(virConnectPtr connection, gpointer data, GError **error)
{
	struct input *input = data;
	g_autoptr(virDomain) domain =
		virDomainCreateXML(connection, input->text, VIR_DOMAIN_START_AUTODESTROY);

	if (domain)
		return HOST_DONE;
	return virGetLastErrorCode() == VIR_ERR_INVALID_ARG
		       ? create_work(connection, data, error)
		       : create_failed(connection, input, error);
}

void domain_create_bound(struct host *host, const char *name, const char *keeper, const char *xml,
			 host_done_f done, gpointer data)
{
	submit(host, HOST_LANE_LIFE, create_bound_work, kept_input(name, keeper, xml), NULL, done,
	       data);
}

bool domain_end(virDomainPtr domain, GError **error)
{
	int code;

	if (virDomainDestroy(domain) == 0)
		return true;
	code = virGetLastErrorCode();
	if (code == VIR_ERR_NO_DOMAIN || code == VIR_ERR_OPERATION_INVALID) {
		virResetLastError();
		return true;
	}
	virt_error_set_domain(error, domain, "it cannot be destroyed");
	return false;
}

static gpointer destroy_work(virConnectPtr connection, gpointer data, GError **error)
{
	struct input *input = data;
	g_autoptr(virDomain) domain = NULL;

	if (!domain_find(connection, input->name, input->keeper, &domain, error))
		return NULL;
	return !domain || domain_end(domain, error) ? HOST_DONE : NULL;
}

void domain_destroy(struct host *host, const char *name, const char *keeper, host_done_f done,
		    gpointer data)
{
	submit(host, HOST_LANE_LIFE, destroy_work, kept_input(name, keeper, NULL), NULL, done,
	       data);
}

static void info_free(gpointer data)
{
	struct domain_info *info = data;

	g_free(info->name);
	g_free(info->keeper);
	g_free(info->description);
	g_free(info);
}

/*
 * The virDomainState of a VM; VIR_DOMAIN_NOSTATE: not known. *ret_failure is what keeps it from
 * running on, or NULL.
 */
static int state_of(virDomainPtr domain, const char **ret_failure)
{
	int state = VIR_DOMAIN_NOSTATE;
	int reason = 0;

	if (virDomainGetState(domain, &state, &reason, 0) < 0)
		virResetLastError();
	*ret_failure = state == VIR_DOMAIN_PAUSED ? pause_failure_of_reason(reason) : NULL;
	return state;
}

/* NULL with `error`: the owner is not known. */
static struct domain_info *info_new(virDomainPtr domain, GError **error)
{
	g_autofree char *keeper = NULL;
	struct domain_info *info;
	char *description;

	if (!keeper_of(domain, &keeper, error))
		return NULL;
	info = g_new0(struct domain_info, 1);
	info->keeper = g_steal_pointer(&keeper);
	description = virDomainGetMetadata(domain, VIR_DOMAIN_METADATA_DESCRIPTION, NULL, 0);

	info->name = g_strdup(virDomainGetName(domain));
	info->description = g_strdup(description);
	info->paused = state_of(domain, &info->failure) == VIR_DOMAIN_PAUSED;
	free(description); /* libvirt's, by malloc() */
	return info;
}

/* Adds a VM, unless it has ended meanwhile. */
static void add_info(GPtrArray *found, virDomainPtr domain, GError **error)
{
	g_autoptr(GError) cause = NULL;
	struct domain_info *info = info_new(domain, &cause);

	if (info)
		g_ptr_array_add(found, info);
	else if (!g_error_matches(cause, VIRT_ERROR, VIRT_ERROR_NO_DOMAIN))
		g_propagate_error(error, g_steal_pointer(&cause));
}

static void free_array(gpointer data)
{
	g_ptr_array_unref(data);
}

static gpointer list_work(virConnectPtr connection, gpointer data, GError **error)
{
	struct input *input = data;
	g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func(info_free);
	g_autoptr(GError) cause = NULL;
	virDomainPtr *domains = NULL;
	int count = virConnectListAllDomains(connection, &domains, VIR_CONNECT_LIST_DOMAINS_ACTIVE);

	if (count < 0) {
		virt_error_set(error, "cannot list the VMs");
		return NULL;
	}
	for (int i = 0; i < count; i++) {
		if (!cause && g_str_has_prefix(virDomainGetName(domains[i]), input->text))
			add_info(found, domains[i], &cause);
		virDomainFree(domains[i]);
	}
	free(domains);
	if (!cause)
		return g_steal_pointer(&found);
	g_propagate_error(error, g_steal_pointer(&cause));
	return NULL;
}

void domain_list(struct host *host, const char *prefix, host_done_f done, gpointer data)
{
	submit(host, HOST_LANE_LIFE, list_work, input_new(NULL, prefix), free_array, done, data);
}

/*
 * Whether a VM that libvirt has just reported as not running was paused from outside. If it runs by
 * now, it was.
 */
static bool was_paused(virDomainPtr domain)
{
	const char *failure;
	int state = state_of(domain, &failure);

	return state == VIR_DOMAIN_RUNNING || (state == VIR_DOMAIN_PAUSED && !failure);
}

/*
 * Refines an error: libvirt has the same code for a command that the agent refused, with these
 * words, and for a reply that it did not understand.
 */
static void refine_agent_error(virDomainPtr domain, GError *error)
{
	if (error->code == VIRT_ERROR_NO_DOMAIN && was_paused(domain))
		error->code = VIRT_ERROR_PAUSED;
	if (error->code != VIRT_ERROR_OTHER)
		return;
	error->code = strstr(error->message, "unable to execute QEMU agent command")
			      ? VIRT_ERROR_REFUSED
			      : VIRT_ERROR_AGENT;
}

/*
 * Whether the command was not sent. Before libvirt sends a command to an agent that was late, it
 * gets in step with it (guest-sync) and allows 5 s for that, whatever the timeout. The command was
 * not sent then. The same message, up to libvirt 9, means a command that was sent and not answered.
 * A command that has waited 30 s for the answer to another client's command was not sent either.
 */
static bool was_not_sent(void)
{
	const virError *foreign = virGetLastError();

	if (foreign && foreign->code == VIR_ERR_OPERATION_TIMEOUT)
		return true;
	return foreign && foreign->code == VIR_ERR_AGENT_UNRESPONSIVE && foreign->message &&
	       (strstr(foreign->message, "Guest agent not available for now") ||
		strstr(foreign->message, "respond to synchronization"));
}

/*
 * Sends a command. A command that was sent has used up its time, so a failure with time left was
 * not sent, and is repeated. libvirt measures its wait by the time of day, so this does too: where
 * the clock is set forward, a command that was sent must not be sent again.
 */
static char *agent_command(const struct platform *platform, virDomainPtr domain,
			   const char *request, int timeout_s)
{
	const int64_t start_ns = platform_now_ns(platform);
	const int64_t start_us = platform_utc_us(platform);
	double left_s = timeout_s;
	char *reply;

	do {
		reply = virDomainQemuAgentCommand(domain, request, (int)left_s, 0);
		left_s = timeout_s - fmax(clock_elapsed_s(start_ns, platform_now_ns(platform)),
					  (double)(platform_utc_us(platform) - start_us) * 1e-6);
	} while (!reply && left_s >= 1 && was_not_sent());
	return reply;
}

static gpointer agent_work(virConnectPtr connection, gpointer data, GError **error)
{
	struct input *input = data;
	g_autoptr(virDomain) domain = lookup(connection, input->name, error);
	g_autofree char *copy = NULL;
	char *reply;

	if (!domain)
		return NULL;
	/*
	 * A VM that was found before a later one was created is not the later one, whatever its
	 * name.
	 */
	if (input->boot.boots && g_atomic_int_get(input->boot.boots) != input->boot.boot)
		return error_null(error, VIRT_ERROR, VIRT_ERROR_NO_DOMAIN,
				  "VM '%s' was gone before its agent was asked", input->name);
	reply = agent_command(input->platform, domain, input->text, input->timeout_s);
	if (!reply) {
		virt_error_set(error, "agent of VM '%s'", input->name);
		refine_agent_error(domain, *error);
		return NULL;
	}
	copy = g_strdup(reply);
	free(reply); /* libvirt's, by malloc() */
	return g_steal_pointer(&copy);
}

void domain_agent(struct host *host, const char *name, const struct domain_boot *boot,
		  const char *request, int timeout_s, host_done_f done, gpointer data)
{
	struct input *input = input_new(name, request);

	if (boot)
		input->boot = *boot;
	input->timeout_s = MAX(timeout_s, 1);
	submit(host, HOST_LANE_AGENT, agent_work, input, g_free, done, data);
}

static gpointer open_port_work(virConnectPtr connection, gpointer data, GError **error)
{
	struct input *input = data;
	g_autoptr(virDomain) domain = lookup(connection, input->name, error);
	g_autoptr(virStream) stream = NULL;

	if (!domain)
		return NULL;
	stream = virStreamNew(connection, VIR_STREAM_NONBLOCK);
	if (!stream ||
	    virDomainOpenChannel(domain, input->text, stream, VIR_DOMAIN_CHANNEL_FORCE) < 0) {
		virt_error_set(error, "VM '%s': cannot open port '%s'", input->name, input->text);
		return NULL;
	}
	return g_steal_pointer(&stream);
}

static void drop_stream(gpointer data)
{
	virStreamPtr stream = data;

	virStreamAbort(stream);
	virStreamFree(stream);
}

void domain_open_port(struct host *host, const char *name, const char *port, host_done_f done,
		      gpointer data)
{
	submit(host, HOST_LANE_CONTROL, open_port_work, input_new(name, port), drop_stream, done,
	       data);
}

static gpointer close_stream_work(virConnectPtr connection, gpointer data, GError **error)
{
	struct input *input = data;

	drop_stream(g_steal_pointer(&input->stream));
	return HOST_DONE;
}

void domain_close_stream(struct host *host, virStreamPtr stream)
{
	struct input *input = input_new(NULL, NULL);

	input->stream = stream;
	submit(host, HOST_LANE_CONTROL, close_stream_work, input, NULL, NULL, NULL);
}

static void cpu_free(gpointer data)
{
	struct domain_cpu *cpu = data;

	g_free(cpu->name);
	g_free(cpu);
}

/*
 * Reads the CPU time from the VM's control group, or else, more coarsely, from its process. False:
 * the VM does not run any more. virConnectGetAllDomainStats() would ask QEMU for data that is not
 * needed, and wait for it.
 */
static bool read_cpu_time(virDomainPtr domain, uint64_t *ret_cpu_ns)
{
	virTypedParameter total = {0};
	unsigned long long cpu_ns = 0;
	virDomainInfo info;
	bool good = virDomainGetCPUStats(domain, &total, 1, -1, 1, 0) == 1 &&
		    virTypedParamsGetULLong(&total, 1, VIR_DOMAIN_CPU_STATS_CPUTIME, &cpu_ns) == 1;

	virTypedParamsClear(&total, 1);
	if (!good && virDomainGetInfo(domain, &info) == 0) {
		good = info.state != VIR_DOMAIN_SHUTOFF;
		cpu_ns = info.cpuTime;
	}
	virResetLastError();
	*ret_cpu_ns = cpu_ns;
	return good;
}

static gpointer cpu_times_work(virConnectPtr connection, gpointer data, GError **error)
{
	virDomainPtr *domains = NULL;
	GPtrArray *found;
	int count = virConnectListAllDomains(connection, &domains, VIR_CONNECT_LIST_DOMAINS_ACTIVE);

	if (count < 0) {
		virt_error_set(error, "cannot read the VMs' CPU times");
		return NULL;
	}
	found = g_ptr_array_new_with_free_func(cpu_free);
	for (int i = 0; i < count; i++) {
		uint64_t cpu_ns;

		if (read_cpu_time(domains[i], &cpu_ns)) {
			struct domain_cpu *cpu = g_new0(struct domain_cpu, 1);

			cpu->name = g_strdup(virDomainGetName(domains[i]));
			cpu->cpu_ns = cpu_ns;
			g_ptr_array_add(found, cpu);
		}
		virDomainFree(domains[i]);
	}
	free(domains); /* libvirt's, by malloc() */
	return found;
}

void domain_cpu_times(struct host *host, host_done_f done, gpointer data)
{
	submit(host, HOST_LANE_STATS, cpu_times_work, input_new(NULL, NULL), free_array, done,
	       data);
}

/* The exact number of the host's fields has to be asked for. */
static gpointer host_cpu_work(virConnectPtr connection, gpointer data, GError **error)
{
	g_autofree virNodeCPUStats *stats = NULL;
	uint64_t *busy_ns;
	int count = 0;

	if (virNodeGetCPUStats(connection, VIR_NODE_CPU_STATS_ALL_CPUS, NULL, &count, 0) == 0 &&
	    count > 0)
		stats = g_new0(virNodeCPUStats, count);
	if (!stats ||
	    virNodeGetCPUStats(connection, VIR_NODE_CPU_STATS_ALL_CPUS, stats, &count, 0) < 0) {
		virt_error_set(error, "cannot read the host's CPU time");
		return NULL;
	}
	busy_ns = g_new0(uint64_t, 1);
	for (int i = 0; i < count; i++)
		if (strcmp(stats[i].field, VIR_NODE_CPU_STATS_USER) == 0 ||
		    strcmp(stats[i].field, VIR_NODE_CPU_STATS_KERNEL) == 0)
			*busy_ns += stats[i].value;
	return busy_ns;
}

void domain_host_cpu_time(struct host *host, host_done_f done, gpointer data)
{
	submit(host, HOST_LANE_STATS, host_cpu_work, input_new(NULL, NULL), g_free, done, data);
}

/* Failures are ignored: the VM runs without the binding too. */
static void spread(virDomainPtr domain, const struct domain_cores *cores)
{
	g_autoptr(GError) refused = NULL;

	if (!cpu_spread(domain, cores->first_core, cores->moved, &refused))
		log_warning("%s", refused->message);
}

static gpointer apply_cap_work(virConnectPtr connection, gpointer data, GError **error)
{
	struct input *input = data;
	const struct domain_cores *cores = &input->cores;
	g_autoptr(virDomain) domain = lookup(connection, input->name, error);

	if (!domain || !cpu_quota_apply(&input->cap, domain, error))
		return NULL;
	if (cores->first_cpu >= 0) {
		if (!cpu_pin(domain, (uint32_t)cores->first_cpu, error))
			return NULL;
	} else if (input->cap.fraction < 1) {
		spread(domain, cores);
	}
	return HOST_DONE;
}

static struct input *cap_input(const char *name, const struct cpu_cap *cap,
			       struct domain_cores cores)
{
	struct input *input = input_new(name, NULL);

	input->cap = *cap;
	input->cores = cores;
	return input;
}

void domain_apply_cap(struct host *host, const char *name, const struct cpu_cap *cap,
		      struct domain_cores cores, host_done_f done, gpointer data)
{
	submit(host, HOST_LANE_ACT, apply_cap_work, cap_input(name, cap, cores), NULL, done, data);
}

/* Freezes or thaws a VM, which may be in that state already. */
static gpointer change_state(virConnectPtr connection, const char *name,
			     int (*change)(virDomainPtr domain), int wanted, const char *what,
			     GError **error)
{
	g_autoptr(virDomain) domain = lookup(connection, name, error);
	g_autoptr(GError) refused = NULL;
	const char *failure;

	if (!domain)
		return NULL;
	if (change(domain) == 0)
		return HOST_DONE;
	virt_error_set(&refused, "cannot %s VM '%s'", what, name);
	if (state_of(domain, &failure) == wanted)
		return HOST_DONE;
	g_propagate_error(error, g_steal_pointer(&refused));
	return NULL;
}

static gpointer freeze_work(virConnectPtr connection, gpointer data, GError **error)
{
	return change_state(connection, ((struct input *)data)->name, virDomainSuspend,
			    VIR_DOMAIN_PAUSED, "freeze", error);
}

static gpointer thaw_work(virConnectPtr connection, gpointer data, GError **error)
{
	return change_state(connection, ((struct input *)data)->name, virDomainResume,
			    VIR_DOMAIN_RUNNING, "set going", error);
}

void domain_freeze(struct host *host, const char *name, host_done_f done, gpointer data)
{
	submit(host, HOST_LANE_ACT, freeze_work, input_new(name, NULL), NULL, done, data);
}

void domain_thaw(struct host *host, const char *name, host_done_f done, gpointer data)
{
	submit(host, HOST_LANE_ACT, thaw_work, input_new(name, NULL), NULL, done, data);
}

/* Falls back to free memory, which is less, where there are no statistics. */
static gpointer host_memory_work(virConnectPtr connection, gpointer data, GError **error)
{
	static const char *const fields[] = {VIR_NODE_MEMORY_STATS_FREE,
					     VIR_NODE_MEMORY_STATS_BUFFERS,
					     VIR_NODE_MEMORY_STATS_CACHED, NULL};
	virNodeMemoryStats stats[MEMORY_STATS_MAX];
	int count = 0;
	unsigned long long kib = 0;

	/* The second call takes exactly the number of fields that the first call returns. */
	if (virNodeGetMemoryStats(connection, VIR_NODE_MEMORY_STATS_ALL_CELLS, NULL, &count, 0) <
		    0 ||
	    count > MEMORY_STATS_MAX ||
	    virNodeGetMemoryStats(connection, VIR_NODE_MEMORY_STATS_ALL_CELLS, stats, &count, 0) <
		    0) {
		virt_error_set(error, "cannot read how much memory is free");
		return NULL;
	}
	for (int i = 0; i < count; i++)
		if (g_strv_contains(fields, stats[i].field))
			kib += stats[i].value;
	/* NULL would mean failure. */
	return GUINT_TO_POINTER((guint)CLAMP(kib / 1024, 1, UINT32_MAX));
}

void domain_host_memory(struct host *host, host_done_f done, gpointer data)
{
	submit(host, HOST_LANE_STATS, host_memory_work, input_new(NULL, NULL), NULL, done, data);
}
