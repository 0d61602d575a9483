//! Parser of scripts: packetdrill's language as in its `syntax.md`, limited to a single TCP connection. Events other
//! than TCP packets are parsed as [`Action::Foreign`], so that they are distinct from errors.

mod call;
mod packet;

use crate::error::ScriptError;
use crate::lexer::{Token, TokenKind, tokens};
use crate::script::{Action, Event, Script, Setting, When};

/// Microseconds per second; times in scripts are in seconds, here in microseconds.
const SECOND_US: f64 = 1e6;
/// Maximum time of an event, one hour, in microseconds.
const LONGEST_US: f64 = 3.6e9;

/// Parses a script.
///
/// # Errors
///
/// Fails on the first violation of the grammar: its line, the word found and the expected one.
pub fn parse(text: &str) -> Result<Script, ScriptError> {
    let tokens = tokens(text)?;
    let mut parser = Parser { text, tokens: &tokens, at: 0 };
    let mut script = Script::default();
    while let Some(option) = parser.option()? {
        script.options.push(option);
    }
    while let Some(line) = parser.peek().map(|token| token.line) {
        let (line, when) = match parser.kind() {
            Some(TokenKind::Command(_)) => (line, When::After(0)),
            _ => parser.when()?,
        };
        let action = parser.action()?;
        if let (Action::Call(call), When::At(start) | When::After(start)) = (&action, when)
            && call.blocks_until.is_some_and(|end| end < start)
        {
            return Err(ScriptError::new(line, "this call ends before it begins"));
        }
        script.events.push(Event { line, when, action });
    }
    Ok(script)
}

pub(crate) struct Parser<'a> {
    text: &'a str,
    tokens: &'a [Token],
    at: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&'a Token> {
        self.tokens.get(self.at)
    }

    fn kind(&self) -> Option<&'a TokenKind> {
        self.peek().map(|token| &token.kind)
    }

    fn next(&mut self) -> Option<&'a Token> {
        let token = self.tokens.get(self.at);
        self.at += usize::from(token.is_some());
        token
    }

    /// Returns the line of the next word, or of the last.
    fn line(&self) -> usize {
        self.peek().or(self.tokens.last()).map_or(1, |token| token.line)
    }

    fn found(&self) -> String {
        match self.peek() {
            None => "the end of the script".to_owned(),
            Some(token) => {
                let word: String = self.text[token.from..token.to].chars().take(40).collect();
                format!("{word:?}")
            }
        }
    }

    fn expected<T>(&self, what: &str) -> Result<T, ScriptError> {
        Err(ScriptError::new(self.line(), format!("expected {what}, found {}", self.found())))
    }

    fn has_sign(&self, sign: char) -> bool {
        self.kind() == Some(&TokenKind::Sign(sign))
    }

    fn take_sign(&mut self, sign: char) -> bool {
        let found = self.has_sign(sign);
        self.at += usize::from(found);
        found
    }

    fn sign(&mut self, sign: char) -> Result<(), ScriptError> {
        if self.take_sign(sign) { Ok(()) } else { self.expected(&format!("{sign:?}")) }
    }

    fn has_word(&self, word: &str) -> bool {
        matches!(self.kind(), Some(TokenKind::Word(found)) if found == word)
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = self.has_word(word);
        self.at += usize::from(found);
        found
    }

    /// Parses an integer within the range of its type.
    fn number<T: TryFrom<i64>>(&mut self, what: &str) -> Result<T, ScriptError> {
        let value = match self.kind() {
            Some(TokenKind::Number(digits)) => whole(digits),
            _ => None,
        };
        match value.and_then(|value| T::try_from(value).ok()) {
            Some(value) => {
                self.at += 1;
                Ok(value)
            }
            None => self.expected(what),
        }
    }

    /// Takes all characters up to the next space, and the words that they form.
    fn run_of_characters(&mut self) -> &'a str {
        let Some(first) = self.next() else { return "" };
        let mut to = first.to;
        while let Some(token) = self.peek().filter(|token| token.from == to) {
            to = token.to;
            self.at += 1;
        }
        &self.text[first.from..to]
    }

    /// Skips the rest of the line.
    fn skip_line(&mut self, line: usize) {
        while self.peek().is_some_and(|token| token.line == line) {
            self.at += 1;
        }
    }

    fn option(&mut self) -> Result<Option<Setting>, ScriptError> {
        let Some(Token { kind: TokenKind::Option(name), line, .. }) = self.peek() else {
            return Ok(None);
        };
        self.at += 1;
        let mut value = "";
        if self.take_sign('=') {
            if self.peek().is_none_or(|token| token.line != *line) {
                return self.expected(&format!("a value of the option {name:?}"));
            }
            value = self.run_of_characters();
        }
        Ok(Some(Setting { line: *line, name: name.clone(), value: value.to_owned() }))
    }

    fn when(&mut self) -> Result<(usize, When), ScriptError> {
        let line = self.line();
        if self.take_sign('*') {
            return Ok((line, When::Any));
        }
        let relative = self.take_sign('+');
        let start = self.time()?;
        let range = self.take_sign('~');
        let end = if range {
            if relative {
                self.sign('+')?;
            }
            self.time()?
        } else {
            start
        };
        if end < start {
            return Err(ScriptError::new(line, "this range of times ends before it begins"));
        }
        Ok((
            line,
            match (relative, range) {
                (false, false) => When::At(start),
                (true, false) => When::After(start),
                (false, true) => When::Between(start, end),
                (true, true) => When::AfterBetween(start, end),
            },
        ))
    }

    /// Parses a time, in microseconds.
    fn time(&mut self) -> Result<u64, ScriptError> {
        let seconds = match self.kind() {
            Some(TokenKind::Number(digits)) => digits.parse::<f64>().ok(),
            _ => None,
        };
        match seconds.map(|s| (s * SECOND_US).round()).filter(|us| *us < LONGEST_US) {
            Some(us) => {
                self.at += 1;
                Ok(us as u64)
            }
            None => self.expected("a time such as +.1 or 0.5, in seconds, or *"),
        }
    }

    fn action(&mut self) -> Result<Action, ScriptError> {
        let Some(token) = self.peek() else {
            return self.expected("a packet, a system call, a command or code");
        };
        match &token.kind {
            TokenKind::Command(text) => {
                self.at += 1;
                Ok(Action::Command(text.clone()))
            }
            TokenKind::Code(text) => {
                self.at += 1;
                Ok(Action::Code(text.clone()))
            }
            TokenKind::Sign('<' | '>') => self.packet(),
            TokenKind::Word(_) | TokenKind::Ellipsis => self.call(),
            _ => self.expected("< or >, a system call, `a command` or %{ code }%"),
        }
    }
}

fn whole(digits: &str) -> Option<i64> {
    match digits.strip_prefix("0x") {
        Some(hexadecimal) => i64::from_str_radix(hexadecimal, 16).ok(),
        None => digits.parse().ok(),
    }
}

#[cfg(test)]
mod tests;
