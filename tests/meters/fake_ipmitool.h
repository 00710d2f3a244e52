/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/child_process.h"

/*
 * ipmitools that are functions of the test: they prompt, echo and print as `ipmitool shell` does,
 * and BMCs of the test answer. Timers are those of GLib, and so may be under virtual time.
 */

/* What a BMC answers. */
struct fake_ipmi_answer {
	int code; /* the completion code; -1: it is silent */
	uint8_t bytes[128];
	size_t size;
	guint after_ms;
};

/* The BMC answers with these bytes, at most those of `bytes`. */
void fake_ipmi_reply(struct fake_ipmi_answer *answer, const uint8_t *bytes, size_t size);

/* The longest name of a sensor, bytes. */
#define FAKE_IPMI_NAME_MAX 16

/*
 * It answers with the full record `id` of a sensor of power in watts of the controller `owner`,
 * whose readings count times `factor`. The record `next` follows; 0xff: none does.
 */
void fake_ipmi_reply_record(struct fake_ipmi_answer *answer, uint8_t id, uint8_t next,
			    uint8_t owner, uint8_t number, uint8_t factor, const char *name);

struct fake_ipmitool {
	struct platform platform; /* first: what the meters get */
	/*
	 * A login at the BMC of that port; it takes *ret_ms. Returns the number of the session, 0:
	 * the BMC is silent.
	 */
	unsigned (*log_in)(uint16_t port, guint *ret_ms, void *data);
	/* A request of a session to a controller: its function, command and data. */
	void (*ask)(uint16_t port, unsigned session, uint8_t controller, const uint8_t *request,
		    size_t size, struct fake_ipmi_answer *ret_answer, void *data);
	/* The end of a session, by "exit". False: the BMC is silent. NULL: it answers. */
	bool (*log_out)(uint16_t port, unsigned session, void *data);
	void *data;
};

/* Sets the platform, which is `base` but for its programs. */
void fake_ipmitool_init(struct fake_ipmitool *tools, const struct platform *base);
