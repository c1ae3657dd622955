import assert from "node:assert/strict";
import { homedir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, it } from "node:test";
import { expand, readSettings } from "../src/settings";
import { reset, type World } from "./stub/vscode";

let world: World;
beforeEach(() => (world = reset()));

describe("the path", () => {
  it("is expanded", () => {
    world.folders = ["/home/me/pytorch", "/other"];
    process.env["DERIVLINT_TEST_ENV"] = "/opt/env";
    assert.equal(expand("derivlint"), "derivlint");
    assert.equal(expand("~"), homedir());
    assert.equal(expand("~/bin/derivlint"), join(homedir(), "bin/derivlint"));
    assert.equal(expand("~user/derivlint"), "~user/derivlint");
    assert.equal(expand("${userHome}/x"), `${homedir()}/x`);
    assert.equal(expand("${workspaceFolder}/.venv/bin/derivlint"), "/home/me/pytorch/.venv/bin/derivlint");
    assert.equal(expand("${env:DERIVLINT_TEST_ENV}/bin/derivlint"), "/opt/env/bin/derivlint");
  });

  it("keeps what has no value", () => {
    assert.equal(
      expand("${workspaceFolder}/x ${env:DERIVLINT_NOT_SET} ${unknown}"),
      "${workspaceFolder}/x ${env:DERIVLINT_NOT_SET} ${unknown}",
    );
  });
});

describe("the settings", () => {
  it("have defaults", () => {
    assert.deepEqual(readSettings(), {
      path: "derivlint",
      config: [],
      files: ["**/*derivatives*.yaml"],
      inlayHints: false,
    });
  });

  it("are read", () => {
    world.settings = {
      "derivlint.path": " /opt/derivlint ",
      "derivlint.config": ["my.toml"],
      "derivlint.files": ["**/ops.yaml"],
      "derivlint.inlayHints": true,
    };
    assert.deepEqual(readSettings(), {
      path: "/opt/derivlint",
      config: ["my.toml"],
      files: ["**/ops.yaml"],
      inlayHints: true,
    });
  });

  it("that are empty count as not set", () => {
    world.settings = { "derivlint.path": " ", "derivlint.files": [] };
    assert.deepEqual(readSettings(), {
      path: "derivlint",
      config: [],
      files: ["**/*derivatives*.yaml"],
      inlayHints: false,
    });
  });
});
