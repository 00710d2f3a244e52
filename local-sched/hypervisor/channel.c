/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/hypervisor/channel.h"

#include "local-sched/hypervisor/domain.h"

#define READ_SIZE 4096
#define QUEUE_MAX (1 << 20)

struct channel {
	struct host *host;
	char *domain;
	char *port;
	const struct channel_events *events;
	void *data;
	virStreamPtr stream; /* NULL: closed */
	GString *queue;      /* not sent yet */
	bool opening;        /* domain_open_port() is under way */
	bool stale;          /* the result of the opening is not wanted */
	bool again;          /* another opening has to follow */
};

static void watch(struct channel *channel);

struct channel *channel_new(struct host *host, const char *domain, const char *port,
			    const struct channel_events *events, void *data)
{
	struct channel *channel = g_new0(struct channel, 1);

	channel->host = host;
	channel->domain = g_strdup(domain);
	channel->port = g_strdup(port);
	channel->events = events;
	channel->data = data;
	channel->queue = g_string_new(NULL);
	return channel;
}

static void drop_stream(struct channel *channel)
{
	virStreamPtr stream = g_steal_pointer(&channel->stream);

	g_string_truncate(channel->queue, 0);
	if (!stream)
		return;
	virStreamEventRemoveCallback(stream);
	domain_close_stream(channel->host, stream);
}

void channel_free(struct channel *channel)
{
	if (!channel)
		return;
	if (channel->stream)
		virStreamFree(channel->stream);
	g_string_free(channel->queue, TRUE);
	g_free(channel->domain);
	g_free(channel->port);
	g_free(channel);
}

static void broken(struct channel *channel, const char *reason)
{
	drop_stream(channel);
	channel->events->broken(channel, reason, channel->data);
}

/* Reads what is there. False: the channel broke, or its owner closed it meanwhile. */
static bool read_all(struct channel *channel)
{
	char buffer[READ_SIZE];
	virStreamPtr stream = channel->stream;
	int length;

	while (channel->stream == stream) {
		length = virStreamRecv(stream, buffer, sizeof(buffer));
		if (length == -2)
			return true;
		if (length <= 0) {
			broken(channel, length == 0 ? "the port was closed" : "the port failed");
			return false;
		}
		channel->events->input(channel, buffer, (size_t)length, channel->data);
	}
	return false;
}

/* Sends queued bytes until the stream would block. */
static bool flush(struct channel *channel)
{
	GString *queue = channel->queue;
	int length;

	while (queue->len > 0) {
		length = virStreamSend(channel->stream, queue->str, queue->len);
		if (length == -2)
			return true;
		if (length < 0) {
			broken(channel, "cannot write to the port");
			return false;
		}
		g_string_erase(queue, 0, length);
	}
	return true;
}

static void on_event(virStreamPtr stream, int events, void *data)
{
	struct channel *channel = data;

	if (channel->stream != stream)
		return;
	if (events & (VIR_STREAM_EVENT_READABLE | VIR_STREAM_EVENT_HANGUP | VIR_STREAM_EVENT_ERROR))
		if (!read_all(channel))
			return;
	if (events & (VIR_STREAM_EVENT_HANGUP | VIR_STREAM_EVENT_ERROR)) {
		broken(channel, "the port hung up");
		return;
	}
	if (events & VIR_STREAM_EVENT_WRITABLE && !flush(channel))
		return;
	watch(channel);
}

/*
 * Watches the stream. Writability is watched only with bytes in the queue, because a stream is
 * writable nearly always.
 */
static void watch(struct channel *channel)
{
	int events = VIR_STREAM_EVENT_READABLE | VIR_STREAM_EVENT_HANGUP | VIR_STREAM_EVENT_ERROR;

	if (channel->queue->len > 0)
		events |= VIR_STREAM_EVENT_WRITABLE;
	virStreamEventUpdateCallback(channel->stream, events);
}

static void opened(gpointer result, const GError *error, gpointer data)
{
	struct channel *channel = data;
	bool stale = channel->stale;
	bool again = channel->again;

	channel->opening = channel->stale = channel->again = false;
	if (stale) {
		if (result)
			domain_close_stream(channel->host, result);
		if (again)
			channel_open(channel);
		return;
	}
	if (result) {
		channel->stream = result;
		virStreamEventAddCallback(channel->stream,
					  VIR_STREAM_EVENT_READABLE | VIR_STREAM_EVENT_HANGUP |
						  VIR_STREAM_EVENT_ERROR,
					  on_event, channel, NULL);
	}
	channel->events->opened(channel, error, channel->data);
}

void channel_open(struct channel *channel)
{
	if (channel->opening) {
		channel->again = channel->stale;
		return;
	}
	drop_stream(channel);
	channel->opening = true;
	domain_open_port(channel->host, channel->domain, channel->port, opened, channel);
}

void channel_close(struct channel *channel)
{
	if (channel->opening) {
		channel->stale = true;
		channel->again = false;
	}
	drop_stream(channel);
}

void channel_move(struct channel *channel, struct host *host)
{
	channel_close(channel);
	channel->host = host;
}

bool channel_is_open(const struct channel *channel)
{
	return channel->stream != NULL;
}

void channel_send(struct channel *channel, const char *bytes, size_t length)
{
	if (!channel->stream)
		return;
	g_string_append_len(channel->queue, bytes, (gssize)length);
	if (channel->queue->len > QUEUE_MAX) {
		broken(channel, "the guest does not read from the port");
		return;
	}
	if (flush(channel))
		watch(channel);
}
