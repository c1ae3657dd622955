/** A client that talks to nobody. */

export const ErrorAction = { Continue: 1, Shutdown: 2 };
export const CloseAction = { DoNotRestart: 1, Restart: 2 };
export const RevealOutputChannelOn = { Never: 4 };

export class LanguageClient {
  /** All clients since the last reset. */
  static made: LanguageClient[] = [];
  /** What the next start does. */
  static onStart: () => Promise<void> = () => Promise.resolve();
  readonly events: string[] = [];

  constructor(
    readonly id: string,
    readonly name: string,
    readonly serverOptions: unknown,
    readonly clientOptions: Record<string, unknown>,
  ) {
    LanguageClient.made.push(this);
  }

  async start(): Promise<void> {
    this.events.push("start");
    await LanguageClient.onStart();
  }

  dispose(): Promise<void> {
    this.events.push("dispose");
    return Promise.resolve();
  }

  static reset(): void {
    LanguageClient.made = [];
    LanguageClient.onStart = () => Promise.resolve();
  }
}
