//! Parses the library (`python/weft/lib/*.py`), so that no process has to.
//!
//! Out: `library.bin`, the syntax tree of one function after the other, and `library.rs`, which says what each of them
//! is called and where its bytes are. `src/infer/library.rs` decodes a function when it is first called.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

use weft_syntax::{Decorator, Library, dotted, parse_library};

/// These hold no functions that are compiled: the package itself, and what only the compiler can do.
const NO_MODULES: [&str; 2] = ["__init__", "prim"];

fn main() {
    if let Err(why) = run() {
        println!("cargo::error={why}");
        std::process::exit(1);
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../../python/weft/lib");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut snapshot = Snapshot::default();
    for file in modules(&folder)? {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        // Nothing of the library is shown to users: its positions are in no file of theirs.
        let library = parse_library(u32::MAX, &fs::read_to_string(&file)?)
            .map_err(|d| format!("{}, byte {}: {}", file.display(), d.primary.span.start, d.message))?;
        snapshot.add(&name, library).map_err(|why| format!("{}: {why}", file.display()))?;
    }
    snapshot.write(&PathBuf::from(env::var("OUT_DIR")?))?;
    Ok(())
}

/// The files of the library's modules, in order.
fn modules(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut files = vec![];
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if path.extension().is_some_and(|e| e == "py") && !NO_MODULES.contains(&stem.as_str()) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

#[derive(Default)]
struct Snapshot {
    /// Each name a function goes by, with its number.
    names: BTreeMap<String, usize>,
    /// Module of each function, and where its bytes begin and end.
    functions: Vec<(String, usize, usize)>,
    /// Module, name there, what was imported under it.
    imports: Vec<(String, String, String)>,
    trees: Vec<u8>,
}

impl Snapshot {
    fn add(&mut self, module: &str, library: Library) -> Result<(), Box<dyn Error>> {
        for (function, decorators) in library.functions {
            let number = self.functions.len();
            // Without an overload, a function is known by its module: what the library calls itself.
            let mut names = vec![format!("weft.lib.{module}.{}", function.name)];
            let overloaded = decorators.iter().filter(|d| d.path == "overload").flat_map(|d| &d.args);
            for path in overloaded.filter_map(dotted) {
                names.push(canonical(&library.imports, &path));
            }
            for name in names {
                if self.names.insert(name.clone(), number).is_some() {
                    return Err(format!("`{name}` is defined twice").into());
                }
            }
            let decorators: Vec<&Decorator> = decorators.iter().filter(|d| d.path != "overload").collect();
            let paths: Vec<&str> = decorators.iter().map(|d| d.path.as_str()).collect();
            let bytes = postcard::to_allocvec(&(paths, function))?;
            let start = self.trees.len();
            self.trees.extend(bytes);
            self.functions.push((module.to_owned(), start, self.trees.len()));
        }
        self.imports.extend(library.imports.into_iter().map(|(name, path)| (module.to_owned(), name, path)));
        Ok(())
    }

    fn write(self, out: &Path) -> Result<(), Box<dyn Error>> {
        let names: Vec<(&String, &usize)> = self.names.iter().collect();
        let functions = self.functions;
        let index = format!(
            "/// Every name in order, with the number of its function.\n\
             static NAMES: [(&str, usize); {}] = {names:?};\n\
             /// The module of each function, and where its bytes begin and end.\n\
             static FUNCTIONS: [(&str, usize, usize); {}] = {functions:?};\n\
             /// A module, a name there, and what was imported under it.\n\
             static IMPORTS: [(&str, &str, &str); {}] = {:?};\n",
            names.len(),
            functions.len(),
            self.imports.len(),
            self.imports,
        );
        fs::write(out.join("library.rs"), index)?;
        fs::write(out.join("library.bin"), self.trees)?;
        Ok(())
    }
}

/// A dotted path with its first name replaced by what was imported under it.
fn canonical(imports: &BTreeMap<String, String>, path: &str) -> String {
    let (first, rest) = path.split_once('.').map_or((path, None), |(f, r)| (f, Some(r)));
    let base = imports.get(first).cloned().unwrap_or_else(|| format!("builtins.{first}"));
    rest.map_or(base.clone(), |rest| format!("{base}.{rest}"))
}
