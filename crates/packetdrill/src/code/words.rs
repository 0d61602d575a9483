//! Lexer of Python statements.

use super::Failure;

/// One word.
#[derive(Clone, Debug, PartialEq)]
pub enum Word {
    Name(String),
    Number(i64),
    Text(String),
    Sign(&'static str),
}

/// Operators and punctuation, longest first.
const SIGNS: [&str; 27] = [
    "==", "!=", "<=", ">=", "+=", "-=", "*=", "//", "<<", ">>", "(", ")", "<", ">", "=", "+", "-",
    "*", "/", "%", "&", "|", "^", "~", ",", "[", "]",
];

/// Splits the text into statements, each with its line, from 0. A statement ends with a line or a semicolon, except
/// within parentheses or after a backslash.
pub fn statements(text: &str) -> Result<Vec<(usize, Vec<Word>)>, Failure> {
    let mut statements = vec![(0, Vec::new())];
    let (mut line, mut open) = (0, 0_i32);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let ends = (c == '\n' && open <= 0) || c == ';';
        if c == '\n' {
            line += 1;
        }
        if ends {
            statements.push((line, Vec::new()));
        }
        if c == '#' {
            rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
            continue;
        }
        if let Some(after) = rest.strip_prefix("\\\n") {
            line += 1;
            rest = after;
            continue;
        }
        if ends || c.is_whitespace() {
            rest = &rest[c.len_utf8()..];
            continue;
        }
        let (word, after) = word(rest, line)?;
        open += match word {
            Word::Sign("(" | "[") => 1,
            Word::Sign(")" | "]") => -1,
            _ => 0,
        };
        let statement = statements.last_mut().expect("begins with one");
        if statement.1.is_empty() {
            statement.0 = line;
        }
        statement.1.push(word);
        rest = after;
    }
    statements.retain(|(_, words)| !words.is_empty());
    Ok(statements)
}

fn word(text: &str, line: usize) -> Result<(Word, &str), Failure> {
    let first = text.chars().next().unwrap_or(' ');
    if let Some(sign) = SIGNS.into_iter().find(|sign| text.starts_with(sign)) {
        return Ok((Word::Sign(sign), &text[sign.len()..]));
    }
    if first == '"' || first == '\'' {
        return match text[1..].find(first) {
            Some(end) => Ok((Word::Text(text[1..=end].to_owned()), &text[end + 2..])),
            None => Err(Failure::beyond(line, "a text has no end")),
        };
    }
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let len = text.find(|c| !is_part(c)).unwrap_or(text.len());
    let (word, after) = text.split_at(len);
    if word.is_empty() {
        return Err(Failure::beyond(line, format!("no such sign: {first:?}")));
    }
    if !first.is_ascii_digit() {
        return Ok((Word::Name(word.to_owned()), after));
    }
    let number = match word.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16),
        None => word.parse(),
    };
    match number {
        Ok(number) if !after.starts_with('.') => Ok((Word::Number(number), after)),
        _ => Err(Failure::beyond(line, format!("not a whole number: {word}"))),
    }
}

/// Returns the words as conventionally formatted source text.
pub fn written(words: &[Word]) -> String {
    let mut text = String::new();
    for (i, word) in words.iter().enumerate() {
        let tight = match (i.checked_sub(1).map(|before| &words[before]), word) {
            (None | Some(Word::Sign("(" | "~")), _) | (_, Word::Sign(")" | ",")) => true,
            (Some(Word::Name(name)), Word::Sign("(")) => !["and", "or", "not"].contains(&&name[..]),
            _ => false,
        };
        text += if tight { "" } else { " " };
        match word {
            Word::Name(name) => text += name,
            Word::Number(number) => text += &number.to_string(),
            Word::Text(inside) => text += &format!("'{inside}'"),
            Word::Sign(sign) => text += sign,
        }
    }
    text
}
