/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The steps before VMs can be booted at a vm_host: the claim is taken, the host is prepared, and
 * wanted VMs that are there are adopted. A step that fails is repeated.
 */
#include <string.h>

#include "common/platform.h"
#include "local-sched/hypervisor/claim.h"
#include "local-sched/hypervisor/domain.h"
#include "local-sched/hypervisor/image.h"
#include "local-sched/hypervisor/vm_host_private.h"
#include "local-sched/hypervisor/storage.h"
#include "local-sched/hypervisor/virt_error.h"

#define LOG_SUBSYSTEM "site"
#include "common/log.h"

/* Sequence of steps. */

static gboolean retry(gpointer data)
{
	struct vm_host *vm_host = data;

	vm_host->retry_source = 0;
	vm_host_step(vm_host);
	return G_SOURCE_REMOVE;
}

/* Continues with the current step after RETRY_S. */
static void retry_later(struct vm_host *vm_host)
{
	if (vm_host->retry_source == 0)
		vm_host->retry_source =
			platform_after_s(host_platform(vm_host->host), RETRY_S, retry, vm_host);
}

/* Ends a step. True: it succeeded, and the vm_host is still in use. */
static bool stepped(struct vm_host *vm_host, const GError *error)
{
	vm_host->stepping = false;
	if (vm_host->frozen)
		return false;
	if (!error)
		return true;
	log_warning_of(LOG_HOST(host_name(vm_host->host)), "%s; trying again in %d s",
		       error->message, RETRY_S);
	vm_host_detach_all(vm_host, error->message);
	retry_later(vm_host);
	return false;
}

static void next_step(struct vm_host *vm_host)
{
	vm_host->step++;
	vm_host_step(vm_host);
}

/* The claim: nothing is done on the host before it is held, nor after another one holds it. */

static void renewed(gpointer data_result, const GError *error, gpointer data)
{
	struct vm_host *vm_host = data;
	g_autoptr(claim_result_t) result = data_result;

	vm_host->renewing = false;
	if (vm_host->frozen || !vm_host->claimed || error) {
		if (error)
			log_debug_of(LOG_HOST(host_name(vm_host->host)),
				     "the claim is not renewed: %s", error->message);
		return;
	}
	if (result->standing != CLAIM_OWN &&
	    vm_host_lose_claim(vm_host, result) == VM_HOST_CLAIM_AWAITED)
		retry_later(vm_host);
}

static gboolean renew(gpointer data)
{
	struct vm_host *vm_host = data;

	if (vm_host->frozen || vm_host->renewing || !vm_host->claimed ||
	    !host_connected(vm_host->host))
		return G_SOURCE_CONTINUE;
	vm_host->renewing = true;
	vm_host->claim->beat++;
	claim_take(vm_host->host, vm_host->claim_name, vm_host->claim, NULL, renewed, vm_host);
	return G_SOURCE_CONTINUE;
}

static void claim_answered(gpointer data_result, const GError *error, gpointer data)
{
	struct vm_host *vm_host = data;
	g_autoptr(claim_result_t) result = data_result;

	if (error)
		claim_watch_interrupt(&vm_host->watch);
	if (!stepped(vm_host, error))
		return;
	switch (vm_host_judge_claim(vm_host, result)) {
	case VM_HOST_CLAIM_HELD:
		if (vm_host->renew_source == 0)
			vm_host->renew_source = platform_after_s(host_platform(vm_host->host),
								 CLAIM_RENEW_S, renew, vm_host);
		vm_host_step(vm_host);
		return;
	case VM_HOST_CLAIM_AWAITED:
		retry_later(vm_host);
		return;
	case VM_HOST_CLAIM_REFUSED:
		return;
	}
}

static void take_claim(struct vm_host *vm_host)
{
	vm_host->claim->beat++;
	claim_take(vm_host->host, vm_host->claim_name, vm_host->claim,
		   claim_watch_lapsed(&vm_host->watch,
				      platform_now_ns(host_platform(vm_host->host))),
		   claim_answered, vm_host);
}

/* The host's facts. */

static void about_known(gpointer result, const GError *error, gpointer data)
{
	struct vm_host *vm_host = data;

	if (!stepped(vm_host, error)) {
		host_info_free(result);
		return;
	}
	host_info_free(vm_host->about);
	vm_host->about = result;
	next_step(vm_host);
}

static void ask_about(struct vm_host *vm_host)
{
	const struct host_call call = {.work = host_info_work,
				       .result_free = (GDestroyNotify)host_info_free,
				       .done = about_known,
				       .data = vm_host};

	host_call(vm_host->host, HOST_LANE_CONTROL, &call);
}

/* The image. */

static void image_there(gpointer result, const GError *error, gpointer data)
{
	struct vm_host *vm_host = data;

	if (!stepped(vm_host, error)) {
		image_paths_free(result);
		return;
	}
	image_paths_free(vm_host->paths);
	vm_host->paths = result;
	next_step(vm_host);
}

static void send_image(struct vm_host *vm_host)
{
	image_upload(vm_host->host, vm_host->settings.image, image_there, vm_host);
}

/* Detaches the VMs that wait to boot; running VMs have what they need. */
static void detach_waiting(struct vm_host *vm_host, const char *reason)
{
	for (guint i = 0; i < vm_host->vms->len; i++) {
		struct vm *vm = vm_host->vms->pdata[i];
		const enum vm_state state = vm_state(vm);

		if (state != VM_READY && state != VM_BUSY && state != VM_HELD &&
		    state != VM_STANDBY)
			vm_disconnect(vm, reason);
	}
}

/* The steps begin again with the image; steps whose result is known are passed. */
static void image_checked(gpointer result, const GError *error, gpointer data)
{
	struct vm_host *vm_host = data;

	vm_host->checking = false;
	image_paths_free(result);
	if (!error || vm_host->frozen || vm_host->step != STEP_READY || !vm_host->claimed ||
	    g_error_matches(error, VIRT_ERROR, VIRT_ERROR_CONNECTION))
		return;
	log_warning_of(LOG_HOST(host_name(vm_host->host)), "%s; trying again in %d s",
		       error->message, RETRY_S);
	vm_host->step = STEP_IMAGE;
	detach_waiting(vm_host, error->message);
	retry_later(vm_host);
}

void vm_host_suspect_image(struct vm_host *vm_host)
{
	if (vm_host->checking || vm_host->stepping || vm_host->frozen ||
	    vm_host->step != STEP_READY || !vm_host->claimed || !host_connected(vm_host->host))
		return;
	vm_host->checking = true;
	image_upload(vm_host->host, vm_host->settings.image, image_checked, vm_host);
}

/* The swap disks. */

/* Keeps the paths of swap disks by the names of their VMs. */
static void keep_swap(struct vm_host *vm_host, const char *const *names, const char *const *paths)
{
	g_autofree char *rest = storage_volume_name("", vm_host->settings.keeper, STORAGE_SWAP);

	for (; *names && *paths; names++, paths++)
		g_hash_table_insert(vm_host->swap, g_strndup(*names, strlen(*names) - strlen(rest)),
				    g_strdup(*paths));
}

/* Swap disks that are being created. */
struct swapping {
	struct vm_host *vm_host;
	GStrv names;
	struct vm *vm; /* NULL: for all VMs of that time */
};

static void swapping_free(struct swapping *swapping)
{
	g_strfreev(swapping->names);
	g_free(swapping);
}

static void swap_there(gpointer result, const GError *error, gpointer data)
{
	struct swapping *swapping = data;
	struct vm_host *vm_host = swapping->vm_host;
	g_auto(GStrv) paths = result;
	bool good = stepped(vm_host, error);

	if (good)
		keep_swap(vm_host, (const char *const *)swapping->names,
			  (const char *const *)paths);
	swapping_free(swapping);
	if (good)
		next_step(vm_host);
}

static void make_swap(struct vm_host *vm_host)
{
	struct swapping *swapping;

	if (!vm_host_has_swap(vm_host)) {
		vm_host->stepping = false;
		next_step(vm_host);
		return;
	}
	swapping = g_new0(struct swapping, 1);
	swapping->vm_host = vm_host;
	swapping->names = vm_host_swap_names(vm_host);
	image_make_swap(vm_host->host, (const char *const *)swapping->names,
			vm_host->settings.cluster->swap_mib, swap_there, swapping);
}

/* A VM that was added later has its swap disk, and can be booted. */
static void late_swap_there(gpointer result, const GError *error, gpointer data)
{
	struct swapping *swapping = data;
	struct vm_host *vm_host = swapping->vm_host;
	g_auto(GStrv) paths = result;

	if (error)
		log_warning_of(LOG_NODE(vm_name(swapping->vm)), "%s; trying again in %d s",
			       error->message, RETRY_S);
	else
		keep_swap(vm_host, (const char *const *)swapping->names,
			  (const char *const *)paths);
	if (!error && !vm_host->frozen) {
		vm_host_prepare(vm_host, swapping->vm);
		vm_found(swapping->vm, NULL);
	} else if (!vm_host->frozen) {
		vm_disconnect(swapping->vm, error->message);
		retry_later(vm_host);
	}
	swapping_free(swapping);
}

void vm_host_add_late(struct vm_host *vm_host, struct vm *vm)
{
	struct swapping *swapping;

	if (vm_host_can_boot(vm_host, vm)) {
		vm_host_prepare(vm_host, vm);
		vm_found(vm, NULL);
		return;
	}
	swapping = g_new0(struct swapping, 1);
	swapping->vm_host = vm_host;
	swapping->vm = vm;
	swapping->names = g_new0(char *, 2);
	swapping->names[0] =
		storage_volume_name(vm_domain(vm), vm_host->settings.keeper, STORAGE_SWAP);
	image_make_swap(vm_host->host, (const char *const *)swapping->names,
			vm_host->settings.cluster->swap_mib, late_swap_there, swapping);
}

/* The type of virtualisation. */

/* The decision borrows the specification, which lives as long. */
struct probe {
	struct vm_host *vm_host;
	struct vm_host_names names;
	struct domain_spec spec;
};

static void type_known(const struct virt_type *type, void *data)
{
	struct probe *probe = data;
	struct vm_host *vm_host = probe->vm_host;

	virt_type_clear(&vm_host->type);
	vm_host->type =
		(struct virt_type){.name = g_strdup(type->name), .reason = g_strdup(type->reason)};
	g_clear_pointer(&vm_host->decision, virt_type_decision_free);
	vm_host_names_clear(&probe->names);
	g_free(probe);
	if (!stepped(vm_host, NULL))
		return;
	log_info_of(LOG_HOST(host_name(vm_host->host)), "VMs run as type '%s': %s",
		    vm_host->type.name, vm_host->type.reason);
	vm_host_prepare_all(vm_host);
	next_step(vm_host);
}

static void decide_type(struct vm_host *vm_host)
{
	struct probe *probe;

	if (vm_host->type.name) {
		vm_host->stepping = false;
		next_step(vm_host);
		return;
	}
	probe = g_new0(struct probe, 1);
	probe->vm_host = vm_host;
	probe->spec = vm_host_specify(vm_host, vm_host->probe_name, PROBE_SUFFIX,
				      DOMAIN_NODES_MAX - 1, NULL, &probe->names);
	vm_host->decision = virt_type_decide(vm_host->host, vm_host->settings.virt_type,
					     &probe->spec, type_known, probe);
}

/* The VMs. */

static const struct domain_info *info_of(const GPtrArray *found, const char *domain)
{
	for (guint i = 0; i < found->len; i++) {
		const struct domain_info *info = found->pdata[i];

		if (g_str_equal(info->name, domain))
			return info;
	}
	return NULL;
}

static void listed(gpointer result, const GError *error, gpointer data)
{
	struct vm_host *vm_host = data;
	g_autoptr(GPtrArray) found = result;

	if (!stepped(vm_host, error))
		return;
	vm_host_remove_leftovers(vm_host, found);
	for (guint i = 0; i < vm_host->vms->len; i++) {
		struct vm *vm = vm_host->vms->pdata[i];
		const struct domain_info *info = info_of(found, vm_domain(vm));

		if (vm_may_be_absent(vm))
			continue; /* it may be on its way from host to host */
		if (vm_host_can_boot(vm_host, vm))
			vm_found(vm, info);
		else
			vm_host_add_late(vm_host, vm);
	}
	vm_host_remove_awaited(vm_host);
	vm_host_tidy(vm_host);
}

/* The last step, which is repeated after each connection: adopts or removes the VMs on the host. */
static void list_vms(struct vm_host *vm_host)
{
	domain_list(vm_host->host, vm_host->settings.prefix, listed, vm_host);
}

/* The steps. */

static void (*const steps[])(struct vm_host *vm_host) = {
	[STEP_ABOUT] = ask_about,  [STEP_IMAGE] = send_image, [STEP_SWAP] = make_swap,
	[STEP_TYPE] = decide_type, [STEP_READY] = list_vms,
};

void vm_host_step(struct vm_host *vm_host)
{
	if (vm_host->stepping || vm_host->frozen || !host_connected(vm_host->host))
		return;
	vm_host->stepping = true;
	if (vm_host->claimed)
		steps[vm_host->step](vm_host);
	else
		take_claim(vm_host);
}
