/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <libvirt/libvirt-qemu.h>
#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>

#include "common/random.h"
#include "tests/virtual/virtual_libvirt.h"
#include "tests/virtual/virtual_workers.h"

/* What the files of virtual hypervisors share. */

struct guest; /* virtual_guest.c */
struct virtual_vm;

struct virtual_libvirt {
	struct random_stream random;
	struct virtual_times times;
	GPtrArray *hosts;  /* struct virtual_host */
	GHashTable *saved; /* struct virtual_vm by the text in its volume */
	guint next_id;
	void (*tell)(const char *text, void *data);
	void *tell_data;
};

/* A fault of calls. */
struct fault {
	char *function; /* NULL: all */
	guint count;    /* calls that fail yet */
	int code;
	int from;
	guint slow_ms;
};

struct virtual_host {
	struct virtual_libvirt *libvirt;
	const struct platform *platform;
	char *name;
	guint cpus;
	uint64_t memory_mib;
	uint64_t pool_bytes;
	bool kvm;
	bool off;     /* it has no power */
	bool cut;     /* it is not reached */
	bool stopped; /* its libvirtd does not run */
	guint cut_source;
	guint back_source;
	GPtrArray *vms;     /* struct virtual_vm */
	GQueue connections; /* of virConnect elements */
	GQueue events;      /* struct event */
	GPtrArray *jobs;    /* struct job that are not over */
	guint event_source;
	GPtrArray *faults; /* struct fault */
	bool has_pool;
	GPtrArray *volumes;   /* struct volume */
	uint64_t gone_cpu_ns; /* of VMs that are not there any more */
};

/* A long operation of a libvirtd on a VM. */
struct job {
	guint refs; /* of the host's timer, and of the call */
	struct virtual_host *host;
	guint vm; /* id */
	guint left_ms;
	bool aborted;
	bool over;
	char *failure; /* NULL: none */
	void (*finish)(struct job *job, struct virtual_vm *vm);
	char *volume;            /* of a save */
	struct virtual_host *to; /* of a migration, as all below */
	guint copy;              /* id */
	bool live;
	char *xml; /* NULL: unchanged */
	guint source;
};

struct virtual_vm {
	struct virtual_host *host; /* NULL: it is saved */
	guint id;
	char *name;
	char *xml;
	guint cores;
	uint64_t memory_kib;
	int state;
	int reason;
	int64_t period_us, quota_us;
	unsigned char *pins;  /* PIN_BYTES for each core; all 0: anywhere */
	struct job *job;      /* NULL: none */
	int64_t downtime_ms;  /* of the migration by which it came */
	virConnectPtr bound;  /* it ends with this connection; NULL: not */
	struct guest *guest;  /* NULL: a migration brings it yet */
	uint64_t cpu_base_ns; /* of its guest, when it came here */
	GList *streams;       /* virStreamPtr of its ports */
};

enum { PIN_BYTES = 16 };

struct volume {
	char *name;
	GByteArray *bytes;
	uint64_t capacity;
	uint64_t allocation;
	int64_t written_us;
};

struct callback {
	int id;
	int event; /* VIR_DOMAIN_EVENT_ID_...; -1: of QEMU's monitor */
	void (*function)(void);
	void *data;
	virFreeCallback free;
};

struct _virConnect {
	guint refs;
	struct virtual_host *host;
	const struct platform *platform; /* of the daemon; NULL: unknown */
	GList link;                      /* element of the host's */
	GPtrArray *handles;              /* what was made with it, and is not freed */
	bool broken;
	bool closing;   /* the news that it broke is under way, with a reference */
	bool forgotten; /* its daemon crashed */
	virConnectCloseFunc closed;
	void *closed_data;
	GArray *callbacks; /* struct callback */
	int next_id;
};

/* The first member of what is made with a connection. */
enum handle { HANDLE_DOMAIN = 0, HANDLE_POOL, HANDLE_VOLUME, HANDLE_STREAM };

struct _virDomain {
	enum handle handle;
	guint refs;
	virConnectPtr connection;
	char *name;
	guint vm; /* id */
};

struct _virStoragePool {
	enum handle handle;
	virConnectPtr connection;
};

struct _virStorageVol {
	enum handle handle;
	virConnectPtr connection;
	char *name;
};

struct _virStream {
	enum handle handle;
	guint refs;
	virConnectPtr connection;
	/* Of a port. */
	guint vm;
	char *port; /* NULL: none */
	GByteArray *in;
	bool hung_up;
	int events;
	virStreamEventCallback callback;
	void *data;
	virFreeCallback free;
	guint source;
	/* Of a volume. */
	char *volume; /* NULL: none */
	bool sends;
	bool sparse;
	uint64_t position;
	uint64_t length;
};

extern struct virtual_libvirt *the_libvirt;

/* Errors and calls. */

/* Sets the last error. Returns -1. */
int virtual_fail(int code, int from, const char *format, ...) G_GNUC_PRINTF(3, 4);
/*
 * A call to the host begins: the last error is forgotten, and the call takes its time. False: it
 * has failed. What it is about has to be looked for after that.
 */
bool virtual_call(virConnectPtr connection, const char *function);
/* The same in the midst of a call, which takes `ms` more. False: it has failed. */
bool virtual_call_goes_on(virConnectPtr connection, guint ms);
void virtual_tell(struct virtual_libvirt *libvirt, const char *format, ...) G_GNUC_PRINTF(2, 3);
guint virtual_about(struct virtual_libvirt *libvirt, guint ms);

virConnectPtr virtual_connection_ref(virConnectPtr connection);
void virtual_handle_add(virConnectPtr connection, void *handle);
void virtual_handle_remove(virConnectPtr connection, void *handle);

/* Hosts and VMs. */

struct virtual_host *virtual_host_find(struct virtual_libvirt *libvirt, const char *name);
struct virtual_vm *virtual_vm_find(struct virtual_host *host, guint id);
/* The VM ends; `detail` as VIR_DOMAIN_EVENT_STOPPED_..., -1: without an event. */
void virtual_vm_end(struct virtual_vm *vm, int detail);
void virtual_vm_free(struct virtual_vm *vm);
void virtual_jobs_drop(struct virtual_host *host);
void virtual_vm_set(struct virtual_vm *vm, int state, int reason);
uint64_t virtual_vm_cpu_ns(struct virtual_vm *vm);
/* Events for all connections of the VM's host. */
void virtual_event(struct virtual_vm *vm, int event, int detail);
void virtual_agent_event(struct virtual_vm *vm, bool connected);

/* Ports: bytes from the guest. False: the port is not open at the host. */
bool virtual_port_output(struct virtual_vm *vm, const char *port, const void *bytes, size_t length);
void virtual_stream_wake(virStreamPtr stream);
void virtual_stream_hang_up(virStreamPtr stream);

/* Volumes. */

struct volume *virtual_volume_find(struct virtual_host *host, const char *name);
struct volume *virtual_volume_at(struct virtual_host *host, const char *path);
void virtual_volume_free(gpointer volume);
uint64_t virtual_pool_free_bytes(const struct virtual_host *host);
void virtual_volume_touch(struct virtual_host *host, struct volume *volume);
int virtual_volume_send(virStreamPtr stream, const char *data, size_t length);
#define VIRTUAL_POOL_PATH "/var/lib/libvirt/images/virtbed"

/* Guests. */

struct guest *virtual_guest_new(struct virtual_vm *vm);
void virtual_guest_free(struct guest *guest);
/* It belongs to another VM (of a migration, or that was restored) from now on. */
void virtual_guest_move(struct guest *guest, struct virtual_vm *vm);
void virtual_guest_run(struct guest *guest, bool runs);
uint64_t virtual_guest_cpu_ns(struct guest *guest);
/* Bytes for a port, and that it was opened. */
void virtual_guest_input(struct guest *guest, const char *port, const void *bytes, size_t length);
void virtual_guest_opened(struct guest *guest, const char *port);
bool virtual_guest_has_agent(const struct guest *guest);
bool virtual_guest_agent_hangs(const struct guest *guest);
/* The agent's answer; the caller frees. NULL with *ret_refusal (owned): it refuses. */
char *virtual_guest_ask(struct guest *guest, const char *request, char **ret_refusal);
void virtual_guest_trouble(struct guest *guest, enum virtual_trouble trouble);
