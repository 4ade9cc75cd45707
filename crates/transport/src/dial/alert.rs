//! The words of a TLS alert.

use rustls::AlertDescription;

/// Returns the server's alert in words.
pub(super) fn in_words(alert: AlertDescription) -> String {
    // An unknown alert is shown by its number; the names are those of RFC 8446, 6, without spaces.
    if let AlertDescription::Unknown(number) = alert {
        return format!("the server said `alert {number}`");
    }
    let (mut name, mut last) = (String::new(), ' ');
    for letter in format!("{alert:?}").chars() {
        if letter.is_ascii_uppercase() && last.is_ascii_lowercase() {
            name.push(' ');
        }
        name.push(letter.to_ascii_lowercase());
        last = letter;
    }
    format!("the server said `{name}`")
}

/// Whether an alert is about the client's certificate.
pub(super) fn is_about_certificates(alert: AlertDescription) -> bool {
    CERTIFICATE_ALERTS.contains(&alert)
}

const CERTIFICATE_ALERTS: [AlertDescription; 8] = [
    AlertDescription::AccessDenied,
    AlertDescription::BadCertificate,
    AlertDescription::CertificateExpired,
    AlertDescription::CertificateRequired,
    AlertDescription::CertificateRevoked,
    AlertDescription::CertificateUnknown,
    AlertDescription::UnknownCA,
    AlertDescription::UnsupportedCertificate,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alert_is_told_in_words() {
        for (alert, words) in [
            (AlertDescription::CertificateRequired, "certificate required"),
            (AlertDescription::HandshakeFailure, "handshake failure"),
            (AlertDescription::UnknownCA, "unknown ca"),
            (AlertDescription::Unknown(99), "alert 99"),
        ] {
            assert_eq!(in_words(alert), format!("the server said `{words}`"));
        }
    }
}
