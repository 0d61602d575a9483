//! The subset of Python used in scripts: assertions about the fields of `tcp_info`, and assignments of integers.
//!
//! ```text
//! assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd
//! assert 5000 <= tcpi_rtt <= 6000, 'srtt=%d us' % tcpi_rtt
//! assert (tcpi_options & TCPI_OPT_SYN_DATA) != 0
//! cwnd = 58; cwnd += 1; print(cwnd)
//! ```

mod expression;
mod words;

use std::collections::BTreeMap;

pub use expression::Value;
use expression::{Expression, Reader};
use words::Word;

/// Maximum number of words of a statement, which bounds the nesting depth.
const LONGEST: usize = 500;

/// A block of code.
#[derive(Clone, Debug, PartialEq)]
pub struct Code {
    statements: Vec<Statement>,
}

#[derive(Clone, Debug, PartialEq)]
struct Statement {
    /// Line within the block, from 0.
    line: usize,
    what: What,
}

#[derive(Clone, Debug, PartialEq)]
enum What {
    /// An assertion and its source text.
    Assert(Expression, String),
    Set(String, Expression),
    /// An expression statement without effect, such as `print(cwnd)`.
    Nothing,
}

/// Reason why a block ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Line within the block, from 0.
    pub line: usize,
    /// Error message.
    pub message: String,
    /// A name is undefined, or the code is outside the supported subset; no assertion has failed.
    pub beyond: bool,
}

impl Failure {
    fn beyond(line: usize, message: impl Into<String>) -> Self {
        Failure { line, message: message.into(), beyond: true }
    }
}

/// Values by name.
pub type Names = BTreeMap<String, Value>;

impl Code {
    /// Parses a block.
    ///
    /// # Errors
    ///
    /// Fails on the first statement that is neither an assertion nor an assignment.
    pub fn parse(text: &str) -> Result<Code, Failure> {
        let mut statements = Vec::new();
        for (line, words) in words::statements(text)? {
            statements.push(Statement { line, what: statement(line, &words)? });
        }
        Ok(Code { statements })
    }

    /// Returns the names that the block reads without setting them before.
    pub fn unknown_names<'a>(&'a self, known: &Names) -> Vec<&'a str> {
        let (mut set, mut unknown): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
        for statement in &self.statements {
            let expression = match &statement.what {
                What::Assert(expression, _) | What::Set(_, expression) => expression,
                What::Nothing => continue,
            };
            expression.names(&mut |name| {
                if !known.contains_key(name) && !set.contains(&name) {
                    unknown.push(name);
                }
            });
            if let What::Set(name, _) = &statement.what {
                set.push(name);
            }
        }
        unknown
    }

    /// Returns the names that the block sets.
    pub fn names_set(&self) -> impl Iterator<Item = &str> {
        self.statements.iter().filter_map(|statement| match &statement.what {
            What::Set(name, _) => Some(name.as_str()),
            What::Assert(..) | What::Nothing => None,
        })
    }

    /// Runs the block. Names that it sets are stored in `own`, which take precedence over `given`.
    ///
    /// # Errors
    ///
    /// Fails on the first assertion that does not hold.
    pub fn run(&self, own: &mut Names, given: &Names) -> Result<(), Failure> {
        for Statement { line, what } in &self.statements {
            let fail = |message: String, beyond| Failure { line: *line, message, beyond };
            let find = |name: &str, own: &Names| own.get(name).or(given.get(name)).cloned();
            match what {
                What::Nothing => {}
                What::Set(name, expression) => {
                    let value = expression.value(&|name| find(name, own));
                    own.insert(name.clone(), value.map_err(|message| fail(message, true))?);
                }
                What::Assert(expression, text) => {
                    let value = expression.value(&|name| find(name, own));
                    if !value.map_err(|message| fail(message, true))?.holds() {
                        let mut facts = Vec::new();
                        expression.names(&mut |name| {
                            let fact = find(name, own).map(|value| format!("{name} is {value}"));
                            facts.extend(fact.filter(|fact| !facts.contains(fact)));
                        });
                        let message = format!("expected {text}, but {}", facts.join(", "));
                        return Err(fail(message, false));
                    }
                }
            }
        }
        Ok(())
    }
}

fn statement(line: usize, words: &[Word]) -> Result<What, Failure> {
    let beyond = |message: String| Failure::beyond(line, message);
    if words.len() > LONGEST {
        return Err(beyond(format!("a statement of more than {LONGEST} words")));
    }
    if let [Word::Name(name), rest @ ..] = words
        && name == "assert"
    {
        let mut reader = Reader::new(rest);
        let expression = reader.expression().map_err(beyond)?;
        let read = rest.len() - reader.left();
        let text = words::written(&rest[..read]);
        if reader.left() > 0 {
            reader.sign(",").map_err(beyond)?;
            reader.expression().map_err(beyond)?;
            reader.end().map_err(beyond)?;
        }
        return Ok(What::Assert(expression, text));
    }
    if let [Word::Name(name), Word::Sign(sign), rest @ ..] = words
        && let Some(operator) = ["=", "+=", "-=", "*="].into_iter().find(|s| s == sign)
    {
        let mut reader = Reader::new(rest);
        let value = reader.expression().map_err(beyond)?;
        reader.end().map_err(beyond)?;
        return Ok(What::Set(name.clone(), Expression::updated(name, operator, value)));
    }
    let mut reader = Reader::new(words);
    reader.expression().map_err(beyond)?;
    reader.end().map_err(beyond)?;
    Ok(What::Nothing)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn given() -> Names {
        let pairs = [("tcpi_snd_cwnd", 10), ("tcpi_rtt", 5_500), ("tcpi_lost", 0), ("FLAG", 4)];
        pairs.into_iter().map(|(name, n)| (name.to_owned(), Value::Number(n))).collect()
    }

    fn run(text: &str) -> Result<(), String> {
        let code = Code::parse(text).map_err(|failure| failure.message)?;
        code.run(&mut Names::new(), &given()).map_err(|failure| failure.message)
    }

    #[test]
    fn assertions_compare_what_is_given() {
        for text in [
            "assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd",
            "assert 5000 <= tcpi_rtt <= 6000, 'srtt=%d us' % tcpi_rtt",
            "assert tcpi_lost == 0 and not tcpi_snd_cwnd != 0xa",
            "assert (tcpi_snd_cwnd & FLAG) == 0 or False, 'a %d b %d' % (tcpi_lost, tcpi_rtt)",
            "cwnd = 7; cwnd += 3; print(cwnd); assert cwnd == tcpi_snd_cwnd  # so it is",
            "\n assert min(tcpi_rtt, 3) * 2 - 1 == 5\n assert -tcpi_lost == 0",
        ] {
            assert_eq!(run(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn a_failure_says_what_was_expected_and_what_the_names_are() {
        assert_eq!(
            run("assert tcpi_snd_cwnd == 7 and tcpi_lost == 0, tcpi_snd_cwnd"),
            Err("expected tcpi_snd_cwnd == 7 and tcpi_lost == 0, but tcpi_snd_cwnd is 10, \
                 tcpi_lost is 0"
                .to_owned())
        );
    }

    #[test]
    fn code_beyond_assertions_is_reported() {
        let beyond = |text| Code::parse(text).expect_err("too much").beyond;
        assert!(beyond("import os"));
        assert!(beyond("for i in range(3): print(i)"));
        assert!(beyond("assert tcpi_lost =="));
        assert!(beyond("x = 'no end"));
    }

    #[test]
    fn unknown_names_are_found_before_anything_runs() {
        let code = Code::parse("a = 1; assert a == b, c").expect("assertions");
        assert_eq!(code.unknown_names(&given()), ["b"]);
        assert_eq!(code.names_set().collect::<Vec<_>>(), ["a"]);
    }

    #[test]
    fn arithmetic_that_has_no_result_is_reported() {
        assert!(run("assert tcpi_lost // 0").unwrap_err().contains("by zero"));
        assert!(run("assert 9223372036854775807 + 1").unwrap_err().contains("too large"));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[ -~\n]{0,120}") {
            let _ = run(&text);
        }

        #[test]
        fn no_sequence_of_words_makes_it_panic(
            words in prop::collection::vec(prop::sample::select(vec![
                "assert", "tcpi_lost", "==", "<=", "(", ")", "and", "not", "-", "1", "%", "//", "=",
                "'a%d'", ",", ";", "\n", "print", "min", "+=", "&", "7fffffff", "0x7fffffffffffffff",
            ]), 0..30)
        ) {
            let _ = run(&words.join(" "));
        }
    }
}
