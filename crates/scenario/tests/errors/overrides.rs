//! Overrides and sweeps, which are checked like the file.

use tidegate_scenario::{Diagnostic, Scenario};

use super::{BASE, messages, overridden, with};

#[test]
fn overrides_are_checked_like_the_file_but_have_no_line() {
    for (key, value, want) in [
        ("bottleneck.rat", "10 Mb/s", "bottleneck.rat: unknown key"),
        (
            "bottleneck.rate",
            "10 M",
            "bottleneck.rate: \"10 M\" has no unit; write e.g. \"10 Mb/s\"",
        ),
        ("bottleneck.rate.x", "1", "bottleneck.rate.x: bottleneck.rate is a text, not a table"),
        ("add users.b.flows", "none", "users.b.flows: expected a whole number"),
        ("bottleneck..rate", "1", "is not a dotted key"),
        ("x = 1\ny", "1", "is not a dotted key"),
    ] {
        let given = [(key.to_owned(), value.to_owned())];
        let issues = Scenario::parse(BASE, &given).expect_err(key);
        let key = key.trim_start_matches("add ").replace('\n', "\\n");
        assert!(issues[0].to_string().starts_with(&key) || issues[0].key == key, "{issues:?}");
        assert!(issues[0].to_string().contains(want), "{issues:?}");
        assert_eq!(issues[0].line, None);
    }
}

/// A misspelling must not create a group that takes a share of the link.
#[test]
fn an_override_may_only_name_groups_and_links_that_there_are() {
    for (key, value, want) in [
        (
            "users.heavi.flows",
            "20",
            "users.heavi.flows: there is no group \"heavi\"; groups are heavy, light; \"add\" brings \
             in a new one; did you mean \"users.heavy\"?",
        ),
        ("links.core.rate", "1 Mb/s", "links.core.rate: there is no link \"core\""),
        ("users.heavy.metr.inertia", "1 s", "users.heavy.metr: unknown key"),
        ("user.heavy.flows", "1", "did you mean \"users\"?"),
    ] {
        let text = BASE.replace("[users.a]", "[users.heavy]\n[users.light]");
        let given = [(key.to_owned(), value.to_owned())];
        let messages: Vec<_> = Scenario::parse(&text, &given)
            .expect_err(key)
            .iter()
            .map(Diagnostic::to_string)
            .collect();
        assert!(messages[0].contains(want), "{key}: {messages:#?}");
    }
}

#[test]
fn what_the_file_does_not_give_can_be_set_where_the_schema_has_it() {
    for (key, value) in [
        ("bottleneck.aqm.kind", "codel"),
        ("bottleneck.scheduler", "{ kind = \"drr\" }"),
        ("tcp.ecn", "true"),
        ("users.a.tcp.ecn", "true"),
        ("users.a.meter.reference_rate", "1 Mb/s"),
        ("receiver_access.delay", "1 ms"),
        ("users", "{ b = { flows = 7 }, c = {} }"),
    ] {
        assert!(overridden(&[(key, value)]).is_ok(), "{key}");
    }
}

#[test]
fn the_word_add_brings_in_a_group() {
    let scenario = overridden(&[
        ("add users.guest.flows", "2"),
        ("add users.guest.tcp.ecn", "true"),
        ("users.guest.count", "3"),
    ]);
    let scenario = scenario.expect("valid");
    assert_eq!(scenario.groups().collect::<Vec<_>>(), ["a", "guest"]);
    assert_eq!(scenario.plan().flows.len(), 2 + 3 * 2);
    for (key, want) in [
        ("add users.a.flows", "users.a.flows: there is a group \"a\" already; remove \"add\""),
        ("add bottleneck.rate", "\"add\" is for a new group or link, such as users.guest.flows"),
        ("add users.guest.flos", "users.guest.flos: unknown key"),
        ("add users", "\"add\" is for a new group"),
        ("users.guest.flows", "there is no group \"guest\""),
    ] {
        let messages = overridden(&[(key, "1")]).expect_err(key);
        assert!(messages[0].contains(want), "{key}: {messages:#?}");
    }
}

/// After an override of a kind, keys of the previous kind in the file are no error, but a key that neither kind has is
/// reported.
#[test]
fn an_override_of_a_kind_is_no_licence_for_keys_of_any_kind() {
    let red = with(
        "bottleneck",
        "aqm = { kind = \"red\", min_threshold = \"5 packets\", max_threshold = \"9 packets\" }",
    );
    let of = |settings: &[(&str, &str)]| {
        let settings: Vec<_> =
            settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Scenario::parse(&red, &settings)
    };
    let codel = ("bottleneck.aqm.kind", "codel");
    assert!(of(&[codel]).is_ok(), "the file's thresholds are RED's");
    let again = ("bottleneck.aqm.kind", "red");
    assert!(of(&[codel, ("bottleneck.aqm.max_threshold", "8 packets"), again]).is_ok());
    let issues = of(&[codel, ("bottleneck.aqm.target_delay", "1 ms")]).expect_err("adaptive-red's");
    assert!(issues[0].to_string().contains("bottleneck.aqm.target_delay: unknown key"));
}

#[test]
fn the_values_of_a_sweep_are_checked_before_anything_runs() {
    for (axis, want) in [
        ("\"users.a.flos\" = [1]", "sweep.\"users.a.flos\": with 1: unknown key"),
        ("\"users.a.flows\" = [1, 0]", "with 0: 0 is out of range"),
        ("\"users.a.flows\" = 1", "expected a list of values"),
        ("\"users.a.flows\" = []", "the list of values is empty"),
        ("users.a.flows = [1]", "put the dotted key in quotes"),
        ("\"sweep.x\" = [1]", "a sweep cannot change itself"),
    ] {
        let messages = messages(&format!("{BASE}[sweep]\n{axis}\n"));
        assert!(messages.iter().any(|message| message.contains(want)), "{axis}: {messages:#?}");
        assert!(messages[0].starts_with("line 10"), "{messages:?}");
    }
}

#[test]
fn sweeps_name_what_is_there_or_say_add() {
    for (axis, want) in [
        ("\"users.aa.flows\" = [1]", "there is no group \"aa\"; groups are a; \"add\" brings in"),
        ("\"add users.a.flows\" = [1]", "there is a group \"a\" already; remove \"add\""),
        ("\"add users.b.flows\" = [1, 0]", "with 0: 0 is out of range"),
    ] {
        let messages = messages(&format!("{BASE}[sweep]\n{axis}\n"));
        assert!(messages[0].contains(want), "{axis}: {messages:#?}");
        assert!(messages[0].starts_with("line 10"), "{messages:?}");
    }
    let swept = format!("{BASE}[sweep]\n\"add users.b.flows\" = [1, 5]\n");
    let points = Scenario::parse(&swept, &[]).expect("valid").points();
    let flows = |point: &[(String, String)]| {
        Scenario::parse(&swept, point).expect("valid").plan().flows.len()
    };
    assert_eq!(points.iter().map(|point| flows(point)).collect::<Vec<_>>(), [3, 7]);
}

#[test]
fn every_variant_is_checked_like_the_file_and_found_in_its_lines() {
    let text = format!(
        "{BASE}[variants.one]\nbottleneck.rat = \"1 Mb/s\"\nusers.b.flows = 2\n\
         [variants.two]\nsweep.x = [1]\n\"users.a.flos\" = 1\n"
    );
    let messages = messages(&text);
    for want in [
        "line 10: variants.one.bottleneck.rat: unknown key",
        "line 11: variants.one.users.b.flows: there is no group \"b\"",
        "variants.two.sweep.x: a variant changes neither variants nor the sweep",
        "variants.two.users.a.flos: unknown key",
    ] {
        assert!(messages.iter().any(|message| message.contains(want)), "{want}: {messages:#?}");
    }
    let named = format!("{BASE}[variants.\"a b\"]\nbottleneck.rate = \"1 Mb/s\"\n");
    assert!(self::messages(&named)[0].contains("a name has letters, digits"));
}

#[test]
fn a_scheduler_takes_the_place_of_the_signals_in_the_file_alone() {
    let signals = "[bottleneck]\naqm = \"codel\"\ndifferentiation = \"abc\"";
    let text = BASE.replace("[bottleneck]", signals);
    let drr = |more: &[(&str, &str)]| {
        let given = [("bottleneck.scheduler", "drr")].iter().chain(more);
        let given: Vec<_> = given.map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        Scenario::parse(&text, &given)
    };
    assert!(drr(&[]).is_ok(), "{:?}", drr(&[]));
    let issues = drr(&[("bottleneck.aqm", "pie")]).expect_err("another override has it");
    assert!(issues[0].message.contains("only with the scheduler"), "{issues:?}");
}
