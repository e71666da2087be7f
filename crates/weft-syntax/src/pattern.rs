//! `match` statements: the parser's patterns → ours.

use ruff_python_ast as ast;
use ruff_text_size::Ranged;
use weft_diag::Diagnostic;

use crate::convert::Converter;
use crate::tree::{Case, Constant, Pattern, PatternKind, StmtKind};

impl Converter<'_> {
    pub(crate) fn match_stmt(&mut self, stmt: &ast::StmtMatch) -> Result<StmtKind, Diagnostic> {
        let subject = self.expr(&stmt.subject)?;
        let cases = stmt.cases.iter().map(|case| self.case(case)).collect::<Result<_, _>>()?;
        Ok(StmtKind::Match { subject, cases })
    }

    fn case(&mut self, case: &ast::MatchCase) -> Result<Case, Diagnostic> {
        let pattern = self.pattern(&case.pattern)?;
        let guard = self.optional(case.guard.as_deref())?;
        Ok(Case { pattern, guard, body: self.body(&case.body)?, span: self.span(case.range) })
    }

    fn pattern(&mut self, pattern: &ast::Pattern) -> Result<Pattern, Diagnostic> {
        let span = self.span(pattern.range());
        Ok(Pattern { span, kind: self.pattern_kind(pattern)? })
    }

    fn patterns(&mut self, patterns: &[ast::Pattern]) -> Result<Vec<Pattern>, Diagnostic> {
        patterns.iter().map(|p| self.pattern(p)).collect()
    }

    fn pattern_kind(&mut self, pattern: &ast::Pattern) -> Result<PatternKind, Diagnostic> {
        use ast::Pattern as P;
        Ok(match pattern {
            P::MatchValue(p) => PatternKind::Value(self.expr(&p.value)?),
            P::MatchSingleton(p) => PatternKind::Singleton(match p.value {
                ast::Singleton::None => Constant::None,
                ast::Singleton::True => Constant::Bool(true),
                ast::Singleton::False => Constant::Bool(false),
            }),
            P::MatchSequence(p) => PatternKind::Sequence(self.patterns(&p.patterns)?),
            P::MatchStar(p) => PatternKind::Star(p.name.as_ref().map(|name| self.name(name))),
            P::MatchOr(p) => PatternKind::Or(self.patterns(&p.patterns)?),
            P::MatchAs(p) => {
                let inner = p.pattern.as_deref().map(|p| self.pattern(p)).transpose()?;
                PatternKind::As { pattern: inner.map(Box::new), name: p.name.as_ref().map(|name| self.name(name)) }
            }
            P::MatchClass(p) => match (&*p.arguments.patterns, p.arguments.keywords.is_empty()) {
                ([], true) => PatternKind::Class { class: self.expr(&p.cls)?, inner: None },
                ([inner], true) => {
                    let class = self.expr(&p.cls)?;
                    PatternKind::Class { class, inner: Some(Box::new(self.pattern(inner)?)) }
                }
                _ => PatternKind::Unsupported { what: "a class pattern with attributes" },
            },
            P::MatchMapping(_) => PatternKind::Unsupported { what: "a mapping pattern" },
        })
    }
}
