// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Runs the arithmetic of sbrm.h, tcprm.h and vegascp.h on a host. Each line of standard input is a function's name and
 * its arguments, each line of standard output the result.
 */
#include <stdio.h>
#include <string.h>

typedef unsigned int __u32;
typedef unsigned long long __u64;
#include "../tcprm.h"
#include "../vegascp.h"

/* Reads ACKs with marks and prints the window after their round trip. Returns 0 if the line is invalid. */
static int vegascp(void)
{
	struct tg_vegascp_marks marks = { 0, 0 };
	__u32 cwnd, willingness_q20, acks, delivered, marked;
	struct tg_vegascp_parameters p;
	int may_grow;
	__u64 rtt_us;

	if (scanf("%u %u %u %u %llu %d %u", &cwnd, &p.history, &p.ln_base_q24, &willingness_q20,
		  &rtt_us, &may_grow, &acks) != 7)
		return 0;
	while (acks--) {
		if (scanf("%u %u", &delivered, &marked) != 2)
			return 0;
		marks = tg_vegascp_count_marks(marks, p, delivered, marked);
	}
	printf("%u\n", tg_vegascp_after_round_trip(cwnd, marks, p, willingness_q20, rtt_us, may_grow));
	return 1;
}

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
		} else if (!strcmp(name, "pace")) {
			if (scanf("%llu %u %llu", &cwnd_q20, &packets, &rtt_us) != 3)
				return 1;
			printf("%llu\n", tg_sbrm_pacing_rate(cwnd_q20, packets, rtt_us));
		} else if (!strcmp(name, "allowed")) {
			if (scanf("%llu", &cwnd_q20) != 1)
				return 1;
			printf("%u\n", tg_sbrm_allowed(cwnd_q20));
		} else if (!strcmp(name, "start")) {
			if (scanf("%llu %u %u", &cwnd_q20, &packets, &unmarked) != 3)
				return 1;
			printf("%llu\n", tg_sbrm_slow_start(cwnd_q20, packets, unmarked));
		} else if (!strcmp(name, "mark")) {
			if (scanf("%llu %u", &cwnd_q20, &p.kappa_q20) != 2)
				return 1;
			printf("%llu\n", tg_tcprm_after_mark(cwnd_q20, p));
		} else if (!strcmp(name, "round")) {
			if (!vegascp())
				return 1;
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
