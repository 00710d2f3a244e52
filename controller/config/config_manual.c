/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/config/config_manual.h"

#include <string.h>

#include "common/config/config_root.h"
#include "controller/config/config_controller.h"

#define COLUMNS_MAX 100 /* columns of the page's source */

static const char page_head[] =
	".\\\" SPDX-License-Identifier: GPL-3.0-or-later\n"
	".\\\" `virtbed config keys --man` prints this page from the rows of the keys; a test compares both.\n"
	".TH VIRTBED.YAML 5 \"\" \"virtbed\" \"File Formats\"\n"
	".SH NAME\n"
	"virtbed.yaml \\- configuration of virtbed: clusters, task types, estimates, workload, experiment, service\n"
	".SH SYNOPSIS\n"
	".I /etc/virtbed/virtbed.yaml\n"
	".SH DESCRIPTION\n"
	"One YAML file tells \\fBvirtbed\\fR, the controller and the local schedulers what clusters there are, what runs on\n"
	"them and how it is scheduled. The systemd units read /etc/virtbed/virtbed.yaml; every command takes any other\n"
	"name. The file is at most 4 MiB, holds one document, and has no anchors, aliases or tags.\n"
	".PP\n"
	"\\fBvirtbed config check\\fR FILE says whether a file is good, else in one line what is wrong where and what to\n"
	"do; with \\-\\-live it tries every host, meter and node. \\fBvirtbed config dump\\fR FILE prints the file with every\n"
	"default filled in, \\fBvirtbed config keys\\fR lists all keys. An unknown key is refused with those that are known there, and so is a value of another kind.\n"
	"Units are in the names of keys, values are plain numbers: \\fB_s\\fR seconds, \\fB_j\\fR joules, \\fB_w\\fR watts,\n"
	"\\fB_mib\\fR MiB, \\fB_mhz\\fR MHz. Exit status 2: the file is bad.\n"
	".PP\n"
	"Each key below is followed by the kind of its value, by \\fBneeded\\fR or its default if that is not nothing or 0,\n"
	"and by the range of a number. Both ends are in the range, but for one with a parenthesis: (0, 1] is above 0 and at most 1. Sections and lists that are not needed may be left out as a whole; what is needed in them is so\n"
	"where they are given. A name is 1 to 40 letters, digits, \\fB.\\fR, \\fB_\\fR and \\fB\\-\\fR, and does not begin with\n"
	"\\fB.\\fR or \\fB\\-\\fR. Files that are named by a relative path are looked for from where the program was started,\n"
	"unless said otherwise.\n"
	".PP\n"
	"A running service takes changes of some keys of the section \\fBservice\\fR on SIGHUP, see\n"
	"\\fBvirtbed\\-controller\\fR(8); everything else needs a restart.\n"
	".SH KEYS\n";

static const char page_tail[] =
	".SH FILES\n"
	".TP\n"
	".B /etc/virtbed/virtbed.yaml\n"
	"what the systemd units read. The directory is open to root and the group \\fBvirtbed\\fR alone; install it with\n"
	"mode 0640.\n"
	".TP\n"
	".B estimates.yaml\n"
	"\\fBvirtbed profile\\fR \\-\\-out writes it and \\-\\-estimates reads it: the lists \\fBestimates\\fR, \\fBunmeasured\\fR\n"
	"and \\fBoverheads\\fR alone.\n"
	".TP\n"
	".B pet.yaml\n"
	"\\fBvirtbed profile\\fR \\-\\-pet writes it and \\fBenvironment.pruning.pet\\fR reads it: the list \\fBentries\\fR\n"
	"alone.\n"
	".TP\n"
	".B password_file, key\n"
	"secrets: mode 0600, of the user that the daemon runs as, \\fBvirtbed\\fR under systemd. No key takes a secret\n"
	"itself.\n"
	".TP\n"
	".B /usr/share/doc/virtbed/examples\n"
	"configurations to begin with.\n"
	".SH EXAMPLE\n"
	"A service on one machine with KVM, whose meter is its BMC:\n"
	".PP\n"
	".nf\n"
	".RS 4\n"
	"name: my\\-lab\n"
	"clusters:\n"
	"  \\- name: c1\n"
	"    nodes: 4\n"
	"    cores: 2\n"
	"    memory_mib: 1024\n"
	"    hosts:\n"
	"      \\- uri: qemu:///system\n"
	"        meter: {kind: ipmi, address: blade1\\-bmc, user: virtbed, password_file: /etc/virtbed/blade1.password}\n"
	"types:\n"
	"  \\- {name: IS.2, benchmark: is, class: A, cores: 2, memory_mib: 512, share: 1}\n"
	"  \\- {name: any.2, benchmark: script, cores: 2, memory_mib: 512, share: 0, time_s: 3600}\n"
	"workload: {arrival_mean_s: 60, duration_s: 3600, utility_max: [1]}\n"
	"experiment: {policies: [easy], limits: [1], mapping_interval_s: 5, duration_s: 3600}\n"
	"service: {policy: easy, group: virtbed\\-users}\n"
	".RE\n"
	".fi\n"
	".SH SEE ALSO\n"
	".BR virtbed (1),\n"
	".BR virtbed\\-controller (8),\n"
	".BR virtbed\\-local\\-sched (8)\n"
	".PP\n"
	"how\\-to/service.md, how\\-to/study.md, how\\-to/pruning.md, how\\-to/sharing.md, reference/meters.md,\n"
	"reference/caps.md and explanation/suspend.md in /usr/share/doc/virtbed/docs\n";

/* What the ends of names say (docs: units are in the names of keys). */
static const struct {
	const char *suffix;
	const char *unit;
} units[] = {
	{"_per_s", "1/s"}, {"_s", "s"}, {"_j", "J"}, {"_w", "W"}, {"_mib", "MiB"}, {"_mhz", "MHz"}, {"_days", "days"},
};

static const char *unit_of(const struct config_key *key)
{
	for (gsize i = 0; i < G_N_ELEMENTS(units); i++)
		if (key->kind <= CONFIG_KIND_NUMBER && g_str_has_suffix(key->name, units[i].suffix))
			return units[i].unit;
	return NULL;
}

/* "needed, 1 to 64", "default 2, (0, 5]"; the caller frees. */
static char *traits_of(const struct config_key *key)
{
	g_autofree char *fallback = config_key_fallback(key);
	struct config_key shown = *key;
	g_autofree char *range = NULL;
	GString *text = g_string_new(key->needed ? "needed" : NULL);

	/* A 0 that is refused is outside the range, although its errors name a range from 0. */
	shown.above_min |= key->kind <= CONFIG_KIND_NUMBER && key->zero == CONFIG_ZERO_IS_REFUSED && !(key->min > 0);
	range = config_key_range(&shown);
	if (fallback)
		g_string_append_printf(text, "%sdefault %s", text->len ? ", " : "", fallback);
	if (range)
		g_string_append_printf(text, "%s%s", text->len ? ", " : "", range);
	return g_string_free(text, FALSE);
}

/* Lines of words, `x` in bold; a line does not begin with what troff takes for a request. */
static void put_text(GString *page, const char *help)
{
	g_auto(GStrv) words = g_strsplit(help, " ", -1);
	bool bold = false;
	size_t column = 0;

	for (guint i = 0; words[i]; i++) {
		const size_t length = strlen(words[i]);

		if (column > 0 && column + 1 + length > COLUMNS_MAX && !strchr(".'", words[i][0])) {
			g_string_append_c(page, '\n');
			column = 0;
		} else if (column > 0) {
			g_string_append_c(page, ' ');
			column++;
		}
		for (const char *c = words[i]; *c; c++) {
			if (*c == '`')
				g_string_append(page, (bold = !bold) ? "\\fB" : "\\fR");
			else if (*c == '-' && (c[1] == '-' || (c > words[i] && c[-1] == '-')))
				g_string_append(page, "\\-");
			else
				g_string_append_c(page, *c);
		}
		column += length;
	}
	g_string_append_c(page, '\n');
}

/* The path of a key, or of the `rows` below it; the caller frees. */
static char *path_of(const char *path, const struct config_key *key, bool rows)
{
	return g_strdup_printf("%s%s%s%s", path, *path ? "." : "", key->name,
			       rows && key->kind == CONFIG_KIND_LIST ? "[]" : "");
}

/* A section, and then those below it. */
static void put_section(GString *page, const char *path, const struct config_section *section)
{
	g_string_append_printf(page, ".SS %s\n", *path ? path : "The file");
	if (section->help)
		put_text(page, section->help);
	for (const struct config_key *key = section->keys; key->name; key++) {
		g_autofree char *traits = traits_of(key);

		g_string_append_printf(page, ".TP\n.BR %s \" (%s%s%s)\"\n", key->name, config_kind_name(key->kind),
				       *traits ? ", " : "", traits);
		put_text(page, key->help);
	}
	for (const struct config_key *key = section->keys; key->name; key++) {
		g_autofree char *below = path_of(path, key, true);

		if (key->section)
			put_section(page, below, key->section);
	}
}

char *config_manual_page(void)
{
	GString *page = g_string_new(page_head);
	struct config_root root;

	config_root_init(&config_controller, &root);
	put_section(page, "", &root.section);
	g_string_append(page, page_tail);
	return g_string_free(page, FALSE);
}

static void each_of(const char *path, const struct config_section *section,
		    void (*each)(const struct config_manual_key *key, void *data), void *data)
{
	for (const struct config_key *key = section->keys; key->name; key++) {
		g_autofree char *words = key->kind == CONFIG_KIND_WORD ? g_strjoinv(", ", (char **)key->words) : NULL;
		g_autofree char *traits = traits_of(key);
		g_autofree char *whole = g_strdup_printf("%s%s%s", traits, words && *traits ? ": " : "", words ?: "");
		g_autofree char *name = path_of(path, key, false);
		g_autofree char *below = path_of(path, key, true);
		const struct config_manual_key entry = {
			name, config_kind_name(key->kind), whole, unit_of(key), key->help,
		};

		each(&entry, data);
		if (key->section)
			each_of(below, key->section, each, data);
	}
}

void config_manual_each(void (*each)(const struct config_manual_key *key, void *data), void *data)
{
	struct config_root root;

	config_root_init(&config_controller, &root);
	each_of("", &root.section, each, data);
}
