//! A walk over one of the store's XML documents: each element's path and text, in the order they end.
//!
//! The whole document is checked before its content is believed: a document cut short, or one with an entity
//! of its own, is an error. Attributes, comments and name spaces carry nothing that we need.

use core::fmt;

use quick_xml::Reader;
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::Event;

/// No document of S3 is deeper than this.
const DEPTH_MAX: usize = 8;

/// Why a document cannot be read.
#[derive(Debug)]
pub(crate) struct XmlError(String);

impl fmt::Display for XmlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Calls `visit` with the path (outermost first) and the text of each element as it ends.
pub(crate) fn walk(body: &[u8], mut visit: impl FnMut(&[String], &str)) -> Result<(), XmlError> {
    let fail = |why: &dyn fmt::Display| XmlError(why.to_string());
    let text = core::str::from_utf8(body).map_err(|error| fail(&error))?;
    let mut reader = Reader::from_str(text);
    reader.config_mut().expand_empty_elements = true;
    let mut path: Vec<String> = Vec::new();
    // The text of each open element, innermost last.
    let mut texts: Vec<String> = Vec::new();
    let mut roots = 0;
    loop {
        match reader.read_event().map_err(|error| fail(&error))? {
            Event::Start(start) => {
                if path.len() == DEPTH_MAX {
                    return Err(fail(&"the document is nested too deeply"));
                }
                roots += usize::from(path.is_empty());
                path.push(start.local_name().as_ref().to_owned());
                texts.push(String::new());
            }
            Event::End(_) => {
                let (Some(text), false) = (texts.pop(), path.is_empty()) else {
                    return Err(fail(&"an element ends that has not started"));
                };
                visit(&path, &text);
                path.pop();
            }
            Event::Text(part) => push(&mut texts, &part.xml10_content()),
            Event::CData(part) => push(&mut texts, &part.xml10_content()),
            Event::GeneralRef(entity) => match entity.resolve_char_ref().map_err(|error| fail(&error))? {
                Some(char) => push(&mut texts, char.encode_utf8(&mut [0; 4])),
                None => match resolve_xml_entity(&entity) {
                    Some(known) => push(&mut texts, known),
                    None => return Err(fail(&"the document uses an entity of its own")),
                },
            },
            Event::Comment(_) | Event::Decl(_) | Event::DocType(_) | Event::PI(_) => {}
            Event::Empty(_) => return Err(fail(&"an empty element was not expanded")),
            Event::Eof => break,
        }
    }
    if roots != 1 || !path.is_empty() {
        return Err(fail(&"the document is not one whole element"));
    }
    Ok(())
}

fn push(texts: &mut [String], part: &str) {
    if let Some(text) = texts.last_mut() {
        text.push_str(part);
    }
}

#[cfg(test)]
mod tests {
    use super::walk;
    use proptest::prelude::*;

    fn seen(body: &str) -> Result<Vec<String>, String> {
        let mut all = Vec::new();
        walk(body.as_bytes(), |path, text| all.push(format!("{}={text}", path.join("/"))))
            .map_err(|error| error.to_string())?;
        Ok(all)
    }

    #[test]
    fn entities_references_and_character_data_become_text() {
        let body = "<?xml version=\"1.0\"?><!-- x --><a xmlns=\"u\"><b>&quot;1&amp;&#x41;&#66;<![CDATA[<&]]></b><c/></a>";
        assert_eq!(seen(body).expect("well formed"), ["a/b=\"1&AB<&", "a/c=", "a="]);
    }

    #[test]
    fn a_document_that_is_not_whole_is_an_error() {
        for body in [
            "",
            "text",
            "<a>",
            "<a><b></b>",
            "<a></b>",
            "</a>",
            "<a/><b/>",
            "<a>&own;</a>",
            "<a>&amp</a>",
            "<a>&#0;</a>",
        ] {
            assert!(seen(body).is_err(), "{body}");
        }
        assert!(seen(&"<a>".repeat(100)).expect_err("deep").contains("deeply"));
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_walk_panic(body in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = walk(&body, |_, _| {});
        }

        #[test]
        fn escaped_text_reads_back(text in "[ -~]{0,40}") {
            let body = format!("<a>{}</a>", quick_xml::escape::escape(text.as_str()));
            prop_assert_eq!(seen(&body).expect("well formed"), [format!("a={text}")]);
        }
    }
}
