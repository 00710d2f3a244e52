/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/plugin/so/so_guard.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"

/* A handler has a stack of its own: the policy's may be what is used up. */
#define HANDLER_STACK 65536

static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

/* Of the process, as signals and standard output are. */
static struct {
	GMutex lock;                                    /* of all that follows */
	struct so_guard *calls;                         /* under way */
	int output;                                     /* standard output meanwhile */
	double deadline_s;                              /* the least of any call; 0: none watches */
	bool handles;                                   /* `before` has been replaced */
	struct sigaction before[G_N_ELEMENTS(crashes)]; /* read by handlers without the lock */
} process;

/* The call of this thread; NULL: none. */
static __thread const struct so_guard *current;

/* Crashes. */

static void free_stack(gpointer stack)
{
	const stack_t none = {.ss_flags = SS_DISABLE};

	sigaltstack(&none, NULL);
	g_free(stack);
}
static GPrivate handler_stack = G_PRIVATE_INIT(free_stack);

/* Gives the thread a stack for handlers, unless it has one. */
static void prepare_thread(void)
{
	stack_t stack = {.ss_flags = SS_DISABLE};

	if (g_private_get(&handler_stack))
		return;
	if (sigaltstack(NULL, &stack) != 0 || !(stack.ss_flags & SS_DISABLE))
		return;
	stack = (stack_t){.ss_sp = g_malloc(HANDLER_STACK), .ss_size = HANDLER_STACK};
	sigaltstack(&stack, NULL);
	g_private_set(&handler_stack, stack.ss_sp);
}

/* Appends to a text what fits. As a handler may. */
static void add(char *text, size_t room, const char *more)
{
	const size_t length = strlen(text);

	strncat(text, more, room - length - 1);
}

static void add_number(char *text, size_t room, uint64_t number)
{
	char digits[24];
	size_t at = sizeof(digits);

	digits[--at] = '\0';
	do
		digits[--at] = (char)('0' + number % 10);
	while ((number /= 10) > 0);
	add(text, room, digits + at);
}

/* Says it by one write: other threads may crash meanwhile, and end the process. */
static void say_crash(const struct so_guard *guard, int number)
{
	char text[1024] = "";

	add(text, sizeof(text), guard->command);
	add(text, sizeof(text), ": policy \"");
	add(text, sizeof(text), guard->policy);
	add(text, sizeof(text), "\" crashed");
	if (guard->event > 0) {
		add(text, sizeof(text), " at mapping event ");
		add_number(text, sizeof(text), guard->event);
	}
	add(text, sizeof(text), ": ");
	add(text, sizeof(text), sigdescr_np(number) ?: "a signal");
	add(text, sizeof(text),
	    "; virtbed policy check, or plugin: {sandbox_simulations: yes} in the configuration, "
	    "has it in a process of its own\n");
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		return; /* without a reader */
}

static void on_crash(int number, siginfo_t *info, void *context)
{
	if (current)
		say_crash(current, number);
	current = NULL;
	for (size_t i = 0; i < G_N_ELEMENTS(crashes); i++)
		if (crashes[i] == number)
			sigaction(number, &process.before[i], NULL);
	/* What the kernel sent comes again on return. */
	if (info->si_code <= 0)
		raise(number);
}

/* With the lock. */
static void take_signals(void)
{
	struct sigaction action = {.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK};

	if (process.handles)
		return;
	process.handles = true;
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < G_N_ELEMENTS(crashes); i++)
		sigaction(crashes[i], &action, &process.before[i]);
}

/* Deadlines. */

/* Ends the process if a call is late. With the lock. Returns when that is to be seen to again. */
static int64_t find_late(int64_t now_ns)
{
	int64_t next_ns = now_ns + (int64_t)(process.deadline_s * 1e9);

	for (const struct so_guard *guard = process.calls; guard; guard = guard->next) {
		const int64_t due_ns = guard->begun_ns + (int64_t)(guard->deadline_s * 1e9);

		if (guard->deadline_s <= 0)
			continue;
		if (due_ns <= now_ns) {
			fprintf(stderr,
				"%s: policy \"%s\" did not decide mapping event %" PRIu64
				" at %g s: late: it did not answer within %g s\n",
				guard->command, guard->policy, guard->event, guard->now_s,
				guard->deadline_s);
			_exit(EXIT_FAILURE);
		}
		next_ns = MIN(next_ns, due_ns);
	}
	return next_ns;
}

/* A call that begins while it sleeps is not late before it wakes. */
static gpointer watch(gpointer data)
{
	for (;;) {
		int64_t now_ns = clock_now_ns();
		int64_t next_ns;

		g_mutex_lock(&process.lock);
		next_ns = find_late(now_ns);
		g_mutex_unlock(&process.lock);
		g_usleep((gulong)((next_ns - now_ns) / 1000 + 1));
	}
	return NULL;
}

/* With the lock. */
static void take_deadline(double deadline_s)
{
	if (deadline_s <= 0)
		return;
	if (process.deadline_s <= 0)
		g_thread_unref(g_thread_new("so-guard", watch, NULL));
	process.deadline_s =
		process.deadline_s > 0 ? MIN(process.deadline_s, deadline_s) : deadline_s;
}

/* Standard output. With the lock, without calls under way. */

static void take_output(void)
{
	fflush(stdout);
	process.output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (process.output >= 0)
		dup2(STDERR_FILENO, STDOUT_FILENO);
}

static void give_output(void)
{
	fflush(stdout);
	if (process.output < 0)
		return;
	dup2(process.output, STDOUT_FILENO);
	close(process.output);
}

/* Calls. */

void so_guard_enter(struct so_guard *guard)
{
	prepare_thread();
	guard->command = g_get_prgname() ?: "virtbed";
	guard->begun_ns = clock_now_ns();
	g_mutex_lock(&process.lock);
	take_signals();
	take_deadline(guard->deadline_s);
	if (!process.calls)
		take_output();
	guard->next = process.calls;
	process.calls = guard;
	g_mutex_unlock(&process.lock);
	current = guard;
}

void so_guard_leave(struct so_guard *guard)
{
	current = NULL;
	g_mutex_lock(&process.lock);
	for (struct so_guard **at = &process.calls; *at; at = &(*at)->next) {
		if (*at != guard)
			continue;
		*at = guard->next;
		break;
	}
	if (!process.calls)
		give_output();
	g_mutex_unlock(&process.lock);
}
