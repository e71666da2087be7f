//! Filter strings: how a person names a device. Selection is a pure function over what discovery found.
//!
//! ```text
//! filter      := alternative ("," alternative)*        the first alternative that matches wins
//! alternative := [backend] [":" type] [":" index]      every part optional, separators only between parts
//!              | "default" | ""                        the first GPU, or else the native device
//! backend     := "native" | "cuda" | "opencl" | "null" ("level_zero" is reserved)
//! type        := "cpu" | "gpu" | "accelerator"
//! index       := number ("." number)*                  after a dot: a sub-device, by its number below its parent
//! ```
//!
//! The index counts, in discovery order, the devices that the *other* parts match: `cuda:gpu:1` is the second GPU of
//! CUDA, `gpu:1` the second GPU of any backend, `1` the second device of all. With backend and type given it is
//! [`DeviceInfo::index`], so a device's own filter string always finds it again. Discovery lists native, CUDA, OpenCL,
//! null: that order is why `cpu` prefers native over OpenCL.

use std::borrow::Borrow;

use crate::{BackendKind, DeviceInfo, DeviceType, HalError};

/// One alternative of a filter, as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Pattern {
    backend: Option<Backend>,
    device_type: Option<DeviceType>,
    index: Option<u32>,
    sub: Vec<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Backend {
    Known(BackendKind),
    LevelZero,
}

impl Pattern {
    fn read(filter: &str, text: &str) -> Result<Self, HalError> {
        let bad = |reason: String| HalError::BadFilter { filter: filter.to_owned(), reason };
        let mut pattern = Self::default();
        for part in text.split(':').map(str::trim) {
            let word = part.to_ascii_lowercase();
            let after_type = pattern.device_type.is_some() || pattern.index.is_some();
            if word.is_empty() {
                continue;
            } else if let Some(backend) = backend_named(&word) {
                if pattern.backend.is_some() || after_type {
                    return Err(bad(format!("`{part}` must be the only backend and come first")));
                }
                pattern.backend = Some(backend);
            } else if let Some(ty) = DeviceType::ALL.into_iter().find(|t| t.name() == word) {
                if after_type {
                    return Err(bad(format!("`{part}` must be the only type, before the index")));
                }
                pattern.device_type = Some(ty);
            } else if word.split('.').all(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit())) {
                if pattern.index.is_some() {
                    return Err(bad("it has two indices".to_owned()));
                }
                let numbers = word.split('.').map(str::parse).collect::<Result<Vec<u32>, _>>();
                let mut numbers = numbers.map_err(|_| bad(format!("index {part} is too large")))?;
                pattern.index = Some(numbers.remove(0));
                pattern.sub = numbers;
            } else {
                return Err(bad(unknown_word(part, &word)));
            }
        }
        if pattern == Self::default() {
            return Err(bad("it has an empty alternative".to_owned()));
        }
        Ok(pattern)
    }

    /// Whether a whole device has the parts other than the index.
    fn matches(&self, info: &DeviceInfo) -> bool {
        info.sub.is_empty()
            && self.backend.is_none_or(|b| b == Backend::Known(info.backend))
            && self.device_type.is_none_or(|t| t == info.device_type)
    }

    /// How much of the pattern a device has; decides the order of suggestions.
    fn likeness(&self, info: &DeviceInfo) -> u32 {
        2 * u32::from(self.backend == Some(Backend::Known(info.backend)))
            + u32::from(self.device_type == Some(info.device_type))
    }
}

fn backend_named(word: &str) -> Option<Backend> {
    if word == "level_zero" {
        return Some(Backend::LevelZero);
    }
    BackendKind::ALL.into_iter().find(|b| b.name() == word).map(Backend::Known)
}

fn unknown_word(part: &str, word: &str) -> String {
    let names = BackendKind::ALL.iter().map(|b| b.name());
    let names = names.chain(DeviceType::ALL.iter().map(|t| t.name()));
    let near = names.map(|n| (edits(word, n), n)).min().filter(|&(d, _)| d <= 2);
    let hint = near.map_or(String::new(), |(_, name)| format!(" (did you mean `{name}`?)"));
    format!("`{part}` is no backend (native, cuda, opencl), no type (cpu, gpu, accelerator) and no index{hint}")
}

/// Levenshtein distance.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &cb) in b.iter().enumerate() {
            let substitute = diagonal + usize::from(ca != cb);
            diagonal = row[j + 1];
            row[j + 1] = substitute.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// Position of the first device that a filter names. Sub-devices are found only if they are in the list.
///
/// A filter that cannot be read is [`HalError::BadFilter`] even if one of its alternatives would match; one that reads
/// well and matches nothing is [`HalError::NoSuchDevice`]; one that names only `level_zero` is [`HalError::Unsupported`].
pub fn select<D: Borrow<DeviceInfo>>(filter: &str, devices: &[D]) -> Result<usize, HalError> {
    if is_default(filter) {
        return Ok(first_choice(devices));
    }
    let alternatives: Vec<_> = filter
        .split(',')
        .map(|text| match is_default(text) && !text.trim().is_empty() {
            true => Ok(None),
            false => Pattern::read(filter, text).map(Some),
        })
        .collect::<Result<_, _>>()?;
    for alternative in &alternatives {
        let Some(pattern) = alternative else {
            return Ok(first_choice(devices));
        };
        let mut matching = (0..devices.len()).filter(|&i| pattern.matches(devices[i].borrow()));
        let Some(whole) = matching.nth(pattern.index.unwrap_or(0) as usize) else { continue };
        let below = |i: &usize| {
            let (part, whole): (&DeviceInfo, &DeviceInfo) = (devices[*i].borrow(), devices[whole].borrow());
            let id = |d: &DeviceInfo| (d.backend, d.device_type, d.index);
            id(part) == id(whole) && part.sub == pattern.sub
        };
        if let Some(found) = (0..devices.len()).find(below) {
            return Ok(found);
        }
    }
    let patterns: Vec<Pattern> = alternatives.into_iter().flatten().collect();
    if patterns.iter().all(|p| p.backend == Some(Backend::LevelZero)) {
        return Err(HalError::Unsupported(
            "the backend name `level_zero` is reserved: there is no Level Zero backend yet; Intel devices are reached \
             through `opencl`"
                .to_owned(),
        ));
    }
    let mut nearest: Vec<&DeviceInfo> = devices.iter().map(Borrow::borrow).collect();
    let likeness = |d: &DeviceInfo| patterns.iter().map(|p| p.likeness(d)).max();
    nearest.sort_by_key(|d| std::cmp::Reverse(likeness(d)));
    Err(HalError::NoSuchDevice {
        filter: filter.to_owned(),
        nearest: nearest.iter().map(|d| d.filter_string()).collect(),
        why: Vec::new(),
    })
}

/// Whether a filter asks for the default device.
pub(crate) fn is_default(filter: &str) -> bool {
    matches!(filter.trim(), "" | "default")
}

/// Whether a filter certainly names the native device, whatever else there is: no driver needs to be looked for.
pub(crate) fn is_native(filter: &str) -> bool {
    let filter = filter.trim();
    ["cpu", "cpu:0", "native", "native:0", "native:cpu", "native:cpu:0"].contains(&filter)
}

/// Backends that a readable filter could mean.
pub(crate) fn backends_meant(filter: &str) -> Vec<BackendKind> {
    let patterns: Vec<Pattern> = filter.split(',').filter_map(|text| Pattern::read(filter, text).ok()).collect();
    let means = |b: BackendKind| {
        patterns.iter().any(|p| match p.backend {
            Some(named) => named == Backend::Known(b),
            None => matches!(b, BackendKind::Cuda | BackendKind::OpenCl),
        })
    };
    BackendKind::ALL.into_iter().filter(|&b| means(b)).collect()
}

/// The default: the first of those with the best score. The native device is always listed.
fn first_choice<D: Borrow<DeviceInfo>>(devices: &[D]) -> usize {
    let whole = (0..devices.len()).filter(|&i| devices[i].borrow().sub.is_empty());
    // `max_by_key` has the last of equals.
    whole.rev().max_by_key(|&i| devices[i].borrow().score()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(backend: BackendKind, device_type: DeviceType, index: u32) -> DeviceInfo {
        DeviceInfo { backend, device_type, index, ..crate::native::describe() }
    }

    fn machine() -> Vec<DeviceInfo> {
        use BackendKind::*;
        use DeviceType::*;
        vec![
            device(Native, Cpu, 0),
            device(Cuda, Gpu, 0),
            device(Cuda, Gpu, 1),
            device(OpenCl, Cpu, 0),
            device(OpenCl, Gpu, 0),
            device(Null, Accelerator, 0),
        ]
    }

    fn pick(filter: &str) -> String {
        let machine = machine();
        machine[select(filter, &machine).unwrap()].filter_string()
    }

    #[test]
    fn every_part_is_optional() {
        for (filter, device) in [
            ("cpu", "native:cpu:0"),
            ("gpu", "cuda:gpu:0"),
            ("cuda", "cuda:gpu:0"),
            ("cuda:1", "cuda:gpu:1"),
            ("cuda:gpu:1", "cuda:gpu:1"),
            ("opencl", "opencl:cpu:0"),
            ("opencl:gpu", "opencl:gpu:0"),
            ("opencl::1", "opencl:gpu:0"),
            ("gpu:2", "opencl:gpu:0"),
            ("cpu:1", "opencl:cpu:0"),
            ("3", "opencl:cpu:0"),
            (" CUDA : GPU ", "cuda:gpu:0"),
            ("null", "null:accelerator:0"),
        ] {
            assert_eq!(pick(filter), device, "{filter}");
        }
    }

    #[test]
    fn own_filter_string_finds_each_device() {
        let machine = machine();
        for (i, info) in machine.iter().enumerate() {
            assert_eq!(select(&info.filter_string(), &machine), Ok(i));
        }
    }

    #[test]
    fn sub_devices_are_found_by_number() {
        let mut machine = machine();
        for sub in [vec![0], vec![1], vec![1, 0]] {
            machine.push(DeviceInfo { sub, ..device(BackendKind::OpenCl, DeviceType::Cpu, 0) });
        }
        let pick = |filter: &str| select(filter, &machine).map(|i| machine[i].filter_string());
        assert_eq!(pick("opencl:cpu:0.1").as_deref(), Ok("opencl:cpu:0.1"));
        assert_eq!(pick("opencl:0.1.0").as_deref(), Ok("opencl:cpu:0.1.0"));
        assert_eq!(pick("cpu:1.0").as_deref(), Ok("opencl:cpu:0.0"));
        assert_eq!(pick("native:cpu:0.0,opencl:cpu:0.0").as_deref(), Ok("opencl:cpu:0.0"));
        assert_eq!(pick("opencl").as_deref(), Ok("opencl:cpu:0"));
        assert!(matches!(pick("opencl:cpu:0.7"), Err(HalError::NoSuchDevice { .. })));
        assert!(matches!(pick("opencl:cpu:0."), Err(HalError::BadFilter { .. })));
    }

    #[test]
    fn first_matching_alternative_wins() {
        assert_eq!(pick("opencl:gpu,cuda"), "opencl:gpu:0");
        assert_eq!(pick("cuda:7, opencl:cpu"), "opencl:cpu:0");
        assert_eq!(pick("level_zero:gpu,opencl"), "opencl:cpu:0");
        assert_eq!(pick("cuda:9,default"), "cuda:gpu:0");
    }

    #[test]
    fn default_is_a_gpu_then_native() {
        assert_eq!(pick(""), "cuda:gpu:0");
        assert_eq!(pick("default"), "cuda:gpu:0");
        let mut machine = machine();
        machine.retain(|d| d.device_type != DeviceType::Gpu);
        machine.rotate_right(1);
        assert_eq!(machine[select("", &machine).unwrap()].filter_string(), "native:cpu:0");
    }

    #[test]
    fn level_zero_is_reserved() {
        let error = select("level_zero:gpu:0", &machine()).unwrap_err();
        assert!(matches!(&error, HalError::Unsupported(text) if text.contains("reserved")), "{error}");
    }

    #[test]
    fn no_match_lists_devices_nearest_first() {
        let error = select("opencl:accelerator", &machine()).unwrap_err();
        let HalError::NoSuchDevice { nearest, .. } = &error else { panic!("{error}") };
        assert_eq!(nearest[..3], ["opencl:cpu:0", "opencl:gpu:0", "null:accelerator:0"].map(String::from));
        assert_eq!(nearest.len(), 6);
        let text = error.to_string();
        assert!(text.starts_with("no device matches `opencl:accelerator`; there is opencl:cpu:0"), "{text}");
    }

    #[test]
    fn unreadable_filters_say_why() {
        for (filter, part) in [
            ("coda:gpu", "did you mean `cuda`"),
            ("xyzzy", "`xyzzy` is no backend"),
            ("gpu:cuda", "come first"),
            ("cuda:opencl", "only backend"),
            ("gpu:cpu", "only type"),
            ("0:1", "two indices"),
            ("cuda,", "empty alternative"),
            (":", "empty alternative"),
            ("gpu:-1", "`-1` is no backend"),
            ("gpu:99999999999", "too large"),
            ("native,coda", "did you mean `cuda`"),
        ] {
            let error = select(filter, &machine()).unwrap_err();
            assert!(matches!(error, HalError::BadFilter { .. }), "{filter}: {error}");
            assert!(error.to_string().contains(part), "{filter}: {error}");
        }
    }
}
