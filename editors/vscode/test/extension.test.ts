import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import type { ExtensionContext } from "vscode";
import { activate, deactivate } from "../src/extension";
import { ECHO, program } from "./programs";
import { LanguageClient } from "./stub/languageclient";
import { reset, Uri, type Document, type World } from "./stub/vscode";

interface Manifest {
  activationEvents: string[];
  capabilities: { untrustedWorkspaces: { supported: string; restrictedConfigurations: string[] } };
  contributes: {
    commands: { command: string }[];
    configuration: { properties: Record<string, { scope: string }> };
  };
}

const MANIFEST = require("../../package.json") as Manifest;
const NAMES = ["derivlint.restart", "derivlint.showGeneratedCode", "derivlint.showLog"];

let world: World;

beforeEach(() => {
  world = reset();
  LanguageClient.reset();
  world.settings["derivlint.path"] = program('console.log("derivlint 0.1.0")');
});

async function start(): Promise<void> {
  await activate({ subscriptions: [] } as unknown as ExtensionContext);
}

/** Call a command, as the user does. */
async function command(name: string, ...args: unknown[]): Promise<void> {
  const run = world.commands.get(name);
  assert.ok(run, `${name} is not registered`);
  await run(...args);
}

/** Wait until something has come true. */
async function until(what: () => boolean): Promise<void> {
  for (let times = 0; times < 500 && !what(); times++) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.ok(what());
}

const lives = (): (string | undefined)[] => LanguageClient.made.map((client) => client.events.join(" "));

describe("activation", () => {
  it("starts the server and registers the commands of the manifest", async () => {
    await start();
    assert.deepEqual(lives(), ["start"]);
    assert.deepEqual([...world.commands.keys()].sort(), NAMES);
    assert.deepEqual(MANIFEST.contributes.commands.map((item) => item.command).sort(), NAMES);
    assert.deepEqual(world.statuses, ["derivlint: starting", "derivlint: running"]);
    assert.deepEqual(world.errors, []);
    assert.match(world.log[0] ?? "", /: derivlint 0\.1\.0$/);
  });

  it("registers the commands although the server does not start", async () => {
    world.settings["derivlint.path"] = "/no/such/derivlint";
    await start();
    assert.deepEqual([...world.commands.keys()].sort(), NAMES);
    assert.deepEqual(world.errors, ['derivlint: "/no/such/derivlint" was not found']);
    assert.deepEqual(lives(), []);
    assert.deepEqual(world.statuses, ["derivlint: starting", "derivlint: failed"]);
  });

  it("tells once of a server that ends while it starts", async () => {
    LanguageClient.onStart = () => Promise.reject(new Error("connection closed"));
    await start();
    assert.deepEqual(world.errors, ["derivlint: connection closed"]);
    assert.deepEqual(lives(), ["start dispose"]);
  });

  it("leads from the message to the setting or to the log", async () => {
    world.settings["derivlint.path"] = "/no/such/derivlint";
    world.answer = "Open Settings";
    await start();
    await until(() => world.executed.length > 0);
    assert.deepEqual(world.executed, [["workbench.action.openSettings", "derivlint.path"]]);
    world.answer = "Show Log";
    await command("derivlint.restart");
    await until(() => world.logShown === 1);
  });

  it("happens where there is a derivatives file", () => {
    assert.deepEqual(MANIFEST.activationEvents, [
      "workspaceContains:**/*derivatives*.yaml",
      "workspaceContains:**/derivlint.toml",
    ]);
  });
});

describe("a running extension", () => {
  it("restarts the server by command, with the new settings", async () => {
    await start();
    world.settings["derivlint.config"] = ["other.toml"];
    await command("derivlint.restart");
    assert.deepEqual(lives(), ["start dispose", "start"]);
    assert.deepEqual(LanguageClient.made[1]?.clientOptions["initializationOptions"], {
      config: ["other.toml"],
      inlayHints: false,
      trusted: true,
      showGeneratedCode: true,
    });
  });

  it("restarts when its settings change, and only then", async () => {
    await start();
    world.configurationChanged.fire({ affectsConfiguration: (name) => name === "editor.tabSize" });
    world.configurationChanged.fire({ affectsConfiguration: (name) => name === "derivlint.trace.server" });
    world.configurationChanged.fire({ affectsConfiguration: (name) => name === "derivlint.path" });
    await until(() => LanguageClient.made.length === 2 && world.statuses.at(-1) === "derivlint: running");
    assert.deepEqual(lives(), ["start dispose", "start"]);
  });

  it("restarts when the workspace becomes trusted", async () => {
    await start();
    world.trusted.fire();
    await until(() => LanguageClient.made.length === 2);
  });

  it("stops the server when it ends", async () => {
    await start();
    await deactivate();
    assert.deepEqual(lives(), ["start dispose"]);
  });
});

describe("the settings of the manifest", () => {
  it("let a workspace name a program only when it is trusted", () => {
    const { untrustedWorkspaces } = MANIFEST.capabilities;
    assert.equal(MANIFEST.contributes.configuration.properties["derivlint.path"]?.scope, "machine-overridable");
    assert.equal(untrustedWorkspaces.supported, "limited");
    assert.deepEqual(untrustedWorkspaces.restrictedConfigurations, ["derivlint.path", "derivlint.config"]);
  });
});

describe("the generated code", () => {
  const path = "/checkout/tools/autograd/derivatives.yaml";
  const text =
    "- name: abs(Tensor self) -> Tensor\r\n  self: grad * self.sgn()\r\n- name: neg(Tensor self) -> Tensor\r\n";

  function open(line: number, languageId = "yaml"): Document {
    const document = { uri: Uri.file(path), languageId, getText: () => text };
    world.documents.set(document.uri.toString(), document);
    world.activeTextEditor = { document, selection: { active: { line } } };
    return document;
  }

  /** What the program was asked, read from the document that is shown last. */
  function asked(): unknown {
    const shown = world.shown.at(-1);
    return shown === undefined ? undefined : JSON.parse(shown.getText());
  }

  beforeEach(() => {
    // the folder of the file is no folder of this machine
    world.settings["derivlint.path"] = program(ECHO.replace("process.cwd()", '""'));
  });

  it("is that of the entry at the cursor, of the text in the editor", async () => {
    world.settings["derivlint.config"] = ["a.toml", 'min-severity="error"'];
    await start();
    open(1);
    const folder = (await import("node:os")).tmpdir();
    const document = world.activeTextEditor?.document;
    assert.ok(document);
    document.uri = Uri.file(`${folder}/derivatives.yaml`);
    await command("derivlint.showGeneratedCode");
    assert.deepEqual(world.errors, []);
    assert.deepEqual(asked(), {
      args: [
        "show",
        "--stdin-filename",
        `${folder}/derivatives.yaml`,
        "--config",
        "a.toml",
        "--config",
        'min-severity="error"',
        "--",
        "abs",
        "-",
      ],
      folder: "",
      text,
    });
    assert.equal(world.shown[0]?.uri.path, "/abs.cpp");
  });

  it("is that of a given file and operator", async () => {
    await start();
    const folder = (await import("node:os")).tmpdir();
    const uri = Uri.file(`${folder}/derivatives.yaml`);
    world.documents.set(uri.toString(), { uri, languageId: "yaml", getText: () => "text" });
    await command("derivlint.showGeneratedCode", uri.toString(), "neg");
    assert.deepEqual((asked() as { args: string[] }).args.slice(-2), ["neg", "-"]);
  });

  it("needs an entry", async () => {
    await start();
    const document = open(0);
    document.getText = () => "# nothing yet\n";
    await command("derivlint.showGeneratedCode");
    assert.deepEqual(world.errors, ["derivlint: the cursor is in no entry"]);
  });

  it("needs a YAML file", async () => {
    await start();
    await command("derivlint.showGeneratedCode");
    open(0, "python");
    await command("derivlint.showGeneratedCode");
    const message = "derivlint: no derivatives file is open here";
    assert.deepEqual(world.errors, [message, message]);
  });

  it("is replaced by the reason where there is none", async () => {
    world.settings["derivlint.path"] = program(
      'if (process.argv[2] === "show") { console.error("derivlint: \\"abs\\" gets no code"); process.exit(2); }',
    );
    await start();
    open(0).uri = Uri.file(`${(await import("node:os")).tmpdir()}/derivatives.yaml`);
    await command("derivlint.showGeneratedCode");
    assert.deepEqual(world.errors, ['derivlint: "abs" gets no code']);
    assert.deepEqual(world.shown, []);
  });
});
