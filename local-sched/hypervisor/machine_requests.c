/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/hypervisor/machine_requests.h"

#include <math.h>

#include "common/clock.h"
#include "local-sched/hypervisor/domain.h"
#include "local-sched/hypervisor/machine_private.h"
#include "local-sched/hypervisor/virt_error.h"

double machine_patience_s(const struct machine *machine)
{
	return MACHINE_PATIENCE_S * fmax(1, machine->settings.boot_timeout_s / BOOT_WATCH_DEADLINE_S);
}

struct request {
	char *text;
	gint boot; /* the VM's that it is for */
	host_done_f done;
	gpointer data;
};

static void request_free(gpointer data)
{
	struct request *request = data;

	g_free(request->text);
	g_free(request);
}

void machine_free_requests(struct machine *machine)
{
	g_queue_clear_full(&machine->requests, request_free);
}

static void request_answered(gpointer result, const GError *error, gpointer data);

static void send_request(struct machine *machine)
{
	const struct request *request = g_queue_peek_head(&machine->requests);

	domain_agent(machine->settings.host, machine->settings.domain,
		     &(struct domain_boot){&machine->boots, request->boot}, request->text,
		     (int)machine_patience_s(machine), request_answered, machine);
}

static void request_answered(gpointer result, const GError *error, gpointer data)
{
	struct machine *machine = data;
	struct request *request = g_queue_pop_head(&machine->requests);
	const struct request taken = *request;

	request_free(request);
	if (virt_error_is_answer(error))
		machine->heard_ns = clock_now_ns();
	if (!g_queue_is_empty(&machine->requests))
		send_request(machine);
	taken.done(result, error, taken.data);
}

void machine_agent(struct machine *machine, const char *request, host_done_f done, gpointer data)
{
	struct request *item = g_new0(struct request, 1);

	*item = (struct request){
		.text = g_strdup(request),
		.boot = g_atomic_int_get(&machine->boots),
		.done = done,
		.data = data,
	};
	g_queue_push_tail(&machine->requests, item);
	if (machine->requests.length == 1)
		send_request(machine);
}

int64_t machine_heard_ns(const struct machine *machine)
{
	return machine->heard_ns;
}

bool machine_is_excused(const struct machine *machine, int64_t asked_ns, const GError *error)
{
	bool paused = machine->paused_ns || machine->went_on_ns >= asked_ns;

	return g_error_matches(error, VIRT_ERROR, VIRT_ERROR_PAUSED) ||
	       (paused && g_error_matches(error, VIRT_ERROR, VIRT_ERROR_AGENT));
}
