/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * ConEx sender: what a TCP flow declares of the congestion it met, packet by packet.
 * Gauges as in RFC 7786 and in crates/simulator/src/tcp/sender/conex, to which a test compares them packet by packet.
 *
 *	a mark or loss was met:	gauge += its amount
 *	a packet leaves:	declares what is above 0, gauge -= its amount; and credit, while it does not cover the flight
 *
 * Amounts are packets ("per-signal": a packet for each loss, then for each mark), bytes on the wire ("re-ecn": one gauge
 * for both, and no credit on a packet that declares) or bytes of payload ("rfc7786"). Gauges are signed: an excess
 * declaration offsets later congestion.
 *
 * IPv6 has an option with a bit for each signal (RFC 7837); in IPv4 the ECN field and the RE bit have one codepoint for
 * losses and marks (table I of A. Sanhaji et al., 2015).
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
#define TG_CONEX_PAYLOAD_BYTES 2

/* Signals of a packet, at their places in the option of RFC 7837. */
#define TG_CONEX_X 0x80
#define TG_CONEX_L 0x40
#define TG_CONEX_E 0x20
#define TG_CONEX_C 0x10

/* Meaning of a packet in IPv4. */
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
	__u64 lossy_since_ns;		/* start of the last round trip with losses; 0: none */
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
	if (p->unit == TG_CONEX_PAYLOAD_BYTES && loss + mark > 0)
		c->credit = c->credit > loss + mark ? c->credit - loss - mark : 0;
	c->loss += tg_conex_part(loss, p->share_q20, &c->rest_loss_q20);
	c->mark += tg_conex_part(mark, p->share_q20, &c->rest_mark_q20);
}

/*
 * Notes a loss (RFC 7786, section 4.2): after losses in successive round trips an auditor may have lost its state, so
 * that credit starts over.
 */
TG_CONEX_INLINE void tg_conex_note_loss(struct tg_conex *c, const struct tg_conex_parameters *p, __u64 now_ns,
				      __u64 srtt_ns)
{
	__u64 since_ns = now_ns - c->lossy_since_ns;

	if (p->unit != TG_CONEX_PAYLOAD_BYTES || !srtt_ns)
		return;
	if (c->lossy_since_ns && since_ns < srtt_ns)
		return;
	if (c->lossy_since_ns && since_ns < 2 * srtt_ns)
		c->credit = 0;
	c->lossy_since_ns = now_ns;
}

/* Returns the losses and marks that a packet of this amount declares, and takes them from the gauges. */
TG_CONEX_INLINE int tg_conex_due(struct tg_conex *c, const struct tg_conex_parameters *p, __s64 amount)
{
	int signals = c->loss > 0 ? TG_CONEX_L : 0;

	if (c->mark > 0 && !(signals && p->unit == TG_CONEX_PACKETS))
		signals |= TG_CONEX_E;
	if (signals & TG_CONEX_L)
		c->loss -= amount;
	if (signals & TG_CONEX_E)
		c->mark -= amount;
	return signals;
}

/*
 * Returns the signals of a packet of this amount and payload that leaves now, with payload bytes in flight, this packet
 * included.
 */
TG_CONEX_INLINE int tg_conex_declare(struct tg_conex *c, const struct tg_conex_parameters *p, __s64 amount,
				   __s64 payload_bytes, __s64 in_flight_bytes, __u64 now_ns)
{
	__u64 pause_ns = now_ns - c->last_ns;

	int signals = tg_conex_due(c, p, amount);

	c->last_ns = now_ns;
	if (p->idle_ns && pause_ns >= p->idle_ns)
		c->credit = 0;
	if (signals && p->unit != TG_CONEX_PAYLOAD_BYTES)
		return signals;
	if (p->flight_per_credit && (__s64)p->flight_per_credit * c->credit < in_flight_bytes) {
		c->credit += payload_bytes;
		signals |= TG_CONEX_C;
	}
	return signals;
}

/* Returns the meaning of these signals in IPv4. */
static inline int tg_conex_meaning(int signals)
{
	if (signals & (TG_CONEX_L | TG_CONEX_E))
		return TG_CONEX_POSITIVE;
	return signals & TG_CONEX_C ? TG_CONEX_CREDIT : TG_CONEX_NEUTRAL;
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
