/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

/*
 * Translates messages between Batsim 4 and the JSON form of Batsim 5's protocol, batprotocol
 * (docs/reference/batsim.md). The translation leaves unknown members out. Unknown events keep their
 * names, which no reader of the result knows.
 */

/* Both return a new message; NULL with `error` (BATSIM_ERROR): it cannot be said there, or read. */
json_t *batprotocol_to_5(const json_t *message, GError **error);
json_t *batprotocol_to_4(const json_t *message, GError **error);

/* So for texts; the caller frees the new one. */
char *batprotocol_text_to_5(const char *message, GError **error);
char *batprotocol_text_to_4(const char *message, GError **error);

/* The flag by which a component says that it writes JSON. */
#define BATPROTOCOL_JSON 0x2

/*
 * The first message of Batsim 5 to a component that is a process, and its answer, which are no JSON
 * (Batsim's page Protocol, Initialization phase; its src/edc.cpp): the size of the initialisation
 * data in 32 bits of this machine, and the data; 32 bits of flags, and the message that says hello.
 * The caller unrefs.
 */
GByteArray *batprotocol_init(const char *data);
GByteArray *batprotocol_init_answer(const json_t *hello);

/* Whether a message is that first one. Those of Batsim 2 to 4 begin with "{". */
bool batprotocol_is_init(const void *bytes, size_t size);

/*
 * Checks what the component `name` has answered; a 0 is behind the bytes. False with `error`: it is
 * no such answer, or the component speaks the binary format alone.
 */
bool batprotocol_read_init_answer(const char *name, const char *bytes, size_t size, GError **error);

/* The message of an external decision component that says hello; a new reference. */
json_t *batprotocol_hello(const char *name, const char *version);
