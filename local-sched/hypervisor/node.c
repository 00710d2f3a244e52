/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/hypervisor/node.h"

#define LOG_SUBSYSTEM "node"
#include "common/log.h"

struct node {
	uint32_t index;
	char *name;
	struct vm_host *vm_host;
	struct vm_place place;
	const struct node_events *events;
	void *data;
	struct vm *vm;
	bool announced; /* `ready` was reported, and `down` was not */
	bool failed;    /* its VM went down since it came to the node */
};

struct node *node_new(uint32_t index, const char *name, struct vm_host *vm_host,
		      const struct cpu_cap *cap, uint32_t cores, const struct node_events *events,
		      void *data)
{
	struct node *node = g_new0(struct node, 1);

	node->index = index;
	node->name = g_strdup(name);
	node->vm_host = vm_host;
	node->place = (struct vm_place){.first_core = index * cores, .first_cpu = -1, .cap = cap};
	node->events = events;
	node->data = data;
	vm_host_add_place(vm_host, &node->place);
	return node;
}

void node_free(struct node *node)
{
	if (!node)
		return;
	g_free(node->name);
	g_free(node);
}

struct vm *node_put(struct node *node, struct vm *vm)
{
	struct vm *before = node->vm;

	node->vm = vm;
	node->failed = false;
	if (vm)
		vm_set_place(vm, &node->place);
	return before;
}

void node_vm_ready(struct node *node)
{
	node->failed = false;
	if (!node->announced) {
		node->announced = true;
		node->events->ready(node, node->data);
	}
	node->events->settled(node, node->data);
}

void node_vm_down(struct node *node, const char *reason)
{
	node->failed = true;
	if (node->announced) {
		node->announced = false;
		log_warning_of(LOG_NODE(node->name), "down: %s", reason);
		node->events->down(node, reason, node->data);
	}
	node->events->settled(node, node->data);
}

uint32_t node_index(const struct node *node)
{
	return node->index;
}

const char *node_name(const struct node *node)
{
	return node->name;
}

struct vm_host *node_vm_host(const struct node *node)
{
	return node->vm_host;
}

struct vm *node_vm(const struct node *node)
{
	return node->vm;
}

enum vm_state node_state(const struct node *node)
{
	return node->vm ? vm_state(node->vm) : VM_DOWN;
}

/*
 * Whether the node's VM is being exchanged: its owner was not told that the node is down, so lists
 * must not show it as down.
 */
static bool is_between(const struct node *node)
{
	enum vm_state state = node_state(node);

	return node->announced && state != VM_READY && state != VM_BUSY && state != VM_HELD;
}

const char *node_public_state(const struct node *node)
{
	return vm_state_public_name(is_between(node) ? VM_BUSY : node_state(node));
}

const char *node_reason(const struct node *node)
{
	return is_between(node) || !node->vm ? NULL : vm_reason(node->vm);
}

bool node_is_settled(const struct node *node)
{
	return node->failed || node_state(node) == VM_READY || node_state(node) == VM_BUSY;
}
