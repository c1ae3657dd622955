/** As much of the module `vscode` as the extension uses, and what the tests look at. */

type Listener<T> = (event: T) => unknown;

/** Something to be disposed of. */
export interface Disposable {
  dispose(): void;
}

export class EventEmitter<T> {
  private readonly listeners: Listener<T>[] = [];
  readonly event = (listener: Listener<T>): Disposable => {
    this.listeners.push(listener);
    return { dispose: () => this.listeners.splice(this.listeners.indexOf(listener), 1) };
  };
  fire(event: T): void {
    for (const listener of [...this.listeners]) {
      listener(event);
    }
  }
}

interface Parts {
  scheme: string;
  path: string;
  query?: string;
}

export class Uri {
  private constructor(
    readonly scheme: string,
    readonly path: string,
    readonly query: string,
  ) {}
  get fsPath(): string {
    return this.path;
  }
  toString(): string {
    return `${this.scheme}:${this.path}${this.query === "" ? "" : `?${encodeURIComponent(this.query)}`}`;
  }
  static from(parts: Parts): Uri {
    return new Uri(parts.scheme, parts.path, parts.query ?? "");
  }
  static file(path: string): Uri {
    return new Uri("file", path, "");
  }
  static parse(text: string): Uri {
    const [scheme = "", rest = ""] = text.split(/:(.*)/s);
    return new Uri(scheme, rest.replace(/^\/\//, ""), "");
  }
}

export interface Document {
  uri: Uri;
  languageId: string;
  getText(): string;
}

/** What the tests set, and what the extension did. */
export class World {
  settings: Record<string, unknown> = {};
  folders: string[] = [];
  commands = new Map<string, (...args: unknown[]) => unknown>();
  executed: unknown[][] = [];
  errors: string[] = [];
  /** The button that the user presses on the next message. */
  answer: string | undefined;
  log: string[] = [];
  logShown = 0;
  statuses: string[] = [];
  documents = new Map<string, Document>();
  shown: Document[] = [];
  providers = new Map<string, { provideTextDocumentContent(uri: Uri): string }>();
  activeTextEditor: { document: Document; selection: { active: { line: number } } } | undefined;
  readonly configurationChanged = new EventEmitter<{ affectsConfiguration(name: string): boolean }>();
  readonly trusted = new EventEmitter<void>();
  readonly closed = new EventEmitter<Document>();
}

/** The world of the present test. */
export let world = new World();

/** Begin anew. */
export function reset(): World {
  world = new World();
  return world;
}

const defaults: Record<string, unknown> = (
  require("../../../package.json") as {
    contributes: { configuration: { properties: Record<string, { default: unknown }> } };
  }
).contributes.configuration.properties;

export const workspace = {
  get workspaceFolders() {
    return world.folders.length === 0 ? undefined : world.folders.map((path) => ({ uri: Uri.file(path) }));
  },
  getConfiguration: (section: string) => ({
    get: (key: string): unknown => {
      const name = `${section}.${key}`;
      return name in world.settings ? world.settings[name] : (defaults[name] as { default: unknown }).default;
    },
  }),
  onDidChangeConfiguration: (listener: Listener<{ affectsConfiguration(name: string): boolean }>) =>
    world.configurationChanged.event(listener),
  isTrusted: true,
  onDidGrantWorkspaceTrust: (listener: Listener<void>) => world.trusted.event(listener),
  onDidCloseTextDocument: (listener: Listener<Document>) => world.closed.event(listener),
  registerTextDocumentContentProvider(scheme: string, provider: { provideTextDocumentContent(uri: Uri): string }) {
    world.providers.set(scheme, provider);
    return { dispose: () => world.providers.delete(scheme) };
  },
  openTextDocument: (uri: Uri): Promise<Document> => {
    const provider = world.providers.get(uri.scheme);
    const made = { uri, languageId: "cpp", getText: () => provider?.provideTextDocumentContent(uri) ?? "" };
    const found = provider === undefined ? world.documents.get(uri.toString()) : made;
    return found === undefined ? Promise.reject(new Error(`no file ${uri.toString()}`)) : Promise.resolve(found);
  },
};

export const window = {
  get activeTextEditor() {
    return world.activeTextEditor;
  },
  createOutputChannel: () => ({
    info: (message: string) => world.log.push(message),
    error: (message: string) => world.log.push(`error: ${message}`),
    show: () => world.logShown++,
    dispose: () => undefined,
  }),
  showErrorMessage: (message: string): Promise<string | undefined> => {
    world.errors.push(message);
    return Promise.resolve(world.answer);
  },
  showTextDocument: (document: Document) => Promise.resolve(world.shown.push(document)),
  withProgress: (_options: unknown, task: () => Promise<unknown>) => task(),
};

export const languages = {
  createLanguageStatusItem: () => ({
    set text(text: string) {
      world.statuses.push(text);
    },
    dispose: () => undefined,
  }),
};

export const commands = {
  registerCommand(name: string, run: (...args: unknown[]) => unknown): Disposable {
    if (world.commands.has(name)) {
      throw new Error(`command '${name}' already exists`);
    }
    world.commands.set(name, run);
    return { dispose: () => world.commands.delete(name) };
  },
  executeCommand: (...args: unknown[]) => Promise.resolve(world.executed.push(args)),
};

export const LanguageStatusSeverity = { Information: 0, Warning: 1, Error: 2 };
export const ProgressLocation = { Window: 10 };
export const ViewColumn = { Beside: -2 };
