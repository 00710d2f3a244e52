/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/ipmi_shell.h"

#include <math.h>
#include <string.h>

#include "common/child_process.h"
#include "common/clock.h"
#include "common/error_fail.h"
#include "common/platform.h"
#include "common/read_file.h"
#include "local-sched/power/meter_ipmi_parse.h"
#include "local-sched/power/power_meter.h"

#define PROMPT "ipmitool> "

enum {
	OUTPUT_MAX = 65536, /* a longer output before a prompt answers none of our commands */
	TERM_AFTER_MS = 1000,
	KILL_AFTER_MS = 2000,
	/*
	 * The answers that a login takes, one after the other: capabilities, three of the handshake,
	 * privilege, and two questions of ipmitool's own.
	 */
	LOGIN_ANSWERS = 7,
	KG_MAX = 20, /* bytes of a key K_g (IPMI 2.0, section 13.33) */
};

/* A session that is idle for longer may have ended. */
#define IDLE_MAX_S 30.0

/* The deadline of ipmitool, later than its own, for an ipmitool that hangs. */
#define HANG_S 2.0

/* The first line that `ipmitool -v` prints, whatever follows. */
#define REGISTRY_LINE "Loading IANA PEN Registry...\n"

enum shell_state {
	SHELL_STOPPED = 0, /* no child */
	SHELL_LOGIN,       /* waiting for the first prompt */
	/* waiting for the prompt after "set verbose 0", to send the command then */
	SHELL_QUIETING,
	SHELL_IDLE, /* at the prompt */
	SHELL_BUSY, /* waiting for the prompt after the command */
};

struct ipmi_shell {
	const struct platform *platform;
	const struct config_meter *config;
	struct ipmi_target target;
	enum shell_state state;
	struct child_process *child; /* NULL: none */
	GString *output;
	int64_t started_ns;
	int64_t used_ns; /* the last command was sent */
	/* The command under way; done is NULL without one. */
	char *command;
	guint deadline_id;
	ipmi_shell_done_f done;
	void *data;
};

/*
 * Writes to the child. A line always fits into the pipe, because the child has read everything
 * before it. If the child is dead or hangs, the end of its output or the deadline shows it.
 */
static void write_line(const struct ipmi_shell *shell, const char *line)
{
	child_say(shell->child, line);
}

/* Sends "exit" to the child and leaves it to the main loop. */
static void end_child(struct ipmi_shell *shell)
{
	if (shell->state == SHELL_STOPPED)
		return;
	write_line(shell, "exit\n");
	child_dismiss(g_steal_pointer(&shell->child), TERM_AFTER_MS, KILL_AFTER_MS);
	shell->state = SHELL_STOPPED;
	g_string_truncate(shell->output, 0);
}

/* Forgets the command and calls `done`, which may free the shell. */
static void finish(struct ipmi_shell *shell, const char *output, const GError *error)
{
	const ipmi_shell_done_f done = shell->done;

	g_clear_handle_id(&shell->deadline_id, g_source_remove);
	g_clear_pointer(&shell->command, g_free);
	shell->done = NULL;
	if (done)
		done(output, error, shell->data);
}

/* Ends the child and fails the command, if there is one. */
static void give_up(struct ipmi_shell *shell, enum power_meter_error code, const char *message)
{
	g_autoptr(GError) error = g_error_new_literal(POWER_METER_ERROR, (int)code, message);

	end_child(shell);
	finish(shell, NULL, error);
}

/*
 * What a login came to, by what ipmitool prints of it (the first row that fits). It names the BMC's
 * answer (IPMI 2.0, sections 13.18 to 13.24) in verbose output alone; its last line is the same
 * where the BMC did not answer.
 */
static const struct login_failure {
	const char *output;
	enum power_meter_error code;
	const char *meaning; /* with the key to look at */
} login_failures[] = {
	{"Address lookup for", POWER_METER_ERROR_NO_ANSWER, "BMC name cannot be resolved"},
	{"insufficient resources", POWER_METER_ERROR_LOGIN,
	 "the BMC has reached its session limit; close other sessions, or wait until they end"},
	{"no matching cipher suite", POWER_METER_ERROR_LOGIN, "see `cipher_suite`"},
	{"authentication algorithm", POWER_METER_ERROR_LOGIN, "see `cipher_suite`"},
	{"integrity algorithm", POWER_METER_ERROR_LOGIN, "see `cipher_suite`"},
	{"integrity payload", POWER_METER_ERROR_LOGIN, "see `cipher_suite`"},
	{"confidentiality algorithm", POWER_METER_ERROR_LOGIN, "see `cipher_suite`"},
	{"No session slot available", POWER_METER_ERROR_LOGIN,
	 "the BMC has reached its session limit; close other sessions, or wait until they end"},
	{"No slot available", POWER_METER_ERROR_LOGIN,
	 "the BMC has reached its session limit for the user; close other sessions"},
	{"password is longer than", POWER_METER_ERROR_SETUP, "see `password_file`"},
	{"Invalid user name", POWER_METER_ERROR_LOGIN, "the BMC does not know the `user`"},
	{"exceeds limit", POWER_METER_ERROR_LOGIN, "see `privilege`"},
	{"Insufficient privilege level", POWER_METER_ERROR_LOGIN, "see `privilege`"},
	{"Activate Session error", POWER_METER_ERROR_LOGIN, "see `password_file` and `privilege`"},
	{"Activate Session command failed", POWER_METER_ERROR_LOGIN, "see `password_file`"},
	{"No supported authtypes", POWER_METER_ERROR_LOGIN, "see `ipmi` and `user`"},
	{"unauthorized name", POWER_METER_ERROR_LOGIN, "the BMC does not know the `user`"},
	{"invalid role", POWER_METER_ERROR_LOGIN, "see `privilege`"},
	{"unauthorized role", POWER_METER_ERROR_LOGIN, "see `privilege`"},
	{"Set Session Privilege Level to", POWER_METER_ERROR_LOGIN, "see `privilege`"},
	{"Get Channel Authentication Capabilities failed", POWER_METER_ERROR_LOGIN,
	 "see `user`, `password_file` and `privilege`"},
	{"RAKP 2 HMAC is invalid", POWER_METER_ERROR_LOGIN, "see `password_file` and `user`"},
	{"Error in open session response", POWER_METER_ERROR_LOGIN,
	 "see `cipher_suite` and `privilege`"},
	{"message indicates an error", POWER_METER_ERROR_LOGIN, /* RAKP 2, RAKP 4 */
	 "see `user`, `password_file`, `cipher_suite` and `privilege`"},
	{"RAKP 4 message has invalid integrity check value", POWER_METER_ERROR_LOGIN,
	 "see `password_file`, and `kg_file` where the BMC has a key K_g"},
};

static const struct login_failure *find_login_failure(const char *output)
{
	for (gsize i = 0; i < G_N_ELEMENTS(login_failures); i++)
		if (strstr(output, login_failures[i].output))
			return &login_failures[i];
	return NULL;
}

/* The child ended by itself: at login with a message, later by a failure of its own. */
static void handle_end(struct ipmi_shell *shell)
{
	const double after_s = clock_elapsed_s(shell->started_ns, platform_now_ns(shell->platform));
	const bool registry = g_str_has_prefix(shell->output->str, REGISTRY_LINE);
	g_autofree char *gist =
		meter_ipmi_parse_gist(shell->output->str + (registry ? strlen(REGISTRY_LINE) : 0));
	g_autofree char *message = NULL;
	const struct login_failure *failure = find_login_failure(shell->output->str);
	enum power_meter_error code = POWER_METER_ERROR_NO_ANSWER;

	if (shell->state != SHELL_LOGIN) {
		message = g_strdup_printf("ipmitool ended unexpectedly: %s", gist);
	} else if (failure) {
		code = failure->code;
		message = g_strdup_printf("%s%s: %s",
					  code == POWER_METER_ERROR_LOGIN ? "login refused; " : "",
					  failure->meaning, gist);
	} else {
		message = g_strdup_printf("no login after %.2f s: %s", after_s, gist);
	}
	give_up(shell, code, message);
}

/* The output after the echo of the command. */
static const char *without_echo(const char *output, const char *command)
{
	const char *rest = output + strlen(command);

	return g_str_has_prefix(output, command) && *rest == '\n' ? rest + 1 : output;
}

static double timeout_s(const struct ipmi_shell *shell)
{
	return shell->config->timeout_s > 0 ? shell->config->timeout_s : POWER_METER_DEADLINE_S;
}

static gboolean on_deadline(gpointer data);

static void set_deadline(struct ipmi_shell *shell, double seconds)
{
	g_clear_handle_id(&shell->deadline_id, g_source_remove);
	shell->deadline_id =
		platform_after_ms(shell->platform, (guint)(seconds * 1e3), on_deadline, shell);
}

static void send_command(struct ipmi_shell *shell)
{
	g_autofree char *line = g_strconcat(shell->command, "\n", NULL);

	set_deadline(shell, timeout_s(shell) + HANG_S);
	g_string_truncate(shell->output, 0);
	shell->state = SHELL_BUSY;
	shell->used_ns = platform_now_ns(shell->platform);
	write_line(shell, line);
}

/* Whether the child is at its prompt. */
static bool at_prompt(const GString *output)
{
	const gsize length = strlen(PROMPT);

	return output->len >= length && strcmp(output->str + output->len - length, PROMPT) == 0 &&
	       (output->len == length || output->str[output->len - length - 1] == '\n');
}

static void handle_prompt(struct ipmi_shell *shell)
{
	if (shell->state == SHELL_LOGIN) {
		g_string_truncate(shell->output, 0);
		shell->state = SHELL_QUIETING;
		write_line(shell, "set verbose 0\n");
	} else if (shell->state == SHELL_QUIETING) {
		send_command(shell);
	} else if (shell->state == SHELL_BUSY) {
		g_autofree char *output = NULL;
		g_autofree char *command = g_strdup(shell->command);

		g_string_truncate(shell->output, shell->output->len - strlen(PROMPT));
		output = g_strdup(shell->output->str);
		g_string_truncate(shell->output, 0);
		shell->state = SHELL_IDLE;
		finish(shell, without_echo(output, command), NULL);
	}
}

static void on_heard(enum child_stream stream, const char *bytes, size_t length, void *data)
{
	struct ipmi_shell *shell = data;

	if (length == 0) {
		handle_end(shell);
		return;
	}
	if (memchr(bytes, '\0', length) || shell->output->len + length > OUTPUT_MAX) {
		give_up(shell, POWER_METER_ERROR_GARBAGE, "ipmitool prints what is no text");
		return;
	}
	g_string_append_len(shell->output, bytes, (gssize)length);
	/* The callback may end the child: do not use it any more. */
	if (at_prompt(shell->output))
		handle_prompt(shell);
}

static void add_arguments(GPtrArray *argv, const char *const *arguments)
{
	for (; *arguments; arguments++)
		g_ptr_array_add(argv, (char *)*arguments);
}

/*
 * The variable that gives ipmitool the key K_g of `kg_file`, read now; the caller frees. It takes a
 * key in hexadecimal from its arguments alone, where everyone sees it, so that a key with a zero
 * byte before its end cannot be given.
 */
static char *read_kg(const struct config_meter *config, GError **error)
{
	char key[KG_MAX + 1] = "";
	g_autoptr(GError) reason = NULL;
	g_autofree char *text = NULL;
	const char *wrong = NULL;
	size_t digits;
	bool ended = false;

	text = read_file(config->kg_file, READ_FILE_SMALL_MAX, NULL, &reason);
	if (!text)
		return error_null(error, POWER_METER_ERROR, POWER_METER_ERROR_SETUP,
				  "no key K_g: %s", reason->message);
	text[strcspn(text, "\r\n")] = '\0';
	digits = strlen(text);
	if (digits == 0 || digits % 2 != 0 || digits > 2 * KG_MAX ||
	    strspn(text, "0123456789abcdefABCDEF") != digits)
		wrong = "its first line has to be 2 to 40 hexadecimal digits, an even number";
	for (size_t i = 0; i < digits / 2 && !wrong; i++) {
		key[i] = (char)(g_ascii_xdigit_value(text[2 * i]) * 16 +
				g_ascii_xdigit_value(text[2 * i + 1]));
		if (ended && key[i])
			wrong = "a key with a zero byte cannot be given to ipmitool";
		ended |= !key[i];
	}
	if (!wrong && !*key)
		wrong = "a key that begins with a zero byte is none to ipmitool";
	if (wrong)
		return error_null(error, POWER_METER_ERROR, POWER_METER_ERROR_SETUP,
				  "no key K_g in '%s': %s", config->kg_file, wrong);
	return g_strconcat("IPMI_KGKEY=", key, NULL);
}

static bool start_child(struct ipmi_shell *shell, GError **error)
{
	const struct config_meter *config = shell->config;
	g_autofree char *password = power_meter_password(config, error);
	g_autofree char *variable = NULL;
	g_autofree char *kg = NULL;
	g_autofree char *port = g_strdup_printf("%u", config->port);
	g_autofree char *suite = g_strdup_printf("%u", config->cipher_suite);
	g_autofree char *wait = g_strdup_printf("%.0f", ceil(timeout_s(shell)));
	g_autofree char *address = g_strdup_printf("0x%02x", shell->target.address);
	g_autofree char *channel = g_strdup_printf("%u", shell->target.channel);
	g_autofree char *lun = g_strdup_printf("%u", shell->target.lun);
	const bool bridged = shell->target.address != IPMI_BMC_ADDRESS;
	g_autoptr(GPtrArray) argv = g_ptr_array_new();
	g_autoptr(GError) reason = NULL;

	if (!password)
		return false;
	variable = g_strconcat("IPMI_PASSWORD=", password, NULL);
	if (config->kg_file) {
		kg = read_kg(config, error);
		if (!kg)
			return false;
	}

	/*
	 * -v until the login: find_login_failure() needs it. -C always: without it ipmitool asks for
	 * the suites first, which takes 10 s with BMCs that do not answer that. -R 1: the request
	 * alone, not repeated.
	 */
	add_arguments(argv, (const char *const[]){"ipmitool", "-v", "-H", config->address, "-p",
						  port, "-U", config->user, "-E", "-L",
						  config->privilege, "-N", wait, "-R", "1", NULL});
	if (config->ipmi == CONFIG_METER_IPMI_1_5)
		add_arguments(argv, (const char *const[]){"-I", "lan", NULL});
	else
		add_arguments(argv, (const char *const[]){"-I", "lanplus", "-C", suite, NULL});
	if (kg)
		add_arguments(argv, (const char *const[]){"-K", NULL});
	if (bridged)
		add_arguments(argv, (const char *const[]){"-t", address, "-b", channel, NULL});
	if (shell->target.lun != 0)
		add_arguments(argv, (const char *const[]){"-l", lun, NULL});
	g_ptr_array_add(argv, (char *)"shell");
	g_ptr_array_add(argv, NULL);
	/* The rest keeps its line editor from printing more than the prompt. */
	const char *const environment[] = {variable, "LC_ALL=C", "TERM=dumb", "INPUTRC=/dev/null",
					   kg,       NULL};

	const struct child_setup setup = {
		.argv = (const char *const *)argv->pdata,
		.environment = environment,
		.dialogue = true,
		.kept_fd = -1,
		.heard = on_heard,
		.data = shell,
	};

	shell->child = child_start(shell->platform, &setup, &reason);
	if (!shell->child) {
		g_set_error_literal(error, POWER_METER_ERROR, POWER_METER_ERROR_SETUP,
				    reason->message);
		return false;
	}
	shell->state = SHELL_LOGIN;
	shell->started_ns = platform_now_ns(shell->platform);
	return true;
}

static gboolean on_deadline(gpointer data)
{
	struct ipmi_shell *shell = data;

	shell->deadline_id = 0;
	give_up(shell, POWER_METER_ERROR_NO_ANSWER,
		shell->state == SHELL_LOGIN ? "no login in time" : "no answer in time");
	return G_SOURCE_REMOVE;
}

struct ipmi_shell *ipmi_shell_new(const struct platform *platform,
				  const struct config_meter *config,
				  const struct ipmi_target *target)
{
	struct ipmi_shell *shell = g_new0(struct ipmi_shell, 1);

	shell->platform = platform;
	shell->config = config;
	shell->target = *target;
	shell->output = g_string_new(NULL);
	return shell;
}

void ipmi_shell_free(struct ipmi_shell *shell)
{
	if (!shell)
		return;
	shell->done = NULL;
	finish(shell, NULL, NULL);
	end_child(shell);
	g_string_free(shell->output, TRUE);
	g_free(shell);
}

void ipmi_shell_command(struct ipmi_shell *shell, const char *command, ipmi_shell_done_f done,
			void *data)
{
	g_autoptr(GError) error = NULL;

	g_assert(!shell->done);
	shell->command = g_strdup(command);
	shell->done = done;
	shell->data = data;
	if (shell->state == SHELL_IDLE &&
	    clock_elapsed_s(shell->used_ns, platform_now_ns(shell->platform)) > IDLE_MAX_S)
		end_child(shell);
	if (shell->state == SHELL_IDLE) {
		send_command(shell);
		return;
	}
	set_deadline(shell, LOGIN_ANSWERS * timeout_s(shell) + HANG_S);
	if (!start_child(shell, &error))
		finish(shell, NULL, error);
}

int64_t ipmi_shell_started_ns(const struct ipmi_shell *shell)
{
	return shell->started_ns;
}

bool ipmi_shell_is_logging_in(const struct ipmi_shell *shell)
{
	return shell->done && (shell->state == SHELL_LOGIN || shell->state == SHELL_QUIETING);
}

void ipmi_shell_stop(struct ipmi_shell *shell)
{
	g_assert(!shell->done);
	end_child(shell);
}
