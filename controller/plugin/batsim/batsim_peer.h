/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * A scheduler written for Batsim, asked as Batsim does. Messages follow the JSON protocol of
 * Batsim 4 in both directions; batprotocol.h translates them for a scheduler of Batsim 5.
 */
struct batsim_peer {
	/*
	 * What it answers to a message, which the caller frees. NULL with `error`: it has ended, or
	 * answered what cannot be read; it can only be freed then. Waits without end.
	 */
	char *(*ask)(struct batsim_peer *peer, const char *message, GError **error);
	/* Ends it; `kindly` if it has answered SIMULATION_ENDS and may end by itself. */
	void (*free)(struct batsim_peer *peer, bool kindly);
};

#define BATSIM_ERROR (batsim_error_quark())
GQuark batsim_error_quark(void);
/* Codes of BATSIM_ERROR. */
enum batsim_error {
	BATSIM_ERROR_START = 1, /* it cannot be started or loaded */
	BATSIM_ERROR_ENDED,     /* it ended, or did not answer as the protocol says */
	BATSIM_ERROR_MESSAGE,   /* what cannot be read, or what cannot be translated */
};

/*
 * Starts a program, whose arguments have "{socket}" where the endpoint is to be that it binds its
 * ZeroMQ socket to (REP). `init` NULL: it speaks the protocol of Batsim 2 to 4. Else it is an
 * external decision component of Batsim 5, and `init` its initialisation data: the first messages
 * are those of batprotocol_init(), all others texts. NULL with `error`, also if it speaks the binary
 * format alone, and where virtbed was built without libzmq.
 */
struct batsim_peer *batsim_peer_process(const char *const *words, const char *init, GError **error);

/*
 * Loads an external decision component of Batsim 5, a shared object with three functions, into this
 * process. `init` is its initialisation data. NULL with `error`, also if it speaks the binary format
 * alone.
 */
struct batsim_peer *batsim_peer_edc(const char *file, const char *init, GError **error);
