//! Text and modules are one: what is printed reads back as what was printed.
//!
//! Modules here are random and mostly make no sense (the verifier would refuse them): every op of a
//! list that covers every kind of attribute, every type, regions in regions, awkward strings and floats.

use proptest::prelude::*;
use weft_diag::Span;
use weft_ir::attr::{Access, BinOp, CmpOp, Const, UnaryOp, Unit};
use weft_ir::print::print_module;
use weft_ir::read::read_module;
use weft_ir::*;

fn constant() -> impl Strategy<Value = Const> {
    prop_oneof![
        any::<i128>().prop_map(Const::Int),
        any::<u64>().prop_map(|bits| Const::Float(f64::from_bits(bits))),
        any::<bool>().prop_map(Const::Bool),
        any::<String>().prop_map(Const::Str),
        Just(Const::None),
    ]
}

fn place() -> impl Strategy<Value = Place> {
    prop_oneof![Just(Place::Host), "[a-z]{2,6}:(gpu|cpu):[0-9]".prop_map(|s| Place::device(&s))]
}

fn dim() -> impl Strategy<Value = Dim> {
    prop_oneof![any::<u64>().prop_map(Dim::Const), (0..9u32).prop_map(Dim::Sym)]
}

fn dtype() -> impl Strategy<Value = DType> {
    prop::sample::select(&DType::ALL[..])
}

fn ty() -> impl Strategy<Value = Type> {
    let weak = prop::sample::select(vec![Weak::Bool, Weak::Int, Weak::Float, Weak::Complex, Weak::None]);
    let layout = prop::sample::select(vec![Layout::C, Layout::F, Layout::A]);
    let tensor = (prop::collection::vec(dim(), 0..4), dtype(), layout, any::<bool>(), place()).prop_map(
        |(dims, dtype, layout, readonly, place)| Type::tensor(TensorType { dims, dtype, layout, readonly, place }),
    );
    let leaf = prop_oneof![
        Just(Type::Untyped),
        weak.prop_map(Type::Py),
        dtype().prop_map(Type::Num),
        tensor,
        (dtype(), prop::sample::select(vec![Space::Host, Space::Global])).prop_map(|(d, s)| Type::Mem(d, s)),
        Just(Type::Owner),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| prop::collection::vec(inner, 0..3).prop_map(|items| Type::Tuple(items.into())))
}

fn op() -> impl Strategy<Value = Op> {
    use prop::sample::select;
    let plain = vec![
        Op::Add,
        Op::Select,
        Op::math(MathFn::Sin),
        Op::Cast,
        Op::ScfIf,
        Op::ScfFor,
        Op::Yield,
        Op::Return,
        Op::PyTuple,
    ];
    let more = vec![Op::NtElementwise, Op::NtItem, Op::MemRelease, Op::PyTruth, Op::PyFor, Op::PyUnpack];
    let binary = vec![BinOp::Add, BinOp::FloorDiv, BinOp::Pow, BinOp::MatMul, BinOp::Xor, BinOp::Shr];
    let modes = vec![Access::Read, Access::WriteAll, Access::Update];
    prop_oneof![
        select(plain),
        select(more),
        constant().prop_map(|value| Op::Const { value }),
        constant().prop_map(|value| Op::PyConst { value }),
        any::<String>().prop_map(|path| Op::PyGlobal { path }),
        prop::collection::vec(any::<String>(), 0..3).prop_map(|keywords| Op::PyCall { keywords }),
        (select(binary.clone()), any::<bool>()).prop_map(|(op, inplace)| Op::PyBinop { op, inplace }),
        (select(binary), any::<u32>()).prop_map(|(op, site)| Op::Checked { op, site }),
        select(vec![UnaryOp::Neg, UnaryOp::Not, UnaryOp::Invert]).prop_map(|op| Op::PyUnary { op }),
        select(vec![CmpOp::Le, CmpOp::IsNot, CmpOp::NotIn]).prop_map(|is| Op::Cmp { is }),
        dim().prop_map(|dim| Op::ShapeBind { dim }),
        any::<bool>().prop_map(|wrap| Op::NtLoad { wrap }),
        place().prop_map(|at| Op::EnvRegion { at }),
        select(modes.clone()).prop_map(|mode| Op::EnvTransfer { mode }),
        (place(), select(modes), any::<u32>()).prop_map(|(at, mode, rank)| Op::MemNeed { at, mode, rank }),
        select(vec![Unit::Element, Unit::Byte]).prop_map(|unit| Op::MemLoad { unit }),
        (any::<String>(), any::<u32>()).prop_map(|(kernel, dims)| Op::SimtLaunch { kernel, dims }),
    ]
}

/// One step of building: an op, or the end of a region.
#[derive(Clone, Debug)]
struct Step {
    op: Op,
    operands: Vec<prop::sample::Index>,
    results: Vec<Type>,
    name: String,
    /// How many regions of the following steps it holds, and their arguments.
    regions: usize,
    args: Vec<Type>,
    end: bool,
    span: Option<(u32, u32)>,
}

fn step() -> impl Strategy<Value = Step> {
    (
        op(),
        prop::collection::vec(any::<prop::sample::Index>(), 0..4),
        prop::collection::vec(ty(), 0..3),
        "([a-zñ_][a-z0-9_]{0,5})?",
        prop_oneof![4 => Just(0), 1 => 1..3usize],
        prop::collection::vec(ty(), 0..3),
        prop::bool::weighted(0.25),
        any::<Option<(u32, u32)>>(),
    )
        .prop_map(|(op, operands, results, name, regions, args, end, span)| Step {
            op,
            operands,
            results,
            name,
            regions,
            args,
            end,
            span,
        })
}

/// Appends steps to a region until one ends it.
fn fill(b: &mut Builder<'_>, steps: &mut std::vec::IntoIter<Step>, visible: &mut Vec<ValueId>, depth: usize) {
    while let Some(s) = steps.next() {
        let operands: Vec<ValueId> =
            s.operands.iter().filter(|_| !visible.is_empty()).map(|i| *i.get(visible)).collect();
        let mut regions = vec![];
        for _ in 0..if depth < 4 { s.regions } else { 0 } {
            let outer = visible.len();
            let (region, ()) = b.region(|b| {
                visible.extend(s.args.iter().map(|t| b.arg(t.clone())));
                fill(b, steps, visible, depth + 1);
            });
            visible.truncate(outer);
            regions.push(region);
        }
        b.span = s.span.map_or(Span::NONE, |(start, end)| Span::new(0, start, end));
        let id = b.op(s.op, &operands, &s.results, &regions);
        for v in b.func.op(id).results.clone() {
            b.func.values[v.index()].name.clone_from(&s.name);
            visible.push(v);
        }
        if s.end && depth > 0 {
            return;
        }
    }
}

fn func() -> impl Strategy<Value = Func> {
    let params = prop::collection::vec((ty(), "([a-z]{1,4})?"), 0..4);
    let results = prop::collection::vec(ty(), 0..3);
    ("[a-z][a-z0-9_.]{0,8}", any::<bool>(), params, results, prop::collection::vec(step(), 0..24)).prop_map(
        |(name, kernel, params, results, steps)| {
            let mut f = Func::new(&name);
            f.kernel = kernel;
            f.results = results;
            let mut b = Builder::new(&mut f);
            let mut visible = vec![];
            for (ty, name) in params {
                let v = b.arg(ty);
                b.func.values[v.index()].name = name;
                visible.push(v);
            }
            fill(&mut b, &mut steps.into_iter(), &mut visible, 0);
            f
        },
    )
}

fn module() -> impl Strategy<Value = Module> {
    let class = prop::sample::select(ExcClass::ALL);
    let site = (class, any::<String>()).prop_map(|(class, template)| Site {
        class,
        template,
        span: Span::NONE,
        user: None,
        also: vec![],
        callers: vec![],
    });
    let stage = prop::sample::select(&Stage::ALL[..]);
    let fast = (0u8..128).prop_map(|bits| FastMath::from_bits(bits).unwrap_or_default());
    (stage, prop::collection::vec(site, 0..3), prop::collection::vec(func(), 1..3), fast)
        .prop_map(|(stage, sites, funcs, fast)| Module { stage, sites, funcs, fast })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_printed_reads_back(m in module()) {
        let first = print_module(&m, true);
        let read = match read_module(&first) {
            Ok(read) => read,
            Err(e) => return Err(TestCaseError::fail(format!("{e}\n{first}"))),
        };
        prop_assert_eq!(&print_module(&read, true), &first);
        prop_assert_eq!(read.funcs.len(), m.funcs.len());
        prop_assert_eq!(read.entry().op_count(), m.entry().op_count());
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC{0,40}", at in any::<prop::sample::Index>(), m in module()) {
        let _ = read_module(&text);
        let mut broken = print_module(&m, true);
        let cut = broken.char_indices().map(|(i, _)| i).nth(at.index(broken.chars().count())).unwrap_or(0);
        broken.insert_str(cut, &text);
        let _ = read_module(&broken);
        broken.truncate(cut);
        let _ = read_module(&broken);
    }

    #[test]
    fn no_module_makes_the_verifier_panic(m in module()) {
        let _ = verify::verify(&m);
    }
}
