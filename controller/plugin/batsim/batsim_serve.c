/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <string.h>
#include <zmq.h>

#include "common/error_fail.h"
#include "controller/plugin/batsim/batsim_peer.h"
#include "controller/plugin/batsim/batsim_scheduler.h"

/* What the socket failed at. */
static bool fail(GError **error, const char *what, const char *endpoint)
{
	return error_fail(error, BATSIM_ERROR, BATSIM_ERROR_ENDED, "cannot %s \"%s\": %s", what,
			  endpoint, zmq_strerror(errno));
}

static bool answer_all(void *socket, struct batsim_scheduler *scheduler, const char *endpoint,
		       GError **error)
{
	bool over = false;

	while (!over) {
		g_autofree char *question = NULL;
		g_autofree char *answer = NULL;
		zmq_msg_t message;

		zmq_msg_init(&message);
		if (zmq_msg_recv(&message, socket, 0) < 0)
			return fail(error, "read from", endpoint);
		question = g_strndup(zmq_msg_data(&message), zmq_msg_size(&message));
		zmq_msg_close(&message);
		answer = batsim_scheduler_answer(scheduler, question, &over, error);
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
