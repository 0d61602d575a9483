// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Runs abc.h in the kernel, for tests: the packet holds the arguments after an Ethernet header, 64-bit words in
 * the order of `struct arguments`, and gets the results in their place.
 */
#include "abc.h"
#include "kernel.h"

struct arguments {
	struct tg_meter meter;
	struct tg_abc abc;
	__u64 zero_ns;
	__u64 now_ns;
	__u64 len;
	__u64 average_q36;
	__u64 minus_log2_p_q24;
	__u64 log2_k_q24;
};

SEC("classifier")
int tidegate_arithmetic(struct __sk_buff *skb)
{
	struct arguments a;
	__u64 results[6];

	if (bpf_skb_load_bytes(skb, ETH_HLEN, &a, sizeof(a)))
		return TC_ACT_SHOT;
	results[0] = tg_activity_q24(&a.meter, a.zero_ns, a.now_ns);
	results[1] = tg_metered(&a.meter, a.zero_ns, a.now_ns, a.len, results[0]);
	results[2] = tg_observed(&a.abc, a.average_q36, results[0]);
	results[3] = tg_bent(&a.abc, a.minus_log2_p_q24, results[0], results[2]);
	results[4] = tg_threshold(results[3]);
	results[5] = tg_threshold(tg_coupled(results[3], a.log2_k_q24));
	return bpf_skb_store_bytes(skb, ETH_HLEN, results, sizeof(results), 0) ? TC_ACT_SHOT : TC_ACT_OK;
}

char tg_license[] SEC("license") = "Dual MIT/GPL";
