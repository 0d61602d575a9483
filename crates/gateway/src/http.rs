//! A read-only server on loopback: `/metrics` for monitoring, `/status` as `status --format json` has it.

use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use tiny_http::{Header, Method, Request, Response, Server};

use crate::control::now_ns;
use crate::error::Error;
use crate::lock::{LOOP, Lock};
use crate::maps::{Maps, Pins};
use crate::metrics::{self, Shown};
use crate::report::{Report, Snapshot};

/// Rates are measured over this time at least.
const LEAST_NS: u64 = 500_000_000;
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
    let started = thread::Builder::new().name("http".to_owned()).spawn(move || {
        let mut site = Site { pins, names, shown, before: None };
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
    before: Option<Snapshot>,
}

impl Site {
    /// A client that is gone is none of our business.
    fn answer(&mut self, request: Request) {
        let path = request.url().split('?').next().unwrap_or_default().to_owned();
        let is_read = matches!(request.method(), Method::Get | Method::Head);
        let body = match (is_read, path.as_str()) {
            (false, _) => return refuse(request, 405, "only GET and HEAD\n"),
            (true, "/metrics") => self.metrics().map(|text| (text, OPEN_METRICS)),
            (true, "/status") => self.status().map(|text| (text, "application/json")),
            (true, "/") => Some(("/metrics\n/status\n".to_owned(), "text/plain")),
            _ => return refuse(request, 404, "there are / /metrics /status\n"),
        };
        let Some((text, kind)) = body else {
            return refuse(request, 503, "the gateway is off\n");
        };
        let header = Header::from_bytes("Content-Type", kind).expect("it is ASCII");
        let _ = request.respond(Response::from_string(text).with_header(header));
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

fn refuse(request: Request, code: u16, text: &str) {
    let _ = request.respond(Response::from_string(text).with_status_code(code));
}

#[cfg(test)]
mod tests {
    use super::*;

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
