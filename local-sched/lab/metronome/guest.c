/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The metronome's guest: a kernel of its own that does the same piece of work for ever and counts.
 * It walks in random order through memory that fits no first-level cache and calls functions
 * through a table, so that the emulator has to do what it does for any guest: look up addresses,
 * find translated code, load and store. No interrupts, no devices: its one output is the count.
 *
 * Freestanding, 32 bits, loaded by QEMU at 1 MiB (Multiboot Specification 0.6.96, 3.1.1).
 */
#include "local-sched/lab/metronome/guest.h"

enum { MAGIC = 0x1badb002, WORDS = 65536, STEPS = 2000 };

__attribute__((section(".multiboot"), used)) static const unsigned header[] = { MAGIC, 0,
										-(unsigned)MAGIC };

static unsigned next[WORDS];

static unsigned triple(unsigned x)
{
	return x * 3 + 1;
}

static unsigned mix(unsigned x)
{
	return x ^ x << 3;
}

static unsigned shrink(unsigned x)
{
	return x - (x >> 2);
}

static unsigned step(unsigned x)
{
	return x + 7;
}

static unsigned (*const functions[])(unsigned) = { triple, mix, shrink, step };

/* A linear congruential generator (Numerical Recipes); the high bits are the good ones. */
static unsigned draw(unsigned *seed, unsigned below)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (unsigned)((unsigned long long)*seed * below >> 32);
}

/* One cycle through all words, in an order without one (Sattolo's algorithm). */
static void shuffle(void)
{
	unsigned seed = 1;

	for (unsigned i = 0; i < WORDS; i++)
		next[i] = i;
	for (unsigned i = WORDS - 1; i > 0; i--) {
		unsigned j = draw(&seed, i);
		unsigned other = next[j];

		next[j] = next[i];
		next[i] = other;
	}
}

__attribute__((used)) static _Noreturn void work(void)
{
	volatile unsigned *rounds = (volatile unsigned *)GUEST_ROUNDS_AT;
	volatile unsigned *result = rounds + 1; /* without one the work could be left out */
	unsigned at = 0;
	unsigned x = 1;

	shuffle();
	for (;;) {
		for (int i = 0; i < STEPS; i++) {
			at = next[at];
			x = functions[at & 3](x);
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
