/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * MPI_Finalize() that ends. MPICH 4.0.2 waits in a PMI barrier while it finalizes, a blocking read in
 * which UCX makes no progress, so that a peer which still waits for its disconnection never gets there
 * and the job hangs. Upstream took that barrier out (pmodels/mpich pull request 6596); here it is left
 * out at link time (--wrap=PMI_Barrier), the barriers of MPI_Init() are kept.
 */
void npb_finalize(void);
