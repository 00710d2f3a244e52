/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Notes which pairs of state and event of any table a test program meets. The linker passes calls
 * of fsm_move() here (-Wl,--wrap=fsm_move), so that the product has no hook. A test must not call
 * it itself, since the pair would then count as met: it looks pairs up with fsm_transition(). At
 * its end the program appends the pairs to the file that VIRTBED_MET_PAIRS names, "what: state
 * event" a line.
 */
#include "tests/unit/met_pairs.h"

#include <glib.h>
#include <stdint.h>
#include <stdio.h>

/* The tables of one program. */
#define TABLES_MAX 16
#define STATES_MAX 32

bool __real_fsm_move(const struct fsm *fsm, unsigned int *state, unsigned int event,
		     const char *subject);
bool __wrap_fsm_move(const struct fsm *fsm, unsigned int *state, unsigned int event,
		     const char *subject);

/* Tests have engines on several threads. */
static GMutex lock;
static struct {
	const struct fsm *fsm;
	uint32_t events[STATES_MAX]; /* for each state the events that it met, as bits */
} met[TABLES_MAX];

void met_pairs_note(const struct fsm *fsm, unsigned int state, unsigned int event)
{
	size_t i = 0;

	g_mutex_lock(&lock);
	while (i < TABLES_MAX && met[i].fsm && met[i].fsm != fsm)
		i++;
	g_assert_cmpuint(i, <, TABLES_MAX);
	met[i].fsm = fsm;
	met[i].events[state] |= UINT32_C(1) << event;
	g_mutex_unlock(&lock);
}

bool __wrap_fsm_move(const struct fsm *fsm, unsigned int *state, unsigned int event,
		     const char *subject)
{
	met_pairs_note(fsm, *state, event);
	return __real_fsm_move(fsm, state, event, subject);
}

static void write_table(FILE *file, const struct fsm *fsm, const uint32_t *events)
{
	for (unsigned int state = 0; state < fsm->states; state++)
		for (unsigned int event = 0; event < fsm->events; event++)
			if (events[state] & UINT32_C(1) << event)
				fprintf(file, "%s: %s %s\n", fsm->what, fsm->state_names[state],
					fsm->event_names[event]);
}

__attribute__((destructor)) static void write_pairs(void)
{
	const char *path = g_getenv("VIRTBED_MET_PAIRS");
	FILE *file = path ? fopen(path, "a") : NULL;

	if (!file)
		return;
	for (size_t i = 0; i < TABLES_MAX && met[i].fsm; i++)
		write_table(file, met[i].fsm, met[i].events);
	fclose(file);
}
