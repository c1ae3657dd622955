/** The colours on whole files, with the grammars that the editor has. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createOnigScanner, createOnigString, loadWASM } from "vscode-oniguruma";
import { INITIAL, parseRawGrammar, Registry, type IToken } from "vscode-textmate";

const ROOT = join(__dirname, "../..");
const GRAMMARS: Record<string, string> = {
  "source.yaml": join(ROOT, "node_modules/tm-grammars/grammars/yaml.json"),
  "derivlint.formula": join(ROOT, "syntaxes/formula.tmLanguage.json"),
  "derivlint.injection": join(ROOT, "syntaxes/injection.tmLanguage.json"),
};
const wasm = loadWASM(readFileSync(join(ROOT, "node_modules/vscode-oniguruma/release/onig.wasm")));

interface Line {
  text: string;
  tokens: IToken[];
}

/** Every line of a text with its tokens. */
async function tokenize(text: string, injected = true): Promise<Line[]> {
  await wasm;
  const registry = new Registry({
    onigLib: Promise.resolve({ createOnigScanner, createOnigString }),
    loadGrammar: (scope) => {
      const path = GRAMMARS[scope];
      return Promise.resolve(path === undefined ? null : parseRawGrammar(readFileSync(path, "utf8"), path));
    },
    getInjections: (scope) => (injected && scope === "source.yaml" ? ["derivlint.injection"] : undefined),
  });
  const grammar = await registry.loadGrammar("source.yaml");
  assert.ok(grammar);
  let state = INITIAL;
  return text.split("\n").map((line) => {
    const { tokens, ruleStack } = grammar.tokenizeLine(line, state);
    state = ruleStack;
    return { text: line, tokens };
  });
}

const inEntry = (line: Line): boolean => line.tokens.some((token) => token.scopes.includes("meta.entry.derivlint"));

/** The texts of a file's tokens that have a scope. */
function withScope(lines: Line[], scope: string): string[] {
  return lines.flatMap(({ text, tokens }) =>
    tokens.filter(({ scopes }) => scopes.includes(scope)).map((token) => text.slice(token.startIndex, token.endIndex)),
  );
}

const EXAMPLE = readFileSync(join(ROOT, "../../examples/derivatives.yaml"), "utf8");
const WORKFLOW = `name: build (all)
on: [push]
jobs:
  test:
    steps:
      - name: checkout(main)
        uses: actions/checkout
      - name: "Run tests (fast)"
        run: |
          self: grad * 2
`;

describe("the colours", () => {
  it("know every entry of a derivatives file, and every schema's operator", async () => {
    const lines = await tokenize(EXAMPLE);
    const entries = lines.filter(({ text }) => text.startsWith("- name: "));
    assert.ok(entries.length > 10);
    assert.deepEqual(
      entries.filter((line) => !inEntry(line)),
      [],
    );
    assert.deepEqual(
      withScope(lines, "entity.name.function.schema.derivlint"),
      entries.map(({ text }) => /name: (\w+)/.exec(text)?.[1]),
    );
  });

  it("of comments are those of YAML", async () => {
    const lines = await tokenize(EXAMPLE);
    const comments = lines.filter(({ text }) => text.startsWith("#"));
    assert.ok(comments.length > 10);
    for (const { tokens } of comments) {
      assert.ok(tokens.every(({ scopes }) => scopes.includes("comment.line.number-sign.yaml")));
    }
  });

  it("of other YAML are those without the extension", async () => {
    const scopes = (lines: Line[]): string[][][] => lines.map(({ tokens }) => tokens.map((token) => token.scopes));
    assert.deepEqual(scopes(await tokenize(WORKFLOW)), scopes(await tokenize(WORKFLOW, false)));
  });

  it("end where a formula is broken off", async () => {
    const broken =
      '- name: abs(Tensor self) -> Tensor\n  self: f("abc, grad(\n\n- name: neg(Tensor self) -> Tensor\n  self: -grad\n';
    const lines = await tokenize(broken);
    assert.deepEqual(withScope(lines, "entity.name.function.schema.derivlint"), ["abs", "neg"]);
    assert.deepEqual(withScope(lines, "variable.language.gradient.derivlint"), ["grad"]);
  });
});
