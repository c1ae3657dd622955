import assert from "node:assert/strict";
import { chmodSync } from "node:fs";
import { tmpdir } from "node:os";
import { describe, it } from "node:test";
import { ProgramError, run, versionOf } from "../src/program";
import { ECHO, program } from "./programs";

describe("a program", () => {
  it("gets arguments and input as they are, without a shell", async () => {
    const output = await run(program(ECHO), ["show", "$HOME; 'x'"], { cwd: tmpdir(), input: "é😀\n" });
    assert.deepEqual(JSON.parse(output), { args: ["show", "$HOME; 'x'"], folder: tmpdir(), text: "é😀\n" });
  });

  it("that reads no input is fine", async () => {
    assert.equal(await run(program('console.log("done")'), [], { input: "x".repeat(1 << 20) }), "done\n");
  });

  it("says its version", async () => {
    assert.equal(await versionOf(program('console.log("derivlint 0.1.0 (more)")')), "derivlint 0.1.0 (more)");
  });

  it("that is not there is told by its path", async () => {
    await assert.rejects(run("/no/such/derivlint", []), new ProgramError('"/no/such/derivlint" was not found'));
  });

  it("that is no program is told", async () => {
    const path = program("");
    chmodSync(path, 0o644);
    await assert.rejects(run(path, []), new ProgramError(`"${path}" may not be executed`));
  });

  it("that fails is told in its own words", async () => {
    const failing = program('console.error("derivlint: error: no such operator"); process.exit(2)');
    await assert.rejects(run(failing, []), new ProgramError("no such operator"));
  });
});
