//! Residency: which host memory has a copy on the call's device, which part of the copy is valid, and which is newer.
//!
//! A [`Record`] pairs a range of host addresses with a device buffer. Arrays that overlap on the host lie in one record, so
//! that on the device, too, they are one. Compiled code asks by `need` before every use at another place; only what is
//! missing there is copied. What a kernel has written goes back when the host needs it, or when the call ends.

use std::sync::Arc;

use smallvec::{SmallVec, smallvec};
use weft_hal::{Event, HalError, UsmKind};

use crate::buffer::Buffer;
use crate::error::RuntimeError;
use crate::extent::HostSpan;
use crate::intervals::{Interval, Intervals, groups, overlap};
use crate::queue::Queue;

/// Host memory is copied to an address that is as aligned as the original, up to this.
const ALIGN: u64 = 64;

/// How an array will be used at the place it goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Only read.
    Read,
    /// Every byte of the extent is overwritten: nothing is copied in.
    WriteAll,
    /// Read and written, or written in part.
    Update,
}

/// A host array that is needed on the device.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    /// Its first element.
    pub(crate) data: u64,
    /// Its extent.
    pub(crate) span: HostSpan,
    /// Alignment of its elements.
    pub(crate) align: u64,
    /// Its owner word.
    pub(crate) owner: u64,
    /// How it will be used.
    pub(crate) mode: Mode,
}

/// A range of host memory and its copy on the device.
struct Record {
    host: Interval,
    /// Host address that the start of the device buffer stands for: `host.0`, rounded down.
    base: u64,
    device: Arc<Buffer>,
    /// Host addresses whose bytes on the device are not older than the host's.
    valid: Intervals,
    /// Host addresses whose bytes on the device are newer than the host's.
    dirty: Intervals,
    /// Dirty bytes that a kernel may not have written yet: after an exception they stay where they are.
    promised: Intervals,
    /// Owner words of the arrays that were asked for, with their extents.
    owners: SmallVec<[(Interval, u64); 1]>,
    /// Fresh host buffers among them, kept so that their addresses are not reused.
    kept: SmallVec<[Arc<Buffer>; 1]>,
}

impl Record {
    fn to_device(&self, host: u64) -> u64 {
        self.device.address() + (host - self.base)
    }

    fn holds(&self, span: Interval) -> bool {
        self.host.0 <= span.0 && span.1 <= self.host.1
    }

    /// Whether the host memory is fresh, and nobody but this record has it.
    fn is_abandoned(&self) -> bool {
        !self.kept.is_empty() && self.kept.iter().all(|buffer| Arc::strong_count(buffer) == 1)
    }

    /// Copies host bytes to the device.
    fn upload(&self, queue: &Queue, part: Interval) -> Result<Event, HalError> {
        let bytes = (part.1 - part.0) as usize;
        // SAFETY: the part lies in an argument or a kept buffer; the call waits for the copy before it returns, and
        // before the host writes.
        unsafe { queue.copy(self.to_device(part.0), part.0, bytes, &[], "host to device") }
    }

    /// Copies dirty bytes in a span back to the host; the host has them when the last event is complete.
    fn write_back(&mut self, queue: &Queue, span: Interval) -> Result<Option<Event>, HalError> {
        let mut last = None;
        for part in self.dirty.within(span) {
            let bytes = (part.1 - part.0) as usize;
            // SAFETY: as in `upload`; the program said that it writes these bytes.
            let copied = unsafe { queue.copy(part.0, self.to_device(part.0), bytes, &[], "device to host") };
            last = Some(copied?);
        }
        self.dirty.remove(span);
        self.promised.remove(span);
        Ok(last)
    }
}

/// All records of one call.
#[derive(Default)]
pub(crate) struct Residency {
    /// Groups of overlapping arguments; made when first needed.
    groups: Option<Vec<Interval>>,
    records: Vec<Record>,
    /// The last copy from the host, which may still be reading there.
    last_upload: Option<Event>,
}

impl Residency {
    /// Whether no host array was needed on the device.
    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The end of a call that was stopped: nothing goes back, and nothing reads host memory any more.
    pub(crate) fn abandon(&mut self) -> Result<(), HalError> {
        self.last_upload.take().map_or(Ok(()), |event| event.wait())
    }

    /// Makes the bytes of a host array valid on the device and returns the address of `data` there, a multiple of
    /// `align`, with the buffer that holds it.
    pub(crate) fn valid_on_device(
        &mut self,
        queue: &Arc<Queue>,
        spans: &[HostSpan],
        wanted: Wanted,
    ) -> Result<(u64, Arc<Buffer>), RuntimeError> {
        let Wanted { data, span, align, owner, mode } = wanted;
        let span = (span.lo, span.hi);
        let at = match self.records.iter().position(|r| r.holds(span)) {
            Some(at) => at,
            None => self.add(queue, spans, wanted)?,
        };
        // Copies of one place that differ would be a wrong answer; read-only ones are merely two.
        let apart = |(i, r): (usize, &Record)| {
            i != at && overlap(r.host, span) && (mode != Mode::Read || !r.dirty.within(span).is_empty())
        };
        if self.records.iter().enumerate().any(apart) {
            let text = "a call was not told that its host arrays overlap".to_owned();
            return Err(RuntimeError::Internal(text));
        }
        if !self.records[at].to_device(data).is_multiple_of(align) {
            let text =
                format!("an array that is not aligned to its {align}-byte elements cannot go to {queue}: copy it");
            return Err(RuntimeError::Invalid(text));
        }
        let record = &mut self.records[at];
        if !record.owners.contains(&(span, owner)) {
            record.owners.push((span, owner));
            // SAFETY: the word is a live value of compiled code.
            record.kept.extend(unsafe { Buffer::from_owner_ref(owner) });
        }
        if mode != Mode::WriteAll {
            for part in record.valid.missing(span) {
                self.last_upload = Some(record.upload(queue, part)?);
            }
        }
        record.valid.insert(span);
        if mode != Mode::Read {
            record.dirty.insert(span);
            if mode == Mode::WriteAll {
                record.promised.insert(span);
            }
        }
        Ok((record.to_device(data), record.device.clone()))
    }

    /// Gives device memory that compiled code made a place on the host, if it has none: memory as large, where nothing is valid
    /// yet. From then on the two are copies of each other.
    pub(crate) fn add_home(&mut self, device: &Arc<Buffer>) -> Result<(), HalError> {
        if self.records.iter().any(|r| Arc::ptr_eq(&r.device, device)) {
            return Ok(());
        }
        self.drop_abandoned()?;
        let home = Buffer::alloc_host(device.bytes())?;
        let host = (home.address(), home.address() + home.bytes() as u64);
        let mut everything = Intervals::default();
        everything.insert(host);
        self.records.push(Record {
            host,
            base: host.0,
            device: device.clone(),
            valid: everything.clone(),
            dirty: everything,
            promised: Intervals::default(),
            owners: smallvec![(host, Arc::as_ptr(&home) as u64)],
            kept: smallvec![home],
        });
        Ok(())
    }

    /// Drops the records of fresh memory that compiled code has given up on both sides, so that loops do not pile them up.
    fn drop_abandoned(&mut self) -> Result<(), HalError> {
        let is_dead = |r: &Record| r.is_abandoned() && Arc::strong_count(&r.device) == 1;
        if self.records.iter().any(is_dead) {
            // A copy to the device may still be reading from the host memory.
            self.last_upload.take().map_or(Ok(()), |event| event.wait())?;
            self.records.retain(|r| !is_dead(r));
        }
        Ok(())
    }

    /// A record that holds an array with all that may overlap it: the rest of its buffer, or of its group of arguments.
    fn add(&mut self, queue: &Arc<Queue>, spans: &[HostSpan], wanted: Wanted) -> Result<usize, HalError> {
        let Wanted { data, span, align, owner, .. } = wanted;
        let span = (span.lo, span.hi);
        // SAFETY: the word is a live value of compiled code.
        let group = match unsafe { Buffer::from_owner_ref(owner) } {
            Some(buffer) => Some((buffer.address(), buffer.address() + buffer.bytes() as u64)),
            None => {
                let known = self.groups.get_or_insert_with(|| groups(spans.iter().map(|s| (s.lo, s.hi))));
                known.iter().copied().find(|&g| overlap(g, span))
            }
        };
        self.drop_abandoned()?;
        let (lo, hi) = group.map_or(span, |g| (g.0.min(span.0), g.1.max(span.1)));
        // The same alignment as on the host, or the one the device needs where the host has less.
        let base = match data.is_multiple_of(align) {
            true => lo & !(ALIGN - 1),
            false => lo - (align - (data - lo) % align) % align,
        };
        self.records.push(Record {
            host: (lo, hi),
            base,
            device: Buffer::alloc(Some(queue), (hi - base) as usize, UsmKind::Device)?,
            valid: Intervals::default(),
            dirty: Intervals::default(),
            promised: Intervals::default(),
            owners: SmallVec::new(),
            kept: SmallVec::new(),
        });
        Ok(self.records.len() - 1)
    }

    /// Whether making host bytes valid on the host waits for the device.
    pub(crate) fn host_waits(&self, span: HostSpan, mode: Mode) -> bool {
        let span = (span.lo, span.hi);
        let mut touched = self.records.iter().filter(|r| overlap(r.host, span));
        touched.any(|r| mode != Mode::Read || !r.dirty.within(span).is_empty())
    }

    /// Makes host bytes valid on the host, which will use them as `mode` says.
    pub(crate) fn valid_on_host(&mut self, queue: &Queue, span: HostSpan, mode: Mode) -> Result<(), HalError> {
        let span = (span.lo, span.hi);
        for record in self.records.iter_mut().filter(|r| overlap(r.host, span)) {
            let mut last = None;
            if mode == Mode::WriteAll {
                record.dirty.remove(span);
                record.promised.remove(span);
            } else {
                last = record.write_back(queue, span)?;
            }
            if mode != Mode::Read {
                record.valid.remove(span);
                // An upload may still be reading what the host is about to write.
                last = last.or_else(|| queue.last_event());
            }
            last.map_or(Ok(()), |event| event.wait())?;
        }
        Ok(())
    }

    /// The host address and owner behind an address of a record's copy.
    pub(crate) fn host_of(&self, device: u64) -> Option<(u64, u64)> {
        let record = self.records.iter().find(|r| r.device.contains(device))?;
        let host = record.base + (device - record.device.address());
        let owner = record.owners.iter().find(|((lo, hi), _)| (*lo..*hi).contains(&host));
        Some((host, owner.map_or(0, |&(_, owner)| owner)))
    }

    /// A kernel was launched that got these addresses and did not raise: what was promised to be written there is.
    pub(crate) fn launched(&mut self, addresses: impl Iterator<Item = u64>) {
        if self.records.iter().all(|r| r.promised.is_empty()) {
            return;
        }
        for address in addresses {
            let record = self.records.iter_mut().find(|r| r.device.contains(address));
            record.into_iter().for_each(|r| r.promised = Intervals::default());
        }
    }

    /// The end of the call: everything the device has written goes back, except, after an exception, what no kernel
    /// was launched to write. Returns whether anything may be pending that touches host memory.
    pub(crate) fn finish(&mut self, queue: &Queue) -> Result<bool, HalError> {
        for record in &mut self.records {
            for part in std::mem::take(&mut record.promised).iter() {
                record.dirty.remove(part);
            }
            if !record.dirty.is_empty() && !record.is_abandoned() {
                record.write_back(queue, record.host)?;
            }
        }
        Ok(!self.records.is_empty())
    }
}
