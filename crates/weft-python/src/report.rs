//! `f.report()`: the notes of a specialisation on the lines of its source.

use std::collections::{BTreeMap, BTreeSet};

use pyo3::prelude::*;
use weft_diag::{Sources, Span};
use weft_passes::report::{Circumstances, Cost, Kind, Note, notes, plain_loops};
use weft_runtime::Sharing;

use crate::dispatcher::chosen;
use crate::function::Function;
use crate::specialisation::Specialisation;

/// A source: the function's name, the file, the number of the first line, the text.
type Source = (String, String, u32, String);
/// A note: the number of its source, its line, its kind, its cost, its text.
type Told = (u32, u32, &'static str, u8, String);

/// The report of a specialisation: the last used, or the one with that index.
pub(crate) fn report(py: Python<'_>, function: &Function, index: Option<usize>) -> PyResult<Py<PyAny>> {
    let made = chosen(function, index)?;
    let given = Circumstances {
        parallel_from: match function.sharing {
            Sharing::Never => None,
            Sharing::WhereItPays => Some(weft_runtime::PARALLEL_FROM),
            Sharing::Always => Some(0),
        },
        unchecked: function.unchecked,
        debug: function.modes.debug,
        device: made.queue.filter().to_owned(),
    };
    let told = py.detach(|| {
        let mut found = notes(&made.stages, &given);
        found.extend(vectors(&made));
        told(&found, &made.origin.sources, &made.origin.names)
    });
    let sources: Vec<Source> = made
        .origin
        .names
        .iter()
        .enumerate()
        .filter_map(|(k, name)| {
            let file = made.origin.sources.get(Span::new(k as u32, 0, 0))?;
            Some((name.clone(), file.name.clone(), file.first_line, file.text.clone()))
        })
        .collect();
    let class = py.import("weft._report")?.getattr("Report")?;
    let calls = made.assumed.in_words();
    Ok(class.call_method1("_of", (made.signature(), given.device, calls, sources, told))?.unbind())
}

/// What the vectoriser did. Where it cannot be asked, there is nothing to tell.
fn vectors(made: &Specialisation) -> Vec<Note> {
    let remarks = weft_codegen::loop_remarks(&made.stages.loops).unwrap_or_default();
    let plain = plain_loops(&made.stages);
    let note = |span, cost, text| Note { span, kind: Kind::Vector, cost, text, others: vec![] };
    let mut reasons: BTreeMap<Span, Vec<String>> = BTreeMap::new();
    let mut found = vec![];
    for remark in remarks.into_iter().filter(|remark| plain.contains(&(remark.span.file, remark.span.start))) {
        let text = match remark.outcome {
            Ok((width, 1)) => format!("{width} items at a time"),
            Ok((width, more)) => format!("{width} items at a time, {more} such in flight"),
            Err(why) => {
                reasons.entry(remark.span).or_default().push(why);
                continue;
            }
        };
        found.push(note(remark.span, Cost::None, text));
    }
    // Of several copies of one loop the fast one counts: the others are for what hardly happens.
    reasons.retain(|span, _| !found.iter().any(|note| note.span == *span));
    for (span, reasons) in reasons {
        found.extend(in_words(&reasons).map(|why| note(span, Cost::Much, format!("not vectorised: {why}"))));
    }
    found
}

/// The first of LLVM's reasons in the words of this report; what we asked for ourselves is none.
fn in_words(reasons: &[String]) -> Option<String> {
    let known = [
        ("reorder floating-point", "a sum of floats keeps its order"),
        ("control flow is not understood", "an exception or a `break` may leave it in the middle"),
        ("early exit", "an exception or a `break` may leave it in the middle"),
        ("potentially faulting load", "an exception or a `break` may leave it in the middle"),
        ("could not determine number of loop iterations", "how many turns it takes is not known before"),
        ("identified as reduction", "a turn needs what the one before it computed"),
        ("unsafe dependent memory operations", "a turn may read what the one before it wrote"),
        ("cannot identify array bounds", "what it reads and what it writes may be the same memory"),
        ("call instruction cannot be vectorized", "it calls a function that has no vector form"),
        ("not beneficial", "it would not be faster"),
    ];
    let meant: Vec<&String> = reasons.iter().filter(|why| !why.contains("disable")).collect();
    let ours = known.iter().find(|(theirs, _)| meant.iter().any(|why| why.contains(theirs)));
    ours.map(|(_, ours)| (*ours).to_owned()).or_else(|| meant.first().map(|why| format!("LLVM says `{why}`")))
}

/// Notes with their lines, each once, in the order of lines.
fn told(notes: &[Note], sources: &Sources, names: &[String]) -> Vec<Told> {
    let line = |span: Span| Some((span.file, sources.get(span)?.line_col(span.start).0));
    let mut all = BTreeSet::new();
    for note in notes {
        let Some(own) = line(note.span) else { continue };
        let others: BTreeSet<(u32, u32)> = note.others.iter().filter_map(|&span| line(span)).collect();
        let elsewhere = others.iter().any(|other| *other != own);
        if note.text.contains("{at}") && !elsewhere {
            continue;
        }
        let at = lines(&others, own.0, names);
        let of = if elsewhere { format!(" of {at}") } else { String::new() };
        let text = note.text.replace("{of}", &of).replace("{at}", &at);
        all.insert((own.0, own.1, note.kind, note.cost, text));
    }
    all.into_iter().map(|(file, line, kind, cost, text)| (file, line, kind.name(), cost as u8, text)).collect()
}

/// `line 3`, `lines 3, 5 and 7`, `line 3 of helper`: lines of functions, seen from one of them.
fn lines(of: &BTreeSet<(u32, u32)>, from: u32, names: &[String]) -> String {
    let mut parts = vec![];
    for file in of.iter().map(|l| l.0).collect::<BTreeSet<u32>>() {
        let numbers: Vec<String> = of.iter().filter(|l| l.0 == file).map(|l| l.1.to_string()).collect();
        let listed = match &numbers[..] {
            [one] => format!("line {one}"),
            [first @ .., last] => format!("lines {} and {last}", first.join(", ")),
            [] => continue,
        };
        let name = names.get(file as usize).filter(|_| file != from);
        parts.push(name.map_or_else(|| listed.clone(), |name| format!("{listed} of {name}")));
    }
    parts.join(" and ")
}
