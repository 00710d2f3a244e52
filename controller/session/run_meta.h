/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/session/run_session.h"

/*
 * Writes the provenance of a measured experiment into the store's meta (docs/reference/store.md):
 * versions, the configuration's name, the virtualization of VMs, the kinds of CPU caps and meters,
 * and this machine. To be called once the local schedulers have answered. May be called again
 * after a restart: it writes the values again and keeps the time of the start.
 */
bool run_meta_write(struct run_session *session, GError **error);

/* Writes, at the end, the time and the configuration as it is now, estimates included. */
bool run_meta_end(struct run_session *session, GError **error);

/*
 * The value of a capability (virt_type, cpu_cap or meter) that all local schedulers report, or
 * "mixed". The caller frees.
 */
char *run_meta_common(const struct run_session *session, const char *capability);
