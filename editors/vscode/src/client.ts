import * as vscode from "vscode";
import {
  CloseAction,
  ErrorAction,
  LanguageClient,
  RevealOutputChannelOn,
  type CloseHandlerResult,
  type ErrorHandler,
} from "vscode-languageclient/node";
import type { Settings } from "./settings";

/** A server that dies so often within so many milliseconds is not started again. */
export const CRASHES = 4;
export const PERIOD = 3 * 60 * 1000;

/** Starts a server that died again, unless it never ran or dies all the time. */
export class Restarts implements ErrorHandler {
  private readonly times: number[] = [];
  private hasRun = false;

  /** @param gaveUp is called when a server that ran is not started again. */
  constructor(private readonly gaveUp: (message: string) => void) {}

  /** The server answered. */
  running(): void {
    this.hasRun = true;
  }

  error(): { action: ErrorAction; handled: boolean } {
    // a message that could not be written; if the server is gone, it is told as closed
    return { action: ErrorAction.Continue, handled: true };
  }

  closed(): CloseHandlerResult {
    if (!this.hasRun) {
      return { action: CloseAction.DoNotRestart, handled: true };
    }
    const now = Date.now();
    this.times.push(now);
    if (this.times.filter((time) => now - time < PERIOD).length <= CRASHES) {
      return { action: CloseAction.Restart, handled: true };
    }
    this.gaveUp(`the server ended ${CRASHES + 1} times within ${PERIOD / 60_000} minutes`);
    return { action: CloseAction.DoNotRestart, handled: true };
  }
}

/** The documents that the server is asked about. */
export function selectorOf(settings: Settings): { scheme: string; language: string; pattern: string }[] {
  return settings.files.map((pattern) => ({ scheme: "file", language: "yaml", pattern }));
}

/** The client of the language server. */
export function createClient(
  settings: Settings,
  log: vscode.LogOutputChannel,
  gaveUp: (message: string) => void,
): { start(): Promise<void>; stop(): Promise<void> } {
  const restarts = new Restarts(gaveUp);
  const client = new LanguageClient(
    "derivlint",
    "derivlint",
    { command: settings.path, args: ["lsp"] },
    {
      documentSelector: selectorOf(settings),
      initializationOptions: {
        config: settings.config,
        inlayHints: settings.inlayHints,
        // else only what makes a check stricter counts of the workspace's configuration
        trusted: vscode.workspace.isTrusted,
        // the lenses call the command of this extension, whatever the editor around it is called
        showGeneratedCode: true,
      },
      outputChannel: log,
      // the log opens by itself for nothing: a failed start is told in a message with a button
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationFailedHandler: () => false,
      errorHandler: restarts,
    },
  );
  return {
    async start(): Promise<void> {
      await client.start();
      restarts.running();
    },
    async stop(): Promise<void> {
      await client.dispose();
    },
  };
}
