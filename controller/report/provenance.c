/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/provenance.h"

#include <string.h>

#include "common/machine_probe.h"
#include "controller/config/config_holes.h"

struct provenance *provenance_of_store(struct store *store)
{
	struct provenance *origin = g_new0(struct provenance, 1);

	origin->virt_type = store_get_meta(store, "virt_type");
	origin->cpu_cap = store_get_meta(store, "cpu_cap");
	origin->modelled_watts = store_get_meta(store, "modelled_watts");
	origin->caps_effective = store_get_meta(store, "caps_effective");
	origin->meter = store_get_meta(store, "meter");
	origin->steady_lab = store_get_meta(store, "steady_lab");
	origin->unmeasured = store_get_meta(store, "unmeasured");
	origin->speed_changes = store_get_meta(store, "speed_changes");
	origin->probe = store_get_meta(store, "probe");
	return origin;
}

struct provenance *provenance_of_file(const char *path)
{
	g_autofree char *dir = g_path_get_dirname(path);
	g_autoptr(store_t) store = store_open(dir, false, NULL);

	return store ? provenance_of_store(store) : g_new0(struct provenance, 1);
}

void provenance_free(struct provenance *origin)
{
	if (!origin)
		return;
	g_free(origin->virt_type);
	g_free(origin->cpu_cap);
	g_free(origin->modelled_watts);
	g_free(origin->caps_effective);
	g_free(origin->meter);
	g_free(origin->steady_lab);
	g_free(origin->unmeasured);
	g_free(origin->speed_changes);
	g_free(origin->probe);
	g_free(origin);
}

bool provenance_put(const struct provenance *origin, struct store *store, GError **error)
{
	return store_set_meta(store, "virt_type", origin->virt_type, error) &&
	       store_set_meta(store, "cpu_cap", origin->cpu_cap, error) &&
	       store_set_meta(store, "modelled_watts", origin->modelled_watts, error) &&
	       store_set_meta(store, "caps_effective", origin->caps_effective, error) &&
	       store_set_meta(store, "meter", origin->meter, error) &&
	       store_set_meta(store, "steady_lab", origin->steady_lab, error) &&
	       store_set_meta(store, "unmeasured", origin->unmeasured, error) &&
	       store_set_meta(store, "probe", origin->probe, error);
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
			g_string_append_printf(
				all, "%s%.*s", line == lines ? "" : ", ",
				(int)(reason ? reason - *line : (ptrdiff_t)strlen(*line)), *line);
		else if (reason)
			g_ptr_array_add(
				notes, g_strdup_printf("%s of %.*s, where none is placed%s",
						       measured ? "no estimate" : "estimates: none",
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

GPtrArray *provenance_notes(const struct provenance *origin, bool measured, bool brief)
{
	GPtrArray *notes = g_ptr_array_new_with_free_func(g_free);

	if (g_strcmp0(origin->virt_type, "qemu") == 0)
		add_note(notes, measured,
		    "VMs ran under TCG, QEMU's emulator: times are not those of KVM");
	if (g_strcmp0(origin->virt_type, "simulated") == 0)
		add_note(notes, measured,
		    "clusters were simulated behind their schedulers' API: no VM ran, nothing was "
		    "metered");
	if (g_strcmp0(origin->virt_type, "mixed") == 0)
		add_note(notes, measured,
			 "VMs did not all run alike: under KVM, TCG (QEMU's emulator), or not at "
			 "all");
	if (g_strcmp0(origin->cpu_cap, "quota") == 0)
		add_note(notes, measured,
		    "P-states are CPU quotas: caps on throughput, not frequencies");
	if (g_strcmp0(origin->cpu_cap, "mixed") == 0)
		add_note(notes, measured,
		    "some P-states are CPU quotas: caps on throughput, not frequencies");
	if (g_strcmp0(origin->steady_lab, "true") == 0)
		add_note(notes, measured,
		    "quotas and modelled watts followed this machine's own speed (lab.steady)");
	if (g_strcmp0(origin->steady_lab, "true") == 0 &&
	    (g_strcmp0(origin->virt_type, "kvm") == 0 ||
	     g_strcmp0(origin->virt_type, "mixed") == 0))
		add_note(notes, measured,
		    "lab.steady measures QEMU's emulator: what it did to VMs under KVM is WRONG");
	add_fit(notes, measured, origin->probe);
	if (measured)
		add_speed_changes(notes, origin->speed_changes);
	if (g_strcmp0(origin->caps_effective, "no") == 0)
		add_note(notes, measured,
		    "caps of CPU frequency or idle states were NOT EFFECTIVE on a host");
	if (g_strcmp0(origin->modelled_watts, "true") == 0)
		add_note(notes, measured, words_of_watts(origin));
	if (g_strcmp0(origin->meter, "rapl") == 0)
		add_note(notes, measured,
			 "watts are those of CPU packages (RAPL), not of whole hosts");
	add_holes(notes, origin, measured, brief);
	return notes;
}
