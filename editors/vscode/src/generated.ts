import { dirname } from "node:path";
import * as vscode from "vscode";
import { operatorAt } from "./entries";
import { run } from "./program";
import { readSettings } from "./settings";

export const SCHEME = "derivlint-generated";

/** Shows the C++ that an entry becomes, as documents that cannot be changed. */
export class GeneratedCode implements vscode.TextDocumentContentProvider {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  private readonly texts = new Map<string, string>();
  readonly onDidChange = this.changed.event;

  /** The text of such a document. */
  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.toString()) ?? "";
  }

  /** Forget the text of a document that was closed. */
  forget(uri: vscode.Uri): void {
    this.texts.delete(uri.toString());
  }

  /**
   * Show the C++ of an operator.
   *
   * @param given the file and the operator; without them, the entry at the cursor of the active editor.
   */
  async show(given?: { uri: string; operator: string }): Promise<void> {
    const document = await source(given?.uri);
    if (document === undefined) {
      void vscode.window.showErrorMessage("derivlint: no derivatives file is open here");
      return;
    }
    const operator = given?.operator ?? operatorAtCursor(document);
    if (operator === undefined) {
      void vscode.window.showErrorMessage("derivlint: the cursor is in no entry");
      return;
    }
    try {
      await this.open(document, operator);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      void vscode.window.showErrorMessage(`derivlint: ${message}`);
    }
  }

  private async open(document: vscode.TextDocument, operator: string): Promise<void> {
    const settings = readSettings();
    const name = document.uri.fsPath;
    const args = ["show", "--stdin-filename", name, ...settings.config.flatMap((item) => ["--config", item])];
    const text = await vscode.window.withProgress(
      { location: vscode.ProgressLocation.Window, title: `derivlint: generating the C++ of ${operator}` },
      // the text of the editor, which may not be saved yet
      () => run(settings.path, [...args, "--", operator, "-"], { cwd: dirname(name), input: document.getText() }),
    );
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${operator}.cpp`, query: document.uri.toString() });
    this.texts.set(uri.toString(), text);
    this.changed.fire(uri);
    const opened = await vscode.workspace.openTextDocument(uri);
    await vscode.window.showTextDocument(opened, {
      viewColumn: vscode.ViewColumn.Beside,
      preview: true,
      preserveFocus: true,
    });
  }
}

async function source(uri: string | undefined): Promise<vscode.TextDocument | undefined> {
  if (uri !== undefined) {
    return vscode.workspace.openTextDocument(vscode.Uri.parse(uri));
  }
  const document = vscode.window.activeTextEditor?.document;
  return document?.uri.scheme === "file" && document.languageId === "yaml" ? document : undefined;
}

function operatorAtCursor(document: vscode.TextDocument): string | undefined {
  const cursor = vscode.window.activeTextEditor?.selection.active;
  return cursor === undefined ? undefined : operatorAt(document.getText().split(/\r\n|\r|\n/), cursor.line);
}
