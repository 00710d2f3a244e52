/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/session/run_session.h"

/*
 * Carries out the plan of a session: a service; or the profile, unless RUN/estimates.yaml is
 * complete, then the runs that have not ended yet. Sets the phase DONE or FAILED of the progress at
 * the end. Returns true when all is done, or false with `error`.
 */
bool controller_work(struct run_session *session, GError **error);
