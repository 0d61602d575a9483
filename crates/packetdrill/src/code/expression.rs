//! Integer expressions.
//!
//! ```text
//! or          x or y                      and         x and y          not    not x
//! comparison  x == y, 1 <= x <= 2         bits        x | y, x ^ y, x & y, x << y
//! sum         x + y, x - y                product     x * y, x // y, x % y, text % anything
//! sign        -x, ~x                      primary     1, name, text, (x), (x, y), f(x, y)
//! ```

use std::fmt;

use super::words::Word;

/// Value of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// An integer; 1 for true, 0 for false.
    Number(i64),
    /// Text, used for messages only.
    Text(String),
}

impl Value {
    /// Whether the value counts as true.
    pub fn holds(&self) -> bool {
        match self {
            Value::Number(number) => *number != 0,
            Value::Text(text) => !text.is_empty(),
        }
    }

    fn number(self) -> Result<i64, String> {
        match self {
            Value::Number(number) => Ok(number),
            Value::Text(text) => Err(format!("{text:?} is no number")),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(number) => write!(f, "{number}"),
            Value::Text(text) => f.write_str(text),
        }
    }
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    Value(Value),
    Name(String),
    Not(Box<Expression>),
    Two(&'static str, Box<Expression>, Box<Expression>),
    /// `a < b <= c`
    Chain(Box<Expression>, Vec<(&'static str, Expression)>),
    Call(String, Vec<Expression>),
}

/// Binary operators by precedence, lowest first.
const LEVELS: [&[&str]; 6] =
    [&["|"], &["^"], &["&"], &["<<", ">>"], &["+", "-"], &["*", "/", "//", "%"]];
const COMPARISONS: [&str; 6] = ["==", "!=", "<=", ">=", "<", ">"];
/// Maximum nesting depth of expressions.
const DEEPEST: usize = 64;

impl Expression {
    /// Returns the expression assigned by `name = value`, `name += value` and so on.
    pub fn updated(name: &str, operator: &'static str, value: Expression) -> Self {
        let sign = match operator {
            "+=" => "+",
            "-=" => "-",
            "*=" => "*",
            _ => return value,
        };
        Expression::Two(sign, Box::new(Expression::Name(name.to_owned())), Box::new(value))
    }

    /// Calls `found` for each name in the expression.
    pub fn names<'a>(&'a self, found: &mut impl FnMut(&'a str)) {
        match self {
            Expression::Value(_) => {}
            Expression::Name(name) => found(name),
            Expression::Not(inner) => inner.names(found),
            Expression::Two(_, left, right) => {
                left.names(found);
                right.names(found);
            }
            Expression::Chain(first, rest) => {
                first.names(found);
                rest.iter().for_each(|(_, expression)| expression.names(found));
            }
            Expression::Call(_, args) => args.iter().for_each(|arg| arg.names(found)),
        }
    }

    /// Evaluates the expression.
    ///
    /// # Errors
    ///
    /// Fails on an undefined name, and on arithmetic without a result.
    pub fn value(&self, find: &impl Fn(&str) -> Option<Value>) -> Result<Value, String> {
        let truth = |holds: bool| Ok(Value::Number(i64::from(holds)));
        match self {
            Expression::Value(value) => Ok(value.clone()),
            Expression::Name(name) => find(name).ok_or(format!("{name} is not known here")),
            Expression::Not(inner) => truth(!inner.value(find)?.holds()),
            Expression::Two("and", left, right) => {
                let left = left.value(find)?;
                if left.holds() { right.value(find) } else { Ok(left) }
            }
            Expression::Two("or", left, right) => {
                let left = left.value(find)?;
                if left.holds() { Ok(left) } else { right.value(find) }
            }
            Expression::Two(sign, left, right) => {
                let (left, right) = (left.value(find)?, right.value(find)?);
                if let (Value::Text(text), "%") = (&left, *sign) {
                    return Ok(Value::Text(text.clone()));
                }
                arithmetic(sign, left.number()?, right.number()?).map(Value::Number)
            }
            Expression::Chain(first, rest) => {
                let mut left = first.value(find)?.number()?;
                for (sign, expression) in rest {
                    let right = expression.value(find)?.number()?;
                    if !compare(sign, left, right) {
                        return truth(false);
                    }
                    left = right;
                }
                truth(true)
            }
            Expression::Call(name, args) => {
                let args: Result<Vec<i64>, String> =
                    args.iter().map(|arg| arg.value(find)?.number()).collect();
                let args = args?;
                let result = match name.as_str() {
                    "abs" => args.first().and_then(|n| n.checked_abs()),
                    "min" => args.iter().min().copied(),
                    "max" => args.iter().max().copied(),
                    _ => return Err(format!("no function {name} here")),
                };
                result.map(Value::Number).ok_or(format!("{name} has no result here"))
            }
        }
    }
}

fn compare(sign: &str, left: i64, right: i64) -> bool {
    match sign {
        "==" => left == right,
        "!=" => left != right,
        "<=" => left <= right,
        ">=" => left >= right,
        "<" => left < right,
        _ => left > right,
    }
}

fn arithmetic(sign: &str, left: i64, right: i64) -> Result<i64, String> {
    if right == 0 && matches!(sign, "/" | "//" | "%") {
        return Err("a division by zero".to_owned());
    }
    let shift = u32::try_from(right).unwrap_or(u32::MAX);
    let result = match sign {
        "|" => Some(left | right),
        "^" => Some(left ^ right),
        "&" => Some(left & right),
        "<<" => 1_i64.checked_shl(shift).and_then(|factor| left.checked_mul(factor)),
        ">>" => left.checked_shr(shift),
        "+" => left.checked_add(right),
        "-" => left.checked_sub(right),
        "*" => left.checked_mul(right),
        "%" => left.checked_rem_euclid(right),
        _ => left.checked_div_euclid(right),
    };
    result.ok_or_else(|| format!("{left} {sign} {right} is too large"))
}

/// Parser of expressions from words.
pub struct Reader<'a> {
    words: &'a [Word],
    depth: usize,
}

impl<'a> Reader<'a> {
    pub fn new(words: &'a [Word]) -> Self {
        Reader { words, depth: 0 }
    }

    /// Returns the number of words not yet read.
    pub fn left(&self) -> usize {
        self.words.len()
    }

    pub fn end(&self) -> Result<(), String> {
        match self.words {
            [] => Ok(()),
            more => Err(format!("more than an assertion: {}", super::words::written(more))),
        }
    }

    pub fn sign(&mut self, sign: &str) -> Result<(), String> {
        if self.take(|word| matches!(word, Word::Sign(found) if *found == sign)).is_some() {
            return Ok(());
        }
        let found =
            self.words.first().map(|word| super::words::written(std::slice::from_ref(word)));
        Err(format!("expected {sign:?}, found {}", found.unwrap_or("the end".to_owned())))
    }

    pub fn expression(&mut self) -> Result<Expression, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("too many expressions within each other".to_owned());
        }
        let result = self.disjunction();
        self.depth -= 1;
        result
    }

    fn take(&mut self, wanted: impl Fn(&Word) -> bool) -> Option<&'a Word> {
        let (first, rest) = self.words.split_first()?;
        if !wanted(first) {
            return None;
        }
        self.words = rest;
        Some(first)
    }

    fn take_sign(&mut self, among: &[&'static str]) -> Option<&'static str> {
        match self.take(|word| matches!(word, Word::Sign(sign) if among.contains(sign)))? {
            Word::Sign(sign) => Some(sign),
            _ => None,
        }
    }

    fn take_name(&mut self, name: &str) -> bool {
        self.take(|word| matches!(word, Word::Name(found) if found == name)).is_some()
    }

    fn disjunction(&mut self) -> Result<Expression, String> {
        let mut left = self.conjunction()?;
        while self.take_name("or") {
            left = Expression::Two("or", Box::new(left), Box::new(self.conjunction()?));
        }
        Ok(left)
    }

    fn conjunction(&mut self) -> Result<Expression, String> {
        let mut left = self.negation()?;
        while self.take_name("and") {
            left = Expression::Two("and", Box::new(left), Box::new(self.negation()?));
        }
        Ok(left)
    }

    fn negation(&mut self) -> Result<Expression, String> {
        let mut negative = false;
        let mut any = false;
        while self.take_name("not") {
            (negative, any) = (!negative, true);
        }
        let inner = self.comparison()?;
        Ok(match (any, negative) {
            (false, _) => inner,
            (true, true) => Expression::Not(Box::new(inner)),
            (true, false) => Expression::Not(Box::new(Expression::Not(Box::new(inner)))),
        })
    }

    fn comparison(&mut self) -> Result<Expression, String> {
        let first = self.binary(0)?;
        let mut rest = Vec::new();
        while let Some(sign) = self.take_sign(&COMPARISONS) {
            rest.push((sign, self.binary(0)?));
        }
        Ok(if rest.is_empty() { first } else { Expression::Chain(Box::new(first), rest) })
    }

    fn binary(&mut self, level: usize) -> Result<Expression, String> {
        let Some(signs) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        while let Some(sign) = self.take_sign(signs) {
            left = Expression::Two(sign, Box::new(left), Box::new(self.binary(level + 1)?));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expression, String> {
        let mut signs = Vec::new();
        while let Some(sign) = self.take_sign(&["-", "~"]) {
            signs.push(sign);
            if signs.len() > DEEPEST {
                return Err("too many signs".to_owned());
            }
        }
        let mut inner = self.primary()?;
        for sign in signs.into_iter().rev() {
            let with = if sign == "-" { 0 } else { -1 };
            let with = Box::new(Expression::Value(Value::Number(with)));
            inner = Expression::Two(if sign == "-" { "-" } else { "^" }, with, Box::new(inner));
        }
        Ok(inner)
    }

    fn primary(&mut self) -> Result<Expression, String> {
        let Some((first, rest)) = self.words.split_first() else {
            return Err("an expression ends too early".to_owned());
        };
        self.words = rest;
        match first {
            Word::Number(number) => Ok(Expression::Value(Value::Number(*number))),
            Word::Text(text) => Ok(Expression::Value(Value::Text(text.clone()))),
            Word::Name(name) if name == "True" || name == "False" => {
                Ok(Expression::Value(Value::Number(i64::from(name == "True"))))
            }
            Word::Name(name) if self.take_sign(&["("]).is_some() => {
                Ok(Expression::Call(name.clone(), self.arguments()?))
            }
            Word::Name(name) => Ok(Expression::Name(name.clone())),
            Word::Sign("(") => {
                let mut inside = self.arguments()?;
                match (inside.len(), inside.pop()) {
                    (1, Some(only)) => Ok(only),
                    // A tuple, used for messages only.
                    _ => Ok(Expression::Value(Value::Text("...".to_owned()))),
                }
            }
            Word::Sign(sign) => Err(format!("expected a number or a name, found {sign:?}")),
        }
    }

    /// Parses arguments after an opening parenthesis, up to the closing one.
    fn arguments(&mut self) -> Result<Vec<Expression>, String> {
        let mut arguments = Vec::new();
        while self.take_sign(&[")"]).is_none() {
            arguments.push(self.expression()?);
            if !matches!(self.words.first(), Some(Word::Sign(")"))) {
                self.sign(",")?;
            }
        }
        Ok(arguments)
    }
}
