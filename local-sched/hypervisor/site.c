/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/hypervisor/site.h"

#include <string.h>

#include "local-sched/hypervisor/domain.h"
#include "local-sched/hypervisor/virt_error.h"

#define LOG_SUBSYSTEM "site"
#include "common/log.h"

#define RETRY_S 5
#define PROBE_SUFFIX "probe"
#define MACHINE "q35"
#define CONSOLE_FORMAT "/var/log/libvirt/qemu/%s.console"

/* What must be done once before the nodes can be booted, in this order. */
enum step {
	STEP_ABOUT = 0, /* ask what the host is */
	STEP_IMAGE,    /* upload the image */
	STEP_SWAP,     /* make the swap disks */
	STEP_TYPE,     /* decide between KVM and the emulator */
	STEP_READY,
};

struct site {
	struct site_settings settings;
	struct host *host;
	GPtrArray *nodes; /* of struct node, borrowed */
	enum step step;
	bool stepping; /* a step is under way */
	bool reached;  /* was connected at least once */
	struct host_about *about; /* NULL: not known yet */
	struct image_paths *paths;
	GStrv swap; /* paths, by node */
	char *probe_name;
	struct virt_type_decision *decision;
	struct virt_type type;
	guint retry_source;
	bool frozen;
	void (*cleaned)(struct site *site, const GError *error, void *data);
	void *cleaned_data;
};

static void step(struct site *site);

/* Naming and specifications. */

static char **swap_names(const struct site *site)
{
	g_autoptr(GStrvBuilder) names = g_strv_builder_new();

	for (guint i = 0; i < site->nodes->len; i++) {
		g_autofree char *name =
			g_strdup_printf("%s.swap", node_domain(site->nodes->pdata[i]));

		g_strv_builder_add(names, name);
	}
	return g_strv_builder_end(names);
}

/*
 * Cores of their own for all, or for none. Not under TCG: its I/O threads compete with the vCPUs, and
 * emulated blades share the host's CPUs.
 */
bool site_pinned(const struct site *site)
{
	return site->about && g_strcmp0(site->type.name, "kvm") == 0 &&
	       site->nodes->len * site->settings.cluster->cores <= site->about->cpus;
}

/* Strings that a specification borrows. */
struct names {
	char *mac;
	char *address;
	char *console;
};

static void names_clear(struct names *names)
{
	g_free(names->mac);
	g_free(names->address);
	g_free(names->console);
}

/* `place` is the node's place on this host. */
static struct domain_spec specify(const struct site *site, const char *domain, const char *guest,
				  uint32_t index, guint place, struct names *ret_names)
{
	const struct config_cluster *cluster = site->settings.cluster;

	ret_names->mac = domain_mac(site->settings.cluster_index, index);
	ret_names->address = domain_address(site->settings.cluster_index, index);
	ret_names->console = g_strdup_printf(CONSOLE_FORMAT, domain);
	return (struct domain_spec){
		.name = domain,
		.virt_type = site->type.name ? site->type.name : "qemu",
		.machine = MACHINE,
		.cores = cluster->cores,
		.memory_mib = cluster->memory_mib,
		.kernel = site->paths->path[IMAGE_KERNEL],
		.initramfs = site->paths->path[IMAGE_INITRAMFS],
		.root = site->paths->path[IMAGE_ROOT],
		.swap = site->swap ? site->swap[place] : NULL,
		.bridge = site->settings.host->bridge,
		.mac = ret_names->mac,
		.address = ret_names->address,
		.guest_host = guest,
		.console = ret_names->console,
		.first_cpu = site_pinned(site) ? (int32_t)(place * cluster->cores) : -1,
	};
}

static void prepare_nodes(struct site *site)
{
	for (guint i = 0; i < site->nodes->len; i++) {
		struct node *node = site->nodes->pdata[i];
		struct names names;
		struct domain_spec spec = specify(site, node_domain(node), node_name(node),
						  node_index(node), i, &names);

		node_prepare(node, &spec);
		names_clear(&names);
	}
}

/* Preparing. */

static void detach_all(struct site *site, const char *reason)
{
	for (guint i = 0; i < site->nodes->len; i++)
		node_detach(site->nodes->pdata[i], reason);
}

static gboolean retry(gpointer data)
{
	struct site *site = data;

	site->retry_source = 0;
	step(site);
	return G_SOURCE_REMOVE;
}

/* The end of a step; true if it went well and the site still wants to go on. */
static bool stepped(struct site *site, const GError *error)
{
	site->stepping = false;
	if (site->frozen)
		return false;
	if (!error)
		return true;
	log_warning("host '%s': %s; trying again in %d s", host_name(site->host), error->message,
		    RETRY_S);
	detach_all(site, error->message);
	if (site->retry_source == 0)
		site->retry_source = g_timeout_add_seconds(RETRY_S, retry, site);
	return false;
}

static void next_step(struct site *site)
{
	site->step++;
	step(site);
}

static void about_known(gpointer result, const GError *error, gpointer data)
{
	struct site *site = data;

	if (!stepped(site, error)) {
		host_about_free(result);
		return;
	}
	host_about_free(site->about);
	site->about = result;
	next_step(site);
}

static void ask_about(struct site *site)
{
	const struct host_call call = {.work = host_about_work,
				       .result_free = (GDestroyNotify)host_about_free,
				       .done = about_known,
				       .data = site};

	host_call(site->host, HOST_LANE_CONTROL, &call);
}

static void image_there(gpointer result, const GError *error, gpointer data)
{
	struct site *site = data;

	if (!stepped(site, error)) {
		image_paths_free(result);
		return;
	}
	image_paths_free(site->paths);
	site->paths = result;
	next_step(site);
}

static void send_image(struct site *site)
{
	image_upload(site->host, site->settings.image, image_there, site);
}

static void swap_there(gpointer result, const GError *error, gpointer data)
{
	struct site *site = data;

	if (!stepped(site, error)) {
		g_strfreev(result);
		return;
	}
	site->swap = result;
	next_step(site);
}

static void make_swap(struct site *site)
{
	g_auto(GStrv) names = swap_names(site);

	if (site->settings.cluster->swap_mib == 0) {
		site->stepping = false;
		next_step(site);
		return;
	}
	image_make_swap(site->host, (const char *const *)names, site->settings.cluster->swap_mib,
			swap_there, site);
}

/* The decision copies nothing: the specification lives as long as it. */
struct probe {
	struct site *site;
	struct names names;
	struct domain_spec spec;
};

static void type_known(const struct virt_type *type, void *data)
{
	struct probe *probe = data;
	struct site *site = probe->site;

	virt_type_clear(&site->type);
	site->type = (struct virt_type){.name = g_strdup(type->name),
					.reason = g_strdup(type->reason)};
	g_clear_pointer(&site->decision, virt_type_decision_free);
	names_clear(&probe->names);
	g_free(probe);
	if (!stepped(site, NULL))
		return;
	log_info("host '%s': VMs run as type '%s': %s", host_name(site->host), site->type.name,
		 site->type.reason);
	prepare_nodes(site);
	next_step(site);
}

static void decide_type(struct site *site)
{
	struct probe *probe = g_new0(struct probe, 1);

	probe->site = site;
	probe->spec = specify(site, site->probe_name, PROBE_SUFFIX, DOMAIN_NODES_MAX - 1, 0,
			      &probe->names);
	probe->spec.swap = NULL;
	site->decision = virt_type_decide(site->host, site->settings.virt_type, &probe->spec,
					  type_known, probe);
}

/* Finding. */

static bool is_ours(const struct site *site, const char *name)
{
	const char *suffix = name + strlen(site->settings.prefix);

	return g_str_equal(suffix, PROBE_SUFFIX) ||
	       (*suffix == 'n' && suffix[1] && strspn(suffix + 1, "0123456789") ==
						       strlen(suffix + 1));
}

static struct node *node_of(const struct site *site, const char *domain)
{
	for (guint i = 0; i < site->nodes->len; i++)
		if (g_str_equal(node_domain(site->nodes->pdata[i]), domain))
			return site->nodes->pdata[i];
	return NULL;
}

static const struct domain_info *info_of(const GPtrArray *found, const char *domain)
{
	for (guint i = 0; i < found->len; i++) {
		const struct domain_info *info = found->pdata[i];

		if (g_str_equal(info->name, domain))
			return info;
	}
	return NULL;
}

static void listed(gpointer result, const GError *error, gpointer data)
{
	struct site *site = data;
	g_autoptr(GPtrArray) found = result;

	if (!stepped(site, error))
		return;
	for (guint i = 0; i < found->len; i++) {
		const struct domain_info *info = found->pdata[i];

		if (is_ours(site, info->name) && !node_of(site, info->name))
			domain_destroy(site->host, info->name, NULL, NULL);
	}
	for (guint i = 0; i < site->nodes->len; i++) {
		struct node *node = site->nodes->pdata[i];
		const struct domain_info *info = info_of(found, node_domain(node));

		node_found(node, info != NULL, info ? info->description : NULL);
	}
}

static void list(struct site *site)
{
	domain_list(site->host, site->settings.prefix, listed, site);
}

static void (*const steps[])(struct site *site) = {
	[STEP_ABOUT] = ask_about,   [STEP_IMAGE] = send_image, [STEP_SWAP] = make_swap,
	[STEP_TYPE] = decide_type,  [STEP_READY] = list,
};

static void step(struct site *site)
{
	if (site->stepping || site->frozen || !host_connected(site->host))
		return;
	site->stepping = true;
	steps[site->step](site);
}

/* What the host tells. */

static void on_connection(struct host *host, bool up, const char *reason, void *data)
{
	struct site *site = data;

	if (up) {
		site->reached = true;
		log_info("host '%s': %s", host_name(host), reason);
		step(site);
	} else {
		log_warning("host '%s': %s; trying again", host_name(host), reason);
		if (!site->frozen)
			detach_all(site, reason);
	}
}

static void on_domain(struct host *host, const char *name, bool running, const char *reason,
		      void *data)
{
	struct node *node = node_of(data, name);

	if (node && !running)
		node_vm_stopped(node, reason);
}

static void on_agent(struct host *host, const char *name, bool connected, void *data)
{
	struct site *site = data;
	struct node *node = node_of(site, name);

	if (node)
		node_agent_changed(node, connected);
	else if (site->decision && connected)
		virt_type_agent(site->decision, name);
}

static const struct host_events host_events = {
	.connection = on_connection,
	.domain = on_domain,
	.agent = on_agent,
};

/* Life. */

struct site *site_new(const struct site_settings *settings)
{
	struct site *site = g_new0(struct site, 1);

	site->settings = *settings;
	site->nodes = g_ptr_array_new();
	site->probe_name = g_strconcat(settings->prefix, PROBE_SUFFIX, NULL);
	site->host = host_new(settings->host->name, settings->host->uri, &host_events, site);
	return site;
}

void site_free(struct site *site)
{
	if (!site)
		return;
	g_clear_handle_id(&site->retry_source, g_source_remove);
	host_free(site->host);
	virt_type_decision_free(site->decision);
	virt_type_clear(&site->type);
	host_about_free(site->about);
	image_paths_free(site->paths);
	g_strfreev(site->swap);
	g_free(site->probe_name);
	g_ptr_array_unref(site->nodes);
	g_free(site);
}

struct host *site_host(const struct site *site)
{
	return site->host;
}

void site_add_node(struct site *site, struct node *node)
{
	g_ptr_array_add(site->nodes, node);
}

const struct host_about *site_about(const struct site *site)
{
	return site->about;
}

const struct virt_type *site_virt_type(const struct site *site)
{
	return site->type.name ? &site->type : NULL;
}

/* Cleaning. */

static void swap_removed(gpointer result, const GError *error, gpointer data)
{
	struct site *site = data;

	site->cleaned(site, error, site->cleaned_data);
}

/* A host that was never reached has nothing of ours: nothing is left behind. */
static void all_removed(gpointer result, const GError *error, gpointer data)
{
	struct site *site = data;
	g_auto(GStrv) names = swap_names(site);

	if (error && !site->reached) {
		log_info("host '%s': never reached, so nothing was started there",
			 host_name(site->host));
		site->cleaned(site, NULL, site->cleaned_data);
		return;
	}
	if (error || site->settings.cluster->swap_mib == 0)
		site->cleaned(site, error, site->cleaned_data);
	else
		image_remove_swap(site->host, (const char *const *)names, swap_removed, site);
}

/* Whatever has our names, known to a node or not; the lane works in order. */
static gpointer remove_work(virConnectPtr connection, gpointer input, GError **error)
{
	const struct site *site = input;
	virDomainPtr *domains = NULL;
	int count = virConnectListAllDomains(connection, &domains, VIR_CONNECT_LIST_DOMAINS_ACTIVE);
	bool good = count >= 0;

	for (int i = 0; i < count; i++) {
		const char *name = virDomainGetName(domains[i]);

		if (g_str_has_prefix(name, site->settings.prefix) && is_ours(site, name) &&
		    virDomainDestroy(domains[i]) < 0)
			good = false;
		virDomainFree(domains[i]);
	}
	free(domains);
	if (good)
		return HOST_DONE;
	virt_error_set(error, "cannot remove all VMs");
	return NULL;
}

void site_clean(struct site *site, void (*done)(struct site *site, const GError *error, void *data),
		void *data)
{
	const struct host_call call = {
		.work = remove_work,
		.input = site,
		.done = all_removed,
		.data = site,
	};

	site->frozen = true;
	site->cleaned = done;
	site->cleaned_data = data;
	g_clear_handle_id(&site->retry_source, g_source_remove);
	for (guint i = 0; i < site->nodes->len; i++)
		node_freeze(site->nodes->pdata[i]);
	host_call(site->host, HOST_LANE_CONTROL, &call);
}
