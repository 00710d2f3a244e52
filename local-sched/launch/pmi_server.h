/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The process manager's side of PMI-1, the wire protocol by which MPI ranks find one another, for a
 * job. Bytes from a rank go in, bytes for ranks come out. Pure: no I/O, no clock. A message is one
 * line, `cmd=NAME key=value ...`; the rank asks, the server answers.
 *
 * All barriers wait for all ranks, the one in MPI_Finalize too. A hang in it in MPICH 4.0.2 is
 * avoided in the kernels (benchmarks/npb/npb_finalize.h); an early answer would let ranks leave
 * that others still need.
 *
 * Rank 0 of our own programs reports its progress by lines `cmd=progress done=D total=T`
 * (benchmarks/npb/npb_progress.h), which are not answered: D of T steps are done. T is constant and
 * D never falls.
 *
 * When a rank's process has ended, the wrapper in the guest (virtbed-rank) writes the line
 * `cmd=virtbed_exit status=N` as the last line on that rank's port.
 */
struct pmi_server;

#define PMI_ERROR (pmi_error_quark())
GQuark pmi_error_quark(void);
enum pmi_error {
	PMI_ERROR_ABORT = 1, /* a rank called MPI_Abort */
	PMI_ERROR_PROTOCOL,  /* a rank violated PMI-1, or exceeded a bound */
};

enum {
	PMI_LINE_MAX = 2048,  /* bytes of one message, with its newline */
	PMI_KEY_MAX = 64,     /* bytes of a key */
	PMI_VALUE_MAX = 1024, /* bytes of a value */
	PMI_KEYS_PER_RANK_MAX = 64,
	PMI_RANKS_MAX = 4096,
};

/* The most steps that a job may have; exact in a JSON number too. */
#define PMI_STEPS_MAX INT64_C(1000000000000000)

/*
 * Creates a server for `ranks` ranks (1..PMI_RANKS_MAX) on `nodes` nodes with `ranks_per_node`
 * each, in order; the last node may hold fewer.
 */
struct pmi_server *pmi_server_new(uint32_t ranks, uint32_t nodes, uint32_t ranks_per_node);

/* NULL is allowed. */
void pmi_server_free(struct pmi_server *server);
typedef struct pmi_server pmi_server_t;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(pmi_server_t, pmi_server_free)

/*
 * Handles `length` bytes from `rank` (below the number of ranks), in pieces of any size. Answers
 * are kept for pmi_server_take_output(). Returns true, or false with `error` set: the job has then
 * failed. After that the server answers nothing, reports no further error, and only records the
 * ends of ranks, which are about to be killed.
 */
bool pmi_server_input(struct pmi_server *server, uint32_t rank, const char *bytes, size_t length,
		      GError **error);

/* The bytes to send to `rank` now, *ret_length of them, or NULL: none. The caller frees them. */
char *pmi_server_take_output(struct pmi_server *server, uint32_t rank, size_t *ret_length);

/* Whether the process of `rank` has ended; its exit status is then in *ret_status. */
bool pmi_server_exited(const struct pmi_server *server, uint32_t rank, int *ret_status);

/*
 * Whether all ranks have met in a barrier once, and no rank waits in a barrier now. While a rank
 * waits, a lost message fails the job.
 */
bool pmi_server_is_calm(const struct pmi_server *server);

/*
 * Reports that bytes of `rank` may have been lost: its port was cut off and opened again. An
 * incomplete message of the rank is dropped.
 */
void pmi_server_torn(struct pmi_server *server, uint32_t rank);

/* The progress by rank 0's last report; false: it has not reported. */
bool pmi_server_progress(const struct pmi_server *server, int64_t *ret_done, int64_t *ret_total);

/* Whether `rank` has sent `finalize`. */
bool pmi_server_finalized(const struct pmi_server *server, uint32_t rank);
