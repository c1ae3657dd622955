/** Loaded before the tests: `vscode` exists only inside the editor, and its client only on top of it. */
import Module = require("node:module");
import { join } from "node:path";

type Load = (request: string, ...rest: unknown[]) => unknown;

const STUBS = new Map([
  ["vscode", join(__dirname, "vscode.js")],
  ["vscode-languageclient/node", join(__dirname, "languageclient.js")],
]);
const internals = Module as unknown as { _load: Load };
const load = internals._load;

internals._load = function (this: unknown, request: string, ...rest: unknown[]): unknown {
  return load.call(this, STUBS.get(request) ?? request, ...rest);
};
