/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

/*
 * A full state as it is stored: JSON, packed by zlib, in Base64, behind the number of its bytes, as
 * "1234 eJyr...". zlib's check sum finds damage.
 */

/* The caller frees. */
char *state_text_pack(const json_t *state);

/* A new reference; NULL: it is no such text. */
json_t *state_text_unpack(const char *text);
