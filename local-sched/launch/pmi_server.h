/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The process manager's side of PMI-1 (the wire protocol by which MPI ranks find one another) for
 * one job: bytes of a rank go in, bytes for ranks come out. Pure: no I/O, no clock. Every message
 * is one line, `cmd=NAME key=value ...`; the rank asks, the server answers.
 *
 * All barriers are real ones, that of MPI_Finalize too: what hangs in it in MPICH 4.0.2 is cured in
 * the kernels (benchmarks/npb/npb_finalize.h). To answer it at once lets ranks leave that others
 * still need.
 *
 * Rank 0 of our own programs tells how far the job is by lines `cmd=progress done=D total=T`
 * (benchmarks/npb/npb_progress.h), which are not answered: D of T steps, where T stays the same and D never
 * falls.
 *
 * When a rank's process has ended, the wrapper in the guest (virtbed-rank) writes the line
 * `cmd=virtbed_exit status=N` as the last one on that rank's port.
 */
struct pmi_server;

#define PMI_ERROR (pmi_error_quark())
GQuark pmi_error_quark(void);
enum pmi_error {
	PMI_ERROR_ABORT = 1, /* a rank called MPI_Abort */
	PMI_ERROR_PROTOCOL,  /* a rank sent what is not PMI-1, or exceeded a bound */
};

enum {
	PMI_LINE_MAX = 2048,  /* bytes of one message, with its newline */
	PMI_KEY_MAX = 64,     /* bytes of a key */
	PMI_VALUE_MAX = 1024, /* bytes of a value */
	PMI_KEYS_PER_RANK_MAX = 64,
	PMI_RANKS_MAX = 4096,
};

/* Most steps that a job may have: exact in a JSON number too. */
#define PMI_STEPS_MAX INT64_C(1000000000000000)

/*
 * A server for `ranks` ranks (1..PMI_RANKS_MAX) that fill `nodes` nodes with `ranks_per_node` each,
 * in order; the last node may hold fewer.
 */
struct pmi_server *pmi_server_new(uint32_t ranks, uint32_t nodes, uint32_t ranks_per_node);

/* NULL is allowed. */
void pmi_server_free(struct pmi_server *server);
typedef struct pmi_server pmi_server_t;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(pmi_server_t, pmi_server_free)

/*
 * Takes `length` bytes that `rank` (below the number of ranks) sent, in pieces of any size. Answers
 * pile up for pmi_server_take_output(). Returns true, or false with `error` set: the job has then
 * failed. After that nothing is answered and nothing fails: the server only looks out for the ends
 * of ranks, which are about to be killed.
 */
bool pmi_server_input(struct pmi_server *server, uint32_t rank, const char *bytes, size_t length,
		      GError **error);

/*
 * What is to be sent to `rank` now, or NULL: nothing. The caller frees it; length in *ret_length.
 */
char *pmi_server_take_output(struct pmi_server *server, uint32_t rank, size_t *ret_length);

/* Whether the process of `rank` has ended; then its exit status is in *ret_status. */
bool pmi_server_exited(const struct pmi_server *server, uint32_t rank, int *ret_status);

/*
 * Whether the ranks have met once and none waits for another one in a barrier: while they do, what
 * is lost of the talk with them fails the job.
 */
bool pmi_server_is_calm(const struct pmi_server *server);

/*
 * Bytes of `rank` may have been lost: its port was cut off and opened again. What it had begun to say is
 * forgotten.
 */
void pmi_server_torn(struct pmi_server *server, uint32_t rank);

/* How far the job is, as rank 0 told last; false: it has told nothing. */
bool pmi_server_progress(const struct pmi_server *server, int64_t *ret_done, int64_t *ret_total);

/* Whether `rank` has said `finalize`. */
bool pmi_server_finalized(const struct pmi_server *server, uint32_t rank);
