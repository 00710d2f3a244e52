/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/attribution/because.h"

#include <math.h>

#include "controller/report/stats.h"

/* A mean while it is summed up. */
struct mean {
	double sum;
	guint count;
};

static void mean_add(struct mean *mean, double value)
{
	if (!isfinite(value))
		return;
	mean->sum += value;
	mean->count++;
}

static double mean_value(const struct mean *mean)
{
	return mean->count ? mean->sum / mean->count : (double)NAN;
}

static char *times_text(const GPtrArray *runs)
{
	struct mean mean = {0};

	for (guint i = 0; i < runs->len; i++) {
		const struct observed_run *run = runs->pdata[i];

		for (uint32_t k = 0; k < run->tasks_count; k++)
			if (run->tasks[k].completed && run->tasks[k].drawn_s == 0)
				mean_add(&mean, run->tasks[k].time);
	}
	return mean.count ? g_strdup_printf("tasks took %.2f times what is simulated",
					    mean_value(&mean))
			  : g_strdup("tasks took other times than those that are simulated");
}

static char *launch_text(const struct replica *replica, const GPtrArray *runs)
{
	struct mean launch = {0}, hidden = {0};

	for (guint i = 0; i < runs->len; i++) {
		const struct observed_run *run = runs->pdata[i];

		for (uint32_t k = 0; k < run->tasks_count; k++) {
			const struct observed_course *task = &run->tasks[k];

			if (!task->completed || !isfinite(task->launch_s))
				continue;
			mean_add(&launch, task->launch_s);
			mean_add(&hidden, replica->observed->launch_s[task->cluster]);
		}
	}
	if (launch.count == 0)
		return g_strdup("tasks took other times to launch than those that are simulated");
	return g_strdup_printf("launching a task took %.2f s where the simulation has %.2f s",
			       mean_value(&launch), mean_value(&hidden));
}

/* Mean overheads over all clusters; a simulation without overheads has means of 0. */
static void mean_overheads(const struct overheads *overheads, struct backend_overhead *ret_mean)
{
	guint count = 0;

	*ret_mean = (struct backend_overhead){0};
	for (uint32_t c = 0; overheads && c < overheads->clusters_count; c++) {
		for (uint32_t i = 0; i < overheads->counts[c]; i++, count++) {
			const struct backend_overhead *one = &overheads->samples[c][i];

			ret_mean->freeze_s += one->freeze_s;
			ret_mean->save_s += one->save_s;
			ret_mean->restore_s += one->restore_s;
			ret_mean->resume_s += one->resume_s;
		}
	}
	if (count == 0)
		return;
	ret_mean->freeze_s /= count;
	ret_mean->save_s /= count;
	ret_mean->restore_s /= count;
	ret_mean->resume_s /= count;
}

/*
 * Adds how long clusters that keep suspended VMs in memory waited for others to take the nodes,
 * where that is most of it.
 */
static void append_spares(GString *text, const struct replica *replica)
{
	const struct config *config = replica->measured.experiment->config;
	const struct overheads *overheads = replica->observed->overheads;
	struct mean save = {0}, all = {0};
	g_autoptr(GString) names = g_string_new(NULL);

	for (uint32_t c = 0; c < config->clusters_count && c < overheads->clusters_count; c++) {
		const struct config_preemption *preemption = config->clusters[c].preemption;

		if (overheads->counts[c] == 0 ||
		    (preemption && preemption->keep == CONFIG_KEEP_DISK))
			continue;
		g_string_append_printf(names, "%s%s", names->len ? ", " : "",
				       config->clusters[c].name);
		for (uint32_t i = 0; i < overheads->counts[c]; i++) {
			const struct backend_overhead *one = &overheads->samples[c][i];

			mean_add(&save, one->save_s);
			mean_add(&all, one->freeze_s + one->save_s);
		}
	}
	if (save.count && mean_value(&save) > 0.5 * mean_value(&all))
		g_string_append_printf(text,
				       " (on %s %.2f s of it until spare VMs, which may have to "
				       "boot, took the nodes)",
				       names->str, mean_value(&save));
}

static char *suspension_text(const struct replica *replica, const GPtrArray *runs)
{
	const struct observed *observed = replica->observed;
	struct mean suspend = {0}, resume = {0}, migrate = {0};
	struct backend_overhead all, simulated;
	GString *text = g_string_new(NULL);

	mean_overheads(observed->overheads, &all);
	mean_overheads(replica->simulated.experiment->overheads, &simulated);
	for (guint i = 0; i < runs->len; i++) {
		const struct observed_run *run = runs->pdata[i];

		for (guint k = 0; k < run->steps->len; k++) {
			const struct backend_overhead *one =
				&g_array_index(run->steps, struct backend_sim_step, k).overhead;

			mean_add(&suspend, one->freeze_s + one->save_s);
			mean_add(&resume, one->restore_s + one->resume_s);
		}
	}
	for (guint i = 0; i < observed->migrations->len; i++)
		mean_add(&migrate,
			 g_array_index(observed->migrations, struct backend_sim_migration, i)
				 .total_s);
	if (suspend.count == 0) {
		mean_add(&suspend, all.freeze_s + all.save_s);
		mean_add(&resume, all.restore_s + all.resume_s);
	}
	g_string_append_printf(text,
			       "suspending took %.2f s and resuming %.2f s where the simulation "
			       "has %.2f and %.2f s",
			       mean_value(&suspend), mean_value(&resume),
			       simulated.freeze_s + simulated.save_s,
			       simulated.restore_s + simulated.resume_s);
	append_spares(text, replica);
	if (migrate.count)
		g_string_append_printf(text, "; migrating took %.2f s", mean_value(&migrate));
	return g_string_free(text, FALSE);
}

static char *lost_text(const GPtrArray *runs)
{
	GString *text = g_string_new(NULL);
	guint lost = 0, failed = 0, nodes = 0;

	for (guint i = 0; i < runs->len; i++) {
		const struct observed_run *run = runs->pdata[i];

		for (guint k = 0; k < run->losses->len; k++)
			lost += g_array_index(run->losses, struct backend_sim_loss, k).outcome ==
				BACKEND_OUTCOME_LOST;
		/* A task may fail without any attempt. */
		failed += run->failed;
		for (guint k = 0; k < run->nodes->len; k++)
			nodes += g_array_index(run->nodes, struct backend_event, k).kind ==
				 BACKEND_EVENT_NODE_DOWN;
	}
	g_string_append_printf(text, "%u attempt%s lost", lost, lost == 1 ? " was" : "s were");
	if (failed)
		g_string_append_printf(text, ", %u task%s failed", failed, failed == 1 ? "" : "s");
	if (nodes)
		g_string_append_printf(text, ", nodes went down %u time%s", nodes,
				       nodes == 1 ? "" : "s");
	return g_string_free(text, FALSE);
}

static char *metering_text(const GPtrArray *runs, double simulated_j)
{
	struct mean power = {0}, base = {0};
	const struct observed_run *first = runs->pdata[0];
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < runs->len; i++) {
		const struct observed_run *run = runs->pdata[i];

		mean_add(&base, run->base_w);
		for (uint32_t k = 0; k < run->tasks_count; k++)
			if (run->tasks[k].completed)
				mean_add(&power, run->tasks[k].power);
	}
	if (power.count)
		g_string_append_printf(text, "tasks drew %.2f times the power that is simulated",
				       mean_value(&power));
	if (base.count)
		g_string_append_printf(text, "%shosts drew %.1f W above idle beside tasks",
				       text->len ? " and " : "", mean_value(&base));
	if (first->run->limit_j != simulated_j)
		g_string_append_printf(text,
				       "%sthe limit was %.0f J where the simulation has %.0f J",
				       text->len ? ", and " : "", first->run->limit_j, simulated_j);
	if (text->len == 0)
		g_string_append(text, "energy was measured");
	return g_string_free(text, FALSE);
}

static char *moments_text(const struct replica *replica, const GPtrArray *runs)
{
	const double measured_s =
		replica->measured.experiment->config->experiment->mapping_interval_s;
	const double simulated_s =
		replica->simulated.experiment->config->experiment->mapping_interval_s;
	struct mean late = {0};
	GString *text;

	for (guint i = 0; i < runs->len; i++) {
		const struct observed_run *run = runs->pdata[i];

		for (guint k = 0; k < run->late_s->len; k++)
			mean_add(&late, g_array_index(run->late_s, double, k));
	}
	text = g_string_new(NULL);
	g_string_append_printf(text, "decisions came %.3f s late",
			       late.count ? mean_value(&late) : 0);
	if (measured_s != simulated_s)
		g_string_append_printf(text, " and every %g s where the simulation has %g s",
				       measured_s, simulated_s);
	return g_string_free(text, FALSE);
}

char *because_text(const struct replica *replica, const GPtrArray *runs, enum cause cause,
		   double simulated_j)
{
	switch (cause) {
	case CAUSE_TIMES:
		return times_text(runs);
	case CAUSE_LAUNCH:
		return launch_text(replica, runs);
	case CAUSE_SUSPENSION:
		return suspension_text(replica, runs);
	case CAUSE_LOST:
		return lost_text(runs);
	case CAUSE_METERING:
		return metering_text(runs, simulated_j);
	case CAUSE_MOMENTS:
		return moments_text(replica, runs);
	case CAUSE_ARRIVALS:
	case CAUSES:
		break;
	}
	return g_strdup("other tasks arrived");
}
