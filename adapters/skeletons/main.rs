// A load balancer to be judged, built with `rustc --edition 2021 -O -o my-balancer main.rs`: fill in
// what you have, and name it in OPERATIONS. Standard output is for messages alone; print with
// eprintln!.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::panic::catch_unwind;

use Json::{Array, Null, Number, Object, Text};

const HASHES: u64 = 1 << 32;
const DEFAULT_BUNDLES: f64 = 4.0;

/// Returns the answer to one case; an Err, or a panic, fails only that case.
type Operation = fn(&Json) -> Result<Json, String>;

/// Instead of an answer, for one case: object([("refused", why)]) where the rules forbid the
/// request, object([("unsupported", why)]) where it isn't offered.
const OPERATIONS: &[(&str, Operation)] = &[("bundles.create", create)];

fn create(asked: &Json) -> Result<Json, String> {
    let number = match (&asked["bundles"], &asked["settings"]["defaultNumberOfNamespaceBundles"]) {
        (Null, Null) => DEFAULT_BUNDLES,
        (Null, Number(number)) | (Number(number), _) => *number,
        // A setting may be text, as in broker.conf: "16" for 16.
        (Null, Text(number)) => number.parse().map_err(|_| "not a number".to_string())?,
        _ => return Err("the number of bundles is not a number".into()),
    };
    let count = number as u64;
    let mut boundaries: Vec<Json> =
        (0..count).map(|i| text(format!("{:#010x}", i * (HASHES / count)))).collect();
    boundaries.push(text("0xffffffff"));
    Ok(object([("boundaries", Array(boundaries))]))
}

/// Bundles to unload in one cycle: add ("shed.select", select) to OPERATIONS. The case's "brokers"
/// have the usage and the bundles of each broker, its "bundles" the traffic of each bundle: one
/// that is missing there, or has "numSamples" 0, counts as 50 msg/s and 50 KB/s each way (DATA-04,
/// DATA-05). Its "strategy" is a full class name, its last part ("OverloadShedder"), or null: then
/// the setting loadBalancerLoadSheddingStrategy, or its default, names it. The command
///     pulsar-conformance schema shed.select --example
/// prints such a case, and the answer to it:
///     {"unload": [{"broker": "b1", "bundle": "shop/eu/0x60000000_0x80000000"}, ...]}
#[allow(dead_code)]
fn select(_asked: &Json) -> Result<Json, String> {
    Ok(object([("unload", Array(vec![]))]))
}

/// The message has the profile and readings by which it will be judged.
fn hello(_message: &Json) -> Json {
    object([
        ("protocol", Number(1.0)),
        ("name", text("my-balancer")),
        ("version", text("0.1")),
        ("batch", Number(1000.0)),
        ("manager", text("modular")),
        ("operations", Array(OPERATIONS.iter().map(|(name, _)| text(*name)).collect())),
        // With shed.select: full class names, or "OverloadShedder" and so on.
        ("strategies", Array(vec![])),
        ("algorithms", Array(vec![])), // split algorithms, once bundles.split is offered
        ("readings", object([])),      // readings that you follow; the profile decides the others
        ("neutral", object([])),       // settings without effect here, each with the reason
    ])
}

fn reply(message: &Json) -> Json {
    let (id, ask) = (message["id"].clone(), message["ask"].as_text());
    if ask == "hello" {
        return object([("id", id), ("answer", hello(message))]);
    }
    let Some((_, operation)) = OPERATIONS.iter().find(|(name, _)| *name == ask) else {
        let why = format!("{ask} is not offered");
        let error = object([("code", text("unknown-operation")), ("message", text(why))]);
        return object([("id", id), ("error", error)]);
    };
    let answers = message["cases"].items().iter().map(|asked| answer(*operation, asked));
    object([("id", id), ("answers", Array(answers.collect()))])
}

fn answer(operation: Operation, asked: &Json) -> Json {
    let found = catch_unwind(|| operation(asked));
    found
        .unwrap_or_else(|_| Err("it panicked; standard error says why".into()))
        .unwrap_or_else(|why| object([("failed", text(why))]))
}

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let message = read(&line?).map_err(io::Error::other)?;
        if message["ask"].as_text() == "bye" {
            break;
        }
        writeln!(out, "{}", reply(&message))?;
        out.flush()?;
    }
    Ok(())
}

/// JSON; use serde_json if you have it.
#[derive(Clone, Debug, PartialEq)]
enum Json {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    Array(Vec<Json>),
    Object(BTreeMap<String, Json>),
}

fn text(found: impl Into<String>) -> Json {
    Text(found.into())
}

fn object<const N: usize>(fields: [(&str, Json); N]) -> Json {
    Object(fields.into_iter().map(|(name, value)| (name.to_string(), value)).collect())
}

impl Json {
    fn as_text(&self) -> &str {
        if let Text(found) = self {
            found
        } else {
            ""
        }
    }

    fn items(&self) -> &[Json] {
        if let Array(found) = self {
            found
        } else {
            &[]
        }
    }
}

/// Returns the value of a field; null if it is absent.
impl std::ops::Index<&str> for Json {
    type Output = Json;

    fn index(&self, name: &str) -> &Json {
        match self {
            Object(fields) => fields.get(name).unwrap_or(&Null),
            _ => &Null,
        }
    }
}

impl std::fmt::Display for Json {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Null => write!(out, "null"),
            Json::Bool(found) => write!(out, "{found}"),
            Number(found) => write!(out, "{found}"),
            Text(found) => quote(found, out),
            Array(found) => {
                write!(out, "[")?;
                for (number, item) in found.iter().enumerate() {
                    write!(out, "{}{item}", if number > 0 { "," } else { "" })?;
                }
                write!(out, "]")
            }
            Object(found) => {
                write!(out, "{{")?;
                for (number, (name, value)) in found.iter().enumerate() {
                    write!(out, "{}", if number > 0 { "," } else { "" })?;
                    quote(name, out)?;
                    write!(out, ":{value}")?;
                }
                write!(out, "}}")
            }
        }
    }
}

fn quote(text: &str, out: &mut std::fmt::Formatter) -> std::fmt::Result {
    write!(out, "\"")?;
    for c in text.chars() {
        match c {
            '"' | '\\' => write!(out, "\\{c}")?,
            c if c < ' ' => write!(out, "\\u{:04x}", c as u32)?,
            c => write!(out, "{c}")?,
        }
    }
    write!(out, "\"")
}

fn read(line: &str) -> Result<Json, String> {
    let mut reader = Reader { rest: line.trim_end() };
    let found = reader.value()?;
    if reader.rest.is_empty() {
        Ok(found)
    } else {
        reader.wrong("text after the end")
    }
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn wrong<T>(&self, what: &str) -> Result<T, String> {
        Err(format!("{what}, at {:.20?}", self.rest))
    }

    fn skip(&mut self, word: &str) -> bool {
        self.rest = self.rest.trim_start();
        let after = self.rest.strip_prefix(word);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    fn value(&mut self) -> Result<Json, String> {
        if self.skip("{") {
            let mut found = BTreeMap::new();
            while !self.skip("}") {
                let name = self.string()?;
                if !self.skip(":") {
                    return self.wrong("no colon");
                }
                found.insert(name, self.value()?);
                self.skip(",");
            }
            Ok(Object(found))
        } else if self.skip("[") {
            let mut found = vec![];
            while !self.skip("]") {
                found.push(self.value()?);
                self.skip(",");
            }
            Ok(Array(found))
        } else if self.rest.starts_with('"') {
            Ok(Text(self.string()?))
        } else if self.skip("null") {
            Ok(Null)
        } else if self.skip("true") {
            Ok(Json::Bool(true))
        } else if self.skip("false") {
            Ok(Json::Bool(false))
        } else {
            let length = self.rest.find([',', ']', '}', ' ']).unwrap_or(self.rest.len());
            let (number, rest) = self.rest.split_at(length);
            let Ok(found) = number.parse() else { return self.wrong("no JSON") };
            self.rest = rest;
            Ok(Number(found))
        }
    }

    fn string(&mut self) -> Result<String, String> {
        if !self.skip("\"") {
            return self.wrong("no text");
        }
        // Escapes are UTF-16: two of them may be one character.
        let mut found: Vec<u16> = vec![];
        let mut characters = self.rest.chars();
        while let Some(c) = characters.next() {
            let escaped = match c {
                '"' => {
                    self.rest = characters.as_str();
                    return Ok(String::from_utf16_lossy(&found));
                }
                '\\' => characters.next(),
                c => {
                    found.extend(c.encode_utf16(&mut [0; 2]).iter());
                    continue;
                }
            };
            found.push(match escaped {
                Some('b') => 8,
                Some('f') => 12,
                Some('n') => 10,
                Some('r') => 13,
                Some('t') => 9,
                Some('u') => {
                    let digits: String = characters.by_ref().take(4).collect();
                    u16::from_str_radix(&digits, 16).or_else(|_| self.wrong("no escape"))?
                }
                Some(c) => c as u16,
                None => break,
            });
        }
        self.wrong("no end of a text")
    }
}
