/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/* What the metronome's guest (guest.c) and its reader (lab_metronome.c) must agree on. */
enum {
	GUEST_MEMORY_MIB = 8,
	GUEST_ROUNDS_AT = 0x7000, /* physical address of the count of rounds, 32 bits, little-endian */
};
