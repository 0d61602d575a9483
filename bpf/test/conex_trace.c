// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Runs conex.h on a host. A line of standard input begins a flow: "flow" with the parameters unit, losses, flight per
 * credit, share (2^-20), idle (ns); or is an event of the sender: "met LOST MARKED", "lossy NOW SRTT" (ns), or
 * "sent AMOUNT PAYLOAD IN_FLIGHT NOW", for which the signals of the packet are printed.
 */
#include <stdio.h>
#include <string.h>

typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef long long __s64;
#include "../conex.h"

int main(void)
{
	const struct tg_conex fresh = { 0 };
	struct tg_conex_parameters p = { 0 };
	struct tg_conex c = fresh;
	__s64 a, b, in_flight;
	__u64 now_ns, srtt_ns;
	char name[8];

	while (scanf("%7s", name) == 1) {
		if (!strcmp(name, "flow")) {
			if (scanf("%u %u %u %u %llu", &p.unit, &p.losses, &p.flight_per_credit, &p.share_q20,
				  &p.idle_ns) != 5)
				return 1;
			c = fresh;
		} else if (!strcmp(name, "met")) {
			if (scanf("%lld %lld", &a, &b) != 2)
				return 1;
			tg_conex_meet(&c, &p, a, b);
		} else if (!strcmp(name, "lossy")) {
			if (scanf("%llu %llu", &now_ns, &srtt_ns) != 2)
				return 1;
			tg_conex_note_loss(&c, &p, now_ns, srtt_ns);
		} else if (!strcmp(name, "sent")) {
			if (scanf("%lld %lld %lld %llu", &a, &b, &in_flight, &now_ns) != 4)
				return 1;
			printf("%d\n", tg_conex_declare(&c, &p, a, b, in_flight, now_ns));
		} else {
			return 1;
		}
	}
	return 0;
}
