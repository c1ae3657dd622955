import { SerialQueue } from "./queue";

/** A connection to a server, as far as it matters here. */
export interface Client {
  start(): Promise<void>;
  stop(): Promise<void>;
}

export type State = "stopped" | "starting" | "running" | "failed";

/** Starts and stops the server, one thing at a time. */
export class Server {
  private readonly queue = new SerialQueue();
  private client: Client | undefined;
  private pending: Promise<void> | undefined;
  private disposed = false;

  /**
   * @param create makes a client for the settings of that moment; it may fail.
   * @param told is called with every new state, and with what went wrong.
   */
  constructor(
    private readonly create: () => Promise<Client>,
    private readonly told: (state: State, error?: unknown) => void,
  ) {}

  /**
   * Start the server; one that runs is stopped first. Never fails: what goes wrong is told.
   *
   * A restart that has not begun yet will read the newest settings anyway, so nobody needs another one.
   */
  restart(): Promise<void> {
    this.pending ??= this.queue.run(async () => {
      this.pending = undefined;
      await this.stopClient();
      if (!this.disposed) {
        await this.startClient();
      }
    });
    return this.pending;
  }

  /** Stop the server for good. */
  stop(): Promise<void> {
    this.disposed = true;
    return this.queue.run(async () => {
      await this.stopClient();
      this.told("stopped");
    });
  }

  private async startClient(): Promise<void> {
    this.told("starting");
    try {
      const client = await this.create();
      this.client = client;
      await client.start();
      this.told("running");
    } catch (error) {
      await this.stopClient();
      this.told("failed", error);
    }
  }

  private async stopClient(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    try {
      await client?.stop();
    } catch {
      // it never ran, or died: there is nothing left to stop
    }
  }
}
