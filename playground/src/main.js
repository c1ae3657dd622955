// The page: an editor whose text a worker checks after each edit, and tabs with what becomes of it.
import { minimalSetup } from "codemirror";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { Compartment } from "@codemirror/state";
import { indentWithTab } from "@codemirror/commands";
import { HighlightStyle, bracketMatching, syntaxHighlighting } from "@codemirror/language";
import { forceLinting, linter, lintGutter } from "@codemirror/lint";
import { tags } from "@lezer/highlight";
import { derivatives } from "./language.js";

const find = (id) => document.getElementById(id);
const status = find("status");
const output = find("output");
const waiting = new Map();
let sent = 0;
let findings = [];

function ask(request) {
  return new Promise((resolve, reject) => {
    waiting.set(++sent, { resolve, reject });
    worker.postMessage({ id: sent, ...request });
  });
}

// Offsets of findings count code points, those of the editor UTF-16 units.
function units(text, offset) {
  let at = 0;
  for (let points = 0; points < offset && at < text.length; points++) at += text.codePointAt(at) > 0xffff ? 2 : 1;
  return at;
}

function apply(fix) {
  const text = view.state.doc.toString();
  const changes = fix.edits.map((edit) => ({ from: units(text, edit.start), to: units(text, edit.end), insert: edit.text }));
  view.dispatch({ changes, userEvent: "input.fix" });
  view.focus();
}

function subject(finding) {
  if (finding.entry === null) return "";
  const dispatch = finding.dispatch === null || finding.dispatch === "Default" ? "" : `, ${finding.dispatch}`;
  return ` (${finding.entry}${dispatch}${finding.key === null ? "" : `: ${finding.key}`})`;
}

const title = (fix) => `Fix: ${fix.title}${fix.safe ? "" : " (unsafe)"}`;

function diagnostic(text, finding) {
  const from = units(text, finding.start.offset);
  return {
    from,
    to: Math.max(units(text, finding.end.offset), from),
    severity: finding.severity,
    source: finding.rule,
    message: finding.help ? `${finding.message}\nhelp: ${finding.help}` : finding.message,
    actions: finding.fix ? [{ name: title(finding.fix), apply: () => apply(finding.fix) }] : [],
  };
}

function element(name, text, properties = {}) {
  return Object.assign(document.createElement(name), { textContent: text }, properties);
}

function item(text, finding) {
  const made = element("li", "", { className: finding.severity });
  const head = element("p", ` ${finding.severity}: ${finding.message}${subject(finding)} `);
  const select = () => {
    const { from, to } = diagnostic(text, finding);
    view.dispatch({ selection: { anchor: from, head: to }, scrollIntoView: true });
    view.focus();
  };
  head.prepend(element("button", `${finding.start.line}:${finding.start.column}`, { type: "button", onclick: select }));
  head.append(element("a", finding.rule, { href: `../rules/${finding.rule}/` }));
  made.append(head);
  if (finding.help) made.append(element("p", `help: ${finding.help}`));
  if (finding.fix) {
    made.append(element("button", title(finding.fix), { type: "button", onclick: () => apply(finding.fix) }));
  }
  return made;
}

async function check(editor) {
  const text = editor.state.doc.toString();
  const start = performance.now();
  const request = { text, natives: find("natives").value };
  let answer;
  try {
    answer = await ask(request);
  } catch (error) {
    answer = { error: error.message };
  }
  if (text !== view.state.doc.toString() || request.natives !== find("natives").value) return []; // edited meanwhile
  findings = answer.diagnostics ?? [];
  find("findings").replaceChildren(...findings.map((finding) => item(text, finding)));
  const count = findings.length;
  status.textContent = answer.error ?? (count === 1 ? "1 finding" : `${count || "no"} findings`);
  show();
  document.dispatchEvent(new CustomEvent("checked", { detail: { findings, error: answer.error, ms: performance.now() - start } }));
  return findings.filter((finding) => finding.path.endsWith("derivatives.yaml")).map((finding) => diagnostic(text, finding));
}

// ---- tabs

// The name of the entry that the cursor is in, or of the first one.
function entry() {
  const { doc, selection } = view.state;
  const name = (line) => /^- +name: *"?([\w.]+)/.exec(line.text)?.[1];
  for (let number = doc.lineAt(selection.main.head).number; number > 0; number--) {
    const found = name(doc.line(number));
    if (found) return found;
  }
  for (let number = 1; number <= doc.lines; number++) {
    const found = name(doc.line(number));
    if (found) return found;
  }
  return "";
}

const COMMANDS = {
  suggest: () => ["suggest", entry()],
  model: () => ["model"],
  cpp: () => ["show", entry()],
  python: () => ["emit", "python", "--ops", entry(), "--allow-errors"],
  derive: () => ["derive", find("expression").value, "--wrt", find("wrt").value],
};
let tab = "findings";

async function show() {
  if (tab === "findings") return;
  const command = COMMANDS[tab]();
  const shown = await ask({ command }).catch((error) => error.message);
  if (tab !== "findings" && command.join() === COMMANDS[tab]().join()) output.textContent = shown;
}

function choose(name) {
  tab = name;
  for (const button of document.querySelectorAll("#tabs button")) {
    button.setAttribute("aria-selected", String(button.dataset.tab === name));
  }
  find("findings").hidden = name !== "findings";
  output.hidden = name === "findings";
  find("derivation").hidden = name !== "derive";
  output.textContent = "";
  show();
}

// ---- a link that carries the text, in the fragment, which browsers send to no one

async function pipe(bytes, stream) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

async function packed() {
  const state = JSON.stringify([view.state.doc.toString(), find("natives").value]);
  const bytes = await pipe(new TextEncoder().encode(state), new CompressionStream("deflate-raw"));
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function unpacked(code) {
  const bytes = Uint8Array.from(atob(code.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(await pipe(bytes, new DecompressionStream("deflate-raw"))));
}

// ---- the page

const COLOURS = HighlightStyle.define([
  { tag: tags.comment, color: "var(--comment)" },
  { tag: tags.propertyName, color: "var(--name)", fontWeight: "bold" },
  { tag: tags.keyword, color: "var(--keyword)" },
  { tag: tags.string, color: "var(--string)" },
  { tag: tags.number, color: "var(--number)" },
  { tag: tags.typeName, color: "var(--keyword)" },
  { tag: tags.operator, color: "var(--text)" },
  { tag: tags.function(tags.variableName), color: "var(--name)" },
  { tag: tags.special(tags.variableName), color: "var(--number)" },
]);

const examples = await (await fetch(new URL("examples.json", import.meta.url))).json();
for (const { title } of examples) find("examples").append(element("option", title));
let first = examples[0];
if (location.hash.length > 1) {
  try {
    const [text, natives] = await unpacked(location.hash.slice(1));
    first = { text, natives };
  } catch {
    status.textContent = "The address carries no text that can be read; this is an example.";
  }
}

// Show the operators that a text declares.
function declare(natives) {
  find("natives").value = natives;
  find("operators").open = natives !== "";
}

declare(first.natives);
// typing is followed by a check after a delay
const checks = () => linter(check, { delay: 150 });
const lint = new Compartment();
const view = new EditorView({
  doc: first.text,
  parent: find("editor"),
  extensions: [
    minimalSetup,
    lineNumbers(),
    bracketMatching(),
    keymap.of([indentWithTab]),
    derivatives,
    syntaxHighlighting(COLOURS),
    EditorView.contentAttributes.of({ "aria-label": "derivatives.yaml" }),
    EditorView.updateListener.of((update) => {
      if (update.selectionSet && !update.docChanged && ["suggest", "cpp", "python"].includes(tab)) show();
    }),
    lint.of(checks()),
    lintGutter(),
  ],
});
// after the page is complete and drawn: Python takes all processors for seconds
await new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)));
const worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
worker.onmessage = ({ data }) => {
  const { resolve, reject } = waiting.get(data.id);
  waiting.delete(data.id);
  if (data.error) reject(new Error(data.error));
  else resolve(data.value);
};
forceLinting(view);

// Replace the text, and the operators it declares.
function set(text, natives) {
  declare(natives);
  view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
}

function recheck() {
  view.dispatch({ effects: lint.reconfigure(checks()) });
  forceLinting(view);
}

for (const button of document.querySelectorAll("#tabs button")) button.onclick = () => choose(button.dataset.tab);
find("natives").addEventListener("change", recheck);
for (const id of ["expression", "wrt"]) find(id).addEventListener("change", show);
find("share").onclick = async () => {
  history.replaceState(null, "", `#${await packed()}`);
  await navigator.clipboard?.writeText(location.href).catch(() => {});
  status.textContent = "The address of this page now carries the text.";
};
find("examples").onchange = ({ target }) => {
  const { text, natives } = examples[target.selectedIndex];
  set(text, natives);
};
window.playground = { set, recheck, text: () => view.state.doc.toString(), findings: () => findings };
