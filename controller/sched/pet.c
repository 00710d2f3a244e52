/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/sched/pet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct pet *pet_new(uint32_t types_count, uint32_t machines_count)
{
	struct pet *pet = calloc(1, sizeof(*pet));

	if (!pet)
		return NULL;
	pet->types_count = types_count;
	pet->machines_count = machines_count;
	pet->entries = calloc((size_t)types_count * machines_count + 1, sizeof(*pet->entries));
	if (!pet->entries) {
		free(pet);
		return NULL;
	}
	return pet;
}

static void entry_finish(struct pet_entry *entry)
{
	pmf_finish(&entry->pmf);
	free((double *)entry->padded); /* the other tables are in the same allocation */
	*entry = (struct pet_entry){0};
}

/* Fills in the tables of an entry that has its PMF. Returns PMF_OK or PMF_MEMORY. */
static enum pmf_fault make_tables(struct pet_entry *entry)
{
	const uint32_t count = entry->pmf.count;
	const double *mass = entry->pmf.mass;
	double *tables = calloc(2 * PET_PADDING + 3 * (size_t)count, sizeof(*tables));
	double *until_back, *from_back, sum = 0;

	if (!tables)
		return PMF_MEMORY;
	until_back = tables + 2 * PET_PADDING + count;
	from_back = until_back + count;
	memcpy(tables + PET_PADDING, mass, count * sizeof(*mass));
	for (uint32_t i = 0; i < count; i++)
		until_back[count - 1 - i] = sum = fmin(1, sum + mass[i]);
	until_back[0] = 1;
	sum = 0;
	for (uint32_t j = 0; j < count; j++)
		from_back[j] = sum = fmin(1, sum + mass[count - 1 - j]);
	from_back[count - 1] = 1;
	entry->padded = tables;
	entry->until_back = until_back;
	entry->from_back = from_back;
	entry->mean = pmf_mean(&entry->pmf);
	return PMF_OK;
}

enum pmf_fault pet_set(struct pet *pet, uint32_t type, uint32_t machine, const struct pmf *pmf)
{
	struct pet_entry *entry = pet->entries + (size_t)type * pet->machines_count + machine;
	struct pet_entry made = {0};
	enum pmf_fault fault = pmf_check(pmf);

	if (fault == PMF_OK && pmf->first < 1)
		fault = PMF_TIME;
	if (fault == PMF_OK)
		fault = pmf_shift(&made.pmf, pmf, 0);
	if (fault == PMF_OK)
		fault = make_tables(&made);
	if (fault != PMF_OK) {
		entry_finish(&made);
		return fault;
	}
	entry_finish(entry);
	*entry = made;
	return PMF_OK;
}

enum pmf_fault pet_check(const struct pet *pet, uint32_t *ret_type, uint32_t *ret_machine)
{
	for (uint32_t i = 0; i < pet->types_count * pet->machines_count; i++) {
		if (pet->entries[i].pmf.count > 0)
			continue;
		*ret_type = i / pet->machines_count;
		*ret_machine = i % pet->machines_count;
		return PMF_EMPTY;
	}
	return PMF_OK;
}

void pet_free(struct pet *pet)
{
	if (!pet)
		return;
	for (uint32_t i = 0; i < pet->types_count * pet->machines_count; i++)
		entry_finish(pet->entries + i);
	free(pet->entries);
	free(pet);
}

double pet_type_mean(const struct pet *pet, uint32_t type)
{
	double sum = 0;

	for (uint32_t machine = 0; machine < pet->machines_count; machine++)
		sum += pet_at(pet, type, machine)->mean;
	return sum / pet->machines_count;
}
