/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * TCP/RM, the window rule of a sender behind receivers as they are.
 * S. Zimmermann, dissertation, 2005: section 5.6.3.
 *
 *	ACK without ECE:			cwnd <- cwnd + kappa * RTT / cwnd * w		(5.6.1)
 *	first ACK with ECE in a round trip:	cwnd <- cwnd - kappa * cwnd			(5.6.2)
 *
 * The first rule is SBRM's (sbrm.h), and so are units and parameters: windows are Q44.20, kappa is a share here.
 * Pure functions of integers, so that a test can drive them on a host.
 */
#ifndef TG_TCPRM_H
#define TG_TCPRM_H

#include "sbrm.h"

/*
 * The window after the first ACK with ECE, (5.6.2). Whole packets and the rest apart, so that the products stay within
 * 64 bits; rounded down by less than 2^-20 packet.
 */
static inline __u64 tg_tcprm_after_mark(__u64 cwnd_q20, struct tg_sbrm_parameters p)
{
	__u64 whole = cwnd_q20 / TG_SBRM_ONE_Q20, rest_q20 = cwnd_q20 % TG_SBRM_ONE_Q20;
	__u64 cut_q20 = whole * p.kappa_q20 + rest_q20 * p.kappa_q20 / TG_SBRM_ONE_Q20;

	if (cwnd_q20 < cut_q20 + TG_SBRM_ONE_Q20)
		return TG_SBRM_ONE_Q20;
	return cwnd_q20 - cut_q20;
}

#endif /* TG_TCPRM_H */
