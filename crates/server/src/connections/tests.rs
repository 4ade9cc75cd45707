use super::*;

#[tokio::test(start_paused = true)]
async fn the_longest_silent_connection_without_the_token_makes_room() {
    let connections = Arc::new(Connections::new(MOST));
    let mut all = Vec::new();
    for _ in 0..MOST / 3 {
        all.push(connections.admit());
        tokio::time::advance(Duration::from_millis(1)).await;
    }
    assert!(!all.iter().any(is_closing));
    // The first has had a request meanwhile, the second has not.
    drop(all[0].connection.answer());
    tokio::time::advance(Duration::from_millis(1)).await;

    all.push(connections.admit());

    assert_eq!(all.iter().position(is_closing), Some(1));
    assert_eq!(all.iter().filter(|it| is_closing(it)).count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_connection_with_the_token_makes_no_room_for_one_without() {
    let connections = Arc::new(Connections::new(MOST));
    let known = connections.admit();
    connections.authenticate(&known.connection).unwrap();

    let others: Vec<_> = (0..2 * (MOST / 3)).map(|_| connections.admit()).collect();

    assert!(!is_closing(&known));
    assert_eq!(others.iter().filter(|it| !is_closing(it)).count(), MOST / 3);
}

#[tokio::test(start_paused = true)]
async fn connections_with_the_token_make_room_for_each_other_but_not_in_the_middle_of_an_answer() {
    let connections = Arc::new(Connections::new(MOST));
    let (mut all, mut busy) = (Vec::new(), Vec::new());
    for _ in 0..MOST {
        let admitted = connections.admit();
        busy.push(admitted.connection.answer());
        connections.authenticate(&admitted.connection).unwrap();
        all.push(admitted);
    }
    let late = connections.admit();

    assert!(connections.authenticate(&late.connection).is_err());
    drop(busy);
    assert!(connections.authenticate(&late.connection).is_ok());

    assert_eq!(all.iter().filter(|it| is_closing(it)).count(), 1);
    assert!(!is_closing(&late));
}

#[tokio::test(start_paused = true)]
async fn a_connection_without_the_token_is_closed_after_10_s_of_silence_and_one_with_it_after_60_s()
{
    let connections = Arc::new(Connections::new(MOST));
    let (unknown, known) = (connections.admit(), connections.admit());
    connections.authenticate(&known.connection).unwrap();
    let began = Instant::now();

    unknown.connection.must_close().await;

    assert_eq!(began.elapsed(), HEAD_TIME);
    assert_eq!(known.connection.state().closes_at(), Some(began + REST));
}

#[tokio::test(start_paused = true)]
async fn who_does_not_read_goes_after_a_minute_and_who_reads_slowly_does_not() {
    let connections = Arc::new(Connections::new(MOST));
    let (silent, slow) = (connections.admit(), connections.admit());
    let answering = [&silent, &slow].map(|it| it.connection.answer());
    for it in [&silent, &slow] {
        connections.authenticate(&it.connection).unwrap();
        it.connection.write_is_blocked();
    }
    let began = Instant::now();
    let reading = async {
        loop {
            tokio::time::sleep(Duration::from_secs(50)).await;
            slow.connection.wrote(PACE);
        }
    };

    tokio::select! {
        () = silent.connection.must_close() => {}
        () = slow.connection.must_close() => panic!("it reads"),
        () = reading => unreachable!("it reads for ever"),
    }

    assert_eq!(began.elapsed(), LONGEST_STALL);
    silent.connection.wrote_all();
    assert_eq!(silent.connection.state().closes_at(), None);
    drop(answering);
}

#[tokio::test(start_paused = true)]
async fn only_those_of_a_session_are_closed_for_its_sake() {
    let connections = Arc::new(Connections::new(MOST));
    let all: Vec<_> = (0..3).map(|_| connections.admit()).collect();
    all[0].connection.serves(1);
    all[1].connection.serves(2);
    all[2].connection.serves(1);
    all[0].connection.write_is_blocked();
    all[1].connection.write_is_blocked();
    let long = Duration::from_secs(5);

    assert!(connections.is_writing(Some(1)) && !connections.is_writing(Some(3)));
    assert!(!connections.close_stalled(Some(1), long));
    tokio::time::advance(long).await;
    assert!(connections.close_stalled(Some(1), long));

    assert_eq!(all.iter().map(is_closing).collect::<Vec<_>>(), [true, false, false]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_which_no_piece_is_taken_for_a_minute_closes_its_connection() {
    let connections = Arc::new(Connections::new(MOST));
    let (lazy, slow) = (connections.admit(), connections.admit());
    let began = Instant::now();
    let (unread, read) = (lazy.connection.answer(), slow.connection.answer());
    unread.piece_waits();
    let reading = tokio::spawn(async move {
        loop {
            read.piece_waits();
            tokio::time::sleep(Duration::from_secs(59)).await;
            read.piece_was_taken();
            // Nothing to read is no reason to be closed.
            tokio::time::sleep(Duration::from_secs(3600)).await;
        }
    });

    lazy.connection.must_close().await;

    assert_eq!(began.elapsed(), LONGEST_STALL);
    assert!(connections.close_stalled(None, LONGEST_STALL));
    let patience = Duration::from_secs(24 * 3600);
    assert!(tokio::time::timeout(patience, slow.connection.must_close()).await.is_err());
    reading.abort();
}

#[tokio::test(start_paused = true)]
async fn the_requests_of_a_connection_hold_256_kib_together_and_give_them_back() {
    let connections = Arc::new(Connections::new(MOST));
    let (one, other) = (connections.admit(), connections.admit());

    let mut half = one.connection.hold(MOST_HELD / 2).unwrap();
    assert!(half.grow(MOST_HELD / 4) && !half.grow(MOST_HELD / 2));
    let rest = one.connection.hold(MOST_HELD / 4).unwrap();

    assert!(one.connection.hold(1).is_none());
    assert!(other.connection.hold(MOST_HELD).is_some());
    drop(half);
    assert!(one.connection.hold(MOST_HELD / 4 * 3).is_some());
    drop(rest);
    assert!(one.connection.hold(MOST_HELD).is_some());
}

fn is_closing(admitted: &OpenConnection) -> bool {
    admitted.connection.state().is_closing
}

/// The places for connections with the token.
const MOST: usize = 21;
