/** The line that begins an entry: `- name: add.Tensor(Tensor self, ...) -> Tensor`. */
const NAME = /^\s*(?:-\s+)?name\s*:\s*["']?([A-Za-z_][\w.:]*)\s*(?:\(|["']?\s*(?:#.*)?$)/;
const DASH = /^\s*-\s/;

/** The operator of the entry that a line belongs to, `add.Tensor`; nothing for a line before all entries. */
export function operatorAt(lines: readonly string[], line: number): string | undefined {
  for (let at = Math.min(line, lines.length - 1); at >= 0; at--) {
    const text = lines[at] ?? "";
    const operator = NAME.exec(text)?.[1];
    if (operator !== undefined) {
      return operator;
    }
    if (DASH.test(text)) {
      // `name` is not the first key, or the dash stands on a line of its own
      return nameBelow(lines, at);
    }
  }
  return undefined;
}

function nameBelow(lines: readonly string[], dash: number): string | undefined {
  for (let at = dash + 1; at < lines.length && !DASH.test(lines[at] ?? ""); at++) {
    const operator = NAME.exec(lines[at] ?? "")?.[1];
    if (operator !== undefined) {
      return operator;
    }
  }
  return undefined;
}
