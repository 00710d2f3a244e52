/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib-unix.h>
#include <glib.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "common/json.h"
#include "common/number_option.h"
#include "controller/cli/client.h"
#include "controller/cli/commands.h"
#include "controller/cli/fields.h"
#include "controller/cli/top_screen.h"

/*
 * `virtbed top`: a controller's state on one screen, drawn again every second with a handful of
 * VT100 sequences; q quits. Where standard output is no terminal it is printed once.
 */

/* Switches to the terminal's alternate screen without a cursor, and back. */
#define ENTER "\033[?1049h\033[?25l"
#define LEAVE "\033[?25h\033[?1049l"

/*
 * Moves to the top left corner; each line erases the rest of its row, the last one all rows below.
 */
#define HOME "\033[H"
#define WIPE_LINE "\033[K\n"
#define WIPE_BELOW "\033[J"

/* The most waiting tasks that are shown; `virtbed queue` lists all. */
#define WAITING_SHOWN "200"

/* Time between two screens. */
#define INTERVAL_S 1.0

#define DEFAULT_COLUMNS 80
#define DEFAULT_ROWS 24

/* The documents of one screen. */
struct documents {
	json_t *status, *clusters, *nodes, *power, *tasks, *waiting;
};

static void documents_clear(struct documents *documents)
{
	json_decref(documents->status);
	json_decref(documents->clusters);
	json_decref(documents->nodes);
	json_decref(documents->power);
	json_decref(documents->tasks);
	json_decref(documents->waiting);
	*documents = (struct documents){0};
}

/* Appends the waiting tasks to the others. */
static void add_waiting(struct documents *documents)
{
	json_array_extend(json_object_get(documents->tasks, "tasks"),
			  json_object_get(documents->waiting, "tasks"));
	json_object_set_new(documents->tasks, "more",
			    json_integer(field_integer(documents->tasks, "more") +
					 field_integer(documents->waiting, "more")));
}

/*
 * Gets all documents and replaces the former ones only if none failed; false with the first
 * failure.
 */
static bool fetch(struct client *client, struct documents *documents, int *ret_status,
		  GError **error)
{
	struct documents fresh = {0};
	const struct {
		const char *path;
		json_t **ret_answer;
	} wanted[] = {
		{"/v1/status", &fresh.status},
		{"/v1/clusters", &fresh.clusters},
		{"/v1/nodes", &fresh.nodes},
		{"/v1/power?after_s=1e12", &fresh.power},
		/*
		 * A query of its own, so that running tasks are shown however many wait, whatever
		 * their numbers.
		 */
		{"/v1/tasks?state=" FIELD_STATES_PLACED, &fresh.tasks},
		{"/v1/tasks?state=waiting&limit=" WAITING_SHOWN, &fresh.waiting},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(wanted); i++) {
		*wanted[i].ret_answer =
			client_ask(client, "GET", wanted[i].path, NULL, ret_status, error);
		if (!*wanted[i].ret_answer) {
			documents_clear(&fresh);
			return false;
		}
	}
	add_waiting(&fresh);
	documents_clear(documents);
	*documents = fresh;
	return true;
}

static char *text_of(const struct documents *documents, const char *note, int columns, int rows)
{
	const struct top_screen screen = {
		.status = documents->status,	 .clusters = documents->clusters,
		.nodes = documents->nodes,	 .power = documents->power,
		.tasks = documents->tasks,	 .note = note,
	};

	return top_screen_text(&screen, columns, rows);
}

static int print_once(struct client *client)
{
	struct documents documents = {0};
	g_autoptr(GError) error = NULL;
	g_autofree char *text = NULL;
	int status;

	if (!fetch(client, &documents, &status, &error))
		return client_fail(client, status, error);
	if (client->json) {
		g_autoptr(json_t) all = json_pack(
			"{s:O, s:O, s:O, s:O, s:O}", "status", documents.status, "clusters",
			json_object_get(documents.clusters, "clusters"), "nodes",
			json_object_get(documents.nodes, "nodes"), "power", documents.power, "tasks",
			json_object_get(documents.tasks, "tasks"));

		if (all)
			client_print_json(all);
	} else {
		text = text_of(&documents, NULL, 0, 0);
		fputs(text, stdout);
	}
	documents_clear(&documents);
	return COMMAND_DONE;
}

/* Live. */

struct live {
	struct documents documents;
	struct termios before; /* settings of the terminal that keys are read from */
	bool keys;             /* keys can be read */
	bool quit;
	bool due; /* the screen has to be drawn again */
};

static gboolean on_key(int fd, GIOCondition condition, gpointer data)
{
	struct live *live = data;
	char keys[16];
	ssize_t count = read(fd, keys, sizeof(keys));

	for (ssize_t i = 0; i < count; i++)
		live->quit = live->quit || keys[i] == 'q' || keys[i] == 'Q';
	live->quit = live->quit || count <= 0;
	live->due = true;
	return count > 0;
}

static gboolean on_signal(gpointer data)
{
	((struct live *)data)->quit = true;
	return G_SOURCE_CONTINUE;
}

static gboolean on_due(gpointer data)
{
	((struct live *)data)->due = true;
	return G_SOURCE_CONTINUE;
}

static void draw_screen(const struct live *live, const char *note)
{
	struct winsize size = {.ws_col = DEFAULT_COLUMNS, .ws_row = DEFAULT_ROWS};
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;
	g_autofree char *wiped = NULL;

	ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	/* The last row stays free: a newline in it would scroll. */
	text = text_of(&live->documents, note, MAX(size.ws_col, 1), MAX(size.ws_row - 1, 1));
	lines = g_strsplit(text, "\n", -1);
	wiped = g_strjoinv(WIPE_LINE, lines);
	fputs(HOME, stdout);
	fputs(wiped, stdout);
	fputs(WIPE_BELOW, stdout);
	fflush(stdout);
}

/* Reads keys as they are typed, without echo; Ctrl-C stays a signal. */
static void enter(struct live *live)
{
	struct termios raw;

	live->keys = tcgetattr(STDIN_FILENO, &live->before) == 0;
	if (live->keys) {
		raw = live->before;
		raw.c_lflag &= (tcflag_t)~(ICANON | ECHO);
		tcsetattr(STDIN_FILENO, TCSANOW, &raw);
		g_unix_fd_add(STDIN_FILENO, G_IO_IN | G_IO_HUP, on_key, live);
	}
	g_unix_signal_add(SIGINT, on_signal, live);
	g_unix_signal_add(SIGTERM, on_signal, live);
	g_unix_signal_add(SIGHUP, on_signal, live);
	g_unix_signal_add(SIGWINCH, on_due, live);
	fputs(ENTER, stdout);
}

static void leave(const struct live *live)
{
	fputs(LEAVE, stdout);
	fflush(stdout);
	if (live->keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &live->before);
}

/* While the controller does not answer, the screen keeps its last state. */
static int watch(struct client *client, guint interval_ms)
{
	struct live live = {.due = true};

	enter(&live);
	g_timeout_add(interval_ms, on_due, &live);
	while (!live.quit) {
		g_autoptr(GError) error = NULL;
		int status;
		bool there;

		live.due = false;
		there = fetch(client, &live.documents, &status, &error);
		draw_screen(&live, there ? "q quits" : error->message);
		while (!live.quit && !live.due)
			g_main_context_iteration(NULL, TRUE);
	}
	leave(&live);
	documents_clear(&live.documents);
	return COMMAND_DONE;
}

int cmd_top(int argc, char **argv)
{
	g_auto(client_t) client = {.name = argv[0]};
	g_autofree char *interval = NULL;
	double interval_s = INTERVAL_S;
	gboolean once = FALSE;
	const GOptionEntry entries[] = {
		{"interval", 'i', 0, G_OPTION_ARG_STRING, &interval,
		 "Seconds between two screens (default 1)", "S"},
		{"once", '1', 0, G_OPTION_ARG_NONE, &once, "Print it once, also on a terminal", NULL},
		{NULL},
	};
	g_autoptr(GOptionContext) context = g_option_context_new(NULL);
	g_autoptr(GError) error = NULL;

	client_add_options(&client, context, entries);
	g_option_context_set_summary(
		context, "Clusters and their nodes, power, and tasks on one screen, again every "
			 "second; q quits.\nPrinted once where standard output is no terminal.");
	if (!g_option_context_parse(context, &argc, &argv, &error) ||
	    !number_option("--interval", interval, 0.1, 3600, &interval_s, &error))
		return command_fail(COMMAND_BAD, client.name, "%s", error->message);
	if (interval && (once || client.json))
		return command_fail(COMMAND_BAD, client.name, "--interval is for the screen: leave it out with %s",
				    once ? "--once" : "--json");
	if (argc > 1)
		return command_fail(COMMAND_BAD, client.name, "give options alone; try --help");
	if (!client_open(&client))
		return client.status;
	if (once || client.json || !isatty(STDOUT_FILENO))
		return print_once(&client);
	return watch(&client, (guint)(interval_s * 1000));
}
