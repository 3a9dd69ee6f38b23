# ruff: noqa: RUF001 - the signs that look like letters are meant
"""What the commands of LaTeX mean on one line: a sign in Unicode, a word in ASCII, and how it stands among others."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass


class Kind(enum.Enum):
    """How a piece of a formula stands among its neighbours."""

    ATOM = enum.auto()
    FRACTION = enum.auto()
    OPEN = enum.auto()
    CLOSE = enum.auto()
    SIGN = enum.auto()
    """Between two values with room around it, before one without."""
    RELATION = enum.auto()
    SLASH = enum.auto()
    COMMA = enum.auto()
    WORD = enum.auto()
    """A name of a function: what it applies to comes after a space."""
    LARGE = enum.auto()
    """As a word; but it applies to the whole product that follows, as a sum or a limit does."""
    SPACE = enum.auto()
    """A little room between two values, as in front of dx."""
    GAP = enum.auto()
    """Much room, or words: what is on the two sides of it does not belong together."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """One command."""

    unicode: str
    ascii: str
    kind: Kind = Kind.ATOM


_LETTERS = (
    "alpha α beta β gamma γ delta δ epsilon ε varepsilon ε zeta ζ eta η theta θ vartheta ϑ iota ι kappa κ lambda λ mu μ"
    " nu ν xi ξ omicron ο pi π varpi ϖ rho ρ varrho ϱ sigma σ varsigma ς tau τ upsilon υ phi φ varphi φ chi χ psi ψ"
    " omega ω Gamma Γ Delta Δ Theta Θ Lambda Λ Xi Ξ Pi Π Sigma Σ Upsilon Υ Phi Φ Psi Ψ Omega Ω partial ∂ nabla ∇"
    " hbar ℏ ell ℓ Re ℜ Im ℑ aleph ℵ emptyset ∅ varnothing ∅ angle ∠ degree ° forall ∀ exists ∃ nexists ∄ neg ¬ lnot ¬"
    " top ⊤ bot ⊥ triangle △ dagger † ddagger ‡"
)
_RELATIONS = (
    "approx ≈ cong ≅ sim ∼ simeq ≃ propto ∝ in ∈ notin ∉ ni ∋ subset ⊂ subseteq ⊆ supset ⊃ supseteq ⊇ mapsto ↦"
    " perp ⊥ parallel ∥ prec ≺ succ ≻ models ⊨ vdash ⊢"
)
_OPERATORS = "cup ∪ cap ∩ setminus ∖ oplus ⊕ otimes ⊗ odot ⊙ wedge ∧ land ∧ vee ∨ lor ∨ star ⋆"
_LARGE = (
    "sum ∑ prod ∏ coprod ∐ int ∫ iint ∬ iiint ∭ oint ∮ bigcup ⋃ bigcap ⋂ bigoplus ⨁ bigotimes ⨂ bigwedge ⋀ bigvee ⋁"
)
_FUNCTIONS = (
    "sin cos tan cot sec csc sinh cosh tanh coth arcsin arccos arctan exp log ln lg max min sup inf det dim ker deg gcd"
    " arg hom Pr"
)
_OTHERS: Mapping[str, Symbol] = {
    "infty": Symbol("∞", "infinity"),
    "prime": Symbol("′", "'"),
    "ldots": Symbol("…", "..."),
    "dots": Symbol("…", "..."),
    "cdots": Symbol("⋯", "..."),
    "circ": Symbol("∘", "o", Kind.SIGN),
    "pm": Symbol("±", "+-", Kind.SIGN),
    "mp": Symbol("∓", "-+", Kind.SIGN),
    "times": Symbol("×", "x", Kind.SIGN),
    "cdot": Symbol("·", "*", Kind.SIGN),
    "ast": Symbol("∗", "*", Kind.SIGN),
    "div": Symbol("÷", "/", Kind.SIGN),
    "bmod": Symbol("mod", "mod", Kind.RELATION),
    "mod": Symbol("mod", "mod", Kind.RELATION),
    **dict.fromkeys(("le", "leq", "leqslant"), Symbol("≤", "<=", Kind.RELATION)),
    **dict.fromkeys(("ge", "geq", "geqslant"), Symbol("≥", ">=", Kind.RELATION)),
    **dict.fromkeys(("ne", "neq"), Symbol("≠", "!=", Kind.RELATION)),
    "mid": Symbol("∣", "|", Kind.RELATION),
    "ll": Symbol("≪", "<<", Kind.RELATION),
    "gg": Symbol("≫", ">>", Kind.RELATION),
    "equiv": Symbol("≡", "==", Kind.RELATION),
    **dict.fromkeys(("to", "rightarrow", "longrightarrow"), Symbol("→", "->", Kind.RELATION)),
    **dict.fromkeys(("gets", "leftarrow"), Symbol("←", "<-", Kind.RELATION)),
    **dict.fromkeys(("Rightarrow", "implies", "Longrightarrow"), Symbol("⇒", "=>", Kind.RELATION)),
    **dict.fromkeys(("Leftarrow", "impliedby"), Symbol("⇐", "<==", Kind.RELATION)),
    **dict.fromkeys(("Leftrightarrow", "iff"), Symbol("⇔", "<=>", Kind.RELATION)),
    "leftrightarrow": Symbol("↔", "<->", Kind.RELATION),
    "langle": Symbol("⟨", "<", Kind.OPEN),
    "rangle": Symbol("⟩", ">", Kind.CLOSE),
    "lfloor": Symbol("⌊", "floor(", Kind.OPEN),
    "rfloor": Symbol("⌋", ")", Kind.CLOSE),
    "lceil": Symbol("⌈", "ceil(", Kind.OPEN),
    "rceil": Symbol("⌉", ")", Kind.CLOSE),
    **dict.fromkeys(("{", "lbrace"), Symbol("{", "{", Kind.OPEN)),
    **dict.fromkeys(("}", "rbrace"), Symbol("}", "}", Kind.CLOSE)),
    **dict.fromkeys(("|", "Vert", "lVert", "rVert"), Symbol("‖", "||")),
    **dict.fromkeys(("vert", "lvert", "rvert"), Symbol("|", "|")),
    **{sign: Symbol(sign, sign) for sign in "%$#&_"},
    **dict.fromkeys((" ", ",", ";", ":", ">"), Symbol(" ", " ", Kind.SPACE)),
    **dict.fromkeys(("quad", "qquad"), Symbol(" ", " ", Kind.GAP)),
}


def _pairs(text: str, kind: Kind) -> dict[str, Symbol]:
    words = text.split()
    return {name: Symbol(sign, name, kind) for name, sign in zip(words[::2], words[1::2], strict=True)}


COMMANDS: Mapping[str, Symbol] = {
    **_pairs(_LETTERS, Kind.ATOM),
    **_pairs(_RELATIONS, Kind.RELATION),
    **_pairs(_OPERATORS, Kind.SIGN),
    **_pairs(_LARGE, Kind.LARGE),
    **{name: Symbol(name, name, Kind.LARGE) for name in ("lim", "liminf", "limsup")},
    **{name: Symbol(name, name, Kind.WORD) for name in _FUNCTIONS.split()},
    **_OTHERS,
}
CHARACTERS: Mapping[str, Kind] = {
    **dict.fromkeys("([", Kind.OPEN),
    **dict.fromkeys(")]", Kind.CLOSE),
    **dict.fromkeys("+-*", Kind.SIGN),
    **dict.fromkeys("=<>:", Kind.RELATION),
    **dict.fromkeys(",;", Kind.COMMA),
    "/": Kind.SLASH,
}
_SIZES = (
    "! limits nolimits left right middle big bigl bigr Big Bigl Bigr bigg biggl biggr Bigg Biggl Biggr displaystyle"
    " textstyle scriptstyle scriptscriptstyle"
)
NOTHING = frozenset(_SIZES.split())
"""Commands that only say how large or where something is drawn."""
_FONTS = (
    "text textrm textbf textit mathrm mathbf mathit mathsf mathtt mathcal mathfrak mathscr mathbb mathnormal"
    " operatorname boldsymbol"
)
FONTS = frozenset(_FONTS.split())
ACCENTS: Mapping[str, str] = {
    "hat": "\u0302",
    "widehat": "\u0302",
    "bar": "\u0304",
    "overline": "\u0305",
    "underline": "\u0332",
    "dot": "\u0307",
    "ddot": "\u0308",
    "tilde": "\u0303",
    "widetilde": "\u0303",
    "vec": "\u20d7",
    "check": "\u030c",
    "acute": "\u0301",
    "grave": "\u0300",
    "breve": "\u0306",
    "mathring": "\u030a",
}
_RAISED = "0⁰1¹2²3³4⁴5⁵6⁶7⁷8⁸9⁹+⁺-⁻=⁼(⁽)⁾aᵃbᵇcᶜdᵈeᵉfᶠgᵍhʰiⁱjʲkᵏlˡmᵐnⁿoᵒpᵖrʳsˢtᵗuᵘvᵛwʷxˣyʸzᶻ"
_RAISED_CAPITALS = "AᴬBᴮDᴰEᴱGᴳHᴴIᴵJᴶKᴷLᴸMᴹNᴺOᴼPᴾRᴿTᵀUᵁVⱽWᵂβᵝγᵞδᵟθᶿφᵠχᵡ∘°′′††"
_LOWERED = "0₀1₁2₂3₃4₄5₅6₆7₇8₈9₉+₊-₋=₌(₍)₎aₐeₑhₕiᵢjⱼkₖlₗmₘnₙoₒpₚrᵣsₛtₜuᵤvᵥxₓβᵦγᵧρᵨφᵩχᵪ"
RAISED: Mapping[str, str] = dict(
    zip((_RAISED + _RAISED_CAPITALS)[::2], (_RAISED + _RAISED_CAPITALS)[1::2], strict=True)
)
LOWERED: Mapping[str, str] = dict(zip(_LOWERED[::2], _LOWERED[1::2], strict=True))
BLACKBOARD: Mapping[str, str] = dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "𝔸𝔹ℂ𝔻𝔼𝔽𝔾ℍ𝕀𝕁𝕂𝕃𝕄ℕ𝕆ℙℚℝ𝕊𝕋𝕌𝕍𝕎𝕏𝕐ℤ", strict=True))
