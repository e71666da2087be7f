//! `weft-opt`: reads IR text, runs passes, prints the result. For filetests and bug reports.

use std::io::Read;
use std::process::ExitCode;
use std::time::Instant;
use weft_interp::{Failure, Value, run, run_kernel};
use weft_ir::print::print_module;
use weft_ir::read::read_module;
use weft_ir::verify::{verify, verify_structure};
use weft_ir::{Module, Place, Stage, TensorType, Type};
use weft_opt::call::{Call, shown};
use weft_opt::reference;
use weft_passes::PassCx;
use weft_passes::pipeline::{self, PASSES, Pass, until};

const USAGE: &str = "weft-opt [options] FILE|-

  --pass A,B,C     run these passes, in this order
  --until NAME     run the pipeline up to and with this pass, or to the end of this stage (placed, fused, loops)
  --list           print the table of passes
  --time           print how long each pass took
  --place PLACE    where parallel work runs: host (default) or a device (cuda:gpu:0)
  --dims N         dimensions of the launch, when the entry is a kernel (default 1)
  --verify         check every invariant before, between and after the passes
  --run CALL       run the result on the interpreter instead of printing it: --run 'f(3.0, f32[1, 2])'
  --spans          print source positions
  --ops            print the reference page of all ops";

/// The command line.
#[derive(Default)]
struct Options {
    file: Option<String>,
    passes: Vec<String>,
    until: Option<String>,
    list: bool,
    time: bool,
    place: Option<String>,
    dims: Option<u32>,
    verify: bool,
    run: Option<String>,
    spans: bool,
    ops: bool,
}

fn main() -> ExitCode {
    let done = options(std::env::args().skip(1)).and_then(|o| work(&o));
    match done {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn options(mut args: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut o = Options::default();
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value\n\n{USAGE}"));
        match arg.as_str() {
            "--pass" => o.passes.extend(value()?.split(',').map(String::from)),
            "--until" => o.until = Some(value()?),
            "--list" => o.list = true,
            "--time" => o.time = true,
            "--place" => o.place = Some(value()?),
            "--dims" => o.dims = Some(value()?.parse().map_err(|_| "--dims takes a number")?),
            "--run" => o.run = Some(value()?),
            "--verify" => o.verify = true,
            "--spans" => o.spans = true,
            "--ops" => o.ops = true,
            "--help" | "-h" => return Err(USAGE.into()),
            other if other.starts_with("--") => return Err(format!("no option {other}\n\n{USAGE}")),
            _ => o.file = Some(arg),
        }
    }
    Ok(o)
}

fn work(o: &Options) -> Result<String, String> {
    if o.ops {
        return Ok(reference::page());
    }
    if o.list {
        let line = |pass: &Pass| format!("{:<15} {:<8} {}\n", pass.name, pass.gives.name(), pass.does);
        return Ok(PASSES.iter().map(line).collect());
    }
    let file = o.file.as_deref().ok_or(USAGE)?;
    let mut m = read_module(&text_of(file)?).map_err(|e| format!("{file}: {e}"))?;
    let place = match o.place.as_deref() {
        None | Some("host") => Place::Host,
        Some(device) => Place::device(device),
    };
    let mut cx = PassCx::new(place);
    cx.kernel_dims = o.dims.unwrap_or(1);
    cx.verify |= o.verify;
    // Passes and the interpreter walk without looking: the first ring always holds.
    let checked = if o.verify { verify(&m) } else { verify_structure(&m) };
    checked.map_err(|e| format!("as read: {e}"))?;
    // Stage `loops` returns arrays in pieces: the types as read say how they belong together.
    let results = m.entry().results.clone();
    let mut passes = vec![];
    for name in &o.passes {
        passes.push(*Pass::named(name).ok_or_else(|| no_pass(name))?);
    }
    if let Some(name) = &o.until {
        let from = passes.last().map_or(m.stage, |pass| pass.gives);
        passes.extend(until(from, name).ok_or_else(|| no_pass(name))?);
    }
    let mut begun = Instant::now();
    let mut times = String::new();
    m = pipeline::run(&m, &passes, &cx, &mut |pass, _| {
        times += &format!("; {:<15} {:>8.1} us\n", pass.name, begun.elapsed().as_secs_f64() * 1e6);
        begun = Instant::now();
    })
    .map_err(|d| d.message)?;
    match &o.run {
        Some(call) => run_call(&m, call, &results),
        None => Ok(if o.time { times } else { print_module(&m, o.spans) }),
    }
}

fn no_pass(name: &str) -> String {
    let names: Vec<&str> = PASSES.iter().map(|pass| pass.name).collect();
    format!("no pass or stage `{name}` comes next; the passes are {}", names.join(", "))
}

fn text_of(file: &str) -> Result<String, String> {
    let mut text = String::new();
    match file {
        "-" => std::io::stdin().read_to_string(&mut text).map(|_| text),
        path => std::fs::read_to_string(path),
    }
    .map_err(|e| format!("{file}: {e}"))
}

/// Results, then what arrays and lists among the arguments hold.
fn run_call(m: &Module, text: &str, types: &[Type]) -> Result<String, String> {
    let call = Call::parse(text).map_err(|e| format!("--run: {e}"))?;
    if call.func != m.entry().name {
        return Err(format!("--run: the entry is @{}", m.entry().name));
    }
    let outcome = match &call.launch {
        Some(sizes) => run_kernel(m, sizes, call.args.clone()).map(|()| vec![]),
        None => run(m, call.args.clone()),
    };
    let mut values = match outcome {
        Ok(values) => values,
        Err(Failure::Raised { site, args }) => {
            let s = &m.sites[site as usize];
            return Err(format!("{}: {}", s.class.name(), s.message(&args)));
        }
        Err(fault) => return Err(fault.to_string()),
    };
    if m.stage == Stage::Loops {
        let mut slots = std::mem::take(&mut values);
        for ty in types.iter().filter(|ty| **ty != Type::NONE) {
            let rank = ty.as_tensor().map(TensorType::rank);
            values.push(Value::implode(&mut slots, rank).map_err(|e| e.to_string())?);
        }
    }
    let mut out = shown(&values) + "\n";
    for (i, arg) in call.args.iter().enumerate().filter(|(_, a)| matches!(a, Value::Array(_) | Value::List(_))) {
        out += &format!("argument {i}: {}\n", shown(std::slice::from_ref(arg)));
    }
    Ok(out)
}
