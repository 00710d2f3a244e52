/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/rerun/stored_platform.h"

static int64_t now_ns(const struct platform *platform)
{
	return 1;
}

static int64_t thread_ns(const struct platform *platform)
{
	return 0;
}

static const struct platform_clock clock_ops = {.now_ns = now_ns, .thread_ns = thread_ns};

static struct platform_job *run(const struct platform *base, const char *name, bool needed,
				platform_work_f work, platform_work_f done, void *data)
{
	struct stored_platform *platform = (struct stored_platform *)base;

	work(data);
	if (platform->at_once) {
		done(data);
		return NULL;
	}
	platform->done = done;
	platform->data = data;
	return (struct platform_job *)platform; /* not NULL: the caller only hands it back */
}

static void wait_for(struct platform_job *job)
{
	((struct stored_platform *)(void *)job)->done = NULL;
}

static const struct platform_threads threads_ops = {.run = run, .wait = wait_for};

void stored_platform_init(struct stored_platform *platform)
{
	*platform =
		(struct stored_platform){.base = {.clock = &clock_ops, .threads = &threads_ops}};
}

void stored_platform_answer(struct stored_platform *platform)
{
	const platform_work_f done = platform->done;

	platform->done = NULL;
	if (done)
		done(platform->data);
}

void stored_platform_leave(struct stored_platform *platform)
{
	stored_platform_answer(platform);
	platform->at_once = true;
}
