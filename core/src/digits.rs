//! Numbers as text, without the machinery of formatting: each record and each key of a probe has some.

/// Room for the longest number.
pub(crate) type Room = [u8; 20];

/// The numbers below 100, in two digits each.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[b'0'; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + number as u8 / 10, b'0' + number as u8 % 10];
        number += 1;
    }
    pairs
};

/// Writes a number in decimal into `room` and returns its digits: two at a time, for a division is slow.
pub(crate) fn decimal(mut number: u64, room: &mut Room) -> &[u8] {
    let mut start = room.len();
    while number >= 10 {
        start -= 2;
        [room[start], room[start + 1]] = PAIRS[(number % 100) as usize];
        number /= 100;
    }
    // Of an odd number of digits the first is left; of an even number there is none, but of zero.
    if number > 0 || start == room.len() {
        start -= 1;
        room[start] = b'0' + number as u8;
    }
    &room[start..]
}

/// Writes a number in 16 hexadecimal digits into `room` and returns its text.
pub(crate) fn hexadecimal(number: u64, room: &mut Room) -> &str {
    for (place, digit) in room[..16].iter_mut().enumerate() {
        *digit = b"0123456789abcdef"[(number >> (60 - 4 * place)) as usize & 15];
    }
    core::str::from_utf8(&room[..16]).expect("digits are text")
}

#[cfg(test)]
mod tests {
    use super::{decimal, hexadecimal};
    use alloc::format;

    #[test]
    fn digits_are_those_of_formatting() {
        let mut room = [0; 20];
        for number in [0, 1, 9, 10, 99, 100, 101, 0x9f3c, 1_000_000_007, 0x0123_4567_89ab_cdef, u64::MAX] {
            assert_eq!(decimal(number, &mut room), format!("{number}").as_bytes());
            assert_eq!(hexadecimal(number, &mut room), format!("{number:016x}"));
        }
    }
}
