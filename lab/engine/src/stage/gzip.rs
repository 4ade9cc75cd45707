//! A short gzip encoder: complete and valid, but without compression (stored blocks, RFC 1951, 3.2.4). A
//! client that decodes gzip at all decodes this.

use bytes::{BufMut, Bytes, BytesMut};

/// Returns the body as one member of gzip (RFC 1952).
pub(super) fn gzip(body: &[u8]) -> Bytes {
    let mut coded = BytesMut::with_capacity(body.len() + 32);
    // Magic, deflate, no flags, no time, no level, an unknown system.
    coded.put_slice(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);
    let mut blocks = body.chunks(MOST_STORED).peekable();
    if blocks.peek().is_none() {
        put_block(&mut coded, &[], true);
    }
    while let Some(block) = blocks.next() {
        put_block(&mut coded, block, blocks.peek().is_none());
    }
    coded.put_u32_le(checksum(body));
    // The length is written modulo 2^32.
    coded.put_u32_le(body.len() as u32);
    coded.freeze()
}

fn put_block(coded: &mut BytesMut, block: &[u8], is_last: bool) {
    // `MOST_STORED` fits.
    let length = block.len() as u16;
    coded.put_u8(u8::from(is_last));
    coded.put_u16_le(length);
    coded.put_u16_le(!length);
    coded.put_slice(block);
}

/// Returns the CRC-32, computed bit by bit: bodies of scenarios are short.
fn checksum(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { (crc >> 1) ^ POLYNOMIAL } else { crc >> 1 };
    let byte = |crc: u32, byte: &u8| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc));
    !bytes.iter().fold(u32::MAX, byte)
}

const MOST_STORED: usize = 0xffff;
const POLYNOMIAL: u32 = 0xedb8_8320;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_the_published_vector() {
        assert_eq!(checksum(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn a_short_body_is_one_block_between_head_and_checksum() {
        let coded = gzip(b"hello");

        let head = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
        let block = [1, 5, 0, 0xfa, 0xff, b'h', b'e', b'l', b'l', b'o'];
        let tail = [0x86, 0xa6, 0x10, 0x36, 5, 0, 0, 0];
        assert_eq!(coded[..], [&head[..], &block, &tail].concat());
    }

    #[test]
    fn a_long_body_is_many_blocks_of_which_one_is_the_last() {
        let coded = gzip(&vec![b'x'; MOST_STORED + 1]);

        let second = 10 + 5 + MOST_STORED;
        assert_eq!((coded[10], coded[second]), (0, 1));
        assert_eq!(coded.len(), second + 5 + 1 + 8);
    }
}
