/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Requests to the libvirts and BMCs of a lab's blades, made as their clients make them. */

/* The answer of a blade's libvirt, or its absence. */
struct lab_peers_answer {
	uint32_t number; /* of the blade, from 1 */
	bool answered;
	double after_s; /* seconds since the first request */
	int domains;    /* running domains; -1: not known */
	char *reason;   /* why there is no answer, or NULL */
};

/* NULL is allowed. */
void lab_peers_answer_free(struct lab_peers_answer *answer);
typedef struct lab_peers_answer lab_peers_answer_t;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(lab_peers_answer_t, lab_peers_answer_free)

/*
 * Asks the libvirts of blades 1 to `count` of `lab` at once, each from a thread of its own, and
 * repeatedly for `timeout_s`. Returns a queue (the caller unrefs it) that gets one answer per
 * blade. Connections are closed again.
 */
GAsyncQueue *lab_peers_ask_libvirts(const char *lab, uint32_t count, double timeout_s);

/* Whether a BMC answers an ASF presence ping on 127.0.0.1:port (UDP) within timeout_s. */
bool lab_peers_ping_bmc(uint16_t port, double timeout_s);

/* Whether a BMC that speaks Redfish accepts a connection on 127.0.0.1:port within timeout_s. */
bool lab_peers_reach_redfish(uint16_t port, double timeout_s);

/*
 * Chooses `count` distinct free ports of 127.0.0.1, neither UDP nor TCP in use, below the range
 * from which the kernel assigns ports. False: there are too few.
 */
bool lab_peers_choose_ports(uint32_t count, uint16_t *ret_ports);
