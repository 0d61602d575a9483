/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Runs bpf/gateway/abc.h on a host: a line of arguments in, a line of results out. */
#include <stdio.h>

#include "../../../bpf/gateway/abc.h"

int main(void)
{
	unsigned long long a[12], activity, average, bent;

	for (;;) {
		for (int i = 0; i < 12; i++)
			if (scanf("%llu", &a[i]) != 1)
				return 0;
		struct tg_meter meter = { a[0], a[1], a[2], a[3] };
		struct tg_abc abc = { a[4], a[5] };

		activity = tg_activity_q24(&meter, a[6], a[7]);
		average = tg_observed(&abc, a[9], activity);
		bent = tg_bent(&abc, a[10], activity, average);
		printf("%llu %llu %llu %llu %llu %llu\n", activity,
		       (unsigned long long)tg_metered(&meter, a[6], a[7], a[8], activity), average, bent,
		       (unsigned long long)tg_threshold(bent),
		       (unsigned long long)tg_threshold(tg_coupled(bent, a[11])));
	}
}
