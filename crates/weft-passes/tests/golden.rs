//! `cases/*.weft`: a module at stage `ntensor`, and what it becomes. Every module is verified after every pass.
//!
//! A case starts with what it promises and a line `//! place=… dims=… show=…`; after `//! ----` stands the text of the
//! shown stages. `WEFT_BLESS=1 cargo test --release -p weft-passes --test golden` writes that part anew.

use std::path::PathBuf;
use weft_ir::print::print_module;
use weft_ir::read::read_module;
use weft_ir::{Module, Place};
use weft_passes::{PassCx, pipeline};

const MARK: &str = "//! ----\n";

/// A setting of the case's second line.
fn setting<'t>(text: &'t str, name: &str) -> &'t str {
    let line = text.lines().find_map(|l| l.strip_prefix("//! ")).expect("a case has a line of settings");
    let found = line.split_whitespace().find_map(|w| w.strip_prefix(name)?.strip_prefix('='));
    found.unwrap_or_else(|| panic!("no setting {name} in {line}"))
}

/// Text without the site table, which no pass changes.
fn shown(m: &Module) -> String {
    let text = print_module(m, false);
    text.lines().filter(|l| !l.starts_with("site ")).map(|l| format!("{l}\n")).collect()
}

fn run(text: &str) -> String {
    let module = read_module(text).expect("the case reads");
    let place = match setting(text, "place") {
        "host" => Place::Host,
        device => Place::device(device),
    };
    let kernel_dims = setting(text, "dims").parse().expect("dims is a number");
    let cx = PassCx { place, kernel_dims, verify: true };
    let stages = pipeline::lower(module, &cx).unwrap_or_else(|d| panic!("{}", d.message));
    let all = [&stages.placed, &stages.fused, &stages.loops];
    // What is printed can be read back and is still valid.
    for m in all {
        let again = read_module(&print_module(m, false)).expect("printed text reads");
        weft_ir::verify::verify(&again).expect("printed text is valid");
    }
    let wanted: Vec<&str> = setting(text, "show").split(',').collect();
    all.iter().filter(|m| wanted.contains(&m.stage.name())).map(|m| shown(m)).collect()
}

#[test]
fn every_case_becomes_what_it_says() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let bless = std::env::var_os("WEFT_BLESS").is_some();
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("the cases exist").map(|e| e.expect("a readable entry").path()).collect();
    paths.sort();
    assert!(!paths.is_empty());
    let mut wrong = vec![];
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("a case is text");
        let (input, expected) = text.split_once(MARK).unwrap_or((&text, ""));
        let found = run(input);
        if bless {
            std::fs::write(&path, format!("{input}{MARK}{found}")).expect("a case can be written");
        } else if found != expected {
            wrong.push(format!("{}:\n{found}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
