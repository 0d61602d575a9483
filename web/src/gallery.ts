// Ten situations of scenarios/, each beside what it is there to be compared with.

import liar from "../../scenarios/conex-audit.toml?raw";
import flood from "../../scenarios/csfq-udp-flood.toml?raw";
import incast from "../../scenarios/dctcp-step-marking.toml?raw";
import home from "../../scenarios/dual-host.toml?raw";
import l4s from "../../scenarios/dualpi2.toml?raw";
import evening from "../../scenarios/evening-peak.toml?raw";
import cable from "../../scenarios/rfc6057.toml?raw";
import weights from "../../scenarios/sbrm.toml?raw";
import udp from "../../scenarios/udp-against-tcp.toml?raw";
import cell from "../../scenarios/uplink.toml?raw";
import type { State } from "./state";

export type Situation = State & { title: string; about: string };

export const SITUATIONS: Situation[] = [
  { title: "Evening peak", about: "One heavy user, ten light ones: ABC", text: evening, against: "bottleneck.differentiation.kind=none" },
  { title: "Home line", about: "Fair between users, whatever their flows", text: home, against: "bottleneck.scheduler.kind=fifo" },
  { title: "Cable", about: "Heavy users step back for a while: RFC 6057", text: cable, against: "bottleneck.scheduler.kind=fifo" },
  { title: "UDP flood", about: "31 TCP users and a flood: CSFQ", text: flood, against: "bottleneck.aqm.kind=drop-tail" },
  { title: "UDP beside TCP", about: "8 Mb/s that do not back off: ABC", text: udp, against: "bottleneck.differentiation.kind=none" },
  { title: "L4S", about: "Prague beside Reno: DualPI2", text: l4s, against: "bottleneck.scheduler.kind=fifo" },
  { title: "Data centre", about: "Short queues with marks: DCTCP", text: incast, against: "tcp.congestion_control=reno; tcp.ecn=true" },
  { title: "A liar", about: "Who declares no congestion: ConEx", text: liar, against: "users.cheat.egress=[]" },
  { title: "Weights", about: "Who pays more gets more: SBRM", text: weights, against: "users.gold.tcp.congestion_control.willingness_to_pay=100" },
  { title: "Mobile cell", about: "A flood out of phones, policed at the eNodeB", text: cell, against: 'mobile.enodeb_up=["enodeb-uplink"]' },
];
