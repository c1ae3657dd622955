// Python in a thread of its own: Pyodide and the wheel of derivlint, both from the files of the site.
import { loadPyodide } from "./pyodide/pyodide.mjs";

const PYTHON = `
import contextlib, io, json
from pathlib import Path

from derivlint.cli.main import cli

FOLDER = Path("/home/pyodide")

def check(text, natives):
    """The JSON of the findings in a text, as the command writes it."""
    path, output = FOLDER / "derivatives.yaml", FOLDER / "findings.json"
    path.write_bytes(text.encode("utf-8", "replace"))
    arguments = ["check", str(path), "--isolated", "--no-cache", "--output-format", "json", "--output-file", str(output)]
    if natives:
        (FOLDER / "native_functions.yaml").write_bytes(natives.encode("utf-8", "replace"))
        arguments += ["--native-functions", str(FOLDER / "native_functions.yaml")]
    output.unlink(missing_ok=True)
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        try:
            cli.main(arguments, prog_name="derivlint", standalone_mode=False)
        except Exception as error:
            said.write(str(error))
    return output.read_text() if output.exists() else json.dumps({"error": said.getvalue()})
check
`;

const ready = (async () => {
  const pyodide = await loadPyodide({ indexURL: new URL("pyodide/", import.meta.url).href });
  const names = await (await fetch(new URL("wheels/wheels.json", import.meta.url))).json();
  const wheels = names.map((name) => new URL(`wheels/${name}`, import.meta.url).href);
  await pyodide.loadPackage(wheels, { messageCallback: () => {}, checkIntegrity: false });
  return pyodide.runPython(PYTHON);
})();

self.onmessage = async ({ data }) => {
  try {
    const check = await ready;
    const found = JSON.parse(check(data.text, data.natives));
    self.postMessage({ id: data.id, findings: found.diagnostics, error: found.error });
  } catch (error) {
    self.postMessage({ id: data.id, error: String(error) });
  }
};
