//! One line of input: what is asked for, or why the line makes no sense.

use core::time::Duration;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use tenure_core::{CellId, Epoch, Load, NodeId};

use super::distinct::Distinct;
use crate::exit::Failure;

/// A request, checked as far as that goes without asking anybody.
#[derive(Debug, PartialEq)]
pub(super) struct Request {
    /// Comes back in the answer.
    pub(super) id: Value,
    pub(super) what: What,
}

/// What is asked for.
#[derive(Debug, PartialEq)]
pub(super) enum What {
    Claim { cell: CellId, wait: Duration },
    Leave,
    Locate { cell: CellId },
    Peers,
    Publish { load: Option<Load>, meta: Option<BTreeMap<String, String>> },
    Release(Tenure),
    Transfer { tenure: Tenure, to: NodeId },
    Verify(Tenure),
}

/// Which tenure is meant: the one held now, or the one at that epoch.
#[derive(Debug, PartialEq)]
pub(super) struct Tenure {
    pub(super) cell: CellId,
    pub(super) epoch: Option<Epoch>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct Wire {
    #[serde(default)]
    #[expect(dead_code, reason = "taken before, so that even a line that is refused is answered with it")]
    id: Value,
    r#do: String,
    cell: Option<String>,
    wait_ms: Option<u64>,
    epoch: Option<u64>,
    to: Option<String>,
    load: Option<Load>,
    meta: Option<BTreeMap<String, String>>,
}

/// Why a line is refused, and the id to answer with.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) id: Value,
    pub(super) failure: Failure,
}

impl Request {
    /// Parses a line.
    ///
    /// # Errors
    /// Says which field is missing or makes no sense; a field that the request does not take is an error too,
    /// since a misspelt `wait_ms` would otherwise be a claim that does not wait.
    pub(super) fn parse(line: &[u8]) -> Result<Self, Refused> {
        let refuse = |id: &Value, why: String| Refused { id: id.clone(), failure: Failure::usage(why) };
        let value: Value = serde_json::from_slice(line).map_err(|error| {
            refuse(&Value::Null, format!("the line is not JSON ({error}); write one object per line"))
        })?;
        let id = value.get("id").cloned().unwrap_or_default();
        check_form(&value, line).map_err(|why| refuse(&id, why))?;
        let wire: Wire = serde_json::from_slice(line).map_err(|error| {
            refuse(&id, format!("the request makes no sense ({error}); see tenure agent --help"))
        })?;
        match wire.what() {
            Ok(what) => Ok(Self { id, what }),
            Err(why) => Err(refuse(&id, why)),
        }
    }
}

/// Refuses what a lenient reader would take: a list of a struct's fields instead of an object, and a key that
/// is there twice, of which two readers may see two values.
fn check_form(value: &Value, line: &[u8]) -> Result<(), String> {
    if !value.is_object() {
        return Err("a request is an object; write one per line".to_owned());
    }
    if value.get("load").is_some_and(|load| !load.is_object() && !load.is_null()) {
        return Err("\"load\" must be an object; see tenure agent --help".to_owned());
    }
    serde_json::from_slice(line)
        .map(|Distinct| ())
        .map_err(|error| format!("the request is ambiguous ({error}); write every key once"))
}

impl Wire {
    fn what(mut self) -> Result<What, String> {
        let verb = core::mem::take(&mut self.r#do);
        let what = match verb.as_str() {
            "claim" => {
                let wait = Duration::from_millis(self.wait_ms.take().unwrap_or(0));
                What::Claim { cell: self.cell()?, wait }
            }
            "leave" => What::Leave,
            "locate" => What::Locate { cell: self.cell()? },
            "peers" => What::Peers,
            "publish" => What::Publish { load: self.load.take(), meta: self.meta.take() },
            "release" => What::Release(self.tenure()?),
            "transfer" => What::Transfer { tenure: self.tenure()?, to: self.to()? },
            "verify" => What::Verify(self.tenure()?),
            other => {
                let shown: String = other.chars().take(80).collect();
                return Err(format!("{shown:?} is nothing to do; see tenure agent --help"));
            }
        };
        match self.left_over() {
            None => Ok(what),
            Some(field) => Err(format!("{verb} takes no \"{field}\"; leave it out")),
        }
    }

    fn cell(&mut self) -> Result<CellId, String> {
        let name = self.cell.take().ok_or("\"cell\" is missing; name the cell")?;
        CellId::new(&name).map_err(|error| error.to_string())
    }

    fn tenure(&mut self) -> Result<Tenure, String> {
        let epoch = match self.epoch.take() {
            None => None,
            Some(number) => {
                Some(Epoch::new(number).ok_or("epoch 0 is no epoch; use the one the claim answered")?)
            }
        };
        Ok(Tenure { cell: self.cell()?, epoch })
    }

    fn to(&mut self) -> Result<NodeId, String> {
        let node = self.to.take().ok_or("\"to\" is missing; name the node")?;
        NodeId::parse(&node).map_err(|error| error.to_string())
    }

    fn left_over(&self) -> Option<&'static str> {
        let Self { id: _, r#do: _, cell, wait_ms, epoch, to, load, meta } = self;
        [
            (cell.is_some(), "cell"),
            (wait_ms.is_some(), "wait_ms"),
            (epoch.is_some(), "epoch"),
            (to.is_some(), "to"),
            (load.is_some(), "load"),
            (meta.is_some(), "meta"),
        ]
        .into_iter()
        .find_map(|(is_there, name)| is_there.then_some(name))
    }
}

#[cfg(test)]
mod tests {
    use super::{Request, What};
    use core::time::Duration;
    use serde_json::json;

    #[test]
    fn a_claim_waits_only_if_it_says_so() {
        let request = Request::parse(br#"{"id":"x","do":"claim","cell":"c1"}"#).expect("legal");
        assert_eq!(request.id, json!("x"));
        assert!(matches!(request.what, What::Claim { wait: Duration::ZERO, .. }));
        let request = Request::parse(br#"{"do":"claim","cell":"c1","wait_ms":1500}"#).expect("legal");
        assert!(matches!(request.what, What::Claim { wait, .. } if wait == Duration::from_millis(1500)));
    }

    #[test]
    fn a_line_that_makes_no_sense_is_refused_with_its_id() {
        for (line, word) in [
            (r#"{"id":7}"#, "do"),
            (r#"{"id":7,"do":"claim"}"#, "cell"),
            (r#"{"id":7,"do":"claim","cell":"a/b"}"#, "a$2Fb"),
            (r#"{"id":7,"do":"claim","cell":3}"#, "string"),
            (r#"{"id":7,"do":"claim","cell":"c","wait_ms":-1}"#, "-1"),
            (r#"{"id":7,"do":"claim","cell":"c","wait":1}"#, "wait"),
            (r#"{"id":7,"do":"claim","cell":"c","to":"n"}"#, "takes no \"to\""),
            (r#"{"id":7,"do":"release","cell":"c","epoch":0}"#, "epoch"),
            (r#"{"id":7,"do":"transfer","cell":"c"}"#, "to"),
            (r#"{"id":7,"do":"transfer","cell":"c","to":"../x"}"#, "../x"),
            (r#"{"id":7,"do":"publish","load":{}}"#, "sampled_ms"),
            (r#"{"id":7,"do":"publish","load":[1,2,3,4,5,6,7]}"#, "an object"),
            (r#"{"id":7,"do":"fly"}"#, "fly"),
            (r#"{"id":7,"do":"peers","do":"leave"}"#, "\"do\" is there twice"),
            (r#"{"id":7,"do":"peers","\u0064o":"peers"}"#, "\"do\" is there twice"),
            (r#"{"id":7,"do":"peers","id":7}"#, "\"id\" is there twice"),
            (r#"{"id":7,"do":"publish","meta":{"a":"1","a":"2"}}"#, "\"a\" is there twice"),
            (r#"{"id":7,"do":"peers","cell":[{"b":1,"b":1}]}"#, "\"b\" is there twice"),
        ] {
            let refused = Request::parse(line.as_bytes()).expect_err(line);
            assert_eq!(refused.id, json!(7), "{line}");
            let error = refused.failure.to_json();
            assert_eq!(error["kind"], "usage", "{line}");
            let message = error["message"].as_str().expect("text");
            assert!(message.contains(word) && !message.contains("struct"), "{line}: {error}");
        }
    }

    #[test]
    fn what_is_no_object_is_refused_without_an_id() {
        let listed = br#"[1,"peers",null,null,null,null,null,null]"#;
        for line in [&b""[..], b"x", b"[]", b"7", b"null", b"\xff", b"{\"id\":1", b"[[[[[[[[", listed] {
            let refused = Request::parse(line).expect_err("nonsense");
            assert_eq!(refused.id, json!(null));
            let error = refused.failure.to_json();
            assert!(error["message"].as_str().expect("text").contains("object"), "{error}");
        }
        let deep = "[".repeat(100_000);
        assert!(Request::parse(deep.as_bytes()).is_err());
    }
}
