//! The machine's cores as Linux tells them: which of them this process may use, what caches they share, which NUMA
//! nodes they belong to. What sysfs does not tell reads as one domain.

use std::path::{Path, PathBuf};

const CPUS: &str = "/sys/devices/system/cpu";
const NODES: &str = "/sys/devices/system/node";

/// Numbers of the cores that this process may use, ascending. Never empty.
pub(crate) fn cores() -> Vec<usize> {
    // SAFETY: a set of bits is valid when zero, and the call writes at most its size.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        match libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) {
            0 => Some(set),
            _ => None,
        }
    };
    let Some(set) = set else { return vec![0] };
    // SAFETY: the number is inside the set.
    let cores: Vec<usize> = (0..libc::CPU_SETSIZE as usize).filter(|&c| unsafe { libc::CPU_ISSET(c, &set) }).collect();
    if cores.is_empty() { vec![0] } else { cores }
}

/// `cores` by NUMA node.
pub(crate) fn by_node(cores: &[usize]) -> Vec<Vec<usize>> {
    let nodes = entries(NODES, "node").into_iter().map(|(_, path)| numbers(&path.join("cpulist")));
    domains(cores, nodes.collect())
}

/// `cores` by the data cache of a level that they share.
pub(crate) fn by_cache(cores: &[usize], level: u32) -> Vec<Vec<usize>> {
    let shared = cores.iter().filter_map(|&core| {
        let cache = caches(core).into_iter().find(|c| c.level == level)?;
        Some(cache.cores)
    });
    domains(cores, shared.collect())
}

/// A data or unified cache of one core.
pub(crate) struct Cache {
    pub(crate) level: u32,
    pub(crate) bytes: u64,
    pub(crate) line: u32,
    cores: Vec<usize>,
}

/// The data caches that a core uses.
pub(crate) fn caches(core: usize) -> Vec<Cache> {
    let folder = format!("{CPUS}/cpu{core}/cache");
    let read = |(_, path): (u32, PathBuf)| {
        let kind = text(&path.join("type"))?;
        let cache = Cache {
            level: text(&path.join("level"))?.parse().ok()?,
            bytes: size(&text(&path.join("size"))?)?,
            line: text(&path.join("coherency_line_size")).and_then(|t| t.parse().ok()).unwrap_or(0),
            cores: numbers(&path.join("shared_cpu_list")),
        };
        (kind != "Instruction").then_some(cache)
    };
    entries(&folder, "index").into_iter().filter_map(read).collect()
}

/// The highest clock of the first core in MHz, where the kernel says.
pub(crate) fn max_clock() -> Option<u32> {
    let khz: u32 = text(&Path::new(CPUS).join("cpu0/cpufreq/cpuinfo_max_freq"))?.parse().ok()?;
    Some(khz / 1000)
}

/// Cuts `cores` along sets that may overlap or miss some of them: each core belongs to the first set that has it, and
/// those in none make one more.
fn domains(cores: &[usize], sets: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
    let mut left = cores.to_vec();
    let mut parts = Vec::new();
    for set in sets {
        let (mine, rest): (Vec<usize>, Vec<usize>) = left.into_iter().partition(|c| set.contains(c));
        left = rest;
        parts.extend((!mine.is_empty()).then_some(mine));
    }
    parts.extend((!left.is_empty()).then_some(left));
    parts
}

/// Entries `<prefix><number>` of a folder, by number.
fn entries(folder: &str, prefix: &str) -> Vec<(u32, PathBuf)> {
    let Ok(list) = std::fs::read_dir(folder) else { return Vec::new() };
    let numbered = list.flatten().filter_map(|entry| {
        let number = entry.file_name().to_str()?.strip_prefix(prefix)?.parse().ok()?;
        Some((number, entry.path()))
    });
    let mut all: Vec<(u32, PathBuf)> = numbered.collect();
    all.sort();
    all
}

fn text(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|t| t.trim().to_owned())
}

/// `48K`, `2M`.
fn size(text: &str) -> Option<u64> {
    let (digits, unit) = match text.strip_suffix(['K', 'M', 'G']) {
        Some(digits) => (digits, &text[digits.len()..]),
        None => (text, ""),
    };
    let shift = match unit {
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => 0,
    };
    Some(digits.parse::<u64>().ok()? << shift)
}

/// A file with `0-3,8`.
fn numbers(path: &Path) -> Vec<usize> {
    text(path).map_or(Vec::new(), |t| list(&t))
}

fn list(text: &str) -> Vec<usize> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse().ok()?..=last.trim().parse::<usize>().ok()?)
    };
    text.split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_notation_is_read() {
        assert_eq!(list("0-2,7, 9"), [0, 1, 2, 7, 9]);
        assert_eq!(list(""), [0; 0]);
        assert_eq!([size("48K"), size("2M"), size("512"), size("x")], [Some(48 << 10), Some(2 << 20), Some(512), None]);
    }

    #[test]
    fn every_core_is_in_one_domain() {
        let sets = vec![vec![0, 1], vec![1, 2], vec![9]];
        assert_eq!(domains(&[0, 1, 2, 3], sets), [vec![0, 1], vec![2], vec![3]]);
        let cores = cores();
        for parts in [by_node(&cores), by_cache(&cores, 2), by_cache(&cores, 3), by_cache(&cores, 7)] {
            let mut all: Vec<usize> = parts.concat();
            all.sort_unstable();
            assert_eq!(all, cores);
        }
    }
}
