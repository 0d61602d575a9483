// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * TCP congestion control "tg_tcprm": the window rule of tcprm.h in the kernel, at the sender only. Any receiver with
 * classic ECN (RFC 3168) is supported, so that net.ipv4.tcp_ecn determines whether ECN is used.
 *
 * The kernel itself detects round trips with ECE: it enters the state CWR at the first ECE, sends CWR to the receiver,
 * and leaves that state when all data then in flight are acknowledged. Until then the window is constant (5.6.3).
 */
#include "flow.bpf.h"
#include "tcprm.h"

SEC("struct_ops")
void BPF_PROG(tg_tcprm_init, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct tg_sbrm_flow *flow = flow_of(sk);

	if (!flow)
		return;
	flow->cwnd_q20 = tp->snd_cwnd * TG_SBRM_ONE_Q20;
	flow->delivered = tp->delivered;
	flow->cwnd_before_loss = 0;
	flow->ca_state = 0;
}

/* The kernel requests the threshold before it enters any state; the reaction is in tg_tcprm_set_state. */
SEC("struct_ops")
__u32 BPF_PROG(tg_tcprm_ssthresh, struct sock *sk)
{
	return threshold_of(sk);
}

SEC("struct_ops")
__u32 BPF_PROG(tg_tcprm_undo_cwnd, struct sock *sk)
{
	return window_before_loss(sk);
}

SEC("struct_ops")
void BPF_PROG(tg_tcprm_set_state, struct sock *sk, __u8 new_state)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct tg_sbrm_flow *flow = flow_of(sk);

	if (!flow)
		return;
	if (new_state == TG_CA_CWR && flow->ca_state != TG_CA_CWR) {
		flow->cwnd_q20 = tg_tcprm_after_mark(flow->cwnd_q20, flow->parameters);
		tp->snd_cwnd = flow->cwnd_q20 / TG_SBRM_ONE_Q20;
		/* A mark ends slow start, and a window below the threshold would start it again. */
		tp->snd_ssthresh = tp->snd_cwnd;
	} else if (new_state == TG_CA_RECOVERY && flow->ca_state != TG_CA_RECOVERY) {
		enter_recovery(tp, flow);
	}
	flow->ca_state = new_state;
}

SEC("struct_ops")
void BPF_PROG(tg_tcprm_cong_control, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct tg_sbrm_flow *flow = flow_of(sk);
	__u32 acked;

	if (!flow)
		return;
	acked = tp->delivered - flow->delivered;
	flow->delivered = tp->delivered;
	if (flow->ca_state == TG_CA_RECOVERY || flow->ca_state == TG_CA_CWR || !may_grow(tp))
		return;
	/* The kernel changes the window as well: after a time-out, when idle, and to undo both. */
	if (flow->cwnd_q20 / TG_SBRM_ONE_Q20 != tp->snd_cwnd)
		flow->cwnd_q20 = tp->snd_cwnd * TG_SBRM_ONE_Q20;
	if (tp->snd_cwnd < tp->snd_ssthresh)
		flow->cwnd_q20 = tg_sbrm_slow_start(flow->cwnd_q20, tp->snd_ssthresh, acked);
	else
		flow->cwnd_q20 = tg_sbrm_on_ack(flow->cwnd_q20, flow->parameters, tp->srtt_us / 8,
						acked, 0);
	if (flow->cwnd_q20 > tp->snd_cwnd_clamp * TG_SBRM_ONE_Q20)
		flow->cwnd_q20 = tp->snd_cwnd_clamp * TG_SBRM_ONE_Q20;
	tp->snd_cwnd = flow->cwnd_q20 / TG_SBRM_ONE_Q20;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops tg_tcprm = {
	.init = (void *)tg_tcprm_init,
	.ssthresh = (void *)tg_tcprm_ssthresh,
	.undo_cwnd = (void *)tg_tcprm_undo_cwnd,
	.set_state = (void *)tg_tcprm_set_state,
	.cong_control = (void *)tg_tcprm_cong_control,
	.name = "tg_tcprm",
	.flags = TCP_CONG_NON_RESTRICTED,
};
