/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory that runs out at one allocation after another, from a start of both daemons until a task
 * has completed. The allocation fails in a process of its own, which ends by it in the end, as a
 * daemon does: GLib aborts, SQLite and Jansson say so to their caller. The next process starts both
 * daemons on what was left on the disk. What the user was told holds: the task completes, and once.
 *
 * Each place that allocates is tried once, where it is reached first: a place is the last CALLERS
 * return addresses. Every STRIDE-th place is tried, STRIDE_LONG with VIRTBED_LONG. VIRTBED_START is
 * the number of a single allocation to try.
 */
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/long.h"
#include "tests/unit/service/start_bed.h"

#define CALLERS 8
#define PLACES_MAX 65536
#define STRIDE 997
#define STRIDE_LONG 7
#define FIRST 300

/* A life that takes longer hangs, in seconds of real time. */
#define HANG_S 120

/* What the processes share. */
struct shared {
	bool acknowledged;
	bool finds;     /* places are searched for */
	uint32_t fails; /* this allocation fails; 0: none does */
	uint32_t count; /* of allocations so far; 0: they do not count */
	uint32_t places_count;
	uint32_t places[PLACES_MAX];    /* the number of the first allocation at each */
	uint64_t known[4 * PLACES_MAX]; /* a hash table of places; 0: free */
};
static struct shared *shared;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_MALLOC 0 /* of the sanitizer */
#else
#define HAS_MALLOC 1

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);

static bool is_new_place(void)
{
	static bool busy; /* backtrace() may allocate */
	void *callers[CALLERS];
	uint64_t hash = 14695981039346656037u;
	uint64_t at;
	int count;

	if (busy)
		return false;
	busy = true;
	count = backtrace(callers, CALLERS);
	busy = false;
	for (int i = 0; i < count; i++)
		hash = (hash ^ (uintptr_t)callers[i]) * 1099511628211u;
	hash += hash == 0;
	for (at = hash % G_N_ELEMENTS(shared->known); shared->known[at]; at++) {
		if (shared->known[at] == hash)
			return false;
		if (at + 1 == G_N_ELEMENTS(shared->known))
			return false;
	}
	shared->known[at] = hash;
	return true;
}

/* Whether this allocation is to fail. */
static bool runs_out(void)
{
	if (!shared || shared->count == 0)
		return false;
	shared->count++;
	if (shared->finds && shared->places_count < PLACES_MAX && is_new_place())
		shared->places[shared->places_count++] = shared->count;
	errno = ENOMEM;
	return shared->count == shared->fails;
}

void *malloc(size_t size)
{
	return runs_out() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return runs_out() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
	return runs_out() ? NULL : __libc_realloc(memory, size);
}
#endif

/* What a process does; its exit status. */
typedef int (*work_f)(struct start_bed *bed);

static int standard_error; /* of the test */

/* Prints where the process was, and has it die. */
static void on_fault(int signal_number)
{
	void *callers[64];

	backtrace_symbols_fd(callers, backtrace(callers, G_N_ELEMENTS(callers)), standard_error);
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

/* Runs `work` in a process of its own. Returns its wait status. */
static int in_process(work_f work, struct start_bed *bed)
{
	const pid_t child = fork();
	int status;

	g_assert_cmpint(child, >=, 0);
	if (child == 0) {
		const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

		standard_error = dup(STDERR_FILENO);
		if (!g_getenv("VIRTBED_LOG")) {
			dup2(null, STDOUT_FILENO);
			dup2(null, STDERR_FILENO);
		}
		signal(SIGSEGV, on_fault);
		alarm(HANG_S);
		_exit(work(bed));
	}
	g_assert_cmpint(waitpid(child, &status, 0), ==, child);
	return status;
}

static int first_life(struct start_bed *bed)
{
	shared->count = 1;
	start_bed_live(bed, true, true);
	shared->count = 0;
	return 0;
}

static int next_life(struct start_bed *bed)
{
	if (start_bed_live(bed, true, true) != START_DONE)
		return 1;
	start_bed_assert_once(bed, false);
	return 0;
}

/* Returns whether the first life ended by a signal. */
static bool try(uint32_t fails)
{
	struct start_bed bed;
	bool died;
	int status;

	start_bed_begin(&bed, NULL, &shared->acknowledged);
	shared->fails = fails;
	status = in_process(first_life, &bed);
	died = WIFSIGNALED(status);
	if (died && WTERMSIG(status) != SIGABRT && WTERMSIG(status) != SIGTRAP)
		g_error("allocation %u: the daemons ended by signal %d", fails, WTERMSIG(status));
	shared->fails = 0;
	status = in_process(next_life, &bed);
	if (status != 0)
		g_error("allocation %u: the task has not completed once after the next start "
			"(wait status %d, %s)",
			fails, status, shared->acknowledged ? "acknowledged" : "not acknowledged");
	start_bed_finish(&bed);
	return died;
}

static void test_memory(void)
{
	const guint stride = tests_are_long() ? STRIDE_LONG : STRIDE;
	const char *only = g_getenv("VIRTBED_START");
	guint tried = 0;
	guint died = 0;

	if (!HAS_MALLOC) {
		g_test_skip("malloc() is the sanitizer's");
		return;
	}
	if (only) {
		try((uint32_t)g_ascii_strtoull(only, NULL, 10));
		return;
	}
	shared->finds = true;
	try(0);
	shared->finds = false;
	g_assert_cmpuint(shared->places_count, >, 1000);
	for (guint i = FIRST % stride; i < shared->places_count; i += stride) {
		died += try(shared->places[i]);
		tried++;
	}
	g_test_message("%u of %u places: %u ended the daemons", tried, shared->places_count, died);
}

int main(int argc, char **argv)
{
	void *callers[CALLERS];

	g_test_init(&argc, &argv, NULL);
	g_log_set_always_fatal(G_LOG_FATAL_MASK); /* a fault may well be a warning */
	backtrace(callers, CALLERS);              /* loads what it needs */
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	g_assert_true(shared != MAP_FAILED);
	g_test_add_func("/service/start/memory that runs out", test_memory);
	return g_test_run();
}
