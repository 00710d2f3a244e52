/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The worker is what UCX's progress hangs on. MPICH keeps its handle to itself, so that it is taken
 * down when it is created. The blocking barrier itself runs in a thread of its own, which
 * touches nothing but PMI, while this thread looks after UCX.
 */
#include "benchmarks/npb/npb_finalize.h"

#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>
#include <ucp/api/ucp.h>

/* PMI's and UCX's own names, and what the linker makes of them. */
int __real_PMI_Barrier(void);
int __wrap_PMI_Barrier(void);
ucs_status_t __real_ucp_worker_create(ucp_context_h context, const ucp_worker_params_t *params,
				      ucp_worker_h *ret_worker);
ucs_status_t __wrap_ucp_worker_create(ucp_context_h context, const ucp_worker_params_t *params,
				      ucp_worker_h *ret_worker);

/* How long a peer may have to wait for an answer, at most. */
#define PROGRESS_NS 1000000
#define NS_PER_S 1000000000

static bool finalizing;
static ucp_worker_h worker;

ucs_status_t __wrap_ucp_worker_create(ucp_context_h context, const ucp_worker_params_t *params,
				      ucp_worker_h *ret_worker)
{
	ucs_status_t status = __real_ucp_worker_create(context, params, ret_worker);

	if (status == UCS_OK)
		worker = *ret_worker;
	return status;
}

static void *wait_in_barrier(void *data)
{
	int *result = data;

	*result = __real_PMI_Barrier();
	return NULL;
}

static struct timespec soon(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	time.tv_nsec += PROGRESS_NS;
	if (time.tv_nsec >= NS_PER_S) {
		time.tv_nsec -= NS_PER_S;
		time.tv_sec++;
	}
	return time;
}

/* Until the barrier opens, answer peers that have not got so far. */
static int barrier_with_progress(void)
{
	struct timespec until;
	pthread_t thread;
	int result = 0;

	if (pthread_create(&thread, NULL, wait_in_barrier, &result) != 0)
		return __real_PMI_Barrier();
	do {
		while (ucp_worker_progress(worker) != 0)
			continue;
		until = soon();
	} while (pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &until) == ETIMEDOUT);
	return result;
}

int __wrap_PMI_Barrier(void)
{
	return finalizing && worker ? barrier_with_progress() : __real_PMI_Barrier();
}

void npb_finalize(void)
{
	finalizing = true;
	MPI_Finalize();
}
