/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/platform.h"

/*
 * Workers of a virtual platform (struct platform_worker). Each has a stack of its own on the one
 * thread of the process: work that waits gives way to the main loop, and continues where it was
 * once the virtual clock has come so far. So calls that take time overlap as they do on threads, in
 * an order that depends on the seed alone.
 */

/*
 * Called by work: it waits for `ms` of virtual time, 0: until all that is ready has been done.
 * Returns false, without waiting, where nothing can wait: from the main loop, and from a worker
 * that is being dismissed.
 */
bool virtual_work_wait(guint ms);

/* The platform of the worker whose work calls this; NULL: none. */
const struct platform *virtual_work_platform(void);
