//! Additions to clap's completion scripts: names of servers and tools, which change from day to day.

use clap_complete::Shell;

/// Returns the script with names in it, where we know the shell.
pub(super) fn with_names(shell: Shell, script: String) -> String {
    match shell {
        Shell::Bash => script + BASH,
        Shell::Fish => script + FISH,
        Shell::Zsh => zsh(&script),
        _ => script,
    }
}

/// Lets functions of ours complete the words for a server and a tool.
fn zsh(script: &str) -> String {
    let line = |line: &str| {
        let by = match () {
            () if line.contains("server -- ") => "_ridethrough_servers",
            () if line.contains("tool -- ") => "_ridethrough_tools",
            () => return format!("{line}\n"),
        };
        format!("{}\n", line.replace(":_default'", &format!(":{by}'")))
    };
    // The first line must stay the first: it says what the file completes.
    let mut lines = script.lines();
    let first = lines.next().map(|it| format!("{it}\n")).unwrap_or_default();
    first + ZSH + &lines.map(line).collect::<String>()
}

const BASH: &str = r#"
# Names of servers, and of the tools that a server had when it was last asked.
_ridethrough_names() {
    local cur=${COMP_WORDS[COMP_CWORD]} names=""
    if [[ $cur != -* ]]; then
        case "${COMP_WORDS[1]}:$COMP_CWORD" in
            auth:3|bridge:2|call:2|check:2|login:2|logout:2|ping:2|prompt:2|prompts:2|read:2|resources:2|task:3|tools:2|watch:2)
                names=$(ridethrough complete servers 2>/dev/null) ;;
            call:3|tools:3)
                names=$(ridethrough complete tools "${COMP_WORDS[2]}" 2>/dev/null) ;;
        esac
    fi
    COMPREPLY=()
    [[ -n $names ]] && COMPREPLY=($(compgen -W "$names" -- "$cur"))
    [[ ${#COMPREPLY[@]} -gt 0 ]] || _ridethrough "$@"
}
complete -F _ridethrough_names -o nosort -o bashdefault -o default ridethrough
"#;

const FISH: &str = r#"
# Names of servers, and of the tools that a server had when it was last asked.
complete -c ridethrough -n "__fish_seen_subcommand_from bridge call check login logout ping prompt prompts read resources tools watch; and test (count (commandline -opc)) -eq 2" -f -a "(ridethrough complete servers 2>/dev/null)"
complete -c ridethrough -n "__fish_seen_subcommand_from auth task; and test (count (commandline -opc)) -eq 3" -f -a "(ridethrough complete servers 2>/dev/null)"
complete -c ridethrough -n "__fish_seen_subcommand_from call tools; and test (count (commandline -opc)) -eq 3" -f -a "(ridethrough complete tools (commandline -opc)[3] 2>/dev/null)"
"#;

const ZSH: &str = r#"
# Names of servers, and of the tools that a server had when it was last asked.
_ridethrough_servers() {
    local -a names
    names=(${(f)"$(ridethrough complete servers 2>/dev/null)"})
    compadd -a names
    _default
}
_ridethrough_tools() {
    local -a names
    names=(${(f)"$(ridethrough complete tools "${words[2]}" 2>/dev/null)"})
    compadd -a names
    _default
}
"#;
