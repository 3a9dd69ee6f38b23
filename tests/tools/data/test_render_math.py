"""render_math: formulas as a person would write them on one line, drawn, or in ASCII."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from callgate import Callgate
from callgate.model.levels import Category
from callgate.tools.data.latex_line import NotLinear, to_line
from callgate.tools.data.latex_style import AsciiStyle, Style, UnicodeStyle
from tests.tools.data.asking import ask
from tests.tools.examples import run_examples


async def render(latex: str, **more: Any) -> Any:
    return await ask("render_math", latex=latex, **more)


@pytest.mark.parametrize(
    "latex",
    [
        *("\frac{1}{2}", "\theta + 1", "\nabla f", "\beta", "1 + \rho", "a \times b", "\text{x}", "x \to 0"),
        *("a \ne b", "x \ni y", "\nu = 1", "a \ne0", "\nu_1", "\\alpha\nu"),
    ],
)
@pytest.mark.parametrize("format", ["unicode", "2d", "ascii"])
async def test_a_backslash_that_json_took_is_missed_and_nothing_is_left_out(latex: str, format: str) -> None:  # noqa: A002
    outcome = await render(latex, format=format)
    assert outcome.error.category is Category.USER_INPUT
    assert "with two backslashes" in outcome.error.message


@pytest.mark.parametrize(
    "latex",
    [
        "a\n u = 1",
        "a +\n\tb",
        "a\r\n+ b",
        "\\nabla\nf",
        "a\nn",
        "a\nx = 1",
        "a \\\\\nu = 1",
        "\\begin{pmatrix}\ni & j \\\\ \ne & f\\end{pmatrix}",
        "\\begin{array}{cc}\ne & f\\end{array}",
    ],
)
async def test_a_formula_may_have_several_lines(latex: str) -> None:
    assert (await render(latex)).ok


async def test_a_line_that_begins_with_u_is_told_how_to_be_one() -> None:
    assert "where a line begins with u, put a space before it" in str(await render("a\nu = 1"))


@pytest.mark.parametrize(
    ("latex", "line", "plain"),
    [
        (r"\frac{d^2y}{dx^2} + \omega^2 y = 0", "d²y/dx² + ω²y = 0", "d^2 y/dx^2 + omega^2 y = 0"),
        (r"$E = mc^2$", "E = mc²", "E = mc^2"),
        (r"x = \frac{-b \pm \sqrt{b^2 - 4ac}}{2a}", "x = (-b ± √(b² - 4ac))/(2a)", "x = (-b +- sqrt(b^2 - 4ac))/(2a)"),
        (r"\sum_{i=1}^{n} i^2 = \frac{n(n+1)}{6}", "∑ᵢ₌₁ⁿ i² = n(n + 1)/6", "sum_(i=1)^n i^2 = n(n + 1)/6"),
        (r"\int_0^\infty e^{-x^2} \, dx", "∫₀^∞ e^(-x²) dx", "int_0^infinity e^(-x^2) dx"),
        (r"\lim_{x \to 0} \frac{\sin x}{x} = 1", "lim_(x→0) (sin x)/x = 1", "lim_(x->0) (sin x)/x = 1"),
        (r"\frac12 x \ne \frac{1}{2x}", "(1/2)x ≠ 1/(2x)", "(1/2)x != 1/(2x)"),
        (r"\left(\frac{a}{b}\right)^2 + \frac{a}{b}^2", "(a/b)² + (a/b)²", "(a/b)^2 + (a/b)^2"),
        (r"\sqrt[3]{x+1} + \sqrt[n]{2} + \sqrt x", "∛(x + 1) + ⁿ√2 + √x", "root(3, x + 1) + root(n, 2) + sqrt(x)"),
        (r"y'' + 2y' = -3", "y′′ + 2y′ = -3", "y'' + 2y' = -3"),  # noqa: RUF001 - primes
        (r"f: \mathbb{R} \to \mathbb{R}", "f : ℝ → ℝ", "f : R -> R"),  # noqa: RUF001 - the real numbers
        (r"x^{y^z} + a_{ij}^{(k)}", "x^(yᶻ) + aᵢⱼ⁽ᵏ⁾", "x^(y^z) + a_(ij)^((k))"),
        (r"2.5 \times 10^{-3}", "2.5 × 10⁻³", "2.5 x 10^(-3)"),  # noqa: RUF001 - times
        (r"\hat{x} + \vec{AB} + \overline{z}", "x\u0302 + vec(AB) + z\u0305", "hat(x) + vec(AB) + overline(z)"),
        (r"\binom{n}{k}, \text{if } n > 0", "C(n, k), if n > 0", "C(n, k), if n > 0"),
        (r"\sin^2\theta + \operatorname{rank} A", "sin² θ + rank A", "sin^2 theta + rank A"),
        (r"{a+b}^2 \Rightarrow α \in \{1, 2\}", "(a + b)² ⇒ α ∈ {1, 2}", "(a + b)^2 => alpha in {1, 2}"),  # noqa: RUF001
        (r"\frac{\partial^2 f}{\partial x \partial y}", "∂²f/∂x∂y", "partial^2 f/partial x partial y"),
        (r"\frac{dy}{dx_1 \, dt^2} \frac{1}{2 dx}", "(dy/dx₁ dt²)(1/(2dx))", "(dy/dx_1 dt^2)(1/(2dx))"),
        (r"\frac{1}{d e f} + \frac{v}{d_1 t}", "1/(def) + v/(d₁t)", "1/(def) + v/(d_1 t)"),
        (r"\frac{1}{\frac{1}{x}}", "1/(1/x)", "1/(1/x)"),
        (r"\frac{1}{d^2 x} + \frac{1}{D e}", "1/(d²x) + 1/(De)", "1/(d^2 x) + 1/(De)"),
        (r"\frac{1}{\delta x} + \frac{1}{d 2}", "1/(δx) + 1/(d2)", "1/(delta x) + 1/(d2)"),
        (r"\frac{1}{d\sqrt{x}} + \frac{1}{d(x)}", "1/(d√x) + 1/(d(x))", "1/(d sqrt(x)) + 1/(d(x))"),
        (r"\frac{df}{d\theta} + \frac{1}{d}", "df/dθ + 1/d", "df/d theta + 1/d"),
        (r"\mathrm{\alpha} a/b \! c~d", "αa/bc d", "alpha a/bc d"),  # noqa: RUF001 - alpha
    ],
)
async def test_a_formula_is_written_on_one_line(latex: str, line: str, plain: str) -> None:
    made = (await render(latex)).unwrap()
    assert made == {"rendered": line, "original": latex}
    assert (await render(latex, format="ascii")).unwrap()["rendered"] == plain
    assert plain.isascii()


@pytest.mark.parametrize(
    ("latex", "line", "plain"),
    [
        (r"a/\frac{b}{c} + a\div\frac{b}{c}", "a/(b/c) + a ÷ (b/c)", "a/(b/c) + a / (b/c)"),
        (r"\frac{a}{b}:c \bmod \frac{d}{e}", "(a/b) : c mod (d/e)", "(a/b) : c mod (d/e)"),
        (r"\frac12\,x + \sin\frac{x}{2}", "(1/2) x + sin (x/2)", "(1/2) x + sin (x/2)"),
        (r"\prod_{k=1}^n \frac{k}{2} \quad n", "∏ₖ₌₁ⁿ k/2 n", "prod_(k=1)^n k/2 n"),
        (r"2\sqrt[n]{y} + \sqrt[q]{y} + \sqrt{\sqrt[n]{y}}", "2(ⁿ√y) + root(q, y) + √(ⁿ√y)", None),
        (r"\sqrt{x}^2 + \sqrt{x^2} + \sqrt{x}'", "(√x)² + √x² + (√x)′", "sqrt(x)^2 + sqrt(x^2) + sqrt(x)'"),  # noqa: RUF001
        (r"\sqrt{2}3 + \sqrt{\text{ab}}c", "√2 3 + √(ab)c", "sqrt(2)3 + sqrt(ab)c"),
        (r"{x^2}^3 + {x_1}_2 + {x_1}^2 + {x^2}'", "(x²)³ + (x₁)₂ + x₁² + (x²)′", "(x^2)^3 + (x_1)_2 + x_1^2 + (x^2)'"),  # noqa: RUF001
        (r"x^2{}^3 + {\,-2}^2", "x² ³ + (-2)²", "x^2 ^3 + (-2)^2"),
        (r"\overline{a}\overline{b} + \overline{ab}^2", "a\u0305 b\u0305 + (a\u0305b\u0305)²", None),
        (r"z^*z + x^\alpha y", "z^* z + x^α y", "z^* z + x^alpha y"),  # noqa: RUF001 - alpha
        (
            r"x^{2 \times 3} + x^{a+-b} + x^{n!=0}",
            "x^(2×3) + x^(a+ -b) + x^(n! =0)",  # noqa: RUF001 - times
            "x^(2 x 3) + x^(a+ -b) + x^(n! =0)",
        ),
        (r"2\,x\,3 + 2 \times 3 + \alpha x \beta", "2 x 3 + 2 × 3 + αxβ", "2*x 3 + 2 x 3 + alpha*x beta"),  # noqa: RUF001
        (r"\sum\limits_{i=1}^n i + a\lfloor x \rfloor", "∑ᵢ₌₁ⁿ i + a⌊x⌋", "sum_(i=1)^n i + a floor(x)"),
        (r"\text{for } x \text{ in } \alpha", "for x in α", "for x in alpha"),  # noqa: RUF001 - alpha
    ],
)
async def test_what_would_be_read_as_another_formula_is_kept_apart(latex: str, line: str, plain: str | None) -> None:
    assert (await render(latex)).unwrap()["rendered"] == line
    if plain is not None:
        assert (await render(latex, format="ascii")).unwrap()["rendered"] == plain


_NEST = (
    "{%s}^{2}", "{%s}_{1}", "{%s}'", "a^{%s}", "a_{%s}", r"\sqrt{%s}", r"\sqrt[n]{%s}", r"\sqrt[q]{%s}",
    r"\sqrt[%s]{a}", r"\frac{%s}{b}", r"\frac{b}{%s}", r"\overline{%s}", r"\hat{%s}", r"\binom{%s}{k}",
)  # fmt: skip
_BESIDE = (
    "2%s", "%s 3", "b%s", "%s b", "c/%s", "%s/c", r"b\div %s", r"%s\div b", "b:%s", r"\sin %s", r"b\circ %s", r"k\,%s",
    r"%s\,4", r"b\times %s", "b+%s", "%s!",
)  # fmt: skip


@pytest.mark.parametrize("style", [UnicodeStyle(), AsciiStyle()], ids=["unicode", "ascii"])
def test_no_two_formulas_that_are_nested_differently_are_one_text(style: Style) -> None:
    """Every way of building one from another, in every order of three; whoever reads the line has only the line."""
    inner = ["a", "12", *(outer % "a" for outer in _NEST)]
    nested = [*inner, *(outer % one for outer in _NEST for one in inner)]
    seen: dict[str, str] = {}
    for latex in [*nested, *(outer % one for outer in _BESIDE for one in nested)]:
        with contextlib.suppress(NotLinear):
            assert seen.setdefault(to_line(latex, style), latex) == latex
    assert len(seen) > 2000


async def test_a_determinant_is_no_matrix_in_ascii() -> None:
    body = r"{%s} a & b \\ c & d \end{%s}"
    kinds = {"vmatrix": "det[", "Vmatrix": "norm[", "cases": "cases[", "pmatrix": "[", "bmatrix": "["}
    for kind, begin in kinds.items():
        made = (await render(r"\begin" + body % (kind, kind), format="ascii")).unwrap()
        assert made["rendered"] == f"{begin}a, b; c, d]"
    assert "use the format unicode" in str(await render(r"\lfloor x \rceil", format="ascii"))
    assert (await render(r"\lfloor \lceil x \rceil \rfloor", format="ascii")).unwrap()["rendered"] == "floor(ceil(x))"


async def test_what_no_line_can_show_is_drawn() -> None:
    matrix = r"\begin{pmatrix} a & b \\ c & d \end{pmatrix}"
    assert (await render(matrix)).unwrap()["rendered"] == "⎛a b⎞\n⎝c d⎠"
    assert (await render(matrix, format="ascii")).unwrap()["rendered"] == "[a, b; c, d]"
    deep = (await render(r"\frac{\frac{\frac{a}{b}}{c}}{d}")).unwrap()["rendered"]
    assert len(deep.split("\n")) == 7
    lines = (await render(r"a = 1 \\ b = 2")).unwrap()["rendered"]
    assert lines.split() == ["a=1", "b=2"]
    assert (await render(r"a = 1 \\ b = 2", format="ascii")).unwrap()["rendered"] == "a = 1; b = 2"
    array = r"\begin{array}{cc} 1 & 2 \\ 3 & 4 \\ \end{array}"
    assert (await render(array, format="ascii")).unwrap()["rendered"] == "[1, 2; 3, 4]"


async def test_a_formula_is_drawn_in_two_dimensions() -> None:
    made = (await render(r"\frac{d^2y}{dx^2} + \omega^2 y = 0", format="2d")).unwrap()
    assert made["rendered"].split("\n") == [" d²y", "╶───╴+ω²y=0", " dx²"]
    assert (await render(r"\operatorname{rank} A", format="2d")).unwrap()["rendered"] == "rankA"


@pytest.mark.parametrize(
    ("latex", "said"),
    [
        (r"\foo + 1", r"\foo, which is not known"),
        ("{", "} is missing"),
        ("x}", "nothing opened"),
        (r"\frac{1}", "something has to follow"),
        ("x^2^3", "two ^ at one place"),
        ("x_", "something has to follow"),
        ("a & b", "outside of a matrix"),
        ("  ", "latex is empty"),
        ("$ $", "latex is empty"),
        ("{" * 100 + "x" + "}" * 100, "levels deep"),
    ],
    ids=["unknown", "open", "closed", "half", "twice", "end", "and", "blank", "dollars", "deep"],
)
@pytest.mark.parametrize("form", ["unicode", "ascii"])
async def test_what_is_no_formula_is_an_input_error(latex: str, said: str, form: str) -> None:
    outcome = await render(latex, format=form)
    assert outcome.error.category is Category.USER_INPUT
    assert said in str(outcome)


@pytest.mark.parametrize(
    ("latex", "form", "said"),
    [
        (r"\foo", "2d", r"\foo is not known"),
        ("x}", "2d", "cannot be drawn"),
        (r"\left", "2d", "cannot be drawn"),
        ("☃", "2d", "cannot be drawn"),
        ("\\", "2d", "cannot be drawn"),
        (" ", "2d", "latex is empty"),
        ("é", "ascii", "no form in ASCII"),
        (r"\begin{a} x \end{b}", "ascii", "ends something else"),
        (r"\begin x", "ascii", "needs {"),
        (r"\begin{a} x", "ascii", "is missing"),
    ],
    ids=["unknown", "closed", "alone", "snowman", "backslash", "blank", "letter", "other-end", "no-name", "no-end"],
)
async def test_what_cannot_be_shown_in_a_format_is_told(latex: str, form: str, said: str) -> None:
    outcome = await render(latex, format=form)
    assert outcome.error.category is Category.USER_INPUT
    assert said in str(outcome)


async def test_a_formula_has_a_length_and_a_depth() -> None:
    many = r"\frac1" * 300 + "x"
    assert "levels deep" in str(await render(many, format="ascii"))
    assert "too many fractions and roots" in str(await render(many))
    for mark in "^_":
        # Two thousand letters took a gigabyte.
        assert "nested more than 40 levels deep" in str(await render(f"x{mark}{{" * 490 + "1" + "}" * 490, format="2d"))
    assert (await render("x^{" * 30 + "1" + "}" * 30, format="2d")).ok
    assert len((await render(many[-6 * 50 - 1 :])).unwrap()["rendered"].split("\n")) == 101
    assert (await render("x" * 2001)).error.code == "invalid_arguments"
    assert (await render("x", format="3d")).error.code == "invalid_arguments"


async def test_the_examples_run() -> None:
    async with Callgate.open("memory://", builtin_tools=["data"]) as gate:
        await run_examples(gate, "render_math")
