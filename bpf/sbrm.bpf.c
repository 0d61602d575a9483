// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * TCP congestion control "tg_sbrm": the window rule of sbrm.h inside the kernel.
 * Slow start and the reaction to loss are TCP's ("TCP's normal reaction to packet loss was
 * unchanged", Zimmermann 2005, section 5.4.2).
 *
 * The rule needs the number of marked packets. Classic ECN (RFC 3168) cannot tell it: a receiver
 * repeats ECE on every ACK until it sees CWR, about a round trip later, so one mark makes a whole
 * window look marked, and the rule answers with the kappa * cwnd of TCP/RM (5.6.2). Section 5.6.2
 * says so and gives up counting. Here the receiver counts exactly instead, as DCTCP's does (RFC
 * 8257, section 3.2): ECE on an ACK says whether the packets *of this ACK* were marked, and when
 * that changes, what was delayed is acknowledged first. Therefore *both* ends must use tg_sbrm, and
 * net.ipv4.tcp_backlog_ack_defer must be 0 at the receiver, which otherwise merges ACKs of both
 * kinds. With a receiver of another kind the kernel does not even agree on ECN, because the SYN is
 * already ECN-capable here; then only losses tell of congestion.
 *
 * The programs use the socket alone of the arguments of cong_control, which got more in Linux 6.10.
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
 * The kernel asks before every episode of its own: a time-out, a recovery, and once per round trip
 * with ECE. The last must not change anything but end slow start, and does not, because with
 * cong_control() the kernel leaves the window alone.
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

/* A paced window is used up where written data wait, though fewer packets than it allows may be out. */
static __always_inline bool is_limited(struct tcp_sock *tp, bool paced)
{
	return may_grow(tp) || (paced && tp->write_seq - tp->snd_nxt >= tp->mss_cache);
}

/* What the kernel is to send by: the window, and after slow start its rate. */
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
	/* The kernel moves the window as well: after a time-out, when idle, and to undo both. */
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

/* Packets one by one, where they are paced at all. */
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
