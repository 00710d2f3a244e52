/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/meter_value.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "common/clock.h"
#include "common/json.h"
#include "common/platform.h"
#include "common/read_number.h"
#include "common/visible.h"

#define WATTS_TOP 1000000.0 /* the most that a machine draws; a higher value is an error */
#define WATTS_LEAST 0.0005
#define JOULES_TOP 1e13 /* microjoules of more do not fit into 64 bits */

/* How long a counter may take for its first two steps without being called still. */
#define FIRST_STEPS_S 20.0

enum {
	AGAIN_MS = 250, /* between the first looks at a counter */
	STEPS_MAX = 32, /* of a path */
	SHOWN = 6,      /* places that an error lists */
	QUOTE_MAX = 60, /* bytes of a text or name in an error */
};

/* The units, by the words of `value`; the order is that of enum config_meter_value. */
static const struct {
	const char *names[5]; /* behind a number */
	double factor;        /* to watts or joules */
} units[] = {
	[CONFIG_METER_WATTS] = {{"W", "Watt", "Watts", "watts"}, 1},
	[CONFIG_METER_MILLIWATTS] = {{"mW"}, 1e-3},
	[CONFIG_METER_MICROWATTS] = {{"uW", "\xc2\xb5W"}, 1e-6},
	[CONFIG_METER_KILOWATTS] = {{"kW"}, 1e3},
	[CONFIG_METER_JOULES] = {{"J", "Joule", "Joules", "Ws"}, 1},
	[CONFIG_METER_MICROJOULES] = {{"uJ", "\xc2\xb5J"}, 1e-6},
	[CONFIG_METER_WATT_HOURS] = {{"Wh"}, 3600},
	[CONFIG_METER_KILOWATT_HOURS] = {{"kWh"}, 3.6e6},
};

static char *quote(const char *text)
{
	return visible_start(text, QUOTE_MAX);
}

/* A number, before which and in whose exponent programs write a "+" as well. */
static const char *front(const char *text, double *ret)
{
	gsize digits;

	if (text[0] == '+' && g_ascii_isdigit(text[1]))
		text++;
	digits = strspn(text, "-0123456789.");
	if ((text[digits] == 'e' || text[digits] == 'E') && text[digits + 1] == '+') {
		g_autofree char *plain =
			g_strdup_printf("%.*se%s", (int)digits, text, text + digits + 2);
		const char *end = read_number_front(plain, ret);

		return end ? text + (end - plain) + 1 : NULL;
	}
	return read_number_front(text, ret);
}

/* Whether `text` is a unit, and which: the `value` of `config` may be another. */
static bool is_unit(const struct config_meter *config, const char *text)
{
	for (gsize i = 0; i < G_N_ELEMENTS(units[0].names) && units[config->value].names[i]; i++)
		if (strcmp(units[config->value].names[i], text) == 0)
			return true;
	return false;
}

/* The text after blanks, no-break spaces among them. */
static const char *skip_spaces(const char *text)
{
	static const char *const wide[] = {"\xc2\xa0", "\xe2\x80\xaf"};

	for (;;) {
		if (*text == ' ' || *text == '\t')
			text++;
		else if (g_str_has_prefix(text, wide[0]))
			text += strlen(wide[0]);
		else if (g_str_has_prefix(text, wide[1]))
			text += strlen(wide[1]);
		else
			return text;
	}
}

/* Reads a text that is a number, with or without its unit. */
static enum power_meter_error read_text(const struct config_meter *config, const char *text,
					double *ret, char **ret_reason)
{
	g_autofree char *trimmed = g_strstrip(g_strdup(text));
	g_autofree char *shown = quote(trimmed);
	const char *end = front(trimmed, ret);

	if (!*trimmed) {
		*ret_reason = g_strdup("it says nothing");
		return POWER_METER_ERROR_NOT_ACTIVE;
	}
	if (!end) {
		*ret_reason = g_strdup_printf("\"%s\" is not a number", shown);
		return POWER_METER_ERROR_GARBAGE;
	}
	end = skip_spaces(end);
	if (!*end || is_unit(config, end))
		return POWER_METER_OK;
	*ret_reason = g_strdup_printf("\"%s\" is not a number of %s alone; `value` names the unit, "
				      "`json` or `metric` the place of the number",
				      shown, config_meter_value_name(config->value));
	return POWER_METER_ERROR_GARBAGE;
}

/* JSON. */

/* A step of a path: to a member, to an element, or to all elements. */
struct step {
	char *name; /* or NULL */
	bool all;
	int64_t index; /* negative: from the end */
};

static void step_clear(gpointer step)
{
	g_free(((struct step *)step)->name);
}

/* Reads "[1]", "[-1]", "[*]" or `["name"]`; returns what is behind it, or NULL. */
static const char *read_bracket(const char *at, struct step *ret)
{
	const char *close;

	if (at[1] == '*' && at[2] == ']') {
		ret->all = true;
		return at + 3;
	}
	if (at[1] == '"' || at[1] == '\'') {
		close = strchr(at + 2, at[1]);
		if (!close || close[1] != ']')
			return NULL;
		ret->name = g_strndup(at + 2, (gsize)(close - at - 2));
		return close + 2;
	}
	close = read_number_front_integer(at + 1, &ret->index);
	return close && *close == ']' ? close + 1 : NULL;
}

/* The steps of a path (struct step), or NULL: it is none. */
static GArray *read_path(const char *path)
{
	g_autoptr(GArray) steps = g_array_new(FALSE, TRUE, sizeof(struct step));
	const char *at = path + (*path == '$');

	g_array_set_clear_func(steps, step_clear);
	while (*at) {
		struct step step = {.name = NULL};

		if (*at == '[') {
			at = read_bracket(at, &step);
		} else {
			const char *name = at + (*at == '.');

			at = name + strcspn(name, ".[]");
			step.name = at > name ? g_strndup(name, (gsize)(at - name)) : NULL;
			at = step.name ? at : NULL;
		}
		g_array_append_val(steps, step);
		if (!at || steps->len > STEPS_MAX)
			return NULL;
	}
	return g_steal_pointer(&steps);
}

/* Places that a path has led to. */
struct places {
	const json_t *first;
	guint count;
	GString *list; /* the first SHOWN of them */
};

static void add_place(struct places *places, const char *name, const json_t *value)
{
	g_autofree char *text = json_text(value);
	g_autofree char *shown = quote(text);
	g_autofree char *shown_name = quote(name);

	places->first = places->first ?: value;
	if (places->count++ < SHOWN)
		g_string_append_printf(places->list, "%s%s = %s", places->count > 1 ? ", " : "",
				       shown_name, shown);
}

static void follow(const json_t *value, const GArray *steps, guint done, const char *name,
		   struct places *places)
{
	const struct step *step;
	const json_t *element;
	size_t index;

	if (done == steps->len) {
		add_place(places, name, value);
		return;
	}
	step = &g_array_index(steps, struct step, done);
	if (step->name) {
		g_autofree char *below = g_strconcat(name, *name ? "." : "", step->name, NULL);
		const json_t *member = json_object_get(value, step->name);

		if (member)
			follow(member, steps, done + 1, below, places);
		return;
	}
	json_array_foreach (value, index, element) {
		const size_t size = json_array_size(value);
		const bool met = step->index < 0 ? (uint64_t)-step->index == size - index
						 : (uint64_t)step->index == index;

		if (step->all || met) {
			g_autofree char *below = g_strdup_printf("%s[%zu]", name, index);

			follow(element, steps, done + 1, below, places);
		}
	}
}

static enum power_meter_error fail_several(const char *key, const char *what, guint count,
					   const char *list, char **ret_reason)
{
	*ret_reason = g_strdup_printf("`%s` matches %u: %s%s; %s", key, count, list,
				      count > SHOWN ? ", ..." : "", what);
	return POWER_METER_ERROR_GARBAGE;
}

static enum power_meter_error read_json_number(const struct config_meter *config,
					       const json_t *value, double *ret, char **ret_reason)
{
	if (json_is_number(value)) {
		*ret = json_number_value(value);
		return POWER_METER_OK;
	}
	if (json_is_string(value))
		return read_text(config, json_string_value(value), ret, ret_reason);
	*ret_reason = g_strdup_printf("at \"%s\" it has %s, not a number", config->json,
				      json_type_name(value));
	return json_is_null(value) ? POWER_METER_ERROR_NOT_ACTIVE : POWER_METER_ERROR_GARBAGE;
}

static enum power_meter_error pick_json(const struct config_meter *config, const char *text,
					gsize length, double *ret, char **ret_reason)
{
	g_autoptr(GString) list = g_string_new(NULL);
	g_autoptr(GArray) steps = read_path(config->json);
	g_autoptr(GError) error = NULL;
	g_autoptr(json_t) document = json_parse_lenient(text, length, "its text", &error);
	struct places places = {.list = list};

	if (!document) {
		*ret_reason = g_strdup(error->message);
		return POWER_METER_ERROR_GARBAGE;
	}
	follow(document, steps, 0, "", &places);
	if (places.count == 1)
		return read_json_number(config, places.first, ret, ret_reason);
	if (places.count > 1)
		return fail_several("json", "name one of them", places.count, list->str,
				    ret_reason);
	g_autofree char *start = json_text(document);
	g_autofree char *shown = quote(start);

	*ret_reason = g_strdup_printf("it has nothing at \"%s\": %s", config->json, shown);
	return POWER_METER_ERROR_REJECTED;
}

/* Prometheus. */

/* `name{label="value",...}`. */
struct metric {
	char *name;
	GPtrArray *labels; /* char *: name and value in turn */
};
typedef struct metric metric_t; /* for g_autoptr() */

static void metric_free(struct metric *metric)
{
	g_free(metric->name);
	g_ptr_array_unref(metric->labels);
	g_free(metric);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(metric_t, metric_free)

static const char *skip_blanks(const char *at)
{
	return at + strspn(at, " \t");
}

static gsize name_length(const char *at)
{
	return strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:");
}

/* Reads a text in quotes, with the escapes \\, \" and \n; returns what is behind it, or NULL. */
static const char *read_quoted(const char *at, char **ret)
{
	g_autoptr(GString) value = g_string_new(NULL);

	if (*at++ != '"')
		return NULL;
	for (; *at && *at != '"'; at++) {
		if (*at == '\\' && at[1])
			at++;
		g_string_append_c(value, *at == 'n' && at[-1] == '\\' ? '\n' : *at);
	}
	if (*at != '"')
		return NULL;
	*ret = g_string_free(g_steal_pointer(&value), FALSE);
	return at + 1;
}

/* Reads labels up to "}"; returns what is behind it, or NULL. */
static const char *read_labels(const char *at, GPtrArray *labels)
{
	while (*(at = skip_blanks(at)) != '}') {
		const gsize length = name_length(at);
		char *value = NULL;
		char *name;

		if (length == 0)
			return NULL;
		name = g_strndup(at, length);
		g_ptr_array_add(labels, name);
		at = skip_blanks(at + length);
		at = *at == '=' ? read_quoted(skip_blanks(at + 1), &value) : NULL;
		g_ptr_array_add(labels, value);
		if (!at)
			return NULL;
		at = skip_blanks(at);
		if (*at == ',')
			at++;
		else if (*at != '}')
			return NULL;
	}
	return at + 1;
}

/* Reads a metric; *ret_rest is what is behind it. NULL: it is none. */
static struct metric *read_metric(const char *text, const char **ret_rest)
{
	g_autoptr(metric_t) metric = g_new0(struct metric, 1);
	const char *at = skip_blanks(text);
	const gsize length = name_length(at);

	metric->name = g_strndup(at, length);
	metric->labels = g_ptr_array_new_with_free_func(g_free);
	at = at + length;
	if (length > 0 && *skip_blanks(at) == '{')
		at = read_labels(skip_blanks(at) + 1, metric->labels);
	*ret_rest = at;
	return length > 0 && at ? g_steal_pointer(&metric) : NULL;
}

static bool has_label(const struct metric *metric, const char *name, const char *value)
{
	for (guint i = 0; i + 1 < metric->labels->len; i += 2)
		if (strcmp(metric->labels->pdata[i], name) == 0)
			return g_strcmp0(metric->labels->pdata[i + 1], value) == 0;
	return !*value; /* as for Prometheus, an absent label is an empty one */
}

static bool is_meant(const struct metric *wanted, const struct metric *metric)
{
	if (strcmp(wanted->name, metric->name) != 0)
		return false;
	for (guint i = 0; i + 1 < wanted->labels->len; i += 2)
		if (!has_label(metric, wanted->labels->pdata[i], wanted->labels->pdata[i + 1]))
			return false;
	return true;
}

static enum power_meter_error pick_metric(const struct config_meter *config, const char *text,
					  gsize length, double *ret, char **ret_reason)
{
	g_autofree char *bounded = g_strndup(text, length);
	g_auto(GStrv) lines = g_strsplit(bounded, "\n", -1);
	g_autoptr(GString) list = g_string_new(NULL);
	const char *rest;
	g_autoptr(metric_t) wanted = read_metric(config->metric, &rest);
	g_autofree char *value = NULL;
	guint count = 0;

	for (gsize i = 0; lines[i]; i++) {
		g_autoptr(metric_t) metric = read_metric(lines[i], &rest);
		g_autofree char *shown =
			metric && is_meant(wanted, metric) ? quote(lines[i]) : NULL;

		if (!shown)
			continue;
		if (count++ < SHOWN)
			g_string_append_printf(list, "%s%s", count > 1 ? ", " : "", shown);
		g_free(value);
		rest = skip_blanks(rest);
		value = g_strndup(rest, strcspn(rest, " \t\r")); /* a time may follow */
	}
	if (count > 1)
		return fail_several("metric", "add labels", count, list->str, ret_reason);
	if (count == 1)
		return read_text(config, value, ret, ret_reason);
	*ret_reason = g_strdup_printf("it has no metric %s", config->metric);
	return POWER_METER_ERROR_REJECTED;
}

bool meter_value_check(const struct config_meter *config, char **ret_reason)
{
	const char *rest = "";
	g_autoptr(GArray) steps = config->json ? read_path(config->json) : NULL;
	g_autoptr(metric_t) metric = config->metric ? read_metric(config->metric, &rest) : NULL;

	if (config->json && !steps)
		*ret_reason = g_strdup_printf("`json`: \"%s\" is no path; write one as "
					      "data.result[0].value[1]",
					      config->json);
	else if (config->metric && (!metric || *skip_blanks(rest)))
		*ret_reason = g_strdup_printf("`metric`: '%s' is none; write it as "
					      "name{label=\"value\"}",
					      config->metric);
	else
		return true;
	return false;
}

enum power_meter_error meter_value_pick(const struct config_meter *config, const char *text,
					gsize length, double *ret_number, char **ret_reason)
{
	static const char mark[] = "\xef\xbb\xbf"; /* of the byte order, in UTF-8 */
	const double scale = config->scale > 0 ? config->scale : 1;
	const gsize marked =
		length >= strlen(mark) && memcmp(text, mark, strlen(mark)) == 0 ? strlen(mark) : 0;
	g_autofree char *bounded = g_strndup(text + marked, length - marked);
	enum power_meter_error verdict;
	double number = 0;

	if (config->json)
		verdict = pick_json(config, text + marked, length - marked, &number, ret_reason);
	else if (config->metric)
		verdict = pick_metric(config, text + marked, length - marked, &number, ret_reason);
	else
		verdict = read_text(config, bounded, &number, ret_reason);
	if (verdict != POWER_METER_OK)
		return verdict;
	/* What devices with 16 or 32 bits say where they do not know. */
	if (config->value < CONFIG_METER_JOULES &&
	    (fabs(number - 65535) < 0.5 || fabs(number - 2147483647.0) < 0.5 ||
	     fabs(number - 4294967295.0) < 0.5)) {
		*ret_reason =
			g_strdup_printf("it says %.0f, which is all ones and no power", number);
		return POWER_METER_ERROR_GARBAGE;
	}
	*ret_number = number * scale * units[config->value].factor;
	return POWER_METER_OK;
}

/* Readings. */

void meter_value_init(struct meter_value *value, uint32_t count, const char *const *names)
{
	*value = (struct meter_value){.names = names};
	energy_steps_init(&value->steps, count);
}

void meter_value_clear(struct meter_value *value)
{
	energy_steps_clear(&value->steps);
}

static void end_power(struct power_meter *meter, const struct meter_value *value,
		      const double *numbers, const char *what)
{
	double sum_w = 0;

	for (uint32_t i = 0; i < value->steps.count; i++) {
		if (!(numbers[i] >= 0)) {
			power_meter_fail(meter, POWER_METER_ERROR_GARBAGE,
					 "%s: it reads %g W, which no machine draws", what,
					 numbers[i]);
			return;
		}
		sum_w += numbers[i];
	}
	/* What is less than half a milliwatt would be a reading of 0 W. */
	if (sum_w >= WATTS_LEAST && sum_w <= WATTS_TOP)
		power_meter_end(meter, llround(sum_w * 1e3));
	else
		power_meter_fail(meter,
				 sum_w < WATTS_LEAST ? POWER_METER_ERROR_NOT_ACTIVE
						     : POWER_METER_ERROR_GARBAGE,
				 "%s: it reads %g W, which no machine draws that is on", what,
				 sum_w);
}

static gboolean on_again(gpointer data)
{
	struct power_meter *meter = data;

	meter->timer_id = 0;
	meter->ops->read(meter);
	return G_SOURCE_REMOVE;
}

static void end_energy(struct power_meter *meter, struct meter_value *value, const double *numbers,
		       const char *what)
{
	const int64_t now_ns = platform_now_ns(meter->platform);
	const uint32_t count = value->steps.count;
	g_autofree uint64_t *now_uj = g_new0(uint64_t, count);
	g_autofree char *source = NULL;
	enum energy_steps_verdict verdict;
	int64_t mw;

	for (uint32_t i = 0; i < count; i++) {
		if (!(numbers[i] >= 0 && numbers[i] <= JOULES_TOP)) {
			power_meter_fail(meter, POWER_METER_ERROR_GARBAGE,
					 "%s: it counts %g J, which no machine has drawn", what,
					 numbers[i]);
			return;
		}
		now_uj[i] = (uint64_t)(numbers[i] * 1e6);
	}
	if (value->since_ns == 0)
		value->since_ns = now_ns;
	verdict = energy_steps_add(&value->steps, now_uj, now_ns, &mw);
	source = value->names && value->steps.part < count
			 ? g_strdup_printf("%s: %s", what, value->names[value->steps.part])
			 : g_strdup(what);
	if (verdict == ENERGY_STEPS_OK) {
		value->was_read = true;
		power_meter_end(meter, mw);
	} else if (verdict == ENERGY_STEPS_FIRST &&
		   clock_elapsed_s(now_ns, meter->deadline_ns) > 2 * AGAIN_MS / 1e3) {
		meter->timer_id = platform_after_ms(meter->platform, AGAIN_MS, on_again, meter);
	} else if (verdict == ENERGY_STEPS_FIRST || verdict == ENERGY_STEPS_STILL) {
		const bool is_new = !value->was_read &&
				    clock_elapsed_s(value->since_ns, now_ns) < FIRST_STEPS_S;

		power_meter_fail(
			meter, is_new ? POWER_METER_ERROR_NOT_YET : POWER_METER_ERROR_NOT_ACTIVE,
			"%s: its counter of energy %s: its watts are known from one step to "
			"the next",
			source, energy_steps_words(verdict));
	} else {
		power_meter_fail(meter, POWER_METER_ERROR_GARBAGE, "%s: its counter of energy %s",
				 source, energy_steps_words(verdict));
	}
}

void meter_value_end(struct power_meter *meter, struct meter_value *value, const double *numbers,
		     const char *what)
{
	if (meter->config->value < CONFIG_METER_JOULES)
		end_power(meter, value, numbers, what);
	else
		end_energy(meter, value, numbers, what);
}
