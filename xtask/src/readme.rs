//! Keeps README.md honest: every `console` block in it is run again and compared.
//!
//! In a fenced block marked `console`, a line that begins with `$ ` is a command and the lines up to the next
//! command or the end of the block are what it prints (standard output and error together, as a terminal shows
//! them). Commands run by `sh` in the repository's root, with the release build of `apf` first on the path.
//! Commands that are only to be read stand in blocks of another language (`sh`).

use crate::shell::{Stop, cargo, fail, program, root, target_dir};
use std::path::Path;

const FILE: &str = "README.md";
const COMMAND: &str = "$ ";

pub(crate) fn command(mut args: lexopt::Parser) -> Result<(), Stop> {
    let mut write = false;
    while let Some(arg) = args.next()? {
        match arg {
            lexopt::Arg::Long("write") => write = true,
            other => return Err(other.unexpected().into()),
        }
    }
    if write { rewrite() } else { check() }
}

pub(crate) fn check() -> Result<(), Stop> {
    let (shown, current, commands) = regenerate()?;
    if shown == current {
        println!("{commands} commands in {FILE} print what it shows");
        return Ok(());
    }
    let at = shown.lines().zip(current.lines()).take_while(|(a, b)| a == b).count();
    let line = |text: &str| text.lines().nth(at).unwrap_or("(end of file)").to_owned();
    Err(Stop::Fail(format!(
        "{FILE} line {} differs (`cargo xtask readme --write` mends it)\n shown: {}\n   now: {}",
        at + 1,
        line(&shown),
        line(&current)
    )))
}

fn rewrite() -> Result<(), Stop> {
    let (_, current, commands) = regenerate()?;
    std::fs::write(root().join(FILE), current).map_err(fail("writing README.md"))?;
    println!("{commands} commands of {FILE} run and their output written");
    Ok(())
}

/// The file as it is, the file as it should be, and how many commands it shows.
fn regenerate() -> Result<(String, String, usize), Stop> {
    let shown = std::fs::read_to_string(root().join(FILE)).map_err(fail("reading README.md"))?;
    cargo(["build", "--quiet", "--release", "--package", "apf-cli", "--locked"]).run()?;
    let mut commands = 0;
    let current = with_outputs(&shown, |command| {
        commands += 1;
        run(command, &target_dir().join("release"))
    })?;
    if commands == 0 {
        return Err(Stop::Fail(format!("{FILE} shows no command in a `console` block")));
    }
    Ok((shown, current, commands))
}

fn run(command: &str, bin: &Path) -> Result<String, Stop> {
    let inherited = std::env::var_os("PATH").unwrap_or_default();
    let dirs = std::iter::once(bin.to_path_buf()).chain(std::env::split_paths(&inherited));
    let path = std::env::join_paths(dirs).map_err(fail("building PATH"))?;
    let merged = format!("exec 2>&1\n{command}");
    Ok(program("sh").args(["-c", &merged]).env("PATH", path).env("NO_COLOR", "1").capture()?.stdout)
}

/// The text with the output below every command replaced by what `run` says it prints.
fn with_outputs(text: &str, mut run: impl FnMut(&str) -> Result<String, Stop>) -> Result<String, Stop> {
    let mut result = String::new();
    let mut fence: Option<bool> = None;
    for line in text.lines() {
        match (fence, line.strip_prefix("```")) {
            (None, Some(language)) => fence = Some(language.trim() == "console"),
            (Some(_), Some(_)) => fence = None,
            (Some(true), None) => {
                let Some(command) = line.strip_prefix(COMMAND) else { continue };
                result.push_str(line);
                result.push('\n');
                for printed in run(command)?.trim_end().lines() {
                    result.push_str(printed.trim_end());
                    result.push('\n');
                }
                continue;
            }
            _ => {}
        }
        result.push_str(line);
        result.push('\n');
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "a\n```console\n$ one\nold\n$ two\n```\n```sh\n$ three\nkept\n```\nz\n";

    #[test]
    fn only_console_blocks_are_run_and_their_output_is_replaced() {
        let mut ran = Vec::new();
        let result = with_outputs(TEXT, |command| {
            ran.push(command.to_owned());
            Ok(format!("{command} printed  \n\nmore\n\n"))
        });
        let expected = "a\n```console\n$ one\none printed\n\nmore\n$ two\ntwo printed\n\nmore\n```\n```sh\n$ three\nkept\n```\nz\n";
        assert_eq!(result.unwrap(), expected);
        assert_eq!(ran, ["one", "two"]);
    }

    #[test]
    fn a_second_pass_changes_nothing() {
        let once = with_outputs(TEXT, |_| Ok("x\n".to_owned())).unwrap();
        let twice = with_outputs(&once, |_| Ok("x\n".to_owned())).unwrap();
        assert_eq!(once, twice);
    }
}
