/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>

/*
 * What the kernels take under QEMU's emulator, on a processor with fused multiply-add and on one
 * without: a guest of the built image's Linux, the kernels and an init of their own (guest_init.c)
 * runs each kernel once, and QEMU's own CPU time is what it took, so that a busy machine disturbs
 * little.
 */
struct emulated_settings {
	const char *qemu;     /* qemu-system-x86_64 */
	const char *image;    /* the directory of the built guest image */
	const char *programs; /* that of the kernels */
	const char *init;     /* the guest's init */
	const char *class_;
	int rounds; /* boots on either processor, in turn */
};

/*
 * Measures `programs_count` of `programs`, names below settings->programs. An object with, per
 * kernel, the median CPU seconds on either processor, their ratio and all rounds; or with
 * `skipped`, the reason, where QEMU or the image is not there. NULL with `error`: it does not work,
 * or a kernel did not verify.
 */
json_t *emulated_measure(const struct emulated_settings *settings, const char *const *programs,
			 gsize programs_count, GError **error);
