import { homedir } from "node:os";
import { join } from "node:path";
import * as vscode from "vscode";

/** What the user has set. */
export interface Settings {
  /** The executable: a path, or a name that is looked for in PATH. */
  readonly path: string;
  /** As `--config` of the command line. */
  readonly config: readonly string[];
  /** Glob patterns of the files that the server is asked about. */
  readonly files: readonly string[];
  /** Whether parameter names and saved variables are shown. */
  readonly inlayHints: boolean;
}

/** The settings whose change needs another server. */
export const RESTARTING = ["derivlint.path", "derivlint.config", "derivlint.files", "derivlint.inlayHints"];

/** Read the settings. */
export function readSettings(): Settings {
  const all = vscode.workspace.getConfiguration("derivlint");
  const path = all.get<string>("path", "").trim();
  const files = all.get<string[]>("files", []);
  return {
    path: expand(path === "" ? "derivlint" : path),
    config: all.get<string[]>("config", []),
    files: files.length === 0 ? ["**/*derivatives*.yaml"] : files,
    inlayHints: all.get<boolean>("inlayHints", false),
  };
}

/** Replace `~` and variables in a path. A variable without a value is left, so that the message about it shows it. */
export function expand(path: string): string {
  const home = path === "~" || /^~[/\\]/.test(path) ? join(homedir(), path.slice(1)) : path;
  return home.replace(/\$\{(workspaceFolder|userHome|env:([^}]+))\}/g, (whole: string, name: string, env?: string) => {
    if (name === "userHome") {
      return homedir();
    }
    if (name === "workspaceFolder") {
      return vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? whole;
    }
    return (env === undefined ? undefined : process.env[env]) ?? whole;
  });
}
