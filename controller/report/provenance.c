/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/provenance.h"

#include <float.h>
#include <string.h>

#include "common/machine_probe.h"
#include "common/read_number.h"
#include "common/record/record.h"
#include "controller/config/config_holes.h"

/* Keys of the store's meta. */
static const struct record_field fields[] = {
	{RECORD_FIELD_TEXT(provenance, virt_type)},
	{RECORD_FIELD_TEXT(provenance, cpu_cap)},
	{RECORD_FIELD_TEXT(provenance, modelled_watts)},
	{RECORD_FIELD_TEXT(provenance, caps_effective)},
	{RECORD_FIELD_TEXT(provenance, meter)},
	{RECORD_FIELD_TEXT(provenance, meter_mean_s)},
	{RECORD_FIELD_TEXT(provenance, meter_mean_unknown)},
	{RECORD_FIELD_TEXT(provenance, steady_lab)},
	{RECORD_FIELD_TEXT(provenance, unmeasured)},
	{RECORD_FIELD_TEXT(provenance, probe)},
	{RECORD_FIELD_TEXT(provenance, speed_changes)}, /* not of estimates */
	{NULL},
};
static const struct record record = {.size = sizeof(struct provenance), .fields = fields};

struct provenance *provenance_of_store(struct store *store)
{
	struct provenance *origin = g_new0(struct provenance, 1);

	for (const struct record_field *field = fields; field->name; field++)
		*(char **)record_place(field, origin) = store_get_meta(store, field->name);
	return origin;
}

struct provenance *provenance_of_file(const char *path)
{
	g_autofree char *dir = g_path_get_dirname(path);
	g_autoptr(store_t) store = store_open(dir, false, NULL);

	return store ? provenance_of_store(store) : g_new0(struct provenance, 1);
}

RECORD_DEFINE_FREE(provenance, record)

bool provenance_put(const struct provenance *origin, struct store *store, GError **error)
{
	for (const struct record_field *field = fields; field->name; field++)
		if (field->offset != offsetof(struct provenance, speed_changes) &&
		    !store_set_meta(store, field->name, *(char *const *)record_place(field, origin),
				    error))
			return false;
	return true;
}

static void add_note(GPtrArray *notes, bool measured, const char *text)
{
	g_ptr_array_add(notes, g_strconcat(measured ? "" : "estimates: ", text, NULL));
}

void provenance_set_holes(struct provenance *origin, const struct config *config)
{
	g_free(origin->unmeasured);
	origin->unmeasured = config_holes(config, true);
}

/* Adds a line for each hole; `brief`: a single line with the text before the reasons. */
static void add_holes(GPtrArray *notes, const struct provenance *origin, bool measured, bool brief)
{
	g_auto(GStrv) lines = g_strsplit(origin->unmeasured ?: "", "\n", -1);
	g_autoptr(GString) all = g_string_new("none of ");

	for (char **line = lines; *line; line++) {
		const char *reason = strstr(*line, ": ");

		if (brief)
			g_string_append_printf(all, "%s%.*s", line == lines ? "" : ", ",
					       (int)(reason ? reason - *line
							    : (ptrdiff_t)strlen(*line)),
					       *line);
		else if (reason)
			g_ptr_array_add(notes,
					g_strdup_printf("%s of %.*s, where none is placed%s",
							measured ? "no estimate"
								 : "estimates: none",
							(int)(reason - *line), *line, reason));
	}
	if (brief && *lines)
		g_ptr_array_add(notes, g_strconcat("estimates: ", all->str, NULL));
}

static void add_fit(GPtrArray *notes, bool measured, const char *document)
{
	g_autoptr(machine_probe_t) probe =
		document ? machine_probe_parse(document, strlen(document), "probe", NULL) : NULL;
	g_autofree char *had = probe ? machine_probe_describe(probe) : NULL;
	g_autofree char *text = NULL;

	if (!probe)
		return;
	text = g_strdup_printf("quotas and repetitions were fitted to this machine (lab.fit): %s",
			       had);
	add_note(notes, measured, text);
}

/* Adds the changes of speed during runs; estimates have none. */
static void add_speed_changes(GPtrArray *notes, const char *changes)
{
	g_auto(GStrv) lines = g_strsplit(changes ? changes : "", "\n", -1);

	for (gsize i = 0; lines[i]; i++)
		add_note(notes, true, lines[i]);
}

/* The text about watts that no meter measured. */
static const char *words_of_watts(const struct provenance *origin)
{
	if (g_strcmp0(origin->meter, "simulated") == 0)
		return "watts are simulated: what the estimates of tasks say, above a constant "
		       "idle";
	if (g_strcmp0(origin->meter, "mixed") == 0 && g_strcmp0(origin->virt_type, "mixed") == 0)
		return "watts of some clusters come from a model fed by CPU time, or are simulated";
	return "watts come from a model fed by CPU time, not from a meter";
}

char *provenance_words_of_mean(const char *meter_mean_s, const char *meter_mean_unknown)
{
	const bool unknown = g_strcmp0(meter_mean_unknown, "true") == 0;
	double mean_s;

	if (read_number(meter_mean_s, CONFIG_METER_MEAN_NOTED_S, DBL_MAX, &mean_s))
		return g_strdup_printf("watts are means over up to %g s%s: changes show late",
				       mean_s,
				       unknown ? ", some over a time that is not known" : "");
	return unknown ? g_strdup(
				 "watts are means over a time that is not known: changes show late")
		       : NULL;
}

/* Adds a text where a fact has a value. */
static void note_where(GPtrArray *notes, bool measured, const char *fact, const char *value,
		       const char *text)
{
	if (g_strcmp0(fact, value) == 0)
		add_note(notes, measured, text);
}

GPtrArray *provenance_notes(const struct provenance *origin, bool measured, bool brief)
{
	GPtrArray *notes = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *mean =
		provenance_words_of_mean(origin->meter_mean_s, origin->meter_mean_unknown);

	note_where(notes, measured, origin->virt_type, "qemu",
		   "VMs ran under TCG, QEMU's emulator: times are not those of KVM");
	note_where(notes, measured, origin->virt_type, "simulated",
		   "clusters were simulated behind their schedulers' API: no VM ran, nothing was "
		   "metered");
	note_where(notes, measured, origin->virt_type, "mixed",
		   "VMs did not all run alike: under KVM, TCG (QEMU's emulator), or not at all");
	note_where(notes, measured, origin->cpu_cap, "quota",
		   "P-states are CPU quotas: caps on throughput, not frequencies");
	note_where(notes, measured, origin->cpu_cap, "mixed",
		   "some P-states are CPU quotas: caps on throughput, not frequencies");
	note_where(notes, measured, origin->steady_lab, "true",
		   "quotas and modelled watts followed this machine's own speed (lab.steady)");
	if (g_strcmp0(origin->steady_lab, "true") == 0 &&
	    (g_strcmp0(origin->virt_type, "kvm") == 0 ||
	     g_strcmp0(origin->virt_type, "mixed") == 0))
		add_note(notes, measured,
			 "lab.steady measures QEMU's emulator: what it did to VMs under KVM is "
			 "WRONG");
	add_fit(notes, measured, origin->probe);
	if (measured)
		add_speed_changes(notes, origin->speed_changes);
	note_where(notes, measured, origin->caps_effective, "no",
		   "caps of CPU frequency or idle states were NOT EFFECTIVE on a host");
	note_where(notes, measured, origin->modelled_watts, "true", words_of_watts(origin));
	note_where(notes, measured, origin->meter, "rapl",
		   "watts are those of CPU packages (RAPL), not of whole hosts");
	note_where(notes, measured, origin->meter, "amm",
		   "watts of a host are what a management module allots to its bay (AMM), which "
		   "need not be measured");
	if (mean)
		add_note(notes, measured, mean);
	add_holes(notes, origin, measured, brief);
	return notes;
}
