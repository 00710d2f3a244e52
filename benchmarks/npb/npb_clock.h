/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NPB_CLOCK_H
#define NPB_CLOCK_H

/*
 * Seconds of a clock that stops while this machine is suspended: MPI_Wtime() may jump when a VM was
 * suspended and its clock is set right.
 */
double npb_time_s(void);

#endif
