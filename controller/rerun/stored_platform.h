/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/platform.h"

/*
 * A platform for an engine whose policy decides on a thread: the policy decides at once, and its
 * answer comes when the caller says, which knows from the store in which input it was there. Its
 * clocks stand still, it has no disk and no timers.
 */
struct stored_platform {
	struct platform base; /* first: operations cast back */
	platform_work_f done; /* of the decision whose answer has not come; NULL: there is none */
	void *data;
	bool at_once; /* the history was left: nothing says when answers come */
};

void stored_platform_init(struct stored_platform *platform);

/* The answer comes, if one is to come. */
void stored_platform_answer(struct stored_platform *platform);

/* The answer comes, if one is to come, and all later ones as soon as the policy has decided. */
void stored_platform_leave(struct stored_platform *platform);
