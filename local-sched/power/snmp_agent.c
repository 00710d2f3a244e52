/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/snmp_agent.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error_fail.h"
#include "common/read_number.h"
#include "common/subprocess.h"

#define CONFIG_FILE "snmp.conf"
/* The directories of a process are PREFIX PID "-XXXXXX". */
#define PREFIX "virtbed-snmp-"
enum {
	SUFFIX_LENGTH = 6,
	KEY_BYTES = 1 << 20, /* of a password's repetition, whose digest is its key */
};

#define OPEN_DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

enum {
	/* After a request, for those of other meters that are read at the same interval. */
	GATHER_MS = 20,
	/* Of one run: an answer has to fit into one packet. */
	OBJECTS_MAX = 24,
	RETRIES_MAX = 2,
};

/* How long what an agent does not answer together is asked for apart. */
#define APART_NS (600 * INT64_C(1000000000))

/* Of timeout_s: how long snmpget waits for an answer before it asks again. */
#define ONE_TRY 0.3

/* What a meter asks for. */
struct request {
	char **objects;
	int64_t deadline_ns;
	program_run_done_f done; /* NULL: it was dropped */
	void *data;
	bool failed; /* in a run of several */
	bool alone;  /* it is asked by itself next */
};

struct snmp_agent {
	const struct platform *platform;
	struct config_meter config; /* copies of what is needed of it */
	char *key;                  /* what meters that share it have in common */
	/*
	 * snmpget reads `directory`/snmp.conf, which is a link to /proc/self/fd/`fd`, a file in
	 * memory that it inherits: what a process leaves when it is killed has no password.
	 */
	char *directory;  /* or NULL */
	int directory_fd; /* has it locked */
	int fd;
	char *written;  /* contents of that file, or NULL */
	char *password; /* of SNMP v3, of which `password_key` is; or NULL */
	char *password_key;
	struct program_run *run; /* or NULL */
	GQueue waiting;          /* struct request */
	GQueue asked;            /* those of the run */
	int64_t began_ns;        /* of the run */
	/* What is known of runs of several requests. */
	guint answered; /* the most objects that it has answered at once lately */
	guint most;     /* the most that it is asked for */
	int64_t most_until_ns;
	guint doubtful;  /* of a run that failed, for no reason known yet; 0: none */
	bool was_once;   /* it failed once, and the agent may just have been silent */
	bool next_alone; /* the next request is asked by itself */
	guint silences;
	GHashTable *apart; /* request's `data` -> until when it is asked by itself (int64_t) */
	guint start_id;
};

struct snmp_agents {
	const struct platform *platform;
	GPtrArray *list; /* struct snmp_agent */
};

/* Whether a value may stand between quotes in snmp.conf(5), in which it must not contain any. */
static bool quotable(const char *text)
{
	for (; *text; text++)
		if (!g_ascii_isprint(*text) || *text == '"' || *text == '\\')
			return false;
	return true;
}

/*
 * The key of a password in hexadecimal, by SHA-1 over a mebibyte of its repetition (RFC 3414, section
 * A.2.2). That is half of what snmpget would do at each reading.
 */
static char *derive_key(const char *password)
{
	const gsize length = strlen(password);
	g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA1);

	for (gsize left = KEY_BYTES; left > 0; left -= MIN(length, left))
		g_checksum_update(checksum, (const guchar *)password, (gssize)MIN(length, left));
	return g_strdup(g_checksum_get_string(checksum));
}

/* The configuration file for snmpget, with the current password. */
static char *configuration(struct snmp_agent *agent, GError **error)
{
	const struct config_meter *config = &agent->config;
	g_autofree char *password = power_meter_password(config, error);

	if (!password)
		return NULL;
	if (!*password || !quotable(password) || (config->user && !quotable(config->user)))
		return error_null(error, POWER_METER_ERROR, POWER_METER_ERROR_SETUP,
				  "user and password need printable characters without quotes and "
				  "backslashes");
	if (config->snmp != CONFIG_METER_SNMP_V3)
		return g_strdup_printf("defVersion %s\ndefCommunity \"%s\"\n",
				       config->snmp == CONFIG_METER_SNMP_V1 ? "1" : "2c", password);
	if (g_strcmp0(password, agent->password) != 0) {
		g_free(agent->password);
		g_free(agent->password_key);
		agent->password_key = derive_key(password);
		agent->password = g_steal_pointer(&password);
	}
	return g_strdup_printf("defVersion 3\n"
			       "defSecurityName \"%s\"\n"
			       "defSecurityLevel authPriv\n"
			       "defAuthType SHA\n"
			       "defPrivType %s\n"
			       "defAuthMasterKey 0x%s\n"
			       "defPrivMasterKey 0x%s\n",
			       config->user, config->privacy == CONFIG_METER_AES ? "AES" : "DES",
			       agent->password_key, agent->password_key);
}

/* Removes what is in the directory `fd`, which is closed, but nothing that a link leads to. */
static void remove_contents(int fd)
{
	DIR *dir = fdopendir(fd);
	const struct dirent *entry;

	if (!dir) {
		close(fd);
		return;
	}
	while ((entry = readdir(dir))) {
		const char *name = entry->d_name;
		int inner;

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || unlinkat(fd, name, 0) == 0)
			continue;
		inner = openat(fd, name, OPEN_DIRECTORY);
		if (inner >= 0)
			remove_contents(inner);
		unlinkat(fd, name, AT_REMOVEDIR);
	}
	closedir(dir);
}

/* Whether the name is one of ours, of a process that does not live, as far as can be seen. */
static bool is_left(const char *name)
{
	const char *end;
	uint64_t pid;

	if (!g_str_has_prefix(name, PREFIX))
		return false;
	end = read_number_front_unsigned(name + strlen(PREFIX), &pid);
	return end && *end == '-' && strlen(end + 1) == SUFFIX_LENGTH && pid > 0 &&
	       pid <= G_MAXINT && kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

/*
 * Removes what killed processes have left. A process of another container may not be seen to live:
 * each locks its directory.
 */
static void sweep(void)
{
	g_autoptr(GDir) dir = g_dir_open(g_get_tmp_dir(), 0, NULL);
	const char *name;

	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *path = g_build_filename(g_get_tmp_dir(), name, NULL);
		const int fd = is_left(name) ? open(path, OPEN_DIRECTORY) : -1;
		struct stat status;

		if (fd < 0)
			continue;
		if (fstat(fd, &status) < 0 || status.st_uid != geteuid() ||
		    flock(fd, LOCK_EX | LOCK_NB) < 0) {
			close(fd);
			continue;
		}
		remove_contents(fd);
		g_rmdir(path);
	}
}

static void clear_directory(struct snmp_agent *agent)
{
	if (agent->directory_fd >= 0)
		remove_contents(agent->directory_fd);
	agent->directory_fd = -1;
	if (agent->directory)
		g_rmdir(agent->directory);
	g_clear_pointer(&agent->directory, g_free);
}

/* Makes the directory with the link to the file in memory. */
static bool make_directory(struct snmp_agent *agent, GError **error)
{
	g_autofree char *template = g_strdup_printf(PREFIX "%d-XXXXXX", getpid());
	g_autofree char *target = g_strdup_printf("/proc/self/fd/%d", agent->fd);
	g_autofree char *link = NULL;

	clear_directory(agent);
	agent->directory = g_dir_make_tmp(template, error);
	if (!agent->directory)
		return false;
	agent->directory_fd = open(agent->directory, OPEN_DIRECTORY);
	flock(agent->directory_fd, LOCK_EX | LOCK_NB);
	link = g_build_filename(agent->directory, CONFIG_FILE, NULL);
	if (symlink(target, link) == 0)
		return true;
	g_set_error(error, POWER_METER_ERROR, POWER_METER_ERROR_SETUP,
		    "cannot make the link \"%s\": %s", link, g_strerror(errno));
	clear_directory(agent);
	return false;
}

/* Whether the directory is there, with its link. Something may tidy those for temporary files. */
static bool has_directory(const struct snmp_agent *agent)
{
	g_autofree char *link =
		agent->directory ? g_build_filename(agent->directory, CONFIG_FILE, NULL) : NULL;

	return link && g_file_test(link, G_FILE_TEST_IS_SYMLINK);
}

/* Writes the file in memory, with the current password. */
static bool write_configuration(struct snmp_agent *agent, GError **error)
{
	g_autofree char *text = configuration(agent, error);

	if (!text)
		return false;
	if (agent->fd < 0)
		agent->fd = memfd_create("virtbed-snmp", MFD_CLOEXEC);
	if (g_strcmp0(text, agent->written) != 0) {
		g_clear_pointer(&agent->written, g_free);
		if (ftruncate(agent->fd, 0) < 0 ||
		    pwrite(agent->fd, text, strlen(text), 0) != (ssize_t)strlen(text)) {
			g_set_error(error, POWER_METER_ERROR, POWER_METER_ERROR_SETUP,
				    "cannot write the configuration of snmpget: %s",
				    g_strerror(errno));
			return false;
		}
		agent->written = g_steal_pointer(&text);
	}
	return has_directory(agent) || make_directory(agent, error);
}

static void request_free(gpointer data)
{
	g_strfreev(((struct request *)data)->objects);
	g_free(data);
}

static void end_request(struct request *request, const char *output, const char *complaint,
			const GError *error)
{
	if (request->done)
		request->done(output, complaint, error, request->data);
	request_free(request);
}

/* Ends the requests of a run alike. They may ask again. */
static void end_all(struct snmp_agent *agent, const char *output, const char *complaint,
		    const GError *error)
{
	struct request *request;

	while ((request = g_queue_pop_head(&agent->asked)))
		end_request(request, output, complaint, error);
}

static guint count_objects(const GQueue *requests)
{
	guint count = 0;

	for (const GList *link = requests->head; link; link = link->next)
		count += g_strv_length(((const struct request *)link->data)->objects);
	return count;
}

/* Gives each request its lines. */
static void end_each(struct snmp_agent *agent, char *const *lines, const char *complaint)
{
	struct request *request;

	while ((request = g_queue_pop_head(&agent->asked))) {
		g_autoptr(GString) output = g_string_new(NULL);

		for (gsize i = 0; request->objects[i]; i++)
			g_string_append_printf(output, "%s\n", *lines++);
		end_request(request, output->str, complaint, NULL);
	}
}

static void start(struct snmp_agent *agent);

static gboolean on_start(gpointer data)
{
	struct snmp_agent *agent = data;

	agent->start_id = 0;
	start(agent);
	return G_SOURCE_REMOVE;
}

static void start_soon(struct snmp_agent *agent, guint after_ms)
{
	if (!agent->run && agent->start_id == 0 && !g_queue_is_empty(&agent->waiting))
		agent->start_id = platform_after_ms(agent->platform, after_ms, on_start, agent);
}

/* How long a try of snmpget's takes; its answer would be lost later. */
static double try_s(const struct snmp_agent *agent)
{
	const double timeout_s =
		agent->config.timeout_s > 0 ? agent->config.timeout_s : POWER_METER_DEADLINE_S;

	return MAX(timeout_s * ONE_TRY, MIN(1, 0.9 * timeout_s));
}

/* Whether a run failed since no answer came. */
static bool is_silence(const struct snmp_agent *agent, const char *complaint, const GError *error)
{
	const int64_t now_ns = platform_now_ns(agent->platform);

	if (g_error_matches(error, SUBPROCESS_ERROR, SUBPROCESS_ERROR_TIMEOUT))
		return clock_elapsed_s(agent->began_ns, now_ns) >= try_s(agent);
	return error && strstr(complaint, "Timeout");
}

/*
 * Whether a failure may be that of one object among several: SNMP v1 refuses all for it, or a text
 * has several lines.
 */
static bool may_be_of_one(const char *complaint, const GError *error)
{
	return !error || strstr(complaint, "Error in packet");
}

/*
 * Puts the requests of a run back that have at least `least_s` left, and frees dropped ones.
 * `alone`: so many are asked by themselves first. Returns how many were put back.
 */
static guint put_back(struct snmp_agent *agent, double least_s, guint alone)
{
	const int64_t now_ns = platform_now_ns(agent->platform);
	guint count = 0;

	for (GList *link = agent->asked.tail, *previous; link; link = previous) {
		struct request *request = link->data;

		previous = link->prev;
		if (!request->done) {
			g_queue_delete_link(&agent->asked, link);
			request_free(request);
		} else if (clock_elapsed_s(now_ns, request->deadline_ns) > least_s) {
			g_queue_delete_link(&agent->asked, link);
			g_queue_push_head(&agent->waiting, request);
			request->failed = true;
			count++;
		}
	}
	for (GList *link = agent->waiting.head; link && alone > 0 && count > 0;
	     link = link->next, alone--)
		((struct request *)link->data)->alone = true;
	return count;
}

/* Ends the requests that have waited for the answer to one of them. */
static void end_failed(struct snmp_agent *agent, const char *complaint, const GError *error)
{
	for (GList *link = agent->waiting.head; link;) {
		struct request *request = link->data;

		link = link->next;
		if (!request->failed)
			continue;
		g_queue_remove(&agent->waiting, request);
		end_request(request, "", complaint, error);
		link = agent->waiting.head; /* it may have asked again, or dropped others */
	}
}

/* Learns from the end of a run of one request. */
static void learn_of_one(struct snmp_agent *agent, const struct request *request, gsize lines,
			 const GError *error)
{
	int64_t *until_ns;

	if (!error && lines == g_strv_length(request->objects))
		return;
	agent->doubtful = 0; /* it is this one */
	if (!request->done)
		return;
	until_ns = g_new(int64_t, 1);
	*until_ns = platform_now_ns(agent->platform) + APART_NS;
	g_hash_table_replace(agent->apart, request->data, until_ns);
}

static void end_one(struct snmp_agent *agent, gsize lines, const char *output,
		    const char *complaint, const GError *error)
{
	const struct request *request = g_queue_peek_head(&agent->asked);
	const bool was_alone = request->alone;
	const bool is_silent = is_silence(agent, complaint, error);

	if (is_silent)
		agent->was_once = false;
	if (was_alone &&
	    (is_silent || g_error_matches(error, SUBPROCESS_ERROR, SUBPROCESS_ERROR_TIMEOUT)))
		agent->doubtful = 0; /* nothing is known of what went together */
	else if (was_alone)
		learn_of_one(agent, request, lines, error);
	end_all(agent, output, complaint, error);
	if (was_alone && is_silent)
		end_failed(agent, complaint, error);
}

/*
 * Ends a run of several requests. Some agents drop what is too big for them, without a word: after
 * silence one request is asked by itself, and where that is answered fewer go together.
 */
static void end_several(struct snmp_agent *agent, char *const *lines, const char *output,
			const char *complaint, const GError *error)
{
	const guint count = count_objects(&agent->asked);
	const guint requests = g_queue_get_length(&agent->asked);

	if (!error && g_strv_length((char **)lines) == count) {
		agent->answered = MAX(agent->answered, count);
		agent->doubtful = 0;
		agent->was_once = false;
		end_each(agent, lines, complaint);
		return;
	}
	if (is_silence(agent, complaint, error)) {
		agent->answered = 0;
		agent->doubtful = count;
		/* The same is not asked each time: it may be what is never answered. */
		for (guint i = agent->silences++ % requests; i > 0; i--)
			g_queue_push_tail(&agent->asked, g_queue_pop_head(&agent->asked));
		/*
		 * Without time for it the next to be asked will be that one. The agent may answer
		 * again by then, so that as many are tried once more.
		 */
		agent->next_alone = put_back(agent, try_s(agent) / 2, 1) == 0;
		agent->was_once = agent->next_alone && !agent->was_once;
	} else if (g_error_matches(error, SUBPROCESS_ERROR, SUBPROCESS_ERROR_TIMEOUT)) {
		put_back(agent, 0, 0); /* one had little time left */
	} else if (may_be_of_one(complaint, error)) {
		agent->doubtful = count;
		agent->was_once = false;
		put_back(agent, 0, strstr(complaint, "tooBig") ? 0 : requests);
	}
	end_all(agent, output, complaint, error);
}

static void on_done(const char *output, const char *complaint, const GError *error, void *data)
{
	struct snmp_agent *agent = data;
	g_autofree char *trimmed = g_strchomp(g_strdup(output));
	g_auto(GStrv) lines = g_strsplit(trimmed, "\n", -1);

	agent->run = NULL;
	if (g_queue_get_length(&agent->asked) == 1)
		end_one(agent, g_strv_length(lines), output, complaint, error);
	else
		end_several(agent, lines, output, complaint, error);
	start_soon(agent, 0);
}

static bool is_apart(struct snmp_agent *agent, const struct request *request)
{
	const int64_t *until_ns = g_hash_table_lookup(agent->apart, request->data);

	if (until_ns && *until_ns <= platform_now_ns(agent->platform)) {
		g_hash_table_remove(agent->apart, request->data);
		until_ns = NULL;
	}
	return until_ns || request->alone;
}

/* The most objects of a run; after some minutes twice as many are tried again. */
static guint most_objects(struct snmp_agent *agent)
{
	const int64_t now_ns = platform_now_ns(agent->platform);

	if (agent->doubtful > 0 && !agent->was_once) {
		agent->most = MAX(agent->doubtful / 2, 1);
		agent->most_until_ns = now_ns + APART_NS;
		agent->doubtful = 0;
	} else if (agent->most < OBJECTS_MAX && agent->most_until_ns <= now_ns) {
		agent->most = MIN(agent->most * 2, OBJECTS_MAX);
		agent->most_until_ns = now_ns + APART_NS;
	}
	return agent->most;
}

/*
 * Takes the requests of the next run: the first, and the others that fit unless it goes apart.
 * Returns the earliest deadline.
 */
static int64_t take_requests(struct snmp_agent *agent)
{
	struct request *first = g_queue_pop_head(&agent->waiting);
	int64_t deadline_ns = first->deadline_ns;
	guint count = g_strv_length(first->objects);
	guint most;

	g_queue_push_tail(&agent->asked, first);
	first->alone |= agent->next_alone;
	agent->next_alone = false;
	if (is_apart(agent, first))
		return deadline_ns;
	most = most_objects(agent);
	for (GList *link = agent->waiting.head, *next; link; link = next) {
		struct request *request = link->data;
		const guint more = g_strv_length(request->objects);

		next = link->next;
		if (count + more > most || is_apart(agent, request))
			continue;
		count += more;
		g_queue_delete_link(&agent->waiting, link);
		g_queue_push_tail(&agent->asked, request);
		deadline_ns = MIN(deadline_ns, request->deadline_ns);
	}
	return deadline_ns;
}

/*
 * How often snmpget asks again. Of a run that may be too big for the agent not at all: time is left
 * to ask for less.
 */
static int count_retries(const struct snmp_agent *agent, int64_t deadline_ns)
{
	const double left_s = clock_elapsed_s(platform_now_ns(agent->platform), deadline_ns);

	if (agent->asked.length > 1 && count_objects(&agent->asked) > agent->answered)
		return 0;
	return (int)CLAMP(0.95 * left_s / try_s(agent) - 1, 0, RETRIES_MAX);
}

static bool run(struct snmp_agent *agent, GError **error)
{
	const struct config_meter *config = &agent->config;
	const bool six = strchr(config->address, ':') != NULL;
	const int64_t deadline_ns = take_requests(agent);
	g_autofree char *peer =
		g_strdup_printf("%s:%s%s%s:%u", six ? "udp6" : "udp", six ? "[" : "",
				config->address, six ? "]" : "", config->port);
	g_autofree char *try = g_strdup_printf("%.3f", try_s(agent));
	g_autofree char *retries = g_strdup_printf("%d", count_retries(agent, deadline_ns));
	/* No MIB files: the objects are in digits. */
	const char *const options[] = {"snmpget", "-m", "", "-t", try, "-r", retries, "-Ov", peer};
	g_autoptr(GPtrArray) argv = g_ptr_array_new();
	g_autofree char *place = NULL;
	g_autofree char *state = NULL;

	for (gsize i = 0; i < G_N_ELEMENTS(options); i++)
		g_ptr_array_add(argv, (gpointer)options[i]);
	for (const GList *link = agent->asked.head; link; link = link->next) {
		const struct request *request = link->data;

		for (gsize i = 0; request->objects[i]; i++)
			g_ptr_array_add(argv, request->objects[i]);
	}
	g_ptr_array_add(argv, NULL);
	if (!write_configuration(agent, error))
		return false;
	place = g_strconcat("SNMPCONFPATH=", agent->directory, NULL);
	state = g_strconcat("SNMP_PERSISTENT_DIR=", agent->directory, NULL);

	const char *const environment[] = {place, state, "LC_ALL=C", NULL};

	agent->began_ns = platform_now_ns(agent->platform);
	agent->run = program_run_start(agent->platform, (const char *const *)argv->pdata,
				       environment, agent->fd, deadline_ns, on_done, agent, error);
	return agent->run != NULL;
}

static void start(struct snmp_agent *agent)
{
	g_autoptr(GError) reason = NULL;
	g_autoptr(GError) error = NULL;

	if (agent->run || g_queue_is_empty(&agent->waiting) || run(agent, &reason))
		return;
	error = g_error_new_literal(SUBPROCESS_ERROR, SUBPROCESS_ERROR_START, reason->message);
	end_all(agent, "", "", error);
	start_soon(agent, 0);
}

void snmp_agent_ask(struct snmp_agent *agent, const char *const *objects, int64_t deadline_ns,
		    program_run_done_f done, void *data)
{
	struct request *request = g_new0(struct request, 1);

	*request = (struct request){.objects = g_strdupv((char **)objects),
				    .deadline_ns = deadline_ns,
				    .done = done,
				    .data = data};
	g_queue_push_tail(&agent->waiting, request);
	start_soon(agent, GATHER_MS);
}

void snmp_agent_drop(struct snmp_agent *agent, const void *data)
{
	bool wanted = false;

	g_hash_table_remove(agent->apart, data);
	for (GList *link = agent->waiting.head, *next; link; link = next) {
		next = link->next;
		if (((struct request *)link->data)->data != data)
			continue;
		request_free(link->data);
		g_queue_delete_link(&agent->waiting, link);
	}
	for (GList *link = agent->asked.head, *next; link; link = next) {
		struct request *request = link->data;

		next = link->next;
		if (request->data == data)
			request->done = NULL;
		wanted |= request->done != NULL;
	}
	if (wanted || !agent->run)
		return;
	g_clear_pointer(&agent->run, program_run_cancel);
	g_queue_clear_full(&agent->asked, request_free);
	start_soon(agent, 0);
}

static void agent_free(gpointer data)
{
	struct snmp_agent *agent = data;

	g_clear_handle_id(&agent->start_id, g_source_remove);
	program_run_cancel(agent->run);
	g_queue_clear_full(&agent->waiting, request_free);
	g_queue_clear_full(&agent->asked, request_free);
	g_hash_table_unref(agent->apart);
	clear_directory(agent);
	if (agent->fd >= 0)
		close(agent->fd);
	g_free(agent->config.address);
	g_free(agent->config.user);
	g_free(agent->config.password_file);
	g_free(agent->written);
	g_free(agent->password);
	g_free(agent->password_key);
	g_free(agent->key);
	g_free(agent);
}

bool snmp_agent_is_unresolved(const char *complaint)
{
	return strstr(complaint, "Unknown host") != NULL;
}

enum power_meter_error snmp_agent_verdict(const char *text)
{
	static const struct {
		const char *words;
		enum power_meter_error verdict;
	} complaints[] = {
		{"Timeout", POWER_METER_ERROR_NO_ANSWER},
		{"Unknown host", POWER_METER_ERROR_NO_ANSWER},
		{"sendto", POWER_METER_ERROR_NO_ANSWER},
		{"No route to host", POWER_METER_ERROR_NO_ANSWER},
		{"Network is unreachable", POWER_METER_ERROR_NO_ANSWER},
		{"Connection refused", POWER_METER_ERROR_NO_ANSWER},
		{"Unknown user name", POWER_METER_ERROR_LOGIN},
		{"Authentication failure", POWER_METER_ERROR_LOGIN},
		{"authorizationError", POWER_METER_ERROR_LOGIN},
		{"Unsupported security level", POWER_METER_ERROR_LOGIN},
		{"Decryption error", POWER_METER_ERROR_LOGIN},
		{"passphrase", POWER_METER_ERROR_LOGIN},
		{"No Such ", POWER_METER_ERROR_REJECTED},
		{"noSuchName", POWER_METER_ERROR_REJECTED},
		{"Error in packet", POWER_METER_ERROR_REJECTED},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(complaints); i++)
		if (strstr(text, complaints[i].words))
			return complaints[i].verdict;
	return POWER_METER_ERROR_GARBAGE;
}

struct snmp_agents *snmp_agents_new(const struct platform *platform)
{
	struct snmp_agents *agents = g_new0(struct snmp_agents, 1);

	agents->platform = platform;
	agents->list = g_ptr_array_new_with_free_func(agent_free);
	return agents;
}

void snmp_agents_free(struct snmp_agents *agents)
{
	if (!agents)
		return;
	g_ptr_array_unref(agents->list);
	g_free(agents);
}

struct snmp_agent *snmp_agents_find(struct snmp_agents *agents, const struct config_meter *config)
{
	g_autofree char *key =
		g_strdup_printf("%s\n%u\n%s\n%s\n%d\n%d\n%g", config->address, config->port,
				config->user ?: "", config->password_file ?: "", config->snmp,
				config->privacy, config->timeout_s);
	struct snmp_agent *agent;

	for (guint i = 0; i < agents->list->len; i++) {
		agent = agents->list->pdata[i];
		if (strcmp(agent->key, key) == 0)
			return agent;
	}
	if (agents->list->len == 0)
		sweep();
	agent = g_new0(struct snmp_agent, 1);
	agent->platform = agents->platform;
	agent->key = g_steal_pointer(&key);
	agent->fd = -1;
	agent->directory_fd = -1;
	agent->most = OBJECTS_MAX;
	agent->apart = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	agent->config = (struct config_meter){
		.address = g_strdup(config->address),
		.port = config->port,
		.user = g_strdup(config->user),
		.password_file = g_strdup(config->password_file),
		.snmp = config->snmp,
		.privacy = config->privacy,
		.timeout_s = config->timeout_s,
	};
	g_ptr_array_add(agents->list, agent);
	return agent;
}
