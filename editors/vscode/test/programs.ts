import { chmodSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A program, written in JavaScript, in a folder whose name has a space. */
export function program(source: string): string {
  const path = join(mkdtempSync(join(tmpdir(), "derivlint test ")), "derivlint");
  writeFileSync(path, `#!${process.execPath}\n${source}\n`);
  chmodSync(path, 0o755);
  return path;
}

/** Prints its arguments, its folder and its standard input. */
export const ECHO = `
const text = require("node:fs").readFileSync(0, "utf8");
console.log(JSON.stringify({ args: process.argv.slice(2), folder: process.cwd(), text }));
`;
