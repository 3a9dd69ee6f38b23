"""One small source in each language, and what is defined and used in it."""

from __future__ import annotations

from typing import NamedTuple


class Sample(NamedTuple):
    """A source, with its definitions (qualified name, kind, line) and uses (name, kind, line)."""

    path: str
    text: str
    defined: list[tuple[str, str, int]]
    used: list[tuple[str, str, int]]


SAMPLES = {
    "python": Sample(
        "shapes/circle.py",
        '''import math
from shapes.shape import Shape as Form

UNIT = 1.0


class Circle(Form):
    """A round thing."""

    sides: int = 0

    def __init__(self, radius: float) -> None:
        self.radius = radius

    async def area(self) -> float:
        """How much it covers."""
        return math.pi * self.radius**2


def unit_circle() -> Circle:
    def inner() -> Circle:
        return Circle(UNIT)
    return inner()
''',
        [
            ("UNIT", "variable", 4),
            ("Circle", "class", 7),
            ("Circle.sides", "field", 10),
            ("Circle.__init__", "method", 12),
            ("Circle.radius", "field", 13),
            ("Circle.area", "method", 15),
            ("unit_circle", "function", 20),
            ("unit_circle.inner", "function", 21),
        ],
        [
            ("Circle", "type", 20),
            ("Circle", "call", 22),
            ("UNIT", "name", 22),
            ("Shape", "import", 2),
            ("Form", "inherit", 7),
            ("radius", "attribute", 17),
            ("inner", "call", 23),
        ],
    ),
    "javascript": Sample(
        "circle.js",
        """import { Shape } from "./shape.js";

export const UNIT = 1;

/** A round thing. */
export class Circle extends Shape {
  sides = 0;

  constructor(radius) {
    super();
    this.radius = radius;
  }

  area() {
    return Math.PI * this.radius ** 2;
  }
}

const double = (x) => x * 2;

export function unitCircle() {
  return new Circle(double(UNIT));
}
""",
        [
            ("UNIT", "variable", 3),
            ("Circle", "class", 6),
            ("Circle.sides", "field", 7),
            ("Circle.area", "method", 14),
            ("double", "function", 19),
            ("unitCircle", "function", 21),
        ],
        [
            ("Shape", "import", 1),
            ("Shape", "inherit", 6),
            ("Circle", "call", 22),
            ("double", "call", 22),
            ("UNIT", "name", 22),
            ("radius", "attribute", 15),
        ],
    ),
    "typescript": Sample(
        "circle.ts",
        """import { Shape } from "./shape";

export interface Round {
  radius: number;
  area(): number;
}

export type Size = number;

enum Colour { Red, Green }

// A round thing.
export abstract class Circle extends Shape implements Round {
  radius: Size = 1;

  area(): number {
    return this.radius;
  }
}

namespace Tools {
  export function measure(circle: Circle): Size {
    return circle.area();
  }
}
""",
        [
            ("Round", "interface", 3),
            ("Round.radius", "field", 4),
            ("Round.area", "method", 5),
            ("Size", "type", 8),
            ("Colour", "enum", 10),
            ("Circle", "class", 13),
            ("Circle.radius", "field", 14),
            ("Circle.area", "method", 16),
            ("Tools", "module", 21),
            ("Tools.measure", "function", 22),
        ],
        [
            ("Shape", "import", 1),
            ("Shape", "inherit", 13),
            ("Round", "inherit", 13),
            ("Size", "type", 22),
            ("Circle", "type", 22),
            ("area", "call", 23),
        ],
    ),
    "tsx": Sample(
        "Circle.tsx",
        """export function Circle(props: Props) {
  return <svg><Dot size={radius(props)} /></svg>;
}
const radius = (props: Props) => 1;
""",
        [("Circle", "function", 1), ("radius", "function", 4)],
        [("Props", "type", 1), ("radius", "call", 2), ("Dot", "name", 2)],
    ),
    "go": Sample(
        "circle.go",
        """package shapes

import "math"

const Unit = 1.0

// Round is what has a radius.
type Round interface {
\tArea() float64
}

type Circle struct {
\tRadius float64
}

// Area says how much it covers.
func (c *Circle) Area() float64 {
\treturn math.Pi * c.Radius
}

func NewCircle() *Circle {
\treturn &Circle{Radius: Unit}
}

func use() { NewCircle().Area() }
""",
        [
            ("Unit", "constant", 5),
            ("Round", "interface", 8),
            ("Round.Area", "method", 9),
            ("Circle", "struct", 12),
            ("Circle.Radius", "field", 13),
            ("Circle.Area", "method", 17),
            ("NewCircle", "function", 21),
        ],
        [
            ("Circle", "type", 17),
            ("Circle", "type", 22),
            ("Radius", "attribute", 18),
            ("Unit", "name", 22),
            ("NewCircle", "call", 25),
            ("Area", "call", 25),
        ],
    ),
    "rust": Sample(
        "circle.rs",
        """use crate::shape::Shape;

const UNIT: f64 = 1.0;

/// A round thing.
pub struct Circle {
    radius: f64,
}

pub trait Round {
    fn area(&self) -> f64;
}

enum Colour { Red, Green }

impl Round for Circle {
    fn area(&self) -> f64 {
        self.radius * UNIT
    }
}

impl Circle {
    pub fn new() -> Circle {
        Circle { radius: UNIT }
    }
}

mod tools {
    macro_rules! twice { ($x:expr) => { $x * 2 }; }
    pub fn unit() -> f64 { super::Circle::new().area() }
}
""",
        [
            ("UNIT", "constant", 3),
            ("Circle", "struct", 6),
            ("Circle.radius", "field", 7),
            ("Round", "trait", 10),
            ("Round.area", "method", 11),
            ("Colour", "enum", 14),
            ("Colour.Red", "constant", 14),
            ("Circle.area", "method", 17),
            ("Circle.new", "method", 23),
            ("tools", "module", 28),
            ("tools.twice", "macro", 29),
            ("tools.unit", "function", 30),
        ],
        [
            ("Shape", "import", 1),
            ("Round", "inherit", 16),
            ("radius", "attribute", 18),
            ("UNIT", "name", 18),
            ("Circle", "type", 23),
            ("new", "call", 30),
            ("area", "call", 30),
        ],
    ),
    "java": Sample(
        "Circle.java",
        """package shapes;

import shapes.base.Shape;

interface Round {
    double area();
}

/** A round thing. */
public class Circle extends Shape implements Round {
    private final double radius;
    enum Colour { RED }

    Circle(double radius) {
        this.radius = radius;
    }

    public double area() {
        return Math.PI * this.radius;
    }

    static Circle unit() {
        return new Circle(measure(1));
    }
}
""",
        [
            ("Round", "interface", 5),
            ("Round.area", "method", 6),
            ("Circle", "class", 10),
            ("Circle.radius", "field", 11),
            ("Circle.Colour", "enum", 12),
            ("Circle.Colour.RED", "constant", 12),
            ("Circle.Circle", "method", 14),
            ("Circle.area", "method", 18),
            ("Circle.unit", "method", 22),
        ],
        [
            ("Shape", "import", 3),
            ("Shape", "inherit", 10),
            ("Round", "inherit", 10),
            ("radius", "attribute", 19),
            ("Circle", "type", 22),
            ("Circle", "call", 23),
            ("measure", "call", 23),
        ],
    ),
    "c": Sample(
        "circle.c",
        """#include "shape.h"
#define UNIT 1.0
#define TWICE(x) ((x) * 2)

typedef double size;

struct circle {
    size radius;
};

enum colour { RED, GREEN };

static int count = 0;

double area(struct circle *c);

/* How much it covers. */
double area(struct circle *c)
{
    return c->radius * UNIT;
}

char *name_of(void) { return 0; }

int main(void) { struct circle c; return area(&c) + count; }
""",
        [
            ("UNIT", "macro", 2),
            ("TWICE", "macro", 3),
            ("size", "type", 5),
            ("circle", "struct", 7),
            ("circle.radius", "field", 8),
            ("colour", "enum", 11),
            ("colour.RED", "constant", 11),
            ("count", "variable", 13),
            ("area", "declaration", 15),
            ("area", "function", 18),
            ("name_of", "function", 23),
            ("main", "function", 25),
        ],
        [
            ("size", "type", 8),
            ("circle", "type", 18),
            ("radius", "attribute", 20),
            ("UNIT", "name", 20),
            ("area", "call", 25),
            ("count", "name", 25),
        ],
    ),
    "cpp": Sample(
        "circle.cpp",
        """#include "shape.hpp"

namespace shapes {

class Circle : public Shape {
public:
    Circle();
    double area() const;
    int sides() { return 0; }
private:
    double radius_;
};

template <typename T>
struct Box { T inside; };

enum class Colour { Red };

using Size = double;

}  // namespace shapes

// How much it covers.
double shapes::Circle::area() const {
    return radius_;
}

int run() {
    shapes::Circle circle;
    auto *other = new Circle();
    return circle.area() + measure(other);
}
""",
        [
            ("shapes", "module", 3),
            ("shapes.Circle", "class", 5),
            ("shapes.Circle.area", "declaration", 8),
            ("shapes.Circle.sides", "method", 9),
            ("shapes.Circle.radius_", "field", 11),
            ("shapes.Box", "struct", 15),
            ("shapes.Colour", "enum", 17),
            ("shapes.Size", "type", 19),
            ("shapes.Circle.area", "method", 24),
            ("run", "function", 28),
        ],
        [
            ("Shape", "inherit", 5),
            ("radius_", "name", 25),
            ("Circle", "call", 30),
            ("area", "call", 31),
            ("measure", "call", 31),
        ],
    ),
    "ruby": Sample(
        "circle.rb",
        """require "shape"

module Shapes
  UNIT = 1.0

  # A round thing.
  class Circle < Shape
    include Round
    attr_reader :radius

    def initialize(radius)
      @radius = radius
    end

    def area
      compute(radius * UNIT)
    end

    def self.unit
      Circle.new(UNIT)
    end
  end
end

def run
  Shapes::Circle.unit.area
end
""",
        [
            ("Shapes", "module", 3),
            ("Shapes.UNIT", "constant", 4),
            ("Shapes.Circle", "class", 7),
            ("Shapes.Circle.radius", "field", 9),
            ("Shapes.Circle.initialize", "method", 11),
            ("Shapes.Circle.area", "method", 15),
            ("Shapes.Circle.unit", "method", 19),
            ("run", "function", 25),
        ],
        [
            ("Shape", "inherit", 7),
            ("Round", "inherit", 8),
            ("compute", "call", 16),
            ("UNIT", "type", 16),
            ("unit", "call", 26),
            ("area", "call", 26),
        ],
    ),
}
