//! Numbers as text, without the machinery of formatting: each record and each key of a probe has some.

/// Room for the longest number.
pub(crate) type Room = [u8; 20];

/// Writes a number in decimal into `room` and returns its text.
pub(crate) fn decimal(mut number: u64, room: &mut Room) -> &str {
    let mut start = room.len();
    loop {
        start -= 1;
        room[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    text(&room[start..])
}

/// Writes a number in 16 hexadecimal digits into `room` and returns its text.
pub(crate) fn hexadecimal(number: u64, room: &mut Room) -> &str {
    for (place, digit) in room[..16].iter_mut().enumerate() {
        *digit = b"0123456789abcdef"[(number >> (60 - 4 * place)) as usize & 15];
    }
    text(&room[..16])
}

fn text(digits: &[u8]) -> &str {
    core::str::from_utf8(digits).expect("digits are text")
}

#[cfg(test)]
mod tests {
    use super::{decimal, hexadecimal};
    use alloc::format;

    #[test]
    fn digits_are_those_of_formatting() {
        let mut room = [0; 20];
        for number in [0, 1, 9, 10, 0x9f3c, 1_000_000_007, 0x0123_4567_89ab_cdef, u64::MAX] {
            assert_eq!(decimal(number, &mut room), format!("{number}"));
            assert_eq!(hexadecimal(number, &mut room), format!("{number:016x}"));
        }
    }
}
