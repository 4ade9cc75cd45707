//! Answers that are not taken for HTTP+SSE, and parts of it that are refused.

use ridethrough::Era;
use ridethrough::error::{Delivery, Kind};
use ridethrough_lab::{Protocol, Times, When};

use crate::rig::{Rig, call, fallbacks, secs};

on_both! {
    async fn an_address_of_another_origin_is_refused_and_nothing_is_sent_there(rig: Rig) {
        for (address, shown) in [
            ("https://evil.example/messages?session_id=s3cret", "`https://evil.example`"),
            ("//evil.example:8443/messages?s3cret", "evil.example:8443`"),
            ("http://user:s3cret@server.test/messages", "another origin"),
            ("/a b?s3cret", "an address that is none"),
        ] {
            rig.old.endpoint(address);
            let before = rig.log().len();

            let error = call(&rig.client(), "deploy", "a").await.unwrap_err();

            let (report, call) = (error.report(), error.call().unwrap());
            assert_eq!((call.kind, call.delivery), (Kind::Unreachable, Delivery::NotSent));
            assert!(report.contains(shown) && report.contains("nothing was sent there"), "{report}");
            assert!(!format!("{report} {error:?}").contains("s3cret"), "{error:?}");
            assert_eq!(rig.log().len() - before, 2, "a POST that was refused, and a GET");
        }
    }

    async fn an_address_of_the_same_origin_may_be_written_in_any_form(rig: Rig) {
        let scheme = rig.server.protocol().scheme();
        for address in [
            "/messages?session_id={session}".to_owned(),
            "messages?session_id={session}".to_owned(),
            format!("{scheme}://SERVER.test/messages?session_id={{session}}"),
        ] {
            rig.old.endpoint(&address);

            call(&rig.client(), "deploy", "a").await.unwrap();
        }
    }

    async fn a_stream_without_an_address_leaves_the_first_refusal(rig: Rig) {
        rig.old.endpoint("");
        rig.old.refuses_posts_by(400);
        let client = rig.client();
        let mut events = client.events();
        let began = tokio::time::Instant::now();

        let error = call(&client, "deploy", "a").await.unwrap_err();

        assert_eq!(error.kind(), Some(Kind::Rejected { status: 400 }));
        assert!(began.elapsed() <= secs(11), "{:?}", began.elapsed());
        assert_eq!(fallbacks(&mut events), 0);
    }

    async fn a_404_that_is_no_old_server_stays_a_404(rig: Rig) {
        rig.old.refuses_posts_by(404);
        rig.old.mcp().rule(When::listen(), Times::Always, |ask| async move {
            ask.status(404, &[], "").await;
        });

        let error = call(&rig.client(), "deploy", "a").await.unwrap_err();

        assert!(error.to_string().contains("status 404"), "{error}");
        assert!(!error.may_have_run());
    }

    async fn another_first_event_is_no_address(rig: Rig) {
        rig.old.mcp().rule(When::listen(), Times::Always, |ask| async move {
            let mut sse = ask.sse().await;
            sse.event(None, r#"{"jsonrpc":"2.0","method":"notifications/x"}"#).await;
            sse.gone().await;
        });

        let error = call(&rig.client(), "deploy", "a").await.unwrap_err();

        assert_eq!(error.kind(), Some(Kind::Rejected { status: 405 }));
    }

    async fn a_redirect_of_the_stream_is_followed_within_its_origin_only(rig: Rig) {
        let at_sse = || When::listen().and(When::matches(|it| it.target == "/sse"));
        rig.old.mcp().rule(at_sse(), Times::Once, |ask| async move {
            ask.status(302, &[("location", "/moved")], "").await;
        });
        call(&rig.client(), "deploy", "a").await.unwrap();
        rig.old.mcp().rule(at_sse(), Times::Always, |ask| async move {
            ask.status(307, &[("location", "https://evil.example/sse?s3cret")], "").await;
        });

        let error = call(&rig.client(), "deploy", "b").await.unwrap_err();

        assert_eq!(error.kind(), Some(Kind::Rejected { status: 307 }));
        assert!(error.to_string().contains("evil.example"), "{error}");
        assert!(!format!("{error:?}").contains("s3cret"), "{error:?}");
    }

    async fn trouble_guards_and_limits_never_lead_to_a_stream(rig: Rig) {
        for status in [401, 403, 408, 425, 429, 500, 502, 503, 504] {
            rig.old.refuses_posts_by(status);

            call(&rig.client(), "deploy", "a").await.unwrap_err();

            assert_eq!(rig.count(&When::listen()), 0, "{status}");
        }
    }

    async fn a_client_that_is_pinned_to_the_stateless_era_opens_no_stream(rig: Rig) {
        let client = rig.builder().eras(Era::Modern).build().unwrap();

        let error = call(&client, "deploy", "a").await.unwrap_err();

        assert_eq!(error.kind(), Some(Kind::Rejected { status: 405 }));
        assert_eq!(rig.count(&When::listen()), 0);
    }
}
