use proptest::prelude::*;

use super::parse;
use crate::script::{
    Action, Arg, ByteCounter, EcnField, Event, PacketDirection, Script, ScriptPacket, TcpOption,
    When,
};

fn read(text: &str) -> Script {
    parse(text).unwrap_or_else(|error| panic!("{error} in {text:?}"))
}

fn only(text: &str) -> Event {
    let mut script = read(text);
    assert_eq!(script.events.len(), 1, "{text:?}");
    script.events.remove(0)
}

fn packet(text: &str) -> ScriptPacket {
    match only(text).action {
        Action::ScriptPacket(packet) => packet,
        other => panic!("{other:?}"),
    }
}

fn error(text: &str) -> String {
    parse(text).expect_err("not as the language has it").to_string()
}

#[test]
fn times_are_absolute_relative_ranges_or_any() {
    for (text, when) in [
        ("0.5 close(3) = 0", When::At(500_000)),
        ("+.1 close(3) = 0", When::After(100_000)),
        ("0~1 close(3) = 0", When::Between(0, 1_000_000)),
        ("+.1~+.105 close(3) = 0", When::AfterBetween(100_000, 105_000)),
        ("* close(3) = 0", When::Any),
    ] {
        assert_eq!(only(text).when, when, "{text}");
    }
}

#[test]
fn a_packet_has_ip_ecn_flags_numbers_window_and_options() {
    let text = "+0 < [ect1] SEW. 1:1001(1000) ack 7 win 32792 \
                <mss 1000,sackOK,TS val 1 ecr 2,nop,wscale 7>";
    let found = packet(text);
    assert_eq!((found.direction, found.ecn), (PacketDirection::In, Some(EcnField::Ect1)));
    assert!(found.flags.syn && found.flags.ece && found.flags.cwr && found.flags.ack);
    assert_eq!((found.seq, found.len, found.ack, found.window), (1, 1000, Some(7), Some(32792)));
    assert_eq!(
        found.options,
        Some(vec![
            TcpOption::Mss(1000),
            TcpOption::SackOk,
            TcpOption::Timestamps { val: 1, ecr: 2 },
            TcpOption::Nop,
            TcpOption::WindowScale(7),
        ])
    );
}

#[test]
fn a_packet_is_written_as_it_is_read() {
    for text in [
        "> . 1:1461(1460) ack 1",
        "< [ce] P. 1:11(10) ack 5 win 257 <nop,nop,sack 1:3 5:7>",
        "> SEWA 0:0(0) <...>",
        "> 5. 1:1(0) ack 1 <ECN e0b 1 ceb 0 e1b 1,nop>",
        "< - 1:1(0) win 0",
    ] {
        assert_eq!(packet(&format!("+0 {text}")).to_string(), text);
    }
}

#[test]
fn accurate_ecn_has_flags_a_number_and_an_option() {
    let found = packet("+0 > [ect01] EA. 1:1(0) ack 1");
    assert_eq!(found.ecn, Some(EcnField::Either));
    let options = packet("+0 > 3. 1:1(0) ack 1 <ECN e1b 1001 ceb 4>").options;
    let counters = vec![(ByteCounter::Ect1, 1001), (ByteCounter::Ce, 4)];
    assert_eq!(options, Some(vec![TcpOption::AccEcn(counters)]));
}

#[test]
fn calls_have_arguments_a_result_and_perhaps_an_errno_with_a_note() {
    let event = only("+0...0.010 connect(3, ..., {a=b}) = -1 EINPROGRESS (Operation now)");
    let Action::Call(call) = event.action else { panic!("a call") };
    assert_eq!((call.name.as_str(), call.blocks_until), ("connect", Some(10_000)));
    assert_eq!(call.args[..2], [Arg::Number(3), Arg::Any]);
    assert_eq!((call.result, call.errno.as_deref()), (Arg::Number(-1), Some("EINPROGRESS")));
    let Action::Call(call) = only("+0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0").action else {
        panic!("a call")
    };
    assert!(call.args[1].is("F_SETFL") && call.args[2].has("O_NONBLOCK"));
}

#[test]
fn what_is_not_tcp_is_left_out_to_the_end_of_its_line() {
    let script = read("+0 < icmp unreachable frag_needed mtu 1200 [1:1(0)]\n+0 close(3) = 0");
    assert_eq!(script.events[0].action, Action::Foreign("icmp packets".to_owned()));
    assert_eq!(script.events.len(), 2);
}

#[test]
fn options_come_first_and_commands_need_no_time() {
    let script = read("--tolerance_usecs=20000\n--strict_segments\n`a`\n 0 close(3) = 0 // end");
    let options: Vec<_> = script.options.iter().map(|o| (&o.name[..], &o.value[..])).collect();
    assert_eq!(options, [("tolerance_usecs", "20000"), ("strict_segments", "")]);
    assert_eq!(script.events[0].action, Action::Command("a".to_owned()));
}

#[test]
fn errors_name_line_what_was_found_and_what_was_expected() {
    for (text, want) in [
        ("\n+0 < . 1:5(3) ack 1", "line 2: 1:5 are 4 bytes, not 3"),
        (
            "+x close(3) = 0",
            "line 1: expected a time such as +.1 or 0.5, in seconds, or *, found \"x\"",
        ),
        (
            "+0 < Q 1:1(0)",
            "line 1: expected TCP flags: letters of FSRPEWAU, 0 to 7, \".\", or \"-\", \
                           found \"Q\"",
        ),
        ("+0 close(3 = 0", "line 1: expected ',', found \"=\""),
        ("+0 < S 0:0(0) <mss 70000>", "line 1: expected 0 to 65535, found \"70000\""),
        ("+.2~+.1 > . 1:1(0) ack 1", "line 1: this range of times ends before it begins"),
    ] {
        assert_eq!(error(text), want, "{text:?}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "[ -~\n]{0,200}") {
        let _ = parse(&text);
    }

    #[test]
    fn no_sequence_of_words_makes_it_panic(
        words in prop::collection::vec(prop::sample::select(vec![
            "+0", "0", "~", "*", "<", ">", ".", "S.", "1:1(0)", "ack", "1", "win", "<...>", "...",
            "close(3) = 0", "{", "}", "[", "]", "(", ")", "=", "|", "`", "%{", "}%", "mss", "sack",
            "TS val", "ECN", ",", "--a=b", "\n", "//", "\"",
        ]), 0..40)
    ) {
        let _ = parse(&words.join(" "));
    }
}
