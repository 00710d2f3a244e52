/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/launch/pmi_server.h"

#include <string.h>

#include "common/error_fail.h"
#include "common/read_number.h"

#define KVS_NAME "virtbed"
#define MAPPING_KEY "PMI_process_mapping"

struct rank {
	GString *input; /* an incomplete line */
	GString *output;
	bool in_barrier;
	bool finalized;
	bool exited;
	int status;
};

struct pmi_server {
	uint32_t ranks_count;
	struct rank *ranks;
	GHashTable *keys;    /* key -> value, both owned */
	bool met;            /* all ranks have met in a barrier */
	int64_t done, total; /* steps; total 0: none were reported */
	bool failed;
};

G_DEFINE_QUARK(virtbed_pmi, pmi_error)

typedef bool (*command_f)(struct pmi_server *server, uint32_t rank, char **words, GError **error);

struct pmi_server *pmi_server_new(uint32_t ranks, uint32_t nodes, uint32_t ranks_per_node)
{
	struct pmi_server *server = g_new0(struct pmi_server, 1);

	g_assert(ranks > 0 && ranks <= PMI_RANKS_MAX);
	server->ranks_count = ranks;
	server->ranks = g_new0(struct rank, ranks);
	for (uint32_t i = 0; i < ranks; i++) {
		server->ranks[i].input = g_string_new(NULL);
		server->ranks[i].output = g_string_new(NULL);
	}
	server->keys = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	g_hash_table_insert(server->keys, g_strdup(MAPPING_KEY),
			    g_strdup_printf("(vector,(0,%u,%u))", nodes, ranks_per_node));
	return server;
}

void pmi_server_free(struct pmi_server *server)
{
	if (!server)
		return;
	for (uint32_t i = 0; i < server->ranks_count; i++) {
		g_string_free(server->ranks[i].input, TRUE);
		g_string_free(server->ranks[i].output, TRUE);
	}
	g_free(server->ranks);
	g_hash_table_destroy(server->keys);
	g_free(server);
}

static bool protocol_error(GError **error, uint32_t rank, const char *what, const char *line)
{
	g_autofree char *shown = g_strndup(line, 60);
	g_autofree char *escaped = g_strescape(shown, NULL);

	return error_fail(error, PMI_ERROR, PMI_ERROR_PROTOCOL, "rank %u: PMI: %s: '%s'", rank,
			  what, escaped);
}

/* The value of `key` among the words `key=value`, or NULL. */
static const char *word(char **words, const char *key)
{
	size_t length = strlen(key);

	for (; *words; words++)
		if (strncmp(*words, key, length) == 0 && (*words)[length] == '=')
			return *words + length + 1;
	return NULL;
}

static void G_GNUC_PRINTF(3, 4)
	answer(struct pmi_server *server, uint32_t rank, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	g_string_append_vprintf(server->ranks[rank].output, format, arguments);
	va_end(arguments);
	g_string_append_c(server->ranks[rank].output, '\n');
}

static bool serve_init(struct pmi_server *server, uint32_t rank, char **words, GError **error)
{
	if (g_strcmp0(word(words, "pmi_version"), "1") != 0)
		return protocol_error(error, rank, "not version 1 in", "init");
	answer(server, rank, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0");
	return true;
}

static bool serve_get_maxes(struct pmi_server *server, uint32_t rank, char **words, GError **error)
{
	answer(server, rank, "cmd=maxes kvsname_max=64 keylen_max=%d vallen_max=%d", PMI_KEY_MAX,
	       PMI_VALUE_MAX);
	return true;
}

static bool serve_get_appnum(struct pmi_server *server, uint32_t rank, char **words, GError **error)
{
	answer(server, rank, "cmd=appnum appnum=0");
	return true;
}

static bool serve_get_my_kvsname(struct pmi_server *server, uint32_t rank, char **words,
				 GError **error)
{
	answer(server, rank, "cmd=my_kvsname kvsname=" KVS_NAME);
	return true;
}

static bool serve_get_universe_size(struct pmi_server *server, uint32_t rank, char **words,
				    GError **error)
{
	answer(server, rank, "cmd=universe_size size=%u", server->ranks_count);
	return true;
}

/* The key of a get or put, checked; NULL with `error`. */
static const char *checked_key(uint32_t rank, char **words, GError **error)
{
	const char *kvs = word(words, "kvsname");
	const char *key = word(words, "key");

	if (g_strcmp0(kvs, KVS_NAME) != 0 || !key || !*key || strlen(key) > PMI_KEY_MAX) {
		protocol_error(error, rank, "no kvsname or key, or a wrong one, in", words[0]);
		return NULL;
	}
	return key;
}

static bool serve_put(struct pmi_server *server, uint32_t rank, char **words, GError **error)
{
	const char *key = checked_key(rank, words, error);
	const char *value = word(words, "value");

	if (!key)
		return false;
	if (!value || strlen(value) > PMI_VALUE_MAX)
		return protocol_error(error, rank, "no value, or one too long, for key", key);
	if (g_hash_table_size(server->keys) > server->ranks_count * PMI_KEYS_PER_RANK_MAX)
		return protocol_error(error, rank, "too many keys at", key);
	if (g_hash_table_contains(server->keys, key)) {
		answer(server, rank, "cmd=put_result rc=-1 msg=duplicate_key");
		return true;
	}
	g_hash_table_insert(server->keys, g_strdup(key), g_strdup(value));
	answer(server, rank, "cmd=put_result rc=0 msg=success");
	return true;
}

static bool serve_get(struct pmi_server *server, uint32_t rank, char **words, GError **error)
{
	const char *key = checked_key(rank, words, error);
	const char *value;

	if (!key)
		return false;
	value = g_hash_table_lookup(server->keys, key);
	if (value)
		answer(server, rank, "cmd=get_result rc=0 msg=success value=%s", value);
	else
		answer(server, rank, "cmd=get_result rc=-1 msg=key_not_found value=unknown");
	return true;
}

static bool barrier_complete(const struct pmi_server *server)
{
	for (uint32_t i = 0; i < server->ranks_count; i++)
		if (!server->ranks[i].in_barrier)
			return false;
	return true;
}

static bool serve_barrier_in(struct pmi_server *server, uint32_t rank, char **words, GError **error)
{
	struct rank *self = &server->ranks[rank];

	if (self->in_barrier)
		return protocol_error(error, rank, "second barrier before the first ended",
				      words[0]);
	self->in_barrier = true;
	if (!barrier_complete(server))
		return true;
	server->met = true;
	for (uint32_t i = 0; i < server->ranks_count; i++) {
		server->ranks[i].in_barrier = false;
		answer(server, i, "cmd=barrier_out rc=0");
	}
	return true;
}

static bool serve_finalize(struct pmi_server *server, uint32_t rank, char **words, GError **error)
{
	server->ranks[rank].finalized = true;
	answer(server, rank, "cmd=finalize_ack rc=0");
	return true;
}

static bool serve_abort(struct pmi_server *server, uint32_t rank, char **words, GError **error)
{
	const char *code = word(words, "exitcode");

	return error_fail(error, PMI_ERROR, PMI_ERROR_ABORT,
			  "rank %u aborted the job (exit code %.12s)", rank,
			  code ? code : "unknown");
}

/* A whole number in [0, PMI_STEPS_MAX]. */
static bool steps_of(char **words, const char *key, int64_t *ret_steps)
{
	const char *text = word(words, key);
	guint64 steps;

	if (!text || !read_number_unsigned(text, 0, PMI_STEPS_MAX, &steps))
		return false;
	*ret_steps = (int64_t)steps;
	return true;
}

static bool serve_progress(struct pmi_server *server, uint32_t rank, char **words, GError **error)
{
	int64_t done;
	int64_t total;

	if (rank != 0)
		return protocol_error(error, rank, "not for this rank to say", words[0]);
	if (!steps_of(words, "done", &done) || !steps_of(words, "total", &total) || total == 0 ||
	    done > total)
		return protocol_error(error, rank, "no steps in", words[0]);
	if (server->total != 0 && (total != server->total || done < server->done))
		return protocol_error(error, rank, "steps that run backwards in", words[0]);
	server->done = done;
	server->total = total;
	return true;
}

static bool serve_exit(struct pmi_server *server, uint32_t rank, char **words, GError **error)
{
	const char *text = word(words, "status");
	guint64 status;

	if (!text || !read_number_unsigned(text, 0, 255, &status))
		return protocol_error(error, rank, "no exit status in", words[0]);
	server->ranks[rank].exited = true;
	server->ranks[rank].status = (int)status;
	return true;
}

static const struct {
	const char *name;
	command_f run;
} commands[] = {
	{"init", serve_init},
	{"get_maxes", serve_get_maxes},
	{"get_appnum", serve_get_appnum},
	{"get_my_kvsname", serve_get_my_kvsname},
	{"get_universe_size", serve_get_universe_size},
	{"put", serve_put},
	{"get", serve_get},
	{"barrier_in", serve_barrier_in},
	{"finalize", serve_finalize},
	{"abort", serve_abort},
	{"progress", serve_progress},
	{"virtbed_exit", serve_exit},
};

/* One message without its newline. */
static bool serve_line(struct pmi_server *server, uint32_t rank, const char *line, GError **error)
{
	g_auto(GStrv) words = g_strsplit(line, " ", -1);
	const char *name = word(words, "cmd");

	if (server->ranks[rank].exited)
		return protocol_error(error, rank, "message after its exit", line);
	if (!name)
		return protocol_error(error, rank, "message without cmd", line);
	for (size_t i = 0; i < G_N_ELEMENTS(commands); i++)
		if (g_str_equal(name, commands[i].name))
			return commands[i].run(server, rank, words, error);
	return protocol_error(error, rank, "unknown command in", line);
}

/* Serves the complete lines of `input` and leaves the rest in it. */
static bool serve_lines(struct pmi_server *server, uint32_t rank, GString *input, GError **error)
{
	gsize done = 0;
	bool good = true;
	char *end;

	while (good && (end = memchr(input->str + done, '\n', input->len - done))) {
		const char *line = input->str + done;

		*end = '\0';
		if (strlen(line) != (size_t)(end - line) || end - line >= PMI_LINE_MAX)
			good = protocol_error(error, rank, "NUL byte in, or too long", line);
		else
			good = serve_line(server, rank, line, error);
		done = (gsize)(end - input->str) + 1;
	}
	g_string_erase(input, 0, (gssize)done);
	if (good && input->len >= PMI_LINE_MAX)
		return protocol_error(error, rank, "message without end", input->str);
	return good;
}

/* After a failure: finds the exit line among the other messages. */
static void watch_for_exit(struct pmi_server *server, uint32_t rank, GString *input)
{
	char *end;

	while ((end = memchr(input->str, '\n', input->len))) {
		g_autofree char *line = g_strndup(input->str, (gsize)(end - input->str));

		g_string_erase(input, 0, end - input->str + 1);
		if (g_str_has_prefix(line, "cmd=virtbed_exit "))
			serve_line(server, rank, line, NULL);
	}
	if (input->len >= PMI_LINE_MAX)
		g_string_truncate(input, 0);
}

bool pmi_server_input(struct pmi_server *server, uint32_t rank, const char *bytes, size_t length,
		      GError **error)
{
	GString *input;

	g_assert(rank < server->ranks_count);
	input = server->ranks[rank].input;
	g_string_append_len(input, bytes, (gssize)length);
	if (!server->failed) {
		if (serve_lines(server, rank, input, error))
			return true;
		server->failed = true;
		watch_for_exit(server, rank, input);
		return false;
	}
	watch_for_exit(server, rank, input);
	return true;
}

char *pmi_server_take_output(struct pmi_server *server, uint32_t rank, size_t *ret_length)
{
	GString *output = server->ranks[rank].output;
	char *text;

	if (output->len == 0)
		return NULL;
	*ret_length = output->len;
	text = g_string_free(output, FALSE);
	server->ranks[rank].output = g_string_new(NULL);
	return text;
}

bool pmi_server_exited(const struct pmi_server *server, uint32_t rank, int *ret_status)
{
	if (!server->ranks[rank].exited)
		return false;
	*ret_status = server->ranks[rank].status;
	return true;
}

bool pmi_server_is_calm(const struct pmi_server *server)
{
	for (uint32_t i = 0; i < server->ranks_count; i++)
		if (server->ranks[i].in_barrier)
			return false;
	return server->met || server->ranks_count == 1;
}

void pmi_server_torn(struct pmi_server *server, uint32_t rank)
{
	g_string_truncate(server->ranks[rank].input, 0);
}

bool pmi_server_progress(const struct pmi_server *server, int64_t *ret_done, int64_t *ret_total)
{
	*ret_done = server->done;
	*ret_total = server->total;
	return server->total != 0;
}

bool pmi_server_finalized(const struct pmi_server *server, uint32_t rank)
{
	return server->ranks[rank].finalized;
}
