//! What arrives over a cable, when, and how the cable ends.

use std::io::ErrorKind;

use ridethrough_lab::pipe;
use tokio::time::{Instant, timeout};

use super::*;
use crate::net::{Meter, Passed};

#[tokio::test(start_paused = true)]
async fn everything_arrives_both_ways_in_order() {
    for slice in [0, 1, 7] {
        let (mut client, mut server) = joined(Cable { slice, ..Cable::default() });

        client.write_all(b"a question").await.unwrap();
        server.write_all(b"an answer").await.unwrap();

        assert_eq!(read(&mut server, 10).await, b"a question");
        assert_eq!(read(&mut client, 9).await, b"an answer");
        drop(client);
        assert_eq!(server.read(&mut [0]).await.unwrap(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_burst_is_late_once_however_it_is_sliced() {
    let delay = Duration::from_millis(40);
    let (mut client, mut server) = joined(Cable { delay, slice: 1, harm: None });
    let began = Instant::now();

    client.write_all(b"0123456789").await.unwrap();
    read(&mut server, 10).await;

    assert!((delay..delay * 2).contains(&began.elapsed()), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_cable_breaks_after_the_very_byte_and_the_rest_is_lost() {
    for (breaks, found) in [
        (Break::Fin, Ok(0)),
        (Break::Reset, Err(Some(ErrorKind::ConnectionReset))),
        (Break::Stall, Err(None)),
    ] {
        let harm = Some(Harm { way: Way::ToServer, after: 4, breaks });
        let (mut client, mut server) = joined(Cable { harm, ..Cable::default() });

        client.write_all(b"0123456789").await.unwrap();
        let heard = match breaks {
            // A black hole also swallows the bytes under way.
            Break::Stall => Vec::new(),
            _ => read(&mut server, 4).await,
        };

        assert!(b"0123".starts_with(&heard), "{breaks:?}");
        let next = timeout(Duration::from_secs(9), server.read(&mut [0])).await;
        let next = next.map_err(|_| None).and_then(|it| it.map_err(|error| Some(error.kind())));
        assert_eq!(next, found, "{breaks:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_passes_is_counted_each_way_and_a_break_is_noticed() {
    let meter = Meter::default();
    let harm = Some(Harm { way: Way::ToClient, after: 3, breaks: Break::Fin });
    let (client, near) = pipe(1024);
    let (far, mut server) = pipe(1024);
    let cable = Cable { harm, ..Cable::default() };
    let carrying = tokio::spawn(cable.carry(near, far, meter.tally(1)));
    let before = meter.passed();

    server.write_all(b"0123456789").await.unwrap();
    carrying.await.unwrap();
    drop(client);

    assert_eq!(before, [Passed::default(); 2]);
    let passed = Passed { to_client: 3, to_server: 0, is_broken: true };
    assert_eq!(meter.passed(), [Passed::default(), passed]);
}

/// Nothing wakes a cable in a black hole, so it must not wait for anything.
#[tokio::test(start_paused = true)]
async fn a_stalled_cable_ends_and_nobody_sees_it() {
    let harm = Some(Harm { way: Way::ToServer, after: 0, breaks: Break::Stall });
    let (mut client, near) = pipe(1024);
    let (far, _server) = pipe(1024);
    let cable = Cable { harm, ..Cable::default() };

    cable.carry(near, far, Tally::default()).await;

    client.write_all(b"into the void").await.unwrap();
    assert!(timeout(Duration::from_secs(9), client.read(&mut [0])).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn after_a_pause_everything_goes_on() {
    let pause = Duration::from_secs(20);
    let harm = Some(Harm { way: Way::ToClient, after: 2, breaks: Break::Pause(pause) });
    let (mut client, mut server) = joined(Cable { harm, ..Cable::default() });
    let began = Instant::now();

    server.write_all(b"0123456789").await.unwrap();

    assert_eq!(read(&mut client, 10).await, b"0123456789");
    assert!((pause..pause * 2).contains(&began.elapsed()), "{:?}", began.elapsed());
}

fn joined(cable: Cable) -> (Pipe, Pipe) {
    let (client, near) = pipe(1024);
    let (far, server) = pipe(1024);
    tokio::spawn(cable.carry(near, far, Tally::default()));
    (client, server)
}

async fn read(pipe: &mut Pipe, length: usize) -> Vec<u8> {
    let mut heard = vec![0; length];
    pipe.read_exact(&mut heard).await.unwrap();
    heard
}
