// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * TCP congestion control "tg_vegascp": the window rule of vegascp.h in the kernel. As for tg_sbrm, each mark must be
 * reported, so that both ends must use it and net.ipv4.tcp_backlog_ack_defer must be 0 at the receiver. There is no
 * slow start: the window begins with the kernel's initial window and changes by one packet per round trip. The
 * round-trip time is TCP's smoothed one. The reaction to losses is that of Reno.
 */
#include "flow.bpf.h"

SEC("struct_ops")
void BPF_PROG(tg_vegascp_init, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct tg_sbrm_flow *flow = flow_of(sk);

	if (!flow)
		return;
	flow->marks.bits = 0;
	flow->marks.known = 0;
	init_flow(tp, flow);
	flow->round_end = tp->snd_nxt;
}

/*
 * Requested once per round trip with ECE as well, without effect: with cong_control() the kernel does not
 * change the window.
 */
SEC("struct_ops")
__u32 BPF_PROG(tg_vegascp_ssthresh, struct sock *sk)
{
	return threshold_of(sk);
}

SEC("struct_ops")
__u32 BPF_PROG(tg_vegascp_undo_cwnd, struct sock *sk)
{
	return window_before_loss(sk);
}

SEC("struct_ops")
void BPF_PROG(tg_vegascp_set_state, struct sock *sk, __u8 new_state)
{
	enter_state(sk, new_state);
}

SEC("struct_ops")
void BPF_PROG(tg_vegascp_cong_control, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct tg_sbrm_flow *flow = flow_of(sk);
	struct tg_acked acked;
	__u32 cwnd;

	if (!flow)
		return;
	acked = count_acked(tp, flow);
	flow->marks = tg_vegascp_count_marks(flow->marks, flow->price, acked.packets, acked.marked);
	if (flow->ca_state == TG_CA_RECOVERY || (__s32)(tp->snd_una - flow->round_end) < 0)
		return;
	flow->round_end = tp->snd_nxt;
	cwnd = tg_vegascp_after_round_trip(tp->snd_cwnd, flow->marks, flow->price,
					   flow->parameters.willingness_q20, tp->srtt_us / 8,
					   BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited));
	if (cwnd > tp->snd_cwnd_clamp)
		cwnd = tp->snd_cwnd_clamp;
	tp->snd_cwnd = cwnd;
}

/* Receiver: called for every packet before it is acknowledged. */
SEC("struct_ops")
void BPF_PROG(tg_vegascp_cwnd_event, struct sock *sk, __u32 event)
{
	echo_each_mark(sk, event);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops tg_vegascp = {
	.init = (void *)tg_vegascp_init,
	.ssthresh = (void *)tg_vegascp_ssthresh,
	.undo_cwnd = (void *)tg_vegascp_undo_cwnd,
	.set_state = (void *)tg_vegascp_set_state,
	.cong_control = (void *)tg_vegascp_cong_control,
	.cwnd_event = (void *)tg_vegascp_cwnd_event,
	.name = "tg_vegascp",
	.flags = TCP_CONG_NON_RESTRICTED | TCP_CONG_NEEDS_ECN,
};
