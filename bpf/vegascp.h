/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Vegas/CP, the source algorithm of REM: the window rule of a sender that estimates the price of its path from marks.
 * S. Athuraliya, S. Low, "Optimization flow control, II: implementation", 2000; equation numbers from
 * S. Zimmermann, dissertation, 2005, section 5.2.1.
 *
 *	p = -log_phi(1 - m)			m the fraction of marks in the last packets	(5.2.2)
 *	once per round trip:	p x < w		cwnd <- cwnd + 1				(5.2.7)
 *				p x > w		cwnd <- cwnd - 1		x = cwnd/RTT
 *
 * Written as -ln(1 - m) cwnd < w ln(phi) RTT, p x < w needs one logarithm of a quotient of small integers: the number
 * of packets in the history and the number of unmarked ones among them. So a table of ln(1) to ln(64) suffices.
 *
 * Pure functions of integers, so that a test can drive them on a host. w is Q12.20 as in sbrm.h, logarithms are Q8.24.
 */
#ifndef TG_VEGASCP_H
#define TG_VEGASCP_H

#include "sbrm.h"

/* Maximum number of packets in the history: one per bit of a word. */
#define TG_VEGASCP_MOST 64

/* Base 1.06 and 50 packets, as in the dissertation. */
#define TG_VEGASCP_LN_BASE_Q24 977590U
#define TG_VEGASCP_HISTORY 50

#define TG_LN2_Q24 11629080U

struct tg_vegascp_parameters {
	__u32 ln_base_q24;	/* ln(phi); above 0, below 16 */
	__u32 history;		/* packets, 1 to 64 */
};

/* Marks of the last packets, the newest in the lowest bit, and the number of packets. */
struct tg_vegascp_marks {
	__u64 bits;
	__u32 known;
};

static inline int tg_vegascp_valid(struct tg_vegascp_parameters p)
{
	return p.ln_base_q24 > 0 && p.ln_base_q24 < 1U << 28 && p.history > 0 && p.history <= TG_VEGASCP_MOST;
}

/* Adds the packets of an ACK to the history; the marked ones count as the last of them. */
static inline struct tg_vegascp_marks tg_vegascp_count_marks(struct tg_vegascp_marks m,
						      struct tg_vegascp_parameters p,
						      __u32 delivered, __u32 marked)
{
	if (delivered >= TG_VEGASCP_MOST)
		m.bits = 0;
	else
		m.bits <<= delivered;
	m.bits |= marked >= TG_VEGASCP_MOST ? ~0ULL : (1ULL << marked) - 1;
	m.known = delivered >= p.history - m.known ? p.history : m.known + delivered;
	return m;
}

static inline __u32 tg_vegascp_marked(struct tg_vegascp_marks m)
{
	__u64 x = m.known >= TG_VEGASCP_MOST ? m.bits : m.bits & ((1ULL << m.known) - 1);

	/* Population count by pairs, fours, eights, and their sum: BPF has no instruction for it. */
	x -= x >> 1 & 0x5555555555555555ULL;
	x = (x & 0x3333333333333333ULL) + (x >> 2 & 0x3333333333333333ULL);
	x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
	return x * 0x0101010101010101ULL >> 56;
}

/* Returns ln(n), rounded, for n from 1 to 64. */
static inline __u32 tg_ln_q24(__u32 n)
{
	static const __u32 table[TG_VEGASCP_MOST] = {
		0, 11629080, 18431656, 23258160, 27001887, 30060736, 32646955, 34887240,
		36863311, 38630967, 40230007, 41689816, 43032709, 44276035, 45433543, 46516320,
		47533432, 48492391, 49399489, 50260047, 51078611, 51859087, 52604864, 53318896,
		54003775, 54661789, 55294967, 55905115, 56493849, 57062623, 57612745, 58145400,
		58661663, 59162512, 59648842, 60121471, 60581150, 61028569, 61464365, 61889127,
		62303401, 62707691, 63102467, 63488167, 63865199, 64233944, 64594758, 64947976,
		65293910, 65632855, 65965088, 66290869, 66610445, 66924047, 67231894, 67534195,
		67831144, 68122929, 68409726, 68691703, 68969019, 69241825, 69510266, 69774480,
	};

	return table[(n - 1) & (TG_VEGASCP_MOST - 1)];
}

/*
 * Returns p ln(phi) = -ln(1 - m). If all packets are marked, half a packet counts as unmarked, since the price would be
 * infinite. Returns 0 for an empty history.
 */
static inline __u32 tg_vegascp_price_q24(struct tg_vegascp_marks m)
{
	__u32 unmarked = m.known - tg_vegascp_marked(m);

	if (m.known == 0)
		return 0;
	if (unmarked == 0)
		return tg_ln_q24(m.known) + TG_LN2_Q24;
	return tg_ln_q24(m.known) - tg_ln_q24(unmarked);
}

/*
 * Returns the window after a round trip, (5.2.7). The price is below 2^27 and the window below 2^30 packets; w RTT is
 * below 2^36 in Q20, and ln(phi) below 2^28, which allows bases up to 8.8 million.
 */
static inline __u32 tg_vegascp_after_round_trip(__u32 cwnd, struct tg_vegascp_marks m,
						struct tg_vegascp_parameters p, __u32 willingness_q20,
						__u64 rtt_us, int may_grow)
{
	__u64 charged_q24 = (__u64)tg_vegascp_price_q24(m) * cwnd, offered_q24;

	if (m.known == 0)
		return cwnd;
	if (rtt_us > TG_SBRM_MAX_RTT_US)
		rtt_us = TG_SBRM_MAX_RTT_US;
	offered_q24 = ((__u64)willingness_q20 * rtt_us / TG_SBRM_US_PER_S * p.ln_base_q24) >> 20;
	if (charged_q24 < offered_q24)
		return may_grow ? cwnd + 1 : cwnd;
	if (charged_q24 > offered_q24 && cwnd > 1)
		return cwnd - 1;
	return cwnd;
}

#endif /* TG_VEGASCP_H */
