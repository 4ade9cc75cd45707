//! Certificates: errors say what is wrong with one, `--cacert` trusts more of them, `--insecure` all.

use ridethrough_lab::Certificate;

use crate::rig::Rig;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_wrong_with_a_certificate_is_told_with_what_to_do() {
    let rig = Rig::over_tls().await;
    rig.write("roots.pem", &rig.server.authority().root_pem());
    let trusting = [("RIDETHROUGH_CACERT", "roots.pem")];

    for (certificate, what, advice) in [
        (Certificate::Expired, "(it expired on 2001-01-01 00:00 UTC)", "hint: renew the server's"),
        (Certificate::WrongName, "is not for `127.0.0.1`: it is for `elsewhere.test`", "URL"),
        (Certificate::SelfSigned, "(it is self-signed, and not one", "`--cacert FILE`"),
        (Certificate::Stranger, "(it was issued by `ridethrough lab", "`--cacert FILE`"),
    ] {
        rig.server.set_certificate(certificate);

        let ran = rig.run_with(&["tools", "SERVER"], &trusting).await;

        assert_eq!(ran.code, Some(4), "{ran:?}");
        assert!(ran.err.contains("certificate was not accepted"), "{ran:?}");
        assert!(ran.err.contains(what) && ran.err.contains(advice), "{ran:?}");
        for debug in ["Other(", "OtherError", "EndEntity", "UnknownIssuer", "invalid peer"] {
            assert!(!ran.err.contains(debug), "{ran:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_says_what_is_wrong_with_the_certificate_and_names_the_flag() {
    let rig = Rig::over_tls().await;
    rig.server.set_certificate(Certificate::SelfSigned);

    let ran = rig.run(&["check", "SERVER"]).await;

    assert_eq!(ran.code, Some(4), "{ran:?}");
    let words = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("its certificate is not accepted: it is self-signed"), "{ran:?}");
    assert!(words.contains("name that certificate (PEM) with `--cacert FILE`"), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_self_signed_certificate_that_is_named_is_trusted_and_for_its_names_only() {
    let rig = Rig::over_tls().await;
    rig.server.set_certificate(Certificate::SelfSigned);
    rig.write("own.pem", &rig.server.authority().self_signed_pem());
    rig.write(".config/ridethrough/beside.pem", &rig.server.authority().self_signed_pem());

    let by_flag = rig.run(&["tools", "SERVER", "--cacert", "own.pem"]).await;
    let by_variable = rig.run_with(&["tools", "SERVER"], &[("SSL_CERT_FILE", "own.pem")]).await;
    let elsewhere = rig.url.replace("127.0.0.1", "0.0.0.0");
    let elsewhere = rig.run(&["tools", &elsewhere, "--cacert", "own.pem"]).await;
    rig.write(".config/ridethrough/ridethrough.toml", "cacert = \"beside.pem\"\n");
    let by_file = rig.run(&["tools", "SERVER"]).await;

    for ran in [by_flag, by_variable, by_file] {
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.out.contains("deploy"), "{ran:?}");
    }
    assert_eq!(elsewhere.code, Some(4), "{elsewhere:?}");
    assert!(elsewhere.err.contains("is not for `0.0.0.0`: it is for `localhost`"), "{elsewhere:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_of_a_project_that_is_not_approved_adds_no_certificate() {
    let rig = Rig::over_tls().await;
    rig.write("roots.pem", &rig.server.authority().root_pem());
    rig.write("ridethrough.toml", "cacert = \"roots.pem\"\n");

    let before = rig.run(&["ping", "SERVER"]).await;
    rig.run(&["trust", "--yes"]).await;
    let after = rig.run(&["ping", "SERVER"]).await;

    assert_eq!(before.code, Some(4), "{before:?}");
    assert!(before.err.contains("it sets cacert"), "{before:?}");
    assert_eq!(after.code, Some(0), "{after:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_without_a_certificate_is_refused_before_anything_is_sent() {
    let rig = Rig::over_tls().await;
    rig.write("empty.pem", "no certificate\n");

    let empty = rig.run(&["ping", "SERVER", "--cacert", "empty.pem"]).await;
    let absent = rig.run(&["ping", "SERVER", "--cacert", "absent.pem"]).await;

    assert_eq!([empty.code, absent.code], [Some(2), Some(2)], "{empty:?} {absent:?}");
    assert!(empty.err.contains("`empty.pem`, has no certificate in PEM in it"), "{empty:?}");
    assert!(absent.err.contains("`absent.pem`, cannot be read"), "{absent:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_check_this_machine_is_reached_and_each_time_it_is_told() {
    let rig = Rig::over_tls().await;
    rig.server.set_certificate(Certificate::WrongName);

    for words in [&["tools", "SERVER", "--insecure"][..], &["check", "SERVER", "--insecure"]] {
        let ran = rig.run(words).await;

        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.err.contains("warning: the certificate of https://127.0.0.1:"), "{ran:?}");
        assert!(ran.err.contains("is not checked (--insecure): any program on this"), "{ran:?}");
    }
    let bridge = rig.run(&["bridge", "SERVER", "--insecure", "--silent"]).await;
    assert!(bridge.err.contains("is not checked (--insecure)"), "{bridge:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_check_another_host_is_spoken_to_only_if_it_is_named() {
    let rig = Rig::over_tls().await;
    let other = "https://host.invalid/mcp";
    let token = [("TOKEN", "s3cret-token")];

    for command in ["tools", "check", "ping", "resources"] {
        let words = [command, other, "--insecure", "--bearer-env", "TOKEN"];
        let refused = rig.run_with(&words, &token).await;

        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.err.contains("`--insecure` alone is for this machine"), "{refused:?}");
        assert!(refused.err.contains("`--insecure=host.invalid` goes without"), "{refused:?}");
    }
    let bridge = rig.run(&["bridge", other, "--insecure"]).await;
    let named = rig.run(&["ping", other, "--insecure=host.invalid"]).await;
    let misnamed = rig.run(&["ping", other, "--insecure=other.invalid"]).await;
    assert_eq!([bridge.code, misnamed.code], [Some(2), Some(2)], "{bridge:?} {misnamed:?}");
    // No host has that name: the flag itself was accepted.
    assert_eq!(named.code, Some(4), "{named:?}");
    assert!(named.err.contains("anybody on the way there can answer in its place"), "{named:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_port_without_tls_is_told_as_such() {
    let rig = Rig::new().await;

    let secure = rig.url.replace("http:", "https:");
    let ran = rig.run(&["tools", &secure]).await;
    let checked = rig.run(&["check", &secure, "--json"]).await;

    assert_eq!((ran.code, checked.code), (Some(4), Some(4)), "{ran:?} {checked:?}");
    assert!(ran.err.contains("what answers there speaks plain HTTP, and no TLS"), "{ran:?}");
    assert!(ran.err.contains("hint: write `http://`"), "{ran:?}");
    assert!(ran.err.contains(&format!("try `{}`", rig.url)), "{ran:?}");
    // Waiting cannot help.
    assert!(!ran.err.contains("waiting"), "{ran:?}");
    let advice = checked.json()["advice"].to_string();
    assert!(advice.contains(&format!("ask it by `{}`", rig.url)), "{checked:?}");
    assert!(checked.out.contains("speaks plain HTTP"), "{checked:?}");
}
