/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * MPI_Finalize() that ends, and ends well. MPICH 4.0.2 waits in a PMI barrier after it has closed
 * its connections, a blocking read in which UCX makes no progress, so that a peer which still waits
 * for an answer to its own disconnection never gets there and the job hangs. Upstream took the
 * barrier out (pmodels/mpich pull request 6596). Without it a rank that is done leaves while others
 * still flush their connections to it, and theirs fails with "Endpoint timeout": so ended 1 of 12
 * jobs of 4 ranks on two cores, and 3 of 4 of 16 ranks. So the barrier stays, and UCX makes
 * progress in it (at link time, by --wrap).
 */
void npb_finalize(void);
