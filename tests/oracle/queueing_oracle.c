/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/oracle/queueing_oracle.h"

#include <glib.h>
#include <math.h>
#include <string.h>

#include "tests/oracle/printed.h"

/* The present is bin 100, six tasks of 17 bins at most are in a queue. */
#define HORIZON 260
#define EXEC_MAX 18

/* A distribution over bins 0 to HORIZON - 1. */
struct spread {
	double p[HORIZON];
};

struct line {
	uint32_t count;
	const struct sched_task *tasks[QUEUEING_TASKS_MAX];
	bool executes;
	bool known; /* `done` is that of all tasks of the line */
	struct spread done;
};

struct scene {
	const struct sched_snapshot *snapshot;
	const struct sched_queueing *settings;
	bool evicts;
	bool fair;
	bool defers; /* +prune */
	int now;
	uint32_t machines;
	struct line lines[QUEUEING_MACHINES_MAX];
	uint32_t waiting_count;
	const struct sched_task *waiting[QUEUEING_TASKS_MAX];
	struct queueing_plan *plan;
};

static int bin_of(const struct scene *scene, double time_s)
{
	return (int)floor(time_s / scene->settings->bin_s + 1e-6);
}

static int deadline_of(const struct scene *scene, const struct sched_task *task)
{
	return bin_of(scene, task->deadline_s);
}

static double exec_mass(const struct scene *scene, const struct sched_task *task, uint32_t machine,
			int time)
{
	const struct pmf *pmf = &pet_at(scene->settings->pet, task->row, machine)->pmf;

	return time >= pmf->first && time < pmf->first + pmf->count ? pmf->mass[time - pmf->first]
								    : 0;
}

static double exec_mean(const struct scene *scene, const struct sched_task *task, uint32_t machine)
{
	double mean = 0;

	for (int time = 1; time < EXEC_MAX; time++)
		mean += time * exec_mass(scene, task, machine, time);
	return mean;
}

static double mean_of(const struct spread *spread)
{
	double mean = 0;

	for (int t = 0; t < HORIZON; t++)
		mean += t * spread->p[t];
	return mean;
}

/* Eq. (6) bounded. */
static double skewness_of(const struct spread *spread)
{
	const double mean = mean_of(spread);
	double second = 0, third = 0;

	for (int t = 0; t < HORIZON; t++) {
		second += spread->p[t] * pow(t - mean, 2);
		third += spread->p[t] * pow(t - mean, 3);
	}
	if (second < 1e-12)
		return 0;
	return fmax(-1, fmin(1, third / pow(second, 1.5)));
}

/* The chance of a task behind `before`: it starts before its deadline and ends by it. */
static double chance_behind(const struct scene *scene, const struct spread *before,
			    const struct sched_task *task, uint32_t machine)
{
	const int deadline = deadline_of(scene, task);
	double chance = 0;

	for (int s = 0; s < deadline; s++)
		for (int k = 1; before->p[s] > 0 && k < EXEC_MAX && s + k <= deadline; k++)
			chance += before->p[s] * exec_mass(scene, task, machine, k);
	return chance;
}

/* Eq. (4) and (5) as the machine lives them. */
static struct spread behind(const struct scene *scene, const struct spread *before,
			    const struct sched_task *task, uint32_t machine)
{
	const int deadline = deadline_of(scene, task);
	struct spread after = {{0}};

	for (int s = 0; s < HORIZON; s++) {
		if (s >= deadline) {
			after.p[s] += before->p[s];
			continue;
		}
		for (int k = 1; before->p[s] > 0 && k < EXEC_MAX; k++) {
			const int end = scene->evicts && s + k > deadline ? deadline : s + k;

			after.p[end] += before->p[s] * exec_mass(scene, task, machine, k);
		}
	}
	return after;
}

/* The executing task of a machine. */
static struct spread executing(const struct scene *scene, uint32_t machine, double *ret_chance)
{
	const struct sched_task *task = scene->lines[machine].tasks[0];
	const int start =
		(int)lround(scene->snapshot->queues[machine].start_s / scene->settings->bin_s);
	const int deadline = deadline_of(scene, task);
	struct spread spread = {{0}};
	double rest = 0;

	*ret_chance = 0;
	for (int t = scene->now + 1; t < HORIZON; t++)
		rest += exec_mass(scene, task, machine, t - start);
	for (int t = scene->now + 1; t < HORIZON; t++) {
		double mass = rest > 0 ? exec_mass(scene, task, machine, t - start) / rest : 0;

		if (rest == 0 && t == scene->now + 1)
			mass = 1;
		if (t <= deadline)
			*ret_chance += mass;
		spread.p[scene->evicts && t > deadline ? deadline : t] += mass;
	}
	return spread;
}

/* When the machine is done with the first `count` tasks of its line, and the last one's chance. */
static struct spread done(const struct scene *scene, uint32_t machine, uint32_t count,
			  double *ret_chance)
{
	const struct line *line = &scene->lines[machine];
	struct spread spread = {{0}};

	spread.p[scene->now] = 1;
	for (uint32_t i = 0; i < count; i++) {
		if (i == 0 && line->executes) {
			spread = executing(scene, machine, ret_chance);
			continue;
		}
		*ret_chance = chance_behind(scene, &spread, line->tasks[i], machine);
		spread = behind(scene, &spread, line->tasks[i], machine);
	}
	return spread;
}

static double rounded_chance(double chance)
{
	return rint(chance * 1073741824) / 1073741824;
}

/* When the machine is done with its line. */
static const struct spread *all_done(struct scene *scene, uint32_t machine)
{
	struct line *line = &scene->lines[machine];
	double chance;

	if (!line->known)
		line->done = done(scene, machine, line->count, &chance);
	line->known = true;
	return &line->done;
}

static double chance_on(struct scene *scene, const struct sched_task *task, uint32_t machine)
{
	return rounded_chance(chance_behind(scene, all_done(scene, machine), task, machine));
}

static double end_on(struct scene *scene, const struct sched_task *task, uint32_t machine)
{
	const double end = mean_of(all_done(scene, machine)) + exec_mean(scene, task, machine);

	return rint(end * 1048576) / 1048576;
}

static bool has_place(const struct scene *scene, uint32_t machine)
{
	return scene->lines[machine].count < scene->settings->length;
}

static void add(struct scene *scene, enum sched_action_kind kind, const struct sched_task *task,
		uint32_t machine, double chance, double threshold, enum sched_reason reason)
{
	const uint32_t i = scene->plan->count++;

	scene->plan->actions[i].kind = kind;
	scene->plan->actions[i].task = task->id;
	scene->plan->actions[i].machine = machine;
	scene->plan->actions[i].chance = chance;
	scene->plan->actions[i].threshold = threshold;
	scene->plan->actions[i].reason = reason;
}

static void remove_task(const struct sched_task **tasks, uint32_t *count, uint32_t at)
{
	memmove(tasks + at, tasks + at + 1, (*count - at - 1) * sizeof(*tasks));
	--*count;
}

static void enqueue(struct scene *scene, uint32_t waiting, uint32_t machine, double threshold,
		    enum sched_reason reason)
{
	const struct sched_task *task = scene->waiting[waiting];
	struct line *line = &scene->lines[machine];

	add(scene, SCHED_ACTION_ENQUEUE, task, machine, chance_on(scene, task, machine), threshold,
	    reason);
	line->tasks[line->count++] = task;
	line->known = false;
	remove_task(scene->waiting, &scene->waiting_count, waiting);
}

static bool is_past(const struct scene *scene, const struct sched_task *task)
{
	return task->deadline_s <= scene->snapshot->now_s + 1e-6 * scene->settings->bin_s;
}

static void drop_late(struct scene *scene)
{
	for (uint32_t m = 0; m < scene->machines; m++) {
		struct line *line = &scene->lines[m];

		for (uint32_t i = 0; i < line->count;) {
			const bool runs = i == 0 && line->executes;

			if (!is_past(scene, line->tasks[i]) || (runs && !scene->evicts)) {
				i++;
				continue;
			}
			add(scene, SCHED_ACTION_DROP, line->tasks[i], 0, 0, 0,
			    SCHED_REASON_DEADLINE);
			remove_task(line->tasks, &line->count, i);
			if (runs)
				line->executes = false;
		}
	}
	for (uint32_t i = 0; i < scene->waiting_count;) {
		if (!is_past(scene, scene->waiting[i])) {
			i++;
			continue;
		}
		add(scene, SCHED_ACTION_DROP, scene->waiting[i], 0, 0, 0, SCHED_REASON_DEADLINE);
		remove_task(scene->waiting, &scene->waiting_count, i);
	}
}

/* Eq. (8), Schmitt trigger. */
static void judge_level(struct scene *scene)
{
	const struct sched_pruning *pruning = &scene->settings->pruning;
	const double lambda = pruning->recency;
	const double mu = scene->snapshot->missed + scene->plan->count;
	const double on = pruning->toggle;
	const double off = pruning->separation > 0 ? on * (1 - pruning->separation) : on;

	scene->plan->level = mu * lambda + scene->snapshot->pruner.level * (1 - lambda);
	scene->plan->dropping = scene->snapshot->pruner.dropping;
	if (printed_compare(scene->plan->level, on) >= 0)
		scene->plan->dropping = true;
	else if (printed_compare(scene->plan->level, off) <= 0)
		scene->plan->dropping = false;
}

static double relief(const struct scene *scene, const struct sched_task *task)
{
	return scene->fair && scene->snapshot->sufferage ? scene->snapshot->sufferage[task->row]
							 : 0;
}

/* Eq. (7), head to tail. */
static void prune(struct scene *scene)
{
	const struct sched_pruning *pruning = &scene->settings->pruning;

	for (uint32_t m = 0; m < scene->machines; m++) {
		struct line *line = &scene->lines[m];

		for (uint32_t kappa = 0; kappa < line->count;) {
			const struct sched_task *task = line->tasks[kappa];
			double chance;
			const struct spread spread = done(scene, m, kappa + 1, &chance);
			const double phi =
				-skewness_of(&spread) * pruning->adjustment / (kappa + 1);
			const double threshold =
				rounded_chance(fmin(1, fmax(0, pruning->drop_threshold -
								       relief(scene, task) + phi)));

			chance = rounded_chance(chance);
			if (chance > threshold) {
				kappa++;
				continue;
			}
			add(scene, SCHED_ACTION_DROP, task, 0, chance, threshold,
			    SCHED_REASON_PRUNED);
			remove_task(line->tasks, &line->count, kappa);
			if (kappa == 0)
				line->executes = false;
		}
	}
}

/* A waiting task with its machine. */
struct match {
	bool valid;
	uint32_t waiting;
	const struct sched_task *task;
	uint32_t machine;
	double chance;
	double end;
	double mean;
};

static struct match match(struct scene *scene, uint32_t waiting, bool by_chance)
{
	struct match best = {.valid = false};

	for (uint32_t m = 0; m < scene->machines; m++) {
		const struct sched_task *task = scene->waiting[waiting];
		struct match with;

		if (!has_place(scene, m))
			continue;
		with = (struct match){
			.valid = true,
			.waiting = waiting,
			.task = task,
			.machine = m,
			.chance = chance_on(scene, task, m),
			.end = end_on(scene, task, m),
			.mean = exec_mean(scene, task, m),
		};
		if (!best.valid || (by_chance && with.chance > best.chance) ||
		    ((!by_chance || with.chance == best.chance) && with.end < best.end))
			best = with;
	}
	return best;
}

static bool sooner(const struct match *a, const struct match *b)
{
	if (a->end != b->end)
		return a->end < b->end;
	if (printed_compare(a->mean, b->mean) != 0)
		return a->mean < b->mean;
	return a->task->arrival_s != b->task->arrival_s ? a->task->arrival_s < b->task->arrival_s
							: a->task->id < b->task->id;
}

static void map_pam(struct scene *scene)
{
	for (;;) {
		struct match best = {.valid = false};
		double threshold = 0;

		for (uint32_t i = 0; i < scene->waiting_count; i++) {
			const struct match with = match(scene, i, true);
			const double least = fmax(0, scene->settings->pruning.defer_threshold -
							     relief(scene, scene->waiting[i]));

			if (!with.valid || with.chance < rounded_chance(least) ||
			    with.chance <= 0 || (best.valid && !sooner(&with, &best)))
				continue;
			best = with;
			threshold = least;
		}
		if (!best.valid)
			return;
		enqueue(scene, best.waiting, best.machine, threshold, SCHED_REASON_LIKELIEST);
	}
}

/* With +prune: whether what would be mapped so is deferred. It does not wait any more then. */
static bool defer(struct scene *scene, uint32_t *waiting, const struct match *with)
{
	const double least = scene->settings->pruning.defer_threshold;
	const double chance = chance_on(scene, with->task, with->machine);

	if (!scene->defers || (chance > 0 && chance >= rounded_chance(least)))
		return false;
	memmove(scene->waiting + *waiting, scene->waiting + *waiting + 1,
		(scene->waiting_count - *waiting - 1) * sizeof(*scene->waiting));
	scene->waiting_count--;
	--*waiting;
	return true;
}

static double urgency(const struct scene *scene, const struct match *match)
{
	const double slack = deadline_of(scene, match->task) - match->end;

	return slack > 0 ? 1 / slack : INFINITY;
}

static bool comes_first(const struct scene *scene, const char *policy, const struct match *a,
			const struct match *b)
{
	if (g_str_has_prefix(policy, "msd") &&
	    deadline_of(scene, a->task) != deadline_of(scene, b->task))
		return deadline_of(scene, a->task) < deadline_of(scene, b->task);
	if (g_str_has_prefix(policy, "mmu")) {
		const double left = urgency(scene, a), right = urgency(scene, b);
		const double slack = deadline_of(scene, a->task) - a->end;
		const double other = deadline_of(scene, b->task) - b->end;

		if (left != right)
			return left > right;
		if (isinf(left) && slack != other)
			return slack > other;
	}
	return sooner(a, b);
}

static void map_min_completion(struct scene *scene, const char *policy, enum sched_reason reason)
{
	for (;;) {
		struct match best[QUEUEING_MACHINES_MAX] = {{.valid = false}};
		bool any = false;

		for (uint32_t i = 0; i < scene->waiting_count; i++) {
			const struct match with = match(scene, i, false);

			if (!with.valid || defer(scene, &i, &with))
				continue;
			any = true;
			if (!best[with.machine].valid ||
			    comes_first(scene, policy, &with, &best[with.machine]))
				best[with.machine] = with;
		}
		if (!any)
			return;
		for (uint32_t m = 0; m < scene->machines; m++)
			for (uint32_t i = 0; best[m].valid && i < scene->waiting_count; i++)
				if (scene->waiting[i] == best[m].task) {
					enqueue(scene, i, m,
						scene->defers
							? scene->settings->pruning.defer_threshold
							: 0,
						reason);
					break;
				}
	}
}

static bool likelier(const struct match *a, const struct match *b)
{
	return a->chance != b->chance ? a->chance > b->chance : sooner(a, b);
}

/* The sum of chances of the matches in an order. */
static double sum_of(struct scene *scene, const struct match *matches, const uint32_t *order,
		     uint32_t count)
{
	struct line saved[QUEUEING_MACHINES_MAX];
	double sum = 0;

	memcpy(saved, scene->lines, sizeof(saved));
	for (uint32_t i = 0; i < count; i++) {
		const struct match *with = &matches[order[i]];
		struct line *line = &scene->lines[with->machine];

		if (!has_place(scene, with->machine))
			continue;
		sum += chance_on(scene, with->task, with->machine);
		line->tasks[line->count++] = with->task;
		line->known = false;
	}
	memcpy(scene->lines, saved, sizeof(saved));
	return sum;
}

static double cull_below(const struct scene *scene)
{
	const struct sched_pruning *pruning = &scene->settings->pruning;

	return scene->defers ? fmax(pruning->cull_threshold, pruning->defer_threshold)
			     : pruning->cull_threshold;
}

/* The three likeliest matches that are not culled; returns their number. */
static uint32_t three(struct scene *scene, struct match *matches)
{
	uint32_t count = 0;

	for (uint32_t rank = 0; rank < 3; rank++) {
		struct match best = {.valid = false};

		for (uint32_t i = 0; i < scene->waiting_count; i++) {
			const struct match with = match(scene, i, true);
			bool taken = false;

			for (uint32_t j = 0; j < count; j++)
				taken |= matches[j].waiting == i;
			if (taken || !with.valid ||
			    with.chance < rounded_chance(cull_below(scene)) ||
			    (scene->defers && with.chance <= 0))
				continue;
			if (!best.valid || likelier(&with, &best))
				best = with;
		}
		if (best.valid)
			matches[count++] = best;
	}
	return count;
}

static void map_moc(struct scene *scene)
{
	static const uint32_t orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
					      {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
	struct match matches[3];
	uint32_t count;

	while ((count = three(scene, matches)) > 0) {
		double best = -1;
		uint32_t first = 0;

		for (uint32_t i = 0; i < 6; i++) {
			uint32_t order[3], length = 0;
			double sum;

			for (uint32_t j = 0; j < 3; j++)
				if (orders[i][j] < count)
					order[length++] = orders[i][j];
			sum = sum_of(scene, matches, order, length);
			if (sum > best) {
				best = sum;
				first = order[0];
			}
		}
		enqueue(scene, matches[first].waiting, matches[first].machine, cull_below(scene),
			SCHED_REASON_MOST_ON_TIME);
	}
}

void queueing_oracle(const char *policy, const struct sched_snapshot *snapshot,
		     struct queueing_plan *ret_plan)
{
	const bool defers = g_str_has_suffix(policy, "+prune");
	const bool prunes = g_str_has_prefix(policy, "pam");
	struct scene scene = {
		.snapshot = snapshot,
		.settings = snapshot->system->queueing,
		.defers = defers,
		.fair = strcmp(policy, "pamf") == 0,
		.machines = snapshot->system->clusters_count,
		.waiting_count = snapshot->waiting_count,
		.plan = ret_plan,
	};

	memset(ret_plan, 0, sizeof(*ret_plan));
	scene.evicts = prunes || scene.settings->pruning.evicting_baselines;
	scene.now = bin_of(&scene, snapshot->now_s);
	memcpy(scene.waiting, snapshot->waiting, snapshot->waiting_count * sizeof(*scene.waiting));
	for (uint32_t m = 0; m < scene.machines; m++) {
		struct line *line = &scene.lines[m];

		line->count = snapshot->queues[m].count;
		line->executes = snapshot->queues[m].executes;
		memcpy(line->tasks, snapshot->queues[m].tasks, line->count * sizeof(*line->tasks));
	}
	drop_late(&scene);
	judge_level(&scene);
	if ((prunes || defers) && ret_plan->dropping)
		prune(&scene);
	if (prunes)
		map_pam(&scene);
	else if (g_str_has_prefix(policy, "moc"))
		map_moc(&scene);
	else
		map_min_completion(&scene, policy,
				   g_str_has_prefix(policy, "mmu") ? SCHED_REASON_MOST_URGENT
				   : g_str_has_prefix(policy, "mm")
					   ? SCHED_REASON_MIN_COMPLETION
					   : SCHED_REASON_SOONEST_DEADLINE);
}
