/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/lab_fit.h"

#include <math.h>

#include "common/error_fail.h"

/*
 * The least share of a CPU that a VM's quota can be: 1 ms per period, of which the shortest is 71
 * ms (cpu_cap.h).
 */
#define QUOTA_LEAST 0.0142
#define REPETITIONS_MAX 1e9
/* Repetitions that had to be so many times as many as they should are worth telling. */
#define WORK_WORTH_TELLING 1.3

/* One fitting. */
struct fitting {
	struct config *config;
	const struct machine_probe *probe;
	struct lab_fit *fit;
	GPtrArray *notices;
};

static void G_GNUC_PRINTF(2, 3) tell(struct fitting *fitting, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	g_ptr_array_add(fitting->notices, g_strdup_vprintf(format, arguments));
	va_end(arguments);
}

static void fit_cluster(struct fitting *fitting, struct config_cluster *cluster)
{
	/* Of all of a VM's cores together. */
	const double least = ceil(QUOTA_LEAST * cluster->base_mhz / cluster->cores);
	const double wanted = floor(cluster->max_mhz * fitting->fit->quotas);
	const uint32_t given = cluster->max_mhz;

	if (given == 0 || config_cluster_blades(cluster, NULL) == 0)
		return;
	cluster->max_mhz = (uint32_t)fmin(fmax(fmax(wanted, least), 1), given);
	if (cluster->max_mhz > wanted)
		tell(fitting,
		     "cluster '%s': max_mhz is %u, not %.0f: a VM's CPU quota is 1 ms per period at least",
		     cluster->name, cluster->max_mhz, wanted);
}

static void fit_blade(struct fitting *fitting, uint32_t index)
{
	struct config_blade *blade = &fitting->config->lab->blades[index];
	const double quotas = config_lab_blade_quotas(fitting->config, index);
	const double least = fmax(CONFIG_BLADE_CORES_MIN, config_lab_is_steady(fitting->config)
								  ? quotas * CONFIG_LAB_STEADY_MOST
								  : quotas);
	const double wanted = fmin(blade->cpu_cores * fitting->fit->quotas, fitting->probe->cores);

	/* Thousandths of a core, for people. */
	blade->cpu_cores = fmin(fmax(floor(wanted * 1000) / 1000, least), blade->cpu_cores);
}

static void fit_type(struct fitting *fitting, struct config_type *type, GString *changed)
{
	const double wanted = type->repetitions * fitting->fit->work;
	const uint32_t given = type->repetitions;

	if (config_type_is_script(type))
		return;
	type->repetitions = (uint32_t)fmin(fmax(round(wanted), 1), REPETITIONS_MAX);
	if (type->repetitions != given)
		g_string_append_printf(changed, "%s%s %u instead of %u", changed->len ? ", " : "",
				       type->name, type->repetitions, given);
	if (type->repetitions >= WORK_WORTH_TELLING * wanted)
		tell(fitting,
		     "type '%s': 1 repetition is the least, and takes %.1f times as long here as elsewhere",
		     type->name, 1 / wanted);
}

/*
 * The mean factor by which arriving tasks last longer here, since types of few repetitions cannot
 * shrink enough.
 */
static double mean_length(const struct config *before, double work)
{
	double share = 0;
	double length = 0;

	for (uint32_t t = 0; t < before->types_count; t++) {
		const struct config_type *type = &before->types[t];
		const double wanted = type->repetitions * work;

		share += type->share;
		length += type->share * (config_type_is_script(type)
						 ? 1
						 : fmax(1, fmax(round(wanted), 1) / wanted));
	}
	return share > 0 ? length / share : 1;
}

/* Before the repetitions are fitted. */
static void fit_experiment(struct fitting *fitting)
{
	struct config_workload *workload = fitting->config->workload;
	struct config_experiment *experiment = fitting->config->experiment;
	const double length = mean_length(fitting->config, fitting->fit->work);
	const double fewer_repeats = LAB_FIT_LONGER / length;
	const double fewer_tasks = LAB_FIT_MUCH_LONGER / length;
	const double tasks = workload ? workload->tasks : 0;
	const uint32_t repeats = experiment ? experiment->profile_repeats : 0;

	if (!(tasks > 0) || !experiment || fewer_repeats >= 1)
		return;
	workload->tasks = fmin(tasks, fmax(LAB_FIT_TASKS, round(tasks * fewer_tasks)));
	experiment->profile_repeats =
		(uint32_t)fmin(repeats, fmax(LAB_FIT_REPEATS, round(repeats * fewer_repeats)));
	if (workload->tasks < tasks || experiment->profile_repeats < repeats)
		tell(fitting,
		     workload->tasks < tasks
			     ? "tasks take %.1f times as long here as elsewhere: %u measurements of each type on each "
			       "cluster instead of %u, and %.0f tasks in a run instead of %.0f"
			     : "tasks take %.1f times as long here as elsewhere: %u measurements of each type on each "
			       "cluster instead of %u",
		     length, experiment->profile_repeats, repeats, workload->tasks, tasks);
}

bool lab_fit(struct config *config, const struct machine_probe *probe, struct lab_fit *ret_fit,
	     GError **error)
{
	struct fitting fitting = {config, probe, ret_fit, NULL};
	const double metronome = config_lab_is_steady(config) ? CONFIG_LAB_STEADY_CORES : 0;
	/* What all VMs of the lab may use of the machine. */
	const double room = CONFIG_LAB_HOST_SHARE * probe->cores - metronome;
	g_autoptr(GString) changed = g_string_new(NULL);
	double vms, patience;

	*ret_fit = (struct lab_fit){.quotas = 1, .work = 1};
	if (!config_lab_is_to_fit(config))
		return true;
	if (room <= 0)
		return error_fail(
			error, CONFIG_ERROR, CONFIG_ERROR_MEANING,
			"lab.fit: a lab gets %.2f cores of this machine, too few: its metronome alone takes "
			"%.2f; give it more, or leave out steady",
			probe->cores, metronome);
	vms = config_lab_cores(config);
	ret_fit->quotas = vms > room ? room / vms : 1;
	ret_fit->work = ret_fit->quotas * (isnan(probe->speed) ? 1 : probe->speed);
	fitting.notices = g_ptr_array_new();
	fit_experiment(&fitting);
	for (uint32_t c = 0; c < config->clusters_count; c++)
		fit_cluster(&fitting, &config->clusters[c]);
	for (uint32_t b = 0; b < config->lab->blades_count; b++)
		fit_blade(&fitting, b);
	for (uint32_t t = 0; t < config->types_count; t++)
		fit_type(&fitting, &config->types[t], changed);
	vms = config_lab_cores(config);
	if (ret_fit->quotas < 1)
		tell(&fitting,
		     "CPU quotas and budgets are %.2f of the configuration's: its VMs may use %.2f cores, 80 %% of "
		     "what a lab gets here",
		     ret_fit->quotas, vms);
	if (changed->len)
		tell(&fitting, "repetitions, so that tasks take as long as elsewhere: %s",
		     changed->str);
	if (isnan(probe->speed))
		tell(&fitting,
		     "the speed of emulated work is not known here: repetitions take it for 1");
	/* Hundredths are enough. */
	patience = config_patience(config, fmax(1, ceil(100 / ret_fit->work) / 100));
	if (patience > 1)
		config->patience = fmin(patience, 1000);
	config->lab->fit = CONFIG_NO;
	g_ptr_array_add(fitting.notices, NULL);
	ret_fit->notices = (char **)g_ptr_array_free(fitting.notices, FALSE);
	/* What is clamped from below may be more than there is. */
	if (vms <= room + 1e-6)
		return true;
	lab_fit_clear(ret_fit);
	return error_fail(error, CONFIG_ERROR, CONFIG_ERROR_MEANING,
			  "lab.fit: VMs of this lab need %.3f cores at least, and this machine has "
			  "%.3f for them; give it more CPU time, or the clusters fewer nodes",
			  vms, room);
}

void lab_fit_clear(struct lab_fit *fit)
{
	g_clear_pointer(&fit->notices, g_strfreev);
}
