/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/cli/submission.h"

#include "common/duration.h"
#include "common/error_fail.h"
#include "common/json.h"
#include "common/number_option.h"
#include "common/read_number.h"
#include "controller/cli/script_files.h"
#include "controller/run/run_service_check.h"

G_DEFINE_QUARK(virtbed_submission, submission_error)

static bool fail_option(GError **error, const char *words)
{
	return error_fail(error, SUBMISSION_ERROR, SUBMISSION_ERROR_OPTION, "%s", words);
}

/* Sets `key` to an option's duration in seconds, if the option was given. */
static bool set_duration(json_t *body, const char *key, const char *option, const char *text,
			 GError **error)
{
	double seconds;

	if (!text)
		return true;
	if (!duration_parse(text, &seconds) || !(seconds > 0))
		return error_fail(error, SUBMISSION_ERROR, SUBMISSION_ERROR_OPTION,
				  "%s: \"%s\" is no time span above 0; write 90s, 10m or 1h30m",
				  option, text);
	json_object_set_new(body, key, json_real(seconds));
	return true;
}

static bool set_utility(json_t *body, const struct submission *submission, GError **error)
{
	double utility;

	if (!submission->utility)
		return true;
	if (!read_number(submission->utility, 0, RUN_SERVICE_UTILITY_MAX, &utility) || utility == 0)
		return error_fail(error, SUBMISSION_ERROR, SUBMISSION_ERROR_OPTION,
				  "--utility: \"%s\" is no number above 0 and at most %.0f",
				  submission->utility, RUN_SERVICE_UTILITY_MAX);
	json_object_set_new(body, "utility_max", json_real(utility));
	return true;
}

/* Sets the utility function: constant, then falling to 0; or constant until a deadline. */
static bool set_worth(json_t *body, const struct submission *submission, GError **error)
{
	if (submission->deadline && (submission->constant || submission->zero_at))
		return fail_option(error,
				   "--deadline says all about when a task is worth something; "
				   "leave out --constant and --zero-at, or it");
	if (submission->constant && !submission->zero_at)
		return fail_option(error,
				   "--constant needs --zero-at, when the task is worth nothing "
				   "any more");
	if (!set_duration(body, "constant_s", "--constant", submission->constant, error) ||
	    !set_duration(body, "zero_s", "--zero-at", submission->zero_at, error) ||
	    !set_duration(body, "deadline_s", "--deadline", submission->deadline, error))
		return false;
	if (submission->constant && json_number_value(json_object_get(body, "constant_s")) >
					    json_number_value(json_object_get(body, "zero_s")))
		return fail_option(error, "--constant must not be longer than --zero-at");
	return set_utility(body, submission, error);
}

/* Sets `key` to an option's number, if the option was given. */
static bool set_number(json_t *body, const char *key, const char *option, const char *text,
		       int64_t min, int64_t max, GError **error)
{
	int64_t number;

	if (!text)
		return true;
	if (!number_option_integer(option, text, min, max, &number, error))
		return false;
	json_object_set_new(body, key, json_integer(number));
	return true;
}

/* Sets the number of tasks, by default one. */
static bool set_count(json_t *body, const struct submission *submission, GError **error)
{
	if (submission->count && submission->array)
		return fail_option(
			error,
			"--array and --count say the same, how many tasks; give one of them");
	json_object_set_new(body, "count", json_integer(1));
	return set_number(body, "count", "--count", submission->count, 1, SUBMISSION_COUNT_MAX,
			  error) &&
	       set_number(body, "count", "--array", submission->array, 1, SUBMISSION_COUNT_MAX,
			  error);
}

static bool set_type(json_t *body, const char *type, GError **error)
{
	g_autofree char *shown = NULL;

	if (!type || json_object_set_new(body, "type", json_string(type)) == 0)
		return true;
	shown = g_utf8_make_valid(type, -1);
	return error_fail(error, SUBMISSION_ERROR, SUBMISSION_ERROR_OPTION,
			  "'%s' is not UTF-8, and no task type", shown);
}

/* Sets the type, or the script, which has a type or is given one by its size. */
static bool set_work(json_t *body, const struct submission *submission, GError **error)
{
	const bool sized = submission->time || submission->cores || submission->nodes;
	json_t *script;

	if (!submission->script && (sized || submission->stage_in || submission->stage_out))
		return fail_option(error,
				   "--time, --cores, --nodes, --stage-in and --stage-out are for "
				   "a --script");
	if (submission->type && sized)
		return fail_option(error,
				   "--type says how large and for how long; leave out --cores, "
				   "--nodes and --time, or it");
	if (submission->cores && submission->nodes)
		return fail_option(error,
				   "--nodes: they are whole, with all their cores; leave out "
				   "--cores, or it");
	if (submission->script && !submission->type && !submission->time)
		return fail_option(error,
				   "--script: say how long it may run with --time, or give its "
				   "--type");
	if (!set_type(body, submission->type, error) ||
	    !set_number(body, "cores", "--cores", submission->cores, 1, INT32_MAX, error) ||
	    !set_number(body, "nodes", "--nodes", submission->nodes, 1, INT32_MAX, error) ||
	    !set_duration(body, "time_s", "--time", submission->time, error))
		return false;
	if (!submission->script)
		return true;
	script = script_files_read(submission->script, submission->arguments, submission->stage_in,
				   submission->stage_out, error);
	if (script)
		json_object_set_new(body, "script", script);
	return script != NULL;
}

json_t *submission_body(const struct submission *submission, GError **error)
{
	g_autoptr(json_t) body = json_object();

	if (!set_count(body, submission, error) ||
	    !set_number(body, "priority", "--priority", submission->priority, INT32_MIN, INT32_MAX,
			error) ||
	    !set_worth(body, submission, error) || !set_work(body, submission, error))
		return NULL;
	if (submission->name)
		json_object_set_new(body, "name", json_string(submission->name));
	if (submission->key)
		json_object_set_new(body, "key", json_string(submission->key));
	if (submission->held)
		json_object_set_new(body, "held", json_true());
	return g_steal_pointer(&body);
}
