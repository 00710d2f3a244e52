/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NPB_CLONES_H
#define NPB_CLONES_H

/*
 * A hot loop is compiled for each of these, and which one runs is chosen when the program is loaded: x86-64-v3,
 * which has FMA, on today's processors; AVX2 without FMA in emulated guests, where a fused multiply-add
 * is a call of fma() (local-sched/hypervisor/domain_xml.c), and EP takes a fifth less time than in the plain one.
 */
#if defined(__x86_64__) && defined(__gnu_linux__)
#define CLONES __attribute__((target_clones("default", "avx2", "arch=x86-64-v3")))
#else
#define CLONES
#endif

#endif
