/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The gauge's guest: a kernel of its own that repeats a fixed piece of work without end and counts.
 * Like the guests of tasks it executes more code than a CPU's caches hold once it is emulated. It
 * calls its functions in random order, and finds the next one by a table that fits no first-level
 * cache. What slows emulated work down, such as other processes that evict its code, slows the
 * gauge down as much (docs/how-to/run.md). No interrupts, no devices: its only output is the count.
 *
 * Freestanding, 32 bits, loaded by QEMU at 1 MiB (Multiboot Specification 0.6.96, 3.1.1).
 */
#include "local-sched/lab/metronome/guest.h"

enum { MAGIC = 0x1badb002, WORDS = 65536, FUNCTIONS = 03777 + 1, STEPS = 300 };

__attribute__((section(".multiboot"), used)) static const unsigned header[] = {
	MAGIC,
	0,
	-(unsigned)MAGIC,
};

static unsigned next[WORDS];

/* The formatter changes these at every call. */
/* clang-format off */
/* WHAT(000) to WHAT(03777), in octal digits: one for each function. */
#define LAST_DIGIT(WHAT, n) \
	WHAT(n##0) WHAT(n##1) WHAT(n##2) WHAT(n##3) WHAT(n##4) WHAT(n##5) WHAT(n##6) WHAT(n##7)
#define LAST_TWO(WHAT, n) \
	LAST_DIGIT(WHAT, n##0) LAST_DIGIT(WHAT, n##1) LAST_DIGIT(WHAT, n##2) \
	LAST_DIGIT(WHAT, n##3) \
	LAST_DIGIT(WHAT, n##4) LAST_DIGIT(WHAT, n##5) LAST_DIGIT(WHAT, n##6) LAST_DIGIT(WHAT, n##7)
#define LAST_THREE(WHAT, n) \
	LAST_TWO(WHAT, n##0) LAST_TWO(WHAT, n##1) LAST_TWO(WHAT, n##2) LAST_TWO(WHAT, n##3) \
	LAST_TWO(WHAT, n##4) LAST_TWO(WHAT, n##5) LAST_TWO(WHAT, n##6) LAST_TWO(WHAT, n##7)
#define FOR_ALL(WHAT) \
	LAST_THREE(WHAT, 00) LAST_THREE(WHAT, 01) LAST_THREE(WHAT, 02) LAST_THREE(WHAT, 03)

/* Some arithmetic and a branch; all functions differ, as the compiler would merge equal ones. */
#define DEFINE(n) \
	static unsigned function_##n(unsigned x) \
	{ \
		x ^= x << (n % 13 + 1); \
		x += n * 2654435761u; \
		x = x >> 7 | x << 25; \
		if (x & 1u << n % 29) \
			x -= n + 17u; \
		else \
			x += x >> 9; \
		return x ^ n * 40503u; \
	}
#define NAME(n) function_##n,

FOR_ALL(DEFINE)

static unsigned (*const functions[])(unsigned) = {FOR_ALL(NAME)};
/* clang-format on */
_Static_assert(sizeof functions / sizeof *functions == FUNCTIONS, "a function for each index");

/* A linear congruential generator (Numerical Recipes); the high bits are the good ones. */
static unsigned draw_number(unsigned *seed, unsigned below)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (unsigned)((unsigned long long)*seed * below >> 32);
}

/* A single cycle through all words, in an order without a pattern (Sattolo's algorithm). */
static void shuffle(void)
{
	unsigned seed = 1;

	for (unsigned i = 0; i < WORDS; i++)
		next[i] = i;
	for (unsigned i = WORDS - 1; i > 0; i--) {
		unsigned j = draw_number(&seed, i);
		unsigned other = next[j];

		next[j] = next[i];
		next[i] = other;
	}
}

__attribute__((used)) static _Noreturn void work(void)
{
	volatile unsigned *rounds = (volatile unsigned *)GUEST_ROUNDS_AT;
	/* without it the compiler could leave the work out */
	volatile unsigned *result = rounds + 1;
	unsigned at = 0;
	unsigned x = 1;

	shuffle();
	for (;;) {
		for (int i = 0; i < STEPS; i++) {
			at = next[at];
			x = functions[at % FUNCTIONS](x);
		}
		*result = x;
		++*rounds;
	}
}

/* No stack yet; nothing may interrupt. */
__attribute__((naked, used, section(".text.start"))) void _start(void)
{
	__asm__("cli\n\tmov $0x90000, %esp\n\tjmp work");
}
