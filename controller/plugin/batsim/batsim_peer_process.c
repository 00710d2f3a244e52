/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A scheduler that is a process: it binds a ZeroMQ socket (REP), to which requests are sent (REQ),
 * as Batsim 4 does (its protocol.rst). The socket is a file in a directory of its own, since the
 * sandbox of policies has no network. There the scheduler can listen on such sockets, and this
 * process alone connect to any.
 * as Batsim does (its protocol.rst). The socket is a file in a directory of its own, since the
 * sandbox of policies has no network.
 */
#include <errno.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

#include "common/error_fail.h"
#include "controller/plugin/batsim/batprotocol.h"
#include "controller/plugin/batsim/batsim_peer.h"
#include "controller/plugin/host/syscall_filter.h"

#define SOCKET_WORD "{socket}"
/* How often a connection is tried until the scheduler has bound its socket. */
#define RECONNECT_MS 10
/* How long a scheduler may take to end after it has answered SIMULATION_ENDS. */
#define END_MS 500

struct process {
	struct batsim_peer peer; /* first */
	char *name;              /* of the program */
	char *folder, *path;     /* of the socket */
	void *context, *socket;
	bool is_5; /* a component of Batsim 5 */
	GPid pid;
	int pidfd;
};

static bool wait_end(struct process *process, long timeout_ms)
{
	zmq_pollitem_t end = {.fd = process->pidfd, .events = ZMQ_POLLIN};

	return zmq_poll(&end, 1, timeout_ms) > 0;
}

static void process_free(struct batsim_peer *peer, bool kindly)
{
	struct process *process = (struct process *)peer;

	if (process->socket)
		zmq_close(process->socket);
	if (process->context)
		zmq_ctx_destroy(process->context);
	if (process->pid > 0) {
		if (!kindly || process->pidfd < 0 || !wait_end(process, END_MS))
			kill(process->pid, SIGKILL);
		waitpid(process->pid, NULL, 0);
	}
	if (process->pidfd >= 0)
		close(process->pidfd);
	if (process->path)
		g_unlink(process->path);
	if (process->folder)
		g_rmdir(process->folder);
	g_free(process->path);
	g_free(process->folder);
	g_free(process->name);
	g_free(process);
}

/* Waits until there is an answer, or the scheduler has ended. */
static bool wait_answer(struct process *process)
{
	zmq_pollitem_t items[] = {
		{.socket = process->socket, .events = ZMQ_POLLIN},
		{.fd = process->pidfd, .events = ZMQ_POLLIN},
	};

	for (;;) {
		if (zmq_poll(items, G_N_ELEMENTS(items), -1) < 0 && errno != EINTR)
			return false;
		if (items[0].revents)
			return true;
		if (items[1].revents)
			return false;
	}
}

/* The bytes that the scheduler answers to others, with a 0 behind them; NULL with `error`. */
static char *exchange(struct process *process, const void *bytes, size_t size, size_t *ret_size,
		      GError **error)
{
	zmq_msg_t answer;
	char *text;

	if (zmq_send(process->socket, bytes, size, 0) < 0)
		return error_null(error, BATSIM_ERROR, BATSIM_ERROR_ENDED,
				  "cannot write to the socket of \"%s\": %s", process->name,
				  zmq_strerror(errno));
	if (!wait_answer(process))
		return error_null(error, BATSIM_ERROR, BATSIM_ERROR_ENDED,
				  "the scheduler \"%s\" has ended without an answer",
				  process->name);
	zmq_msg_init(&answer);
	if (zmq_msg_recv(&answer, process->socket, 0) < 0)
		return error_null(error, BATSIM_ERROR, BATSIM_ERROR_ENDED,
				  "cannot read from the socket of \"%s\": %s", process->name,
				  zmq_strerror(errno));
	*ret_size = zmq_msg_size(&answer);
	text = g_malloc0(*ret_size + 1);
	memcpy(text, zmq_msg_data(&answer), *ret_size);
	zmq_msg_close(&answer);
	return text;
}

static char *process_ask(struct batsim_peer *peer, const char *message, GError **error)
{
	struct process *process = (struct process *)peer;
	g_autofree char *translated = process->is_5 ? batprotocol_text_to_5(message, error) : NULL;
	const char *question = process->is_5 ? translated : message;
	g_autofree char *answer = NULL;
	size_t size;

	if (!question)
		return NULL;
	answer = exchange(process, question, strlen(question), &size, error);
	if (!answer)
		return NULL;
	return process->is_5 ? batprotocol_text_to_4(answer, error) : g_steal_pointer(&answer);
}

/* Gives a component of Batsim 5 its initialisation data, and reads what it says of itself. */
static bool greet(struct process *process, const char *init, GError **error)
{
	g_autoptr(GByteArray) message = batprotocol_init(init);
	g_autofree char *answer = NULL;
	size_t size;

	answer = exchange(process, message->data, message->len, &size, error);
	return answer && batprotocol_read_init_answer(process->name, answer, size, error);
}

/* The words with the endpoint in its place; NULL: it has none. */
static char **place_socket(const char *const *words, const char *endpoint)
{
	GPtrArray *placed = g_ptr_array_new();
	bool found = false;

	for (; *words; words++) {
		GString *word = g_string_new(*words);

		found |= g_string_replace(word, SOCKET_WORD, endpoint, 0) > 0;
		g_ptr_array_add(placed, g_string_free(word, FALSE));
	}
	g_ptr_array_add(placed, NULL);
	if (found)
		return (char **)g_ptr_array_free(placed, FALSE);
	g_strfreev((char **)g_ptr_array_free(placed, FALSE));
	return NULL;
}

/* In the scheduler's process, in the sandbox, before it is executed. */
static void leave_connections(void *unused)
{
	static const char text[] = "the sandbox cannot have a filter of system calls\n";

	if (syscall_filter_install(SYSCALL_SOCKETS_LISTEN, true))
		return;
	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	_exit(EXIT_FAILURE);
}

static bool start(struct process *process, const char *const *words, const char *init,
		  GError **error)
{
	const int reconnect_ms = RECONNECT_MS, linger_ms = 0;
	g_autofree char *endpoint = NULL;
	g_auto(GStrv) placed = NULL;

	process->folder = g_dir_make_tmp("virtbed-batsim-XXXXXX", error);
	if (!process->folder)
		return false;
	process->path = g_build_filename(process->folder, "socket", NULL);
	endpoint = g_strconcat("ipc://", process->path, NULL);
	placed = place_socket(words, endpoint);
	if (!placed)
		return error_fail(error, BATSIM_ERROR, BATSIM_ERROR_START,
				  "the command of \"%s\" has no " SOCKET_WORD
				  "; write it where the "
				  "scheduler wants the endpoint of its socket",
				  process->name);
	if (!g_spawn_async(NULL, placed, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD,
			   getenv(SYSCALL_FILTER_VARIABLE) ? leave_connections : NULL, NULL,
			   &process->pid, error))
		return false;
	process->pidfd = pidfd_open(process->pid, 0);
	process->context = zmq_ctx_new();
	process->socket = process->context ? zmq_socket(process->context, ZMQ_REQ) : NULL;
	if (process->pidfd < 0 || !process->socket ||
	    zmq_setsockopt(process->socket, ZMQ_RECONNECT_IVL, &reconnect_ms,
			   sizeof(reconnect_ms)) < 0 ||
	    zmq_setsockopt(process->socket, ZMQ_LINGER, &linger_ms, sizeof(linger_ms)) < 0 ||
	    zmq_connect(process->socket, endpoint) < 0)
		return error_fail(error, BATSIM_ERROR, BATSIM_ERROR_START,
				  "cannot make a socket for \"%s\": %s", process->name,
				  zmq_strerror(errno));
	return !init || greet(process, init, error);
}

struct batsim_peer *batsim_peer_process(const char *const *words, const char *init, GError **error)
{
	struct process *process = g_new0(struct process, 1);

	process->peer = (struct batsim_peer){.ask = process_ask, .free = process_free};
	process->name = g_strdup(words[0]);
	process->pidfd = -1;
	process->is_5 = init;
	if (start(process, words, init, error))
		return &process->peer;
	process_free(&process->peer, false);
	return NULL;
}
