/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/meter_redfish_parse.h"

#include <math.h>
#include <string.h>

#include "common/json.h"
#include "common/read_number.h"

/* The most that a chassis draws; larger numbers have another unit or are invalid. */
#define WATTS_TOP 1e6

/* What 16 bits have where there is no reading. */
#define WATTS_NONE 65535.0

/* How old the watts of an iDRAC may be (kepler issue 644). */
#define IDRAC_MEAN_S 60.0

enum {
	UNKNOWN_ENTRY = -1,
	VENDOR_ENTRY = -2,
	LIST_MAX = 20, /* names in a message */
};

bool meter_redfish_is_path(const char *text)
{
	if (!text || !g_str_has_prefix(text, "/redfish/"))
		return false;
	for (; *text; text++)
		if (!g_ascii_isgraph(*text) || *text == '#')
			return false;
	return true;
}

/*
 * A path as it is sent, which the caller frees: some firmware has blanks in names. NULL: of NULL.
 */
static char *escape(const char *path)
{
	GString *escaped;

	if (!path)
		return NULL;
	escaped = g_string_new(NULL);
	for (; *path; path++) {
		if (g_ascii_isgraph(*path))
			g_string_append_c(escaped, *path);
		else
			g_string_append_printf(escaped, "%%%02X", (unsigned)(unsigned char)*path);
	}
	return g_string_free(escaped, FALSE);
}

/* Whether a text is a path once it is escaped. */
static bool is_raw_path(const char *text)
{
	if (!text || !g_str_has_prefix(text, "/redfish/"))
		return false;
	for (; *text; text++)
		if (g_ascii_iscntrl(*text) || *text == '#')
			return false;
	return true;
}

/* The path in a text that is a path or a URL, not escaped, borrowed; NULL: neither. */
static const char *path_in(const char *text)
{
	const char *host = text ? strstr(text, "://") : NULL;
	const char *path = host ? strchr(host + strlen("://"), '/') : text;

	return is_raw_path(path) ? path : NULL;
}

/* The path of a link, not escaped, borrowed. Some firmware has the path itself there. */
static const char *link_of(const json_t *reference)
{
	return path_in(json_string_value(reference)
			       ?: json_string_value(json_object_get(reference, "@odata.id")));
}

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

/* The value at a path of keys, "Links/ComputerSystems". */
static const json_t *find(const json_t *object, const char *keys)
{
	g_auto(GStrv) parts = g_strsplit(keys, "/", -1);

	for (gsize i = 0; parts[i]; i++)
		object = json_object_get(object, parts[i]);
	return object;
}

/* Whether a resource, or an entry of a resource, says of itself that it is not there. */
static bool is_absent(const json_t *resource)
{
	return g_strcmp0(json_string_value(find(resource, "Status/State")), "Absent") == 0;
}

bool meter_redfish_is_same_path(const char *a, const char *b)
{
	g_autofree char *one = escape(a);
	g_autofree char *other = escape(b);
	size_t a_length = strlen(one), b_length = strlen(other);

	a_length -= a_length > 0 && one[a_length - 1] == '/';
	b_length -= b_length > 0 && other[b_length - 1] == '/';
	return a_length == b_length && strncmp(one, other, a_length) == 0;
}

/* The last part of a path; the caller frees. */
static char *id_of(const char *path)
{
	g_autofree char *bare = g_strdup(path);
	const char *last;

	if (g_str_has_suffix(bare, "/"))
		bare[strlen(bare) - 1] = '\0';
	last = strrchr(bare, '/');
	return g_uri_unescape_string(last ? last + 1 : bare, NULL) ?: g_strdup(bare);
}

/* Chassis. */

/* A type in lower case without spaces, as some firmware writes "Rack Mount"; the caller frees. */
static char *bare_type(const char *type)
{
	GString *bare = g_string_new(NULL);

	for (; type && *type; type++)
		if (g_ascii_isalnum(*type))
			g_string_append_c(bare, g_ascii_tolower(*type));
	return g_string_free(bare, FALSE);
}

/* Whether a chassis of this type is held by an enclosure. */
static bool is_blade(const char *type)
{
	static const char *const blades[] = {"blade", "cartridge", "sled", NULL};
	g_autofree char *bare = bare_type(type);

	return g_strv_contains(blades, bare);
}

static enum meter_redfish_class class_of(const char *type)
{
	static const struct {
		const char *type;
		enum meter_redfish_class kind;
	} types[] = {
		{"blade", METER_REDFISH_MACHINE},       {"cartridge", METER_REDFISH_MACHINE},
		{"rackmount", METER_REDFISH_MACHINE},   {"sled", METER_REDFISH_MACHINE},
		{"standalone", METER_REDFISH_MACHINE},  {"drawer", METER_REDFISH_ENCLOSURE},
		{"enclosure", METER_REDFISH_ENCLOSURE}, {"immersiontank", METER_REDFISH_ENCLOSURE},
		{"pod", METER_REDFISH_ENCLOSURE},       {"rack", METER_REDFISH_ENCLOSURE},
		{"rackgroup", METER_REDFISH_ENCLOSURE}, {"row", METER_REDFISH_ENCLOSURE},
		{"shelf", METER_REDFISH_ENCLOSURE},     {"card", METER_REDFISH_PART},
		{"component", METER_REDFISH_PART},      {"expansion", METER_REDFISH_PART},
		{"heatexchanger", METER_REDFISH_PART},  {"ipbaseddrive", METER_REDFISH_PART},
		{"module", METER_REDFISH_PART},         {"powerstrip", METER_REDFISH_PART},
		{"sidecar", METER_REDFISH_PART},        {"storageenclosure", METER_REDFISH_PART},
		{"zone", METER_REDFISH_PART},
	};
	g_autofree char *bare = bare_type(type);

	for (gsize i = 0; i < G_N_ELEMENTS(types); i++)
		if (strcmp(bare, types[i].type) == 0)
			return types[i].kind;
	return METER_REDFISH_UNKNOWN;
}

/*
 * How many of the linked systems are machines: a baseboard of GPUs (HGX) and a hypervisor (OpenBMC)
 * are systems of the same one. *ret_first is the first machine, or the first system (borrowed).
 */
static guint find_machines(const json_t *systems, const char **ret_first)
{
	guint count = 0;
	const json_t *link;
	size_t index;

	*ret_first = link_of(json_array_get(systems, 0));
	json_array_foreach (systems, index, link) {
		g_autofree char *id = link_of(link) ? id_of(link_of(link)) : NULL;

		if (!id || g_str_has_prefix(id, "HGX") || strcmp(id, "hypervisor") == 0)
			continue;
		if (count++ == 0)
			*ret_first = link_of(link);
	}
	return count;
}

/*
 * A link of a chassis to its watts; the caller frees. Some firmware gives a blade the link of its
 * enclosure, whose watts are those of all blades: that is kept in `elsewhere`, and is none.
 */
static char *own_link(struct meter_redfish_chassis *chassis, const json_t *reference)
{
	static const char all[] = "/redfish/v1/Chassis/";
	g_autofree char *path = escape(link_of(reference));
	g_autofree char *own = escape(chassis->path);
	const size_t length = strlen(own) - g_str_has_suffix(own, "/");

	if (!path || !chassis->blade || !g_str_has_prefix(path, all) ||
	    (strncmp(path, own, length) == 0 && path[length] == '/'))
		return g_steal_pointer(&path);
	g_free(chassis->elsewhere);
	chassis->elsewhere = g_steal_pointer(&path);
	return NULL;
}

struct meter_redfish_chassis *meter_redfish_chassis_new(const json_t *body, const char *path)
{
	const json_t *systems = find(body, "Links/ComputerSystems");
	const char *maker = text_of(body, "Manufacturer");
	const char *machine = NULL;
	struct meter_redfish_chassis *chassis;

	if (!json_is_object(body))
		return NULL;
	chassis = g_new0(struct meter_redfish_chassis, 1);
	chassis->path = g_strdup(path);
	chassis->id = id_of(path);
	chassis->type = g_strdup(text_of(body, "ChassisType"));
	chassis->kind = class_of(chassis->type);
	chassis->blade = is_blade(chassis->type);
	chassis->state = meter_redfish_parse_state(body);
	chassis->linked = json_array_size(systems) > 0;
	chassis->machines = find_machines(systems, &machine);
	chassis->absent = is_absent(body);
	chassis->system = escape(chassis->machines > 1 ? NULL : machine);
	chassis->power = own_link(chassis, json_object_get(body, "Power"));
	chassis->environment = own_link(chassis, json_object_get(body, "EnvironmentMetrics"));
	chassis->sensors = escape(link_of(json_object_get(body, "Sensors")));
	if (find(body, "Oem/Dell") || (maker && g_ascii_strncasecmp(maker, "Dell", 4) == 0))
		chassis->mean_s = IDRAC_MEAN_S;
	return chassis;
}

void meter_redfish_chassis_free(struct meter_redfish_chassis *chassis)
{
	if (!chassis)
		return;
	g_free(chassis->path);
	g_free(chassis->id);
	g_free(chassis->type);
	g_free(chassis->power);
	g_free(chassis->others);
	g_free(chassis->elsewhere);
	g_free(chassis->environment);
	g_free(chassis->sensors);
	g_free(chassis->system);
	g_free(chassis);
}

/*
 * How likely a chassis is the machine; those of the lowest rank that has some are candidates. 0: it
 * never is.
 */
static int rank_of(const struct meter_redfish_chassis *chassis)
{
	switch (chassis->kind) {
	case METER_REDFISH_MACHINE:
		return chassis->linked ? 1 : 2;
	case METER_REDFISH_UNKNOWN:
		return chassis->linked ? 2 : 3;
	case METER_REDFISH_ENCLOSURE:
		return chassis->linked ? 3 : 4;
	default:
		return 0;
	}
}

/* Empty slots are no machines, where others are there that may be. */
static void drop_absent(GPtrArray *chosen)
{
	guint there = 0;

	for (guint i = 0; i < chosen->len; i++)
		there += !((const struct meter_redfish_chassis *)chosen->pdata[i])->absent;
	for (guint i = chosen->len; there > 0 && i-- > 0;)
		if (((const struct meter_redfish_chassis *)chosen->pdata[i])->absent)
			g_ptr_array_remove_index(chosen, i);
}

GPtrArray *meter_redfish_choose(const GPtrArray *chassis)
{
	GPtrArray *chosen = g_ptr_array_new();

	for (int rank = 1; rank <= 4 && chosen->len == 0; rank++)
		for (guint i = 0; i < chassis->len; i++)
			if (rank_of(chassis->pdata[i]) == rank)
				g_ptr_array_add(chosen, chassis->pdata[i]);
	drop_absent(chosen);
	return chosen;
}

char *meter_redfish_list(const GPtrArray *chassis)
{
	GString *list = g_string_new(NULL);

	for (guint i = 0; i < chassis->len && i < LIST_MAX; i++) {
		const struct meter_redfish_chassis *one = chassis->pdata[i];

		g_string_append_printf(list, "%s%s", i > 0 ? ", " : "", one->id);
		if (one->type)
			g_string_append_printf(list, " (%s)", one->type);
	}
	if (chassis->len > LIST_MAX)
		g_string_append_printf(list, " and %u more", chassis->len - LIST_MAX);
	return g_string_free(list, FALSE);
}

enum meter_redfish_state meter_redfish_parse_state(const json_t *resource)
{
	const char *state = text_of(resource, "PowerState");

	if (!state)
		return METER_REDFISH_STATE_UNKNOWN;
	return g_ascii_strcasecmp(state, "Off") == 0 ? METER_REDFISH_OFF : METER_REDFISH_ON;
}

/* Collections. */

bool meter_redfish_parse_members(const json_t *collection, const char *path, GPtrArray *paths,
				 char **ret_next)
{
	const json_t *members = json_object_get(collection, "Members");
	const json_t *next = json_object_get(collection, "Members@odata.nextLink")
				     ?: json_object_get(collection, "@odata.nextLink");
	const json_t *member;
	size_t index;

	if (!json_is_array(members))
		return false;
	json_array_foreach (members, index, member) {
		if (link_of(member))
			g_ptr_array_add(paths, escape(link_of(member)));
	}
	*ret_next = escape(link_of(next));
	/* A reference to another query of the same path (RFC 3986, section 5.2). */
	if (json_is_string(next) && json_string_value(next)[0] == '?' &&
	    !strchr(json_string_value(next), '#')) {
		g_autofree char *bare = g_strndup(path, strcspn(path, "?"));
		g_autofree char *whole = g_strconcat(bare, json_string_value(next), NULL);

		*ret_next = escape(whole);
	}
	return *ret_next || !next || json_is_null(next) ||
	       (json_is_string(next) && json_string_length(next) == 0);
}

bool meter_redfish_parse_holds(const json_t *system, const char *path)
{
	const json_t *links = find(system, "Links/Chassis");
	const json_t *link;
	size_t index;

	json_array_foreach (links, index, link)
		if (link_of(link) && meter_redfish_is_same_path(link_of(link), path))
			return true;
	return false;
}

/* Watts. */

static struct meter_redfish_watts none(enum power_meter_error code, const char *what)
{
	return (struct meter_redfish_watts){.code = code, .mw = -1, .what = what};
}

/* The number in a text such as "245" or "245 W"; NAN: none. Some firmware writes it so. */
static double number_in(const char *text)
{
	double number = NAN;
	const char *unit = read_number_front(text, &number);

	while (unit && *unit == ' ')
		unit++;
	return unit && (*unit == '\0' || g_ascii_strcasecmp(unit, "W") == 0 ||
			g_ascii_strcasecmp(unit, "Watts") == 0)
		       ? number
		       : (double)NAN;
}

static struct meter_redfish_watts watts_of(const json_t *value)
{
	double watts;

	if (!value)
		return none(POWER_METER_ERROR_SETUP, NULL);
	if (json_is_null(value))
		return none(POWER_METER_ERROR_NOT_ACTIVE, "it has no watts at the moment (null)");
	watts = json_is_number(value)   ? json_number_value(value)
		: json_is_string(value) ? number_in(json_string_value(value))
					: (double)NAN;
	if (!(watts >= 0 && watts <= WATTS_TOP))
		return none(POWER_METER_ERROR_GARBAGE, "its watts are not a number of watts");
	if (watts >= WATTS_NONE && watts <= WATTS_NONE)
		return none(POWER_METER_ERROR_NOT_ACTIVE,
			    "its watts are 65535, which stands for no reading");
	return (struct meter_redfish_watts){.mw = llround(watts * 1e3)};
}

/* Whether a word begins with the capital at `at`: the P of "GpuPower" and "CPUPower". */
static bool begins_word(const char *name, const char *at)
{
	if (at == name || !g_ascii_isupper(*at))
		return false;
	/* Not the M of "NVMe", nor the U of "CPUs". */
	return g_ascii_islower(at[-1]) ||
	       (g_ascii_isupper(at[-1]) && g_ascii_islower(at[1]) && g_ascii_islower(at[2]));
}

/*
 * The words of a name in lower case, of letters or of digits: "node", "1"; the caller frees. With
 * `by_case`, a capital begins a word as well.
 */
static char **words_of(const char *name, bool by_case)
{
	g_autoptr(GString) text = g_string_new(NULL);
	GStrvBuilder *words = g_strv_builder_new();
	char **list;

	for (const char *at = name; at && *at; at++) {
		const char last = text->len > 0 ? text->str[text->len - 1] : '\0';

		if (text->len > 0 &&
		    (!g_ascii_isalnum(*at) || !g_ascii_isdigit(last) != !g_ascii_isdigit(*at) ||
		     (by_case && begins_word(name, at)))) {
			g_strv_builder_add(words, text->str);
			g_string_truncate(text, 0);
		}
		if (g_ascii_isalnum(*at))
			g_string_append_c(text, g_ascii_tolower(*at));
	}
	if (text->len > 0)
		g_strv_builder_add(words, text->str);
	list = g_strv_builder_end(words);
	g_strv_builder_unref(words);
	return list;
}

/* Whether a name has one of the words, which capitals may tell apart or not: "BackPlane". */
static bool has_word(const char *name, const char *const *words)
{
	for (int by_case = 0; by_case <= 1; by_case++) {
		g_auto(GStrv) own = words_of(name, by_case);

		for (gsize i = 0; own[i]; i++)
			if (g_strv_contains(words, own[i]))
				return true;
	}
	return false;
}

/* Whether a word names a part of the machine, or several: "fans". */
static bool is_part_word(const char *word)
{
	static const char *const parts[] = {
		"accelerator", "backplane", "bluefield", "card",      "chipset", "cooling",
		"cpu",         "dimm",      "disk",      "dpu",       "dram",    "drive",
		"fan",         "fpga",      "gpgpu",     "gpu",       "hdd",     "hgx",
		"memory",      "mem",       "module",    "nic",       "npu",     "nvme",
		"nvswitch",    "pch",       "pcie",      "processor", "riser",   "socket",
		"ssd",         "storage",   "sub",       "subsystem", "xpu",     NULL,
	};
	g_autofree char *single =
		g_strndup(word, strlen(word) - (strlen(word) > 3 && g_str_has_suffix(word, "s")));

	return g_strv_contains(parts, word) || g_strv_contains(parts, single);
}

/* Whether the words name one supply of several, and not the total of all. */
static bool are_of_supply(char *const *words)
{
	bool supply = false, total = false, number = false;

	for (gsize i = 0; words[i]; i++) {
		supply |= strcmp(words[i], "psu") == 0 || strcmp(words[i], "supply") == 0;
		total |= strcmp(words[i], "total") == 0;
		number |= g_ascii_isdigit(words[i][0]);
	}
	return supply && (!total || number);
}

/* Whether a name speaks of a part of the machine: "CPU Sub-system Power". */
static bool names_part(const char *name)
{
	for (int by_case = 0; by_case <= 1; by_case++) {
		g_auto(GStrv) words = words_of(name, by_case);

		if (are_of_supply(words))
			return true;
		for (gsize i = 0; words[i]; i++)
			if (is_part_word(words[i]))
				return true;
	}
	return false;
}

/* Whether a name speaks of a chassis, which of a blade may be the enclosure around it. */
static bool names_chassis(const char *name)
{
	static const char *const chassis[] = {"chassis", "enclosure", NULL};

	return has_word(name, chassis);
}

/* Whether a name speaks of the whole machine: "System Power Control". */
static bool names_whole(const char *name, const struct meter_redfish_chassis *machine)
{
	static const char *const whole[] = {"blade", "host",   "machine", "node", "server",
					    "sled",  "system", "total",   NULL};

	return has_word(name, whole) || (!machine->blade && names_chassis(name));
}

/* Whether a physical context (DSP0268) is not that of the whole machine. */
static bool is_context_of_part(const char *context)
{
	static const char *const whole[] = {"",
					    "chassis",
					    "system",
					    "systemboard",
					    "computebay",
					    "dcbus",
					    "intake", /* a DGX */
					    "powersupplybay",
					    "powersubsystem",
					    "powersupply", /* Cisco: at all supplies */
					    "poweroutlet",
					    "acinput",
					    "acutilityinput",
					    "other",
					    NULL};
	g_autofree char *lower = g_ascii_strdown(context ?: "", -1);

	return !g_strv_contains(whole, lower);
}

/* Whether a path is that of a computer system itself. */
static bool is_system(const char *path)
{
	static const char systems[] = "/redfish/v1/Systems/";
	const char *end =
		g_str_has_prefix(path, systems) ? strchr(path + strlen(systems), '/') : path;

	return (!end || end[1] == '\0') && !strchr(path, '#') && end != path;
}

/* Whether a related item is a part of a machine. */
static bool is_item_a_part(const char *path)
{
	static const char *const parts[] = {
		"/processors", "/memory",        "/pciedevices",       "/pciefunctions",
		"/drives",     "/storage",       "/simplestorage",     "/networkadapters",
		"/fans",       "/powersupplies", "/networkinterfaces", NULL,
	};
	g_autofree char *lower = g_ascii_strdown(path, -1);

	for (gsize i = 0; parts[i]; i++)
		if (strstr(lower, parts[i]))
			return true;
	return false;
}

/* Whether a related item is another chassis or system than the machine. */
static bool is_item_elsewhere(const char *path, const struct meter_redfish_chassis *machine)
{
	g_autofree char *lower = g_ascii_strdown(path, -1);

	if (machine->system && is_system(path) &&
	    !meter_redfish_is_same_path(path, machine->system))
		return true;
	return strstr(lower, "/chassis/") && !strchr(path, '#') &&
	       !meter_redfish_is_same_path(path, machine->path);
}

/*
 * Whether all that an entry relates to are parts of the machine, or other machines. A Supermicro
 * names the processors at the entry of the whole machine, which its name tells.
 */
static bool relates_to_part(const json_t *entry, const struct meter_redfish_chassis *machine)
{
	const bool is_whole = names_whole(text_of(entry, "Name"), machine);
	const json_t *items = json_object_get(entry, "RelatedItem");
	const json_t *item;
	size_t index;

	json_array_foreach (items, index, item) {
		const char *path = text_of(item, "@odata.id");

		if (!path ||
		    !(is_item_elsewhere(path, machine) || (is_item_a_part(path) && !is_whole)))
			return false;
	}
	return json_array_size(items) > 0;
}

/* Whether an entry of PowerControl is for a part of the machine alone, or for what is not there. */
static bool is_part(const json_t *entry, const struct meter_redfish_chassis *machine)
{
	return is_absent(entry) || is_context_of_part(text_of(entry, "PhysicalContext")) ||
	       names_part(text_of(entry, "Name")) || relates_to_part(entry, machine);
}

/* Whether a word is a number or a single letter, which tell apart what is alike. */
static bool is_label(const char *word)
{
	return *word && (word[strspn(word, "0123456789")] == '\0' || word[1] == '\0');
}

/*
 * Whether two names differ, but in labels alone: "Node 1 Power" and "Node 2 Power", "Node A" and
 * "Node B".
 */
static bool are_numbered(const char *a, const char *b)
{
	g_auto(GStrv) a_words = words_of(a, true);
	g_auto(GStrv) b_words = words_of(b, true);
	bool differ = false;
	gsize i;

	for (i = 0; a_words[i] && b_words[i]; i++) {
		if (strcmp(a_words[i], b_words[i]) == 0)
			continue;
		if (!is_label(a_words[i]) || !is_label(b_words[i]))
			return false;
		differ = true;
	}
	return differ && !a_words[i] && !b_words[i];
}

/* The computer system that an entry is for, borrowed; NULL: not said. */
static const char *system_of(const json_t *entry)
{
	const char *path = link_of(json_array_get(json_object_get(entry, "RelatedItem"), 0));

	return path && is_system(path) ? path : NULL;
}

/* Whether two entries of PowerControl are for two machines, for sure. */
static bool are_of_two_machines(const json_t *a, const json_t *b)
{
	const char *a_name = text_of(a, "Name"), *b_name = text_of(b, "Name");

	if (system_of(a) && system_of(b))
		return !meter_redfish_is_same_path(system_of(a), system_of(b));
	return a_name && b_name && are_numbered(a_name, b_name);
}

/* PowerControl as a list, which the caller unrefs. Some firmware has the entry itself there. */
static json_t *entries_of(const json_t *power)
{
	json_t *entries = json_object_get(power, "PowerControl");

	return json_is_object(entries) ? json_pack("[O]", entries) : json_incref(entries);
}

static bool is_called(const json_t *object, const char *name)
{
	return g_strcmp0(text_of(object, "Name"), name) == 0 ||
	       g_strcmp0(text_of(object, "MemberId"), name) == 0;
}

/* How many of the objects are called so. */
static guint count_called(const json_t *objects, const char *name)
{
	const json_t *one;
	size_t index;
	guint count = 0;

	json_array_foreach (objects, index, one)
		count += is_called(one, name);
	return count;
}

char *meter_redfish_list_entries(const json_t *power)
{
	g_autoptr(json_t) entries = entries_of(power);
	GString *list = g_string_new(NULL);
	const json_t *entry;
	size_t index;

	json_array_foreach (entries, index, entry) {
		const char *name = text_of(entry, "Name");
		const char *id = text_of(entry, "MemberId");

		if (index >= LIST_MAX)
			break;
		g_string_append(list, list->len > 0 ? ", " : "");
		if (name && (count_called(entries, name) == 1 || !id))
			g_string_append(list, name);
		else if (id)
			g_string_append_printf(list, "%s%s%s%s", id, name ? " (" : "", name ?: "",
					       name ? ")" : "");
		else
			g_string_append_printf(list, "entry %zu, without a name", index + 1);
	}
	return g_string_free(list, FALSE);
}

/*
 * The watts of an entry of PowerControl: those of now, else a mean. A mean of 0 W over no time is
 * that of a BMC which has none.
 */
static struct meter_redfish_watts watts_of_entry(const json_t *entry)
{
	const json_t *metrics = json_object_get(entry, "PowerMetrics");
	const json_t *mean = json_object_get(metrics, "AverageConsumedWatts");
	const double minutes = json_number_value(json_object_get(metrics, "IntervalInMin"));
	struct meter_redfish_watts watts = watts_of(json_object_get(entry, "PowerConsumedWatts"));

	if (watts.code != POWER_METER_ERROR_SETUP || !json_is_number(mean) ||
	    (json_number_value(mean) <= 0 && minutes <= 0))
		return watts;
	watts = watts_of(mean);
	if (minutes > 0)
		watts.mean_s = minutes * 60;
	else
		watts.of_unknown = true;
	return watts;
}

/* Where vendors have the watts of the whole machine, beside PowerControl. */
static struct meter_redfish_watts watts_of_vendor(const json_t *power)
{
	static const char *const places[] = {
		/* iRMC; idrac_exporter issue 121 */
		"Oem/ts_fujitsu/ChassisPowerConsumption/CurrentPowerConsumptionW",
		"Oem/Fujitsu/ChassisPowerConsumption/CurrentPowerConsumptionW",
		/* Inspur; idrac_exporter issue 173 */
		"Oem/Public/TotalPower",
		/* iLO 4, beside PowerControl, or without */
		"PowerConsumedWatts",
	};

	for (gsize i = 0; i < G_N_ELEMENTS(places); i++)
		if (find(power, places[i]))
			return watts_of(find(power, places[i]));
	return none(POWER_METER_ERROR_SETUP, "no PowerControl with watts of the whole machine");
}

/* Of two failures to have watts that which says more. */
static struct meter_redfish_watts telling(struct meter_redfish_watts a,
					  struct meter_redfish_watts b)
{
	return b.code == POWER_METER_OK || a.code == POWER_METER_ERROR_SETUP ||
			       (a.code == POWER_METER_ERROR_GARBAGE &&
				b.code == POWER_METER_ERROR_NOT_ACTIVE)
		       ? b
		       : a;
}

/* The entries that are not for a part, and have watts above 0 or may be for another machine. */
struct candidates {
	size_t first; /* with watts above 0 */
	size_t whole; /* the first of them whose name is that of the whole machine */
	guint count, wholes;
	bool waiting; /* there is one of the whole machine, without watts at the moment */
	bool others;  /* there is one of another machine than the first, with watts or without */
};

static struct candidates find_candidates(const json_t *entries,
					 const struct meter_redfish_chassis *machine)
{
	struct candidates found = {0};
	const json_t *entry;
	bool is_enclosure; /* the first may be the blade's enclosure */
	size_t index;

	json_array_foreach (entries, index, entry) {
		const bool is_whole = names_whole(text_of(entry, "Name"), machine);
		const struct meter_redfish_watts watts = watts_of_entry(entry);

		if (is_part(entry, machine))
			continue;
		/* An entry that never has watts does not have the property. */
		found.waiting |=
			is_whole && (watts.mw == 0 || watts.code == POWER_METER_ERROR_NOT_ACTIVE);
		if (watts.mw <= 0)
			continue;
		if (found.count++ == 0)
			found.first = index;
		if (is_whole && found.wholes++ == 0)
			found.whole = index;
	}
	is_enclosure = machine->blade && found.wholes == 0 &&
		       names_chassis(text_of(json_array_get(entries, found.first), "Name"));
	json_array_foreach (entries, index, entry)
		found.others |= found.count > 0 && index != found.first &&
				!is_part(entry, machine) &&
				watts_of_entry(entry).code != POWER_METER_ERROR_SETUP &&
				(is_enclosure ||
				 are_of_two_machines(json_array_get(entries, found.first), entry));
	return found;
}

/* Why an entry has no watts; what the first says that says most. */
static struct meter_redfish_watts watts_of_none(const json_t *entries,
						const struct meter_redfish_chassis *machine)
{
	struct meter_redfish_watts best =
		none(POWER_METER_ERROR_SETUP, "no PowerControl with watts of the whole machine");
	const json_t *entry;
	size_t index;

	json_array_foreach (entries, index, entry)
		if (!is_part(entry, machine) && best.code != POWER_METER_OK)
			best = telling(best, watts_of_entry(entry));
	return best;
}

void meter_redfish_entry_clear(struct meter_redfish_entry *entry)
{
	g_clear_pointer(&entry->id, g_free);
	g_clear_pointer(&entry->name, g_free);
}

/* Remembers the entry at `index`. */
static void keep_entry(struct meter_redfish_entry *entry, const json_t *entries, size_t index)
{
	const json_t *found = json_array_get(entries, index);

	meter_redfish_entry_clear(entry);
	*entry = (struct meter_redfish_entry){.index = (int)index,
					      .id = g_strdup(text_of(found, "MemberId")),
					      .name = g_strdup(text_of(found, "Name"))};
}

static bool is_kept(const struct meter_redfish_entry *entry, const json_t *one)
{
	return json_is_object(one) && g_strcmp0(text_of(one, "MemberId"), entry->id) == 0 &&
	       g_strcmp0(text_of(one, "Name"), entry->name) == 0;
}

/*
 * Finds the kept entry, which may have another place than before. One without MemberId and Name is
 * known by its place only. Returns false if it is not there, or not once.
 */
static bool follow_entry(struct meter_redfish_entry *entry, const json_t *entries)
{
	const json_t *one;
	size_t index, at = 0;
	guint count = 0;

	if (is_kept(entry, json_array_get(entries, (size_t)entry->index)))
		return true;
	json_array_foreach (entries, index, one) {
		if (!is_kept(entry, one))
			continue;
		at = index;
		count++;
	}
	if (count != 1 || (!entry->id && !entry->name))
		return false;
	entry->index = (int)at;
	return true;
}

/* The watts of the place that was found. */
static struct meter_redfish_watts watts_of_kept(const json_t *power, const json_t *entries,
						struct meter_redfish_entry *entry)
{
	struct meter_redfish_watts watts;

	if (entry->index == VENDOR_ENTRY) {
		watts = watts_of_vendor(power);
		watts.gone = watts.code == POWER_METER_ERROR_SETUP;
	} else if (follow_entry(entry, entries)) {
		watts = watts_of_entry(json_array_get(entries, (size_t)entry->index));
		if (watts.code == POWER_METER_ERROR_SETUP)
			watts.what = "its entry in PowerControl has no watts at the moment";
	} else {
		watts = none(POWER_METER_ERROR_SETUP, "its entry in PowerControl is gone");
		watts.gone = true;
	}
	return watts;
}

struct meter_redfish_watts meter_redfish_parse_power(const json_t *power,
						     const struct meter_redfish_chassis *machine,
						     struct meter_redfish_entry *entry)
{
	g_autoptr(json_t) entries = entries_of(power);
	struct meter_redfish_watts watts, vendor;
	struct candidates found;

	if (!json_is_object(power))
		return none(POWER_METER_ERROR_GARBAGE, "its Power is no object");
	if (entry->index != UNKNOWN_ENTRY)
		return watts_of_kept(power, entries, entry);
	found = find_candidates(entries, machine);
	/* Another entry would be taken for good. */
	if (found.waiting && found.count > 0 && found.wholes == 0 && !found.others)
		return none(POWER_METER_ERROR_NOT_ACTIVE,
			    "the entry of the whole machine has no watts at the moment");
	if (found.others || (found.count > 1 && found.wholes != 1))
		return (struct meter_redfish_watts){.code = POWER_METER_ERROR_SETUP,
						    .mw = -1,
						    .what = "several entries with watts",
						    .several = true};
	if (found.count > 0) {
		keep_entry(entry, entries, found.wholes == 1 ? found.whole : found.first);
		return watts_of_entry(json_array_get(entries, (size_t)entry->index));
	}
	/* 0 W, or null, may be all that an entry ever says. */
	watts = watts_of_none(entries, machine);
	vendor = watts_of_vendor(power);
	if (watts.code == POWER_METER_OK || watts.code == POWER_METER_ERROR_GARBAGE ||
	    (watts.code == POWER_METER_ERROR_NOT_ACTIVE && vendor.code != POWER_METER_OK))
		return watts;
	if (vendor.code == POWER_METER_OK)
		entry->index = VENDOR_ENTRY;
	return vendor;
}

/* Whether a reading is one of another quantity than power, by its type or its unit. */
static bool is_of_another_quantity(const json_t *resource)
{
	const char *type = text_of(resource, "ReadingType");
	const char *units = text_of(resource, "ReadingUnits");

	return (type && g_ascii_strcasecmp(type, "Power") != 0) ||
	       (units && strcmp(units, "W") != 0 && g_ascii_strcasecmp(units, "Watts") != 0);
}

char *meter_redfish_describe_quantity(const json_t *resource)
{
	const char *type = text_of(resource, "ReadingType");
	const char *units = text_of(resource, "ReadingUnits");

	if (!is_of_another_quantity(resource))
		return NULL;
	return g_strdup_printf(
		"it is no power in watts: its ReadingType is %s, its ReadingUnits %s",
		type ?: "not said", units ?: "not said");
}

bool meter_redfish_is_of_part(const json_t *environment)
{
	const char *path = json_string_value(find(environment, "PowerWatts/DataSourceUri"));
	g_autofree char *id = path ? id_of(path) : NULL;

	return id && names_part(id);
}

/* Whether a resource says of itself that it does not work (DSP0268, Status.State). */
static bool is_out_of_use(const json_t *resource)
{
	static const char *const states[] = {"Absent", "Disabled", "StandbyOffline",
					     "UnavailableOffline", NULL};
	const char *state = json_string_value(find(resource, "Status/State"));

	return state && g_strv_contains(states, state);
}

struct meter_redfish_watts meter_redfish_parse_reading(const json_t *resource)
{
	static const char *const places[] = {"PowerWatts/Reading", "InputPowerWatts/Reading",
					     "Reading"};

	if (!json_is_object(resource))
		return none(POWER_METER_ERROR_GARBAGE, "it is no object");
	if (is_of_another_quantity(resource))
		return none(POWER_METER_ERROR_GARBAGE, "it is no power in watts");
	/* Its reading may be the last that it had. */
	if (is_out_of_use(resource))
		return none(POWER_METER_ERROR_NOT_ACTIVE,
			    "by its Status it is absent, disabled or not available");
	for (gsize i = 0; i < G_N_ELEMENTS(places); i++) {
		g_autofree char *holder = g_path_get_dirname(places[i]);

		if (!find(resource, places[i]))
			continue;
		if (is_of_another_quantity(json_object_get(resource, holder)))
			return none(POWER_METER_ERROR_GARBAGE, "it is no power in watts");
		return watts_of(find(resource, places[i]));
	}
	/* Some firmware has the number itself there. */
	if (json_is_number(json_object_get(resource, "PowerWatts")))
		return watts_of(json_object_get(resource, "PowerWatts"));
	return none(POWER_METER_ERROR_SETUP, "no Reading in watts");
}

/* The watts at the input of a supply: its own property, or that of the first vendor. */
static struct meter_redfish_watts watts_of_supply(const json_t *supply)
{
	const json_t *vendors = json_object_get(supply, "Oem");
	struct meter_redfish_watts watts = watts_of(json_object_get(supply, "PowerInputWatts"));
	const char *name;
	json_t *vendor;

	json_object_foreach ((json_t *)vendors, name, vendor) {
		if (watts.code == POWER_METER_OK)
			break;
		if (json_object_get(vendor, "PowerInputWatts"))
			watts = watts_of(json_object_get(vendor, "PowerInputWatts"));
	}
	return watts;
}

unsigned meter_redfish_parse_supplies(const json_t *power)
{
	const json_t *supplies = json_object_get(power, METER_REDFISH_SUPPLIES);
	const json_t *supply;
	unsigned count = 0;
	size_t index;

	json_array_foreach (supplies, index, supply)
		count += watts_of_supply(supply).code == POWER_METER_OK;
	return count;
}

/* The sum of all supplies that are there. Without the watts of one of them there is none. */
static struct meter_redfish_watts sum_supplies(const json_t *power)
{
	const json_t *supplies = json_object_get(power, METER_REDFISH_SUPPLIES);
	struct meter_redfish_watts sum =
		none(POWER_METER_ERROR_SETUP, "no PowerSupplies with PowerInputWatts");
	const json_t *supply;
	size_t index;

	json_array_foreach (supplies, index, supply) {
		struct meter_redfish_watts watts;

		if (is_absent(supply))
			continue;
		watts = watts_of_supply(supply);
		if (watts.code != POWER_METER_OK)
			return none(watts.code, watts.what
							? watts.what
							: "a power supply has no PowerInputWatts");
		sum.mw = (sum.code == POWER_METER_OK ? sum.mw : 0) + watts.mw;
		sum.code = POWER_METER_OK;
		sum.what = NULL;
	}
	return sum;
}

struct meter_redfish_watts meter_redfish_parse_named(const json_t *power, const char *name)
{
	const json_t *supplies = json_object_get(power, METER_REDFISH_SUPPLIES);
	g_autoptr(json_t) entries = entries_of(power);
	struct meter_redfish_watts found =
		none(POWER_METER_ERROR_SETUP, "nothing in Power has this name");
	unsigned count = 0;
	const json_t *one;
	size_t index;

	if (strcmp(name, METER_REDFISH_SUPPLIES) == 0)
		return sum_supplies(power);
	json_array_foreach (supplies, index, one) {
		if (!is_called(one, name))
			continue;
		found = watts_of_supply(one);
		count++;
	}
	json_array_foreach (entries, index, one) {
		if (!is_called(one, name))
			continue;
		found = watts_of_entry(one);
		count++;
	}
	if (count == 1 && found.code == POWER_METER_ERROR_SETUP)
		found.what = "in Power, where it has neither PowerInputWatts nor "
			     "PowerConsumedWatts";
	return count > 1 ? none(POWER_METER_ERROR_SETUP,
				"several things in Power have this name; a MemberId tells them "
				"apart")
			 : found;
}

bool meter_redfish_is_same_named(const json_t *power, const char *a, const char *b)
{
	const json_t *supplies = json_object_get(power, METER_REDFISH_SUPPLIES);
	g_autoptr(json_t) entries = entries_of(power);
	const bool is_sum =
		strcmp(a, METER_REDFISH_SUPPLIES) == 0 || strcmp(b, METER_REDFISH_SUPPLIES) == 0;
	const json_t *one;
	size_t index;

	if (strcmp(a, b) == 0)
		return true;
	json_array_foreach (supplies, index, one)
		if (is_sum ? is_called(one, a) || is_called(one, b)
			   : is_called(one, a) && is_called(one, b))
			return true;
	json_array_foreach (entries, index, one)
		if (is_called(one, a) && is_called(one, b))
			return true;
	return false;
}

/* Places. */

const char *meter_redfish_parse_sessions(const json_t *root)
{
	return link_of(find(root, "Links/Sessions"));
}

char *meter_redfish_parse_location(const char *location)
{
	return escape(path_in(location));
}

char *meter_redfish_parse_redirection(const char *address, const char *path, const char *location)
{
	g_autofree char *from = g_strconcat(address, path, NULL);
	g_autofree char *to =
		location ? g_uri_resolve_relative(from, location, G_URI_FLAGS_ENCODED, NULL) : NULL;
	g_autoptr(GUri) base = g_uri_parse(address, G_URI_FLAGS_ENCODED, NULL);
	g_autoptr(GUri) uri = to ? g_uri_parse(to, G_URI_FLAGS_ENCODED, NULL) : NULL;
	const int port = uri && g_uri_get_port(uri) >= 0 ? g_uri_get_port(uri) : 443;
	g_autofree char *target = NULL;

	if (!base || !uri || g_uri_get_userinfo(uri) ||
	    strcmp(g_uri_get_scheme(uri), "https") != 0 ||
	    g_ascii_strcasecmp(g_uri_get_host(uri) ?: "", g_uri_get_host(base) ?: "") != 0 ||
	    port != g_uri_get_port(base))
		return NULL;
	target = g_strconcat(g_uri_get_path(uri), g_uri_get_query(uri) ? "?" : NULL,
			     g_uri_get_query(uri), NULL);
	return meter_redfish_is_path(target) ? g_steal_pointer(&target) : NULL;
}
