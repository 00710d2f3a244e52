/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/supervise/run_check_rows.h"

#include <string.h>

static const char *const result_names[] = {"works", "note", "FAILED", NULL};

static const struct record_field row_fields[] = {
	{RECORD_FIELD_TEXT(run_check_row, cluster)},
	{RECORD_FIELD_TEXT(run_check_row, host)},
	{RECORD_FIELD_TEXT(run_check_row, what)},
	{RECORD_FIELD_WORD(run_check_row, result, result_names)},
	{.name = "found", .offset = offsetof(struct run_check_row, text), .type = RECORD_TEXT},
	{RECORD_FIELD_TEXT(run_check_row, cure), .null = RECORD_NULL_POINTER},
	{NULL},
};

RECORD_DEFINE_FREE_OF(free_row, run_check_row_record)

const struct record run_check_row_record = {.size = sizeof(struct run_check_row),
					    .fields = row_fields,
					    .free = free_row};

GPtrArray *run_check_rows_new(void)
{
	return record_list_new(&run_check_row_record);
}

void run_check_add(GPtrArray *rows, const char *cluster, const char *host, const char *what,
		   enum run_check_result result, const char *cure, const char *format, ...)
{
	struct run_check_row *row = g_new0(struct run_check_row, 1);
	va_list arguments;

	row->cluster = g_strdup(cluster);
	row->host = g_strdup(host);
	row->what = g_strdup(what);
	row->result = result;
	va_start(arguments, format);
	row->text = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	row->cure = g_strdup(cure);
	g_ptr_array_add(rows, row);
}

const char *run_check_result_name(enum run_check_result result)
{
	return result_names[result];
}

bool run_check_good(const GPtrArray *rows)
{
	for (guint i = 0; i < rows->len; i++)
		if (((const struct run_check_row *)rows->pdata[i])->result == RUN_CHECK_FAILED)
			return false;
	return true;
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* Hosts. */

/* The reason that a node of the host gives for being down, or NULL. */
static const char *down_reason(const struct run_check_answers *answers, const char *host)
{
	size_t i;
	json_t *node;

	json_array_foreach (json_object_get(answers->nodes, "nodes"), i, node)
		if ((!host || strcmp(text_of(node, "host"), host) == 0) &&
		    strcmp(text_of(node, "state"), "ready") != 0 &&
		    strcmp(text_of(node, "state"), "busy") != 0 && *text_of(node, "reason"))
			return text_of(node, "reason");
	return NULL;
}

static void add_host(GPtrArray *rows, const struct run_check_answers *answers,
		     const struct config_host *host)
{
	const json_t *hosts = json_object_get(answers->capabilities, "hosts");
	const json_t *facts = json_object_get(hosts, host->name);
	const char *libvirt = text_of(facts, "libvirt");
	const char *qemu = text_of(facts, "qemu");
	const int cpus = (int)json_integer_value(json_object_get(facts, "cpus"));
	const char *reason = down_reason(answers, host->name);
	g_autofree char *cure = NULL;

	/* Local schedulers of older versions do not report facts of their hosts. */
	if (!hosts)
		return;
	if (json_is_object(facts)) {
		run_check_add(rows, answers->cluster->name, host->name, "host", RUN_CHECK_WORKS,
			      NULL, "%s, %d CPU%s, %d MiB%s%s%s%s", text_of(facts, "cpu"), cpus,
			      cpus == 1 ? "" : "s",
			      (int)json_integer_value(json_object_get(facts, "memory_mib")),
			      *libvirt ? ", libvirt " : "", libvirt, *qemu ? ", QEMU " : "", qemu);
		return;
	}
	cure = g_strdup_printf("see that \"virsh -c '%s' version\" answers here: libvirtd runs "
			       "there, this user may use it, and nothing asks for a password",
			       host->uri ? host->uri : "URI");
	run_check_add(rows, answers->cluster->name, host->name, "host", RUN_CHECK_FAILED, cure,
		      "%s was not reached%s%s", host->uri ? host->uri : "it", reason ? ": " : "",
		      reason ? reason : "");
}

/* Virtualization and caps. */

static void add_virt(GPtrArray *rows, const struct run_check_answers *answers)
{
	const char *type = text_of(answers->capabilities, "virt_type");
	const char *reason = text_of(answers->capabilities, "virt_reason");
	enum run_check_result result = RUN_CHECK_NOTE;
	const char *cure = "VMs run under QEMU's emulator: times are not those of KVM. On real "
			   "hosts: switch virtualization on in the firmware, load kvm_intel or "
			   "kvm_amd";

	if (!*reason)
		return;
	if (strcmp(type, "kvm") == 0 && answers->steady) {
		cure = "lab.steady follows the speed of QEMU's emulator, which is not that of "
		       "these VMs: leave it out";
	} else if (strcmp(type, "kvm") == 0) {
		result = RUN_CHECK_WORKS;
		cure = NULL;
	} else if (strcmp(type, "unknown") == 0) {
		result = RUN_CHECK_FAILED;
		cure = "no host got as far as that: see the rows of its hosts";
	}
	run_check_add(rows, answers->cluster->name, "", "KVM", result, cure, "%s: %s", type,
		      reason);
}

static void add_cap(GPtrArray *rows, const struct run_check_answers *answers)
{
	const struct config_cluster *cluster = answers->cluster;
	const char *cap = text_of(answers->capabilities, "cpu_cap");
	const double fraction =
		json_number_value(json_object_get(answers->capabilities, "cpu_cap_fraction"));
	const bool quota = strcmp(cap, "quota") == 0;

	if (!answers->capabilities)
		return;
	if (cluster->max_mhz == 0)
		run_check_add(rows, cluster->name, "", "cap", RUN_CHECK_WORKS, NULL,
			      "none asked for");
	else if (strcmp(cap, "none") == 0)
		run_check_add(rows, cluster->name, "", "cap", RUN_CHECK_FAILED,
			      "start the cluster's local scheduler on the host itself, or leave "
			      "max_mhz out",
			      "max_mhz is asked for and nothing enforces it");
	else
		run_check_add(rows, cluster->name, "", "cap",
			      quota ? RUN_CHECK_NOTE : RUN_CHECK_WORKS,
			      quota ? "a CPU quota caps throughput, not frequency" : NULL,
			      "%s, %.3g of the base frequency", cap, fraction);
}

/* Adds a cap of a host's CPUs, if it has no effect or its setting is not the one asked for. */
static void add_host_cap(GPtrArray *rows, const char *cluster, const char *host, const json_t *cap)
{
	const char *knob = text_of(cap, "knob");
	const char *requested = text_of(cap, "requested");
	const char *set = text_of(cap, "set");
	const char *effective = text_of(cap, "effective");
	const char *reason = text_of(cap, "reason");

	if (strcmp(effective, "no") == 0)
		run_check_add(rows, cluster, host, "cap", RUN_CHECK_NOTE,
			      "the headings of all results will say so; docs/reference/caps.md",
			      "%s at %s is not effective: %s", knob, requested, reason);
	else if (strcmp(knob, "frequency") == 0 && strcmp(effective, "emulated") != 0 && *set &&
		 strcmp(set, requested) != 0)
		run_check_add(rows, cluster, host, "cap", RUN_CHECK_NOTE,
			      "the CPUs have no such frequency; docs/reference/caps.md",
			      "%s is %s, not %s%s%s", knob, set, requested, *reason ? ": " : "",
			      reason);
}

/* The caps of a host's CPUs: every node of the host reports the same. */
static const json_t *caps_of(const struct run_check_answers *answers, const char *host)
{
	const json_t *caps = NULL;
	size_t i;
	json_t *node;

	json_array_foreach (json_object_get(answers->nodes, "nodes"), i, node)
		if (strcmp(text_of(node, "host"), host) == 0)
			caps = json_object_get(node, "caps");
	return caps;
}

/* Adds the caps of a host's CPUs, whether they were set or not. */
static void add_host_caps(GPtrArray *rows, const struct run_check_answers *answers,
			  const struct config_host *host)
{
	size_t i;
	json_t *one;

	json_array_foreach (caps_of(answers, host->name), i, one)
		add_host_cap(rows, answers->cluster->name, host->name, one);
}

/* Nodes. */

static uint32_t ready_nodes(const struct run_check_answers *answers)
{
	uint32_t ready = 0;
	size_t i;
	json_t *node;

	json_array_foreach (json_object_get(answers->nodes, "nodes"), i, node)
		ready += strcmp(text_of(node, "state"), "ready") == 0 ||
			 strcmp(text_of(node, "state"), "busy") == 0;
	return ready;
}

static void add_nodes(GPtrArray *rows, const struct run_check_answers *answers)
{
	const struct config_cluster *cluster = answers->cluster;
	uint32_t ready = ready_nodes(answers);
	const bool all = ready >= cluster->nodes;
	const char *reason = all ? NULL : down_reason(answers, NULL);

	if (!answers->nodes)
		return;
	run_check_add(rows, cluster->name, "", "nodes", all ? RUN_CHECK_WORKS : RUN_CHECK_FAILED,
		      all ? NULL
			  : "see /var/log/libvirt/qemu on the host; is there room for all VMs' "
			    "memory, and a storage pool and bridge as docs/how-to/real-blades.md "
			    "says?",
		      "%u of %u booted with image, agent and swap%s%s", ready, cluster->nodes,
		      reason ? ": " : "", reason ? reason : "");
}

/* Meters. */

static const json_t *energy_of(const struct run_check_answers *answers, const char *host)
{
	size_t i;
	json_t *one;

	json_array_foreach (json_object_get(answers->energy, "hosts"), i, one)
		if (strcmp(text_of(one, "host"), host) == 0)
			return one;
	return NULL;
}

/* Why a host's meter gives no reading: its last words, or those of when it was lost. */
static char *lost_reason(const struct run_check_answers *answers, const char *host)
{
	const json_t *energy = energy_of(answers, host);
	const char *last = text_of(energy, "reason");
	const char *reason = "no reading came";
	size_t i;
	json_t *event;

	if (json_is_false(json_object_get(energy, "failed")) &&
	    !json_is_number(json_object_get(energy, "watts")))
		return g_strdup_printf("it was still on its way to a first reading%s%s: `virtbed "
				       "energy --live` waits longer",
				       *last ? ", " : "", last);
	if (*last)
		return g_strdup(last);
	json_array_foreach (json_object_get(answers->events, "events"), i, event) {
		const json_t *detail = json_object_get(event, "detail");

		if (strcmp(text_of(event, "kind"), "meter-lost") == 0 &&
		    strcmp(text_of(event, "host"), host) == 0 && *text_of(detail, "reason"))
			reason = text_of(detail, "reason");
	}
	return g_strdup(reason);
}

static bool has_reading(const json_t *energy)
{
	return json_is_number(json_object_get(energy, "watts")) &&
	       !json_is_true(json_object_get(energy, "lost"));
}

static char *ipmi_cure(const struct config_meter *meter)
{
	return g_strdup_printf("see that this answers: ipmitool -I lanplus -H %s -p %u -U %s "
			       "-f %s -L %s -C %u dcmi power reading%s",
			       meter->address, meter->port, meter->user, meter->password_file,
			       meter->privilege, meter->cipher_suite,
			       meter->sensor ? " (or: sensor reading with the sensor's name)" : "");
}

static char *redfish_cure(const struct config_meter *meter)
{
	const bool insecure = meter->tls == CONFIG_METER_INSECURE;

	return g_strdup_printf("see that this answers: curl -u %s %s%s "
			       "https://%s:%u/redfish/v1/Chassis",
			       meter->user,
			       insecure         ? "-k"
			       : meter->ca_file ? "--cacert "
						: "",
			       !insecure && meter->ca_file ? meter->ca_file : "", meter->address,
			       meter->port);
}

static char *meter_cure(const struct config_meter *meter)
{
	switch (meter->kind) {
	case CONFIG_METER_IPMI:
		return ipmi_cure(meter);
	case CONFIG_METER_REDFISH:
		return redfish_cure(meter);
	case CONFIG_METER_COMMAND:
		return g_strdup_printf("execute \"%s\" by hand, as the user that it runs as: it "
				       "prints one number and exits with 0; "
				       "docs/reference/meters.md",
				       meter->command[0]);
	case CONFIG_METER_HTTP:
		return g_strdup_printf("curl '%s' shows what the number is picked from; "
				       "docs/reference/meters.md",
				       meter->url);
	case CONFIG_METER_AMM:
	case CONFIG_METER_SNMP:
		return g_strdup_printf("see that SNMP is switched on at %s:%u, for this user or "
				       "community; docs/reference/meters.md",
				       meter->address, meter->port);
	default:
		return g_strdup(
			"see what docs/reference/meters.md says of this kind, or take another");
	}
}

/*
 * What the watts of a meter are, unless they are those of the host now; NULL: they are. The caller
 * frees.
 */
static char *meter_note(const struct run_check_answers *answers, const struct config_meter *meter,
			const json_t *energy)
{
	const double mean_s = json_number_value(json_object_get(energy, "mean_s"));

	if (meter->kind == CONFIG_METER_SIMULATED)
		return g_strdup("watts are simulated: what the estimates of tasks say");
	if (json_is_true(json_object_get(answers->capabilities, "modelled_watts")))
		return g_strdup("watts come from a model fed by CPU time, not from a meter");
	if (meter->kind == CONFIG_METER_RAPL ||
	    (meter->kind == CONFIG_METER_HWMON && strcmp(text_of(energy, "source"), "rapl") == 0))
		return g_strdup("watts are those of the CPU packages, not of the host");
	if (meter->kind == CONFIG_METER_AMM)
		return g_strdup("watts are what the management module allots to the bay (of a "
				"BladeCenter H), which need not be measured");
	if (json_is_true(json_object_get(energy, "mean_unknown")))
		return g_strdup("watts are means over a time that is not known: changes show late; "
				"give it as `mean_s`");
	return mean_s >= CONFIG_METER_MEAN_NOTED_S
		       ? g_strdup_printf("watts are means over up to %g s: changes show late",
					 mean_s)
		       : NULL;
}

static void add_meter(GPtrArray *rows, const struct run_check_answers *answers,
		      const struct config_host *host)
{
	const char *cluster = answers->cluster->name;
	const json_t *energy = energy_of(answers, host->name);
	g_autofree char *cure = NULL;
	g_autofree char *note = NULL;
	g_autofree char *why = NULL;

	if (!answers->energy)
		return;
	if (!host->meter || host->meter->kind == CONFIG_METER_NONE) {
		run_check_add(rows, cluster, host->name, "meter", RUN_CHECK_NOTE,
			      "energy of this host is not known and counts as 0; give it a meter",
			      "none");
		return;
	}
	if (!has_reading(energy)) {
		cure = meter_cure(host->meter);
		why = lost_reason(answers, host->name);
		run_check_add(rows, cluster, host->name, "meter", RUN_CHECK_FAILED, cure, "%s",
			      why);
		return;
	}
	note = meter_note(answers, host->meter, energy);
	run_check_add(rows, cluster, host->name, "meter", note ? RUN_CHECK_NOTE : RUN_CHECK_WORKS,
		      note, "%.1f W by %s", json_number_value(json_object_get(energy, "watts")),
		      *text_of(energy, "source") ? text_of(energy, "source")
						 : text_of(answers->capabilities, "meter"));
}

/* The small task. */

static void add_task(GPtrArray *rows, const struct run_check_answers *answers)
{
	const char *cluster = answers->cluster->name;
	const char *outcome = text_of(answers->task, "outcome");
	const char *reason = text_of(answers->task, "reason");
	const char *plural = answers->ranks == 1 ? "" : "s";

	if (!answers->task)
		return;
	if (strcmp(outcome, "completed") == 0)
		run_check_add(rows, cluster, "", "channels", RUN_CHECK_WORKS, NULL,
			      "an MPI task of %u rank%s over the nodes ran and was verified",
			      answers->ranks, plural);
	else
		run_check_add(rows, cluster, "", "channels", RUN_CHECK_FAILED,
			      "the guests must reach one another over the hosts' bridge; see that "
			      "no firewall on the hosts stands between them",
			      "an MPI task of %u rank%s %s: %s", answers->ranks, plural,
			      *outcome ? outcome : "did not end",
			      *reason ? reason : "no reason given");
}

/* The report. */

/* Appends the watts of a host, or why there are none. */
static void report_meter(GString *line, const struct run_check_answers *answers,
			 const struct config_host *host)
{
	const json_t *energy = energy_of(answers, host->name);
	const double mean_s = json_number_value(json_object_get(energy, "mean_s"));

	if (!host->meter || host->meter->kind == CONFIG_METER_NONE) {
		g_string_append(line, "no meter");
		return;
	}
	g_string_append_printf(line, "meter %s", config_meter_kind_name(host->meter->kind));
	if (!has_reading(energy)) {
		g_autofree char *why = lost_reason(answers, host->name);

		g_string_append_printf(line, ": %s", why);
		return;
	}
	g_string_append_printf(line, " %.1f W by %s",
			       json_number_value(json_object_get(energy, "watts")),
			       text_of(energy, "source"));
	if (host->meter->kind == CONFIG_METER_AMM)
		g_string_append(line, ", what the management module allots to the bay");
	if (mean_s > 0)
		g_string_append_printf(line, ", means over %g s", mean_s);
	if (json_is_true(json_object_get(energy, "mean_unknown")))
		g_string_append(line, ", means over a time that is not known");
}

/* Appends each cap of a host: what was asked for, what was set, and whether it is effective. */
static void report_caps(GString *line, const struct run_check_answers *answers, const char *host)
{
	const json_t *caps = caps_of(answers, host);
	size_t i;
	json_t *cap;

	json_array_foreach (caps, i, cap) {
		const char *requested = text_of(cap, "requested");
		const char *set = text_of(cap, "set");
		const char *reason = text_of(cap, "reason");

		g_string_append_printf(line, "; %s %s", text_of(cap, "knob"), requested);
		if (strcmp(requested, set) != 0)
			g_string_append_printf(line, ", set %s", *set ? set : "nothing");
		g_string_append_printf(line, ", effective %s%s%s%s", text_of(cap, "effective"),
				       *reason ? " (" : "", reason, *reason ? ")" : "");
	}
}

static void add_report(GPtrArray *rows, const struct run_check_answers *answers,
		       const struct config_host *host)
{
	const json_t *facts =
		json_object_get(json_object_get(answers->capabilities, "hosts"), host->name);
	const char *virt_type = text_of(answers->capabilities, "virt_type");
	const char *libvirt = text_of(facts, "libvirt");
	const char *qemu = text_of(facts, "qemu");
	g_autoptr(GString) line = g_string_new(NULL);

	if (!answers->capabilities)
		return;
	if (json_is_object(facts))
		g_string_append_printf(line, "%s, %d CPUs%s%s%s%s, %s; ", text_of(facts, "cpu"),
				       (int)json_integer_value(json_object_get(facts, "cpus")),
				       *libvirt ? ", libvirt " : "", libvirt,
				       *qemu ? ", QEMU " : "", qemu, virt_type);
	report_meter(line, answers, host);
	report_caps(line, answers, host->name);
	run_check_add(rows, answers->cluster->name, host->name, RUN_CHECK_REPORT, RUN_CHECK_WORKS,
		      NULL, "%s", line->str);
}

void run_check_add_cluster(GPtrArray *rows, const struct run_check_answers *answers)
{
	const struct config_cluster *cluster = answers->cluster;

	if (answers->trouble)
		run_check_add(rows, cluster->name, "", "scheduler", RUN_CHECK_FAILED,
			      "its last words say what it lacks; docs/how-to/real-blades.md", "%s",
			      answers->trouble);
	for (uint32_t i = 0; i < cluster->hosts_count; i++)
		add_host(rows, answers, &cluster->hosts[i]);
	add_virt(rows, answers);
	add_nodes(rows, answers);
	add_cap(rows, answers);
	for (uint32_t i = 0; i < cluster->hosts_count; i++)
		add_host_caps(rows, answers, &cluster->hosts[i]);
	for (uint32_t i = 0; i < cluster->hosts_count; i++)
		add_meter(rows, answers, &cluster->hosts[i]);
	add_task(rows, answers);
	for (uint32_t i = 0; i < cluster->hosts_count; i++)
		add_report(rows, answers, &cluster->hosts[i]);
}

bool run_check_hosts_unreached(const struct run_check_answers *answers)
{
	const json_t *hosts = json_object_get(answers->capabilities, "hosts");

	for (uint32_t i = 0; i < answers->cluster->hosts_count; i++) {
		const char *name = answers->cluster->hosts[i].name;

		if (json_is_object(json_object_get(hosts, name)) || !down_reason(answers, name))
			return false;
	}
	return hosts && answers->cluster->hosts_count > 0;
}

bool run_check_nodes_ready(const struct run_check_answers *answers)
{
	return answers->nodes && ready_nodes(answers) >= answers->cluster->nodes;
}

bool run_check_meters_read(const struct run_check_answers *answers)
{
	for (uint32_t i = 0; i < answers->cluster->hosts_count; i++) {
		const struct config_host *host = &answers->cluster->hosts[i];

		if (host->meter && host->meter->kind != CONFIG_METER_NONE &&
		    !has_reading(energy_of(answers, host->name)))
			return false;
	}
	return true;
}

bool run_check_meters_told(const struct run_check_answers *answers)
{
	for (uint32_t i = 0; i < answers->cluster->hosts_count; i++) {
		const struct config_host *host = &answers->cluster->hosts[i];
		const json_t *energy = energy_of(answers, host->name);

		if (host->meter && host->meter->kind != CONFIG_METER_NONE && !has_reading(energy) &&
		    !json_is_true(json_object_get(energy, "failed")))
			return false;
	}
	return true;
}
