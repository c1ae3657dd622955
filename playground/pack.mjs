// Packs wheels into one archive, and Python's library into another one, modules compiled and without their source: a
// browser takes longer to compile them than for everything else before the first findings.
//     node pack.mjs WHEELS PACKAGES LIBRARY
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { loadPyodide } from "pyodide";

const [wheels, packages, library] = process.argv.slice(2);
const pyodide = await loadPyodide();
const unpack = (file, format, extractDir) =>
  pyodide.unpackArchive(new Uint8Array(fs.readFileSync(file)), format, { extractDir });
for (const name of fs.readdirSync(wheels).filter((name) => name.endsWith(".whl")))
  unpack(path.join(wheels, name), "wheel", "/packages");
unpack(fileURLToPath(import.meta.resolve("pyodide/python_stdlib.zip")), "zip", "/library");
pyodide.runPython(`
import compileall
import shutil
from pathlib import Path
from py_compile import PycInvalidationMode

# its text is read, for the names of the helpers in generated Python
READ = Path("/packages/derivlint/functional/__init__.py")

for folder in ("/packages", "/library"):
    unchecked = PycInvalidationMode.UNCHECKED_HASH
    assert compileall.compile_dir(folder, quiet=1, legacy=True, invalidation_mode=unchecked, stripdir=folder)
    for compiled in Path(folder).rglob("*.pyc"):
        source = compiled.with_suffix(".py")
        if source != READ:
            source.unlink()
    shutil.make_archive(folder, "zip", folder)
`);
fs.writeFileSync(packages, pyodide.FS.readFile("/packages.zip"));
fs.writeFileSync(library, pyodide.FS.readFile("/library.zip"));
