//! MD5 (RFC 1321), for names of files and nothing else: it protects nothing.

/// Returns the digest in hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    digest(bytes).iter().flat_map(|word| word.to_le_bytes()).map(|it| format!("{it:02x}")).collect()
}

fn digest(bytes: &[u8]) -> [u32; 4] {
    let mut padded = bytes.to_vec();
    padded.push(0x80);
    while padded.len() % 64 != 56 {
        padded.push(0);
    }
    padded.extend((bytes.len() as u64).wrapping_mul(8).to_le_bytes());
    let start = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    padded.chunks_exact(64).fold(start, block)
}

fn block(state: [u32; 4], bytes: &[u8]) -> [u32; 4] {
    let words: Vec<u32> =
        bytes.chunks_exact(4).map(|it| u32::from_le_bytes([it[0], it[1], it[2], it[3]])).collect();
    let [mut a, mut b, mut c, mut d] = state;
    for step in 0..64 {
        let (mixed, word) = match step / 16 {
            0 => ((b & c) | (!b & d), step),
            1 => ((d & b) | (!d & c), (5 * step + 1) % 16),
            2 => (b ^ c ^ d, (3 * step + 5) % 16),
            _ => (c ^ (b | !d), (7 * step) % 16),
        };
        let sum = a.wrapping_add(mixed).wrapping_add(constant(step)).wrapping_add(words[word]);
        let turned = b.wrapping_add(sum.rotate_left(TURNS[step / 16][step % 4]));
        (a, d, c, b) = (d, c, b, turned);
    }
    [
        state[0].wrapping_add(a),
        state[1].wrapping_add(b),
        state[2].wrapping_add(c),
        state[3].wrapping_add(d),
    ]
}

/// Returns the whole part of 2^32 times the sine of the step, counted from one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "it is positive and less than 2^32"
)]
fn constant(step: usize) -> u32 {
    (((step + 1) as f64).sin().abs() * 4_294_967_296.0) as u32
}

const TURNS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];

#[cfg(test)]
mod tests {
    use super::*;

    /// The test suite of RFC 1321, A.5, and the lengths around a block.
    #[test]
    fn the_digests_are_those_of_the_rfc() {
        for (text, expected) in [
            ("", "d41d8cd98f00b204e9800998ecf8427e"),
            ("a", "0cc175b9c0f1b6a831c399e269772661"),
            ("abc", "900150983cd24fb0d6963f7d28e17f72"),
            ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
            ("abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"),
            (
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
                "d174ab98d277d9f5a5611c2c9f419d9f",
            ),
            (
                "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
                "57edf4a22be3c955ac49da2e2107b67a",
            ),
        ] {
            assert_eq!(hex(text.as_bytes()), expected, "{text}");
        }
    }
}
