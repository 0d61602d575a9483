/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Single bit resource marking (SBRM), the window rule of a sender.
 * S. Zimmermann, dissertation, 2005: section 5.4.2, which adopts (5.1.2) and (5.1.3).
 *
 *	unmarked packet acknowledged:	cwnd <- cwnd + kappa * RTT / cwnd * w		(5.1.2)
 *	marked packet acknowledged:	cwnd <- cwnd - kappa				(5.1.3)
 *
 * w [packets/s] is the flow's willingness to pay, kappa [packets] its gain. In equilibrium a flow
 * of x packets/s on a path that marks with probability p has (1 - p) w = p x: rates are proportional to w.
 *
 * Pure functions of integers: no kernel, no state, so that a test can drive them on a host. Windows
 * are Q44.20, parameters Q12.20: units of 2^-20 packet (or packet/s), because the kernel has no
 * floating point and whole packets are too coarse for steps of kappa.
 *
 * The paper leaves open:
 * - An ACK may cover several packets (delayed ACKs, aggregation). The rule is applied once for each of
 *   them, to the unmarked ones first and always with the window before the ACK.
 * - Slow start is that of TCP and ends with the first mark.
 * - A window has a fraction, and TCP sends whole packets: with 1.6 packets it would send one, and a window could not be
 *   below one. So after slow start packets are paced at cwnd/RTT, with one more in flight than the whole packets of the
 *   window; the average number in flight then equals the window. The minimum window is an eighth of a packet.
 */
#ifndef TG_SBRM_H
#define TG_SBRM_H

#define TG_SBRM_ONE_Q20 (1ULL << 20)
#define TG_SBRM_US_PER_S 1000000ULL
/*
 * Maximum round-trip time, 2^24 us (17 s), to which longer ones are limited so that all products stay within 64
 * bits.
 */
#define TG_SBRM_MAX_RTT_US (1ULL << 24)
/* Maximum number of packets of one ACK: the largest scaled window in segments of 64 bytes. */
#define TG_SBRM_MAX_ACKED (1U << 24)
/* Minimum window: a packet every eight round trips. */
#define TG_SBRM_LEAST_Q20 (TG_SBRM_ONE_Q20 / 8)
/* The largest scaled window (RFC 7323), bytes. */
#define TG_SBRM_MAX_BYTES (1ULL << 30)

/* Zimmermann 2005, table 6.6.1. */
#define TG_SBRM_KAPPA_Q20 209715U		/* 0.2 packet */
#define TG_SBRM_WILLINGNESS_Q20 (20U << 20)	/* 20 packets/s */

struct tg_sbrm_parameters {
	__u32 kappa_q20;	/* packet; more than 0, at most 1 */
	__u32 willingness_q20;	/* packet/s */
};

static inline int tg_sbrm_valid(struct tg_sbrm_parameters p)
{
	return p.kappa_q20 > 0 && p.kappa_q20 <= TG_SBRM_ONE_Q20 && p.willingness_q20 > 0;
}

/*
 * Returns the window increase for one unmarked packet, (5.1.2). RTT * w < 2^36 and kappa <= 2^20 bound the product by
 * 2^56; the two divisions round down by less than kappa/cwnd + 1 units of 2^-20 packet. With the minimum window and the
 * maximum number of packets of an ACK the increase is at most 2^63.
 */
static inline __u64 tg_sbrm_step_q20(__u64 cwnd_q20, struct tg_sbrm_parameters p, __u64 rtt_us)
{
	__u64 offered_q20;	/* RTT * w, packets */

	if (rtt_us > TG_SBRM_MAX_RTT_US)
		rtt_us = TG_SBRM_MAX_RTT_US;
	offered_q20 = p.willingness_q20 * rtt_us / TG_SBRM_US_PER_S;
	return p.kappa_q20 * offered_q20 / cwnd_q20;
}

/* Returns the window after an ACK of these numbers of unmarked and marked packets, (5.1.2) and (5.1.3). */
static inline __u64 tg_sbrm_on_ack(__u64 cwnd_q20, struct tg_sbrm_parameters p, __u64 rtt_us,
				   __u32 unmarked, __u32 marked)
{
	__u64 down_q20;

	if (unmarked > TG_SBRM_MAX_ACKED)
		unmarked = TG_SBRM_MAX_ACKED;
	down_q20 = (__u64)marked * p.kappa_q20;
	cwnd_q20 += unmarked * tg_sbrm_step_q20(cwnd_q20, p, rtt_us);
	if (cwnd_q20 < down_q20 + TG_SBRM_LEAST_Q20)
		return TG_SBRM_LEAST_Q20;
	return cwnd_q20 - down_q20;
}

/* Returns the number of packets allowed in flight with pacing: one more than the whole packets of the window. */
static inline __u32 tg_sbrm_allowed(__u64 cwnd_q20)
{
	return cwnd_q20 / TG_SBRM_ONE_Q20 + 1;
}

/*
 * Returns the pacing rate cwnd/RTT, bytes per second. A window of at most 2^30 bytes, with ten bits of its fraction,
 * and 10^6 bound the product by 2^60; the result is rounded down by less than 2^-10 byte per RTT and 1 byte/s. Never 0,
 * which the kernel would take for no pacing.
 */
static inline __u64 tg_sbrm_pacing_rate(__u64 cwnd_q20, __u32 packet_bytes, __u32 rtt_us)
{
	__u64 most_q20 = TG_SBRM_MAX_BYTES * TG_SBRM_ONE_Q20 / (packet_bytes ? packet_bytes : 1);
	__u64 bytes_q10, rate;

	if (cwnd_q20 > most_q20)
		cwnd_q20 = most_q20;
	bytes_q10 = cwnd_q20 * packet_bytes >> 10;
	rate = (bytes_q10 * TG_SBRM_US_PER_S / (rtt_us ? rtt_us : 1)) >> 10;
	return rate ? rate : 1;
}

/* Slow start of TCP: one packet more for each one acknowledged, up to the threshold (RFC 5681). */
static inline __u64 tg_sbrm_slow_start(__u64 cwnd_q20, __u32 ssthresh_packets, __u32 acked)
{
	__u64 grown_q20 = cwnd_q20 + acked * TG_SBRM_ONE_Q20;
	__u64 limit_q20 = ssthresh_packets * TG_SBRM_ONE_Q20;

	return grown_q20 < limit_q20 ? grown_q20 : limit_q20;
}

/* Reaction of TCP to a loss: half the window, at least two packets (RFC 5681, equation 4). */
static inline __u32 tg_sbrm_after_loss(__u32 cwnd_packets)
{
	return cwnd_packets > 4 ? cwnd_packets / 2 : 2;
}

#endif /* TG_SBRM_H */
