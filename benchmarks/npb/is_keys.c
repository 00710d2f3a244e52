/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "benchmarks/npb/is_keys.h"

#include <stddef.h>

#include "benchmarks/npb/npb_random.h"

static const struct is_class classes[] = {
	{'S', 16, 11, 128, {48427, 17148, 23627, 62548, 4431}, {0, 18, 346, 64917, 65463}},
	{'W',
	 20,
	 16,
	 1024,
	 {357773, 934767, 875723, 898999, 404505},
	 {1249, 11698, 1039987, 1043896, 1048018}},
	{'A',
	 23,
	 19,
	 1024,
	 {2112377, 662041, 5336171, 3642833, 4250760},
	 {104, 17523, 123928, 8288932, 8388264}},
	{'B',
	 25,
	 21,
	 1024,
	 {41869, 812306, 5102857, 18232239, 26860214},
	 {33422937, 10244, 59149, 33135281, 99}},
	{'C',
	 27,
	 23,
	 1024,
	 {44172927, 72999161, 74326391, 129606274, 21736814},
	 {61147, 882988, 266290, 133997595, 133525895}},
};

const struct is_class *is_class_find(char name)
{
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (classes[i].name == name)
			return &classes[i];
	return NULL;
}

void is_keys_fill(const struct is_class *class, int64_t first, int64_t count, int32_t *ret_keys)
{
	double scale = (double)(1 << class->max_log2) / 4.0;
	struct npb_random random;

	npb_random_init(&random, NPB_RANDOM_SEED);
	npb_random_skip(&random, 4 * (uint64_t)first);
	for (int64_t i = 0; i < count; i++) {
		double sum = npb_random_uniform(&random);

		sum += npb_random_uniform(&random);
		sum += npb_random_uniform(&random);
		sum += npb_random_uniform(&random);
		ret_keys[i] = (int32_t)(scale * sum);
	}
}

void is_keys_change(const struct is_class *class, int it, int32_t *keys)
{
	keys[it] = it;
	keys[it + IS_ITERATIONS] = (1 << class->max_log2) - it;
}

/*
 * Small keys written by the changes push a rank up, and large keys that they replace let it fall:
 * by the iteration number or one or two less, depending on which initial keys were overwritten.
 */
static int rank_shift(char class, int test, int it)
{
	switch (class) {
	case 'W':
		return test < 2 ? it - 2 : -it;
	case 'A':
		return test <= 2 ? it - 1 : -(it - 1);
	case 'B':
		return test == 0 || test == 3 ? -it : it;
	default: /* S and C */
		return test <= 2 ? it : -it;
	}
}

int32_t is_expected_rank(const struct is_class *class, int test, int it)
{
	return class->test_rank[test] + rank_shift(class->name, test, it);
}
