/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/run/run_check_rows.h"

#include <string.h>

static void free_row(gpointer data)
{
	struct run_check_row *row = data;

	g_free(row->cluster);
	g_free(row->host);
	g_free(row->what);
	g_free(row->text);
	g_free(row->cure);
	g_free(row);
}

GPtrArray *run_check_rows_new(void)
{
	return g_ptr_array_new_with_free_func(free_row);
}

void run_check_add(GPtrArray *rows, const char *cluster, const char *host, const char *what,
		   enum run_check_result result, const char *text, const char *cure)
{
	struct run_check_row *row = g_new0(struct run_check_row, 1);

	row->cluster = g_strdup(cluster);
	row->host = g_strdup(host);
	row->what = g_strdup(what);
	row->result = result;
	row->text = g_strdup(text);
	row->cure = g_strdup(cure);
	g_ptr_array_add(rows, row);
}

const char *run_check_result_name(enum run_check_result result)
{
	static const char *const names[] = {"works", "note", "FAILED"};

	return names[result];
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

static char *host_text(const json_t *facts)
{
	const int cpus = (int)json_integer_value(json_object_get(facts, "cpus"));
	GString *text = g_string_new(NULL);

	g_string_append_printf(text, "%s, %d CPU%s, %d MiB", text_of(facts, "cpu"), cpus,
			       cpus == 1 ? "" : "s",
			       (int)json_integer_value(json_object_get(facts, "memory_mib")));
	if (*text_of(facts, "libvirt"))
		g_string_append_printf(text, ", libvirt %s", text_of(facts, "libvirt"));
	if (*text_of(facts, "qemu"))
		g_string_append_printf(text, ", QEMU %s", text_of(facts, "qemu"));
	return g_string_free(text, FALSE);
}

/* The reason that a node of the host gives for being down, or NULL. */
static const char *down_reason(const struct run_check_answers *answers, const char *host)
{
	size_t i;
	json_t *node;

	json_array_foreach(json_object_get(answers->nodes, "nodes"), i, node)
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
	const char *reason = down_reason(answers, host->name);
	g_autofree char *text = NULL;
	g_autofree char *cure = NULL;

	/* Local schedulers of older versions do not report facts of their hosts. */
	if (!hosts)
		return;
	if (json_is_object(facts)) {
		text = host_text(facts);
		run_check_add(rows, answers->cluster->name, host->name, "host", RUN_CHECK_WORKS,
			      text, NULL);
		return;
	}
	text = g_strdup_printf("%s was not reached%s%s", host->uri ? host->uri : "it",
			       reason ? ": " : "", reason ? reason : "");
	cure = g_strdup_printf("see that \"virsh -c '%s' version\" answers here: libvirtd runs "
			       "there, this user may use it, and nothing asks for a password",
			       host->uri ? host->uri : "URI");
	run_check_add(rows, answers->cluster->name, host->name, "host", RUN_CHECK_FAILED, text,
		      cure);
}

/* Virtualization and caps. */

static void add_virt(GPtrArray *rows, const struct run_check_answers *answers)
{
	const char *type = text_of(answers->capabilities, "virt_type");
	const char *reason = text_of(answers->capabilities, "virt_reason");
	g_autofree char *text = NULL;

	if (!*reason)
		return;
	text = g_strdup_printf("%s: %s", type, reason);
	if (strcmp(type, "kvm") == 0 && answers->steady)
		run_check_add(
			rows, answers->cluster->name, "", "KVM", RUN_CHECK_NOTE, text,
			"lab.steady follows the speed of QEMU's emulator, which is not that of "
			"these VMs: leave it out");
	else if (strcmp(type, "kvm") == 0)
		run_check_add(rows, answers->cluster->name, "", "KVM", RUN_CHECK_WORKS, text,
			      NULL);
	else if (strcmp(type, "unknown") == 0)
		run_check_add(rows, answers->cluster->name, "", "KVM", RUN_CHECK_FAILED, text,
			      "no host got as far as that: see the rows of its hosts");
	else
		run_check_add(rows, answers->cluster->name, "", "KVM", RUN_CHECK_NOTE, text,
			      "VMs run under QEMU's emulator: times are not those of KVM. On real "
			      "hosts: switch virtualization on in the firmware, load kvm_intel or "
			      "kvm_amd");
}

static void add_cap(GPtrArray *rows, const struct run_check_answers *answers)
{
	const struct config_cluster *cluster = answers->cluster;
	const char *cap = text_of(answers->capabilities, "cpu_cap");
	double fraction = json_number_value(
		json_object_get(answers->capabilities, "cpu_cap_fraction"));
	g_autofree char *text = g_strdup_printf("%s, %.3g of the base frequency", cap, fraction);

	if (!answers->capabilities)
		return;
	if (cluster->max_mhz == 0)
		run_check_add(rows, cluster->name, "", "cap", RUN_CHECK_WORKS, "none asked for",
			      NULL);
	else if (strcmp(cap, "none") == 0)
		run_check_add(rows, cluster->name, "", "cap", RUN_CHECK_FAILED,
			      "max_mhz is asked for and nothing enforces it",
			      "start the cluster's local scheduler on the host itself, or leave "
			      "max_mhz out");
	else if (strcmp(cap, "quota") == 0)
		run_check_add(rows, cluster->name, "", "cap", RUN_CHECK_NOTE, text,
			      "a CPU quota caps throughput, not frequency");
	else
		run_check_add(rows, cluster->name, "", "cap", RUN_CHECK_WORKS, text, NULL);
}

/* Adds the caps of a host's CPUs that have no effect, whether they were set or not. */
static void add_host_caps(GPtrArray *rows, const struct run_check_answers *answers,
			  const struct config_host *host)
{
	const json_t *caps = NULL;
	size_t i;
	json_t *one;

	/* Every node of the host reports the same. */
	json_array_foreach(json_object_get(answers->nodes, "nodes"), i, one)
		if (strcmp(text_of(one, "host"), host->name) == 0)
			caps = json_object_get(one, "caps");
	json_array_foreach(caps, i, one) {
		g_autofree char *text = NULL;

		if (strcmp(text_of(one, "effective"), "no") != 0)
			continue;
		text = g_strdup_printf("%s at %s is not effective: %s", text_of(one, "knob"),
				       text_of(one, "requested"), text_of(one, "reason"));
		run_check_add(rows, answers->cluster->name, host->name, "cap", RUN_CHECK_NOTE, text,
			      "the headings of all results will say so; docs/reference/caps.md");
	}
}

/* Nodes. */

static uint32_t ready_nodes(const struct run_check_answers *answers)
{
	uint32_t ready = 0;
	size_t i;
	json_t *node;

	json_array_foreach(json_object_get(answers->nodes, "nodes"), i, node)
		ready += strcmp(text_of(node, "state"), "ready") == 0 ||
			 strcmp(text_of(node, "state"), "busy") == 0;
	return ready;
}

static void add_nodes(GPtrArray *rows, const struct run_check_answers *answers)
{
	const struct config_cluster *cluster = answers->cluster;
	uint32_t ready = ready_nodes(answers);
	const char *reason = down_reason(answers, NULL);
	g_autofree char *text =
		g_strdup_printf("%u of %u booted with image, agent and swap%s%s", ready,
				cluster->nodes, ready < cluster->nodes && reason ? ": " : "",
				ready < cluster->nodes && reason ? reason : "");

	if (!answers->nodes)
		return;
	run_check_add(
		rows, cluster->name, "", "nodes",
		ready < cluster->nodes ? RUN_CHECK_FAILED : RUN_CHECK_WORKS, text,
		ready < cluster->nodes
			? "see /var/log/libvirt/qemu on the host; is there room for all VMs' "
			  "memory, and a storage pool and bridge as docs/how-to/real-blades.md "
			  "says?"
			: NULL);
}

/* Meters. */

static const json_t *energy_of(const struct run_check_answers *answers, const char *host)
{
	size_t i;
	json_t *one;

	json_array_foreach(json_object_get(answers->energy, "hosts"), i, one)
		if (strcmp(text_of(one, "host"), host) == 0)
			return one;
	return NULL;
}

/* Why a host's meter was lost, by the last such event. */
static const char *lost_reason(const struct run_check_answers *answers, const char *host)
{
	const char *reason = "no reading came";
	size_t i;
	json_t *event;

	json_array_foreach(json_object_get(answers->events, "events"), i, event) {
		const json_t *detail = json_object_get(event, "detail");

		if (strcmp(text_of(event, "kind"), "meter-lost") == 0 &&
		    strcmp(text_of(event, "host"), host) == 0 && *text_of(detail, "reason"))
			reason = text_of(detail, "reason");
	}
	return reason;
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
			       meter->user, insecure ? "-k" : meter->ca_file ? "--cacert " : "",
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
	case CONFIG_METER_AMM:
		return g_strdup_printf("see that SNMP is switched on at %s:%u, for this user or "
				       "community; docs/reference/meters.md",
				       meter->address, meter->port);
	default:
		return g_strdup(
			"see what docs/reference/meters.md says of this kind, or take another");
	}
}

static void add_meter(GPtrArray *rows, const struct run_check_answers *answers,
		      const struct config_host *host)
{
	const char *cluster = answers->cluster->name;
	const json_t *energy = energy_of(answers, host->name);
	bool modelled = json_is_true(json_object_get(answers->capabilities, "modelled_watts"));
	g_autofree char *text = NULL;
	g_autofree char *cure = NULL;

	if (!answers->energy)
		return;
	if (!host->meter || host->meter->kind == CONFIG_METER_NONE) {
		run_check_add(rows, cluster, host->name, "meter", RUN_CHECK_NOTE, "none",
			      "energy of this host is not known and counts as 0; give it a meter");
		return;
	}
	if (!has_reading(energy)) {
		cure = meter_cure(host->meter);
		run_check_add(rows, cluster, host->name, "meter", RUN_CHECK_FAILED,
			      lost_reason(answers, host->name), cure);
		return;
	}
	text = g_strdup_printf("%.1f W by %s",
			       json_number_value(json_object_get(energy, "watts")),
			       text_of(answers->capabilities, "meter"));
	if (host->meter->kind == CONFIG_METER_SIMULATED)
		run_check_add(rows, cluster, host->name, "meter", RUN_CHECK_NOTE, text,
			      "watts are simulated: what the estimates of tasks say");
	else if (modelled)
		run_check_add(rows, cluster, host->name, "meter", RUN_CHECK_NOTE, text,
			      "watts come from a model fed by CPU time, not from a meter");
	else if (host->meter->kind == CONFIG_METER_RAPL)
		run_check_add(rows, cluster, host->name, "meter", RUN_CHECK_NOTE, text,
			      "watts are those of the CPU packages, not of the host");
	else
		run_check_add(rows, cluster, host->name, "meter", RUN_CHECK_WORKS, text, NULL);
}

/* The small task. */

static void add_task(GPtrArray *rows, const struct run_check_answers *answers)
{
	const char *outcome = text_of(answers->task, "outcome");
	g_autofree char *text = NULL;

	if (!answers->task)
		return;
	if (strcmp(outcome, "completed") == 0) {
		text = g_strdup_printf("an MPI task of %u rank%s over the nodes ran and was "
				       "verified",
				       answers->ranks, answers->ranks == 1 ? "" : "s");
		run_check_add(rows, answers->cluster->name, "", "channels", RUN_CHECK_WORKS, text,
			      NULL);
		return;
	}
	text = g_strdup_printf("an MPI task of %u rank%s %s: %s", answers->ranks,
			       answers->ranks == 1 ? "" : "s",
			       *outcome ? outcome : "did not end",
			       *text_of(answers->task, "reason") ? text_of(answers->task, "reason")
								 : "no reason given");
	run_check_add(rows, answers->cluster->name, "", "channels", RUN_CHECK_FAILED, text,
		      "the guests must reach one another over the hosts' bridge; see that no "
		      "firewall on the hosts stands between them");
}

void run_check_add_cluster(GPtrArray *rows, const struct run_check_answers *answers)
{
	const struct config_cluster *cluster = answers->cluster;

	if (answers->trouble)
		run_check_add(rows, cluster->name, "", "scheduler", RUN_CHECK_FAILED,
			      answers->trouble,
			      "its last words say what it lacks; docs/how-to/real-blades.md");
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
