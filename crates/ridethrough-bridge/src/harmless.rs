//! Words of others, made harmless for a terminal.
//!
//! A terminal obeys control characters: they move the cursor, change the title, paste into the shell.
//! Others hide text or turn it around.

/// The text as a terminal may show it, on one line: whatever is not shown as it is becomes visible.
///
/// ```
/// assert_eq!(ridethrough_bridge::harmless("a\x1b[2Jb\n"), "a\u{fffd}[2Jb\u{fffd}");
/// ```
pub fn harmless(text: &str) -> String {
    text.chars().map(|letter| if is_harmful(letter) { '\u{fffd}' } else { letter }).collect()
}

/// Whether a terminal would do something else than show it.
pub fn is_harmful(letter: char) -> bool {
    // C0, DEL and C1; marks that turn text around; line ends that few know; what nobody sees. The
    // joiners (200c, 200d) stay: scripts and emoji need them.
    letter.is_control()
        || matches!(
            letter,
            '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'
                | '\u{200e}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_servers_say_cannot_move_the_cursor() {
        assert_eq!(
            harmless("a\u{1b}]0;x\u{7}\u{9b}31m\u{202e}\u{200b}\u{e0041}é"),
            "a\u{fffd}]0;x\u{fffd}\u{fffd}31m\u{fffd}\u{fffd}\u{fffd}é"
        );
    }

    #[test]
    fn joiners_stay_for_the_scripts_that_need_them() {
        assert_eq!(harmless("👩\u{200d}💻"), "👩\u{200d}💻");
    }
}
