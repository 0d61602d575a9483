/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Whose packet: from the frame to the two IP addresses.
 *
 *	Ethernet [VLAN tag] [VLAN tag] [PPPoE session] IPv4 | IPv6
 *
 * Nothing beyond the IP header's addresses is read, so that fragments, options and extension headers of any kind
 * and number make no difference. A tag that the device has taken out of the frame is not in its bytes.
 */
#ifndef TG_GATEWAY_PACKET_H
#define TG_GATEWAY_PACKET_H

#include "kernel.h"

/* In this order in crates/gateway/src/maps.rs. */
enum tg_reason {
	TG_PASSED,		/* judged, and passed */
	TG_DROPPED,
	TG_MARKED,
	TG_WOULD_DROP,		/* while only observing */
	TG_WOULD_MARK,
	TG_CLEAR,		/* no congestion */
	TG_NO_SIGNAL,		/* no probability, or an old one */
	TG_EXEMPT,
	TG_NO_CUSTOMER,		/* an address that is no customer's */
	TG_LOCAL,		/* multicast, link-local: does not leave the network */
	TG_NOT_IP,
	TG_NOT_UNDERSTOOD,
	TG_NOT_READY,		/* no settings, or no room for the customer */
	TG_LIMITED,		/* beyond the customer's ceiling */
	TG_WOULD_LIMIT,
	TG_REASONS,
};

enum tg_direction {
	TG_UPLOAD,
	TG_DOWNLOAD,
	TG_DIRECTIONS,
};

#define TG_ADDRESS_BYTES 16
#define TG_IPV4_BYTES 20
#define TG_IPV6_BYTES 40
#define TG_VLAN_BYTES 4
#define TG_PPPOE_BYTES 8	/* with the protocol of PPP */
#define TG_ETH_P_QINQ 0x9100	/* before 802.1ad had a number */
#define TG_PPP_IPV4 0x0021
#define TG_PPP_IPV6 0x0057
/* TCP with time stamps, which each segment of a super-packet repeats. */
#define TG_TCP_BYTES 32

/* IPv4 as ::ffff:a.b.c.d. In memory as in a packet. */
struct tg_address {
	union {
		__u8 bytes[TG_ADDRESS_BYTES];
		__u32 words[4];
		__u64 halves[2];
	};
};

struct tg_packet {
	struct tg_address from;
	struct tg_address to;
	__u32 offset;		/* of the IP header */
	__u32 header_bytes;	/* all before the payload of a segment */
	__u8 version;
	__u8 ecn;
	__u8 start[2];		/* first bytes of the IP header */
};

static TG_INLINE int tg_is_tag(__u16 type)
{
	return type == ETH_P_8021Q || type == ETH_P_8021AD || type == TG_ETH_P_QINQ;
}

/* This host, this network, loopback, link-local, multicast, reserved and broadcast. */
static TG_INLINE int tg_ipv4_is_local(__u32 address)
{
	__u32 first = address >> 24;

	return first == 0 || first == 127 || first >= 224 || address >> 16 == 0xa9fe;
}

/* Unspecified and loopback (in ::/64), link-local, multicast. */
static TG_INLINE int tg_ipv6_is_local(const struct tg_address *address)
{
	__u32 first = tg_be32(address->words[0]);

	return address->halves[0] == 0 || first >> 24 == 0xff || first >> 22 == 0xfe80 >> 6;
}

static TG_INLINE void tg_map_ipv4(struct tg_address *address, __u32 word)
{
	address->halves[0] = 0;
	address->words[2] = tg_be32(0xffff);
	address->words[3] = word;
}

/* Reads a header of TG_IPV4_BYTES, in the packet or in a copy. */
static TG_INLINE __u64 tg_read_ipv4(const __u8 *header, __u32 skb_bytes, struct tg_packet *packet)
{
	__u32 header_bytes = (header[0] & 0xfU) * 4, total_bytes = tg_be16(header + 2);
	__u32 from = *(const __u32 *)(header + 12), to = *(const __u32 *)(header + 16);

	/* A super-packet of more than 64 KiB has a length of 0. */
	if (header[0] >> 4 != 4 || header_bytes < TG_IPV4_BYTES ||
	    (total_bytes != 0 && total_bytes < header_bytes) ||
	    packet->offset + header_bytes > skb_bytes)
		return TG_NOT_UNDERSTOOD;
	tg_map_ipv4(&packet->from, from);
	tg_map_ipv4(&packet->to, to);
	packet->version = 4;
	packet->ecn = header[1] & 3;
	packet->start[0] = header[0];
	packet->start[1] = header[1];
	packet->header_bytes = packet->offset + header_bytes + TG_TCP_BYTES;
	if (tg_ipv4_is_local(tg_be32(from)) || tg_ipv4_is_local(tg_be32(to)))
		return TG_LOCAL;
	return TG_PASSED;
}

/* The same for TG_IPV6_BYTES. */
static TG_INLINE __u64 tg_read_ipv6(const __u8 *header, struct tg_packet *packet)
{
	const __u32 *words = (const __u32 *)(header + 8);
	int i;

	if (header[0] >> 4 != 6)
		return TG_NOT_UNDERSTOOD;
	for (i = 0; i < 4; i++) {
		packet->from.words[i] = words[i];
		packet->to.words[i] = words[4 + i];
	}
	packet->version = 6;
	packet->ecn = header[1] >> 4 & 3;
	packet->start[0] = header[0];
	packet->start[1] = header[1];
	packet->header_bytes = packet->offset + TG_IPV6_BYTES + TG_TCP_BYTES;
	if (tg_ipv6_is_local(&packet->from) || tg_ipv6_is_local(&packet->to))
		return TG_LOCAL;
	return TG_PASSED;
}

/* Reads what stands at packet->offset, and is of this type. */
static TG_INLINE __u64 tg_read_ip(struct __sk_buff *skb, __u16 type, struct tg_packet *packet)
{
	__u32 header[TG_IPV6_BYTES / 4];

	if (type == ETH_P_IP) {
		if (bpf_skb_load_bytes(skb, packet->offset, header, TG_IPV4_BYTES))
			return TG_NOT_UNDERSTOOD;
		return tg_read_ipv4((const __u8 *)header, skb->len, packet);
	}
	if (type == ETH_P_IPV6) {
		if (bpf_skb_load_bytes(skb, packet->offset, header, TG_IPV6_BYTES))
			return TG_NOT_UNDERSTOOD;
		return tg_read_ipv6((const __u8 *)header, packet);
	}
	return TG_NOT_IP;
}

/* Reads past tags and the header of a session. */
static TG_INLINE __u64 tg_read_encapsulated(struct __sk_buff *skb, __u16 type,
					    struct tg_packet *packet)
{
	__u8 tag[TG_VLAN_BYTES], session[TG_PPPOE_BYTES];
	int i;

#pragma clang loop unroll(full)
	for (i = 0; i < 2; i++) {
		if (!tg_is_tag(type))
			break;
		if (bpf_skb_load_bytes(skb, packet->offset, tag, sizeof(tag)))
			return TG_NOT_UNDERSTOOD;
		type = tg_be16(tag + 2);
		packet->offset += TG_VLAN_BYTES;
	}
	if (tg_is_tag(type))
		return TG_NOT_UNDERSTOOD;
	if (type == ETH_P_PPP_SES) {
		if (bpf_skb_load_bytes(skb, packet->offset, session, sizeof(session)) ||
		    session[0] != 0x11 || session[1] != 0)
			return TG_NOT_UNDERSTOOD;
		switch (tg_be16(session + 6)) {
		case TG_PPP_IPV4:
			type = ETH_P_IP;
			break;
		case TG_PPP_IPV6:
			type = ETH_P_IPV6;
			break;
		default:
			return TG_NOT_IP;
		}
		packet->offset += TG_PPPOE_BYTES;
	}
	return tg_read_ip(skb, type, packet);
}

/* TG_PASSED if the addresses are known, else why not. The packet is all zero before. */
static TG_INLINE __u64 tg_read(struct __sk_buff *skb, __u32 link_header_bytes,
			       struct tg_packet *packet)
{
	const __u8 *data = (const __u8 *)(long)skb->data, *end = (const __u8 *)(long)skb->data_end;
	__u16 type = tg_be16((const __u8 *)&(__u16){ (__u16)skb->protocol });
	__u8 type_bytes[2];

	if (link_header_bytes == ETH_HLEN) {
		packet->offset = ETH_HLEN;
		/* Most packets: without a copy. The offsets are constants, or CAP_BPF would not do. */
		if (data + ETH_HLEN + TG_IPV4_BYTES <= end) {
			type = tg_be16(data + ETH_HLEN - 2);
			if (type == ETH_P_IP)
				return tg_read_ipv4(data + ETH_HLEN, skb->len, packet);
			if (type == ETH_P_IPV6 && data + ETH_HLEN + TG_IPV6_BYTES <= end)
				return tg_read_ipv6(data + ETH_HLEN, packet);
		} else {
			if (bpf_skb_load_bytes(skb, ETH_HLEN - 2, type_bytes, sizeof(type_bytes)))
				return TG_NOT_UNDERSTOOD;
			type = tg_be16(type_bytes);
		}
	}
	return tg_read_encapsulated(skb, type, packet);
}

/* Sets the ECN field to CE. */
static TG_INLINE long tg_mark(struct __sk_buff *skb, const struct tg_packet *packet)
{
	__u8 after[2] = { packet->start[0], packet->start[1] };
	long failed;

	if (packet->version == 6) {
		after[1] |= 0x30;
		/* A sum over the whole packet, as some cards give it, has to follow. */
		return bpf_skb_store_bytes(skb, packet->offset + 1, after + 1, 1, BPF_F_RECOMPUTE_CSUM);
	}
	after[1] |= 3;
	/* The header's own checksum makes up for the change, in a sum over the whole packet too. */
	failed = bpf_l3_csum_replace(skb, packet->offset + 10,
				     packet->start[0] | (__u64)packet->start[1] << 8,
				     after[0] | (__u64)after[1] << 8, 2);
	return failed ? failed : bpf_skb_store_bytes(skb, packet->offset + 1, after + 1, 1, 0);
}

#endif
