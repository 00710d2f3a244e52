/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Fuzzers: each file fuzz-NAME.c gives one kind of untrusted input to the very parser that the
 * programs use, and asserts what must hold whatever it says. With -Dfuzz=enabled libFuzzer drives
 * them (tests/fuzz/run); in every build the unit suite runs them over the kept inputs in
 * corpus/NAME (fuzz_main.c).
 */

/* One input. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Called once, before the first input; those that need nothing have none. */
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* The input as a text with a 0 behind it; the caller frees it. */
char *fuzz_text(const uint8_t *data, size_t size);

/* A file of these bytes, for parsers that take a path. Borrowed, valid until the next call. */
const char *fuzz_file(const uint8_t *data, size_t size);

/* Keeps log lines about bad input from standard error, but for errors. To be called first. */
void fuzz_silence(void);

/* Aborts, naming the line: what must hold does not. Unlike assert() it is never compiled out. */
#define fuzz_check(condition) g_assert_true(condition)

/* A parser that refused has set an error; a parser that did not has not. */
#define fuzz_check_error(good, error)                                                              \
	do {                                                                                       \
		const bool fuzz_good = (good); /* first: it may be what sets the error */          \
		fuzz_check(fuzz_good != ((error) != NULL));                                        \
	} while (0)
