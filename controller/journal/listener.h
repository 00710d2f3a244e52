/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/backend/backend.h"
#include "controller/journal/answers.h"
#include "controller/journal/requests.h"

/*
 * A backend that passes everything on to another one, and notes what it answers and what is
 * requested of it while an input is handled. It has the operations of the other one.
 */
struct listener {
	struct backend backend;
	struct backend_ops ops;
	struct backend *other;
	struct answers answers;
	struct requests requests;
	bool noting; /* an input is being handled */
};

/* To be listened from now on: `other` stays the caller's. */
void listener_set(struct listener *listener, struct backend *other);
