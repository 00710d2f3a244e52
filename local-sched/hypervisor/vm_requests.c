/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/hypervisor/vm_requests.h"

#include <math.h>

#include "common/platform.h"
#include "local-sched/hypervisor/domain.h"
#include "local-sched/hypervisor/vm_private.h"
#include "local-sched/hypervisor/virt_error.h"

double vm_patience_s(const struct vm *vm)
{
	return VM_PATIENCE_S * fmax(1, vm->settings.boot_timeout_s / BOOT_WATCH_DEADLINE_S);
}

struct request {
	char *text;
	gint boot; /* boot of the VM that it is for */
	host_done_f done;
	gpointer data;
};

static void request_free(gpointer data)
{
	struct request *request = data;

	g_free(request->text);
	g_free(request);
}

void vm_free_requests(struct vm *vm)
{
	g_queue_clear_full(&vm->requests, request_free);
}

static void request_answered(gpointer result, const GError *error, gpointer data);

static void send_request(struct vm *vm)
{
	const struct request *request = g_queue_peek_head(&vm->requests);

	domain_agent(vm->settings.host, vm->settings.domain,
		     &(struct domain_boot){&vm->boots, request->boot}, request->text,
		     (int)vm_patience_s(vm), request_answered, vm);
}

static void request_answered(gpointer result, const GError *error, gpointer data)
{
	struct vm *vm = data;
	struct request *request = g_queue_pop_head(&vm->requests);
	const struct request taken = *request;

	request_free(request);
	if (virt_error_is_answer(error))
		vm->heard_ns = platform_now_ns(vm_platform(vm));
	if (!g_queue_is_empty(&vm->requests))
		send_request(vm);
	taken.done(result, error, taken.data);
}

void vm_request(struct vm *vm, const char *request, host_done_f done, gpointer data)
{
	struct request *item = g_new0(struct request, 1);

	*item = (struct request){
		.text = g_strdup(request),
		.boot = g_atomic_int_get(&vm->boots),
		.done = done,
		.data = data,
	};
	g_queue_push_tail(&vm->requests, item);
	if (vm->requests.length == 1)
		send_request(vm);
}

int64_t vm_heard_ns(const struct vm *vm)
{
	return vm->heard_ns;
}

bool vm_is_excused(const struct vm *vm, int64_t asked_ns, const GError *error)
{
	bool paused = vm->paused_ns || vm->unpaused_ns >= asked_ns;

	return g_error_matches(error, VIRT_ERROR, VIRT_ERROR_PAUSED) ||
	       (paused && g_error_matches(error, VIRT_ERROR, VIRT_ERROR_AGENT));
}
