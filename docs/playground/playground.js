// The editor of the playground: sends its text to the worker after each edit, and shows what comes back.
const derivatives = document.getElementById("derivatives");
const natives = document.getElementById("natives");
const status = document.getElementById("status");
const list = document.getElementById("findings");
const worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
const PAUSE = 150; // ms without an edit before a check
let sent = 0;
let timer;

function check() {
  clearTimeout(timer);
  worker.postMessage({ id: ++sent, text: derivatives.value, natives: natives.value });
}

function schedule() {
  clearTimeout(timer);
  timer = setTimeout(check, PAUSE);
}

// Columns and offsets of findings count code points, those of a textarea UTF-16 units.
function offset(text, position) {
  const lines = text.split("\n");
  const before = lines.slice(0, position.line - 1).reduce((sum, line) => sum + line.length + 1, 0);
  return before + [...(lines[position.line - 1] ?? "")].slice(0, position.column - 1).join("").length;
}

function select(finding) {
  derivatives.focus();
  derivatives.setSelectionRange(offset(derivatives.value, finding.start), offset(derivatives.value, finding.end));
}

function apply(fix) {
  const edits = [...fix.edits].sort((a, b) => b.start - a.start);
  const points = [...derivatives.value];
  for (const edit of edits) points.splice(edit.start, edit.end - edit.start, ...edit.text);
  derivatives.value = points.join("");
  check();
}

function button(label, act) {
  const made = document.createElement("button");
  made.textContent = label;
  made.addEventListener("click", act);
  return made;
}

function paragraph(text) {
  const made = document.createElement("p");
  made.textContent = text;
  return made;
}

function subject(finding) {
  if (finding.entry === null) return "";
  const dispatch = finding.dispatch === null || finding.dispatch === "Default" ? "" : `, ${finding.dispatch}`;
  return ` (${finding.entry}${dispatch}${finding.key === null ? "" : `: ${finding.key}`})`;
}

function item(finding) {
  const made = document.createElement("li");
  made.className = finding.severity;
  made.dataset.finding = JSON.stringify(finding);
  const head = paragraph(` ${finding.severity}: ${finding.message}${subject(finding)} `);
  head.prepend(button(`${finding.start.line}:${finding.start.column}`, () => select(finding)));
  const rule = document.createElement("a");
  rule.textContent = finding.rule;
  rule.href = `../rules/${finding.rule}/`;
  head.append(rule);
  made.append(head);
  if (finding.help) made.append(paragraph(`help: ${finding.help}`));
  if (finding.fix) {
    const unsafe = finding.fix.safe ? "" : " (unsafe)";
    made.append(button(`Fix: ${finding.fix.title}${unsafe}`, () => apply(finding.fix)));
  }
  return made;
}

worker.onmessage = ({ data }) => {
  if (data.id !== sent) return; // of an earlier text
  list.replaceChildren(...(data.findings ?? []).map(item));
  const count = list.children.length;
  status.textContent = data.error ?? (count === 1 ? "1 finding" : `${count || "no"} findings`);
  document.dispatchEvent(new CustomEvent("checked", { detail: data }));
};

derivatives.addEventListener("input", schedule);
natives.addEventListener("input", schedule);
derivatives.addEventListener("change", check); // when the editor is left
if (!derivatives.value) {
  derivatives.value = await (await fetch(new URL("example.yaml", import.meta.url))).text();
}
check();
