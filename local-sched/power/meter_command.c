/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "common/subprocess.h"
#include "local-sched/power/meter_value.h"
#include "local-sched/power/program_run.h"

/*
 * A program of the user's, executed for each reading: an argument vector, no shell. It prints the
 * number and exits with 0. As root we execute it as another user, by setpriv(1): `nobody`, unless
 * the configuration names one. It ends with its deadline, together with its process group, and with
 * this process.
 */

#define USER_OF_ROOT "nobody"

struct meter_command {
	struct power_meter base;
	struct meter_value value;
	char **argv;
	struct program_run *run; /* or NULL */
};

static void fail(struct meter_command *meter, enum power_meter_error code, const char *why,
		 const char *said)
{
	power_meter_fail(&meter->base, code, "command \"%s\": %s%s%s",
			 meter->base.config->command[0], why, *said ? ": " : "", said);
}

/* The last line that it has printed. */
static const char *last_line(char *text)
{
	char *end = g_strchomp(text);

	return strrchr(end, '\n') ? strrchr(end, '\n') + 1 : end;
}

static void on_done(const char *output, const char *complaint, const GError *error, void *data)
{
	struct meter_command *meter = data;
	g_autofree char *complained = g_strdup(complaint);
	g_autofree char *reason = NULL;
	g_autofree char *what = NULL;
	enum power_meter_error verdict;
	double number;

	meter->run = NULL;
	if (error) {
		fail(meter,
		     error->code == SUBPROCESS_ERROR_TIMEOUT  ? POWER_METER_ERROR_NO_ANSWER
		     : error->code == SUBPROCESS_ERROR_OUTPUT ? POWER_METER_ERROR_GARBAGE
							      : POWER_METER_ERROR_REJECTED,
		     error->message, last_line(complained));
		return;
	}
	verdict = meter_value_pick(meter->base.config, output, strlen(output), &number, &reason);
	if (verdict != POWER_METER_OK) {
		fail(meter, verdict, reason, "");
		return;
	}
	what = g_strdup_printf("command \"%s\"", meter->base.config->command[0]);
	meter_value_end(&meter->base, &meter->value, &number, what);
}

static void command_read(struct power_meter *base)
{
	static const char *const environment[] = {"LC_ALL=C", NULL};
	struct meter_command *meter = (struct meter_command *)base;
	g_autoptr(GError) error = NULL;

	meter->run = program_run_start(meter->base.platform, (const char *const *)meter->argv,
				       environment, -1, base->deadline_ns, on_done, meter, &error);
	if (!meter->run)
		fail(meter, POWER_METER_ERROR_SETUP, error->message, "");
}

/* Adds setpriv and its options for another user; false: it cannot be another. */
static bool add_user(GPtrArray *argv, const char *name, char **ret_reason)
{
	const struct passwd *user;

	errno = 0;
	user = getpwnam(name);
	if (!user) {
		*ret_reason =
			g_strdup_printf("there is no user \"%s\"%s%s; name another as `run_as`",
					name, errno ? ": " : "", errno ? g_strerror(errno) : "");
		return false;
	}
	if (user->pw_uid == geteuid())
		return true;
	if (geteuid() != 0) {
		*ret_reason = g_strdup_printf("only root can execute it as \"%s\"; remove `run_as`",
					      name);
		return false;
	}
	g_ptr_array_add(argv, g_strdup("setpriv"));
	g_ptr_array_add(argv, g_strdup_printf("--reuid=%u", user->pw_uid));
	g_ptr_array_add(argv, g_strdup_printf("--regid=%u", user->pw_gid));
	g_ptr_array_add(argv, g_strdup("--init-groups"));
	g_ptr_array_add(argv, g_strdup("--reset-env"));
	g_ptr_array_add(argv, g_strdup("--pdeathsig=KILL"));
	g_ptr_array_add(argv, g_strdup("--"));
	return true;
}

static bool command_open(struct power_meter *base, GError **error)
{
	struct meter_command *meter = (struct meter_command *)base;
	const struct config_meter *config = base->config;
	const char *user = config->run_as ?: geteuid() == 0 ? USER_OF_ROOT : NULL;
	g_autoptr(GPtrArray) argv = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *reason = NULL;

	meter_value_init(&meter->value, 1, NULL);
	if (!meter_value_check(config, &reason) || (user && !add_user(argv, user, &reason)))
		return power_meter_set_error(base, error, POWER_METER_ERROR_SETUP,
					     "command \"%s\": %s", config->command[0], reason);
	for (uint32_t i = 0; i < config->command_count; i++)
		g_ptr_array_add(argv, g_strdup(config->command[i]));
	g_ptr_array_add(argv, NULL);
	meter->argv = (char **)g_ptr_array_free(g_steal_pointer(&argv), FALSE);
	return true;
}

static void command_close(struct power_meter *base)
{
	struct meter_command *meter = (struct meter_command *)base;

	program_run_cancel(meter->run);
	meter_value_clear(&meter->value);
	g_strfreev(meter->argv);
}

const struct power_meter_ops meter_command_ops = {
	.kind = CONFIG_METER_COMMAND,
	.size = sizeof(struct meter_command),
	.open = command_open,
	.read = command_read,
	.close = command_close,
};
