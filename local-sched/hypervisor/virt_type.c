/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/platform.h"
#include "local-sched/hypervisor/virt_type.h"

#include <string.h>

#include "local-sched/hypervisor/domain.h"
#include "local-sched/hypervisor/virt_error.h"

struct virt_type_decision {
	struct host *host;
	const struct domain_spec *probe_spec;
	virt_type_done_f done;
	void *data;
	bool booting; /* a VM is booting; its agent is waited for */
	guint timeout_source;
	struct virt_type type;
};

static const char *const choices[] = {
	[VIRT_TYPE_AUTO] = "auto",
	[VIRT_TYPE_KVM] = "kvm",
	[VIRT_TYPE_QEMU] = "qemu",
	[VIRT_TYPE_PROBE] = "probe",
};

void virt_type_clear(struct virt_type *type)
{
	g_clear_pointer(&type->name, g_free);
	g_clear_pointer(&type->reason, g_free);
}

bool virt_type_parse(const char *text, enum virt_type_choice *ret_choice)
{
	for (size_t i = 0; i < G_N_ELEMENTS(choices); i++) {
		if (g_str_equal(text, choices[i])) {
			*ret_choice = (enum virt_type_choice)i;
			return true;
		}
	}
	return false;
}

static void set(struct virt_type_decision *decision, const char *name, const char *reason)
{
	virt_type_clear(&decision->type);
	decision->type.name = g_strdup(name);
	decision->type.reason = g_strdup(reason);
}

static void finish(struct virt_type_decision *decision)
{
	decision->done(&decision->type, decision->data);
}

static gboolean finish_idle(gpointer data)
{
	struct virt_type_decision *decision = data;

	decision->timeout_source = 0;
	finish(decision);
	return G_SOURCE_REMOVE;
}

/* The CPU. */

/* The element <cpu>...</cpu> of the host in libvirt's capabilities, or NULL. */
static char *host_cpu(const char *capabilities)
{
	const char *start = strstr(capabilities, "<cpu>");
	const char *end = start ? strstr(start, "</cpu>") : NULL;

	return end ? g_strndup(start, (gsize)(end - start) + strlen("</cpu>")) : NULL;
}

/* libvirt lists the features that the model implies only in an expanded CPU. */
static char *expanded_cpu(virConnectPtr connection, const char *cpu)
{
	char *expanded = virConnectBaselineCPU(connection, &cpu, 1,
					       VIR_CONNECT_BASELINE_CPU_EXPAND_FEATURES);
	char *copy = g_strdup(expanded);

	free(expanded); /* libvirt's, by malloc() */
	return copy;
}

/* Result: the name of the virtualisation feature, or "" if the CPU has none. */
static gpointer feature_work(virConnectPtr connection, gpointer input, GError **error)
{
	static const char *const features[] = {"vmx", "svm"};
	char *capabilities = virConnectGetCapabilities(connection);
	g_autofree char *cpu = NULL;
	g_autofree char *expanded = NULL;

	if (!capabilities) {
		virt_error_set(error, "cannot read the host's capabilities");
		return NULL;
	}
	cpu = host_cpu(capabilities);
	free(capabilities); /* libvirt's, by malloc() */
	if (cpu)
		expanded = expanded_cpu(connection, cpu);
	for (size_t i = 0; i < G_N_ELEMENTS(features); i++) {
		g_autofree char *element = g_strdup_printf("<feature name='%s'/>", features[i]);
		g_autofree char *required =
			g_strdup_printf("<feature policy='require' name='%s'/>", features[i]);

		if ((cpu && strstr(cpu, element)) || (expanded && strstr(expanded, required)))
			return g_strdup(features[i]);
	}
	return g_strdup("");
}

/* The boot. */

static void destroyed(gpointer result, const GError *error, gpointer data)
{
	finish(data);
}

static void end_probe(struct virt_type_decision *decision)
{
	decision->booting = false;
	g_clear_handle_id(&decision->timeout_source, g_source_remove);
	domain_destroy(decision->host, decision->probe_spec->name, decision->probe_spec->keeper,
		       destroyed, decision);
}

static gboolean probe_timeout(gpointer data)
{
	struct virt_type_decision *decision = data;
	g_autofree char *reason =
		g_strdup_printf("KVM probe: guest did not boot within %d s", VIRT_TYPE_PROBE_S);

	decision->timeout_source = 0;
	set(decision, "qemu", reason);
	end_probe(decision);
	return G_SOURCE_REMOVE;
}

void virt_type_agent(struct virt_type_decision *decision, const char *domain)
{
	if (!decision->booting || !g_str_equal(domain, decision->probe_spec->name))
		return;
	set(decision, "kvm", "KVM probe: a guest booted");
	end_probe(decision);
}

static void probe_created(gpointer result, const GError *error, gpointer data)
{
	struct virt_type_decision *decision = data;
	g_autofree char *reason = NULL;

	if (!error || !decision->booting)
		return;
	reason = g_strdup_printf("KVM probe: %s", error->message);
	set(decision, "qemu", reason);
	end_probe(decision);
}

static void start_probe(struct virt_type_decision *decision)
{
	struct domain_spec spec = *decision->probe_spec;
	g_autofree char *xml = NULL;

	spec.virt_type = "kvm";
	xml = domain_xml(&spec);
	decision->booting = true;
	decision->timeout_source = platform_after_s(host_platform(decision->host),
						    VIRT_TYPE_PROBE_S, probe_timeout, decision);
	domain_destroy(decision->host, spec.name, spec.keeper, NULL, NULL);
	domain_create_bound(decision->host, spec.name, spec.keeper, xml, probe_created, decision);
}

static void feature_found(gpointer result, const GError *error, gpointer data)
{
	struct virt_type_decision *decision = data;
	g_autofree char *feature = result;

	if (feature && *feature) {
		start_probe(decision);
		return;
	}
	set(decision, "qemu", error ? error->message : "the host's CPU offers neither vmx nor svm");
	finish(decision);
}

struct virt_type_decision *virt_type_decide(struct host *host, enum virt_type_choice choice,
					    const struct domain_spec *probe_spec,
					    virt_type_done_f done, void *data)
{
	struct virt_type_decision *decision = g_new0(struct virt_type_decision, 1);
	const struct host_call ask = {.work = feature_work,
				      .result_free = g_free,
				      .done = feature_found,
				      .data = decision};

	decision->host = host;
	decision->probe_spec = probe_spec;
	decision->done = done;
	decision->data = data;
	switch (choice) {
	case VIRT_TYPE_AUTO:
		host_call(host, HOST_LANE_CONTROL, &ask);
		break;
	case VIRT_TYPE_PROBE:
		start_probe(decision);
		break;
	case VIRT_TYPE_KVM:
	case VIRT_TYPE_QEMU:
		set(decision, choices[choice], "as set by --virt-type");
		decision->timeout_source =
			platform_soon(host_platform(decision->host), G_PRIORITY_DEFAULT_IDLE,
				      finish_idle, decision);
		break;
	}
	return decision;
}

void virt_type_decision_free(struct virt_type_decision *decision)
{
	if (!decision)
		return;
	g_clear_handle_id(&decision->timeout_source, g_source_remove);
	virt_type_clear(&decision->type);
	g_free(decision);
}
