// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Drives the arithmetic of sbrm.h and tcprm.h on a host. Each line of standard input is a function's name and
 * its arguments, each line of standard output what the function gives.
 */
#include <stdio.h>
#include <string.h>

typedef unsigned int __u32;
typedef unsigned long long __u64;
#include "../tcprm.h"

int main(void)
{
	struct tg_sbrm_parameters p;
	__u32 unmarked, marked, packets;
	__u64 cwnd_q20, rtt_us;
	char name[16];

	while (scanf("%15s", name) == 1) {
		if (!strcmp(name, "ack")) {
			if (scanf("%llu %u %u %llu %u %u", &cwnd_q20, &p.kappa_q20,
				  &p.willingness_q20, &rtt_us, &unmarked, &marked) != 6)
				return 1;
			printf("%llu\n", tg_sbrm_on_ack(cwnd_q20, p, rtt_us, unmarked, marked));
		} else if (!strcmp(name, "start")) {
			if (scanf("%llu %u %u", &cwnd_q20, &packets, &unmarked) != 3)
				return 1;
			printf("%llu\n", tg_sbrm_slow_start(cwnd_q20, packets, unmarked));
		} else if (!strcmp(name, "mark")) {
			if (scanf("%llu %u", &cwnd_q20, &p.kappa_q20) != 2)
				return 1;
			printf("%llu\n", tg_tcprm_after_mark(cwnd_q20, p));
		} else if (!strcmp(name, "loss")) {
			if (scanf("%u", &packets) != 1)
				return 1;
			printf("%u\n", tg_sbrm_after_loss(packets));
		} else if (!strcmp(name, "valid")) {
			if (scanf("%u %u", &p.kappa_q20, &p.willingness_q20) != 2)
				return 1;
			printf("%d\n", tg_sbrm_valid(p));
		} else {
			return 1;
		}
	}
	return 0;
}
