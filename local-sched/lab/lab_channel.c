/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/lab/lab_channel.h"

#include "common/error_fail.h"

#include <errno.h>
#include <gio/gio.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

bool lab_channel_open(int ret_fds[2], GError **error)
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret_fds) == 0)
		return true;
	return error_fail(error, G_IO_ERROR, (int)g_io_error_from_errno(errno),
			  "cannot make a pair of sockets: %s", g_strerror(errno));
}

bool lab_channel_send(int fd, const char *format, ...)
{
	g_autofree char *text = NULL;
	va_list arguments;
	gsize length;
	ssize_t sent;

	va_start(arguments, format);
	text = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	length = MIN(strlen(text), (gsize)LAB_CHANNEL_TEXT_MAX);
	do
		sent = send(fd, text, length, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent >= 0;
}

enum lab_channel_result lab_channel_receive(int fd, double timeout_s, char **ret_text)
{
	char buffer[LAB_CHANNEL_TEXT_MAX + 1];
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	int timeout_ms = timeout_s < 0 ? -1 : (int)(timeout_s * 1000);
	ssize_t got;

	/*
	 * An interrupted wait counts as a timeout, so that a caller with signal handlers checks
	 * them then.
	 */
	if (poll(&wait, 1, timeout_ms) <= 0)
		return LAB_CHANNEL_TIMEOUT;
	got = recv(fd, buffer, sizeof buffer - 1, 0);
	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return LAB_CHANNEL_TIMEOUT;
	if (got <= 0)
		return LAB_CHANNEL_END;
	buffer[got] = '\0';
	*ret_text = g_strdup(buffer);
	return LAB_CHANNEL_MESSAGE;
}

void lab_channel_await_go(void)
{
	g_autofree char *text = NULL;
	enum lab_channel_result result;

	do
		result = lab_channel_receive(LAB_CHANNEL_PARENT, -1, &text);
	while (result == LAB_CHANNEL_TIMEOUT);
	if (result == LAB_CHANNEL_END || strcmp(text, "go") != 0)
		exit(EXIT_FAILURE);
}
