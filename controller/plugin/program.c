/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/plugin/program.h"

#include <poll.h>
#include <string.h>

#include "common/clock.h"

#define LOG_SUBSYSTEM "policy"
#include "common/log.h"

#define NS_PER_S G_GINT64_CONSTANT(1000000000)

/* Moves its state on: the only writer. Other threads may read it meanwhile. */
static void move(struct program *program, enum program_event event)
{
	unsigned state = (unsigned)program->state;

	if (fsm_move(&program_fsm, &state, event, "of a policy"))
		g_atomic_int_set(&program->state, (gint)state);
}

enum program_state program_state(const struct program *program)
{
	return (enum program_state)g_atomic_int_get(&program->state);
}

bool program_fail(enum plugin_failure failure, char *why, enum plugin_failure *ret_failure,
		  char **ret_why)
{
	*ret_failure = failure;
	*ret_why = why;
	return false;
}

/* Starting and ending. */

bool program_start(struct program *program, const char *policy, const char *const *words,
		   const struct plugin_settings *settings, GError **error)
{
	program->begun_ns = clock_now_ns();
	program->process = plugin_process_start(policy, words, settings, error);
	if (program->process)
		move(program, PROGRAM_START);
	return program->process != NULL;
}

void program_take(struct program *program, struct program *started)
{
	program->process = g_steal_pointer(&started->process);
	program->begun_ns = started->begun_ns;
	move(program, PROGRAM_START);
	move(started, PROGRAM_END);
}

/* Ends its process, which is no state yet. */
static void end_process(struct program *program, bool kindly)
{
	size_t written = 0;

	if (!program->process)
		return;
	if (kindly && plugin_process_write(program->process, PLUGIN_BYE, strlen(PLUGIN_BYE),
					   &written, clock_now_ns() + NS_PER_S) != PLUGIN_IO_DONE)
		kindly = false;
	plugin_process_free(program->process, kindly);
	program->process = NULL;
	program->due = 0;
	g_clear_pointer(&program->hello, g_free);
	plugin_told_clear(&program->told);
}

void program_end(struct program *program, bool kindly)
{
	end_process(program, kindly);
	move(program, PROGRAM_END);
}

void program_disable(struct program *program)
{
	end_process(program, false);
	move(program, PROGRAM_DISABLE);
}

void program_enable(struct program *program)
{
	move(program, PROGRAM_ENABLE);
}

/* Messages. */

static bool is_cancelled(const struct program_terms *terms)
{
	struct pollfd fd = {terms->cancel, POLLIN, 0};

	return poll(&fd, 1, 0) > 0;
}

/* The failure of a write or a read, after which there is no conversation but after a late read. */
static bool fail_io(struct program *program, const struct program_terms *terms, enum plugin_io io,
		    enum plugin_failure *ret_failure, char **ret_why)
{
	if (io == PLUGIN_IO_LATE && is_cancelled(terms))
		return program_fail(PLUGIN_LATE, g_strdup("it is not waited for any longer"),
				    ret_failure, ret_why);
	if (io == PLUGIN_IO_LATE)
		return program_fail(PLUGIN_LATE,
				    g_strdup_printf("it did not answer within %g s",
						    terms->settings->deadline_s),
				    ret_failure, ret_why);
	if (io == PLUGIN_IO_LONG)
		return program_fail(PLUGIN_RUBBISH,
				    g_strdup_printf("a line of its answer is longer than %u MiB",
						    PLUGIN_LINE_MAX >> 20),
				    ret_failure, ret_why);
	return program_fail(PLUGIN_DIED, plugin_process_end(program->process), ret_failure,
			    ret_why);
}

/* Writes a message, which it frees. */
static bool send(struct program *program, const struct program_terms *terms, char *text,
		 int64_t deadline_ns, enum plugin_failure *ret_failure, char **ret_why)
{
	g_autofree char *own = text;
	const size_t length = strlen(own);
	size_t written = 0;
	enum plugin_io io;

	if (length > PLUGIN_LINE_MAX) {
		/* It is taken to know tasks that it is not told about. */
		program_end(program, false);
		return program_fail(PLUGIN_REFUSED,
				    g_strdup_printf("the snapshot has more than %u MiB",
						    PLUGIN_LINE_MAX >> 20),
				    ret_failure, ret_why);
	}
	io = plugin_process_write(program->process, own, length, &written, deadline_ns);
	if (io == PLUGIN_IO_DONE)
		return true;
	fail_io(program, terms, io, ret_failure, ret_why);
	/* A part of the message may be written: nothing can follow it. */
	program_end(program, false);
	return false;
}

/* Reads a line; a program that ended or wrote without end is ended. */
static bool hear(struct program *program, const struct program_terms *terms, int64_t deadline_ns,
		 const char **ret_line, size_t *ret_length, enum plugin_failure *ret_failure,
		 char **ret_why)
{
	const enum plugin_io io =
		plugin_process_read(program->process, deadline_ns, ret_line, ret_length);

	if (io == PLUGIN_IO_DONE)
		return true;
	fail_io(program, terms, io, ret_failure, ret_why);
	if (io != PLUGIN_IO_LATE)
		program_end(program, false);
	return false;
}

/* Writes what is left of the hello. */
static enum plugin_io say_hello(struct program *program, const struct program_terms *terms,
				int64_t deadline_ns)
{
	if (!program->hello) {
		plugin_told_init(&program->told);
		program->hello = plugin_write_hello(&program->told, terms->policy, terms->seed,
						    terms->settings->deadline_s, terms->system);
		program->hello_written = 0;
	}
	return plugin_process_write(program->process, program->hello, strlen(program->hello),
				    &program->hello_written, deadline_ns);
}

/* The failure of a hello in which a write or a read failed. */
static bool fail_hello(struct program *program, const struct program_terms *terms,
		       enum plugin_io io, enum plugin_failure *ret_failure, char **ret_why)
{
	const double started_s = clock_elapsed_s(program->begun_ns, clock_now_ns());

	if (io == PLUGIN_IO_LATE && started_s < PROGRAM_HELLO_S)
		return program_fail(
			PLUGIN_STARTING,
			g_strdup_printf("it has not said hello yet, %.3g s after its start",
					started_s),
			ret_failure, ret_why);
	if (io == PLUGIN_IO_LATE)
		program_fail(PLUGIN_LATE,
			     g_strdup_printf("it did not say hello within %d s of its start",
					     PROGRAM_HELLO_S),
			     ret_failure, ret_why);
	else
		fail_io(program, terms, io, ret_failure, ret_why);
	program_end(program, false);
	return false;
}

/* Reads answers until that to the last message. */
static bool hear_plan(struct program *program, const struct program_terms *terms,
		      int64_t deadline_ns, const struct sched_snapshot *snapshot,
		      struct arena *arena, struct sched_plan *ret_plan, double *ret_compute_s,
		      enum plugin_failure *ret_failure, char **ret_why)
{
	enum plugin_answer answer = PLUGIN_ANSWER_NONE;

	program->due++;
	while (answer == PLUGIN_ANSWER_NONE) {
		const char *line;
		size_t length;

		if (!hear(program, terms, deadline_ns, &line, &length, ret_failure, ret_why))
			return false;
		answer = plugin_read_plan(&program->told, line, length, snapshot, arena, ret_plan,
					  ret_compute_s, ret_why);
		program->due--;
		if (answer == PLUGIN_ANSWER_NONE && program->due == 0) {
			answer = PLUGIN_ANSWER_WRONG;
			*ret_why = g_strdup("it answered an earlier message again");
		}
		/* Also where old answers come without end, or a plan takes long to read. */
		if (answer != PLUGIN_ANSWER_WRONG && clock_now_ns() > deadline_ns) {
			g_clear_pointer(ret_why, g_free);
			return fail_io(program, terms, PLUGIN_IO_LATE, ret_failure, ret_why);
		}
	}
	if (answer == PLUGIN_ANSWER_GOOD)
		return true;
	*ret_failure = answer == PLUGIN_ANSWER_REFUSED   ? PLUGIN_REFUSED
		       : answer == PLUGIN_ANSWER_ILLEGAL ? PLUGIN_ILLEGAL
							 : PLUGIN_RUBBISH;
	if (answer == PLUGIN_ANSWER_WRONG)
		program_end(program, false);
	return false;
}

bool program_greet(struct program *program, const struct program_terms *terms, int64_t deadline_ns,
		   char **ret_name, enum plugin_failure *ret_failure, char **ret_why)
{
	g_autofree char *name = NULL;
	enum plugin_answer answer;
	enum plugin_io io;
	const char *line;
	size_t length;

	plugin_process_set_cancel(program->process, terms->cancel);
	if (program->state != PROGRAM_STARTING)
		return true;
	deadline_ns = MIN(deadline_ns, program->begun_ns + PROGRAM_HELLO_S * NS_PER_S);
	io = say_hello(program, terms, deadline_ns);
	if (io == PLUGIN_IO_DONE)
		io = plugin_process_read(program->process, deadline_ns, &line, &length);
	if (io != PLUGIN_IO_DONE)
		return fail_hello(program, terms, io, ret_failure, ret_why);
	answer = plugin_read_hello(&program->told, line, length, terms->system, &name, ret_why);
	if (answer == PLUGIN_ANSWER_GOOD) {
		log_debug("%s: started as \"%s\"", terms->policy, name);
		g_clear_pointer(&program->hello, g_free);
		move(program, PROGRAM_HELLO);
		*ret_name = g_steal_pointer(&name);
		return true;
	}
	*ret_failure = answer == PLUGIN_ANSWER_REFUSED ? PLUGIN_REFUSED : PLUGIN_RUBBISH;
	program_end(program, false);
	return false;
}

bool program_ask(struct program *program, const struct program_terms *terms, uint64_t number,
		 const struct sched_snapshot *snapshot, int64_t deadline_ns, struct arena *arena,
		 struct sched_plan *ret_plan, double *ret_compute_s,
		 enum plugin_failure *ret_failure, char **ret_why)
{
	bool answered;

	move(program, PROGRAM_ASK);
	answered = send(program, terms, plugin_write_decide(&program->told, number, snapshot),
			deadline_ns, ret_failure, ret_why) &&
		   hear_plan(program, terms, deadline_ns, snapshot, arena, ret_plan, ret_compute_s,
			     ret_failure, ret_why);
	if (program->process)
		move(program, program->due > 0 ? PROGRAM_OWE : PROGRAM_ANSWER);
	return answered;
}
