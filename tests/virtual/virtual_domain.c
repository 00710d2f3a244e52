/* SPDX-License-Identifier: GPL-3.0-or-later */
/* VMs in memory, and libvirt's functions for domains. */
#include <string.h>

#include "local-sched/hypervisor/domain.h"
#include "tests/virtual/virtual_libvirt_private.h"

#define CREATE_MS 200
#define TICK_MS 50 /* turns of long operations */
#define LOOK_MS 20 /* between looks whether they have ended */
#define AGENT_MS 5
#define DOWNTIME_MS 40
#define SAVED_TEXT "virtual VM "

/* VMs. */

struct virtual_vm *virtual_vm_find(struct virtual_host *host, guint id)
{
	for (guint i = 0; i < host->vms->len; i++)
		if (((struct virtual_vm *)host->vms->pdata[i])->id == id)
			return host->vms->pdata[i];
	return NULL;
}

static struct virtual_vm *find_name(const struct virtual_host *host, const char *name)
{
	for (guint i = 0; i < host->vms->len; i++)
		if (g_str_equal(((struct virtual_vm *)host->vms->pdata[i])->name, name))
			return host->vms->pdata[i];
	return NULL;
}

void virtual_vm_free(struct virtual_vm *vm)
{
	virtual_guest_free(vm->guest);
	g_free(vm->name);
	g_free(vm->xml);
	g_free(vm->pins);
	g_free(vm);
}

/* The text between two marks; the caller frees. NULL: it is not there. */
static char *between(const char *xml, const char *from, const char *to)
{
	const char *at = strstr(xml, from);
	const char *end = at ? strstr(at + strlen(from), to) : NULL;

	return end ? g_strndup(at + strlen(from), (gsize)(end - at) - strlen(from)) : NULL;
}

static guint64 number_in(const char *xml, const char *from)
{
	const char *at = strstr(xml, from);

	return at ? g_ascii_strtoull(at + strlen(from), NULL, 10) : 0;
}

static struct virtual_vm *vm_new(struct virtual_host *host, const char *xml)
{
	struct virtual_vm *vm = g_new0(struct virtual_vm, 1);

	vm->host = host;
	vm->id = ++host->libvirt->next_id;
	vm->name = between(xml, "<name>", "</name>");
	vm->xml = g_strdup(xml);
	vm->cores = (guint)MAX(number_in(xml, "<vcpu>"), 1);
	vm->memory_kib = number_in(xml, "<memory unit='MiB'>") * 1024;
	vm->state = VIR_DOMAIN_PAUSED;
	vm->period_us = 100000;
	vm->quota_us = -1;
	vm->downtime_ms = -1;
	vm->pins = g_new0(unsigned char, vm->cores *PIN_BYTES);
	g_ptr_array_add(host->vms, vm);
	return vm;
}

void virtual_vm_set(struct virtual_vm *vm, int state, int reason)
{
	vm->state = state;
	vm->reason = reason;
	if (vm->guest)
		virtual_guest_run(vm->guest, state == VIR_DOMAIN_RUNNING);
}

uint64_t virtual_vm_cpu_ns(struct virtual_vm *vm)
{
	return vm->guest ? virtual_guest_cpu_ns(vm->guest) - vm->cpu_base_ns : 0;
}

/* It is not on its host any more. */
static void remove_vm(struct virtual_vm *vm)
{
	struct virtual_host *host = vm->host;

	host->gone_cpu_ns += virtual_vm_cpu_ns(vm);
	if (vm->guest)
		virtual_guest_run(vm->guest, false);
	g_ptr_array_remove(host->vms, vm);
	for (GList *link = vm->streams; link; link = link->next)
		virtual_stream_hang_up(link->data);
	g_clear_pointer(&vm->streams, g_list_free);
	vm->job = NULL; /* it finds the VM gone */
	vm->bound = NULL;
}

void virtual_vm_end(struct virtual_vm *vm, int detail)
{
	if (detail >= 0)
		virtual_event(vm, VIR_DOMAIN_EVENT_STOPPED, detail);
	remove_vm(vm);
	virtual_vm_free(vm);
}

static struct virtual_vm *find_anywhere(struct virtual_libvirt *libvirt, const char *domain)
{
	for (guint i = 0; i < libvirt->hosts->len; i++) {
		struct virtual_vm *vm = find_name(libvirt->hosts->pdata[i], domain);

		if (vm && vm->guest)
			return vm;
	}
	return NULL;
}

const char *virtual_vm_host(struct virtual_libvirt *libvirt, const char *domain)
{
	const struct virtual_vm *vm = find_anywhere(libvirt, domain);

	return vm ? vm->host->name : NULL;
}

static void pause_vm(struct virtual_vm *vm, int reason, int detail)
{
	if (vm->state != VIR_DOMAIN_RUNNING)
		return;
	virtual_vm_set(vm, VIR_DOMAIN_PAUSED, reason);
	virtual_event(vm, VIR_DOMAIN_EVENT_SUSPENDED, detail);
}

static void continue_vm(struct virtual_vm *vm, int detail)
{
	if (vm->state == VIR_DOMAIN_RUNNING)
		return;
	virtual_vm_set(vm, VIR_DOMAIN_RUNNING, VIR_DOMAIN_RUNNING_UNPAUSED);
	virtual_event(vm, VIR_DOMAIN_EVENT_RESUMED, detail);
}

bool virtual_vm_trouble(struct virtual_libvirt *libvirt, const char *domain,
			enum virtual_trouble trouble)
{
	struct virtual_vm *vm = find_anywhere(libvirt, domain);

	if (!vm)
		return false;
	virtual_tell(libvirt, "%s: VM '%s': trouble %d", vm->host->name, domain, (int)trouble);
	if (trouble == VIRTUAL_VM_VANISHES)
		virtual_vm_end(vm, VIR_DOMAIN_EVENT_STOPPED_FAILED);
	else if (trouble == VIRTUAL_VM_DESTROYED)
		virtual_vm_end(vm, VIR_DOMAIN_EVENT_STOPPED_DESTROYED);
	else if (trouble == VIRTUAL_GUEST_ENDS)
		virtual_vm_end(vm, VIR_DOMAIN_EVENT_STOPPED_SHUTDOWN);
	else if (trouble == VIRTUAL_VM_PAUSED)
		pause_vm(vm, VIR_DOMAIN_PAUSED_USER, VIR_DOMAIN_EVENT_SUSPENDED_PAUSED);
	else if (trouble == VIRTUAL_VM_IO_ERROR)
		pause_vm(vm, VIR_DOMAIN_PAUSED_IOERROR, VIR_DOMAIN_EVENT_SUSPENDED_IOERROR);
	else if (trouble == VIRTUAL_VM_CONTINUED)
		continue_vm(vm, VIR_DOMAIN_EVENT_RESUMED_UNPAUSED);
	else
		virtual_guest_trouble(vm->guest, trouble);
	return true;
}

/* Handles. */

static virDomainPtr domain_new(virConnectPtr connection, const struct virtual_vm *vm)
{
	virDomainPtr domain = g_new0(struct _virDomain, 1);

	domain->handle = HANDLE_DOMAIN;
	domain->refs = 1;
	domain->connection = virtual_connection_ref(connection);
	domain->name = g_strdup(vm->name);
	domain->vm = vm->id;
	virtual_handle_add(connection, domain);
	return domain;
}

int virDomainFree(virDomainPtr domain)
{
	virConnectPtr connection = domain->connection;

	virResetLastError();
	virtual_handle_remove(connection, domain);
	g_free(domain->name);
	g_free(domain);
	virConnectClose(connection);
	return 0;
}

const char *virDomainGetName(virDomainPtr domain)
{
	virResetLastError();
	return domain->name;
}

virConnectPtr virDomainGetConnect(virDomainPtr dom)
{
	return dom->connection;
}

static struct virtual_vm *no_domain(const char *name)
{
	virtual_fail(VIR_ERR_NO_DOMAIN, VIR_FROM_QEMU,
		     "Domain not found: no domain with matching name '%s'", name);
	return NULL;
}

static int not_running(void)
{
	return virtual_fail(VIR_ERR_OPERATION_INVALID, VIR_FROM_QEMU,
			    "Requested operation is not valid: domain is not running");
}

/* What a handle stands for, once the call has got there; NULL and failed. */
static struct virtual_vm *vm_of(virDomainPtr domain, const char *function)
{
	struct virtual_vm *vm;

	if (!virtual_call(domain->connection, function))
		return NULL;
	vm = virtual_vm_find(domain->connection->host, domain->vm);
	return vm ? vm : no_domain(domain->name);
}

virDomainPtr virDomainLookupByName(virConnectPtr conn, const char *name)
{
	const struct virtual_vm *vm;

	if (!virtual_call(conn, __func__))
		return NULL;
	vm = find_name(conn->host, name);
	if (vm)
		return domain_new(conn, vm);
	no_domain(name);
	return NULL;
}

int virConnectListAllDomains(virConnectPtr conn, virDomainPtr **domains, unsigned int flags)
{
	const GPtrArray *vms = conn->host->vms;

	if (!virtual_call(conn, __func__))
		return -1;
	*domains = calloc(vms->len + 1, sizeof(**domains));
	for (guint i = 0; i < vms->len; i++)
		(*domains)[i] = domain_new(conn, vms->pdata[i]);
	return (int)vms->len;
}

/* Facts. */

int virDomainGetState(virDomainPtr domain, int *state, int *reason, unsigned int flags)
{
	const struct virtual_vm *vm = vm_of(domain, __func__);

	if (!vm)
		return -1;
	*state = vm->state;
	if (reason)
		*reason = vm->reason;
	return 0;
}

int virDomainIsActive(virDomainPtr domain)
{
	if (!virtual_call(domain->connection, __func__))
		return -1;
	return virtual_vm_find(domain->connection->host, domain->vm) != NULL;
}

int virDomainGetInfo(virDomainPtr domain, virDomainInfoPtr info)
{
	struct virtual_vm *vm = vm_of(domain, __func__);

	if (!vm)
		return -1;
	*info = (virDomainInfo){.state = (unsigned char)vm->state,
				.maxMem = vm->memory_kib,
				.memory = vm->memory_kib,
				.nrVirtCpu = (unsigned short)vm->cores,
				.cpuTime = virtual_vm_cpu_ns(vm)};
	return 0;
}

char *virDomainGetXMLDesc(virDomainPtr domain, unsigned int flags)
{
	const struct virtual_vm *vm = vm_of(domain, __func__);

	return vm ? strdup(vm->xml) : NULL;
}

char *virDomainGetMetadata(virDomainPtr domain, int type, const char *uri, unsigned int flags)
{
	const struct virtual_vm *vm = vm_of(domain, __func__);
	g_autofree char *inner = NULL;
	g_autofree char *text = NULL;

	if (!vm)
		return NULL;
	if (type == VIR_DOMAIN_METADATA_DESCRIPTION) {
		text = between(vm->xml, "<description>", "</description>");
	} else {
		inner = between(vm->xml, "<virtbed:vm ", "/>");
		text = inner ? g_strdup_printf("<virtbed:vm %s/>", inner) : NULL;
	}
	if (text)
		return strdup(text);
	virtual_fail(VIR_ERR_NO_DOMAIN_METADATA, VIR_FROM_QEMU,
		     "metadata not found: Requested metadata element is not present");
	return NULL;
}

/* CPUs. */

int virDomainGetCPUStats(virDomainPtr domain, virTypedParameterPtr params, unsigned int nparams,
			 int start_cpu, unsigned int ncpus, unsigned int flags)
{
	struct virtual_vm *vm = vm_of(domain, __func__);

	if (!vm)
		return -1;
	g_strlcpy(params->field, VIR_DOMAIN_CPU_STATS_CPUTIME, sizeof(params->field));
	params->type = VIR_TYPED_PARAM_ULLONG;
	params->value.ul = virtual_vm_cpu_ns(vm);
	return 1;
}

int virDomainSetSchedulerParametersFlags(virDomainPtr domain, virTypedParameterPtr params,
					 int nparams, unsigned int flags)
{
	struct virtual_vm *vm = vm_of(domain, __func__);
	unsigned long long period;

	if (!vm)
		return -1;
	if (vm->guest)
		virtual_guest_cpu_ns(vm->guest); /* by the former quota */
	if (virTypedParamsGetULLong(params, nparams, VIR_DOMAIN_SCHEDULER_GLOBAL_PERIOD, &period) ==
	    1)
		vm->period_us = (int64_t)period;
	for (int i = 0; i < nparams; i++)
		if (g_str_equal(params[i].field, VIR_DOMAIN_SCHEDULER_GLOBAL_QUOTA))
			vm->quota_us = params[i].value.l;
	return 0;
}

int virDomainGetSchedulerParametersFlags(virDomainPtr domain, virTypedParameterPtr params,
					 int *nparams, unsigned int flags)
{
	const struct virtual_vm *vm = vm_of(domain, __func__);

	if (!vm)
		return -1;
	*nparams = 2;
	g_strlcpy(params[0].field, VIR_DOMAIN_SCHEDULER_GLOBAL_PERIOD, sizeof(params[0].field));
	params[0].type = VIR_TYPED_PARAM_ULLONG;
	params[0].value.ul = (unsigned long long)vm->period_us;
	g_strlcpy(params[1].field, VIR_DOMAIN_SCHEDULER_GLOBAL_QUOTA, sizeof(params[1].field));
	params[1].type = VIR_TYPED_PARAM_LLONG;
	params[1].value.l = vm->quota_us;
	return 0;
}

int virDomainPinVcpuFlags(virDomainPtr domain, unsigned int vcpu, unsigned char *cpumap, int maplen,
			  unsigned int flags)
{
	struct virtual_vm *vm = vm_of(domain, __func__);

	if (!vm)
		return -1;
	if (vcpu >= vm->cores)
		return virtual_fail(VIR_ERR_INVALID_ARG, VIR_FROM_QEMU,
				    "invalid argument: vcpu %u is not present", vcpu);
	memset(vm->pins + vcpu * PIN_BYTES, 0, PIN_BYTES);
	memcpy(vm->pins + vcpu * PIN_BYTES, cpumap, (size_t)MIN(maplen, PIN_BYTES));
	return 0;
}

int virDomainGetVcpus(virDomainPtr domain, virVcpuInfoPtr info, int maxinfo, unsigned char *cpumaps,
		      int maplen)
{
	const struct virtual_vm *vm = vm_of(domain, __func__);
	static const unsigned char none[PIN_BYTES];

	if (!vm)
		return -1;
	for (int i = 0; i < MIN(maxinfo, (int)vm->cores); i++) {
		const unsigned char *pins = vm->pins + i * PIN_BYTES;
		unsigned char *map = cpumaps + i * maplen;

		memset(map, 0, (size_t)maplen);
		memcpy(map, pins, (size_t)MIN(maplen, PIN_BYTES));
		for (guint cpu = 0; memcmp(pins, none, PIN_BYTES) == 0 && cpu < vm->host->cpus;
		     cpu++)
			map[cpu / 8] |= (unsigned char)(1u << cpu % 8);
	}
	return (int)vm->cores;
}

/* Life. */

static uint64_t free_kib(const struct virtual_host *host)
{
	uint64_t kib = host->memory_mib * 1024;

	for (guint i = 0; i < host->vms->len; i++)
		kib -= MIN(kib, ((const struct virtual_vm *)host->vms->pdata[i])->memory_kib);
	return kib;
}

/* Whether the host has what a VM needs to start; false and failed. */
static bool has_room(struct virtual_host *host, const char *xml)
{
	g_autofree char *name = between(xml, "<name>", "</name>");
	g_autofree char *kernel = between(xml, "<kernel>", "</kernel>");

	if (find_name(host, name)) {
		virtual_fail(VIR_ERR_OPERATION_FAILED, VIR_FROM_QEMU,
			     "operation failed: domain '%s' already exists", name);
	} else if (!virtual_volume_at(host, kernel)) {
		virtual_fail(VIR_ERR_SYSTEM_ERROR, VIR_FROM_STORAGE,
			     "Cannot access storage file '%s': No such file or directory", kernel);
	} else if (free_kib(host) < number_in(xml, "<memory unit='MiB'>") * 1024) {
		virtual_fail(VIR_ERR_INTERNAL_ERROR, VIR_FROM_QEMU,
			     "internal error: qemu unexpectedly closed the monitor: cannot set up "
			     "guest memory 'pc.ram': Cannot allocate memory");
	} else {
		return true;
	}
	return false;
}

virDomainPtr virDomainCreateXML(virConnectPtr conn, const char *xmlDesc, unsigned int flags)
{
	struct virtual_host *host = conn->host;
	struct virtual_vm *vm;

	g_assert_nonnull(xmlDesc);
	if (!virtual_call(conn, __func__))
		return NULL;
	if (!virtual_call_goes_on(conn, virtual_about(host->libvirt, CREATE_MS)) ||
	    !has_room(host, xmlDesc))
		return NULL;
	vm = vm_new(host, xmlDesc);
	vm->bound = flags & VIR_DOMAIN_START_AUTODESTROY ? conn : NULL;
	vm->guest = virtual_guest_new(vm);
	virtual_vm_set(vm, VIR_DOMAIN_RUNNING, VIR_DOMAIN_RUNNING_BOOTED);
	virtual_event(vm, VIR_DOMAIN_EVENT_STARTED, VIR_DOMAIN_EVENT_STARTED_BOOTED);
	return domain_new(conn, vm);
}

int virDomainDestroy(virDomainPtr domain)
{
	struct virtual_vm *vm = vm_of(domain, __func__);

	if (!vm)
		return -1;
	virtual_vm_end(vm, VIR_DOMAIN_EVENT_STOPPED_DESTROYED);
	return 0;
}

int virDomainSuspend(virDomainPtr domain)
{
	struct virtual_vm *vm = vm_of(domain, __func__);

	if (!vm)
		return -1;
	if (vm->state != VIR_DOMAIN_RUNNING)
		return not_running();
	pause_vm(vm, VIR_DOMAIN_PAUSED_USER, VIR_DOMAIN_EVENT_SUSPENDED_PAUSED);
	return 0;
}

int virDomainResume(virDomainPtr domain)
{
	struct virtual_vm *vm = vm_of(domain, __func__);

	if (!vm)
		return -1;
	if (vm->state == VIR_DOMAIN_RUNNING || !vm->guest)
		return virtual_fail(VIR_ERR_OPERATION_INVALID, VIR_FROM_QEMU,
				    "Requested operation is not valid: domain is %s",
				    vm->guest ? "already running" : "being migrated");
	continue_vm(vm, VIR_DOMAIN_EVENT_RESUMED_UNPAUSED);
	return 0;
}

/* Agents. */

/* Waits for an agent that hangs. False and failed: it is too late, or the VM is gone. */
static struct virtual_vm *await_agent(virDomainPtr domain, int timeout_s)
{
	struct virtual_vm *vm = virtual_vm_find(domain->connection->host, domain->vm);

	for (int waited_ms = 0;
	     vm && (virtual_guest_agent_hangs(vm->guest) || vm->state != VIR_DOMAIN_RUNNING);
	     waited_ms += 100) {
		if (waited_ms >= timeout_s * 1000) {
			virtual_fail(VIR_ERR_AGENT_UNRESPONSIVE, VIR_FROM_QEMU,
				     "Guest agent is not responding: Guest agent not available "
				     "for now");
			return NULL;
		}
		if (!virtual_call_goes_on(domain->connection, 100))
			return NULL;
		vm = virtual_vm_find(domain->connection->host, domain->vm);
	}
	return vm ? vm : no_domain(domain->name);
}

char *virDomainQemuAgentCommand(virDomainPtr domain, const char *cmd, int timeout,
				unsigned int flags)
{
	struct virtual_vm *vm = vm_of(domain, __func__);
	g_autofree char *refusal = NULL;
	g_autofree char *reply = NULL;

	if (!vm)
		return NULL;
	if (vm->state != VIR_DOMAIN_RUNNING || !vm->guest) {
		not_running();
		return NULL;
	}
	if (!virtual_guest_has_agent(vm->guest)) {
		virtual_fail(VIR_ERR_AGENT_UNRESPONSIVE, VIR_FROM_QEMU,
			     "Guest agent is not responding: QEMU guest agent is not connected");
		return NULL;
	}
	if (!virtual_call_goes_on(domain->connection, virtual_about(vm->host->libvirt, AGENT_MS)))
		return NULL;
	vm = await_agent(domain, timeout);
	if (!vm)
		return NULL;
	reply = virtual_guest_ask(vm->guest, cmd, &refusal);
	if (reply)
		return strdup(reply);
	virtual_fail(VIR_ERR_INTERNAL_ERROR, VIR_FROM_QEMU,
		     "internal error: unable to execute QEMU agent command: %s", refusal);
	return NULL;
}

/* Ports. */

int virDomainOpenChannel(virDomainPtr dom, const char *name, virStreamPtr st, unsigned int flags)
{
	struct virtual_vm *vm = vm_of(dom, __func__);
	g_autofree char *element = g_strdup_printf(" name='%s'/>", name);

	if (!vm)
		return -1;
	if (!strstr(vm->xml, element))
		return virtual_fail(VIR_ERR_INTERNAL_ERROR, VIR_FROM_QEMU,
				    "internal error: cannot find channel %s", name);
	for (GList *link = vm->streams; link; link = link->next) {
		virStreamPtr other = link->data;

		if (!g_str_equal(other->port, name))
			continue;
		vm->streams = g_list_delete_link(vm->streams, link);
		virtual_stream_hang_up(other);
		break;
	}
	st->vm = vm->id;
	st->port = g_strdup(name);
	vm->streams = g_list_append(vm->streams, st);
	if (vm->guest)
		virtual_guest_opened(vm->guest, name);
	return 0;
}

/* Long operations. */

static void job_unref(struct job *job)
{
	if (--job->refs > 0)
		return;
	g_free(job->failure);
	g_free(job->volume);
	g_free(job->xml);
	g_free(job);
}

static void end_job(struct job *job, const char *failure)
{
	struct virtual_vm *vm = virtual_vm_find(job->host, job->vm);

	job->over = true;
	job->failure = g_strdup(failure);
	if (vm && vm->job == job)
		vm->job = NULL;
}

/* Why a long operation fails; NULL: it does not, so far. */
static const char *trouble_of(const struct job *job, const struct virtual_vm *vm)
{
	if (!vm)
		return "domain is not running";
	if (job->aborted)
		return "canceled by client";
	if (!job->to)
		return NULL;
	if (job->to->off || job->to->cut || job->host->cut || job->to->stopped)
		return "unable to connect to the other host";
	return virtual_vm_find(job->to, job->copy) ? NULL : "the domain at the other host is gone";
}

static void drop_copy(struct job *job)
{
	struct virtual_vm *copy = job->to ? virtual_vm_find(job->to, job->copy) : NULL;

	if (copy && !copy->guest)
		virtual_vm_end(copy, VIR_DOMAIN_EVENT_STOPPED_FAILED);
}

static gboolean tick(gpointer data)
{
	struct job *job = data;
	struct virtual_vm *vm = virtual_vm_find(job->host, job->vm);
	const char *trouble = trouble_of(job, vm);

	if (!trouble && job->left_ms > TICK_MS) {
		job->left_ms -= TICK_MS;
		return G_SOURCE_CONTINUE;
	}
	end_job(job, trouble);
	g_ptr_array_remove(job->host->jobs, job);
	if (trouble)
		drop_copy(job);
	else
		job->finish(job, vm);
	job_unref(job);
	return G_SOURCE_REMOVE;
}

static struct job *job_new(struct virtual_vm *vm,
			   void (*finish)(struct job *job, struct virtual_vm *vm))
{
	struct job *job = g_new0(struct job, 1);
	const struct virtual_libvirt *libvirt = vm->host->libvirt;

	job->refs = 2;
	job->host = vm->host;
	job->vm = vm->id;
	job->left_ms = (guint)(vm->memory_kib * 1000 / 1024 / libvirt->times.memory_mib_per_s);
	job->finish = finish;
	vm->job = job;
	job->source = platform_after_ms(job->host->platform, TICK_MS, tick, job);
	g_ptr_array_add(job->host->jobs, job);
	return job;
}

void virtual_jobs_drop(struct virtual_host *host)
{
	for (guint i = 0; i < host->jobs->len; i++) {
		struct job *job = host->jobs->pdata[i];

		g_source_remove(job->source);
		end_job(job, "its host is gone");
		job_unref(job);
	}
}

/* Waits for its end, and forgets it. */
static int await_job(virConnectPtr connection, struct job *job)
{
	bool goes_on = true;
	int result = 0;

	while (!job->over && goes_on)
		goes_on = virtual_call_goes_on(connection, LOOK_MS);
	if (job->over && job->failure)
		result = virtual_fail(VIR_ERR_OPERATION_FAILED, VIR_FROM_QEMU,
				      "operation failed: job: %s", job->failure);
	else if (!job->over)
		result = -1;
	job_unref(job);
	return result;
}

static int busy(void)
{
	return virtual_fail(VIR_ERR_OPERATION_TIMEOUT, VIR_FROM_QEMU,
			    "Timed out during operation: cannot acquire state change lock");
}

int virDomainGetJobInfo(virDomainPtr dom, virDomainJobInfoPtr info)
{
	const struct virtual_vm *vm = vm_of(dom, __func__);

	if (!vm)
		return -1;
	*info = (virDomainJobInfo){.type = vm->job || !vm->guest ? VIR_DOMAIN_JOB_UNBOUNDED
								 : VIR_DOMAIN_JOB_NONE};
	return 0;
}

int virDomainGetJobStats(virDomainPtr domain, int *type, virTypedParameterPtr *params, int *nparams,
			 unsigned int flags)
{
	const struct virtual_vm *vm = vm_of(domain, __func__);
	int max = 0;

	*params = NULL;
	*nparams = 0;
	if (!vm)
		return -1;
	*type = VIR_DOMAIN_JOB_COMPLETED;
	if (vm->downtime_ms >= 0)
		virTypedParamsAddULLong(params, nparams, &max, VIR_DOMAIN_JOB_DOWNTIME,
					(unsigned long long)vm->downtime_ms);
	return 0;
}

int virDomainAbortJob(virDomainPtr dom)
{
	struct virtual_vm *vm = vm_of(dom, __func__);

	if (!vm)
		return -1;
	if (!vm->job)
		return virtual_fail(VIR_ERR_OPERATION_INVALID, VIR_FROM_QEMU,
				    "Requested operation is not valid: no job is active on the "
				    "domain");
	vm->job->aborted = true;
	return 0;
}

/* Saving. */

/* The text in the volume of a saved VM; the caller frees. */
static char *saved_text(guint id)
{
	return g_strdup_printf(SAVED_TEXT "%u\n", id);
}

/* The saved VM in a volume; NULL and failed. *ret_text is the text there. */
static struct virtual_vm *saved_in(struct virtual_host *host, const char *path, char **ret_text)
{
	const struct volume *volume = virtual_volume_at(host, path);
	struct virtual_vm *vm;

	*ret_text = volume ? g_strndup((const char *)volume->bytes->data, volume->bytes->len)
			   : g_strdup("");
	vm = g_hash_table_lookup(host->libvirt->saved, *ret_text);
	if (!vm)
		virtual_fail(VIR_ERR_OPERATION_FAILED, VIR_FROM_QEMU,
			     "operation failed: failed to read qemu header of '%s'", path);
	return vm;
}

static void finish_save(struct job *job, struct virtual_vm *vm)
{
	struct volume *volume = virtual_volume_find(job->host, job->volume);
	g_autofree char *text = saved_text(vm->id);

	if (!volume) {
		job->failure = g_strdup("the file is gone");
		return;
	}
	g_byte_array_set_size(volume->bytes, 0);
	g_byte_array_append(volume->bytes, (const guint8 *)text, (guint)strlen(text));
	volume->capacity = volume->bytes->len;
	volume->allocation = vm->memory_kib * 1024;
	virtual_volume_touch(job->host, volume);
	virtual_vm_set(vm, VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_SAVE);
	virtual_event(vm, VIR_DOMAIN_EVENT_STOPPED, VIR_DOMAIN_EVENT_STOPPED_SAVED);
	remove_vm(vm);
	vm->host = NULL;
	g_hash_table_insert(job->host->libvirt->saved, g_steal_pointer(&text), vm);
}

int virDomainSaveFlags(virDomainPtr domain, const char *to, const char *dxml, unsigned int flags)
{
	struct virtual_vm *vm = vm_of(domain, __func__);
	const struct volume *volume = vm ? virtual_volume_at(vm->host, to) : NULL;
	struct job *job;

	if (!vm)
		return -1;
	if (vm->job)
		return busy();
	if (!volume || virtual_pool_free_bytes(vm->host) < vm->memory_kib * 1024)
		return virtual_fail(VIR_ERR_SYSTEM_ERROR, VIR_FROM_QEMU,
				    "failed to write '%s': No space left on device", to);
	pause_vm(vm, VIR_DOMAIN_PAUSED_SAVE, VIR_DOMAIN_EVENT_SUSPENDED_PAUSED);
	job = job_new(vm, finish_save);
	job->volume = g_strdup(volume->name);
	return await_job(domain->connection, job);
}

int virDomainRestoreFlags(virConnectPtr conn, const char *from, const char *dxml,
			  unsigned int flags)
{
	struct virtual_host *host = conn->host;
	g_autofree char *text = NULL;
	g_autofree char *key = NULL;
	struct virtual_vm *vm;

	if (!virtual_call(conn, __func__))
		return -1;
	vm = saved_in(host, from, &text);
	if (!vm || !virtual_call_goes_on(conn, (guint)(vm->memory_kib * 1000 / 1024 /
						       host->libvirt->times.memory_mib_per_s)))
		return -1;
	g_clear_pointer(&text, g_free);
	vm = saved_in(host, from, &text);
	if (!vm || !has_room(host, vm->xml))
		return -1;
	g_hash_table_steal_extended(host->libvirt->saved, text, (gpointer *)&key, NULL);
	vm->host = host;
	vm->id = ++host->libvirt->next_id;
	vm->cpu_base_ns = virtual_guest_cpu_ns(vm->guest);
	g_ptr_array_add(host->vms, vm);
	virtual_vm_set(vm, VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_USER);
	virtual_event(vm, VIR_DOMAIN_EVENT_STARTED, VIR_DOMAIN_EVENT_STARTED_RESTORED);
	virtual_event(vm, VIR_DOMAIN_EVENT_SUSPENDED, VIR_DOMAIN_EVENT_SUSPENDED_RESTORED);
	virtual_agent_event(vm, virtual_guest_has_agent(vm->guest));
	return 0;
}

char *virDomainSaveImageGetXMLDesc(virConnectPtr conn, const char *file, unsigned int flags)
{
	g_autofree char *text = NULL;
	const struct virtual_vm *vm;

	if (!virtual_call(conn, __func__))
		return NULL;
	vm = saved_in(conn->host, file, &text);
	return vm ? strdup(vm->xml) : NULL;
}

int virDomainSaveImageDefineXML(virConnectPtr conn, const char *file, const char *dxml,
				unsigned int flags)
{
	g_autofree char *text = NULL;
	struct virtual_vm *vm;

	if (!virtual_call(conn, __func__))
		return -1;
	vm = saved_in(conn->host, file, &text);
	if (!vm)
		return -1;
	g_free(vm->xml);
	vm->xml = g_strdup(dxml);
	return 0;
}

/* Migration. */

static void finish_migration(struct job *job, struct virtual_vm *vm)
{
	struct virtual_vm *copy = virtual_vm_find(job->to, job->copy);
	const bool ran = vm->state == VIR_DOMAIN_RUNNING;

	pause_vm(vm, VIR_DOMAIN_PAUSED_MIGRATION, VIR_DOMAIN_EVENT_SUSPENDED_MIGRATED);
	job->host->gone_cpu_ns += virtual_vm_cpu_ns(vm);
	copy->period_us = vm->period_us;
	copy->quota_us = vm->quota_us;
	copy->downtime_ms = DOWNTIME_MS;
	virtual_guest_move(vm->guest, copy);
	if (ran && job->live) {
		virtual_vm_set(copy, VIR_DOMAIN_RUNNING, VIR_DOMAIN_RUNNING_MIGRATED);
		virtual_event(copy, VIR_DOMAIN_EVENT_RESUMED, VIR_DOMAIN_EVENT_RESUMED_MIGRATED);
	} else {
		virtual_vm_set(copy, VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_USER);
		virtual_event(copy, VIR_DOMAIN_EVENT_SUSPENDED, VIR_DOMAIN_EVENT_SUSPENDED_PAUSED);
	}
	virtual_agent_event(copy, virtual_guest_has_agent(copy->guest));
	virtual_vm_end(vm, VIR_DOMAIN_EVENT_STOPPED_MIGRATED);
}

/* The host of "qemu+tcp://HOST/system". */
static struct virtual_host *host_of(struct virtual_libvirt *libvirt, const char *uri)
{
	const char *at = strstr(uri, "://");
	g_autofree char *name = at ? g_strndup(at + 3, strcspn(at + 3, "/")) : g_strdup("");

	return virtual_host_find(libvirt, name);
}

int virDomainMigrateToURI3(virDomainPtr domain, const char *dconnuri, virTypedParameterPtr params,
			   unsigned int nparams, unsigned int flags)
{
	struct virtual_vm *vm = vm_of(domain, __func__);
	struct virtual_host *to = vm ? host_of(vm->host->libvirt, dconnuri) : NULL;
	const char *xml = NULL;
	struct job *job;
	struct virtual_vm *copy;

	if (!vm)
		return -1;
	if (vm->job)
		return busy();
	if (!to || to->off || to->cut || to->stopped)
		return virtual_fail(VIR_ERR_OPERATION_FAILED, VIR_FROM_QEMU,
				    "operation failed: Failed to connect to remote libvirt URI "
				    "%s: unable to connect to server",
				    dconnuri);
	virTypedParamsGetString(params, (int)nparams, VIR_MIGRATE_PARAM_DEST_XML, &xml);
	if (!has_room(to, xml ? xml : vm->xml))
		return -1;
	job = job_new(vm, finish_migration);
	job->to = to;
	job->live = flags & VIR_MIGRATE_LIVE;
	copy = vm_new(to, xml ? xml : vm->xml);
	copy->reason = VIR_DOMAIN_PAUSED_MIGRATION;
	job->copy = copy->id;
	virtual_event(copy, VIR_DOMAIN_EVENT_STARTED, VIR_DOMAIN_EVENT_STARTED_MIGRATED);
	return await_job(domain->connection, job);
}
