//! What the values of a loop's body are in all iterations at once.

use super::batch::Batch;
use weft_ir::attr::{CmpOp, Const};
use weft_ir::{Op, OpId, Type, ValueId};

/// How much an integer goes up from one iteration to the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub value: ValueId,
    /// The number, where it is known.
    pub known: Option<i64>,
}

impl Step {
    fn is(self, other: Step) -> bool {
        self.value == other.value || (self.known.is_some() && self.known == other.known)
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// The same in every iteration. `early`: known before it is decided whether the loop is batched.
    Same { value: ValueId, early: bool },
    /// An integer that goes up by a step: what it is in the first iteration, of the type that it has in the loop.
    Linear { first: ValueId, step: Step },
    /// A comparison of integers of which one is linear.
    Test { is: CmpOp, left: Box<Value>, right: Box<Value> },
    /// The elements of all iterations, which are apart along an axis of an array.
    Batched { array: ValueId, axis: usize },
}

impl Value {
    pub fn early(value: ValueId) -> Value {
        Value::Same { value, early: true }
    }

    /// A value that is there before the loop is decided about.
    pub fn as_early(&self) -> Option<ValueId> {
        match self {
            Value::Same { value, early: true } => Some(*value),
            _ => None,
        }
    }

    pub fn is_same(&self) -> bool {
        matches!(self, Value::Same { .. })
    }
}

fn is_integer(ty: &Type) -> bool {
    *ty == Type::I64 || *ty == Type::PYINT
}

impl Batch<'_> {
    /// An op on scalars that has no effect.
    pub(super) fn scalar(&mut self, id: OpId) -> Option<Value> {
        let data = self.f.op(id).clone();
        let values: Vec<Value> = data.operands.iter().map(|&v| self.value(v)).collect();
        if values.iter().all(Value::is_same) {
            return Some(self.repeat_op(id, &values));
        }
        let ty = self.f.ty(data.results[0]).clone();
        let integers = data.operands.iter().all(|&v| is_integer(self.f.ty(v)));
        if let (Op::Cmp { is }, [left, right]) = (&data.op, &values[..])
            && integers
            && matches!(is, CmpOp::Lt | CmpOp::Le | CmpOp::Gt | CmpOp::Ge | CmpOp::Eq | CmpOp::Ne)
            && values.iter().all(|v| matches!(v, Value::Linear { .. } | Value::Same { early: true, .. }))
        {
            return Some(Value::Test { is: *is, left: left.clone().into(), right: right.clone().into() });
        }
        if is_integer(&ty)
            && let Some(value) = self.linear(&data.op, &values, &ty)
        {
            return Some(value);
        }
        self.elements(id, &values)
    }

    /// An integer that is affine in the counter, of such integers.
    fn linear(&mut self, op: &Op, values: &[Value], ty: &Type) -> Option<Value> {
        use Value::{Linear, Same, Test};
        let same = |v: &Value| v.as_early();
        match (op, values) {
            (Op::Cast, [Linear { first, step }]) => {
                let first = self.setup(Op::Cast, &[*first], ty);
                Some(Linear { first, step: *step })
            }
            (Op::Add, [Linear { first, step }, other] | [other, Linear { first, step }]) if same(other).is_some() => {
                let first = self.setup(Op::Add, &[*first, same(other)?], ty);
                Some(Linear { first, step: *step })
            }
            (Op::Sub, [Linear { first, step }, other]) if same(other).is_some() => {
                let first = self.setup(Op::Sub, &[*first, same(other)?], ty);
                Some(Linear { first, step: *step })
            }
            (Op::Sub, [Linear { first: a, step }, Linear { first: b, step: other }]) if step.is(*other) => {
                Some(Value::early(self.setup(Op::Sub, &[*a, *b], ty)))
            }
            (Op::Add, [Linear { first: a, step }, Linear { first: b, step: other }]) => {
                let first = self.setup(Op::Add, &[*a, *b], ty);
                let step = self.setup(Op::Add, &[step.value, other.value], &Type::I64);
                Some(Linear { first, step: self.step(step) })
            }
            (Op::Mul, [Linear { first, step }, other] | [other, Linear { first, step }]) if same(other).is_some() => {
                let by = same(other)?;
                let first = self.setup(Op::Mul, &[*first, by], ty);
                let by = self.as_i64(by);
                let step = self.setup(Op::Mul, &[step.value, by], &Type::I64);
                Some(Linear { first, step: self.step(step) })
            }
            // Slices are held inside their axis: they are taken to lie there anyway.
            (Op::Min, [x @ Linear { .. }, limit] | [limit, x @ Linear { .. }]) if same(limit).is_some() => {
                self.assume(CmpOp::Le, x, limit);
                Some(x.clone())
            }
            (Op::Max, [x @ Linear { .. }, limit] | [limit, x @ Linear { .. }]) if same(limit).is_some() => {
                self.assume(CmpOp::Ge, x, limit);
                Some(x.clone())
            }
            // An index that counts from the end where it is negative.
            (Op::Select, [Test { is: CmpOp::Lt, left, right }, Linear { .. }, x @ Linear { .. }]) => {
                self.assume(CmpOp::Ge, left, right);
                Some(x.clone())
            }
            (Op::Wrap, [x @ Linear { .. }, Same { early: true, .. }]) => {
                let zero = Value::early(self.number(0));
                self.assume(CmpOp::Ge, x, &zero);
                Some(x.clone())
            }
            _ => None,
        }
    }

    /// Integer arithmetic that raises where it leaves 64 bits: it is taken not to.
    pub(super) fn checked(&mut self, id: OpId) -> Option<Value> {
        use weft_ir::attr::BinOp;
        let data = self.f.op(id).clone();
        let Op::Checked { op, .. } = data.op else { return None };
        let (plain, bits) = match op {
            BinOp::Add => (Op::Add, 61),
            BinOp::Sub => (Op::Sub, 61),
            BinOp::Mul => (Op::Mul, 30),
            _ => return None,
        };
        let values: Vec<Value> = data.operands.iter().map(|&v| self.value(v)).collect();
        let [low, high] = [-1, 1].map(|sign| Value::early(self.number(sign * (1i64 << bits))));
        for v in &values {
            if !matches!(v, Value::Linear { .. } | Value::Same { early: true, .. }) {
                return None;
            }
            self.assume(CmpOp::Gt, v, &low);
            self.assume(CmpOp::Lt, v, &high);
        }
        let ty = self.f.ty(data.results[0]).clone();
        if let [Value::Same { value: a, .. }, Value::Same { value: b, .. }] = values[..] {
            return Some(Value::early(self.setup(plain, &[a, b], &ty)));
        }
        self.linear(&plain, &values, &ty)
    }

    // ---- integers before the loop ----------------------------------------------------------------

    /// A number of 64 bits.
    pub(super) fn number(&mut self, n: i64) -> ValueId {
        self.setup_builder().i64(n)
    }

    /// An op before the loop.
    pub(super) fn setup(&mut self, op: Op, operands: &[ValueId], ty: &Type) -> ValueId {
        // Operands may be Python's ints beside those of 64 bits.
        let integer = is_integer(ty) && operands.iter().all(|&v| is_integer(self.f.ty(v))) && op != Op::Cast;
        let mut b = self.setup_builder();
        if integer {
            let cast: Vec<ValueId> = operands.iter().map(|&v| b.cast(v, ty.clone())).collect();
            return b.value(op, &cast, ty.clone());
        }
        b.value(op, operands, ty.clone())
    }

    pub(super) fn as_i64(&mut self, v: ValueId) -> ValueId {
        self.setup_builder().cast(v, Type::I64)
    }

    /// A step, with what is known of it.
    pub(super) fn step(&mut self, value: ValueId) -> Step {
        Step { value, known: self.known(value) }
    }

    /// The number that a value of the set-up is.
    pub(super) fn known(&self, v: ValueId) -> Option<i64> {
        let data = self.f.ops.iter().rev().find(|op| op.results.first() == Some(&v))?;
        let of = |k: usize| self.known(data.operands[k]);
        match &data.op {
            Op::Const { value: Const::Int(n) } => i64::try_from(*n).ok(),
            Op::Cast => of(0),
            Op::Mul => of(0)?.checked_mul(of(1)?),
            Op::Add => of(0)?.checked_add(of(1)?),
            _ => None,
        }
    }

    /// Demands a comparison of integers, in all iterations: of affine ones, in the first and in the last.
    pub(super) fn assume(&mut self, is: CmpOp, left: &Value, right: &Value) {
        let ends = |b: &mut Self, v: &Value| -> [ValueId; 2] {
            match v {
                Value::Linear { first, step } => {
                    let first = b.as_i64(*first);
                    let last = b.setup(Op::Mul, &[step.value, b.last], &Type::I64);
                    [first, b.setup(Op::Add, &[first, last], &Type::I64)]
                }
                Value::Same { value, .. } => [b.as_i64(*value); 2],
                _ => unreachable!("only integers are compared"),
            }
        };
        let (left, right) = (ends(self, left), ends(self, right));
        let mut compared = vec![];
        for pair in [(left[0], right[0]), (left[1], right[1])] {
            if !compared.contains(&pair) {
                compared.push(pair);
                let test = self.setup(Op::Cmp { is }, &[pair.0, pair.1], &Type::BOOL);
                self.tests.push(test);
            }
        }
    }

    /// Demands that a check of the body does not raise.
    pub(super) fn assume_no_raise(&mut self, condition: &Value, raises_if: bool) -> Option<()> {
        match condition {
            Value::Same { value, early: true } => {
                let mut test = self.setup_builder().cast(*value, Type::BOOL);
                if raises_if {
                    test = self.setup(Op::Not, &[test], &Type::BOOL);
                }
                self.tests.push(test);
                Some(())
            }
            Value::Test { is, left, right } => {
                let holds = if raises_if { complement(*is) } else { *is };
                // What is unequal in the first and the last iteration may be equal between.
                (holds != CmpOp::Ne).then(|| self.assume(holds, left, right))
            }
            _ => None,
        }
    }
}

/// The comparison that holds where this one does not, of integers.
fn complement(is: CmpOp) -> CmpOp {
    match is {
        CmpOp::Lt => CmpOp::Ge,
        CmpOp::Le => CmpOp::Gt,
        CmpOp::Gt => CmpOp::Le,
        CmpOp::Ge => CmpOp::Lt,
        CmpOp::Eq => CmpOp::Ne,
        CmpOp::Ne => CmpOp::Eq,
        CmpOp::Is | CmpOp::IsNot | CmpOp::In | CmpOp::NotIn => unreachable!("no comparison of integers"),
    }
}
