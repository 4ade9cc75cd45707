use super::*;

#[test]
fn a_scenario_is_read_with_all_its_parts() {
    let scenario = Scenario::read(WHOLE).unwrap();

    assert_eq!(scenario.group(), Some(Group::Reconnection));
    assert_eq!(scenario.server.rule[0].times, Some(1));
    assert!(matches!(scenario.server.rule[0].acts[2], Action::Event(_)));
    assert_eq!(scenario.client.len(), 3);
    assert!(matches!(scenario.must[0].claim(), Some(Claim::Step(_))));
    assert!(matches!(scenario.ideal[0].claim(), Some(Claim::Connections(_))));
}

#[test]
fn a_word_that_nobody_knows_is_named() {
    for (good, bad) in [("times = 1", "time = 1"), ("\"run\"", "\"walk\""), ("tool =", "tol =")] {
        let text = WHOLE.replacen(good, bad, 1);

        let error = Scenario::read(&text).unwrap_err().to_string();

        let word = bad.trim_matches(['"', ' ', '=', '1']).trim();
        assert!(error.contains(word), "{error}");
    }
}

#[test]
fn a_scenario_that_contradicts_itself_is_refused() {
    let cases = [
        ("id = \"A1\"", "id = \"Z1\"", "the letter of a group"),
        ("breaks = \"it is answered\"", "breaks = \"nothing\"", "which its control breaks"),
        ("number = 1", "number = 7", "a step that is not in the script"),
        ("connections = { at_most = 2 }", "", "exactly one claim"),
        (
            "connections = {",
            "spares_bridges = true\nspares_clients = true\nconnections = {",
            "is asked of nobody",
        ),
        ("connections = { at_most = 2 }", "connections = {}", "holds whatever happens"),
        ("{ at_most = 2 }", "{ at_most = 2, at_least = 3 }", "can never hold"),
        ("{ at_most = 2 }", "{ at_most = 2, exactly = 3 }", "can never hold"),
        ("number = 1, ok = true, text = \"a\"", "number = 1", "holds whatever happens"),
        ("number = 1, ok = true", "number = 1, within = -1.0", "a time that is none"),
        (
            "connections = { at_most = 2 }",
            "pauses = { of = {}, at_least = -1.0 }",
            "a time that is",
        ),
        (
            "connections = { at_most = 2 }",
            "requests = { of = {}, at = 'other', times = { exactly = 0 } }",
            "about another server, and there is none",
        ),
        ("connections = { at_most = 2 }", "unsaid = ''", "holds whatever happens"),
        ("id = \"A1\"", "id = \"A\"", "the letter of a group"),
        ("{ op = \"close\" }", "{ op = \"sleep\", s = -5.0 }", "`s` is -5"),
        ("title =", "limit_s = 0\ntitle =", "limit_s is 0"),
        ("{ wait = 0.1 }", "{ wait = -1.0 }", "-1 s are not between"),
        ("{ wait = 0.1 }", "{ status = { code = 99 } }", "99 is not the status"),
        (
            "[[server.rule]]",
            "[[server.turn]]\nafter = -1.0\nera = 'modern'\n[[server.rule]]",
            "-1 s are",
        ),
        (
            "connections = { at_most = 2 }",
            "cancels = { of = {}, times = {} }",
            "holds whatever happens",
        ),
        ("times = 1", "times = 1\nlasts = 2.0", "one of `times`, `lasts` and `beyond`"),
        ("times = 1", "lasts = -2.0", "-2 s are not between"),
        ("[[server.rule]]", "[server]\nreplicas = 0\n[[server.rule]]", "`replicas` are one"),
        (
            "[[server.rule]]",
            "[server]\nway = 'http-sse'\n[[server.rule]]\nwhen = {}\ndo = ['pass']\n[[server.rule]]",
            "no rules that `pass`",
        ),
        ("title =", "limit_s = 121\ntitle =", "limit_s is 121"),
        ("title =", "limit_s = 601\nslow = true\ntitle =", "limit_s is 601"),
        ("{ wait = 0.1 }", "{ bytes = 'f' }", "pairs of hexadecimal digits"),
        (
            "{ wait = 0.1 }",
            "{ status = { code = 200, headers = { 'a b' = 'c' } } }",
            "`a b` is no header",
        ),
    ];
    for (good, bad, words) in cases {
        let error = Scenario::read(&WHOLE.replacen(good, bad, 1)).unwrap_err().to_string();

        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn groups_have_the_letters_from_a_to_l() {
    let letters: String = Group::ALL.iter().map(|group| group.letter()).collect();

    assert_eq!(letters, "ABCDEFGHIJKL");
}

const WHOLE: &str = r#"
id = "A1"
title = "a cut stream"
why = "Because."
control = { mistake = "gives-up", breaks = "it is answered" }
client = [{ op = "initialize" }, { op = "call", tool = "echo", args = { msg = "a" } }, { op = "close" }]

[[server.rule]]
when = { tool = "echo" }
times = 1
do = ["run", "open", { event = { id = "e1" } }, { wait = 0.1 }, "cut"]

[[must]]
that = "it is answered"
step = { number = 1, ok = true, text = "a" }

[[ideal]]
that = "few connections"
connections = { at_most = 2 }
"#;
