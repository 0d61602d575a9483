// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/*
 * A link for the comparison with Linux: a device with a transmitter of a given rate and nothing else,
 * "link0", and the device at its far end, "link1", from which the way back takes no time.
 *
 * All of the queue stays with the scheduler above link0, which learns when the transmitter is free as
 * it would from hardware. A class of a shaper (HTB, TBF) in between would hide from RED that its queue
 * has run empty.
 *
 * What it has sent stands in /proc/oracle_link, a line for each TCP port that packets go to: port,
 * packets and bytes sent, packets with a congestion mark, packets and bytes lost on the wire (without
 * Ethernet headers).
 *
 * Also here: random numbers that can be told in advance, for RED and PIE, so that runs repeat and can be
 * compared packet by packet. On the command line of the kernel:
 *   oracle_link.rate_bps=N   rate of link0, Ethernet headers included
 *   oracle_link.loss=N       so many of 2^32 packets that link0 has sent are lost on the wire
 *   oracle_link.seed=N       seed of these numbers; 0: the kernel's own
 */
#include <linux/etherdevice.h>
#include <linux/hrtimer.h>
#include <linux/ip.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/proc_fs.h>
#include <linux/random.h>
#include <linux/seq_file.h>
#include <net/inet_ecn.h>

static unsigned long rate_bps = 10000000;
module_param(rate_bps, ulong, 0444);
static unsigned long seed;
module_param(seed, ulong, 0444);
static unsigned long loss;
module_param(loss, ulong, 0444);

struct oracle_link {
	struct net_device *dev, *far;
	struct hrtimer sent;
	struct sk_buff *sending;
	ktime_t free_at;
};

#define FIRST_PORT 6000
#define PORTS 1000

/* By destination port. */
static struct { u64 packets, bytes, marks, lost, lost_bytes; } sent_to[PORTS];

/* Timers may come late by so much where two are due about the same time; that must not add up. */
#define LATENESS_NS 2048

u64 oracle_draw(void);

/* SplitMix64 (Steele, Lea, Flood 2014). */
u64 oracle_draw(void)
{
	static u64 drawn;
	u64 z;

	if (!seed)
		return get_random_u64();
	z = seed + ++drawn * 0x9e3779b97f4a7c15ull;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static void oracle_count(const struct sk_buff *skb, bool lost)
{
	const struct iphdr *ip = (const void *)(skb->data + ETH_HLEN);
	unsigned int to;

	if (skb->len < ETH_HLEN + 40 || skb_headlen(skb) < ETH_HLEN + 40)
		return;
	/* No packet here has options of IP. */
	to = ntohs(((const __be16 *)(ip + 1))[1]) - FIRST_PORT;
	if (ip->protocol != IPPROTO_TCP || to >= PORTS)
		return;
	sent_to[to].packets++;
	sent_to[to].bytes += skb->len - ETH_HLEN;
	sent_to[to].marks += INET_ECN_is_ce(ip->tos);
	if (!lost)
		return;
	sent_to[to].lost++;
	sent_to[to].lost_bytes += skb->len - ETH_HLEN;
}

static int oracle_show(struct seq_file *file, void *unused)
{
	for (int i = 0; i < PORTS; i++)
		if (sent_to[i].packets)
			seq_printf(file, "%d %llu %llu %llu %llu %llu\n", FIRST_PORT + i,
				   sent_to[i].packets, sent_to[i].bytes, sent_to[i].marks,
				   sent_to[i].lost, sent_to[i].lost_bytes);
	return 0;
}

static enum hrtimer_restart oracle_sent(struct hrtimer *timer)
{
	struct oracle_link *link = container_of(timer, struct oracle_link, sent);
	bool lost = loss && oracle_draw() >> 32 < loss;

	oracle_count(link->sending, lost);
	if (lost)
		kfree_skb(link->sending);
	else
		dev_forward_skb(link->far, link->sending);
	netif_wake_queue(link->dev);
	return HRTIMER_NORESTART;
}

static netdev_tx_t oracle_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct oracle_link *link = netdev_priv(dev);
	u64 transmission_ns = div64_ul((u64)skb->len * 8 * NSEC_PER_SEC, rate_bps);

	ktime_t start = ktime_get();

	if (ktime_sub(start, link->free_at) <= LATENESS_NS)
		start = link->free_at;
	link->free_at = ktime_add_ns(start, transmission_ns);
	netif_stop_queue(dev);
	hrtimer_start(&link->sent, link->free_at, HRTIMER_MODE_ABS_SOFT);
	link->sending = skb;
	return NETDEV_TX_OK;
}

static netdev_tx_t oracle_return(struct sk_buff *skb, struct net_device *dev)
{
	struct oracle_link *link = netdev_priv(dev);

	dev_forward_skb(link->far, skb);
	return NETDEV_TX_OK;
}

static const struct net_device_ops oracle_ops = { .ndo_start_xmit = oracle_xmit };
static const struct net_device_ops oracle_return_ops = { .ndo_start_xmit = oracle_return };

static struct net_device *oracle_device(const char *name, const struct net_device_ops *ops)
{
	struct net_device *dev = alloc_etherdev(sizeof(struct oracle_link));

	if (!dev)
		return NULL;
	strscpy(dev->name, name, IFNAMSIZ);
	dev->netdev_ops = ops;
	/* Without ARP, packets are addressed to the sender's own address: the two share one. */
	dev->flags |= IFF_NOARP;
	eth_hw_addr_set(dev, (const u8[ETH_ALEN]){ 2, 0, 0, 0, 0, 1 });
	return dev;
}

static int __init oracle_init(void)
{
	struct net_device *near = oracle_device("link0", &oracle_ops);
	struct net_device *far = oracle_device("link1", &oracle_return_ops);
	struct oracle_link *link;
	int failed;

	if (!near || !far)
		return -ENOMEM;
	link = netdev_priv(near);
	link->dev = near;
	link->far = far;
	hrtimer_init(&link->sent, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	link->sent.function = oracle_sent;
	proc_create_single("oracle_link", 0444, NULL, oracle_show);
	((struct oracle_link *)netdev_priv(far))->far = near;
	failed = register_netdev(far);
	return failed ? failed : register_netdev(near);
}
device_initcall(oracle_init);
