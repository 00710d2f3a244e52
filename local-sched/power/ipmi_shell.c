/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/ipmi_shell.h"

#include <math.h>
#include <string.h>

#include "common/child_process.h"
#include "common/clock.h"
#include "common/config/config_files.h"
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

/* How long an ipmitool has to close its session; at the end, all of them together. */
#define LEAVE_S 1.0

/* The wait after a refused login with the same password; it doubles up to the maximum. */
#define LOGIN_RETRY_S 4.5
#define LOGIN_RETRY_MAX_S 60.0

/* A session that is idle for longer may have ended. */
#define IDLE_MAX_S 30.0

/* The deadline of ipmitool, later than its own, for an ipmitool that hangs. */
#define HANG_S 2.0

/* What ipmitool prints after "set targetaddr". */
#define AIMED_AT "Set remote IPMB address to 0x%02x"

/* The first line that `ipmitool -v` prints, whatever follows. */
#define REGISTRY_LINE "Loading IANA PEN Registry...\n"

enum shell_state {
	SHELL_STOPPED = 0, /* no child */
	SHELL_LOGIN,       /* waiting for the first prompt */
	/* waiting for the prompt after "set verbose 0", to send the command then */
	SHELL_QUIETING,
	SHELL_AIMING,    /* the same after "set targetaddr" */
	SHELL_IDLE,      /* at the prompt */
	SHELL_BUSY,      /* waiting for the prompt after the command */
	SHELL_LEAVING,   /* the child got `exit`; the next child starts after its end */
	SHELL_SWITCHING, /* the same, to log in again for another channel or LUN */
};

/* A command of a meter. */
struct request {
	char *line;
	struct ipmi_target target;
	ipmi_shell_done_f done; /* NULL: it was dropped */
	void *data;
};

struct ipmi_shell {
	const struct platform *platform;
	struct config_meter config; /* copies of what is needed of it */
	enum shell_state state;
	struct child_process *child; /* NULL: none */
	/* Where its commands go: the address as last set, the others since it was started. */
	struct ipmi_target aim;
	GString *output;
	int64_t started_ns;
	int64_t used_ns; /* the last command was sent, or the child started */
	uint16_t reservation;
	/* The request under way, or that waits for the login; NULL: none. */
	struct request *request;
	guint deadline_id; /* of what the state waits for; 0: of nothing */
	GQueue waiting;    /* struct request, behind it */
	/* The last refusal of a login. */
	GError *refusal;
	char *refused_password;
	int64_t not_before_ns;
	double retry_s;
};

/* The shells of one owner, so that meters of one BMC find one another's. */
struct ipmi_shells {
	const struct platform *platform;
	GPtrArray *list; /* struct ipmi_shell */
};

const struct ipmi_target ipmi_bmc = {.address = IPMI_BMC_ADDRESS};

static void request_free(struct request *request)
{
	g_free(request->line);
	g_free(request);
}

/*
 * Writes to the child. A line always fits into the pipe, because the child has read everything
 * before it. If the child is dead or hangs, the end of its output or the deadline shows it.
 */
static void write_line(const struct ipmi_shell *shell, const char *line)
{
	child_say(shell->child, line);
}

static bool is_leaving(const struct ipmi_shell *shell)
{
	return shell->state == SHELL_LEAVING || shell->state == SHELL_SWITCHING;
}

static void set_deadline(struct ipmi_shell *shell, double seconds);

/* Tells the child to close its session and to exit; the next login waits for that. */
static void end_child(struct ipmi_shell *shell)
{
	if (shell->state == SHELL_STOPPED || is_leaving(shell))
		return;
	write_line(shell, "exit\n");
	shell->state = SHELL_LEAVING;
	shell->reservation = 0;
	g_string_truncate(shell->output, 0);
	set_deadline(shell, LEAVE_S);
}

/* Leaves the child, which has ended or got `exit`, to the main loop. */
static void drop_child(struct ipmi_shell *shell)
{
	child_dismiss(g_steal_pointer(&shell->child), TERM_AFTER_MS, KILL_AFTER_MS);
	shell->state = SHELL_STOPPED;
	shell->reservation = 0;
	g_string_truncate(shell->output, 0);
	g_clear_handle_id(&shell->deadline_id, g_source_remove);
}

/* The same where the BMC was silent: the next login, which the reading waits for, does not wait. */
static void abandon_child(struct ipmi_shell *shell)
{
	if (shell->state == SHELL_STOPPED || is_leaving(shell))
		return;
	write_line(shell, "exit\n");
	drop_child(shell);
}

static void send_next(struct ipmi_shell *shell);

/* Ends the request under way, and sends the next one. */
static void finish(struct ipmi_shell *shell, const char *output, const GError *error)
{
	struct request *request = g_steal_pointer(&shell->request);

	if (!request)
		return;
	if (request->done)
		request->done(output, error, request->data);
	request_free(request);
	send_next(shell);
}

/* A login that was refused is not tried again soon with the same password. */
static void note_refusal(struct ipmi_shell *shell, const GError *error)
{
	g_clear_error(&shell->refusal);
	shell->refusal = g_error_copy(error);
	g_free(shell->refused_password);
	shell->refused_password = power_meter_password(&shell->config, NULL);
	shell->not_before_ns = platform_now_ns(shell->platform) + (int64_t)(shell->retry_s * 1e9);
	shell->retry_s = MIN(2 * shell->retry_s, LOGIN_RETRY_MAX_S);
}

/* There is no login: fails all requests. */
static void fail_all(struct ipmi_shell *shell, const GError *error)
{
	GQueue waiting = shell->waiting;
	struct request *request;

	g_queue_init(&shell->waiting);
	if (shell->request)
		g_queue_push_head(&waiting, g_steal_pointer(&shell->request));
	while ((request = g_queue_pop_head(&waiting))) {
		if (request->done)
			request->done(NULL, error, request->data);
		request_free(request);
	}
}

static bool is_login(const struct ipmi_shell *shell)
{
	return shell->state == SHELL_LOGIN || shell->state == SHELL_QUIETING;
}

/* Fails the request under way, or all where the login has failed. */
static void fail_requests(struct ipmi_shell *shell, bool login_failed, enum power_meter_error code,
			  const char *message)
{
	g_autoptr(GError) error = g_error_new_literal(POWER_METER_ERROR, (int)code, message);

	if (code == POWER_METER_ERROR_LOGIN)
		note_refusal(shell, error);
	if (login_failed)
		fail_all(shell, error);
	else
		finish(shell, NULL, error);
}

/* Ends the child and fails requests. */
static void give_up(struct ipmi_shell *shell, enum power_meter_error code, const char *message)
{
	const bool login_failed = is_login(shell);

	abandon_child(shell);
	fail_requests(shell, login_failed, code, message);
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
	const double after_s = clock_elapsed_s(shell->used_ns, platform_now_ns(shell->platform));
	const bool registry = g_str_has_prefix(shell->output->str, REGISTRY_LINE);
	g_autofree char *gist =
		meter_ipmi_parse_gist(shell->output->str + (registry ? strlen(REGISTRY_LINE) : 0));
	g_autofree char *message = NULL;
	const struct login_failure *failure = find_login_failure(shell->output->str);
	enum power_meter_error code = POWER_METER_ERROR_NO_ANSWER;
	const bool login_failed = is_login(shell);

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
	drop_child(shell);
	fail_requests(shell, login_failed, code, message);
}

/*
 * A child that got `exit` has ended. started_ns stays where its session was closed for another
 * channel or LUN, since the BMC answered until then.
 */
static void handle_leave(struct ipmi_shell *shell)
{
	const int64_t since_ns = shell->state == SHELL_SWITCHING ? shell->started_ns : 0;

	drop_child(shell);
	send_next(shell);
	if (since_ns && shell->child)
		shell->started_ns = since_ns;
}

/* The output after the echo of the command. */
static const char *without_echo(const char *output, const char *command)
{
	const char *rest = output + strlen(command);

	return g_str_has_prefix(output, command) && *rest == '\n' ? rest + 1 : output;
}

static double timeout_s(const struct ipmi_shell *shell)
{
	return shell->config.timeout_s > 0 ? shell->config.timeout_s : POWER_METER_DEADLINE_S;
}

static gboolean on_deadline(gpointer data);

static void set_deadline(struct ipmi_shell *shell, double seconds)
{
	g_clear_handle_id(&shell->deadline_id, g_source_remove);
	shell->deadline_id =
		platform_after_ms(shell->platform, (guint)(seconds * 1e3), on_deadline, shell);
}

static void send_line(struct ipmi_shell *shell)
{
	g_autofree char *line = g_strconcat(shell->request->line, "\n", NULL);

	set_deadline(shell, timeout_s(shell) + HANG_S);
	g_string_truncate(shell->output, 0);
	shell->state = SHELL_BUSY;
	shell->used_ns = platform_now_ns(shell->platform);
	write_line(shell, line);
}

/* Sends the request's line, after telling ipmitool which controller it is for. */
static void send_aimed(struct ipmi_shell *shell)
{
	const uint8_t address = shell->request->target.address;
	g_autofree char *line = g_strdup_printf("set targetaddr 0x%02x\n", address);

	if (shell->aim.address == address) {
		send_line(shell);
		return;
	}
	g_string_truncate(shell->output, 0);
	shell->state = SHELL_AIMING;
	set_deadline(shell, HANG_S);
	write_line(shell, line);
}

/* A sensor of another controller may have the same number: no request goes to the wrong one. */
static void handle_aimed(struct ipmi_shell *shell)
{
	const uint8_t address = shell->request->target.address;
	g_autofree char *want = g_strdup_printf(AIMED_AT, address);
	g_autofree char *gist = meter_ipmi_parse_gist(shell->output->str);
	g_autofree char *message = NULL;

	if (strstr(shell->output->str, want)) {
		shell->aim.address = address;
		send_line(shell);
		return;
	}
	message = g_strdup_printf("this ipmitool does not ask another controller: %s", gist);
	give_up(shell, POWER_METER_ERROR_SETUP, message);
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
		shell->retry_s = LOGIN_RETRY_S;
		g_clear_error(&shell->refusal);
		send_aimed(shell);
	} else if (shell->state == SHELL_AIMING) {
		handle_aimed(shell);
	} else if (shell->state == SHELL_BUSY) {
		g_autofree char *output = NULL;
		g_autofree char *line = g_strdup(shell->request->line);

		g_string_truncate(shell->output, shell->output->len - strlen(PROMPT));
		output = g_strdup(shell->output->str);
		g_string_truncate(shell->output, 0);
		g_clear_handle_id(&shell->deadline_id, g_source_remove);
		shell->state = SHELL_IDLE;
		finish(shell, without_echo(output, line), NULL);
	}
}

static void on_heard(enum child_stream stream, const char *bytes, size_t length, void *data)
{
	struct ipmi_shell *shell = data;

	if (is_leaving(shell)) {
		/* What it prints is the answer to no one; only its end matters. */
		g_string_append_len(shell->output, bytes, (gssize)length);
		if (length == 0 || shell->output->len > OUTPUT_MAX)
			handle_leave(shell);
		return;
	}
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
	const struct config_meter *config = &shell->config;
	g_autofree char *password = power_meter_password(config, error);
	g_autofree char *variable = NULL;
	g_autofree char *kg = NULL;
	g_autofree char *port = g_strdup_printf("%u", config->port);
	g_autofree char *suite = g_strdup_printf("%u", config->cipher_suite);
	g_autofree char *wait = g_strdup_printf("%.0f", ceil(timeout_s(shell)));
	g_autofree char *bmc = g_strdup_printf("0x%02x", IPMI_BMC_ADDRESS);
	g_autofree char *channel = g_strdup_printf("%u", shell->aim.channel);
	g_autofree char *lun = g_strdup_printf("%u", shell->aim.lun);
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
	 * alone, not repeated. -m: the BMC's own address, for a blade of PICMG's has another one by
	 * which ipmitool would take a request to 0x20 for one to another controller.
	 */
	add_arguments(argv,
		      (const char *const[]){"ipmitool", "-v", "-H", config->address, "-p", port,
					    "-U", config->user, "-E", "-L", config->privilege, "-N",
					    wait, "-R", "1", "-m", bmc, NULL});
	if (config->ipmi == CONFIG_METER_IPMI_1_5)
		add_arguments(argv, (const char *const[]){"-I", "lan", NULL});
	else
		add_arguments(argv, (const char *const[]){"-I", "lanplus", "-C", suite, NULL});
	if (kg)
		add_arguments(argv, (const char *const[]){"-K", NULL});
	/* The channel is taken with an address alone. */
	if (shell->aim.channel != 0)
		add_arguments(argv, (const char *const[]){"-t", bmc, "-b", channel, NULL});
	if (shell->aim.lun != 0)
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
	shell->aim.address = IPMI_BMC_ADDRESS;
	shell->started_ns = shell->used_ns = platform_now_ns(shell->platform);
	return true;
}

static gboolean on_deadline(gpointer data)
{
	struct ipmi_shell *shell = data;

	shell->deadline_id = 0;
	if (is_leaving(shell)) {
		shell->state = SHELL_LEAVING; /* the BMC is out of sight */
		handle_leave(shell);
	} else {
		give_up(shell, POWER_METER_ERROR_NO_ANSWER,
			shell->state == SHELL_LOGIN ? "no login in time" : "no answer in time");
	}
	return G_SOURCE_REMOVE;
}

/* The refusal that a login would have again; NULL: it may be tried. */
static const GError *known_refusal(const struct ipmi_shell *shell)
{
	g_autofree char *password = NULL;

	if (!shell->refusal || platform_now_ns(shell->platform) >= shell->not_before_ns)
		return NULL;
	password = power_meter_password(&shell->config, NULL);
	return g_strcmp0(password, shell->refused_password) == 0 ? shell->refusal : NULL;
}

/* Logs in for the request under way. */
static void log_in(struct ipmi_shell *shell)
{
	const struct ipmi_target *target = &shell->request->target;
	g_autoptr(GError) error = NULL;
	const GError *refusal = known_refusal(shell);

	/* The BMC itself is reached by any channel: that of the last controller is kept. */
	if (target->address != IPMI_BMC_ADDRESS)
		shell->aim.channel = target->channel;
	shell->aim.lun = target->lun;
	if (refusal) {
		error = g_error_copy(refusal);
	} else if (start_child(shell, &error)) {
		set_deadline(shell, LOGIN_ANSWERS * timeout_s(shell) + HANG_S);
		return;
	}
	fail_all(shell, error);
}

/* Whether the child can send to `target` in its session. */
static bool reaches(const struct ipmi_shell *shell, const struct ipmi_target *target)
{
	return shell->aim.lun == target->lun &&
	       (target->address == IPMI_BMC_ADDRESS || shell->aim.channel == target->channel);
}

/* Sends the next request, if one waits and none is under way. */
static void send_next(struct ipmi_shell *shell)
{
	const struct request *next = g_queue_peek_head(&shell->waiting);
	const int64_t now_ns = platform_now_ns(shell->platform);

	if (shell->request || !next)
		return;
	if (shell->state == SHELL_IDLE && clock_elapsed_s(shell->used_ns, now_ns) > IDLE_MAX_S) {
		end_child(shell);
	} else if (shell->state == SHELL_IDLE && !reaches(shell, &next->target)) {
		end_child(shell);
		shell->state = SHELL_SWITCHING;
	}
	if (is_leaving(shell))
		return;
	shell->request = g_queue_pop_head(&shell->waiting);
	if (shell->state == SHELL_IDLE)
		send_aimed(shell);
	else
		log_in(shell);
}

void ipmi_shell_command(struct ipmi_shell *shell, const struct ipmi_target *target,
			const char *command, ipmi_shell_done_f done, void *data)
{
	struct request *request = g_new0(struct request, 1);

	*request = (struct request){.line = g_strdup(command),
				    .target = *target,
				    .done = done,
				    .data = data};
	g_queue_push_tail(&shell->waiting, request);
	send_next(shell);
}

void ipmi_shell_drop(struct ipmi_shell *shell, const void *data)
{
	GQueue waiting = shell->waiting;
	struct request *request;

	/* The answer to the one under way is waited for: it would be taken for that to the next. */
	if (shell->request && shell->request->data == data)
		shell->request->done = NULL;
	g_queue_init(&shell->waiting);
	while ((request = g_queue_pop_head(&waiting))) {
		if (request->data == data)
			request_free(request);
		else
			g_queue_push_tail(&shell->waiting, request);
	}
}

int64_t ipmi_shell_started_ns(const struct ipmi_shell *shell)
{
	return shell->started_ns;
}

const char *ipmi_shell_obstacle(const struct ipmi_shell *shell, const void *data)
{
	const bool is_mine = shell->request && shell->request->data == data;
	bool waits = is_mine;

	for (const GList *link = shell->waiting.head; link; link = link->next)
		waits |= ((const struct request *)link->data)->data == data;
	if (waits && (is_login(shell) || is_leaving(shell)))
		return "logging in";
	return waits && !is_mine ? "waits for its answers to other meters" : NULL;
}

uint16_t *ipmi_shell_reservation(struct ipmi_shell *shell)
{
	return &shell->reservation;
}

void ipmi_shell_stop(struct ipmi_shell *shell)
{
	g_assert(!shell->request);
	abandon_child(shell);
}

/* The shells of an owner. */

struct ipmi_shells *ipmi_shells_new(const struct platform *platform)
{
	struct ipmi_shells *shells = g_new0(struct ipmi_shells, 1);

	shells->platform = platform;
	shells->list = g_ptr_array_new();
	return shells;
}

struct ipmi_shell *ipmi_shells_find(struct ipmi_shells *shells, const struct config_meter *config,
				    GError **error)
{
	struct ipmi_shell *shell;

	for (guint i = 0; i < shells->list->len; i++) {
		const char *differs;

		shell = shells->list->pdata[i];
		if (!config_files_share_bmc(&shell->config, config))
			continue;
		differs = config_files_differ(&shell->config, config);
		if (differs)
			return error_null(error, POWER_METER_ERROR, POWER_METER_ERROR_SETUP,
					  "`%s` is not that of another meter of the same BMC, %s, "
					  "and user, %s: both share one session; make it the same, "
					  "or give one another `user`",
					  differs, config->address, config->user);
		shell->config.timeout_s = MAX(shell->config.timeout_s, config->timeout_s);
		return shell;
	}
	shell = g_new0(struct ipmi_shell, 1);
	shell->platform = shells->platform;
	shell->config = (struct config_meter){
		.kind = config->kind,
		.address = g_strdup(config->address),
		.port = config->port,
		.user = g_strdup(config->user),
		.password_file = g_strdup(config->password_file),
		.kg_file = g_strdup(config->kg_file),
		.privilege = g_strdup(config->privilege),
		.cipher_suite = config->cipher_suite,
		.ipmi = config->ipmi,
		.auth = config->auth,
		.tls = config->tls,
		.timeout_s = config->timeout_s,
	};
	shell->output = g_string_new(NULL);
	shell->retry_s = LOGIN_RETRY_S;
	g_ptr_array_add(shells->list, shell);
	return shell;
}

void ipmi_shells_leave(struct ipmi_shells *shells)
{
	for (guint i = 0; i < shells->list->len; i++) {
		struct ipmi_shell *shell = shells->list->pdata[i];

		g_queue_clear_full(&shell->waiting, (GDestroyNotify)request_free);
		g_clear_pointer(&shell->request, request_free);
		end_child(shell);
		g_clear_handle_id(&shell->deadline_id, g_source_remove);
	}
}

/* ipmitool has had its time. */
static void shell_free(struct ipmi_shell *shell)
{
	if (shell->child) {
		child_kill(shell->child);
		child_dismiss(shell->child, 0, 0);
	}
	g_string_free(shell->output, TRUE);
	g_clear_error(&shell->refusal);
	g_free(shell->refused_password);
	g_free(shell->config.address);
	g_free(shell->config.user);
	g_free(shell->config.password_file);
	g_free(shell->config.kg_file);
	g_free(shell->config.privilege);
	g_free(shell);
}

void ipmi_shells_free(struct ipmi_shells *shells)
{
	int64_t began_ns;

	if (!shells)
		return;
	ipmi_shells_leave(shells);
	began_ns = platform_now_ns(shells->platform);
	for (guint i = 0; i < shells->list->len; i++) {
		struct ipmi_shell *shell = shells->list->pdata[i];
		const double gone_s = clock_elapsed_s(began_ns, platform_now_ns(shells->platform));

		if (shell->child)
			child_settle(shell->child, MAX(LEAVE_S - gone_s, 0));
	}
	for (guint i = 0; i < shells->list->len; i++)
		shell_free(shells->list->pdata[i]);
	g_ptr_array_unref(shells->list);
	g_free(shells);
}
