//! Hosts are isolated from everything else on the machine.

use crate::common;

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use tidegate_lab::host::{DEVICE, IpVersion};
use tidegate_lab::hosts::NetnsHosts;
use tidegate_lab::namespace::Namespace;

/// Runs `work` in a new namespace, which is the outer one for namespaces made in it.
fn outside<T>(work: impl FnOnce() -> T) -> T {
    Namespace::create().expect("a namespace").enter(work).expect("inside")
}

/// Returns the interfaces of the calling thread's namespace.
fn interfaces() -> BTreeSet<String> {
    let table = fs::read_to_string("/proc/thread-self/net/dev").expect("procfs");
    let names = table.lines().filter_map(|line| line.split_once(':'));
    names.map(|(name, _)| name.trim().to_owned()).collect()
}

#[test]
fn a_setting_is_of_one_namespace() {
    if common::skipped() {
        return;
    }
    outside(|| {
        let own = || fs::read_to_string("/proc/sys/net/ipv4/tcp_ecn").expect("procfs");
        let before = own();
        let (a, b) = (Namespace::create().expect("a"), Namespace::create().expect("b"));
        a.set_sysctl("net.ipv4.tcp_ecn", "1").expect("a setting");
        b.set_sysctl("net.ipv4.tcp_ecn", "0").expect("a setting");
        assert_eq!(a.sysctl("net.ipv4.tcp_ecn").expect("a setting"), "1");
        assert_eq!(b.sysctl("net.ipv4.tcp_ecn").expect("a setting"), "0");
        assert_eq!(own(), before);
    });
}

#[test]
fn a_panic_inside_ends_outside() {
    if common::skipped() {
        return;
    }
    let own = || fs::read_link("/proc/thread-self/ns/net").expect("procfs");
    let (before, namespace) = (own(), Namespace::create().expect("a namespace"));
    assert_ne!(namespace.enter(own).expect("inside"), before);
    let panicked = std::panic::catch_unwind(|| namespace.enter(|| panic!("on purpose")));
    assert!(panicked.is_err());
    assert_eq!(own(), before);
}

#[test]
fn hosts_show_nowhere_and_leave_no_trace() {
    if common::skipped() {
        return;
    }
    outside(|| {
        let before = interfaces();
        let plan = common::plan("[users.a]\ncount = 3\nflows = 1\n");
        let hosts = NetnsHosts::build(&plan, IpVersion::V4).expect("hosts");
        assert_eq!(hosts.users.len(), 3);
        assert!(hosts.users[0].namespace.enter(interfaces).expect("inside").contains(DEVICE));
        assert_eq!(hosts.server.overruns().expect("a counter"), 0);
        assert_eq!(interfaces(), before);
        drop(hosts);
        assert_eq!(interfaces(), before);
    });
}

/// Not a test, but the process that the next test kills.
#[test]
#[ignore = "run by a_killed_process_leaves_no_trace"]
fn hosts_until_killed() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let plan = common::plan("[users.a]\ncount = 2\nflows = 1\n");
    let _hosts = NetnsHosts::build(&plan, IpVersion::V4).expect("hosts");
    println!("{READY}");
    loop {
        std::thread::park();
    }
}

const CHILD: &str = "TIDEGATE_TEST_CHILD";
const READY: &str = "hosts are there";

#[test]
fn a_killed_process_leaves_no_trace() {
    if !common::skipped() {
        outside(no_trace_of_a_killed_process);
    }
}

fn no_trace_of_a_killed_process() {
    let before = interfaces();
    let mut child = Command::new(std::env::current_exe().expect("this test"))
        .args(["hosts::hosts_until_killed", "--exact", "--ignored", "--nocapture"])
        .env(CHILD, "1")
        .stdout(Stdio::piped())
        .spawn()
        .expect("a child");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    assert!(lines.any(|line| line.expect("text").contains(READY)), "the child gave up");
    let children = |pid: u32| {
        let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        list.map(|text| text.split_whitespace().count())
    };
    assert_eq!(children(child.id()).unwrap_or(0), 0, "hosts are no processes");
    child.kill().expect("SIGKILL");
    child.wait().expect("its end");
    assert_eq!(interfaces(), before);
}
