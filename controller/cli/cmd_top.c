/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib-unix.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "common/json.h"
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

/* The answers of one screen. */
enum {
	STATUS,
	CLUSTERS,
	NODES,
	POWER,
	/*
	 * Two queries, so that running tasks are shown however many wait, whatever their numbers.
	 */
	TASKS,
	WAITING,
	ANSWERS
};

static const char *const paths[ANSWERS] = {
	"/v1/status",
	"/v1/clusters",
	"/v1/nodes",
	"/v1/power?after_s=1e12",
	"/v1/tasks?state=" FIELD_STATES_PLACED,
	"/v1/tasks?state=waiting&limit=" WAITING_SHOWN,
};

static void answers_clear(json_t **answers)
{
	for (int i = 0; i < ANSWERS; i++)
		g_clear_pointer(&answers[i], json_decref);
}

/*
 * Gets all answers and replaces the former ones only if none failed; false with the first failure.
 */
static bool fetch(struct client *client, json_t **answers, int *ret_status, GError **error)
{
	json_t *fresh[ANSWERS] = {0};

	for (int i = 0; i < ANSWERS; i++) {
		fresh[i] = client_ask(client, "GET", paths[i], NULL, ret_status, error);
		if (!fresh[i]) {
			answers_clear(fresh);
			return false;
		}
	}
	/* The waiting tasks follow the others. */
	json_array_extend(json_object_get(fresh[TASKS], "tasks"),
			  json_object_get(fresh[WAITING], "tasks"));
	json_object_set_new(fresh[TASKS], "more",
			    json_integer(field_integer(fresh[TASKS], "more") +
					 field_integer(fresh[WAITING], "more")));
	answers_clear(answers);
	memcpy(answers, fresh, sizeof(fresh));
	return true;
}

static char *text_of(json_t *const *answers, const char *note, int columns, int rows)
{
	const struct top_screen screen = {
		.status = answers[STATUS],
		.clusters = answers[CLUSTERS],
		.nodes = answers[NODES],
		.power = answers[POWER],
		.tasks = answers[TASKS],
		.note = note,
	};

	return top_screen_text(&screen, columns, rows);
}

static int print_once(struct client *client)
{
	json_t *answers[ANSWERS] = {0};
	g_autoptr(GError) error = NULL;
	int status;

	if (!fetch(client, answers, &status, &error))
		return client_fail(client, status, error);
	if (client->json) {
		g_autoptr(json_t) all =
			json_pack("{s:O, s:O, s:O, s:O, s:O}", "status", answers[STATUS],
				  "clusters", json_object_get(answers[CLUSTERS], "clusters"),
				  "nodes", json_object_get(answers[NODES], "nodes"), "power",
				  answers[POWER], "tasks",
				  json_object_get(answers[TASKS], "tasks"));

		if (all)
			command_print_json(all);
	} else {
		g_autofree char *text = text_of(answers, NULL, 0, 0);

		fputs(text, stdout);
	}
	answers_clear(answers);
	return COMMAND_DONE;
}

/* Live. */

struct live {
	json_t *answers[ANSWERS];
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
	text = text_of(live->answers, note, MAX(size.ws_col, 1), MAX(size.ws_row - 1, 1));
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
		raw.c_lflag &= (tcflag_t) ~(ICANON | ECHO);
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
		there = fetch(client, live.answers, &status, &error);
		draw_screen(&live, there ? "q quits" : error->message);
		while (!live.quit && !live.due)
			g_main_context_iteration(NULL, TRUE);
	}
	leave(&live);
	answers_clear(live.answers);
	return COMMAND_DONE;
}

int cmd_top(int argc, char **argv)
{
	g_auto(client_t) client = {.name = argv[0]};
	double interval_s = 0; /* not given */
	bool once = false;
	const struct command_option options[] = {
		{"interval", 'i', COMMAND_NUMBER, &interval_s,
		 "Seconds between two screens (default 1)", "S", 0.1, 3600},
		{"once", '1', COMMAND_FLAG, &once, "Print it once, also on a terminal"},
		{NULL},
	};

	if (!client_parse(&client, &argc, &argv, NULL,
			  "Clusters and their nodes, power, and tasks on one screen, again every "
			  "second; q quits.\nPrinted once where standard output is no terminal.",
			  options))
		return COMMAND_BAD;
	if (interval_s > 0 && (once || client.json))
		return command_fail(COMMAND_BAD, client.name,
				    "--interval is for the screen: leave it out with %s",
				    once ? "--once" : "--json");
	if (argc > 1)
		return command_fail(COMMAND_BAD, client.name, "give options alone; try --help");
	if (!client_open(&client))
		return client.status;
	if (once || client.json || !isatty(STDOUT_FILENO))
		return print_once(&client);
	return watch(&client, (guint)((interval_s > 0 ? interval_s : INTERVAL_S) * 1000));
}
