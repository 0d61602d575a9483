/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Per-socket state of the congestion controls, and the socket options that set and read a flow's parameters.
 */
#ifndef TG_FLOW_H
#define TG_FLOW_H

#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "vegascp.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* A level of setsockopt() that no protocol uses, and the option on it that all congestion controls have. */
#define TG_SBRM_LEVEL 0xCE
#define TG_SBRM_PARAMETERS 1
/* The second option on this level, for tg_vegascp only. */
#define TG_VEGASCP_PARAMETERS 2

struct tg_sbrm_flow {
	struct tg_sbrm_parameters parameters;
	struct tg_vegascp_parameters price;
	struct tg_vegascp_marks marks;
	__u64 cwnd_q20;
	__u32 delivered;		/* tcp_sock's counters at the last ACK */
	__u32 delivered_ce;
	__u32 allowed;			/* packets: the kernel's window, as last set here */
	__u32 cwnd_before_loss;
	__u32 round_end;		/* sequence number that ends the round trip */
	__u32 acked_up_to;		/* receiver: rcv_nxt before the current packet */
	__u8 ca_state;
	__u8 ce;			/* receiver: the last packet was marked */
};

/* Cloned, so that connections inherit the options of the listening socket that accepts them. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
	__type(key, int);
	__type(value, struct tg_sbrm_flow);
} tg_sbrm_flows SEC(".maps");

static __always_inline struct tg_sbrm_flow *flow_of(void *sk)
{
	struct tg_sbrm_flow fresh = {
		.parameters = { TG_SBRM_KAPPA_Q20, TG_SBRM_WILLINGNESS_Q20 },
		.price = { TG_VEGASCP_LN_BASE_Q24, TG_VEGASCP_HISTORY },
	};

	return bpf_sk_storage_get(&tg_sbrm_flows, sk, &fresh, BPF_SK_STORAGE_GET_F_CREATE);
}

/* Whether the window may grow: an unused window does not validate the path (the aim of RFC 7661). */
static __always_inline bool may_grow(struct tcp_sock *tp)
{
	if (tp->snd_cwnd < tp->snd_ssthresh)
		return tp->snd_cwnd < 2 * tp->max_packets_out;
	return BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited);
}

/* Returns the window after a loss, which the kernel requests before it enters any state. */
static __always_inline __u32 threshold_of(struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct tg_sbrm_flow *flow = flow_of(sk);

	if (flow)
		flow->cwnd_before_loss = tp->snd_cwnd;
	return tg_sbrm_after_loss(tp->snd_cwnd);
}

/* Returns the window before a loss that turned out to be spurious. */
static __always_inline __u32 window_before_loss(struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct tg_sbrm_flow *flow = flow_of(sk);

	if (flow && flow->cwnd_before_loss > tp->snd_cwnd)
		return flow->cwnd_before_loss;
	return tp->snd_cwnd;
}

/*
 * Reduces the window on entry to recovery. After a time-out the kernel has already set the window; in recovery it may
 * have requested the threshold earlier, at a mark, and does not request it again.
 */
static __always_inline void enter_recovery(struct tcp_sock *tp, struct tg_sbrm_flow *flow)
{
	flow->cwnd_before_loss = tp->snd_cwnd;
	tp->snd_ssthresh = tg_sbrm_after_loss(tp->snd_cwnd);
	tp->snd_cwnd = tp->snd_ssthresh;
	flow->cwnd_q20 = tp->snd_cwnd * TG_SBRM_ONE_Q20;
}

/* Initializes the counters and states of a new connection. */
static __always_inline void init_flow(struct tcp_sock *tp, struct tg_sbrm_flow *flow)
{
	flow->delivered = tp->delivered;
	flow->delivered_ce = tp->delivered_ce;
	flow->cwnd_before_loss = 0;
	flow->acked_up_to = tp->rcv_nxt;
	flow->ca_state = 0;
	flow->ce = 0;
}

/* Follows the kernel's state; a loss reported by duplicate ACKs or SACK reduces the window. */
static __always_inline void enter_state(struct sock *sk, __u8 new_state)
{
	struct tg_sbrm_flow *flow = flow_of(sk);

	if (!flow)
		return;
	if (new_state == TG_CA_RECOVERY && flow->ca_state != TG_CA_RECOVERY)
		enter_recovery((struct tcp_sock *)sk, flow);
	flow->ca_state = new_state;
}

/* Number of packets newly acknowledged by an ACK, and of the marked ones among them. */
struct tg_acked {
	__u32 packets, marked;
};

static __always_inline struct tg_acked count_acked(struct tcp_sock *tp, struct tg_sbrm_flow *flow)
{
	struct tg_acked acked = {
		.packets = tp->delivered - flow->delivered,
		.marked = tp->delivered_ce - flow->delivered_ce,
	};

	flow->delivered = tp->delivered;
	flow->delivered_ce = tp->delivered_ce;
	if (acked.marked > acked.packets)
		acked.marked = acked.packets;
	return acked;
}

static __always_inline void echo(struct tcp_sock *tp, bool ce)
{
	if (ce)
		tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
	else
		tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
}

/*
 * Receiver that echoes each mark exactly (RFC 8257, section 3.2). Called for every packet before it is acknowledged; if
 * only one of this packet and the previous one is marked, sends the delayed acknowledgement first.
 */
static __always_inline void echo_each_mark(struct sock *sk, __u32 event)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	bool ce = event == TG_CA_EVENT_ECN_IS_CE;
	struct tg_sbrm_flow *flow;

	if (!ce && event != TG_CA_EVENT_ECN_NO_CE)
		return;
	flow = flow_of(sk);
	if (!flow)
		return;
	if (flow->ce != ce) {
		if (tp->inet_conn.icsk_ack.pending & ICSK_ACK_TIMER) {
			echo(tp, flow->ce);
			bpf_tcp_send_ack(tp, flow->acked_up_to);
		}
		tp->inet_conn.icsk_ack.pending |= ICSK_ACK_NOW;
	}
	flow->acked_up_to = tp->rcv_nxt;
	flow->ce = ce;
	echo(tp, ce);
}

/*
 * setsockopt(fd, 0xCE, 1, &(struct tg_sbrm_parameters){ ... }, 8) sets a flow's parameters, before or after connect(),
 * and option 2 a struct tg_vegascp_parameters. All other options pass: length 0 makes the kernel use the caller's
 * buffer, whatever its length.
 */
SEC("cgroup/setsockopt")
int tg_sbrm_setsockopt(struct bpf_sockopt *ctx)
{
	struct tg_vegascp_parameters *price = ctx->optval;
	struct tg_sbrm_parameters *given = ctx->optval;
	struct tg_sbrm_flow *flow;

	if (ctx->level != TG_SBRM_LEVEL || !ctx->sk || ctx->sk->protocol != IPPROTO_TCP) {
		ctx->optlen = 0;
		return 1;
	}
	/*
	 * Rejections are EPERM: the only error that a program of this type can return on all kernels. Both
	 * options have 8 bytes.
	 */
	if (ctx->optlen != sizeof(*given) || (void *)(given + 1) > ctx->optval_end)
		return 0;
	flow = flow_of(ctx->sk);
	if (!flow)
		return 0;
	if (ctx->optname == TG_SBRM_PARAMETERS && tg_sbrm_valid(*given))
		flow->parameters = *given;
	else if (ctx->optname == TG_VEGASCP_PARAMETERS && tg_vegascp_valid(*price))
		flow->price = *price;
	else
		return 0;
	ctx->optlen = -1;	/* handled; the kernel does not see it */
	return 1;
}

/*
 * getsockopt(fd, 0xCE, 1, ...) returns the parameters of a flow, whatever its congestion control. The kernel has
 * already rejected the unknown option; that error is cleared.
 */
SEC("cgroup/getsockopt")
int tg_sbrm_getsockopt(struct bpf_sockopt *ctx)
{
	struct tg_sbrm_parameters *parameters = ctx->optval;
	struct tg_sbrm_flow *flow;

	if (ctx->level != TG_SBRM_LEVEL || !ctx->sk || ctx->sk->protocol != IPPROTO_TCP) {
		ctx->optlen = 0;	/* the kernel's answer is unchanged */
		return 1;
	}
	if (ctx->optname != TG_SBRM_PARAMETERS || (void *)(parameters + 1) > ctx->optval_end)
		return 0;
	flow = bpf_sk_storage_get(&tg_sbrm_flows, ctx->sk, 0, 0);
	if (!flow)
		return 0;
	*parameters = flow->parameters;
	ctx->optlen = sizeof(*parameters);
	barrier();	/* both at once would be a write that the verifier does not know */
	ctx->retval = 0;
	return 1;
}

#endif /* TG_FLOW_H */
