/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In place of batsim_peer_process.c and batsim_serve.c where there is no libzmq. */
#include "common/error_fail.h"
#include "controller/plugin/batsim/batsim_peer.h"
#include "controller/plugin/batsim/batsim_scheduler.h"

struct batsim_peer *batsim_peer_process(const char *const *words, const char *init G_GNUC_UNUSED,
					GError **error)
{
	return error_null(error, BATSIM_ERROR, BATSIM_ERROR_START,
			  "\"%s\" cannot be asked: virtbed was built without libzmq", words[0]);
}

bool batsim_scheduler_serve(struct batsim_scheduler *scheduler G_GNUC_UNUSED, const char *endpoint,
			    GError **error)
{
	return error_fail(error, BATSIM_ERROR, BATSIM_ERROR_START,
			  "cannot listen at \"%s\": virtbed was built without libzmq", endpoint);
}
