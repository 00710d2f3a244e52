/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/fsm.h"

#include <glib.h>

bool fsm_move(const struct fsm *fsm, unsigned int *state, unsigned int event, const char *subject)
{
	const struct fsm_transition *transition = fsm_transition(fsm, *state, event);

	if (transition->rule == FSM_IMPOSSIBLE && !fsm->unlisted)
		g_critical("%s '%s' is %s: '%s' is impossible", fsm->what, subject,
			   fsm->state_names[*state], fsm->event_names[event]);
	if (transition->rule != FSM_MOVES)
		return false;
	*state = transition->to;
	return true;
}
