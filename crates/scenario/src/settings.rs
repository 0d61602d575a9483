//! Files of settings of other programs: declared with [`parameters!`](tidegate_mechanisms::parameters), and read,
//! checked and reported as scenario files are.

use std::fmt::Write;

use tidegate_mechanisms::parameters::{DefaultValue, Form, Kind, Parameter, Parameters};
use tidegate_mechanisms::units::Rate;

use crate::document::Value;
use crate::field::Reader;
use crate::issue::Diagnostic;
use crate::parameter::{self, Overlay};
use crate::quantity::RATE;
use crate::{Found, locate, prepare, toml_text};

/// Width of a comment, in characters.
const COMMENT_WIDTH: usize = 100;

/// Reads a file with its overrides: a dotted key and the text of its value, as for a scenario.
///
/// # Errors
/// All errors, in the order of the file.
pub fn read<P: Parameters>(
    text: &str,
    overrides: &[(String, String)],
) -> Result<P, Vec<Diagnostic>> {
    let document = prepare(text, overrides)?;
    let mut reader = Reader::default();
    let keys: Vec<_> = P::ALL.iter().map(|parameter| parameter.name).collect();
    reader.keys(&document, &keys, P::RETIRED);
    let overlay = Overlay::read(P::ALL, &document, &mut reader);
    let values = overlay.values(P::ALL, |all| P::from_values(all).errors(), &mut reader);
    match values {
        Some(values) if reader.errors.is_empty() => Ok(P::from_values(values)),
        _ => {
            let found = Found { errors: reader.errors, omitted: reader.omitted };
            Err(locate(found, &document, text))
        }
    }
}

/// Reads a rate with its unit, such as "10 Mb/s", as a file of settings has it.
///
/// # Errors
/// What is wrong with it, and what to write.
pub fn rate(text: &str) -> Result<Rate, String> {
    let parsed = RATE.parse(text).map_err(|(message, suggestion)| match suggestion {
        Some(suggestion) => format!("{message}; did you mean \"{suggestion}\"?"),
        None => message,
    });
    parsed.map(Rate::from_bps)
}

/// A file to start from: each key with its default and what it means. What has no default is commented out.
pub fn template<P: Parameters>() -> String {
    let mut text = String::new();
    comment(P::ABOUT, &mut text);
    let is_table = |parameter: &&Parameter| matches!(parameter.kind, Kind::Nested(_));
    for parameter in P::ALL.iter().filter(|parameter| !is_table(parameter)) {
        entry(parameter, &mut text);
    }
    for parameter in P::ALL.iter().filter(is_table) {
        let Kind::Nested(Form { parameters, .. }) = parameter.kind else { unreachable!("a table") };
        text.push('\n');
        comment(parameter.meaning, &mut text);
        writeln!(text, "[{}]", parameter.name).expect("strings take everything");
        for own in parameters {
            entry(own, &mut text);
        }
    }
    text
}

fn entry(parameter: &Parameter, text: &mut String) {
    text.push('\n');
    let unit = match parameter.kind {
        Kind::Text | Kind::Flag => String::new(),
        Kind::Word(_) | Kind::Choice(_) => format!(" One of: {}.", parameter.unit_or_words()),
        kind if kind.unit() == "1" => String::new(),
        kind => format!(" [{}]", kind.unit()),
    };
    comment(&format!("{}{unit}", parameter.meaning.trim()), text);
    let line = match parameter.default {
        DefaultValue::Value(default) => {
            let value = parameter::default_value(parameter.kind, default);
            format!("{} = {}", parameter.name, toml_text::inline(&value))
        }
        _ => format!("# {} = {}", parameter.name, toml_text::inline(&Value::from(""))),
    };
    writeln!(text, "{line}").expect("strings take everything");
}

fn comment(words: &str, text: &mut String) {
    let mut line = "#".to_owned();
    for word in words.split_whitespace() {
        if line.chars().count() + 1 + word.chars().count() > COMMENT_WIDTH {
            writeln!(text, "{line}").expect("strings take everything");
            line = "#".to_owned();
        }
        line.push(' ');
        line.push_str(word);
    }
    writeln!(text, "{line}").expect("strings take everything");
}

#[cfg(test)]
mod tests {
    use tidegate_mechanisms::bottleneck::abc::AbcParams;
    use tidegate_mechanisms::parameters;
    use tidegate_mechanisms::parameters::Nested;
    use tidegate_mechanisms::units::{Rate, Span};

    use super::*;

    parameters! {
        /// Settings of a test.
        pub struct Settings {
            /// Name of a device.
            pub device: Option<String>,
            /// How fast it is.
            pub rate: Rate = "10 Mb/s",
            /// How long it waits.
            pub wait: Span = "5 ms",
            /// Who is hit.
            pub abc: Nested<AbcParams>,
        }
        check no_wait;
    }

    fn no_wait(settings: &Settings) -> Option<parameters::ParameterError> {
        (settings.wait == Span::ZERO).then(|| ("wait", "must be longer than 0 s".to_owned()))
    }

    fn errors(text: &str) -> Vec<String> {
        let errors = read::<Settings>(text, &[]).expect_err("it has errors");
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_file_and_its_overrides_are_read() {
        let overrides = [("abc.gamma".to_owned(), "2.0".to_owned())];
        let settings: Settings = read("wait = \"16 ms\"", &overrides).expect("it is right");
        assert_eq!(settings.wait, Span::from_millis(16));
        assert_eq!(settings.rate, Rate::mbps(10));
        assert_eq!(settings.abc.gamma.0, 2.0);
        assert_eq!(settings.device, None);
    }

    #[test]
    fn all_errors_are_reported_with_line_and_suggestion() {
        let all = errors("rat = \"1 Mb/s\"\nwait = \"0 s\"\n[abc]\ngamma = \"high\"\n");
        assert_eq!(all.len(), 3, "{all:?}");
        assert!(all[0].starts_with("line 1: rat: unknown key"), "{}", all[0]);
        assert!(all[0].ends_with("did you mean \"rate\"?"), "{}", all[0]);
        assert!(all[1].starts_with("line 2: wait: must be longer"), "{}", all[1]);
        assert!(all[2].starts_with("line 4: abc.gamma: "), "{}", all[2]);
    }

    #[test]
    fn the_template_is_a_file_with_all_defaults() {
        let text = template::<Settings>();
        let read: Settings = super::read(&text, &[]).expect("it is right");
        assert_eq!(read, super::read("", &[]).expect("it is right"));
        assert!(text.contains("# How fast it is. [bit/s]\nrate = \"10 Mb/s\"\n"), "{text}");
        assert!(text.contains("\n[abc]\n"), "{text}");
    }
}
