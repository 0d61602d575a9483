//! Lexer of scripts. The words are those of packetdrill's lexer, except for the flags of a packet and for addresses,
//! whose characters the parser reads from the text ([`Token::from`], [`Token::to`]).
//!
//! ```text
//! +.1~+.105  <  SEW  1:1001(1000)  `a command`  %{ code }%  "text"  ...  --option  // comment
//! ```

use crate::error::ScriptError;

/// One word and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Kind of the word.
    pub kind: TokenKind,
    /// Line, from 1.
    pub line: usize,
    /// Offset of its first byte in the text.
    pub from: usize,
    /// Offset of the byte after its last.
    pub to: usize,
}

/// Kind of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// Digits, a hexadecimal number, or digits with a point, as written.
    Number(String),
    /// A name; may begin with a digit, as cookies do.
    Word(String),
    /// Text in quotes, without them.
    Text(String),
    /// Shell commands.
    Command(String),
    /// Python code.
    Code(String),
    /// `...`
    Ellipsis,
    /// `--name`
    Option(String),
    /// Any other character.
    Sign(char),
}

/// Splits a script into words.
///
/// # Errors
///
/// Fails on the first quote, command, code or comment without an end.
pub fn tokens(text: &str) -> Result<Vec<Token>, ScriptError> {
    let mut lexer = Lexer { text, at: 0, line: 1 };
    let mut tokens = Vec::new();
    while let Some(token) = lexer.next()? {
        tokens.push(token);
    }
    Ok(tokens)
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn next(&mut self) -> Result<Option<Token>, ScriptError> {
        self.skip_space_and_comments()?;
        let (from, line) = (self.at, self.line);
        let Some(first) = self.rest().chars().next() else { return Ok(None) };
        let kind = match first {
            '`' => TokenKind::Command(self.enclosed("`", "`", "command")?),
            '"' => TokenKind::Text(self.enclosed("\"", "\"", "text")?),
            '%' if self.rest().starts_with("%{") => {
                TokenKind::Code(self.enclosed("%{", "}%", "code")?)
            }
            '.' if self.rest().starts_with("...") => {
                self.at += 3;
                TokenKind::Ellipsis
            }
            '-' if self.rest().starts_with("--") => {
                self.at += 2;
                TokenKind::Option(self.take_while(is_word))
            }
            _ if self.starts_number() => self.number(),
            _ if is_word(first) => TokenKind::Word(self.take_while(is_word)),
            _ => {
                self.at += first.len_utf8();
                TokenKind::Sign(first)
            }
        };
        Ok(Some(Token { kind, line, from, to: self.at }))
    }

    fn skip_space_and_comments(&mut self) -> Result<(), ScriptError> {
        loop {
            let rest = self.rest();
            if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                self.enclosed("/*", "*/", "comment")?;
            } else if let Some(space) = rest.chars().next().filter(|c| c.is_whitespace()) {
                if space == '\n' {
                    self.line += 1;
                }
                self.at += space.len_utf8();
            } else {
                return Ok(());
            }
        }
    }

    /// Returns the text between `open`, which comes next, and `close`; a backslash escapes a quote.
    fn enclosed(&mut self, open: &str, close: &str, what: &str) -> Result<String, ScriptError> {
        let start = self.at + open.len();
        let mut end = start;
        while !self.text[end..].starts_with(close) {
            let mut chars = self.text[end..].chars();
            let Some(c) = chars.next() else {
                return Err(ScriptError::new(
                    self.line,
                    format!("this {what} has no end; close it with {close}"),
                ));
            };
            end += c.len_utf8();
            if c == '\\' && close.len() == 1 {
                end += chars.next().map_or(0, char::len_utf8);
            }
        }
        let inside = self.text[start..end].to_owned();
        self.line += inside.matches('\n').count();
        self.at = end + close.len();
        Ok(inside)
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> String {
        let rest = self.rest();
        let len = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        let taken = rest[..len].to_owned();
        self.at += len;
        taken
    }

    fn starts_number(&self) -> bool {
        let mut chars = self.rest().chars();
        match chars.next() {
            Some('.') => chars.next().is_some_and(|c| c.is_ascii_digit()),
            first => first.is_some_and(|c| c.is_ascii_digit()),
        }
    }

    /// Lexes a number: `12`, `0x1f`, `.5`, `1.5`; `0...0.5` begins with `0`, and `12ab` is a word.
    fn number(&mut self) -> TokenKind {
        let start = self.at;
        let word = self.take_while(is_word);
        let hexadecimal = word.strip_prefix("0x").is_some_and(|digits| {
            !digits.is_empty() && digits.chars().all(|c| c.is_ascii_hexdigit())
        });
        if !hexadecimal && !word.chars().all(|c| c.is_ascii_digit()) {
            return TokenKind::Word(word);
        }
        let point = !hexadecimal && self.rest().starts_with('.');
        if point && self.rest()[1..].starts_with(|c: char| c.is_ascii_digit()) {
            self.at += 1;
            self.take_while(|c| c.is_ascii_digit());
        }
        TokenKind::Number(self.text[start..self.at].to_owned())
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<TokenKind> {
        tokens(text).expect("lexes").into_iter().map(|token| token.kind).collect()
    }

    fn number(text: &str) -> TokenKind {
        TokenKind::Number(text.to_owned())
    }

    #[test]
    fn times_may_begin_with_a_point_and_be_followed_by_an_ellipsis() {
        assert_eq!(
            kinds("+.1~+.105"),
            [
                TokenKind::Sign('+'),
                number(".1"),
                TokenKind::Sign('~'),
                TokenKind::Sign('+'),
                number(".105"),
            ]
        );
        assert_eq!(kinds("0...0.010"), [number("0"), TokenKind::Ellipsis, number("0.010")]);
    }

    #[test]
    fn commands_code_and_comments_span_lines_and_lines_are_counted() {
        let found = tokens("`a\nb` %{ c\n}% // d\n/* e\n */ f").expect("lexes");
        let lines: Vec<_> = found.iter().map(|token| token.line).collect();
        assert_eq!(lines, [1, 2, 5]);
        assert_eq!(found[0].kind, TokenKind::Command("a\nb".to_owned()));
        assert_eq!(found[1].kind, TokenKind::Code(" c\n".to_owned()));
    }

    #[test]
    fn a_word_may_begin_with_a_digit_and_a_number_may_be_hexadecimal() {
        assert_eq!(kinds("0x1f 12ab"), [number("0x1f"), TokenKind::Word("12ab".to_owned())]);
    }

    #[test]
    fn an_unterminated_token_is_reported_with_its_line() {
        let error = tokens("a\n`sysctl").unwrap_err();
        assert_eq!(error.to_string(), "line 2: this command has no end; close it with `");
    }
}
