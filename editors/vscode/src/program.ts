import { execFile, type ExecFileException } from "node:child_process";

/** The program could not be run, or ended with an error. */
export class ProgramError extends Error {}

/** Run derivlint and return its standard output. */
export function run(
  path: string,
  args: readonly string[],
  options: { cwd?: string; input?: string } = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const where = options.cwd === undefined ? {} : { cwd: options.cwd };
    const limits = { timeout: 60_000, maxBuffer: 64 * 1024 * 1024, windowsHide: true };
    const child = execFile(path, args, { ...where, ...limits }, (error, stdout, stderr) => {
      if (error === null) {
        resolve(stdout);
        return;
      }
      reject(new ProgramError(reason(path, error, stderr)));
    });
    // a program that ends before it has read everything closes the pipe; its exit status tells why
    child.stdin?.on("error", () => undefined);
    child.stdin?.end(options.input ?? "");
  });
}

/** The version of derivlint, from "derivlint 0.1.0 (Python ...)" or the like. */
export async function versionOf(path: string): Promise<string> {
  return (await run(path, ["--version"])).trim().split("\n")[0] ?? "";
}

function reason(path: string, error: ExecFileException, stderr: string): string {
  if (error.code === "ENOENT") {
    return `"${path}" was not found`;
  }
  if (error.code === "EACCES") {
    return `"${path}" may not be executed`;
  }
  if (error.killed === true) {
    return `"${path}" did not end in time`;
  }
  const told = stderr.trim().replace(/^derivlint: (?:error: )?/, "");
  return told === "" ? error.message : told;
}
