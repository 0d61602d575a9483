// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The gateway's data plane: meters each customer's packets and judges them by activity-based congestion
 * management, at the interface towards the customers. Uploads are judged where they come in, downloads where they
 * go out. The kernel forwards; what is not dropped here takes the way that it takes without us. A customer of the
 * customer file has a reference rate of its own and may have a ceiling, which is a token bucket.
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
/* 2^64 over the golden ratio: its products' high bits depend on all bits. */
#define TG_HASH 0x9e3779b97f4a7c15ULL

/*
 * Where no address that is exempt can be, so that the trie need not be asked: a bit for each value of a hash of the
 * bits that all prefixes of a family have. Twin of crates/gateway/src/exempt.rs.
 */
struct exempt_filter {
	__u64 bits;
	__u64 ipv4_mask;	/* of an address' second half */
	__u64 ipv6_masks[2];
};

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
	__u64 has_prefixes;		/* addresses in `prefixes` are customers' */
	struct exempt_filter exempt;
	__u64 burst_bytes;		/* B of the meter */
	__u64 has_file;			/* addresses in `addresses` are customers' */
	__u64 ceiling_burst_ns;		/* depth of the ceilings' buckets */
	__u64 notes[4];			/* the control loop's own */
};

struct signal {
	__u64 minus_log2_p_q24;
	__u64 deadline_ns;	/* later, the probability does not count */
	__u64 notes[6];		/* the control loop's own */
	__u64 alive_ns;		/* later, ceilings do not count */
	__u64 more_notes[2];
	__u64 average_q36;	/* A_avg of all CPUs when they were last merged */
};

/* What a CPU has seen of a direction. */
struct link {
	__u64 average_q36;	/* A_avg, which continues from the merged one */
	__u64 packets;		/* since they were merged */
};

/* By direction. 64 bytes: a cache line. The 32-bit counters wrap. */
struct customer {
	__u64 zero_ns[TG_DIRECTIONS];	/* t0 of the meter */
	__u64 bytes[TG_DIRECTIONS];
	__u32 packets[TG_DIRECTIONS];
	__u32 dropped[TG_DIRECTIONS];	/* packets; while only observing, those that would have been */
	__u32 marked[TG_DIRECTIONS];
	__u64 seen_ns;
};

/* What a customer with a ceiling has besides. */
struct ceiling {
	__u64 zero_ns[TG_DIRECTIONS];	/* t0 of the bucket */
	__u32 limited[TG_DIRECTIONS];	/* packets beyond the ceiling */
};

/* Whose an address is, and on which terms. */
struct terms {
	__u32 slot;			/* in `listed`, or TG_LEARNED */
	__u32 unused;
	__u64 ns_per_byte_q16;		/* 1/R_r */
	__u64 ceiling_ns_per_byte_q16;	/* 0: no ceiling */
};

/* Each address of a prefix is a customer of its own, on the default terms. */
#define TG_LEARNED 0xffffffffU
#define TG_NAME_BYTES 32

struct count {
	__u64 packets;
	__u64 bytes;
};

struct prefix {
	__u32 bits;
	__u32 words[TG_ADDRESS_BYTES / 4];
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
 * An average for each CPU, so that they do not fight for a cache line. The control loop merges them with each
 * update of the probability; without a loop no packet is judged.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
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

/* Those of the file, by slot. Pages of its own, so that each has a cache line. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct customer);
} listed SEC(".maps");

/* By slot, too. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ceiling);
} ceilings SEC(".maps");

/* Their names, for reports. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u8[TG_NAME_BYTES]);
} names SEC(".maps");

/* Single addresses of the file; IPv6 ones without the bits beyond `ipv6_mask`. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct tg_address);
	__type(value, struct terms);
} addresses SEC(".maps");

/* All other prefixes of customers. */
struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, struct prefix);
	__type(value, struct terms);
} prefixes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 4096);
	__type(key, struct prefix);
	__type(value, __u64);
} exempt SEC(".maps");

static TG_INLINE void *longest(void *trie, const struct tg_address *address)
{
	struct prefix prefix = { .bits = 8 * TG_ADDRESS_BYTES };
	int i;

	for (i = 0; i < TG_ADDRESS_BYTES / 4; i++)
		prefix.words[i] = address->words[i];
	return bpf_map_lookup_elem(trie, &prefix);
}

static TG_INLINE int is_exempt(const struct exempt_filter *filter, const struct tg_packet *packet,
			       const struct tg_address *address)
{
	__u64 hash = address->halves[1] & filter->ipv4_mask;

	if (packet->version == 6)
		hash = (address->halves[0] & filter->ipv6_masks[0]) ^
		       (address->halves[1] & filter->ipv6_masks[1]);
	hash = (hash * TG_HASH) >> 58;
	return (filter->bits >> hash & 1) && longest(&exempt, address);
}

static TG_INLINE struct customer *learned(const struct tg_address *key)
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

/* Whether a packet is beyond the ceiling. One that passes may leave the bucket below zero, whatever its size. */
static TG_INLINE int is_beyond(const struct settings *by, __u64 ns_per_byte_q16,
				     __u64 *zero_ns, __u64 now_ns, __u64 len)
{
	__u64 before_ns, after_ns, earliest_ns;
	int i;

	earliest_ns = now_ns > by->ceiling_burst_ns ? now_ns - by->ceiling_burst_ns : 0;
	for (i = 0; i < TG_TRIES; i++) {
		before_ns = *(volatile __u64 *)zero_ns;
		if (before_ns > now_ns)
			return 1;
		after_ns = before_ns < earliest_ns ? earliest_ns : before_ns;
		after_ns += (len * ns_per_byte_q16) >> 16;
		if (__sync_val_compare_and_swap(zero_ns, before_ns, after_ns) == before_ns)
			break;
	}
	return 0;
}

/* What the signal does to a packet of this ECN field, if it falls on it. */
static TG_INLINE __u64 judge(const struct settings *by, const struct tg_packet *packet,
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
	__u64 reason;	/* enum tg_reason */
	__u64 packets;
	__u64 bytes;
};

/* Whose packet it is, and on which terms. */
struct owner {
	struct customer *customer;
	__u64 slot;
	__u64 ns_per_byte_q16;
	__u64 ceiling_ns_per_byte_q16;
};

static TG_INLINE __u64 find(const struct settings *by, const struct tg_packet *packet,
					   const struct tg_address *address, struct owner *owner)
{
	struct tg_address key = *address;
	const struct terms *terms = 0;

	if (packet->version == 6) {
		key.halves[0] &= by->ipv6_mask;
		key.halves[1] = 0;
	}
	if (by->has_file)
		terms = bpf_map_lookup_elem(&addresses, &key);
	if (!terms && by->has_prefixes)
		terms = longest(&prefixes, address);
	if (!terms && (by->has_file || by->has_prefixes))
		return TG_NO_CUSTOMER;
	if (is_exempt(&by->exempt, packet, &packet->from) ||
	    is_exempt(&by->exempt, packet, &packet->to))
		return TG_EXEMPT;
	if (!terms || terms->slot == TG_LEARNED) {
		owner->ns_per_byte_q16 = by->meter.ns_per_byte_q16;
		owner->ceiling_ns_per_byte_q16 = 0;
		owner->customer = learned(&key);
	} else {
		owner->slot = terms->slot;
		owner->ns_per_byte_q16 = terms->ns_per_byte_q16;
		owner->ceiling_ns_per_byte_q16 = terms->ceiling_ns_per_byte_q16;
		owner->customer = tg_element(&listed, owner->slot);
	}
	return owner->customer ? TG_PASSED : TG_NOT_READY;
}

/* Meters and judges a packet. Marks it, if that is the verdict. */
static TG_INLINE void handle(struct __sk_buff *skb, __u32 direction, struct outcome *outcome)
{
	struct tg_packet packet = {};
	struct owner owner;
	struct ceiling *ceiling;
	const struct settings *by;
	const struct signal *signal;
	struct tg_meter terms;
	struct link *link;
	__u64 now_ns, activity_q24, minus_log2_q24;

	outcome->packets = 1;
	outcome->bytes = skb->len;
	by = tg_element(&settings, 0);
	signal = tg_element(&signals, direction);
	if (!by || !by->ready || !signal) {
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
	outcome->reason = find(by, &packet, direction == TG_UPLOAD ? &packet.from : &packet.to, &owner);
	if (outcome->reason != TG_PASSED)
		return;
	now_ns = bpf_ktime_get_ns();
	owner.customer->seen_ns = now_ns;
	__sync_fetch_and_add(&owner.customer->bytes[direction], outcome->bytes);
	__sync_fetch_and_add(&owner.customer->packets[direction], outcome->packets);
	if (owner.ceiling_ns_per_byte_q16 && now_ns <= signal->alive_ns) {
		ceiling = tg_element(&ceilings, owner.slot);
		if (ceiling && is_beyond(by, owner.ceiling_ns_per_byte_q16,
					 &ceiling->zero_ns[direction], now_ns, outcome->bytes)) {
			__sync_fetch_and_add(&ceiling->limited[direction], outcome->packets);
			outcome->reason = by->enforce ? TG_LIMITED : TG_WOULD_LIMIT;
			return;
		}
	}
	terms = by->meter;
	terms.ns_per_byte_q16 = owner.ns_per_byte_q16;
	terms.burst_ns = (by->burst_bytes * terms.ns_per_byte_q16) >> 16;
	activity_q24 = meter(&terms, &owner.customer->zero_ns[direction], now_ns, outcome->bytes);
	link = tg_element(&links, direction);
	if (link) {
		link->average_q36 = tg_observed(&by->abc, link->average_q36, activity_q24);
		link->packets++;
	}
	if (now_ns > signal->deadline_ns) {
		outcome->reason = TG_NO_SIGNAL;
		return;
	}
	if (signal->minus_log2_p_q24 >= TG_NEVER_Q24) {
		outcome->reason = TG_CLEAR;
		return;
	}
	minus_log2_q24 = tg_bent(&by->abc, signal->minus_log2_p_q24, activity_q24, signal->average_q36);
	outcome->reason = judge(by, &packet, minus_log2_q24);
	if (outcome->reason == TG_MARKED && by->enforce && tg_mark(skb, &packet))
		outcome->reason = TG_NOT_UNDERSTOOD;
	if (outcome->reason == TG_DROPPED) {
		__sync_fetch_and_add(&owner.customer->dropped[direction], outcome->packets);
		outcome->reason = by->enforce ? TG_DROPPED : TG_WOULD_DROP;
	} else if (outcome->reason == TG_MARKED) {
		__sync_fetch_and_add(&owner.customer->marked[direction], outcome->packets);
		outcome->reason = by->enforce ? TG_MARKED : TG_WOULD_MARK;
	}
}

static TG_INLINE int run(struct __sk_buff *skb, __u32 direction)
{
	struct outcome outcome = {};
	struct count *count;

	handle(skb, direction, &outcome);
	count = tg_element(&counts, direction * TG_REASONS + outcome.reason);
	if (count) {	/* of this CPU alone */
		count->packets += outcome.packets;
		count->bytes += outcome.bytes;
	}
	/* Else the next program at this place has its say. */
	if (outcome.reason == TG_DROPPED || outcome.reason == TG_LIMITED)
		return TC_ACT_SHOT;
	return TC_ACT_UNSPEC;
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
