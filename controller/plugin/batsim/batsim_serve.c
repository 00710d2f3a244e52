/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <string.h>
#include <zmq.h>

#include "common/error_fail.h"
#include "common/json.h"
#include "common/version/build_version.h"
#include "controller/plugin/batsim/batprotocol.h"
#include "controller/plugin/batsim/batsim_peer.h"
#include "controller/plugin/batsim/batsim_scheduler.h"

/* What the socket failed at. */
static bool fail(GError **error, const char *what, const char *endpoint)
{
	return error_fail(error, BATSIM_ERROR, BATSIM_ERROR_ENDED, "cannot %s \"%s\": %s", what,
			  endpoint, zmq_strerror(errno));
}

/* Answers the first message of Batsim 5. */
static bool greet(void *socket)
{
	g_autoptr(json_t) hello = batprotocol_hello("virtbed", build_version());
	g_autoptr(GByteArray) answer = batprotocol_init_answer(hello);

	return zmq_send(socket, answer->data, answer->len, 0) >= 0;
}

/* The answer to a message of Batsim 5, or of 2 to 4; NULL with `error`. */
static char *answer_one(struct batsim_scheduler *scheduler, const char *question, bool is_5,
			bool *ret_over, GError **error)
{
	g_autofree char *translated = is_5 ? batprotocol_text_to_4(question, error) : NULL;
	g_autofree char *answer = NULL;

	if (!is_5)
		return batsim_scheduler_answer(scheduler, question, ret_over, error);
	answer =
		translated ? batsim_scheduler_answer(scheduler, translated, ret_over, error) : NULL;
	return answer ? batprotocol_text_to_5(answer, error) : NULL;
}

static bool answer_all(void *socket, struct batsim_scheduler *scheduler, const char *endpoint,
		       GError **error)
{
	bool over = false;
	bool begun = false;
	bool is_5 = false;

	while (!over) {
		g_autofree char *question = NULL;
		g_autofree char *answer = NULL;
		zmq_msg_t message;

		zmq_msg_init(&message);
		if (zmq_msg_recv(&message, socket, 0) < 0)
			return fail(error, "read from", endpoint);
		is_5 |= !begun &&
			batprotocol_is_init(zmq_msg_data(&message), zmq_msg_size(&message));
		question = g_strndup(zmq_msg_data(&message), zmq_msg_size(&message));
		zmq_msg_close(&message);
		if (is_5 && !begun) {
			begun = true;
			if (!greet(socket))
				return fail(error, "write to", endpoint);
			continue;
		}
		begun = true;
		answer = answer_one(scheduler, question, is_5, &over, error);
		if (!answer)
			return false;
		if (zmq_send(socket, answer, strlen(answer), 0) < 0)
			return fail(error, "write to", endpoint);
	}
	return true;
}

bool batsim_scheduler_serve(struct batsim_scheduler *scheduler, const char *endpoint,
			    GError **error)
{
	void *context = zmq_ctx_new();
	void *socket = context ? zmq_socket(context, ZMQ_REP) : NULL;
	bool good;

	if (!socket || zmq_bind(socket, endpoint) < 0)
		good = fail(error, "listen at", endpoint);
	else
		good = answer_all(socket, scheduler, endpoint, error);
	if (socket)
		zmq_close(socket);
	if (context)
		zmq_ctx_destroy(context);
	return good;
}
