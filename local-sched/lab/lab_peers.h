/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * What a lab's blades offer to the outside, asked as a client would ask: their libvirts and their
 * BMCs.
 */

/* A blade's libvirt answered, or did not in time. */
struct lab_peers_answer {
	uint32_t number; /* of the blade, from 1 */
	bool answered;
	double after_s; /* since it was asked first */
	int domains;    /* that run; -1: not known */
	char *reason;   /* why not, or NULL */
};

/* NULL is allowed. */
void lab_peers_answer_free(struct lab_peers_answer *answer);
typedef struct lab_peers_answer lab_peers_answer_t;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(lab_peers_answer_t, lab_peers_answer_free)

/*
 * Asks the libvirts of blades 1 to `count` of `lab` at once, each from a thread of its own and
 * again and again for `timeout_s`. Returns a queue (the caller unrefs) that gets one answer per
 * blade. An opened connection is closed again.
 */
GAsyncQueue *lab_peers_ask_libvirts(const char *lab, uint32_t count, double timeout_s);

/* Whether a BMC answers an ASF presence ping on 127.0.0.1:port (UDP) within timeout_s. */
bool lab_peers_ping_bmc(uint16_t port, double timeout_s);

/* Whether a BMC that speaks Redfish takes a connection on 127.0.0.1:port within timeout_s. */
bool lab_peers_reach_redfish(uint16_t port, double timeout_s);

/*
 * Chooses `count` distinct ports of 127.0.0.1 that nobody holds, neither UDP nor TCP, below the
 * range from which the kernel hands out ports. Returns false if there are too few.
 */
bool lab_peers_choose_ports(uint32_t count, uint16_t *ret_ports);
