/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "common/child_process.h"
#include "common/clock.h"
#include "common/handoff.h"
#include "common/read_file.h"
#include "common/transport.h"

/* This machine. */

static int64_t machine_now_ns(const struct platform *platform)
{
	return clock_now_ns();
}

static int64_t machine_utc_us(const struct platform *platform)
{
	return g_get_real_time();
}

static int64_t machine_thread_ns(const struct platform *platform)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static char *machine_boot_id(const struct platform *platform)
{
	return clock_boot_id();
}

static guint machine_timer(const struct platform *platform, int priority, guint ms,
			   GSourceFunc function, void *data)
{
	return ms ? g_timeout_add_full(priority, ms, function, data, NULL)
		  : g_idle_add_full(priority, function, data, NULL);
}

static const struct platform_clock machine_clock = {
	.now_ns = machine_now_ns,
	.utc_us = machine_utc_us,
	.thread_ns = machine_thread_ns,
	.boot_id = machine_boot_id,
	.timer = machine_timer,
};

static char *machine_read(const struct platform *platform, const char *path, size_t max,
			  size_t *ret_length, GError **error)
{
	return read_file(path, max, ret_length, error);
}

static bool machine_write(const struct platform *platform, const char *path, const char *text,
			  size_t length, bool durable, GError **error)
{
	return g_file_set_contents_full(path, text, (gssize)length,
					G_FILE_SET_CONTENTS_CONSISTENT |
						(durable ? G_FILE_SET_CONTENTS_DURABLE : 0),
					0600, error);
}

/* Closes `fd` without changing errno. */
static bool close_after(int fd, bool good)
{
	const int code = errno;

	close(fd);
	errno = code;
	return good;
}

static bool machine_append(const struct platform *platform, const char *path, const char *text,
			   size_t length)
{
	const int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);

	return fd >= 0 && close_after(fd, write(fd, text, length) == (ssize_t)length);
}

static bool machine_rename(const struct platform *platform, const char *from, const char *to)
{
	return g_rename(from, to) == 0;
}

static bool machine_remove(const struct platform *platform, const char *path)
{
	return g_unlink(path) == 0;
}

static bool machine_sync_name(const struct platform *platform, const char *path)
{
	g_autofree char *directory = g_path_get_dirname(path);
	const int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd >= 0 && close_after(fd, access(path, F_OK) == 0 && fsync(fd) == 0);
}

static const struct platform_disk machine_disk = {
	.read = machine_read,
	.write = machine_write,
	.append = machine_append,
	.rename = machine_rename,
	.remove = machine_remove,
	.sync_name = machine_sync_name,
};

struct platform_job {
	GThread *thread; /* NULL: none could be started, and the work has been done without */
	platform_work_f work;
	platform_work_f done;
	void *data;
};

static void job_free(struct platform_job *job)
{
	if (job->thread)
		g_thread_join(job->thread);
	HANDOFF_TAKE(job);
	g_free(job);
}

static gboolean job_ended(gpointer data)
{
	struct platform_job *job = data;
	const platform_work_f done = job->done;
	void *done_data = job->data;

	job_free(job);
	done(done_data);
	return G_SOURCE_REMOVE;
}

static gpointer job_work(gpointer data)
{
	struct platform_job *job = data;

	HANDOFF_TAKE(job);
	job->work(job->data);
	HANDOFF_GIVE(job);
	g_idle_add_full(G_PRIORITY_DEFAULT, job_ended, job, NULL);
	return NULL;
}

static struct platform_job *machine_run(const struct platform *platform, const char *name,
					bool needed, platform_work_f work, platform_work_f done,
					void *data)
{
	struct platform_job *job = g_new0(struct platform_job, 1);
	g_autoptr(GError) error = NULL;
	GThread *thread;

	*job = (struct platform_job){.work = work, .done = done, .data = data};
	HANDOFF_GIVE(job);
	thread = g_thread_try_new(name, job_work, job, &error);
	if (!thread)
		g_warning("cannot start a thread \"%s\": %s; its work is %s", name, error->message,
			  needed ? "done without one, while clients wait" : "left out");
	if (!thread && !needed) {
		job_free(job);
		return NULL;
	}
	if (!thread)
		job_work(job);
	job->thread = thread;
	return job;
}

/* The work has added the source of its end. */
static void machine_wait(struct platform_job *job)
{
	if (job->thread)
		g_thread_join(g_steal_pointer(&job->thread));
	g_idle_remove_by_data(job);
	job_free(job);
}

struct platform_worker {
	gatomicrefcount references; /* one of the owner, one of the thread */
	GAsyncQueue *orders;        /* struct order; or the worker itself, which means its end */
	GMutex lock;                /* of `ended` */
	GCond end;
	bool ended;
};

/* A piece of work on its way to a worker, and back. */
struct order {
	platform_work_f work;
	platform_work_f done; /* NULL: none */
	void *data;
};

static void worker_unref(struct platform_worker *worker)
{
	HANDOFF_GIVE(worker);
	if (!g_atomic_ref_count_dec(&worker->references))
		return;
	HANDOFF_TAKE(worker);
	g_async_queue_unref(worker->orders);
	g_mutex_clear(&worker->lock);
	g_cond_clear(&worker->end);
	g_free(worker);
}

static gboolean order_done(gpointer data)
{
	g_autofree struct order *order = data;

	HANDOFF_TAKE(order);
	order->done(order->data);
	return G_SOURCE_REMOVE;
}

static void carry_out(struct order *order)
{
	HANDOFF_TAKE(order);
	order->work(order->data);
	if (!order->done) {
		g_free(order);
		return;
	}
	HANDOFF_GIVE(order);
	g_idle_add_full(G_PRIORITY_DEFAULT, order_done, order, NULL);
}

static gpointer worker_work(gpointer data)
{
	struct platform_worker *worker = data;
	gpointer item;

	HANDOFF_TAKE(worker);
	while ((item = g_async_queue_pop(worker->orders)) != worker)
		carry_out(item);
	handoff_lock(&worker->lock);
	worker->ended = true;
	g_cond_signal(&worker->end);
	handoff_unlock(&worker->lock);
	worker_unref(worker);
	return NULL;
}

static struct platform_worker *machine_hire(const struct platform *platform, const char *name)
{
	struct platform_worker *worker = g_new0(struct platform_worker, 1);

	g_atomic_ref_count_init(&worker->references);
	g_atomic_ref_count_inc(&worker->references);
	worker->orders = g_async_queue_new();
	g_mutex_init(&worker->lock);
	g_cond_init(&worker->end);
	HANDOFF_GIVE(worker);
	g_thread_unref(g_thread_new(name, worker_work, worker));
	return worker;
}

static void machine_give(struct platform_worker *worker, platform_work_f work, platform_work_f done,
			 void *data)
{
	struct order *order = g_new0(struct order, 1);

	*order = (struct order){work, done, data};
	HANDOFF_GIVE(order);
	g_async_queue_push(worker->orders, order);
}

static void machine_dismiss(const struct platform *platform, struct platform_worker *const *workers,
			    size_t count, guint limit_s)
{
	const gint64 end_us = g_get_monotonic_time() + (gint64)limit_s * G_USEC_PER_SEC;

	for (size_t i = 0; i < count; i++)
		g_async_queue_push(workers[i]->orders, workers[i]);
	for (size_t i = 0; i < count; i++) {
		struct platform_worker *worker = workers[i];

		handoff_lock(&worker->lock);
		while (!worker->ended && g_get_monotonic_time() < end_us)
			handoff_wait_until(&worker->end, &worker->lock, end_us);
		handoff_unlock(&worker->lock);
		worker_unref(worker);
	}
}

static void machine_pause(const struct platform *platform, guint ms)
{
	g_usleep(ms * G_GUINT64_CONSTANT(1000));
}

static const struct platform_threads machine_threads = {
	.run = machine_run,
	.wait = machine_wait,
	.hire = machine_hire,
	.give = machine_give,
	.dismiss = machine_dismiss,
	.pause = machine_pause,
};

/* Without random numbers nothing can be named or kept secret. */
static void machine_fill(const struct platform *platform, void *bytes, size_t length)
{
	unsigned char *at = bytes;

	while (length > 0) {
		const ssize_t got = TEMP_FAILURE_RETRY(getrandom(at, length, 0));

		if (got < 0)
			g_error("the kernel gives no random numbers: %s", g_strerror(errno));
		at += got;
		length -= (size_t)got;
	}
}

static const struct platform_random machine_random = {.fill = machine_fill};

const struct platform platform_machine = {
	.clock = &machine_clock,
	.disk = &machine_disk,
	.threads = &machine_threads,
	.transport = &transport_machine,
	.random = &machine_random,
	.children = &children_machine,
};

/* Clock. */

int64_t platform_now_ns(const struct platform *platform)
{
	return platform->clock->now_ns(platform);
}

int64_t platform_utc_us(const struct platform *platform)
{
	return platform->clock->utc_us(platform);
}

int64_t platform_thread_ns(const struct platform *platform)
{
	return platform->clock->thread_ns(platform);
}

char *platform_boot_id(const struct platform *platform)
{
	return platform->clock->boot_id(platform);
}

char *platform_utc(const struct platform *platform)
{
	const int64_t utc_us = platform_utc_us(platform);
	g_autoptr(GDateTime) now = g_date_time_new_from_unix_utc(utc_us / G_USEC_PER_SEC);
	g_autofree char *seconds = g_date_time_format(now, "%Y-%m-%dT%H:%M:%S");

	return g_strdup_printf("%s.%03dZ", seconds, (int)(utc_us % G_USEC_PER_SEC / 1000));
}

guint platform_after_ms(const struct platform *platform, guint ms, GSourceFunc function, void *data)
{
	return platform->clock->timer(platform, G_PRIORITY_DEFAULT, ms, function, data);
}

guint platform_after_s(const struct platform *platform, guint s, GSourceFunc function, void *data)
{
	const guint ms = s <= G_MAXUINT / 1000 ? s * 1000 : G_MAXUINT;

	return platform_after_ms(platform, ms, function, data);
}

void platform_due_now(guint timer)
{
	g_source_set_ready_time(g_main_context_find_source_by_id(NULL, timer), 0);
}

guint platform_soon(const struct platform *platform, int priority, GSourceFunc function, void *data)
{
	return platform->clock->timer(platform, priority, 0, function, data);
}

/* Random numbers. */

void platform_random_bytes(const struct platform *platform, void *bytes, size_t length)
{
	platform->random->fill(platform, bytes, length);
}

uint32_t platform_random_number(const struct platform *platform)
{
	uint32_t number;

	platform_random_bytes(platform, &number, sizeof(number));
	return number;
}

char *platform_uuid(const struct platform *platform)
{
	uint8_t b[16];

	platform_random_bytes(platform, b, sizeof(b));
	b[6] = (b[6] & 0x0f) | 0x40; /* the version */
	b[8] = (b[8] & 0x3f) | 0x80; /* the variant */
	return g_strdup_printf("%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
			       "%02x%02x%02x%02x%02x%02x",
			       b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10],
			       b[11], b[12], b[13], b[14], b[15]);
}

/* Threads. */

struct platform_job *platform_run(const struct platform *platform, const char *name,
				  platform_work_f work, platform_work_f done, void *data)
{
	return platform->threads->run(platform, name, true, work, done, data);
}

struct platform_job *platform_try_run(const struct platform *platform, const char *name,
				      platform_work_f work, platform_work_f done, void *data)
{
	return platform->threads->run(platform, name, false, work, done, data);
}

void platform_wait(const struct platform *platform, struct platform_job *job)
{
	platform->threads->wait(job);
}

struct platform_worker *platform_hire(const struct platform *platform, const char *name)
{
	return platform->threads->hire(platform, name);
}

void platform_give(const struct platform *platform, struct platform_worker *worker,
		   platform_work_f work, platform_work_f done, void *data)
{
	platform->threads->give(worker, work, done, data);
}

void platform_dismiss(const struct platform *platform, struct platform_worker *const *workers,
		      size_t count, guint limit_s)
{
	platform->threads->dismiss(platform, workers, count, limit_s);
}

void platform_pause(const struct platform *platform, guint ms)
{
	platform->threads->pause(platform, ms);
}

/* Disk. */

char *platform_read(const struct platform *platform, const char *path, size_t max,
		    size_t *ret_length, GError **error)
{
	return platform->disk->read(platform, path, max, ret_length, error);
}

bool platform_write(const struct platform *platform, const char *path, const char *text,
		    size_t length, bool durable, GError **error)
{
	return platform->disk->write(platform, path, text, length, durable, error);
}

bool platform_append(const struct platform *platform, const char *path, const char *text,
		     size_t length)
{
	return platform->disk->append(platform, path, text, length);
}

bool platform_rename(const struct platform *platform, const char *from, const char *to)
{
	return platform->disk->rename(platform, from, to);
}

bool platform_remove(const struct platform *platform, const char *path)
{
	return platform->disk->remove(platform, path);
}

bool platform_sync_name(const struct platform *platform, const char *path)
{
	return platform->disk->sync_name(platform, path);
}
