/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NPB_CLONES_H
#define NPB_CLONES_H

/*
 * A hot loop is compiled for each of these, and which one runs is chosen when the program is
 * loaded. AVX2 is without fused multiply-add: QEMU's emulator carries out each one by a call of
 * fma(), which made EP take three times as long on an Intel Xeon. On that processor itself EP takes
 * 12 % longer without it, and CG the same (class S).
 */
#if defined(__x86_64__) && defined(__gnu_linux__)
#define CLONES __attribute__((target_clones("default", "avx2")))
#else
#define CLONES
#endif

#endif
