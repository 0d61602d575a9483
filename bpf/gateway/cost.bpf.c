// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * What the data plane costs, beside the least that any such program does: reads the clock, finds the customer by a
 * hash, and counts. Before each packet its sender's address is drawn from a table, so that a run of tests touches
 * memory as traffic does; a third program only draws, to be subtracted.
 */
#include "gateway.bpf.c"

#define TG_DRAWS (1U << 20)

struct least {
	__u64 packets;
	__u64 bytes;
	__u64 seen_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TG_DRAWS);
	__type(key, __u32);
	__type(value, __u32);		/* an IPv4 address as it lies in a packet */
} draws SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} drawn SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 131072);
	__type(key, struct tg_address);
	__type(value, struct least);
} least SEC(".maps");

static TG_INLINE int draw(struct __sk_buff *skb)
{
	__u32 zero = 0, place, *address;
	__u64 *next = bpf_map_lookup_elem(&drawn, &zero);

	if (!next)
		return -1;
	place = (*next)++ & (TG_DRAWS - 1);
	address = bpf_map_lookup_elem(&draws, &place);
	return address ? bpf_skb_store_bytes(skb, ETH_HLEN + 12, address, 4, 0) : -1;
}

SEC("classifier")
int tidegate_draw(struct __sk_buff *skb)
{
	return draw(skb) ? TC_ACT_SHOT : TC_ACT_OK;
}

SEC("classifier")
int tidegate_least(struct __sk_buff *skb)
{
	struct tg_address key = { .bytes[10] = 0xff, .bytes[11] = 0xff };
	struct least *one;

	if (draw(skb) || bpf_skb_load_bytes(skb, ETH_HLEN + 12, key.bytes + 12, 4))
		return TC_ACT_SHOT;
	one = bpf_map_lookup_elem(&least, &key);
	if (!one)
		return TC_ACT_SHOT;
	one->seen_ns = bpf_ktime_get_ns();
	__sync_fetch_and_add(&one->packets, 1);
	__sync_fetch_and_add(&one->bytes, skb->len);
	return TC_ACT_OK;
}

SEC("classifier")
int tidegate_full(struct __sk_buff *skb)
{
	if (draw(skb))
		return TC_ACT_SHOT;
	return run(skb, TG_UPLOAD) == TC_ACT_SHOT ? TC_ACT_SHOT : TC_ACT_OK;
}
