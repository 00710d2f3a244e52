/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <libsoup/soup.h>

#include "common/platform.h"

/*
 * Rejects a request before it has arrived completely. libsoup answers only after it has read the
 * body, however long that is. An early reject takes the connection from libsoup: the peer gets the
 * answer that is set in the message (status, headers and body), further input is discarded for a
 * while so that the answer arrives, and the connection is closed.
 */

/*
 * Starts this when the main loop runs again; until then nothing more of the message is read. For a
 * message whose answer is set, from a handler of its signals; no other answer is sent afterwards.
 */
void http_early_reject_begin(const struct platform *platform, SoupServerMessage *message);
