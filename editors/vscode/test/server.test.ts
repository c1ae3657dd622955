import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SerialQueue } from "../src/queue";
import { Server, type Client } from "../src/server";

/** A promise and what ends it. */
function gate(): { opened: Promise<void>; open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

/** A server whose clients write what happens to them. */
function recorded(start: (n: number) => Promise<void> = () => Promise.resolve()): { server: Server; events: string[] } {
  const events: string[] = [];
  let made = 0;
  const create = (): Promise<Client> => {
    const n = ++made;
    return Promise.resolve({
      async start() {
        events.push(`start ${n}`);
        await start(n);
      },
      stop() {
        events.push(`stop ${n}`);
        return Promise.resolve();
      },
    });
  };
  const told = (state: string, error?: unknown): void => {
    events.push(error instanceof Error ? `${state}: ${error.message}` : state);
  };
  return { server: new Server(create, told), events };
}

describe("the queue", () => {
  it("runs one task after the other, in their order", async () => {
    const queue = new SerialQueue();
    const first = gate();
    const events: string[] = [];
    const one = queue.run(async () => {
      events.push("first begins");
      await first.opened;
      events.push("first ends");
      return 1;
    });
    const two = queue.run(() => {
      events.push("second");
      return Promise.resolve(2);
    });
    await new Promise(setImmediate);
    assert.deepEqual(events, ["first begins"]);
    first.open();
    assert.deepEqual(await Promise.all([one, two]), [1, 2]);
    assert.deepEqual(events, ["first begins", "first ends", "second"]);
  });

  it("goes on after a task that failed, and tells who asked for it", async () => {
    const queue = new SerialQueue();
    const failing = queue.run(() => Promise.reject(new Error("no")));
    const next = queue.run(() => Promise.resolve("yes"));
    await assert.rejects(failing, /no/);
    assert.equal(await next, "yes");
  });
});

describe("the server", () => {
  it("starts, and a restart stops the old one first", async () => {
    const { server, events } = recorded();
    await server.restart();
    await server.restart();
    assert.deepEqual(events, ["starting", "start 1", "running", "stop 1", "starting", "start 2", "running"]);
  });

  it("lets a start end before it restarts, and restarts once however often it is asked", async () => {
    const slow = gate();
    const { server, events } = recorded((n) => (n === 1 ? slow.opened : Promise.resolve()));
    const first = server.restart();
    await new Promise(setImmediate);
    const others = [server.restart(), server.restart(), server.restart()];
    await new Promise(setImmediate);
    assert.deepEqual(events, ["starting", "start 1"]);
    slow.open();
    await Promise.all([first, ...others]);
    assert.deepEqual(events, ["starting", "start 1", "running", "stop 1", "starting", "start 2", "running"]);
  });

  it("tells why it did not start, leaves nothing behind, and can be started then", async () => {
    const { server, events } = recorded((n) =>
      n === 1 ? Promise.reject(new Error("broken pipe")) : Promise.resolve(),
    );
    await server.restart();
    await server.restart();
    assert.deepEqual(events, [
      "starting",
      "start 1",
      "stop 1",
      "failed: broken pipe",
      "starting",
      "start 2",
      "running",
    ]);
  });

  it("tells what went wrong before there was a client", async () => {
    const events: unknown[] = [];
    const server = new Server(
      () => Promise.reject(new Error('"derivlint" was not found')),
      (state, error) => events.push(state, ...(error instanceof Error ? [error.message] : [])),
    );
    await server.restart();
    assert.deepEqual(events, ["starting", "failed", '"derivlint" was not found']);
  });

  it("stops for good, also with a restart under way", async () => {
    const slow = gate();
    const { server, events } = recorded((n) => (n === 1 ? slow.opened : Promise.resolve()));
    const all = [server.restart()];
    await new Promise(setImmediate);
    all.push(server.restart(), server.stop());
    slow.open();
    await Promise.all(all);
    await server.restart();
    assert.deepEqual(events, ["starting", "start 1", "running", "stop 1", "stopped"]);
  });

  it("is restarted although the old one cannot be stopped", async () => {
    let made = 0;
    const states: string[] = [];
    const server = new Server(
      () => {
        made++;
        return Promise.resolve({ start: () => Promise.resolve(), stop: () => Promise.reject(new Error("dead")) });
      },
      (state) => states.push(state),
    );
    await server.restart();
    await server.restart();
    assert.equal(made, 2);
    assert.deepEqual(states, ["starting", "running", "starting", "running"]);
  });
});
