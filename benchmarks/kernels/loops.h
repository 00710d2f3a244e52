/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

/*
 * Two loops that say what a machine's memory can do, each run by several threads side by side on
 * data of their own: the yardstick beside the kernels. Both fill their data first, untimed, and
 * give the best of some rounds; the time of a round is from its common start to the end of the last
 * thread.
 */

/* Bytes of each of the three arrays of the triad, all threads together, unless told otherwise. */
#define LOOPS_TRIAD_BYTES ((int64_t)128 << 20)

/*
 * a[i] = b[i] + s c[i] over arrays of `bytes` each: bytes read and written per second in 1e9,
 * counted as 24 per element (what the hardware reads before it writes is not counted). -1 when
 * memory runs out.
 */
double loops_triad_gb_per_s(int threads, int64_t bytes);

/*
 * sum += value[i] x[index[i]], index random over 14000 elements of x as in CG class A, `value` and
 * `index` streaming from memory: elements gathered per second in 1e6. -1 when memory runs out.
 */
double loops_gather_m_per_s(int threads);
