/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/* Constants that the gauge's guest (guest.c) and its reader (lab_metronome.c) share. */
enum {
	GUEST_MEMORY_MIB = 8,
	/* physical address of the count of rounds, 32 bits, little-endian */
	GUEST_ROUNDS_AT = 0x7000,
};
