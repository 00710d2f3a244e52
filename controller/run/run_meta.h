/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/run/run_session.h"

/*
 * Writes where a measured experiment comes from into the store's meta (docs/reference/store.md): versions,
 * the configuration's name, how the VMs ran, how CPUs were capped, whose watts they are, and this
 * machine. To be called once the local schedulers have answered. Says what was there already again.
 */
bool run_meta_write(struct run_session *session, GError **error);

/* At the end: when it was, and the configuration as it then stands, estimates included. */
bool run_meta_end(struct run_session *session, GError **error);

/* virt_type, cpu_cap or meter as all local schedulers say it, or "mixed". The caller frees. */
char *run_meta_common(const struct run_session *session, const char *capability);
