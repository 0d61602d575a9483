//! A read-only server on loopback: the live page, `/metrics` for monitoring, `/status` as `status --format json` has it.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tiny_http::{Header, Method, Request, Response, Server};

use crate::control::now_ns;
use crate::error::Error;
use crate::history;
use crate::lock::{LOOP, Lock};
use crate::maps::{Maps, Pins};
use crate::metrics::{self, Shown};
use crate::page::{self, FILES, Page};
use crate::report::{Report, Snapshot};

/// Rates are measured over this time at least.
const LEAST_NS: u64 = 500_000_000;
const JSON: &str = "application/json";
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Reads an address such as `127.0.0.1:9464`.
///
/// # Errors
/// If it is none, or not of loopback.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    let address: SocketAddr =
        text.parse().map_err(|_| format!("\"{text}\" is no address; write e.g. 127.0.0.1:9464"))?;
    match address.ip().is_loopback() {
        true => Ok(address),
        false => Err(format!("\"{text}\" is not of loopback; put a proxy before 127.0.0.1")),
    }
}

/// Serves until the process ends, on a thread of its own: whatever happens to it, the control loop goes on.
///
/// # Errors
/// If the address is taken.
pub fn serve(at: SocketAddr, pins: Pins, names: [String; 2], shown: Shown) -> Result<(), Error> {
    let server = Server::http(at).map_err(|error| Error::of(&at.to_string(), error.as_ref()))?;
    let history = Arc::default();
    history::keep(pins.clone(), Arc::clone(&history))?;
    let started = thread::Builder::new().name("http".to_owned()).spawn(move || {
        let page = Page { history, names: names.clone(), shown };
        let mut site = Site { pins, names, shown, page, before: None };
        while let Ok(request) = server.recv() {
            site.answer(request);
        }
    });
    started.map(|_| ()).map_err(|error| Error::of("the server's thread", &error))
}

struct Site {
    pins: Pins,
    names: [String; 2],
    shown: Shown,
    page: Page,
    before: Option<Snapshot>,
}

impl Site {
    /// A client that is gone is none of our business.
    fn answer(&mut self, request: Request) {
        let (path, query) = request.url().split_once('?').unwrap_or((request.url(), ""));
        let (path, query) = (path.to_owned(), query.to_owned());
        if !matches!(request.method(), Method::Get | Method::Head) {
            return refuse(request, 405, "only GET and HEAD\n");
        }
        if !is_of_loopback(&request) {
            return refuse(
                request,
                421,
                "the Host has to be an address of loopback, or localhost\n",
            );
        }
        if let Some((_, kind, text)) = FILES.iter().find(|(file, ..)| *file == path) {
            return send(request, (*text).to_owned(), kind);
        }
        let body = match path.as_str() {
            "/metrics" => self.metrics().map(|text| (text, OPEN_METRICS)),
            "/status" => self.status().map(|text| (text, JSON)),
            "/history" => Some((self.history(), JSON)),
            "/why" => self.why(&query).map(|text| (text, JSON)),
            _ => {
                return refuse(
                    request,
                    404,
                    "there are / /metrics /status /history /why?customer=NAME\n",
                );
            }
        };
        match body {
            Some((text, kind)) => send(request, text, kind),
            None => refuse(request, 503, "the gateway is off\n"),
        }
    }

    fn history(&self) -> String {
        let maps = Maps::open(&self.pins).ok().flatten();
        let runs = Lock::is_taken(LOOP, &self.pins);
        format!("{}\n", self.page.history(maps.as_ref(), runs))
    }

    fn why(&self, query: &str) -> Option<String> {
        let maps = Maps::open(&self.pins).ok().flatten()?;
        let value = query.split('&').find_map(|part| part.strip_prefix("customer="));
        let name = decoded(value.unwrap_or_default());
        Some(format!("{}\n", self.page.why(&maps, &name)))
    }

    /// Two snapshots, the earlier one of the last request if that is not too near.
    fn snapshots(&mut self, maps: &Maps) -> (Snapshot, Snapshot) {
        let is_old = |before: &Snapshot| now_ns() - before.now_ns() >= LEAST_NS;
        let before = self.before.take().filter(is_old).unwrap_or_else(|| {
            let before = Snapshot::take(maps, now_ns());
            thread::sleep(Duration::from_nanos(LEAST_NS));
            before
        });
        let after = Snapshot::take(maps, now_ns());
        self.before = Some(after.clone());
        (before, after)
    }

    fn metrics(&mut self) -> Option<String> {
        let maps = Maps::open(&self.pins).ok().flatten()?;
        let (before, after) = self.snapshots(&maps);
        Some(metrics::text(&maps, &self.pins, &before, &after, self.shown))
    }

    fn status(&mut self) -> Option<String> {
        let maps = Maps::open(&self.pins).ok().flatten()?;
        let (before, after) = self.snapshots(&maps);
        let runs = Lock::is_taken(LOOP, &self.pins);
        let report = Report::between(&maps, &before, &after, self.names.clone(), runs, self.shown);
        Some(format!("{}\n", report.with_programs(&self.pins).json()))
    }
}

/// Whether the browser means this server. A page of somebody else whose name leads here (DNS rebinding) has its own name there.
fn is_of_loopback(request: &Request) -> bool {
    let mut headers = request.headers().iter();
    let host = headers.find(|header| header.field.equiv("Host"));
    host.is_none_or(|header| is_loopback(header.value.as_str()))
}

/// Whether a Host header names a loopback address or localhost, with a port or without.
fn is_loopback(host: &str) -> bool {
    let is_port = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let name = match host.rsplit_once(':') {
        Some((name, port)) if is_port(port) && !name.ends_with(':') => name,
        _ => host,
    };
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// A value of a query, without its escapes. What is none stays.
fn decoded(value: &str) -> String {
    let (bytes, mut at, mut out) = (value.as_bytes(), 0, Vec::new());
    while let Some(byte) = bytes.get(at) {
        let escaped = bytes.get(at + 1..at + 3).and_then(|two| std::str::from_utf8(two).ok());
        match (byte, escaped.and_then(|two| u8::from_str_radix(two, 16).ok())) {
            (b'%', Some(code)) => {
                out.push(code);
                at += 2;
            }
            (b'+', _) => out.push(b' '),
            _ => out.push(*byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn send(request: Request, text: String, kind: &str) {
    let headers = [
        ("Content-Type", kind),
        ("Content-Security-Policy", page::POLICY),
        ("Cache-Control", "no-store"),
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "no-referrer"),
    ];
    let mut response = Response::from_string(text);
    for (name, value) in headers {
        response.add_header(Header::from_bytes(name, value).expect("it is ASCII"));
    }
    let _ = request.respond(response);
}

fn refuse(request: Request, code: u16, text: &str) {
    let _ = request.respond(Response::from_string(text).with_status_code(code));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_others_that_lead_here_are_refused() {
        for host in ["127.0.0.1:9464", "localhost", "LOCALHOST:1", "[::1]:9464", "::1", "127.0.0.1"]
        {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["evil.example", "127.0.0.1.evil.example:9464", "10.0.0.1:9464", "", "[::2]:1"]
        {
            assert!(!is_loopback(host), "{host}");
        }
    }

    #[test]
    fn names_in_a_query_have_escapes() {
        assert_eq!(decoded("%C3%A9t%C3%A9+%231%2"), "été #1%2");
    }

    #[test]
    fn the_page_is_small_and_names_no_other_server() {
        let all: usize = FILES.iter().map(|(.., text)| text.len()).sum();
        assert!(all < 60_000, "{all}");
        for (path, _, text) in FILES {
            let elsewhere = text.replace("http://www.w3.org/2000/svg", "");
            assert!(!elsewhere.contains("://"), "{path}");
            assert!(!text.contains(" style=") && !text.contains("innerHTML"), "{path}");
        }
    }

    #[test]
    fn only_loopback_is_served() {
        assert!(address("127.0.0.1:9464").is_ok() && address("[::1]:0").is_ok());
        for (text, want) in
            [("0.0.0.0:80", "not of loopback"), ("192.0.2.1:80", "proxy"), ("9464", "no address")]
        {
            assert!(address(text).expect_err(text).contains(want));
        }
    }
}
