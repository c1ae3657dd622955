import * as vscode from "vscode";
import { createClient, selectorOf } from "./client";
import { GeneratedCode, SCHEME } from "./generated";
import { versionOf } from "./program";
import { Server, type Client, type State } from "./server";
import { readSettings, RESTARTING } from "./settings";

const SETTINGS = "Open Settings";
const LOG = "Show Log";

let server: Server | undefined;

/** Register the commands, then start the server; a server that does not start leaves the commands. */
export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const log = vscode.window.createOutputChannel("derivlint", { log: true });
  const generated = new GeneratedCode();
  const status = vscode.languages.createLanguageStatusItem("derivlint", selectorOf(readSettings()));
  status.name = "derivlint";
  status.command = { command: "derivlint.showLog", title: LOG };
  const told = (state: State, error?: unknown): void => {
    status.selector = selectorOf(readSettings());
    status.text = `derivlint: ${state}`;
    status.busy = state === "starting";
    status.severity =
      state === "failed" ? vscode.LanguageStatusSeverity.Error : vscode.LanguageStatusSeverity.Information;
    if (state === "failed") {
      void complain(log, error instanceof Error ? error.message : String(error));
    }
  };
  const started = (server = new Server(() => connect(log, (message) => told("failed", message)), told));
  context.subscriptions.push(
    log,
    status,
    vscode.commands.registerCommand("derivlint.restart", () => started.restart()),
    vscode.commands.registerCommand("derivlint.showLog", () => log.show()),
    vscode.commands.registerCommand("derivlint.showGeneratedCode", (uri?: unknown, operator?: unknown) =>
      generated.show(typeof uri === "string" && typeof operator === "string" ? { uri, operator } : undefined),
    ),
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, generated),
    vscode.workspace.onDidCloseTextDocument((document) => {
      if (document.uri.scheme === SCHEME) {
        generated.forget(document.uri);
      }
    }),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (RESTARTING.some((name) => event.affectsConfiguration(name))) {
        void started.restart();
      }
    }),
    // a path that the workspace sets, and its configuration, count from now on
    vscode.workspace.onDidGrantWorkspaceTrust(() => void started.restart()),
  );
  await started.restart();
}

/** Stop the server. */
export async function deactivate(): Promise<void> {
  await server?.stop();
}

async function connect(log: vscode.LogOutputChannel, gaveUp: (message: string) => void): Promise<Client> {
  const settings = readSettings();
  // a program that is not there or does not run is told in its own words, and not as a broken pipe
  log.info(`${settings.path}: ${await versionOf(settings.path)}`);
  return createClient(settings, log, gaveUp);
}

async function complain(log: vscode.LogOutputChannel, message: string): Promise<void> {
  log.error(message);
  const chosen = await vscode.window.showErrorMessage(`derivlint: ${message}`, SETTINGS, LOG);
  if (chosen === SETTINGS) {
    await vscode.commands.executeCommand("workbench.action.openSettings", "derivlint.path");
  } else if (chosen === LOG) {
    log.show();
  }
}
