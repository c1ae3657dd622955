// Python in a thread of its own: Pyodide, the packages and bench.py, all from the files of the site.
import { loadPyodide } from "./pyodide/pyodide.mjs";

const file = async (name) => fetch(new URL(name, import.meta.url));

const ready = (async () => {
  const [pyodide, packages, bench] = await Promise.all([
    loadPyodide({ indexURL: new URL("pyodide/", import.meta.url).href }),
    file("packages.zip").then((response) => response.arrayBuffer()),
    file("bench.py").then((response) => response.text()),
  ]);
  const extractDir = pyodide.runPython("import site; site.getsitepackages()[0]");
  pyodide.unpackArchive(packages, "zip", { extractDir });
  pyodide.runPython(bench);
  return pyodide.runPython("Bench()");
})();

self.onmessage = async ({ data }) => {
  try {
    const bench = await ready;
    const value = data.command ? bench.command(...data.command) : JSON.parse(bench.check(data.text, data.natives));
    self.postMessage({ id: data.id, value });
  } catch (error) {
    self.postMessage({ id: data.id, error: String(error) });
  }
};
