import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { operatorAt } from "../src/entries";

const FILE = `# Comments first.

- name: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  self: grad
  # a comment inside
  result: self_t
    + other_t
- self: grad
  name: 'abs(Tensor self) -> Tensor'
-
  name: my_ns::op(Tensor self) -> Tensor
  self: f(grad, name)
- {broken
`.split("\n");

/** The operator at each line. */
const EXPECTED = [
  [0, undefined],
  [1, undefined],
  [2, "add.Tensor"],
  [3, "add.Tensor"],
  [4, "add.Tensor"],
  [6, "add.Tensor"],
  [7, "abs"],
  [8, "abs"],
  [10, "my_ns::op"],
  [11, "my_ns::op"],
  [12, undefined],
  [99, undefined],
] as const;

describe("the operator at the cursor", () => {
  for (const [line, operator] of EXPECTED) {
    it(`is ${operator ?? "none"} in line ${line}`, () => assert.equal(operatorAt(FILE, line), operator));
  }

  it("is none in an empty file", () => assert.equal(operatorAt([], 0), undefined));
});
