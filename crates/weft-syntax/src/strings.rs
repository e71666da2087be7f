//! f-strings: the parser's tree → ours.

use ruff_python_ast::{self as ast, FStringPart, InterpolatedStringElement as Element};
use weft_diag::Diagnostic;

use crate::convert::Converter;
use crate::tree::{Expr, ExprKind};

impl Converter<'_> {
    pub(crate) fn f_string(&mut self, string: &ast::ExprFString) -> Result<ExprKind, Diagnostic> {
        let mut parts = vec![String::new()];
        let mut values: Vec<(Expr, String)> = vec![];
        let literal = |parts: &mut Vec<String>, text: &str| {
            // Cannot fail: there is one part more than values.
            parts.last_mut().unwrap().push_str(text);
        };
        for part in &string.value {
            let elements = match part {
                FStringPart::Literal(text) => {
                    literal(&mut parts, &text.value);
                    continue;
                }
                FStringPart::FString(inner) => &inner.elements,
            };
            for element in elements {
                let value = match element {
                    Element::Literal(text) => {
                        literal(&mut parts, &text.value);
                        continue;
                    }
                    Element::Interpolation(value) => value,
                };
                let mut spec = match value.conversion {
                    ast::ConversionFlag::None => String::new(),
                    ast::ConversionFlag::Str => "!s".to_string(),
                    ast::ConversionFlag::Ascii => "!a".to_string(),
                    ast::ConversionFlag::Repr => "!r".to_string(),
                };
                // `{x=}` shows its own text, and then what `!r` gives unless a format is asked for.
                if let Some(debug) = &value.debug_text {
                    literal(&mut parts, &format!("{}{}{}", debug.leading(), debug.expression(), debug.trailing()));
                    if spec.is_empty() && value.format_spec.is_none() {
                        spec = "!r".to_string();
                    }
                }
                if let Some(format) = &value.format_spec {
                    spec.push(':');
                    for element in &format.elements {
                        let Element::Literal(text) = element else {
                            return Ok(ExprKind::Unsupported { what: "a format that is computed" });
                        };
                        spec.push_str(&text.value);
                    }
                }
                values.push((self.expr(&value.expression)?, spec));
                parts.push(String::new());
            }
        }
        Ok(ExprKind::Format { parts, values })
    }
}
