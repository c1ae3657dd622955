// Python in a thread of its own: Pyodide, the wheels and bench.py, all from the files of the site.
import { loadPyodide } from "./pyodide/pyodide.mjs";

const ready = (async () => {
  const pyodide = await loadPyodide({ indexURL: new URL("pyodide/", import.meta.url).href });
  const names = await (await fetch(new URL("wheels/wheels.json", import.meta.url))).json();
  const wheels = names.map((name) => new URL(`wheels/${name}`, import.meta.url).href);
  await pyodide.loadPackage(wheels, { messageCallback: () => {}, checkIntegrity: false });
  pyodide.runPython(await (await fetch(new URL("bench.py", import.meta.url))).text());
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
