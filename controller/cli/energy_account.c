/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/cli/energy_account.h"

#include <inttypes.h>
#include <math.h>

#include "common/json.h"
#include "controller/cli/fields.h"

/* Microjoules per joule. */
#define UJ 1000000

const char *const energy_account_keys[] = {"user", "task",   "type", "cluster",
					   "host", "policy", "day",  NULL};

/* The parts of a host's energy, and their names in the table. */
static const struct {
	const char *key, *title, *name;
} parts[] = {
	{"tasks_uj", "TASKS J", "tasks"},
	{"idle_uj", "IDLE J", "idle"},
	{"management_uj", "MANAGEMENT J", "management"},
	{"unattributed_uj", "UNATTRIBUTED J", "unattributed"},
};

char *energy_account_joules(json_int_t uj)
{
	const json_int_t size = uj < 0 ? -uj : uj;

	return g_strdup_printf("%s%" PRId64 ".%06" PRId64, uj < 0 ? "-" : "", (int64_t)(size / UJ),
			       (int64_t)(size % UJ));
}

static json_int_t sum_over(const json_t *rows, const char *key)
{
	json_int_t sum = 0;
	const json_t *row;
	size_t i;

	json_array_foreach (rows, i, row)
		sum += field_integer(row, key);
	return sum;
}

static json_int_t parts_of(const json_t *row)
{
	json_int_t sum = 0;

	for (size_t i = 0; i < G_N_ELEMENTS(parts); i++)
		sum += field_integer(row, parts[i].key);
	return sum;
}

/* Sums by user, type and task contain only tasks. */
static bool is_of_all(const json_t *document)
{
	return json_object_get(json_array_get(json_object_get(document, "sums"), 0), "meter_uj");
}

/* Adds a text if `parts_uj`, the sum of the parts, is not the whole. */
static bool compare(GString *text, const char *what, const char *name, json_int_t parts_uj,
		    json_int_t whole_uj)
{
	g_autofree char *parts_j = energy_account_joules(parts_uj);
	g_autofree char *whole_j = energy_account_joules(whole_uj);
	g_autofree char *rest_j = energy_account_joules(whole_uj - parts_uj);

	if (parts_uj == whole_uj)
		return true;
	g_string_append_printf(text, "%s%s%s%s: the parts are %s J, the whole is %s J: %s J differ",
			       text->len ? "; " : "", what, *name ? " " : "", name, parts_j,
			       whole_j, rest_j);
	return false;
}

static bool check_hosts(const json_t *hosts, GString *text)
{
	bool good = true;
	const json_t *host;
	size_t i;

	json_array_foreach (hosts, i, host) {
		g_autofree char *name = field_line(host, "host");

		good &= compare(text, "host", name, parts_of(host),
				field_integer(host, "counted_uj"));
	}
	return good;
}

static bool check_sums(const json_t *document, const json_t *hosts, GString *text)
{
	const json_t *sums = json_object_get(document, "sums");
	bool good = compare(text, "the sums over tasks", "", sum_over(sums, "tasks_uj"),
			    sum_over(hosts, "tasks_uj"));
	const json_t *sum;
	size_t i;

	if (!is_of_all(document))
		return good;
	json_array_foreach (sums, i, sum) {
		g_autofree char *name = field_line(sum, field_text(document, "by") ?: "");

		good &= compare(text, "the sum of", name, parts_of(sum),
				field_integer(sum, "meter_uj"));
	}
	return compare(text, "all sums", "", sum_over(sums, "meter_uj"),
		       sum_over(hosts, "counted_uj")) &&
	       good;
}

bool energy_account_check(const json_t *document, char **ret_text)
{
	const json_t *hosts = json_object_get(document, "hosts");
	GString *text = g_string_new(NULL);
	bool good = check_hosts(hosts, text);

	good &= check_sums(document, hosts, text);
	if (good) {
		g_autofree char *all_j = energy_account_joules(sum_over(hosts, "counted_uj"));

		g_string_printf(text, "the sums equal the meters: %s J on %zu host%s", all_j,
				json_array_size(hosts), json_array_size(hosts) == 1 ? "" : "s");
	}
	*ret_text = g_string_free(text, FALSE);
	return good;
}

static void add_joules(struct table *table, json_int_t uj)
{
	g_autofree char *joules = energy_account_joules(uj);

	table_text(table, joules);
}

/* Adds all parts of a row and their sum. */
static void add_parts(struct table *table, const json_t *row)
{
	for (size_t i = 0; i < G_N_ELEMENTS(parts); i++)
		add_joules(table, field_integer(row, parts[i].key));
	add_joules(table, parts_of(row));
}

/* Begins a row at the end of the table: energy of any number of tasks, or of none. */
static void begin_total(struct table *table, const char *name)
{
	table_row(table);
	table_text(table, name);
	table_textf(table, "%s", "");
}

/* All hosts' parts: beside one another as those of the sums, or below the energy of tasks. */
static void add_totals(struct table *table, const json_t *hosts, bool of_all)
{
	g_autoptr(json_t) total = json_object();

	table_rule(table);
	for (size_t i = 0; i < G_N_ELEMENTS(parts); i++) {
		const json_int_t uj = sum_over(hosts, parts[i].key);

		json_object_set_new(total, parts[i].key, json_integer(uj));
		if (of_all)
			continue;
		begin_total(table, parts[i].name);
		add_joules(table, uj);
	}
	begin_total(table, of_all ? "all" : "all meters");
	if (of_all)
		add_parts(table, total);
	else
		add_joules(table, sum_over(hosts, "counted_uj"));
}

struct table *energy_account_table(const json_t *document)
{
	const char *by = field_text(document, "by") ?: "";
	const bool of_all = is_of_all(document);
	g_autofree char *title = g_ascii_strup(by, -1);
	struct table *table = table_new();
	const json_t *sum;
	size_t i;

	table_column(table, title, TABLE_LEFT);
	table_column(table, "TASKS", TABLE_RIGHT);
	for (size_t k = 0; of_all && k < G_N_ELEMENTS(parts); k++)
		table_column(table, parts[k].title, TABLE_RIGHT);
	table_column(table, of_all ? "METER J" : "ENERGY J", TABLE_RIGHT);
	json_array_foreach (json_object_get(document, "sums"), i, sum) {
		g_autofree char *name = field_line(sum, by);

		table_row(table);
		table_text(table, name);
		table_integer(table, field_integer(sum, "tasks"));
		if (of_all)
			add_parts(table, sum);
		else
			add_joules(table, field_integer(sum, "tasks_uj"));
	}
	add_totals(table, json_object_get(document, "hosts"), of_all);
	return table;
}

/* Adds the idle watts, and the hosts whose management energy is not known. */
static void note_baselines(const json_t *hosts, GString *text)
{
	bool vms_alone = false;
	const json_t *host;
	size_t i;

	json_array_foreach (hosts, i, host) {
		g_autofree char *name = field_line(host, "host");
		const double idle_w = field_number(host, "idle_w");

		vms_alone |= json_is_true(json_object_get(host, "management_of_vms_alone"));
		g_string_append_printf(text, "%s%s %.1f W", i ? ", " : "idle: ", name,
				       isfinite(idle_w) ? idle_w : 0);
	}
	if (i > 0)
		g_string_append(text, "\n");
	if (vms_alone)
		g_string_append(
			text,
			"management: of VMs without a task alone; of emulated blades it is not "
			"known what else used their CPUs, and that counts as 0\n");
}

/* Adds a line about watts that come from no meter; host names only where the hosts differ. */
static void note_watts(const json_t *hosts, const char *from, const char *words, GString *text)
{
	g_autoptr(GString) names = g_string_new(NULL);
	const json_t *host;
	size_t count = 0;
	size_t i;

	json_array_foreach (hosts, i, host) {
		g_autofree char *name = field_line(host, "host");

		if (g_strcmp0(field_text(host, "watts_from"), from) != 0)
			continue;
		g_string_append_printf(names, "%s%s", count++ ? ", " : " of ", name);
	}
	if (count > 0)
		g_string_append_printf(text, "watts%s: %s\n",
				       count == json_array_size(hosts) ? "" : names->str, words);
}

char *energy_account_notes(const json_t *document)
{
	const json_t *hosts = json_object_get(document, "hosts");
	const json_int_t unserved_uj = sum_over(hosts, "unserved_uj");
	GString *text = g_string_new(NULL);

	note_watts(hosts, "model", "by a model fed by CPU time, not by a meter", text);
	note_watts(
		hosts, "simulation",
		"simulated, by the estimates of what runs above a constant idle; nothing was metered",
		text);
	note_baselines(hosts, text);
	if (unserved_uj > 0) {
		g_autofree char *unserved_j = energy_account_joules(unserved_uj);

		g_string_append_printf(text,
				       "unattributed: %s J of it were used while no service ran\n",
				       unserved_j);
	}
	return g_string_free(text, text->len == 0);
}
