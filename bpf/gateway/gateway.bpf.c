// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The gateway's data plane: meters each customer's packets and judges them by activity-based congestion
 * management, at the interface towards the customers. Uploads are judged where they come in, downloads where they
 * go out. The kernel forwards; what is not dropped here takes the way that it takes without us.
 *
 * Whatever is missing means pass: settings, a probability, one that is not half a second old, an address that is a
 * customer's, a packet that can be read. Each way of passing has a counter.
 */
#include "abc.h"
#include "kernel.h"
#include "packet.h"

#define TG_ECT_1 1
#define TG_NOT_ECT 0
/* So often a meter is tried again that another CPU has changed meanwhile. */
#define TG_TRIES 4

/* All maps hold 64-bit words; crates/gateway/src/maps.rs has the same. */
struct settings {
	__u64 ready;			/* version of this layout */
	__u64 enforce;			/* 0: observe */
	__u64 link_header_bytes;	/* of the device: Ethernet's, or none */
	struct tg_meter meter;
	struct tg_abc abc;
	__u64 ecn;			/* ECT(0) is marked and not dropped */
	__u64 ect1;			/* ECT(1) is marked by the coupled probability, else left alone */
	__u64 log2_coupling_q24;
	__u64 ipv6_mask;		/* of the first eight bytes of a customer's address, as they lie in memory */
	__u64 has_prefixes;		/* only addresses in `prefixes` are customers' */
	__u64 has_exempt;
	__u64 notes[4];			/* the control loop's own */
};

struct signal {
	__u64 minus_log2_p_q24;
	__u64 deadline_ns;	/* later, the probability does not count */
	__u64 notes[6];		/* the control loop's own */
};

struct link {
	__u64 average_q36;	/* A_avg */
};

/* By direction. */
struct customer {
	__u64 zero_ns[TG_DIRECTIONS];	/* t0 of the meter */
	__u64 bytes[TG_DIRECTIONS];
	__u64 packets[TG_DIRECTIONS];
	__u64 dropped[TG_DIRECTIONS];	/* packets; while only observing, those that would have been */
	__u64 marked[TG_DIRECTIONS];
	__u64 seen_ns;
};

struct count {
	__u64 packets;
	__u64 bytes;
};

struct prefix {
	__u32 bits;
	struct tg_address address;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct settings);
} settings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TG_DIRECTIONS);
	__type(key, __u32);
	__type(value, struct signal);
} signals SEC(".maps");

/*
 * One average for all CPUs, read and written without a lock: an update that is lost leaves out one packet of a
 * hundred that count.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TG_DIRECTIONS);
	__type(key, __u32);
	__type(value, struct link);
} links SEC(".maps");

/* The oldest is forgotten when it is full. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct tg_address);
	__type(value, struct customer);
} customers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, TG_DIRECTIONS * TG_REASONS);
	__type(key, __u32);
	__type(value, struct count);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 4096);
	__type(key, struct prefix);
	__type(value, __u64);
} prefixes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 4096);
	__type(key, struct prefix);
	__type(value, __u64);
} exempt SEC(".maps");

static TG_INLINE int in(void *trie, const struct tg_address *address)
{
	struct prefix prefix = { .bits = 8 * TG_ADDRESS_BYTES, .address = *address };

	return bpf_map_lookup_elem(trie, &prefix) != 0;
}

static TG_INLINE struct customer *find(const struct tg_address *key)
{
	struct customer *known = bpf_map_lookup_elem(&customers, key);
	struct customer new = {};

	if (known)
		return known;
	bpf_map_update_elem(&customers, key, &new, BPF_NOEXIST);
	return bpf_map_lookup_elem(&customers, key);
}

/* A of this packet. */
static TG_INLINE __u64 meter(const struct tg_meter *by, __u64 *zero_ns, __u64 now_ns,
				   __u64 len)
{
	__u64 before_ns, after_ns, activity_q24 = 0;
	int i;

	for (i = 0; i < TG_TRIES; i++) {
		before_ns = *(volatile __u64 *)zero_ns;
		activity_q24 = tg_activity_q24(by, before_ns, now_ns);
		after_ns = tg_metered(by, before_ns, now_ns, len, activity_q24);
		if (__sync_val_compare_and_swap(zero_ns, before_ns, after_ns) == before_ns)
			break;
	}
	return activity_q24;
}

/* What the signal does to a packet of this ECN field, if it falls on it. */
static TG_INLINE enum tg_reason judge(const struct settings *by, const struct tg_packet *packet,
					    __u64 minus_log2_q24)
{
	__u64 coupled_q24 = tg_coupled(minus_log2_q24, by->log2_coupling_q24);
	/* Marks do not help any more from here on (RFC 9332, appendix A.2). */
	int overload = coupled_q24 == 0;
	int marks = by->ecn && packet->ecn != TG_NOT_ECT;
	__u64 drawn = bpf_get_prandom_u32();

	if (marks && packet->ecn == TG_ECT_1 && !overload)
		return by->ect1 && drawn < tg_threshold(coupled_q24) ? TG_MARKED : TG_PASSED;
	if (drawn >= tg_threshold(minus_log2_q24))
		return TG_PASSED;
	return marks && !overload ? TG_MARKED : TG_DROPPED;
}

struct outcome {
	enum tg_reason reason;
	__u64 packets;
	__u64 bytes;
};

/* Meters and judges a packet. Marks it, if that is the verdict. */
static TG_INLINE void handle(struct __sk_buff *skb, __u32 direction, struct outcome *outcome)
{
	struct tg_packet packet = {};
	const struct settings *by;
	const struct signal *signal;
	struct customer *customer;
	struct tg_address key;
	struct link *link;
	__u64 now_ns, activity_q24, average_q36, minus_log2_q24;
	/* Its address is taken, and `direction` stays a constant for the verifier. */
	__u32 zero = 0, place = direction;

	outcome->packets = 1;
	outcome->bytes = skb->len;
	by = bpf_map_lookup_elem(&settings, &zero);
	link = bpf_map_lookup_elem(&links, &place);
	signal = bpf_map_lookup_elem(&signals, &place);
	if (!by || !by->ready || !link || !signal) {
		outcome->reason = TG_NOT_READY;
		return;
	}
	outcome->reason = tg_read(skb, by->link_header_bytes, &packet);
	if (outcome->reason != TG_PASSED)
		return;
	if (skb->gso_segs > 1) {
		/* Bytes on the wire: each further segment has its own headers. */
		outcome->packets = skb->gso_segs;
		outcome->bytes += (outcome->packets - 1) * packet.header_bytes;
	}
	key = direction == TG_UPLOAD ? packet.from : packet.to;
	if (by->has_prefixes && !in(&prefixes, &key)) {
		outcome->reason = TG_NO_CUSTOMER;
		return;
	}
	if (by->has_exempt && (in(&exempt, &packet.from) || in(&exempt, &packet.to))) {
		outcome->reason = TG_EXEMPT;
		return;
	}
	if (packet.version == 6) {
		*(__u64 *)key.bytes &= by->ipv6_mask;
		*(__u64 *)(key.bytes + 8) = 0;
	}
	customer = find(&key);
	if (!customer) {
		outcome->reason = TG_NOT_READY;
		return;
	}
	now_ns = bpf_ktime_get_ns();
	customer->seen_ns = now_ns;
	__sync_fetch_and_add(&customer->bytes[direction], outcome->bytes);
	__sync_fetch_and_add(&customer->packets[direction], outcome->packets);
	activity_q24 = meter(&by->meter, &customer->zero_ns[direction], now_ns, outcome->bytes);
	average_q36 = tg_observed(&by->abc, *(volatile __u64 *)&link->average_q36, activity_q24);
	*(volatile __u64 *)&link->average_q36 = average_q36;

	if (now_ns > signal->deadline_ns) {
		outcome->reason = TG_NO_SIGNAL;
		return;
	}
	if (signal->minus_log2_p_q24 >= TG_NEVER_Q24) {
		outcome->reason = TG_CLEAR;
		return;
	}
	minus_log2_q24 = tg_bent(&by->abc, signal->minus_log2_p_q24, activity_q24, average_q36);
	outcome->reason = judge(by, &packet, minus_log2_q24);
	if (outcome->reason == TG_MARKED && by->enforce && tg_mark(skb, &packet))
		outcome->reason = TG_NOT_UNDERSTOOD;
	if (outcome->reason == TG_DROPPED) {
		__sync_fetch_and_add(&customer->dropped[direction], outcome->packets);
		outcome->reason = by->enforce ? TG_DROPPED : TG_WOULD_DROP;
	} else if (outcome->reason == TG_MARKED) {
		__sync_fetch_and_add(&customer->marked[direction], outcome->packets);
		outcome->reason = by->enforce ? TG_MARKED : TG_WOULD_MARK;
	}
}

static TG_INLINE int run(struct __sk_buff *skb, __u32 direction)
{
	struct outcome outcome = {};
	struct count *count;
	__u32 place;

	handle(skb, direction, &outcome);
	place = direction * TG_REASONS + outcome.reason;
	count = bpf_map_lookup_elem(&counts, &place);
	if (count) {	/* of this CPU alone */
		count->packets += outcome.packets;
		count->bytes += outcome.bytes;
	}
	/* Else the next program at this place has its say. */
	return outcome.reason == TG_DROPPED ? TC_ACT_SHOT : TC_ACT_UNSPEC;
}

SEC("classifier")
int tidegate_up(struct __sk_buff *skb)
{
	return run(skb, TG_UPLOAD);
}

SEC("classifier")
int tidegate_down(struct __sk_buff *skb)
{
	return run(skb, TG_DOWNLOAD);
}

char tg_license[] SEC("license") = "Dual MIT/GPL";
