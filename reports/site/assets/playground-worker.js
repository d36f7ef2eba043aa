// Loads Pyodide, the model and the rules, and answers questions one after the other.
import { loadPyodide } from "./vendor/pyodide/pyodide.mjs"

const bytes = async (name) => (await fetch(new URL(name, import.meta.url))).arrayBuffer()

const started = (async () => {
  const base = new URL("./vendor/pyodide/", import.meta.url).href
  const [pyodide, model, code] = await Promise.all([
    loadPyodide({ indexURL: base }),
    bytes("vendor/model.zip"),
    fetch(new URL("playground.py", import.meta.url)).then((one) => one.text()),
  ])
  pyodide.unpackArchive(model, "zip", { extractDir: "/model" })
  pyodide.runPython("import sys; sys.path.insert(0, '/model')")
  pyodide.runPython(code)
  return pyodide.globals
})()

self.onmessage = async ({ data: { id, call, given } }) => {
  try {
    const python = await started
    const said = given === undefined ? python.get(call)() : python.get(call)(given)
    self.postMessage({ id, said: JSON.parse(said) })
  } catch (wrong) {
    self.postMessage({ id, said: { wrong: String(wrong) } })
  }
}
