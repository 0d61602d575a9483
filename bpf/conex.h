/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * ConEx sender: what a TCP flow declares of the congestion it met, packet by packet.
 * Codepoints of table I of A. Sanhaji et al., 2015, in the ECN field and the RE bit of IPv4; gauges as in RFC 7786 and
 * in crates/simulator/src/tcp/sender/conex, to which a test compares them packet by packet.
 *
 *	a mark or loss was met:	gauge += its amount
 *	a packet leaves:	positive while a gauge is above 0, gauge -= its amount; else credit, else neutral
 *
 * Amounts are packets ("per-signal": a packet for each loss, then for each mark) or bytes on the wire ("re-ecn": one
 * gauge for both). Gauges are signed: an excess declaration offsets later congestion.
 *
 * Pure functions of integers: no kernel, no clock, so that a test can drive them on a host.
 */
#ifndef TG_CONEX_H
#define TG_CONEX_H

/* BPF takes five arguments of a function that is called. */
#define TG_CONEX_INLINE static inline __attribute__((always_inline))

#define TG_CONEX_ONE_Q20 (1LL << 20)

/* Unit of amounts. */
#define TG_CONEX_PACKETS 0
#define TG_CONEX_WIRE_BYTES 1

/* Meaning of a packet. */
#define TG_CONEX_NEUTRAL 0
#define TG_CONEX_POSITIVE 1
#define TG_CONEX_CREDIT 2

struct tg_conex_parameters {
	__u32 unit;
	__u32 losses;			/* losses are declared, as marks are */
	__u32 flight_per_credit;	/* bytes in flight per byte of credit; 0: no credit */
	__u32 share_q20;		/* share of the congestion that is declared; below one it is a lie */
	__u64 idle_ns;			/* pause after which credit starts over; 0: none */
};

struct tg_conex {
	__s64 loss, mark;		/* met and not declared yet */
	__s64 rest_loss_q20, rest_mark_q20;	/* less than one, of what a share leaves */
	__s64 credit;			/* payload bytes of credit given */
	__u64 last_ns;			/* when the last packet left */
};

/* Returns the whole part of a share of an amount, rounded down; the rest is kept. */
TG_CONEX_INLINE __s64 tg_conex_part(__s64 amount, __u32 share_q20, __s64 *rest_q20)
{
	__s64 sum_q20 = *rest_q20 + amount * share_q20;

	*rest_q20 = sum_q20 & (TG_CONEX_ONE_Q20 - 1);
	return sum_q20 >> 20;
}

/* Adds congestion that was met; negative amounts take back what was none. */
TG_CONEX_INLINE void tg_conex_meet(struct tg_conex *c, const struct tg_conex_parameters *p, __s64 loss,
				 __s64 mark)
{
	if (!p->losses)
		loss = 0;
	if (p->unit == TG_CONEX_WIRE_BYTES) {
		mark += loss;
		loss = 0;
	}
	c->loss += tg_conex_part(loss, p->share_q20, &c->rest_loss_q20);
	c->mark += tg_conex_part(mark, p->share_q20, &c->rest_mark_q20);
}

/*
 * Returns the meaning of a packet of this amount and payload that leaves now, with payload bytes in flight, this packet
 * included.
 */
TG_CONEX_INLINE int tg_conex_declare(struct tg_conex *c, const struct tg_conex_parameters *p, __s64 amount,
				   __s64 payload_bytes, __s64 in_flight_bytes, __u64 now_ns)
{
	__u64 pause_ns = now_ns - c->last_ns;

	c->last_ns = now_ns;
	if (p->idle_ns && pause_ns >= p->idle_ns)
		c->credit = 0;
	if (c->loss > 0) {
		c->loss -= amount;
		return TG_CONEX_POSITIVE;
	}
	if (c->mark > 0) {
		c->mark -= amount;
		return TG_CONEX_POSITIVE;
	}
	if (p->flight_per_credit && (__s64)p->flight_per_credit * c->credit < in_flight_bytes) {
		c->credit += payload_bytes;
		return TG_CONEX_CREDIT;
	}
	return TG_CONEX_NEUTRAL;
}

/* Returns the ECN field of a meaning: ECT(1), or Not-ECT for credit. */
static inline int tg_conex_ecn(int meaning)
{
	return meaning == TG_CONEX_CREDIT ? 0 : 1;
}

/* Returns the RE bit of a meaning. */
static inline int tg_conex_re(int meaning)
{
	return meaning != TG_CONEX_POSITIVE;
}

#endif /* TG_CONEX_H */
