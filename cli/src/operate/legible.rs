//! The epoch that can still be read in what is no record any more.

use tenure_core::Epoch;

/// Returns the highest number that follows a field's name `epoch`. It proves nothing, but warns.
pub(super) fn epoch(body: &[u8]) -> Option<Epoch> {
    let text = String::from_utf8_lossy(body);
    let numbers = text.split("\"epoch\"").skip(1).filter_map(|rest| {
        let value = rest.trim_start().strip_prefix(':')?.trim_start().trim_start_matches('"');
        let end = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
        value[..end].parse().ok().and_then(Epoch::new)
    });
    numbers.max()
}

#[cfg(test)]
mod tests {
    use super::epoch;

    #[test]
    fn an_epoch_is_found_in_what_is_no_record() {
        for (body, found) in [
            (&br#"{"node":"n.1","epoch":7,"write":"n.1#"#[..], Some(7)),
            (br#"{"node":"../x", "epoch" : "12"}"#, Some(12)),
            (br#"{"epoch":3}{"epoch":18446744073709551615}"#, Some(u64::MAX)),
            (br#"{"epoch":3}{"epoch":18446744073709551616}"#, Some(3)),
            (b"\xff\"epoch\":5\xff", Some(5)),
            (br#"{"epoch":-1}"#, None),
            (br#"{"epoch":0}"#, None),
            (br#"{"epoch"#, None),
            (b"", None),
        ] {
            assert_eq!(epoch(body).map(|epoch| epoch.get()), found, "{}", String::from_utf8_lossy(body));
        }
    }
}
