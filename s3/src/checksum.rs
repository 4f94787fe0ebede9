//! The checksum that a dialect adds to a write, as a header.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use crc::{CRC_32_ISCSI, CRC_32_ISO_HDLC, CRC_64_NVME, Crc};
use md5::Md5;
use sha2::{Digest as _, Sha256};

use crate::dialect::Checksum;

const CRC32: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);
const CRC32C: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);
const CRC64_NVME: Crc<u64> = Crc::<u64>::new(&CRC_64_NVME);

/// Returns the header's name, and its value for this body.
pub(crate) fn header(checksum: Checksum, body: &[u8]) -> (&'static str, String) {
    match checksum {
        Checksum::Crc32 => ("x-amz-checksum-crc32", STANDARD.encode(CRC32.checksum(body).to_be_bytes())),
        Checksum::Crc32c => ("x-amz-checksum-crc32c", STANDARD.encode(CRC32C.checksum(body).to_be_bytes())),
        Checksum::Crc64Nvme => {
            ("x-amz-checksum-crc64nvme", STANDARD.encode(CRC64_NVME.checksum(body).to_be_bytes()))
        }
        Checksum::Md5 => ("content-md5", STANDARD.encode(Md5::digest(body))),
        Checksum::Sha256 => ("x-amz-checksum-sha256", STANDARD.encode(Sha256::digest(body))),
    }
}

#[cfg(test)]
mod tests {
    use super::header;
    use crate::dialect::Checksum;

    /// The check values of the algorithms' own descriptions, in base 64.
    #[test]
    fn each_checksum_of_the_nine_digits_is_the_published_one() {
        for (checksum, name, value) in [
            (Checksum::Crc32, "x-amz-checksum-crc32", "y/Q5Jg=="),
            (Checksum::Crc32c, "x-amz-checksum-crc32c", "4waSgw=="),
            (Checksum::Crc64Nvme, "x-amz-checksum-crc64nvme", "rosUhgp5mIg="),
            (Checksum::Md5, "content-md5", "JfnnlDI7RTiF9RgfG2JNCw=="),
            (Checksum::Sha256, "x-amz-checksum-sha256", "FeKw08M4keuw8e9gnsQZQgwg4yDOlMZfvIwzEkSOsiU="),
        ] {
            assert_eq!(header(checksum, b"123456789"), (name, value.to_owned()));
        }
    }
}
