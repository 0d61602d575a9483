use super::*;

const HEADER: &str = "id,addresses,reference_rate,ceiling\n";

fn errors(lines: &str) -> Vec<String> {
    let read = read(format!("{HEADER}{lines}").as_bytes());
    read.expect_err("it is wrong").iter().map(ToString::to_string).collect()
}

#[test]
fn customers_have_addresses_rates_and_ceilings() {
    let text = "# of the billing system\n\nsmith,192.0.2.7 2001:db8:7::/64,,\n\
                \"hotel, north\", 198.51.100.0/28 ,500 kb/s,100 Mb/s\r\n";
    let records = read(format!("{HEADER}{text}").as_bytes()).expect("it is right");
    let [smith, hotel] = records.as_slice() else { panic!("{records:?}") };
    assert_eq!((smith.line, smith.id.as_str(), smith.prefixes.len()), (4, "smith", 2));
    assert_eq!((smith.reference_rate, smith.ceiling), (None, None));
    assert_eq!(hotel.id, "hotel, north");
    let rates = [hotel.reference_rate, hotel.ceiling].map(|rate| rate.map(|rate| rate.as_bps()));
    assert_eq!(rates, [Some(500_000), Some(100_000_000)]);
}

#[test]
fn columns_stand_in_any_order_and_rates_may_lack() {
    let records = read(b"addresses,id\n10.0.0.1,a\n").expect("it is right");
    assert_eq!(records[0].id, "a");
}

/// What a spreadsheet, a script or a cut-off copy makes of a file.
#[test]
fn all_errors_are_reported_at_once_with_their_lines() {
    let errors = errors(
        "a,10.0.0.1,50 kb/s,\n\
         a,10.0.0.2,,\n\
         b,10.0.0.1,,\n\
         ,10.0.0.4,,\n\
         c,,,\n\
         d,10.0.0.300,,\n\
         e,10.0.0.9/8,,\n\
         f,127.0.0.1 0.0.0.0/0 fe80::/10,,\n\
         g,10.0.0.5,50,1 Mbps\n\
         h,10.0.0.6,1 Mb/s,500 kb/s\n\
         i,10.0.0.7,,,\n\
         j,10.1.0.0/16 10.1.2.3,,\n\
         k,10.1.64.0/24,,\n\
         l,010.0.0.8,,\n\
         m,10.0.0.10,1 Tb/s,\n\
         n,10.0.0.11,,",
    );
    for want in [
        "line 3: id: \"a\" is that of line 2 too",
        "line 4: addresses: 10.0.0.1/32 is another's: 10.0.0.1/32 of line 2 (a)",
        "line 5: id: is empty",
        "line 6: addresses: is empty",
        "line 7: addresses: \"10.0.0.300\" is no address",
        "line 8: addresses: \"10.0.0.9/8\" has bits beyond its length; write 10.0.0.0/8",
        "line 9: addresses: 127.0.0.1 is loopback",
        "line 9: addresses: 0.0.0.0/0 is everybody's",
        "line 9: addresses: fe80::/10 is loopback, link-local",
        "line 10: ceiling: \"Mbps\" is not a unit",
        "line 10: reference_rate: \"50\" has no unit",
        "line 11: ceiling: 500 kb/s is below the reference rate",
        "line 12: 5 fields, and 4 columns",
        "line 13: addresses: 10.1.2.3/32 is twice here",
        "line 14: addresses: 10.1.64.0/24 is another's: 10.1.0.0/16 of line 13 (j)",
        "line 15: addresses: \"010.0.0.8\" is no address",
        "line 16: reference_rate: \"1 Tb/s\": from 1 kb/s to 1 Gb/s",
        "line 17: the last line has no end",
    ] {
        assert!(errors.iter().any(|error| error.starts_with(want)), "{want}\n{errors:#?}");
    }
    assert_eq!(errors.len(), 18, "{errors:#?}");
}

#[test]
fn a_header_that_is_not_understood_says_which_columns_there_are() {
    for (text, want) in [
        ("", "the file is empty"),
        ("id;addresses\n", "between commas"),
        ("id,address\n", "there is no column \"address\""),
        ("id,id\n", "two columns id"),
        ("id,ceiling\n", "id and addresses are needed"),
        ("smith,10.0.0.1,,\n", "there is no column \"smith\""),
    ] {
        let errors = read(text.as_bytes()).expect_err(text);
        assert!(errors[0].to_string().contains(want), "{errors:?}");
    }
}

#[test]
fn many_errors_are_counted_and_no_bytes_make_it_panic() {
    let lines = errors(&"a\n".repeat(1_000));
    assert_eq!(lines.last().map(String::as_str), Some("and 900 more errors"));
    let long = "x".repeat(33);
    assert!(errors(&format!("{long},10.0.0.1,,\n"))[0].contains("at most 32"));
    for bytes in [&b"id,addresses\n\xff\xfe,10.0.0.1\n"[..], b"id,addresses\n\"a,10.0.0.1\n", b"\0"]
    {
        assert!(read(bytes).is_err());
    }
}
