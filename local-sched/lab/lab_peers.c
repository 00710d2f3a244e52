/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/lab/lab_peers.h"

#include <arpa/inet.h>
#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "local-sched/lab/lab_paths.h"

enum { PORT_FIRST = 20000, PORT_COUNT = 10000, RETRY_US = 20000, PING_MS = 200 };

/* The arguments of a thread that asks a libvirt. */
struct question {
	char *uri;
	uint32_t number;
	double timeout_s;
	GAsyncQueue *answers;
};

void lab_peers_answer_free(struct lab_peers_answer *answer)
{
	if (!answer)
		return;
	g_free(answer->reason);
	g_free(answer);
}

static void be_silent(void *data, virErrorPtr error)
{
	/* The caller reports failures; some are expected while a blade starts. */
}

static bool ask_once(const char *uri, struct lab_peers_answer *answer)
{
	virConnectPtr connection = virConnectOpen(uri);

	if (!connection) {
		g_free(answer->reason);
		answer->reason = g_strdup(virGetLastErrorMessage());
		return false;
	}
	answer->answered = true;
	answer->domains = virConnectNumOfDomains(connection);
	virConnectClose(connection);
	g_clear_pointer(&answer->reason, g_free);
	return true;
}

static gpointer ask_libvirt(gpointer data)
{
	struct question *question = data;
	struct lab_peers_answer *answer = g_new0(struct lab_peers_answer, 1);
	int64_t from_ns = clock_now_ns();

	answer->number = question->number;
	answer->domains = -1;
	virSetErrorFunc(NULL, be_silent);
	while (!ask_once(question->uri, answer) &&
	       clock_elapsed_s(from_ns, clock_now_ns()) < question->timeout_s)
		/* its socket does not exist yet, and there is no notification for it */
		g_usleep(RETRY_US);
	answer->after_s = clock_elapsed_s(from_ns, clock_now_ns());
	g_async_queue_push(question->answers, answer);
	g_async_queue_unref(question->answers);
	g_free(question->uri);
	g_free(question);
	return NULL;
}

GAsyncQueue *lab_peers_ask_libvirts(const char *lab, uint32_t count, double timeout_s)
{
	GAsyncQueue *answers = g_async_queue_new_full((GDestroyNotify)lab_peers_answer_free);

	virInitialize();
	for (uint32_t i = 0; i < count; i++) {
		struct question *question = g_new0(struct question, 1);

		question->uri = lab_paths_uri(lab, i + 1);
		question->number = i + 1;
		question->timeout_s = timeout_s;
		question->answers = g_async_queue_ref(answers);
		g_thread_unref(g_thread_new("libvirt", ask_libvirt, question));
	}
	return answers;
}

static struct sockaddr_in loopback(uint16_t port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
}

/*
 * RMCP (IPMI 2.0, section 13.2): version 6, sequence 0xff (no acknowledgement), class ASF; ASF
 * enterprise number 4542, message type 0x80 = presence ping, 0x40 = pong.
 */
static bool ping_once(int fd)
{
	static const unsigned char ping[] = {6, 0, 0xff, 6, 0, 0, 0x11, 0xbe, 0x80, 0, 0, 0};
	unsigned char pong[64];
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	ssize_t got;

	if (send(fd, ping, sizeof ping, 0) != (ssize_t)sizeof ping || poll(&wait, 1, PING_MS) != 1)
		return false;
	got = recv(fd, pong, sizeof pong, 0);
	return got >= 9 && pong[3] == 6 && pong[8] == 0x40;
}

bool lab_peers_ping_bmc(uint16_t port, double timeout_s)
{
	struct sockaddr_in address = loopback(port);
	int64_t from_ns = clock_now_ns();
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool answered = false;

	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
		goto out;
	do {
		answered = ping_once(fd);
		if (!answered)
			g_usleep(RETRY_US); /* a port without a listener answers at once */
	} while (!answered && clock_elapsed_s(from_ns, clock_now_ns()) < timeout_s);
out:
	if (fd >= 0)
		close(fd);
	return answered;
}

bool lab_peers_reach_redfish(uint16_t port, double timeout_s)
{
	struct sockaddr_in address = loopback(port);
	int64_t from_ns = clock_now_ns();
	bool reached;

	for (;;) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		reached = fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
		if (fd >= 0)
			close(fd);
		if (reached || clock_elapsed_s(from_ns, clock_now_ns()) >= timeout_s)
			return reached;
		g_usleep(RETRY_US); /* a port without a listener answers at once */
	}
}

static bool is_free(uint16_t port, int type)
{
	struct sockaddr_in address = loopback(port);
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
	bool is = fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0;

	if (fd >= 0)
		close(fd);
	return is;
}

bool lab_peers_choose_ports(uint32_t count, uint16_t *ret_ports)
{
	uint32_t at = g_random_int_range(0, PORT_COUNT);
	uint32_t chosen = 0;

	for (uint32_t tries = 0; chosen < count && tries < PORT_COUNT; tries++) {
		uint16_t port = (uint16_t)(PORT_FIRST + (at + tries) % PORT_COUNT);

		if (is_free(port, SOCK_DGRAM) && is_free(port, SOCK_STREAM))
			ret_ports[chosen++] = port;
	}
	return chosen == count;
}
