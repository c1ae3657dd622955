// Packs wheels into one archive, modules compiled: a browser takes as long to compile them as for the first check.
//     node pack.mjs FOLDER ARCHIVE
import fs from "node:fs";
import path from "node:path";
import { loadPyodide } from "pyodide";

const [folder, archive] = process.argv.slice(2);
const pyodide = await loadPyodide();
for (const name of fs.readdirSync(folder).filter((name) => name.endsWith(".whl")))
  pyodide.unpackArchive(new Uint8Array(fs.readFileSync(path.join(folder, name))), "wheel", { extractDir: "/packages" });
pyodide.runPython(`
import compileall
import shutil
from py_compile import PycInvalidationMode

unchecked = PycInvalidationMode.UNCHECKED_HASH
assert compileall.compile_dir("/packages", quiet=1, invalidation_mode=unchecked, stripdir="/packages")
shutil.make_archive("/packages", "zip", "/packages")
`);
fs.writeFileSync(archive, pyodide.FS.readFile("/packages.zip"));
