//! Lints: valid, but probably not intended.

use tidegate_scenario::{Diagnostic, Scenario};

use super::{BASE, with};

fn warnings(text: &str) -> Vec<String> {
    let scenario = Scenario::parse(text, &[]).unwrap_or_else(|issues| panic!("{issues:#?}"));
    scenario.warnings().iter().map(Diagnostic::to_string).collect()
}

#[test]
fn what_is_hardly_meant_is_valid_with_a_warning() {
    assert!(warnings(BASE).is_empty());
    for (section, line, want) in [
        (
            "bottleneck",
            "delay = \"1000000000 s\"",
            "line 8: users.a: its first data cannot arrive before 3000000000.",
        ),
        ("bottleneck", "rate = \"1 b/s\"", "line 7: users.a: its first data cannot arrive"),
        ("access", "delay = \"20 s\"", "by the delays and rates of its path; the measurement ends"),
        (
            "bottleneck",
            "differentiation = { kind = \"abc\" }\naqm = { kind = \"pie\" }",
            "line 4: bottleneck.differentiation: abc acts on what meters have measured, and no group",
        ),
    ] {
        let found = warnings(&with(section, line));
        assert!(found.len() == 1 && found[0].contains(want), "{line}: {found:#?}");
    }
    let metered =
        with("bottleneck", "differentiation = { kind = \"abc\" }\naqm = { kind = \"pie\" }")
            + "[users.b]\nmeter = { reference_rate = \"1 Mb/s\" }\n";
    let found = warnings(&metered);
    assert!(found.len() == 1 && found[0].contains("users.a: has no meter"), "{found:#?}");
    let slow = with("", "duration = \"2 s\"") + "traffic = { kind = \"cbr\", rate = \"1 Mb/s\" }\n";
    assert!(warnings(&slow).is_empty(), "a constant rate needs no handshake");
}

#[test]
fn reports_without_receiver_or_path_are_warned_of() {
    let reporter = "egress = [{ kind = \"congestion-reporter\" }]";
    let found = warnings(&with("users.a", reporter));
    let want = "line 7: users.a: the congestion-reporter reports to a mark-counter, and there is none earlier on their path, so that it reports nothing";
    assert_eq!(found, [want]);
    let counter = "ingress = [{ kind = \"mark-counter\" }]\n";
    assert!(warnings(&with("users.a", &format!("{counter}{reporter}"))).is_empty());
    let link = |name: &str, from: &str, to: &str| {
        format!(
            "[links.{name}]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"1 Mb/s\"\nduplex = false\n"
        )
    };
    let links = [link("ab", "a", "b"), link("bc", "b", "c"), link("ca", "c", "a")].concat();
    let middle = "\"b\"\nto = \"c\"\n";
    let links = links.replace(middle, &format!("{middle}{counter}"));
    let text = format!("version = 1\n{links}[users.x]\nfrom = \"a\"\nto = \"c\"\n{reporter}\n");
    let found = warnings(&text);
    assert!(
        found.len() == 1 && found[0].contains("does not lead from the one to the other"),
        "{found:?}"
    );
}
