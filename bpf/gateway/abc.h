/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Activity-based congestion management in whole numbers.
 * M. Menth and N. Zeitler, "Activity-Based Congestion Management", sections 3.2 and 3.3.
 *
 * Twin of crates/mechanisms/src/fixed_point.rs, which has equations, formats and bounds, and gives the same
 * to the last bit. Pure functions of integers: no kernel, no state, so that a test can drive them on a host.
 */
#ifndef TG_ABC_H
#define TG_ABC_H

#include <linux/types.h>

#define TG_INLINE inline __attribute__((always_inline))

#define TG_FRACTION_BITS 24
#define TG_ONE_Q24 (1ULL << TG_FRACTION_BITS)
/* -log2 of a probability that counts as zero. */
#define TG_NEVER_Q24 (40ULL << TG_FRACTION_BITS)
#define TG_MAX_LEN ((1ULL << 18) - 1)
#define TG_MAX_SCALE_Q24 (30LL << TG_FRACTION_BITS)
#define TG_LEAST_Q24 (32ULL << TG_FRACTION_BITS)

struct tg_meter {
	__u64 ns_per_byte_q16;		/* 1/R_r */
	__u64 activity_per_ns_q50;	/* 1/I */
	__u64 burst_ns;			/* B/R_r */
	__u64 longest_ns;		/* 40 I */
};

struct tg_abc {
	__u64 gamma_q16;
	__u64 weight_q20;		/* 1 - w_A */
};

/* 2^-x, 0 <= x < 1. */
static TG_INLINE __u64 tg_exp2_minus_q31(__u64 x_q24)
{
	__u64 sum;

	sum = 114430934ULL - ((14693064ULL * x_q24) >> 24);
	sum = 514383481ULL - ((sum * x_q24) >> 24);
	sum = 1488387435ULL - ((sum * x_q24) >> 24);
	return (1ULL << 31) - ((sum * x_q24) >> 24);
}

/* a times a factor of at most 1; a below 2^62. */
static TG_INLINE __u64 tg_scaled(__u64 a, __u64 factor_q31)
{
	return (((a >> 32) * factor_q31) << 1) + (((a & 0xffffffffULL) * factor_q31) >> 31);
}

/* A of the word t0. */
static TG_INLINE __u64 tg_activity_q24(const struct tg_meter *meter, __u64 zero_ns,
					     __u64 now_ns)
{
	__u64 ahead_ns = zero_ns > now_ns ? zero_ns - now_ns : 0;

	if (ahead_ns > meter->longest_ns)
		ahead_ns = meter->longest_ns;
	return (ahead_ns * meter->activity_per_ns_q50) >> 26;
}

/* Meters a packet of this activity: the word after it. */
static TG_INLINE __u64 tg_metered(const struct tg_meter *meter, __u64 zero_ns, __u64 now_ns,
					__u64 len, __u64 activity_q24)
{
	__u64 latest_ns = now_ns + meter->longest_ns;
	__u64 earliest_ns = now_ns > meter->burst_ns ? now_ns - meter->burst_ns : 0;
	__u64 fraction_q31 = tg_exp2_minus_q31(activity_q24 & (TG_ONE_Q24 - 1));
	/* The mask shows the verifier that an activity is at most 40. */
	__u64 shift = (16 + (activity_q24 >> TG_FRACTION_BITS)) & 63;

	if (zero_ns < earliest_ns)
		zero_ns = earliest_ns;
	if (zero_ns > latest_ns)
		zero_ns = latest_ns;
	if (len > TG_MAX_LEN)
		len = TG_MAX_LEN;
	zero_ns += tg_scaled(len * meter->ns_per_byte_q16, fraction_q31) >> shift;
	return zero_ns > latest_ns ? latest_ns : zero_ns;
}

/* A_avg after a packet of this activity. */
static TG_INLINE __u64 tg_observed(const struct tg_abc *abc, __u64 average_q36,
					 __u64 activity_q24)
{
	__s64 difference = (__s64)(activity_q24 << 12) - (__s64)average_q36;

	return average_q36 + (__u64)((difference * (__s64)abc->weight_q20) >> 20);
}

/* -log2 p_A from -log2 p. */
static TG_INLINE __u64 tg_bent(const struct tg_abc *abc, __u64 minus_log2_p_q24,
				     __u64 activity_q24, __u64 average_q36)
{
	__s64 above = (__s64)(average_q36 >> 12) - (__s64)activity_q24;
	__s64 scale = (above * (__s64)abc->gamma_q16) >> 16;
	__s64 whole;
	__u64 bent;

	if (scale > TG_MAX_SCALE_Q24)
		scale = TG_MAX_SCALE_Q24;
	if (scale < -TG_MAX_SCALE_Q24)
		scale = -TG_MAX_SCALE_Q24;
	whole = (scale + (__s64)(TG_ONE_Q24 - 1)) >> TG_FRACTION_BITS;
	if (minus_log2_p_q24 > TG_NEVER_Q24)
		minus_log2_p_q24 = TG_NEVER_Q24;
	bent = tg_scaled(minus_log2_p_q24,
			 tg_exp2_minus_q31((__u64)((whole << TG_FRACTION_BITS) - scale) &
					   (TG_ONE_Q24 - 1)));
	bent = whole >= 0 ? bent << (whole & 63) : bent >> (-whole & 63);
	return bent > TG_NEVER_Q24 ? TG_NEVER_Q24 : bent;
}

/* A random number of 32 bits below this is a signal. */
static TG_INLINE __u64 tg_threshold(__u64 minus_log2_q24)
{
	if (minus_log2_q24 >= TG_LEAST_Q24)
		return 0;
	return (tg_exp2_minus_q31(minus_log2_q24 & (TG_ONE_Q24 - 1)) << 1) >>
	       (minus_log2_q24 >> TG_FRACTION_BITS);
}

/* -log2 of k sqrt(p). */
static TG_INLINE __u64 tg_coupled(__u64 minus_log2_q24, __u64 log2_k_q24)
{
	__u64 half = minus_log2_q24 >> 1;

	return half > log2_k_q24 ? half - log2_k_q24 : 0;
}

#endif
