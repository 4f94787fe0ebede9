//! Whether every key of a JSON text is there once, at any depth; the parser would quietly take the last one.

use core::fmt;
use std::collections::BTreeSet;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Any JSON in which no object has a key twice. Nothing else of it is kept.
#[derive(Debug)]
pub(super) struct Distinct;

impl<'de> Deserialize<'de> for Distinct {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for Distinct {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_unit<E: Error>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self, A::Error> {
        while list.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Self, A::Error> {
        let mut seen = BTreeSet::new();
        while let Some((key, Self)) = object.next_entry::<String, Self>()? {
            if let Some(twice) = seen.replace(key) {
                let shown: String = twice.chars().take(80).collect();
                return Err(A::Error::custom(format_args!("{shown:?} is there twice")));
            }
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::Distinct;

    #[test]
    fn a_key_may_come_again_only_in_another_object() {
        for text in [r#"{"a":{"a":1},"b":[{"a":-1},{"a":1.5}]}"#, "[null,true,\"x\"]", "{}"] {
            assert!(serde_json::from_str::<Distinct>(text).is_ok(), "{text}");
        }
        for text in [r#"{"a":1,"a":1}"#, r#"[[{"b":{"a":1,"c":2,"a":3}}]]"#, r#"{"":0,"":0}"#] {
            assert!(serde_json::from_str::<Distinct>(text).is_err(), "{text}");
        }
    }
}
