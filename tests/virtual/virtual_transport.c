/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Connections in memory, between servers and clients of one process. */
#include <gio/gunixsocketaddress.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/transport.h"
#include "tests/virtual/virtual_platform_private.h"

/* One direction of a connection. */
struct lane {
	GByteArray *bytes; /* that have arrived */
	gsize want;        /* how many make it readable */
	bool ended;        /* its writer has closed it */
	bool closed;       /* that has arrived, or its reader hears no more */
	int64_t last_ns;   /* when the last piece arrives */
	GQueue held;       /* struct piece elements that wait for virtual_platform_release() */
};

/* A connection. The client's end is its exchange, the server's a stream; each may go first. */
struct connection {
	struct virtual_world *world;
	char *place; /* where the client connects to */
	/* The platforms of its ends; NULL: not known yet, or freed. */
	struct virtual_platform *client_of, *server_of;
	struct lane in, out;      /* as the server sees them */
	bool server, client;      /* the ends that are there */
	bool silent[2];           /* the client, the server is dead: it neither sends nor hears */
	bool refused;             /* there is no listener */
	bool cut;                 /* what is under way is lost */
	GList link;               /* element of world->connections */
	GSocketAddress *local;    /* of the server; NULL: not known yet */
	guint number;             /* of the peer */
	struct virtual_fate fate; /* of its request */
	guint references;
};

static void connection_unref(struct connection *connection)
{
	if (--connection->references > 0)
		return;
	g_queue_unlink(&connection->world->connections, &connection->link);
	g_byte_array_unref(connection->in.bytes);
	g_byte_array_unref(connection->out.bytes);
	g_clear_object(&connection->local);
	g_free(connection->place);
	g_free(connection);
}

static void end_gone(struct connection *connection, bool *end)
{
	if (!*end)
		return;
	*end = false;
	connection_unref(connection);
}

static bool is_readable(const struct lane *lane)
{
	return lane->bytes->len >= MAX(lane->want, 1) || lane->closed;
}

/* What is sent. */
enum piece_kind { PIECE_BYTES = 0, PIECE_CONNECT, PIECE_REFUSE, PIECE_CLOSE };

/* Something on its way. */
struct piece {
	enum piece_kind kind;
	struct connection *connection;
	struct lane *lane;
	GBytes *bytes; /* NULL: none */
};

static void piece_free(struct piece *piece)
{
	if (piece->bytes)
		g_bytes_unref(piece->bytes);
	connection_unref(piece->connection);
	g_free(piece);
}

static void come_in(struct connection *connection);

static gboolean arrive(gpointer data)
{
	struct piece *piece = data;
	struct connection *connection = piece->connection;
	const bool lost = connection->cut || connection->silent[piece->lane == &connection->in];

	if (lost) {
		piece_free(piece);
		return G_SOURCE_REMOVE;
	}
	switch (piece->kind) {
	case PIECE_BYTES:
		g_byte_array_append(piece->lane->bytes, g_bytes_get_data(piece->bytes, NULL),
				    (guint)g_bytes_get_size(piece->bytes));
		break;
	case PIECE_CONNECT:
		come_in(connection);
		break;
	case PIECE_REFUSE:
		connection->refused = true;
		piece->lane->closed = true;
		break;
	case PIECE_CLOSE:
		piece->lane->closed = true;
		break;
	}
	piece_free(piece);
	return G_SOURCE_REMOVE;
}

/* How much longer than others it takes, by the fate of the request. */
static guint more_ms(const struct connection *connection, const struct lane *lane)
{
	return lane == &connection->out ? connection->fate.answer_ms : connection->fate.request_ms;
}

static guint delay_of(const struct connection *connection, const struct lane *lane)
{
	const struct virtual_world *world = connection->world;
	guint ms = connection->client_of ? connection->client_of->delay_ms : 0;

	if (world->rules && world->rules->delay_ms)
		ms = world->rules->delay_ms(connection->client_of, connection->place,
					    lane == &connection->out, world->rules_data);
	return ms == VIRTUAL_HELD ? ms : ms + more_ms(connection, lane);
}

/* Timers that are due at one time ring in the order in which they were set: pieces keep theirs. */
static void set_off(struct piece *piece, guint delay_ms)
{
	struct virtual_world *world = piece->connection->world;
	struct lane *lane = piece->lane;

	lane->last_ns = MAX(lane->last_ns, world->now_ns + delay_ms * INT64_C(1000000));
	virtual_world_timer(world, NULL, G_PRIORITY_DEFAULT, lane->last_ns - world->now_ns, arrive,
			    piece);
}

static void send_piece(struct connection *connection, struct lane *lane, enum piece_kind kind,
		       const void *bytes, gsize length)
{
	struct piece *piece;
	guint delay_ms;

	if (connection->cut || lane->ended || connection->silent[lane == &connection->out] ||
	    more_ms(connection, lane) == VIRTUAL_HELD)
		return;
	delay_ms = delay_of(connection, lane);
	piece = g_new0(struct piece, 1);
	piece->kind = kind;
	piece->connection = connection;
	piece->lane = lane;
	piece->bytes = bytes ? g_bytes_new(bytes, length) : NULL;
	connection->references++;
	lane->ended = kind == PIECE_CLOSE;
	if (delay_ms == VIRTUAL_HELD || !g_queue_is_empty(&lane->held))
		g_queue_push_tail(&lane->held, piece);
	else
		set_off(piece, delay_ms);
}

static void send_bytes(struct connection *connection, struct lane *lane, const void *bytes,
		       gsize length)
{
	send_piece(connection, lane, PIECE_BYTES, bytes, length);
}

static void release(struct connection *connection, struct lane *lane)
{
	const guint delay_ms =
		g_queue_is_empty(&lane->held) ? VIRTUAL_HELD : delay_of(connection, lane);
	struct piece *piece;

	while (delay_ms != VIRTUAL_HELD && (piece = g_queue_pop_head(&lane->held)))
		set_off(piece, delay_ms);
}

void virtual_platform_release(struct virtual_platform *virtual)
{
	for (const GList *at = virtual->world->connections.head; at; at = at->next) {
		release(at->data, &((struct connection *)at->data)->in);
		release(at->data, &((struct connection *)at->data)->out);
	}
}

/* An end closes: it hears no more, and the other one is told. */
static void close_server(struct connection *connection)
{
	connection->in.closed = true;
	send_piece(connection, &connection->out, PIECE_CLOSE, NULL, 0);
}

static void close_client(struct connection *connection)
{
	connection->out.closed = true;
	send_piece(connection, &connection->in, PIECE_CLOSE, NULL, 0);
}

/* Sources: ready when a condition of a connection holds. */

struct watch {
	GSource source; /* first: callbacks cast back */
	struct connection *connection;
	bool (*is_ready)(const struct connection *connection);
};

static gboolean watch_check(GSource *source)
{
	const struct watch *watch = (struct watch *)source;

	return watch->is_ready(watch->connection);
}

static gboolean watch_prepare(GSource *source, gint *timeout_ms)
{
	*timeout_ms = -1;
	return watch_check(source);
}

static gboolean watch_dispatch(GSource *source, GSourceFunc callback, gpointer data)
{
	return callback(data);
}

static void watch_finalize(GSource *source)
{
	connection_unref(((struct watch *)source)->connection);
}

/* For GIO, which gives a child source a closure that does nothing. */
static gboolean no_closure(gpointer data)
{
	return G_SOURCE_CONTINUE;
}

static GSourceFuncs watch_funcs = {.prepare = watch_prepare,
				   .check = watch_check,
				   .dispatch = watch_dispatch,
				   .finalize = watch_finalize,
				   .closure_callback = no_closure};

static GSource *watch_new(struct connection *connection,
			  bool (*is_ready)(const struct connection *connection))
{
	GSource *source = g_source_new(&watch_funcs, sizeof(struct watch));
	struct watch *watch = (struct watch *)source;

	watch->connection = connection;
	watch->is_ready = is_ready;
	connection->references++;
	return source;
}

static bool has_input(const struct connection *connection)
{
	return is_readable(&connection->in);
}

static bool has_output(const struct connection *connection)
{
	return is_readable(&connection->out);
}

static bool always(const struct connection *connection)
{
	return true;
}

static bool is_hung_up(const struct connection *connection)
{
	return connection->in.closed;
}

/* The server's end as a stream of GIO. */

typedef struct {
	GInputStream parent;
	struct connection *connection;
} VirtualInput;
typedef struct {
	GOutputStream parent;
	struct connection *connection;
} VirtualOutput;
typedef struct {
	GIOStream parent;
	struct connection *connection;
	VirtualInput *input;
	VirtualOutput *output;
} VirtualStream;
typedef GInputStreamClass VirtualInputClass;
typedef GOutputStreamClass VirtualOutputClass;
typedef GIOStreamClass VirtualStreamClass;

static void input_init(GPollableInputStreamInterface *interface);
static void output_init(GPollableOutputStreamInterface *interface);

GType virtual_input_get_type(void);
GType virtual_output_get_type(void);
GType virtual_stream_get_type(void);

G_DEFINE_TYPE_WITH_CODE(VirtualInput, virtual_input, G_TYPE_INPUT_STREAM,
			G_IMPLEMENT_INTERFACE(G_TYPE_POLLABLE_INPUT_STREAM, input_init))
G_DEFINE_TYPE_WITH_CODE(VirtualOutput, virtual_output, G_TYPE_OUTPUT_STREAM,
			G_IMPLEMENT_INTERFACE(G_TYPE_POLLABLE_OUTPUT_STREAM, output_init))
G_DEFINE_TYPE(VirtualStream, virtual_stream, G_TYPE_IO_STREAM)

static gssize read_some(GInputStream *stream, void *buffer, gsize count, GCancellable *cancellable,
			GError **error)
{
	struct lane *lane = &((VirtualInput *)stream)->connection->in;
	const guint length = MIN((guint)count, lane->bytes->len);

	memcpy(buffer, lane->bytes->data, length);
	if (length > 0)
		g_byte_array_remove_range(lane->bytes, 0, length);
	return length;
}

static gboolean input_is_readable(GPollableInputStream *stream)
{
	return has_input(((VirtualInput *)stream)->connection);
}

static GSource *input_source(GPollableInputStream *stream, GCancellable *cancellable)
{
	g_autoptr(GSource) child = watch_new(((VirtualInput *)stream)->connection, has_input);

	return g_pollable_source_new_full(stream, child, cancellable);
}

static gssize write_some(GOutputStream *stream, const void *buffer, gsize count,
			 GCancellable *cancellable, GError **error)
{
	struct connection *connection = ((VirtualOutput *)stream)->connection;

	if (connection->out.ended || connection->in.closed) {
		g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_BROKEN_PIPE, "the peer is gone");
		return -1;
	}
	send_bytes(connection, &connection->out, buffer, count);
	return (gssize)count;
}

static gboolean output_is_writable(GPollableOutputStream *stream)
{
	return TRUE;
}

static GSource *output_source(GPollableOutputStream *stream, GCancellable *cancellable)
{
	g_autoptr(GSource) child = watch_new(((VirtualOutput *)stream)->connection, always);

	return g_pollable_source_new_full(stream, child, cancellable);
}

static void input_init(GPollableInputStreamInterface *interface)
{
	interface->is_readable = input_is_readable;
	interface->create_source = input_source;
}

static void output_init(GPollableOutputStreamInterface *interface)
{
	interface->is_writable = output_is_writable;
	interface->create_source = output_source;
}

static void virtual_input_init(VirtualInput *input)
{
}
static void virtual_output_init(VirtualOutput *output)
{
}
static void virtual_stream_init(VirtualStream *stream)
{
}

static void virtual_input_class_init(VirtualInputClass *class)
{
	class->read_fn = read_some;
}

static void virtual_output_class_init(VirtualOutputClass *class)
{
	class->write_fn = write_some;
}

static GInputStream *get_input(GIOStream *stream)
{
	return G_INPUT_STREAM(((VirtualStream *)stream)->input);
}

static GOutputStream *get_output(GIOStream *stream)
{
	return G_OUTPUT_STREAM(((VirtualStream *)stream)->output);
}

static gboolean close_stream(GIOStream *stream, GCancellable *cancellable, GError **error)
{
	struct connection *connection = ((VirtualStream *)stream)->connection;

	close_server(connection);
	end_gone(connection, &connection->server);
	return TRUE;
}

/* Without a thread. */
static void close_async(GIOStream *stream, int priority, GCancellable *cancellable,
			GAsyncReadyCallback callback, gpointer data)
{
	g_autoptr(GTask) task = g_task_new(stream, cancellable, callback, data);

	close_stream(stream, NULL, NULL);
	g_task_return_boolean(task, TRUE);
}

static gboolean close_finish(GIOStream *stream, GAsyncResult *result, GError **error)
{
	return g_task_propagate_boolean(G_TASK(result), error);
}

static void finalize_stream(GObject *object)
{
	VirtualStream *stream = (VirtualStream *)object;
	struct connection *connection = stream->connection;

	close_server(connection);
	end_gone(connection, &connection->server);
	g_object_unref(stream->input);
	g_object_unref(stream->output);
	connection_unref(connection);
	G_OBJECT_CLASS(virtual_stream_parent_class)->finalize(object);
}

static void virtual_stream_class_init(VirtualStreamClass *class)
{
	G_OBJECT_CLASS(class)->finalize = finalize_stream;
	class->get_input_stream = get_input;
	class->get_output_stream = get_output;
	class->close_fn = close_stream;
	class->close_async = close_async;
	class->close_finish = close_finish;
}

/* Listening. */

struct transport_place {
	struct virtual_platform *virtual;
	bool gone; /* its platform is dead */
	GSocketAddress *address;
	char *name;     /* "unix:PATH" or "HOST:PORT" */
	GQueue waiting; /* struct connection elements that are not accepted */
};

static char *name_of(GSocketAddress *address)
{
	g_autofree char *host = NULL;

	if (G_IS_UNIX_SOCKET_ADDRESS(address))
		return g_strconcat("unix:",
				   g_unix_socket_address_get_path(G_UNIX_SOCKET_ADDRESS(address)),
				   NULL);
	host = g_inet_address_to_string(
		g_inet_socket_address_get_address(G_INET_SOCKET_ADDRESS(address)));
	return g_strdup_printf("%s:%u", host,
			       g_inet_socket_address_get_port(G_INET_SOCKET_ADDRESS(address)));
}

static struct transport_place *find_place(const struct virtual_world *world, const char *name)
{
	for (const GList *at = world->places.head; at; at = at->next)
		if (g_str_equal(((struct transport_place *)at->data)->name, name))
			return at->data;
	return NULL;
}

static struct transport_place *listen_at(const struct platform *platform, GSocketAddress *where,
					 GError **error)
{
	struct virtual_platform *virtual = virtual_of(platform);
	g_autoptr(GSocketAddress) address = g_object_ref(where);
	g_autofree char *name = NULL;
	struct transport_place *place;

	if (G_IS_INET_SOCKET_ADDRESS(where) &&
	    !g_inet_socket_address_get_port(G_INET_SOCKET_ADDRESS(where))) {
		g_object_unref(address);
		address = g_inet_socket_address_new(g_inet_socket_address_get_address(
							    G_INET_SOCKET_ADDRESS(where)),
						    (guint16) virtual->world->next_port++);
	}
	name = name_of(address);
	if (find_place(virtual->world, name)) {
		g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_ADDRESS_IN_USE,
				    "another server does");
		return NULL;
	}
	place = g_new0(struct transport_place, 1);
	place->virtual = virtual;
	place->gone = virtual->dead;
	place->address = g_steal_pointer(&address);
	place->name = g_steal_pointer(&name);
	if (!place->gone)
		g_queue_push_tail(&virtual->world->places, place);
	return place;
}

static GSocketAddress *bound(const struct transport_place *place, GError **error)
{
	return g_object_ref(place->address);
}

static bool share(struct transport_place *place, gid_t group, GError **error)
{
	return true;
}

struct place_source {
	GSource source; /* first: callbacks cast back */
	struct transport_place *place;
};

static gboolean place_check(GSource *source)
{
	return !g_queue_is_empty(&((struct place_source *)source)->place->waiting);
}

static gboolean place_prepare(GSource *source, gint *timeout_ms)
{
	*timeout_ms = -1;
	return place_check(source);
}

static GSourceFuncs place_funcs = {.prepare = place_prepare,
				   .check = place_check,
				   .dispatch = watch_dispatch};

static GSource *incoming(struct transport_place *place)
{
	GSource *source = g_source_new(&place_funcs, sizeof(struct place_source));

	((struct place_source *)source)->place = place;
	return source;
}

/* A client's wish to connect has arrived. */
static void come_in(struct connection *connection)
{
	const struct virtual_world *world = connection->world;
	struct transport_place *place = find_place(world, connection->place);

	if (!place) {
		if (!world->rules || !world->rules->refuses ||
		    world->rules->refuses(connection->place, world->rules_data))
			send_piece(connection, &connection->out, PIECE_REFUSE, NULL, 0);
		connection->silent[1] = true;
		return;
	}
	connection->server_of = place->virtual;
	connection->local = g_object_ref(place->address);
	connection->server = true;
	connection->references++;
	g_queue_push_tail(&place->waiting, connection);
}

static GIOStream *accept_next(struct transport_place *place, GError **error)
{
	struct connection *connection = g_queue_pop_head(&place->waiting);
	VirtualStream *stream;

	if (!connection) {
		g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_WOULD_BLOCK, "none waits");
		return NULL;
	}
	stream = g_object_new(virtual_stream_get_type(), NULL);
	stream->connection = connection;
	stream->input = g_object_new(virtual_input_get_type(), NULL);
	stream->input->connection = connection;
	stream->output = g_object_new(virtual_output_get_type(), NULL);
	stream->output->connection = connection;
	connection->references++;
	return G_IO_STREAM(stream);
}

static void close_place(struct transport_place *place)
{
	struct connection *connection;

	while ((connection = g_queue_pop_head(&place->waiting))) {
		close_server(connection);
		end_gone(connection, &connection->server);
	}
	if (!place->gone)
		g_queue_remove(&place->virtual->world->places, place);
	g_object_unref(place->address);
	g_free(place->name);
	g_free(place);
}

/* Accepted connections. */

static struct connection *connection_of(GIOStream *stream)
{
	return ((VirtualStream *)stream)->connection;
}

/* Each has an address of its own. */
static GSocketAddress *remote_address(GIOStream *stream)
{
	const struct connection *connection = connection_of(stream);
	g_autoptr(GInetAddress) host = g_inet_address_new_loopback(G_SOCKET_FAMILY_IPV4);
	g_autofree char *path = g_strdup_printf("/peer/%u", connection->number);

	return G_IS_UNIX_SOCKET_ADDRESS(connection->local)
		       ? g_unix_socket_address_new(path)
		       : g_inet_socket_address_new(host, (guint16)(connection->number % 60000));
}

static GSocketAddress *local_address(GIOStream *stream)
{
	return g_object_ref(connection_of(stream)->local);
}

static int64_t peer_uid(GIOStream *stream)
{
	return G_IS_UNIX_SOCKET_ADDRESS(connection_of(stream)->local) ? (int64_t)geteuid()
								      : TRANSPORT_PEER_ANYBODY;
}

static void want(GIOStream *stream, size_t count)
{
	connection_of(stream)->in.want = count;
}

static size_t peek(GIOStream *stream, void *bytes, size_t most)
{
	const GByteArray *there = connection_of(stream)->in.bytes;

	if (most > 0 && there->len > 0)
		memcpy(bytes, there->data, MIN(most, there->len));
	return there->len;
}

static GSource *hangup(GIOStream *stream)
{
	return watch_new(connection_of(stream), is_hung_up);
}

static void shut_down(GIOStream *stream, bool input)
{
	struct connection *connection = connection_of(stream);

	send_piece(connection, &connection->out, PIECE_CLOSE, NULL, 0);
	if (input)
		connection->in.closed = true;
}

guint virtual_platform_cut(struct virtual_platform *virtual, const char *address)
{
	const char *name =
		g_str_has_prefix(address, "http://") ? address + strlen("http://") : address;
	guint count = 0;

	for (const GList *at = virtual->world->connections.head; at; at = at->next) {
		struct connection *connection = at->data;

		if (connection->cut || !(connection->client || connection->server) ||
		    !g_str_equal(connection->place, name))
			continue;
		connection->cut = true;
		connection->in.ended = connection->in.closed = true;
		connection->out.ended = connection->out.closed = true;
		g_byte_array_set_size(connection->in.bytes, 0);
		g_byte_array_set_size(connection->out.bytes, 0);
		count++;
	}
	return count;
}

/* Life and death. */

void virtual_transport_die(struct virtual_platform *virtual, bool silent)
{
	struct virtual_world *world = virtual->world;

	for (const GList *at = world->connections.head; at; at = at->next) {
		struct connection *connection = at->data;

		if (connection->client_of == virtual && connection->client) {
			if (!silent)
				close_client(connection);
			connection->silent[0] = connection->out.closed = true;
		}
		if (connection->server_of == virtual && connection->server) {
			if (!silent)
				close_server(connection);
			connection->silent[1] = connection->in.closed = true;
		}
	}
	for (GList *at = world->places.head, *next; at; at = next) {
		struct transport_place *place = at->data;

		next = at->next;
		if (place->virtual != virtual)
			continue;
		place->gone = true;
		g_queue_delete_link(&world->places, at);
	}
}

/* Peers of a machine that had no power hear from it at last. */
void virtual_transport_forget(struct virtual_platform *virtual)
{
	for (const GList *at = virtual->world->connections.head; at; at = at->next) {
		struct connection *connection = at->data;

		if (connection->client_of == virtual) {
			connection->silent[0] = false;
			close_client(connection);
			connection->silent[0] = true;
			connection->client_of = NULL;
		}
		if (connection->server_of == virtual) {
			connection->silent[1] = false;
			close_server(connection);
			connection->silent[1] = true;
			connection->server_of = NULL;
		}
	}
}

/* Requests. */

struct transport_client {
	const struct platform *platform;
};

struct transport_exchange {
	struct virtual_platform *virtual;
	char *request;                 /* "GET /v1/status" */
	struct connection *connection; /* NULL: its platform is dead */
	GSource *source;               /* waits for the answer */
	guint timer;                   /* of its time limit, or of its failure */
	size_t largest;
	transport_answered_f answered;
	void *data;
};

/* An answer, and its head. */
struct answer {
	struct transport_answer base; /* first: callbacks cast back */
	char **lines;
};

static struct transport_client *join(const struct platform *platform, GMainContext *context)
{
	struct transport_client *client = g_new0(struct transport_client, 1);

	client->platform = platform;
	return client;
}

static void leave(struct transport_client *client)
{
	g_free(client);
}

/* It waits for nothing any more. */
static void stop_waiting(struct transport_exchange *exchange)
{
	g_clear_handle_id(&exchange->timer, g_source_remove);
	if (exchange->source)
		g_source_destroy(exchange->source);
	g_clear_pointer(&exchange->source, g_source_unref);
}

static void cancel(struct transport_exchange *exchange)
{
	struct connection *connection = exchange->connection;

	stop_waiting(exchange);
	if (connection) {
		close_client(connection);
		end_gone(connection, &connection->client);
	}
	g_free(exchange->request);
	g_free(exchange);
}

/* What is sent has left at once. */
static bool is_sent(const struct transport_exchange *exchange)
{
	return exchange->connection != NULL;
}

/* All programs are in the one main loop: without it, nothing ends. */
static void settle(struct transport_client *client, double timeout_s, bool (*go_on)(void *data),
		   void *data)
{
	go_on(data);
}

/* What ends is delivered in the same turn of the main loop. */
static bool has_ended(const struct transport_exchange *exchange)
{
	return false;
}

static void deliver(struct transport_exchange *exchange)
{
	g_assert_not_reached();
}

static const char *header(const struct transport_answer *base, const char *name)
{
	const size_t length = strlen(name);

	for (char **line = ((const struct answer *)base)->lines; line && *line; line++)
		if (g_ascii_strncasecmp(*line, name, length) == 0 && (*line)[length] == ':')
			return g_strchug(*line + length + 1);
	return NULL;
}

static void trace(const struct transport_exchange *exchange, int status)
{
	const struct virtual_world *world = exchange->virtual->world;

	if (exchange->connection && !exchange->virtual->dead && world->rules && world->rules->trace)
		world->rules->trace(exchange->virtual, exchange->connection->place,
				    exchange->request, status, world->rules_data);
}

static void end(struct transport_exchange *exchange, struct answer *answer)
{
	trace(exchange, answer->base.status ?: -1);
	answer->base.content_type = header(&answer->base, "Content-Type");
	stop_waiting(exchange); /* the callback may iterate the main loop */
	exchange->answered(&answer->base, exchange->data);
	cancel(exchange);
}

static void fail(struct transport_exchange *exchange, const char *reason)
{
	g_autoptr(GString) body = g_string_new(NULL);
	struct answer answer = {
		.base = {.result = TRANSPORT_FAILED, .reason = reason, .body = body}};

	end(exchange, &answer);
}

static gboolean on_late(gpointer data)
{
	struct transport_exchange *exchange = data;

	exchange->timer = 0;
	fail(exchange, "no answer in time");
	return G_SOURCE_REMOVE;
}

/* The answer, once all of it is there, up to the end of the stream where it gives no length. */
static gboolean on_output(gpointer data)
{
	struct transport_exchange *exchange = data;
	const struct lane *lane = &exchange->connection->out;
	const bool ended = lane->closed;
	g_autofree char *text =
		lane->bytes->len ? g_strndup((const char *)lane->bytes->data, lane->bytes->len)
				 : g_strdup("");
	const char *head_end = strstr(text, "\r\n\r\n");
	const gsize head = head_end ? (gsize)(head_end - text) + 4 : 0;
	g_autofree char *head_text = g_strndup(text, head);
	g_auto(GStrv) lines = g_strsplit(head_text, "\r\n", -1);
	g_autoptr(GString) body =
		g_string_new_len(head ? (const char *)lane->bytes->data + head : "",
				 head ? (gssize)(lane->bytes->len - head) : 0);
	struct answer answer = {.base = {.body = body}, .lines = lines};
	const char *length = head ? header(&answer.base, "Content-Length") : NULL;

	exchange->connection->out.want = lane->bytes->len + 1;
	if (!ended && (!length || body->len < strtoul(length, NULL, 10)))
		return G_SOURCE_CONTINUE;
	if (!head || (length && body->len < strtoul(length, NULL, 10))) {
		fail(exchange, exchange->connection->refused ? "there is no listener"
							     : "the connection was cut");
		return G_SOURCE_REMOVE;
	}
	answer.base.status = (int)strtol(text + strlen("HTTP/1.1 "), NULL, 10);
	if (body->len > exchange->largest) {
		answer.base.result = TRANSPORT_TOO_LARGE;
		answer.base.reason = "too large";
	}
	end(exchange, &answer);
	return G_SOURCE_REMOVE;
}

static char *write_request(const struct transport_request *request)
{
	const char *host = strstr(request->url, "://") + 3;
	const size_t host_length = strcspn(host, "/");
	GString *text = g_string_new(NULL);

	g_string_printf(text, "%s %s HTTP/1.1\r\nHost: %.*s\r\n", request->method,
			host[host_length] ? host + host_length : "/", (int)host_length, host);
	for (const char *const *line = request->headers; *line; line++)
		g_string_append_printf(text, "%s\r\n", *line);
	if (request->body)
		g_string_append_printf(text, "Content-Length: %zu\r\n", strlen(request->body));
	g_string_append_printf(text, "\r\n%s", request->body ?: "");
	return g_string_free(text, FALSE);
}

/* The answer of something on the way to the server. */
static void answer_instead(struct connection *connection)
{
	static const char body[] = "{\"error\": \"something on the way has failed\"}";
	g_autofree char *text = g_strdup_printf("HTTP/1.1 %d \r\nContent-Type: application/json\r\n"
						"Content-Length: %zu\r\n\r\n%s",
						connection->fate.status, strlen(body), body);

	send_bytes(connection, &connection->out, text, strlen(text));
}

static struct connection *connect_to(struct virtual_platform *virtual, const char *name,
				     const char *request)
{
	struct virtual_world *world = virtual->world;
	struct connection *connection = g_new0(struct connection, 1);

	connection->world = world;
	connection->client_of = virtual;
	connection->place = g_strdup(name);
	connection->in.bytes = g_byte_array_new();
	connection->out.bytes = g_byte_array_new();
	connection->number = world->next_port++;
	connection->client = true;
	connection->references = 1;
	connection->link.data = connection;
	g_queue_push_tail_link(&world->connections, &connection->link);
	if (world->rules && world->rules->fate)
		world->rules->fate(virtual, name, request, &connection->fate, world->rules_data);
	if (connection->fate.status) {
		connection->fate.request_ms = VIRTUAL_HELD;
		answer_instead(connection);
	}
	send_piece(connection, &connection->in, PIECE_CONNECT, NULL, 0);
	return connection;
}

static struct transport_exchange *send_request(struct transport_client *client,
					       const struct transport_request *request,
					       transport_answered_f answered, void *data)
{
	struct virtual_platform *virtual = virtual_of(client->platform);
	struct transport_exchange *exchange = g_new0(struct transport_exchange, 1);
	const char *host = strstr(request->url, "://") + 3;
	g_autofree char *name = request->socket_path
					? g_strconcat("unix:", request->socket_path, NULL)
					: g_strndup(host, strcspn(host, "/"));
	g_autofree char *text = write_request(request);

	exchange->virtual = virtual;
	exchange->request = g_strconcat(request->method, " ", strchr(host, '/') ?: "/", NULL);
	exchange->largest = request->largest;
	exchange->answered = answered;
	exchange->data = data;
	exchange->timer =
		platform_after_ms(client->platform, (guint)MAX(request->timeout_s * 1e3, 1),
				  on_late, exchange);
	if (virtual->dead)
		return exchange;
	exchange->connection = connect_to(virtual, name, exchange->request);
	trace(exchange, 0);
	send_bytes(exchange->connection, &exchange->connection->in, text, strlen(text));
	exchange->source = watch_new(exchange->connection, has_output);
	g_source_set_callback(exchange->source, on_output, exchange, NULL);
	g_source_attach(exchange->source, NULL);
	return exchange;
}

const struct platform_transport virtual_transport = {
	.listen = listen_at,
	.bound = bound,
	.share = share,
	.incoming = incoming,
	.accept = accept_next,
	.close = close_place,
	.remote = remote_address,
	.local = local_address,
	.peer_uid = peer_uid,
	.want = want,
	.peek = peek,
	.hangup = hangup,
	.shutdown = shut_down,
	.join = join,
	.leave = leave,
	.send = send_request,
	.cancel = cancel,
	.is_sent = is_sent,
	.settle = settle,
	.has_ended = has_ended,
	.deliver = deliver,
	.header = header,
};
