// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * ConEx sender on a kernel that has none: at the egress of a host's device, writes what a TCP flow declares into its
 * packets (conex.h): in IPv4 into the ECN field and the RE bit, in IPv6 into an option of RFC 7837 that it inserts. The
 * kernel's own counters of the socket say what the flow met: delivered_ce, total_retrans, and dsack_dups for spurious
 * retransmissions.
 *
 * Packets without payload, of other protocols and of sockets of other hosts stay as they are, and in IPv4 those of
 * connections without ECN.
 */
#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include "conex.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define TG_PASS (-1)	/* TCX_NEXT */
#define TG_AF_INET 2
#define TG_AF_INET6 10
#define TG_TCP 6
#define TG_IPV4_BYTES 20
#define TG_IPV6_BYTES 40
/* RFC 8200, section 4.6, and RFC 7837: Destination Options with the ConEx option and padding. */
#define TG_DESTINATION_OPTIONS 60
#define TG_OPTION_BYTES 8
#define TG_OPTION_TYPE 0x1E
#define TG_PAD_N 1
/* Of ecn_flags: ECN is negotiated, that of RFC 3168 or (Linux 6.18) accurate ECN. */
#define TG_ECN_NEGOTIATED 0x11
#define TG_RE_BIT 0x80	/* of byte 6: the highest bit of flags and fragment offset */

/* Set by the loader (crates/bpf/src/declare.rs). */
const volatile struct {
	struct tg_conex_parameters parameters;
	__u32 link_header_bytes;
	/* Receivers echo congestion until CWR arrives (RFC 3168): one mark for each round trip with an echo. */
	__u32 echo_per_round_trip;
	/* Connections without ECN declare too: only where no queue marks, since a mark would not be echoed. */
	__u32 without_ecn;
} set;

struct tg_conex_flow {
	struct tg_conex conex;
	__u32 delivered_ce, total_retrans, dsack_dups;	/* as of the last packet */
	__u32 echo_end;		/* sequence number below which an echo belongs to a mark that is counted */
	__u32 known;		/* the counters above have been read */
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct tg_conex_flow);
} tg_conex_flows SEC(".maps");

/* Returns the marks that the socket has heard of since the last packet. */
static __always_inline __u32 marks_of(struct bpf_tcp_sock *tp, struct tg_conex_flow *flow)
{
	__u32 marks = tp->delivered_ce - flow->delivered_ce;

	flow->delivered_ce = tp->delivered_ce;
	if (!set.echo_per_round_trip || !marks)
		return marks;
	if ((__s32)(tp->snd_una - flow->echo_end) < 0)
		return 0;
	flow->echo_end = tp->snd_nxt + 1;
	return 1;
}

/* Updates the gauges by the socket's counters. */
static __always_inline void read_counters(struct bpf_tcp_sock *tp, struct tg_conex_flow *flow,
					  const struct tg_conex_parameters *p, __s64 full, __u64 now_ns)
{
	__s64 lost, marks;

	if (!flow->known) {
		flow->known = 1;
		flow->delivered_ce = tp->delivered_ce;
		flow->total_retrans = tp->total_retrans;
		flow->dsack_dups = tp->dsack_dups;
		flow->echo_end = tp->snd_una;
		return;
	}
	marks = marks_of(tp, flow);
	lost = (__s64)(tp->total_retrans - flow->total_retrans);
	if (lost)
		tg_conex_note_loss(&flow->conex, p, now_ns, (__u64)(tp->srtt_us >> 3) * 1000);
	lost -= (__s64)(tp->dsack_dups - flow->dsack_dups);
	flow->total_retrans = tp->total_retrans;
	flow->dsack_dups = tp->dsack_dups;
	tg_conex_meet(&flow->conex, p, lost * full, marks * full);
}

/* Writes a meaning into the header, and its checksum. */
static __always_inline void write_header(struct __sk_buff *skb, const __u8 *ip, int meaning)
{
	__u32 at = set.link_header_bytes;
	__u8 tos[2] = { ip[0], (__u8)((ip[1] & ~3) | tg_conex_ecn(meaning)) };
	__u8 fragment[2] = { (__u8)((ip[6] & ~TG_RE_BIT) | (tg_conex_re(meaning) ? TG_RE_BIT : 0)), ip[7] };
	__u16 before, after;

	__builtin_memcpy(&before, ip, 2);
	__builtin_memcpy(&after, tos, 2);
	bpf_l3_csum_replace(skb, at + 10, before, after, 2);
	__builtin_memcpy(&before, ip + 6, 2);
	__builtin_memcpy(&after, fragment, 2);
	bpf_l3_csum_replace(skb, at + 10, before, after, 2);
	bpf_skb_store_bytes(skb, at, tos, 2, 0);
	bpf_skb_store_bytes(skb, at + 6, fragment, 2, 0);
}

/* Inserts a Destination Options header with the option behind the IPv6 header. */
static __always_inline void insert_option(struct __sk_buff *skb, int signals)
{
	__u8 option[TG_OPTION_BYTES] = {
		TG_TCP, 0, TG_OPTION_TYPE, 1, (__u8)(TG_CONEX_X | signals), TG_PAD_N, 1, 0,
	};
	__u32 at = set.link_header_bytes;
	__u8 next = TG_DESTINATION_OPTIONS;
	__u16 len;

	if (bpf_skb_load_bytes(skb, at + 4, &len, 2))
		return;
	/* A burst that is not cut yet is cut with the option in each segment, which the MSS leaves room for. */
	if (bpf_skb_adjust_room(skb, TG_OPTION_BYTES, BPF_ADJ_ROOM_NET, BPF_F_ADJ_ROOM_FIXED_GSO))
		return;
	/* Of a burst above 64 kB the length is 0 (RFC 2675). */
	len = len ? bpf_htons(bpf_ntohs(len) + TG_OPTION_BYTES) : 0;
	bpf_skb_store_bytes(skb, at + 4, &len, 2, 0);
	bpf_skb_store_bytes(skb, at + 6, &next, 1, 0);
	bpf_skb_store_bytes(skb, at + TG_IPV6_BYTES, option, TG_OPTION_BYTES, 0);
}

/* Returns the length of the IP header of a TCP packet, 0 for others; and the start of the header. */
static __always_inline __u32 ip_header(struct __sk_buff *skb, __u32 family, __u8 *ip)
{
	if (bpf_skb_load_bytes(skb, set.link_header_bytes, ip, TG_IPV4_BYTES))
		return 0;
	if (family == TG_AF_INET && ip[0] >> 4 == 4 && ip[9] == TG_TCP)
		return (ip[0] & 15) * 4;
	if (family == TG_AF_INET6 && ip[0] >> 4 == 6 && ip[6] == TG_TCP)
		return TG_IPV6_BYTES;
	return 0;
}

SEC("tcx/egress")
int tg_conex_egress(struct __sk_buff *skb)
{
	/* A copy, since the loader's constants are volatile. */
	struct tg_conex_parameters p = {
		set.parameters.unit, set.parameters.losses, set.parameters.flight_per_credit,
		set.parameters.share_q20, set.parameters.idle_ns,
	};
	__u32 header_bytes, segments, in_flight;
	__u64 now_ns = bpf_ktime_get_ns();
	struct tg_conex_flow *flow;
	struct bpf_tcp_sock *tp;
	__u8 ip[TG_IPV4_BYTES];
	__s64 payload, amount, full = 1;
	struct bpf_sock *sk;
	__u8 offset;
	int signals;

	sk = skb->sk;
	if (!sk)
		return TG_PASS;
	sk = bpf_sk_fullsock(sk);
	if (!sk || sk->protocol != TG_TCP)
		return TG_PASS;
	tp = bpf_tcp_sock(sk);
	if (!tp)
		return TG_PASS;
	header_bytes = ip_header(skb, sk->family, ip);
	if (!header_bytes || bpf_skb_load_bytes(skb, set.link_header_bytes + header_bytes + 12, &offset, 1))
		return TG_PASS;
	header_bytes += (offset >> 4) * 4;
	payload = (__s64)skb->len - set.link_header_bytes - header_bytes;
	if (payload <= 0)
		return TG_PASS;
	if (sk->family == TG_AF_INET && !set.without_ecn && !(tp->ecn_flags & TG_ECN_NEGOTIATED))
		return TG_PASS;
	flow = bpf_sk_storage_get(&tg_conex_flows, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!flow)
		return TG_PASS;
	/* A burst that is not cut yet has one header for all its segments. */
	segments = skb->gso_segs ? skb->gso_segs : 1;
	amount = segments;
	if (p.unit == TG_CONEX_WIRE_BYTES) {
		amount = payload + (__s64)segments * header_bytes;
		full = tp->mss_cache + header_bytes;
	} else if (p.unit == TG_CONEX_PAYLOAD_BYTES) {
		amount = payload;
		full = tp->mss_cache;
	}
	read_counters(tp, flow, &p, full, now_ns);
	in_flight = tp->packets_out - tp->sacked_out - tp->lost_out + tp->retrans_out + segments;
	signals = tg_conex_declare(&flow->conex, &p, amount, payload, (__s64)in_flight * tp->mss_cache, now_ns);
	if (sk->family == TG_AF_INET)
		write_header(skb, ip, tg_conex_meaning(signals));
	else
		insert_option(skb, signals);
	return TG_PASS;
}
