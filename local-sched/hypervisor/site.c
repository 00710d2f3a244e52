/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/hypervisor/site.h"

#include <string.h>

#include "local-sched/hypervisor/domain.h"
#include "local-sched/hypervisor/saved.h"
#include "local-sched/hypervisor/storage.h"
#include "local-sched/hypervisor/transfer.h"
#include "local-sched/hypervisor/virt_error.h"

#define LOG_SUBSYSTEM "site"
#include "common/log.h"

#define RETRY_S 5
#define PROBE_SUFFIX "probe"
#define MACHINE "q35"
#define CONSOLE_FORMAT "/var/log/libvirt/qemu/%s.console"

/* What must be done once before VMs can be booted, in this order. */
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
	GPtrArray *places;   /* of struct machine_place, borrowed */
	GPtrArray *machines; /* of struct machine, borrowed */
	GPtrArray *awaiting; /* ..., of other sites: this one may have them too, and removes them */
	guint await_source;
	void (*gone)(struct machine *machine, void *data); /* one of these */
	void *gone_data;
	enum step step;
	bool stepping; /* a step is under way */
	bool reached;  /* was connected at least once */
	bool tidied;   /* what a predecessor saved was removed */
	struct host_about *about; /* NULL: not known yet */
	struct image_paths *paths;
	GHashTable *swap;   /* paths of swap disks by name of the VM, both owned */
	GHashTable *coming; /* GCancellable by name of VMs on their way here, both owned */
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

	for (guint i = 0; i < site->machines->len; i++) {
		g_autofree char *name = g_strconcat(machine_domain(site->machines->pdata[i]),
						    STORAGE_SWAP, NULL);

		g_strv_builder_add(names, name);
	}
	return g_strv_builder_end(names);
}

/*
 * Cores of their own for all, or for none. Not under TCG: its I/O threads compete with the vCPUs,
 * and emulated blades share the host's CPUs.
 */
bool site_pinned(const struct site *site)
{
	return site->about && g_strcmp0(site->type.name, "kvm") == 0 &&
	       site->places->len * site->settings.cluster->cores <= site->about->cpus;
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

static struct domain_spec specify(const struct site *site, const char *domain, const char *guest,
				  uint32_t number, const struct machine_place *place,
				  struct names *ret_names)
{
	const struct config_cluster *cluster = site->settings.cluster;

	ret_names->mac = domain_mac(site->settings.cluster_index, number);
	ret_names->address = domain_address(site->settings.cluster_index, number);
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
		.swap = g_hash_table_lookup(site->swap, domain),
		.bridge = site->settings.host->bridge,
		.mac = ret_names->mac,
		.address = ret_names->address,
		.guest_host = guest,
		.console = ret_names->console,
		.first_cpu = place ? place->first_cpu : -1,
	};
}

static bool has_swap(const struct site *site)
{
	return site->settings.cluster->swap_mib > 0;
}

/* Whether all is there that a VM needs to be booted. */
static bool can_boot(const struct site *site, const struct machine *machine)
{
	return !has_swap(site) || g_hash_table_contains(site->swap, machine_domain(machine));
}

static void prepare(struct site *site, struct machine *machine)
{
	struct names names;
	struct domain_spec spec = specify(site, machine_domain(machine), machine_name(machine),
					  machine_number(machine), machine_where(machine), &names);

	machine_prepare(machine, &spec);
	names_clear(&names);
}

static void prepare_all(struct site *site)
{
	const uint32_t cores = site->settings.cluster->cores;

	for (guint i = 0; i < site->places->len; i++) {
		struct machine_place *place = site->places->pdata[i];

		place->first_cpu = site_pinned(site) ? (int32_t)(i * cores) : -1;
	}
	for (guint i = 0; i < site->machines->len; i++)
		prepare(site, site->machines->pdata[i]);
}

/* Preparing. */

static void detach_all(struct site *site, const char *reason)
{
	for (guint i = 0; i < site->machines->len; i++) {
		struct machine *machine = site->machines->pdata[i];

		machine_detach(machine, reason);
		if (machine_is_stowed(machine))
			machine_cut_off(machine, site->host);
	}
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
	log_warning_of(LOG_HOST(host_name(site->host)), "%s; trying again in %d s", error->message,
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

/* Keeps the paths of swap disks by the names of their VMs. */
static void keep_swap(struct site *site, const char *const *names, const char *const *paths)
{
	for (; *names && *paths; names++, paths++)
		g_hash_table_insert(site->swap,
				    g_strndup(*names, strlen(*names) - strlen(STORAGE_SWAP)),
				    g_strdup(*paths));
}

/* Swap disks that are being made. */
struct swapping {
	struct site *site;
	GStrv names;
	struct machine *machine; /* NULL: of all that were there */
};

static void swapping_free(struct swapping *swapping)
{
	g_strfreev(swapping->names);
	g_free(swapping);
}

static void swap_there(gpointer result, const GError *error, gpointer data)
{
	struct swapping *swapping = data;
	struct site *site = swapping->site;
	g_auto(GStrv) paths = result;
	bool good = stepped(site, error);

	if (good)
		keep_swap(site, (const char *const *)swapping->names, (const char *const *)paths);
	swapping_free(swapping);
	if (good)
		next_step(site);
}

static void make_swap(struct site *site)
{
	struct swapping *swapping;

	if (!has_swap(site)) {
		site->stepping = false;
		next_step(site);
		return;
	}
	swapping = g_new0(struct swapping, 1);
	swapping->site = site;
	swapping->names = swap_names(site);
	image_make_swap(site->host, (const char *const *)swapping->names,
			site->settings.cluster->swap_mib, swap_there, swapping);
}

/* A VM that came later has its swap disk: it can be booted. */
static void late_swap_there(gpointer result, const GError *error, gpointer data)
{
	struct swapping *swapping = data;
	struct site *site = swapping->site;
	g_auto(GStrv) paths = result;

	if (error)
		log_warning_of(LOG_NODE(machine_name(swapping->machine)),
			       "%s; trying again in %d s", error->message, RETRY_S);
	else
		keep_swap(site, (const char *const *)swapping->names, (const char *const *)paths);
	if (!error && !site->frozen) {
		prepare(site, swapping->machine);
		machine_found(swapping->machine, NULL);
	} else if (!site->frozen) {
		machine_detach(swapping->machine, error->message);
		if (site->retry_source == 0)
			site->retry_source = g_timeout_add_seconds(RETRY_S, retry, site);
	}
	swapping_free(swapping);
}

static void add_late(struct site *site, struct machine *machine)
{
	struct swapping *swapping;

	if (can_boot(site, machine)) {
		prepare(site, machine);
		machine_found(machine, NULL);
		return;
	}
	swapping = g_new0(struct swapping, 1);
	swapping->site = site;
	swapping->machine = machine;
	swapping->names = g_new0(char *, 2);
	swapping->names[0] = g_strconcat(machine_domain(machine), STORAGE_SWAP, NULL);
	image_make_swap(site->host, (const char *const *)swapping->names,
			site->settings.cluster->swap_mib, late_swap_there, swapping);
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
	log_info_of(LOG_HOST(host_name(site->host)), "VMs run as type '%s': %s", site->type.name,
		    site->type.reason);
	prepare_all(site);
	next_step(site);
}

static void decide_type(struct site *site)
{
	struct probe *probe = g_new0(struct probe, 1);

	probe->site = site;
	probe->spec = specify(site, site->probe_name, PROBE_SUFFIX, DOMAIN_NODES_MAX - 1, NULL,
			      &probe->names);
	site->decision = virt_type_decide(site->host, site->settings.virt_type, &probe->spec,
					  type_known, probe);
}

/* Finding. */

/* Whether a VM has the name of one of this cluster's with a number. */
static bool is_numbered(const struct site *site, const char *name)
{
	const char *suffix = name + strlen(site->settings.prefix);

	return g_str_has_prefix(name, site->settings.prefix) && *suffix == 'n' && suffix[1] &&
	       strspn(suffix + 1, "0123456789") == strlen(suffix + 1);
}

static bool is_ours(const struct site *site, const char *name)
{
	return is_numbered(site, name) ||
	       g_str_equal(name + strlen(site->settings.prefix), PROBE_SUFFIX);
}

static struct machine *machine_of(const struct site *site, const char *domain)
{
	for (guint i = 0; i < site->machines->len; i++)
		if (g_str_equal(machine_domain(site->machines->pdata[i]), domain))
			return site->machines->pdata[i];
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

/* After VMs that were being saved were removed: the lane works in order. */
static void tidy(struct site *site)
{
	g_auto(GStrv) kept = swap_names(site);

	if (!site->tidied)
		saved_tidy(site->host, site->settings.prefix, (const char *const *)kept, NULL, NULL);
	site->tidied = true;
}

/* A VM that is being removed because it is another site's. */
struct removal {
	struct site *site;
	struct machine *machine;
};

static void remove_awaited(struct site *site);

static gboolean remove_again(gpointer data)
{
	struct site *site = data;

	site->await_source = 0;
	remove_awaited(site);
	return G_SOURCE_REMOVE;
}

static void awaited_removed(gpointer result, const GError *error, gpointer data)
{
	g_autofree struct removal *removal = data;
	struct site *site = removal->site;

	if (site->frozen || !site_awaits(site, removal->machine))
		return;
	if (error) {
		log_warning_of(LOG_HOST(host_name(site->host)), "%s; trying again in %d s",
			       error->message, RETRY_S);
		if (site->await_source == 0)
			site->await_source = g_timeout_add_seconds(RETRY_S, remove_again, site);
		return;
	}
	g_ptr_array_remove(site->awaiting, removal->machine);
	site->gone(removal->machine, site->gone_data);
}

/* Those that came back by a migration are to stay. */
static void keep_own(struct site *site)
{
	for (guint i = site->awaiting->len; i > 0; i--) {
		struct machine *machine = site->awaiting->pdata[i - 1];

		if (!machine_of(site, machine_domain(machine)))
			continue;
		g_ptr_array_remove_index(site->awaiting, i - 1);
		site->gone(machine, site->gone_data);
	}
}

/* When its host comes back, it is done after VMs were listed. */
static void remove_awaited(struct site *site)
{
	if (site->step != STEP_READY || site->frozen || !host_connected(site->host))
		return;
	keep_own(site);
	for (guint i = 0; i < site->awaiting->len; i++) {
		struct machine *machine = site->awaiting->pdata[i];
		struct removal *removal = g_new0(struct removal, 1);

		*removal = (struct removal){.site = site, .machine = machine};
		domain_destroy(site->host, machine_domain(machine), awaited_removed, removal);
	}
}

static void listed(gpointer result, const GError *error, gpointer data)
{
	struct site *site = data;
	g_autoptr(GPtrArray) found = result;

	if (!stepped(site, error))
		return;
	for (guint i = 0; i < found->len; i++) {
		const struct domain_info *info = found->pdata[i];

		if (is_ours(site, info->name) && !machine_of(site, info->name))
			domain_destroy(site->host, info->name, NULL, NULL);
	}
	for (guint i = 0; i < site->machines->len; i++) {
		struct machine *machine = site->machines->pdata[i];
		const struct domain_info *info = info_of(found, machine_domain(machine));

		if (machine_is_stowed(machine))
			continue; /* it may be on its way from one host to another */
		if (can_boot(site, machine))
			machine_found(machine, info);
		else
			add_late(site, machine);
	}
	remove_awaited(site);
	tidy(site);
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
		log_info_of(LOG_HOST(host_name(host)), "%s", reason);
		step(site);
	} else {
		log_warning_of(LOG_HOST(host_name(host)), "%s; trying again", reason);
		if (!site->frozen)
			detach_all(site, reason);
	}
}

static void on_domain(struct host *host, const char *name, bool running, const char *reason,
		      void *data)
{
	struct site *site = data;
	struct machine *machine = machine_of(site, name);

	if (machine && running)
		machine_vm_started(machine, host);
	else if (machine)
		machine_vm_stopped(machine, reason);
	else if (!machine && running && is_numbered(site, name) && !site->frozen)
		/* It came from another host although nobody waits for it any more. */
		domain_destroy(site->host, name, NULL, NULL);
}

static void on_agent(struct host *host, const char *name, bool connected, void *data)
{
	struct site *site = data;
	struct machine *machine = machine_of(site, name);

	if (machine)
		machine_agent_changed(machine, connected);
	else if (site->decision && connected)
		virt_type_agent(site->decision, name);
}

static void on_frozen(struct host *host, const char *name, int64_t host_us, void *data)
{
	struct machine *machine = machine_of(data, name);

	if (machine)
		machine_vm_frozen(machine, host_us);
}

static void on_paused(struct host *host, const char *name, bool paused, const char *failure, void *data)
{
	struct machine *machine = machine_of(data, name);

	if (machine)
		machine_vm_paused(machine, paused, failure);
}

static const struct host_events host_events = {
	.connection = on_connection,
	.domain = on_domain,
	.agent = on_agent,
	.frozen = on_frozen,
	.paused = on_paused,
};

/* Life. */

struct site *site_new(const struct site_settings *settings)
{
	struct site *site = g_new0(struct site, 1);

	site->settings = *settings;
	site->places = g_ptr_array_new();
	site->machines = g_ptr_array_new();
	site->awaiting = g_ptr_array_new();
	site->swap = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	site->coming = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_object_unref);
	site->probe_name = g_strconcat(settings->prefix, PROBE_SUFFIX, NULL);
	site->host = host_new(settings->host->name, settings->host->uri, &host_events, site);
	return site;
}

void site_free(struct site *site)
{
	if (!site)
		return;
	g_clear_handle_id(&site->retry_source, g_source_remove);
	g_clear_handle_id(&site->await_source, g_source_remove);
	host_free(site->host);
	virt_type_decision_free(site->decision);
	virt_type_clear(&site->type);
	host_about_free(site->about);
	image_paths_free(site->paths);
	g_hash_table_destroy(site->swap);
	g_hash_table_destroy(site->coming);
	g_free(site->probe_name);
	g_ptr_array_unref(site->places);
	g_ptr_array_unref(site->machines);
	g_ptr_array_unref(site->awaiting);
	g_free(site);
}

struct host *site_host(const struct site *site)
{
	return site->host;
}

void site_add_place(struct site *site, struct machine_place *place)
{
	g_ptr_array_add(site->places, place);
}

void site_add_machine(struct site *site, struct machine *machine)
{
	g_ptr_array_add(site->machines, machine);
	if (site->step == STEP_READY && host_connected(site->host) && !site->frozen)
		add_late(site, machine);
}

void site_await(struct site *site, struct machine *machine,
		void (*gone)(struct machine *machine, void *data), void *data)
{
	site->gone = gone;
	site->gone_data = data;
	if (!site_awaits(site, machine))
		g_ptr_array_add(site->awaiting, machine);
	remove_awaited(site);
}

bool site_awaits(const struct site *site, const struct machine *machine)
{
	return g_ptr_array_find(site->awaiting, machine, NULL);
}

/* Moving. */

static const char *peer_uri(const struct site *site)
{
	const struct config_host *host = site->settings.host;

	return host->peer_uri ? host->peer_uri : host->uri;
}

/* A URI that means the machine that opens it, or a file there, is of no use to another one. */
static bool names_its_host(const char *uri)
{
	g_autoptr(GUri) parts = g_uri_parse(uri, G_URI_FLAGS_NONE, NULL);

	return parts && g_uri_get_host(parts) && *g_uri_get_host(parts);
}

bool site_may_move(const struct site *from, const struct site *to, GError **error)
{
	if (!host_connected(from->host))
		g_set_error(error, VIRT_ERROR, VIRT_ERROR_CONNECTION, "host '%s' is out of reach",
			    host_name(from->host));
	else if (!names_its_host(peer_uri(to)))
		g_set_error(error, VIRT_ERROR, VIRT_ERROR_OTHER,
			    "other hosts cannot reach host '%s': give it a peer_uri",
			    host_name(to->host));
	else if (g_strcmp0(from->type.name, to->type.name) != 0)
		g_set_error(error, VIRT_ERROR, VIRT_ERROR_OTHER,
			    "VMs of host '%s' are of type %s, those of host '%s' of type %s",
			    host_name(from->host), from->type.name ?: "unknown",
			    host_name(to->host), to->type.name ?: "unknown");
	else
		return true;
	return false;
}

/* Paths of volumes are the same on all hosts, which have the same pool. */
static void expect_swap(struct site *to, const struct site *from, const char *domain)
{
	const char *path = g_hash_table_lookup(from->swap, domain);

	if (path)
		g_hash_table_insert(to->swap, g_strdup(domain), g_strdup(path));
}

static char **changes_between(const struct site *from, const struct site *to,
			      const struct machine *machine)
{
	const char *domain = machine_domain(machine);
	struct names names[2];
	struct domain_spec before = specify(from, domain, machine_name(machine),
					    machine_number(machine), NULL, &names[0]);
	struct domain_spec after = specify(to, domain, machine_name(machine),
					   machine_number(machine), NULL, &names[1]);
	char **changes = domain_xml_changes(&before, &after);

	names_clear(&names[0]);
	names_clear(&names[1]);
	return changes;
}

/* How a VM travels. */
enum manner {
	STILL = 0, /* in memory, frozen */
	SAVED,
	LIVE,
};

static void transfer(struct site *from, struct site *to, struct machine *machine,
		     enum manner manner,
		     void (*begin)(const struct transfer *transfer, host_done_f done, gpointer data),
		     host_done_f done, gpointer data)
{
	g_auto(GStrv) changes = changes_between(from, to, machine);
	const struct transfer transfer = {
		.from = from->host,
		.to = to->host,
		.to_uri = peer_uri(to),
		.domain = machine_domain(machine),
		.changes = (const char *const *)changes,
		.saved = manner == SAVED,
		.live = manner == LIVE,
		.swap = has_swap(from),
		.cancel = g_hash_table_lookup(to->coming, machine_domain(machine)),
	};

	begin(&transfer, done, data);
}

static void announce(struct site *from, struct site *to, struct machine *machine)
{
	if (!machine_of(to, machine_domain(machine)))
		g_ptr_array_add(to->machines, machine);
	expect_swap(to, from, machine_domain(machine));
}

void site_send(struct site *from, struct site *to, struct machine *machine, bool saved,
	       host_done_f done, gpointer data)
{
	announce(from, to, machine);
	g_hash_table_insert(to->coming, g_strdup(machine_domain(machine)), g_cancellable_new());
	transfer(from, to, machine, saved ? SAVED : STILL, transfer_start, done, data);
}

void site_send_live(struct site *from, struct site *to, struct machine *machine, host_done_f done,
		    gpointer data)
{
	announce(from, to, machine);
	g_hash_table_insert(to->coming, g_strdup(machine_domain(machine)), g_cancellable_new());
	machine_expect(machine, to->host);
	transfer(from, to, machine, LIVE, transfer_start, done, data);
}

void site_find_live(struct site *from, struct site *to, struct machine *machine, host_done_f done,
		    gpointer data)
{
	transfer(from, to, machine, LIVE, transfer_find, done, data);
}

void site_abort_live(struct site *from, struct site *to, struct machine *machine)
{
	transfer(from, to, machine, LIVE, transfer_abort, NULL, NULL);
}

void site_interrupt(struct site *from, struct site *to, struct machine *machine, bool saved)
{
	const struct transfer transfer = {
		.from = from->host,
		.domain = machine_domain(machine),
		.saved = saved,
		.cancel = g_hash_table_lookup(to->coming, machine_domain(machine)),
	};

	transfer_cancel(&transfer);
}

void site_find(struct site *from, struct site *to, struct machine *machine, host_done_f done,
	       gpointer data)
{
	transfer(from, to, machine, STILL, transfer_find, done, data);
}

/* What a VM has on a host's disk that is not its host any more, or does not become it. */
static void remove_volumes(struct site *site, const char *domain)
{
	g_autofree char *swap = g_strconcat(domain, STORAGE_SWAP, NULL);
	const char *const names[] = {swap, NULL};

	g_hash_table_remove(site->swap, domain);
	saved_remove(site->host, domain, NULL, NULL);
	if (has_swap(site))
		image_remove_swap(site->host, names, NULL, NULL);
}

void site_arrived(struct site *from, struct site *to, struct machine *machine)
{
	g_ptr_array_remove(from->machines, machine);
	g_hash_table_remove(to->coming, machine_domain(machine));
	remove_volumes(from, machine_domain(machine));
	machine_move(machine, to->host);
	prepare(to, machine);
}

void site_stayed(struct site *to, struct machine *machine)
{
	g_ptr_array_remove(to->machines, machine);
	g_hash_table_remove(to->coming, machine_domain(machine));
	remove_volumes(to, machine_domain(machine));
}

void site_give_up(struct site *to, struct machine *machine)
{
	site_stayed(to, machine);
	domain_destroy(to->host, machine_domain(machine), NULL, NULL);
}

void site_hand_over(struct site *from, struct site *to, struct machine *machine)
{
	g_ptr_array_remove(from->machines, machine);
	/* Its host may have failed to remove it before. */
	domain_destroy(from->host, machine_domain(machine), NULL, NULL);
	remove_volumes(from, machine_domain(machine));
	machine_move(machine, to->host);
	machine_detach(machine, "its new host does not know it yet");
	site_add_machine(to, machine);
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

static void saved_removed(gpointer result, const GError *error, gpointer data)
{
	struct site *site = data;
	g_auto(GStrv) names = swap_names(site);

	if (error || !has_swap(site))
		site->cleaned(site, error, site->cleaned_data);
	else
		image_remove_swap(site->host, (const char *const *)names, swap_removed, site);
}

/* A host that was never reached has nothing of ours: nothing is left behind. */
static void all_removed(gpointer result, const GError *error, gpointer data)
{
	struct site *site = data;
	g_auto(GStrv) kept = swap_names(site);

	if (error && !site->reached) {
		log_info_of(LOG_HOST(host_name(site->host)),
			    "never reached, so nothing was started there");
		site->cleaned(site, NULL, site->cleaned_data);
		return;
	}
	if (error)
		site->cleaned(site, error, site->cleaned_data);
	else
		saved_tidy(site->host, site->settings.prefix, (const char *const *)kept,
			   saved_removed, site);
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
	for (guint i = 0; i < site->machines->len; i++)
		machine_stop(site->machines->pdata[i]);
	host_call(site->host, HOST_LANE_CONTROL, &call);
}
