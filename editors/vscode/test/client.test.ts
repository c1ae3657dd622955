import assert from "node:assert/strict";
import { beforeEach, describe, it, mock } from "node:test";
import type { LogOutputChannel } from "vscode";
import { createClient, CRASHES, PERIOD, Restarts } from "../src/client";
import { CloseAction, ErrorAction, LanguageClient } from "./stub/languageclient";

const SETTINGS = {
  path: "/opt/derivlint",
  config: ["a.toml"],
  files: ["**/*derivatives*.yaml", "**/my.yaml"],
  inlayHints: true,
};

beforeEach(() => LanguageClient.reset());

describe("the client", () => {
  it("runs the server for the files and tells it the configuration", () => {
    createClient(SETTINGS, {} as LogOutputChannel, () => undefined);
    const [client] = LanguageClient.made;
    assert.equal(client?.id, "derivlint");
    assert.deepEqual(client.serverOptions, { command: "/opt/derivlint", args: ["lsp"] });
    assert.deepEqual(client.clientOptions["documentSelector"], [
      { scheme: "file", language: "yaml", pattern: "**/*derivatives*.yaml" },
      { scheme: "file", language: "yaml", pattern: "**/my.yaml" },
    ]);
    assert.deepEqual(client.clientOptions["initializationOptions"], {
      config: ["a.toml"],
      inlayHints: true,
      trusted: true,
      showGeneratedCode: true,
    });
  });
});

describe("a server that ends", () => {
  it("is not started again if it never ran", () => {
    const told: string[] = [];
    const restarts = new Restarts((message) => told.push(message));
    assert.deepEqual(restarts.closed(), { action: CloseAction.DoNotRestart, handled: true });
    assert.deepEqual(told, []);
  });

  it("is started again a few times, then told", () => {
    const told: string[] = [];
    const restarts = new Restarts((message) => told.push(message));
    restarts.running();
    for (let time = 0; time < CRASHES; time++) {
      assert.deepEqual(restarts.closed(), { action: CloseAction.Restart, handled: true });
    }
    assert.deepEqual(restarts.closed(), { action: CloseAction.DoNotRestart, handled: true });
    assert.deepEqual(told, ["the server ended 5 times within 3 minutes"]);
  });

  it("is started again for ever if it seldom ends", () => {
    mock.timers.enable({ apis: ["Date"] });
    try {
      const restarts = new Restarts(() => assert.fail("gave up"));
      restarts.running();
      for (let time = 0; time < 20; time++) {
        assert.equal(restarts.closed().action, CloseAction.Restart);
        mock.timers.tick(PERIOD / CRASHES + 1);
      }
    } finally {
      mock.timers.reset();
    }
  });

  it("may fail to take a message", () => {
    assert.deepEqual(new Restarts(() => undefined).error(), { action: ErrorAction.Continue, handled: true });
  });
});
