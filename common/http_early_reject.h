/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <libsoup/soup.h>

/*
 * A refusal before the request has come whole. libsoup answers when it has read a body, however long that is; one
 * that is not to be read is taken from it: its peer gets the answer that the message has by now (its status, headers
 * and body), what still comes is dropped for a while so that the answer arrives, and then the connection ends.
 */

/*
 * Does so as soon as the main loop runs again; until then nothing more of the message is read. For a message whose
 * answer is set, from a handler of its signals; it is not answered otherwise afterwards.
 */
void http_early_reject_begin(SoupServerMessage *message);
