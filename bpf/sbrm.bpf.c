// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * TCP congestion control "tg_sbrm": the window rule of sbrm.h in the kernel.
 * Slow start and the reaction to loss are those of TCP ("TCP's normal reaction to packet loss was
 * unchanged", Zimmermann 2005, section 5.4.2).
 *
 * The rule needs the number of marked packets. Classic ECN (RFC 3168) does not report it: a receiver
 * repeats ECE on every ACK until it sees CWR, about a round trip later, so that after one mark a
 * whole window appears to be marked, and the rule reduces the window by the kappa * cwnd of TCP/RM
 * (5.6.2). Section 5.6.2 notes this and does not count marks. Here the receiver reports marks exactly
 * instead, as that of DCTCP does (RFC 8257, section 3.2): ECE on an ACK reports whether the packets
 * *of this ACK* were marked, and when that changes, the delayed ACK is sent first. Therefore *both*
 * ends must use tg_sbrm, and net.ipv4.tcp_backlog_ack_defer must be 0 at the receiver, which otherwise
 * merges ACKs with and without ECE. With a receiver of another type the kernel does not negotiate ECN,
 * because the SYN is already ECN-capable here; then only losses signal congestion.
 *
 * The programs use only the socket of the arguments of cong_control, which has more since Linux 6.10.
 */
#include "flow.bpf.h"

SEC("struct_ops")
void BPF_PROG(tg_sbrm_init, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct tg_sbrm_flow *flow = flow_of(sk);

	if (!flow)
		return;
	flow->cwnd_q20 = tp->snd_cwnd * TG_SBRM_ONE_Q20;
	flow->allowed = tp->snd_cwnd;
	init_flow(tp, flow);
}

/*
 * The kernel requests the threshold before a time-out, before a recovery, and once per round trip
 * with ECE. In the last case it only ends slow start, because with cong_control() the kernel does
 * not change the window.
 */
SEC("struct_ops")
__u32 BPF_PROG(tg_sbrm_ssthresh, struct sock *sk)
{
	return threshold_of(sk);
}

SEC("struct_ops")
__u32 BPF_PROG(tg_sbrm_undo_cwnd, struct sock *sk)
{
	return window_before_loss(sk);
}

SEC("struct_ops")
void BPF_PROG(tg_sbrm_set_state, struct sock *sk, __u8 new_state)
{
	enter_state(sk, new_state);
}

/*
 * Whether the window limits the flow: with pacing, waiting data suffice, even if fewer packets are in flight
 * than allowed.
 */
static __always_inline bool is_limited(struct tcp_sock *tp, bool paced)
{
	return may_grow(tp) || (paced && tp->write_seq - tp->snd_nxt >= tp->mss_cache);
}

/* Sets the kernel's window and, after slow start, its pacing rate. */
static __always_inline void send_by(struct sock *sk, struct tcp_sock *tp, struct tg_sbrm_flow *flow, bool paced)
{
	__u64 rate = TG_UNPACED;

	flow->allowed = flow->cwnd_q20 / TG_SBRM_ONE_Q20;
	if (paced) {
		flow->allowed = tg_sbrm_allowed(flow->cwnd_q20);
		rate = tg_sbrm_pacing_rate(flow->cwnd_q20, tp->mss_cache, tp->srtt_us / 8);
		if (sk->sk_pacing_status == TG_PACING_NONE)
			sk->sk_pacing_status = TG_PACING_NEEDED;
	}
	if (flow->allowed > tp->snd_cwnd_clamp)
		flow->allowed = tp->snd_cwnd_clamp;
	if (rate > sk->sk_max_pacing_rate)
		rate = sk->sk_max_pacing_rate;
	sk->sk_pacing_rate = rate;
	tp->snd_cwnd = flow->allowed;
}

SEC("struct_ops")
void BPF_PROG(tg_sbrm_cong_control, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct tg_sbrm_flow *flow = flow_of(sk);
	struct tg_acked acked;
	__u32 unmarked, whole;
	bool slow_start;

	if (!flow)
		return;
	acked = count_acked(tp, flow);
	if (flow->ca_state == TG_CA_RECOVERY)
		return;
	/* The kernel changes the window as well: after a time-out, when idle, and to undo both. */
	if (flow->allowed != tp->snd_cwnd)
		flow->cwnd_q20 = tp->snd_cwnd * TG_SBRM_ONE_Q20;
	slow_start = flow->cwnd_q20 / TG_SBRM_ONE_Q20 < tp->snd_ssthresh;
	unmarked = is_limited(tp, !slow_start) ? acked.packets - acked.marked : 0;
	if (acked.marked == 0 && slow_start)
		flow->cwnd_q20 = tg_sbrm_slow_start(flow->cwnd_q20, tp->snd_ssthresh, unmarked);
	else
		flow->cwnd_q20 = tg_sbrm_on_ack(flow->cwnd_q20, flow->parameters, tp->srtt_us / 8,
						unmarked, acked.marked);
	if (flow->cwnd_q20 > tp->snd_cwnd_clamp * TG_SBRM_ONE_Q20)
		flow->cwnd_q20 = tp->snd_cwnd_clamp * TG_SBRM_ONE_Q20;
	whole = flow->cwnd_q20 / TG_SBRM_ONE_Q20;
	/* A mark is no reason to fall below the threshold and start slowly (that is, fast) again. */
	if (acked.marked && whole < tp->snd_ssthresh)
		tp->snd_ssthresh = whole;
	send_by(sk, tp, flow, whole >= tp->snd_ssthresh);
}

/* Sends paced packets one at a time. */
SEC("struct_ops")
__u32 BPF_PROG(tg_sbrm_min_tso_segs, struct sock *sk)
{
	return 1;
}

/* Receiver: called for every packet before it is acknowledged. */
SEC("struct_ops")
void BPF_PROG(tg_sbrm_cwnd_event, struct sock *sk, __u32 event)
{
	echo_each_mark(sk, event);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops tg_sbrm = {
	.init = (void *)tg_sbrm_init,
	.min_tso_segs = (void *)tg_sbrm_min_tso_segs,
	.ssthresh = (void *)tg_sbrm_ssthresh,
	.undo_cwnd = (void *)tg_sbrm_undo_cwnd,
	.set_state = (void *)tg_sbrm_set_state,
	.cong_control = (void *)tg_sbrm_cong_control,
	.cwnd_event = (void *)tg_sbrm_cwnd_event,
	.name = "tg_sbrm",
	.flags = TCP_CONG_NON_RESTRICTED | TCP_CONG_NEEDS_ECN,
};
