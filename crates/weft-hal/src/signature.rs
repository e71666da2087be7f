//! What kernels declare: their parameters, read from SPIR-V modules and PTX text (OpenCL C drivers answer for their own).
//!
//! A launch with the wrong number or size of arguments makes a driver read what is not there, so whoever takes
//! arguments from users checks them against these.

use std::collections::HashMap;

/// One declared parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name, where the program keeps it.
    pub name: String,
    /// What it takes.
    pub kind: ParameterKind,
}

/// What a parameter takes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParameterKind {
    /// An address of global or constant memory.
    Pointer {
        /// What is declared to lie there, where that is an integer or a float.
        element: Option<Box<ParameterKind>>,
        /// Whether the kernel may write through it.
        written: bool,
    },
    /// An address of a work-group's local memory.
    Local,
    /// An integer.
    Int {
        /// Its size.
        bytes: u32,
        /// Whether it is signed, where the program says.
        signed: Option<bool>,
    },
    /// A floating-point number.
    Float {
        /// Its size.
        bytes: u32,
    },
    /// Bytes whose meaning the program does not say; eight of them may be an address.
    Bits {
        /// Their number.
        bytes: u32,
    },
    /// Anything else: a vector, a structure, an image.
    Other {
        /// Its size, where known.
        bytes: Option<u32>,
        /// In the program's or the driver's words.
        what: String,
    },
}

/// Parameters by kernel name.
pub(crate) type Signatures = HashMap<String, Vec<Parameter>>;

/// The kernels that PTX text declares.
pub(crate) fn of_ptx(text: &[u8]) -> Signatures {
    let text = without_comments(&String::from_utf8_lossy(text));
    let mut found = Signatures::new();
    for entry in text.split(".entry").skip(1) {
        let entry = entry.trim_start();
        let end = entry.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '$' | '%'))).unwrap_or(entry.len());
        let (name, rest) = entry.split_at(end);
        let list = rest.trim_start().strip_prefix('(').and_then(|rest| rest.split(')').next()).unwrap_or("");
        let parameters = list.split(',').map(str::trim).filter(|p| !p.is_empty()).map(ptx_parameter).collect();
        found.insert(name.to_owned(), parameters);
    }
    found
}

fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("//").into_iter().chain(rest.find("/*")).min() {
        out.push_str(&rest[..at]);
        let (end, skip) = if rest[at..].starts_with("//") { ("\n", 0) } else { ("*/", 2) };
        rest = rest[at + 2..].find(end).map_or("", |n| &rest[at + 2 + n + skip..]);
        out.push(' ');
    }
    out.push_str(rest);
    out
}

/// `.param .u64 .ptr .global .align 4 name`, `.param .align 8 .b8 name[16]`.
fn ptx_parameter(text: &str) -> Parameter {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut name = words.last().copied().unwrap_or("").to_owned();
    let ty = words.iter().find_map(|w| {
        let w = w.strip_prefix('.')?;
        let letter = w.chars().next().filter(|c| "usbf".contains(*c))?;
        Some((letter, w[1..].parse::<u32>().ok()? / 8))
    });
    let kind = match ty {
        Some((_, size)) if name.ends_with(']') => {
            let (short, count) = name.trim_end_matches(']').split_once('[').unwrap_or((&name, ""));
            let bytes = count.parse::<u32>().ok().and_then(|n| n.checked_mul(size));
            let what = format!("{} bytes", bytes.map_or("?".to_owned(), |n| n.to_string()));
            name = short.to_owned();
            ParameterKind::Other { bytes, what }
        }
        Some((_, 8)) if words.contains(&".ptr") => ParameterKind::Pointer { element: None, written: true },
        Some(('f', bytes)) => ParameterKind::Float { bytes },
        // Addresses are integers of eight bytes unless `.ptr` says otherwise, and not every compiler does.
        Some((_, 8)) => ParameterKind::Bits { bytes: 8 },
        Some(('b', bytes)) => ParameterKind::Bits { bytes },
        Some((_, bytes)) => ParameterKind::Int { bytes, signed: None },
        None => ParameterKind::Other { bytes: None, what: text.to_owned() },
    };
    Parameter { name, kind }
}

/// The kernels that a SPIR-V module declares; none for what cannot be read.
pub(crate) fn of_spirv(module: &[u8]) -> Signatures {
    read_spirv(module).unwrap_or_default()
}

fn read_spirv(module: &[u8]) -> Option<Signatures> {
    let words: Vec<u32> = module.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    if *words.first()? != 0x0723_0203 {
        return None;
    }
    let mut entries: HashMap<u32, Vec<String>> = HashMap::new();
    let mut names: HashMap<u32, String> = HashMap::new();
    let mut types: HashMap<u32, ParameterKind> = HashMap::new();
    let mut found = Signatures::new();
    let mut current: Vec<String> = vec![];
    let mut rest = words.get(5..)?;
    while let Some(&first) = rest.first() {
        let (count, opcode) = ((first >> 16) as usize, first & 0xFFFF);
        let operands = rest.get(1..count.max(1))?;
        match (opcode, operands) {
            (5, [id, text @ ..]) => drop(names.insert(*id, literal(text))),
            (15, [_, id, text @ ..]) => entries.entry(*id).or_default().push(literal(text)),
            (20, [id]) => drop(types.insert(*id, other("bool", Some(1)))),
            (21, [id, bits, _]) => drop(types.insert(*id, ParameterKind::Int { bytes: bits / 8, signed: None })),
            (22, [id, bits, ..]) => drop(types.insert(*id, ParameterKind::Float { bytes: bits / 8 })),
            (23, [id, ..]) => drop(types.insert(*id, other("a vector", None))),
            // Workgroup memory is 4; anything but global (5) and constant (0) is passed by value.
            (32, [id, class, to]) => {
                let element = types.get(to).filter(|k| is_number(k)).cloned().map(Box::new);
                let kind = match class {
                    4 => ParameterKind::Local,
                    0 | 5 => ParameterKind::Pointer { element, written: *class == 5 },
                    _ => other("a structure", None),
                };
                types.insert(*id, kind);
            }
            // An untyped pointer.
            (4417, [id, class]) => {
                let kind = match class {
                    4 => ParameterKind::Local,
                    _ => ParameterKind::Pointer { element: None, written: true },
                };
                types.insert(*id, kind);
            }
            (54, [_, id, ..]) => {
                current = entries.get(id).cloned().unwrap_or_default();
                found.extend(current.iter().map(|name| (name.clone(), vec![])));
            }
            (55, [ty, id]) => {
                let kind = types.get(ty).cloned().unwrap_or_else(|| other("an opaque object", None));
                let name = names.get(id).cloned().unwrap_or_default();
                for kernel in &current {
                    found.get_mut(kernel)?.push(Parameter { name: name.clone(), kind: kind.clone() });
                }
            }
            _ => {}
        }
        rest = rest.get(count.max(1)..)?;
    }
    Some(found)
}

fn is_number(kind: &ParameterKind) -> bool {
    matches!(kind, ParameterKind::Int { .. } | ParameterKind::Float { .. })
}

fn other(what: &str, bytes: Option<u32>) -> ParameterKind {
    ParameterKind::Other { bytes, what: what.to_owned() }
}

/// A NUL-terminated string packed into words.
fn literal(words: &[u32]) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).take_while(|&b| b != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A parameter as an OpenCL driver describes it: the type's name, the address space (0 global, 1 local, 2 constant, 3
/// private) and whether it points to `const`.
pub(crate) fn of_opencl(name: String, ty: &str, space: u32, constant: bool) -> Parameter {
    let kind = match (space, ty.strip_suffix('*')) {
        (1, _) => ParameterKind::Local,
        (0 | 2, Some(element)) => {
            let element = Some(opencl_number(element.trim())).filter(is_number).map(Box::new);
            ParameterKind::Pointer { element, written: space == 0 && !constant }
        }
        _ => opencl_number(ty),
    };
    Parameter { name, kind }
}

fn opencl_number(ty: &str) -> ParameterKind {
    let int = |bytes, signed| ParameterKind::Int { bytes, signed: Some(signed) };
    match ty.trim_start_matches("const ") {
        "char" => int(1, true),
        "uchar" | "unsigned char" => int(1, false),
        "short" => int(2, true),
        "ushort" | "unsigned short" => int(2, false),
        "int" => int(4, true),
        "uint" | "unsigned int" => int(4, false),
        "long" | "ptrdiff_t" | "intptr_t" => int(8, true),
        "ulong" | "unsigned long" | "size_t" | "uintptr_t" => int(8, false),
        "half" => ParameterKind::Float { bytes: 2 },
        "float" => ParameterKind::Float { bytes: 4 },
        "double" => ParameterKind::Float { bytes: 8 },
        other_type => other(other_type, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ptx_parameters() {
        let text = b".version 8.3 // .entry not this
            .visible .entry scale(
                .param .u64 .ptr .global .align 4 scale_param_0, /* a pointer */
                .param .u64 scale_param_1,
                .param .f32 scale_param_2, .param .u32 n,
                .param .align 8 .b8 s[24], .param .b32 w
            ) { ret; }
            .visible .entry nothing() { ret; } .entry bare { ret; }";
        let found = of_ptx(text);
        let kinds: Vec<_> = found["scale"].iter().map(|p| (&*p.name, &p.kind)).collect();
        let pointer = ParameterKind::Pointer { element: None, written: true };
        let structure = ParameterKind::Other { bytes: Some(24), what: "24 bytes".to_owned() };
        assert_eq!(
            kinds,
            [
                ("scale_param_0", &pointer),
                ("scale_param_1", &ParameterKind::Bits { bytes: 8 }),
                ("scale_param_2", &ParameterKind::Float { bytes: 4 }),
                ("n", &ParameterKind::Int { bytes: 4, signed: None }),
                ("s", &structure),
                ("w", &ParameterKind::Bits { bytes: 4 }),
            ]
        );
        assert!(found["nothing"].is_empty() && found["bare"].is_empty());
        assert_eq!(found.len(), 3);
    }

    #[test]
    fn spirv_parameters() {
        let found = of_spirv(include_bytes!("../tests/data/double.spv"));
        let (_, parameters) = found.iter().next().expect("the module has a kernel");
        assert!(matches!(parameters[0].kind, ParameterKind::Pointer { written: true, .. }));
        assert!(of_spirv(b"not a module").is_empty() && of_spirv(&[]).is_empty());
    }

    #[test]
    fn opencl_parameters() {
        let float = ParameterKind::Float { bytes: 4 };
        assert_eq!(of_opencl("a".to_owned(), "float", 3, false).kind, float);
        let pointer = |element: &ParameterKind, written| ParameterKind::Pointer {
            element: Some(Box::new(element.clone())),
            written,
        };
        assert_eq!(of_opencl("a".to_owned(), "float*", 0, false).kind, pointer(&float, true));
        assert_eq!(of_opencl("a".to_owned(), "float*", 0, true).kind, pointer(&float, false));
        assert_eq!(of_opencl("a".to_owned(), "float*", 1, false).kind, ParameterKind::Local);
        assert!(matches!(of_opencl("a".to_owned(), "float4", 3, false).kind, ParameterKind::Other { .. }));
        let raw = ParameterKind::Pointer { element: None, written: true };
        assert_eq!(of_opencl("a".to_owned(), "float4*", 0, false).kind, raw);
    }
}
