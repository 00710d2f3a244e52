/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/meter_hwmon_find.h"

#include <string.h>

#include "common/visible.h"
#include "local-sched/cpu/sysfs.h"

enum {
	SHOWN_FIRST = 8, /* of a long list in a message: its first entries, and its last */
	SHOWN_LAST = 12,
	LABEL_MAX = 40, /* bytes of a label or name in a message */
};

/* A chip with channels. */
struct chip {
	char *name;
	char *device;        /* "1-0040", "ACPI000D:00"; "hwmon3" where the chip has none */
	char *hwmon;         /* "hwmon3" */
	char *places[2];     /* directories that its files may be in */
	GPtrArray *channels; /* struct channel */
};

/* A channel of a chip. */
struct channel {
	char *name;  /* "power1" */
	char *label; /* or NULL */
	char *path;
};

/* Chips whose watts are not those of a machine. */
static const struct {
	const char *name;
	bool cpu_only;    /* CPU packages; else it is refused */
	const char *what; /* it is */
} partial_chips[] = {
	{"amd_energy", true, "CPU packages"},    {"fam15h_power", true, "CPU packages"},
	{"zenpower", true, "CPU packages"},      {"zenergy", true, "CPU packages"},
	{"peci_cpupower", true, "CPU packages"}, {"amd_hsmp_hwmon", true, "CPU packages"},
	{"apm_xgene", true, "CPU packages"},     {"amdgpu", false, "a graphics card"},
	{"radeon", false, "a graphics card"},    {"nouveau", false, "a graphics card"},
	{"i915", false, "a graphics card"},      {"xe", false, "a graphics card"},
};

static void channel_free(gpointer data)
{
	struct channel *channel = data;

	g_free(channel->name);
	g_free(channel->label);
	g_free(channel->path);
	g_free(channel);
}

static void chip_free(gpointer data)
{
	struct chip *chip = data;

	g_free(chip->name);
	g_free(chip->device);
	g_free(chip->hwmon);
	g_free(chip->places[0]);
	g_free(chip->places[1]);
	g_ptr_array_unref(chip->channels);
	g_free(chip);
}

/* The file NAME of a chip, or NULL. */
static char *find_file(const struct chip *chip, const char *name)
{
	for (gsize i = 0; i < G_N_ELEMENTS(chip->places); i++) {
		g_autofree char *path = g_build_filename(chip->places[i], name, NULL);

		if (g_file_test(path, G_FILE_TEST_EXISTS))
			return g_steal_pointer(&path);
	}
	return NULL;
}

static char *read_file(const struct chip *chip, const char *name)
{
	g_autofree char *path = find_file(chip, name);

	return path ? sysfs_read(path, NULL) : NULL;
}

static const struct channel *find_channel(const struct chip *chip, const char *name)
{
	for (guint i = 0; i < chip->channels->len; i++) {
		const struct channel *channel = chip->channels->pdata[i];

		if (strcmp(channel->name, name) == 0)
			return channel;
	}
	return NULL;
}

/*
 * Whether a channel is the power of a battery (the kernel's hwmon/acpi_power_meter), which is that
 * of the machine only while it has no other.
 */
static bool is_of_battery(const struct chip *chip, const char *name)
{
	g_autofree char *file = g_strconcat(name, "_is_battery", NULL);
	g_autofree char *text = read_file(chip, file);

	return g_strcmp0(text, "1") == 0;
}

/*
 * Adds channel `name` with file NAME_input, or NAME_average where its power is known as a mean
 * only, as that of ACPI is, unless it is there, or is that of a battery.
 */
static void add_channel(struct chip *chip, const char *name)
{
	g_autofree char *average = g_strconcat(name, "_average", NULL);
	g_autofree char *input = g_strconcat(name, "_input", NULL);
	g_autofree char *label = g_strconcat(name, "_label", NULL);
	const bool is_acpi = strcmp(chip->name, "power_meter") == 0;
	char *path = is_acpi ? find_file(chip, average) : NULL;
	struct channel *channel;

	path = path ?: find_file(chip, input) ?: find_file(chip, average);
	if (!path || find_channel(chip, name) || is_of_battery(chip, name)) {
		g_free(path);
		return;
	}
	channel = g_new0(struct channel, 1);
	channel->name = g_strdup(name);
	channel->label = read_file(chip, label);
	channel->path = path;
	g_ptr_array_add(chip->channels, channel);
}

static void add_channels(struct chip *chip, const char *quantity)
{
	for (gsize i = 0; i < G_N_ELEMENTS(chip->places); i++) {
		g_auto(GStrv) files = sysfs_list(chip->places[i], quantity);

		for (gsize k = 0; files[k]; k++) {
			const gsize digits = strspn(files[k] + strlen(quantity), "0123456789");
			g_autofree char *name = g_strndup(files[k], strlen(quantity) + digits);

			if (digits > 0)
				add_channel(chip, name);
		}
	}
}

/* The name of the device that the chip belongs to. */
static char *device_of(const char *place, const char *hwmon)
{
	g_autofree char *link = g_build_filename(place, "device", NULL);
	g_autofree char *target = g_file_read_link(link, NULL);

	return target ? g_path_get_basename(target) : g_strdup(hwmon);
}

static struct chip *read_chip(const char *directory, const char *hwmon)
{
	struct chip *chip = g_new0(struct chip, 1);

	chip->hwmon = g_strdup(hwmon);
	chip->places[0] = g_build_filename(directory, hwmon, NULL);
	chip->places[1] = g_build_filename(directory, hwmon, "device", NULL);
	chip->device = device_of(chip->places[0], hwmon);
	chip->name = read_file(chip, "name") ?: g_strdup("");
	chip->channels = g_ptr_array_new_with_free_func(channel_free);
	add_channels(chip, "power");
	add_channels(chip, "energy");
	return chip;
}

/* Whether a chip is of the name: its own ("aem0"), without its number, or its driver's. */
static bool is_called(const struct chip *chip, const char *name)
{
	/* ibmaem numbers its chips aem0, aem1 ... */
	const char *own = strcmp(name, "ibmaem") == 0 ? "aem" : name;
	const gsize length = strlen(own);

	return strcmp(chip->name, own) == 0 ||
	       (strncmp(chip->name, own, length) == 0 && chip->name[length] != '\0' &&
		!g_ascii_isdigit(own[length - 1]) &&
		strspn(chip->name + length, "0123456789") == strlen(chip->name + length));
}

/* Adds a name that comes from a file. */
static void append_name(GString *text, const char *name)
{
	g_autofree char *shown = visible_start(name, LABEL_MAX);

	g_string_append(text, shown);
}

typedef void (*append_f)(GString *text, const void *entry);

/* "a, b, c", shortened in the middle. */
static char *list(const GPtrArray *entries, append_f append)
{
	const guint hidden = entries->len > SHOWN_FIRST + SHOWN_LAST
				     ? entries->len - SHOWN_FIRST - SHOWN_LAST
				     : 0;
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < entries->len; i++) {
		if (hidden > 0 && i == SHOWN_FIRST)
			g_string_append_printf(text, ", %u more", hidden);
		if (hidden > 0 && i >= SHOWN_FIRST && i < SHOWN_FIRST + hidden)
			continue;
		g_string_append(text, i > 0 ? ", " : "");
		append(text, entries->pdata[i]);
	}
	if (entries->len == 0)
		g_string_append(text, "none");
	return g_string_free(text, FALSE);
}

static void append_channel(GString *text, const void *entry)
{
	const struct channel *channel = entry;

	append_name(text, channel->name);
	if (!channel->label)
		return;
	g_string_append(text, " (");
	append_name(text, channel->label);
	g_string_append_c(text, ')');
}

static void append_device(GString *text, const void *entry)
{
	append_name(text, ((const struct chip *)entry)->device);
}

static void append_chip(GString *text, const void *entry)
{
	append_name(text, ((const struct chip *)entry)->name);
}

/* The chips that have channels. */
static GPtrArray *read_chips(const char *sys_root)
{
	g_autofree char *directory = g_build_filename(sys_root, "class", "hwmon", NULL);
	g_auto(GStrv) names = sysfs_list(directory, "hwmon");
	GPtrArray *chips = g_ptr_array_new_with_free_func(chip_free);

	for (gsize i = 0; names[i]; i++) {
		struct chip *chip = read_chip(directory, names[i]);

		if (chip->channels->len > 0)
			g_ptr_array_add(chips, chip);
		else
			chip_free(chip);
	}
	return chips;
}

/* The chips of `all` (borrowed) that the configuration means, or NULL. */
static GPtrArray *choose_chips(const struct config_meter *config, const char *name,
			       const GPtrArray *all, char **ret_reason)
{
	g_autoptr(GPtrArray) called = g_ptr_array_new();
	g_autoptr(GPtrArray) chosen = g_ptr_array_new();
	g_autofree char *devices = NULL;

	for (guint i = 0; i < all->len; i++)
		if (is_called(all->pdata[i], name))
			g_ptr_array_add(called, all->pdata[i]);
	if (called->len == 0) {
		g_autofree char *names = list(all, append_chip);

		*ret_reason = g_strdup_printf(
			"no chip \"%s\" with power or energy in \"%s/class/hwmon\"; it has: %s",
			name, config->sys_root, names);
		return NULL;
	}
	devices = list(called, append_device);
	if (config->device_count == 0 && called->len > 1) {
		*ret_reason = g_strdup_printf("there are several, of the devices %s; name one as "
					      "`device`, or several, whose watts are added",
					      devices);
		return NULL;
	}
	if (config->device_count == 0)
		return g_steal_pointer(&called);
	for (uint32_t k = 0; k < config->device_count; k++) {
		const guint before = chosen->len;

		for (guint i = 0; i < called->len; i++) {
			struct chip *chip = called->pdata[i];

			if (strcmp(chip->device, config->device[k]) == 0 ||
			    strcmp(chip->hwmon, config->device[k]) == 0)
				g_ptr_array_add(chosen, chip);
		}
		if (chosen->len == before + 1)
			continue;
		*ret_reason = g_strdup_printf("device \"%s\" has %s of them; there are: %s",
					      config->device[k],
					      chosen->len == before ? "none" : "several", devices);
		return NULL;
	}
	return g_steal_pointer(&chosen);
}

/* Whether a channel is energyN beside powerN, which is the same quantity: the power is taken. */
static bool has_twin(const struct chip *chip, const struct channel *channel)
{
	g_autofree char *twin =
		g_str_has_prefix(channel->name, "energy")
			? g_strconcat("power", channel->name + strlen("energy"), NULL)
			: NULL;

	return twin && find_channel(chip, twin);
}

/* The channel that is meant by a name, or by a label that is of no other. */
static const struct channel *named_channel(const struct chip *chip, const char *name,
					   bool *ret_several)
{
	const struct channel *found = find_channel(chip, name);
	const bool by_label = !found;

	*ret_several = false;
	for (guint i = 0; by_label && i < chip->channels->len; i++) {
		const struct channel *channel = chip->channels->pdata[i];

		if (g_strcmp0(channel->label, name) != 0 || has_twin(chip, channel))
			continue;
		*ret_several |= found != NULL;
		found = channel;
	}
	return *ret_several ? NULL : found;
}

/* The only channel, or NULL. */
static const struct channel *only_channel(const struct chip *chip)
{
	const struct channel *only = NULL;

	for (guint i = 0; i < chip->channels->len; i++) {
		const struct channel *channel = chip->channels->pdata[i];

		if (has_twin(chip, channel))
			continue;
		if (only)
			return NULL;
		only = channel;
	}
	return only;
}

/* Adds the files of a chip to `paths`. */
static bool choose_channels(const struct config_meter *config, const struct chip *chip,
			    GPtrArray *paths, bool *energy, char **ret_reason)
{
	const bool acpi = config->kind == CONFIG_METER_ACPI;
	const uint32_t count = MAX(config->channel_count, 1);

	for (uint32_t i = 0; i < count; i++) {
		const char *name = acpi ? "power1" : config->channel ? config->channel[i] : NULL;
		bool several = false;
		const struct channel *channel =
			name ? named_channel(chip, name, &several) : only_channel(chip);
		g_autofree char *channels = list(chip->channels, append_channel);
		bool is_energy;

		if (!channel) {
			*ret_reason =
				name ? g_strdup_printf("%s has %s \"%s\"; it has: %s", chip->hwmon,
						       several ? "several channels" : "no channel",
						       name, channels)
				     : g_strdup_printf("%s has the channels %s; name one as "
						       "`channel`, or several, whose watts "
						       "are added",
						       chip->hwmon, channels);
			return false;
		}
		if (g_ptr_array_find_with_equal_func(paths, channel->path, g_str_equal, NULL)) {
			*ret_reason = g_strdup_printf("\"%s\" is named twice", channel->path);
			return false;
		}
		is_energy = g_str_has_prefix(channel->name, "energy");
		if (paths->len > 0 && is_energy != *energy) {
			*ret_reason = g_strdup("channels of power and of energy cannot be added; "
					       "name those of one kind");
			return false;
		}
		*energy = is_energy;
		g_ptr_array_add(paths, g_strdup(channel->path));
	}
	return true;
}

/* Whether the watts of a chip are those of a machine, or of its CPUs. */
static bool check_whole(const struct chip *chip, bool *cpu_only, char **ret_reason)
{
	if (g_str_has_prefix(chip->name, "BAT")) {
		*ret_reason =
			g_strdup_printf("chip \"%s\" is a battery, not the machine", chip->name);
		return false;
	}
	for (gsize i = 0; i < G_N_ELEMENTS(partial_chips); i++) {
		if (strcmp(chip->name, partial_chips[i].name) != 0)
			continue;
		*cpu_only = partial_chips[i].cpu_only;
		if (!*cpu_only)
			*ret_reason = g_strdup_printf("chip \"%s\" is %s, not the machine",
						      chip->name, partial_chips[i].what);
		return *cpu_only;
	}
	return true;
}

char *hwmon_title(const char *path)
{
	g_autofree char *place = g_path_get_dirname(path);
	g_autofree char *last = g_path_get_basename(place);
	g_autofree char *name_path = g_build_filename(place, "name", NULL);
	/* In hwmonN/device/, which is the link itself, or beside it. */
	const bool is_device = strcmp(last, "device") == 0;
	g_autofree char *link =
		is_device ? g_strdup(place) : g_build_filename(place, "device", NULL);
	g_autofree char *target = g_file_read_link(link, NULL);
	g_autofree char *device = target ? g_path_get_basename(target) : g_strdup("no device");
	const char *end = strrchr(path, '_');
	g_autofree char *label_path =
		end ? g_strdup_printf("%.*s_label", (int)(end - path), path) : NULL;
	g_autofree char *label = label_path ? sysfs_read(label_path, NULL) : NULL;
	g_autofree char *beside = g_build_filename(place, "..", "name", NULL);
	g_autofree char *name = sysfs_read(name_path, NULL);

	if (!name && is_device && !target)
		name = sysfs_read(beside, NULL);
	return g_strdup_printf("chip \"%s\" of %s%s%s%s", name ? name : "", device,
			       label ? ", \"" : "", label ? label : "", label ? "\"" : "");
}

bool hwmon_find(const struct config_meter *config, struct hwmon_channels *ret, char **ret_reason)
{
	const bool acpi = config->kind == CONFIG_METER_ACPI;
	g_autoptr(GPtrArray) all = read_chips(config->sys_root);
	g_autoptr(GPtrArray) chosen =
		choose_chips(config, acpi ? "power_meter" : config->chip, all, ret_reason);
	g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);

	*ret = (struct hwmon_channels){.paths = NULL};
	for (guint i = 0; chosen && i < chosen->len; i++)
		if (!check_whole(chosen->pdata[i], &ret->cpu_only, ret_reason) ||
		    !choose_channels(config, chosen->pdata[i], paths, &ret->energy, ret_reason))
			return false;
	if (!chosen)
		return false;
	g_ptr_array_add(paths, NULL);
	ret->titles = g_new0(char *, paths->len);
	for (guint i = 0; i + 1 < paths->len; i++)
		ret->titles[i] = hwmon_title(paths->pdata[i]);
	ret->paths = (char **)g_ptr_array_free(g_steal_pointer(&paths), FALSE);
	return true;
}

void hwmon_channels_clear(struct hwmon_channels *channels)
{
	g_clear_pointer(&channels->paths, g_strfreev);
	g_clear_pointer(&channels->titles, g_strfreev);
}
