//! Reads the text form that [`crate::print`] writes.

use crate::attr::Attr;
use crate::fast::FastMath;
use crate::func::{Func, Module, OpData, OpId, RegionId, Stage, ValueId};
use crate::ops::Op;
use crate::site::{ExcClass, Site};
use crate::types::{DType, Dim, Layout, Place, Space, TensorType, Type, Weak};
use std::collections::HashMap;
use weft_diag::Span;

/// What was expected, and where the text said something else.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: expected {expected}, found `{found}`")]
pub struct ReadError {
    /// 1-based line.
    pub line: usize,
    /// What would have fitted.
    pub expected: String,
    /// What stands there.
    pub found: String,
}

/// Reads a module. `//` and `;` start comments.
pub fn read_module(text: &str) -> Result<Module, ReadError> {
    let mut r = Reader { text, pos: 0 };
    r.expect("weft")?;
    u32::read(&mut r)?;
    r.expect("stage")?;
    let stage = Stage::from_name(r.word()?).ok_or_else(|| r.error("a stage"))?;
    let mut m = Module { stage, funcs: vec![], sites: vec![], fast: FastMath::default() };
    if r.eat("fast") {
        r.expect("=")?;
        loop {
            let one = FastMath::from_name(r.word()?).ok_or_else(|| r.error("what float arithmetic may do"))?;
            m.fast = m.fast.and(one);
            if !r.eat(",") {
                break;
            }
        }
    }
    while r.eat("site") {
        u32::read(&mut r)?;
        r.expect("=")?;
        let class = ExcClass::from_name(r.word()?).ok_or_else(|| r.error("an exception class"))?;
        m.sites.push(Site {
            class,
            template: r.string()?,
            span: Span::NONE,
            user: None,
            also: vec![],
            callers: vec![],
        });
    }
    while !r.at_end() {
        m.funcs.push(r.func()?);
    }
    Ok(m)
}

/// A cursor into the text.
pub struct Reader<'t> {
    text: &'t str,
    pos: usize,
}

impl<'t> Reader<'t> {
    /// An error at the cursor.
    pub fn error(&self, expected: &str) -> ReadError {
        let line = self.text[..self.pos].matches('\n').count() + 1;
        let found: String = self.text[self.pos..].trim_start().chars().take_while(|c| *c != '\n').take(24).collect();
        ReadError { line, expected: expected.into(), found }
    }

    fn rest(&mut self) -> &'t str {
        loop {
            let rest = &self.text[self.pos..];
            let trimmed = rest.trim_start();
            self.pos += rest.len() - trimmed.len();
            if !(trimmed.starts_with("//") || trimmed.starts_with(';')) {
                return trimmed;
            }
            self.pos += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    fn at_end(&mut self) -> bool {
        self.rest().is_empty()
    }

    /// Whether `token` comes next.
    pub fn peek_is(&mut self, token: &str) -> bool {
        self.rest().starts_with(token)
    }

    /// Takes `token` if it comes next. A word token must end there.
    pub fn eat(&mut self, token: &str) -> bool {
        let rest = self.rest();
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let hit = rest.strip_prefix(token).is_some_and(|after| !token.ends_with(word) || !after.starts_with(word));
        if hit {
            self.pos += token.len();
        }
        hit
    }

    /// Takes `token` or fails.
    pub fn expect(&mut self, token: &str) -> Result<(), ReadError> {
        if self.eat(token) { Ok(()) } else { Err(self.error(token)) }
    }

    /// A run of word characters: names, numbers, dotted names, symbols.
    pub fn word(&mut self) -> Result<&'t str, ReadError> {
        let rest = self.rest();
        let inside = |c: char| c.is_alphanumeric() || "_.?+-".contains(c);
        let len = rest.find(|c| !inside(c)).unwrap_or(rest.len());
        if len == 0 {
            return Err(self.error("a word"));
        }
        self.pos += len;
        Ok(&rest[..len])
    }

    /// A quoted string with Rust's escapes.
    pub fn string(&mut self) -> Result<String, ReadError> {
        self.expect("\"")?;
        let mut out = String::new();
        let mut chars = self.text[self.pos..].char_indices();
        while let Some((i, c)) = chars.next() {
            match c {
                '"' => {
                    self.pos += i + 1;
                    return Ok(out);
                }
                '\\' => match chars.next() {
                    Some((_, 'n')) => out.push('\n'),
                    Some((_, 't')) => out.push('\t'),
                    Some((_, 'r')) => out.push('\r'),
                    Some((_, '0')) => out.push('\0'),
                    Some((_, 'u')) => {
                        let hex: String = chars.by_ref().map(|(_, c)| c).take_while(|c| *c != '}').skip(1).collect();
                        let code = u32::from_str_radix(&hex, 16).ok().and_then(char::from_u32);
                        out.push(code.ok_or_else(|| self.error("an escape"))?);
                    }
                    Some((_, other)) => out.push(other),
                    None => break,
                },
                c => out.push(c),
            }
        }
        Err(self.error("a closing quote"))
    }

    /// A place: `#host` or `#backend:type:index`.
    pub fn place(&mut self) -> Result<Place, ReadError> {
        self.expect("#")?;
        let rest = self.rest();
        let len = rest.find(|c: char| !(c.is_alphanumeric() || "_:".contains(c))).unwrap_or(rest.len());
        self.pos += len;
        Ok(if &rest[..len] == "host" { Place::Host } else { Place::device(&rest[..len]) })
    }

    /// `name=value` of an attribute list.
    pub fn attr<T: Attr>(&mut self, name: &str) -> Result<T, ReadError> {
        let before = self.pos;
        self.eat(",");
        if !self.eat(name) {
            self.pos = before;
            return T::implied().ok_or_else(|| self.error(name));
        }
        self.expect("=")?;
        T::read(self)
    }

    /// A type.
    pub fn ty(&mut self) -> Result<Type, ReadError> {
        let word = self.word()?;
        if let Some(d) = DType::from_name(word) {
            return Ok(Type::Num(d));
        }
        let weak = [Weak::Bool, Weak::Int, Weak::Float, Weak::Complex, Weak::None];
        if let Some(w) = weak.into_iter().find(|w| w.name() == word) {
            return Ok(Type::Py(w));
        }
        match word {
            "any" => Ok(Type::Untyped),
            "owner" => Ok(Type::Owner),
            "mem" => {
                self.expect("<")?;
                let dtype = self.dtype()?;
                self.expect(",")?;
                let space = Space::ALL.into_iter().find(|space| self.eat(space.name()));
                let space = space.ok_or_else(|| self.error("an address space"))?;
                self.expect(">")?;
                Ok(Type::Mem(dtype, space))
            }
            "tuple" | "list" => {
                self.expect("<")?;
                let mut items = vec![];
                while !self.eat(">") {
                    if !items.is_empty() {
                        self.expect(",")?;
                    }
                    items.push(self.ty()?);
                }
                Ok(if word == "tuple" { Type::Tuple(items.into()) } else { Type::List(items.into()) })
            }
            "cell" => {
                self.expect("<")?;
                let held = self.ty()?;
                self.expect(">")?;
                Ok(Type::Cell(held.into()))
            }
            "tensor" => self.tensor(),
            _ => Err(self.error("a type")),
        }
    }

    fn dtype(&mut self) -> Result<DType, ReadError> {
        DType::from_name(self.word()?).ok_or_else(|| self.error("a dtype"))
    }

    fn tensor(&mut self) -> Result<Type, ReadError> {
        self.expect("<")?;
        let shape = self.word()?;
        let mut parts: Vec<&str> = shape.split('x').collect();
        let dtype = DType::from_name(parts.pop().unwrap_or("")).ok_or_else(|| self.error("a dtype"))?;
        let mut dims = vec![];
        for p in parts {
            let dim = match p.strip_prefix('?') {
                Some(n) => n.parse().map(Dim::Sym),
                None => p.parse().map(Dim::Const),
            };
            dims.push(dim.map_err(|_| self.error("a dimension"))?);
        }
        self.expect(",")?;
        let layout = match self.word()? {
            "C" => Layout::C,
            "F" => Layout::F,
            "I" => Layout::I,
            "A" => Layout::A,
            _ => return Err(self.error("a layout")),
        };
        let mut t = TensorType { dims, dtype, layout, readonly: false, place: Place::Host };
        while self.eat(",") {
            if self.eat("ro") {
                t.readonly = true;
            } else {
                t.place = self.place()?;
            }
        }
        self.expect(">")?;
        Ok(Type::tensor(t))
    }

    fn func(&mut self) -> Result<Func, ReadError> {
        let kernel = self.eat("kernel");
        if !kernel {
            self.expect("func")?;
        }
        self.expect("@")?;
        let mut f = Func::new(self.word()?);
        f.kernel = kernel;
        let mut names = HashMap::new();
        self.args(&mut f, RegionId(0), &mut names)?;
        if self.eat("->") {
            f.results.push(self.ty()?);
            while self.eat(",") {
                f.results.push(self.ty()?);
            }
        }
        f.apart = self.eat("apart");
        self.expect("{")?;
        self.ops(&mut f, RegionId(0), &mut names)?;
        f.symbols = highest_symbol(&f);
        Ok(f)
    }

    fn args(&mut self, f: &mut Func, region: RegionId, names: &mut HashMap<&'t str, ValueId>) -> Result<(), ReadError> {
        self.expect("(")?;
        let mut first = true;
        while !self.eat(")") {
            if !first {
                self.expect(",")?;
            }
            first = false;
            self.expect("%")?;
            let name = self.word()?;
            let ty = if self.eat(":") { self.ty()? } else { Type::Untyped };
            let v = define(f, name, ty);
            names.insert(name, v);
            f.regions[region.index()].args.push(v);
        }
        Ok(())
    }

    fn ops(&mut self, f: &mut Func, region: RegionId, names: &mut HashMap<&'t str, ValueId>) -> Result<(), ReadError> {
        while !self.eat("}") {
            self.op(f, region, names)?;
        }
        Ok(())
    }

    fn op(&mut self, f: &mut Func, region: RegionId, names: &mut HashMap<&'t str, ValueId>) -> Result<(), ReadError> {
        let mut defined = vec![];
        while self.eat("%") {
            defined.push(self.word()?);
            self.eat(",");
        }
        if !defined.is_empty() {
            self.expect("=")?;
        }
        let name = self.word()?;
        self.expect("(")?;
        let mut operands = smallvec::SmallVec::new();
        while !self.eat(")") {
            if !operands.is_empty() {
                self.expect(",")?;
            }
            self.expect("%")?;
            let used = self.word()?;
            operands.push(*names.get(used).ok_or_else(|| self.error("a value defined above"))?);
        }
        let attrs = self.eat("<{");
        let op = Op::read_attrs(name, self)?;
        if attrs {
            self.expect("}>")?;
        }
        let mut regions = smallvec::SmallVec::new();
        while self.eat("{") {
            let r = f.new_region();
            if self.eat("^") {
                self.args(f, r, names)?;
                self.expect(":")?;
            }
            self.ops(f, r, names)?;
            regions.push(r);
        }
        let mut types = vec![];
        if self.eat(":") {
            types.push(self.ty()?);
            while self.eat(",") {
                types.push(self.ty()?);
            }
        }
        let mut span = Span::NONE;
        if self.eat("@") {
            let start = u32::read(self)?;
            self.expect(":")?;
            span = Span::new(0, start, u32::read(self)?);
        }
        types.resize(defined.len(), Type::Untyped);
        let mut results = smallvec::SmallVec::new();
        for (name, ty) in defined.into_iter().zip(types) {
            let v = define(f, name, ty);
            names.insert(name, v);
            results.push(v);
        }
        f.ops.push(OpData { op, operands, results, regions, span });
        let id = OpId((f.ops.len() - 1) as u32);
        f.regions[region.index()].ops.push(id);
        Ok(())
    }
}

/// A value whose printed name, without the number the printer adds, is kept.
fn define(f: &mut Func, name: &str, ty: Type) -> ValueId {
    let v = f.new_value(ty);
    let base = name.rsplit_once('.').map_or(name, |(base, _)| base);
    if !base.starts_with(|c: char| c.is_ascii_digit()) {
        f.values[v.index()].name = base.into();
    }
    v
}

fn highest_symbol(f: &Func) -> u32 {
    let symbol = |d: &Dim| match d {
        Dim::Sym(n) => n + 1,
        Dim::Const(_) => 0,
    };
    let tensors = f.values.iter().filter_map(|v| v.ty.as_tensor()).flat_map(|t| t.dims.iter().map(symbol));
    let binds = f.ops.iter().map(|o| if let Op::ShapeBind { dim } = &o.op { symbol(dim) } else { 0 });
    tensors.chain(binds).max().unwrap_or(0)
}
