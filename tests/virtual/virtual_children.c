/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Programs that are functions of the test: what each prints, when, and its exit status. */
#include <signal.h>
#include <string.h>

#include "common/child_process.h"
#include "common/subprocess.h"
#include "tests/virtual/virtual_platform_private.h"

struct child {
	struct child_process base; /* first: operations cast back */
	const struct virtual_program *program;
	struct child_setup setup;
	int status;  /* as by waitpid(2) */
	guint timer; /* its next step; 0: it has ended */
	bool *gone;  /* while the end of its streams is heard: set when it is dismissed */
};

/* The end of its streams is heard. Returns false if it was dismissed meanwhile. */
static bool end_streams(struct child *child)
{
	bool gone = false;

	child->gone = &gone;
	child->setup.heard(CHILD_OUTPUT, "", 0, child->setup.data);
	if (!gone && !child->setup.dialogue)
		child->setup.heard(CHILD_COMPLAINT, "", 0, child->setup.data);
	if (!gone)
		child->gone = NULL;
	return !gone;
}

static gboolean end(gpointer data)
{
	struct child *child = data;

	child->timer = 0;
	if (end_streams(child) && child->setup.ended)
		child->setup.ended(child->status, child->setup.data);
	return G_SOURCE_REMOVE;
}

/* Prints all at once; its end is an event of its own. */
static gboolean print(gpointer data)
{
	struct child *child = data;
	const char *text = child->program->output;

	child->timer = platform_soon(child->base.platform, G_PRIORITY_DEFAULT, end, child);
	child->setup.heard(CHILD_OUTPUT, text, strlen(text), child->setup.data);
	return G_SOURCE_REMOVE;
}

static struct child_process *start(const struct platform *platform, const struct child_setup *setup,
				   GError **error)
{
	const struct virtual_program *program = virtual_of(platform)->programs;
	struct child *child;

	while (program && program->name && !g_str_equal(program->name, setup->argv[0]))
		program++;
	if (!program || !program->name) {
		g_set_error(error, SUBPROCESS_ERROR, SUBPROCESS_ERROR_START,
			    "cannot start \"%s\": there is no such program", setup->argv[0]);
		return NULL;
	}
	child = g_new0(struct child, 1);
	child->base.platform = platform;
	child->program = program;
	child->setup = *setup;
	child->status = program->status << 8;
	child->timer = platform_after_ms(platform, program->after_ms, print, child);
	return &child->base;
}

/* These programs read nothing. */
static void say(struct child_process *child, const char *text)
{
}

static void kill_child(struct child_process *base)
{
	struct child *child = (struct child *)base;

	if (child->timer == 0)
		return;
	g_source_remove(child->timer);
	child->status = SIGKILL;
	child->timer = platform_soon(base->platform, G_PRIORITY_DEFAULT, end, child);
}

/* Nothing waits under virtual time. */
static bool settle(struct child_process *base, double timeout_s)
{
	return ((struct child *)base)->timer == 0;
}

static void dismiss(struct child_process *base, guint term_ms, guint kill_ms)
{
	struct child *child = (struct child *)base;

	g_clear_handle_id(&child->timer, g_source_remove);
	if (child->gone)
		*child->gone = true;
	g_free(child);
}

static bool run(const struct platform *platform, const char *const *argv, double timeout_s,
		char **ret_output, GError **error)
{
	g_set_error(error, SUBPROCESS_ERROR, SUBPROCESS_ERROR_START,
		    "cannot start \"%s\": nothing waits under virtual time", argv[0]);
	return false;
}

const struct platform_children virtual_children = {
	.start = start,
	.say = say,
	.kill = kill_child,
	.settle = settle,
	.dismiss = dismiss,
	.run = run,
};

void virtual_platform_programs(struct virtual_platform *virtual,
			       const struct virtual_program *programs)
{
	virtual->programs = programs;
}
