//! Runs every file under `filetests/`. A header of `;` comments says how:
//!
//! ```text
//! ; test: roundtrip              reads, verifies, prints; reading that again prints the same
//! ; test: read-error             reading fails with the text of an `; error:` line
//! ; test: verify-error           verifying fails with the invariant and the words of an `; error:` line
//! ; test: pass rows,products     the passes give the text after `; ----` (WEFT_BLESS=1 writes it), and what they make of the
//!                                program does what it did: on the interpreter, with the
//!                                arguments of `; run:` lines, or with any of its types
//! ; test: until fused            the same of the pipeline, up to and with this pass or to the end of this stage
//! ; test: until-error place      the last pass refuses with the text of an `; error:` line
//! ; test: run                    every `; run:` line (see `weft_opt::call`) holds on every backend at every stage
//! ; place: cuda:gpu:0            where parallel work runs; `run` without it tries the host and a device
//! ```

#[path = "../common/arguments.rs"]
mod arguments;
mod backends;
mod executed;
mod folds;
mod native;
#[path = "../common/rng.rs"]
mod rng;

use backends::Backend;
use std::path::{Path, PathBuf};
use weft_ir::print::print_module;
use weft_ir::read::read_module;
use weft_ir::verify::verify;
use weft_ir::{Module, Op, Place, Stage};
use weft_opt::call::{Call, Expect};
use weft_passes::PassCx;
use weft_passes::pipeline::{self, Pass, until};

const SEPARATOR: &str = "; ----\n";

/// A file: its text and what its header says.
struct Case {
    path: PathBuf,
    text: String,
}

type Outcome = Result<(), String>;

impl Case {
    /// Values of the header lines `; key: value`; lines that start with `;` and three spaces continue one.
    fn header(&self, key: &str) -> Vec<String> {
        let prefix = format!("; {key}:");
        let mut found: Vec<String> = vec![];
        let mut inside = false;
        for line in self.text.lines() {
            if let Some(value) = line.strip_prefix(&prefix) {
                found.push(value.trim().into());
                inside = true;
            } else if let (true, Some(more), Some(last)) = (inside, line.strip_prefix(";   "), found.last_mut()) {
                last.push(' ');
                last.push_str(more.trim());
            } else {
                inside = false;
            }
        }
        found
    }

    fn input(&self) -> &str {
        self.text.split_once(SEPARATOR).map_or(&self.text, |(input, _)| input)
    }

    fn module(&self) -> Result<Module, String> {
        let m = read_module(self.input()).map_err(|e| e.to_string())?;
        verify(&m).map_err(|e| e.to_string())?;
        Ok(m)
    }

    fn place(&self) -> Option<Place> {
        self.header("place").first().map(|p| if p == "host" { Place::Host } else { Place::device(p) })
    }

    fn error_is(&self, found: &str) -> Outcome {
        let wanted = self.header("error");
        match wanted.is_empty() || wanted.iter().any(|w| !found.contains(w.as_str())) {
            true => Err(format!("the error is: {found}")),
            false => Ok(()),
        }
    }

    fn check(&self, backends: &[Box<dyn Backend>]) -> Outcome {
        let test = self.header("test");
        let [test] = &test[..] else { return Err("no single `; test:` line".into()) };
        match test.split_once(' ').unwrap_or((test.as_str(), "")) {
            ("roundtrip", _) => self.roundtrip(),
            ("read-error", _) => match read_module(self.input()) {
                Ok(_) => Err("it reads".into()),
                Err(e) => self.error_is(&e.to_string()),
            },
            ("verify-error", _) => {
                let m = read_module(self.input()).map_err(|e| e.to_string())?;
                match verify(&m) {
                    Ok(()) => Err("it verifies".into()),
                    Err(e) => self.error_is(&e.to_string()),
                }
            }
            (kind @ ("pass" | "until"), names) => self.golden(kind, names, backends),
            ("until-error", name) => match self.lowered("until", name) {
                Ok(_) => Err("it passes".into()),
                Err(e) => self.error_is(&e),
            },
            ("run", _) => self.run(backends),
            _ => Err(format!("no kind of test `{test}`")),
        }
    }

    fn roundtrip(&self) -> Outcome {
        let first = print_module(&self.module()?, true);
        let again = read_module(&first).map_err(|e| format!("what it prints does not read: {e}\n{first}"))?;
        let second = print_module(&again, true);
        if first == second { Ok(()) } else { Err(format!("prints\n{first}and then\n{second}")) }
    }

    fn lowered(&self, kind: &str, names: &str) -> Result<Module, String> {
        let mut cx = PassCx::new(self.place().unwrap_or(Place::Host));
        cx.kernel_dims = self.header("dims").first().and_then(|n| n.parse().ok()).unwrap_or(1);
        cx.verify = true;
        let m = self.module()?;
        let passes: Option<Vec<Pass>> = match kind {
            "until" => until(m.stage, names).map(<[Pass]>::to_vec),
            _ => names.split(',').map(|name| Pass::named(name).copied()).collect(),
        };
        let passes = passes.ok_or_else(|| format!("no pass or stage `{names}` comes next"))?;
        pipeline::run(&m, &passes, &cx, &mut |_, _| {}).map_err(|d| d.message)
    }

    fn golden(&self, kind: &str, names: &str, backends: &[Box<dyn Backend>]) -> Outcome {
        let lowered = self.lowered(kind, names)?;
        let found = print_module(&lowered, false);
        let calls = self.header("run");
        let dims = self.header("dims").first().and_then(|n| n.parse().ok()).unwrap_or(1);
        match calls.is_empty() {
            true => executed::agree(&self.module()?, &lowered, dims)?,
            false => {
                let interpreter = &backends[..1];
                for line in &calls {
                    execute(&self.module()?, line, interpreter, "as it is")?;
                    execute(&lowered, line, interpreter, "behind the passes")?;
                }
            }
        }
        let wanted = self.text.split_once(SEPARATOR).map_or("", |(_, wanted)| wanted);
        if found == wanted {
            return Ok(());
        }
        if std::env::var_os("WEFT_BLESS").is_some_and(|v| v == "1") {
            let text = format!("{}{}{found}", self.input(), SEPARATOR);
            return std::fs::write(&self.path, text).map_err(|e| e.to_string());
        }
        Err(format!("gives (WEFT_BLESS=1 writes it)\n{found}"))
    }

    /// Every call at the file's stage and after each remaining pass, on every backend that takes that stage.
    fn run(&self, backends: &[Box<dyn Backend>]) -> Outcome {
        let calls = self.header("run");
        if calls.is_empty() {
            return Err("no `; run:` line".into());
        }
        let places = match self.place() {
            Some(place) => vec![place],
            None => vec![Place::Host, Place::device("cuda:gpu:0")],
        };
        for (place, line) in places.iter().flat_map(|p| calls.iter().map(move |c| (p, c))) {
            let parsed = Call::parse(line).map_err(|e| format!("{line}: {e}"))?;
            let mut cx = PassCx::new(place.clone());
            cx.kernel_dims = parsed.launch.as_ref().map_or(1, |sizes| sizes.len() as u32);
            let mut m = self.module()?;
            execute(&m, line, backends, "as it is")?;
            for pass in until(m.stage, Stage::Loops.name()).unwrap_or_default() {
                let when = format!("after {} for {place}", pass.name);
                m = pass.apply(m, &cx).map_err(|d| format!("{when}: {}", d.message))?;
                verify(&m).map_err(|e| format!("{when}: {e}\n{}", print_module(&m, false)))?;
                execute(&m, line, backends, &when)?;
            }
        }
        Ok(())
    }
}

fn execute(m: &Module, line: &str, backends: &[Box<dyn Backend>], when: &str) -> Outcome {
    for backend in backends.iter().filter(|b| b.takes(m)) {
        // Parsed anew for each run, which may write into its arguments.
        let call = Call::parse(line).map_err(|e| e.to_string())?;
        if call.func != m.entry().name {
            return Err(format!("the entry is @{}, not @{}", m.entry().name, call.func));
        }
        if matches!(call.expect, Expect::Faults(_)) && !backend.checks_everything() {
            continue;
        }
        let outcome = backend.run(m, &call);
        call.judge(m, outcome)
            .map_err(|e| format!("{line}\n{} {when}: {e}\n{}", backend.name(), print_module(m, false)))?;
    }
    Ok(())
}

fn collect(folder: &Path, cases: &mut Vec<Case>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, cases)?;
        } else if path.extension().is_some_and(|e| e == "weft") {
            cases.push(Case { text: std::fs::read_to_string(&path)?, path });
        }
    }
    cases.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(())
}

fn all_cases() -> Vec<Case> {
    let mut cases = vec![];
    collect(&root(), &mut cases).expect("filetests/ can be read");
    cases
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../filetests")
}

#[test]
fn every_op_occurs() {
    let cases = all_cases();
    let valid = |c: &&Case| !c.header("test").iter().any(|t| t.ends_with("-error"));
    let text: String = cases.iter().filter(valid).map(|c| c.text.as_str()).collect();
    // One row stands for all functions of floats.
    let occurs = |name: &str| match name.strip_suffix('*') {
        Some(family) => text.contains(family),
        None => text.contains(&format!("{name}(")),
    };
    let missing: Vec<&str> = Op::DOCS.iter().map(|row| row.name).filter(|name| !occurs(name)).collect();
    assert!(missing.is_empty(), "no filetest for {missing:?}");
}

/// `WEFT_FILETEST=word` runs only files whose path contains it.
#[test]
fn filetests() {
    let (root, cases) = (root(), all_cases());
    assert!(cases.len() >= 40, "only {} files under filetests/", cases.len());
    let only = std::env::var("WEFT_FILETEST").unwrap_or_default();
    let backends = backends::all();
    let mut failed = vec![];
    for case in cases.iter().filter(|c| c.path.to_string_lossy().contains(&only)) {
        if let Err(e) = case.check(&backends) {
            let name = case.path.strip_prefix(&root).unwrap_or(&case.path).display();
            failed.push(format!("---- {name}\n{e}"));
        }
    }
    assert!(failed.is_empty(), "{} of {} failed\n{}", failed.len(), cases.len(), failed.join("\n"));
}
