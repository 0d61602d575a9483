/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * TCP/RM, the window rule of a sender that works with unmodified receivers.
 * S. Zimmermann, dissertation, 2005: section 5.6.3.
 *
 *	ACK without ECE:			cwnd <- cwnd + kappa * RTT / cwnd * w		(5.6.1)
 *	first ACK with ECE in a round trip:	cwnd <- cwnd - kappa * cwnd			(5.6.2)
 *
 * The first rule, units and parameters are those of SBRM (sbrm.h): windows are Q44.20, and kappa is a fraction here.
 * Pure functions of integers, so that a test can drive them on a host.
 */
#ifndef TG_TCPRM_H
#define TG_TCPRM_H

#include "sbrm.h"

/*
 * Returns the window after the first ACK with ECE, (5.6.2). Computed separately for whole packets and the rest, so that
 * the products stay within 64 bits; the reduction is rounded down by less than 2^-20 packet.
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
