//! Echo requests to reflectors beyond the bottleneck (ICMP, ICMPv6), one at a time in turn.
//!
//! Answers are read by a thread of their own, since the control loop looks only every 16 ms.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};

use crate::control::now_ns;
use crate::delay::Delay;
use crate::error::Error;

/// Bytes of a request after its header of 8.
const PAYLOAD: usize = 8;
/// No more probes than this are on their way.
const MAX_OUTSTANDING: usize = 256;

#[derive(Clone, Copy, Debug)]
struct Sent {
    number: u16,
    reflector: usize,
    sent_ns: u64,
}

#[derive(Clone, Copy, Debug)]
struct Answer {
    from: IpAddr,
    number: u16,
    now_ns: u64,
}

/// Sends the probes of a signal and hands it what becomes of them.
#[derive(Debug)]
pub struct Prober {
    reflectors: Vec<IpAddr>,
    /// IPv4 and IPv6.
    sockets: [Option<Socket>; 2],
    answers: Receiver<Answer>,
    outstanding: VecDeque<Sent>,
    number: u16,
    identifier: u16,
}

impl Prober {
    /// For these reflectors.
    ///
    /// # Errors
    /// If the kernel gives no socket for echo requests.
    pub fn open(reflectors: Vec<IpAddr>) -> Result<Prober, Error> {
        let identifier = std::process::id() as u16;
        let (sender, answers) = channel();
        let mut sockets = [None, None];
        for (place, is_ipv4) in [true, false].into_iter().enumerate() {
            if reflectors.iter().any(|reflector| reflector.is_ipv4() == is_ipv4) {
                let socket = socket(is_ipv4).map_err(|error| Error::of(RIGHT, &error))?;
                let is_raw = socket.r#type().is_ok_and(|kind| kind == Type::RAW);
                let own = socket.try_clone().map_err(|error| Error::of("probes", &error))?;
                // Which reads from any socket of datagrams.
                let own = UdpSocket::from(own);
                let sender = sender.clone();
                let started = thread::Builder::new()
                    .name("probes".to_owned())
                    .spawn(move || listen(&own, is_ipv4, is_raw.then_some(identifier), &sender));
                started.map_err(|error| Error::of("the thread of probes", &error))?;
                sockets[place] = Some(socket);
            }
        }
        let outstanding = VecDeque::new();
        Ok(Prober { reflectors, sockets, answers, outstanding, number: 0, identifier })
    }

    /// Whom it asks.
    pub fn reflectors(&self) -> &[IpAddr] {
        &self.reflectors
    }

    /// Sends the next probe, and hands on what has become of those before it.
    pub fn step(&mut self, now: u64, delay: &mut Delay) {
        while let Ok(answer) = self.answers.try_recv() {
            let is_it = |sent: &Sent| {
                sent.number == answer.number && self.reflectors[sent.reflector] == answer.from
            };
            if let Some(place) = self.outstanding.iter().position(is_it) {
                let sent = self.outstanding.remove(place).expect("it is there");
                delay.on_answer(sent.reflector, sent.sent_ns, answer.now_ns);
            }
        }
        let is_late =
            |sent: &Sent| now.saturating_sub(sent.sent_ns) > delay.timeout_ns(sent.reflector);
        let late: Vec<_> = self.outstanding.iter().filter(|sent| is_late(sent)).copied().collect();
        self.outstanding.retain(|sent| !is_late(sent));
        for sent in late {
            delay.on_loss(sent.reflector);
        }
        self.number = self.number.wrapping_add(1);
        let reflector = usize::from(self.number) % self.reflectors.len();
        // One that cannot be sent, as the interface is down, is lost.
        let _ = self.send(self.reflectors[reflector]);
        if self.outstanding.len() < MAX_OUTSTANDING {
            self.outstanding.push_back(Sent { number: self.number, reflector, sent_ns: now_ns() });
        }
    }

    fn send(&self, to: IpAddr) -> io::Result<()> {
        let is_ipv4 = to.is_ipv4();
        let Some(socket) = &self.sockets[usize::from(!is_ipv4)] else { return Ok(()) };
        let request = request(is_ipv4, self.identifier, self.number);
        socket.send_to(&request, &SocketAddr::new(to, 0).into()).map(|_| ())
    }
}

const RIGHT: &str =
    "probes: net.ipv4.ping_group_range does not have this user's group, and CAP_NET_RAW is missing";

/// One for echo requests alone, which any user may have where the administrator lets them; else a raw one.
fn socket(is_ipv4: bool) -> io::Result<Socket> {
    let (domain, protocol) = match is_ipv4 {
        true => (Domain::IPV4, Protocol::ICMPV4),
        false => (Domain::IPV6, Protocol::ICMPV6),
    };
    Socket::new(domain, Type::DGRAM, Some(protocol))
        .or_else(|_| Socket::new(domain, Type::RAW, Some(protocol)))
}

const fn kinds(is_ipv4: bool) -> [u8; 2] {
    if is_ipv4 { [8, 0] } else { [128, 129] }
}

fn request(is_ipv4: bool, identifier: u16, number: u16) -> [u8; 8 + PAYLOAD] {
    let mut request = [0; 8 + PAYLOAD];
    request[0] = kinds(is_ipv4)[0];
    request[4..6].copy_from_slice(&identifier.to_be_bytes());
    request[6..8].copy_from_slice(&number.to_be_bytes());
    // The kernel does this where it knows better.
    let sum = checksum(&request);
    request[2..4].copy_from_slice(&sum.to_be_bytes());
    request
}

/// RFC 1071.
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let sum: u32 = words.sum();
    !((sum & 0xffff) + (sum >> 16)) as u16
}

fn listen(socket: &UdpSocket, is_ipv4: bool, raw: Option<u16>, to: &Sender<Answer>) {
    let mut buffer = [0; 512];
    loop {
        let received = socket.recv_from(&mut buffer);
        let now = now_ns();
        let Ok((length, from)) = received else {
            // An error of an earlier probe, such as an unreachable host.
            thread::sleep(Duration::from_millis(10));
            continue;
        };
        if let Some(number) = answer(&buffer[..length], is_ipv4, raw)
            && to.send(Answer { from: from.ip(), number, now_ns: now }).is_err()
        {
            return;
        }
    }
}

/// The number of an echo reply; of ours alone where the socket sees those of others.
fn answer(bytes: &[u8], is_ipv4: bool, identifier: Option<u16>) -> Option<u16> {
    let start = match (is_ipv4, identifier) {
        (true, Some(_)) => usize::from(bytes.first()? & 15) * 4,
        _ => 0,
    };
    let header = bytes.get(start..start + 8)?;
    let own = u16::from_be_bytes([header[4], header[5]]);
    let is_reply = header[0] == kinds(is_ipv4)[1] && identifier.is_none_or(|wanted| wanted == own);
    is_reply.then(|| u16::from_be_bytes([header[6], header[7]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_told_from_requests_and_from_those_of_others() {
        let mut reply = request(true, 7, 300);
        assert_eq!(checksum(&reply), 0);
        assert_eq!(answer(&reply, true, None), None);
        reply[0] = 0;
        assert_eq!(answer(&reply, true, None), Some(300));
        let mut raw = vec![0x45; 20];
        raw.extend(reply);
        assert_eq!(answer(&raw, true, Some(7)), Some(300));
        assert_eq!(answer(&raw, true, Some(8)), None);
        for end in 0..raw.len() {
            let _ = answer(&raw[..end], true, Some(7));
            let _ = answer(&raw[..end], false, None);
        }
    }
}
